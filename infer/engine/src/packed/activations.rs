//! Rows of activations in the form that each weight format needs.

use model::gguf::BlockFormat;
use model::gguf::blocks::K_BLOCK;

use super::isa::Isa;
use crate::kernels::dispatch;

/// Values that share a scale for Q8_0 weights.
pub(super) const SMALL: usize = 32;

/// Rows of activations. For K formats they are 8-bit integers with one scale per 256 values, as in
/// llama.cpp; for Q8_0 16-bit integers with one scale per 32, which costs no time there and rounds
/// 256 times more finely; for 16-bit floats they stay floats. The rows of a tile ([`tiles`],
/// [`float_tiles`]) are interleaved in the order in which the kernel reads them, which takes one
/// pointer instead of one per row.
#[derive(Default, Clone)]
pub(crate) struct Activations {
    /// The instruction set of the products.
    pub(super) isa: Isa,
    pub(super) width: usize,
    /// `[tile][width][row of the tile]`.
    pub(super) plain: Vec<f32>,
    /// `[tile][width / 256][64][row of the tile]`, each four neighbours.
    pub(super) bytes: Vec<[i8; 4]>,
    /// `[tile][width / 256][row of the tile]`.
    pub(super) byte_scales: Vec<f32>,
    /// Sums of 16 and of 32 neighbouring bytes in pairs: `[tile][width / 256][8][row of the tile]`
    /// and `[tile][width / 256][4][row of the tile]`.
    pub(super) sums16: Vec<[i16; 2]>,
    pub(super) sums32: Vec<[i16; 2]>,
    /// `[tile][width / 32][16][row of the tile]`, each two neighbours.
    pub(super) shorts: Vec<[i16; 2]>,
    /// `[tile][width / 32][row of the tile]`.
    pub(super) short_scales: Vec<f32>,
    /// The initial value of a block's sum: -128 times the sum of its numbers, because every weight
    /// is stored with 128 added.
    pub(super) short_begins: Vec<i32>,
}

/// The bytes, scales and sums of some rows; see [`Activations::k_rows`].
type KRows<'a, const R: usize, const T: usize, const S: usize, const N: usize> = (
    &'a [[[[[i8; 4]; R]; T]; S]],
    &'a [[f32; R]],
    &'a [[[[i16; 2]; R]; N]],
);

/// Divides rows into tiles `(first, height)`; `height` maps the rows left to the next height.
fn cut(rows: usize, height: impl Fn(usize) -> usize) -> impl Iterator<Item = (usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let first = done;
        done += if first < rows {
            height(rows - first)
        } else {
            0
        };
        (first < done).then_some((first, done - first))
    })
}

/// The tiles of the integer kernels, as `(first, height)`: as many rows as the registers hold, then
/// half, a quarter, one.
pub(super) fn tiles(isa: Isa, rows: usize) -> impl Iterator<Item = (usize, usize)> {
    let most = if isa == Isa::Avx512 { 8 } else { 4 };
    cut(rows, move |left| most.min(1 << left.ilog2()))
}

/// Rows from which float tiles have six rows. Smaller tiles widen each weight more often, but
/// divide a small number of rows more evenly.
const MANY_ROWS: usize = 36;

/// The tiles of the float kernels. With registers for twelve rows, all tiles have similar heights.
/// With registers for six: up to three rows in one tile, some rows in fours, many in sixes, and
/// never a single row after others.
pub(super) fn float_tiles(isa: Isa, rows: usize) -> impl Iterator<Item = (usize, usize)> {
    cut(rows, move |left| match left {
        _ if isa == Isa::Avx512 => left.div_ceil(left.div_ceil(12)),
        1..=6 if left != 4 || rows >= MANY_ROWS => left,
        7..=11 if rows >= MANY_ROWS => left.div_ceil(2),
        11 => 6,
        _ if rows >= MANY_ROWS => 6,
        _ => 4,
    })
}

/// The largest magnitude.
#[inline(always)]
fn largest(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for chunk in values.as_chunks::<8>().0 {
        for l in 0..8 {
            lanes[l] = lanes[l].max(chunk[l].abs());
        }
    }
    lanes.iter().fold(0.0, |m, &v| m.max(v))
}

