//! Neighbourhoods of entities (ODA §3.2, spec B.5): every triple within some hops of a question set's entities, so that questions can be
//! worked on without the whole graph. Layouts in and out are in [`oda`].

mod files;
mod neighbourhood;
mod oda;
mod write;

pub use files::{check_target, write_files};
pub use neighbourhood::{Direction, Neighbourhood, Reached, SubgraphOptions};
pub use oda::{OdaKind, OdaLayoutError, OdaReader};
pub use write::Subgraph;
