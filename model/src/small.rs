//! Weights in little space: the matrices in blocks of 8 bits (Q8_0, 32 numbers with one scale),
//! everything else as f32, in a safetensors file. An encoder folder may have this file instead of
//! `model.safetensors`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::tensor::View;
use safetensors::{Dtype, SafeTensors};

use crate::blocks::{BlockFormat, dequantise, finite, quantise};
use crate::{ModelError, Tensor, Weights};

/// The format of the matrices.
const FORMAT: BlockFormat = BlockFormat::Q8_0;
/// Numbers of a block.
const BLOCK: usize = 32;

/// A tensor as it stands in the file.
struct SmallTensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for SmallTensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

impl Weights {
    /// The bytes of a small file. Matrices are rounded to 8 bits; those whose rows are not whole
    /// blocks, and vectors, stay exact.
    ///
    /// # Errors
    /// When the library rejects them.
    pub fn to_small(&self) -> Result<Vec<u8>, ModelError> {
        let tensors: BTreeMap<&str, SmallTensor> = (self.iter())
            .map(|(name, tensor)| (name, small(tensor)))
            .collect();
        safetensors::serialize(tensors, None)
            .map_err(|error| ModelError::tensor("(all)", error.to_string()))
    }

    /// Reads the bytes of a small file.
    ///
    /// # Errors
    /// Names the tensor that is damaged.
    pub fn from_small(bytes: &[u8]) -> Result<Self, ModelError> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| ModelError::tensor("(all)", error.to_string()))?;
        let mut weights = Self::default();
        for (name, view) in file.iter() {
            weights.insert(name, read(name, view.dtype(), view.shape(), view.data())?);
        }
        Ok(weights)
    }
}

fn small(tensor: &Tensor) -> SmallTensor {
    let width = tensor.shape.last().copied().unwrap_or(0);
    let mut bytes = Vec::new();
    if let ([rows, _], Some(each), true) = (
        &tensor.shape[..],
        FORMAT.row_bytes(width),
        width > 0 && width.is_multiple_of(BLOCK),
    ) {
        for row in tensor.data.chunks_exact(width) {
            quantise(FORMAT, row, &mut bytes);
        }
        return SmallTensor {
            dtype: Dtype::U8,
            shape: vec![*rows, each],
            bytes,
        };
    }
    bytes.extend(tensor.data.iter().flat_map(|x| x.to_le_bytes()));
    SmallTensor {
        dtype: Dtype::F32,
        shape: tensor.shape.clone(),
        bytes,
    }
}

fn read(name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<Tensor, ModelError> {
    let damaged = |what: &str| ModelError::tensor(name, what.to_owned());
    let (shape, data) = match (dtype, shape) {
        (Dtype::U8, &[rows, each]) => {
            let block = FORMAT.row_bytes(BLOCK).unwrap_or(1);
            if each == 0 || !each.is_multiple_of(block) {
                return Err(damaged("has rows that are not whole blocks"));
            }
            if !finite(FORMAT, bytes) {
                return Err(damaged("contains a number that is not finite"));
            }
            let width = each / block * BLOCK;
            let mut data = vec![0.0; rows * width];
            for (row, bytes) in data.chunks_exact_mut(width).zip(bytes.chunks_exact(each)) {
                dequantise(FORMAT, bytes, row);
            }
            (vec![rows, width], data)
        }
        (Dtype::F32, shape) => {
            let numbers = bytes.as_chunks::<4>().0.iter();
            let data: Vec<f32> = numbers.map(|x| f32::from_le_bytes(*x)).collect();
            if data.iter().any(|x| !x.is_finite()) {
                return Err(damaged("contains a number that is not finite"));
            }
            (shape.to_vec(), data)
        }
        _ => return Err(damaged("is neither f32 nor in blocks of 8 bits")),
    };
    Tensor::new(name, shape, data)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn weights() -> Weights {
        let mut weights = Weights::default();
        let mut add = |name: &str, shape: Vec<usize>| {
            let n = shape.iter().product();
            let data = (0..n).map(|i| (i as f32 * 0.7).sin()).collect();
            weights.insert(name, Tensor { shape, data });
        };
        add("matrix", vec![3, 64]);
        add("narrow", vec![3, 10]);
        add("vector", vec![64]);
        weights
    }

    #[test]
    fn matrices_are_rounded_and_everything_else_is_exact() {
        let before = weights();
        let bytes = before.to_small().unwrap();
        let after = Weights::from_small(&bytes).unwrap();
        for name in ["narrow", "vector"] {
            assert_eq!(before.find(name), after.find(name));
        }
        let (old, new) = (
            before.find("matrix").unwrap(),
            after.find("matrix").unwrap(),
        );
        assert_eq!(old.shape, new.shape);
        let worst = old.data.iter().zip(&new.data).map(|(a, b)| (a - b).abs());
        let worst = worst.fold(0.0, f32::max);
        assert!(worst > 0.0 && worst < 0.005, "{worst}");
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = weights().to_small().unwrap();
        for cut in 0..bytes.len() {
            assert!(Weights::from_small(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        let mut other = Weights::default();
        let data = vec![f32::NAN; 4];
        other.insert(
            "x",
            Tensor {
                shape: vec![4],
                data,
            },
        );
        let error = Weights::from_small(&other.to_small().unwrap()).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
    }
}
