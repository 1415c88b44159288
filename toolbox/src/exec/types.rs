//! The data types of a session: values, relation lists, options, observations and steps.

use std::sync::Arc;
use std::time::Duration;

use common::cancel::Cancel;

use super::table::Table;
use crate::call::{Call, ToolTable};
use crate::limits;
use crate::rank::{self, Ranker};
use kg::term::{Literal, NodeId, RelId};

/// A set of nodes: sorted, without duplicates.
pub type EntSet = Arc<[NodeId]>;

/// Sorts and removes duplicates.
pub(crate) fn sorted(mut nodes: Vec<NodeId>) -> EntSet {
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into()
}

/// The members that all sorted sets have (rule R19: an empty argument gives the empty set).
pub(crate) fn intersection<S: AsRef<[NodeId]>>(sets: &[S]) -> Vec<NodeId> {
    let sets: Vec<&[NodeId]> = sets.iter().map(AsRef::as_ref).collect();
    let Some(smallest) = sets.iter().min_by_key(|set| set.len()) else {
        return Vec::new();
    };
    (smallest.iter())
        .filter(|node| sets.iter().all(|set| set.binary_search(node).is_ok()))
        .copied()
        .collect()
}

/// The value of a variable or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A set.
    Set(EntSet),
    /// A number.
    Int(u64),
    /// A truth value.
    Bool(bool),
    /// A table.
    Table(Arc<Table>),
}

impl Value {
    /// Whether this is the empty set or a table without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Set(set) => set.is_empty(),
            Self::Table(table) => table.is_empty(),
            Self::Int(_) | Self::Bool(_) => false,
        }
    }
}

/// A relation that a tool can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// A relation of the graph.
    Plain(RelId),
    /// A derived interval relation, by its position in the schema (rule R11).
    Interval(usize),
}

/// The relations shown for one set, best first. Handles number `out` first, then `incoming`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Out-relations.
    pub out: Vec<Relation>,
    /// In-relations.
    pub incoming: Vec<Relation>,
}

impl Shown {
    /// The relation of a handle and whether it is an out-relation.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(Relation, bool)> {
        let out = self.out.get(index).map(|&relation| (relation, true));
        out.or_else(|| {
            self.incoming
                .get(index - self.out.len().min(index))
                .map(|&relation| (relation, false))
        })
    }

    /// The handle of a relation.
    #[must_use]
    pub fn index(&self, relation: Relation, out: bool) -> Option<usize> {
        if out {
            self.out.iter().position(|&r| r == relation)
        } else {
            self.incoming
                .iter()
                .position(|&r| r == relation)
                .map(|i| i + self.out.len())
        }
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.incoming.is_empty()
    }
}

/// How calls refer to live items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// Everything by handle.
    Handles,
    /// Entities, classes and literals by handle, relations by name.
    Mixed,
    /// Like [`Naming::Mixed`], but a relation linked to a word of the question is referred to by
    /// the handle of that word (see [`crate::mention`]).
    Mentions,
    /// Everything by name.
    Names,
}

impl Naming {
    /// Whether calls use handles for entities, classes and literals.
    #[must_use]
    pub fn things_by_handle(self) -> bool {
        self != Self::Names
    }

    /// Whether calls use handles for relations.
    #[must_use]
    pub fn relations_by_handle(self) -> bool {
        self == Self::Handles
    }

    /// Whether calls use mention handles for relations that the question mentions.
    #[must_use]
    pub fn relations_by_mention(self) -> bool {
        self == Self::Mentions
    }
}

/// Entities excluded from answers (rule R7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// The entities.
    pub nodes: Vec<NodeId>,
    /// Where they are removed.
    pub when: ExcludeWhen,
}

/// Where excluded entities are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExcludeWhen {
    /// Nowhere.
    #[default]
    Never,
    /// In the answer.
    Answer,
    /// In the answer if other members remain: "which of A and B" may be answered by a topic entity,
    /// "who else" may not.
    Others,
    /// In every set that a tool returns (MetaQA's convention).
    EveryStep,
}

/// Options of a session.
#[derive(Clone)]
pub struct ExecOptions {
    /// Entities excluded from answers.
    pub exclude: Exclude,
    /// Rule R5: a filter with an unknown relation or without survivors returns its input, as the
    /// published code does.
    pub lenient_filters: bool,
    /// Whether to compute relation lists, offered classes and the words of the question.
    /// Verification does not need them: its calls use full names and does not read the lists, which
    /// stay empty.
    pub lists: bool,
    /// The tools that calls may use.
    pub tools: ToolTable,
    /// Relations shown per list.
    pub shown: usize,
    /// Estimated tokens that a paper-layout prompt may have; longer lists are cut. See
    /// [`crate::prompt::Template::fit`].
    pub prompt_tokens: Option<usize>,
    /// Maximum calls of a question.
    pub max_steps: usize,
    /// Wall-clock limit for all calls of a question together; the time between calls does not
    /// count.
    pub deadline: Duration,
    /// Ends the question early, from another thread or at a deadline of the caller.
    pub cancel: Cancel,
    /// Rule R22: `end` on a set of statement nodes is an error that lists relations to follow. Off
    /// for gold programs, which may ask for such nodes.
    pub refuse_statements: bool,
    /// The value of NOW (rule R12) if it differs from the graph's.
    pub now: Option<Literal>,
    /// Relations that stay in a list even if the ranking would cut them (training data only, rules
    /// A.3).
    pub must_show: Vec<Relation>,
    /// Relations hidden from this session, as if the graph did not contain their triples.
    pub without: Vec<RelId>,
    /// The ranker of relations and classes.
    pub ranker: Arc<dyn Ranker>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            exclude: Exclude::default(),
            lenient_filters: false,
            lists: true,
            tools: ToolTable::Paper,
            shown: limits::SHOWN_RELATIONS,
            prompt_tokens: None,
            max_steps: limits::MAX_STEPS,
            deadline: limits::QUESTION_DEADLINE,
            cancel: Cancel::default(),
            refuse_statements: false,
            now: None,
            must_show: Vec::new(),
            without: Vec::new(),
            ranker: rank::lexical(),
        }
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A relation list.
    Relations(Shown),
    /// A set, number, truth value or table was assigned to a variable.
    Value(Value),
    /// The answer.
    Answer(Value),
}

/// One executed call.
#[derive(Clone, Debug)]
pub struct Step {
    /// The call with full names.
    pub call: Call,
    /// Its result.
    pub observation: Observation,
    /// For tools that follow a relation: the relation and whether it was followed from heads to
    /// tails.
    pub walked: Option<(Relation, bool)>,
    /// The sets it read, in argument order.
    pub inputs: Vec<EntSet>,
    /// Execution time.
    pub took: Duration,
}
