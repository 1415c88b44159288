//! Products with AVX-512 and VNNI: the sixteen outputs of a panel are the lanes of one register.
//! One instruction multiplies four numbers of a row with four of each output and adds them to the
//! sums. The order of the sums is the same for all instruction sets, so the bits are the same.

use std::arch::x86_64::*;

use bytemuck::Zeroable;
use model::gguf::BlockFormat;

use super::activations::{SMALL, float_tiles, tiles};
use super::isa::Isa;
use super::layout::{
    Q4_BITS, Q4_CHUNKS, Q4_MINIMA, Q4_SCALES, Q6_CHUNKS, Q6_HIGH, Q6_LOW, Q6_SCALES, Q8_CHUNKS,
};
use super::prefetch::Prefetch;
use super::{Activations, Chunk, PackedMatrix, ProductJob};
use crate::kernels::PANEL;

/// Multiplies all panels with all rows; `$kernel::<R>` takes `R` rows at a time.
macro_rules! all_tiles {
    ($packed:ident, $job:ident, $kernel:ident) => {{
        let count = ($job.rows / 8).max(1);
        for panel in 0..$job.count {
            let chunks = $packed.panel($job.first + panel);
            let next = $packed.panel($job.first + (panel + 1).min($job.count - 1));
            for (row, height) in tiles(Isa::Avx512, $job.rows) {
                let (x, next) = ($job.x, Prefetch::new(next, row / 8, count));
                match height {
                    8 => store($job, row, panel, $kernel::<8>(chunks, x, row, next)),
                    4 => store($job, row, panel, $kernel::<4>(chunks, x, row, next)),
                    2 => store($job, row, panel, $kernel::<2>(chunks, x, row, next)),
                    _ => store($job, row, panel, $kernel::<1>(chunks, x, row, next)),
                }
            }
        }
    }};
}

/// The product of activations prepared for these instructions.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn product(packed: &PackedMatrix, mut job: ProductJob<'_>) {
    let job = &mut job;
    match packed.format {
        BlockFormat::F32 => {}
        BlockFormat::F16 => floats::<false>(packed, job),
        BlockFormat::Bf16 => floats::<true>(packed, job),
        BlockFormat::Q8_0 if job.rows == 1 => one_row(packed, job),
        BlockFormat::Q8_0 => all_tiles!(packed, job, q8_0),
        BlockFormat::Q4K => all_tiles!(packed, job, q4k),
        BlockFormat::Q6K => all_tiles!(packed, job, q6k),
    }
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn load(chunk: &Chunk) -> __m256i {
    bytemuck::cast(chunk.0)
}

/// Two neighbouring chunks.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn load2(chunks: &[Chunk; 2]) -> __m512i {
    bytemuck::cast(*chunks)
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn half(chunk: &Chunk, h: usize) -> __m128i {
    bytemuck::cast(chunk.0.as_chunks::<16>().0[h])
}

/// The F16 numbers of a chunk.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn halves(chunk: &Chunk) -> __m512 {
    _mm512_cvtph_ps(load(chunk))
}

/// Writes the sums of `R` rows.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn store<const R: usize>(job: &mut ProductJob<'_>, row: usize, panel: usize, sums: [__m512; R]) {
    for (r, sums) in sums.into_iter().enumerate() {
        let at = (row + r) * job.target.row_step + panel * job.target.panel_step;
        job.out[at..at + PANEL].copy_from_slice(&bytemuck::cast::<__m512, [f32; 16]>(sums));
    }
}

/// Broadcasts four bytes, or two 16-bit numbers, of a row.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn broadcast<T: bytemuck::NoUninit>(numbers: T) -> __m512i {
    _mm512_set1_epi32(bytemuck::cast(numbers))
}

