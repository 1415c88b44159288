//! The commands, one module each; [`graph`], [`ranking`] and [`oracle`] serve several of them.

pub(crate) mod adapt;
pub(crate) mod ask;
pub(crate) mod choices;
pub(crate) mod datagen;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod fetch;
pub(crate) mod graph;
pub(crate) mod lexicon;
mod oracle;
mod output;
pub(crate) mod pages;
mod ranking;
pub(crate) mod replay;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod subgraph;
pub(crate) mod tool;
pub(crate) mod train;
