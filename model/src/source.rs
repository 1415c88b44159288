//! Where weights come from, whatever the file: a tensor's format and shape, and its rows as bytes, read when asked for.

use crate::gguf::Format;
use crate::gguf::blocks;
use crate::{ModelError, Weights};

/// What reads rows: first row, number of rows, and where their bytes are appended.
pub type ReadRows<'a> = Box<dyn Fn(usize, usize, &mut Vec<u8>) -> Result<(), ModelError> + 'a>;

/// A tensor that can be read row by row.
pub struct Stored<'a> {
    /// How its numbers are stored.
    pub format: Format,
    /// Lengths of the dimensions, outermost first.
    pub shape: Vec<usize>,
    read: ReadRows<'a>,
}

impl<'a> Stored<'a> {
    /// A tensor whose rows `read` gives.
    #[must_use]
    pub fn new(format: Format, shape: Vec<usize>, read: ReadRows<'a>) -> Self {
        Self {
            format,
            shape,
            read,
        }
    }

    /// Appends the bytes of `count` rows from row `first`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn rows(&self, first: usize, count: usize, out: &mut Vec<u8>) -> Result<(), ModelError> {
        (self.read)(first, count, out)
    }

    /// The whole tensor as numbers.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn values(&self) -> Result<Vec<f32>, ModelError> {
        let rows = self.shape.iter().rev().skip(1).product();
        let mut bytes = Vec::new();
        self.rows(0, rows, &mut bytes)?;
        let mut out = vec![0.0; self.shape.iter().product()];
        blocks::dequantise(self.format, &bytes, &mut out);
        Ok(out)
    }
}

/// A place with named tensors, under the names that Hugging Face gives them.
pub trait WeightSource {
    /// The tensor `name`.
    ///
    /// # Errors
    /// When there is none of that name.
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError>;
}

impl WeightSource for Weights {
    /// Numbers that sixteen bits hold exactly are given as sixteen bits: what was trained in half precision costs half the memory.
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let missing = || ModelError::Tensor {
            name: name.to_owned(),
            message: "is missing".to_owned(),
        };
        let tensor = self.find(name).ok_or_else(missing)?;
        let fits = |back: &dyn Fn(f32) -> f32| {
            tensor.shape.len() > 1
                && tensor
                    .data
                    .iter()
                    .all(|&v| back(v).to_bits() == v.to_bits())
        };
        let format = if fits(&|v| half::bf16::from_f32(v).to_f32()) {
            Format::Bf16
        } else if fits(&|v| half::f16::from_f32(v).to_f32()) {
            Format::F16
        } else {
            Format::F32
        };
        let width = tensor.shape.last().copied().unwrap_or(1);
        let name = name.to_owned();
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| {
            let short = || ModelError::Tensor {
                name: name.clone(),
                message: format!("has no rows {first} to {}", first + count),
            };
            blocks::quantise(
                format,
                tensor
                    .data
                    .get(first * width..(first + count) * width)
                    .ok_or_else(short)?,
                out,
            );
            Ok(())
        };
        Ok(Stored::new(format, tensor.shape.clone(), Box::new(read)))
    }
}
