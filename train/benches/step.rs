//! Training steps, timed through the whole loop, every token trained.
//!
//! `cargo bench -p train --bench step -- [STEPS] [stock]`: on the CPU in f32, a LLaMA of 8.5 million parameters (width 256, 6 layers, 8 heads with 4 for keys
//! and values, 8,192 tokens, output layer of its own) on 8 sequences of 512 tokens; `benches/peers/torch_train_cpu.py` runs it beside torch.
//!
//! `cargo bench -p train --features cuda --bench step -- STEPS cuda [lora] [checkpointing]`: on a GPU in bf16, a LLaMA of 1.1 billion (width 2,048, 22 layers,
//! 32 heads with 4, 32,000 tokens) on 4 sequences of 2,048 tokens, one a forward pass; `benches/peers/torch_train_gpu.py` runs it beside torch.
//!
//! Prints one JSON object.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicBool;

use model::{
    Conversation, Dataset, KgAgentInfo, ModelConfig, ModelFolder, Preset, Tokenizer, Turn,
};
use serde_json::json;
use train::{
    Algorithm, Base, Event, LoraConfig, Method, Processor, Progress, TrainConfig, fresh_weights,
    train,
};

/// Times at which steps ended, on the clock and of all processors, with their tokens and losses.
#[derive(Default)]
struct Steps(Vec<(f64, f64, usize, f64)>);

/// Processor seconds of this process so far, where the system says; its clock ticks a hundred times a second.
fn processor() -> f64 {
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

impl Progress for Steps {
    fn event(&mut self, event: &Event) {
        if let Event::Step(report) = event {
            self.0
                .push((report.seconds, processor(), report.tokens, report.loss));
        }
    }
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
    let dir = std::env::temp_dir().join(format!("kgagent-bench-step-{}", std::process::id()));
    let tokenizer = Tokenizer::train_bpe(["a"].iter(), 262).unwrap();
    let shared = ModelConfig {
        tie_word_embeddings: false,
        initializer_range: 0.02,
        ..Preset::Tiny.config(if gpu { 32_000 } else { 8192 })
    };
    let (hidden_size, intermediate_size) = if gpu { (2048, 5632) } else { (256, 688) };
    let (num_hidden_layers, num_attention_heads, head_dim) =
        if gpu { (22, 32, 64) } else { (6, 8, 32) };
    let (sequences, length) = if gpu { (4, 2048) } else { (8, 512) };
    let config = ModelConfig {
        hidden_size,
        intermediate_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads: 4,
        head_dim,
        max_position_embeddings: length,
        ..shared
    };
    ModelFolder::write(
        &dir.join("base"),
        &config,
        &tokenizer,
        &KgAgentInfo::default(),
        &fresh_weights(&config, 1).unwrap(),
    )
    .unwrap();
    // Every letter is a token, the end of the turn is one: `length` predictions after the role token.
    let text = |i: usize| {
        (0..length - 1)
            .map(|j| char::from(b'a' + ((i * 31 + j * j + j * i) % 26) as u8))
            .collect::<String>()
    };
    let one = |i: usize| Conversation {
        id: i.to_string(),
        turns: vec![Turn::call(text(i))],
    };
    let data = Dataset {
        train: (0..sequences * steps).map(one).collect(),
        ..Dataset::default()
    };
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
    let mut seen = Steps::default();
    let out = dir.join("out");
    let summary = train(
        &options,
        &Base::Folder(dir.join("base")),
        &data,
        &out,
        &mut seen,
        &AtomicBool::new(false),
    )
    .unwrap();
    // The first step warms caches and allocators; the fastest of the others is what the machine does when left alone.
    let seconds: Vec<f64> = seen
        .0
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    let busy: Vec<f64> = seen
        .0
        .windows(2)
        .map(|pair| pair[1].1 - pair[0].1)
        .collect();
    let tokens = sequences * length;
    assert!(seen.0.iter().all(|step| step.2 == tokens) && !seconds.is_empty());
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .trim_end_matches(" kB")
            .parse::<u64>()
            .ok()
    });
    println!(
        "{}",
        json!({
            "parameters": summary.parameters, "threads": rayon::current_num_threads(), "seconds": seconds,
            "first_step_seconds": seen.0[0].0,
            "tokens_per_second": tokens as f64 / least(&seconds), "tokens_per_processor_second": tokens as f64 / least(&busy),
            "losses": seen.0.iter().map(|step| step.3).collect::<Vec<_>>(), "peak_kb": peak,
        })
    );
    std::fs::remove_dir_all(dir).unwrap();
}
