//! The sub-tasks, how they are worked on, and how a try can end.

use serde::{Deserialize, Serialize};

use super::TriadError;
use super::fill::FilledQuery;
use super::solve::{Solved, Unsolved};
use crate::grammar::Grammar;
use common::transcript::Turn;

/// The seven sub-tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SubTask {
    /// G: triples of the question.
    Triples,
    /// G: what kind of answer is asked for.
    Type,
    /// D: which node a mention means.
    Entity,
    /// D: relations of this triple.
    Relations(usize),
    /// G: the query template.
    Template,
    /// D: one of the queries that matched.
    Query,
    /// A: the answer.
    Answer,
}

impl SubTask {
    /// The phase of the paper that it belongs to, from 0: parsing, linking, query construction, answering.
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

/// The phases by name.
pub const PHASES: [&str; 4] = ["parsing", "linking", "querying", "answering"];

/// How a question is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Most relations selected for a triple (K).
    pub relations: usize,
    /// Most entities selected for a mention (K).
    pub entities: usize,
    /// Tries (T).
    pub tries: usize,
    /// Relations shown as candidates of a triple.
    pub shown: usize,
    /// Products of candidates that are run, best first.
    pub products: usize,
    /// Queries offered for selection.
    pub queries: usize,
    /// Rows of any intermediate result.
    pub rows: usize,
    /// Whether D selects relations with the model; else the best-ranked candidates count (the paper's ablation by string matching).
    pub select_uris: bool,
    /// Whether D selects among several queries with the model; else the first counts.
    pub select_query: bool,
    /// Whether A is asked; else the query's answer counts as it is.
    pub advisor: bool,
}

impl Default for Options {
    /// The paper's K and T; the other limits keep one sub-task within a few hundred tokens.
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

/// What is asked of the model now.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which sub-task.
    pub task: SubTask,
    /// The turns behind which the answer is written.
    pub turns: Vec<Turn>,
    /// What may be written.
    pub phrase: Grammar,
}

/// Why a try came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An answer that is no answer to its sub-task.
    Syntax(SubTask, TriadError),
    /// Nothing in the graph fits this triple.
    NoRelation(String),
    /// So many triples, after so many of which one fitted nothing: the question without the part that the graph does not have.
    Less(usize, usize),
    /// No filled query has a solution.
    NoSolution(String),
    /// Time or rows ran out.
    Bounds(Unsolved),
    /// The advisor would not have it.
    Declined,
}

impl Failure {
    /// The cause in a word, for counts.
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

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax(_, error) => error.fmt(f),
            Self::NoRelation(triple) => write!(f, "no relation of the graph fits {triple}"),
            Self::Less(now, before) => {
                write!(f, "{now} of {before} triples do not ask the question")
            }
            Self::NoSolution(query) => write!(f, "nothing matches {query}"),
            Self::Bounds(why) => why.fmt(f),
            Self::Declined => f.write_str("what was found does not answer the question"),
        }
    }
}

/// How a try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a query and what it gave.
    Answer(FilledQuery, Solved),
    /// With nothing.
    Failed(Failure),
}
