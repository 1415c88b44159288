//! Shapes of models made from scratch.

use serde::{Deserialize, Serialize};

use crate::rope::Rope;
use crate::{Family, ModelConfig};

/// A model made from scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// About 1.5 million parameters: minutes on two CPU cores.
    Tiny,
    /// About 10 million parameters.
    Small,
    /// About 100 million parameters: needs a GPU.
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

    /// Default vocabulary size.
    #[must_use]
    pub fn vocab_size(self) -> usize {
        match self {
            Self::Tiny => 2048,
            Self::Small => 4096,
            Self::Base => 8192,
        }
    }

    /// Longest sequence. With rotary embeddings a long limit costs nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_promised_sizes() {
        for (preset, low, high) in [
            (Preset::Tiny, 1.3e6, 1.7e6),
            (Preset::Small, 9e6, 11.5e6),
            (Preset::Base, 90e6, 110e6),
        ] {
            let config = preset.config(preset.vocab_size());
            let n = config.parameters() as f64;
            // transformers rejects a width that is not a multiple of the heads, even if `head_dim`
            // is set.
            assert!(
                config
                    .hidden_size
                    .is_multiple_of(config.num_attention_heads),
                "{preset:?}"
            );
            assert!((low..high).contains(&n), "{preset:?} has {n}");
        }
    }
}
