//! Rotary position embedding of the LLaMA family: its frequencies, and how they are scaled for
//! longer contexts.
//!
//! Reads both forms of the keys: `rope_parameters` of transformers 5, and `rope_theta` with
//! `rope_scaling` of older versions.

use std::f64::consts::{PI, TAU};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ModelError;
use crate::json::{invalid, optional_number, optional_size, size};

/// Rotary position embedding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// Base of the geometric sequence of wavelengths.
    pub theta: f64,
    /// The scaling of the frequencies for contexts longer than in pre-training.
    pub scaling: RopeScaling,
}

impl Rope {
    /// Unscaled frequencies.
    #[must_use]
    pub fn plain(theta: f64) -> Self {
        Self {
            theta,
            scaling: RopeScaling::None,
        }
    }
}

/// A scaling of the frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RopeScaling {
    /// Unscaled.
    None,
    /// Every frequency divided by the same factor.
    Linear {
        /// How many times longer the context is than in pre-training.
        factor: f64,
    },
    /// Llama 3.1 and later: low frequencies divided, high ones kept, a ramp between.
    Llama3(Llama3Scaling),
    /// YaRN (Peng and others, 2023): a ramp over dimensions, and cosines and sines multiplied by a
    /// constant.
    Yarn(Yarn),
}

/// Frequency scaling of Llama 3.1 and later.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llama3Scaling {
    /// How many times longer the context is than in pre-training.
    pub factor: f64,
    /// Wavelengths longer than `original / low_freq_factor` are scaled in full.
    pub low_freq_factor: f64,
    /// Wavelengths shorter than `original / high_freq_factor` are not scaled.
    pub high_freq_factor: f64,
    /// Context length of pre-training.
    pub original_max_position_embeddings: usize,
}

/// Constants of YaRN.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Yarn {
    /// How many times longer the context is than in pre-training.
    pub factor: f64,
    /// Context length of pre-training.
    pub original_max_position_embeddings: usize,
    /// Rotations over that length above which a dimension is not scaled.
    pub beta_fast: f64,
    /// Rotations below which its frequency is divided by `factor`.
    pub beta_slow: f64,
    /// Factor of cosines and sines; by default it follows from `factor`.
    pub attention_factor: Option<f64>,
    /// Whether the ends of the ramp are rounded to whole dimensions.
    pub truncate: bool,
}

impl Yarn {
    /// Share of the unscaled frequency in pair `i` of `pairs`.
    fn unscaled_share(&self, theta: f64, i: usize, pairs: usize) -> f64 {
        let width = 2.0 * pairs as f64;
        let original = self.original_max_position_embeddings as f64;
        let dimension = |turns: f64| width * (original / (turns * TAU)).ln() / (2.0 * theta.ln());
        let (mut low, mut high) = (dimension(self.beta_fast), dimension(self.beta_slow));
        if self.truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        let (low, mut high) = (low.max(0.0), high.min(width - 1.0));
        if low == high {
            high += 0.001;
        }
        1.0 - ((i as f64 - low) / (high - low)).clamp(0.0, 1.0)
    }
}

impl Rope {
    /// Reads the rotary constants of a `config.json`. If both forms are present they must agree.
    pub(crate) fn from_json(map: &Map<String, Value>) -> Result<Self, ModelError> {
        let object = |key: &str| map.get(key).and_then(Value::as_object);
        let new = object("rope_parameters");
        let theta_new = new
            .map(|m| optional_number(m, "rope_theta"))
            .transpose()?
            .flatten();
        let theta_old = optional_number(map, "rope_theta")?;
        let theta = match (theta_new, theta_old) {
            (Some(a), Some(b)) if (a - b).abs() > 1e-9 * a => {
                return Err(invalid(format!(
                    "`rope_parameters.rope_theta` is {a} and `rope_theta` is {b}"
                )));
            }
            (a, b) => a.or(b).unwrap_or(10_000.0),
        };
        if theta <= 1.0 {
            return Err(invalid(format!("`rope_theta` is {theta}, not above 1")));
        }
        let partial = |m: &Map<String, Value>| optional_number(m, "partial_rotary_factor");
        for share in [partial(map)?, new.map(partial).transpose()?.flatten()]
            .into_iter()
            .flatten()
        {
            if (share - 1.0).abs() > 1e-9 {
                return Err(invalid(format!(
                    "`partial_rotary_factor` is {share}; only whole heads can be rotated"
                )));
            }
        }
        let Some(scaling) = new.or_else(|| object("rope_scaling")) else {
            return Ok(Self::plain(theta));
        };
        let kind = scaling
            .get("rope_type")
            .or_else(|| scaling.get("type"))
            .and_then(Value::as_str)
            .unwrap_or("default");
        let get = |key: &str| {
            optional_number(scaling, key)?
                .ok_or_else(|| invalid(format!("rope scaling `{kind}` without `{key}`")))
        };
        let scaling = match kind {
            "default" => RopeScaling::None,
            "linear" => RopeScaling::Linear {
                factor: get("factor")?,
            },
            "llama3" => RopeScaling::Llama3(Llama3Scaling {
                factor: get("factor")?,
                low_freq_factor: get("low_freq_factor")?,
                high_freq_factor: get("high_freq_factor")?,
                original_max_position_embeddings: size(
                    scaling,
                    "original_max_position_embeddings",
                )?,
            }),
            "yarn" => {
                if scaling.contains_key("mscale") || scaling.contains_key("mscale_all_dim") {
                    return Err(invalid(
                        "rope scaling `yarn` with `mscale` is not supported; use `attention_factor`",
                    ));
                }
                let original = optional_size(scaling, "original_max_position_embeddings")?;
                Self::yarn(
                    scaling,
                    get("factor")?,
                    original.map_or_else(|| size(map, "max_position_embeddings"), Ok)?,
                )?
            }
            other => {
                return Err(invalid(format!(
                    "rope scaling `{other}`; supported are `default`, `linear`, `llama3` and `yarn`"
                )));
            }
        };
        Ok(Self { theta, scaling })
    }

