//! The number formats of GGUF that this program computes with: blocks laid out exactly as in ggml.
//! Formats that are only read are in [`StoredFormat`].
//!
//! `Q8_0`: 32 values share a scale. `Q4_K` and `Q6_K`: 256 values in 8 or 16 groups; every group
//! has a small integer scale (and, in `Q4_K`, an integer minimum), and the block has the float
//! scales of these integers.

mod quantise;
mod stored;

use half::{bf16, f16};

pub use quantise::quantise;
pub use stored::StoredFormat;

/// Values of a block of the K formats.
pub const K_BLOCK: usize = 256;

/// The number format of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockFormat {
    /// Single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// 8 bits, 32 values with a scale.
    Q8_0,
    /// 4 bits, groups of 32 with scale and minimum.
    Q4K,
    /// 6 bits, groups of 16 with a scale.
    Q6K,
}

impl BlockFormat {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q8_0,
        Self::Q4K,
        Self::Q6K,
    ];

    /// Its number in a file, its name, and the values and bytes of a block.
    const fn facts(self) -> (u32, &'static str, usize, usize) {
        match self {
            Self::F32 => (0, "F32", 1, 4),
            Self::F16 => (1, "F16", 1, 2),
            Self::Q8_0 => (8, "Q8_0", 32, 34),
            Self::Q4K => (12, "Q4_K", K_BLOCK, 144),
            Self::Q6K => (14, "Q6_K", K_BLOCK, 210),
            Self::Bf16 => (30, "BF16", 1, 2),
        }
    }

    /// The number of the format in a file.
    #[must_use]
    pub const fn id(self) -> u32 {
        self.facts().0
    }

    /// The usual GGUF name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    /// Values per block.
    #[must_use]
    pub const fn block(self) -> usize {
        self.facts().2
    }

    /// Bytes per block.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        self.facts().3
    }

    /// Bytes of a row of `width` values; `None` if that is not a whole number of blocks.
    #[must_use]
    pub fn row_bytes(self, width: usize) -> Option<usize> {
        width
            .is_multiple_of(self.block())
            .then(|| width / self.block())
            .and_then(|blocks| blocks.checked_mul(self.block_bytes()))
    }
}

/// The half-precision number at byte `at`.
fn half_at(bytes: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32()
}

/// Scale and minimum of group `j` (0 to 7) in the twelve bytes in which `Q4_K` packs them.
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

/// The 4-bit number at index `k` of a `Q4_K` block.
#[must_use]
pub fn q4k_value(block: &[u8], k: usize) -> u8 {
    let byte = block[16 + k / 64 * 32 + k % 32];
    if k % 64 < 32 { byte & 15 } else { byte >> 4 }
}

/// The 6-bit number (0 to 63, with an offset of 32) at index `k` of a `Q6_K` block.
#[must_use]
pub fn q6k_value(block: &[u8], k: usize) -> u8 {
    let (half, within) = (k / 128, k % 128);
    let low = block[half * 64 + within % 64];
    let low = if within < 64 { low & 15 } else { low >> 4 };
    let high = block[128 + half * 32 + within % 32] >> (within / 32 * 2) & 3;
    low | (high << 4)
}

/// Whether every number (or, in block formats, every scale) is finite.
#[must_use]
pub fn finite(format: BlockFormat, bytes: &[u8]) -> bool {
    let half = |at: usize| move |block: &[u8]| half_at(block, at).is_finite();
    let all = |ok: &dyn Fn(&[u8]) -> bool| bytes.chunks_exact(format.block_bytes()).all(ok);
    match format {
        BlockFormat::F32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .all(|b| f32::from_le_bytes(*b).is_finite()),
        BlockFormat::Bf16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .all(|b| bf16::from_le_bytes(*b).is_finite()),
        BlockFormat::F16 | BlockFormat::Q8_0 => all(&half(0)),
        BlockFormat::Q4K => all(&|block| half(0)(block) && half(2)(block)),
        BlockFormat::Q6K => all(&half(208)),
    }
}

