//! Compares the peak memory of runs with their estimates. The goal, a tenth, is not reached yet; the
//! comparison is ignored.
//!
//! A run to measure is this test binary with [`SHAPE`] set: a process of its own, whose peak the
//! kernel counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use model::{
    Dataset, KgAgentInfo, ModelConfig, ModelFolder, Part, Preset, Role, Tokenizer,
    TrainingConversation, Turn,
};
use train::{
    Algorithm, Base, Estimate, LoraConfig, Method, TrainConfig, TrainEvent, TrainProgress,
    fresh_weights, train,
};

/// The variables with the shape that a child trains and the folder in which it does.
const SHAPE: &str = "KGAGENT_TEST_SHAPE";
const PLACE: &str = "KGAGENT_TEST_PLACE";

/// Conversations of about 500 tokens, four in five of them trained.
fn dataset() -> Dataset {
    let text = |i: usize, words: usize| {
        let word = |k: usize| ['k', 'w', 'z', 'q'][(i * 7 + k * k) % 4];
        (0..words).map(word).collect::<String>()
    };
    let one = |i: usize| TrainingConversation {
        id: i.to_string(),
        turns: vec![
            Turn::shown(Role::User, vec![Part::user(text(i, 100))]),
            Turn::call(text(i + 3, 400)),
        ],
    };
    Dataset {
        train: (0..8).map(one).collect(),
        valid: (8..10).map(one).collect(),
        ..Dataset::default()
    }
}

/// A base with a vocabulary much larger than its tokenizer. The child finds it written: it must not
/// have used memory before the run.
fn base(place: &Path, config: &ModelConfig) -> Base {
    let folder = place.join("base");
    if folder.exists() {
        return Base::Folder(folder);
    }
    let tokenizer = Tokenizer::train_bpe(["k w z q"].iter(), 262).unwrap();
    let weights = fresh_weights(config, 1).unwrap();
    let info = KgAgentInfo::default();
    ModelFolder::write(&folder, config, &tokenizer, &info, &weights).unwrap();
    Base::Folder(folder)
}

/// The base and the configuration of a shape.
fn shape(name: &str, place: &Path) -> (Base, TrainConfig) {
    let config = TrainConfig {
        optimizer: Algorithm::Adamw,
        batch_tokens: 1024,
        micro_tokens: 1024,
        max_steps: Some(2),
        devices: Some(1),
        vocab_size: Some(262),
        ..TrainConfig::default()
    };
    let wide = |hidden_size, layers, vocab| ModelConfig {
        hidden_size,
        intermediate_size: 3 * hidden_size,
        num_hidden_layers: layers,
        num_attention_heads: hidden_size / 64,
        num_key_value_heads: hidden_size / 64,
        head_dim: 64,
        ..Preset::Small.config(vocab)
    };
    match name {
        "scratch" => (
            Base::Scratch(Preset::Small),
            TrainConfig {
                optimizer: Algorithm::Muon,
                batch_tokens: 2048,
                devices: None,
                ..config
            },
        ),
        "lora" => (
            base(place, &wide(256, 6, 49_158)),
            TrainConfig {
                method: Method::Lora,
                lora: LoraConfig {
                    merge: false,
                    ..LoraConfig::default()
                },
                ..config
            },
        ),
        _ => (base(place, &wide(384, 6, 8_192)), config),
    }
}

/// A number of kilobytes in the kernel's record of this process, as bytes.
fn kernel(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    let number = line.split_whitespace().nth(1).unwrap();
    number.parse::<u64>().unwrap() * 1024
}

/// Keeps the estimate of a run.
#[derive(Default)]
struct Planned(Option<Estimate>);

impl TrainProgress for Planned {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Plan(plan) = event {
            self.0 = Some(plan.clone());
        }
    }
}

#[test]
fn a_run_to_be_measured() {
    let Ok(name) = std::env::var(SHAPE) else {
        return;
    };
    let place = PathBuf::from(std::env::var(PLACE).unwrap());
    let (base, config) = shape(&name, &place);
    let data = dataset();
    let before = kernel("VmRSS:");
    let mut planned = Planned::default();
    let never = AtomicBool::new(false);
    let out = place.join("out");
    train(&config, &base, &data, &out, &mut planned, &never).unwrap();
    let peak = kernel("VmHWM:") - before;
    let estimate = planned.0.unwrap().memory;
    assert!(peak > 0, "training takes memory");
    println!("\nMEASURED {} {peak} {estimate:?}", estimate.peak());
}

#[test]
#[ignore = "the allocator gives back more or less: between 0.76 and 1.06 of the estimate"]
fn the_peak_of_three_shapes_is_within_a_tenth_of_the_estimate() {
    for name in ["scratch", "lora", "full"] {
        let place = tempfile::tempdir().unwrap();
        let _ = shape(name, place.path());
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_run_to_be_measured", "--nocapture"])
            .env(SHAPE, name)
            .env(PLACE, place.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = said.lines().find_map(|line| line.strip_prefix("MEASURED "));
        let line = line.unwrap_or_else(|| panic!("{name}: {output:?}"));
        let mut numbers = line.split(' ').map(str::parse::<f64>);
        let (estimate, peak) = (
            numbers.next().unwrap().unwrap(),
            numbers.next().unwrap().unwrap(),
        );
        let ratio = peak / estimate;
        assert!((0.9..=1.1).contains(&ratio), "{name}: {ratio:.3}, {line}");
    }
}
