//! What is said of things: conditions behind a noun and as predicates.

use kg::term::Literal;
use kg::value::Op;

use super::super::phrase::Phrases;
use super::super::plan::{Set, Test};
use super::super::profile::{Relation, Tail};
use super::super::words::{article, is_plural, plural};
use super::{Modifier, Np, Say, fill};

impl Say<'_, '_> {
    /// What is said of the heads of a relation whose tail is `value`.
    pub(super) fn said_of_heads(&mut self, relation: usize, value: &str) -> Modifier {
        let say = self.relation(relation).say.clone();
        let n = self.noun_of(relation);
        let slots = [("{v}", value), ("{n}", n.as_str()), ("{cmp}", "in")];
        if !say.modifiers.is_empty() && self.rng.chance(0.5) {
            let template = self.rng.pick(&say.modifiers).cloned().unwrap_or_default();
            return Modifier::plain(fill(&template, &slots));
        }
        if !say.prepositions.is_empty() && self.rng.chance(0.3) {
            let preposition = self
                .rng
                .pick(&say.prepositions)
                .cloned()
                .unwrap_or_default();
            return Modifier::plain(format!("{preposition} {value}"));
        }
        match self.rng.below(8) {
            0 | 1 => Modifier::new(
                format!("with {n} {value}"),
                format!("has {n} {value}"),
                format!("have {n} {value}"),
            ),
            2 | 3 => Modifier::new(
                format!("whose {n} is {value}"),
                format!("has {value} as {n}"),
                format!("have {value} as {n}"),
            ),
            4 => Modifier::new(
                format!("with {value} as {n}"),
                format!("has the {n} {value}"),
                format!("have the {n} {value}"),
            ),
            5 => Modifier::new(
                format!("that have the {n} {value}"),
                format!("has {value} as its {n}"),
                format!("have {value} as their {n}"),
            ),
            6 => Modifier::new(
                format!("where the {n} is {value}"),
                format!("has {n} {value}"),
                format!("have {n} {value}"),
            ),
            _ => Modifier::plain(format!("of {value}")),
        }
    }

