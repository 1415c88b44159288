//! Tests of rankers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod gradients;
mod runs;
