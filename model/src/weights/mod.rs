//! Named tensors, read from safetensors with every declared size checked, and written with
//! identical bytes for identical tensors.
//!
//! All headers are read and checked first, against the file sizes and the model's shapes. Then the
//! elements are read one tensor at a time, so that reading needs no more memory than the tensors as
//! f32, and next to nothing for an invalid file.

mod files;
mod shard;
mod tensor;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;

use common::fs::StagedFolder;
use safetensors::tensor::View;
use safetensors::{Dtype, SafeTensorError};

use crate::ModelError;
use shard::{Shard, open_folder};

pub use files::WeightFiles;
pub(crate) use shard::shards;
pub use tensor::Tensor;

/// Named tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    tensors: BTreeMap<String, Tensor>,
}

impl Weights {
    /// Reads one safetensors file.
    ///
    /// # Errors
    /// Names the invalid size, offset, name or type.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        Self::read_all(vec![Shard::open(path)?])
    }

    /// Reads the weights of a model folder: `model.safetensors`, or the shards in its index.
    ///
    /// # Errors
    /// When there are no weights, the index points outside the folder, or a shard is damaged.
    pub fn read_folder(dir: &Path) -> Result<Self, ModelError> {
        Self::read_all(open_folder(dir)?)
    }

    /// Reads the weights of a model folder, which must be the `expected` names and shapes. Checks
    /// them before it reads any element.
    ///
    /// # Errors
    /// As [`Weights::read_folder`], and names the first missing, unknown or misshapen tensor.
    pub fn read_model(dir: &Path, expected: &[(String, Vec<usize>)]) -> Result<Self, ModelError> {
        Self::read_all(checked_shards(dir, expected)?)
    }

    fn read_all(shards: Vec<Shard>) -> Result<Self, ModelError> {
        let mut out = Self::default();
        for mut shard in shards {
            for (name, span) in std::mem::take(&mut shard.tensors) {
                let tensor = shard.read(&span)?;
                if out.tensors.insert(name.clone(), tensor).is_some() {
                    return Err(ModelError::tensor(&name, "is in two shards"));
                }
            }
        }
        Ok(out)
    }

    /// Writes a safetensors file into a staged folder, one tensor at a time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_into(&self, staged: &StagedFolder, name: &str) -> Result<(), ModelError> {
        write_views(staged, name, self.views())
    }

    /// The content of a safetensors file with these tensors.
    ///
    /// # Errors
    /// When the library rejects them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        safetensors::serialize(self.views(), metadata())
            .map_err(|error| ModelError::tensor("(all)", error.to_string()))
    }

    fn views(&self) -> impl Iterator<Item = (&str, LittleEndian<'_>)> {
        self.iter()
            .map(|(name, tensor)| (name, LittleEndian(tensor)))
    }

    /// Adds or replaces a tensor.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.tensors.insert(name.into(), tensor);
    }

    /// The tensor `name`, which must have `shape`.
    ///
    /// # Errors
    /// When it is missing or has another shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<&Tensor, ModelError> {
        let tensor = self
            .find(name)
            .ok_or_else(|| ModelError::tensor(name, "is missing"))?;
        if tensor.shape != shape {
            return Err(ModelError::shape(name, &tensor.shape, shape));
        }
        Ok(tensor)
    }

    /// The tensor `name`, of any shape.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Removes and returns the tensor `name`, so that a loader does not hold the model twice.
    #[must_use]
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        self.tensors.remove(name)
    }

    /// Names and tensors, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Whether there are no tensors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }
}

/// Writes a safetensors file into a staged folder. `make` makes the tensors one after the other, so
/// that only one of them is in memory.
///
/// # Errors
/// Those of `make`, and when the file cannot be written.
pub fn write_made(
    staged: &StagedFolder,
    file: &str,
    tensors: &[(String, Vec<usize>)],
    make: &dyn Fn(&str) -> Result<Tensor, ModelError>,
) -> Result<(), ModelError> {
    let failed = RefCell::new(None);
    let views = tensors.iter().map(|(name, shape)| {
        let failed = &failed;
        let view = MadeTensor {
            name,
            shape,
            make,
            failed,
        };
        (name.as_str(), view)
    });
    write_views(staged, file, views)?;
    failed.into_inner().map_or(Ok(()), Err)
}

fn write_views<'a, V: View>(
    staged: &StagedFolder,
    file: &str,
    views: impl Iterator<Item = (&'a str, V)>,
) -> Result<(), ModelError> {
    let path = staged.path().join(file);
    // The library creates a file that only its owner can read; restore the usual permissions.
    let ordinary = File::create(&path)
        .and_then(|file| file.metadata())
        .map_err(ModelError::io(&path))?
        .permissions();
    safetensors::serialize_to_file(views, metadata(), &path).map_err(|error| match error {
        SafeTensorError::IoError(source) => ModelError::io(&path)(source),
        other => ModelError::weights(&path, other.to_string()),
    })?;
    File::open(&path)
        .and_then(|file| {
            file.set_permissions(ordinary)
                .and_then(|()| file.sync_all())
        })
        .map_err(ModelError::io(&path))
}

