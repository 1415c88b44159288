//! Logits against plain loops; the cache; rejected inputs.

use std::time::Instant;

use engine::{DecodeSession, Engine, EngineError};
use model::rope::{Llama3Scaling, Rope, RopeScaling, Yarn};
use model::{Family, ModelConfig, Tensor, Weights};

use crate::support::{Rng, config, engine, naive, random_ids, random_weights, worst};

/// Models of every shape, with names.
fn shapes() -> Vec<(&'static str, ModelConfig)> {
    let base = config();
    let llama3 = Llama3Scaling {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 64,
    };
    let yarn = Yarn {
        factor: 4.0,
        original_max_position_embeddings: 64,
        beta_fast: 32.0,
        beta_slow: 1.0,
        attention_factor: None,
        truncate: true,
    };
    let scaled = |scaling| Rope {
        scaling,
        ..base.rope.clone()
    };
    vec![
        ("tied", base.clone()),
        (
            "untied, other theta",
            ModelConfig {
                tie_word_embeddings: false,
                rope: Rope::plain(500_000.0),
                ..base.clone()
            },
        ),
        (
            "llama3 scaling",
            ModelConfig {
                rope: scaled(RopeScaling::Llama3(llama3)),
                head_dim: 32,
                ..base.clone()
            },
        ),
        (
            "linear scaling",
            ModelConfig {
                rope: scaled(RopeScaling::Linear { factor: 3.0 }),
                ..base.clone()
            },
        ),
        (
            "yarn",
            ModelConfig {
                rope: scaled(RopeScaling::Yarn(yarn)),
                head_dim: 32,
                ..base.clone()
            },
        ),
        (
            "one kv head, width no multiple of 16",
            ModelConfig {
                num_key_value_heads: 1,
                head_dim: 22,
                hidden_size: 51,
                ..base.clone()
            },
        ),
        (
            "qwen2",
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
            "qwen3",
            ModelConfig {
                family: Family::Qwen3,
                qk_norm: true,
                head_dim: 32,
                ..base.clone()
            },
        ),
    ]
}

#[test]
fn logits_match_the_naive_loops() {
    for (name, c) in shapes() {
        let weights = random_weights(&c, 11);
        let ids = random_ids(&mut Rng(5), 130, c.vocab_size);
        let want = naive(&c, &weights, &ids);
        let mut session = DecodeSession::new(&engine(&c, &weights));
        // A prompt of more than one block, then one token at a time.
        session.feed(&ids[..110]).unwrap();
        let mut diff = worst(session.logits(), &want[109]);
        for p in 110..130 {
            session.feed(&ids[p..=p]).unwrap();
            diff = diff.max(worst(session.logits(), &want[p]));
        }
        assert!(diff < 1e-4, "{name}: {diff}");
        eprintln!("{name}: largest difference {diff:.1e}");
    }
}

/// A model folder may promise any number of tokens; what they need is limited to 16 GiB.
#[test]
fn the_context_is_limited_by_the_memory_that_it_needs() {
    let promised = |max_position_embeddings| ModelConfig {
        max_position_embeddings,
        ..config()
    };
    let context = |c: &ModelConfig| engine(c, &random_weights(c, 3)).context();
    assert_eq!(context(&promised(600)), 600);
    let c = promised(1 << 32);
    let position = 2 * c.num_hidden_layers * c.num_key_value_heads * c.head_dim * size_of::<f32>();
    assert_eq!(context(&c), (16 << 30) / position);
}

#[test]
fn wrong_weights_and_inputs_are_rejected() {
    let c = config();
    let weights = random_weights(&c, 3);
    let build =
        |c: &ModelConfig, w: &Weights| Engine::new(c.clone(), w).err().map(|e| e.to_string());
    let without = |name: &str, other: Option<Tensor>| {
        let mut w = weights.clone();
        let _ = w.take(name);
        if let Some(tensor) = other {
            w.insert(name, tensor);
        }
        build(&c, &w).unwrap()
    };
    assert!(without("model.norm.weight", None).contains("model.norm.weight"));
    let wrong = Tensor {
        shape: vec![2, 48],
        data: vec![0.0; 96],
    };
    assert!(without("model.norm.weight", Some(wrong)).contains("[2, 48]"));
    let nan = Tensor {
        shape: vec![48],
        data: vec![f32::NAN; 48],
    };
    assert!(without("model.norm.weight", Some(nan)).contains("NaN"));
    assert!(
        build(
            &ModelConfig {
                num_key_value_heads: 4,
                ..c.clone()
            },
            &weights
        )
        .unwrap()
        .contains("share")
    );
    let mut session = DecodeSession::new(&engine(&c, &weights));
    assert!(matches!(
        session.feed(&[300]),
        Err(EngineError::Token {
            id: 300,
            vocab: 300
        })
    ));
    assert!(matches!(
        session.feed(&[1; 601]),
        Err(EngineError::Context {
            needed: 601,
            max: 600
        })
    ));
    session.feed(&[1; 600]).unwrap();
    assert!(session.feed(&[1]).is_err());
}

