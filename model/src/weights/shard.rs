//! Safetensors files: the header, checked against the file's size, and the tensors.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use half::f16;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde_json::Value;

use super::tensor::Tensor;
use crate::files::{INDEX, WEIGHTS};
use crate::json::read_json;
use crate::mistaken::Kind;
use crate::{ModelError, limits, mistaken};

/// A safetensors file with a checked header.
pub(super) struct Shard {
    path: PathBuf,
    file: File,
    /// Names and positions of the tensors, in file order, which is the fastest order to read.
    pub(super) tensors: Vec<(String, TensorSpan)>,
}

/// Type, shape and position of a tensor in its file.
pub(super) struct TensorSpan {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// First byte in the file.
    start: u64,
    pub(super) bytes: usize,
}

impl Shard {
    /// Opens a file and checks its header.
    pub(super) fn open(path: &Path) -> Result<Self, ModelError> {
        let mut file = mistaken::open(path)?;
        let size = file.metadata().map_err(ModelError::io(path))?.len();
        let tensors = header(&mut file, size).map_err(|message| {
            let what = mistaken::what(&mut file, Kind::Safetensors);
            let what = what.map(|what| format!("it is {what}"));
            ModelError::weights(path, what.unwrap_or(message))
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            tensors,
        })
    }

    /// Appends `count` bytes of a tensor from its byte `from` on.
    pub(super) fn read_bytes(
        &mut self,
        span: &TensorSpan,
        from: usize,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ModelError> {
        let begin = out.len();
        out.resize(begin + count, 0);
        self.file
            .seek(SeekFrom::Start(span.start + from as u64))
            .and_then(|_| self.file.read_exact(&mut out[begin..]))
            .map_err(ModelError::io(&self.path))
    }

    pub(super) fn read(&mut self, span: &TensorSpan) -> Result<Tensor, ModelError> {
        /// Bytes read at a time, whole elements of every type.
        const BLOCK: usize = 1 << 20;
        self.file
            .seek(SeekFrom::Start(span.start))
            .map_err(ModelError::io(&self.path))?;
        let mut data = Vec::with_capacity(span.shape.iter().product());
        let mut block = vec![0; BLOCK.min(span.bytes)];
        let mut left = span.bytes;
        while left > 0 {
            let block = &mut block[..BLOCK.min(left)];
            self.file
                .read_exact(block)
                .map_err(ModelError::io(&self.path))?;
            match span.dtype {
                Dtype::F32 => {
                    let (numbers, _) = block.as_chunks::<4>();
                    data.extend(numbers.iter().map(|b| f32::from_le_bytes(*b)));
                }
                Dtype::BF16 => {
                    data.extend(halves(block).map(|bits| f32::from_bits(u32::from(bits) << 16)));
                }
                _ => data.extend(halves(block).map(|bits| f16::from_bits(bits).to_f32())),
            }
            left -= block.len();
        }
        Ok(Tensor {
            shape: span.shape.clone(),
            data,
        })
    }
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let (numbers, _) = bytes.as_chunks::<2>();
    numbers.iter().map(|b| u16::from_le_bytes(*b))
}

/// Opens the weight files of a model folder: `model.safetensors`, or the shards in its index.
pub(super) fn open_folder(dir: &Path) -> Result<Vec<Shard>, ModelError> {
    let single = dir.join(WEIGHTS);
    let index = dir.join(INDEX);
    if single.exists() {
        return Ok(vec![Shard::open(&single)?]);
    }
    if !index.exists() {
        return Err(mistaken::without_weights(dir, WEIGHTS));
    }
    let wrong = |message: String| ModelError::weights(&index, message);
    let value = read_json(&index)?;
    let shards: Vec<Shard> = shards(&index, &value)?
        .into_iter()
        .map(|name| Shard::open(&dir.join(name)))
        .collect::<Result<_, _>>()?;
    let stored = |name: &String| {
        let mut tensors = shards.iter().flat_map(|shard| &shard.tensors);
        tensors.any(|(stored, _)| stored == name)
    };
    let mut named = value["weight_map"].as_object().into_iter().flatten();
    match named.find(|(name, _)| !stored(name)) {
        Some((name, _)) => Err(wrong(format!("no shard contains `{name}`"))),
        None => Ok(shards),
    }
}

/// The files that the content of an index names. They are in the folder of the index.
///
/// # Errors
/// When the index has no list, or names something else.
pub(crate) fn shards(index: &Path, value: &Value) -> Result<BTreeSet<String>, ModelError> {
    let wrong = |message: String| ModelError::weights(index, message);
    let map = value["weight_map"]
        .as_object()
        .ok_or_else(|| wrong("no `weight_map`".to_owned()))?;
    let name = |(tensor, shard): (&String, &Value)| {
        let shard = shard
            .as_str()
            .ok_or_else(|| wrong(format!("the shard of `{tensor}` is not a file name")))?;
        if is_file_name(shard) && shard.ends_with(".safetensors") {
            return Ok(shard.to_owned());
        }
        Err(wrong(format!(
            "the shard of `{tensor}` is `{shard}`, not a file of this folder"
        )))
    };
    map.iter().map(name).collect()
}

/// Whether a name can only be that of a file in the folder, also as a part of an address.
fn is_file_name(name: &str) -> bool {
    let other = |c: char| c.is_control() || "/\\:?#%".contains(c);
    !name.contains(other) && !name.contains("..")
}

/// The tensors that a header of a file of `size` bytes declares. Checks every declaration against
/// the file.
fn header(file: &mut (impl Read + Seek), size: u64) -> Result<Vec<(String, TensorSpan)>, String> {
    let most = limits::WEIGHT_BYTES;
    if size > most {
        return Err(format!("{size} bytes, the limit is {most}"));
    }
    let mut head = [0; 8];
    file.read_exact(&mut head)
        .map_err(|_| format!("{size} bytes, no header"))?;
    let length = u64::from_le_bytes(head);
    if length > limits::HEADER_BYTES || length > size.saturating_sub(8) {
        return Err(format!(
            "declares a header of {length} bytes in a file of {size}"
        ));
    }
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text)
        .map_err(|error| format!("the header cannot be read: {error}"))?;
    // The library checks overflow, offsets, overlaps, gaps, and that shapes match sizes.
    let parsed: Metadata =
        serde_json::from_slice(&text).map_err(|error| format!("invalid header: {error}"))?;
    let (declared, stored) = (parsed.data_len() as u64, size - 8 - length);
    if declared != stored {
        return Err(format!(
            "declares {declared} bytes of tensors and contains {stored}"
        ));
    }
    let tensors = parsed.tensors();
    if tensors.len() > limits::TENSORS {
        let most = limits::TENSORS;
        return Err(format!("{} tensors, the limit is {most}", tensors.len()));
    }
    let mut out = Vec::with_capacity(tensors.len());
    for (name, info) in tensors {
        // BERT checkpoints of older transformers contain the numbers 0, 1, 2, … as a tensor.
        if name.ends_with("position_ids") && info.dtype == Dtype::I64 {
            continue;
        }
        check_tensor(&name, info)?;
        let (from, to) = info.data_offsets;
        let span = TensorSpan {
            dtype: info.dtype,
            shape: info.shape.clone(),
            start: 8 + length + from as u64,
            bytes: to - from,
        };
        out.push((name, span));
    }
    out.sort_by(|a, b| (a.1.start, &a.0).cmp(&(b.1.start, &b.0)));
    Ok(out)
}