    fn yarn(
        map: &Map<String, Value>,
        factor: f64,
        original: usize,
    ) -> Result<RopeScaling, ModelError> {
        Ok(RopeScaling::Yarn(Yarn {
            factor,
            original_max_position_embeddings: original,
            beta_fast: optional_number(map, "beta_fast")?.unwrap_or(32.0),
            beta_slow: optional_number(map, "beta_slow")?.unwrap_or(1.0),
            attention_factor: optional_number(map, "attention_factor")?,
            truncate: map.get("truncate").and_then(Value::as_bool).unwrap_or(true),
        }))
    }

    /// `rope_scaling` (null if unscaled) and `rope_parameters`.
    pub(crate) fn to_json(&self) -> (Value, Value) {
        let scaling = match &self.scaling {
            RopeScaling::None => Value::Null,
            RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
            RopeScaling::Llama3(s) => json!({
                "rope_type": "llama3", "factor": s.factor, "low_freq_factor": s.low_freq_factor,
                "high_freq_factor": s.high_freq_factor, "original_max_position_embeddings": s.original_max_position_embeddings,
            }),
            RopeScaling::Yarn(s) => {
                let mut all = json!({
                    "rope_type": "yarn", "factor": s.factor, "original_max_position_embeddings": s.original_max_position_embeddings,
                    "beta_fast": s.beta_fast, "beta_slow": s.beta_slow, "truncate": s.truncate,
                });
                if let Some(factor) = s.attention_factor {
                    all["attention_factor"] = json!(factor);
                }
                all
            }
        };
        let mut parameters = if scaling.is_null() {
            json!({"rope_type": "default"})
        } else {
            scaling.clone()
        };
        parameters["rope_theta"] = json!(self.theta);
        (scaling, parameters)
    }

    /// Angular frequency of each of `pairs` pairs of dimensions, scaling applied.
    #[must_use]
    pub fn frequencies(&self, pairs: usize) -> Vec<f32> {
        let plain = |i: usize| self.theta.powf(-(i as f64) / pairs as f64);
        let scaled = |i: usize| -> f64 {
            let frequency = plain(i);
            match &self.scaling {
                RopeScaling::None => frequency,
                RopeScaling::Linear { factor } => frequency / factor,
                RopeScaling::Llama3(s) => {
                    let original = s.original_max_position_embeddings as f64;
                    let wavelength = 2.0 * PI / frequency;
                    if wavelength < original / s.high_freq_factor {
                        frequency
                    } else if wavelength > original / s.low_freq_factor {
                        frequency / s.factor
                    } else {
                        let smooth = (original / wavelength - s.low_freq_factor)
                            / (s.high_freq_factor - s.low_freq_factor);
                        (1.0 - smooth) * frequency / s.factor + smooth * frequency
                    }
                }
                RopeScaling::Yarn(s) => {
                    let unscaled = s.unscaled_share(self.theta, i, pairs);
                    frequency / s.factor * (1.0 - unscaled) + frequency * unscaled
                }
            }
        };
        (0..pairs).map(|i| scaled(i) as f32).collect()
    }

    /// Factor of cosines and sines; 1 except for YaRN.
    #[must_use]
    pub fn amplitude(&self) -> f32 {
        match &self.scaling {
            RopeScaling::Yarn(s) => {
                let default = if s.factor <= 1.0 {
                    1.0
                } else {
                    0.1 * s.factor.ln() + 1.0
                };
                s.attention_factor.unwrap_or(default) as f32
            }
            _ => 1.0,
        }
    }
}
