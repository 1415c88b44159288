//! Tests that need a whole model: kernels against stock operations and against plain loops, training, resuming.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::{Device, Tensor, TensorData};
use model::rope::{Llama3Scaling, Rope, RopeScaling, Yarn};
use model::{
    Conversation, Dataset, Family, ModelConfig, ModelFolder, Part, Preset, Role, Turn, Weights,
};

use crate::optim::{NamedGrads, Optimizer, collect, global_norm};
use crate::*;
use common::rng::Rng;

fn device() -> Device {
    Device::flex().autodiff()
}

fn small(tied: bool) -> ModelConfig {
    let mut config = Preset::Tiny.config(50);
    config.hidden_size = 24;
    config.intermediate_size = 40;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.head_dim = 10;
    config.tie_word_embeddings = tied;
    config.initializer_range = 0.3;
    config.rope = Rope {
        theta: 500.0,
        scaling: RopeScaling::Llama3(Llama3Scaling {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 32,
        }),
    };
    config
}

/// Every switch that the families differ in.
fn shapes() -> Vec<ModelConfig> {
    let tied = small(true);
    let yarn = Yarn {
        factor: 4.0,
        original_max_position_embeddings: 16,
        beta_fast: 8.0,
        beta_slow: 1.0,
        attention_factor: None,
        truncate: true,
    };
    vec![
        small(false),
        ModelConfig {
            family: Family::Qwen2,
            qkv_bias: true,
            rope: Rope {
                theta: 500.0,
                scaling: RopeScaling::Yarn(yarn),
            },
            ..tied.clone()
        },
        ModelConfig {
            family: Family::Qwen3,
            qk_norm: true,
            rope: Rope {
                theta: 500.0,
                scaling: RopeScaling::Linear { factor: 2.0 },
            },
            ..tied.clone()
        },
        ModelConfig {
            qkv_bias: true,
            o_bias: true,
            mlp_bias: true,
            ..tied.clone()
        },
        tied,
    ]
}

fn weights(config: &ModelConfig) -> Weights {
    let mut weights = fresh_weights(config, 5).unwrap();
    let mut rng = Rng::new(9);
    for (name, shape) in config
        .tensors()
        .into_iter()
        .filter(|(_, shape)| shape.len() == 1)
    {
        let data = (0..shape[0]).map(|_| 1.0 + 0.3 * rng.normal()).collect();
        weights.insert(name, model::Tensor { shape, data });
    }
    weights
}

fn batch(segments: &[usize], vocab: u64, every: usize) -> Packed {
    let mut rng = Rng::new(3);
    let n: usize = segments.iter().sum();
    let mut any = |n: usize| -> Vec<u32> { (0..n).map(|_| (rng.next() % vocab) as u32).collect() };
    let rows: Vec<u32> = (0..n as u32)
        .filter(|i| (*i as usize).is_multiple_of(every))
        .collect();
    Packed {
        ids: any(n),
        segments: segments.to_vec(),
        targets: Arc::new(any(rows.len())),
        rows,
    }
}

fn gradients(model: &Llama, batch: &Packed) -> (f32, BTreeMap<String, Vec<f32>>) {
    let loss = model.loss(batch, 1.0 / batch.rows.len() as f32, 0, &device());
    let mut grads = NamedGrads::new();
    collect(&model.net, &loss.backward(), &mut grads);
    assert!(global_norm(&grads, Compute::Fused) > 0.01);
    let values = grads
        .into_iter()
        .map(|(name, grad)| (name, grad.into_data().try_to_vec().unwrap()))
        .collect();
    (loss.into_data().try_to_vec::<f32>().unwrap()[0], values)
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1e-3_f32, |m, x| m.max(x.abs()));
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs() / scale)
        .fold(0.0, f32::max)
}

