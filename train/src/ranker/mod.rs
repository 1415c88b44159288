//! Rankers: cross-encoders of the BERT family that read a question and a candidate and give a logit,
//! trained to choose the right candidate.
//!
//! ```text
//! choices ─▶ sample ─▶ step: net forward ─▶ loss ─▶ net backward ─▶ update     run: the loop
//! start (folder, or scratch with pca) ─▶ net (linear) ─▶ measure (validation) ─▶ write
//! ```
//!
//! Invariants: the same inputs, seed and version give the same weights, regardless of the number of
//! threads; a resumed run produces the same bytes as an uninterrupted one.

mod choices;
mod config;
mod linear;
mod loss;
mod measure;
mod net;
mod pca;
mod rate;
mod run;
mod sample;
mod shape;
mod start;
mod step;
mod update;
mod write;

pub use choices::{ChoiceCandidate, ProgramChoice};
pub use config::{RankerConfig, RankerSize, RankerStart};
pub use measure::{RankerShares, RankerValidation};
pub use rate::{Rated, rate};
pub use run::{RankerEvent, RankerPlan, RankerProgress, RankerStep, RankerSummary, train_ranker};

#[cfg(test)]
mod tests;
