//! Answers questions over a knowledge graph, fully offline: the planners, which write calls, and
//! the agents, which drive the toolbox with them.
//!
//! ```text
//! agent: observe ─▶ propose ─▶ constrain ─▶ execute ─▶ record
//! planner: proposes (local model, server, oracle, script)
//! ranker: orders relations by the vectors of a sentence encoder
//! ```
//!
//! A local model runs in [`engine`]: on the CPU on our own kernels, on NVIDIA GPUs on burn.
//!
//! Invariants: this crate does not use burn itself, knows no dataset format, does not print, and does not
//! read the environment.

pub mod agent;
pub mod answerer;
mod error;
pub mod planner;
pub mod ranker;

pub use engine;
pub use error::InferError;
