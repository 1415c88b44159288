//! Questions about several sets: unions, intersections, and facts in a year.

use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::QuestionSampler;
use super::edge::SampledEdge;
use super::values::speakable;
use crate::synth::plan::{QuestionPlan, Set, Test};
use crate::synth::profile::GraphProfile;
use crate::synth::tail::TailType;

impl QuestionSampler<'_, '_> {
    /// Things related to either of two things or values.
    pub(super) fn union(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let (r, s, o) = (edge.relation, edge.head, edge.tail);
        let profile = self.profile;
        let (s2, o2) = self.other_edge(edge)?;
        let (left, right, end) = match &edge.value {
            Some(_) if self.rng.chance(0.3) && self.relation_with_value(r, o).is_some() => {
                // Two attributes with shared values: the first names of professionals or owners.
                let (class, (other, bearers)) =
                    (profile.relations[r].heads?, self.relation_with_value(r, o)?);
                (
                    Set::Class(class).follow(r, true),
                    Set::Class(bearers).follow(other, true),
                    o,
                )
            }
            Some(value) => {
                let other = self.other_value(r, value)?;
                let class = self.class(s)?;
                if self.rng.chance(0.7) {
                    // One attribute with alternatives: `born in 1948 or 1949`.
                    let set = Set::Class(class).keep(Test::OneOf {
                        relation: r,
                        values: [value.clone(), other],
                    });
                    return if self.rng.chance(0.3) {
                        Some(QuestionPlan::Count { set })
                    } else {
                        self.tested(set, s)
                    };
                }
                let set = |value: Literal| Set::Class(class).keep(Test::value(r, Op::Eq, value));
                (set(value.clone()), set(other), s)
            }
            None if self.rng.chance(0.5) => {
                (o != o2).then_some(())?;
                (
                    self.thing(o)?.follow(r, false),
                    self.thing(o2)?.follow(r, false),
                    s,
                )
            }
            None => {
                (s != s2).then_some(())?;
                (
                    self.thing(s)?.follow(r, true),
                    self.thing(s2)?.follow(r, true),
                    o,
                )
            }
        };
        match self.list(left, end)? {
            QuestionPlan::List { set, by } => Some(QuestionPlan::Either {
                left: set,
                right,
                by,
            }),
            _ => None,
        }
    }

    /// Things related to a thing through a statement whose interval includes a year.
    pub(super) fn interval(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let (r, s, o) = (edge.relation, edge.head, edge.tail);
        let profile = self.profile;
        // The statement is the tail or the head of this edge.
        let statement = if profile.is_statement(o) { o } else { s };
        let kg = profile.kg;
        let (interval, from) =
            profile
                .intervals
                .iter()
                .enumerate()
                .find_map(|(i, (from, _))| {
                    let from = kg.find(&kg::term::Term::Iri(from.clone()))?.relation();
                    let start = kg
                        .tails(statement, from)
                        .iter()
                        .find_map(|&node| kg.term(node).as_literal().cloned())?;
                    Some((i, start))
                })?;
        let year: u32 = from.lexical.get(..4)?.parse().ok()?;
        let year = year + u32::try_from(self.rng.below(4)).ok()?;
        let test = Test::During { interval, year };
        let (set, entry) = if statement == o {
            (self.thing(s)?.silent(r, true).keep(test), Some(r))
        } else {
            let step = self.neighbour(s, None, GraphProfile::is_named_thing)?;
            (
                self.thing(step.to)?
                    .silent(step.relation, !step.forward)
                    .keep(test),
                Some(step.relation),
            )
        };
        if statement == s {
            (entry != Some(r)).then_some(())?;
            return self.list(set.follow(r, true), o);
        }
        let step = self.neighbour(o, Some(s), GraphProfile::is_named_thing)?;
        self.list(set.follow(step.relation, step.forward), step.to)
    }

