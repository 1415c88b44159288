//! The model in tensors of burn against the kernels, on burn's CPU device.

use engine::{Batch, DecodeSession, Decoder, Engine, EngineDevice, TokenTrie, Vocab, generate};
use model::gguf::BlockFormat;
use model::rope::{Llama3Scaling, Rope, RopeScaling};
use model::{Family, ModelConfig, Weights};

use crate::grammar::Grammar;
use crate::support::{Quantised, Rng, config, engine, random_ids, random_weights};

fn on_device(c: &ModelConfig, weights: &Weights) -> Engine {
    Engine::on(EngineDevice::Tensors, c.clone(), weights).unwrap()
}

fn configs() -> Vec<(&'static str, ModelConfig)> {
    let base = config();
    let llama3 = Llama3Scaling {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 64,
    };
    let scaled = Rope {
        scaling: RopeScaling::Llama3(llama3),
        ..base.rope.clone()
    };
    vec![
        ("tied", base.clone()),
        (
            "untied, llama3 scaling",
            ModelConfig {
                tie_word_embeddings: false,
                rope: scaled,
                head_dim: 32,
                ..base.clone()
            },
        ),
        (
            "one kv head, odd widths",
            ModelConfig {
                num_key_value_heads: 1,
                head_dim: 22,
                hidden_size: 51,
                ..base.clone()
            },
        ),
        (
            "as many kv heads as heads",
            ModelConfig {
                family: Family::Qwen2,
                num_key_value_heads: 6,
                qkv_bias: true,
                ..base.clone()
            },
        ),
        (
            "all biases",
            ModelConfig {
                qkv_bias: true,
                o_bias: true,
                mlp_bias: true,
                ..base.clone()
            },
        ),
        (
            "head norms",
            ModelConfig {
                family: Family::Qwen3,
                qk_norm: true,
                head_dim: 32,
                ..base
            },
        ),
    ]
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    assert!(!a.is_empty() && a.len() == b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn logits_equal_those_of_the_kernels() {
    for (name, c) in configs() {
        let weights = random_weights(&c, 11);
        let mut rng = Rng(5);
        let ids = random_ids(&mut rng, 580, c.vocab_size);
        let (mut here, mut there) = (
            DecodeSession::new(&engine(&c, &weights)),
            DecodeSession::new(&on_device(&c, &weights)),
        );
        let mut diff = 0.0_f32;
        // More than a block, single tokens, a kept prefix, and more than the first allocation.
        for (keep, to) in [
            (0, 570),
            (570, 571),
            (571, 572),
            (100, 130),
            (130, 131),
            (60, 400),
        ] {
            let ids = [&ids[..keep], &ids[580 - (to - keep)..]].concat();
            here.sync(&ids).unwrap();
            there.sync(&ids).unwrap();
            diff = diff.max(worst(there.logits(), here.logits()));
        }
        let (given, expected) = (
            there.probabilities(&ids[..40], &ids[40..90]).unwrap(),
            here.probabilities(&ids[..40], &ids[40..90]).unwrap(),
        );
        assert!(worst(&given, &expected) < 1e-4, "{name}");
        assert!(diff < 1e-4, "{name}: {diff}");
        eprintln!("{name}: largest difference {diff:.1e}");
    }
}

/// A clone shares the buffers until one of the two is written.
#[test]
fn clones_are_independent() {
    let c = config();
    let weights = random_weights(&c, 3);
    let (engine, ids) = (
        on_device(&c, &weights),
        random_ids(&mut Rng(9), 60, c.vocab_size),
    );
    let mut one = DecodeSession::new(&engine);
    one.feed(&ids[..40]).unwrap();
    let mut other = one.clone();
    other.feed(&ids[50..]).unwrap();
    one.feed(&ids[40..50]).unwrap();
    other.feed(&ids[..1]).unwrap();
    for (session, ids) in [
        (&one, ids[..50].to_vec()),
        (&other, [&ids[..40], &ids[50..], &ids[..1]].concat()),
    ] {
        let mut fresh = DecodeSession::new(&engine);
        fresh.feed(&ids).unwrap();
        assert!(worst(session.logits(), fresh.logits()) < 1e-4);
    }
}

#[test]
fn sessions_that_share_steps_have_the_same_logits() {
    for (name, c) in configs() {
        let weights = random_weights(&c, 7);
        let (alone, batch) = (
            engine(&c, &weights),
            Batch::new(&on_device(&c, &weights), 2).unwrap(),
        );
        std::thread::scope(|scope| {
            for seed in 1..6 {
                let (alone, mut together) = (&alone, DecodeSession::in_batch(&batch));
                scope.spawn(move || {
                    let mut rng = Rng(seed);
                    let mut session = DecodeSession::new(alone);
                    for _ in 0..12 {
                        let keep = rng.below(session.ids().len() + 1);
                        let n = 1 + rng.below(30);
                        let ids = [&session.ids()[..keep], &random_ids(&mut rng, n, 300)].concat();
                        session.sync(&ids).unwrap();
                        together.sync(&ids).unwrap();
                        assert!(worst(together.logits(), session.logits()) < 1e-4, "{name}");
                    }
                    // One token each: attention for all sessions at once, of different lengths.
                    for _ in 0..10 {
                        let ids = random_ids(&mut rng, 1, 300);
                        session.feed(&ids).unwrap();
                        together.feed(&ids).unwrap();
                        assert!(worst(together.logits(), session.logits()) < 1e-4, "{name}");
                    }
                });
            }
        });
    }
}

/// Half precision stays half precision, and bf16 results are as close as eight bits allow.
#[test]
fn weights_in_half_precision_are_computed_in_bf16() {
    let c = config();
    let weights = random_weights(&c, 17);
    let bf16 = |_: &str| BlockFormat::Bf16;
    let source = Quantised(&weights, &bf16);
    let (here, there) = (
        Engine::new(c.clone(), &source).unwrap(),
        Engine::on(EngineDevice::Tensors, c.clone(), &source).unwrap(),
    );
    assert_eq!(there.bytes(), on_device(&c, &weights).bytes() / 2);
    let ids = random_ids(&mut Rng(4), 120, c.vocab_size);
    let (mut a, mut b) = (DecodeSession::new(&here), DecodeSession::new(&there));
    a.feed(&ids).unwrap();
    b.feed(&ids).unwrap();
    let scale = a.logits().iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let off = worst(b.logits(), a.logits()) / scale;
    assert!(off < 0.05, "{off}");
    assert!(off > 1e-6, "nothing was rounded");
}

#[test]
fn constrained_decoding_writes_the_same_texts_as_the_kernels() {
    let c = config();
    let weights = random_weights(&c, 23);
    let trie = TokenTrie::new((0..=255_u8).map(|byte| (u32::from(byte), vec![byte])));
    let vocab = Vocab {
        trie,
        end: 299,
        adds_space: false,
    };
    let acceptor = Grammar::random(&mut Rng(2));
    let encode = |text: &str| text.bytes().map(u32::from).collect::<Vec<u32>>();
    let write = |session: &mut DecodeSession, prompt: &[u32]| {
        generate(session, prompt, &acceptor, &encode, &vocab, 40)
            .unwrap()
            .text
    };
    let (mut here, mut there) = (
        DecodeSession::new(&engine(&c, &weights)),
        DecodeSession::new(&on_device(&c, &weights)),
    );
    let mut rng = Rng(31);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..8 {
        let prompt = random_ids(&mut rng, 20, 256);
        let text = write(&mut here, &prompt);
        assert_eq!(text, write(&mut there, &prompt));
        seen.insert(text);
    }
    assert!(seen.len() > 1, "{seen:?}");
    assert_eq!(there.vocab_size(), here.vocab_size());
}

/// With and without the feature `cuda` of `gpu`.
#[test]
fn a_missing_gpu_is_an_error_with_advice() {
    let c = config();
    match Engine::on(EngineDevice::Cuda, c.clone(), &random_weights(&c, 1)) {
        Ok(engine) => assert!(gpu::BUILT && engine.is_on_device()),
        Err(error) => {
            let says = if gpu::BUILT { "GPU" } else { "--features cuda" };
            assert!(error.to_string().contains(says), "{error}");
        }
    }
    assert!(
        !Engine::on(EngineDevice::Cpu, c.clone(), &random_weights(&c, 1))
            .unwrap()
            .is_on_device()
    );
}
