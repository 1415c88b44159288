//! Writing a file: metadata, tokenizer and chat template for llama.cpp, weights in the formats of a
//! recipe.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::describe::{
    CONFIG, FACTORS, INFO, TOKENIZER, architecture, factors_of, file_name, interleaved,
    is_interleaved,
};
use super::metadata::{WrittenValue, write_text};
use super::vocabulary;
use crate::blocks::{self, BlockFormat};
use crate::rope::RopeScaling;
use crate::tokenizer::CHAT_TEMPLATE;
use crate::{KgAgentInfo, ModelConfig, ModelError, Tokenizer, WeightSource};

/// Tensors start at multiples of this.
const ALIGNMENT: usize = 32;

common::worded! {
    /// The choice of a format for every tensor.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Recipe, fn name() {
        /// Everything in single precision.
        #[serde(rename = "f32")]
        F32 = "F32",
        /// Matrices in half precision.
        #[serde(rename = "f16")]
        F16 = "F16",
        /// Matrices in 8 bits.
        #[serde(rename = "q8_0")]
        Q8_0 = "Q8_0",
        /// llama.cpp's mixture of 4 and 6 bits. 6 bits for the output layer, and for the value and down
        /// projections of the first and last eighth of the layers and of every third layer between.
        #[serde(rename = "q4_k_m")]
        Q4KM = "Q4_K_M",
    }
}

impl Recipe {
    /// `general.file_type`.
    fn file_type(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q8_0 => 7,
            Self::Q4KM => 15,
        }
    }

    /// The format of a tensor. A row that is not a whole number of blocks gets the next better
    /// format.
    #[must_use]
    pub fn format(self, config: &ModelConfig, name: &str, shape: &[usize]) -> BlockFormat {
        if shape.len() < 2 || name.ends_with("norm.weight") {
            return BlockFormat::F32;
        }
        let wanted = match self {
            Self::F32 => BlockFormat::F32,
            Self::F16 => BlockFormat::F16,
            Self::Q8_0 => BlockFormat::Q8_0,
            Self::Q4KM => {
                let layers = config.num_hidden_layers;
                let layer = name
                    .strip_prefix("model.layers.")
                    .and_then(|rest| rest.split_once('.')?.0.parse::<usize>().ok());
                let better =
                    |i: usize| i < layers / 8 || i >= 7 * layers / 8 || (i - layers / 8) % 3 == 2;
                let output = name == "lm_head.weight"
                    || (name == "model.embed_tokens.weight" && config.tie_word_embeddings);
                let sensitive = name.contains(".v_proj.") || name.contains(".down_proj.");
                if output || (sensitive && layer.is_some_and(better)) {
                    BlockFormat::Q6K
                } else {
                    BlockFormat::Q4K
                }
            }
        };
        let width = shape.last().copied().unwrap_or(0);
        [wanted, BlockFormat::Q8_0, BlockFormat::F16]
            .into_iter()
            .find(|format| format.row_bytes(width).is_some())
            .unwrap_or(BlockFormat::F16)
    }
}

/// Writes a model as one file. Reads and writes a slice of rows at a time.
///
/// # Errors
/// When a tensor is missing, GGUF does not support the tokenizer, or the file cannot be written.
pub fn write(
    path: &Path,
    name: &str,
    config: &ModelConfig,
    tokenizer: &Tokenizer,
    info: &KgAgentInfo,
    source: &dyn WeightSource,
    recipe: Recipe,
) -> Result<(), ModelError> {
    let metadata = metadata(name, config, tokenizer, info, recipe)?;
    let factors = match config.rope.scaling {
        RopeScaling::Llama3(_) => Some(factors_of(&config.rope, config.head_dim / 2)),
        RopeScaling::None | RopeScaling::Linear { .. } | RopeScaling::Yarn(_) => None,
    };
    // Name, shape and format of every tensor, in file order.
    let mut table: Vec<(String, Vec<usize>, BlockFormat)> = Vec::new();
    table.extend(
        factors
            .iter()
            .map(|f| (FACTORS.to_owned(), vec![f.len()], BlockFormat::F32)),
    );
    for (name, shape) in config.tensors() {
        let format = recipe.format(config, &name, &shape);
        table.push((name, shape, format));
    }
    let mut head = b"GGUF".to_vec();
    head.extend(3u32.to_le_bytes());
    head.extend((table.len() as u64).to_le_bytes());
    head.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in &metadata {
        write_text(&mut head, key);
        value.write(&mut head);
    }
    let mut offset = 0usize;
    for (name, shape, format) in &table {
        write_text(&mut head, &file_name(name).unwrap_or_else(|| name.clone()));
        head.extend((shape.len() as u32).to_le_bytes());
        shape
            .iter()
            .rev()
            .for_each(|n| head.extend((*n as u64).to_le_bytes()));
        head.extend(format.id().to_le_bytes());
        head.extend((offset as u64).to_le_bytes());
        offset = (offset + size(shape, *format)).next_multiple_of(ALIGNMENT);
    }
    head.resize(head.len().next_multiple_of(ALIGNMENT), 0);
    let mut out = BufWriter::new(File::create(path).map_err(ModelError::io(path))?);
    out.write_all(&head).map_err(ModelError::io(path))?;
    for (name, shape, format) in &table {
        match &factors {
            Some(factors) if name == FACTORS => {
                let mut bytes = Vec::new();
                blocks::quantise(*format, factors, &mut bytes);
                out.write_all(&bytes).map_err(ModelError::io(path))?;
            }
            _ => write_tensor(&mut out, path, config, source, (name, shape, *format))?,
        }
        let filled = size(shape, *format);
        out.write_all(&[0; ALIGNMENT][..filled.next_multiple_of(ALIGNMENT) - filled])
            .map_err(ModelError::io(path))?;
    }
    out.flush().map_err(ModelError::io(path))?;
    out.get_ref().sync_all().map_err(ModelError::io(path))
}

