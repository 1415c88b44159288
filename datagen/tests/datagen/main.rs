//! Readers, conversion, generation and exports.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod contexts;
mod coverage;
mod export;
mod extended;
mod fingerprint;
mod fronts;
mod frozen;
mod generated;
mod headline;
mod kqapro;
mod pipeline;
mod readers;
mod real;
mod reference;
mod refusals;
mod reword;
mod rows;
mod select;
mod shapes;
mod small_graphs;
mod synth;
mod tables;
mod to_sparql;
