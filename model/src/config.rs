//! `config.json` of the LLaMA family, as transformers reads and writes it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ModelError;
use crate::rope::Rope;

/// The published families that share one shape and differ in biases and norms.
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

impl Family {
    const ALL: [Self; 4] = [Self::Llama, Self::Mistral, Self::Qwen2, Self::Qwen3];

    /// `model_type` and the class in `architectures`.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Llama => ("llama", "LlamaForCausalLM"),
            Self::Mistral => ("mistral", "MistralForCausalLM"),
            Self::Qwen2 => ("qwen2", "Qwen2ForCausalLM"),
            Self::Qwen3 => ("qwen3", "Qwen3ForCausalLM"),
        }
    }
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
    /// Which family's names and switches the folder is written with.
    pub family: Family,
    /// Whether q, k and v have biases.
    pub qkv_bias: bool,
    /// Whether the projection out of attention has one.
    pub o_bias: bool,
    /// Whether the feed-forward projections have biases.
    pub mlp_bias: bool,
    /// Whether every head of q and k goes through an RMS norm before it is rotated.
    pub qk_norm: bool,
    /// Positions that attention looks back over, where the model limits them. Up to this length it is ordinary attention, so longer
    /// sequences are refused ([`ModelConfig::context`]).
    pub sliding_window: Option<usize>,
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
            rope: Rope::plain(10_000.0),
            family: Family::Llama,
            qkv_bias: false,
            o_bias: false,
            mlp_bias: false,
            qk_norm: false,
            sliding_window: None,
            bos_token_id: None,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        }
    }
}

pub(crate) fn bad(message: impl Into<String>) -> ModelError {
    ModelError::Config(message.into())
}

pub(crate) fn size(map: &Map<String, Value>, key: &str) -> Result<Option<usize>, ModelError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| (1..=1 << 32).contains(n))
        {
            Some(n) => Ok(Some(n)),
            None => Err(bad(format!(
                "`{key}` is {value}, not a positive whole number"
            ))),
        },
    }
}

pub(crate) fn needed(map: &Map<String, Value>, key: &str) -> Result<usize, ModelError> {
    size(map, key)?.ok_or_else(|| bad(format!("`{key}` is missing")))
}

