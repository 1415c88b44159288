//! Products with weights in 16-bit floats, widened in registers.

use std::arch::x86_64::*;

use model::gguf::BlockFormat;

use super::super::activations::float_tiles;
use super::super::isa::Isa;
use super::super::prefetch::Prefetch;
use super::super::{Chunk, PackedMatrix, ProductJob};
use super::{half, halves, store};

/// Panels that one to three rows are multiplied with at a time, to hide the latency of the
/// multiply-add.
const GROUP: usize = 6;

/// Multiplies all panels with all rows; `$line` turns a chunk into sixteen floats.
macro_rules! float_tiles {
    ($packed:ident, $job:ident, $line:ident) => {{
        if $job.rows < 4 {
            float_groups!($packed, $job, $line)
        } else {
            float_panels!($packed, $job, $line)
        }
    }};
}

/// Multiplies groups of panels with one to three rows. A tile has six to twelve sums.
macro_rules! float_groups {
    ($packed:ident, $job:ident, $line:ident) => {{
        let mut panel = 0;
        while panel < $job.count {
            let whole = $job.count - panel >= GROUP;
            panel += match ($job.rows, whole) {
                (1, true) => float_tile!($packed, $job, $line, panel, 1, 6),
                (1, false) => float_tile!($packed, $job, $line, panel, 1, 1),
                (2, true) => float_tile!($packed, $job, $line, panel, 2, 3),
                (2, false) => float_tile!($packed, $job, $line, panel, 2, 1),
                (_, true) => float_tile!($packed, $job, $line, panel, 3, 2),
                (_, false) => float_tile!($packed, $job, $line, panel, 3, 1),
            };
        }
    }};
}

/// Multiplies all `$r` rows with `$p` panels and returns `$p`.
macro_rules! float_tile {
    ($packed:ident, $job:ident, $line:ident, $panel:expr, $r:literal, $p:literal) => {{
        let width = $packed.inputs;
        let panels: [&[Chunk]; $p] =
            std::array::from_fn(|p| &$packed.panel($job.first + $panel + p)[..width]);
        let rows: &[[f32; $r]] = &$job.x.plain.as_chunks().0[..width];
        let mut sums = [[[_mm256_setzero_ps(); 2]; $p]; $r];
        for k in 0..width {
            for p in 0..$p {
                let line = $line(&panels[p][k]);
                for r in 0..$r {
                    let x = _mm256_set1_ps(rows[k][r]);
                    sums[r][p] = [
                        _mm256_fmadd_ps(x, line[0], sums[r][p][0]),
                        _mm256_fmadd_ps(x, line[1], sums[r][p][1]),
                    ];
                }
            }
        }
        for r in 0..$r {
            (0..$p).for_each(|p| store($job, r, $panel + p, sums[r][p]));
        }
        $p
    }};
}

/// Multiplies one panel at a time with four rows or more and prefetches the next panel.
macro_rules! float_panels {
    ($packed:ident, $job:ident, $line:ident) => {{
        let count = ($job.rows / 4).max(1);
        for panel in 0..$job.count {
            let next = $packed.panel($job.first + (panel + 1).min($job.count - 1));
            for (row, height) in float_tiles(Isa::Avx2, $job.rows) {
                let prefetch = Prefetch::new(next, row / 4, count);
                match height {
                    1 => tall_tile!($packed, $job, $line, row, panel, prefetch, 1),
                    2 => tall_tile!($packed, $job, $line, row, panel, prefetch, 2),
                    3 => tall_tile!($packed, $job, $line, row, panel, prefetch, 3),
                    5 => tall_tile!($packed, $job, $line, row, panel, prefetch, 5),
                    6 => tall_tile!($packed, $job, $line, row, panel, prefetch, 6),
                    _ => tall_tile!($packed, $job, $line, row, panel, prefetch, 4),
                }
            }
        }
    }};
}

/// Multiplies `$r` rows with one panel.
macro_rules! tall_tile {
    ($packed:ident, $job:ident, $line:ident, $row:expr, $panel:expr, $prefetch:ident, $r:literal) => {{
        let width = $packed.inputs;
        let rows: &[[f32; $r]] = $job.x.plain[$row * width..].as_chunks().0;
        let mut sums = [[_mm256_setzero_ps(); 2]; $r];
        for (k, (x, chunk)) in rows
            .iter()
            .zip($packed.panel($job.first + $panel))
            .enumerate()
        {
            $prefetch.fetch(k);
            let line = $line(chunk);
            for r in 0..$r {
                let x = _mm256_set1_ps(x[r]);
                sums[r] = [
                    _mm256_fmadd_ps(x, line[0], sums[r][0]),
                    _mm256_fmadd_ps(x, line[1], sums[r][1]),
                ];
            }
        }
        (0..$r).for_each(|r| store($job, $row + r, $panel, sums[r]));
    }};
}

/// The product of all panels with all rows.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn product(packed: &PackedMatrix, job: &mut ProductJob<'_>) {
    if packed.format == BlockFormat::F16 {
        float_tiles!(packed, job, f16_line);
    } else {
        float_tiles!(packed, job, bf16_line);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn f16_line(chunk: &Chunk) -> [__m256; 2] {
    [halves(chunk, 0), halves(chunk, 1)]
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn bf16_line(chunk: &Chunk) -> [__m256; 2] {
    let widen = |h| {
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(half(
            chunk, h,
        ))))
    };
    [widen(0), widen(1)]
}
