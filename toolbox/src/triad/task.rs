//! The sub-tasks, their options, and the possible ends of an attempt.

use serde::{Deserialize, Serialize};

use super::error::TriadError;
use super::fill::FilledQuery;
use super::solve::{Solved, Unsolved};
use crate::grammar::Grammar;
use common::transcript::Turn;

/// The seven sub-tasks, each with its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SubTask {
    /// G: the triples of the question.
    Triples,
    /// G: the type of answer.
    Type,
    /// D: the node that a mention refers to.
    Entity,
    /// D: the relations of this triple.
    Relations(usize),
    /// G: the query template.
    Template,
    /// D: one of the queries with solutions.
    Query,
    /// A: the answer.
    Answer,
}

impl SubTask {
    /// The paper's phase of the sub-task, counting from 0: parsing, linking, query construction,
    /// answering.
    #[must_use]
    pub const fn phase(self) -> usize {
        match self {
            Self::Triples | Self::Type => 0,
            Self::Entity | Self::Relations(_) => 1,
            Self::Template | Self::Query => 2,
            Self::Answer => 3,
        }
    }
}

/// The names of the phases.
pub const PHASES: [&str; 4] = ["parsing", "linking", "querying", "answering"];

/// Options of Triad.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Maximum relations selected per triple (K).
    pub relations: usize,
    /// Maximum entities selected per mention (K).
    pub entities: usize,
    /// Number of attempts (T).
    pub tries: usize,
    /// Number of relations shown as candidates of a triple.
    pub shown: usize,
    /// Number of candidate combinations that are run, best first.
    pub products: usize,
    /// Number of queries offered for selection.
    pub queries: usize,
    /// Maximum rows of any intermediate result.
    pub rows: usize,
    /// Whether the model selects relations; otherwise the best-ranked candidates are used (the
    /// paper's ablation by string matching).
    pub select_uris: bool,
    /// Whether the model selects among several queries; otherwise the first is used.
    pub select_query: bool,
    /// Whether the advisor is asked; otherwise the query's answer is final.
    pub advisor: bool,
}

impl Default for Options {
    /// The paper's K and T; the other limits keep a sub-task within a few hundred tokens.
    fn default() -> Self {
        Self {
            relations: 2,
            entities: 2,
            tries: 3,
            shown: 12,
            products: 32,
            queries: 6,
            rows: 200_000,
            select_uris: true,
            select_query: true,
            advisor: true,
        }
    }
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct TriadRequest {
    /// The sub-task.
    pub task: SubTask,
    /// The turns after which the response is written.
    pub turns: Vec<Turn>,
    /// The grammar of the response.
    pub grammar: Grammar,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TriadFailure {
    /// The response is not valid for its sub-task.
    #[error("{1}")]
    Syntax(SubTask, TriadError),
    /// No relation of the graph matches this triple.
    #[error("no relation of the graph fits {0}")]
    NoRelation(String),
    /// Fewer triples (first number) than in an earlier attempt (second number) that ended without a
    /// relation: the question without the part that the graph lacks.
    #[error("{0} of {1} triples do not ask the question")]
    Less(usize, usize),
    /// No instantiated query has a solution.
    #[error("nothing matches {0}")]
    NoSolution(String),
    /// The deadline or the row limit was reached.
    #[error("{0}")]
    Bounds(Unsolved),
    /// The advisor rejected the answer.
    #[error("what was found does not answer the question")]
    Declined,
}

impl TriadFailure {
    /// The cause as a short name, for counts.
    #[must_use]
    pub const fn cause(&self) -> &'static str {
        match self {
            Self::Syntax(..) => "syntax",
            Self::NoRelation(_) | Self::Less(..) => "no relation",
            Self::NoSolution(_) => "no solution",
            Self::Bounds(_) => "bounds",
            Self::Declined => "declined",
        }
    }
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A query and its result.
    Answer(FilledQuery, Solved),
    /// No answer.
    Failed(TriadFailure),
}
