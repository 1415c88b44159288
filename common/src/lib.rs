//! Code that every other crate needs. Nothing here knows a graph or a model.
//!
//! * [`transcript`]: turns made of parts, and the origin of each part.
//! * [`acceptor`]: a language of byte strings, accepted byte by byte.
//! * [`cancel`]: ending work early, by a flag or a deadline.
//! * [`fs`]: files and folders that are replaced atomically.
//! * [`hash`]: pseudo-random numbers from names.
//! * [`hex`]: hashes as text.
//! * [`input`]: text files that people give, compressed or with a byte order mark.
//! * [`journal`]: an append-only record of completed work.
//! * [`listing`]: what a command may replace.
//! * [`rng`]: random numbers that are the same on every machine and in every version.
//! * [`wordings`]: how the questions of a dataset are worded, as hashes.
//! * [`worded!`]: enums whose variants are written as words.

pub mod acceptor;
pub mod cancel;
pub mod fs;
pub mod hash;
pub mod hex;
pub mod input;
pub mod journal;
pub mod listing;
pub mod rng;
pub mod transcript;
pub mod worded;
pub mod wordings;
