//! The engine against plain loops, its cache, and constrained decoding with random models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod cancel;
mod constraint;
mod device;
mod encoder;
mod encoder_folders;
mod grammar;
mod logits;
mod packed;
mod support;
mod utf8;
