//! Sets that contain a given node, and steps from that node.

use kg::term::NodeId;
use kg::value::Op;

use super::QuestionSampler;
use super::edge::SampledEdge;
use super::values::speakable;
use crate::synth::plan::{QuestionPlan, Set, Test};
use crate::synth::profile::GraphProfile;

/// Maximum number of neighbours that are tried when one is sampled.
const NEIGHBOURS: usize = 200;

/// A step from one node to another.
pub(super) struct NeighbourStep {
    pub(super) relation: usize,
    pub(super) forward: bool,
    pub(super) to: NodeId,
}

impl<'g> QuestionSampler<'_, 'g> {
    /// The question for the members of a set or for their names; `end` is a member.
    pub(super) fn list(&mut self, set: Set, end: NodeId) -> Option<QuestionPlan> {
        let profile = self.profile;
        if matches!(set, Set::Entity(_)) || is_trivial(&set) {
            return None;
        }
        if profile.kg.term(end).as_literal().is_some() || profile.is_labelled(end) {
            return Some(QuestionPlan::List { set, by: None });
        }
        let Some((_, key, _)) = profile.key(end) else {
            // A member without a name is replaced by the only thing that it joins to.
            let mut joined = profile.kg.out_relations(end).into_iter().filter_map(|id| {
                let to = profile
                    .kg
                    .tails(end, id)
                    .iter()
                    .copied()
                    .find(|&to| profile.is_thing(to))?;
                Some((profile.relation(id)?, profile.key(to)?.1))
            });
            let (join, key) = joined.next()?;
            if joined.next().is_some() || matches!(set, Set::Follow { .. }) {
                return None;
            }
            return Some(QuestionPlan::List {
                set: set.silent(join, true).follow(key, true),
                by: None,
            });
        };
        // A question for the name of a thing given by its name is trivial.
        if let Set::Keep { test, .. } = &set
            && test.given() == Some(key)
        {
            return None;
        }
        Some(QuestionPlan::List { set, by: Some(key) })
    }

    /// The question for a constrained set, or for a relation or attribute of it.
    pub(super) fn tested(&mut self, set: Set, node: NodeId) -> Option<QuestionPlan> {
        if self.profile.is_statement(node) || self.rng.chance(0.5) {
            let (set, end) = self.onward_any(set, node)?;
            return self.list(set, end);
        }
        self.list(set, node)
    }

    /// A named thing as a set: by label, or by class and naming attribute.
    pub(super) fn thing(&mut self, node: NodeId) -> Option<Set> {
        let profile = self.profile;
        if !profile.is_thing(node) {
            return None;
        }
        if profile.is_labelled(node) {
            return Some(Set::Entity(node));
        }
        let (class, relation, value) = profile.key(node)?;
        // A thing with an alias is linked as an entity, so that its name is not a literal of the
        // question.
        if profile
            .alias(node)
            .is_some_and(|name| name == value.lexical)
            && self.rng.chance(0.9)
        {
            return speakable(&value).then_some(Set::Entity(node));
        }
        speakable(&value).then_some(Set::Class(class).keep(Test::value(relation, Op::Eq, value)))
    }

    /// A thing with a label, as a set.
    pub(super) fn labelled(&mut self, node: NodeId) -> Option<Set> {
        (self.profile.is_thing(node) && self.profile.is_labelled(node)).then_some(Set::Entity(node))
    }

    pub(super) fn class(&mut self, node: NodeId) -> Option<usize> {
        let classes = self.profile.classes_of(node);
        // Usually the most specific class, sometimes a wider one.
        if self.rng.chance(0.7) {
            self.profile.class_of(node)
        } else {
            self.rng.pick(&classes).copied()
        }
    }

    /// A set that contains the node, described over `hops` relations. A statement node is described
    /// by a named thing next to it.
    pub(super) fn reach(&mut self, node: NodeId, hops: usize) -> Option<Set> {
        if self.profile.is_statement(node) {
            let step = self.neighbour(node, None, GraphProfile::is_named_thing)?;
            let from = self.reach(step.to, hops.saturating_sub(1))?;
            return Some(from.silent(step.relation, !step.forward));
        }
        if hops == 0 {
            return self.thing(node);
        }
        let step = self.neighbour(node, None, GraphProfile::is_thing)?;
        let from = if self.profile.is_statement(step.to) {
            self.reach_statement(step.to, node, hops - 1)?
        } else {
            self.reach(step.to, hops - 1)?
        };
        Some(from.follow(step.relation, !step.forward))
    }

    /// A set that contains the node, described by a thing one or two joins away; the wording may
    /// skip the node between.
    pub(super) fn joined_set(&mut self, node: NodeId) -> Option<Set> {
        let hops = 1 + self.rng.below(2);
        let mut set = self.reach(node, hops)?;
        if let Set::Follow { from, .. } = &mut set
            && let Set::Follow { silent, .. } = from.as_mut()
            && self.rng.chance(0.6)
        {
            *silent = true;
        }
        matches!(set, Set::Follow { .. }).then_some(set)
    }

    /// A set that contains a statement node, described from a neighbour other than `but`.
    pub(super) fn reach_statement(
        &mut self,
        node: NodeId,
        but: NodeId,
        hops: usize,
    ) -> Option<Set> {
        let step = self.neighbour(node, Some(but), GraphProfile::is_named_thing)?;
        let from = self.reach(step.to, hops)?;
        Some(from.silent(step.relation, !step.forward))
    }

    /// The base of a constraint: a class, or the things related to a thing.
    pub(super) fn base(&mut self, node: NodeId) -> Option<Set> {
        if self.profile.class_of(node).is_some() && self.rng.chance(0.5) {
            return self.class(node).map(Set::Class);
        }
        self.reach(node, 1)
            .or_else(|| self.class(node).map(Set::Class))
    }

    /// The heads of the edge's tail, and one of them that is not a statement node.
    pub(super) fn heads_of(&mut self, edge: &SampledEdge) -> Option<(Set, NodeId)> {
        let set = match &edge.value {
            None => self.thing(edge.tail)?.follow(edge.relation, false),
            Some(value) => {
                speakable(value).then_some(())?;
                let class = self.profile.relations[edge.relation]
                    .heads
                    .or_else(|| self.profile.class_of(edge.head))?;
                Set::Class(class).keep(Test::value(edge.relation, Op::Eq, value.clone()))
            }
        };
        self.out_of_statements(set, edge.head)
    }

    /// Steps from a statement node to one of its other nodes; other nodes stay.
    pub(super) fn out_of_statements(&mut self, set: Set, end: NodeId) -> Option<(Set, NodeId)> {
        if !self.profile.is_statement(end) {
            return Some((set, end));
        }
        let Set::Follow {
            from,
            relation,
            forward,
            ..
        } = set
        else {
            return None;
        };
        let step = self.neighbour(end, None, |profile, other| !profile.is_statement(other))?;
        // Not back along the same relation.
        if step.relation == relation && step.forward != forward {
            return None;
        }
        Some((
            from.silent(relation, forward)
                .follow(step.relation, step.forward),
            step.to,
        ))
    }

    /// One step further, to things.
    pub(super) fn onward(&mut self, set: Set, at: NodeId) -> Option<(Set, NodeId)> {
        let step = self.neighbour(at, None, GraphProfile::is_thing)?;
        if undoes(&set, &step) {
            return None;
        }
        self.out_of_statements(set.follow(step.relation, step.forward), step.to)
    }

    /// One step further, to things or values.
    pub(super) fn onward_any(&mut self, set: Set, at: NodeId) -> Option<(Set, NodeId)> {
        match self.rng.below(10) {
            0..=4 => {
                // The attribute that describes the set is not asked for.
                let given = match &set {
                    Set::Keep {
                        test:
                            Test::Value { relation, .. }
                            | Test::Between { relation, .. }
                            | Test::OneOf { relation, .. },
                        ..
                    }
                    | Set::Most {
                        via: None,
                        relation,
                        ..
                    } => Some(*relation),
                    _ => None,
                };
                let (relation, _, to) = self.attribute(at, given)?;
                Some((set.follow(relation, true), to))
            }
            5 | 6 => {
                // An attribute of a joined node, worded as the member's own.
                let step = self.neighbour(at, None, GraphProfile::is_classed)?;
                if undoes(&set, &step) {
                    return None;
                }
                let set = set.silent(step.relation, step.forward);
                // Or of a node two joins away: the names of the makers of the models of the cars
                // from 1970.
                let further = if self.rng.chance(0.35) {
                    self.neighbour(step.to, Some(at), GraphProfile::is_classed)
                } else {
                    None
                };
                if let Some(further) = further.filter(|further| !undoes(&set, further)) {
                    let (relation, _, to) = self.attribute(further.to, None)?;
                    return Some((
                        set.silent(further.relation, further.forward)
                            .follow(relation, true),
                        to,
                    ));
                }
                let (relation, _, to) = self.attribute(step.to, None)?;
                Some((set.follow(relation, true), to))
            }
            _ => self.onward(set, at),
        }
    }

    /// A random neighbour of a node that satisfies `fits`.
    pub(super) fn neighbour(
        &mut self,
        node: NodeId,
        but: Option<NodeId>,
        fits: impl Fn(&GraphProfile<'g>, NodeId) -> bool,
    ) -> Option<NeighbourStep> {
        let profile = self.profile;
        let kg = profile.kg;
        let forward = self.rng.chance(0.5);
        for forward in [forward, !forward] {
            let relations = if forward {
                kg.out_relations(node)
            } else {
                kg.in_relations(node)
            };
            // Several tries, because a relation may have no suitable neighbour.
            for _ in 0..3 {
                let Some(&id) = self.rng.pick(&relations) else {
                    break;
                };
                let Some(relation) = profile.relation(id) else {
                    continue;
                };
                let others = if forward {
                    kg.tails(node, id)
                } else {
                    kg.heads(id, node)
                };
                let at = self.rng.below(others.len());
                let found = others
                    .iter()
                    .cycle()
                    .skip(at)
                    .take(others.len().min(NEIGHBOURS));
                if let Some(&to) = found
                    .into_iter()
                    .find(|&&to| Some(to) != but && to != node && fits(profile, to))
                {
                    return Some(NeighbourStep {
                        relation,
                        forward,
                        to,
                    });
                }
            }
        }
        None
    }
}

