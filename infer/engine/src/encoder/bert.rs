//! BERT (Devlin et al., 2019) with absolute positions and post-norm, as computed by Hugging Face's
//! `BertModel` and `RobertaModel`.
//!
//! Sentences are concatenated as flat `[tokens, width]` rows without padding; attention runs within
//! each sentence. The products are the engine's, so the bits of a vector depend neither on the
//! other sentences nor on the number of threads.

use model::encoder::{Activation, EncoderConfig, Pooling};
use model::{ModelError, Weights};

use crate::kernels::{self, add, softmax_parts};
use crate::linear::Linear;
use crate::weight_memory::WeightArena;

/// Scale and shift of a LayerNorm.
struct NormWeights {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

struct BertLayer {
    /// Queries, keys and values, stacked.
    qkv: Linear,
    mix: Linear,
    mix_norm: NormWeights,
    up: Linear,
    down: Linear,
    down_norm: NormWeights,
}

/// Takes a tensor of the weights by name.
type TakeTensor<'a> = dyn FnMut(&str) -> Result<Vec<f32>, ModelError> + 'a;

impl NormWeights {
    fn take(name: &str, take: &mut TakeTensor<'_>) -> Result<Self, ModelError> {
        Ok(Self {
            weight: take(&format!("{name}.LayerNorm.weight"))?,
            bias: take(&format!("{name}.LayerNorm.bias"))?,
        })
    }
}

impl BertLayer {
    fn take(
        config: &EncoderConfig,
        layer: usize,
        take: &mut TakeTensor<'_>,
        arena: &mut WeightArena,
    ) -> Result<Self, ModelError> {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        let mut linear = |names: &[&str], inputs: usize| -> Result<Linear, ModelError> {
            let (mut parts, mut bias) = (Vec::new(), Vec::new());
            for name in names {
                parts.push(take(&at(&format!("{name}.weight")))?);
                bias.extend(take(&at(&format!("{name}.bias")))?);
            }
            let parts: Vec<&[f32]> = parts.iter().map(Vec::as_slice).collect();
            Ok(Linear::pack(&parts, inputs, Some(bias), arena))
        };
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let qkv = ["query", "key", "value"].map(|part| format!("attention.self.{part}"));
        Ok(Self {
            qkv: linear(&qkv.each_ref().map(String::as_str), hidden)?,
            mix: linear(&["attention.output.dense"], hidden)?,
            up: linear(&["intermediate.dense"], hidden)?,
            down: linear(&["output.dense"], inner)?,
            mix_norm: NormWeights::take(&at("attention.output"), take)?,
            down_norm: NormWeights::take(&at("output"), take)?,
        })
    }
}

/// The model with packed weights.
pub(super) struct Bert {
    config: EncoderConfig,
    words: Vec<f32>,
    /// Position embedding with the row of token type 0 added.
    positions: Vec<f32>,
    /// Position embedding with the row of token type 1 added, or of type 0 if there is no other.
    second_positions: Vec<f32>,
    norm: NormWeights,
    layers: Vec<BertLayer>,
}

impl Bert {
    pub(super) fn new(config: &EncoderConfig, weights: &mut Weights) -> Result<Self, ModelError> {
        let mut take = |name: &str| {
            let name = format!("{}{name}", config.prefix);
            let tensor = weights.take(&name);
            tensor.map(|tensor| tensor.data).ok_or(ModelError::Tensor {
                name,
                message: "is missing".to_owned(),
            })
        };
        let mut positions = take("embeddings.position_embeddings.weight")?;
        let types = take("embeddings.token_type_embeddings.weight")?;
        let hidden = config.hidden_size;
        let mut second_positions = positions.clone();
        let second = (config.token_types - 1).min(1) * hidden;
        for (table, of_type) in [(&mut positions, 0), (&mut second_positions, second)] {
            for row in table.chunks_exact_mut(hidden) {
                add(row, &types[of_type..of_type + hidden]);
            }
        }
        let mut arena = WeightArena::default();
        Ok(Self {
            words: take("embeddings.word_embeddings.weight")?,
            positions,
            second_positions,
            norm: NormWeights::take("embeddings", &mut take)?,
            layers: (0..config.layers)
                .map(|layer| BertLayer::take(config, layer, &mut take, &mut arena))
                .collect::<Result<_, _>>()?,
            config: config.clone(),
        })
    }

    /// Vectors of length 1, one per sentence. Ids must be within the vocabulary; sentences must fit
    /// the model and not be empty.
    pub(super) fn run(&self, sentences: &[&[u32]]) -> Vec<Vec<f32>> {
        let firsts: Vec<usize> = sentences.iter().map(|ids| ids.len()).collect();
        let x = self.rows(sentences, &firsts);
        self.split(sentences, &x)
            .map(|rows| self.pool(rows))
            .collect()
    }

    /// Means of the token vectors, one per sentence; otherwise as [`Bert::run`]. In each sentence
    /// the first tokens, whose number `firsts` gives, have token type 0, the others 1.
    pub(super) fn means(&self, sentences: &[&[u32]], firsts: &[usize]) -> Vec<Vec<f32>> {
        let x = self.rows(sentences, firsts);
        let hidden = self.config.hidden_size;
        let mean = |rows: &[f32]| {
            let mut mean = vec![0.0; hidden];
            for row in rows.chunks_exact(hidden) {
                add(&mut mean, row);
            }
            let share = hidden as f32 / rows.len() as f32;
            mean.iter_mut().for_each(|x| *x *= share);
            mean
        };
        self.split(sentences, &x).map(mean).collect()
    }

