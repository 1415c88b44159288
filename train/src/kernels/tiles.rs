//! Products of bfloat16 numbers with sums in f32, by the tile registers of processors that have them
//! (AMX), or by the dot products of AVX-512. Other processors compute the same product of the rounded
//! numbers in f32. The sums differ in their last bits.
//!
//! A matrix is packed once and may be used in many products. A tile of the left matrix has 16 rows of
//! 32 numbers; one of the right matrix has 16 columns of 32 numbers, as 16 lines of pairs that are
//! next to each other in a column. Tiles at the edges are filled with zeros.

#[cfg(target_arch = "x86_64")]
mod dots;
mod pack;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod registers;

use std::cell::Cell;

use rayon::prelude::*;

use self::pack::{Packing, View, along, down, turned};
use super::lanes::simd;
use super::product::{Matrix, Target, multiply_here};

/// Rows of a left tile, columns of a right one.
const SIDE: usize = 16;
/// Numbers that a tile has in the direction of the sum.
const DEPTH: usize = 32;

/// Rows and columns of a block: two by two tiles.
const BLOCK: usize = 2 * SIDE;
/// Rows of a product that a thread computes at a time.
const SHARE: usize = 4 * BLOCK;
/// Tiles that a thread packs at a time.
const TILES: usize = 64;

/// 32 numbers: a line of a tile register.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u32; SIDE]);

/// A packed matrix: tiles of one block of rows (or columns) after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    lines: Vec<Line>,
    /// Rows of a left matrix, columns of a right one.
    side: usize,
    /// Length of the sums.
    depth: usize,
}

impl Tiles {
    const EMPTY: Self = Self {
        lines: Vec::new(),
        side: 0,
        depth: 0,
    };

    /// The left matrix `x`, `[rows, width]`.
    pub(crate) fn left_rows(&mut self, x: &[f32], width: usize) {
        self.pack(View::whole(x, width), Packing::Along, false);
    }

    /// The left matrix whose columns are the rows of `x`, `[rows, width]`.
    pub(crate) fn left_columns(&mut self, x: &[f32], width: usize) {
        self.pack(View::whole(x, width), Packing::Down, true);
    }

    /// The right matrix `x`, `[rows, width]`.
    pub(crate) fn right_rows(&mut self, x: &[f32], width: usize) {
        self.pack(View::whole(x, width), Packing::Down, false);
    }

    /// The right matrix whose columns are the rows of `x`, `[rows, width]`.
    pub(crate) fn right_columns(&mut self, x: &[f32], width: usize) {
        self.pack(View::whole(x, width), Packing::Along, true);
    }

    /// Tiles in the direction of the sum.
    fn steps(&self) -> usize {
        self.depth.div_ceil(DEPTH)
    }

    /// Packs on this thread.
    fn pack(&mut self, x: View<'_>, packing: Packing, transposed: bool) {
        let steps = self.resize(x, packing);
        let (tiles, _) = self.lines.as_chunks_mut::<SIDE>();
        for (index, tile) in tiles.iter_mut().enumerate() {
            pack_tile(x, packing, transposed, steps, (index, tile));
        }
    }

    /// Packs on all threads.
    fn pack_all(&mut self, x: View<'_>, packing: Packing, transposed: bool) {
        let steps = self.resize(x, packing);
        let (tiles, _) = self.lines.as_chunks_mut::<SIDE>();
        let tiles = tiles.par_iter_mut().with_min_len(TILES).enumerate();
        tiles.for_each(|tile| pack_tile(x, packing, transposed, steps, tile));
    }

