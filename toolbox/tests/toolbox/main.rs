//! Calls, tools, prompts and the agents' own rules, without a model.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod call;
mod databases;
mod development;
mod entity_selection;
mod exec;
mod explain;
mod gbnf;
mod limits;
mod linking;
mod lists;
mod namesakes;
mod observe;
mod plain;
mod ranking;
mod relatives;
mod rows;
mod said;
mod schema;
mod search;
mod shapes;
mod spoken;
mod states;
mod support;
mod tables;
mod triad;