#[test]
fn fused_gradients_are_those_of_the_stock_operations() {
    for config in shapes() {
        let weights = weights(&config);
        for segments in [vec![1, 7, 33, 20, 2], vec![64], vec![5]] {
            let batch = batch(&segments, 50, 2);
            let model = |compute| {
                Llama::from_weights(&config, weights.clone(), compute, 64, &device()).unwrap()
            };
            let (fused, stock) = (
                gradients(&model(Compute::Fused), &batch),
                gradients(&model(Compute::Stock(Precision::F32)), &batch),
            );
            assert!(
                (fused.0 - stock.0).abs() < 1e-5 * stock.0,
                "{} {}",
                fused.0,
                stock.0
            );
            assert_eq!(
                fused.1.keys().collect::<Vec<_>>(),
                stock.1.keys().collect::<Vec<_>>()
            );
            assert_eq!(fused.1.len(), config.tensors().len());
            for (name, grad) in &fused.1 {
                let error = worst(grad, &stock.1[name]);
                assert!(error < 1e-4, "{name}: {error}");
            }
        }
    }
}

#[test]
fn gradients_are_the_slope_of_the_loss() {
    for config in shapes() {
        slopes(&config);
    }
}

fn slopes(config: &ModelConfig) {
    let weights = weights(config);
    let batch = batch(&[9, 14], 50, 3);
    let model = |weights: &Weights| {
        Llama::from_weights(config, weights.clone(), Compute::Fused, 64, &device()).unwrap()
    };
    let (_, grads) = gradients(&model(&weights), &batch);
    let mut rng = Rng::new(11);
    for (name, shape) in config.tensors() {
        let n: usize = shape.iter().product();
        // Along a random direction the difference is large enough for f32.
        let direction: Vec<f32> = (0..n).map(|_| rng.normal()).collect();
        let step = 2e-3 / (n as f32).sqrt();
        let at = |sign: f32| {
            let mut moved = weights.clone();
            let data = weights
                .find(&name)
                .unwrap()
                .data
                .iter()
                .zip(&direction)
                .map(|(x, d)| x + sign * step * d)
                .collect();
            moved.insert(
                name.clone(),
                model::Tensor {
                    shape: shape.clone(),
                    data,
                },
            );
            reference_loss(config, &moved, &batch)
        };
        let slope = (at(1.0) - at(-1.0)) / (2.0 * f64::from(step));
        let expected: f64 = grads[&name]
            .iter()
            .zip(&direction)
            .map(|(g, d)| f64::from(*g) * f64::from(*d))
            .sum();
        assert!(
            (slope - expected).abs() < 2e-2 * expected.abs().max(0.02),
            "{name}: {slope} and {expected}"
        );
    }
}

