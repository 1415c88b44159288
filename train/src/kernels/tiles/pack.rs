//! Packing of matrices into tiles.

use super::super::product::Matrix;
use super::{DEPTH, Line, SIDE};

/// A matrix whose rows begin `stride` numbers apart, or whose columns are such rows.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) x: &'a [f32],
    /// Of the numbers in `x`.
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) stride: usize,
    /// Whether rows and columns are exchanged in the matrix.
    pub(super) is_turned: bool,
}

impl<'a> View<'a> {
    /// Rows of `width` numbers, without gaps.
    pub(super) fn whole(x: &'a [f32], width: usize) -> Self {
        Self {
            x,
            rows: x.len() / width.max(1),
            columns: width,
            stride: width,
            is_turned: false,
        }
    }

    pub(super) fn of(matrix: Matrix<'a>) -> Self {
        let (x, [rows, columns], stride, is_turned) = matrix.parts();
        Self {
            x,
            rows,
            columns,
            stride,
            is_turned,
        }
    }

    /// Rows and columns of the matrix.
    pub(super) fn shape(&self) -> (usize, usize) {
        if self.is_turned {
            (self.columns, self.rows)
        } else {
            (self.rows, self.columns)
        }
    }

    /// `count` rows of the matrix.
    pub(super) fn part(self, first: usize, count: usize) -> Self {
        if self.is_turned {
            let (x, columns) = (&self.x[first..], count);
            Self { x, columns, ..self }
        } else {
            let (x, rows) = (&self.x[first * self.stride..], count);
            Self { x, rows, ..self }
        }
    }
}

/// Rounds to the nearest bfloat16, to even.
#[inline(always)]
pub(super) fn rounded(x: f32) -> u32 {
    let bits = x.to_bits();
    bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16
}

/// How the numbers of a matrix `[rows, width]` lie in tiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Pairs are next to each other in a row; a tile has 16 rows and 32 columns.
    Along,
    /// Pairs are one below the other; a tile has 32 rows and 16 columns.
    Down,
}

/// The tile with 16 rows and 32 columns of `x` from a place on.
#[inline(always)]
pub(super) fn along(x: View<'_>, (row, column): (usize, usize), tile: &mut [Line; SIDE]) {
    for (i, line) in tile.iter_mut().enumerate() {
        if row + i >= x.rows {
            line.0 = [0; SIDE];
            continue;
        }
        let start = (row + i) * x.stride + column;
        let end = start + DEPTH.min(x.columns - column);
        let mut padded = [0.0; DEPTH];
        let numbers = match x.x[start..end].as_array::<DEPTH>() {
            Some(numbers) => numbers,
            None => {
                padded[..end - start].copy_from_slice(&x.x[start..end]);
                &padded
            }
        };
        let bits = numbers.map(rounded);
        for (p, out) in line.0.iter_mut().enumerate() {
            *out = bits[2 * p] | bits[2 * p + 1] << 16;
        }
    }
}

/// The tile with 32 rows and 16 columns of `x` from a place on.
#[inline(always)]
pub(super) fn down(x: View<'_>, (row, column): (usize, usize), tile: &mut [Line; SIDE]) {
    let count = SIDE.min(x.columns.saturating_sub(column));
    for (p, line) in tile.iter_mut().enumerate() {
        let mut pair = [[0.0; SIDE]; 2];
        for (i, out) in pair.iter_mut().enumerate() {
            let at = row + 2 * p + i;
            if at < x.rows && count > 0 {
                let from = at * x.stride + column;
                out[..count].copy_from_slice(&x.x[from..from + count]);
            }
        }
        for (out, (a, b)) in line.0.iter_mut().zip(pair[0].iter().zip(&pair[1])) {
            *out = rounded(*a) | rounded(*b) << 16;
        }
    }
}

/// The tile with rows and columns of words exchanged.
#[inline(always)]
pub(super) fn turned(tile: &[Line; SIDE]) -> [Line; SIDE] {
    let mut out = [Line([0; SIDE]); SIDE];
    for (i, line) in tile.iter().enumerate() {
        for (j, word) in line.0.iter().enumerate() {
            out[j].0[i] = *word;
        }
    }
    out
}
