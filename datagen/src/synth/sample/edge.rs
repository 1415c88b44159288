//! Questions around an edge of a relation.

use kg::term::{Literal, NodeId};

use super::values::TestKind;
use super::{QuestionSampler, Shape};
use crate::synth::plan::{QuestionPlan, Set, Test};
use crate::synth::profile::GraphProfile;
use crate::synth::tail::TailType;

/// An edge of the relation that a question is sampled around.
pub(super) struct SampledEdge {
    pub(super) relation: usize,
    pub(super) head: NodeId,
    pub(super) tail: NodeId,
    /// The type of the relation's tails.
    pub(super) tail_type: TailType,
    /// The tail, if it is a literal.
    pub(super) value: Option<Literal>,
}

impl SampledEdge {
    pub(super) fn new(
        profile: &GraphProfile<'_>,
        relation: usize,
        (head, tail): (NodeId, NodeId),
    ) -> Self {
        Self {
            relation,
            head,
            tail,
            tail_type: profile.relations[relation].tail,
            value: profile.kg.term(tail).as_literal().cloned(),
        }
    }

    /// `Some` if the tail is not a literal.
    fn to_thing(&self) -> Option<()> {
        self.value.is_none().then_some(())
    }

    /// `Some` if the tails can be ordered.
    fn ordered(&self) -> Option<()> {
        matches!(self.tail_type, TailType::Number | TailType::Time).then_some(())
    }
}

impl QuestionSampler<'_, '_> {
    pub(super) fn around_edge(&mut self, shape: Shape, edge: &SampledEdge) -> Option<QuestionPlan> {
        match shape {
            Shape::Attribute => {
                edge.value.as_ref()?;
                let from = self.reach(edge.head, 0)?;
                self.list(from.follow(edge.relation, true), edge.tail)
            }
            Shape::Forward => {
                let (set, end) = self.tails_of(edge)?;
                self.list(set, end)
            }
            Shape::Backward => {
                let (set, end) = self.heads_of(edge)?;
                self.list(set, end)
            }
            Shape::TwoHop => self.chain(edge, 2),
            Shape::ThreeHop => self.chain(edge, 3),
            Shape::Star => self.star(edge),
            Shape::EntityConstraint => self.entity_constraint(edge),
            Shape::LiteralConstraint => self.value_constraint(edge, TestKind::Equal),
            Shape::Comparison => self.value_constraint(edge, TestKind::Compare),
            Shape::Between => self.value_constraint(edge, TestKind::Between),
            Shape::Negation => self.value_constraint(edge, TestKind::Except),
            Shape::TwoConstraints => self.two_constraints(edge),
            Shape::Superlative => {
                let set = self.superlative_set(edge)?;
                self.list(set, edge.head)
            }
            Shape::SuperlativeAttribute => self.superlative_attribute(edge),
            Shape::Count => self.count(edge),
            Shape::Boolean => self.boolean(edge),
            Shape::BooleanComparison => self.boolean_comparison(edge),
            Shape::Compare => self.compare(edge),
            Shape::Union => self.union(edge),
            Shape::Interval => self.interval(edge),
            Shape::Shared => self.shared(edge),
            Shape::Type => self.typed(edge),
            Shape::Class => {
                let class = self.profile.class_of(edge.head)?;
                self.around_class(shape, class, edge.head)
            }
            Shape::ClassAttribute => {
                let class = self.profile.relations[edge.relation].heads?;
                let set = Set::Class(class).follow(edge.relation, true);
                self.list(set, edge.tail)
            }
            Shape::ClassConstraint => self.class_constraint(edge),
            Shape::ClassSuperlative => self.class_superlative(edge),
            Shape::ClassCount => {
                let set = Set::Class(self.class(edge.head)?);
                Some(QuestionPlan::Count { set })
            }
            Shape::ConstrainedCount => self.constrained_count(edge),
            Shape::Table
            | Shape::SortedRows
            | Shape::TopRows
            | Shape::GroupCount
            | Shape::GroupSummary
            | Shape::GroupMost
            | Shape::GroupSize
            | Shape::Summary
            | Shape::BeyondAverage
            | Shape::Lacking => self.table(shape, edge),
        }
    }

