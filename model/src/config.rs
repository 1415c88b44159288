//! `config.json` of the LLaMA family, as transformers reads and writes it.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ModelError;

/// Rotary position embedding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// Base of the geometric sequence of wavelengths.
    pub theta: f64,
    /// Llama-3 frequency scaling, where used.
    pub llama3: Option<Llama3Scaling>,
}

/// Frequency scaling of Llama 3.1 and later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llama3Scaling {
    /// How many times longer the context is than in pre-training.
    pub factor: f64,
    /// Wavelengths longer than `original / low_freq_factor` are scaled in full.
    pub low_freq_factor: f64,
    /// Wavelengths shorter than `original / high_freq_factor` stay.
    pub high_freq_factor: f64,
    /// Context length of pre-training.
    pub original_max_position_embeddings: usize,
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
    /// Whether the output layer is the embedding.
    pub tie_word_embeddings: bool,
    /// Standard deviation of fresh weights.
    pub initializer_range: f64,
    /// Rotary embedding.
    pub rope: Rope,
    /// Beginning-of-sequence token, where the family has one.
    pub bos_token_id: Option<u32>,
    /// Tokens that end generation.
    pub eos_token_ids: Vec<u32>,
    /// Padding token.
    pub pad_token_id: Option<u32>,
}

/// Fresh models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// About 1.5 million parameters: minutes on two CPU cores.
    Tiny,
    /// About 10 million parameters.
    Small,
    /// About 100 million parameters: wants a GPU.
    Base,
}

impl Preset {
    /// The preset of `scratch:NAME`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.strip_prefix("scratch:").unwrap_or(name) {
            "tiny" => Some(Self::Tiny),
            "small" => Some(Self::Small),
            "base" => Some(Self::Base),
            _ => None,
        }
    }

    /// Size of the vocabulary trained for this preset.
    #[must_use]
    pub fn vocab_size(self) -> usize {
        match self {
            Self::Tiny => 2048,
            Self::Small => 4096,
            Self::Base => 8192,
        }
    }

    /// Longest sequence: rotary embeddings cost nothing for it.
    const MAX_POSITIONS: usize = 4096;

    /// The configuration for a vocabulary of `vocab_size`.
    #[must_use]
    pub fn config(self, vocab_size: usize) -> ModelConfig {
        let (hidden, ff, layers, heads, kv, head_dim) = match self {
            Self::Tiny => (160, 384, 4, 5, 5, 32),
            Self::Small => (320, 864, 8, 10, 5, 32),
            Self::Base => (768, 2048, 14, 12, 4, 64),
        };
        ModelConfig {
            vocab_size,
            hidden_size: hidden,
            intermediate_size: ff,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            num_key_value_heads: kv,
            head_dim,
            rms_norm_eps: 1e-5,
            max_position_embeddings: Self::MAX_POSITIONS,
            tie_word_embeddings: true,
            initializer_range: 0.1,
            rope: Rope { theta: 10_000.0, llama3: None },
            bos_token_id: None,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        }
    }
}

fn bad(message: impl Into<String>) -> ModelError {
    ModelError::Config(message.into())
}

fn size(map: &Map<String, Value>, key: &str) -> Result<Option<usize>, ModelError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=1 << 32).contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(bad(format!("`{key}` is {value}, not a positive whole number"))),
        },
    }
}

fn needed(map: &Map<String, Value>, key: &str) -> Result<usize, ModelError> {
    size(map, key)?.ok_or_else(|| bad(format!("`{key}` is missing")))
}

fn number(map: &Map<String, Value>, key: &str) -> Result<Option<f64>, ModelError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64().filter(|x| x.is_finite() && *x > 0.0) {
            Some(x) => Ok(Some(x)),
            None => Err(bad(format!("`{key}` is {value}, not a positive number"))),
        },
    }
}

fn token(map: &Map<String, Value>, key: &str) -> Result<Vec<u32>, ModelError> {
    let one = |value: &Value| {
        value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| bad(format!("`{key}` holds {value}, not a token id")))
    };
    match map.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(all)) => all.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
}

