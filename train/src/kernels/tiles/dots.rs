//! Packing and products by the dot products of AVX-512 (`vdpbf16ps`).
#![allow(unsafe_code, reason = "the instructions have no safe interface")]

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_add_ps, _mm512_cvtne2ps_pbh, _mm512_dpbf16_ps,
    _mm512_loadu_ps, _mm512_permutexvar_epi16, _mm512_set1_epi32, _mm512_setzero_ps,
    _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_ps, _mm512_unpackhi_epi32,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};
use std::mem::transmute;

use super::pack::{Packing, View};
use super::{BLOCK, DEPTH, Line, Onto, Region, SIDE, block_of_sums};

/// Rows of a step: their sums and those of 32 columns are in 16 registers.
const ROWS: usize = 8;

/// Whether the processor has the instructions.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512bf16")
}

/// A region of a product. The caller has checked the processor and that the shapes fit.
pub(super) fn multiply(
    (left, right): (&[Line], &[Line]),
    steps: usize,
    onto: Onto<'_>,
    out: &mut [f32],
    region: Region,
) {
    let panel = steps * SIDE;
    for (i, left) in left.chunks_exact(panel).enumerate() {
        for half in 0..SIDE / ROWS {
            let row = i * SIDE + half * ROWS;
            if row >= region.rows {
                break;
            }
            for (j, right) in right.chunks_exact(2 * panel).enumerate() {
                let (first, second) = right.split_at(panel);
                // SAFETY: the caller has checked the processor.
                let sums = unsafe { sums(left, half * ROWS, first, second) };
                finish(&sums, onto, out, region, (row, j * BLOCK));
            }
        }
    }
}

/// Sums of eight rows of a left panel, from `row` of its tiles on, with two right panels.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn sums(left: &[Line], row: usize, first: &[Line], second: &[Line]) -> [[__m512; 2]; ROWS] {
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    let (left, _) = left.as_chunks::<SIDE>();
    let (first, _) = first.as_chunks::<SIDE>();
    let (second, _) = second.as_chunks::<SIDE>();
    for ((left, first), second) in left.iter().zip(first).zip(second) {
        let Some(rows) = left[row..].first_chunk::<ROWS>() else {
            return sums;
        };
        for p in 0..SIDE {
            let (first, second) = (numbers(&first[p]), numbers(&second[p]));
            for (sums, line) in sums.iter_mut().zip(rows) {
                let pair = _mm512_set1_epi32(line.0[p].cast_signed());
                // SAFETY: both are 64 bytes, and every bit pattern is valid.
                let pair = unsafe { transmute::<__m512i, __m512bh>(pair) };
                sums[0] = _mm512_dpbf16_ps(sums[0], pair, first);
                sums[1] = _mm512_dpbf16_ps(sums[1], pair, second);
            }
        }
    }
    sums
}

/// The numbers of a line.
#[target_feature(enable = "avx512f")]
fn numbers(line: &Line) -> __m512bh {
    // SAFETY: both are 64 bytes, and every bit pattern is valid.
    unsafe { transmute::<[u32; SIDE], __m512bh>(line.0) }
}

/// Writes the sums of eight rows and 32 columns to a place of the region.
#[inline(always)]
fn finish(
    sums: &[[__m512; 2]; ROWS],
    onto: Onto<'_>,
    out: &mut [f32],
    region: Region,
    (row, column): (usize, usize),
) {
    if row + ROWS <= region.rows && column + BLOCK <= region.columns {
        let place = row * region.width + column;
        for (i, sums) in sums.iter().enumerate() {
            let out = &mut out[place + i * region.width..][..BLOCK];
            // SAFETY: `out` has 32 numbers, and so has the bias; the processor has the instructions.
            unsafe {
                for (half, sum) in sums.iter().enumerate() {
                    let to = out[half * SIDE..].as_mut_ptr();
                    let sum = match onto {
                        Onto::Replace => *sum,
                        Onto::Add => _mm512_add_ps(*sum, _mm512_loadu_ps(to)),
                        Onto::Bias(bias) => {
                            let bias = &bias[column + half * SIDE..][..SIDE];
                            _mm512_add_ps(*sum, _mm512_loadu_ps(bias.as_ptr()))
                        }
                    };
                    _mm512_storeu_ps(to, sum);
                }
            }
        }
        return;
    }
    let mut block = [0.0; BLOCK * BLOCK];
    for (i, sums) in sums.iter().enumerate() {
        for (half, sum) in sums.iter().enumerate() {
            let to = &mut block[i * BLOCK + half * SIDE..][..SIDE];
            // SAFETY: `to` has 16 numbers, and the processor has the instructions.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), *sum) };
        }
    }
    block_of_sums(&block[..ROWS * BLOCK], onto, out, region, (row, column));
}

/// Packs one tile as the functions of the parent module do, if it is inside the matrix. The caller has checked the
/// processor.
pub(super) fn pack(
    x: View<'_>,
    (row, column): (usize, usize),
    packing: Packing,
    transposed: bool,
    tile: &mut [Line; SIDE],
) -> bool {
    let (rows, columns) = match packing {
        Packing::Along => (SIDE, DEPTH),
        Packing::Down => (DEPTH, SIDE),
    };
    if column + columns > x.columns || row + rows > x.rows {
        return false;
    }
    let width = x.stride;
    let x = &x.x[row * width + column..];
    assert!(x.len() >= (rows - 1) * width + columns);
    // SAFETY: the caller has checked the processor, and the numbers that are read are inside `x`, as checked.
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
