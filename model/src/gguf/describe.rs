//! Metadata as a [`ModelConfig`], and tensors by their Hugging Face names.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::metadata::GgufValue;
use super::read::{GgufFile, shown};
use super::vocabulary;
use crate::blocks::{self, BlockFormat, StoredFormat};
use crate::rope::{Llama3Scaling, Rope, RopeScaling};
use crate::source::{Stored, WeightSource};
use crate::{Family, KgAgentInfo, ModelConfig, ModelError, Tokenizer, files};

/// A key of this program: the content of `config.json`. Other metadata is not enough: it does not
/// say which scaling produced a table of factors.
pub(super) const CONFIG: &str = "kgagent.config";
/// A key of this program: the content of `kgagent.json`.
pub(super) const INFO: &str = "kgagent.info";
/// GGUF's key for the content of `tokenizer.json`.
pub(super) const TOKENIZER: &str = "tokenizer.huggingface.json";
/// The tensor of divisors of the rotary frequencies.
pub(super) const FACTORS: &str = "rope_freqs.weight";

/// The parts of a layer: Hugging Face name, GGUF name.
const PARTS: [(&str, &str); 11] = [
    ("input_layernorm", "attn_norm"),
    ("post_attention_layernorm", "ffn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

/// The GGUF name of the tensor with the Hugging Face name `name`.
pub(super) fn file_name(name: &str) -> Option<String> {
    match name {
        "model.embed_tokens.weight" => return Some("token_embd.weight".to_owned()),
        "model.norm.weight" => return Some("output_norm.weight".to_owned()),
        "lm_head.weight" => return Some("output.weight".to_owned()),
        _ => {}
    }
    let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (part, kind) = rest.rsplit_once('.')?;
    let (_, own) = PARTS.iter().find(|(ours, _)| *ours == part)?;
    Some(format!("blk.{layer}.{own}.{kind}"))
}

/// `general.architecture` of a family. llama.cpp treats Mistral models as `llama`.
pub(super) fn architecture(family: Family) -> &'static str {
    match family {
        Family::Llama | Family::Mistral => "llama",
        Family::Qwen2 => "qwen2",
        Family::Qwen3 => "qwen3",
    }
}

/// Whether the rows of each head are interleaved in the file: llama.cpp rotates neighbouring rows
/// in its `llama` architecture, and halves in all others.
pub(super) fn is_interleaved(config: &ModelConfig, name: &str) -> bool {
    let rotated = [".self_attn.q_proj.", ".self_attn.k_proj."];
    architecture(config.family) == "llama" && rotated.iter().any(|part| name.contains(part))
}

/// The row of an interleaved matrix with heads of `dim` rows that corresponds to `row` of a
/// half-split one.
pub(super) fn interleaved(row: usize, dim: usize) -> usize {
    let (head, within) = (row / dim, row % dim);
    head * dim + 2 * (within % (dim / 2)) + within / (dim / 2)
}

/// A GGUF file as a model, with everything that a model folder contains.
#[derive(Debug)]
pub struct GgufModel {
    file: GgufFile,
    /// Its configuration.
    pub config: ModelConfig,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// How it was trained; empty for a model that this program did not train.
    pub info: KgAgentInfo,
}

impl GgufModel {
    /// Opens a file: reads and checks header, configuration and tokenizer, but not the weights. The
    /// tokenizer is the `tokenizer.json` in the file (this program's exports have one), the one in
    /// the same folder, or the one that llama.cpp's keys describe, in this order.
    ///
    /// # Errors
    /// Names the missing, damaged or unsupported part.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file = GgufFile::open(path)?;
        let wrong = |message: String| ModelError::weights(path, message);
        let json = |key: &str| match file.metadata.get(key) {
            Some(GgufValue::Text(text)) => serde_json::from_str::<Json>(text)
                .map(Some)
                .map_err(|error| wrong(format!("metadata `{key}`: {error}"))),
            Some(_) => Err(wrong(format!("metadata `{key}` is not a text"))),
            None => Ok(None),
        };
        let config = match json(CONFIG)? {
            Some(config) => ModelConfig::from_json(&config)?,
            None => config_of(&file)?,
        };
        check_rotated(&file, &config)?;
        let info = json(INFO)?
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| wrong(format!("metadata `{INFO}`: {error}")))?;
        let sibling = path.with_file_name(files::TOKENIZER);
        let tokenizer = match file.metadata.get(TOKENIZER) {
            Some(GgufValue::Text(text)) => Tokenizer::from_bytes(text.as_bytes())?,
            _ if sibling.is_file() => Tokenizer::from_file(&sibling)?,
            _ => vocabulary::read(&file.metadata).map_err(|message| {
                wrong(format!(
                    "{message}; copy the original model's tokenizer.json into the folder of the file"
                ))
            })?,
        };
        let model = Self {
            file,
            config,
            tokenizer,
            info: info.unwrap_or_default(),
        };
        model.check_tensors()?;
        Ok(model)
    }

    /// Checks that the file has the configured tensors, and no others: a model with tensors that
    /// are not used would answer differently.
    fn check_tensors(&self) -> Result<(), ModelError> {
        let mut known = BTreeSet::from([FACTORS.to_owned(), "output.weight".to_owned()]);
        for (name, shape) in self.config.tensors() {
            let found = self.open(&name)?.shape;
            if found != shape {
                return Err(ModelError::shape(&name, &found, &shape));
            }
            known.extend(file_name(&name));
        }
        match self.file.tensors.keys().find(|name| !known.contains(*name)) {
            None => Ok(()),
            Some(name) => Err(ModelError::tensor(
                &shown(name),
                "is not a tensor of the model that the metadata describes",
            )),
        }
    }
}

