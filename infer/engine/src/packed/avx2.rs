//! Products with AVX2, FMA and F16C: a few rows of activations are multiplied with one panel at a
//! time; weights are unpacked in registers while the next panel is prefetched.
//!
//! Four numbers of a row are broadcast and multiplied with four numbers of each of eight outputs;
//! `maddubs` and `madd` sum pairs, so no product needs a horizontal sum.

use std::arch::x86_64::*;

use model::gguf::BlockFormat;

use super::activations::{SMALL, tiles};
use super::isa::Isa;
use super::layout::{
    Q4_BITS, Q4_CHUNKS, Q4_MINIMA, Q4_SCALES, Q6_CHUNKS, Q6_HIGH, Q6_LOW, Q6_SCALES, Q8_CHUNKS,
};
use super::prefetch::Prefetch;
use super::{Activations, Chunk, PackedMatrix, ProductJob};
use crate::kernels::PANEL;

mod floats;

/// Multiplies all panels with all rows; `$kernel::<R>` takes `R` rows at a time.
macro_rules! all_tiles {
    ($packed:ident, $job:ident, $kernel:ident) => {{
        let count = ($job.rows / 4).max(1);
        for panel in 0..$job.count {
            let chunks = $packed.panel($job.first + panel);
            let next = $packed.panel($job.first + (panel + 1).min($job.count - 1));
            for (row, height) in tiles(Isa::Avx2, $job.rows) {
                let prefetch = Prefetch::new(next, row / 4, count);
                match height {
                    4 => {
                        let sums = $kernel::<4>(chunks, $job.x, row, prefetch);
                        (0..4).for_each(|r| store($job, row + r, panel, sums[r]));
                    }
                    2 => {
                        let sums = $kernel::<2>(chunks, $job.x, row, prefetch);
                        (0..2).for_each(|r| store($job, row + r, panel, sums[r]));
                    }
                    _ => {
                        let [sums] = $kernel::<1>(chunks, $job.x, row, prefetch);
                        store($job, row, panel, sums);
                    }
                }
            }
        }
    }};
}

/// The product of activations prepared for these instructions.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn product(packed: &PackedMatrix, mut job: ProductJob<'_>) {
    let job = &mut job;
    match packed.format {
        BlockFormat::F32 => {}
        BlockFormat::F16 | BlockFormat::Bf16 => floats::product(packed, job),
        BlockFormat::Q8_0 if job.rows == 1 => one_row(packed, job),
        BlockFormat::Q8_0 => all_tiles!(packed, job, q8_0),
        BlockFormat::Q4K => all_tiles!(packed, job, q4k),
        BlockFormat::Q6K => all_tiles!(packed, job, q6k),
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load(chunk: &Chunk) -> __m256i {
    bytemuck::cast(chunk.0)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn half(chunk: &Chunk, h: usize) -> __m128i {
    bytemuck::cast(chunk.0.as_chunks::<16>().0[h])
}

/// Eight F16 numbers of a chunk.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn halves(chunk: &Chunk, h: usize) -> __m256 {
    _mm256_cvtph_ps(half(chunk, h))
}

/// Writes sixteen sums.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store(job: &mut ProductJob<'_>, row: usize, panel: usize, sums: [__m256; 2]) {
    let at = row * job.target.row_step + panel * job.target.panel_step;
    job.out[at..at + PANEL].copy_from_slice(bytemuck::cast_slice::<[f32; 8], f32>(
        &sums.map(bytemuck::cast),
    ));
}

/// Broadcasts four bytes of a row.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn broadcast(four: [i8; 4]) -> __m256i {
    _mm256_set1_epi32(bytemuck::cast(four))
}

/// Broadcasts two 16-bit numbers of a row.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn broadcast2(two: [i16; 2]) -> __m256i {
    _mm256_set1_epi32(bytemuck::cast(two))
}

type Sums<const R: usize> = [[__m256; 2]; R];

/// Multiplies one row with all panels, four at a time if they are in a cache, so that no sum waits
/// for another.
#[target_feature(enable = "avx2,fma,f16c")]
fn one_row(packed: &PackedMatrix, job: &mut ProductJob<'_>) {
    let mut panel = 0;
    while !packed.streamed() && panel + 4 <= job.count {
        let sums = q8_0_abreast::<1, 4>(
            [0, 1, 2, 3].map(|p| packed.panel(job.first + panel + p)),
            job.x,
            0,
            None,
        );
        (0..4).for_each(|p| store(job, 0, panel + p, sums[p][0]));
        panel += 4;
    }
    while panel < job.count {
        let [[sums]] = q8_0_abreast::<1, 1>([packed.panel(job.first + panel)], job.x, 0, None);
        store(job, 0, panel, sums);
        panel += 1;
    }
}

