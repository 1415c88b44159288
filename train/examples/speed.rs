//! Tokens a second of training on this machine, our kernels and burn's stock operations in turn: `cargo run --release -p train --example
//! speed [tiny|small] [steps] [micro tokens]`.
#![allow(clippy::print_stdout)]

use std::sync::atomic::AtomicBool;

use model::{Conversation, Dataset, Part, Preset, Role, Turn};
use train::{Base, Event, Progress, TrainConfig, TrainError, train};

/// Speeds of every step but the first few.
struct Speeds(Vec<f64>);

impl Progress for Speeds {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Step(report) => self.0.push(report.tokens_per_second),
            Event::Data { examples, tokens, trained, parameters, .. } => {
                println!("{parameters} parameters, {examples} examples, {tokens} tokens, {trained} trained");
            }
            _ => {}
        }
    }
}

/// Dialogues of about the length and share of trained tokens of real ones.
fn data() -> Dataset {
    let words = ["film", "directed", "by", "starred", "actors", "release", "year", "genre", "written", "language", "who", "which", "when"];
    let text = |from: usize, n: usize| (0..n).map(|i| words[(from * 7 + i * (1 + from % 5)) % 13]).collect::<Vec<_>>().join(" ");
    let train = (0..800)
        .map(|i| {
            let mut turns = vec![Turn::shown(Role::User, vec![Part::user(text(i, 12 + i % 9))])];
            for step in 0..2 + i % 3 {
                turns.push(Turn::call(text(i + step, 6)));
                turns.push(Turn::shown(Role::Tool, vec![Part::kg(text(i * 3 + step, 14))]));
            }
            turns.push(Turn::call("end"));
            Conversation { id: i.to_string(), turns }
        })
        .collect();
    Dataset { train, ..Dataset::default() }
}

fn main() -> Result<(), TrainError> {
    let mut arguments = std::env::args().skip(1);
    let preset = arguments.next().and_then(|name| Preset::parse(&name)).unwrap_or(Preset::Tiny);
    let steps = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(8);
    let micro = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2048);
    let dir = std::env::temp_dir().join(format!("train-speed-{}", std::process::id()));
    let mut both = Vec::new();
    // A fourth argument leaves the slow half out, for profiling.
    let kinds: &[bool] = if arguments.next().is_some() { &[false] } else { &[false, true] };
    for &stock_ops in kinds {
        let config = TrainConfig { max_steps: Some(steps), stock_ops, micro_tokens: micro, ..TrainConfig::default() };
        let mut speeds = Speeds(Vec::new());
        let summary = train(&config, &Base::Scratch(preset), &data(), &dir, &mut speeds, &AtomicBool::new(false))?;
        let speed = speeds.0.last().copied().unwrap_or_default();
        println!("{}: {speed:.0} tokens/s, loss {:.3}", if stock_ops { "stock" } else { "fused" }, summary.loss);
        both.push(speed);
    }
    if let [fused, stock] = both[..] {
        println!("fused / stock: {:.2}", fused / stock);
    }
    let _ = std::fs::remove_dir_all(dir);
    Ok(())
}
