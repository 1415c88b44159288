//! Sets that hold a given node, and the ways on from it.

use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::values::speakable;
use super::{Ask, Draw, Set, Test};
use crate::synth::profile::Profile;

/// Neighbours of a node that are looked at when one is drawn.
const NEIGHBOURS: usize = 200;

/// A step from one node to another; a statement node stands between them where `via` is given.
pub(super) struct Step {
    pub(super) relation: usize,
    pub(super) forward: bool,
    pub(super) to: NodeId,
}

impl Draw<'_, '_> {
    /// The question for the members of a set, or for what names them; `end` is one of them.
    pub(super) fn list(&mut self, set: Set, end: NodeId) -> Option<Ask> {
        let profile = self.profile;
        if matches!(set, Set::Entity(_)) || is_idle(&set) {
            return None;
        }
        if profile.kg.term(end).as_literal().is_some() || profile.is_labelled(end) {
            return Some(Ask::List { set, by: None });
        }
        let Some((_, key, _)) = profile.key(end) else {
            // What has no name of its own goes by the one thing that it is joined to.
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
            if joined.next().is_some() || matches!(set, Set::Walk { .. }) {
                return None;
            }
            return Some(Ask::List {
                set: set.silent(join, true).walk(key, true),
                by: None,
            });
        };
        // Asking for the name of what is given by its name is no question.
        if let Set::Keep {
            test:
                Test::Value {
                    relation,
                    op: Op::Eq,
                    ..
                }
                | Test::OneOf { relation, .. },
            ..
        } = &set
            && *relation == key
        {
            return None;
        }
        Some(Ask::List { set, by: Some(key) })
    }

    /// A set under test is listed itself, or something of it.
    pub(super) fn tested(&mut self, set: Set, node: NodeId) -> Option<Ask> {
        if self.profile.is_statement(node) || self.rng.chance(0.5) {
            let (set, end) = self.onward_any(set, node)?;
            return self.list(set, end);
        }
        self.list(set, node)
    }

    /// A named thing as a set: by label, or by class and the attribute that names it.
    pub(super) fn thing(&mut self, node: NodeId) -> Option<Set> {
        let profile = self.profile;
        if !profile.is_thing(node) {
            return None;
        }
        if profile.is_labelled(node) {
            return Some(Set::Entity(node));
        }
        let (class, relation, value) = profile.key(node)?;
        // What goes by an alias is linked as a thing, and its name is then no value of the question.
        if profile
            .alias(node)
            .is_some_and(|name| name == value.lexical)
            && self.rng.chance(0.9)
        {
            return speakable(&value).then_some(Set::Entity(node));
        }
        speakable(&value).then_some(Set::Class(class).keep(Test::Value {
            relation,
            op: Op::Eq,
            value,
        }))
    }

    /// A thing that goes by a label.
    pub(super) fn lone(&mut self, node: NodeId) -> Option<Set> {
        (self.profile.is_thing(node) && self.profile.is_labelled(node)).then_some(Set::Entity(node))
    }

    /// The class of a node.
    pub(super) fn class(&mut self, node: NodeId) -> Option<usize> {
        let classes = self.profile.classes_of(node);
        // The most special one is what people say; now and then a wider one.
        if self.rng.chance(0.7) {
            self.profile.class_of(node)
        } else {
            self.rng.pick(&classes).copied()
        }
    }

    /// A set that holds the node, described over so many relations. A statement node is described by what it hangs on.
    pub(super) fn reach(&mut self, node: NodeId, hops: usize) -> Option<Set> {
        if self.profile.is_statement(node) {
            let step = self.neighbour(node, None, |profile, other| {
                profile.is_thing(other) && !profile.is_statement(other)
            })?;
            let from = self.reach(step.to, hops.saturating_sub(1))?;
            return Some(from.silent(step.relation, !step.forward));
        }
        if hops == 0 {
            return self.thing(node);
        }
        let step = self.neighbour(node, None, is_thing)?;
        let from = if self.profile.is_statement(step.to) {
            self.reach_statement(step.to, node, hops - 1)?
        } else {
            self.reach(step.to, hops - 1)?
        };
        Some(from.walk(step.relation, !step.forward))
    }

    /// A set that holds the node, described by a thing one or two joins away; what lies between may go without saying.
    pub(super) fn joined_set(&mut self, node: NodeId) -> Option<Set> {
        let hops = 1 + self.rng.below(2);
        let mut set = self.reach(node, hops)?;
        if let Set::Walk { from, .. } = &mut set
            && let Set::Walk { silent, .. } = from.as_mut()
            && self.rng.chance(0.6)
        {
            *silent = true;
        }
        matches!(set, Set::Walk { .. }).then_some(set)
    }

    /// A set that holds a statement node, described from a side other than `but`.
    pub(super) fn reach_statement(
        &mut self,
        node: NodeId,
        but: NodeId,
        hops: usize,
    ) -> Option<Set> {
        let step = self.neighbour(node, Some(but), |profile, other| {
            profile.is_thing(other) && !profile.is_statement(other)
        })?;
        let from = self.reach(step.to, hops)?;
        Some(from.silent(step.relation, !step.forward))
    }

