//! LoRA adapters in PEFT layout: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! In memory the factors of a matrix are called `model.layers.0.self_attn.q_proj.lora_a` with shape
//! `[rank, in]` and `….lora_b` with shape `[out, rank]`; in the file
//! `base_model.model.….lora_A.weight` and `….lora_B.weight`. If tokens were added to the base, the adapter contains the whole embedding
//! (`embed_tokens`, and `lm_head` if it is not tied), as in PEFT after `resize_token_embeddings`.

mod base;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::fs::StagedFolder;
use serde_json::{Value, json};

use crate::files::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, INFO, TOKENIZER, TOKENIZER_CONFIG};
use crate::json::{pretty, read_json, whole};
use crate::{KgAgentInfo, ModelConfig, ModelError, Tensor, Tokenizer, Weights, mistaken};

pub(crate) use base::base_folder;
pub use base::{BaseName, digest};

/// The projections that an adapter can correct, by their PEFT names.
pub const TARGETS: [&str; 7] = [
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
];
/// PEFT's prefix of tensor names.
const PREFIX: &str = "base_model.model.";
/// Matrices that an adapter can replace.
const REPLACED: [&str; 2] = ["model.embed_tokens.weight", "lm_head.weight"];
/// The ends of factor names: in memory and in the file.
const FACTORS: [(&str, &str); 2] = [(".lora_a", ".lora_A.weight"), (".lora_b", ".lora_B.weight")];
/// Why a factor cannot be applied.
const NOT_IN_BASE: &str = "is not in the base; the adapter belongs to another model";

/// The constants of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterConfig {
    /// The folder of the base model, or its repository on the hub as ORG/NAME.
    pub base: String,
    /// The commit of the repository. Adapters of other programs may leave it out; they follow the
    /// main branch.
    pub revision: Option<String>,
    /// Rank.
    pub rank: usize,
    /// The correction is scaled by `alpha / rank`, or `alpha / sqrt(rank)` for rsLoRA.
    pub alpha: f32,
    /// Rank-stabilised scaling (Kalajdzievski, 2023).
    pub rslora: bool,
    /// Dropout of the corrections' input during training.
    pub dropout: f32,
    /// The corrected projections, from [`TARGETS`].
    pub targets: Vec<String>,
}

impl AdapterConfig {
    /// Scale of the corrections.
    #[must_use]
    pub fn scale(&self) -> f32 {
        let rank = self.rank as f32;
        self.alpha / if self.rslora { rank.sqrt() } else { rank }
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        let kind = value["peft_type"].as_str().unwrap_or("(none)");
        if kind != "LORA" {
            return Err(format!(
                "`peft_type` is `{kind}`; this version applies `LORA`"
            ));
        }
        let is_set = |key: &str| match value.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Object(map)) => !map.is_empty(),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(_) => true,
        };
        for key in [
            "use_dora",
            "fan_in_fan_out",
            "rank_pattern",
            "alpha_pattern",
            "layers_to_transform",
            "trainable_token_indices",
        ] {
            if is_set(key) {
                return Err(format!("`{key}` is set; this version applies plain LoRA"));
            }
        }
        if let Some(bias) = value["bias"].as_str().filter(|bias| *bias != "none") {
            return Err(format!(
                "`bias` is `{bias}`; this version applies adapters without biases"
            ));
        }
        let rank = whole(&value["r"]).filter(|r| (1..=1 << 16).contains(r));
        let number = |key: &str| value[key].as_f64().filter(|x| x.is_finite());
        Ok(Self {
            base: value["base_model_name_or_path"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            revision: value["revision"].as_str().map(str::to_owned),
            rank: rank.ok_or("`r` is not a rank")?,
            alpha: number("lora_alpha").ok_or("`lora_alpha` is not a number")? as f32,
            rslora: is_set("use_rslora"),
            dropout: number("lora_dropout").unwrap_or(0.0) as f32,
            targets: match value.get("target_modules") {
                Some(Value::Array(all)) => all
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                Some(Value::String(one)) => vec![one.clone()],
                _ => Vec::new(),
            },
        })
    }
}

/// An adapter read from a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// Its configuration.
    pub config: AdapterConfig,
    /// Factors by their names in memory, and matrices that replace those of the base.
    pub weights: Weights,
}

