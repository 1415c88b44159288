//! The graph, its loaders and its queries, on small graphs and, if available, on the development
//! sets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod access;
#[path = "../support/mod.rs"]
mod datasets;
mod folder;
mod hostile;
mod loading;
mod names;
mod queries;
mod sets;
mod support;