/// Opens the weight files of a model folder, which must hold the `expected` names and shapes.
fn checked_shards(dir: &Path, expected: &[(String, Vec<usize>)]) -> Result<Vec<Shard>, ModelError> {
    let shards = open_folder(dir)?;
    let expected: BTreeMap<&str, &[usize]> = expected
        .iter()
        .map(|(name, shape)| (name.as_str(), shape.as_slice()))
        .collect();
    let mut found = BTreeMap::new();
    for shard in &shards {
        for (name, span) in &shard.tensors {
            found.insert(name.as_str(), span.shape.as_slice());
            // Older versions of transformers stored buffers, which are not parameters. A tied
            // output layer is sometimes stored twice.
            let ignored = ["rotary_emb.inv_freq", "masked_bias", "position_ids"]
                .iter()
                .any(|end| name.ends_with(end))
                || name == "lm_head.weight";
            if !ignored && !expected.contains_key(name.as_str()) {
                let message = "is not a tensor of the model that config.json describes";
                return Err(ModelError::tensor(name, message));
            }
        }
    }
    for (name, shape) in &expected {
        match found.get(name) {
            None => return Err(ModelError::tensor(name, "is missing")),
            Some(has) if has != shape => return Err(ModelError::shape(name, has, shape)),
            Some(_) => {}
        }
    }
    Ok(shards)
}

/// transformers rejects files whose metadata does not name the framework.
fn metadata() -> Option<HashMap<String, String>> {
    Some(HashMap::from([("format".to_owned(), "pt".to_owned())]))
}

/// A tensor as the library writes it. Its bytes exist only during the write.
struct LittleEndian<'a>(&'a Tensor);

impl View for LittleEndian<'_> {
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

/// A tensor that is made when the library writes it. The library cannot be told of an error, so it
/// is kept in `failed`, and zeros are written to the file, which is then discarded.
struct MadeTensor<'a> {
    name: &'a str,
    shape: &'a [usize],
    make: &'a dyn Fn(&str) -> Result<Tensor, ModelError>,
    failed: &'a RefCell<Option<ModelError>>,
}

impl View for MadeTensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }
    fn shape(&self) -> &[usize] {
        self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        let made = (self.make)(self.name).and_then(|tensor| {
            if tensor.shape == self.shape {
                Ok(tensor)
            } else {
                Err(ModelError::shape(self.name, &tensor.shape, self.shape))
            }
        });
        match made {
            Ok(tensor) => tensor.data.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Err(error) => {
                self.failed.borrow_mut().get_or_insert(error);
                vec![0; self.data_len()].into()
            }
        }
    }
    fn data_len(&self) -> usize {
        4 * self.shape.iter().product::<usize>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fs;

    use super::*;

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
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        assert_eq!(header["__metadata__"], serde_json::json!({"format": "pt"}));
    }

    #[test]
    fn halves_of_both_kinds_are_read() {
        for (dtype, bits) in [("BF16", 0xc020_u16), ("F16", 0xc100)] {
            let header =
                format!(r#"{{"w":{{"dtype":"{dtype}","shape":[1],"data_offsets":[0,2]}}}}"#);
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            bytes.extend(bits.to_le_bytes());
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("model.safetensors"), bytes).unwrap();
            let read = Weights::read_folder(dir.path()).unwrap();
            let tensors: Vec<_> = read.iter().map(|(_, tensor)| tensor.data.clone()).collect();
            assert_eq!(tensors, [[-2.5]], "{dtype}");
        }
    }

    #[test]
    fn made_tensors_are_written_like_others_and_their_errors_are_returned() {
        let dir = tempfile::tempdir().unwrap();
        let staged = StagedFolder::new(&dir.path().join("out")).unwrap();
        let shapes: Vec<(String, Vec<usize>)> = sample()
            .iter()
            .map(|(name, tensor)| (name.to_owned(), tensor.shape.clone()))
            .collect();
        let make = |name: &str| {
            let missing = || ModelError::tensor(name, "is missing");
            sample().find(name).cloned().ok_or_else(missing)
        };
        write_made(&staged, "x.safetensors", &shapes, &make).unwrap();
        let written = fs::read(staged.path().join("x.safetensors")).unwrap();
        assert_eq!(written, sample().to_bytes().unwrap());
        let error = |shapes: &[(String, Vec<usize>)]| {
            let written = write_made(&staged, "y.safetensors", shapes, &make);
            written.unwrap_err().to_string()
        };
        assert!(error(&[("c".to_owned(), vec![1])]).contains("is missing"));
        assert!(error(&[("a".to_owned(), vec![2])]).contains("`a`"));
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
