//! The frozen graph: a read-only term dictionary and the triples in three orders, as one block of
//! bytes in a mapped file or in memory. The time to open it does not depend on its size, and only
//! pages that are read take memory.
//!
//! ```text
//! chunk ──▶ freeze (dictionary, rows) ──▶ derive (labels, classes, names) ──▶ image ──▶ FrozenKg
//! ```
//!
//! The orders are SPO, POS and OPS. OPS keeps an object's relations together, so the heads and
//! incoming relations of a node are found as fast as its tails. The relations between two nodes are
//! found by testing the relations of one of them.

mod access;
mod assemble;
mod axioms;
mod bus_error;
mod bytes;
mod chunk;
mod derive;
mod error;
mod eval_term;
mod evaluate;
mod freeze;
mod image;
mod index;
mod kg;
mod labels;
mod layout;
mod members;
mod memo;
mod meta;
mod ntriples;
mod pattern;
mod quads;
mod relations;
mod rows;
mod spool;
mod verify;

pub(crate) use chunk::{Chunk, SealedChunk};
pub use error::FreezeError;
pub(crate) use freeze::FreezeInput;
pub use image::Damage;
pub use kg::FrozenKg;
pub(crate) use layout::VERSION;
pub use meta::NamedGraph;
pub(crate) use spool::WorkFile;