    pub(super) fn test(&mut self, test: &Test, _before: Option<&Modifier>) -> Modifier {
        match test {
            Test::Value {
                relation,
                op,
                value,
            } => self.comparison(*relation, *op, value),
            Test::Between {
                relation,
                low,
                high,
            } => {
                let tail = self.relation(*relation).tail;
                let (low, high) = (self.value(low, tail), self.value(high, tail));
                let n = self.noun_of(*relation);
                let span = match self.rng.below(5) {
                    0 | 1 => format!("between {low} and {high}"),
                    2 => format!("from {low} to {high}"),
                    3 => format!("at least {low} and at most {high}"),
                    _ => format!("no less than {low} and no more than {high}"),
                };
                let say = self.relation(*relation).say.clone();
                if let Some(text) = self.by_verb(&say, &span) {
                    return text;
                }
                match self.rng.below(3) {
                    0 => Modifier::new(
                        format!("with a {n} {span}"),
                        format!("has a {n} {span}"),
                        format!("have a {n} {span}"),
                    ),
                    1 => Modifier::new(
                        format!("whose {n} is {span}"),
                        format!("has a {n} {span}"),
                        format!("have a {n} that is {span}"),
                    ),
                    _ => Modifier::new(
                        format!("that have a {n} {span}"),
                        format!("has {n} {span}"),
                        format!("have {n} {span}"),
                    ),
                }
            }
            Test::OneOf {
                relation,
                values: [one, other],
            } => {
                let tail = self.relation(*relation).tail;
                let either = self.word(&["", "", "either "]);
                let (one_is_year, n) = (one.lexical.len() == 4, self.noun_of(*relation));
                let (one, other) = (self.value(one, tail), self.value(other, tail));
                let many = plural(&n);
                let v = format!("{either}{one} or {other}");
                if one_is_year && tail != Tail::Text && self.rng.chance(0.4) {
                    let joint =
                        self.word(&["in", "from", "in the year", "in year", "of", "in either"]);
                    return Modifier::plain(format!("{joint} {}", v.trim_start_matches("either ")));
                }
                match self.rng.below(12) {
                    // The noun is said of both values, or of each.
                    0 => Modifier::new(
                        format!("whose {many} are {v}"),
                        format!("has the {n} {v}"),
                        format!("have the {many} {v}"),
                    ),
                    1 => Modifier::new(
                        format!("in {many} {v}"),
                        format!("is in {n} {v}"),
                        format!("are in {n} {v}"),
                    ),
                    2 => Modifier::plain(format!("in {n} {v}")),
                    3 => {
                        let each = format!("{either}the {n} {one} or the {n} {other}");
                        self.said_of_heads(*relation, &each)
                    }
                    4 => Modifier::new(
                        format!("with {many} {v}"),
                        format!("has {n} {v}"),
                        format!("have {n} {v}"),
                    ),
                    5 => Modifier::new(
                        format!("whose {n} is {v}"),
                        format!("has {v} as {n}"),
                        format!("have {v} as {n}"),
                    ),
                    6 => Modifier::new(
                        format!("that have {v}"),
                        format!("has {v}"),
                        format!("have {v}"),
                    ),
                    _ => self.said_of_heads(*relation, &v),
                }
            }
            Test::Is { set, .. } if self.rng.chance(0.55) && self.joined(set).is_some() => {
                match self.joined(set) {
                    Some(inner) => self.test(&inner, None),
                    None => Modifier::default(),
                }
            }
            Test::Is {
                relation,
                forward: true,
                set,
            } => {
                let value = self.text_of(set);
                self.said_of_heads(*relation, &value)
            }
            Test::Is {
                relation,
                forward: false,
                set,
            } => {
                let owner = self.text_of(set);
                let n = self.noun_of(*relation);
                match self.rng.below(5) {
                    0 => Modifier::new(
                        format!("that is the {n} of {owner}"),
                        format!("is the {n} of {owner}"),
                        format!("are {} of {owner}", plural(&n)),
                    ),
                    1 => Modifier::new(
                        format!("which {owner} have as {n}"),
                        format!("is {n} of {owner}"),
                        format!("are {n} of {owner}"),
                    ),
                    2 => Modifier::new(
                        format!("that are also the {n} of {owner}"),
                        format!("is also the {n} of {owner}"),
                        format!("are also the {n} of {owner}"),
                    ),
                    3 => Modifier::new(
                        format!("and {owner}"),
                        format!("belongs to {owner} too"),
                        format!("belong to {owner} too"),
                    ),
                    _ => Modifier::new(
                        format!("that {owner} also have"),
                        format!("is shared by {owner}"),
                        format!("are shared by {owner}"),
                    ),
                }
            }
            Test::Of(class) => {
                let noun = self.class_noun(*class);
                Modifier::new(
                    format!("that are {}", plural(&noun)),
                    format!("is {} {noun}", article(&noun)),
                    format!("are {}", plural(&noun)),
                )
            }
            Test::During { year, .. } => {
                let when = self.word(&["in", "during", "in the year", "as of", "in"]);
                Modifier::plain(format!("{when} {year}"))
            }
        }
    }

