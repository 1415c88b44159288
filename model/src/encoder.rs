//! Folders of sentence encoders: BERT-family models with absolute positions and a pooling, as sentence-transformers lays them out.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::folder::read_json;
use crate::{ModelError, Tokenizer, Weights, digest};

/// How token vectors become the vector of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The first token's vector.
    Cls,
}

/// The activation between the two layers of a feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x·Φ(x), exactly.
    Gelu,
    /// x·Φ(x) with the tanh approximation.
    GeluTanh,
    /// max(x, 0).
    Relu,
}

/// The shape of an encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Rows of the word embedding.
    pub vocab_size: usize,
    /// Width of a token vector, and of the result.
    pub hidden_size: usize,
    /// Width inside a feed-forward block.
    pub intermediate_size: usize,
    /// Layers.
    pub layers: usize,
    /// Attention heads; they share the width evenly.
    pub heads: usize,
    /// Rows of the position embedding.
    pub positions: usize,
    /// Position of the first token: 0 in BERT, behind the padding id in RoBERTa.
    pub first_position: usize,
    /// Rows of the token type embedding; row 0 is used.
    pub token_types: usize,
    /// Added to variances.
    pub layer_norm_eps: f32,
    /// The activation.
    pub activation: Activation,
    /// The pooling.
    pub pooling: Pooling,
    /// Tokens of a text, the marks at both ends included; longer texts are cut.
    pub max_tokens: usize,
    /// What stands before every tensor name (`bert.`, `roberta.`, or nothing).
    pub prefix: String,
}

/// Model types that this program runs: all are BERT with absolute positions.
const TYPES: [&str; 4] = ["bert", "roberta", "xlm-roberta", "camembert"];

/// An encoder folder, weights aside.
#[derive(Clone, Debug)]
pub struct EncoderFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Its shape; the prefix is known once the weights are read.
    pub config: EncoderConfig,
    /// Its tokenizer, without the cutting and padding that the file may ask for.
    pub tokenizer: Tokenizer,
    /// SHA-256 over everything that decides what a text's vector is.
    pub digest: String,
}

impl EncoderFolder {
    /// Opens a folder: configuration, pooling and tokenizer are read and checked, and all files are hashed.
    ///
    /// # Errors
    /// Names the file that is missing or wrong, or the part of the configuration that this program cannot run.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let config = config(path)?;
        let tokenizer = Tokenizer::from_file_whole(&path.join("tokenizer.json"))?;
        let marks = tokenizer.encode_with_marks("")?.len();
        if config.max_tokens < marks + 1 {
            return Err(ModelError::Config(format!(
                "{} tokens a text leave no room beside {marks} marks",
                config.max_tokens
            )));
        }
        let mut parts = vec![format!("{config:?}").into_bytes()];
        for name in ["tokenizer.json", "model.safetensors"] {
            let file = path.join(name);
            parts.push(fs::read(&file).map_err(ModelError::io(&file))?);
        }
        let digest = digest::sha256_hex(parts.iter().map(Vec::as_slice));
        Ok(Self {
            path: path.to_path_buf(),
            config,
            tokenizer,
            digest,
        })
    }

    /// Reads the weights; every tensor is there with its shape. Sets the prefix of the configuration.
    ///
    /// # Errors
    /// Names the damaged file or the missing tensor.
    pub fn weights(&mut self) -> Result<Weights, ModelError> {
        let weights = Weights::read_folder(&self.path)?;
        let name = "embeddings.word_embeddings.weight";
        let found = weights
            .iter()
            .find_map(|(tensor, _)| tensor.strip_suffix(name));
        found
            .unwrap_or_default()
            .clone_into(&mut self.config.prefix);
        for (name, shape) in self.config.tensors() {
            weights.get(&name, &shape)?;
        }
        Ok(weights)
    }
}

impl EncoderConfig {
    /// Names and shapes of all tensors that are used.
    #[must_use]
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let mut all = Vec::new();
        let mut add = |name: String, shape: &[usize]| {
            all.push((format!("{}{name}", self.prefix), shape.to_vec()))
        };
        add(
            "embeddings.word_embeddings.weight".to_owned(),
            &[self.vocab_size, hidden],
        );
        add(
            "embeddings.position_embeddings.weight".to_owned(),
            &[self.positions, hidden],
        );
        add(
            "embeddings.token_type_embeddings.weight".to_owned(),
            &[self.token_types, hidden],
        );
        for end in ["weight", "bias"] {
            add(format!("embeddings.LayerNorm.{end}"), &[hidden]);
        }
        for layer in 0..self.layers {
            let mut linear = |name: &str, outputs: usize, inputs: usize| {
                add(
                    format!("encoder.layer.{layer}.{name}.weight"),
                    &[outputs, inputs],
                );
                add(format!("encoder.layer.{layer}.{name}.bias"), &[outputs]);
            };
            for name in ["query", "key", "value"] {
                linear(&format!("attention.self.{name}"), hidden, hidden);
            }
            linear("attention.output.dense", hidden, hidden);
            linear("intermediate.dense", inner, hidden);
            linear("output.dense", hidden, inner);
            for name in ["attention.output", "output"] {
                for end in ["weight", "bias"] {
                    add(
                        format!("encoder.layer.{layer}.{name}.LayerNorm.{end}"),
                        &[hidden],
                    );
                }
            }
        }
        all
    }
}

