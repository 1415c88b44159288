//! Safetensors, read with every declared size checked before it is believed, and written byte-identically for identical tensors.
//!
//! Headers are read and checked first, against the file's size and the model's shapes; elements follow tensor by tensor, so that a file costs no
//! more memory than its tensors as f32, and a wrong one next to none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Metadata, View};
use safetensors::{Dtype, SafeTensorError};

use crate::{ModelError, limits};
use common::fs::StagedFolder;

/// A tensor in memory, as f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Lengths of the dimensions, outermost first.
    pub shape: Vec<usize>,
    /// Elements in row-major order.
    pub data: Vec<f32>,
}

impl Tensor {
    /// A tensor from its parts.
    ///
    /// # Errors
    /// When the data is not as long as the shape says.
    pub fn new(name: &str, shape: Vec<usize>, data: Vec<f32>) -> Result<Self, ModelError> {
        if shape.iter().product::<usize>() != data.len() {
            return Err(ModelError::Tensor {
                name: name.to_owned(),
                message: format!("shape {shape:?} and {} elements", data.len()),
            });
        }
        Ok(Self { shape, data })
    }
}

/// Named tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    tensors: BTreeMap<String, Tensor>,
}

impl Weights {
    /// Read one safetensors file.
    ///
    /// # Errors
    /// Says which declared size, offset, name or type is wrong.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        Self::read_all(vec![Shard::open(path)?])
    }

    /// Read the weights of a model folder: `model.safetensors`, or the shards its index names.
    ///
    /// # Errors
    /// When there are none, the index points outside the folder, or a shard is damaged.
    pub fn read_folder(dir: &Path) -> Result<Self, ModelError> {
        Self::read_all(shards(dir)?)
    }

    /// Read the weights of a model folder that must be `expected`: missing tensors, other shapes and tensors that the model does not have are
    /// found before any element is read.
    ///
    /// # Errors
    /// As [`Weights::read_folder`], and names the first tensor that does not fit.
    pub fn read_model(dir: &Path, expected: &[(String, Vec<usize>)]) -> Result<Self, ModelError> {
        let shards = shards(dir)?;
        let expected: BTreeMap<&str, &[usize]> = expected
            .iter()
            .map(|(name, shape)| (name.as_str(), shape.as_slice()))
            .collect();
        let mut found = BTreeMap::new();
        for shard in &shards {
            for (name, part) in &shard.parts {
                found.insert(name.as_str(), part.shape.as_slice());
                // Left by older versions of transformers; none is a parameter. A tied output layer is sometimes stored twice.
                let harmless = ["rotary_emb.inv_freq", "masked_bias", "position_ids"]
                    .iter()
                    .any(|end| name.ends_with(end))
                    || name == "lm_head.weight";
                if !harmless && !expected.contains_key(name.as_str()) {
                    let message =
                        "is not a tensor of the model that config.json describes".to_owned();
                    return Err(ModelError::Tensor {
                        name: name.clone(),
                        message,
                    });
                }
            }
        }
        for (name, shape) in &expected {
            match found.get(name) {
                None => {
                    return Err(ModelError::Tensor {
                        name: (*name).to_owned(),
                        message: "is missing".to_owned(),
                    });
                }
                Some(has) if has != shape => return Err(other_shape(name, has, shape)),
                Some(_) => {}
            }
        }
        Self::read_all(shards)
    }

    fn read_all(shards: Vec<Shard>) -> Result<Self, ModelError> {
        let mut out = Self::default();
        for mut shard in shards {
            for (name, part) in std::mem::take(&mut shard.parts) {
                let tensor = shard.read(&part)?;
                if out.tensors.insert(name.clone(), tensor).is_some() {
                    return Err(ModelError::Tensor {
                        name,
                        message: "stands in two shards".to_owned(),
                    });
                }
            }
        }
        Ok(out)
    }

    /// Write a safetensors file into a folder that is being staged, a tensor at a time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_into(&self, staged: &StagedFolder, name: &str) -> Result<(), ModelError> {
        let path = staged.path().join(name);
        // The library writes a file that is its owner's alone to read; this one shall have the mode of the others.
        let ordinary = File::create(&path)
            .and_then(|file| file.metadata())
            .map_err(ModelError::io(&path))?
            .permissions();
        let tensors = self
            .tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), AsBytes(tensor)));
        safetensors::serialize_to_file(tensors, metadata(), &path).map_err(
            |error| match error {
                SafeTensorError::IoError(source) => ModelError::Io {
                    path: path.clone(),
                    source,
                },
                other => ModelError::Weights {
                    path: path.clone(),
                    message: other.to_string(),
                },
            },
        )?;
        File::open(&path)
            .and_then(|file| {
                file.set_permissions(ordinary)
                    .and_then(|()| file.sync_all())
            })
            .map_err(ModelError::io(&path))
    }

    /// Bytes of a safetensors file with these tensors.
    ///
    /// # Errors
    /// When the library refuses them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let tensors = self
            .tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), AsBytes(tensor)));
        let wrong = |error: SafeTensorError| ModelError::Tensor {
            name: "(all)".to_owned(),
            message: error.to_string(),
        };
        safetensors::serialize(tensors, metadata()).map_err(wrong)
    }

    /// Add or replace a tensor.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.tensors.insert(name.into(), tensor);
    }

    /// The tensor `name`, which must have `shape`.
    ///
    /// # Errors
    /// When it is missing or has another shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<&Tensor, ModelError> {
        let wrong = |message: String| ModelError::Tensor {
            name: name.to_owned(),
            message,
        };
        let tensor = self
            .tensors
            .get(name)
            .ok_or_else(|| wrong("is missing".to_owned()))?;
        if tensor.shape != shape {
            return Err(other_shape(name, &tensor.shape, shape));
        }
        Ok(tensor)
    }

    /// The tensor `name`, of any shape.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Take the tensor `name` out, so that a loader need not hold the model twice.
    #[must_use]
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        self.tensors.remove(name)
    }

    /// Names and tensors, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Number of tensors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }
}