/// [`q8_0_abreast`] with one panel.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn q8_0<const R: usize>(
    chunks: &[Chunk],
    x: &Activations,
    first: usize,
    prefetch: Prefetch<'_>,
) -> Sums<R> {
    let [sums] = q8_0_abreast::<R, 1>([chunks], x, first, Some(prefetch));
    sums
}

/// `R` rows with `P` panels of 8-bit weights: bytes are widened to 16 bits and pairs summed into
/// 32, so that the sum of a block is exact.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn q8_0_abreast<const R: usize, const P: usize>(
    panels: [&[Chunk]; P],
    x: &Activations,
    first: usize,
    prefetch: Option<Prefetch<'_>>,
) -> [Sums<R>; P] {
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
    let low = _mm256_set1_epi16(0xff);
    let mut out = [[[_mm256_setzero_ps(); 2]; R]; P];
    for b in 0..blocks {
        if let Some(prefetch) = prefetch {
            prefetch.block(b, Q8_CHUNKS);
        }
        for p in 0..P {
            let block = &panels[p][b];
            let mut sums: [[__m256i; 2]; R] =
                std::array::from_fn(|r| [_mm256_set1_epi32(begins[b][r]); 2]);
            for (four, pairs) in block[1..]
                .as_chunks::<2>()
                .0
                .iter()
                .zip(pairs[b].as_chunks::<2>().0)
            {
                // A row's pair is broadcast once for both halves before the next row's; more would
                // not fit into the registers.
                let four = [load(&four[0]), load(&four[1])];
                let even = [
                    _mm256_and_si256(four[0], low),
                    _mm256_and_si256(four[1], low),
                ];
                for r in 0..R {
                    let x = broadcast2(pairs[0][r]);
                    for h in 0..2 {
                        sums[r][h] = _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(even[h], x));
                    }
                }
                let odd = [
                    _mm256_srli_epi16::<8>(four[0]),
                    _mm256_srli_epi16::<8>(four[1]),
                ];
                for r in 0..R {
                    let x = broadcast2(pairs[1][r]);
                    for h in 0..2 {
                        sums[r][h] = _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(odd[h], x));
                    }
                }
            }
            for h in 0..2 {
                let d = halves(&block[0], h);
                for r in 0..R {
                    let scale = _mm256_mul_ps(d, _mm256_set1_ps(scales[b][r]));
                    out[p][r][h] =
                        _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(sums[r][h]), out[p][r][h]);
                }
            }
        }
    }
    out
}

/// For each half of the outputs, where the upper bytes of the 16-bit numbers come from: two numbers
/// in turn have the same scale. The lower bytes are 0.
const SPREAD: [[i8; 32]; 2] = {
    let mut from = [[-1; 32]; 2];
    let mut i = 1;
    while i < 64 {
        from[i / 32][i % 32] = (i / 4) as i8;
        i += 2;
    }
    from
};

/// The scales of a group: `[scale, scale]` of each output as a pair of 16-bit numbers. `SIGNED` if
/// scales have a sign.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn group_scales<const SIGNED: bool>(chunk: &Chunk, which: usize) -> [__m256i; 2] {
    let all = _mm256_broadcastsi128_si256(half(chunk, which));
    let spread = |h: usize| {
        let mask: __m256i = bytemuck::cast(SPREAD[h]);
        let high = _mm256_shuffle_epi8(all, mask);
        if SIGNED {
            _mm256_srai_epi16::<8>(high)
        } else {
            _mm256_srli_epi16::<8>(high)
        }
    };
    [spread(0), spread(1)]
}