/// The model in plain loops and f64, written from the definition and sharing no code with the kernels.
fn reference_logits(config: &ModelConfig, weights: &Weights, ids: &[u32]) -> Vec<Vec<f64>> {
    let get = |name: &str| weights.find(name).unwrap();
    let mul = |name: &str, x: &[f64]| -> Vec<f64> {
        let w = get(name);
        let bias = weights.find(&name.replace(".weight", ".bias"));
        let bias = |o: usize| bias.map_or(0.0, |b| f64::from(b.data[o]));
        (0..w.shape[0])
            .map(|o| {
                (0..w.shape[1])
                    .map(|i| f64::from(w.data[o * w.shape[1] + i]) * x[i])
                    .sum::<f64>()
                    + bias(o)
            })
            .collect()
    };
    let norm = |name: &str, x: &[f64]| -> Vec<f64> {
        let r =
            (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + config.rms_norm_eps).sqrt();
        x.iter()
            .zip(&get(name).data)
            .map(|(x, w)| x / r * f64::from(*w))
            .collect()
    };
    let (d, heads, kv) = (
        config.head_dim,
        config.num_attention_heads,
        config.num_key_value_heads,
    );
    let (freq, amplitude) = (config.inv_freq(), f64::from(config.rope.amplitude()));
    let rotate = |x: &mut [f64], p: usize| {
        for head in x.chunks_mut(d) {
            let old = head.to_vec();
            for i in 0..d {
                let angle = p as f64 * f64::from(freq[i % (d / 2)]);
                let other = if i < d / 2 {
                    -old[i + d / 2]
                } else {
                    old[i - d / 2]
                };
                head[i] = (old[i] * angle.cos() + other * angle.sin()) * amplitude;
            }
        }
    };
    let embed = get("model.embed_tokens.weight");
    let hidden = config.hidden_size;
    let mut xs: Vec<Vec<f64>> = ids
        .iter()
        .map(|id| {
            embed.data[*id as usize * hidden..][..hidden]
                .iter()
                .map(|x| f64::from(*x))
                .collect()
        })
        .collect();
    for layer in 0..config.num_hidden_layers {
        let at = |name: &str| format!("model.layers.{layer}.{name}.weight");
        let (mut qs, mut ks, mut vs) = (Vec::new(), Vec::new(), Vec::new());
        for (p, x) in xs.iter().enumerate() {
            let y = norm(&at("input_layernorm"), x);
            let (mut q, mut k) = (
                mul(&at("self_attn.q_proj"), &y),
                mul(&at("self_attn.k_proj"), &y),
            );
            if config.qk_norm {
                q = q
                    .chunks(d)
                    .flat_map(|head| norm(&at("self_attn.q_norm"), head))
                    .collect();
                k = k
                    .chunks(d)
                    .flat_map(|head| norm(&at("self_attn.k_norm"), head))
                    .collect();
            }
            rotate(&mut q, p);
            rotate(&mut k, p);
            qs.push(q);
            ks.push(k);
            vs.push(mul(&at("self_attn.v_proj"), &y));
        }
        for p in 0..ids.len() {
            let mut out = vec![0.0; heads * d];
            for h in 0..heads {
                let g = h / (heads / kv) * d;
                let scores: Vec<f64> = (0..=p)
                    .map(|j| {
                        (0..d).map(|c| qs[p][h * d + c] * ks[j][g + c]).sum::<f64>()
                            / (d as f64).sqrt()
                    })
                    .collect();
                let sum: f64 = scores.iter().map(|s| s.exp()).sum();
                for (j, s) in scores.iter().enumerate() {
                    for c in 0..d {
                        out[h * d + c] += s.exp() / sum * vs[j][g + c];
                    }
                }
            }
            for (x, y) in xs[p].iter_mut().zip(mul(&at("self_attn.o_proj"), &out)) {
                *x += y;
            }
            let y = norm(&at("post_attention_layernorm"), &xs[p]);
            let (gate, up) = (mul(&at("mlp.gate_proj"), &y), mul(&at("mlp.up_proj"), &y));
            let inner: Vec<f64> = gate
                .iter()
                .zip(&up)
                .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
                .collect();
            for (x, y) in xs[p].iter_mut().zip(mul(&at("mlp.down_proj"), &inner)) {
                *x += y;
            }
        }
    }
    let head = if config.tie_word_embeddings {
        "model.embed_tokens.weight"
    } else {
        "lm_head.weight"
    };
    xs.iter()
        .map(|x| mul(head, &norm("model.norm.weight", x)))
        .collect()
}

fn reference_loss(config: &ModelConfig, weights: &Weights, batch: &Packed) -> f64 {
    let mut from = 0;
    let mut logits = Vec::new();
    for len in &batch.segments {
        logits.extend(reference_logits(
            config,
            weights,
            &batch.ids[from..from + len],
        ));
        from += len;
    }
    let one = |(row, target): (&u32, &u32)| {
        let row = &logits[*row as usize];
        row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[*target as usize]
    };
    batch
        .rows
        .iter()
        .zip(batch.targets.iter())
        .map(one)
        .sum::<f64>()
        / batch.rows.len() as f64
}

