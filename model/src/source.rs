//! Access to weights independent of the file type: a tensor's format, shape and rows of bytes, read
//! on demand.

use crate::blocks::{self, BlockFormat};
use crate::{ModelError, Weights};

/// Reads rows: takes the first row, the number of rows and the buffer to append their bytes to.
pub type ReadRows<'a> = Box<dyn Fn(usize, usize, &mut Vec<u8>) -> Result<(), ModelError> + 'a>;

/// A tensor that can be read row by row.
pub struct Stored<'a> {
    /// Number format.
    pub format: BlockFormat,
    /// Lengths of the dimensions, outermost first.
    pub shape: Vec<usize>,
    read: ReadRows<'a>,
}

impl<'a> Stored<'a> {
    /// A tensor whose rows come from `read`.
    #[must_use]
    pub fn new(format: BlockFormat, shape: Vec<usize>, read: ReadRows<'a>) -> Self {
        Self {
            format,
            shape,
            read,
        }
    }

    /// Appends the bytes of `count` rows from row `first`.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn rows(&self, first: usize, count: usize, out: &mut Vec<u8>) -> Result<(), ModelError> {
        (self.read)(first, count, out)
    }

    /// All values of the tensor.
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

/// A source of tensors by their Hugging Face names.
pub trait WeightSource {
    /// The tensor `name`.
    ///
    /// # Errors
    /// When it does not exist.
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError>;
}

impl<S: WeightSource + ?Sized> WeightSource for &S {
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        (**self).open(name)
    }
}

impl WeightSource for Weights {
    /// Returns a matrix in 16 bits if they hold its values exactly, so that a model trained in half
    /// precision needs half the memory.
    fn open(&self, name: &str) -> Result<Stored<'_>, ModelError> {
        let tensor = self
            .find(name)
            .ok_or_else(|| ModelError::tensor(name, "is missing"))?;
        let fits = |rounded: &dyn Fn(f32) -> f32| {
            let exact = |v: &f32| rounded(*v).to_bits() == v.to_bits();
            tensor.shape.len() > 1 && tensor.data.iter().all(exact)
        };
        let format = if fits(&|v| half::bf16::from_f32(v).to_f32()) {
            BlockFormat::Bf16
        } else if fits(&|v| half::f16::from_f32(v).to_f32()) {
            BlockFormat::F16
        } else {
            BlockFormat::F32
        };
        let width = tensor.shape.last().copied().unwrap_or(1);
        let name = name.to_owned();
        let read = move |first: usize, count: usize, out: &mut Vec<u8>| {
            let end = first + count;
            let values = tensor.data.get(first * width..end * width);
            let missing = || ModelError::tensor(&name, format!("has no rows {first} to {end}"));
            blocks::quantise(format, values.ok_or_else(missing)?, out);
            Ok(())
        };
        Ok(Stored::new(format, tensor.shape.clone(), Box::new(read)))
    }
}
