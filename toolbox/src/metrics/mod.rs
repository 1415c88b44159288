//! Scores of answers: the definitions of spec A.6 with its repairs, and the published scorers under their own names, per question and averaged.
//! `docs/metrics.md` defines every name.

mod bootstrap;
mod mean;
mod score;
mod text;

pub use bootstrap::{Interval, difference, intervals};
pub use mean::{Metrics, Scored};
pub use score::{Answers, SCORES, Scores, score};
pub use text::{fold_tog, kqa_equal, normalise};
