//! Whole questions: how people ask for what a phrase names.

use kg::term::NodeId;

use super::super::lexicon::TailKind;
use super::super::plan::{Set, Test};
use super::super::profile::Tail;
use super::super::words::{article, plural, singular};
use super::{Np, Say, fill};

impl Say<'_, '_> {
    pub(super) fn list(&mut self, set: &Set, by: Option<usize>) -> String {
        // A question of the lexicon for exactly this relation.
        if let Set::Walk {
            from,
            relation,
            forward,
            ..
        } = set
            && (Self::through(from).is_none()
                || (*forward
                    && self.relation(*relation).tail != Tail::Thing
                    && self.rng.chance(0.5)))
            && self.rng.chance(0.42)
        {
            // What lies between an attribute and who is asked about goes without saying.
            let mut source = from.as_ref();
            while let Set::Walk {
                from, silent: true, ..
            } = source
            {
                source = from;
            }
            if let Some(text) = self.own_question(source, *relation, *forward) {
                return text;
            }
        }
        // "For the countries founded before 1930, what are the languages".
        if let Set::Walk {
            from,
            relation,
            forward: true,
            ..
        } = set
            && matches!(from.as_ref(), Set::Keep { .. } | Set::Most { .. })
            && self.rng.chance(0.06)
        {
            let noun = self.noun_of(*relation);
            let of = self.text_of(from);
            return format!("for {of}, what is the {}", singular(&noun));
        }
        let np = self.np(set);
        let single = matches!(set, Set::Most { .. });
        let of_class = match set {
            Set::Walk {
                from,
                forward: true,
                ..
            } => match from.as_ref() {
                Set::Class(_) => true,
                Set::Walk {
                    from, silent: true, ..
                } => matches!(from.as_ref(), Set::Class(_)),
                _ => false,
            },
            _ => false,
        };
        let many = !single
            && (np.many
                || matches!(set, Set::Class(_))
                || (of_class && self.rng.chance(0.85))
                || (!matches!(set, Set::Walk { forward: true, .. }) && self.rng.chance(0.75)));
        if let Some(by) = by
            && self.rng.chance(0.7)
        {
            let key = self.noun_of(by);
            let of = self.text(&np, many, true);
            let names = if many { plural(&key) } else { key.clone() };
            let all = if many {
                self.word(&["", "", "", "different ", "distinct "])
            } else {
                String::new()
            };
            let text = match self.rng.below(7) {
                6 if many => {
                    let these = self.text(&np, many, false);
                    let joint = self.word(&["of all", "of all the", "of", "for all"]);
                    format!("{all}{names} {joint} {these}")
                }
                0 if !many => format!("{of} 's {key}").replace(" 's", "'s"),
                1 if many => {
                    format!("{} {names}", np.noun)
                        + &np
                            .after
                            .iter()
                            .map(|m| format!(" {}", m.after))
                            .collect::<String>()
                }
                _ => format!("{all}{names} of {of}"),
            };
            let text = self.ordered(set, text, many);
            return self.requested(&text, many, "the ");
        }
        let noun = if many {
            plural(&np.noun)
        } else {
            np.noun.clone()
        };
        // "which N ..." with a predicate, or a request for the whole phrase.
        if !np.proper && !np.possessed && !np.after.is_empty() && self.rng.chance(0.4) {
            let which =
                if np.after[0].after.starts_with("of ") || np.after[0].after.starts_with("for ") {
                    None
                } else {
                    let before = if np.before.is_empty() {
                        String::new()
                    } else {
                        format!("{} ", np.before)
                    };
                    let rest: String = np.after[1..]
                        .iter()
                        .map(|m| format!(" and {}", if many { &m.many } else { &m.one }))
                        .collect();
                    let predicate = if many {
                        &np.after[0].many
                    } else {
                        &np.after[0].one
                    };
                    let which = self.word(&["which", "what", "which", "which of the"]);
                    let which = if which == "which of the" && !many {
                        "which".to_owned()
                    } else {
                        which
                    };
                    Some(format!("{which} {before}{noun} {predicate}{rest}"))
                };
            if let Some(text) = which {
                return text;
            }
        }
        let person = match set {
            Set::Walk {
                relation,
                forward: true,
                ..
            } => self.relation(*relation).say.kind == TailKind::Person,
            _ => false,
        };
        if person && self.rng.chance(0.4) {
            let of = self.text(&np, many, true);
            let is = if many { "are" } else { "is" };
            let was = self.word(&[is, "was"]);
            return format!("who {} {of}", if many { is } else { &was });
        }
        let text = self.text(&np, many, false);
        let text = self.ordered(set, text, many);
        let determiner = if np.proper || np.possessed {
            ""
        } else {
            "the "
        };
        self.requested(&text, many, determiner)
    }