#[test]
fn any_way_of_feeding_gives_the_same_bits() {
    let c = config();
    let engine = engine(&c, &random_weights(&c, 21));
    let mut rng = Rng(77);
    let mut session = DecodeSession::new(&engine);
    for _ in 0..60 {
        // Sync to a text that shares a random prefix with the last one: longer, shorter, equal, or
        // changed in the middle.
        let keep = rng.below(session.ids().len() + 1);
        let n = rng.below(140);
        let mut ids = session.ids()[..keep].to_vec();
        ids.extend(random_ids(&mut rng, n, c.vocab_size));
        ids.truncate(500);
        if ids.is_empty() {
            continue;
        }
        session.sync(&ids).unwrap();
        let mut fresh = DecodeSession::new(&engine);
        fresh.feed(&ids).unwrap();
        assert_eq!(session.logits(), fresh.logits());
        assert_eq!(session.ids(), ids);
    }
    let ids = session.ids().to_vec();
    assert!(session.sync(&[&ids[..], &[999]].concat()).is_err());
    session.sync(&ids).unwrap();
    let mut fresh = DecodeSession::new(&engine);
    fresh.feed(&ids).unwrap();
    assert_eq!(
        session.logits(),
        fresh.logits(),
        "a failed sync leaves a usable session"
    );
}

#[test]
fn scoring_a_text_equals_scoring_its_tokens_one_by_one() {
    let c = config();
    let engine = engine(&c, &random_weights(&c, 22));
    let mut rng = Rng(5);
    let ids = random_ids(&mut rng, 180, c.vocab_size);
    let (mut session, mut alone) = (DecodeSession::new(&engine), DecodeSession::new(&engine));
    for (held, prompt, text) in [
        (0, 1, 1),
        (40, 20, 100),
        (140, 100, 33),
        (180, 130, 50),
        (60, 60, 0),
    ] {
        session.sync(&ids[..held]).unwrap();
        let given = session
            .probabilities(&ids[..prompt], &ids[prompt..prompt + text])
            .unwrap();
        let mut expected = Vec::new();
        for at in prompt..prompt + text {
            alone.sync(&ids[..at]).unwrap();
            let (sum, mine) =
                alone
                    .logits()
                    .iter()
                    .enumerate()
                    .fold((0.0, 0.0), |(sum, mine), (id, &logit)| {
                        let weight = f64::from(logit).exp();
                        (
                            sum + weight,
                            if id == ids[at] as usize { weight } else { mine },
                        )
                    });
            expected.push(mine / sum);
        }
        assert_eq!(given.len(), text);
        assert!(
            given
                .iter()
                .zip(&expected)
                .all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6),
            "{given:?}\n{expected:?}"
        );
        assert_eq!(session.ids(), &ids[..prompt + text - 1]);
        session.sync(&ids[..prompt]).unwrap();
        alone.sync(&ids[..prompt]).unwrap();
        assert_eq!(
            session.logits(),
            alone.logits(),
            "scoring leaves no trace in the session"
        );
    }
    assert!(matches!(
        session.probabilities(&[], &[1]),
        Err(EngineError::EmptyPrompt)
    ));
}

#[test]
fn threads_do_not_change_the_bits() {
    // Wide enough for products and attention to be split.
    let c = ModelConfig {
        hidden_size: 576,
        intermediate_size: 1536,
        num_hidden_layers: 2,
        num_attention_heads: 9,
        num_key_value_heads: 3,
        head_dim: 64,
        vocab_size: 9000,
        ..config()
    };
    let engine = engine(&c, &random_weights(&c, 1));
    let ids = random_ids(&mut Rng(2), 300, c.vocab_size);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut session = DecodeSession::new(&engine);
            session.feed(&ids[..299]).unwrap();
            session.feed(&ids[299..]).unwrap();
            session.logits().to_vec()
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(16));
}

