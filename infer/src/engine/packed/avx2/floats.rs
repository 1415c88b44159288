//! Products with weights in 16-bit floats, widened in registers.
use std::arch::x86_64::*;

use model::gguf::Format;

use super::super::{Chunk, Job, Packed};
use super::{Ahead, half, halves, store};

/// Panels that float rows are multiplied with before the next: enough for tiles of few rows, few enough to stay in cache for all rows.
const GROUP: usize = 6;
/// Float rows that go through panel after panel, the next being fetched: as many as stay in cache all the time. With fewer, several panels abreast
/// hide the latency of the multiply-add; with more, panels stay in cache while the rows go by.
const SOME_ROWS: std::ops::RangeInclusive<usize> = 4..=32;

/// All panels with all rows, `$line` making sixteen floats of a chunk.
macro_rules! float_tiles {
    ($packed:ident, $job:ident, $line:ident) => {{ if SOME_ROWS.contains(&$job.rows) { float_panels!($packed, $job, $line) } else { float_groups!($packed, $job, $line) } }};
}

/// Panel after panel with some rows.
macro_rules! float_panels {
    ($packed:ident, $job:ident, $line:ident) => {{
        let tiles = ($job.rows / 4).max(1);
        for panel in 0..$job.count {
            let next = $packed.panel($job.first + (panel + 1).min($job.count - 1));
            let mut row = 0;
            while row < $job.rows {
                let ahead = Ahead::new(next, row / 4, tiles);
                row += match height($job.rows - row) {
                    1 => tall_tile!($packed, $job, $line, row, panel, ahead, 1),
                    2 => tall_tile!($packed, $job, $line, row, panel, ahead, 2),
                    3 => tall_tile!($packed, $job, $line, row, panel, ahead, 3),
                    5 => tall_tile!($packed, $job, $line, row, panel, ahead, 5),
                    6 => tall_tile!($packed, $job, $line, row, panel, ahead, 6),
                    _ => tall_tile!($packed, $job, $line, row, panel, ahead, 4),
                };
            }
        }
    }};
}

/// Groups of panels with few rows or many. A tile has about twelve sums, whatever the number of rows.
macro_rules! float_groups {
    ($packed:ident, $job:ident, $line:ident) => {{
        let mut panel = 0;
        while panel < $job.count {
            let group = GROUP.min($job.count - panel);
            let mut row = 0;
            while row < $job.rows {
                let (whole, rows) = (group == GROUP, ($job.rows - row).min(6));
                let mut done = 0;
                while done < group {
                    let at = panel + done;
                    done += match (whole, rows) {
                        (true, 1) => float_tile!($packed, $job, $line, row, at, 1, 6),
                        (true, 2) => float_tile!($packed, $job, $line, row, at, 2, 3),
                        (true, 3) => float_tile!($packed, $job, $line, row, at, 3, 2),
                        (_, 1) => float_tile!($packed, $job, $line, row, at, 1, 1),
                        (_, 2) => float_tile!($packed, $job, $line, row, at, 2, 1),
                        (_, 3) => float_tile!($packed, $job, $line, row, at, 3, 1),
                        (_, 4) => float_tile!($packed, $job, $line, row, at, 4, 1),
                        (_, 5) => float_tile!($packed, $job, $line, row, at, 5, 1),
                        _ => float_tile!($packed, $job, $line, row, at, 6, 1),
                    };
                }
                row += rows;
            }
            panel += group;
        }
    }};
}

/// `$r` rows with one panel; gives `$r` back.
macro_rules! tall_tile {
    ($packed:ident, $job:ident, $line:ident, $row:expr, $panel:expr, $ahead:ident, $r:literal) => {{
        let width = $packed.inputs;
        let panel = &$packed.panel($job.first + $panel)[..width];
        let rows: [&[f32]; $r] = std::array::from_fn(|r| &$job.x.plain[($row + r) * width..][..width]);
        let mut sums = [[_mm256_setzero_ps(); 2]; $r];
        for k in 0..width {
            $ahead.fetch(k);
            let line = $line(&panel[k]);
            for r in 0..$r {
                let x = _mm256_set1_ps(rows[r][k]);
                sums[r] = [_mm256_fmadd_ps(x, line[0], sums[r][0]), _mm256_fmadd_ps(x, line[1], sums[r][1])];
            }
        }
        (0..$r).for_each(|r| store($job, $row + r, $panel, sums[r]));
        $r
    }};
}

/// `$r` rows with `$p` panels, which it gives back.
macro_rules! float_tile {
    ($packed:ident, $job:ident, $line:ident, $row:expr, $panel:expr, $r:literal, $p:literal) => {{
        let width = $packed.inputs;
        let panels: [&[Chunk]; $p] = std::array::from_fn(|p| &$packed.panel($job.first + $panel + p)[..width]);
        let rows: [&[f32]; $r] = std::array::from_fn(|r| &$job.x.plain[($row + r) * width..][..width]);
        let mut sums = [[[_mm256_setzero_ps(); 2]; $p]; $r];
        for k in 0..width {
            for p in 0..$p {
                let line = $line(&panels[p][k]);
                for r in 0..$r {
                    let x = _mm256_set1_ps(rows[r][k]);
                    sums[r][p] = [_mm256_fmadd_ps(x, line[0], sums[r][p][0]), _mm256_fmadd_ps(x, line[1], sums[r][p][1])];
                }
            }
        }
        for r in 0..$r {
            (0..$p).for_each(|p| store($job, $row + r, $panel + p, sums[r][p]));
        }
        $p
    }};
}

/// All panels with all rows.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn product(packed: &Packed, job: &mut Job<'_>) {
    if packed.format == Format::F16 { float_tiles!(packed, job, f16_line) } else { float_tiles!(packed, job, bf16_line) }
}

/// How many of `left` rows the next tile takes, at most six: full tiles of four, and no lonely row behind them.
fn height(left: usize) -> usize {
    match left {
        0..=3 | 5 | 6 => left,
        11 => 6,
        _ => 4,
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
    let widen = |h| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(half(chunk, h))));
    [widen(0), widen(1)]
}