    /// Orders that lists are asked in; an answer is a set all the same.
    pub(super) fn ordered(&mut self, set: &Set, text: String, many: bool) -> String {
        let class = match set {
            Set::Class(class) => *class,
            Set::Keep { of, .. } => match of.as_ref() {
                Set::Class(class) => *class,
                _ => return text,
            },
            Set::Walk {
                from,
                forward: true,
                silent: false,
                ..
            } => match from.as_ref() {
                Set::Class(class) => *class,
                Set::Walk {
                    from, silent: true, ..
                } => match from.as_ref() {
                    Set::Class(class) => *class,
                    _ => return text,
                },
                _ => return text,
            },
            _ => return text,
        };
        // A whole class has little else to vary.
        if !many
            || !self.rng.chance(if matches!(set, Set::Keep { .. }) {
                0.2
            } else {
                0.5
            })
        {
            return text;
        }
        let attributes: Vec<usize> = (0..self.profile.relations.len())
            .filter(|&r| {
                self.profile.relations[r].heads == Some(class)
                    && self.profile.relations[r].tail != Tail::Thing
            })
            .collect();
        let Some(&attribute) = self.rng.pick(&attributes) else {
            return text;
        };
        let n = self.noun_of(attribute);
        let way = self.word(&[
            "ascending",
            "descending",
            "alphabetical",
            "decreasing",
            "increasing",
        ]);
        match self.rng.below(9) {
            6 => format!("{text} and sort in {way} order of {n}"),
            7 => format!("{text}, sorted by the {n} in {way} order"),
            8 => format!("{text} in {way} order by {n}"),
            0 => format!("{text} in {way} order of {n}"),
            1 => format!("{text} ordered by {n}"),
            2 => format!("{text} sorted by {n} in {way} order"),
            3 => format!("{text} sorted by their {n} {way}"),
            4 => format!("{text}, ordered {way} by {n}"),
            _ => format!("{text} ordered by {way} {n}"),
        }
    }

    /// A request for what a phrase names: a question or an imperative.
    pub(super) fn requested(&mut self, phrase: &str, many: bool, the: &str) -> String {
        let be = if many { "are" } else { "is" };
        match self.rng.below(26) {
            24 if many => format!("find all {phrase}"),
            25 if many => format!("what are the distinct {phrase}"),
            0..=7 => format!("what {be} {the}{phrase}"),
            8 => format!("which {be} {the}{phrase}"),
            9 => format!("tell me {the}{phrase}"),
            10 => format!("give me {the}{phrase}"),
            11 => format!("give {the}{phrase}"),
            12 => format!("find {the}{phrase}"),
            13 => format!("show {the}{phrase}"),
            14 => format!("return {the}{phrase}"),
            15 => format!("name {the}{phrase}"),
            16 => format!("list {the}{phrase}"),
            17 if many => format!("list all {the}{phrase}"),
            18 if many => format!("show all {phrase}"),
            19 if many => format!("what are all {the}{phrase}"),
            20 if many => format!("what are the different {phrase}"),
            21 => format!("can you tell me {the}{phrase}"),
            22 if many => format!("show me all {the}{phrase}"),
            _ => format!("what {be} {the}{phrase}"),
        }
    }

    /// A question that the lexicon, or the form of the relation's name, has for tails or heads.
    pub(super) fn own_question(
        &mut self,
        from: &Set,
        relation: usize,
        forward: bool,
    ) -> Option<String> {
        let say = self.relation(relation).say.clone();
        let mut templates = if forward {
            say.asks.clone()
        } else {
            say.backs.clone()
        };
        if forward {
            match say.kind {
                TailKind::Number if self.relation(relation).tail == Tail::Number => {
                    templates.push("how many {m} does {x} have".to_owned());
                    templates.push("how much {n} does {x} have".to_owned());
                    templates.push("how high is the {n} of {x}".to_owned());
                }
                TailKind::Time => {
                    templates.push("when was the {n} of {x}".to_owned());
                    templates.push("when is the {n} of {x}".to_owned());
                }
                TailKind::Person => templates.push("who is the {n} of {x}".to_owned()),
                TailKind::Place => templates.push("where is the {n} of {x}".to_owned()),
                _ => {}
            }
            templates.push("which {n} does {x} have".to_owned());
            templates.push("what {n} does {x} have".to_owned());
            templates.push("what is {x}'s {n}".to_owned());
            templates.push("{x} has which {n}".to_owned());
            if say.kind != TailKind::Number || self.relation(relation).tail == Tail::Number {
                templates.push("which {n} is {x} in".to_owned());
                templates.push("what {n} is {x} in".to_owned());
            }
            templates.push("which {n} is given for {x}".to_owned());
        } else if templates.is_empty() {
            templates.extend(
                [
                    "which {c} have the {n} {v}",
                    "what has {v} as {n}",
                    "which {c} have {v} as their {n}",
                ]
                .map(str::to_owned),
            );
        }
        let template = self.rng.pick(&templates)?.clone();
        let n = self.noun_of(relation);
        let c = plural(&self.heads_noun(relation));
        let t = if say.tails.is_empty() {
            n.clone()
        } else {
            self.early(&say.tails).to_owned()
        };
        let group = forward
            && matches!(
                from,
                Set::Class(_) | Set::Keep { .. } | Set::Walk { forward: false, .. }
            )
            && self.rng.chance(0.5);
        let (template, other) = if group {
            let auxiliaries = [
                ("does {x}", "do {x}"),
                ("is {x}", "are {x}"),
                ("was {x}", "were {x}"),
                ("{x} has", "{x} have"),
            ];
            let template = auxiliaries
                .iter()
                .fold(template, |text, (one, many)| text.replace(one, many));
            (template, self.text_of_many(from))
        } else {
            (template, self.text_of(from))
        };
        let many = plural(&n);
        Some(fill(
            &template,
            &[
                ("{x}", &other),
                ("{v}", &other),
                ("{n}", &n),
                ("{c}", &c),
                ("{t}", &t),
                ("{m}", &many),
            ],
        ))
    }

