//! Fixtures: shapes, weights, batches, data and runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::Device;
use common::rng::Rng;
use model::rope::{Llama3Scaling, Rope, RopeScaling, Yarn};
use model::{
    Dataset, Family, ModelConfig, Part, Preset, Role, TrainingConversation, Turn, Weights,
};

use crate::device::Compute;
use crate::grads::{NamedGrads, global_norm};
use crate::llama::{Llama, Packed};
use crate::*;

pub(super) fn device() -> Device {
    Device::flex().autodiff()
}

pub(super) fn small(tied: bool) -> ModelConfig {
    let mut config = Preset::Tiny.config(50);
    config.hidden_size = 24;
    config.intermediate_size = 40;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.head_dim = 10;
    config.tie_word_embeddings = tied;
    config.initializer_range = 0.3;
    config.rope = Rope {
        theta: 500.0,
        scaling: RopeScaling::Llama3(Llama3Scaling {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 32,
        }),
    };
    config
}

/// One configuration for every switch in which the families differ.
pub(super) fn shapes() -> Vec<ModelConfig> {
    let tied = small(true);
    let yarn = Yarn {
        factor: 4.0,
        original_max_position_embeddings: 16,
        beta_fast: 8.0,
        beta_slow: 1.0,
        attention_factor: None,
        truncate: true,
    };
    vec![
        small(false),
        ModelConfig {
            family: Family::Qwen2,
            qkv_bias: true,
            rope: Rope {
                theta: 500.0,
                scaling: RopeScaling::Yarn(yarn),
            },
            ..tied.clone()
        },
        ModelConfig {
            family: Family::Qwen3,
            qk_norm: true,
            rope: Rope {
                theta: 500.0,
                scaling: RopeScaling::Linear { factor: 2.0 },
            },
            ..tied.clone()
        },
        ModelConfig {
            qkv_bias: true,
            o_bias: true,
            mlp_bias: true,
            ..tied.clone()
        },
        tied,
    ]
}

pub(super) fn weights(config: &ModelConfig) -> Weights {
    let mut weights = fresh_weights(config, 5).unwrap();
    let mut rng = Rng::new(9);
    for (name, shape) in config
        .tensors()
        .into_iter()
        .filter(|(_, shape)| shape.len() == 1)
    {
        let data = (0..shape[0]).map(|_| 1.0 + 0.3 * rng.normal()).collect();
        weights.insert(name, model::Tensor { shape, data });
    }
    weights
}

pub(super) fn batch(segments: &[usize], vocab: u64, every: usize) -> Packed {
    let mut rng = Rng::new(3);
    let n: usize = segments.iter().sum();
    let mut any = |n: usize| -> Vec<u32> { (0..n).map(|_| (rng.next() % vocab) as u32).collect() };
    let rows: Vec<u32> = (0..n as u32)
        .filter(|i| (*i as usize).is_multiple_of(every))
        .collect();
    Packed {
        ids: any(n),
        segments: segments.to_vec(),
        targets: Arc::new(any(rows.len())),
        rows,
    }
}

pub(super) fn gradients(model: &Llama, batch: &Packed) -> (f32, BTreeMap<String, Vec<f32>>) {
    let mut grads = NamedGrads::new();
    let scale = 1.0 / batch.rows.len() as f32;
    let loss = model.gradients(batch, scale, 0, &device(), &mut grads);
    assert!(global_norm(&grads, Compute::Fused(Precision::F32)) > 0.01);
    let values = grads
        .into_iter()
        .map(|(name, grad)| (name, grad.into_data().try_to_vec().unwrap()))
        .collect();
    (loss.into_data().try_to_vec::<f32>().unwrap()[0], values)
}

pub(super) fn worst(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1e-3_f32, |m, x| m.max(x.abs()));
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs() / scale)
        .fold(0.0, f32::max)
}