/// Panels that one row of Q8_0 is multiplied with at a time if they are in a cache, so that no sum
/// waits for another.
const ABREAST: usize = 4;

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn one_row(packed: &PackedMatrix, job: &mut ProductJob<'_>) {
    let mut panel = 0;
    while !packed.streamed() && panel + ABREAST <= job.count {
        let panels: [_; ABREAST] = std::array::from_fn(|p| packed.panel(job.first + panel + p));
        let sums = q8_0_abreast(panels, job.x, 0, None);
        (0..ABREAST).for_each(|p| store::<1>(job, 0, panel + p, sums[p]));
        panel += ABREAST;
    }
    while panel < job.count {
        let [sums] = q8_0_abreast([packed.panel(job.first + panel)], job.x, 0, None);
        store::<1>(job, 0, panel, sums);
        panel += 1;
    }
}

/// [`q8_0_abreast`] with one panel.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn q8_0<const R: usize>(
    chunks: &[Chunk],
    x: &Activations,
    first: usize,
    prefetch: Prefetch<'_>,
) -> [__m512; R] {
    let [sums] = q8_0_abreast([chunks], x, first, Some(prefetch));
    sums
}

/// `R` rows with `P` panels of 8-bit weights, widened to 16 bits.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn q8_0_abreast<const R: usize, const P: usize>(
    panels: [&[Chunk]; P],
    x: &Activations,
    first: usize,
    prefetch: Option<Prefetch<'_>>,
) -> [[__m512; R]; P] {
    let blocks = x.width / SMALL;
    let begin = first * blocks;
    let pairs: &[[[[i16; 2]; R]; SMALL / 2]] =
        x.shorts[begin * SMALL / 2..].as_chunks().0.as_chunks().0;
    let (scales, begins): (&[[f32; R]], &[[i32; R]]) = (
        x.short_scales[begin..].as_chunks().0,
        x.short_begins[begin..].as_chunks().0,
    );
    let (pairs, scales, begins) = (&pairs[..blocks], &scales[..blocks], &begins[..blocks]);
    let panels: [&[[Chunk; Q8_CHUNKS]]; P] =
        std::array::from_fn(|p| &panels[p].as_chunks().0[..blocks]);
    let low = _mm512_set1_epi16(0xff);
    let mut out = [[__m512::zeroed(); R]; P];
    for b in 0..blocks {
        if let Some(prefetch) = prefetch {
            prefetch.block(b, Q8_CHUNKS);
        }
        for p in 0..P {
            let block = &panels[p][b];
            let mut sums: [__m512i; R] = std::array::from_fn(|r| _mm512_set1_epi32(begins[b][r]));
            for (four, pairs) in block[1..]
                .as_chunks::<2>()
                .0
                .iter()
                .zip(pairs[b].as_chunks::<2>().0)
            {
                let four = load2(four);
                let (even, odd) = (_mm512_and_si512(four, low), _mm512_srli_epi16::<8>(four));
                for r in 0..R {
                    sums[r] = _mm512_dpwssd_epi32(sums[r], even, broadcast(pairs[0][r]));
                }
                for r in 0..R {
                    sums[r] = _mm512_dpwssd_epi32(sums[r], odd, broadcast(pairs[1][r]));
                }
            }
            let d = halves(&block[0]);
            for r in 0..R {
                let scale = _mm512_mul_ps(d, _mm512_set1_ps(scales[b][r]));
                out[p][r] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sums[r]), out[p][r]);
            }
        }
    }
    out
}

/// The low four bits of the first eight outputs and the high ones of the others.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn nibbles(chunk: &Chunk) -> __m512i {
    let by = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4);
    _mm512_and_si512(
        _mm512_srlv_epi32(_mm512_broadcast_i64x4(load(chunk)), by),
        _mm512_set1_epi8(15),
    )
}

