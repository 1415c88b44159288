//! Fuzzing on a stable toolchain, without coverage: known inputs are mutated at random (bytes,
//! numbers, pieces of each other) and passed to the functions of `tests/fuzz`. A few hundred each
//! by default; longer with `KGAGENT_FUZZ_SECONDS=600 KGAGENT_FUZZ_SEED=7 cargo test --workspace
//! --test agents fuzzing:: -- --nocapture`. `KGAGENT_FUZZ_SEEDS=tests/fuzz/corpus` writes the known inputs
//! there, one folder per target, as the starting corpus of `cargo fuzz`.

#[allow(unreachable_pub)]
#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Maximum length of an input.
const LONGEST: usize = 1 << 14;

/// Inputs per target if no time is given.
const RUNS: u64 = 300;

/// xorshift64*: statistical quality does not matter here.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }
}

fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    const ODD: &[&[u8]] = &[
        b"\0",
        b"\xff",
        b"\"",
        b"\\",
        b"<",
        b">",
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"\n",
        "é".as_bytes(),
        b"99999999999999999999",
        b"-1",
        b"~",
    ];
    let at = random.below(input.len() + 1);
    let end = (at + 1 + random.below(8)).min(input.len());
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < end => drop(input.drain(at..end)),
        2 if at < end => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        3 => {
            let piece = ODD[random.below(ODD.len())].to_vec();
            input.splice(at..at, piece);
        }
        4 if !other.is_empty() => {
            let from = random.below(other.len());
            let to = (from + 1 + random.below(24)).min(other.len());
            let end = end.max(at);
            input.splice(at..end, other[from..to].iter().copied());
        }
        5 if at + 4 <= input.len() => {
            let word =
                [0, 1, u32::MAX, u32::try_from(random.below(64)).unwrap_or(0)][random.below(4)];
            input[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        _ if at < input.len() => input[at] = (random.next() & 0xff) as u8,
        _ => {}
    }
    input.truncate(LONGEST.max(1));
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap())
}

fn run(name: &str) {
    let (_, target, inputs) = fuzz::TARGETS
        .iter()
        .find(|(known, ..)| *known == name)
        .unwrap();
    let (seconds, seed) = (
        number("KGAGENT_FUZZ_SECONDS"),
        number("KGAGENT_FUZZ_SEED").unwrap_or(1),
    );
    let inputs = inputs();
    if let Some(corpus) = std::env::var_os("KGAGENT_FUZZ_SEEDS") {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(corpus)
            .join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (i, input) in inputs.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{i}")), input).unwrap();
        }
    }
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (begun, mut runs, mut slowest) = (Instant::now(), 0_u64, Duration::ZERO);
    while seconds.map_or(runs < RUNS, |seconds| {
        begun.elapsed() < Duration::from_secs(seconds)
    }) {
        let mut input = inputs[random.below(inputs.len())].clone();
        // The unchanged inputs first: a failure on one of them does not depend on chance.
        let changes = if runs < inputs.len() as u64 {
            0
        } else {
            1 + random.below(12)
        };
        if changes == 0 {
            input.clone_from(&inputs[usize::try_from(runs).unwrap()]);
        }
        for _ in 0..changes {
            change(&mut input, &inputs[random.below(inputs.len())], &mut random);
        }
        let one = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
            panic!(
                "{name}: run {runs} of seed {seed} panics on {:?}, bytes {input:?}",
                String::from_utf8_lossy(&input)
            );
        }
        runs += 1;
        slowest = slowest.max(one.elapsed());
    }
    println!(
        "{name}: {runs} runs in {:?} without a panic, the slowest {slowest:?}",
        begun.elapsed()
    );
}

#[test]
fn calls_parse_or_give_a_reason() {
    run("call");
}

#[test]
fn the_acceptor_ends_in_valid_calls_only() {
    run("acceptor");
}

#[test]
fn queries_convert_or_are_refused() {
    run("conversion");
}

#[test]
fn question_files_are_read_or_refused() {
    run("dataset");
}

#[test]
fn graph_files_are_opened_or_refused() {
    run("graph");
}

#[test]
fn sources_of_graphs_are_loaded_or_refused() {
    run("sources");
}

#[test]
fn files_of_models_are_opened_or_refused() {
    for name in ["tokenizer", "weights", "gguf", "adapter"] {
        run(name);
    }
}

#[test]
fn records_of_work_are_read_or_refused() {
    for name in ["trace", "journal", "manifest", "words"] {
        run(name);
    }
}
