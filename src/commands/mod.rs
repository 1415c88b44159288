//! The commands, one file each; what several need stands here.

pub(crate) mod ask;
mod axolotl;
pub(crate) mod datagen;
pub(crate) mod demo;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod fetch;
pub(crate) mod graph;
pub(crate) mod ranking;
pub(crate) mod recall;
pub(crate) mod replay;
pub(crate) mod subgraph;
pub(crate) mod tool;
pub(crate) mod train;