    pub(super) fn count(&mut self, set: &Set) -> String {
        let np = self.np(set);
        if let Set::Walk {
            from,
            relation,
            forward: true,
            ..
        } = set
            && self.rng.chance(0.4)
        {
            let n = plural(&self.tails_noun(*relation));
            let of = self.text_of(from);
            let do_ = if matches!(from.as_ref(), Set::Entity(_)) {
                "does"
            } else {
                "do"
            };
            return match self.rng.below(7) {
                3 => format!("how many {n} are used by {of}"),
                4 => format!("count the number of different {n} of {of}"),
                5 => format!("what is the number of distinct {n} for {of}"),
                6 => format!("for {of}, how many {n} are there"),
                0 => format!("how many different {n} {do_} {of} have"),
                1 => format!("how many {n} {do_} {of} have"),
                _ => format!("how many {n} are there for {of}"),
            };
        }
        let whole = self.text(
            &Np {
                many: true,
                ..np.clone()
            },
            true,
            false,
        );
        let noun = plural(&np.noun);
        if !np.after.is_empty()
            && !np.possessed
            && !np.proper
            && self.rng.chance(0.4)
            && !np.after[0].after.starts_with("of ")
        {
            let rest: String = np.after[1..]
                .iter()
                .map(|m| format!(" and {}", m.many))
                .collect();
            return format!("how many {noun} {}{rest}", np.after[0].many);
        }
        // "In 1980, how many cars were made".
        if let [modifier] = np.after.as_slice()
            && ["in ", "from ", "for "]
                .iter()
                .any(|start| modifier.after.starts_with(start))
            && self.rng.chance(0.15)
        {
            let be = self.word(&[
                "are there",
                "were there",
                "exist",
                "were made",
                "do we have",
            ]);
            return format!("{}, how many {noun} {be}", modifier.after);
        }
        match self.rng.below(18) {
            13 => format!("how many {whole} are listed"),
            14 => format!("how many {whole} in total"),
            15 => format!("what is the total count of {whole}"),
            16 => format!("count the number of distinct {whole}"),
            17 => format!("what is the number of different {whole}"),
            0..=2 => format!("how many {whole} are there"),
            3 => format!("how many {whole} do we have"),
            4 => format!("what is the number of {whole}"),
            5 => format!("count the number of {whole}"),
            6 => format!("count the {whole}"),
            7 => format!("what is the total number of {whole}"),
            8 => format!("how many {whole} exist"),
            9 => format!("how many different {whole} are there"),
            10 => format!("give the number of {whole}"),
            11 => format!("what is the count of {whole}"),
            _ => format!("how many {whole}"),
        }
    }

    pub(super) fn yes(&mut self, of: &Set, test: &Test) -> String {
        let subject = self.text_of(of);
        if let Test::Is {
            relation,
            forward: true,
            set,
        } = test
        {
            let other = self.text_of(set);
            let n = self.noun_of(*relation);
            let modifier = self.said_of_heads(*relation, &other);
            return match self.rng.below(6) {
                0 => format!("is {other} the {n} of {subject}"),
                1 => format!("is the {n} of {subject} {other}"),
                2 => format!("does {subject} have the {n} {other}"),
                3 => format!("is {other} {} {n} of {subject}", article(&n)),
                _ => match modifier.one.strip_prefix("is ") {
                    Some(rest) => {
                        let be = self.word(&["is", "was"]);
                        format!("{be} {subject} {rest}")
                    }
                    None => match modifier.one.strip_prefix("has ") {
                        Some(rest) => format!("does {subject} have {rest}"),
                        None => format!("is it true that {subject} {}", modifier.one),
                    },
                },
            };
        }
        let modifier = self.test(test, None);
        match (
            modifier.one.strip_prefix("is "),
            modifier.one.strip_prefix("has "),
        ) {
            (Some(rest), _) => format!("is {subject} {rest}"),
            (_, Some(rest)) => format!("does {subject} have {rest}"),
            _ => format!("is it true that {subject} {}", modifier.one),
        }
    }