impl GgufModel {
    /// The tensor `name`. With `exact`, formats that are held in half precision are read in single
    /// precision, in which they lose nothing.
    fn stored(&self, name: &str, exact: bool) -> Result<Stored<'_>, ModelError> {
        let path = self.file.path().display();
        let missing = || ModelError::tensor(name, format!("is missing in {path}"));
        let stored_name = file_name(name).ok_or_else(missing)?;
        let info = self.file.tensors.get(&stored_name).ok_or_else(missing)?;
        let (format, vector) = (info.format, info.shape.len() == 1);
        let held = if vector || (exact && !format.is_exact()) {
            BlockFormat::F32
        } else {
            format.held()
        };
        let dim = is_interleaved(&self.config, name).then_some(self.config.head_dim);
        let width = info.width();
        let rows = move |first: usize, count: usize, out: &mut Vec<u8>| {
            if StoredFormat::Held(held) == format {
                return self.file.read_rows(&stored_name, first, count, out);
            }
            let mut raw = Vec::new();
            self.file.read_rows(&stored_name, first, count, &mut raw)?;
            if held == BlockFormat::F32 {
                let mut values = vec![0.0; count * width];
                format.values(&raw, &mut values);
                blocks::quantise(held, &values, out);
            } else {
                format.hold(&raw, out);
            }
            Ok(())
        };
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| match dim {
            None => rows(first, count, out),
            Some(dim) if vector => {
                let begin = out.len();
                rows(first, count, out)?;
                let stored = out[begin..].to_vec();
                for (i, value) in out[begin..].as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    value.copy_from_slice(&stored[interleaved(i, dim) * 4..][..4]);
                }
                Ok(())
            }
            Some(dim) => {
                (first..first + count).try_for_each(|row| rows(interleaved(row, dim), 1, out))
            }
        };
        Ok(Stored::new(held, info.shape.clone(), Box::new(read)))
    }

    /// The weights with exactly the values of the file, for another file.
    pub fn exact(&self) -> impl WeightSource + '_ {
        ExactWeights(self)
    }
}

/// The weights in the formats in which the engine multiplies them and LoRA freezes them.
impl WeightSource for GgufModel {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        self.stored(name, false)
    }
}

struct ExactWeights<'a>(&'a GgufModel);

impl WeightSource for ExactWeights<'_> {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        self.0.stored(name, true)
    }
}

/// Rejects a file that rotates a part of each head only: the engine rotates whole heads.
fn check_rotated(file: &GgufFile, config: &ModelConfig) -> Result<(), ModelError> {
    let arch = architecture(config.family);
    let key = format!("{arch}.rope.dimension_count");
    match file.metadata.get(&key) {
        None => Ok(()),
        Some(GgufValue::Unsigned(n)) if *n == config.head_dim as u64 => Ok(()),
        Some(value) => Err(ModelError::weights(
            file.path(),
            format!(
                "`{key}` is {} and a head has {} dimensions; only whole heads can be rotated",
                number(value).map_or_else(|| "not a number".to_owned(), |n| n.to_string()),
                config.head_dim
            ),
        )),
    }
}

