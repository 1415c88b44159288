//! Writing a file: metadata, tokenizer and chat template as llama.cpp reads them, weights in the formats of a recipe.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::Format;
use super::blocks;
use super::describe::{
    CONFIG, FACTORS, INFO, TOKENIZER, architecture, factors_of, file_name, interleaved,
    interleaved_heads,
};
use super::vocabulary;
use crate::rope::RopeScaling;
use crate::tokenizer::CHAT_TEMPLATE;
use crate::{KgAgentInfo, ModelConfig, ModelError, Tokenizer, WeightSource};

/// Where tensors begin: multiples of this.
const ALIGNMENT: usize = 32;

/// Which tensor gets which format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// All numbers as they are.
    F32,
    /// Matrices in half precision.
    F16,
    /// Matrices in 8 bits.
    Q8_0,
    /// llama.cpp's mixture of 4 and 6 bits: the output layer, and value and down projections of the first and last eighth of the layers and
    /// of every third one between, in 6 bits.
    Q4KM,
}

impl Recipe {
    /// Its name as GGUF users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Q8_0 => "Q8_0",
            Self::Q4KM => "Q4_K_M",
        }
    }

    /// `general.file_type`.
    fn file_type(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q8_0 => 7,
            Self::Q4KM => 15,
        }
    }

    /// The format of a tensor. Rows that are no whole number of blocks get the next better format that fits.
    #[must_use]
    pub fn format(self, config: &ModelConfig, name: &str, shape: &[usize]) -> Format {
        if shape.len() < 2 || name.ends_with("norm.weight") {
            return Format::F32;
        }
        let wanted = match self {
            Self::F32 => Format::F32,
            Self::F16 => Format::F16,
            Self::Q8_0 => Format::Q8_0,
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
                    Format::Q6K
                } else {
                    Format::Q4K
                }
            }
        };
        let width = shape.last().copied().unwrap_or(0);
        [wanted, Format::Q8_0, Format::F16]
            .into_iter()
            .find(|format| format.row_bytes(width).is_some())
            .unwrap_or(Format::F16)
    }
}

/// A metadata value to be written.
pub(super) enum Meta {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

impl Meta {
    fn write(&self, out: &mut Vec<u8>) {
        let kind = |out: &mut Vec<u8>, n: u32| out.extend(n.to_le_bytes());
        match self {
            Self::U32(n) => {
                kind(out, 4);
                out.extend(n.to_le_bytes());
            }
            Self::F32(x) => {
                kind(out, 6);
                out.extend(x.to_le_bytes());
            }
            Self::Bool(b) => {
                kind(out, 7);
                out.push(u8::from(*b));
            }
            Self::Text(value) => {
                kind(out, 8);
                text(out, value);
            }
            Self::Texts(values) => {
                kind(out, 9);
                kind(out, 8);
                out.extend((values.len() as u64).to_le_bytes());
                values.iter().for_each(|value| text(out, value));
            }
            Self::I32s(values) => {
                kind(out, 9);
                kind(out, 5);
                out.extend((values.len() as u64).to_le_bytes());
                values
                    .iter()
                    .for_each(|value| out.extend(value.to_le_bytes()));
            }
            Self::F32s(values) => {
                kind(out, 9);
                kind(out, 6);
                out.extend((values.len() as u64).to_le_bytes());
                values
                    .iter()
                    .for_each(|value| out.extend(value.to_le_bytes()));
            }
        }
    }
}

/// Writes a model as one file. Weights are read and written a slice of rows at a time.
///
/// # Errors
/// When a tensor is missing, the tokenizer cannot be said in GGUF, or the file cannot be written.
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
    // Name, shape and format of every tensor, in the order in which their bytes follow.
    let mut table: Vec<(String, Vec<usize>, Format)> = Vec::new();
    table.extend(
        factors
            .iter()
            .map(|f| (FACTORS.to_owned(), vec![f.len()], Format::F32)),
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
        text(&mut head, key);
        value.write(&mut head);
    }
    let mut offset = 0usize;
    for (name, shape, format) in &table {
        text(&mut head, &file_name(name).unwrap_or_else(|| name.clone()));
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
            _ => tensor(&mut out, path, config, source, (name, shape, *format))?,
        }
        let filled = size(shape, *format);
        out.write_all(&[0; ALIGNMENT][..filled.next_multiple_of(ALIGNMENT) - filled])
            .map_err(ModelError::io(path))?;
    }
    out.flush().map_err(ModelError::io(path))?;
    out.get_ref().sync_all().map_err(ModelError::io(path))
}

