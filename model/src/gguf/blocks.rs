//! The number formats of GGUF that this program runs: their blocks, exactly as ggml lays them out.
//!
//! `Q8_0`: 32 values share a scale. `Q4_K` and `Q6_K`: 256 values in 8 or 16 groups; every group has a small integer scale (and, in `Q4_K`, an
//! integer minimum), the block has the float scales of those. What is quantised here is quantised as by ggml's reference code.

use half::{bf16, f16};

/// Values of a block of the K formats.
pub const K_BLOCK: usize = 256;

/// How the numbers of a tensor are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// 8 bits and a scale for 32 values.
    Q8_0,
    /// 4 bits, groups of 32 with scale and minimum.
    Q4K,
    /// 6 bits, groups of 16 with a scale.
    Q6K,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q8_0,
        Self::Q4K,
        Self::Q6K,
    ];

    /// The number of this format in a file.
    #[must_use]
    pub fn id(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q8_0 => 8,
            Self::Q4K => 12,
            Self::Q6K => 14,
            Self::Bf16 => 30,
        }
    }

    /// Its name as GGUF users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Q8_0 => "Q8_0",
            Self::Q4K => "Q4_K",
            Self::Q6K => "Q6_K",
            Self::Bf16 => "BF16",
        }
    }

    /// Values of one block.
    #[must_use]
    pub fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q8_0 => 32,
            Self::Q4K | Self::Q6K => K_BLOCK,
        }
    }

    /// Bytes of one block.
    #[must_use]
    pub fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q8_0 => 34,
            Self::Q4K => 144,
            Self::Q6K => 210,
        }
    }

    /// Bytes of a row of `width` values; `None` where that is no whole number of blocks.
    #[must_use]
    pub fn row_bytes(self, width: usize) -> Option<usize> {
        width
            .is_multiple_of(self.block())
            .then(|| width / self.block())
            .and_then(|blocks| blocks.checked_mul(self.block_bytes()))
    }
}

fn half_at(bytes: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32()
}

/// Scale and minimum of group `j` (0 to 7) in the twelve bytes where `Q4_K` packs them.
#[must_use]
pub fn q4k_group(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (
            (packed[j + 4] & 15) | ((packed[j - 4] >> 6) << 4),
            (packed[j + 4] >> 4) | ((packed[j] >> 6) << 4),
        )
    }
}

/// The 4-bit number at place `k` of a `Q4_K` block.
#[must_use]
pub fn q4k_value(block: &[u8], k: usize) -> u8 {
    let byte = block[16 + k / 64 * 32 + k % 32];
    if k % 64 < 32 { byte & 15 } else { byte >> 4 }
}

/// The 6-bit number (0 to 63, to be taken less 32) at place `k` of a `Q6_K` block.
#[must_use]
pub fn q6k_value(block: &[u8], k: usize) -> u8 {
    let (half, within) = (k / 128, k % 128);
    let low = block[half * 64 + within % 64];
    let low = if within < 64 { low & 15 } else { low >> 4 };
    let high = block[128 + half * 32 + within % 32] >> (within / 32 * 2) & 3;
    low | (high << 4)
}

/// Whether every number, or every scale of a block, is finite.
#[must_use]
pub fn finite(format: Format, bytes: &[u8]) -> bool {
    let half = |at: usize| move |block: &[u8]| half_at(block, at).is_finite();
    let all = |ok: &dyn Fn(&[u8]) -> bool| bytes.chunks_exact(format.block_bytes()).all(ok);
    match format {
        Format::F32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .all(|b| f32::from_le_bytes(*b).is_finite()),
        Format::Bf16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .all(|b| bf16::from_le_bytes(*b).is_finite()),
        Format::F16 | Format::Q8_0 => all(&half(0)),
        Format::Q4K => all(&|block| half(0)(block) && half(2)(block)),
        Format::Q6K => all(&half(208)),
    }
}

/// Turns stored bytes into numbers; `bytes` holds whole blocks and `out` as many values.
pub fn dequantise(format: Format, bytes: &[u8], out: &mut [f32]) {
    match format {
        Format::F32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .zip(out)
            .for_each(|(b, v)| *v = f32::from_le_bytes(*b)),
        Format::F16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .zip(out)
            .for_each(|(b, v)| *v = f16::from_le_bytes(*b).to_f32()),
        Format::Bf16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .zip(out)
            .for_each(|(b, v)| *v = bf16::from_le_bytes(*b).to_f32()),
        Format::Q8_0 => {
            for (block, out) in bytes
                .as_chunks::<34>()
                .0
                .iter()
                .zip(out.chunks_exact_mut(32))
            {
                let d = half_at(block, 0);
                block[2..]
                    .iter()
                    .zip(out)
                    .for_each(|(&q, v)| *v = d * f32::from(q.cast_signed()));
            }
        }
        Format::Q4K => {
            for (block, out) in bytes
                .as_chunks::<144>()
                .0
                .iter()
                .zip(out.chunks_exact_mut(K_BLOCK))
            {
                let (d, least) = (half_at(block, 0), half_at(block, 2));
                for (j, out) in out.chunks_exact_mut(32).enumerate() {
                    let (scale, min) = q4k_group(&block[4..16], j);
                    let (scale, min) = (d * f32::from(scale), least * f32::from(min));
                    for (i, v) in out.iter_mut().enumerate() {
                        *v = scale * f32::from(q4k_value(block, j * 32 + i)) - min;
                    }
                }
            }
        }
        Format::Q6K => {
            for (block, out) in bytes
                .as_chunks::<210>()
                .0
                .iter()
                .zip(out.chunks_exact_mut(K_BLOCK))
            {
                let d = half_at(block, 208);
                for (k, v) in out.iter_mut().enumerate() {
                    let scale = f32::from(block[192 + k / 16].cast_signed());
                    *v = d * scale * (f32::from(q6k_value(block, k)) - 32.0);
                }
            }
        }
    }
}

