//! ODA, Triad and the baseline Think-on-Graph as published, for large models that were not trained here: each request is a
//! prompt of its own that names everything it needs, and replies are free text.
//!
//! [`crate::oda`] and [`crate::triad`] are the same agents in short turns with handles, which small
//! models can be trained on.

mod answer;
mod names;
pub mod oda;
pub mod tog;
pub mod triad;

pub use answer::{Separators, read_answer};