/// Converts whole blocks of `bytes` to the same number of values in `out`.
pub fn dequantise(format: BlockFormat, bytes: &[u8], out: &mut [f32]) {
    let (pairs, _) = bytes.as_chunks::<2>();
    match format {
        BlockFormat::F32 => {
            let (numbers, _) = bytes.as_chunks::<4>();
            numbers
                .iter()
                .zip(out)
                .for_each(|(b, v)| *v = f32::from_le_bytes(*b));
        }
        BlockFormat::F16 => {
            pairs
                .iter()
                .zip(out)
                .for_each(|(b, v)| *v = f16::from_le_bytes(*b).to_f32());
        }
        BlockFormat::Bf16 => {
            pairs
                .iter()
                .zip(out)
                .for_each(|(b, v)| *v = bf16::from_le_bytes(*b).to_f32());
        }
        BlockFormat::Q8_0 => {
            let (blocks, _) = bytes.as_chunks::<34>();
            for (block, out) in blocks.iter().zip(out.chunks_exact_mut(32)) {
                let d = half_at(block, 0);
                let integers = block[2..].iter().zip(out);
                integers.for_each(|(&q, v)| *v = d * f32::from(q.cast_signed()));
            }
        }
        BlockFormat::Q4K => {
            let (blocks, _) = bytes.as_chunks::<144>();
            for (block, out) in blocks.iter().zip(out.chunks_exact_mut(K_BLOCK)) {
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
        BlockFormat::Q6K => {
            let (blocks, _) = bytes.as_chunks::<210>();
            for (block, out) in blocks.iter().zip(out.chunks_exact_mut(K_BLOCK)) {
                let d = half_at(block, 208);
                for (k, v) in out.iter_mut().enumerate() {
                    let scale = f32::from(block[192 + k / 16].cast_signed());
                    *v = d * scale * (f32::from(q6k_value(block, k)) - 32.0);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn back(format: BlockFormat, bytes: &[u8], n: usize) -> Vec<f32> {
        let mut out = vec![f32::NAN; n];
        dequantise(format, bytes, &mut out);
        out
    }

    #[test]
    fn blocks_computed_by_hand() {
        // Scale 0.5; the numbers -128, 3 and 127 among zeros.
        let mut q8 = vec![0u8; 34];
        q8[..2].copy_from_slice(&0x3800u16.to_le_bytes());
        (q8[2], q8[5], q8[33]) = (0x80, 3, 127);
        let values = back(BlockFormat::Q8_0, &q8, 32);
        assert_eq!(
            (values[0], values[1], values[3], values[31]),
            (-64.0, 0.0, 1.5, 63.5)
        );
        // Block scale 1, block minimum 2. Group 1: scale 5, minimum 3; group 6: scale 33 =
        // 0b10_0001, minimum 18 = 0b01_0010.
        let mut q4 = vec![0u8; 144];
        q4[..4].copy_from_slice(&[0x00, 0x3c, 0x00, 0x40]);
        q4[4 + 1] = 5;
        q4[4 + 5] = 3;
        q4[4 + 10] = 0x1 | (0x2 << 4);
        q4[4 + 2] = 0b10 << 6;
        q4[4 + 6] = 0b01 << 6;
        q4[16] = 7 << 4;
        q4[16 + 96 + 1] = 9;
        let values = back(BlockFormat::Q4K, &q4, 256);
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
        let values = back(BlockFormat::Q6K, &q6, 256);
        assert_eq!(
            (values[0], values[1], values[16]),
            (2.0 * (53.0 - 32.0), -64.0, 0.0)
        );
        assert_eq!(values[255], 2.0 * -3.0 * (42.0 - 32.0));
    }

    #[test]
    fn quantised_values_are_close() {
        let values: Vec<f32> = (0..1024u32)
            .map(|i| ((i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0).powi(3))
            .collect();
        let size: f32 = values.iter().map(|v| v * v).sum();
        for (format, most) in [
            (BlockFormat::F32, 0.0),
            (BlockFormat::F16, 1e-6),
            (BlockFormat::Bf16, 1e-4),
            (BlockFormat::Q8_0, 1e-4),
            (BlockFormat::Q6K, 1e-3),
            (BlockFormat::Q4K, 1e-2),
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
        for format in BlockFormat::ALL {
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
