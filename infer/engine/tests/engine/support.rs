//! Random models, and the same models in plain f64 loops.

use engine::Engine;
use model::gguf::{BlockFormat, blocks};
use model::rope::RopeScaling;
use model::{ModelConfig, ModelError, Preset, Stored, Tensor, WeightSource, Weights};

/// A small deterministic generator (xorshift64*).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub(crate) fn normal(&mut self) -> f32 {
        let uniform = |r: &mut Self| ((r.next() >> 40) as f32 + 0.5) / (1u64 << 24) as f32;
        (-2.0 * uniform(self).ln()).sqrt() * (std::f32::consts::TAU * uniform(self)).cos()
    }
}

pub(crate) fn config() -> ModelConfig {
    ModelConfig {
        vocab_size: 300,
        hidden_size: 48,
        intermediate_size: 100,
        num_hidden_layers: 3,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 10,
        max_position_embeddings: 600,
        ..Preset::Tiny.config(300)
    }
}

pub(crate) fn random_weights(c: &ModelConfig, seed: u64) -> Weights {
    let mut rng = Rng(seed);
    let mut one = |name: String, shape: Vec<usize>| {
        let base = if name.ends_with("norm.weight") {
            1.0
        } else {
            0.0
        };
        let scale = if shape.len() == 2 {
            1.5 / (shape[1] as f32).sqrt()
        } else {
            0.2
        };
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|_| base + rng.normal() * scale)
            .collect();
        (
            name,
            Tensor {
                shape,
                data: values,
            },
        )
    };
    let mut weights = Weights::default();
    for (name, shape) in c.tensors() {
        let (name, tensor) = one(name, shape);
        weights.insert(name, tensor);
    }
    weights
}

/// Weights whose matrices have the format that a function of their name returns.
pub(crate) struct Quantised<'a>(
    pub(crate) &'a Weights,
    pub(crate) &'a dyn Fn(&str) -> BlockFormat,
);

impl WeightSource for Quantised<'_> {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let tensor = self.0.find(name).unwrap();
        let format = if tensor.shape.len() == 2 {
            (self.1)(name)
        } else {
            BlockFormat::F32
        };
        let width = *tensor.shape.last().unwrap();
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| {
            blocks::quantise(
                format,
                &tensor.data[first * width..(first + count) * width],
                out,
            );
            Ok(())
        };
        Ok(Stored::new(format, tensor.shape.clone(), Box::new(read)))
    }
}

pub(crate) fn engine(c: &ModelConfig, weights: &Weights) -> Engine {
    Engine::new(c.clone(), weights).unwrap()
}

/// The angle by which pair `i` of a head turns from one position to the next.
fn frequency(c: &ModelConfig, i: usize) -> f64 {
    let d = c.head_dim;
    let f = 1.0 / c.rope.theta.powf((2 * i) as f64 / d as f64);
    let s = match &c.rope.scaling {
        RopeScaling::Llama3(s) => s,
        RopeScaling::Linear { factor } => return f / factor,
        RopeScaling::Yarn(y) => {
            // The number of turns over the original context decides; the borders are
            // dimensions, as in the paper's appendix.
            let border = |turns: f64| {
                d as f64
                    * (y.original_max_position_embeddings as f64 / (turns * std::f64::consts::TAU))
                        .ln()
                    / (2.0 * c.rope.theta.ln())
            };
            let (low, high) = (
                border(y.beta_fast).floor().max(0.0),
                border(y.beta_slow).ceil().min(d as f64 - 1.0),
            );
            let ramp = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
            return f * (1.0 - ramp) + f / y.factor * ramp;
        }
        RopeScaling::None => return f,
    };
    let (length, original) = (
        std::f64::consts::TAU / f,
        s.original_max_position_embeddings as f64,
    );
    if length > original / s.low_freq_factor {
        f / s.factor
    } else if length < original / s.high_freq_factor {
        f
    } else {
        let smooth =
            (original / length - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
        (1.0 - smooth) * f / s.factor + smooth * f
    }
}

type M = Vec<Vec<f64>>;

/// A head, turned for its position.
fn turned(c: &ModelConfig, head: &[f64], position: usize) -> Vec<f64> {
    let d = c.head_dim;
    let amplitude = match &c.rope.scaling {
        RopeScaling::Yarn(y) => y.attention_factor.unwrap_or(0.1 * y.factor.ln() + 1.0),
        _ => 1.0,
    };
    let half = d / 2;
    let at = |i: usize| {
        let angle = position as f64 * frequency(c, i % half);
        let turned = if i < half {
            -head[i + half]
        } else {
            head[i - half]
        };
        (head[i] * angle.cos() + turned * angle.sin()) * amplitude
    };
    (0..d).map(at).collect()
}

/// Attention of every position to itself and those before it.
fn attention(c: &ModelConfig, [q, k, v]: [&M; 3]) -> M {
    let d = c.head_dim;
    let mut mixed: M = vec![vec![0.0; c.num_attention_heads * d]; q.len()];
    for head in 0..c.num_attention_heads {
        let kv = head / (c.num_attention_heads / c.num_key_value_heads);
        for p in 0..q.len() {
            let query = turned(c, &q[p][head * d..][..d], p);
            let score = |t: usize| {
                query
                    .iter()
                    .zip(turned(c, &k[t][kv * d..][..d], t))
                    .map(|(a, b)| a * b)
                    .sum::<f64>()
                    / (d as f64).sqrt()
            };
            let scores: Vec<f64> = (0..=p).map(score).collect();
            let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|s| (s - max).exp()).sum();
            for (t, s) in scores.iter().enumerate() {
                for i in 0..d {
                    mixed[p][head * d + i] += (s - max).exp() / total * v[t][kv * d + i];
                }
            }
        }
    }
    mixed
}

