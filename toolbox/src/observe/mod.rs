//! Observation (ODA algorithm 1, rules B.1): the triples around the task entities, hop by hop, most
//! similar to the question first. Callers decide how much of an observation to show.
//!
//! Also the paths between entities ([`paths`], action GetPath) and the network of paths that
//! reflected triples form ([`PathNetwork`]).

mod edges;
mod groups;
mod hops;
mod network;
mod path;
pub(crate) mod shown;
mod similarity;

pub use edges::ObservedTriple;
pub use groups::{TripleGroup, grouped};
pub use hops::{ObserveOptions, Observed, observe};
pub use network::{Hop, PathLink, PathNetwork};
pub use path::{PathOptions, Paths, paths};
pub use similarity::{ByRanker, Similarity, StemSimilarity, similarity_of};
