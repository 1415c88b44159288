//! Training steps on the CPU, timed through the whole loop: a LLaMA of 8.5 million parameters (width 256, 6 layers, 8 heads with 4 for keys and values,
//! 8,192 tokens, output layer of its own) on 8 sequences of 512 tokens, every one of them trained, in f32.
//!
//! `cargo bench -p train --bench step -- [STEPS] [stock]` prints one JSON object; `benches/peers/torch_train_cpu.py` runs it beside torch.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicBool;

use model::{Conversation, Dataset, KgAgentInfo, ModelConfig, ModelFolder, Preset, Tokenizer, Turn};
use serde_json::json;
use train::{Base, Event, Progress, TrainConfig, fresh_weights, train};

/// Times at which steps ended, on the clock and of all processors, with their tokens and losses.
#[derive(Default)]
struct Steps(Vec<(f64, f64, usize, f64)>);

/// Processor seconds of this process so far, where the system says; its clock ticks a hundred times a second.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
    fields.iter().sum::<f64>() / 100.0
}

impl Progress for Steps {
    fn event(&mut self, event: &Event) {
        if let Event::Step(report) = event {
            self.0.push((report.seconds, processor(), report.tokens, report.loss));
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let steps: usize = arguments.first().map_or(6, |n| n.parse().expect("STEPS is a number"));
    let dir = std::env::temp_dir().join(format!("kgagent-bench-step-{}", std::process::id()));
    let tokenizer = Tokenizer::train_bpe(["a"].iter(), 262).unwrap();
    let config = ModelConfig {
        hidden_size: 256,
        intermediate_size: 688,
        num_hidden_layers: 6,
        num_attention_heads: 8,
        num_key_value_heads: 4,
        head_dim: 32,
        tie_word_embeddings: false,
        initializer_range: 0.02,
        ..Preset::Tiny.config(8192)
    };
    ModelFolder::write(&dir.join("base"), &config, &tokenizer, &KgAgentInfo::default(), &fresh_weights(&config, 1).unwrap()).unwrap();
    // Every letter is a token, the end of the turn is one: 512 predictions after the role token.
    let text = |i: usize| (0..511).map(|j| char::from(b'a' + ((i * 31 + j * j + j * i) % 26) as u8)).collect::<String>();
    let one = |i: usize| Conversation { id: i.to_string(), turns: vec![Turn::call(text(i))] };
    let data = Dataset { train: (0..8 * steps).map(one).collect(), ..Dataset::default() };
    let options = TrainConfig {
        epochs: 1,
        batch_examples: Some(8),
        micro_tokens: 4096,
        save_seconds: None,
        stock_ops: arguments.get(1).is_some_and(|word| word == "stock"),
        ..TrainConfig::default()
    };
    let mut seen = Steps::default();
    let out = dir.join("out");
    let summary = train(&options, &Base::Folder(dir.join("base")), &data, &out, &mut seen, &AtomicBool::new(false)).unwrap();
    // The first step warms caches and allocators; the fastest of the others is what the machine does when left alone.
    let seconds: Vec<f64> = seen.0.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let busy: Vec<f64> = seen.0.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(seen.0.iter().all(|step| step.2 == 8 * 512) && !seconds.is_empty());
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().trim_end_matches(" kB").parse::<u64>().ok());
    println!(
        "{}",
        json!({
            "parameters": summary.parameters, "threads": rayon::current_num_threads(), "seconds": seconds,
            "tokens_per_second": 4096.0 / least(&seconds), "tokens_per_processor_second": 4096.0 / least(&busy),
            "losses": seen.0.iter().map(|step| step.3).collect::<Vec<_>>(), "peak_kb": peak,
        })
    );
    std::fs::remove_dir_all(dir).unwrap();
}