#[test]
fn logits_are_those_of_the_definition() {
    for config in shapes() {
        let weights = weights(&config);
        for compute in [Compute::Fused, Compute::Stock(Precision::F32)] {
            let batch = batch(&[3, 40, 1, 17], 50, 1);
            let model =
                Llama::from_weights(&config, weights.clone(), compute, 64, &device()).unwrap();
            let logits = model
                .logits(&batch, &device())
                .into_data()
                .try_to_vec::<f32>()
                .unwrap();
            let mut from = 0;
            let mut worst = 0.0_f64;
            for len in &batch.segments {
                let expected = reference_logits(&config, &weights, &batch.ids[from..from + len]);
                for (row, ours) in expected.iter().zip(logits[from * 50..].chunks(50)) {
                    worst = row
                        .iter()
                        .zip(ours)
                        .map(|(a, b)| (a - f64::from(*b)).abs())
                        .fold(worst, f64::max);
                }
                from += len;
            }
            assert!(worst < 1e-4, "{compute:?}: {worst}");
        }
    }
}

/// Repeat a word, which no unigram statistics can do.
fn copy_task(n: usize) -> Dataset {
    let mut rng = Rng::new(21);
    let mut one = |i: usize| {
        let word: String = (0..3)
            .map(|_| ['k', 'w', 'z', 'q'][(rng.next() % 4) as usize])
            .collect();
        Conversation {
            id: i.to_string(),
            turns: vec![
                Turn::shown(Role::User, vec![Part::user(word.clone())]),
                Turn::call(word),
            ],
        }
    };
    Dataset {
        train: (0..n).map(&mut one).collect(),
        valid: (0..20).map(one).collect(),
        templates: [("kg-agent".to_owned(), "aa".to_owned())].into(),
        ..Dataset::default()
    }
}

fn quick() -> TrainConfig {
    // 262: no merges, so that every letter is a token and the word must be copied letter by letter.
    TrainConfig {
        // Muon's products take most of the time of so small a step.
        optimizer: Algorithm::Adamw,
        epochs: 1,
        batch_tokens: 300,
        micro_tokens: 160,
        vocab_size: Some(262),
        save_seconds: None,
        ..TrainConfig::default()
    }
}

fn run(config: &TrainConfig, data: &Dataset, out: &Path) -> Result<Summary, TrainError> {
    train(
        config,
        &Base::Scratch(Preset::Tiny),
        data,
        out,
        &mut Silent,
        &AtomicBool::new(false),
    )
}

fn bytes(out: &Path) -> Vec<u8> {
    fs::read(out.join("model.safetensors")).unwrap()
}

#[test]
fn a_model_learns_to_copy() {
    let dir = tempfile::tempdir().unwrap();
    let config = TrainConfig {
        epochs: 10,
        ..quick()
    };
    let summary = run(&config, &copy_task(500), &dir.path().join("m")).unwrap();
    let validation = summary.validation.clone().unwrap();
    assert!(
        validation.accuracy > 0.97 && validation.loss < 0.2,
        "{summary:?}"
    );
    let folder = ModelFolder::open(&dir.path().join("m")).unwrap();
    assert_eq!(folder.info.templates["kg-agent"], "aa");
    assert_eq!(
        fs::read_to_string(dir.path().join("m/metrics.jsonl"))
            .unwrap()
            .lines()
            .count(),
        summary.steps + 1
    );
    assert!(!partial_folder(&dir.path().join("m")).exists());
    // 20 held-out turns of no tool: their share is what is exact.
    assert_eq!(
        validation
            .tools
            .iter()
            .map(|(tool, score)| (tool.as_str(), score.calls))
            .collect::<Vec<_>>(),
        [("other", 20)]
    );
    assert!(
        validation.exact().unwrap() > 0.9 && validation.exact().unwrap() <= 1.0,
        "{validation:?}"
    );
    let read = |name: &str| fs::read_to_string(dir.path().join("m").join(name)).unwrap();
    let page = read("report.html");
    for says in [
        "held-out calls exact",
        "learning rate by step",
        "gradient norm",
        "tokens a second",
        "<td>other</td><td>20</td>",
    ] {
        assert!(page.contains(says), "{says}");
    }
    let run: serde_json::Value = serde_json::from_str(&read("run.json")).unwrap();
    assert_eq!(run["summary"]["steps"], summary.steps);
    assert_eq!(run["estimate"]["steps"], summary.steps);
    assert_eq!(run["estimate"]["total_tokens"], summary.tokens);
    let events: Vec<_> = fs::read_dir(dir.path().join("m/runs")).unwrap().collect();
    assert_eq!(events.len(), 1);
}