impl ModelConfig {
    /// Read a `config.json`.
    ///
    /// # Errors
    /// Names the key and its value when something is missing, impossible, or a variant this program does not run.
    pub fn from_json(value: &Value) -> Result<Self, ModelError> {
        let map = value.as_object().ok_or_else(|| bad("config.json is not an object"))?;
        let family = map.get("model_type").and_then(Value::as_str).unwrap_or("(none)");
        if family != "llama" {
            return Err(bad(format!("`model_type` is `{family}`; this version runs `llama`")));
        }
        for key in ["attention_bias", "mlp_bias"] {
            if map.get(key).and_then(Value::as_bool) == Some(true) {
                return Err(bad(format!("`{key}` is true; this version runs models without biases")));
            }
        }
        if let Some(act) = map.get("hidden_act").and_then(Value::as_str).filter(|act| !matches!(*act, "silu" | "swish")) {
            return Err(bad(format!("`hidden_act` is `{act}`; LLaMA models use `silu`")));
        }
        if map.contains_key("quantization_config") {
            return Err(bad("`quantization_config` is set; use the unquantised weights"));
        }
        let hidden_size = needed(map, "hidden_size")?;
        let num_attention_heads = needed(map, "num_attention_heads")?;
        let config = Self {
            vocab_size: needed(map, "vocab_size")?,
            hidden_size,
            intermediate_size: needed(map, "intermediate_size")?,
            num_hidden_layers: needed(map, "num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: size(map, "num_key_value_heads")?.unwrap_or(num_attention_heads),
            head_dim: size(map, "head_dim")?.unwrap_or(hidden_size / num_attention_heads),
            rms_norm_eps: number(map, "rms_norm_eps")?.unwrap_or(1e-6),
            max_position_embeddings: size(map, "max_position_embeddings")?.unwrap_or(2048),
            tie_word_embeddings: map.get("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(false),
            initializer_range: number(map, "initializer_range")?.unwrap_or(0.02),
            rope: Self::rope(map)?,
            bos_token_id: token(map, "bos_token_id")?.first().copied(),
            eos_token_ids: token(map, "eos_token_id")?,
            pad_token_id: token(map, "pad_token_id")?.first().copied(),
        };
        config.check()?;
        Ok(config)
    }

    /// transformers 5 writes `rope_parameters`; older files have `rope_theta` beside `rope_scaling`. Both may stand; they must agree.
    fn rope(map: &Map<String, Value>) -> Result<Rope, ModelError> {
        let object = |key: &str| map.get(key).and_then(Value::as_object);
        let new = object("rope_parameters");
        let theta_new = new.map(|m| number(m, "rope_theta")).transpose()?.flatten();
        let theta_old = number(map, "rope_theta")?;
        let theta = match (theta_new, theta_old) {
            (Some(a), Some(b)) if (a - b).abs() > 1e-9 * a => {
                return Err(bad(format!("`rope_parameters.rope_theta` is {a} and `rope_theta` is {b}")));
            }
            (a, b) => a.or(b).unwrap_or(10_000.0),
        };
        let Some(scaling) = new.or_else(|| object("rope_scaling")) else { return Ok(Rope { theta, llama3: None }) };
        let kind = scaling.get("rope_type").or_else(|| scaling.get("type")).and_then(Value::as_str).unwrap_or("default");
        let llama3 = match kind {
            "default" => None,
            "llama3" => {
                let get = |key: &str| number(scaling, key)?.ok_or_else(|| bad(format!("rope scaling `llama3` without `{key}`")));
                Some(Llama3Scaling {
                    factor: get("factor")?,
                    low_freq_factor: get("low_freq_factor")?,
                    high_freq_factor: get("high_freq_factor")?,
                    original_max_position_embeddings: needed(scaling, "original_max_position_embeddings")?,
                })
            }
            other => return Err(bad(format!("rope scaling `{other}`; this version runs `default` and `llama3`"))),
        };
        Ok(Rope { theta, llama3 })
    }

    fn check(&self) -> Result<(), ModelError> {
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            let (heads, kv) = (self.num_attention_heads, self.num_key_value_heads);
            return Err(bad(format!("{heads} attention heads cannot share {kv} key/value heads evenly")));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(bad(format!("`head_dim` is {}, rotary embeddings need an even number", self.head_dim)));
        }
        for (name, n, most) in [
            ("hidden_size", self.hidden_size, 1 << 20),
            ("intermediate_size", self.intermediate_size, 1 << 22),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 12),
            ("num_attention_heads", self.num_attention_heads, 1 << 14),
            ("head_dim", self.head_dim, 1 << 14),
            ("vocab_size", self.vocab_size, 1 << 24),
        ] {
            if n > most {
                return Err(bad(format!("`{name}` is {n}, more than any model has")));
            }
        }
        let out_of_vocab = |id: &&u32| **id as usize >= self.vocab_size;
        if let Some(id) = self.eos_token_ids.iter().chain(&self.bos_token_id).chain(&self.pad_token_id).find(out_of_vocab) {
            return Err(bad(format!("token id {id} is outside the vocabulary of {}", self.vocab_size)));
        }
        Ok(())
    }

