//! From gold SPARQL to verified reasoning programs and instruction data (KG-Agent §4.2).
//!
//! ```text
//! read ──▶ question ──▶ graph ──▶ convert ──▶ verify ──▶ example ──▶ select ──▶ write
//!  one file a format     query     program     both run   rendered    mix,       train.jsonl,
//!                        graph                 on the kg  by toolbox  split      report.json
//! ```
//!
//! Invariants: this crate knows no model; text is never spliced into SPARQL; every question read
//! is either kept or refused with one reason of [`Refusal`]; the same inputs, seed and version give
//! the same bytes on any number of threads.

pub mod agents;
pub mod agree;
mod algebra;
mod card;
pub mod choice;
pub mod convert;
mod error;
pub mod example;
pub mod export;
mod fingerprint;
mod graph;
pub mod kqapro;
mod limits;
pub mod lines;
pub mod linking;
mod options;
pub mod pipeline;
pub mod question;
pub mod read;
pub mod recall;
mod record;
pub mod refusal;
pub mod report;
pub mod reword;
mod scramble;
pub mod select;
pub mod sexpr;
pub mod small_graphs;
pub mod split;
pub mod synth;
pub mod to_sparql;
pub mod verify;
pub mod weights;
pub mod word_pairs;
mod wording;
mod write;

pub use error::Error;
pub(crate) use error::thread_pool;
pub use refusal::Refusal;
pub use wording::wording;
pub use write::{question_line, write_dataset};
