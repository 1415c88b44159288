//! The frozen graph: a term dictionary and the triples in three orders, read-only, as one run of bytes that lies in a mapped file or in a
//! buffer. Opening it does no work that grows with the graph, and only what is touched is in memory.
//!
//! ```text
//! chunk ──▶ freeze (dictionary, rows) ──▶ derive (labels, classes, names) ──▶ image ──▶ index ──▶ FrozenKg
//! ```
//!
//! The orders are SPO, POS and OPS: with the object's relations beside each other, heads and incoming relations of a node are found as
//! quickly as its tails, and the relations between two nodes by walking those of the first.

mod access;
mod assemble;
mod bytes;
mod chunk;
mod derive;
mod evaluate;
mod freeze;
mod image;
mod index;
mod kg;
mod labels;
mod layout;
mod memo;
mod meta;
mod ntriples;
mod pattern;
mod relations;
mod rows;
mod spool;
mod verify;

pub(crate) use chunk::{Chunk, SealedChunk};
pub use freeze::FreezeError;
pub(crate) use freeze::FreezeInput;
pub use image::Damage;
pub use kg::FrozenKg;
pub(crate) use layout::VERSION;
pub use meta::NamedGraph;
