//! Folders of sentence encoders: BERT-family models with absolute positions and a pooling, in the
//! layout of sentence-transformers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json::{read_json, whole};
use crate::{ModelError, Tokenizer, Weights, digest, files};

/// How to combine token vectors into the vector of a text.
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
    /// Position of the first token: 0 in BERT, the padding id plus one in RoBERTa.
    pub first_position: usize,
    /// Rows of the token type embedding; only row 0 is used.
    pub token_types: usize,
    /// Added to variances.
    pub layer_norm_eps: f32,
    /// The activation.
    pub activation: Activation,
    /// The pooling.
    pub pooling: Pooling,
    /// Limit of the tokens of a text, including the special tokens at both ends; longer texts are
    /// truncated.
    pub max_tokens: usize,
    /// Prefix of the tensor names (`bert.`, `roberta.`, or empty).
    pub prefix: String,
}

/// The supported model types; all are BERT with absolute positions.
const TYPES: [&str; 4] = ["bert", "roberta", "xlm-roberta", "camembert"];

/// An encoder folder, without its weights.
#[derive(Clone, Debug)]
pub struct EncoderFolder {
    /// Its path.
    pub path: PathBuf,
    /// Its configuration; the prefix is unknown until the weights are read.
    pub config: EncoderConfig,
    /// Its tokenizer, without truncation and padding.
    pub tokenizer: Tokenizer,
    /// SHA-256 of everything that affects the vector of a text.
    pub digest: String,
    /// The content of the small file of weights, if the folder has that instead of the usual one.
    small: Option<Vec<u8>>,
}

impl EncoderFolder {
    /// Opens a folder: reads and checks configuration, pooling and tokenizer, and hashes all files.
    ///
    /// # Errors
    /// Names the missing or invalid file, or the unsupported part of the configuration.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let config = config(path)?;
        let tokenizer = Tokenizer::from_file(&path.join(files::TOKENIZER))?;
        let special = tokenizer.encode_with_special("")?.len();
        if config.max_tokens < special + 1 {
            let most = config.max_tokens;
            return Err(ModelError::Config(format!(
                "the limit of {most} tokens leaves no room for text next to {special} special tokens"
            )));
        }
        let read = |name: &str| {
            let file = path.join(name);
            fs::read(&file).map_err(ModelError::io(&file))
        };
        let has = |name: &str| path.join(name).exists();
        let is_small = has(files::SMALL_WEIGHTS) && !has(files::WEIGHTS);
        let weights = match is_small {
            true => files::SMALL_WEIGHTS,
            false => files::WEIGHTS,
        };
        let (shape, json, weights) = (
            format!("{config:?}"),
            read(files::TOKENIZER)?,
            read(weights)?,
        );
        let digest = digest::sha256_hex([shape.as_bytes(), &json, &weights]);
        Ok(Self {
            path: path.to_path_buf(),
            config,
            tokenizer,
            digest,
            small: is_small.then_some(weights),
        })
    }

    /// Reads the weights and checks that every tensor is present with its shape. Sets the prefix of
    /// the configuration.
    ///
    /// # Errors
    /// Names the damaged file or the missing tensor.
    pub fn weights(&mut self) -> Result<Weights, ModelError> {
        let weights = match &self.small {
            Some(bytes) => Weights::from_small(bytes)?,
            None => Weights::read_folder(&self.path)?,
        };
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
    /// Names and shapes of the tensors used.
    #[must_use]
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let mut all = Vec::new();
        let mut add = |name: String, shape: &[usize]| {
            all.push((format!("{}{name}", self.prefix), shape.to_vec()));
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
    let path = dir.join(files::CONFIG);
    let json = read_json(&path)?;
    let wrong = |message: String| ModelError::json(&path, message);
    let text = |key: &str, default| json[key].as_str().unwrap_or(default);
    let kind = text("model_type", "(none)");
    if !TYPES.contains(&kind) {
        return Err(wrong(format!(
            "`model_type` is `{kind}`; supported are {}",
            TYPES.join(", ")
        )));
    }
    let positions = text("position_embedding_type", "absolute");
    if positions != "absolute" {
        return Err(wrong(format!(
            "`position_embedding_type` is `{positions}`; only absolute positions are supported"
        )));
    }
    let size = |name: &str| {
        whole(&json[name])
            .filter(|value| (1..=MOST).contains(value))
            .ok_or_else(|| wrong(format!("`{name}` must be a number from 1 to {MOST}")))
    };
    let activation = match text("hidden_act", "gelu") {
        "gelu" => Activation::Gelu,
        "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Activation::GeluTanh,
        "relu" => Activation::Relu,
        other => {
            return Err(wrong(format!(
                "`hidden_act` is `{other}`; supported are gelu, gelu_new and relu"
            )));
        }
    };
    let padding = whole(&json["pad_token_id"]).unwrap_or(0);
    let first_position = if kind == "bert" { 0 } else { padding + 1 };
    let (hidden_size, heads, rows) = (
        size("hidden_size")?,
        size("num_attention_heads")?,
        size("max_position_embeddings")?,
    );
    if hidden_size % heads != 0 || first_position >= rows {
        return Err(wrong(format!(
            "{heads} heads cannot share {hidden_size} values evenly, or {rows} positions are too few"
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
        layer_norm_eps: json["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32,
        activation,
        pooling: Pooling::Mean,
        max_tokens: rows - first_position,
        prefix: String::new(),
    };
    sentence_parts(dir, &mut config)?;
    Ok(config)
}

/// Upper limit of sizes: the largest published vocabulary has 250,002 rows.
const MOST: usize = 1 << 20;

/// Applies the files of sentence-transformers: modules, pooling and length.
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
            // The vector is normalised in any case; another layer would change it.
            if !["Transformer", "Pooling", "Normalize"]
                .iter()
                .any(|known| kind.ends_with(known))
            {
                let message = format!(
                    "a module of type `{kind}` is not supported; Transformer, Pooling and Normalize are"
                );
                return Err(ModelError::json(&modules, message));
            }
        }
    }
    let pooling = dir.join("1_Pooling").join(files::CONFIG);
    if pooling.exists() {
        let json = read_json(&pooling)?;
        let named = json["pooling_mode"].as_str();
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
                let all = all.join(", ");
                let message =
                    format!("pooling by [{all}]; exactly one of mean and cls is supported");
                return Err(ModelError::json(&pooling, message));
            }
        };
    }
    let sentence = dir.join("sentence_bert_config.json");
    if sentence.exists() {
        let json = read_json(&sentence)?;
        if let Some(most) = whole(&json["max_seq_length"]) {
            config.max_tokens = config.max_tokens.min(most);
        }
    }
    Ok(())
}