/// Rounds to the nearest integer, for magnitudes below 2^22: adding 1.5 · 2^23 leaves it in the low
/// bits.
#[inline(always)]
fn rounded(v: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    (v + SHIFT)
        .to_bits()
        .cast_signed()
        .wrapping_sub(SHIFT.to_bits().cast_signed())
}

/// Writes the groups of row `r` into a tile of `height` rows.
#[inline(always)]
fn put<T: Copy>(tile: &mut [T], height: usize, r: usize, groups: &[T]) {
    for (place, &group) in tile.chunks_exact_mut(height).zip(groups) {
        place[r] = group;
    }
}

impl Activations {
    /// Empty activations for an instruction set.
    #[cfg(test)]
    pub(super) fn of(isa: Isa) -> Self {
        Self {
            isa,
            ..Self::default()
        }
    }

    /// Stores `rows` rows of `width` values for products with weights in `formats`.
    pub(crate) fn fill(
        &mut self,
        formats: &(impl Iterator<Item = BlockFormat> + Clone),
        x: &[f32],
        rows: usize,
        width: usize,
    ) {
        let x = &x[..rows * width];
        self.width = width;
        let has = |wanted: &[BlockFormat]| formats.clone().any(|format| wanted.contains(&format));
        if has(&[BlockFormat::F16, BlockFormat::Bf16]) {
            self.plain.resize(x.len(), 0.0);
            for (first, height) in float_tiles(self.isa, rows) {
                let tile = first * width..(first + height) * width;
                let (x, tile) = (&x[tile.clone()], &mut self.plain[tile]);
                for (r, row) in x.chunks_exact(width).enumerate() {
                    tile[r..]
                        .iter_mut()
                        .step_by(height)
                        .zip(row)
                        .for_each(|(place, &v)| *place = v);
                }
            }
        }
        if has(&[BlockFormat::Q4K, BlockFormat::Q6K]) {
            self.bytes.resize(x.len() / 4, [0; 4]);
            self.byte_scales.resize(x.len() / K_BLOCK, 0.0);
            self.sums16.resize(x.len() / 32, [0; 2]);
            self.sums32.resize(x.len() / 64, [0; 2]);
            self.fill_bytes(x, rows);
        }
        if has(&[BlockFormat::Q8_0]) {
            self.shorts.resize(x.len() / 2, [0; 2]);
            self.short_scales.resize(x.len() / SMALL, 0.0);
            self.short_begins.resize(x.len() / SMALL, 0);
            self.fill_shorts(x, rows);
        }
    }

    fn fill_bytes(&mut self, x: &[f32], rows: usize) {
        let Self {
            isa,
            width,
            bytes,
            byte_scales,
            sums16,
            sums32,
            ..
        } = self;
        let blocks = *width / K_BLOCK;
        dispatch(
            #[inline(always)]
            || {
                for (first, height) in tiles(*isa, rows) {
                    for (r, row) in x[first * *width..]
                        .chunks_exact(*width)
                        .take(height)
                        .enumerate()
                    {
                        for (b, x) in row.as_chunks::<K_BLOCK>().0.iter().enumerate() {
                            let at = first * blocks + b * height;
                            let top = largest(x);
                            byte_scales[at + r] = top / 127.0;
                            let inverse = if top > 0.0 { 127.0 / top } else { 0.0 };
                            let numbers = x.map(|v| rounded(v * inverse) as i8);
                            put(
                                &mut bytes[at * K_BLOCK / 4..],
                                height,
                                r,
                                numbers.as_chunks::<4>().0,
                            );
                            let mut sums = [0i16; K_BLOCK / 16];
                            for (sum, numbers) in sums.iter_mut().zip(numbers.as_chunks::<16>().0) {
                                *sum = numbers.iter().map(|&q| i16::from(q)).sum();
                            }
                            put(
                                &mut sums16[at * K_BLOCK / 32..],
                                height,
                                r,
                                sums.as_chunks::<2>().0,
                            );
                            let mut longer = [0i16; K_BLOCK / 32];
                            for (sum, halves) in longer.iter_mut().zip(sums.as_chunks::<2>().0) {
                                *sum = halves[0] + halves[1];
                            }
                            put(
                                &mut sums32[at * K_BLOCK / 64..],
                                height,
                                r,
                                longer.as_chunks::<2>().0,
                            );
                        }
                    }
                }
            },
        );
    }