fn size(shape: &[usize], format: BlockFormat) -> usize {
    let rows: usize = shape.iter().rev().skip(1).product();
    rows * format
        .row_bytes(shape.last().copied().unwrap_or(0))
        .unwrap_or(0)
}

/// Rows converted at a time.
const SLICE: usize = 1024;

fn write_tensor(
    out: &mut impl Write,
    path: &Path,
    config: &ModelConfig,
    source: &dyn WeightSource,
    (name, shape, format): (&str, &[usize], BlockFormat),
) -> Result<(), ModelError> {
    let stored = source.open(name)?;
    if stored.shape != shape {
        return Err(ModelError::shape(name, &stored.shape, shape));
    }
    let head_dim = is_interleaved(config, name).then_some(config.head_dim);
    // A vector is one row, whose values are reordered instead of rows.
    let (rows, width) = if shape.len() == 1 {
        (1, shape[0])
    } else {
        (shape[0], shape[1])
    };
    let each = head_dim.map_or(SLICE, |dim| SLICE.next_multiple_of(dim));
    let mut bytes = Vec::new();
    for first in (0..rows).step_by(each) {
        let count = each.min(rows - first);
        bytes.clear();
        stored.rows(first, count, &mut bytes)?;
        let mut values = vec![0.0; count * width];
        blocks::dequantise(stored.format, &bytes, &mut values);
        if let Some(dim) = head_dim {
            let unit = if shape.len() == 1 { 1 } else { width };
            let mut reordered = vec![0.0; values.len()];
            for (row, line) in values.chunks_exact(unit).enumerate() {
                reordered[interleaved(row, dim) * unit..][..unit].copy_from_slice(line);
            }
            values = reordered;
        }
        bytes.clear();
        blocks::quantise(format, &values, &mut bytes);
        out.write_all(&bytes).map_err(ModelError::io(path))?;
    }
    Ok(())
}

fn metadata(
    name: &str,
    config: &ModelConfig,
    tokenizer: &Tokenizer,
    info: &KgAgentInfo,
    recipe: Recipe,
) -> Result<BTreeMap<String, WrittenValue>, ModelError> {
    let arch = architecture(config.family);
    let n = |n: usize| WrittenValue::U32(u32::try_from(n).unwrap_or(u32::MAX));
    let mut all: BTreeMap<String, WrittenValue> = BTreeMap::new();
    let mut put = |key: &str, value: WrittenValue| {
        let key = key
            .strip_prefix('.')
            .map_or_else(|| key.to_owned(), |key| format!("{arch}.{key}"));
        all.insert(key, value);
    };
    put("general.architecture", WrittenValue::Text(arch.to_owned()));
    put("general.name", WrittenValue::Text(name.to_owned()));
    put("general.alignment", n(ALIGNMENT));
    put("general.file_type", WrittenValue::U32(recipe.file_type()));
    put("general.quantization_version", WrittenValue::U32(2));
    put(".vocab_size", n(config.vocab_size));
    put(".context_length", n(config.context()));
    put(".embedding_length", n(config.hidden_size));
    put(".block_count", n(config.num_hidden_layers));
    put(".feed_forward_length", n(config.intermediate_size));
    put(".attention.head_count", n(config.num_attention_heads));
    put(".attention.head_count_kv", n(config.num_key_value_heads));
    put(".attention.key_length", n(config.head_dim));
    put(".attention.value_length", n(config.head_dim));
    put(".rope.dimension_count", n(config.head_dim));
    put(
        ".attention.layer_norm_rms_epsilon",
        WrittenValue::F32(config.rms_norm_eps as f32),
    );
    put(
        ".rope.freq_base",
        WrittenValue::F32(config.rope.theta as f32),
    );
    match &config.rope.scaling {
        RopeScaling::None | RopeScaling::Llama3(_) => {}
        RopeScaling::Linear { factor } => {
            put(
                ".rope.scaling.type",
                WrittenValue::Text("linear".to_owned()),
            );
            put(".rope.scaling.factor", WrittenValue::F32(*factor as f32));
        }
        RopeScaling::Yarn(yarn) => {
            put(".rope.scaling.type", WrittenValue::Text("yarn".to_owned()));
            put(
                ".rope.scaling.factor",
                WrittenValue::F32(yarn.factor as f32),
            );
            put(
                ".rope.scaling.original_context_length",
                n(yarn.original_max_position_embeddings),
            );
        }
    }
    put(CONFIG, WrittenValue::Text(config.to_json().to_string()));
    put(
        INFO,
        WrittenValue::Text(serde_json::to_string(info).unwrap_or_default()),
    );
    let tokenizer_json = tokenizer.to_bytes()?;
    put(
        TOKENIZER,
        WrittenValue::Text(String::from_utf8_lossy(&tokenizer_json).into_owned()),
    );
    put(
        "tokenizer.chat_template",
        WrittenValue::Text(CHAT_TEMPLATE.to_owned()),
    );
    put("tokenizer.ggml.add_bos_token", WrittenValue::Bool(false));
    put("tokenizer.ggml.add_space_prefix", WrittenValue::Bool(false));
    for (key, value) in vocabulary::keys(config, tokenizer, &tokenizer_json)? {
        put(key, value);
    }
    Ok(all)
}
