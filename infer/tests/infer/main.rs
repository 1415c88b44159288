//! Rankers, and models behind servers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../engine/tests/engine/encoder_folders.rs"]
mod encoder_folders;
mod ranker;
mod served;
mod server;