/// Rows with 4-bit weights.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn q4k<const R: usize>(
    chunks: &[Chunk],
    x: &Activations,
    first: usize,
    prefetch: Prefetch<'_>,
) -> [__m512; R] {
    let (rows, scales, plain) = x.k_rows::<R, 8, 8, 4>(first, &x.sums32);
    let mut out = [__m512::zeroed(); R];
    for (b, block) in chunks.as_chunks::<Q4_CHUNKS>().0[..rows.len()]
        .iter()
        .enumerate()
    {
        prefetch.block(b, Q4_CHUNKS);
        let mut sums = [__m512i::zeroed(); R];
        for (s, group) in block[Q4_BITS..].as_chunks::<8>().0.iter().enumerate() {
            let mut inner = [__m512i::zeroed(); R];
            for (chunk, x) in group.iter().zip(&rows[b][s]) {
                let q = nibbles(chunk);
                for r in 0..R {
                    inner[r] = _mm512_dpbusd_epi32(inner[r], q, broadcast(x[r]));
                }
            }
            let by = _mm512_cvtepu8_epi32(half(&block[Q4_SCALES + s / 2], s % 2));
            for r in 0..R {
                sums[r] = _mm512_add_epi32(sums[r], _mm512_mullo_epi32(inner[r], by));
            }
        }
        let mut least = [__m512i::zeroed(); R];
        for p in 0..4 {
            let minima = _mm512_cvtepu8_epi16(load(&block[Q4_MINIMA + p]));
            for r in 0..R {
                least[r] = _mm512_dpwssd_epi32(least[r], minima, broadcast(plain[b][p][r]));
            }
        }
        let (d, m) = (halves(&block[0]), halves(&block[1]));
        for r in 0..R {
            let scale = _mm512_set1_ps(scales[b][r]);
            out[r] = _mm512_fmadd_ps(_mm512_mul_ps(d, scale), _mm512_cvtepi32_ps(sums[r]), out[r]);
            out[r] = _mm512_fnmadd_ps(
                _mm512_mul_ps(m, scale),
                _mm512_cvtepi32_ps(least[r]),
                out[r],
            );
        }
    }
    out
}

/// Rows with 6-bit weights, taken as 0 to 63 and corrected by the sums of the activations.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn q6k<const R: usize>(
    chunks: &[Chunk],
    x: &Activations,
    first: usize,
    prefetch: Prefetch<'_>,
) -> [__m512; R] {
    let (rows, scales, plain) = x.k_rows::<R, 4, 16, 8>(first, &x.sums16);
    let high = _mm512_set1_epi8(0x30);
    let mut out = [__m512::zeroed(); R];
    for (b, block) in chunks.as_chunks::<Q6_CHUNKS>().0[..rows.len()]
        .iter()
        .enumerate()
    {
        prefetch.block(b, Q6_CHUNKS);
        let lows: &[[Chunk; 4]] = block[Q6_LOW..Q6_HIGH].as_chunks().0;
        let highs: &[[Chunk; 2]] = block[Q6_HIGH..].as_chunks().0;
        let mut sums = [__m512i::zeroed(); R];
        for (s, (low, top)) in lows.iter().zip(highs).enumerate() {
            let top = load2(top);
            let tops = [
                _mm512_slli_epi16::<4>(top),
                _mm512_slli_epi16::<2>(top),
                top,
                _mm512_srli_epi16::<2>(top),
            ];
            let mut inner = [__m512i::zeroed(); R];
            for t in 0..4 {
                let q = _mm512_or_si512(nibbles(&low[t]), _mm512_and_si512(tops[t], high));
                for r in 0..R {
                    inner[r] = _mm512_dpbusd_epi32(inner[r], q, broadcast(rows[b][s][t][r]));
                }
            }
            let by = _mm512_cvtepi8_epi32(half(&block[Q6_SCALES + s / 2], s % 2));
            for r in 0..R {
                sums[r] = _mm512_add_epi32(sums[r], _mm512_mullo_epi32(inner[r], by));
            }
        }
        let mut offset = [__m512i::zeroed(); R];
        for p in 0..8 {
            let (even, odd) = (
                half(&block[Q6_SCALES + p], 0),
                half(&block[Q6_SCALES + p], 1),
            );
            let pairs =
                _mm256_set_m128i(_mm_unpackhi_epi8(even, odd), _mm_unpacklo_epi8(even, odd));
            let pairs = _mm512_cvtepi8_epi16(pairs);
            for r in 0..R {
                offset[r] = _mm512_dpwssd_epi32(offset[r], pairs, broadcast(plain[b][p][r]));
            }
        }
        let d = halves(&block[0]);
        for r in 0..R {
            let total = _mm512_sub_epi32(sums[r], _mm512_slli_epi32::<5>(offset[r]));
            let scale = _mm512_mul_ps(d, _mm512_set1_ps(scales[b][r]));
            out[r] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(total), out[r]);
        }
    }
    out
}