impl Adapter {
    /// Reads an adapter folder.
    ///
    /// # Errors
    /// Names the file and the part of it that is not plain LoRA.
    pub fn read(dir: &Path) -> Result<Self, ModelError> {
        let path = dir.join(ADAPTER_CONFIG);
        let config = AdapterConfig::from_json(&read_json(&path)?)
            .map_err(|message| ModelError::json(&path, message))?;
        let file = dir.join(ADAPTER_WEIGHTS);
        if !file.exists() {
            return Err(mistaken::without_weights(dir, ADAPTER_WEIGHTS));
        }
        let mut weights = Weights::default();
        for (name, tensor) in Weights::read(&file)?.iter() {
            let stem = name.strip_prefix(PREFIX).unwrap_or(name);
            let ours = FACTORS
                .iter()
                .find_map(|(ours, theirs)| Some(format!("{}{ours}", stem.strip_suffix(theirs)?)))
                .or_else(|| REPLACED.contains(&stem).then(|| stem.to_owned()));
            let Some(ours) = ours else {
                let message = format!("`{name}` is not a LoRA factor");
                return Err(ModelError::weights(&file, message));
            };
            weights.insert(ours, tensor.clone());
        }
        if weights.is_empty() {
            return Err(ModelError::weights(&file, "contains no factors"));
        }
        Ok(Self { config, weights })
    }

    /// Checks that it can be applied to a `base` and that a model `whole` comes of it, without the
    /// base's weights.
    ///
    /// # Errors
    /// Those of [`Adapter::apply`], and when a replaced matrix has the wrong shape.
    pub(crate) fn check(&self, base: &ModelConfig, whole: &ModelConfig) -> Result<(), ModelError> {
        let mut shapes: BTreeMap<String, Vec<usize>> = base.tensors().into_iter().collect();
        for name in REPLACED {
            if let Some(tensor) = self.weights.find(name) {
                shapes.insert(name.to_owned(), tensor.shape.clone());
            }
        }
        for (target, factors) in pairs(&self.weights)? {
            let shape = shapes
                .get(&target)
                .ok_or_else(|| ModelError::tensor(&target, NOT_IN_BASE))?;
            check_factors(&target, shape, factors)?;
        }
        for (name, expected) in whole.tensors() {
            let found = shapes
                .get(&name)
                .ok_or_else(|| ModelError::tensor(&name, "is missing"))?;
            if *found != expected {
                return Err(ModelError::shape(&name, found, &expected));
            }
        }
        Ok(())
    }

    /// Adds the corrections to the base's tensors.
    ///
    /// # Errors
    /// When a factor has no matrix in the base, is unpaired or has the wrong shape.
    pub fn apply(&self, base: &mut Weights) -> Result<(), ModelError> {
        for name in REPLACED {
            if let Some(tensor) = self.weights.find(name) {
                base.insert(name, tensor.clone());
            }
        }
        merge(base, &self.weights, self.config.scale())
    }
}

/// Adds the product of every pair of factors, times `scale`, to its matrix.
///
/// # Errors
/// When a factor has no matrix, is unpaired or has the wrong shape.
pub fn merge(base: &mut Weights, factors: &Weights, scale: f32) -> Result<(), ModelError> {
    for (target, [a, b]) in pairs(factors)? {
        let mut matrix = base
            .take(&target)
            .ok_or_else(|| ModelError::tensor(&target, NOT_IN_BASE))?;
        correct(&mut matrix, &target, a, b, scale)?;
        base.insert(target, matrix);
    }
    Ok(())
}

/// The pairs of factors `a` and `b`, each with the name of its matrix. Skips other tensors.
///
/// # Errors
/// When a factor is unpaired.
fn pairs(factors: &Weights) -> Result<Vec<(String, [&Tensor; 2])>, ModelError> {
    let ends = FACTORS.map(|(ours, _)| ours);
    let stem = |name| ends.iter().find_map(|end| str::strip_suffix(name, end));
    let stems: BTreeSet<&str> = factors.iter().filter_map(|(name, _)| stem(name)).collect();
    let factor = |name: String| {
        let found = factors.find(&name);
        found.ok_or_else(|| ModelError::tensor(&name, "is missing"))
    };
    let pair = |stem| {
        let [a, b] = ends.map(|end| factor(format!("{stem}{end}")));
        Ok((format!("{stem}.weight"), [a?, b?]))
    };
    stems.into_iter().map(pair).collect()
}

