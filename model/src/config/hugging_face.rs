//! `config.json` of the LLaMA family, as transformers reads and writes it.

use serde_json::{Map, Value, json};

use super::{Family, ModelConfig};
use crate::ModelError;
use crate::json::{invalid, optional_number, optional_size, size};
use crate::rope::Rope;

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

/// A token id or a list of them.
fn token_ids(map: &Map<String, Value>, key: &str) -> Result<Vec<u32>, ModelError> {
    let one = |value: &Value| {
        value
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| invalid(format!("`{key}` holds {value}, not a token id")))
    };
    match map.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(all)) => all.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
}

impl ModelConfig {
    /// Reads a `config.json`.
    ///
    /// # Errors
    /// Names the key and value that is missing, invalid or not supported.
    pub fn from_json(value: &Value) -> Result<Self, ModelError> {
        let map = value
            .as_object()
            .ok_or_else(|| invalid("config.json is not an object"))?;
        let given = value["model_type"].as_str().unwrap_or("(none)");
        let Some(family) = Family::ALL
            .into_iter()
            .find(|family| family.names().0 == given)
        else {
            let known = Family::ALL.map(|family| family.names().0).join(", ");
            return Err(invalid(format!(
                "`model_type` is `{given}`; supported are {known}"
            )));
        };
        let flag = |key: &str| value[key].as_bool().unwrap_or(false);
        let act = value["hidden_act"].as_str();
        if let Some(act) = act.filter(|act| !matches!(*act, "silu" | "swish")) {
            return Err(invalid(format!(
                "`hidden_act` is `{act}`; LLaMA models use `silu`"
            )));
        }
        if map.contains_key("quantization_config") {
            return Err(invalid(
                "`quantization_config` is set; use the unquantised weights",
            ));
        }
        let hidden_size = size(map, "hidden_size")?;
        let num_attention_heads = size(map, "num_attention_heads")?;
        let config = Self {
            vocab_size: size(map, "vocab_size")?,
            hidden_size,
            intermediate_size: size(map, "intermediate_size")?,
            num_hidden_layers: size(map, "num_hidden_layers")?,
            num_attention_heads,
            // Defaults of the family's class in transformers.
            num_key_value_heads: match (optional_size(map, "num_key_value_heads")?, family) {
                (Some(heads), _) => heads,
                (None, Family::Llama) => num_attention_heads,
                (None, _) => return Err(invalid("`num_key_value_heads` is missing")),
            },
            head_dim: match (optional_size(map, "head_dim")?, family) {
                (Some(width), _) => width,
                (None, Family::Qwen3) => 128,
                (None, _) => hidden_size / num_attention_heads,
            },
            rms_norm_eps: optional_number(map, "rms_norm_eps")?.unwrap_or(1e-6),
            max_position_embeddings: optional_size(map, "max_position_embeddings")?.unwrap_or(2048),
            tie_word_embeddings: flag("tie_word_embeddings"),
            initializer_range: optional_number(map, "initializer_range")?.unwrap_or(0.02),
            rope: Rope::from_json(map)?,
            family,
            qkv_bias: family == Family::Qwen2
                || (matches!(family, Family::Llama | Family::Qwen3) && flag("attention_bias")),
            o_bias: matches!(family, Family::Llama | Family::Qwen3) && flag("attention_bias"),
            mlp_bias: family == Family::Llama && flag("mlp_bias"),
            qk_norm: family == Family::Qwen3,
            sliding_window: match family {
                Family::Mistral => optional_size(map, "sliding_window")?,
                Family::Qwen2 | Family::Qwen3 if flag("use_sliding_window") => {
                    optional_size(map, "sliding_window")?
                }
                _ => None,
            },
            bos_token_id: token_ids(map, "bos_token_id")?.first().copied(),
            eos_token_ids: token_ids(map, "eos_token_id")?,
            pad_token_id: token_ids(map, "pad_token_id")?.first().copied(),
        };
        config.check()?;
        Ok(config)
    }

    /// The `config.json` for transformers 4 and 5: it contains the rotary constants in the old and
    /// the new form.
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
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::Preset;
    use crate::rope::{Llama3Scaling, RopeScaling, Yarn};

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
    fn every_family_round_trips() {
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
        // Published Qwen files contain a disabled window.
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
    fn unsupported_models_are_rejected_by_name() {
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
