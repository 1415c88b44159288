//! What the metadata says as a [`ModelConfig`], and where a tensor of Hugging Face's names stands in the file.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::read::{GgufFile, Value};
use super::vocabulary;
use crate::rope::{Llama3Scaling, Rope, RopeScaling};
use crate::source::{Stored, WeightSource};
use crate::{Family, KgAgentInfo, ModelConfig, ModelError, Tokenizer};

/// Our own key: the configuration as `config.json` has it. Metadata alone cannot say everything (which scaling made a table of factors).
pub(super) const CONFIG: &str = "kgagent.config";
/// Our own key: what `kgagent.json` holds.
pub(super) const INFO: &str = "kgagent.info";
/// The key that GGUF reserves for a whole `tokenizer.json`.
pub(super) const TOKENIZER: &str = "tokenizer.huggingface.json";
/// The tensor with the factors by which frequencies are divided.
pub(super) const FACTORS: &str = "rope_freqs.weight";

/// The parts of a layer: our name, the file's.
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

/// The name in the file of a tensor that Hugging Face calls `name`.
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

/// `general.architecture` of a family. llama.cpp runs Mistral's models as `llama`.
pub(super) fn architecture(family: Family) -> &'static str {
    match family {
        Family::Llama | Family::Mistral => "llama",
        Family::Qwen2 => "qwen2",
        Family::Qwen3 => "qwen3",
    }
}

/// Heads whose rows are interleaved in the file: llama.cpp rotates neighbouring pairs in its `llama` architecture and halves in all others.
pub(super) fn interleaved_heads(config: &ModelConfig, name: &str) -> Option<usize> {
    if architecture(config.family) != "llama" {
        return None;
    }
    if name.contains(".self_attn.q_proj.") {
        Some(config.num_attention_heads)
    } else if name.contains(".self_attn.k_proj.") {
        Some(config.num_key_value_heads)
    } else {
        None
    }
}

/// Where row `row` of a half-split matrix stands in an interleaved one with heads of `dim` rows.
pub(super) fn interleaved(row: usize, dim: usize) -> usize {
    let (head, within) = (row / dim, row % dim);
    head * dim + 2 * (within % (dim / 2)) + within / (dim / 2)
}

/// A GGUF file as a model: everything that a model folder has.
#[derive(Debug)]
pub struct GgufModel {
    file: GgufFile,
    /// Its shape.
    pub config: ModelConfig,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// What we know about it; empty for a model that is not ours.
    pub info: KgAgentInfo,
}

impl GgufModel {
    /// Opens a file: header, configuration and tokenizer are read and checked, weights are not read yet. The tokenizer is the
    /// `tokenizer.json` inside, as our exports have it, the one beside the file, or what llama.cpp's own keys describe.
    ///
    /// # Errors
    /// Names what is missing, damaged or of a kind that this version does not run.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file = GgufFile::open(path)?;
        let wrong = |message: String| ModelError::Weights {
            path: path.to_path_buf(),
            message,
        };
        let json = |key: &str| match file.metadata.get(key) {
            Some(Value::Text(text)) => serde_json::from_str::<Json>(text)
                .map(Some)
                .map_err(|error| wrong(format!("metadata `{key}`: {error}"))),
            Some(_) => Err(wrong(format!("metadata `{key}` is no text"))),
            None => Ok(None),
        };
        let config = match json(CONFIG)? {
            Some(config) => ModelConfig::from_json(&config)?,
            None => config_of(&file)?,
        };
        let info = json(INFO)?
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| wrong(format!("metadata `{INFO}`: {error}")))?;
        let beside = path
            .parent()
            .unwrap_or(Path::new("."))
            .join("tokenizer.json");
        let tokenizer = match file.metadata.get(TOKENIZER) {
            Some(Value::Text(text)) => Tokenizer::from_bytes(text.as_bytes())?,
            _ if beside.is_file() => Tokenizer::from_file(&beside)?,
            _ => vocabulary::read(&file.metadata)
                .map_err(|message| wrong(format!("{message}; put the tokenizer.json of the model it was made from beside the file")))?,
        };
        let model = Self {
            file,
            config,
            tokenizer,
            info: info.unwrap_or_default(),
        };
        for (name, shape) in model.config.tensors() {
            let found = model.open_named(&name)?.shape;
            if found != shape {
                let message = format!("has shape {found:?}, the configuration asks for {shape:?}");
                return Err(ModelError::Tensor { name, message });
            }
        }
        Ok(model)
    }

    /// The container.
    #[must_use]
    pub fn file(&self) -> &GgufFile {
        &self.file
    }

    fn open_named(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let missing = || ModelError::Tensor {
            name: name.to_owned(),
            message: format!("is missing in {}", self.file.path().display()),
        };
        let own = file_name(name).ok_or_else(missing)?;
        let info = self.file.tensors.get(&own).ok_or_else(missing)?;
        let vector = info.shape.len() == 1;
        let turned = interleaved_heads(&self.config, name).map(|_| self.config.head_dim);
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| match turned {
            None => self.file.read_rows(&own, first, count, out),
            Some(dim) if vector => {
                let (begin, size) = (out.len(), info.format.block_bytes());
                self.file.read_rows(&own, first, count, out)?;
                let stored = out[begin..].to_vec();
                for (i, place) in out[begin..].chunks_exact_mut(size).enumerate() {
                    place.copy_from_slice(&stored[interleaved(i, dim) * size..][..size]);
                }
                Ok(())
            }
            Some(dim) => (first..first + count)
                .try_for_each(|row| self.file.read_rows(&own, interleaved(row, dim), 1, out)),
        };
        Ok(Stored::new(info.format, info.shape.clone(), Box::new(read)))
    }
}

