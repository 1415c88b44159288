//! Quantisation, with the results of ggml's reference code.

use half::{bf16, f16};

use super::{BlockFormat, K_BLOCK};

/// Appends `values`, a whole number of blocks, in `format`.
pub fn quantise(format: BlockFormat, values: &[f32], out: &mut Vec<u8>) {
    match format {
        BlockFormat::F32 => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
        BlockFormat::F16 => values
            .iter()
            .for_each(|v| out.extend(f16::from_f32(*v).to_le_bytes())),
        BlockFormat::Bf16 => values
            .iter()
            .for_each(|v| out.extend(bf16::from_f32(*v).to_le_bytes())),
        BlockFormat::Q8_0 => values.chunks_exact(32).for_each(|block| q8_0(block, out)),
        BlockFormat::Q4K => values
            .chunks_exact(K_BLOCK)
            .for_each(|block| q4k(block, out)),
        BlockFormat::Q6K => values
            .chunks_exact(K_BLOCK)
            .for_each(|block| q6k(block, out)),
    }
}

fn q8_0(block: &[f32], out: &mut Vec<u8>) {
    let top = block.iter().fold(0.0f32, |top, v| top.max(v.abs()));
    let d = top / 127.0;
    let inverse = if d > 0.0 { 1.0 / d } else { 0.0 };
    out.extend(f16::from_f32(d).to_le_bytes());
    out.extend(
        block
            .iter()
            .map(|v| ((v * inverse).round() as i8).cast_unsigned()),
    );
}

/// `v` rounded and clamped to `0..=most`.
fn level(v: f32, most: u8) -> u8 {
    v.round_ties_even().clamp(0.0, f32::from(most)) as u8
}

/// The best scale and (positive) minimum to approximate 32 values as `scale · (0..=15) - min`.
/// Large values weigh more.
fn scale_and_min(values: &[f32]) -> (f32, f32) {
    const MOST: f32 = 15.0;
    let mean_square = values.iter().map(|v| v * v).sum::<f32>() / values.len() as f32;
    let weight = |v: f32| mean_square.sqrt() + v.abs();
    let low = values.iter().fold(0.0f32, |m, &v| m.min(v));
    let high = values.iter().fold(f32::NEG_INFINITY, |m, &v| m.max(v));
    if high <= low {
        return (0.0, -low);
    }
    let error = |scale: f32, min: f32, levels: &[u8]| -> f32 {
        values
            .iter()
            .zip(levels)
            .map(|(&v, &l)| weight(v) * (scale * f32::from(l) + min - v).powi(2))
            .sum()
    };
    let levels = |inverse: f32| -> Vec<u8> {
        values
            .iter()
            .map(|v| level(inverse * (v - low), 15))
            .collect()
    };
    let (mut scale, mut min) = ((high - low) / MOST, low);
    let mut best = error(scale, min, &levels(1.0 / scale));
    let (all, first) = values
        .iter()
        .fold((0.0, 0.0), |(w, x), &v| (w + weight(v), x + weight(v) * v));
    for step in 0..=20 {
        let tried = levels((MOST - 1.0 + 0.1 * step as f32) / (high - low));
        let (mut l1, mut l2, mut xl) = (0.0f32, 0.0f32, 0.0f32);
        for (&v, &l) in values.iter().zip(&tried) {
            let (w, l) = (weight(v), f32::from(l));
            l1 += w * l;
            l2 += w * l * l;
            xl += w * l * v;
        }
        let determinant = all * l2 - l1 * l1;
        if determinant <= 0.0 {
            continue;
        }
        let (mut s, mut m) = (
            (all * xl - first * l1) / determinant,
            (l2 * first - l1 * xl) / determinant,
        );
        if m > 0.0 {
            (s, m) = (xl / l2, 0.0);
        }
        let now = error(s, m, &tried);
        if now < best {
            (best, scale, min) = (now, s, m);
        }
    }
    (scale, -min)
}

