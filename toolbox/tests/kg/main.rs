//! The graph, its loaders and its queries, on small graphs and, where they lie beside the checkout, on the development sets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod access;
#[path = "../common/mod.rs"]
mod common;
mod folder;
mod loading;
mod names;
mod queries;
mod sets;
mod support;
