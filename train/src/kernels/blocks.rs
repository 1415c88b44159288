//! Products with a frozen matrix in blocks, as in a GGUF file.
//!
//! Some rows at a time become numbers and go through the ordinary product. A micro-batch has
//! hundreds of rows, so that the conversion costs little, and the result is that of the numbers that
//! the blocks stand for, without rounding the other factor.

use model::gguf::{BlockFormat, blocks};
use model::{ModelError, Stored};
use rayon::prelude::*;

use super::buffer::Buffer;
use super::mixed::multiply_in;
use super::product::{Matrix, Target};
use crate::device::Precision;

/// Numbers that are unpacked at a time.
const SLICE: usize = 1 << 20;

/// A matrix whose rows are in blocks of a number format.
#[derive(Debug)]
pub(crate) struct BlockMatrix {
    format: BlockFormat,
    bytes: Vec<u8>,
    rows: usize,
    columns: usize,
}

impl BlockMatrix {
    /// Reads the first `rows` rows of `stored`, and converts them if it has another format. `name`
    /// is for the errors.
    ///
    /// # Errors
    /// When the rows cannot be read, or are not whole blocks.
    pub(crate) fn read(
        name: &str,
        stored: &Stored<'_>,
        rows: usize,
        format: BlockFormat,
    ) -> Result<Self, ModelError> {
        let columns = stored.shape.last().copied().unwrap_or(0);
        let (Some(from), Some(to)) = (stored.format.row_bytes(columns), format.row_bytes(columns))
        else {
            let message = format!(
                "has rows of {columns} numbers, which are not whole blocks of {}",
                format.name()
            );
            return Err(ModelError::tensor(name, message));
        };
        let mut bytes = Vec::with_capacity(rows * to);
        let (step, old) = (step(columns), stored.format);
        let mut raw = Vec::new();
        for first in (0..rows).step_by(step) {
            let count = step.min(rows - first);
            if old == format {
                stored.rows(first, count, &mut bytes)?;
                continue;
            }
            raw.clear();
            stored.rows(first, count, &mut raw)?;
            let converted: Vec<Vec<u8>> = raw
                .par_chunks(from)
                .map(|row| {
                    let mut numbers = vec![0.0; columns];
                    blocks::dequantise(old, row, &mut numbers);
                    let mut out = Vec::with_capacity(to);
                    blocks::quantise(format, &numbers, &mut out);
                    out
                })
                .collect();
            converted.iter().for_each(|row| bytes.extend(row));
        }
        if !blocks::finite(format, &bytes) {
            let message = "contains a number that is not finite";
            return Err(ModelError::tensor(name, message));
        }
        Ok(Self {
            format,
            bytes,
            rows,
            columns,
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Width of a row.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The blocks.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The rows from `first` on as numbers; as many as `out` has room for.
    pub(crate) fn unpack(&self, first: usize, out: &mut [f32]) {
        let each = self.bytes.len() / self.rows.max(1);
        let bytes = &self.bytes[first * each..];
        out.par_chunks_mut(self.columns.max(1))
            .zip(bytes.par_chunks(each.max(1)))
            .for_each(|(out, row)| blocks::dequantise(self.format, row, out));
    }

    /// Calls `f` with slices of the rows as numbers, and with the first row of each.
    fn slices(&self, mut f: impl FnMut(usize, Matrix<'_>)) {
        let step = step(self.columns);
        let mut numbers = Buffer::unset(step.min(self.rows) * self.columns);
        for first in (0..self.rows).step_by(step) {
            let count = step.min(self.rows - first);
            let numbers = &mut numbers[..count * self.columns];
            self.unpack(first, numbers);
            f(first, Matrix::new(numbers, self.columns));
        }
    }

    /// The products of the rows of `x` with all rows of this matrix, in the columns from `from` on of rows of `width`:
    /// replaces the old values, or is added to them.
    pub(crate) fn multiply(
        &self,
        precision: Precision,
        x: Matrix<'_>,
        (out, width, from): (&mut [f32], usize, usize),
        is_added: bool,
    ) {
        self.slices(|first, rows| {
            let target = Target::columns(out, width, from + first, rows.rows());
            multiply_in(precision, target, is_added, x, rows.transposed());
        });
    }

    /// `grad * matrix`, the gradient of the input of [`BlockMatrix::multiply`]: replaces `out`, or is added to it.
    pub(crate) fn multiply_back(
        &self,
        precision: Precision,
        grad: Matrix<'_>,
        out: &mut [f32],
        is_added: bool,
    ) {
        self.slices(|first, rows| {
            let grad = grad.columns(first, rows.rows());
            let target = Target::new(out, self.columns);
            multiply_in(precision, target, is_added || first > 0, grad, rows);
        });
    }
}

/// Rows that are unpacked at a time.
fn step(columns: usize) -> usize {
    (SLICE / columns.max(1)).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{Tensor, WeightSource, Weights};

    use super::super::product::multiply;
    use super::*;

    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7 + seed) as f32).sin()).collect()
    }

