//! What training starts from: the net, its tokenizer, and its configuration file.

use std::path::Path;

use common::rng::Rng;
use model::encoder::{Activation, Pooling};
use model::{
    EncoderConfig, EncoderFolder, ModelError, PairTokenizer, Tensor, Tokenizer, Weights, files,
};
use serde_json::{Value, json};

use super::config::{RankerConfig, RankerSize, RankerStart};
use super::net::Net;
use super::pca;
use super::shape::{RankerShape, WORDS};
use crate::{Precision, TrainError};

/// Standard deviation of new weights.
const DEVIATION: f32 = 0.02;

/// A net that can score pairs, and what its folder needs.
pub(crate) struct Started {
    pub(crate) net: Net,
    pub(crate) pairs: PairTokenizer,
    /// `config.json` of the result.
    pub(crate) config: Value,
    /// `tokenizer.json`.
    pub(crate) tokenizer: Vec<u8>,
    /// What the start is, for reports and for comparing runs.
    pub(crate) origin: String,
}

/// Opens or makes the net.
///
/// # Errors
/// When a folder is missing or invalid, or does not fit the configuration.
pub(crate) fn start(from: &RankerStart, config: &RankerConfig) -> Result<Started, TrainError> {
    let mut started = match from {
        RankerStart::Folder(path) => open(path, Some(config.max_tokens), config.seed)?,
        RankerStart::Scratch {
            size,
            tokenizer,
            words_from,
        } => scratch(*size, tokenizer, words_from.as_deref(), config)?,
    };
    if config.precision == Some(Precision::Bf16) {
        started.net.use_bf16();
    }
    Ok(started)
}

fn read(path: &Path) -> Result<Vec<u8>, TrainError> {
    Ok(std::fs::read(path).map_err(ModelError::io(path))?)
}

/// Opens an encoder folder or the folder of a ranker. An encoder gets a new head. Without
/// `max_tokens` the folder's limit holds.
///
/// # Errors
/// When the folder is invalid or has fewer positions than `max_tokens`.
pub(crate) fn open(
    path: &Path,
    max_tokens: Option<usize>,
    seed: u64,
) -> Result<Started, TrainError> {
    let mut folder = EncoderFolder::open(path)?;
    let mut weights = folder.weights()?;
    let prefix = folder.config.prefix.clone();
    let shape = RankerShape::new(&folder.config);
    let mut dense = vec![0.0; shape.dense()];
    let mut rng = Rng::new(seed);
    for slot in &shape.slots {
        let prefix = if slot.head { "" } else { &prefix };
        let found = weights.take(&format!("{prefix}{}", slot.name));
        let out = &mut dense[slot.at.clone()];
        match found.filter(|tensor| tensor.shape == slot.shape) {
            Some(tensor) => out.copy_from_slice(&tensor.data),
            // A new head; all other tensors were checked.
            None if slot.decays => out.fill_with(|| DEVIATION * rng.normal()),
            None => {}
        }
    }
    let name = format!("{prefix}{WORDS}");
    let words = weights
        .take(&name)
        .ok_or_else(|| ModelError::json(path, "no word embedding"))?;
    let most = folder.config.positions - folder.config.first_position;
    let max_tokens = max_tokens.unwrap_or(folder.config.max_tokens);
    if max_tokens > most {
        let path = path.display();
        return Err(TrainError::Config(format!(
            "--max-tokens is {max_tokens}, but {path} has {most} positions"
        )));
    }
    let config = read(&path.join(files::CONFIG))?;
    let config = serde_json::from_slice(&config)
        .map_err(|error| ModelError::json(&path.join(files::CONFIG), error.to_string()))?;
    let rows = shape.config.vocab_size;
    Ok(Started {
        net: Net {
            shape,
            words: words.data,
            dense,
            packed: None,
        },
        pairs: PairTokenizer::new(folder.tokenizer.clone(), max_tokens, rows)?,
        config,
        tokenizer: read(&path.join(files::TOKENIZER))?,
        origin: format!("encoder {}", folder.digest),
    })
}

/// The shape of a net from scratch.
fn scratch_config(size: RankerSize, vocab_size: usize, positions: usize) -> EncoderConfig {
    EncoderConfig {
        vocab_size,
        hidden_size: size.hidden,
        intermediate_size: 4 * size.hidden,
        layers: size.layers,
        heads: size.heads,
        positions,
        first_position: 0,
        token_types: 2,
        layer_norm_eps: 1e-12,
        activation: Activation::Gelu,
        pooling: Pooling::Mean,
        max_tokens: positions,
        prefix: String::new(),
    }
}