    /// The test of what a member is joined to, if it is by an attribute that is not its name: it reads as the member's own.
    fn joined(&self, set: &Set) -> Option<Test> {
        match set {
            Set::Keep {
                of,
                test: test @ Test::Value { relation, .. },
            } => match of.as_ref() {
                Set::Class(class) if self.profile.classes[*class].key != Some(*relation) => {
                    Some(test.clone())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `whose N is more than 5`, `heavier than 5`, `with 5 N`, `not in France`.
    pub(super) fn comparison(&mut self, relation: usize, op: Op, value: &Literal) -> Modifier {
        let Relation { tail, say, .. } = self.relation(relation);
        let (tail, say) = (*tail, say.clone());
        let n = self.noun_of(relation);
        let many = if say.counted || (tail == Tail::Number && is_plural(&n)) {
            plural(&n)
        } else {
            n.clone()
        };
        let v = self.value(value, tail);
        match op {
            Op::Eq if tail == Tail::Number => match self.rng.below(7) {
                6 => Modifier::plain(format!("in {n} {v}")),
                0 => Modifier::new(
                    format!("with {v} {many}"),
                    format!("has {v} {many}"),
                    format!("have {v} {many}"),
                ),
                1 => Modifier::new(
                    format!("with a {n} of {v}"),
                    format!("has a {n} of {v}"),
                    format!("have a {n} of {v}"),
                ),
                2 => Modifier::new(
                    format!("that have {v} {many}"),
                    format!("has {v} {many}"),
                    format!("have {v} {many}"),
                ),
                3 if value.lexical.len() == 4 => {
                    let joint = self.word(&["in", "from", "of", "in the year", "in year"]);
                    Modifier::plain(format!("{joint} {v}"))
                }
                4 if !say.modifiers.is_empty() => {
                    let template = self.rng.pick(&say.modifiers).cloned().unwrap_or_default();
                    Modifier::plain(fill(
                        &template,
                        &[("{v}", &v), ("{n}", &n), ("{cmp}", "in")],
                    ))
                }
                _ => self.said_of_heads(relation, &v),
            },
            Op::Eq => self.said_of_heads(relation, &v),
            Op::Ne => match self.rng.below(8) {
                6 => {
                    let not = self.word(&[
                        "that are not",
                        "who are not",
                        "which are not",
                        "that were not",
                    ]);
                    Modifier::plain(format!("{not} {v}"))
                }
                7 => {
                    let from = self.word(&[
                        "not from",
                        "not in",
                        "that are not from",
                        "who are not from",
                        "that are not in",
                        "except for",
                        "other than",
                    ]);
                    Modifier::plain(format!("{from} {v}"))
                }
                0 => Modifier::new(
                    format!("whose {n} is not {v}"),
                    format!("does not have {n} {v}"),
                    format!("do not have {n} {v}"),
                ),
                1 => Modifier::new(
                    format!("with a {n} other than {v}"),
                    format!("has a {n} other than {v}"),
                    format!("have a {n} other than {v}"),
                ),
                2 => Modifier::new(
                    format!("that do not have the {n} {v}"),
                    format!("does not have the {n} {v}"),
                    format!("do not have the {n} {v}"),
                ),
                3 => Modifier::new(
                    format!("with {n} not {v}"),
                    format!("has another {n} than {v}"),
                    format!("have another {n} than {v}"),
                ),
                _ => {
                    let positive = self.said_of_heads(relation, &v);
                    let one = positive
                        .one
                        .strip_prefix("is ")
                        .map(|rest| format!("is not {rest}"));
                    let many = positive
                        .many
                        .strip_prefix("are ")
                        .map(|rest| format!("are not {rest}"));
                    match (one, many) {
                        (Some(one), Some(many)) => Modifier::new(format!("that {many}"), one, many),
                        _ => Modifier::new(
                            format!("not {}", positive.after),
                            format!("does not {}", positive.one),
                            format!("do not {}", positive.many),
                        ),
                    }
                }
            },
            Op::Gt | Op::Ge | Op::Lt | Op::Le => self.size(&say, tail, op, &n, &many, &v),
        }
    }

    pub(super) fn size(
        &mut self,
        say: &Phrases,
        tail: Tail,
        op: Op,
        n: &str,
        many: &str,
        v: &str,
    ) -> Modifier {
        let adjectives = match op {
            Op::Gt => say.more.clone(),
            Op::Lt => say.less.clone(),
            _ => Vec::new(),
        };
        if !adjectives.is_empty() && self.rng.chance(0.4) {
            let adjective = self.rng.pick(&adjectives).cloned().unwrap_or_default();
            return match adjective.split(' ').next() {
                Some("that" | "with") => Modifier::plain(format!("{adjective} {v}")),
                _ if self.rng.chance(0.4) => Modifier::plain(format!("that are {adjective} {v}")),
                _ => Modifier::plain(format!("{adjective} {v}")),
            };
        }
        let than = match (op, tail) {
            (Op::Gt, Tail::Time) => self.word(&["after", "later than", "after", "since"]),
            (Op::Lt, Tail::Time) => self.word(&["before", "earlier than", "before", "prior to"]),
            (Op::Gt, _) => self.word(&[
                "more than",
                "more than",
                "greater than",
                "higher than",
                "over",
                "above",
                "larger than",
                "bigger than",
                "exceeding",
                "at more than",
                "above",
                "over",
            ]),
            (Op::Lt, _) => self.word(&[
                "less than",
                "less than",
                "smaller than",
                "lower than",
                "under",
                "below",
                "fewer than",
                "below",
                "under",
            ]),
            (Op::Ge, _) => self.word(&["at least", "no less than", "not less than", "or more"]),
            _ => self.word(&["at most", "no more than", "not more than", "up to"]),
        };
        let than = if than == "or more" {
            "at least".to_owned()
        } else {
            than
        };
        if let Some(text) = self.by_verb(say, &format!("{than} {v}")) {
            return text;
        }
        match self.rng.below(13) {
            // "above age 20", "over 300 in weight", "above 40": the noun behind, after the value, or not at all.
            7 => Modifier::plain(format!("{than} {n} {v}")),
            8 if tail == Tail::Number => Modifier::plain(format!("{than} {v} in {n}")),
            9 => Modifier::plain(format!("{than} {v}")),
            10 => Modifier::new(
                format!("who have {n} {than} {v}"),
                format!("has {n} of {than} {v}"),
                format!("have {n} of {than} {v}"),
            ),
            11 if tail == Tail::Number => {
                let verb = if matches!(op, Op::Gt | Op::Ge) {
                    "exceeds"
                } else {
                    "is below"
                };
                let verb = if matches!(op, Op::Gt | Op::Lt) {
                    verb.to_owned()
                } else {
                    format!("is {than}")
                };
                Modifier::new(
                    format!("whose {n} {verb} {v}"),
                    format!("has a {n} {than} {v}"),
                    format!("have {n} {than} {v}"),
                )
            }
            12 if tail == Tail::Number && matches!(op, Op::Ge | Op::Le) => {
                let or = if op == Op::Ge { "or more" } else { "or less" };
                Modifier::new(
                    format!("with {v} {or} {many}"),
                    format!("has {v} {or} {many}"),
                    format!("have {v} {or} {many}"),
                )
            }
            0 | 1 if tail == Tail::Number => Modifier::new(
                format!("with {than} {v} {many}"),
                format!("has {than} {v} {many}"),
                format!("have {than} {v} {many}"),
            ),
            2 if tail == Tail::Number => Modifier::new(
                format!("that have {than} {v} {many}"),
                format!("has {than} {v} {many}"),
                format!("have {than} {v} {many}"),
            ),
            3 => Modifier::new(
                format!("whose {n} is {than} {v}"),
                format!("has a {n} {than} {v}"),
                format!("have a {n} {than} {v}"),
            ),
            4 => Modifier::new(
                format!("with {n} {than} {v}"),
                format!("has {n} {than} {v}"),
                format!("have {n} {than} {v}"),
            ),
            5 => Modifier::new(
                format!("that have a {n} {than} {v}"),
                format!("has a {n} that is {than} {v}"),
                format!("have a {n} that is {than} {v}"),
            ),
            _ => Modifier::new(
                format!("with a {n} {than} {v}"),
                format!("has a {n} of {than} {v}"),
                format!("have a {n} of {than} {v}"),
            ),
        }
    }

    /// A size said by a verb instead of a noun: `weighing no less than 3000`. Now and then, where there is one.
    fn by_verb(&mut self, say: &Phrases, size: &str) -> Option<Modifier> {
        let verbs = |template: &&String| {
            template
                .split(' ')
                .next()
                .is_some_and(|word| word.ends_with("ing") || word == "aged")
        };
        let templates: Vec<&String> = say.modifiers.iter().filter(verbs).collect();
        if templates.is_empty() || !self.rng.chance(0.2) {
            return None;
        }
        let template = self.rng.pick(&templates)?;
        Some(Modifier::plain(fill(
            template,
            &[("{v}", size), ("{n}", ""), ("{cmp}", "")],
        )))
    }

    /// `highest`, `latest`, `most`.
    pub(super) fn extreme_word(&mut self, relation: usize, max: bool) -> String {
        let tail = self.relation(relation).tail;
        match (max, tail) {
            (true, Tail::Time) => self.word(&["latest", "most recent", "newest", "last"]),
            (false, Tail::Time) => self.word(&["earliest", "first", "oldest"]),
            (true, _) => self.word(&[
                "highest", "largest", "greatest", "biggest", "maximum", "most", "top",
            ]),
            (false, _) => self.word(&["lowest", "smallest", "least", "minimum", "fewest"]),
        }
    }

    pub(super) fn superlative(&mut self, np: &mut Np, relation: usize, max: bool) {
        let say = self.relation(relation).say.clone();
        let adjectives = if max { &say.most } else { &say.least };
        if !adjectives.is_empty() && np.before.is_empty() && !np.proper && self.rng.chance(0.5) {
            np.before = self.rng.pick(adjectives).cloned().unwrap_or_default();
            return;
        }
        let n = self.noun_of(relation);
        let many = if say.counted { plural(&n) } else { n };
        let extreme = self.extreme_word(relation, max);
        let modifier = match self.rng.below(5) {
            4 => {
                let verb = self.word(&["got", "received", "had", "gets", "shows"]);
                let who = self.word(&["who", "that", "which"]);
                Modifier::new(
                    format!("{who} {verb} the {extreme} {many}"),
                    format!("{verb} the {extreme} {many}"),
                    format!("{verb} the {extreme} {many}"),
                )
            }
            0 => Modifier::new(
                format!("that has the {extreme} {many}"),
                format!("has the {extreme} {many}"),
                format!("have the {extreme} {many}"),
            ),
            1 => Modifier::new(
                format!("whose {many} is the {extreme}"),
                format!("has the {extreme} {many}"),
                format!("have the {extreme} {many}"),
            ),
            _ => Modifier::new(
                format!("with the {extreme} {many}"),
                format!("has the {extreme} {many}"),
                format!("have the {extreme} {many}"),
            ),
        };
        np.after.push(modifier);
    }
}