    fn matrix(
        format: BlockFormat,
        rows: usize,
        columns: usize,
    ) -> Result<(BlockMatrix, Vec<f32>), ModelError> {
        let mut weights = Weights::default();
        let (shape, data) = (vec![rows, columns], numbers(rows * columns, 1));
        weights.insert("w", Tensor { shape, data });
        let matrix = BlockMatrix::read("w", &weights.open("w")?, rows, format)?;
        let mut real = vec![0.0; rows * columns];
        matrix.unpack(0, &mut real);
        Ok((matrix, real))
    }

    #[test]
    fn products_equal_those_of_the_numbers_in_every_format() {
        for format in BlockFormat::ALL {
            // The second shape has more rows than are unpacked at a time.
            for (rows, columns) in [(5, 512), (2500, 512)] {
                let (matrix, real) = matrix(format, rows, columns).unwrap();
                let stored = numbers(rows * columns, 1);
                let far = real.iter().zip(&stored).map(|(a, b)| (a - b).abs());
                assert!(far.fold(0.0, f32::max) < 0.1, "{}", format.name());
                let (x, width) = (numbers(3 * columns, 2), rows + 4);
                let (mut out, mut plain) = (vec![1.0; 3 * width], vec![1.0; 3 * width]);
                matrix.multiply(
                    Precision::F32,
                    Matrix::new(&x, columns),
                    (&mut out, width, 2),
                    true,
                );
                let target = Target::columns(&mut plain, width, 2, rows);
                let transposed = Matrix::new(&real, columns).transposed();
                multiply(target, 1.0, Matrix::new(&x, columns), transposed, 1.0);
                assert_eq!(out, plain, "{} {rows}", format.name());

                let grad = Matrix::new(&plain, width).columns(2, rows);
                let (mut dx, mut expected) = (vec![7.0; x.len()], vec![7.0; x.len()]);
                matrix.multiply_back(Precision::F32, grad, &mut dx, false);
                let target = Target::new(&mut expected, columns);
                multiply(target, 0.0, grad, Matrix::new(&real, columns), 1.0);
                let size = expected.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
                let far = dx.iter().zip(&expected).map(|(a, b)| (a - b).abs());
                let far = far.fold(0.0, f32::max);
                assert!(far <= 1e-5 * size, "{} {rows}: {far}", format.name());
            }
        }
    }

    #[test]
    fn rows_that_are_no_blocks_and_numbers_that_are_not_finite_are_errors() {
        let error = matrix(BlockFormat::Q8_0, 2, 40).unwrap_err().to_string();
        assert!(error.contains("rows of 40 numbers"), "{error}");
        let mut weights = Weights::default();
        let (shape, data) = (vec![1, 32], vec![f32::INFINITY; 32]);
        weights.insert("w", Tensor { shape, data });
        let stored = weights.open("w").unwrap();
        let read = BlockMatrix::read("w", &stored, 1, BlockFormat::Q8_0);
        let error = read.unwrap_err().to_string();
        assert!(error.contains("not finite"), "{error}");
    }
}
