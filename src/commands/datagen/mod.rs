//! `kgagent datagen`: verified training data from questions with gold SPARQL or from a graph alone,
//! and tools around it.

mod axolotl;
pub(crate) mod check;
pub(crate) mod export;
pub(crate) mod formats;
pub(super) mod generate;
pub(crate) mod gold;
pub(crate) mod recall;
mod report;
mod reword;
pub(super) mod source;
pub(crate) mod sparql;
pub(crate) mod synth;
pub(crate) mod words;