    /// Makes room for a matrix; returns the tiles in the direction of the sum.
    fn resize(&mut self, x: View<'_>, packing: Packing) -> usize {
        (self.side, self.depth) = match packing {
            Packing::Along => (x.rows, x.columns),
            Packing::Down => (x.columns, x.rows),
        };
        let steps = self.steps();
        let blocks = self.side.div_ceil(2 * SIDE) * 2;
        self.lines.resize(blocks * steps * SIDE, Line([0; SIDE]));
        steps
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

/// Packs the tile with this index.
#[inline(always)]
fn pack_tile(
    x: View<'_>,
    packing: Packing,
    transposed: bool,
    steps: usize,
    (index, tile): (usize, &mut [Line; SIDE]),
) {
    let (side, deep) = (index / steps * SIDE, index % steps * DEPTH);
    let place = match packing {
        Packing::Along => (side, deep),
        Packing::Down => (deep, side),
    };
    #[cfg(target_arch = "x86_64")]
    if dots::available() && dots::pack(x, place, packing, transposed, tile) {
        return;
    }
    simd!(_l => match packing {
        Packing::Along => along(x, place, tile),
        Packing::Down => down(x, place, tile),
    });
    if transposed {
        *tile = turned(tile);
    }
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

/// Where a product is written: `rows` by `columns` numbers, the first ones of rows of `width`.
#[derive(Clone, Copy)]
struct Region {
    rows: usize,
    columns: usize,
    width: usize,
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
    if left.depth == 0 {
        return;
    }
    let region = Region {
        rows: left.side,
        columns: right.side,
        width: right.side,
    };
    if !multiply_region((&left.lines, &right.lines), left.steps(), onto, out, region) {
        multiply_plainly(left, right, onto, (out, right.side));
    }
}

thread_local! {
    /// Memory for packing, one for each side of a product.
    static PACKED: [Cell<Tiles>; 2] = const { [Cell::new(Tiles::EMPTY), Cell::new(Tiles::EMPTY)] };
}

/// Calls `f` with this thread's memory for the left (0) or right (1) side. A task that runs meanwhile on this thread gets
/// other memory.
fn with_packed<T>(side: usize, f: impl FnOnce(&mut Tiles) -> T) -> T {
    let mut tiles = PACKED.with(|packed| packed[side].take());
    let result = f(&mut tiles);
    PACKED.with(|packed| packed[side].set(tiles));
    result
}

/// `out = left * right`, or added to it, on all threads.
///
/// # Panics
/// When the shapes do not fit together.
pub(crate) fn multiply_all(left: Matrix<'_>, right: Matrix<'_>, is_added: bool, out: Target<'_>) {
    let (a, b) = (View::of(left), View::of(right));
    let (rows, depth) = a.shape();
    let (same, columns) = b.shape();
    let (out, width) = out.parts(rows, columns);
    assert!(depth == same, "[{rows}, {depth}] times [{same}, {columns}]");
    let onto = if is_added { Onto::Add } else { Onto::Replace };
    with_packed(1, |right| {
        let packing = if b.is_turned {
            Packing::Along
        } else {
            Packing::Down
        };
        right.pack_all(b, packing, b.is_turned);
        let right = &*right;
        let shares = out.par_chunks_mut(SHARE * width).enumerate();
        shares.for_each(|(share, out)| {
            let first = share * SHARE;
            let rows = SHARE.min(rows - first);
            with_packed(0, |left| {
                let packing = if a.is_turned {
                    Packing::Down
                } else {
                    Packing::Along
                };
                left.pack(a.part(first, rows), packing, a.is_turned);
                let region = Region {
                    rows,
                    columns,
                    width,
                };
                if !multiply_region((&left.lines, &right.lines), left.steps(), onto, out, region) {
                    multiply_plainly(left, right, onto, (out, width));
                }
            });
        });
    });
}

/// Computes a region of a product, if the processor can.
fn multiply_region(
    lines: (&[Line], &[Line]),
    steps: usize,
    onto: Onto<'_>,
    out: &mut [f32],
    region: Region,
) -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if registers::available() {
        registers::multiply(lines, steps, onto, out, region);
        return true;
    }
    #[cfg(target_arch = "x86_64")]
    if dots::available() {
        dots::multiply(lines, steps, onto, out, region);
        return true;
    }
    let _ = (lines, steps, onto, out, region);
    false
}

/// Writes a block of sums, rows of 32, that may exceed the region.
fn block_of_sums(
    sums: &[f32],
    onto: Onto<'_>,
    out: &mut [f32],
    region: Region,
    (row, column): (usize, usize),
) {
    let columns = BLOCK.min(region.columns - column);
    let rows = out.chunks_mut(region.width).take(region.rows).skip(row);
    for (out, sums) in rows.zip(sums.chunks_exact(BLOCK)) {
        let sums = out[column..column + columns].iter_mut().zip(sums);
        match onto {
            Onto::Replace => sums.for_each(|(y, x)| *y = *x),
            Onto::Add => sums.for_each(|(y, x)| *y += x),
            Onto::Bias(bias) => {
                let bias = &bias[column..column + columns];
                sums.zip(bias).for_each(|((y, x), bias)| *y = x + bias);
            }
        }
    }
}

/// [`multiply`] in f32, into rows of `width`.
fn multiply_plainly(
    left: &Tiles,
    right: &Tiles,
    onto: Onto<'_>,
    (out, width): (&mut [f32], usize),
) {
    let (a, b) = (left.unpacked(true), right.unpacked(false));
    let keep = if matches!(onto, Onto::Add) { 1.0 } else { 0.0 };
    multiply_here(
        Target::columns(out, width, 0, right.side),
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

/// Whether this machine has instructions for products of bfloat16 numbers.
pub(crate) fn are_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return dots::available();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether it has tile registers for them.
pub(crate) fn have_registers() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return registers::available();
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    false
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::pack::rounded;
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
            (300, 40, 33),
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
                let (a_turned, b_turned) = (turned(&a, m, k), turned(&b, k, n));
                let (a_view, b_view) = (
                    [Matrix::new(&a, k), Matrix::new(&a_turned, m).transposed()][form % 2],
                    [Matrix::new(&b, n), Matrix::new(&b_turned, k).transposed()][form / 2],
                );
                for is_added in [false, true] {
                    let width = n + 3;
                    let (mut ours, mut plain) = (vec![0.5; m * n], vec![0.5; m * width]);
                    let onto = if is_added { Onto::Add } else { Onto::Replace };
                    multiply(&left, &right, onto, &mut ours);
                    multiply_all(
                        a_view,
                        b_view,
                        is_added,
                        Target::columns(&mut plain, width, 2, n),
                    );
                    for (row, all) in plain.chunks(width).enumerate() {
                        assert_eq!(all[2..n + 2], ours[row * n..][..n], "{m} {k} {n} {form}");
                        assert_eq!((all[0], all[n + 2]), (0.5, 0.5), "{m} {k} {n} {form}");
                    }
                }
                for onto in [Onto::Replace, Onto::Bias(&bias), Onto::Add] {
                    let (mut ours, mut plain) = (vec![0.5; m * n], vec![0.5; m * n]);
                    multiply(&left, &right, onto, &mut ours);
                    multiply_plainly(&left, &right, onto, (&mut plain, n));
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