/// The task is to repeat a word, which word frequencies alone cannot solve.
pub(super) fn copy_task(n: usize) -> Dataset {
    let mut rng = Rng::new(21);
    let mut one = |i: usize| {
        let word: String = (0..3)
            .map(|_| ['k', 'w', 'z', 'q'][(rng.next() % 4) as usize])
            .collect();
        TrainingConversation {
            id: i.to_string(),
            turns: vec![
                Turn::shown(Role::User, vec![Part::user(word.clone())]),
                Turn::call(word),
            ],
        }
    };
    Dataset {
        train: (0..n).map(&mut one).collect(),
        valid: (0..20).map(one).collect(),
        templates: [("kg-agent".to_owned(), "aa".to_owned())].into(),
        ..Dataset::default()
    }
}

pub(super) fn quick() -> TrainConfig {
    // 262: no merges, so that every letter is a token and the word must be copied letter by letter.
    TrainConfig {
        // With so small a step, most of the time would go into Muon's products.
        optimizer: Algorithm::Adamw,
        epochs: 1,
        batch_tokens: 300,
        micro_tokens: 160,
        vocab_size: Some(262),
        save_seconds: None,
        ..TrainConfig::default()
    }
}

/// `config` with a change.
pub(super) fn with(mut config: TrainConfig, change: impl FnOnce(&mut TrainConfig)) -> TrainConfig {
    change(&mut config);
    config
}

/// Trains a tiny model from scratch.
pub(super) fn run(config: &TrainConfig, data: &Dataset, out: &Path) -> Result<Summary, TrainError> {
    run_from(config, &Base::Scratch(Preset::Tiny), data, out)
}

/// Trains from a base without progress.
pub(super) fn run_from(
    config: &TrainConfig,
    base: &Base,
    data: &Dataset,
    out: &Path,
) -> Result<Summary, TrainError> {
    train(
        config,
        base,
        data,
        out,
        &mut Silent,
        &AtomicBool::new(false),
    )
}

pub(super) fn bytes(out: &Path) -> Vec<u8> {
    fs::read(out.join("model.safetensors")).unwrap()
}

/// Stops a run after a step, and keeps its notes.
pub(super) struct StopAt<'a> {
    step: usize,
    stop: &'a AtomicBool,
    pub(super) notes: Vec<String>,
}

impl<'a> StopAt<'a> {
    pub(super) fn new(step: usize, stop: &'a AtomicBool) -> Self {
        Self {
            step,
            stop,
            notes: Vec::new(),
        }
    }
}

impl TrainProgress for StopAt<'_> {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Step(report) if report.step == self.step => {
                self.stop.store(true, Ordering::Relaxed);
            }
            TrainEvent::Note(note) => self.notes.push(note.clone()),
            _ => {}
        }
    }
}

/// Runs until the end of `step` and interrupts there.
pub(super) fn interrupt(
    config: &TrainConfig,
    base: &Base,
    data: &Dataset,
    out: &Path,
    step: usize,
) {
    let stop = AtomicBool::new(false);
    let mut progress = StopAt::new(step, &stop);
    let error = train(config, base, data, out, &mut progress, &stop).unwrap_err();
    assert!(
        matches!(error, TrainError::Interrupted { step: at, .. } if at == step),
        "{error}"
    );
}

/// Losses by step.
pub(super) fn losses(out: &Path) -> Vec<f64> {
    let text = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines
        .filter_map(|line| line.get("norm").and(line["loss"].as_f64()))
        .collect()
}

/// A base with foreign control tokens, so that LoRA trains new rows.
pub(super) fn foreign_base(at: &Path, data: &Dataset) -> Base {
    run(&with(quick(), |c| c.max_steps = Some(2)), data, at).unwrap();
    let path = at.join("tokenizer.json");
    fs::write(
        &path,
        fs::read_to_string(&path).unwrap().replace("<|", "<~"),
    )
    .unwrap();
    Base::Folder(at.to_owned())
}