fn check_tensor(name: &str, info: &TensorInfo) -> Result<(), String> {
    if name.is_empty()
        || name.len() > 512
        || name.contains("..")
        || name.chars().any(char::is_control)
    {
        let shown: String = name.chars().take(80).collect();
        return Err(format!("{shown:?} is not a tensor name"));
    }
    if info.shape.len() > limits::RANK {
        let rank = info.shape.len();
        return Err(format!("tensor `{name}` has {rank} dimensions"));
    }
    if !matches!(info.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
        let dtype = info.dtype;
        return Err(format!(
            "tensor `{name}` has type {dtype:?}; f32, f16 and bf16 are supported"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn parse(bytes: &[u8]) -> Result<usize, String> {
        header(&mut Cursor::new(bytes), bytes.len() as u64).map(|tensors| tensors.len())
    }

    fn with_header(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    #[test]
    fn damaged_files_are_rejected() {
        let tensor = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#"{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        assert!(parse(&with_header(&tensor("F32", "[2]", "[0,8]"), 8)).is_ok());
        for bytes in [
            vec![],
            vec![1, 2, 3],
            u64::MAX.to_le_bytes().to_vec(),
            with_header("{", 0),
            with_header(&tensor("F32", "[2]", "[0,8]"), 4),
            with_header(&tensor("F32", "[2]", "[0,8]"), 12),
            with_header(&tensor("F32", "[3]", "[0,8]"), 8),
            with_header(&tensor("F32", "[2]", "[8,0]"), 8),
            with_header(&tensor("F32", "[4611686018427387904,4]", "[0,0]"), 0),
            with_header(&tensor("I64", "[1]", "[0,8]"), 8),
            with_header(
                &tensor("F32", "[2]", "[0,8]").replace("\"w\"", "\"../w\""),
                8,
            ),
        ] {
            assert!(
                parse(&bytes).is_err(),
                "{:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
        let whole = with_header(&tensor("F32", "[2]", "[0,8]"), 8);
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }
}