#[test]
fn what_a_run_needs_is_known_before_it_and_refused_where_it_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let (base, out) = (dir.path().join("base"), dir.path().join("out"));
    let config = quick();
    let scratch = Base::Scratch(Preset::Tiny);
    let full = dry_run(&config, &scratch, &data).unwrap();
    assert!(
        full.seconds.unwrap() > 0.0
            && full.operations > 0.0
            && full.parameters == full.trained_parameters,
        "{full:?}"
    );
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        0,
        "a dry run writes nothing"
    );
    let needs = full.memory;
    assert_eq!(
        (needs.weights, needs.optimizer),
        (4 * full.parameters as u64, 8 * full.parameters as u64)
    );
    // A moment of everything, and a second one of what is not Muon's: the embeddings, of 262 tokens, and the norms.
    let shape = Preset::Tiny.config(262);
    let plain = 262 * shape.hidden_size + (2 * shape.num_hidden_layers + 1) * shape.hidden_size;
    let muon = TrainConfig {
        optimizer: Algorithm::Muon,
        ..config.clone()
    };
    assert_eq!(
        dry_run(&muon, &scratch, &data).unwrap().memory.optimizer,
        4 * (full.parameters + plain) as u64
    );
    let tight = TrainConfig {
        memory_limit: Some(needs.peak() - 1),
        ..config.clone()
    };
    let error = run(&tight, &data, &base).unwrap_err();
    assert!(
        matches!(error, TrainError::Memory { .. }) && error.to_string().contains("micro_tokens"),
        "{error}"
    );
    assert!(!base.exists() && !partial_folder(&base).exists());
    let summary = run(
        &TrainConfig {
            memory_limit: Some(needs.peak()),
            ..config.clone()
        },
        &data,
        &base,
    )
    .unwrap();
    assert_eq!(
        (summary.steps, summary.tokens, summary.parameters),
        (full.steps, full.total_tokens, full.parameters)
    );

    let lora = TrainConfig {
        method: Method::Lora,
        lora: LoraConfig {
            merge: false,
            ..LoraConfig::default()
        },
        max_steps: Some(2),
        ..config
    };
    let from = Base::Folder(base);
    let plan = dry_run(&lora, &from, &data).unwrap();
    train(
        &lora,
        &from,
        &data,
        &out,
        &mut Silent,
        &AtomicBool::new(false),
    )
    .unwrap();
    let adapter = Weights::read(&out.join("adapter_model.safetensors")).unwrap();
    assert_eq!(
        plan.trained_parameters,
        adapter
            .iter()
            .map(|(_, tensor)| tensor.data.len())
            .sum::<usize>()
    );
    assert!(
        plan.memory.optimizer < needs.optimizer / 4 && plan.memory.peak() < needs.peak(),
        "{plan:?}"
    );
}

struct StopAt<'a>(usize, &'a AtomicBool, Vec<String>);

impl Progress for StopAt<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Step(report) if report.step == self.0 => self.1.store(true, Ordering::Relaxed),
            Event::Note(note) => self.2.push(note.clone()),
            _ => {}
        }
    }
}

