//! Compares the peak memory of runs with their estimates: the bytes that are allocated at a time, counted
//! by the allocator of this program. What the system's allocator keeps of freed memory depends on the
//! system.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(
    unsafe_code,
    reason = "only an allocator knows how much memory is in use"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use model::{
    Dataset, KgAgentInfo, ModelConfig, ModelFolder, Part, Preset, Role, Tokenizer,
    TrainingConversation, Turn,
};
use train::{
    Algorithm, Base, Estimate, LoraConfig, Memory, Method, TrainConfig, TrainEvent, TrainProgress,
    fresh_weights, train,
};

/// Bytes that are allocated, and the most that ever were.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with counts.
struct Counting;

fn count(more: usize) {
    let live = LIVE.fetch_add(more, Ordering::Relaxed) + more;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those of this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those of this call.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of this call.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Conversations of about 300 tokens, four in five of them trained.
fn dataset() -> Dataset {
    let text = |i: usize, words: usize| {
        let word = |k: usize| ['k', 'w', 'z', 'q'][(i * 7 + k * k) % 4];
        (0..words).map(word).collect::<String>()
    };
    let one = |i: usize| TrainingConversation {
        id: i.to_string(),
        turns: vec![
            Turn::shown(Role::User, vec![Part::user(text(i, 60))]),
            Turn::call(text(i + 3, 240)),
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
        batch_tokens: 640,
        micro_tokens: 640,
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
                batch_tokens: 640,
                devices: Some(2),
                ..config
            },
        ),
        "lora" => (
            base(place, &wide(256, 2, 49_158)),
            TrainConfig {
                method: Method::Lora,
                lora: LoraConfig {
                    merge: false,
                    ..LoraConfig::default()
                },
                ..config
            },
        ),
        _ => (base(place, &wide(384, 4, 8_192)), config),
    }
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

/// The most bytes that a run had allocated at a time, and the estimate.
fn measured(name: &str) -> (usize, Memory) {
    let place = tempfile::tempdir().unwrap();
    let (base, config) = shape(name, place.path());
    let data = dataset();
    let mut planned = Planned::default();
    let never = AtomicBool::new(false);
    let out = place.path().join("out");
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    train(&config, &base, &data, &out, &mut planned, &never).unwrap();
    let peak = PEAK.load(Ordering::Relaxed) - before;
    (peak, planned.0.unwrap().memory)
}

/// The only test of this program: another one would allocate beside it.
#[test]
fn the_peak_of_three_shapes_is_within_a_tenth_of_the_estimate() {
    // The code and the stacks of threads are not allocated.
    let program = Memory::default().peak();
    for name in ["scratch", "lora", "full"] {
        let (peak, memory) = measured(name);
        let estimate = memory.peak() - program;
        let ratio = peak as f64 / estimate as f64;
        assert!(
            (0.9..=1.1).contains(&ratio),
            "{name}: {ratio:.3}: {peak} of {estimate}, {memory:?}"
        );
    }
}
