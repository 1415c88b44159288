//! The model in plain loops and f64, written from the definition without code from the kernels.

use model::{ModelConfig, Weights};

use crate::llama::Packed;

/// A model in plain loops.
struct Reference<'a> {
    config: &'a ModelConfig,
    weights: &'a Weights,
    frequencies: Vec<f32>,
    amplitude: f64,
}

impl Reference<'_> {
    fn get(&self, name: &str) -> &model::Tensor {
        self.weights.find(name).unwrap()
    }

    fn product(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let w = self.get(name);
        let bias = self.weights.find(&name.replace(".weight", ".bias"));
        let bias = |o: usize| bias.map_or(0.0, |b| f64::from(b.data[o]));
        (0..w.shape[0])
            .map(|o| {
                (0..w.shape[1])
                    .map(|i| f64::from(w.data[o * w.shape[1] + i]) * x[i])
                    .sum::<f64>()
                    + bias(o)
            })
            .collect()
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let r = (mean + self.config.rms_norm_eps).sqrt();
        let w = &self.get(name).data;
        x.iter()
            .zip(w)
            .map(|(x, w)| x / r * f64::from(*w))
            .collect()
    }

    /// Normalises (if the family does so) and rotates every head.
    fn heads(&self, norm: &str, x: &[f64], position: usize) -> Vec<f64> {
        let d = self.config.head_dim;
        let mut out = Vec::new();
        for head in x.chunks(d) {
            let old = if self.config.qk_norm {
                self.norm(norm, head)
            } else {
                head.to_vec()
            };
            for i in 0..d {
                let angle = position as f64 * f64::from(self.frequencies[i % (d / 2)]);
                let other = if i < d / 2 {
                    -old[i + d / 2]
                } else {
                    old[i - d / 2]
                };
                out.push((old[i] * angle.cos() + other * angle.sin()) * self.amplitude);
            }
        }
        out
    }

    /// Attention of the last position in `ks` and `vs`.
    fn attention(&self, q: &[f64], ks: &[Vec<f64>], vs: &[Vec<f64>]) -> Vec<f64> {
        let (d, heads) = (self.config.head_dim, self.config.num_attention_heads);
        let mut out = vec![0.0; heads * d];
        for h in 0..heads {
            let group = h / (heads / self.config.num_key_value_heads) * d;
            let score = |k: &Vec<f64>| {
                (0..d).map(|c| q[h * d + c] * k[group + c]).sum::<f64>() / (d as f64).sqrt()
            };
            let scores: Vec<f64> = ks.iter().map(|k| score(k).exp()).collect();
            let sum: f64 = scores.iter().sum();
            for (score, v) in scores.iter().zip(vs) {
                for c in 0..d {
                    out[h * d + c] += score / sum * v[group + c];
                }
            }
        }
        out
    }

    fn layer(&self, layer: usize, xs: &mut [Vec<f64>]) {
        let at = |name: &str| format!("model.layers.{layer}.{name}.weight");
        let (mut ks, mut vs) = (Vec::new(), Vec::new());
        for (p, x) in xs.iter_mut().enumerate() {
            let y = self.norm(&at("input_layernorm"), x);
            let projected = |name: &str| self.product(&at(&format!("self_attn.{name}")), &y);
            let q = self.heads(&at("self_attn.q_norm"), &projected("q_proj"), p);
            ks.push(self.heads(&at("self_attn.k_norm"), &projected("k_proj"), p));
            vs.push(projected("v_proj"));
            let out = self.attention(&q, &ks, &vs);
            add(x, &self.product(&at("self_attn.o_proj"), &out));
            let y = self.norm(&at("post_attention_layernorm"), x);
            let gate = self.product(&at("mlp.gate_proj"), &y);
            let up = self.product(&at("mlp.up_proj"), &y);
            let silu = |g: f64| g / (1.0 + (-g).exp());
            let inner: Vec<f64> = gate.iter().zip(&up).map(|(g, u)| silu(*g) * u).collect();
            add(x, &self.product(&at("mlp.down_proj"), &inner));
        }
    }
}

fn add(x: &mut [f64], y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// Logits of every position of a sequence.
pub(super) fn logits(config: &ModelConfig, weights: &Weights, ids: &[u32]) -> Vec<Vec<f64>> {
    let model = Reference {
        config,
        weights,
        frequencies: config.inv_freq(),
        amplitude: f64::from(config.rope.amplitude()),
    };
    let table = &model.get("model.embed_tokens.weight").data;
    let row = |id: &u32| &table[*id as usize * config.hidden_size..][..config.hidden_size];
    let embedded = ids.iter().map(row);
    let mut xs: Vec<Vec<f64>> = embedded
        .map(|row| row.iter().map(|x| f64::from(*x)).collect())
        .collect();
    for layer in 0..config.num_hidden_layers {
        model.layer(layer, &mut xs);
    }
    let head = if config.tie_word_embeddings {
        "model.embed_tokens.weight"
    } else {
        "lm_head.weight"
    };
    let out = |x: &Vec<f64>| model.product(head, &model.norm("model.norm.weight", x));
    xs.iter().map(out).collect()
}

/// Mean cross-entropy of a batch.
pub(super) fn loss(config: &ModelConfig, weights: &Weights, batch: &Packed) -> f64 {
    let mut from = 0;
    let mut rows = Vec::new();
    for len in &batch.segments {
        rows.extend(logits(config, weights, &batch.ids[from..from + len]));
        from += len;
    }
    let one = |(row, target): (&u32, &u32)| {
        let row = &rows[*row as usize];
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
