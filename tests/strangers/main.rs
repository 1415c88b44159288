//! Hundreds of hostile inputs of many kinds, made from fixed seeds and given to the program as a
//! stranger would: graph files, damaged folders, models, questions, traces, replies of servers. Each
//! runs in a child with limited time, memory and file sizes. The child must end by itself, without a
//! panic and without a signal. It must print one sentence that says what is wrong. It must not remove
//! or change a file, and it must write only its own output.
//!
//! `KGAGENT_HOSTILE=100` makes as many inputs of each kind; `KGAGENT_HOSTILE_KIND=gguf` runs one kind,
//! `KGAGENT_HOSTILE_SEED=7` makes other ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod change;
mod child;
mod crowd;
mod files;
mod kinds;
mod models;
mod place;
mod servers;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use common::rng::Rng;
use kinds::KINDS;
use place::Base;

/// Inputs of each kind.
const EACH: usize = 18;

/// Seconds from which an input is named.
const SLOW: f64 = 2.0;

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

#[test]
fn hostile_inputs_end_in_a_sentence_and_leave_everything_as_it_is() {
    let (each, seed) = (
        number("KGAGENT_HOSTILE", EACH),
        number("KGAGENT_HOSTILE_SEED", 1),
    );
    let only = std::env::var("KGAGENT_HOSTILE_KIND").ok();
    let kinds: Vec<_> = (KINDS.iter())
        .filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
        .collect();
    assert!(!kinds.is_empty());
    let base = Base::new();
    let before = base.fingerprint();
    let (next, findings) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let times = Mutex::new(vec![(0.0_f64, 0.0_f64); kinds.len()]);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, make)) = kinds.get(at / each) else {
                        break;
                    };
                    let input = at % each;
                    let mut rng = Rng::new((seed * 1_000_003 + at / each * 1_009 + input) as u64);
                    let begun = Instant::now();
                    let sent = make(&base, input, &mut rng);
                    if let Err(why) = child::run(&base, &sent) {
                        let finding = format!("{name} {input}: {why}\n  {}", sent.summary());
                        println!("{finding}");
                        findings.lock().unwrap().push(finding);
                    }
                    let took = begun.elapsed().as_secs_f64();
                    if took > SLOW {
                        println!("{name} {input} takes {took:.1} s");
                    }
                    let slot = &mut times.lock().unwrap()[at / each];
                    *slot = (slot.0 + took, slot.1.max(took));
                }
            });
        }
    });
    for ((name, _), (all, most)) in kinds.iter().zip(times.into_inner().unwrap()) {
        println!("{name}: {each} inputs in {all:.1} s, the slowest {most:.2} s");
    }
    assert!(base.fingerprint() == before, "a shared file was changed");
    let findings = findings.into_inner().unwrap();
    assert!(findings.is_empty(), "{} findings", findings.len());
}
