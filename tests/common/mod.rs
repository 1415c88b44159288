//! The demo graph and its questions, for tests of agents.

use std::path::{Path, PathBuf};

use datagen::question::GoldQuestion;
use datagen::read::{ReadOptions, Source};
use toolbox::kg::{LoadOptions, MemoryKg};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

pub(crate) fn graph() -> MemoryKg {
    MemoryKg::load(&[data("graph.ttl"), data("ontology.ttl")], &LoadOptions::default(), &|_| {}).unwrap()
}

pub(crate) fn questions(kg: &MemoryKg, name: &str) -> Vec<GoldQuestion> {
    let source: Source = format!("jsonl={}", data(name).display()).parse().unwrap();
    source.read(Some(kg), &ReadOptions::default()).unwrap()
}
