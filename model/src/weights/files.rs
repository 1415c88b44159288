//! Reading the weights of a folder on demand.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use safetensors::Dtype;

use super::shard::{Shard, TensorSpan};
use crate::blocks::BlockFormat;
use crate::{ModelError, Stored, WeightSource};

/// The weights of a model folder, in their files. Only the headers are in memory.
pub struct WeightFiles {
    shards: RefCell<Vec<Shard>>,
    /// Shard and position of every tensor.
    spans: HashMap<String, (usize, TensorSpan)>,
}

impl WeightFiles {
    /// Opens the files of a folder, which must hold the `expected` names and shapes.
    ///
    /// # Errors
    /// As [`Weights::read_model`](crate::Weights::read_model), except for damaged elements.
    pub fn open(dir: &Path, expected: &[(String, Vec<usize>)]) -> Result<Self, ModelError> {
        let mut shards = super::checked_shards(dir, expected)?;
        let mut spans = HashMap::new();
        for (index, shard) in shards.iter_mut().enumerate() {
            for (name, span) in std::mem::take(&mut shard.tensors) {
                if spans.insert(name.clone(), (index, span)).is_some() {
                    return Err(ModelError::tensor(&name, "is in two shards"));
                }
            }
        }
        Ok(Self {
            shards: RefCell::new(shards),
            spans,
        })
    }
}

impl WeightSource for WeightFiles {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let missing = || ModelError::tensor(name, "is missing");
        let (shard, span) = self.spans.get(name).ok_or_else(missing)?;
        let format = match span.dtype {
            Dtype::F32 => BlockFormat::F32,
            Dtype::BF16 => BlockFormat::Bf16,
            _ => BlockFormat::F16,
        };
        let width = span.shape.last().copied().unwrap_or(1);
        let row = width * format.block_bytes();
        let name = name.to_owned();
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| {
            let end = first + count;
            if end * row > span.bytes {
                return Err(ModelError::tensor(
                    &name,
                    format!("has no rows {first} to {end}"),
                ));
            }
            self.shards.borrow_mut()[*shard].read_bytes(span, first * row, count * row, out)
        };
        Ok(Stored::new(format, span.shape.clone(), Box::new(read)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn rows_of_every_type_are_those_of_the_whole_tensor() {
        let dir = tempfile::tempdir().unwrap();
        let numbers: Vec<f32> = (0..12).map(|i| i as f32 - 5.5).collect();
        let header = r#"{"a":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]},"b":{"dtype":"BF16","shape":[4,3],"data_offsets":[48,72]},"c":{"dtype":"F16","shape":[12],"data_offsets":[72,96]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(
            numbers
                .iter()
                .flat_map(|x| bf16::from_f32(*x).to_le_bytes()),
        );
        bytes.extend(numbers.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()));
        std::fs::write(dir.path().join("model.safetensors"), bytes).unwrap();
        let shapes = [
            ("a".to_owned(), vec![4, 3]),
            ("b".to_owned(), vec![4, 3]),
            ("c".to_owned(), vec![12]),
        ];
        let files = WeightFiles::open(dir.path(), &shapes).unwrap();
        let formats = [BlockFormat::F32, BlockFormat::Bf16, BlockFormat::F16];
        for ((name, shape), format) in shapes.iter().zip(formats) {
            let stored = WeightSource::open(&files, name).unwrap();
            assert_eq!((&stored.shape, stored.format), (shape, format));
            assert_eq!(stored.values().unwrap(), numbers, "{name}");
        }
        let stored = WeightSource::open(&files, "a").unwrap();
        let mut some = Vec::new();
        stored.rows(1, 2, &mut some).unwrap();
        let expected: Vec<u8> = numbers[3..9].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(some, expected);
        let error = stored.rows(3, 2, &mut some).unwrap_err().to_string();
        assert!(error.contains("has no rows 3 to 5"), "{error}");
        let missing = WeightFiles::open(dir.path(), &[("d".to_owned(), vec![1])]);
        assert!(missing.is_err());
    }
}
