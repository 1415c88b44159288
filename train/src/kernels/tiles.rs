//! Products of bfloat16 numbers with sums in f32, by the tile registers of processors that have them
//! (AMX). Other processors compute the same product of the rounded numbers in f32; the sums differ in
//! their last bits.
//!
//! A matrix is packed once and may be used in many products. A tile of the left matrix has 16 rows of
//! 32 numbers; one of the right matrix has 16 columns of 32 numbers, as 16 lines of pairs that are
//! next to each other in a column. Tiles at the edges are filled with zeros.

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

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod registers {
    //! The tile registers of x86-64.
    #![allow(
        unsafe_code,
        reason = "the instructions have no safe interface, and none at all in this version of Rust"
    )]

    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid_count, __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_ps,
        _mm512_permutexvar_epi16, _mm512_setzero_si512, _mm512_shuffle_i32x4,
        _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
    };
    use std::mem::transmute;
    use std::sync::OnceLock;

    use super::{DEPTH, Line, Onto, Packing, SIDE, Tiles};

    /// Rows and columns of a block: two by two tiles.
    const BLOCK: usize = 2 * SIDE;

    /// The shapes of the tile registers, in the layout of `ldtilecfg`.
    #[repr(C, align(64))]
    struct Shapes {
        palette: u8,
        start: u8,
        reserved: [u8; 14],
        bytes: [u16; 16],
        rows: [u8; 16],
    }

    /// All eight registers have 16 rows of 64 bytes.
    static SHAPES: Shapes = Shapes {
        palette: 1,
        start: 0,
        reserved: [0; 14],
        bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
    };

    /// Whether the processor has the registers and the system lets this process use them.
    pub(super) fn available() -> bool {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        *AVAILABLE.get_or_init(|| {
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512bf16");
            let (bf16, tiles) = (1 << 22, 1 << 24);
            // The leaf exists on every processor with AVX-512.
            let has_tiles = has_avx512 && {
                let features = __cpuid_count(7, 0).edx;
                features & bf16 != 0 && features & tiles != 0
            };
            has_tiles && permitted()
        })
    }

    /// Asks the system for the use of the registers by all threads.
    fn permitted() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const REQUEST: i64 = 0x1023;
        const TILE_DATA: i64 = 18;
        let result: i64;
        // SAFETY: this system call reads and writes no memory of the process.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") ARCH_PRCTL => result,
                in("rdi") REQUEST,
                in("rsi") TILE_DATA,
                out("rcx") _,
                out("r11") _,
                options(nostack),
            );
        }
        result == 0
    }

    /// Packs one tile as the functions next to this module do, if it is inside the matrix.
    pub(super) fn pack(
        x: &[f32],
        width: usize,
        (row, column): (usize, usize),
        packing: Packing,
        transposed: bool,
        tile: &mut [Line; SIDE],
    ) -> bool {
        let (rows, columns) = match packing {
            Packing::Along => (SIDE, DEPTH),
            Packing::Down => (DEPTH, SIDE),
        };
        if column + columns > width || (row + rows) * width > x.len() {
            return false;
        }
        let x = &x[row * width + column..];
        assert!(x.len() >= (rows - 1) * width + columns);
        // SAFETY: processors with tile registers have AVX-512 with bfloat16 numbers, and the numbers
        // that are read are inside `x`, as checked.
        unsafe {
            match packing {
                Packing::Along => pack_along(x, width, transposed, tile),
                Packing::Down => pack_down(x, width, transposed, tile),
            }
        }
        true
    }

    /// The tile of 16 rows of `x`.
    ///
    /// # Safety
    /// `x` has 32 numbers in each of 16 rows of `width`.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pack_along(x: &[f32], width: usize, transposed: bool, tile: &mut [Line; SIDE]) {
        let mut lines = [_mm512_setzero_si512(); SIDE];
        for (i, line) in lines.iter_mut().enumerate() {
            // SAFETY: promised by the caller; both types are 64 bytes.
            *line = unsafe {
                let from = x.as_ptr().add(i * width);
                let (low, high) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(SIDE)));
                transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low))
            };
        }
        store(lines, transposed, tile);
    }

    /// The tile of 16 columns of `x`.
    ///
    /// # Safety
    /// `x` has 16 numbers in each of 32 rows of `width`.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pack_down(x: &[f32], width: usize, transposed: bool, tile: &mut [Line; SIDE]) {
        /// Places of the halves of pairs.
        const PAIRS: [u16; DEPTH] = {
            let mut pairs = [0; DEPTH];
            let mut i = 0;
            while i < SIDE {
                pairs[2 * i] = i as u16;
                pairs[2 * i + 1] = (SIDE + i) as u16;
                i += 1;
            }
            pairs
        };
        let mut lines = [_mm512_setzero_si512(); SIDE];
        // SAFETY: promised by the caller; all types are 64 bytes.
        unsafe {
            let pairs = transmute::<[u16; DEPTH], __m512i>(PAIRS);
            for (p, line) in lines.iter_mut().enumerate() {
                let from = x.as_ptr().add(2 * p * width);
                let (first, second) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(width)));
                let both = _mm512_cvtne2ps_pbh(second, first);
                let both = transmute::<__m512bh, __m512i>(both);
                *line = _mm512_permutexvar_epi16(pairs, both);
            }
        }
        store(lines, transposed, tile);
    }

    /// Writes 16 lines of words, or the same with rows and columns exchanged.
    #[target_feature(enable = "avx512f")]
    fn store(mut r: [__m512i; SIDE], transposed: bool, tile: &mut [Line; SIDE]) {
        if transposed {
            let mut t = r;
            for i in 0..8 {
                t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
                t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
            }
            // In a quarter `k` of `r[4 * g + j]`: column `4 * k + j` of the rows from `4 * g` on.
            for g in 0..4 {
                r[4 * g] = _mm512_unpacklo_epi64(t[4 * g], t[4 * g + 2]);
                r[4 * g + 1] = _mm512_unpackhi_epi64(t[4 * g], t[4 * g + 2]);
                r[4 * g + 2] = _mm512_unpacklo_epi64(t[4 * g + 1], t[4 * g + 3]);
                r[4 * g + 3] = _mm512_unpackhi_epi64(t[4 * g + 1], t[4 * g + 3]);
            }
            for j in 0..4 {
                let even = _mm512_shuffle_i32x4::<0x88>(r[j], r[4 + j]);
                let odd = _mm512_shuffle_i32x4::<0xdd>(r[j], r[4 + j]);
                let even_below = _mm512_shuffle_i32x4::<0x88>(r[8 + j], r[12 + j]);
                let odd_below = _mm512_shuffle_i32x4::<0xdd>(r[8 + j], r[12 + j]);
                t[j] = _mm512_shuffle_i32x4::<0x88>(even, even_below);
                t[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd, odd_below);
                t[8 + j] = _mm512_shuffle_i32x4::<0xdd>(even, even_below);
                t[12 + j] = _mm512_shuffle_i32x4::<0xdd>(odd, odd_below);
            }
            r = t;
        }
        for (line, r) in tile.iter_mut().zip(r) {
            // SAFETY: both are 64 bytes, and every bit pattern is a line.
            line.0 = unsafe { transmute::<__m512i, [u32; SIDE]>(r) };
        }
    }

    /// `out = left * right`. The caller has checked that the registers are available and that the
    /// shapes fit.
    pub(super) fn multiply(left: &Tiles, right: &Tiles, onto: Onto<'_>, out: &mut [f32]) {
        let (rows, columns, steps) = (left.side, right.side, left.steps());
        if steps == 0 {
            return;
        }
        // SAFETY: the configuration is valid and the registers are available.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, readonly));
        }
        let panel = steps * SIDE;
        for (i, left) in left.lines.chunks_exact(2 * panel).enumerate() {
            let first = i * BLOCK;
            let count = BLOCK.min(rows - first);
            let out = &mut out[first * columns..(first + count) * columns];
            for (j, right) in right.lines.chunks_exact(2 * panel).enumerate() {
                block((left, right), steps, onto, (out, columns), j * BLOCK);
            }
        }
        // SAFETY: only resets the registers.
        unsafe {
            asm!("tilerelease", options(nostack, nomem));
        }
    }

    /// The columns from `first` on of up to 32 rows of `width`: the product of two panels of two tiles
    /// each.
    #[inline(always)]
    fn block(
        panels: (&[Line], &[Line]),
        steps: usize,
        onto: Onto<'_>,
        (out, width): (&mut [f32], usize),
        first: usize,
    ) {
        let columns = BLOCK.min(width - first);
        let is_whole = columns == BLOCK && out.len() == BLOCK * width;
        if is_whole {
            assert!(out.len() >= (BLOCK - 1) * width + first + BLOCK);
            // SAFETY: the bias and 32 rows of `width` numbers from `first` on are inside the slices.
            unsafe {
                let to = out.as_mut_ptr().add(first);
                match onto {
                    Onto::Replace => start(&raw const ZEROS.0[0], 0),
                    Onto::Bias(bias) => start(bias[first..first + BLOCK].as_ptr(), 0),
                    Onto::Add => start(to, width),
                }
                sum(panels, steps);
                finish(to, width);
            }
            return;
        }
        let mut sums = [0.0; BLOCK * BLOCK];
        // SAFETY: `sums` has 32 rows of 32 numbers.
        unsafe {
            start(&raw const ZEROS.0[0], 0);
            sum(panels, steps);
            finish(sums.as_mut_ptr(), BLOCK);
        }
        let rows = out.chunks_exact_mut(width).zip(sums.chunks_exact(BLOCK));
        for (out, sums) in rows {
            let sums = out[first..first + columns].iter_mut().zip(sums);
            match onto {
                Onto::Replace => sums.for_each(|(y, x)| *y = *x),
                Onto::Add => sums.for_each(|(y, x)| *y += x),
                Onto::Bias(bias) => {
                    let bias = &bias[first..first + columns];
                    sums.zip(bias).for_each(|((y, x), bias)| *y = x + bias);
                }
            }
        }
    }

    /// A line of zeros and one more.
    #[repr(C, align(64))]
    struct Zeros([f32; BLOCK]);
    static ZEROS: Zeros = Zeros([0.0; BLOCK]);

    /// Loads the four sum registers from 32 rows of 32 numbers, `step` numbers apart.
    ///
    /// # Safety
    /// The rows must be readable and the registers configured.
    #[inline(always)]
    unsafe fn start(from: *const f32, step: usize) {
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "tileloadd tmm0, [{first} + {step}*4]",
                "tileloadd tmm1, [{first} + {step}*4 + 64]",
                "tileloadd tmm2, [{second} + {step}*4]",
                "tileloadd tmm3, [{second} + {step}*4 + 64]",
                first = in(reg) from,
                second = in(reg) from.add(SIDE * step),
                step = in(reg) step,
                options(nostack, readonly),
            );
        }
    }

    /// Stores the four sum registers to 32 rows of 32 numbers, `step` numbers apart.
    ///
    /// # Safety
    /// The rows must be writable and the registers configured.
    #[inline(always)]
    unsafe fn finish(to: *mut f32, step: usize) {
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "tilestored [{first} + {step}*4], tmm0",
                "tilestored [{first} + {step}*4 + 64], tmm1",
                "tilestored [{second} + {step}*4], tmm2",
                "tilestored [{second} + {step}*4 + 64], tmm3",
                first = in(reg) to,
                second = in(reg) to.add(SIDE * step),
                step = in(reg) step,
                options(nostack),
            );
        }
    }

    /// Adds the product of two panels of two tiles each to the four sum registers.
    ///
    /// # Safety
    /// The registers must be configured.
    #[inline(always)]
    unsafe fn sum((left, right): (&[Line], &[Line]), steps: usize) {
        const TILE_BYTES: usize = SIDE * DEPTH * 2;
        assert!(left.len() == 2 * steps * SIDE && right.len() == left.len() && steps > 0);
        let panel = steps * TILE_BYTES;
        // SAFETY: the panels have the lines that are read, as checked above; a prefetch may be
        // outside of them. The registers are configured, as the caller promises.
        unsafe {
            asm!(
                "2:",
                "tileloadd tmm4, [{a} + {line}*1]",
                "tileloadd tmm6, [{b} + {line}*1]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{d} + {line}*1]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{c} + {line}*1]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {a}, 1024",
                "add {b}, 1024",
                "add {c}, 1024",
                "add {d}, 1024",
                "dec {steps}",
                "jnz 2b",
                a = inout(reg) left.as_ptr() => _,
                c = inout(reg) left.as_ptr().byte_add(panel) => _,
                b = inout(reg) right.as_ptr() => _,
                d = inout(reg) right.as_ptr().byte_add(panel) => _,
                steps = inout(reg) steps => _,
                line = in(reg) 64_usize,
                options(nostack, readonly),
            );
        }
    }
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
