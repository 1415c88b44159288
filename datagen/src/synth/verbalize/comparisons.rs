//! Modifiers for comparisons, and superlatives.

use kg::term::Literal;
use kg::value::Op;

use super::Verbalizer;
use super::noun_phrase::{Modifier, NounPhrase, fill, modifier};
use crate::synth::profile::RelationProfile;
use crate::synth::tail::TailType;
use crate::synth::wording::RelationWording;
use crate::synth::words::{is_plural, plural};

impl Verbalizer<'_, '_> {
    /// `whose N is more than 5`, `heavier than 5`, `with 5 N`, `not in France`.
    pub(super) fn comparison(&mut self, relation: usize, op: Op, value: &Literal) -> Modifier {
        let RelationProfile { tail, wording, .. } = self.relation(relation);
        let (tail, wording) = (*tail, wording.clone());
        let n = self.noun_of(relation);
        let many = if wording.counted || (tail == TailType::Number && is_plural(&n)) {
            plural(&n)
        } else {
            n.clone()
        };
        let v = self.value(value, tail);
        match op {
            Op::Eq if tail == TailType::Number => {
                let year = value.lexical.len() == 4;
                self.number(relation, year, &n, &many, &v)
            }
            Op::Eq => self.heads_modifier(relation, &v),
            Op::Ne => self.exception(relation, &n, &v),
            Op::Gt | Op::Ge | Op::Lt | Op::Le => self.size(&wording, tail, op, &n, &many, &v),
        }
    }

    /// `with 5 N`, `in 1970`.
    fn number(&mut self, relation: usize, year: bool, n: &str, many: &str, v: &str) -> Modifier {
        match self.rng.below(7) {
            6 => modifier!("in {n} {v}"),
            0 => modifier!("with {v} {many}", has "{v} {many}"),
            1 => modifier!("with a {n} of {v}", has "a {n} of {v}"),
            2 => modifier!("that have {v} {many}", has "{v} {many}"),
            3 if year => {
                let joint = self.word("in|from|of|in the year|in year");
                modifier!("{joint} {v}")
            }
            4 if !self.relation(relation).wording.modifiers.is_empty() => {
                let templates = &self.profile.relations[relation].wording.modifiers;
                let template = self.rng.pick(templates).cloned().unwrap_or_default();
                Modifier::plain(fill(&template, &[("{v}", v), ("{n}", n), ("{cmp}", "in")]))
            }
            _ => self.heads_modifier(relation, v),
        }
    }

