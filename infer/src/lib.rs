//! Answering questions over a graph with a local model, fully offline: the engine (LLaMA in candle, constrained decoding), the planners and
//! the agents that drive the toolbox.
//!
//! ```text
//! agent: observe ─▶ propose ─▶ constrain ─▶ execute ─▶ record        planner: who proposes (local model, oracle, scripted)
//!                                                                     engine: how a local model decodes under a constraint
//! ```
//!
//! Invariants: nothing here knows burn or a dataset format, prints, or reads the environment.

pub mod agent;
mod error;
pub mod planner;
pub mod ranker;

pub use engine;
pub use error::InferError;
