//! Products of bfloat16 numbers with sums in f32, by the tile registers of processors that have them
//! (AMX). Other processors compute the same product of the rounded numbers in f32; the sums differ in
//! their last bits.
//!
//! A matrix is packed once and may be used in many products. A tile of the left matrix has 16 rows of
//! 32 numbers; one of the right matrix has 16 columns of 32 numbers, as 16 lines of pairs that are
//! next to each other in a column. Tiles at the edges are filled with zeros.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod registers;

use super::lanes::simd;
use super::product::{Matrix, Target, multiply_here};

/// Rows of a left tile, columns of a right one.
const SIDE: usize = 16;
/// Numbers that a tile has in the direction of the sum.
const DEPTH: usize = 32;

/// 32 numbers: a line of a tile register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u32; SIDE]);

/// A packed matrix: tiles of one block of rows (or columns) after the other.
#[derive(Clone, Default)]
pub(crate) struct Tiles {
    lines: Vec<Line>,
    /// Rows of a left matrix, columns of a right one.
    side: usize,
    /// Length of the sums.
    depth: usize,
}

/// Rounds to the nearest bfloat16, to even.
#[inline(always)]
fn rounded(x: f32) -> u32 {
    let bits = x.to_bits();
    bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16
}

/// How the numbers of a matrix `[rows, width]` lie in tiles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// Pairs are next to each other in a row; a tile has 16 rows and 32 columns.
    Along,
    /// Pairs are one below the other; a tile has 32 rows and 16 columns.
    Down,
}

impl Tiles {
    /// The left matrix `x`, `[rows, width]`.
    pub(crate) fn left_rows(&mut self, x: &[f32], width: usize) {
        self.pack(x, width, Packing::Along, false);
    }

    /// The left matrix whose columns are the rows of `x`, `[rows, width]`.
    pub(crate) fn left_columns(&mut self, x: &[f32], width: usize) {
        self.pack(x, width, Packing::Down, true);
    }

    /// The right matrix `x`, `[rows, width]`.
    pub(crate) fn right_rows(&mut self, x: &[f32], width: usize) {
        self.pack(x, width, Packing::Down, false);
    }

    /// The right matrix whose columns are the rows of `x`, `[rows, width]`.
    pub(crate) fn right_columns(&mut self, x: &[f32], width: usize) {
        self.pack(x, width, Packing::Along, true);
    }

    /// Tiles in the direction of the sum.
    fn steps(&self) -> usize {
        self.depth.div_ceil(DEPTH)
    }

    fn pack(&mut self, x: &[f32], width: usize, packing: Packing, transposed: bool) {
        let rows = x.len() / width.max(1);
        (self.side, self.depth) = match packing {
            Packing::Along => (rows, width),
            Packing::Down => (width, rows),
        };
        let steps = self.steps();
        let blocks = self.side.div_ceil(2 * SIDE) * 2;
        self.lines.resize(blocks * steps * SIDE, Line([0; SIDE]));
        let (tiles, _) = self.lines.as_chunks_mut::<SIDE>();
        let place = |index: usize| {
            let (side, deep) = (index / steps * SIDE, index % steps * DEPTH);
            match packing {
                Packing::Along => (side, deep),
                Packing::Down => (deep, side),
            }
        };
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        let is_fast = registers::available();
        for (index, tile) in tiles.iter_mut().enumerate() {
            let place = place(index);
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            if is_fast && registers::pack(x, width, place, packing, transposed, tile) {
                continue;
            }
            simd!(_l => match packing {
                Packing::Along => along(x, width, place, tile),
                Packing::Down => down(x, width, place, tile),
            });
            if transposed {
                *tile = turned(tile);
            }
        }
    }

    /// The numbers as `[side, depth]`; `is_left` says how the pairs lie.
    fn unpacked(&self, is_left: bool) -> Vec<f32> {
        let mut out = vec![0.0; self.side * self.depth];
        let steps = self.steps();
        for (at, value) in out.iter_mut().enumerate() {
            let (side, deep) = (at / self.depth, at % self.depth);
            let tile = (side / SIDE * steps + deep / DEPTH) * SIDE;
            let (inner, pair) = (side % SIDE, deep % DEPTH / 2);
            let word = if is_left {
                self.lines[tile + inner].0[pair]
            } else {
                self.lines[tile + pair].0[inner]
            };
            *value = f32::from_bits(if deep % 2 == 0 {
                word << 16
            } else {
                word & 0xffff_0000
            });
        }
        out
    }
}