    /// What a constraint is put on: a class, or what a thing is related to.
    pub(super) fn base(&mut self, node: NodeId) -> Option<Set> {
        if self.profile.class_of(node).is_some() && self.rng.chance(0.5) {
            return self.class(node).map(Set::Class);
        }
        self.reach(node, 1)
            .or_else(|| self.class(node).map(Set::Class))
    }

    /// The heads of an edge, described by its tail, and one of them that has a name.
    pub(super) fn back(
        &mut self,
        r: usize,
        s: NodeId,
        o: NodeId,
        literal: &Option<Literal>,
    ) -> Option<(Set, NodeId)> {
        let set = match literal {
            None => self.thing(o)?.walk(r, false),
            Some(value) => {
                speakable(value).then_some(())?;
                let class = self.profile.relations[r]
                    .heads
                    .or_else(|| self.profile.class_of(s))?;
                Set::Class(class).keep(Test::Value {
                    relation: r,
                    op: Op::Eq,
                    value: value.clone(),
                })
            }
        };
        self.out_of_statements(set, s)
    }

    /// Goes on from a statement node to what it is about.
    pub(super) fn out_of_statements(&mut self, set: Set, end: NodeId) -> Option<(Set, NodeId)> {
        if !self.profile.is_statement(end) {
            return Some((set, end));
        }
        let Set::Walk {
            from,
            relation,
            forward,
            ..
        } = set
        else {
            return None;
        };
        let step = self.neighbour(end, None, |profile, other| !profile.is_statement(other))?;
        // Not back the way it came.
        if step.relation == relation && step.forward != forward {
            return None;
        }
        Some((
            from.silent(relation, forward)
                .walk(step.relation, step.forward),
            step.to,
        ))
    }

    /// One relation on, to things.
    pub(super) fn onward(&mut self, set: Set, at: NodeId) -> Option<(Set, NodeId)> {
        let step = self.neighbour(at, None, is_thing)?;
        if undoes(&set, &step) {
            return None;
        }
        self.out_of_statements(set.walk(step.relation, step.forward), step.to)
    }

    /// One relation on, to things or values.
    pub(super) fn onward_any(&mut self, set: Set, at: NodeId) -> Option<(Set, NodeId)> {
        match self.rng.below(10) {
            0..=4 => {
                // What a set is given by is known already.
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
                Some((set.walk(relation, true), to))
            }
            5 | 6 => {
                // An attribute of what the members are joined to, said as if it were theirs.
                let step = self.neighbour(at, None, is_classed)?;
                if undoes(&set, &step) {
                    return None;
                }
                let set = set.silent(step.relation, step.forward);
                // Or of what those are joined to: the names of the makers of the models of the cars from 1970.
                let further = if self.rng.chance(0.35) {
                    self.neighbour(step.to, Some(at), is_classed)
                } else {
                    None
                };
                if let Some(further) = further.filter(|further| !undoes(&set, further)) {
                    let (relation, _, to) = self.attribute(further.to, None)?;
                    return Some((
                        set.silent(further.relation, further.forward)
                            .walk(relation, true),
                        to,
                    ));
                }
                let (relation, _, to) = self.attribute(step.to, None)?;
                Some((set.walk(relation, true), to))
            }
            _ => self.onward(set, at),
        }
    }

    /// A neighbour of a node that a test lets pass.
    pub(super) fn neighbour(
        &mut self,
        node: NodeId,
        but: Option<NodeId>,
        fits: impl Fn(&Profile<'_>, NodeId) -> bool,
    ) -> Option<Step> {
        let profile = self.profile;
        let kg = profile.kg;
        let forward = self.rng.chance(0.5);
        for forward in [forward, !forward] {
            let relations = if forward {
                kg.out_relations(node)
            } else {
                kg.in_relations(node)
            };
            // A few draws: the first relation may lead to nothing that fits.
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
                    return Some(Step {
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

/// [`Profile::is_thing`] as a test of neighbours.
fn is_thing(profile: &Profile<'_>, node: NodeId) -> bool {
    profile.is_thing(node)
}

/// Whether a node is a thing of a class.
fn is_classed(profile: &Profile<'_>, node: NodeId) -> bool {
    profile.is_thing(node) && profile.class_of(node).is_some()
}

/// Whether a set asks for what it is given by, or tests the same twice.
fn is_idle(set: &Set) -> bool {
    match set {
        Set::Entity(_) | Set::Class(_) => false,
        Set::Walk {
            from,
            relation,
            forward,
            ..
        } => {
            let given = |set: &Set| match set {
                Set::Keep {
                    test:
                        Test::Value {
                            relation: tested,
                            op: Op::Eq,
                            ..
                        }
                        | Test::OneOf {
                            relation: tested, ..
                        },
                    ..
                } => *forward && tested == relation,
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
            given(from) || is_idle(from)
        }
        Set::Keep { of, test } => {
            let twice = match (of.as_ref(), test) {
                (Set::Keep { test: before, .. }, _) if before == test => true,
                (
                    Set::Walk {
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
            twice || is_idle(of)
        }
        Set::Most { of, .. } => is_idle(of),
    }
}

/// Whether the step goes back over the relation that the set came by.
fn undoes(set: &Set, step: &Step) -> bool {
    matches!(set, Set::Walk { relation, forward, .. } if *relation == step.relation && *forward != step.forward)
}
