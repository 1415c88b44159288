//! The engine against a plain loop implementation, its cache, and constrained decoding with models that know nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod constraint;
mod device;
mod grammar;
mod logits;
mod packed;
mod support;
