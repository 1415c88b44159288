//! Neighbourhoods of entities (ODA §3.2, rules B.5): every triple within some hops of a question
//! set's entities, so that the whole graph is not needed to work on the questions.

mod files;
mod neighbourhood;
mod oda;
mod write;

pub use files::{check_target, write_files};
pub use neighbourhood::{Direction, Neighbourhood, Reached, SubgraphOptions};
pub use oda::{OdaKind, OdaLayoutError, OdaReader};
pub use write::Subgraph;