/// Whether a set is trivial: it asks for the value that describes it, or repeats a test.
fn is_trivial(set: &Set) -> bool {
    match set {
        Set::Entity(_) | Set::Class(_) => false,
        Set::Follow {
            from,
            relation,
            forward,
            ..
        } => {
            let given = |set: &Set| match set {
                Set::Keep { test, .. } if test.given().is_some() => {
                    *forward && test.given() == Some(*relation)
                }
                Set::Keep {
                    test:
                        Test::Is {
                            relation: tested,
                            forward: along,
                            ..
                        },
                    ..
                } => tested == relation && along == forward,
                _ => false,
            };
            given(from) || is_trivial(from)
        }
        Set::Keep { of, test } => {
            let twice = match (of.as_ref(), test) {
                (Set::Keep { test: before, .. }, _) if before == test => true,
                (
                    Set::Follow {
                        from,
                        relation,
                        forward,
                        ..
                    },
                    Test::Is {
                        relation: tested,
                        forward: along,
                        set,
                    },
                ) => relation == tested && forward != along && from == set,
                _ => false,
            };
            twice || is_trivial(of)
        }
        Set::Most { of, .. } => is_trivial(of),
    }
}

/// Whether the step reverses the last relation of the set.
fn undoes(set: &Set, step: &NeighbourStep) -> bool {
    matches!(set, Set::Follow { relation, forward, .. } if *relation == step.relation && *forward != step.forward)
}