/// Appends `values`, a whole number of blocks, in a format.
pub fn quantise(format: Format, values: &[f32], out: &mut Vec<u8>) {
    match format {
        Format::F32 => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
        Format::F16 => values
            .iter()
            .for_each(|v| out.extend(f16::from_f32(*v).to_le_bytes())),
        Format::Bf16 => values
            .iter()
            .for_each(|v| out.extend(bf16::from_f32(*v).to_le_bytes())),
        Format::Q8_0 => values.chunks_exact(32).for_each(|block| q8_0(block, out)),
        Format::Q4K => values
            .chunks_exact(K_BLOCK)
            .for_each(|block| q4k(block, out)),
        Format::Q6K => values
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

/// `v` to the nearest whole number within `0..=most`.
fn level(v: f32, most: u8) -> u8 {
    v.round_ties_even().clamp(0.0, f32::from(most)) as u8
}

/// Scale and (positive) minimum that show 32 values best as `scale · (0..=15) - min`, large values weighing more.
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

/// The scale that shows 16 values best as `scale · (-32..=31)`, large values weighing more.
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
                *l = ((v / scale).round_ties_even().clamp(-32.0, 31.0) + 32.0) as u8
            });
        }
    }
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
    out.extend(d.to_le_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn back(format: Format, bytes: &[u8], n: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; n];
        dequantise(format, bytes, &mut out);
        out
    }

    #[test]
    fn blocks_worked_out_by_hand() {
        // Scale 0.5; the numbers -128, 3 and 127 among zeros.
        let mut q8 = vec![0u8; 34];
        q8[..2].copy_from_slice(&0x3800u16.to_le_bytes());
        (q8[2], q8[5], q8[33]) = (0x80, 3, 127);
        let values = back(Format::Q8_0, &q8, 32);
        assert_eq!(
            (values[0], values[1], values[3], values[31]),
            (-64.0, 0.0, 1.5, 63.5)
        );
        // Block scale 1, block minimum 2. Group 1: scale 5, minimum 3; group 6: scale 33 = 0b10_0001, minimum 18 = 0b01_0010.
        let mut q4 = vec![0u8; 144];
        q4[..4].copy_from_slice(&[0x00, 0x3c, 0x00, 0x40]);
        q4[4 + 1] = 5;
        q4[4 + 5] = 3;
        q4[4 + 10] = 0x1 | (0x2 << 4);
        q4[4 + 2] = 0b10 << 6;
        q4[4 + 6] = 0b01 << 6;
        q4[16] = 7 << 4;
        q4[16 + 96 + 1] = 9;
        let values = back(Format::Q4K, &q4, 256);
        assert_eq!(
            (values[0], values[32], values[33]),
            (0.0, 5.0 * 7.0 - 6.0, -6.0)
        );
        assert_eq!((values[192], values[193]), (-36.0, 33.0 * 9.0 - 36.0));
        // Block scale 2; group 0 has scale 1, group 15 scale -3. A 6-bit number is stored plus 32.
        let mut q6 = vec![0u8; 210];
        q6[208..].copy_from_slice(&0x4000u16.to_le_bytes());
        (q6[192], q6[207]) = (1, 0xfd);
        q6[0] = 0x5;
        q6[128] = 0b11;
        q6[127] = 0xa << 4;
        q6[191] = 0b10 << 6;
        let values = back(Format::Q6K, &q6, 256);
        assert_eq!(
            (values[0], values[1], values[16]),
            (2.0 * (53.0 - 32.0), -64.0, 0.0)
        );
        assert_eq!(values[255], 2.0 * -3.0 * (42.0 - 32.0));
    }

    #[test]
    fn what_is_quantised_comes_back_close() {
        let values: Vec<f32> = (0..1024u32)
            .map(|i| ((i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0).powi(3))
            .collect();
        let size: f32 = values.iter().map(|v| v * v).sum();
        for (format, most) in [
            (Format::F32, 0.0),
            (Format::F16, 1e-6),
            (Format::Bf16, 1e-4),
            (Format::Q8_0, 1e-4),
            (Format::Q6K, 1e-3),
            (Format::Q4K, 1e-2),
        ] {
            let mut bytes = Vec::new();
            quantise(format, &values, &mut bytes);
            assert_eq!(Some(bytes.len()), format.row_bytes(values.len()));
            let back = back(format, &bytes, values.len());
            let error: f32 = values.iter().zip(&back).map(|(a, b)| (a - b).powi(2)).sum();
            assert!(error / size <= most, "{}: {}", format.name(), error / size);
            let mut again = Vec::new();
            quantise(format, &back, &mut again);
            if format.block() == 1 {
                assert_eq!(again, bytes);
            }
        }
        for format in Format::ALL {
            let mut bytes = Vec::new();
            quantise(format, &[0.0; 256], &mut bytes);
            assert_eq!(
                back(format, &bytes, 256),
                vec![0.0; 256],
                "{}",
                format.name()
            );
        }
    }
}