impl WeightSource for GgufModel {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        self.open_named(name)
    }
}

/// The configuration that the metadata of somebody else's file describes.
fn config_of(file: &GgufFile) -> Result<ModelConfig, ModelError> {
    let wrong = |message: String| ModelError::Weights {
        path: file.path().to_path_buf(),
        message,
    };
    let arch = match file.metadata.get("general.architecture") {
        Some(Value::Text(arch)) => arch.as_str(),
        _ => return Err(wrong("`general.architecture` is missing".to_owned())),
    };
    if !matches!(arch, "llama" | "qwen2" | "qwen3") {
        return Err(wrong(format!(
            "its architecture is `{arch}`; this version runs llama, qwen2 and qwen3"
        )));
    }
    let get = |key: &str| file.metadata.get(&format!("{arch}.{key}"));
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
        match get(key) {
            Some(Value::Unsigned(n)) => map.insert(ours.to_owned(), json!(n)),
            Some(Value::Float(x)) => map.insert(ours.to_owned(), json!(x)),
            None => None,
            Some(_) => {
                return Err(wrong(format!(
                    "`{arch}.{key}` is no single number; this version runs models whose layers are alike"
                )));
            }
        };
    }
    if get("expert_count").is_some_and(|n| *n != Value::Unsigned(0)) {
        return Err(wrong(
            "it is a mixture of experts, which this version does not run".to_owned(),
        ));
    }
    let table = file
        .tensors
        .get("token_embd.weight")
        .ok_or_else(|| wrong("there is no tensor `token_embd.weight`".to_owned()))?;
    map.insert("vocab_size".to_owned(), json!(table.rows()));
    map.insert(
        "tie_word_embeddings".to_owned(),
        json!(!file.tensors.contains_key("output.weight")),
    );
    map.insert(
        "attention_bias".to_owned(),
        json!(file.tensors.contains_key("blk.0.attn_q.bias")),
    );
    map.insert(
        "mlp_bias".to_owned(),
        json!(file.tensors.contains_key("blk.0.ffn_gate.bias")),
    );
    if let Some(Value::Unsigned(id)) = file.metadata.get("tokenizer.ggml.eos_token_id") {
        map.insert("eos_token_id".to_owned(), json!(id));
    }
    let kind = match get("rope.scaling.type") {
        Some(Value::Text(kind)) if kind != "none" => Some(kind.as_str()),
        _ => None,
    };
    if let Some(kind) = kind {
        let mut scaling = json!({ "rope_type": kind });
        for (ours, key) in [
            ("factor", "factor"),
            (
                "original_max_position_embeddings",
                "original_context_length",
            ),
        ] {
            match get(&format!("rope.scaling.{key}")) {
                Some(Value::Float(x)) => scaling[ours] = json!(x),
                Some(Value::Unsigned(n)) => scaling[ours] = json!(n),
                _ => {}
            }
        }
        map.insert("rope_scaling".to_owned(), scaling);
    }
    let mut config = ModelConfig::from_json(&Json::Object(map))?;
    if file.tensors.contains_key(FACTORS) {
        config.rope = rope_of_factors(file, &config)?;
    }
    Ok(config)
}

/// Llama 3's scaling, recovered from the table of factors that stands for it in a file.
fn rope_of_factors(file: &GgufFile, config: &ModelConfig) -> Result<Rope, ModelError> {
    let info = &file.tensors[FACTORS];
    let mut bytes = Vec::new();
    file.read_rows(FACTORS, 0, info.rows(), &mut bytes)?;
    let mut factors = vec![0.0f32; info.width()];
    super::blocks::dequantise(info.format, &bytes, &mut factors);
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
    let ours = factors_of(&rope, config.head_dim / 2);
    if ours.len() == factors.len()
        && ours
            .iter()
            .zip(&factors)
            .all(|(a, b)| (a - b).abs() <= 1e-3 * b.abs())
    {
        return Ok(rope);
    }
    let message =
        "are not those of Llama 3's scaling, the only ones that this version knows".to_owned();
    Err(ModelError::Tensor {
        name: FACTORS.to_owned(),
        message,
    })
}

/// What each frequency is divided by.
pub(super) fn factors_of(rope: &Rope, pairs: usize) -> Vec<f32> {
    Rope::plain(rope.theta)
        .frequencies(pairs)
        .iter()
        .zip(rope.frequencies(pairs))
        .map(|(plain, scaled)| plain / scaled)
        .collect()
}
