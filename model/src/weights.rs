//! Safetensors, read with every declared size checked before it is believed, and written byte-identically for identical tensors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use crate::{ModelError, limits};

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
            return Err(ModelError::Tensor { name: name.to_owned(), message: format!("shape {shape:?} and {} elements", data.len()) });
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
        let mut out = Self::default();
        out.read_into(path)?;
        Ok(out)
    }

    /// Read the weights of a model folder: `model.safetensors`, or the shards its index names.
    ///
    /// # Errors
    /// When there are none, the index points outside the folder, or a shard is damaged.
    pub fn read_folder(dir: &Path) -> Result<Self, ModelError> {
        let single = dir.join("model.safetensors");
        let index = dir.join("model.safetensors.index.json");
        if single.exists() || !index.exists() {
            return Self::read(&single);
        }
        let wrong = |message: String| ModelError::Weights { path: index.clone(), message };
        let value = crate::folder::read_json(&index)?;
        let map = value.get("weight_map").and_then(|map| map.as_object()).ok_or_else(|| wrong("no `weight_map`".to_owned()))?;
        let mut shards: Vec<&str> = Vec::new();
        for (tensor, shard) in map {
            let shard = shard.as_str().ok_or_else(|| wrong(format!("the shard of `{tensor}` is no file name")))?;
            if !plain_name(shard) || !shard.ends_with(".safetensors") {
                return Err(wrong(format!("the shard of `{tensor}` is `{shard}`, not a file of this folder")));
            }
            if !shards.contains(&shard) {
                shards.push(shard);
            }
        }
        let mut out = Self::default();
        for shard in shards {
            out.read_into(&dir.join(shard))?;
        }
        match map.keys().find(|name| !out.tensors.contains_key(*name)) {
            Some(name) => Err(wrong(format!("`{name}` is in none of the shards"))),
            None => Ok(out),
        }
    }

    fn read_into(&mut self, path: &Path) -> Result<(), ModelError> {
        let size = fs::metadata(path).map_err(ModelError::io(path))?.len();
        if size > limits::WEIGHT_BYTES {
            let message = format!("{size} bytes, the most is {}", limits::WEIGHT_BYTES);
            return Err(ModelError::Weights { path: path.to_path_buf(), message });
        }
        let bytes = fs::read(path).map_err(ModelError::io(path))?;
        let parsed = parse(&bytes).map_err(|message| ModelError::Weights { path: path.to_path_buf(), message })?;
        for (name, tensor) in parsed {
            if self.tensors.insert(name.clone(), tensor).is_some() {
                return Err(ModelError::Tensor { name, message: "stands in two shards".to_owned() });
            }
        }
        Ok(())
    }

    /// Bytes of a safetensors file with these tensors.
    ///
    /// # Errors
    /// When the library refuses them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let raw: Vec<(&str, &[usize], Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor.shape.as_slice(), tensor.data.iter().flat_map(|x| x.to_le_bytes()).collect()))
            .collect();
        let views: Result<Vec<_>, _> = raw
            .iter()
            .map(|(name, shape, bytes)| Ok((*name, safetensors::tensor::TensorView::new(Dtype::F32, shape.to_vec(), bytes)?)))
            .collect();
        let wrong = |error: safetensors::SafeTensorError| ModelError::Tensor { name: "(all)".to_owned(), message: error.to_string() };
        // transformers refuses files whose metadata does not name the framework.
        let metadata = Some([("format".to_owned(), "pt".to_owned())].into_iter().collect());
        safetensors::serialize(views.map_err(wrong)?, metadata).map_err(wrong)
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
        let wrong = |message: String| ModelError::Tensor { name: name.to_owned(), message };
        let tensor = self.tensors.get(name).ok_or_else(|| wrong("is missing".to_owned()))?;
        if tensor.shape != shape {
            return Err(wrong(format!("has shape {:?}, the configuration asks for {shape:?}", tensor.shape)));
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
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
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

fn plain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "." && !name.contains("..")
}

