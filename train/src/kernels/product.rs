//! Products of matrices in slices, computed by the crate `gemm-f32`.

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;

/// Operations from which a product uses several threads: below, handing over the work costs more.
const PARALLEL: usize = 192 * 192 * 192;

/// A matrix in a slice. Rows or columns are contiguous.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of `columns` numbers, without gaps.
    pub(crate) fn new(values: &'a [f32], columns: usize) -> Self {
        Self {
            values,
            rows: values.len() / columns.max(1),
            columns,
            row_stride: columns,
            column_stride: 1,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.columns
    }

    /// `count` columns from column `from` on.
    pub(crate) fn columns(self, from: usize, count: usize) -> Self {
        assert!(
            from + count <= self.columns,
            "the matrix has {} columns, not {from} + {count}",
            self.columns
        );
        let start = (from * self.column_stride).min(self.values.len());
        Self {
            values: &self.values[start..],
            columns: count,
            ..self
        }
    }

    /// Rows as columns.
    pub(crate) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Numbers, their rows and columns, how far apart the rows begin, and whether the columns of the matrix are those rows.
    pub(super) fn parts(&self) -> (&'a [f32], [usize; 2], usize, bool) {
        if self.column_stride == 1 {
            let shape = [self.rows, self.columns];
            (self.values, shape, self.row_stride, false)
        } else {
            let shape = [self.columns, self.rows];
            (self.values, shape, self.column_stride, true)
        }
    }

    fn is_inside(&self) -> bool {
        reach(self.rows, self.columns, self.row_stride, self.column_stride)
            .is_some_and(|end| end <= self.values.len())
    }
}

/// The number of elements up to the last of a matrix; `None` if it overflows.
fn reach(rows: usize, columns: usize, row_stride: usize, column_stride: usize) -> Option<usize> {
    if rows == 0 || columns == 0 {
        return Some(0);
    }
    let down = (rows - 1).checked_mul(row_stride)?;
    let across = (columns - 1).checked_mul(column_stride)?;
    down.checked_add(across)?.checked_add(1)
}

/// Where a product is written: some columns of the rows of a slice.
pub(crate) struct Target<'a> {
    values: &'a mut [f32],
    columns: usize,
    row_stride: usize,
}

impl<'a> Target<'a> {
    /// Rows of `columns` numbers, without gaps.
    pub(crate) fn new(values: &'a mut [f32], columns: usize) -> Self {
        Self {
            values,
            columns,
            row_stride: columns,
        }
    }

    /// `count` columns from column `from` on of rows of `width`.
    pub(crate) fn columns(values: &'a mut [f32], width: usize, from: usize, count: usize) -> Self {
        assert!(
            from + count <= width,
            "a row has {width} columns, not {from} + {count}"
        );
        let start = from.min(values.len());
        Self {
            values: &mut values[start..],
            columns: count,
            row_stride: width,
        }
    }
}

impl<'a> Target<'a> {
    /// The numbers from the first on, and how far apart the rows begin.
    ///
    /// # Panics
    /// When it does not hold rows and columns like these.
    pub(super) fn parts(self, rows: usize, columns: usize) -> (&'a mut [f32], usize) {
        let end = reach(rows, columns, self.row_stride, 1);
        assert!(
            columns == self.columns && end.is_some_and(|end| end <= self.values.len()),
            "the result [{rows}, {columns}] exceeds its memory"
        );
        (&mut self.values[..end.unwrap_or(0)], self.row_stride)
    }
}

/// `out = keep * out + factor * a * b`. With `keep` 0 the old values do not matter.
///
/// # Panics
/// When the shapes do not fit together or exceed the slices.
pub(crate) fn multiply(out: Target<'_>, keep: f32, a: Matrix<'_>, b: Matrix<'_>, factor: f32) {
    let operations = a.rows.saturating_mul(b.columns).saturating_mul(a.columns);
    let parallelism = if operations >= PARALLEL {
        Parallelism::Rayon(0)
    } else {
        Parallelism::None
    };
    multiply_by(parallelism, out, keep, a, b, factor);
}

/// [`multiply`] on this thread alone.
///
/// # Panics
/// Those of [`multiply`].
pub(crate) fn multiply_here(out: Target<'_>, keep: f32, a: Matrix<'_>, b: Matrix<'_>) {
    multiply_by(Parallelism::None, out, keep, a, b, 1.0);
}