/// Sixteen floats of a chunk, in BF16 or F16.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn line<const BF16: bool>(chunk: &Chunk) -> __m512 {
    if BF16 {
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(load(chunk))))
    } else {
        halves(chunk)
    }
}

/// Multiplies all panels with all rows of 16-bit floats: up to three rows with several panels at a
/// time, to hide the latency of the multiply-add, more rows with one.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn floats<const BF16: bool>(packed: &PackedMatrix, job: &mut ProductJob<'_>) {
    let mut panel = 0;
    while job.rows < 4 && panel < job.count {
        let left = job.count - panel;
        panel += match job.rows {
            1 if left >= 8 && !packed.streamed() => {
                float_tile::<1, 8, BF16>(packed, job, 0, panel, None)
            }
            1 => float_tile::<1, 1, BF16>(packed, job, 0, panel, None),
            2 if left >= 4 => float_tile::<2, 4, BF16>(packed, job, 0, panel, None),
            2 => float_tile::<2, 1, BF16>(packed, job, 0, panel, None),
            _ if left >= 4 => float_tile::<3, 4, BF16>(packed, job, 0, panel, None),
            _ => float_tile::<3, 1, BF16>(packed, job, 0, panel, None),
        };
    }
    let count = float_tiles(Isa::Avx512, job.rows).count();
    while panel < job.count {
        let next = packed.panel(job.first + (panel + 1).min(job.count - 1));
        for (t, (row, height)) in float_tiles(Isa::Avx512, job.rows).enumerate() {
            let prefetch = Some(Prefetch::new(next, t, count));
            match height {
                12 => float_tile::<12, 1, BF16>(packed, job, row, panel, prefetch),
                11 => float_tile::<11, 1, BF16>(packed, job, row, panel, prefetch),
                10 => float_tile::<10, 1, BF16>(packed, job, row, panel, prefetch),
                9 => float_tile::<9, 1, BF16>(packed, job, row, panel, prefetch),
                8 => float_tile::<8, 1, BF16>(packed, job, row, panel, prefetch),
                7 => float_tile::<7, 1, BF16>(packed, job, row, panel, prefetch),
                6 => float_tile::<6, 1, BF16>(packed, job, row, panel, prefetch),
                5 => float_tile::<5, 1, BF16>(packed, job, row, panel, prefetch),
                _ => float_tile::<4, 1, BF16>(packed, job, row, panel, prefetch),
            };
        }
        panel += 1;
    }
}

/// Multiplies `R` rows from `row` on with `P` panels from `panel` on and returns `P`.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn float_tile<const R: usize, const P: usize, const BF16: bool>(
    packed: &PackedMatrix,
    job: &mut ProductJob<'_>,
    row: usize,
    panel: usize,
    prefetch: Option<Prefetch<'_>>,
) -> usize {
    let width = packed.inputs;
    let panels: [&[Chunk]; P] =
        std::array::from_fn(|p| &packed.panel(job.first + panel + p)[..width]);
    let rows: &[[f32; R]] = &job.x.plain[row * width..].as_chunks().0[..width];
    let mut sums = [[__m512::zeroed(); R]; P];
    for (k, x) in rows.iter().enumerate() {
        if let Some(prefetch) = prefetch {
            prefetch.fetch(k);
        }
        for p in 0..P {
            let line = line::<BF16>(&panels[p][k]);
            for r in 0..R {
                sums[p][r] = _mm512_fmadd_ps(_mm512_set1_ps(x[r]), line, sums[p][r]);
            }
        }
    }
    (0..P).for_each(|p| store(job, row, panel + p, sums[p]));
    P
}
