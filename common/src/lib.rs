//! What every other crate needs, and nothing that knows a graph or a model.
//!
//! * [`transcript`]: turns and parts, and whose words each part is.
//! * [`acceptor`]: a language of byte strings, accepted byte by byte.
//! * [`fs`]: files and folders that appear whole or not at all.
//! * [`journal`]: an append-only record of completed work.
//! * [`rng`]: random numbers that stay the same on every machine and in every version.

pub mod acceptor;
pub mod fs;
pub mod journal;
pub mod rng;
pub mod transcript;