fn multiply_by(
    parallelism: Parallelism,
    out: Target<'_>,
    keep: f32,
    a: Matrix<'_>,
    b: Matrix<'_>,
    factor: f32,
) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    let Target {
        values,
        columns,
        row_stride,
    } = out;
    assert!(
        b.rows == k && columns == n && row_stride >= n,
        "[{m}, {k}] times [{}, {n}] into {} columns",
        b.rows,
        columns
    );
    assert!(
        reach(m, n, row_stride, 1).is_some_and(|end| end <= values.len()),
        "the result [{m}, {n}] exceeds its memory"
    );
    assert!(
        a.is_inside() && b.is_inside(),
        "[{m}, {k}] or [{k}, {n}] exceeds its memory"
    );
    // The crate prefers results with contiguous columns, so it gets everything transposed.
    // SAFETY: all elements that the strides reach were checked to be in the slices, `out` is
    // borrowed mutably, and the rows of `out` do not overlap.
    #[allow(unsafe_code, reason = "the crate takes pointers")]
    unsafe {
        get_gemm_fn()(
            n,
            m,
            k,
            values.as_mut_ptr(),
            row_stride as isize,
            1,
            keep != 0.0,
            b.values.as_ptr(),
            b.row_stride as isize,
            b.column_stride as isize,
            a.values.as_ptr(),
            a.row_stride as isize,
            a.column_stride as isize,
            keep,
            factor,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7 + seed) as f32).sin()).collect()
    }

    #[test]
    fn products_match_the_definition_in_every_layout() {
        for (m, k, n) in [
            (1, 1, 1),
            (3, 5, 2),
            (1, 40, 33),
            (33, 40, 1),
            (17, 1, 19),
            (70, 130, 65),
            (200, 300, 210),
        ] {
            let (a, b, old) = (
                numbers(m * k, 1),
                numbers(k * n, 2),
                numbers(m * (n + 5), 3),
            );
            let wide = Matrix::new(&b, n).columns(0, n);
            let flipped: Vec<f32> = (0..k * m).map(|i| a[i % m * k + i / m]).collect();
            for (keep, factor) in [(0.0, 1.0), (1.0, 1.0), (-0.5, 2.0)] {
                for (at, a) in [Matrix::new(&a, k), Matrix::new(&flipped, m).transposed()]
                    .into_iter()
                    .enumerate()
                {
                    let mut out = old.clone();
                    let target = Target::columns(&mut out, n + 5, 2, n);
                    multiply(target, keep, a, wide, factor);
                    for (i, (new, old)) in out.iter().zip(&old).enumerate() {
                        let (row, column) = (i / (n + 5), i % (n + 5));
                        let expected = if (2..n + 2).contains(&column) {
                            let products = (0..k).map(|j| {
                                let b = b[j * n + column - 2];
                                f64::from(a.values[row * a.row_stride + j * a.column_stride])
                                    * f64::from(b)
                            });
                            f64::from(keep) * f64::from(*old)
                                + f64::from(factor) * products.sum::<f64>()
                        } else {
                            f64::from(*old)
                        };
                        let error = (f64::from(*new) - expected).abs();
                        assert!(error < 1e-4, "{m} {k} {n} layout {at} element {i}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn old_values_do_not_matter_with_keep_zero() {
        let mut out = vec![f32::NAN; 6];
        multiply(
            Target::new(&mut out, 3),
            0.0,
            Matrix::new(&[1.0, 2.0], 1),
            Matrix::new(&[3.0, 4.0, 5.0], 3),
            1.0,
        );
        assert_eq!(out, [3.0, 4.0, 5.0, 6.0, 8.0, 10.0]);
    }

    #[test]
    #[should_panic(expected = "exceeds its memory")]
    fn memory_outside_the_result_is_not_written() {
        let mut out = vec![0.0; 5];
        let ones = [1.0; 6];
        multiply(
            Target::new(&mut out, 3),
            0.0,
            Matrix::new(&ones[..2], 1),
            Matrix::new(&ones[..3], 3),
            1.0,
        );
    }

    #[test]
    #[should_panic(expected = "[2, 3] times [2, 3] into 3 columns")]
    fn shapes_must_fit() {
        let mut out = vec![0.0; 6];
        let ones = [1.0; 6];
        multiply(
            Target::new(&mut out, 3),
            0.0,
            Matrix::new(&ones, 3),
            Matrix::new(&ones, 3),
            1.0,
        );
    }
}