#[test]
fn an_interrupted_run_continues_to_the_same_bytes_even_past_a_damaged_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(150);
    let config = TrainConfig {
        optimizer: Algorithm::Muon,
        epochs: 2,
        save_steps: Some(2),
        ..quick()
    };
    let whole = dir.path().join("whole");
    let summary = run(&config, &data, &whole).unwrap();
    assert!(summary.steps > 8, "{summary:?}");
    let out = dir.path().join("parts");
    let stop = AtomicBool::new(false);
    let base = Base::Scratch(Preset::Tiny);
    let error = train(
        &config,
        &base,
        &data,
        &out,
        &mut StopAt(5, &stop, vec![]),
        &stop,
    )
    .unwrap_err();
    assert!(
        matches!(error, TrainError::Interrupted { step: 5, .. }),
        "{error}"
    );
    assert!(!out.exists());
    // Cut the newest checkpoint short: the run falls back to step 4 and says so.
    let damaged = partial_folder(&out).join("checkpoint-5/weights.safetensors");
    let half = fs::read(&damaged).unwrap();
    fs::write(&damaged, &half[..half.len() / 2]).unwrap();
    let mut watch = StopAt(0, &stop, vec![]);
    stop.store(false, Ordering::Relaxed);
    let resumed = TrainConfig {
        resume: true,
        ..config.clone()
    };
    let other = TrainConfig {
        learning_rate: 1e-3,
        ..resumed.clone()
    };
    let error = train(&other, &base, &data, &out, &mut Silent, &stop)
        .unwrap_err()
        .to_string();
    assert!(error.contains("learning_rate"), "{error}");
    train(&resumed, &base, &data, &out, &mut watch, &stop).unwrap();
    assert!(
        watch
            .2
            .iter()
            .any(|note| note.contains("checkpoint-5") && note.contains("damaged")),
        "{:?}",
        watch.2
    );
    assert!(
        watch.2.iter().any(|note| note.contains("after step 4")),
        "{:?}",
        watch.2
    );
    assert_eq!(bytes(&whole), bytes(&out));
    assert_eq!(
        fs::read(whole.join("kgagent.json")).unwrap(),
        fs::read(out.join("kgagent.json")).unwrap()
    );
}

/// Muon's step is orthogonal: whatever the gradient's directions weigh, each comes out with about the same length.
#[test]
fn muon_takes_steps_of_one_length_in_every_direction() {
    let shape = small(true);
    let config = TrainConfig {
        weight_decay: 0.0,
        optimizer: Algorithm::Muon,
        ..quick()
    };
    let before = weights(&shape);
    let model = Llama::from_weights(&shape, before.clone(), Compute::Fused, 64, &device()).unwrap();
    let name = "model.layers.0.self_attn.q_proj.weight";
    let [rows, columns] = before.find(name).unwrap().shape[..] else {
        panic!("{name} is no matrix")
    };
    // A tall matrix, whose columns weigh very differently.
    assert!(rows > columns);
    let grad: Vec<f32> = (0..rows * columns)
        .map(|i| ((i * i + 3 * i) as f32).sin() * if i % columns % 2 == 0 { 10.0 } else { 0.1 })
        .collect();
    let mut optimizer = Optimizer::new(&config);
    let mut net = model.net.clone();
    let mut last = before.find(name).unwrap().data.clone();
    for _ in 0..2 {
        let grads = [(
            name.to_owned(),
            Tensor::<1>::from_data(
                TensorData::new(grad.clone(), [grad.len()]),
                &device().inner(),
            ),
        )]
        .into();
        net = optimizer.step(net, grads, 0.01, 1.0);
        let now = Llama {
            net: net.clone(),
            ..model.clone()
        }
        .tensors()
        .find(name)
        .unwrap()
        .data
        .clone();
        let scale = 0.01 * 0.2 * (rows.max(columns) as f32).sqrt();
        let step: Vec<f32> = last
            .iter()
            .zip(&now)
            .map(|(a, b)| (a - b) / scale)
            .collect();
        let along: f32 = step.iter().zip(&grad).map(|(a, b)| a * b).sum();
        assert!(along > 0.0, "down the gradient");
        let lengths: Vec<f32> = (0..columns)
            .map(|j| {
                step[j..]
                    .iter()
                    .step_by(columns)
                    .map(|v| v * v)
                    .sum::<f32>()
                    .sqrt()
            })
            .collect();
        assert!(
            lengths.iter().all(|length| (0.4..1.4).contains(length)),
            "{lengths:?}"
        );
        last = now;
    }
    let kept: Vec<String> = optimizer
        .tensors()
        .iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(kept, [format!("{name}.velocity")]);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(300);
    let config = TrainConfig {
        optimizer: Algorithm::Muon,
        max_steps: Some(4),
        batch_tokens: 1200,
        micro_tokens: 1000,
        ..quick()
    };
    let with = |threads: usize| {
        let out = dir.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run(&config, &data, &out)).unwrap();
        (bytes(&out), fs::read(out.join("tokenizer.json")).unwrap())
    };
    let one = with(1);
    assert!(one == with(2) && one == with(5));
}

