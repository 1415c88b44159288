//! The tile registers of x86-64.
#![allow(
    unsafe_code,
    reason = "the instructions have no safe interface, and none at all in this version of Rust"
)]

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

use super::{BLOCK, Line, Onto, Region, SIDE, block_of_sums};

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
        let (bf16, tiles) = (1 << 22, 1 << 24);
        // The leaf exists on every processor with AVX-512.
        let has_tiles = super::dots::available() && {
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

/// A region of a product. The caller has checked that the registers are available and that the shapes fit.
pub(super) fn multiply(
    (left, right): (&[Line], &[Line]),
    steps: usize,
    onto: Onto<'_>,
    out: &mut [f32],
    region: Region,
) {
    // SAFETY: the configuration is valid and the registers are available.
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, readonly));
    }
    let panel = steps * SIDE;
    for (i, left) in left.chunks_exact(2 * panel).enumerate() {
        for (j, right) in right.chunks_exact(2 * panel).enumerate() {
            block(
                (left, right),
                steps,
                onto,
                out,
                region,
                (i * BLOCK, j * BLOCK),
            );
        }
    }
    // SAFETY: only resets the registers.
    unsafe {
        asm!("tilerelease", options(nostack, nomem));
    }
}

/// Up to 32 rows and columns of the product from a place on: that of two panels of two tiles each.
#[inline(always)]
fn block(
    panels: (&[Line], &[Line]),
    steps: usize,
    onto: Onto<'_>,
    out: &mut [f32],
    region: Region,
    (row, column): (usize, usize),
) {
    let is_whole = row + BLOCK <= region.rows && column + BLOCK <= region.columns;
    if is_whole {
        let place = row * region.width + column;
        assert!(out.len() >= place + (BLOCK - 1) * region.width + BLOCK);
        // SAFETY: the bias and 32 rows of `width` numbers from `place` on are inside the slices.
        unsafe {
            let to = out.as_mut_ptr().add(place);
            match onto {
                Onto::Replace => start(&raw const ZEROS.0[0], 0),
                Onto::Bias(bias) => start(bias[column..column + BLOCK].as_ptr(), 0),
                Onto::Add => start(to, region.width),
            }
            sum(panels, steps);
            finish(to, region.width);
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
    block_of_sums(&sums, onto, out, region, (row, column));
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
    const TILE_BYTES: usize = size_of::<[Line; SIDE]>();
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