fn size(shape: &[usize], format: Format) -> usize {
    let rows: usize = shape.iter().rev().skip(1).product();
    rows * format
        .row_bytes(shape.last().copied().unwrap_or(0))
        .unwrap_or(0)
}

/// Rows converted at once.
const SLICE: usize = 1024;

fn tensor(
    out: &mut impl Write,
    path: &Path,
    config: &ModelConfig,
    source: &dyn WeightSource,
    (name, shape, format): (&str, &[usize], Format),
) -> Result<(), ModelError> {
    let stored = source.open(name)?;
    if stored.shape != shape {
        let message = format!(
            "has shape {:?}, the configuration asks for {shape:?}",
            stored.shape
        );
        return Err(ModelError::Tensor {
            name: name.to_owned(),
            message,
        });
    }
    let heads = interleaved_heads(config, name).map(|_| config.head_dim);
    // A vector is one row here; where it has to be reordered, its values are.
    let (rows, width) = if shape.len() == 1 {
        (1, shape[0])
    } else {
        (shape[0], shape[1])
    };
    let each = heads.map_or(SLICE, |dim| SLICE.next_multiple_of(dim));
    let mut bytes = Vec::new();
    for first in (0..rows).step_by(each) {
        let count = each.min(rows - first);
        bytes.clear();
        stored.rows(first, count, &mut bytes)?;
        let mut values = vec![0.0; count * width];
        blocks::dequantise(stored.format, &bytes, &mut values);
        if let Some(dim) = heads {
            let unit = if shape.len() == 1 { 1 } else { width };
            let mut turned = vec![0.0; values.len()];
            for (row, line) in values.chunks_exact(unit).enumerate() {
                turned[interleaved(row, dim) * unit..][..unit].copy_from_slice(line);
            }
            values = turned;
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
) -> Result<BTreeMap<String, Meta>, ModelError> {
    let arch = architecture(config.family);
    let n = |n: usize| Meta::U32(u32::try_from(n).unwrap_or(u32::MAX));
    let mut all: BTreeMap<String, Meta> = BTreeMap::new();
    let mut put = |key: &str, value: Meta| {
        let key = key
            .strip_prefix('.')
            .map_or_else(|| key.to_owned(), |key| format!("{arch}.{key}"));
        all.insert(key, value);
    };
    put("general.architecture", Meta::Text(arch.to_owned()));
    put("general.name", Meta::Text(name.to_owned()));
    put("general.alignment", n(ALIGNMENT));
    put("general.file_type", Meta::U32(recipe.file_type()));
    put("general.quantization_version", Meta::U32(2));
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
        Meta::F32(config.rms_norm_eps as f32),
    );
    put(".rope.freq_base", Meta::F32(config.rope.theta as f32));
    match &config.rope.scaling {
        RopeScaling::None | RopeScaling::Llama3(_) => {}
        RopeScaling::Linear { factor } => {
            put(".rope.scaling.type", Meta::Text("linear".to_owned()));
            put(".rope.scaling.factor", Meta::F32(*factor as f32));
        }
        RopeScaling::Yarn(yarn) => {
            put(".rope.scaling.type", Meta::Text("yarn".to_owned()));
            put(".rope.scaling.factor", Meta::F32(yarn.factor as f32));
            put(
                ".rope.scaling.original_context_length",
                n(yarn.original_max_position_embeddings),
            );
        }
    }
    put(CONFIG, Meta::Text(config.to_json().to_string()));
    put(
        INFO,
        Meta::Text(serde_json::to_string(info).unwrap_or_default()),
    );
    let tokenizer_json = tokenizer.to_bytes()?;
    put(
        TOKENIZER,
        Meta::Text(String::from_utf8_lossy(&tokenizer_json).into_owned()),
    );
    put(
        "tokenizer.chat_template",
        Meta::Text(CHAT_TEMPLATE.to_owned()),
    );
    put("tokenizer.ggml.add_bos_token", Meta::Bool(false));
    put("tokenizer.ggml.add_space_prefix", Meta::Bool(false));
    for (key, value) in vocabulary::keys(config, tokenizer, &tokenizer_json)? {
        put(key, value);
    }
    Ok(all)
}