#[test]
fn a_folder_read_and_written_is_the_same_bytes_and_lora_trains_only_its_factors() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let (base, out) = (dir.path().join("base"), dir.path().join("lora"));
    run(
        &TrainConfig {
            max_steps: Some(3),
            ..quick()
        },
        &data,
        &base,
    )
    .unwrap();
    let folder = ModelFolder::open(&base).unwrap();
    let weights = folder.weights().unwrap();
    let model = Llama::from_weights(
        &folder.config,
        weights.clone(),
        Compute::Fused,
        64,
        &device(),
    )
    .unwrap();
    assert_eq!(model.tensors().to_bytes().unwrap(), bytes(&base));

    let batch = batch(&[12, 9], 260, 1);
    let logits = |model: &Llama| {
        model
            .logits(&batch, &device())
            .into_data()
            .try_to_vec::<f32>()
            .unwrap()
    };
    let plain = logits(&model);
    let lora = LoraConfig {
        rank: 4,
        alpha: 8.0,
        merge: false,
        ..LoraConfig::default()
    };
    assert_eq!(
        plain,
        logits(&model.with_lora(&lora, folder.config.vocab_size, 1, &device()))
    );

    let config = TrainConfig {
        method: Method::Lora,
        lora: lora.clone(),
        learning_rate: 1e-2,
        max_steps: Some(6),
        ..quick()
    };
    let from = Base::Folder(base.clone());
    train(
        &config,
        &from,
        &data,
        &out,
        &mut Silent,
        &AtomicBool::new(false),
    )
    .unwrap();
    let adapter = Weights::read(&out.join("adapter_model.safetensors")).unwrap();
    assert_eq!(adapter.len(), 4 * 7 * 2);
    assert!(
        adapter
            .get(
                "base_model.model.model.layers.0.mlp.down_proj.lora_B.weight",
                &[160, 4]
            )
            .unwrap()
            .data
            .iter()
            .any(|x| *x != 0.0)
    );

    let adapted = ModelFolder::open(&out).unwrap().weights().unwrap();

    let merged = dir.path().join("merged");
    let config = TrainConfig {
        lora: LoraConfig {
            merge: true,
            ..lora
        },
        ..config
    };
    train(
        &config,
        &from,
        &data,
        &merged,
        &mut Silent,
        &AtomicBool::new(false),
    )
    .unwrap();
    let after = ModelFolder::open(&merged).unwrap().weights().unwrap();
    for name in ["model.embed_tokens.weight", "model.norm.weight"] {
        assert_eq!(after.find(name), weights.find(name), "{name} is frozen");
    }
    assert_ne!(
        after.find("model.layers.0.mlp.up_proj.weight"),
        weights.find("model.layers.0.mlp.up_proj.weight")
    );
    assert_eq!(
        adapted, after,
        "the base with the adapter is the merged model"
    );
}