    fn fill_shorts(&mut self, x: &[f32], rows: usize) {
        let Self {
            isa,
            width,
            shorts,
            short_scales,
            short_begins,
            ..
        } = self;
        let blocks = *width / SMALL;
        dispatch(
            #[inline(always)]
            || {
                for (first, height) in tiles(*isa, rows) {
                    for (r, row) in x[first * *width..]
                        .chunks_exact(*width)
                        .take(height)
                        .enumerate()
                    {
                        for (b, x) in row.as_chunks::<SMALL>().0.iter().enumerate() {
                            let at = first * blocks + b * height;
                            let top = largest(x);
                            short_scales[at + r] = top / 32767.0;
                            let inverse = if top > 0.0 { 32767.0 / top } else { 0.0 };
                            let numbers = x.map(|v| rounded(v * inverse) as i16);
                            short_begins[at + r] =
                                -128 * numbers.iter().map(|&q| i32::from(q)).sum::<i32>();
                            put(
                                &mut shorts[at * SMALL / 2..],
                                height,
                                r,
                                numbers.as_chunks::<2>().0,
                            );
                        }
                    }
                }
            },
        );
    }

    /// What a product with a K format reads of `R` rows from `first` on, block by block: the bytes of
    /// `S` groups of `T` fours, the scales, and the `N` pairs of `sums`.
    #[inline(always)]
    pub(super) fn k_rows<'a, const R: usize, const T: usize, const S: usize, const N: usize>(
        &'a self,
        first: usize,
        sums: &'a [[i16; 2]],
    ) -> KRows<'a, R, T, S, N> {
        let blocks = self.width / K_BLOCK;
        let begin = first * blocks;
        let bytes = self.bytes[begin * K_BLOCK / 4..].as_chunks().0;
        let bytes = bytes.as_chunks().0.as_chunks().0;
        let scales = self.byte_scales[begin..].as_chunks().0;
        let sums = sums[begin * N..].as_chunks().0.as_chunks().0;
        (&bytes[..blocks], &scales[..blocks], &sums[..blocks])
    }

    /// Number `k` of row `row` for K formats, and the scale of its block.
    pub(super) fn byte(&self, row: usize, k: usize) -> (i8, f32) {
        let rows = self.bytes.len() * 4 / self.width;
        let (first, height) = tiles(self.isa, rows)
            .find(|(first, height)| row < first + height)
            .unwrap_or((0, 1));
        let block = first * (self.width / K_BLOCK) + k / K_BLOCK * height;
        (
            self.bytes[block * K_BLOCK / 4 + k % K_BLOCK / 4 * height + row - first][k % 4],
            self.byte_scales[block + row - first],
        )
    }

    /// Number `k` of row `row` for floats.
    pub(super) fn float(&self, row: usize, k: usize) -> f32 {
        let rows = self.plain.len() / self.width;
        let (first, height) = float_tiles(self.isa, rows)
            .find(|(first, height)| row < first + height)
            .unwrap_or((0, 1));
        self.plain[first * self.width + k * height + row - first]
    }

    /// Number `k` of row `row` for Q8_0, and the scale of its block.
    pub(super) fn short(&self, row: usize, k: usize) -> (i16, f32) {
        let rows = self.shorts.len() * 2 / self.width;
        let (first, height) = tiles(self.isa, rows)
            .find(|(first, height)| row < first + height)
            .unwrap_or((0, 1));
        let block = first * (self.width / SMALL) + k / SMALL * height;
        (
            self.shorts[block * SMALL / 2 + k % SMALL / 2 * height + row - first][k % 2],
            self.short_scales[block + row - first],
        )
    }
}