fn other_shape(name: &str, has: &[usize], asked: &[usize]) -> ModelError {
    ModelError::Tensor {
        name: name.to_owned(),
        message: format!("has shape {has:?}, the configuration asks for {asked:?}"),
    }
}

/// transformers refuses files whose metadata does not name the framework.
fn metadata() -> Option<std::collections::HashMap<String, String>> {
    Some(
        [("format".to_owned(), "pt".to_owned())]
            .into_iter()
            .collect(),
    )
}

/// A tensor as the library writes it: its bytes exist only while they are written.
struct AsBytes<'a>(&'a Tensor);

impl View for AsBytes<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }
    fn shape(&self) -> &[usize] {
        &self.0.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        self.0.data.iter().flat_map(|x| x.to_le_bytes()).collect()
    }
    fn data_len(&self) -> usize {
        self.0.data.len() * 4
    }
}

fn plain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "." && !name.contains("..")
}

/// The weight files of a model folder, their headers read.
fn shards(dir: &Path) -> Result<Vec<Shard>, ModelError> {
    let single = dir.join("model.safetensors");
    let index = dir.join("model.safetensors.index.json");
    if single.exists() || !index.exists() {
        return Ok(vec![Shard::open(&single)?]);
    }
    let wrong = |message: String| ModelError::Weights {
        path: index.clone(),
        message,
    };
    let value = crate::folder::read_json(&index)?;
    let map = value
        .get("weight_map")
        .and_then(|map| map.as_object())
        .ok_or_else(|| wrong("no `weight_map`".to_owned()))?;
    let mut names: Vec<&str> = Vec::new();
    for (tensor, shard) in map {
        let shard = shard
            .as_str()
            .ok_or_else(|| wrong(format!("the shard of `{tensor}` is no file name")))?;
        if !plain_name(shard) || !shard.ends_with(".safetensors") {
            return Err(wrong(format!(
                "the shard of `{tensor}` is `{shard}`, not a file of this folder"
            )));
        }
        if !names.contains(&shard) {
            names.push(shard);
        }
    }
    let shards: Vec<Shard> = names
        .into_iter()
        .map(|name| Shard::open(&dir.join(name)))
        .collect::<Result<_, _>>()?;
    match map.keys().find(|name| {
        !shards
            .iter()
            .any(|shard| shard.parts.iter().any(|(part, _)| part == *name))
    }) {
        Some(name) => Err(wrong(format!("`{name}` is in none of the shards"))),
        None => Ok(shards),
    }
}