    /// The tails of the edge's head, and one of them that is not a statement node.
    fn tails_of(&mut self, edge: &SampledEdge) -> Option<(Set, NodeId)> {
        let from = self.reach(edge.head, 0)?;
        self.out_of_statements(from.follow(edge.relation, true), edge.tail)
    }

    /// A chain of relations that contains the edge.
    fn chain(&mut self, edge: &SampledEdge, hops: usize) -> Option<QuestionPlan> {
        let before = self.rng.below(hops);
        let forward = self.rng.chance(0.6);
        let (start, end) = if forward {
            (edge.head, edge.tail)
        } else {
            edge.to_thing()?;
            (edge.tail, edge.head)
        };
        let from = self.reach(start, before)?;
        let (mut set, mut at) = self.out_of_statements(from.follow(edge.relation, forward), end)?;
        for _ in 1 + before..hops {
            (set, at) = self.onward(set, at)?;
        }
        self.list(set, at)
    }

    /// Heads described by two edges.
    fn star(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        if edge.value.is_none()
            && self.rng.chance(0.35)
            && let Some(plan) = self.both(edge)
        {
            return Some(plan);
        }
        let (set, node) = self.heads_of(edge)?;
        let test = self.entity_test(node, Some(edge.relation))?;
        self.list(set.keep(test), node)
    }

    fn entity_constraint(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        edge.to_thing()?;
        let other = self.thing(edge.tail)?;
        let set = self
            .reach(edge.head, 1)?
            .keep(Test::related(edge.relation, true, other));
        if self.profile.is_statement(edge.head) || self.rng.chance(0.4) {
            let (set, end) = self.onward(set, edge.head)?;
            return self.list(set, end);
        }
        self.list(set, edge.head)
    }

    fn value_constraint(&mut self, edge: &SampledEdge, kind: TestKind) -> Option<QuestionPlan> {
        let test = self.edge_test(edge, kind)?;
        let base = self.base(edge.head)?;
        self.tested(base.keep(test), edge.head)
    }

    /// A test that the edge's literal passes.
    fn edge_test(&mut self, edge: &SampledEdge, kind: TestKind) -> Option<Test> {
        self.value_test(kind, edge.relation, edge.tail_type, edge.value.as_ref()?)
    }

    fn two_constraints(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let test = self.edge_test(edge, TestKind::usual(edge.tail_type))?;
        let second = if self.rng.chance(0.5) {
            self.entity_test(edge.head, Some(edge.relation))
        } else {
            self.attribute_test(edge.head, Some(edge.relation))
        }?;
        let base = self.base(edge.head)?;
        let set = if self.rng.chance(0.5) {
            base.keep(test).keep(second)
        } else {
            base.keep(second).keep(test)
        };
        self.tested(set, edge.head)
    }

    fn superlative_set(&mut self, edge: &SampledEdge) -> Option<Set> {
        edge.ordered()?;
        let base = self.base(edge.head)?;
        Some(base.most(edge.relation, self.rng.chance(0.6)))
    }

    fn superlative_attribute(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let set = self.superlative_set(edge)?;
        if self.rng.chance(0.3) {
            return self.list(set.follow(edge.relation, true), edge.tail);
        }
        let (set, end) = self.onward_any(set, edge.head)?;
        self.list(set, end)
    }

    fn count(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let relation = edge.relation;
        let class = self.profile.relations[relation].heads;
        let set = if edge.value.is_some() {
            // The number of different values of an attribute.
            let class = class?;
            (edge.tail_type == TailType::Text || self.rng.chance(0.3)).then_some(())?;
            Set::Class(class).follow(relation, true)
        } else if self.rng.chance(0.2) {
            // The number of different tails: treatments that any dog had.
            Set::Class(class?).follow(relation, true)
        } else if self.rng.chance(0.5) {
            self.reach(edge.head, 0)?.follow(relation, true)
        } else {
            self.thing(edge.tail)?.follow(relation, false)
        };
        Some(QuestionPlan::Count { set })
    }