/// Parse a whole safetensors file. Everything the header claims is checked against the bytes that are there.
fn parse(bytes: &[u8]) -> Result<Vec<(String, Tensor)>, String> {
    let Some((head, rest)) = bytes.split_first_chunk::<8>() else { return Err(format!("{} bytes, no header", bytes.len())) };
    let header = u64::from_le_bytes(*head);
    if header > limits::HEADER_BYTES || header > rest.len() as u64 {
        return Err(format!("declares a header of {header} bytes in a file of {}", bytes.len()));
    }
    // The library checks overflow, offsets, overlaps, gaps and that shapes times sizes are the bytes.
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    if file.len() > limits::TENSORS {
        return Err(format!("{} tensors, the most is {}", file.len(), limits::TENSORS));
    }
    let mut out = Vec::with_capacity(file.len());
    for (name, view) in file.iter() {
        if name.is_empty() || name.len() > 512 || name.contains("..") || name.chars().any(char::is_control) {
            return Err(format!("tensor name {name:?}"));
        }
        // BERT checkpoints of older transformers carry the numbers 0, 1, 2, … beside their weights.
        if name.ends_with("position_ids") && view.dtype() == Dtype::I64 {
            continue;
        }
        if view.shape().len() > limits::RANK {
            return Err(format!("tensor `{name}` has {} dimensions", view.shape().len()));
        }
        let data = match view.dtype() {
            Dtype::F32 => view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            Dtype::BF16 => halves(view.data()).map(|bits| f32::from_bits(u32::from(bits) << 16)).collect(),
            Dtype::F16 => halves(view.data()).map(f16_to_f32).collect(),
            other => return Err(format!("tensor `{name}` has type {other:?}; f32, f16 and bf16 are read")),
        };
        out.push((name.to_owned(), Tensor { shape: view.shape().to_vec(), data }));
    }
    Ok(out)
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b))
}

/// IEEE half precision to single, exactly.
fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        // Subnormal halves are multiples of 2^-24, all of them normal as singles.
        0 => return f32::from_bits(sign | (fraction as f32 * f32::from_bits(0x3380_0000)).to_bits()),
        0x1f => 0x7f80_0000 | (fraction << 13),
        _ => ((exponent + 112) << 23) | (fraction << 13),
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn sample() -> Weights {
        let mut weights = Weights::default();
        weights.insert("b.weight", Tensor { shape: vec![2, 3], data: vec![1.0, -2.5, 3e-40, f32::MAX, 0.0, -0.0] });
        weights.insert("a", Tensor { shape: vec![], data: vec![7.0] });
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
        for (bits, value) in
            [(0x3c00, 1.0), (0xc100, -2.5), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0), (0x0000, 0.0), (0x0400, 6.103_515_6e-5)]
        {
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
        let tensor =
            |dtype: &str, shape: &str, offsets: &str| format!(r#"{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#);
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
            with_header(&tensor("F32", "[2]", "[0,8]").replace("\"w\"", "\"../w\""), 8),
        ] {
            assert!(parse(&bytes).is_err(), "{:?}", String::from_utf8_lossy(&bytes));
        }
        let whole = sample().to_bytes().unwrap();
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn an_index_cannot_point_outside_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        for shard in ["../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "..", "x.bin"] {
            let text = format!(r#"{{"weight_map":{{"a":"{shard}"}}}}"#);
            fs::write(dir.path().join("model.safetensors.index.json"), text).unwrap();
            let error = Weights::read_folder(dir.path()).unwrap_err().to_string();
            assert!(error.contains("not a file of this folder"), "{error}");
        }
        fs::write(dir.path().join("s-1.safetensors"), sample().to_bytes().unwrap()).unwrap();
        fs::write(
            dir.path().join("model.safetensors.index.json"),
            r#"{"weight_map":{"a":"s-1.safetensors","b.weight":"s-1.safetensors"}}"#,
        )
        .unwrap();
        assert_eq!(Weights::read_folder(dir.path()).unwrap(), sample());
    }
}
