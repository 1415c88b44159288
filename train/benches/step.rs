//! Times training steps in the whole loop, with every token trained.
//!
//! `cargo bench -p train --bench step -- [STEPS] [stock]`: on the CPU in f32, a LLaMA of 8.5
//! million parameters (width 256, 6 layers, 8 heads with 4 for keys and values, 8,192 tokens,
//! untied output layer) on 8 sequences of 512 tokens. `benches/peers/torch_train_cpu.py` compares
//! it with torch.
//!
//! `cargo bench -p train --features gpu/cuda --bench step -- STEPS cuda [lora] [checkpointing] [layers=N]`: on a
//! GPU in bf16, a LLaMA of 1.1 billion (width 2,048, 22 layers, 32 heads with 4, 32,000 tokens) on
//! 4 sequences of 2,048 tokens, one per forward pass. `benches/peers/torch_train_gpu.py` compares
//! it with torch.
//!
//! Prints one JSON object.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicBool;

use model::{
    Dataset, KgAgentInfo, ModelConfig, ModelFolder, Preset, Tokenizer, TrainingConversation, Turn,
};
use serde_json::json;
use train::{
    Algorithm, Base, LoraConfig, Method, Processor, TrainConfig, TrainEvent, TrainProgress,
    fresh_weights, train,
};

/// A completed step: time, processor time so far, tokens and loss.
struct TimedStep {
    seconds: f64,
    processor_seconds: f64,
    tokens: usize,
    loss: f64,
}

/// Records all steps.
#[derive(Default)]
struct StepTimer(Vec<TimedStep>);

/// Processor seconds of this process, if the system provides them, in hundredths.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|n| n.parse().ok())
        .collect();
    fields.iter().sum::<f64>() / 100.0
}

impl TrainProgress for StepTimer {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Step(report) = event {
            self.0.push(TimedStep {
                seconds: report.seconds,
                processor_seconds: processor_seconds(),
                tokens: report.tokens,
                loss: report.loss,
            });
        }
    }
}

/// The shape of the model; `length` is the longest sequence.
fn shape(gpu: bool, layers: Option<usize>, length: usize) -> ModelConfig {
    let (vocab, hidden_size, intermediate_size) = if gpu {
        (32_000, 2048, 5632)
    } else {
        (8192, 256, 688)
    };
    let (num_hidden_layers, num_attention_heads, head_dim) =
        if gpu { (22, 32, 64) } else { (6, 8, 32) };
    ModelConfig {
        hidden_size,
        intermediate_size,
        num_hidden_layers: layers.unwrap_or(num_hidden_layers),
        num_attention_heads,
        num_key_value_heads: 4,
        head_dim,
        max_position_embeddings: length,
        tie_word_embeddings: false,
        initializer_range: 0.02,
        ..Preset::Tiny.config(vocab)
    }
}

/// Examples of one turn. Every letter is a token, and so is the end: `length` predictions.
fn dataset(examples: usize, length: usize) -> Dataset {
    let letter = |i: usize, j: usize| char::from(b'a' + ((i * 31 + j * j + j * i) % 26) as u8);
    let example = |i: usize| TrainingConversation {
        id: i.to_string(),
        turns: vec![Turn::call(
            (0..length - 1).map(|j| letter(i, j)).collect::<String>(),
        )],
    };
    Dataset {
        train: (0..examples).map(example).collect(),
        ..Dataset::default()
    }
}

/// Peak memory in kB, if the system provides it.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let steps: usize = arguments
        .first()
        .map_or(6, |n| n.parse().expect("STEPS is a number"));
    let (gpu, lora) = (has("cuda"), has("lora"));
    let (sequences, length) = if gpu { (4, 2048) } else { (8, 512) };
    let dir = std::env::temp_dir().join(format!("kgagent-bench-step-{}", std::process::id()));
    let base = dir.join("base");
    let tokenizer = Tokenizer::train_bpe(["a"].iter(), 262).unwrap();
    let layers = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("layers="));
    let layers = layers.map(|n| n.parse().expect("layers=N has a number"));
    let config = shape(gpu, layers, length);
    let weights = fresh_weights(&config, 1).unwrap();
    ModelFolder::write(
        &base,
        &config,
        &tokenizer,
        &KgAgentInfo::default(),
        &weights,
    )
    .unwrap();
    let options = TrainConfig {
        optimizer: if has("muon") {
            Algorithm::Muon
        } else {
            Algorithm::Adamw
        },
        epochs: 1,
        batch_examples: Some(sequences),
        micro_tokens: if gpu { length } else { sequences * length },
        max_length: length + 1,
        save_seconds: None,
        method: if lora { Method::Lora } else { Method::Full },
        lora: LoraConfig {
            merge: false,
            ..LoraConfig::default()
        },
        processor: if gpu { Processor::Cuda } else { Processor::Cpu },
        gradient_checkpointing: has("checkpointing"),
        stock_ops: has("stock"),
        ..TrainConfig::default()
    };
    let mut timer = StepTimer::default();
    let data = dataset(sequences * steps, length);
    let summary = train(
        &options,
        &Base::Folder(base),
        &data,
        &dir.join("out"),
        &mut timer,
        &AtomicBool::new(false),
    )
    .unwrap();
    // The first step warms caches and allocators. The fastest other step shows the speed of an idle
    // machine.
    let steps = timer.0;
    let tokens = sequences * length;
    assert!(steps.len() > 1 && steps.iter().all(|step| step.tokens == tokens));
    let differences = |of: fn(&TimedStep) -> f64| -> Vec<f64> {
        steps
            .windows(2)
            .map(|two| of(&two[1]) - of(&two[0]))
            .collect()
    };
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let seconds = differences(|step| step.seconds);
    let busy = differences(|step| step.processor_seconds);
    println!(
        "{}",
        json!({
            "parameters": summary.parameters, "threads": rayon::current_num_threads(), "seconds": seconds,
            "first_step_seconds": steps[0].seconds,
            "tokens_per_second": tokens as f64 / least(&seconds), "tokens_per_processor_second": tokens as f64 / least(&busy),
            "losses": steps.iter().map(|step| step.loss).collect::<Vec<_>>(), "peak_kb": peak_kb(),
        })
    );
    std::fs::remove_dir_all(dir).unwrap();
}