    /// Values or things shared by two sets: countries with both old and young singers.
    pub(super) fn shared(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let (r, s, o) = (edge.relation, edge.head, edge.tail);
        let profile = self.profile;
        let kg = profile.kg;
        let heads = kg.heads(profile.relations[r].id, o);
        let other = *self.rng.pick(&heads)?;
        if kg.term(o).as_literal().is_some() && profile.relations[r].tail != TailType::Text {
            return None;
        }
        let class = profile.relations[r].heads?;
        if self.rng.chance(0.4)
            && let Some((relation, bearers)) = self.relation_with_value(r, o)
        {
            // The states in which both owners and professionals live.
            let test = Test::Is {
                relation,
                forward: false,
                set: Box::new(Set::Class(bearers)),
            };
            return self.list(Set::Class(class).follow(r, true).keep(test), o);
        }
        let (first, second) = match self
            .separating_tests(s, other, r)
            .filter(|_| self.rng.chance(0.5))
        {
            Some(tests) => tests,
            None => (
                self.attribute_test(s, Some(r))?,
                self.attribute_test(other, Some(r))?,
            ),
        };
        (first != second).then_some(())?;
        let second = Set::Class(class).keep(second);
        let set = Set::Class(class)
            .keep(first)
            .follow(r, true)
            .keep(Test::related(r, false, second));
        self.list(set, o)
    }

    /// Another relation with this value, and the class of its heads, which differs from that of
    /// `r`.
    fn relation_with_value(&mut self, r: usize, value: NodeId) -> Option<(usize, usize)> {
        let profile = self.profile;
        let class = profile.relations[r].heads?;
        let others = profile
            .kg
            .in_relations(value)
            .into_iter()
            .filter_map(|id| profile.relation(id));
        let mut found: Vec<(usize, usize)> = others
            .filter_map(|other| Some((other, profile.relations[other].heads?)))
            .collect();
        found.retain(|&(other, bearers)| {
            other != r && bearers != class && !profile.relations[other].identifier
        });
        self.rng.pick(&found).copied()
    }

    /// Things related to both of two others: countries with both English and Dutch, films with both
    /// of two actors.
    pub(super) fn both(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let (r, s, o) = (edge.relation, edge.head, edge.tail);
        let profile = self.profile;
        let kg = profile.kg;
        let outward = self.rng.chance(0.5);
        let (this, partners) = if outward {
            (s, kg.tails(s, profile.relations[r].id))
        } else {
            (o, kg.heads(profile.relations[r].id, o))
        };
        let one = if outward { o } else { s };
        let other = *self.rng.pick(&partners)?;
        (one != other && profile.is_named_thing(this)).then_some(())?;
        let described = match (self.thing(one), self.thing(other)) {
            (Some(one), Some(other)) if self.rng.chance(0.6) => (one, other),
            _ => {
                let (relation, value, _) = self.attribute(one, Some(r))?;
                let second = *kg.tails(other, profile.relations[relation].id).first()?;
                let second = kg.term(second).as_literal()?.clone();
                (profile.relations[relation].tail == TailType::Text
                    && speakable(&value)
                    && speakable(&second))
                .then_some(())?;
                let class = profile.relations[relation].heads?;
                let set =
                    |value: Literal| Set::Class(class).keep(Test::value(relation, Op::Eq, value));
                (set(value), set(second))
            }
        };
        (described.0 != described.1).then_some(())?;
        let test = |set: Set| Test::related(r, outward, set);
        let set = Set::Class(self.class(this)?)
            .keep(test(described.0))
            .keep(test(described.1));
        if self.rng.chance(0.25) {
            Some(QuestionPlan::Count { set })
        } else {
            self.list(set, this)
        }
    }

    /// Two tests that separate two nodes by an attribute: below 30 and above 40.
    fn separating_tests(&mut self, one: NodeId, other: NodeId, but: usize) -> Option<(Test, Test)> {
        let profile = self.profile;
        let number =
            |found: &(usize, Literal, NodeId)| profile.relations[found.0].tail == TailType::Number;
        let (relation, value, _) =
            (0..4).find_map(|_| self.attribute(one, Some(but)).filter(number))?;
        let found = *profile
            .kg
            .tails(other, profile.relations[relation].id)
            .first()?;
        let second = profile.kg.term(found).as_literal()?.clone();
        let (a, b): (f64, f64) = (value.lexical.parse().ok()?, second.lexical.parse().ok()?);
        let mut side = |number: f64, low: bool, of: &Literal| -> Option<Test> {
            let bound = self.rounded(number, low, of.lexical.contains('.'))?;
            let value = Literal {
                lexical: bound,
                ..of.clone()
            };
            Some(Test::value(
                relation,
                if low { Op::Lt } else { Op::Gt },
                value,
            ))
        };
        let tests = (side(a, a < b, &value)?, side(b, b < a, &second)?);
        (a != b).then_some(tests)
    }
}
