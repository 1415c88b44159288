//! The tile registers of x86-64.
#![allow(
    unsafe_code,
    reason = "the instructions have no safe interface, and none at all in this version of Rust"
)]

use std::arch::asm;
use std::arch::x86_64::{
    __cpuid_count, __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_loadu_ps,
    _mm512_permutexvar_epi16, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_unpackhi_epi32,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
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