/// Rows with 4-bit weights. Eight pair products of 15 · 127 · 2 fit into 16 bits, so a group is
/// summed in 16 bits and widened when it is multiplied with its scale.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn q4k<const R: usize>(
    chunks: &[Chunk],
    x: &Activations,
    first: usize,
    prefetch: Prefetch<'_>,
) -> Sums<R> {
    let (rows, scales, plain) = x.k_rows::<R, 8, 8, 4>(first, &x.sums32);
    let low = _mm256_set1_epi8(15);
    let mut out = [[_mm256_setzero_ps(); 2]; R];
    for (b, block) in chunks.as_chunks::<Q4_CHUNKS>().0[..rows.len()]
        .iter()
        .enumerate()
    {
        prefetch.block(b, Q4_CHUNKS);
        let mut sums = [[_mm256_setzero_si256(); 2]; R];
        for (s, group) in block[Q4_BITS..].as_chunks::<8>().0.iter().enumerate() {
            let bytes = &rows[b][s];
            let mut short = [[_mm256_setzero_si256(); 2]; R];
            for t in 0..8 {
                let both = load(&group[t]);
                let q = [
                    _mm256_and_si256(both, low),
                    _mm256_and_si256(_mm256_srli_epi16::<4>(both), low),
                ];
                for r in 0..R {
                    let x = broadcast(bytes[t][r]);
                    short[r] = [0, 1]
                        .map(|h| _mm256_add_epi16(short[r][h], _mm256_maddubs_epi16(q[h], x)));
                }
            }
            let by = group_scales::<false>(&block[Q4_SCALES + s / 2], s % 2);
            for r in 0..R {
                sums[r] = [0, 1]
                    .map(|h| _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(short[r][h], by[h])));
            }
        }
        let mut least = [[_mm256_setzero_si256(); 2]; R];
        for p in 0..4 {
            let minima = [0, 1].map(|h| _mm256_cvtepu8_epi16(half(&block[Q4_MINIMA + p], h)));
            for r in 0..R {
                let x = broadcast2(plain[b][p][r]);
                least[r] =
                    [0, 1].map(|h| _mm256_add_epi32(least[r][h], _mm256_madd_epi16(minima[h], x)));
            }
        }
        for h in 0..2 {
            let (d, m) = (halves(&block[0], h), halves(&block[1], h));
            for r in 0..R {
                let scale = _mm256_set1_ps(scales[b][r]);
                out[r][h] = _mm256_fmadd_ps(
                    _mm256_mul_ps(d, scale),
                    _mm256_cvtepi32_ps(sums[r][h]),
                    out[r][h],
                );
                out[r][h] = _mm256_fnmadd_ps(
                    _mm256_mul_ps(m, scale),
                    _mm256_cvtepi32_ps(least[r][h]),
                    out[r][h],
                );
            }
        }
    }
    out
}

/// Rows with 6-bit weights, taken as 0 to 63 and corrected by the sums of the activations. Two pair
/// products fit into 16 bits.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn q6k<const R: usize>(
    chunks: &[Chunk],
    x: &Activations,
    first: usize,
    prefetch: Prefetch<'_>,
) -> Sums<R> {
    let (rows, scales, plain) = x.k_rows::<R, 4, 16, 8>(first, &x.sums16);
    let (low, high) = (_mm256_set1_epi8(15), _mm256_set1_epi8(0x30));
    let mut out = [[_mm256_setzero_ps(); 2]; R];
    for (b, block) in chunks.as_chunks::<Q6_CHUNKS>().0[..rows.len()]
        .iter()
        .enumerate()
    {
        prefetch.block(b, Q6_CHUNKS);
        let mut sums = [[_mm256_setzero_si256(); 2]; R];
        for s in 0..16 {
            let by = group_scales::<true>(&block[Q6_SCALES + s / 2], s % 2);
            let mut tops = [
                load(&block[Q6_HIGH + 2 * s]),
                load(&block[Q6_HIGH + 2 * s + 1]),
            ];
            for pair in 0..2 {
                let mut short = [[_mm256_setzero_si256(); 2]; R];
                for (t, both) in [
                    (0, load(&block[Q6_LOW + 4 * s + 2 * pair])),
                    (1, load(&block[Q6_LOW + 4 * s + 2 * pair + 1])),
                ] {
                    let bits = [
                        _mm256_and_si256(both, low),
                        _mm256_and_si256(_mm256_srli_epi16::<4>(both), low),
                    ];
                    let q = [0, 1].map(|h| {
                        // The lowest two bits of `tops` belong to the current numbers.
                        let top = if t == 0 {
                            _mm256_slli_epi16::<4>(tops[h])
                        } else {
                            _mm256_slli_epi16::<2>(tops[h])
                        };
                        _mm256_or_si256(bits[h], _mm256_and_si256(top, high))
                    });
                    for r in 0..R {
                        let x = broadcast(rows[b][s][2 * pair + t][r]);
                        short[r] = [0, 1]
                            .map(|h| _mm256_add_epi16(short[r][h], _mm256_maddubs_epi16(q[h], x)));
                    }
                }
                for r in 0..R {
                    sums[r] = [0, 1].map(|h| {
                        _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(short[r][h], by[h]))
                    });
                }
                tops = tops.map(|top| _mm256_srli_epi16::<4>(top));
            }
        }
        let mut offset = [[_mm256_setzero_si256(); 2]; R];
        for p in 0..8 {
            let (a, b_) = (
                half(&block[Q6_SCALES + p], 0),
                half(&block[Q6_SCALES + p], 1),
            );
            let pairs = [
                _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b_)),
                _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b_)),
            ];
            for r in 0..R {
                let x = broadcast2(plain[b][p][r]);
                offset[r] =
                    [0, 1].map(|h| _mm256_add_epi32(offset[r][h], _mm256_madd_epi16(pairs[h], x)));
            }
        }
        for h in 0..2 {
            let d = halves(&block[0], h);
            for r in 0..R {
                let total = _mm256_sub_epi32(sums[r][h], _mm256_slli_epi32::<5>(offset[r][h]));
                let scale = _mm256_mul_ps(d, _mm256_set1_ps(scales[b][r]));
                out[r][h] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(total), out[r][h]);
            }
        }
    }
    out
}
