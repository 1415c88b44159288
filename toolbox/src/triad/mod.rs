//! Triad without a model: the sub-tasks of a question in order, the prompt and the grammar of each,
//! and the processing of the responses. Three roles of one model share them (Triad §2 and §3, rules
//! C): the generalist G extracts triples, determines the type of answer and writes a query
//! template; the decision maker D selects entities, relations and a query among candidates from the
//! graph; the advisor A answers.
//!
//! ```text
//! 1 parsing    G triples, G type     <e0, directed by, ?a> <?a, place of birth, ?x>  <select>
//! 2 linking    D relations           for each triple, among candidates around the linked nodes
//! 3 querying   G template, D query   select ?x where t0 t1 → instantiate, run, keep those that match
//! 4 answering  A                     the graph's answer, or another attempt with the failure
//! ```
//!
//! Templates are parsed once into algebra over numbered triples; queries are never assembled from
//! text.

mod answer;
mod candidates;
mod entity;
mod error;
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
pub use error::TriadError;
pub use fill::{Bound, FilledQuery, Pattern, PhraseLink, Place, fill, products};
pub use flow::{Tried, Try};
pub use render::FROM_GRAPH;
pub use solve::{Bounds, Solved, Unsolved, solve};
pub use task::{Ended, Options, PHASES, SubTask, TriadFailure, TriadRequest};
pub use template::{AnswerType, Filter, Operand, QueryTemplate};
pub use triple::{End, IS, IS_A, TriplePattern, parse_triples, print_triples};