    fn boolean(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        edge.to_thing()?;
        let of = self.labelled(edge.head)?;
        let other = if self.rng.chance(0.5) {
            edge.tail
        } else {
            self.other_edge(edge)?.1
        };
        let test = Test::related(edge.relation, true, self.labelled(other)?);
        Some(QuestionPlan::Yes { of, test })
    }

    fn boolean_comparison(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        edge.ordered()?;
        let other = self.other_edge(edge)?.1;
        let node = if self.rng.chance(0.5) {
            edge.tail
        } else {
            other
        };
        let value = self.profile.kg.term(node).as_literal()?.clone();
        let test = self.value_test(TestKind::Compare, edge.relation, edge.tail_type, &value)?;
        let of = self.labelled(edge.head)?;
        Some(QuestionPlan::Yes { of, test })
    }

    /// Any edge of the relation.
    pub(super) fn other_edge(&mut self, edge: &SampledEdge) -> Option<(NodeId, NodeId)> {
        let sample = &self.profile.relations[edge.relation].sample;
        self.rng.pick(sample).copied()
    }

    fn compare(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        edge.ordered()?;
        let (other, _) = self.other_edge(edge)?;
        let profile = self.profile;
        let named = |node: NodeId| profile.is_thing(node) && profile.is_labelled(node);
        (other != edge.head && named(edge.head) && named(other)).then_some(())?;
        Some(QuestionPlan::Compare {
            left: edge.head,
            right: other,
            relation: edge.relation,
            max: self.rng.chance(0.6),
        })
    }

    /// Heads or tails of a class.
    fn typed(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let (set, end) = if self.rng.chance(0.5) {
            self.tails_of(edge)?
        } else {
            self.heads_of(edge)?
        };
        let class = *self.rng.pick(&self.profile.classes_of(end))?;
        self.list(set.keep(Test::Of(class)), end)
    }

    fn class_constraint(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let class = self.class(edge.head)?;
        let test = if edge.value.is_none() {
            self.tail_test(edge)?
        } else if self.rng.chance(0.25) {
            self.attribute_test(edge.head, Some(edge.relation))?
        } else {
            let kind = self.test_kind(edge.tail_type, 4);
            self.edge_test(edge, kind)?
        };
        self.tested(Set::Class(class).keep(test), edge.head)
    }

    /// The test that the edge's relation leads to its tail.
    fn tail_test(&mut self, edge: &SampledEdge) -> Option<Test> {
        Some(Test::related(edge.relation, true, self.thing(edge.tail)?))
    }

    fn class_superlative(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        edge.ordered()?;
        let (relation, head) = (edge.relation, edge.head);
        if self.rng.chance(0.5)
            && let Some(plan) = self.joined_superlative(relation, head)
        {
            return Some(plan);
        }
        let mut base = Set::Class(self.class(head)?);
        if self.rng.chance(0.35)
            && let Some(test) = self.attribute_test(head, Some(relation))
        {
            // The extreme of a subset: the highest score among the players from one country.
            base = base.keep(test);
        }
        let set = base.most(relation, self.rng.chance(0.6));
        match self.rng.below(3) {
            0 => self.list(set, head),
            1 => {
                let (set, end) = self.onward_any(set, head)?;
                self.list(set, end)
            }
            _ => self.list(set.follow(relation, true), edge.tail),
        }
    }

    fn constrained_count(&mut self, edge: &SampledEdge) -> Option<QuestionPlan> {
        let class = self.class(edge.head)?;
        if self.rng.chance(0.35)
            && let Some(set) = self.joined_set(edge.head)
        {
            return Some(QuestionPlan::Count { set });
        }
        let test = match edge.value {
            Some(_) => self.edge_test(edge, TestKind::usual(edge.tail_type))?,
            None => self.tail_test(edge)?,
        };
        let mut set = Set::Class(class).keep(test);
        if self.rng.chance(0.15) {
            set = set.keep(self.attribute_test(edge.head, Some(edge.relation))?);
        }
        if self.rng.chance(0.3) {
            set = self.onward_any(set, edge.head)?.0;
        }
        Some(QuestionPlan::Count { set })
    }
}
