//! Triad without a model: the sub-tasks of a question in order, the prompt and the grammar of each,
//! and the processing of the responses. Three roles of one model share them (Triad §2 and §3, rules
//! C): the generalist G extracts triples, determines the type of answer and writes a query
//! template; the decision maker D selects entities, relations and a query among candidates from the
//! graph; the advisor A answers.
//!
//! ```text
//! 1 parsing    G triples, G type          <e0, directed by, ?a> <?a, place of birth, ?x>    <select>
//! 2 linking    D relations of each triple  one-hop traversal around what is linked, best first, constrained to the list
//! 3 querying   G template, D query         select ?x where t0 t1 → instantiated, run, those that match
//! 4 answering  A                           from the graph, or nothing: then another attempt, told what failed
//! ```
//!
//! Templates are parsed once into algebra over numbered triples; queries are never assembled from
//! text.

mod answer;
mod candidates;
mod entity;
mod fill;
mod flow;
pub mod grammar;
mod render;
mod solve;
mod task;
mod template;
mod triple;

pub use answer::{from_graph, none};
pub use candidates::{linked_nodes, relations};
pub use entity::{MEANINGS, entity_request, selected_entities};
pub use fill::{Bound, FilledQuery, Link, Pattern, Place, fill, products};
pub use flow::{Tried, Try};
pub use render::FROM_GRAPH;
pub use solve::{Bounds, Solved, Unsolved, solve};
pub use task::{Ended, Failure, Options, PHASES, Request, SubTask};
pub use template::{AnswerType, Filter, Operand, QueryTemplate};
pub use triple::{End, IS, IS_A, MAX_TRIPLES, Triple, parse_triples, print_triples};

/// Errors in what a model wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TriadError {
    /// Not an end of a triple.
    #[error("`{0}` is no entity (e0), class (c0) or variable (?x)")]
    End(String),
    /// Not a triple.
    #[error("`{0}` is no triple <subject, relation, object>")]
    Triple(String),
    /// No triples, or too many.
    #[error("{0} triples; one to {max} are needed", max = MAX_TRIPLES)]
    Count(usize),
    /// Not an answer type.
    #[error("`{0}` is none of <count>, <select>, <yes or no>")]
    Type(String),
    /// A template that does not parse or refers to something undefined.
    #[error("template {0}")]
    Template(String),
    /// The template uses a triple without a selected relation.
    #[error("no relation was selected for {0}")]
    Unlinked(String),
    /// A selection that is not among the candidates.
    #[error("`{0}` is not among the candidates")]
    Selection(String),
}
