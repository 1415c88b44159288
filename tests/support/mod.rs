//! The demo graph, its questions, and models with random weights, for tests of agents.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use datagen::question::GoldQuestion;
use datagen::read::{QuestionSource, ReadOptions};
use infer::planner::LocalModel;
use kg::{FrozenKg, LoadOptions};
use model::{KgAgentInfo, ModelFolder, Preset, Tokenizer};
use toolbox::prompt::Template;

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name)
}

/// Runs `kgagent` in a folder; returns output, errors and exit code.
pub(crate) fn run(place: &Path, args: &[&str]) -> (String, String, i32) {
    let out = Command::new(env!("CARGO_BIN_EXE_kgagent"))
        .args(args)
        .current_dir(place)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        text(&out.stdout),
        text(&out.stderr),
        out.status.code().unwrap(),
    )
}

/// Makes another build of the program: a copy with one more byte, which runs as the program does. A
/// shell writes it: a file that this process has open for writing could not be run.
#[cfg(unix)]
pub(crate) fn other_build(folder: &Path) -> PathBuf {
    let other = folder.join("kgagent-of-another-build");
    let made = Command::new("sh")
        .args(["-c", "cp \"$0\" \"$1\" && printf x >> \"$1\""])
        .arg(env!("CARGO_BIN_EXE_kgagent"))
        .arg(&other)
        .status();
    assert!(made.unwrap().success());
    other
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}

pub(crate) fn graph() -> FrozenKg {
    FrozenKg::load(
        &[data("graph.ttl"), data("ontology.ttl")],
        &LoadOptions::default(),
        &|_| {},
    )
    .unwrap()
}

pub(crate) fn questions(kg: &FrozenKg, name: &str) -> Vec<GoldQuestion> {
    let source: QuestionSource = format!("jsonl={}", data(name).display()).parse().unwrap();
    source.read(Some(kg), &ReadOptions::default()).unwrap()
}

/// A model with one layer, random weights and a tokenizer trained on the training questions, for
/// agents with these templates.
pub(crate) fn random_model(dir: &Path, templates: &[&Template], seed: u64) -> Arc<LocalModel> {
    let texts: Vec<String> = std::fs::read_to_string(data("questions.train.jsonl"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let tokenizer = Tokenizer::train_bpe(texts.iter(), 700).unwrap();
    let mut config = Preset::Tiny.config(tokenizer.vocab_size());
    config.num_hidden_layers = 1;
    let weights = train::fresh_weights(&config, seed).unwrap();
    let info = KgAgentInfo {
        templates: templates
            .iter()
            .map(|template| (template.agent.name().to_owned(), template.hash()))
            .collect(),
        layouts: templates
            .iter()
            .take(1)
            .map(|template| template.layout.name().to_owned())
            .collect(),
        ..KgAgentInfo::default()
    };
    ModelFolder::write(dir, &config, &tokenizer, &info, &weights).unwrap();
    Arc::new(LocalModel::open(dir).unwrap())
}
