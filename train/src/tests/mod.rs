//! Tests of whole models and whole runs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod device;
mod devices;
mod gradients;
mod lora;
mod optimizer;
mod parity;
mod quantised;
mod reference;
mod support;
mod training;