#[test]
fn lora_trains_the_rows_of_tokens_that_the_base_lacks_and_only_chosen_projections() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let (base, out) = (dir.path().join("base"), dir.path().join("lora"));
    run(
        &TrainConfig {
            max_steps: Some(1),
            ..quick()
        },
        &data,
        &base,
    )
    .unwrap();
    // A foreign tokenizer: the same pieces, other control tokens.
    let path = base.join("tokenizer.json");
    fs::write(
        &path,
        fs::read_to_string(&path).unwrap().replace("<|", "<~"),
    )
    .unwrap();
    let had = ModelFolder::open(&base).unwrap().config.vocab_size;

    let lora = LoraConfig {
        rank: 2,
        dropout: 0.2,
        rslora: true,
        targets: vec!["q_proj".into(), "v_proj".into()],
        merge: false,
        ..LoraConfig::default()
    };
    let config = TrainConfig {
        method: Method::Lora,
        lora,
        learning_rate: 1e-2,
        max_steps: Some(4),
        ..quick()
    };
    let once = |out: &Path| {
        train(
            &config,
            &Base::Folder(base.clone()),
            &data,
            out,
            &mut Silent,
            &AtomicBool::new(false),
        )
        .unwrap();
        Weights::read(&out.join("adapter_model.safetensors")).unwrap()
    };
    let adapter = once(&out);
    assert_eq!(
        adapter.to_bytes().unwrap(),
        once(&dir.path().join("again")).to_bytes().unwrap(),
        "dropout follows the seed"
    );
    assert_eq!(adapter.len(), 4 * 2 * 2 + 1);
    let table = adapter
        .get(
            "base_model.model.model.embed_tokens.weight",
            &[had + 6, 160],
        )
        .unwrap();
    let rows = &table.data[had * 160..];
    assert!(
        rows.chunks(160).skip(1).any(|row| row != &rows[..160]),
        "rows that began alike have learnt different things"
    );
    let folder = ModelFolder::open(&out).unwrap();
    let weights = folder.weights().unwrap();
    assert_eq!(weights.find("model.embed_tokens.weight").unwrap(), table);
    let before = ModelFolder::open(&base).unwrap().weights().unwrap();
    assert_eq!(
        weights.find("model.layers.0.mlp.up_proj.weight"),
        before.find("model.layers.0.mlp.up_proj.weight")
    );
    assert_ne!(
        weights.find("model.layers.0.self_attn.q_proj.weight"),
        before.find("model.layers.0.self_attn.q_proj.weight")
    );
}

#[test]
fn what_cannot_be_trained_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("m");
    let data = copy_task(5);
    for (config, says) in [
        (
            TrainConfig {
                epochs: 0,
                ..quick()
            },
            "epochs",
        ),
        (
            TrainConfig {
                learning_rate: f64::NAN,
                ..quick()
            },
            "learning_rate",
        ),
        (
            TrainConfig {
                max_length: 3,
                ..quick()
            },
            "5 too long",
        ),
        (
            TrainConfig {
                max_length: 3,
                too_long: TooLong::Refuse,
                ..quick()
            },
            "`max_length` is 3",
        ),
        (
            TrainConfig {
                method: Method::Lora,
                ..quick()
            },
            "LoRA",
        ),
        (
            TrainConfig {
                vocab_size: Some(100),
                ..quick()
            },
            "too small",
        ),
        (
            TrainConfig {
                precision: Some(Precision::Bf16),
                ..quick()
            },
            "bf16",
        ),
    ] {
        let error = run(&config, &data, &out).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(!out.exists());
}

#[test]
fn the_rate_rises_and_falls() {
    let config = TrainConfig {
        warmup: 0.1,
        ..TrainConfig::recipe("default").unwrap()
    };
    let rates: Vec<f64> = (0..100).map(|step| config.rate(step, 100)).collect();
    assert!(rates[..10].is_sorted() && rates[9..].iter().rev().is_sorted());
    assert!(
        (rates[9] - config.learning_rate).abs() < 1e-12
            && (rates[99] - 0.1 * config.learning_rate).abs() < 1e-12
    );
    let paper = TrainConfig::recipe("paper").unwrap();
    assert_eq!(
        (
            paper.epochs,
            paper.batch_examples,
            paper.max_length,
            paper.weight_decay
        ),
        (3, Some(256), 1500, 0.1)
    );
}

mod device;
mod devices;
mod parity;