fn config(dir: &Path) -> Result<EncoderConfig, ModelError> {
    let path = dir.join("config.json");
    let json = read_json(&path)?;
    let wrong = |message: String| ModelError::Json {
        path: path.clone(),
        message,
    };
    let kind = json
        .get("model_type")
        .and_then(Value::as_str)
        .unwrap_or("(none)");
    if !TYPES.contains(&kind) {
        return Err(wrong(format!(
            "`model_type` is `{kind}`; a sentence encoder is one of {}",
            TYPES.join(", ")
        )));
    }
    let positions = json
        .get("position_embedding_type")
        .and_then(Value::as_str)
        .unwrap_or("absolute");
    if positions != "absolute" {
        return Err(wrong(format!(
            "`position_embedding_type` is `{positions}`; only absolute positions can be run"
        )));
    }
    let size = |name: &str| {
        let value = json
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|value| usize::try_from(value).ok());
        value
            .filter(|value| (1..=MOST).contains(value))
            .ok_or_else(|| wrong(format!("`{name}` must be a number from 1 to {MOST}")))
    };
    let activation = match json
        .get("hidden_act")
        .and_then(Value::as_str)
        .unwrap_or("gelu")
    {
        "gelu" => Activation::Gelu,
        "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Activation::GeluTanh,
        "relu" => Activation::Relu,
        other => {
            return Err(wrong(format!(
                "`hidden_act` is `{other}`; gelu, gelu_new and relu can be run"
            )));
        }
    };
    let padding = json
        .get("pad_token_id")
        .and_then(Value::as_u64)
        .and_then(|id| usize::try_from(id).ok())
        .unwrap_or(0);
    let first_position = if kind == "bert" { 0 } else { padding + 1 };
    let (hidden_size, heads, rows) = (
        size("hidden_size")?,
        size("num_attention_heads")?,
        size("max_position_embeddings")?,
    );
    if hidden_size % heads != 0 || first_position >= rows {
        return Err(wrong(format!(
            "{hidden_size} values do not divide into {heads} heads, or {rows} positions are too few"
        )));
    }
    let mut config = EncoderConfig {
        vocab_size: size("vocab_size")?,
        hidden_size,
        intermediate_size: size("intermediate_size")?,
        layers: size("num_hidden_layers")?,
        heads,
        positions: rows,
        first_position,
        token_types: size("type_vocab_size")?,
        layer_norm_eps: json
            .get("layer_norm_eps")
            .and_then(Value::as_f64)
            .unwrap_or(1e-12) as f32,
        activation,
        pooling: Pooling::Mean,
        max_tokens: rows - first_position,
        prefix: String::new(),
    };
    sentence_parts(dir, &mut config)?;
    Ok(config)
}

/// Largest size believed: the largest vocabulary published has 250,002 rows.
const MOST: usize = 1 << 20;

/// What sentence-transformers says beside the model: parts, pooling, length.
fn sentence_parts(dir: &Path, config: &mut EncoderConfig) -> Result<(), ModelError> {
    let modules = dir.join("modules.json");
    if modules.exists() {
        let json = read_json(&modules)?;
        let types = json
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|module| module.get("type")?.as_str());
        for kind in types {
            // The result is normalised in any case; a further layer would change it.
            if !["Transformer", "Pooling", "Normalize"]
                .iter()
                .any(|known| kind.ends_with(known))
            {
                let message = format!(
                    "a part of type `{kind}` cannot be run; Transformer, Pooling and Normalize can"
                );
                return Err(ModelError::Json {
                    path: modules,
                    message,
                });
            }
        }
    }
    let pooling = dir.join("1_Pooling").join("config.json");
    if pooling.exists() {
        let json = read_json(&pooling)?;
        let named = json.get("pooling_mode").and_then(Value::as_str);
        let modes = json.as_object().into_iter().flatten();
        let on = modes
            .filter(|(name, value)| {
                name.starts_with("pooling_mode_") && value.as_bool() == Some(true)
            })
            .map(|(name, _)| name.as_str());
        let all: Vec<&str> = named.into_iter().chain(on).collect();
        config.pooling = match all[..] {
            ["mean" | "pooling_mode_mean_tokens"] => Pooling::Mean,
            ["cls" | "pooling_mode_cls_token"] => Pooling::Cls,
            _ => {
                let message = format!(
                    "pooling by [{}]; exactly one of mean and cls can be run",
                    all.join(", ")
                );
                return Err(ModelError::Json {
                    path: pooling,
                    message,
                });
            }
        };
    }
    let sentence = dir.join("sentence_bert_config.json");
    if sentence.exists() {
        let json = read_json(&sentence)?;
        if let Some(most) = json
            .get("max_seq_length")
            .and_then(Value::as_u64)
            .and_then(|most| usize::try_from(most).ok())
        {
            config.max_tokens = config.max_tokens.min(most);
        }
    }
    Ok(())
}