/// The configuration that the metadata describes.
fn config_of(file: &GgufFile) -> Result<ModelConfig, ModelError> {
    let wrong = |message: String| ModelError::weights(file.path(), message);
    let arch = match file.metadata.get("general.architecture") {
        Some(GgufValue::Text(arch)) => arch.as_str(),
        _ => return Err(wrong("`general.architecture` is missing".to_owned())),
    };
    if !matches!(arch, "llama" | "qwen2" | "qwen3") {
        return Err(wrong(format!(
            "its architecture is `{arch}`; supported are llama, qwen2 and qwen3"
        )));
    }
    let get = |key: &str| file.metadata.get(&format!("{arch}.{key}"));
    if get("expert_count").is_some_and(|n| *n != GgufValue::Unsigned(0)) {
        return Err(wrong("mixtures of experts are not supported".to_owned()));
    }
    let mut map = Map::new();
    map.insert("model_type".to_owned(), json!(arch));
    for (ours, key) in [
        ("hidden_size", "embedding_length"),
        ("intermediate_size", "feed_forward_length"),
        ("num_hidden_layers", "block_count"),
        ("num_attention_heads", "attention.head_count"),
        ("num_key_value_heads", "attention.head_count_kv"),
        ("head_dim", "attention.key_length"),
        ("max_position_embeddings", "context_length"),
        ("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
        ("rope_theta", "rope.freq_base"),
    ] {
        let Some(value) = get(key) else { continue };
        let number = number(value).ok_or_else(|| {
            wrong(format!(
                "`{arch}.{key}` is not a single number; all layers must have the same shape"
            ))
        })?;
        map.insert(ours.to_owned(), number);
    }
    let table = file
        .tensors
        .get("token_embd.weight")
        .ok_or_else(|| wrong("there is no tensor `token_embd.weight`".to_owned()))?;
    let has = |name: &str| file.tensors.contains_key(name);
    for (key, value) in [
        ("vocab_size", json!(table.rows())),
        ("tie_word_embeddings", json!(!has("output.weight"))),
        ("attention_bias", json!(has("blk.0.attn_q.bias"))),
        ("mlp_bias", json!(has("blk.0.ffn_gate.bias"))),
    ] {
        map.insert(key.to_owned(), value);
    }
    if let Some(GgufValue::Unsigned(id)) = file.metadata.get("tokenizer.ggml.eos_token_id") {
        map.insert("eos_token_id".to_owned(), json!(id));
    }
    if let Some(GgufValue::Text(kind)) = get("rope.scaling.type")
        && kind != "none"
    {
        let mut scaling = json!({ "rope_type": kind });
        for (ours, key) in [
            ("factor", "factor"),
            (
                "original_max_position_embeddings",
                "original_context_length",
            ),
        ] {
            if let Some(number) = get(&format!("rope.scaling.{key}")).and_then(number) {
                scaling[ours] = number;
            }
        }
        map.insert("rope_scaling".to_owned(), scaling);
    }
    let mut config = ModelConfig::from_json(&Json::Object(map))?;
    if has(FACTORS) {
        config.rope = rope_of_factors(file, &config)?;
    }
    Ok(config)
}

/// A single positive number as JSON.
fn number(value: &GgufValue) -> Option<Json> {
    match value {
        GgufValue::Unsigned(n) => Some(json!(n)),
        GgufValue::Float(x) => Some(json!(x)),
        _ => None,
    }
}

/// Llama 3's scaling, recovered from the table of divisors in the file.
fn rope_of_factors(file: &GgufFile, config: &ModelConfig) -> Result<Rope, ModelError> {
    let info = &file.tensors[FACTORS];
    let mut bytes = Vec::new();
    file.read_rows(FACTORS, 0, info.rows(), &mut bytes)?;
    let mut factors = vec![0.0f32; info.width()];
    info.format.values(&bytes, &mut factors);
    let largest = factors.iter().fold(1.0f32, |m, &f| m.max(f));
    let scaling = Llama3Scaling {
        factor: f64::from(largest),
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    };
    let rope = Rope {
        theta: config.rope.theta,
        scaling: RopeScaling::Llama3(scaling),
    };
    let expected = factors_of(&rope, config.head_dim / 2);
    let mut pairs = expected.iter().zip(&factors);
    if expected.len() == factors.len() && pairs.all(|(a, b)| (a - b).abs() <= 1e-3 * b.abs()) {
        return Ok(rope);
    }
    let message = "does not match Llama 3's scaling, the only supported one";
    Err(ModelError::tensor(FACTORS, message))
}

/// The divisor of each frequency.
pub(super) fn factors_of(rope: &Rope, pairs: usize) -> Vec<f32> {
    Rope::plain(rope.theta)
        .frequencies(pairs)
        .iter()
        .zip(rope.frequencies(pairs))
        .map(|(plain, scaled)| plain / scaled)
        .collect()
}
