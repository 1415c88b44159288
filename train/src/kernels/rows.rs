//! Rows of matrices: copies, sums and biases.

use rayon::prelude::*;

use super::BLOCK_ROWS;
use super::buffer::Buffer;
use super::lanes::{Lanes as _, map, simd};

/// Numbers per task of an operation that only moves memory.
const BLOCK: usize = 1 << 14;

/// `sum += x`.
pub(crate) fn add(sum: &mut [f32], x: &[f32]) {
    sum.par_chunks_mut(BLOCK)
        .zip(x.par_chunks(BLOCK))
        .for_each(|(sum, x)| {
            simd!(l => map(l, sum, [x], #[inline(always)] |sum, [x]| l.add(sum, x)));
        });
}

/// `x *= y`, element by element.
pub(crate) fn multiply(x: &mut [f32], y: &[f32]) {
    x.par_chunks_mut(BLOCK)
        .zip(y.par_chunks(BLOCK))
        .for_each(|(x, y)| {
            simd!(l => map(l, x, [y], #[inline(always)] |x, [y]| l.mul(x, y)));
        });
}

/// `x *= factor`.
pub(crate) fn scale(x: &mut [f32], factor: f32) {
    x.iter_mut().for_each(|x| *x *= factor);
}

/// The rows of `width` at `indices`.
pub(crate) fn select(x: &[f32], width: usize, indices: &[u32]) -> Buffer {
    let mut out = Buffer::unset(indices.len() * width);
    for (index, out) in indices.iter().zip(out.chunks_exact_mut(width)) {
        let start = *index as usize * width;
        out.copy_from_slice(&x[start..start + width]);
    }
    out
}

/// The inverse of [`select`] for different indices: `count` rows of `width`, zero where no index
/// points.
pub(crate) fn spread(x: &[f32], width: usize, indices: &[u32], count: usize) -> Buffer {
    let mut out = Buffer::zeros(count * width);
    for (index, x) in indices.iter().zip(x.chunks_exact(width)) {
        let start = *index as usize * width;
        out[start..start + width].copy_from_slice(x);
    }
    out
}

/// Adds every row of `x` to the row of `table` that its index points to; `None` skips a row.
pub(crate) fn add_at(
    table: &mut [f32],
    x: &[f32],
    width: usize,
    indices: impl Iterator<Item = Option<usize>>,
) {
    for (index, x) in indices.zip(x.chunks_exact(width)) {
        if let Some(index) = index {
            for (sum, x) in table[index * width..(index + 1) * width].iter_mut().zip(x) {
                *sum += x;
            }
        }
    }
}

/// `count` columns from column `from` on of rows of `width`.
pub(crate) fn columns(x: &[f32], width: usize, from: usize, count: usize) -> Vec<f32> {
    let rows = x.chunks_exact(width);
    rows.flat_map(|row| &row[from..from + count])
        .copied()
        .collect()
}

/// Writes rows of `count` to the columns from `from` on of rows of `width`.
pub(crate) fn set_columns(out: &mut [f32], width: usize, from: usize, count: usize, x: &[f32]) {
    for (out, x) in out.chunks_exact_mut(width).zip(x.chunks_exact(count)) {
        out[from..from + count].copy_from_slice(x);
    }
}

/// Adds `bias` to the columns from `from` on of every row of `width`.
pub(crate) fn add_bias(out: &mut [f32], width: usize, from: usize, bias: &[f32]) {
    out.par_chunks_mut(BLOCK_ROWS * width).for_each(|out| {
        simd!(l => {
            for row in out.chunks_exact_mut(width) {
                let row = &mut row[from..from + bias.len()];
                map(l, row, [bias], #[inline(always)] |y, [bias]| l.add(y, bias));
            }
        });
    });
}

/// Adds the sums of the columns from `from` on of rows of `width` to `sums`.
pub(crate) fn add_column_sums(sums: &mut [f32], x: &[f32], width: usize, from: usize) {
    let count = sums.len();
    let partial: Vec<Vec<f32>> = x
        .par_chunks(BLOCK_ROWS * width)
        .map(|x| {
            let mut sum = vec![0.0; count];
            simd!(l => {
                for row in x.chunks_exact(width) {
                    let row = &row[from..from + count];
                    map(l, &mut sum, [row], #[inline(always)] |sum, [x]| l.add(sum, x));
                }
            });
            sum
        })
        .collect();
    for block in &partial {
        add(sums, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_rows_return_to_their_places() {
        let x: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let chosen = select(&x, 3, &[0, 2, 3]);
        assert_eq!(*chosen, [0.0, 1.0, 2.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
        let back = spread(&chosen, 3, &[0, 2, 3], 4);
        assert_eq!(back[3..6], [0.0; 3]);
        assert_eq!((&back[..3], &back[6..]), (&x[..3], &x[6..]));
        let mut table = vec![1.0; 6];
        let places = [Some(1), None, Some(1)];
        add_at(&mut table, &chosen, 3, places.into_iter());
        assert_eq!(table, [1.0, 1.0, 1.0, 10.0, 12.0, 14.0]);
    }

    #[test]
    fn columns_and_their_sums_match_plain_loops() {
        let (rows, width, from, count) = (150, 13, 2, 9);
        let x: Vec<f32> = (0..rows * width).map(|i| (i % 17) as f32).collect();
        let part = columns(&x, width, from, count);
        let mut sums = vec![1.0; count];
        add_column_sums(&mut sums, &x, width, from);
        for (j, sum) in sums.iter().enumerate() {
            let expected: f32 = part[j..].iter().step_by(count).sum();
            assert_eq!(*sum, 1.0 + expected, "whole numbers add exactly");
        }
        let bias: Vec<f32> = (0..count).map(|i| i as f32 + 1.0).collect();
        let mut with = x.clone();
        add_bias(&mut with, width, from, &bias);
        for (i, (with, x)) in with.iter().zip(&x).enumerate() {
            let column = i % width;
            let inside = (from..from + count).contains(&column);
            let added = if inside { bias[column - from] } else { 0.0 };
            assert_eq!(*with, x + added);
        }
        set_columns(&mut with, width, from, count, &part);
        assert_eq!(with, x);
    }
}