/// Logits of every position, computed from the published formulas in f64 loops that share no code
/// with the engine.
pub(crate) fn naive(c: &ModelConfig, weights: &Weights, ids: &[u32]) -> Vec<Vec<f64>> {
    let values = |name: &str| -> Vec<f64> {
        weights
            .find(name)
            .unwrap()
            .data
            .iter()
            .copied()
            .map(f64::from)
            .collect()
    };
    let matmul = |x: &M, name: &str| -> M {
        let (w, width) = (values(name), x[0].len());
        x.iter()
            .map(|row| {
                w.chunks(width)
                    .map(|w| row.iter().zip(w).map(|(a, b)| a * b).sum())
                    .collect()
            })
            .collect()
    };
    let norm = |x: &M, name: &str| -> M {
        let w = values(name);
        let one = |row: &Vec<f64>| {
            let mean = row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64;
            row.iter()
                .zip(&w)
                .map(|(v, w)| v / (mean + c.rms_norm_eps).sqrt() * w)
                .collect()
        };
        x.iter().map(one).collect()
    };
    let d = c.head_dim;
    let table = values("model.embed_tokens.weight");
    let mut x: M = ids
        .iter()
        .map(|&id| table[id as usize * c.hidden_size..][..c.hidden_size].to_vec())
        .collect();
    for l in 0..c.num_hidden_layers {
        let at = |n: &str| format!("model.layers.{l}.{n}.weight");
        let h = norm(&x, &at("input_layernorm"));
        let project = |x: &M, n: &str| {
            let mut y = matmul(x, &at(n));
            let bias = format!("model.layers.{l}.{n}.bias");
            if weights.find(&bias).is_some() {
                let b = values(&bias);
                y.iter_mut()
                    .for_each(|row| row.iter_mut().zip(&b).for_each(|(v, b)| *v += b));
            }
            y
        };
        let heads = |x: M, n: &str| -> M {
            if !c.qk_norm {
                return x;
            }
            x.iter()
                .map(|row| norm(&row.chunks(d).map(<[f64]>::to_vec).collect(), &at(n)).concat())
                .collect()
        };
        let q = heads(project(&h, "self_attn.q_proj"), "self_attn.q_norm");
        let k = heads(project(&h, "self_attn.k_proj"), "self_attn.k_norm");
        let v = project(&h, "self_attn.v_proj");
        let mixed = attention(c, [&q, &k, &v]);
        let add = |x: &mut M, y: M| {
            x.iter_mut()
                .zip(y)
                .for_each(|(x, y)| x.iter_mut().zip(y).for_each(|(x, y)| *x += y));
        };
        add(&mut x, project(&mixed, "self_attn.o_proj"));
        let h = norm(&x, &at("post_attention_layernorm"));
        let (gate, up) = (project(&h, "mlp.gate_proj"), project(&h, "mlp.up_proj"));
        let act = |(g, u): (&Vec<f64>, &Vec<f64>)| {
            g.iter()
                .zip(u)
                .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
                .collect()
        };
        add(
            &mut x,
            project(&gate.iter().zip(&up).map(act).collect(), "mlp.down_proj"),
        );
    }
    let x = norm(&x, "model.norm.weight");
    matmul(
        &x,
        if c.tie_word_embeddings {
            "model.embed_tokens.weight"
        } else {
            "lm_head.weight"
        },
    )
}

pub(crate) fn worst(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, f64::max)
}

pub(crate) fn random_ids(rng: &mut Rng, n: usize, vocab: usize) -> Vec<u32> {
    (0..n).map(|_| rng.below(vocab) as u32).collect()
}