/// Where a tensor stands in its file.
struct Part {
    dtype: Dtype,
    shape: Vec<usize>,
    /// First byte, from the file's beginning.
    start: u64,
    bytes: usize,
}

/// A safetensors file whose header has been read and checked against the file's size.
struct Shard {
    path: PathBuf,
    file: File,
    parts: Vec<(String, Part)>,
}

impl Shard {
    fn open(path: &Path) -> Result<Self, ModelError> {
        let mut file = File::open(path).map_err(ModelError::io(path))?;
        let size = file.metadata().map_err(ModelError::io(path))?.len();
        let parts = header(&mut file, size).map_err(|message| ModelError::Weights {
            path: path.to_path_buf(),
            message,
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            parts,
        })
    }

    /// The elements of a tensor.
    fn read(&mut self, part: &Part) -> Result<Tensor, ModelError> {
        /// Bytes read at a time, whole elements of every type.
        const BLOCK: usize = 1 << 20;
        self.file
            .seek(SeekFrom::Start(part.start))
            .map_err(ModelError::io(&self.path))?;
        let mut data = Vec::with_capacity(part.shape.iter().product());
        let mut block = vec![0; BLOCK.min(part.bytes)];
        let mut left = part.bytes;
        while left > 0 {
            let block = &mut block[..BLOCK.min(left)];
            self.file
                .read_exact(block)
                .map_err(ModelError::io(&self.path))?;
            match part.dtype {
                Dtype::F32 => data.extend(
                    block
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|b| f32::from_le_bytes(*b)),
                ),
                Dtype::BF16 => {
                    data.extend(halves(block).map(|bits| f32::from_bits(u32::from(bits) << 16)))
                }
                _ => data.extend(halves(block).map(f16_to_f32)),
            }
            left -= block.len();
        }
        Ok(Tensor {
            shape: part.shape.clone(),
            data,
        })
    }
}