    /// `whose N is not 5`, `not in France`.
    fn exception(&mut self, relation: usize, n: &str, v: &str) -> Modifier {
        match self.rng.below(8) {
            6 => {
                let not = self.word("that are not|who are not|which are not|that were not");
                modifier!("{not} {v}")
            }
            7 => {
                let from = self.word(
                    "not from|not in|that are not from|who are not from|that are not in|except for|\
                     other than",
                );
                modifier!("{from} {v}")
            }
            0 => modifier!(
                "whose {n} is not {v}", one "does not have {n} {v}", many "do not have {n} {v}"
            ),
            1 => modifier!("with a {n} other than {v}", has "a {n} other than {v}"),
            2 => modifier!(
                "that do not have the {n} {v}",
                one "does not have the {n} {v}", many "do not have the {n} {v}"
            ),
            3 => modifier!("with {n} not {v}", has "another {n} than {v}"),
            _ => {
                let positive = self.heads_modifier(relation, v);
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
        }
    }

    /// `more than`, `before`.
    fn than(&mut self, tail: TailType, op: Op) -> String {
        match (op, tail) {
            (Op::Gt, TailType::Time) => self.word("after|later than|after|since"),
            (Op::Lt, TailType::Time) => self.word("before|earlier than|before|prior to"),
            (Op::Gt, _) => self.word(
                "more than|more than|greater than|higher than|over|above|larger than|bigger than|\
                 exceeding|at more than|above|over",
            ),
            (Op::Lt, _) => self.word(
                "less than|less than|smaller than|lower than|under|below|fewer than|below|under",
            ),
            (Op::Ge, _) => self.word("at least|no less than|not less than|at least"),
            _ => self.word("at most|no more than|not more than|up to"),
        }
    }

    /// `heavier than 5`, `with more than 5 N`.
    fn size(
        &mut self,
        wording: &RelationWording,
        tail: TailType,
        op: Op,
        n: &str,
        many: &str,
        v: &str,
    ) -> Modifier {
        let adjectives = match op {
            Op::Gt => wording.more.clone(),
            Op::Lt => wording.less.clone(),
            _ => Vec::new(),
        };
        if !adjectives.is_empty() && self.rng.chance(0.4) {
            let adjective = self.rng.pick(&adjectives).cloned().unwrap_or_default();
            return match adjective.split(' ').next() {
                Some("that" | "with") => modifier!("{adjective} {v}"),
                _ if self.rng.chance(0.4) => modifier!("that are {adjective} {v}"),
                _ => modifier!("{adjective} {v}"),
            };
        }
        let than = self.than(tail, op);
        if let Some(text) = self.by_verb(wording, &format!("{than} {v}")) {
            return text;
        }
        match self.rng.below(13) {
            // "above age 20", "over 300 in weight", "above 40": the noun before the value, after
            // it, or omitted.
            7 => modifier!("{than} {n} {v}"),
            8 if tail == TailType::Number => modifier!("{than} {v} in {n}"),
            9 => modifier!("{than} {v}"),
            10 => modifier!("who have {n} {than} {v}", has "{n} of {than} {v}"),
            11 if tail == TailType::Number => {
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
                modifier!(
                    "whose {n} {verb} {v}", one "has a {n} {than} {v}", many "have {n} {than} {v}"
                )
            }
            12 if tail == TailType::Number && matches!(op, Op::Ge | Op::Le) => {
                let or = if op == Op::Ge { "or more" } else { "or less" };
                modifier!("with {v} {or} {many}", has "{v} {or} {many}")
            }
            0 | 1 if tail == TailType::Number => {
                modifier!("with {than} {v} {many}", has "{than} {v} {many}")
            }
            2 if tail == TailType::Number => {
                modifier!("that have {than} {v} {many}", has "{than} {v} {many}")
            }
            3 => modifier!("whose {n} is {than} {v}", has "a {n} {than} {v}"),
            4 => modifier!("with {n} {than} {v}", has "{n} {than} {v}"),
            5 => modifier!("that have a {n} {than} {v}", has "a {n} that is {than} {v}"),
            _ => modifier!("with a {n} {than} {v}", has "a {n} of {than} {v}"),
        }
    }

    /// A size with a verb instead of a noun, in some cases: `weighing no less than 3000`.
    pub(super) fn by_verb(&mut self, wording: &RelationWording, size: &str) -> Option<Modifier> {
        let verbs = |template: &&String| {
            template
                .split(' ')
                .next()
                .is_some_and(|word| word.ends_with("ing") || word == "aged")
        };
        let templates: Vec<&String> = wording.modifiers.iter().filter(verbs).collect();
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
            (true, TailType::Time) => self.word("latest|most recent|newest|last"),
            (false, TailType::Time) => self.word("earliest|first|oldest"),
            (true, _) => self.word("highest|largest|greatest|biggest|maximum|most|top"),
            (false, _) => self.word("lowest|smallest|least|minimum|fewest"),
        }
    }

    pub(super) fn superlative(&mut self, phrase: &mut NounPhrase, relation: usize, max: bool) {
        let wording = self.relation(relation).wording.clone();
        let adjectives = if max { &wording.most } else { &wording.least };
        if !adjectives.is_empty()
            && phrase.before.is_empty()
            && !phrase.proper
            && self.rng.chance(0.5)
        {
            phrase.before = self.rng.pick(adjectives).cloned().unwrap_or_default();
            return;
        }
        let n = self.noun_of(relation);
        let many = if wording.counted { plural(&n) } else { n };
        let extreme = self.extreme_word(relation, max);
        let modifier = match self.rng.below(5) {
            4 => {
                let verb = self.word("got|received|had|gets|shows");
                let who = self.word("who|that|which");
                modifier!(
                    "{who} {verb} the {extreme} {many}",
                    one "{verb} the {extreme} {many}", many "{verb} the {extreme} {many}"
                )
            }
            0 => modifier!("that has the {extreme} {many}", has "the {extreme} {many}"),
            1 => modifier!("whose {many} is the {extreme}", has "the {extreme} {many}"),
            _ => modifier!("with the {extreme} {many}", has "the {extreme} {many}"),
        };
        phrase.after.push(modifier);
    }
}