/// Checks that the factors `a` and `b` have the shapes for the matrix called `target`. Returns the
/// sizes of its input and of its rank.
///
/// # Errors
/// When a factor has the wrong shape.
fn check_factors(
    target: &str,
    shape: &[usize],
    [a, b]: [&Tensor; 2],
) -> Result<(usize, usize), ModelError> {
    let [out, input] = shape[..] else {
        return Err(ModelError::tensor(target, "is not a matrix"));
    };
    let stem = target.strip_suffix(".weight").unwrap_or(target);
    let rank = a.shape.first().copied().unwrap_or(0);
    let expected = [(a, [rank, input]), (b, [out, rank])];
    for ((end, _), (factor, shape)) in FACTORS.iter().zip(expected) {
        if factor.shape != shape {
            let name = format!("{stem}{end}");
            return Err(ModelError::shape(&name, &factor.shape, &shape));
        }
    }
    Ok((input, rank))
}

/// Adds the product of the factors `a` and `b`, times `scale`, to the matrix called `target`.
///
/// # Errors
/// When a factor has the wrong shape.
pub fn correct(
    matrix: &mut Tensor,
    target: &str,
    a: &Tensor,
    b: &Tensor,
    scale: f32,
) -> Result<(), ModelError> {
    let (input, rank) = check_factors(target, &matrix.shape, [a, b])?;
    let rows = matrix.data.chunks_exact_mut(input.max(1));
    for (row, b) in rows.zip(b.data.chunks_exact(rank.max(1))) {
        for (b, a) in b.iter().zip(a.data.chunks_exact(input.max(1))) {
            row.iter_mut().zip(a).for_each(|(w, a)| *w += scale * b * a);
        }
    }
    Ok(())
}

/// Resizes the matrix `name` to `rows` rows. Initialises rows from `from` on with the mean of the
/// rows before, which favours no token.
///
/// # Errors
/// When the matrix has fewer than `from` rows.
pub fn grow_rows(
    weights: &mut Weights,
    name: &str,
    from: usize,
    rows: usize,
) -> Result<(), ModelError> {
    let Some(mut tensor) = weights.take(name) else {
        return Ok(());
    };
    if let [_, width] = tensor.shape[..] {
        tensor.data.truncate(from * width);
        let mut mean = vec![0.0_f64; width];
        for row in tensor.data.chunks_exact(width) {
            mean.iter_mut()
                .zip(row)
                .for_each(|(sum, x)| *sum += f64::from(*x) / from as f64);
        }
        for _ in from..rows {
            tensor.data.extend(mean.iter().map(|x| *x as f32));
        }
        tensor = Tensor::new(name, vec![rows, width], tensor.data)?;
    }
    weights.insert(name, tensor);
    Ok(())
}

/// The folder of the base of the adapter in this folder; `None` if it is not an adapter, or its base is
/// not found.
#[must_use]
pub fn base_of(adapter: &Path) -> Option<PathBuf> {
    let config = read_json(&adapter.join(ADAPTER_CONFIG)).ok()?;
    let config = AdapterConfig::from_json(&config).ok()?;
    let info = KgAgentInfo::read(adapter).ok()?;
    base_folder(adapter, &config, &info).ok()
}

