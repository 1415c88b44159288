//! Requests, counts, and yes-or-no and comparison questions.

use kg::term::NodeId;

use super::Verbalizer;
use crate::synth::plan::{Set, Test};
use crate::synth::tail::TailType;
use crate::synth::words::{article, plural};

impl Verbalizer<'_, '_> {
    /// A request for the things of a phrase: a question or an imperative.
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

    pub(super) fn count(&mut self, set: &Set) -> String {
        let phrase = self.noun_phrase(set);
        if let Set::Follow {
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
        let whole = self.text(&phrase, true, false);
        let noun = plural(&phrase.noun);
        if !phrase.after.is_empty()
            && !phrase.possessed
            && !phrase.proper
            && self.rng.chance(0.4)
            && !phrase.after[0].after.starts_with("of ")
        {
            let rest: String = phrase.after[1..]
                .iter()
                .map(|m| format!(" and {}", m.many))
                .collect();
            return format!("how many {noun} {}{rest}", phrase.after[0].many);
        }
        // "In 1980, how many cars were made".
        if let [modifier] = phrase.after.as_slice()
            && ["in ", "from ", "for "]
                .iter()
                .any(|start| modifier.after.starts_with(start))
            && self.rng.chance(0.15)
        {
            let be = self.word("are there|were there|exist|were made|do we have");
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
            let modifier = self.heads_modifier(*relation, &other);
            return match self.rng.below(6) {
                0 => format!("is {other} the {n} of {subject}"),
                1 => format!("is the {n} of {subject} {other}"),
                2 => format!("does {subject} have the {n} {other}"),
                3 => format!("is {other} {} {n} of {subject}", article(&n)),
                _ => match modifier.one.strip_prefix("is ") {
                    Some(rest) => {
                        let be = self.word("is|was");
                        format!("{be} {subject} {rest}")
                    }
                    None => match modifier.one.strip_prefix("has ") {
                        Some(rest) => format!("does {subject} have {rest}"),
                        None => format!("is it true that {subject} {}", modifier.one),
                    },
                },
            };
        }
        let modifier = self.test(test);
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
        let joint = self.word("or|or|and|or");
        // The same random choices for both sides, so that similar sets get the same wording.
        let state = self.rng.clone();
        let first = self.noun_phrase(left);
        self.rng = state;
        let second = self.noun_phrase(right);
        let names = by.map(|by| plural(&self.noun_of(by)));
        let same = first.noun == second.noun && !first.proper && first.before == second.before;
        let phrase = match (first.after.first(), second.after.first()) {
            (Some(one), Some(other)) if same => {
                let mut one = one.after.clone();
                let mut other = other.after.clone();
                // "films directed by A or B": a common prefix occurs once.
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
        let wording = self.relation(relation).wording.clone();
        let (a, b) = (self.name(left), self.name(right));
        let n = self.noun_of(relation);
        let class = self
            .profile
            .class_of(left)
            .map_or_else(|| "one".to_owned(), |class| self.class_noun(class));
        let adjectives = if max { &wording.more } else { &wording.less };
        let time = self.relation(relation).tail == TailType::Time;
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
            (true, false) => self.word("higher|larger|greater|bigger"),
            (false, false) => self.word("lower|smaller|lesser"),
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

    /// Adds an opening, a capital and a question mark or full stop, each in most or some cases.
    pub(super) fn finished(&mut self, text: &str) -> String {
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let imperative = [
            "tell", "give", "find", "show", "return", "name", "list", "count",
        ]
        .iter()
        .any(|verb| text.starts_with(verb));
        if !imperative && self.rng.chance(0.05) {
            let opening =
                self.word("please tell me, |do you know |hey, |i want to know |could you say ");
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
