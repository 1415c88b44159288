//! The server over loopback, without a model: every address with good and bad input.
#![allow(clippy::unwrap_used)]

mod access;
mod answers;
mod clients;
mod fuzz;
mod given;
mod interface;
mod mcp;
mod page;
mod protocol;
mod queries;
mod refusals;
mod reload;
mod support;