/// Writes the files of an adapter into a staged folder: the factors in `weights` and the embedding,
/// if it is there. Skips other tensors. The tokenizer with its chat template is written too: it has
/// tokens that the base lacks, and PEFT resizes the base to it.
///
/// # Errors
/// When a file cannot be written.
pub fn write_adapter_into(
    staged: &StagedFolder,
    adapter: &AdapterConfig,
    (tokenizer, positions): (&Tokenizer, usize),
    info: &KgAgentInfo,
    mut weights: Weights,
) -> Result<(), ModelError> {
    let mut out = Weights::default();
    let names: Vec<String> = weights.iter().map(|(name, _)| name.to_owned()).collect();
    for name in &names {
        let stored = FACTORS.iter().find_map(|(ours, theirs)| {
            let stem = name.strip_suffix(ours)?;
            Some(format!("{PREFIX}{stem}{theirs}"))
        });
        let replaced = || {
            REPLACED
                .contains(&name.as_str())
                .then(|| format!("{PREFIX}{name}"))
        };
        if let (Some(stored), Some(tensor)) = (stored.or_else(replaced), weights.take(name)) {
            out.insert(stored, tensor);
        }
    }
    let config = json!({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": adapter.base, "revision": adapter.revision, "r": adapter.rank,
        "lora_alpha": adapter.alpha, "lora_dropout": adapter.dropout, "use_rslora": adapter.rslora, "bias": "none",
        "target_modules": adapter.targets, "fan_in_fan_out": false, "inference_mode": true, "init_lora_weights": true, "modules_to_save": null,
    });
    staged.file(ADAPTER_CONFIG, &pretty(&config))?;
    staged.file(TOKENIZER, &tokenizer.to_bytes()?)?;
    staged.file(TOKENIZER_CONFIG, &pretty(&tokenizer.config_json(positions)))?;
    let notes = serde_json::to_value(info).unwrap_or_default();
    staged.file(INFO, &pretty(&notes))?;
    out.write_into(staged, ADAPTER_WEIGHTS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize], from: f32) -> Tensor {
        let n: usize = shape.iter().product();
        Tensor {
            shape: shape.to_vec(),
            data: (0..n).map(|i| from + i as f32).collect(),
        }
    }

    #[test]
    fn factors_are_multiplied_out_and_added() {
        let mut base = Weights::default();
        base.insert("m.q_proj.weight", tensor(&[2, 3], 0.0));
        let mut factors = Weights::default();
        factors.insert("m.q_proj.lora_a", tensor(&[1, 3], 1.0));
        factors.insert("m.q_proj.lora_b", tensor(&[2, 1], 10.0));
        merge(&mut base, &factors, 0.5).unwrap();
        // row o, column i: old + 0.5 * b[o] * a[i]
        assert_eq!(
            base.find("m.q_proj.weight").unwrap().data,
            [5.0, 11.0, 17.0, 8.5, 15.0, 21.5]
        );
        factors.insert("m.q_proj.lora_b", tensor(&[3, 1], 0.0));
        assert!(
            merge(&mut base.clone(), &factors, 1.0)
                .unwrap_err()
                .to_string()
                .contains("lora_b")
        );
        let _ = factors.take("m.q_proj.lora_a");
        assert!(
            merge(&mut base, &factors, 1.0)
                .unwrap_err()
                .to_string()
                .contains("lora_a")
        );
    }

    #[test]
    fn a_check_without_weights_finds_what_applying_finds() {
        let base = crate::Preset::Tiny.config(300);
        let (rows, width) = (base.vocab_size, base.hidden_size);
        let config = json!({"peft_type": "LORA", "r": 1, "lora_alpha": 1});
        let mut good = Adapter {
            config: AdapterConfig::from_json(&config).unwrap(),
            weights: Weights::default(),
        };
        let set = |adapter: &Adapter, name: &str, shape: &[usize]| {
            let mut changed = adapter.clone();
            changed.weights.insert(name, tensor(shape, 0.0));
            changed
        };
        let shapes: BTreeMap<_, _> = base.tensors().into_iter().collect();
        let matrix = &shapes["model.layers.0.self_attn.q_proj.weight"];
        let (stem, table) = ("model.layers.0.self_attn.q_proj", REPLACED[0]);
        let (a, b) = (format!("{stem}.lora_a"), format!("{stem}.lora_b"));
        good = set(&good, &a, &[1, matrix[1]]);
        let unpaired = good.clone();
        good = set(&good, &b, &[matrix[0], 1]);
        good = set(&good, table, &[rows, width]);
        good.check(&base, &base).unwrap();
        for (wrong, says) in [
            (unpaired, "lora_b"),
            (set(&good, &a, &[1, matrix[1] + 1]), "lora_a"),
            (set(&good, &b, &[matrix[0], 2]), "lora_b"),
            (set(&good, "model.other.lora_a", &[1, 1]), "lora_b"),
            (set(&good, table, &[rows, width + 1]), table),
            (set(&good, table, &[rows - 1, width]), table),
        ] {
            let error = wrong.check(&base, &base).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn other_kinds_of_adapters_are_rejected_by_name() {
        let good = json!({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "use_rslora": true});
        let config = AdapterConfig::from_json(&good).unwrap();
        assert_eq!((config.rank, config.scale()), (4, 4.0));
        for (key, value) in [
            ("peft_type", json!("IA3")),
            ("use_dora", json!(true)),
            ("rank_pattern", json!({"a": 3})),
            ("r", json!(0)),
            ("lora_alpha", json!(null)),
            ("bias", json!("all")),
        ] {
            let mut wrong = good.clone();
            wrong[key] = value;
            assert!(
                AdapterConfig::from_json(&wrong).unwrap_err().contains(key),
                "{key}"
            );
        }
    }

    #[test]
    fn new_rows_are_the_mean_of_the_old_ones() {
        let mut weights = Weights::default();
        weights.insert("e", tensor(&[4, 2], 0.0));
        grow_rows(&mut weights, "e", 3, 5).unwrap();
        assert_eq!(weights.find("e").unwrap().shape, [5, 2]);
        assert_eq!(
            weights.find("e").unwrap().data[4..],
            [4.0, 5.0, 2.0, 3.0, 2.0, 3.0]
        );
    }
}