/// Against transformers; see `benches/peers/checkpoints.py`.
#[test]
#[ignore = "needs checkpoints made by benches/peers/checkpoints.py in KGAGENT_PARITY"]
fn parity_with_transformers() {
    let dir = std::path::PathBuf::from(
        std::env::var_os("KGAGENT_PARITY").expect("KGAGENT_PARITY names the folder of checkpoints"),
    );
    let (mut seen, mut most) = (0, 0.0_f64);
    for folder in std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        let json = |name: &str| -> serde_json::Value {
            serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
        };
        let config = ModelConfig::from_json(&json("config.json")).unwrap();
        let weights = model::Weights::read_folder(&folder).unwrap();
        let reference = model::Weights::read(&folder.join("reference.safetensors")).unwrap();
        let mut session = DecodeSession::new(&Engine::new(config, &weights).unwrap());
        let ids: Vec<u32> = json("reference.json")["ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() as u32)
            .collect();
        let logits = &reference.find("logits").unwrap().data;
        let mut diff = 0.0_f64;
        for (id, row) in ids.iter().zip(logits.chunks(logits.len() / ids.len())) {
            session.feed(&[*id]).unwrap();
            diff = diff.max(worst(
                session.logits(),
                &row.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(),
            ));
        }
        eprintln!(
            "{}: largest difference {diff:.1e}",
            folder.file_name().unwrap().to_string_lossy()
        );
        (seen, most) = (seen + 1, most.max(diff));
    }
    assert!(
        seen > 0 && most < 1e-4,
        "{seen} checkpoints, largest difference {most}"
    );
}

/// A speed measurement: `cargo test -p engine --test engine -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement, not a check"]
fn speed() {
    let tiny = ModelConfig {
        vocab_size: 4096,
        hidden_size: 128,
        intermediate_size: 384,
        num_hidden_layers: 4,
        num_attention_heads: 8,
        num_key_value_heads: 2,
        head_dim: 16,
        max_position_embeddings: 2048,
        ..config()
    };
    let smol = ModelConfig {
        vocab_size: 49_152,
        hidden_size: 576,
        intermediate_size: 1536,
        num_hidden_layers: 30,
        num_attention_heads: 9,
        num_key_value_heads: 3,
        head_dim: 64,
        max_position_embeddings: 2048,
        ..config()
    };
    let start = Instant::now();
    for (name, c, rounds) in [("tiny", tiny, 8), ("SmolLM2-135M", smol, 3)] {
        let engine = engine(&c, &random_weights(&c, 1));
        let ids = random_ids(&mut Rng(2), 256 + 64, c.vocab_size);
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let (mut prefill, mut decode, mut short) = (f64::MAX, f64::MAX, f64::MAX);
            // On one thread, CPU time is measured, so that other load on the machine does not
            // count.
            let clock = || match std::fs::read_to_string("/proc/thread-self/schedstat") {
                Ok(times) if threads == 1 => {
                    times.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
                }
                _ => start.elapsed().as_secs_f64(),
            };
            let time = |best: &mut f64, work: &mut dyn FnMut()| {
                let from = clock();
                work();
                *best = best.min(clock() - from);
            };
            for _ in 0..rounds {
                pool.install(|| {
                    let mut session = DecodeSession::new(&engine);
                    time(&mut prefill, &mut || session.feed(&ids[..256]).unwrap());
                    time(&mut decode, &mut || {
                        ids[256..]
                            .iter()
                            .for_each(|&id| session.feed(&[id]).unwrap());
                    });
                    time(&mut short, &mut || {
                        session.sync(&[&ids[..256], &ids[..12]].concat()).unwrap();
                    });
                });
            }
            eprintln!(
                "{name}, {threads} threads: prefill {:.0} tok/s, decode {:.0} tok/s ({:.1} µs a token), 12 new tokens {:.2} ms",
                256.0 / prefill,
                64.0 / decode,
                decode / 64.0 * 1e6,
                short * 1e3
            );
        }
    }
}
