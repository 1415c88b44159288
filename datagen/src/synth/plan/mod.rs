//! The question as a tree: sets of things, described from the inside out. Wording and SPARQL
//! algebra are both made from this tree, so they always mean the same.

mod query;
mod tables;

use kg::term::{Literal, NodeId};
use kg::value::Op;

pub(super) use tables::{RowGroups, RowOrder, RowValue, TableRows};

/// A set of nodes and its description.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Set {
    /// One entity.
    Entity(NodeId),
    /// All instances of a class (index into the profile).
    Class(usize),
    /// The tails (`forward`) or heads of a relation (index into the profile). A silent set consists
    /// of statement nodes, which the wording skips.
    Follow {
        from: Box<Set>,
        relation: usize,
        forward: bool,
        silent: bool,
    },
    /// The members that pass a test.
    Keep { of: Box<Set>, test: Test },
    /// The members with the extreme value of an attribute, either their own or of the nodes that
    /// `via` joins to them.
    Most {
        of: Box<Set>,
        via: Option<(usize, bool)>,
        relation: usize,
        max: bool,
    },
}

/// A condition on the members of a set.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    /// An attribute compares with a value.
    Value {
        relation: usize,
        op: Op,
        value: Literal,
    },
    /// An attribute is between two values, inclusive.
    Between {
        relation: usize,
        low: Literal,
        high: Literal,
    },
    /// An attribute is one of two values.
    OneOf {
        relation: usize,
        values: [Literal; 2],
    },
    /// A relation joins the member, as head (`forward`) or as tail, to a member of a set.
    Is {
        relation: usize,
        forward: bool,
        set: Box<Set>,
    },
    /// The member is an instance of a class.
    Of(usize),
    /// The member's interval (index into the profile) includes a year.
    During { interval: usize, year: u32 },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum QuestionPlan {
    /// Which things are in the set; `by` is the attribute that names them.
    List { set: Set, by: Option<usize> },
    /// How many things or values are in the set.
    Count { set: Set },
    /// Whether a thing passes a test.
    Yes { of: Set, test: Test },
    /// The things of both sets together.
    Either {
        left: Set,
        right: Set,
        by: Option<usize>,
    },
    /// Which of two things has the larger (`max`) or smaller value of an attribute.
    Compare {
        left: NodeId,
        right: NodeId,
        relation: usize,
        max: bool,
    },
    /// Rows about the members of a set.
    Table { of: Set, rows: TableRows },
}

impl Set {
    pub(super) fn follow(self, relation: usize, forward: bool) -> Self {
        Self::Follow {
            from: Box::new(self),
            relation,
            forward,
            silent: false,
        }
    }

    pub(super) fn silent(self, relation: usize, forward: bool) -> Self {
        Self::Follow {
            from: Box::new(self),
            relation,
            forward,
            silent: true,
        }
    }

    pub(super) fn keep(self, test: Test) -> Self {
        Self::Keep {
            of: Box::new(self),
            test,
        }
    }

    pub(super) fn most(self, relation: usize, max: bool) -> Self {
        Self::Most {
            of: Box::new(self),
            via: None,
            relation,
            max,
        }
    }

    /// The extremes by an attribute of the nodes that a relation joins to the members.
    pub(super) fn most_via(self, via: (usize, bool), relation: usize, max: bool) -> Self {
        Self::Most {
            of: Box::new(self),
            via: Some(via),
            relation,
            max,
        }
    }

    fn collect(&self, uses: &mut Uses) {
        match self {
            Self::Entity(node) => uses.entity(*node),
            Self::Class(class) => uses.classes.push(*class),
            Self::Follow { from, relation, .. } => {
                uses.relations.push(*relation);
                from.collect(uses);
            }
            Self::Keep { of, test } => {
                of.collect(uses);
                test.collect(uses);
            }
            Self::Most {
                of, via, relation, ..
            } => {
                uses.relations.push(*relation);
                uses.relations.extend(via.iter().map(|via| via.0));
                of.collect(uses);
            }
        }
    }

    /// Number of relations in the description, not counting those through statement nodes.
    pub(super) fn hops(&self) -> u32 {
        match self {
            Self::Entity(_) | Self::Class(_) => 0,
            Self::Follow { from, silent, .. } => from.hops() + u32::from(!silent),
            Self::Keep { of, test } => {
                let inner = match test {
                    Test::Is { set, .. } => set.hops() + 1,
                    Test::Value { .. } | Test::Between { .. } | Test::OneOf { .. } => 1,
                    Test::Of(_) | Test::During { .. } => 0,
                };
                of.hops().max(inner)
            }
            Self::Most { of, .. } => of.hops().max(1),
        }
    }
}

impl Test {
    pub(super) fn value(relation: usize, op: Op, value: Literal) -> Self {
        Self::Value {
            relation,
            op,
            value,
        }
    }

    pub(super) fn related(relation: usize, forward: bool, set: Set) -> Self {
        Self::Is {
            relation,
            forward,
            set: Box::new(set),
        }
    }

    /// The attribute whose value the test gives.
    pub(super) fn given(&self) -> Option<usize> {
        match self {
            Self::Value {
                relation,
                op: Op::Eq,
                ..
            }
            | Self::OneOf { relation, .. } => Some(*relation),
            _ => None,
        }
    }

    fn collect(&self, uses: &mut Uses) {
        match self {
            Self::Value { relation, .. }
            | Self::Between { relation, .. }
            | Self::OneOf { relation, .. } => uses.relations.push(*relation),
            Self::Is { relation, set, .. } => {
                uses.relations.push(*relation);
                set.collect(uses);
            }
            Self::Of(class) => uses.classes.push(*class),
            Self::During { .. } => {}
        }
    }
}

/// The contents of a question: relations and classes (indices into the profile), and entities in
/// order of mention.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub relations: Vec<usize>,
    pub classes: Vec<usize>,
    pub entities: Vec<NodeId>,
}

impl Uses {
    fn entity(&mut self, node: NodeId) {
        if !self.entities.contains(&node) {
            self.entities.push(node);
        }
    }
}

impl QuestionPlan {
    pub(super) fn hops(&self) -> u32 {
        let named = |set: &Set, by: &Option<usize>| set.hops() + u32::from(by.is_some());
        let hops = match self {
            Self::List { set, by } => named(set, by),
            Self::Count { set } => set.hops(),
            Self::Yes { of, .. } => of.hops() + 1,
            Self::Either { left, right, by } => named(left, by).max(named(right, by)),
            Self::Compare { .. } => 1,
            Self::Table { of, rows } => of.hops() + 1 + u32::from(rows.joins()),
        };
        hops.max(1)
    }

    /// The relations, classes and entities of the question.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::default();
        match self {
            Self::List { set, by } => {
                set.collect(&mut uses);
                uses.relations.extend(by);
            }
            Self::Count { set } => set.collect(&mut uses),
            Self::Yes { of, test } => {
                of.collect(&mut uses);
                test.collect(&mut uses);
            }
            Self::Either { left, right, by } => {
                left.collect(&mut uses);
                right.collect(&mut uses);
                uses.relations.extend(by);
            }
            Self::Compare {
                left,
                right,
                relation,
                ..
            } => {
                uses.relations.push(*relation);
                uses.entity(*left);
                uses.entity(*right);
            }
            Self::Table { of, rows } => {
                of.collect(&mut uses);
                rows.collect(&mut uses);
            }
        }
        for list in [&mut uses.relations, &mut uses.classes] {
            list.sort_unstable();
            list.dedup();
        }
        uses
    }
}