pub(crate) fn number(map: &Map<String, Value>, key: &str) -> Result<Option<f64>, ModelError> {
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
        value
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| bad(format!("`{key}` holds {value}, not a token id")))
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
        let map = value
            .as_object()
            .ok_or_else(|| bad("config.json is not an object"))?;
        let given = map
            .get("model_type")
            .and_then(Value::as_str)
            .unwrap_or("(none)");
        let Some(family) = Family::ALL
            .into_iter()
            .find(|family| family.names().0 == given)
        else {
            let known = Family::ALL.map(|family| family.names().0).join(", ");
            return Err(bad(format!(
                "`model_type` is `{given}`; this version runs {known}"
            )));
        };
        let flag = |key: &str| map.get(key).and_then(Value::as_bool).unwrap_or(false);
        if let Some(act) = map
            .get("hidden_act")
            .and_then(Value::as_str)
            .filter(|act| !matches!(*act, "silu" | "swish"))
        {
            return Err(bad(format!(
                "`hidden_act` is `{act}`; LLaMA models use `silu`"
            )));
        }
        if map.contains_key("quantization_config") {
            return Err(bad(
                "`quantization_config` is set; use the unquantised weights",
            ));
        }
        let hidden_size = needed(map, "hidden_size")?;
        let num_attention_heads = needed(map, "num_attention_heads")?;
        let config = Self {
            vocab_size: needed(map, "vocab_size")?,
            hidden_size,
            intermediate_size: needed(map, "intermediate_size")?,
            num_hidden_layers: needed(map, "num_hidden_layers")?,
            num_attention_heads,
            // Where a file leaves these out, what counts is the default of the family's class in transformers.
            num_key_value_heads: match (size(map, "num_key_value_heads")?, family) {
                (Some(heads), _) => heads,
                (None, Family::Llama) => num_attention_heads,
                (None, _) => return Err(bad("`num_key_value_heads` is missing")),
            },
            head_dim: match (size(map, "head_dim")?, family) {
                (Some(width), _) => width,
                (None, Family::Qwen3) => 128,
                (None, _) => hidden_size / num_attention_heads,
            },
            rms_norm_eps: number(map, "rms_norm_eps")?.unwrap_or(1e-6),
            max_position_embeddings: size(map, "max_position_embeddings")?.unwrap_or(2048),
            tie_word_embeddings: map
                .get("tie_word_embeddings")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            initializer_range: number(map, "initializer_range")?.unwrap_or(0.02),
            rope: Rope::from_json(map)?,
            family,
            qkv_bias: family == Family::Qwen2
                || (matches!(family, Family::Llama | Family::Qwen3) && flag("attention_bias")),
            o_bias: matches!(family, Family::Llama | Family::Qwen3) && flag("attention_bias"),
            mlp_bias: family == Family::Llama && flag("mlp_bias"),
            qk_norm: family == Family::Qwen3,
            sliding_window: match family {
                Family::Mistral => size(map, "sliding_window")?,
                Family::Qwen2 | Family::Qwen3 if flag("use_sliding_window") => {
                    size(map, "sliding_window")?
                }
                _ => None,
            },
            bos_token_id: token(map, "bos_token_id")?.first().copied(),
            eos_token_ids: token(map, "eos_token_id")?,
            pad_token_id: token(map, "pad_token_id")?.first().copied(),
        };
        config.check()?;
        Ok(config)
    }

    /// Checks the sizes against each other and against what any model has.
    ///
    /// # Errors
    /// Names the key that cannot be.
    pub fn check(&self) -> Result<(), ModelError> {
        if !self
            .num_attention_heads
            .is_multiple_of(self.num_key_value_heads.max(1))
        {
            let (heads, kv) = (self.num_attention_heads, self.num_key_value_heads);
            return Err(bad(format!(
                "{heads} attention heads cannot share {kv} key/value heads evenly"
            )));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(bad(format!(
                "`head_dim` is {}, rotary embeddings need an even number",
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
                return Err(bad(format!("`{name}` is {n}; models have 1 to {most}")));
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
            return Err(bad(format!(
                "token id {id} is outside the vocabulary of {}",
                self.vocab_size
            )));
        }
        Ok(())
    }

    /// `config.json` as transformers 4 and 5 both read it: the rotary constants stand in the old and the new form.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (scaling, parameters) = self.rope.to_json();
        let eos = match self.eos_token_ids.as_slice() {
            [] => Value::Null,
            [one] => json!(one),
            all => json!(all),
        };
        let (model_type, class) = self.family.names();
        let mut out = json!({
            "architectures": [class], "model_type": model_type,
            "vocab_size": self.vocab_size, "hidden_size": self.hidden_size, "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers, "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads, "head_dim": self.head_dim, "hidden_act": "silu", "attention_dropout": 0.0,
            "rms_norm_eps": self.rms_norm_eps, "max_position_embeddings": self.max_position_embeddings,
            "initializer_range": self.initializer_range, "tie_word_embeddings": self.tie_word_embeddings,
            "rope_theta": self.rope.theta, "rope_scaling": scaling, "rope_parameters": parameters,
            "bos_token_id": self.bos_token_id, "eos_token_id": eos, "pad_token_id": self.pad_token_id,
            "use_cache": true, "torch_dtype": "float32", "dtype": "float32",
        });
        match self.family {
            Family::Llama => {
                out["attention_bias"] = json!(self.qkv_bias);
                out["mlp_bias"] = json!(self.mlp_bias);
            }
            Family::Mistral => out["sliding_window"] = json!(self.sliding_window),
            Family::Qwen2 | Family::Qwen3 => {
                out["use_sliding_window"] = json!(self.sliding_window.is_some());
                out["sliding_window"] = json!(self.sliding_window);
                if self.family == Family::Qwen3 {
                    out["attention_bias"] = json!(self.qkv_bias);
                }
            }
        }
        out
    }

    /// Tokens that a sequence may have: the positions, or the sliding window where that is shorter.
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

    /// Name and shape of every tensor of the model, in file order (`lm_head.weight` only where it is its own).
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
                all.push((format!("model.layers.{i}.{name}"), shape))
            };
            let head_norm = |name: &str| {
                self.qk_norm
                    .then(|| (format!("self_attn.{name}_norm.weight"), vec![self.head_dim]))
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
            for (name, shape) in [head_norm("q"), head_norm("k")].into_iter().flatten() {
                add(&name, shape);
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::rope::{Llama3Scaling, RopeScaling, Yarn};

    #[test]
    fn presets_have_the_promised_sizes() {
        for (preset, low, high) in [
            (Preset::Tiny, 1.3e6, 1.7e6),
            (Preset::Small, 9e6, 11.5e6),
            (Preset::Base, 90e6, 110e6),
        ] {
            let config = preset.config(preset.vocab_size());
            let n = config.parameters() as f64;
            // transformers refuses a width that is no multiple of the heads, even where `head_dim` says otherwise.
            assert!(
                config
                    .hidden_size
                    .is_multiple_of(config.num_attention_heads),
                "{preset:?}"
            );
            assert!((low..high).contains(&n), "{preset:?} has {n}");
        }
    }

    #[test]
    fn both_rope_forms_are_read_and_written() {
        let mut config = Preset::Tiny.config(300);
        let yarn = |attention_factor| {
            let (factor, original_max_position_embeddings) = (4.0, 64);
            RopeScaling::Yarn(Yarn {
                factor,
                original_max_position_embeddings,
                beta_fast: 32.0,
                beta_slow: 1.0,
                attention_factor,
                truncate: true,
            })
        };
        for scaling in [
            RopeScaling::None,
            RopeScaling::Linear { factor: 2.0 },
            RopeScaling::Llama3(Llama3Scaling {
                factor: 8.0,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_max_position_embeddings: 64,
            }),
            yarn(None),
            yarn(Some(1.5)),
        ] {
            config.rope = Rope {
                theta: 500_000.0,
                scaling,
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
    }

    #[test]
    fn every_family_is_read_back_as_it_was_written() {
        let base = Preset::Tiny.config(300);
        let window = Some(64);
        for config in [
            ModelConfig {
                qkv_bias: true,
                o_bias: true,
                mlp_bias: true,
                ..base.clone()
            },
            ModelConfig {
                family: Family::Mistral,
                sliding_window: window,
                ..base.clone()
            },
            ModelConfig {
                family: Family::Mistral,
                ..base.clone()
            },
            ModelConfig {
                family: Family::Qwen2,
                qkv_bias: true,
                ..base.clone()
            },
            ModelConfig {
                family: Family::Qwen2,
                qkv_bias: true,
                sliding_window: window,
                ..base.clone()
            },
            ModelConfig {
                family: Family::Qwen3,
                qk_norm: true,
                ..base.clone()
            },
            ModelConfig {
                family: Family::Qwen3,
                qk_norm: true,
                qkv_bias: true,
                o_bias: true,
                ..base.clone()
            },
        ] {
            assert_eq!(ModelConfig::from_json(&config.to_json()).unwrap(), config);
            assert_eq!(
                config.context(),
                if config.sliding_window.is_some() {
                    64
                } else {
                    4096
                }
            );
        }
        // Published Qwen files carry a window that is switched off.
        let mut published = ModelConfig {
            family: Family::Qwen2,
            qkv_bias: true,
            ..base
        }
        .to_json();
        published["sliding_window"] = json!(32);
        assert_eq!(
            ModelConfig::from_json(&published).unwrap().sliding_window,
            None
        );
    }

    #[test]
    fn what_we_cannot_run_is_an_error_that_names_it() {
        let good = Preset::Tiny.config(300).to_json();
        for (key, value, says) in [
            ("model_type", json!("gemma2"), "gemma2"),
            (
                "rope_parameters",
                json!({"rope_type": "longrope", "factor": 4.0}),
                "longrope",
            ),
            ("rope_parameters", json!({"rope_type": "yarn"}), "factor"),
            ("partial_rotary_factor", json!(0.5), "partial_rotary_factor"),
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
