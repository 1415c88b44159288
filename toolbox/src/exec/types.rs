//! What a session takes and gives: values, relation lists, options, observations, steps.

use std::sync::Arc;
use std::time::Duration;

use crate::call::Call;
use crate::limits;
use crate::rank::{self, Ranker};
use kg::term::{Literal, NodeId, RelId};

/// A set of nodes: sorted, without duplicates.
pub type EntSet = Arc<[NodeId]>;

/// A value of a variable or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A set.
    Set(EntSet),
    /// A number.
    Int(u64),
    /// A truth value.
    Bool(bool),
}

impl Value {
    /// Whether this is the empty set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Set(set) if set.is_empty())
    }
}

/// A relation as a tool walks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// A relation of the graph.
    Plain(RelId),
    /// A derived interval relation, by its place in the schema (rule R11).
    Interval(usize),
}

/// The relations shown for one set, best first; handles count through `out` and go on through `incoming`.
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

    /// Whether nothing is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.incoming.is_empty()
    }
}

/// How calls name what is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// Everything by handle.
    Handles,
    /// Entities, classes and literals by handle, relations by name.
    Mixed,
    /// As [`Naming::Mixed`], but a relation that a word of the question stands for goes by that word's handle (see [`crate::mention`]).
    Mentions,
    /// Everything by name.
    Names,
}

impl Naming {
    /// Whether entities, classes and literals go by handle.
    #[must_use]
    pub fn things_by_handle(self) -> bool {
        self != Self::Names
    }

    /// Whether relations go by handle.
    #[must_use]
    pub fn relations_by_handle(self) -> bool {
        self == Self::Handles
    }

    /// Whether relations that the question mentions go by the handle of the mention.
    #[must_use]
    pub fn relations_by_mention(self) -> bool {
        self == Self::Mentions
    }
}

/// Entities kept out of answers (rule R7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// The entities.
    pub nodes: Vec<NodeId>,
    /// Where they are dropped.
    pub when: ExcludeWhen,
}

/// Where excluded entities are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExcludeWhen {
    /// Nowhere.
    #[default]
    Never,
    /// From the answer.
    Answer,
    /// From the answer where something else is left: "which of A and B" may be answered by a topic, "who else" may not.
    Others,
    /// From every set that a tool produces (MetaQA's convention).
    EveryStep,
}

/// How a session runs.
#[derive(Clone)]
pub struct ExecOptions {
    /// Entities kept out of answers.
    pub exclude: Exclude,
    /// R5: unknown relation or no survivor of a filter gives the input back, as the published code does.
    pub lenient_filters: bool,
    /// Whether relation lists, offered classes and the question's words are worked out: not where calls carry full names and nobody reads
    /// what is shown, as in verification. Lists are then empty.
    pub lists: bool,
    /// Relations shown per list.
    pub shown: usize,
    /// Tokens that a paper-layout prompt may have, by estimate: lists are cut further where it would have more. See
    /// [`crate::prompt::Template::fit`].
    pub prompt_tokens: Option<usize>,
    /// Calls of one question.
    pub max_steps: usize,
    /// Wall-clock limit of one question's calls together; what is done between them does not count.
    pub deadline: Duration,
    /// Rule R22: `end` on nothing but statement nodes is an error that says what to walk on; off for gold programs, which may ask for them.
    pub refuse_statements: bool,
    /// What the value NOW means (rule R12), instead of what the graph says.
    pub now: Option<Literal>,
    /// Relations that stay in a list even where the ranking cuts it (training data only, spec A.3).
    pub must_show: Vec<Relation>,
    /// Relations that this session must not see, as if their triples were taken out of the graph.
    pub without: Vec<RelId>,
    /// Ranks relations and classes.
    pub ranker: Arc<dyn Ranker>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            exclude: Exclude::default(),
            lenient_filters: false,
            lists: true,
            shown: limits::SHOWN_RELATIONS,
            prompt_tokens: None,
            max_steps: limits::MAX_STEPS,
            deadline: limits::QUESTION_DEADLINE,
            refuse_statements: false,
            now: None,
            must_show: Vec::new(),
            without: Vec::new(),
            ranker: rank::lexical(),
        }
    }
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A relation list.
    Relations(Shown),
    /// A set, number or truth value was assigned.
    Value(Value),
    /// The end.
    Answer(Value),
}

/// One executed call.
#[derive(Clone, Debug)]
pub struct Step {
    /// The call with full names.
    pub call: Call,
    /// What it gave.
    pub observation: Observation,
    /// The relation it walked and whether from heads to tails, for the tools that walk one.
    pub walked: Option<(Relation, bool)>,
    /// The sets it read, in argument order.
    pub inputs: Vec<EntSet>,
    /// How long it took.
    pub took: Duration,
}