fn q4k(block: &[f32], out: &mut Vec<u8>) {
    let groups: Vec<(f32, f32)> = block.chunks_exact(32).map(scale_and_min).collect();
    let (top_scale, top_min) = groups
        .iter()
        .fold((0.0f32, 0.0f32), |(s, m), g| (s.max(g.0), m.max(g.1)));
    let inverse = |top: f32| if top > 0.0 { 63.0 / top } else { 0.0 };
    let (by_scale, by_min) = (inverse(top_scale), inverse(top_min));
    let (d, least) = (
        f16::from_f32(top_scale / 63.0),
        f16::from_f32(top_min / 63.0),
    );
    let small: Vec<(u8, u8)> = groups
        .iter()
        .map(|g| (level(by_scale * g.0, 63), level(by_min * g.1, 63)))
        .collect();
    let mut packed = [0u8; 12];
    for (j, &(scale, min)) in small.iter().enumerate() {
        if j < 4 {
            packed[j] = scale;
            packed[j + 4] = min;
        } else {
            packed[j + 4] = (scale & 15) | ((min & 15) << 4);
            packed[j - 4] |= (scale >> 4) << 6;
            packed[j] |= (min >> 4) << 6;
        }
    }
    let mut levels = [0u8; K_BLOCK];
    for ((values, levels), &(scale, min)) in block
        .chunks_exact(32)
        .zip(levels.chunks_exact_mut(32))
        .zip(&small)
    {
        let (scale, min) = (
            d.to_f32() * f32::from(scale),
            least.to_f32() * f32::from(min),
        );
        if scale > 0.0 {
            values
                .iter()
                .zip(levels)
                .for_each(|(v, l)| *l = level((v + min) / scale, 15));
        }
    }
    out.extend(d.to_le_bytes());
    out.extend(least.to_le_bytes());
    out.extend(packed);
    for pair in levels.chunks_exact(64) {
        out.extend((0..32).map(|i| pair[i] | (pair[i + 32] << 4)));
    }
}

/// The best scale to approximate 16 values as `scale · (-32..=31)`. Large values weigh more.
fn signed_scale(values: &[f32]) -> f32 {
    let top = values
        .iter()
        .fold(0.0f32, |top, &v| if v.abs() > top.abs() { v } else { top });
    if top.abs() < 1e-15 {
        return 0.0;
    }
    let (mut scale, mut best) = (0.0, f32::NEG_INFINITY);
    for step in -9..=9 {
        let inverse = -(32.0 + 0.1 * step as f32) / top;
        let (mut xl, mut l2) = (0.0f32, 0.0f32);
        for &v in values {
            let l = (inverse * v).round_ties_even().clamp(-32.0, 31.0);
            xl += v * v * v * l;
            l2 += v * v * l * l;
        }
        if l2 > 0.0 && xl * xl / l2 > best {
            (scale, best) = (xl / l2, xl * xl / l2);
        }
    }
    scale
}

fn q6k(block: &[f32], out: &mut Vec<u8>) {
    let scales: Vec<f32> = block.chunks_exact(16).map(signed_scale).collect();
    let top = scales
        .iter()
        .fold(0.0f32, |top, &s| if s.abs() > top.abs() { s } else { top });
    let inverse = if top == 0.0 { 0.0 } else { -128.0 / top };
    let d = f16::from_f32(if top == 0.0 { 0.0 } else { 1.0 / inverse });
    let small: Vec<i8> = scales
        .iter()
        .map(|s| (inverse * s).round_ties_even().clamp(-128.0, 127.0) as i8)
        .collect();
    let mut levels = [32u8; K_BLOCK];
    for ((values, levels), &scale) in block
        .chunks_exact(16)
        .zip(levels.chunks_exact_mut(16))
        .zip(&small)
    {
        let scale = d.to_f32() * f32::from(scale);
        if scale != 0.0 {
            values.iter().zip(levels).for_each(|(v, l)| {
                *l = ((v / scale).round_ties_even().clamp(-32.0, 31.0) + 32.0) as u8;
            });
        }
    }
    pack_q6k(&levels, &small, &d.to_le_bytes(), out);
}

/// Appends a `Q6_K` block of 6-bit levels, the scales of its groups and its own scale.
pub(super) fn pack_q6k(levels: &[u8; K_BLOCK], small: &[i8], scale: &[u8], out: &mut Vec<u8>) {
    for half in levels.chunks_exact(128) {
        out.extend((0..64).map(|i| (half[i] & 15) | ((half[i + 64] & 15) << 4)));
    }
    for half in levels.chunks_exact(128) {
        out.extend((0..32).map(|i| {
            (half[i] >> 4)
                | (half[i + 32] >> 4 << 2)
                | (half[i + 64] >> 4 << 4)
                | (half[i + 96] >> 4 << 6)
        }));
    }
    out.extend(small.iter().map(|s| s.cast_unsigned()));
    out.extend(&scale[..2]);
}
