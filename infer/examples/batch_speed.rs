//! What decoding together is worth: `batch_speed FILE.gguf THREADS PROMPT DECODE [QUESTIONS]` answers the same made-up questions (a prompt, then some tokens one by one)
//! one after the other and sixteen at a time, and prints questions a second by the clock and by the processor's time, and the ratios.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use infer::engine::{Batch, Engine, EngineError, Session};
use model::GgufModel;

/// Processor seconds of this process: clock ticks of a hundredth, user and system.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.rsplit(')').next().unwrap_or("").split(' ').filter_map(|field| field.parse().ok()).collect();
    fields.get(10).zip(fields.get(11)).map_or(f64::NAN, |(user, system)| (user + system) / 100.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, threads, prompt, decode, rest @ ..] = args.as_slice() else {
        return Err("batch_speed FILE THREADS PROMPT DECODE [QUESTIONS]".into());
    };
    let (threads, prompt, decode): (usize, usize, usize) = (threads.parse()?, prompt.parse()?, decode.parse()?);
    let questions: usize = rest.first().map_or(Ok(32), |text| text.parse())?;
    let model = GgufModel::open(Path::new(file))?;
    let engine = Engine::new(model.config.clone(), &model)?;
    let vocab = engine.config().vocab_size;
    let mut found = Vec::new();
    for slots in [1, 16] {
        let batch = Batch::new(&engine, threads)?;
        let next = AtomicUsize::new(0);
        let (begun, used) = (Instant::now(), processor());
        let one = || -> Result<(), EngineError> {
            let mut session = Session::in_batch(&batch);
            loop {
                let question = next.fetch_add(1, Ordering::Relaxed);
                if question >= questions {
                    return Ok(());
                }
                let ids: Vec<u32> = (0..prompt).map(|i| (((i + question) * 7919) % vocab) as u32).collect();
                session.sync(&ids)?;
                for i in 0..decode {
                    session.feed(&[(i % vocab) as u32])?;
                }
            }
        };
        std::thread::scope(|scope| -> Result<(), EngineError> {
            let threads: Vec<_> = (0..slots).map(|_| scope.spawn(one)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| EngineError::Batch)?)
        })?;
        let rate = |seconds: f64| questions as f64 / seconds;
        found.push((rate(begun.elapsed().as_secs_f64()), rate(processor() - used)));
        println!(
            "{slots:2} at a time: {:.2} questions a second, {:.2} a second of processor time",
            found[found.len() - 1].0,
            found[found.len() - 1].1
        );
    }
    println!("ratio {:.2} by the clock, {:.2} by processor time", found[1].0 / found[0].0, found[1].1 / found[0].1);
    Ok(())
}
