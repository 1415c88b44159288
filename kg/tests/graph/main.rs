//! The graph, its loaders and its queries, on small graphs and, if available, on the development
//! sets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod access;
mod axioms;
mod datasets;
mod dialects;
mod differential;
mod folder;
mod frozen;
mod hostile;
mod loading;
mod named;
mod names;
mod obo;
mod queries;
mod reading;
mod sets;
mod subgraph;
mod support;
mod value;
