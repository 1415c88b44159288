//! Agents, planners, traces and scores, mostly in the process of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod agent;
mod fuzzing;
mod hostile;
mod metrics;
mod oda;
mod published;
mod remote;
mod robust;
#[path = "../support/mod.rs"]
mod support;
mod traces;
mod triad;