    pub(super) fn either(&mut self, left: &Set, right: &Set, by: Option<usize>) -> String {
        let joint = self.word(&["or", "or", "and", "or"]);
        // The same way to say both, if both are of one kind: the tree is walked with the same choices.
        let state = self.rng.clone();
        let first = self.np(left);
        self.rng = state;
        let second = self.np(right);
        let names = by.map(|by| plural(&self.noun_of(by)));
        let same = first.noun == second.noun && !first.proper && first.before == second.before;
        let phrase = match (first.after.first(), second.after.first()) {
            (Some(one), Some(other)) if same => {
                let mut one = one.after.clone();
                let mut other = other.after.clone();
                // "films directed by A or B": what both begin with is said once.
                let common = one
                    .split(' ')
                    .zip(other.split(' '))
                    .take_while(|(a, b)| a == b)
                    .map(|(a, _)| a.len() + 1)
                    .sum::<usize>();
                let once = self.rng.chance(0.7) && common < other.len() && common < one.len();
                if once {
                    other = other[common..].to_owned();
                }
                if joint == "or" && self.rng.chance(0.3) {
                    one.insert_str(if once { common } else { 0 }, "either ");
                }
                format!("{} {one} {joint} {other}", plural(&first.noun))
            }
            _ => format!(
                "{} {joint} {}",
                self.text(&first, true, false),
                self.text(&second, true, true)
            ),
        };
        match names {
            Some(names) => self.requested(&format!("{names} of {phrase}"), true, "the "),
            None => self.requested(&phrase, true, "the "),
        }
    }

    pub(super) fn compare(
        &mut self,
        left: NodeId,
        right: NodeId,
        relation: usize,
        max: bool,
    ) -> String {
        let say = self.relation(relation).say.clone();
        let (a, b) = (self.name(left), self.name(right));
        let n = self.noun_of(relation);
        let class = self
            .profile
            .class_of(left)
            .map_or_else(|| "one".to_owned(), |class| self.class_noun(class));
        let adjectives = if max { &say.more } else { &say.less };
        let time = self.relation(relation).tail == Tail::Time;
        if !adjectives.is_empty() && self.rng.chance(0.5) {
            let adjective = self.rng.pick(adjectives).cloned().unwrap_or_default();
            let adjective = adjective
                .strip_suffix(" than")
                .or_else(|| adjective.strip_suffix(" after"))
                .or_else(|| adjective.strip_suffix(" before"))
                .map(str::to_owned);
            if let Some(adjective) =
                adjective.filter(|adjective| !adjective.starts_with("that ") && !time)
            {
                return match self.rng.below(4) {
                    0 => format!("which is {adjective}, {a} or {b}"),
                    1 => format!("which {class} is {adjective}, {a} or {b}"),
                    2 => format!("is {a} or {b} {adjective}"),
                    _ => format!("between {a} and {b}, which is {adjective}"),
                };
            }
        }
        let more = match (max, time) {
            (true, false) => self.word(&["higher", "larger", "greater", "bigger"]),
            (false, false) => self.word(&["lower", "smaller", "lesser"]),
            (true, true) => "later".to_owned(),
            (false, true) => "earlier".to_owned(),
        };
        match self.rng.below(4) {
            0 => format!("which has the {more} {n}, {a} or {b}"),
            1 => format!("which {class} has a {more} {n}, {a} or {b}"),
            2 => format!("does {a} or {b} have the {more} {n}"),
            _ => format!("of {a} and {b}, which has the {more} {n}"),
        }
    }

    /// Capital, question mark, and now and then what hurried people do.
    pub(super) fn finished(&mut self, text: &str) -> String {
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let imperative = [
            "tell", "give", "find", "show", "return", "name", "list", "count",
        ]
        .iter()
        .any(|verb| text.starts_with(verb));
        if !imperative && self.rng.chance(0.05) {
            let opening = self.word(&[
                "please tell me, ",
                "do you know ",
                "hey, ",
                "i want to know ",
                "could you say ",
            ]);
            text.insert_str(0, &opening);
        }
        if self.rng.chance(0.7)
            && let Some(first) = text.chars().next()
        {
            text.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
        }
        match self.rng.below(10) {
            0 | 1 => {}
            2 => text.push_str(" ?"),
            _ if imperative => {
                if self.rng.chance(0.7) {
                    text.push('.');
                }
            }
            _ => text.push('?'),
        }
        text
    }
}