    /// `config.json` as transformers 4 and 5 both read it: the rotary constants stand in the old and the new form.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let theta = self.rope.theta;
        let mut rope = json!({"rope_theta": theta, "rope_type": "default"});
        let mut scaling = Value::Null;
        if let Some(s) = &self.rope.llama3 {
            scaling = json!({
                "rope_type": "llama3", "factor": s.factor, "low_freq_factor": s.low_freq_factor,
                "high_freq_factor": s.high_freq_factor, "original_max_position_embeddings": s.original_max_position_embeddings,
            });
            rope = scaling.clone();
            rope["rope_theta"] = json!(theta);
        }
        let eos = match self.eos_token_ids.as_slice() {
            [] => Value::Null,
            [one] => json!(one),
            all => json!(all),
        };
        json!({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "vocab_size": self.vocab_size, "hidden_size": self.hidden_size, "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers, "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads, "head_dim": self.head_dim,
            "hidden_act": "silu", "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false,
            "rms_norm_eps": self.rms_norm_eps, "max_position_embeddings": self.max_position_embeddings,
            "initializer_range": self.initializer_range, "tie_word_embeddings": self.tie_word_embeddings,
            "rope_theta": theta, "rope_scaling": scaling, "rope_parameters": rope,
            "bos_token_id": self.bos_token_id, "eos_token_id": eos, "pad_token_id": self.pad_token_id,
            "use_cache": true, "torch_dtype": "float32", "dtype": "float32",
        })
    }

    /// Angular frequency of each of the `head_dim / 2` rotary pairs, scaling applied.
    #[must_use]
    pub fn inv_freq(&self) -> Vec<f32> {
        let scale = |freq: f64| -> f64 {
            let Some(s) = &self.rope.llama3 else { return freq };
            let original = s.original_max_position_embeddings as f64;
            let wavelength = 2.0 * PI / freq;
            if wavelength < original / s.high_freq_factor {
                freq
            } else if wavelength > original / s.low_freq_factor {
                freq / s.factor
            } else {
                let smooth = (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
                (1.0 - smooth) * freq / s.factor + smooth * freq
            }
        };
        (0..self.head_dim / 2).map(|i| scale(self.rope.theta.powf(-2.0 * i as f64 / self.head_dim as f64)) as f32).collect()
    }

    /// Name and shape of every tensor of the model, in file order (`lm_head.weight` only where it is its own).
    #[must_use]
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, q, kv) = (self.hidden_size, self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim);
        let mut all = vec![("model.embed_tokens.weight".to_owned(), vec![self.vocab_size, hidden])];
        for i in 0..self.num_hidden_layers {
            let ff = self.intermediate_size;
            for (name, shape) in [
                ("input_layernorm", vec![hidden]),
                ("self_attn.q_proj", vec![q, hidden]),
                ("self_attn.k_proj", vec![kv, hidden]),
                ("self_attn.v_proj", vec![kv, hidden]),
                ("self_attn.o_proj", vec![hidden, q]),
                ("post_attention_layernorm", vec![hidden]),
                ("mlp.gate_proj", vec![ff, hidden]),
                ("mlp.up_proj", vec![ff, hidden]),
                ("mlp.down_proj", vec![hidden, ff]),
            ] {
                all.push((format!("model.layers.{i}.{name}.weight"), shape));
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
        self.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_promised_sizes() {
        for (preset, low, high) in [(Preset::Tiny, 1.3e6, 1.7e6), (Preset::Small, 9e6, 11.5e6), (Preset::Base, 90e6, 110e6)] {
            let config = preset.config(preset.vocab_size());
            let n = config.parameters() as f64;
            // transformers refuses a width that is no multiple of the heads, even where `head_dim` says otherwise.
            assert!(config.hidden_size.is_multiple_of(config.num_attention_heads), "{preset:?}");
            assert!((low..high).contains(&n), "{preset:?} has {n}");
        }
    }

    #[test]
    fn both_rope_forms_are_read_and_written() {
        let mut config = Preset::Tiny.config(300);
        config.rope = Rope {
            theta: 500_000.0,
            llama3: Some(Llama3Scaling { factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 64 }),
        };
        let full = config.to_json();
        assert_eq!(ModelConfig::from_json(&full).unwrap(), config);
        let mut old = full.clone();
        old.as_object_mut().unwrap().remove("rope_parameters");
        assert_eq!(ModelConfig::from_json(&old).unwrap(), config);
        let mut new = full.clone();
        new.as_object_mut().unwrap().remove("rope_theta");
        new.as_object_mut().unwrap().remove("rope_scaling");
        assert_eq!(ModelConfig::from_json(&new).unwrap(), config);
    }

    #[test]
    fn what_we_cannot_run_is_an_error_that_names_it() {
        let good = Preset::Tiny.config(300).to_json();
        for (key, value, says) in [
            ("model_type", json!("qwen2"), "qwen2"),
            ("attention_bias", json!(true), "attention_bias"),
            ("rope_parameters", json!({"rope_type": "yarn", "factor": 4.0}), "yarn"),
            ("rope_parameters", json!({"rope_theta": 5.0}), "rope_theta"),
            ("num_key_value_heads", json!(3), "3 key/value"),
            ("head_dim", json!(7), "head_dim"),
            ("hidden_size", json!(-1), "hidden_size"),
            ("eos_token_id", json!(300), "300"),
            ("hidden_act", json!("gelu"), "gelu"),
        ] {
            let mut value_in = good.clone();
            value_in[key] = value;
            let error = ModelConfig::from_json(&value_in).unwrap_err().to_string();
            assert!(error.contains(says), "{key}: {error}");
        }
    }
}
