//! `batch_speed FILE.gguf THREADS PROMPT DECODE [QUESTIONS] [ROUNDS]` measures the gain from
//! batching. Each round runs the same synthetic questions (a prompt, then single tokens) one at a
//! time and sixteen at a time. Prints questions per second of wall-clock and of CPU time, the ratio
//! of each round, which cancels changes in the speed of the machine, and the median ratio.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use engine::{Batch, DecodeSession, Engine, EngineError};
use model::GgufModel;

/// CPU seconds of this process, user and system, in steps of a hundredth.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split(' ')
        .filter_map(|field| field.parse().ok())
        .collect();
    fields
        .get(10)
        .zip(fields.get(11))
        .map_or(f64::NAN, |(user, system)| (user + system) / 100.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, threads, prompt, decode, rest @ ..] = args.as_slice() else {
        return Err("batch_speed FILE THREADS PROMPT DECODE [QUESTIONS] [ROUNDS]".into());
    };
    let (threads, prompt, decode): (usize, usize, usize) =
        (threads.parse()?, prompt.parse()?, decode.parse()?);
    let number = |i: usize, usual: usize| rest.get(i).map_or(Ok(usual), |text| text.parse());
    let (questions, rounds) = (number(0, 32)?, number(1, 1)?);
    let model = GgufModel::open(Path::new(file))?;
    let engine = Engine::new(model.config.clone(), &model)?;
    let vocab = engine.config().vocab_size;
    let answer = |slots: usize| -> Result<[f64; 2], EngineError> {
        let batch = Batch::new(&engine, threads)?;
        let next = AtomicUsize::new(0);
        let (begun, used) = (Instant::now(), cpu_seconds());
        let one = || -> Result<(), EngineError> {
            let mut session = DecodeSession::in_batch(&batch);
            loop {
                let question = next.fetch_add(1, Ordering::Relaxed);
                if question >= questions {
                    return Ok(());
                }
                let ids: Vec<u32> = (0..prompt)
                    .map(|i| (((i + question) * 7919) % vocab) as u32)
                    .collect();
                session.sync(&ids)?;
                for i in 0..decode {
                    session.feed(&[(i % vocab) as u32])?;
                }
            }
        };
        std::thread::scope(|scope| -> Result<(), EngineError> {
            let threads: Vec<_> = (0..slots).map(|_| scope.spawn(one)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread
                    .join()
                    .map_err(|_| EngineError::Batch("a thread ended".to_owned()))?
            })
        })?;
        Ok([begun.elapsed().as_secs_f64(), cpu_seconds() - used]
            .map(|seconds| questions as f64 / seconds))
    };
    let mut ratios: [Vec<f64>; 2] = Default::default();
    for _ in 0..rounds {
        let (one, sixteen) = (answer(1)?, answer(16)?);
        for (ratios, (one, sixteen)) in ratios.iter_mut().zip(one.iter().zip(&sixteen)) {
            ratios.push(sixteen / one);
        }
        println!(
            "one at a time {:.2} questions per second ({:.2} of CPU time), sixteen {:.2} ({:.2}), ratio {:.2} ({:.2})",
            one[0],
            one[1],
            sixteen[0],
            sixteen[1],
            sixteen[0] / one[0],
            sixteen[1] / one[1]
        );
    }
    let [clock, processor] = ratios.map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    });
    println!("median ratio {clock:.2} wall-clock, {processor:.2} CPU time");
    Ok(())
}