/// Random parameters: matrices are normal, norms 1, biases 0.
pub(crate) fn fresh(config: &EncoderConfig, seed: u64) -> Net {
    let shape = RankerShape::new(config);
    let mut rng = Rng::new(seed);
    let mut normal =
        |count: usize| -> Vec<f32> { (0..count).map(|_| DEVIATION * rng.normal()).collect() };
    let words = normal(shape.words());
    let mut dense = vec![0.0; shape.dense()];
    for slot in &shape.slots {
        let out = &mut dense[slot.at.clone()];
        if slot.decays {
            out.copy_from_slice(&normal(slot.at.len()));
        } else if slot.name.ends_with("LayerNorm.weight") {
            out.fill(1.0);
        }
    }
    Net {
        shape,
        words,
        dense,
        packed: None,
    }
}

fn scratch(
    size: RankerSize,
    tokenizer: &Path,
    words_from: Option<&Path>,
    config: &RankerConfig,
) -> Result<Started, TrainError> {
    let path = tokenizer.join(files::TOKENIZER);
    let tokenizer = Tokenizer::from_file(&path)?;
    let rows = tokenizer.vocab_size();
    let shape = scratch_config(size, rows, config.max_tokens);
    let mut net = fresh(&shape, config.seed);
    let mut origin = format!("scratch {}x{}x{}", size.layers, size.hidden, size.heads);
    if let Some(from) = words_from {
        net.words = words(from, rows, &tokenizer, size.hidden)?;
        origin += &format!(" words {}", EncoderFolder::open(from)?.digest);
    }
    let json = json!({
        "architectures": ["BertForSequenceClassification"], "model_type": "bert",
        "vocab_size": rows, "hidden_size": size.hidden, "intermediate_size": 4 * size.hidden,
        "num_hidden_layers": size.layers, "num_attention_heads": size.heads,
        "max_position_embeddings": config.max_tokens, "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "hidden_act": "gelu", "pad_token_id": 0,
        "position_embedding_type": "absolute", "initializer_range": DEVIATION,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    });
    Ok(Started {
        net,
        pairs: PairTokenizer::new(tokenizer, config.max_tokens, rows)?,
        config: json,
        tokenizer: read(&path)?,
        origin,
    })
}

/// The word embedding of an encoder, reduced to `hidden` dimensions.
fn words(
    from: &Path,
    rows: usize,
    tokenizer: &Tokenizer,
    hidden: usize,
) -> Result<Vec<f32>, TrainError> {
    let mut folder = EncoderFolder::open(from)?;
    let width = folder.config.hidden_size;
    let other = folder.tokenizer.to_bytes()? != tokenizer.to_bytes()?;
    if other || folder.config.vocab_size < rows || width < hidden {
        return Err(TrainError::Config(format!(
            "the word embedding of {} cannot be used: it must be for the same tokenizer and at \
             least {hidden} wide, and is {width} wide",
            from.display()
        )));
    }
    let mut weights = folder.weights()?;
    let name = format!("{}{WORDS}", folder.config.prefix);
    let tensor = weights
        .take(&name)
        .ok_or_else(|| ModelError::json(from, "no word embedding"))?;
    Ok(pca::reduce(&tensor.data[..rows * width], width, hidden))
}

impl Net {
    /// All parameters by name.
    pub(crate) fn tensors(&self) -> Weights {
        let mut out = Weights::default();
        let config = &self.shape.config;
        let words = Tensor {
            shape: vec![config.vocab_size, config.hidden_size],
            data: self.words.clone(),
        };
        out.insert(WORDS, words);
        for slot in &self.shape.slots {
            let tensor = Tensor {
                shape: slot.shape.clone(),
                data: self.dense[slot.at.clone()].to_vec(),
            };
            out.insert(slot.name.clone(), tensor);
        }
        out
    }

    /// Restores the parameters from [`Net::tensors`].
    ///
    /// # Errors
    /// When one is missing or has another shape.
    pub(crate) fn load(&mut self, weights: &Weights) -> Result<(), TrainError> {
        let config = &self.shape.config;
        let words = weights.get(WORDS, &[config.vocab_size, config.hidden_size])?;
        self.words.copy_from_slice(&words.data);
        for slot in &self.shape.slots {
            let tensor = weights.get(&slot.name, &slot.shape)?;
            self.dense[slot.at.clone()].copy_from_slice(&tensor.data);
        }
        self.pack();
        Ok(())
    }
}
