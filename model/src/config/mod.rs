//! The configuration of a LLaMA-family model: shape, constants and tensors.

mod hugging_face;

use serde::{Deserialize, Serialize};

use crate::ModelError;
use crate::json::invalid;
use crate::rope::Rope;

/// The published families of one shape, which differ in biases and norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// LLaMA 1 to 3, TinyLlama, SmolLM2.
    Llama,
    /// Mistral.
    Mistral,
    /// Qwen 2 and 2.5: biases on q, k and v.
    Qwen2,
    /// Qwen 3: norms on the heads of q and k.
    Qwen3,
}

/// Shape and constants of a LLaMA-family model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Inner width of the feed-forward part.
    pub intermediate_size: usize,
    /// Decoder layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides the query heads.
    pub num_key_value_heads: usize,
    /// Width of one head; even.
    pub head_dim: usize,
    /// Added to the mean square in RMS norms.
    pub rms_norm_eps: f64,
    /// Longest sequence.
    pub max_position_embeddings: usize,
    /// Whether the embedding is also the output layer.
    pub tie_word_embeddings: bool,
    /// Standard deviation of initial weights.
    pub initializer_range: f64,
    /// Rotary embedding.
    pub rope: Rope,
    /// The family, which sets the names and switches in `config.json`.
    pub family: Family,
    /// Whether q, k and v have biases.
    pub qkv_bias: bool,
    /// Whether the output projection of attention has a bias.
    pub o_bias: bool,
    /// Whether the feed-forward projections have biases.
    pub mlp_bias: bool,
    /// Whether every head of q and k has an RMS norm before the rotation.
    pub qk_norm: bool,
    /// The sliding window of attention, if the model has one. Up to this length attention is
    /// ordinary, so longer sequences are rejected ([`ModelConfig::context`]).
    pub sliding_window: Option<usize>,
    /// Beginning-of-sequence token, if the family has one.
    pub bos_token_id: Option<u32>,
    /// Tokens that end generation.
    pub eos_token_ids: Vec<u32>,
    /// Padding token.
    pub pad_token_id: Option<u32>,
}

impl ModelConfig {
    /// Checks the sizes against each other and against upper limits.
    ///
    /// # Errors
    /// Names the invalid key.
    pub fn check(&self) -> Result<(), ModelError> {
        if !self
            .num_attention_heads
            .is_multiple_of(self.num_key_value_heads.max(1))
        {
            let (heads, kv) = (self.num_attention_heads, self.num_key_value_heads);
            return Err(invalid(format!(
                "{heads} attention heads cannot share {kv} key/value heads evenly"
            )));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(invalid(format!(
                "`head_dim` is {}, but rotary embeddings need an even number",
                self.head_dim
            )));
        }
        for (name, n, most) in [
            ("num_key_value_heads", self.num_key_value_heads, 1 << 14),
            (
                "max_position_embeddings",
                self.max_position_embeddings,
                1 << 32,
            ),
            ("hidden_size", self.hidden_size, 1 << 20),
            ("intermediate_size", self.intermediate_size, 1 << 22),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 12),
            ("num_attention_heads", self.num_attention_heads, 1 << 14),
            ("head_dim", self.head_dim, 1 << 14),
            ("vocab_size", self.vocab_size, 1 << 24),
        ] {
            if n == 0 || n > most {
                return Err(invalid(format!("`{name}` is {n}, outside 1 to {most}")));
            }
        }
        let out_of_vocab = |id: &&u32| **id as usize >= self.vocab_size;
        if let Some(id) = self
            .eos_token_ids
            .iter()
            .chain(&self.bos_token_id)
            .chain(&self.pad_token_id)
            .find(out_of_vocab)
        {
            return Err(invalid(format!(
                "token id {id} is outside the vocabulary of {}",
                self.vocab_size
            )));
        }
        Ok(())
    }

    /// The longest sequence: the number of positions, or the sliding window if it is shorter.
    #[must_use]
    pub fn context(&self) -> usize {
        self.sliding_window
            .unwrap_or(usize::MAX)
            .min(self.max_position_embeddings)
    }

    /// Angular frequency of each of the `head_dim / 2` rotary pairs, scaling applied.
    #[must_use]
    pub fn inv_freq(&self) -> Vec<f32> {
        self.rope.frequencies(self.head_dim / 2)
    }

    /// Name and shape of every tensor of the model, in file order (`lm_head.weight` only if it is
    /// not tied).
    #[must_use]
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, q, kv) = (
            self.hidden_size,
            self.num_attention_heads * self.head_dim,
            self.num_key_value_heads * self.head_dim,
        );
        let mut all = vec![(
            "model.embed_tokens.weight".to_owned(),
            vec![self.vocab_size, hidden],
        )];
        let ff = self.intermediate_size;
        for i in 0..self.num_hidden_layers {
            let mut add = |name: &str, shape: Vec<usize>| {
                all.push((format!("model.layers.{i}.{name}"), shape));
            };
            add("input_layernorm.weight", vec![hidden]);
            for (name, out, input, bias) in [
                ("self_attn.q_proj", q, hidden, self.qkv_bias),
                ("self_attn.k_proj", kv, hidden, self.qkv_bias),
                ("self_attn.v_proj", kv, hidden, self.qkv_bias),
                ("self_attn.o_proj", hidden, q, self.o_bias),
            ] {
                add(&format!("{name}.weight"), vec![out, input]);
                if bias {
                    add(&format!("{name}.bias"), vec![out]);
                }
            }
            if self.qk_norm {
                add("self_attn.q_norm.weight", vec![self.head_dim]);
                add("self_attn.k_norm.weight", vec![self.head_dim]);
            }
            add("post_attention_layernorm.weight", vec![hidden]);
            for (name, out, input) in [
                ("mlp.gate_proj", ff, hidden),
                ("mlp.up_proj", ff, hidden),
                ("mlp.down_proj", hidden, ff),
            ] {
                add(&format!("{name}.weight"), vec![out, input]);
                if self.mlp_bias {
                    add(&format!("{name}.bias"), vec![out]);
                }
            }
        }
        all.push(("model.norm.weight".to_owned(), vec![hidden]));
        if !self.tie_word_embeddings {
            all.push(("lm_head.weight".to_owned(), vec![self.vocab_size, hidden]));
        }
        all
    }

    /// Number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.tensors()
            .iter()
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum()
    }
}