/// The tensors that a safetensors file declares, by name. Everything the header claims is checked against the bytes that are there.
fn header(file: &mut (impl Read + Seek), size: u64) -> Result<Vec<(String, Part)>, String> {
    if size > limits::WEIGHT_BYTES {
        return Err(format!(
            "{size} bytes, the most is {}",
            limits::WEIGHT_BYTES
        ));
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
        .map_err(|error| format!("its header cannot be read: {error}"))?;
    // The library checks overflow, offsets, overlaps, gaps and that shapes times sizes are the bytes.
    let parsed: Metadata =
        serde_json::from_slice(&text).map_err(|error| format!("its header is wrong: {error}"))?;
    let (declared, there) = (parsed.data_len() as u64, size - 8 - length);
    if declared != there {
        return Err(format!(
            "declares {declared} bytes of tensors and holds {there}"
        ));
    }
    let tensors = parsed.tensors();
    if tensors.len() > limits::TENSORS {
        return Err(format!(
            "{} tensors, the most is {}",
            tensors.len(),
            limits::TENSORS
        ));
    }
    let mut out = Vec::with_capacity(tensors.len());
    for (name, info) in tensors {
        if name.is_empty()
            || name.len() > 512
            || name.contains("..")
            || name.chars().any(char::is_control)
        {
            return Err(format!(
                "{:?} is no name of a tensor",
                name.chars().take(80).collect::<String>()
            ));
        }
        // BERT checkpoints of older transformers carry the numbers 0, 1, 2, … beside their weights.
        if name.ends_with("position_ids") && info.dtype == Dtype::I64 {
            continue;
        }
        if info.shape.len() > limits::RANK {
            return Err(format!(
                "tensor `{name}` has {} dimensions",
                info.shape.len()
            ));
        }
        if !matches!(info.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
            return Err(format!(
                "tensor `{name}` has type {:?}; f32, f16 and bf16 are read",
                info.dtype
            ));
        }
        let (from, to) = info.data_offsets;
        out.push((
            name,
            Part {
                dtype: info.dtype,
                shape: info.shape.clone(),
                start: 8 + length + from as u64,
                bytes: to - from,
            },
        ));
    }
    // In the order of the file, which is how it is read fastest.
    out.sort_by(|a, b| (a.1.start, &a.0).cmp(&(b.1.start, &b.0)));
    Ok(out)
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes
        .as_chunks::<2>()
        .0
        .iter()
        .map(|b| u16::from_le_bytes(*b))
}

/// IEEE half precision to single, exactly.
fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        // Subnormal halves are multiples of 2^-24, all of them normal as singles.
        0 => {
            return f32::from_bits(
                sign | (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits(),
            );
        }
        0x1f => 0x7f80_0000 | (fraction << 13),
        _ => ((exponent + 112) << 23) | (fraction << 13),
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::*;

    fn parse(bytes: &[u8]) -> Result<usize, String> {
        header(&mut Cursor::new(bytes), bytes.len() as u64).map(|parts| parts.len())
    }

    fn sample() -> Weights {
        let mut weights = Weights::default();
        weights.insert(
            "b.weight",
            Tensor {
                shape: vec![2, 3],
                data: vec![1.0, -2.5, 3e-40, f32::MAX, 0.0, -0.0],
            },
        );
        weights.insert(
            "a",
            Tensor {
                shape: vec![],
                data: vec![7.0],
            },
        );
        weights
    }

    #[test]
    fn writing_and_reading_is_byte_identical() {
        let bytes = sample().to_bytes().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        fs::write(&path, &bytes).unwrap();
        let back = Weights::read_folder(dir.path()).unwrap();
        assert_eq!(back.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn halves_are_exact() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc100, -2.5),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
            (0x0000, 0.0),
            (0x0400, 6.103_515_6e-5),
        ] {
            assert_eq!(f16_to_f32(bits), value, "{bits:#x}");
        }
        assert!(f16_to_f32(0x7e00).is_nan() && f16_to_f32(0xfc00) == f32::NEG_INFINITY);
    }

    fn with_header(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    #[test]
    fn damaged_files_are_refused() {
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
        let whole = sample().to_bytes().unwrap();
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn an_index_cannot_point_outside_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        for shard in [
            "../x.safetensors",
            "/etc/x.safetensors",
            "a/b.safetensors",
            "..",
            "x.bin",
        ] {
            let text = format!(r#"{{"weight_map":{{"a":"{shard}"}}}}"#);
            fs::write(dir.path().join("model.safetensors.index.json"), text).unwrap();
            let error = Weights::read_folder(dir.path()).unwrap_err().to_string();
            assert!(error.contains("not a file of this folder"), "{error}");
        }
        fs::write(
            dir.path().join("s-1.safetensors"),
            sample().to_bytes().unwrap(),
        )
        .unwrap();
        fs::write(
            dir.path().join("model.safetensors.index.json"),
            r#"{"weight_map":{"a":"s-1.safetensors","b.weight":"s-1.safetensors"}}"#,
        )
        .unwrap();
        assert_eq!(Weights::read_folder(dir.path()).unwrap(), sample());
    }
}