/// The tile with 16 rows and 32 columns of `x` from a place on.
#[inline(always)]
fn along(x: &[f32], width: usize, (row, column): (usize, usize), tile: &mut [Line; SIDE]) {
    let rows = x.len() / width;
    for (i, line) in tile.iter_mut().enumerate() {
        if row + i >= rows {
            line.0 = [0; SIDE];
            continue;
        }
        let start = (row + i) * width + column;
        let end = start + DEPTH.min(width - column);
        let mut padded = [0.0; DEPTH];
        let numbers = match x[start..end].as_array::<DEPTH>() {
            Some(numbers) => numbers,
            None => {
                padded[..end - start].copy_from_slice(&x[start..end]);
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
fn down(x: &[f32], width: usize, (row, column): (usize, usize), tile: &mut [Line; SIDE]) {
    let rows = x.len() / width;
    let count = SIDE.min(width.saturating_sub(column));
    for (p, line) in tile.iter_mut().enumerate() {
        let mut pair = [[0.0; SIDE]; 2];
        for (i, out) in pair.iter_mut().enumerate() {
            let at = row + 2 * p + i;
            if at < rows && count == SIDE {
                out.copy_from_slice(&x[at * width + column..][..SIDE]);
            } else if at < rows {
                out[..count].copy_from_slice(&x[at * width + width - count..][..count]);
            }
        }
        for (out, (a, b)) in line.0.iter_mut().zip(pair[0].iter().zip(&pair[1])) {
            *out = rounded(*a) | rounded(*b) << 16;
        }
    }
}

/// The tile with rows and columns of words exchanged.
#[inline(always)]
fn turned(tile: &[Line; SIDE]) -> [Line; SIDE] {
    let mut out = [Line([0; SIDE]); SIDE];
    for (i, line) in tile.iter().enumerate() {
        for (j, word) in line.0.iter().enumerate() {
            out[j].0[i] = *word;
        }
    }
    out
}

/// What a product does with the old numbers.
#[derive(Clone, Copy)]
pub(crate) enum Onto<'a> {
    /// Replaces them.
    Replace,
    /// Replaces them, and adds this to every row.
    Bias(&'a [f32]),
    /// Adds to them.
    Add,
}

/// `out = left * right`, `[rows, columns]`, on this thread.
///
/// # Panics
/// When the shapes do not fit together.
pub(crate) fn multiply(left: &Tiles, right: &Tiles, onto: Onto<'_>, out: &mut [f32]) {
    assert!(
        left.depth == right.depth && out.len() == left.side * right.side,
        "[{}, {}] times [{}, {}] into {} numbers",
        left.side,
        left.depth,
        right.depth,
        right.side,
        out.len()
    );
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if registers::available() {
        registers::multiply(left, right, onto, out);
        return;
    }
    multiply_plainly(left, right, onto, out);
}

/// [`multiply`] in f32.
fn multiply_plainly(left: &Tiles, right: &Tiles, onto: Onto<'_>, out: &mut [f32]) {
    let (a, b) = (left.unpacked(true), right.unpacked(false));
    let keep = if matches!(onto, Onto::Add) { 1.0 } else { 0.0 };
    let width = right.side;
    multiply_here(
        Target::new(out, width),
        keep,
        Matrix::new(&a, left.depth),
        Matrix::new(&b, left.depth).transposed(),
    );
    if let Onto::Bias(bias) = onto {
        for row in out.chunks_exact_mut(width.max(1)) {
            row.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
        }
    }
}

/// Whether this machine has tile registers.
pub(crate) fn are_fast() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return registers::available();
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    false
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| rng.normal()).collect()
    }

    fn bf16(x: f32) -> f64 {
        f64::from(f32::from_bits(rounded(x) << 16))
    }

    #[test]
    fn products_of_every_packing_match_plain_loops() {
        let (mut left, mut right) = (Tiles::default(), Tiles::default());
        for (m, k, n) in [
            (1, 1, 1),
            (5, 33, 17),
            (64, 96, 32),
            (40, 70, 100),
            (16, 32, 16),
        ] {
            let (a, b, bias) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n, 3));
            let turned = |x: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                let at = |i: usize| x[i % rows * columns + i / rows];
                (0..x.len()).map(at).collect()
            };
            for form in 0..4 {
                if form % 2 == 0 {
                    left.left_rows(&a, k);
                } else {
                    left.left_columns(&turned(&a, m, k), m);
                }
                if form / 2 == 0 {
                    right.right_rows(&b, n);
                } else {
                    right.right_columns(&turned(&b, k, n), k);
                }
                for onto in [Onto::Replace, Onto::Bias(&bias), Onto::Add] {
                    let (mut ours, mut plain) = (vec![0.5; m * n], vec![0.5; m * n]);
                    multiply(&left, &right, onto, &mut ours);
                    multiply_plainly(&left, &right, onto, &mut plain);
                    for (i, (ours, plain)) in ours.iter().zip(&plain).enumerate() {
                        let products =
                            (0..k).map(|j| bf16(a[i / n * k + j]) * bf16(b[j * n + i % n]));
                        let rest = match onto {
                            Onto::Replace => 0.0,
                            Onto::Bias(bias) => f64::from(bias[i % n]),
                            Onto::Add => 0.5,
                        };
                        let expected = products.sum::<f64>() + rest;
                        assert!(
                            (f64::from(*ours) - expected).abs() < 1e-4,
                            "{m} {k} {n} {form}"
                        );
                        assert!(
                            (f64::from(*plain) - expected).abs() < 1e-4,
                            "{m} {k} {n} {form}"
                        );
                    }
                }
            }
        }
    }
}