    /// The rows of each sentence.
    fn split<'a>(
        &self,
        sentences: &'a [&[u32]],
        x: &'a [f32],
    ) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let hidden = self.config.hidden_size;
        let mut end = 0;
        sentences.iter().map(move |ids| {
            let first = end;
            end += ids.len() * hidden;
            &x[first..end]
        })
    }

    /// The vectors of all tokens.
    fn rows(&self, sentences: &[&[u32]], firsts: &[usize]) -> Vec<f32> {
        let (hidden, eps) = (self.config.hidden_size, self.config.layer_norm_eps);
        let rows: usize = sentences.iter().map(|ids| ids.len()).sum();
        let mut x = Vec::with_capacity(rows * hidden);
        for (ids, first) in sentences.iter().zip(firsts) {
            for (at, &id) in ids.iter().enumerate() {
                let table = if at < *first {
                    &self.positions
                } else {
                    &self.second_positions
                };
                let position = (self.config.first_position + at) * hidden;
                let word = &self.words[id as usize * hidden..][..hidden];
                x.extend(
                    word.iter()
                        .zip(&table[position..position + hidden])
                        .map(|(a, b)| a + b),
                );
            }
        }
        layer_norm(&mut x, &self.norm, eps);
        let mut wide = Vec::new();
        let mut out = Vec::new();
        let mut mixed = vec![0.0; rows * hidden];
        for layer in &self.layers {
            run(&layer.qkv, &x, rows, &mut wide);
            self.attend(sentences, layer.qkv.width(), &wide, &mut mixed);
            run(&layer.mix, &mixed, rows, &mut out);
            add_rows(&mut x, &out, hidden, layer.mix.width());
            layer_norm(&mut x, &layer.mix_norm, eps);
            run(&layer.up, &x, rows, &mut wide);
            self.activate(&mut wide, layer.up.width());
            run(&layer.down, &wide, rows, &mut out);
            add_rows(&mut x, &out, hidden, layer.down.width());
            layer_norm(&mut x, &layer.down_norm, eps);
        }
        x
    }

    /// Attention within each sentence, head by head.
    fn attend(&self, sentences: &[&[u32]], step: usize, qkv: &[f32], mixed: &mut [f32]) {
        let hidden = self.config.hidden_size;
        let dim = hidden / self.config.heads;
        let scale = 1.0 / (dim as f32).sqrt();
        let longest = sentences.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let (mut keys, mut scores) = (vec![0.0; dim * longest], vec![0.0; longest]);
        let mut first = 0;
        for ids in sentences {
            let n = ids.len();
            for head in 0..self.config.heads {
                let part = |row: usize, which: usize| {
                    &qkv[(first + row) * step + which * hidden + head * dim..][..dim]
                };
                for row in 0..n {
                    for (d, &value) in part(row, 1).iter().enumerate() {
                        keys[d * n + row] = value * scale;
                    }
                }
                for row in 0..n {
                    let scores = &mut scores[..n];
                    let query = part(row, 0);
                    let out = &mut mixed[(first + row) * hidden + head * dim..][..dim];
                    kernels::dispatch(
                        #[inline(always)]
                        || {
                            scores.fill(0.0);
                            for (d, &q) in query.iter().enumerate() {
                                for (score, &key) in
                                    scores.iter_mut().zip(&keys[d * n..(d + 1) * n])
                                {
                                    *score += q * key;
                                }
                            }
                        },
                    );
                    let norm = softmax_parts(scores, n);
                    kernels::dispatch(
                        #[inline(always)]
                        || {
                            out.fill(0.0);
                            for (other, &score) in scores.iter().enumerate() {
                                let weight = score * norm;
                                for (out, &value) in out.iter_mut().zip(part(other, 2)) {
                                    *out += weight * value;
                                }
                            }
                        },
                    );
                }
            }
            first += n;
        }
    }

    /// Applies the activation in place, after removing the padding of the rows.
    fn activate(&self, wide: &mut Vec<f32>, width: usize) {
        let inner = self.config.intermediate_size;
        if width != inner {
            *wide = wide
                .chunks_exact(width)
                .flat_map(|row| row[..inner].iter().copied())
                .collect();
        }
        match self.config.activation {
            Activation::Gelu => kernels::gelu(wide),
            Activation::GeluTanh => wide.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
            Activation::Relu => wide.iter_mut().for_each(|x| *x = x.max(0.0)),
        }
    }

    fn pool(&self, rows: &[f32]) -> Vec<f32> {
        let hidden = self.config.hidden_size;
        let mut vector = rows[..hidden].to_vec();
        if self.config.pooling == Pooling::Mean {
            for row in rows.chunks_exact(hidden).skip(1) {
                add(&mut vector, row);
            }
        }
        // Normalisation cancels the divisor of the mean.
        let norm = vector
            .iter()
            .map(|&x| f64::from(x) * f64::from(x))
            .sum::<f64>()
            .sqrt()
            .max(f64::MIN_POSITIVE);
        vector
            .iter_mut()
            .for_each(|x| *x = (f64::from(*x) / norm) as f32);
        vector
    }
}

fn run(linear: &Linear, x: &[f32], rows: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(rows * linear.width(), 0.0);
    linear.run_here(x, rows, out);
}

/// `x += y`; the rows of `y` are `step` values apart.
fn add_rows(x: &mut [f32], y: &[f32], width: usize, step: usize) {
    for (x, y) in x.chunks_exact_mut(width).zip(y.chunks_exact(step)) {
        add(x, &y[..width]);
    }
}

fn layer_norm(x: &mut [f32], norm: &NormWeights, eps: f32) {
    kernels::layer_norm(x, &norm.weight, &norm.bias, eps);
}

fn gelu_tanh(x: f32) -> f32 {
    0.5 * x * (1.0 + ((2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
}
