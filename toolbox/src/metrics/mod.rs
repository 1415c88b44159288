//! Scores of answers, per question and averaged: the definitions of rules A.6 with their
//! corrections, and the published scorers under their own names. `docs/metrics.md` defines every
//! name.

mod answers;
mod bootstrap;
mod mean;
mod reading;
mod rows;
mod score;
mod text;

pub use answers::Answers;
pub use bootstrap::{ConfidenceInterval, difference, intervals};
pub use mean::{Metrics, Scored};
pub use reading::Reading;
pub use score::{SCORES, Scores, score};
pub use text::{fold_tog, kqa_equal, normalise};
