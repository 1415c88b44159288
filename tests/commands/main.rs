//! Commands of the program as users run them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod adapt;
mod cancel;
mod cli;
mod eval;
mod export;
mod fetch;
mod guide;
mod large;
mod lexicon;
mod ranker;
mod serving;
#[path = "../support/mod.rs"]
mod support;
mod threats;
mod train;
