//! The number formats of tensors in a GGUF file. Six of them are [`BlockFormat`]s, which this
//! program computes with and writes. The others are only read: their rows become a
//! [`BlockFormat`] when they are read.
//!
//! A block has `levels` (small integers) in groups with a scale and a minimum each; a value is
//! `scale * level - minimum`. If another format can store the same levels and scales, the
//! values are kept exactly:
//!
//! | stored | held as | bits per weight | values |
//! |---|---|---|---|
//! | `Q4_0`, `Q5_0`, `IQ4_NL`, `TQ1_0`, `TQ2_0` | `Q8_0` | 8.5 | the same |
//! | `Q3_K` | `Q6_K` | 6.6 | the same |
//! | `MXFP4` | `BF16` | 16 | the same |
//! | `Q4_1`, `Q5_1`, `Q2_K`, `Q5_K`, `IQ4_XS` | `F16` | 16 | rounded to half precision |

use half::f16;

use super::quantise::pack_q6k;
use super::{BlockFormat, K_BLOCK, dequantise, half_at, q4k_group, quantise};

/// The number format of a tensor in a file. The names are those of GGUF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredFormat {
    /// A format that is held as it is stored.
    Held(BlockFormat),
    /// 4 bits, 32 values with a scale.
    Q4_0,
    /// 4 bits, 32 values with scale and minimum.
    Q4_1,
    /// 5 bits, 32 values with a scale.
    Q5_0,
    /// 5 bits, 32 values with scale and minimum.
    Q5_1,
    /// 2 bits, groups of 16 with scale and minimum.
    Q2K,
    /// 3 bits, groups of 16 with a scale.
    Q3K,
    /// 5 bits, groups of 32 with scale and minimum.
    Q5K,
    /// 4 bits of a table of 16 values, 32 with a scale.
    Iq4Nl,
    /// 4 bits of the same table, groups of 32 with a scale.
    Iq4Xs,
    /// -1, 0 or 1, five of them in a byte.
    Tq1_0,
    /// -1, 0 or 1 in 2 bits.
    Tq2_0,
    /// 4-bit floats, 32 with a power of two.
    Mxfp4,
}

/// The values of a four-bit level in `IQ4_NL` and `IQ4_XS`.
const IQ4: [i8; 16] = [
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
];
/// Twice the values of a four-bit float of `MXFP4`: a sign, two bits of exponent, one of mantissa.
const FP4: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// The facts of a format.
struct Facts {
    /// Its number in a file.
    id: u32,
    name: &'static str,
    /// Values per block.
    block: usize,
    /// Bytes per block.
    bytes: usize,
    /// Values per scale.
    group: usize,
    held: BlockFormat,
}

/// A block: its levels, and the scale and minimum of each group.
struct Unpacked {
    levels: [i8; K_BLOCK],
    scales: [f32; 16],
    minima: [f32; 16],
}

/// Types of ggml that are not read: codebook formats of 1 to 3 bits, which are for models far larger
/// than this program trains; types of intermediate results; types that llama.cpp has removed; and
/// `NVFP4`, whose weights have a second scale in another tensor.
const UNREAD: [(u32, &str); 24] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
    (40, "NVFP4"),
    (41, "Q1_0"),
];

/// The four-bit number at index `k` of 32 that are stored with the first half in the low bits.
fn nibble(bytes: &[u8], k: usize) -> u8 {
    bytes[k % 16] >> (k / 16 * 4) & 15
}

/// Bit `k` of `bytes`, the lowest first.
fn bit(bytes: &[u8], k: usize) -> u8 {
    bytes[k / 8] >> (k % 8) & 1
}

/// The two-bit number at index `k` of a K block: 32 bytes have 128 of them, 32 at each of four
/// shifts.
fn pair(bytes: &[u8], k: usize) -> u8 {
    bytes[k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2) & 3
}

impl StoredFormat {
    /// Every format.
    pub const ALL: [Self; 18] = [
        Self::Held(BlockFormat::F32),
        Self::Held(BlockFormat::F16),
        Self::Held(BlockFormat::Bf16),
        Self::Held(BlockFormat::Q8_0),
        Self::Held(BlockFormat::Q4K),
        Self::Held(BlockFormat::Q6K),
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q2K,
        Self::Q3K,
        Self::Q5K,
        Self::Iq4Nl,
        Self::Iq4Xs,
        Self::Tq1_0,
        Self::Tq2_0,
        Self::Mxfp4,
    ];

    fn facts(self) -> Facts {
        use BlockFormat::{Bf16, F16, Q6K, Q8_0};
        let (id, name, block, bytes, group, held) = match self {
            Self::Held(format) => {
                let block = format.block();
                let (id, name) = (format.id(), format.name());
                (id, name, block, format.block_bytes(), block, format)
            }
            Self::Q4_0 => (2, "Q4_0", 32, 18, 32, Q8_0),
            Self::Q4_1 => (3, "Q4_1", 32, 20, 32, F16),
            Self::Q5_0 => (6, "Q5_0", 32, 22, 32, Q8_0),
            Self::Q5_1 => (7, "Q5_1", 32, 24, 32, F16),
            Self::Q2K => (10, "Q2_K", K_BLOCK, 84, 16, F16),
            Self::Q3K => (11, "Q3_K", K_BLOCK, 110, 16, Q6K),
            Self::Q5K => (13, "Q5_K", K_BLOCK, 176, 32, F16),
            Self::Iq4Nl => (20, "IQ4_NL", 32, 18, 32, Q8_0),
            Self::Iq4Xs => (23, "IQ4_XS", K_BLOCK, 136, 32, F16),
            Self::Tq1_0 => (34, "TQ1_0", K_BLOCK, 54, K_BLOCK, Q8_0),
            Self::Tq2_0 => (35, "TQ2_0", K_BLOCK, 66, K_BLOCK, Q8_0),
            Self::Mxfp4 => (39, "MXFP4", 32, 17, 32, Bf16),
        };
        Facts {
            id,
            name,
            block,
            bytes,
            group,
            held,
        }
    }

    /// The format with the number `id` in a file.
    ///
    /// # Errors
    /// Names the type, and what to do about it.
    pub fn of(id: u32) -> Result<Self, String> {
        if let Some(format) = Self::ALL.into_iter().find(|format| format.id() == id) {
            return Ok(format);
        }
        let read = || Self::ALL.map(Self::name).join(", ");
        match UNREAD.iter().find(|(unread, _)| *unread == id) {
            Some((_, name)) => Err(format!(
                "its type is {name}, which is not read; convert the original model with llama.cpp's \
                 llama-quantize to Q4_K_M, or to another of {}",
                read()
            )),
            None => Err(format!(
                "its type has number {id}, which is not known; types that are read are {}",
                read()
            )),
        }
    }

    /// The number of the format in a file.
    #[must_use]
    pub fn id(self) -> u32 {
        self.facts().id
    }

    /// The usual GGUF name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The format in which its values are held.
    #[must_use]
    pub fn held(self) -> BlockFormat {
        self.facts().held
    }

    /// Whether the held values are the stored ones; otherwise they are rounded to half precision.
    #[must_use]
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Held(_)) || self.held() != BlockFormat::F16
    }

    /// Bytes of a row of `width` values; `None` if that is not a whole number of blocks.
    #[must_use]
    pub fn row_bytes(self, width: usize) -> Option<usize> {
        let Facts { block, bytes, .. } = self.facts();
        width
            .is_multiple_of(block)
            .then(|| width / block)
            .and_then(|blocks| blocks.checked_mul(bytes))
    }

    /// Appends whole blocks of `bytes` in the format [`held`](Self::held).
    pub fn hold(self, bytes: &[u8], out: &mut Vec<u8>) {
        let facts = self.facts();
        if let Self::Held(_) = self {
            return out.extend(bytes);
        }
        let mut values = vec![0.0; facts.block];
        for block in bytes.chunks_exact(facts.bytes) {
            match facts.held {
                BlockFormat::Q8_0 => {
                    let unpacked = self.unpack(block);
                    // The scale is a half-precision number of the block.
                    let scale = f16::from_f32(unpacked.scales[0]).to_le_bytes();
                    for levels in unpacked.levels[..facts.block].chunks_exact(32) {
                        out.extend(scale);
                        out.extend(levels.iter().map(|level| level.cast_unsigned()));
                    }
                }
                BlockFormat::Q6K => {
                    let levels = self.unpack(block).levels;
                    let levels = levels.map(|level| (level + 32).cast_unsigned());
                    pack_q6k(&levels, &q3k_scales(block), &block[108..], out);
                }
                held => {
                    self.values(block, &mut values);
                    quantise(held, &values, out);
                }
            }
        }
    }

    /// Converts whole blocks of `bytes` to the same number of values in `out`.
    pub fn values(self, bytes: &[u8], out: &mut [f32]) {
        if let Self::Held(format) = self {
            return dequantise(format, bytes, out);
        }
        let Facts {
            block,
            bytes: each,
            group,
            ..
        } = self.facts();
        for (stored, out) in bytes.chunks_exact(each).zip(out.chunks_exact_mut(block)) {
            let unpacked = self.unpack(stored);
            for (k, (value, level)) in out.iter_mut().zip(unpacked.levels).enumerate() {
                let (scale, least) = (unpacked.scales[k / group], unpacked.minima[k / group]);
                *value = scale * f32::from(level) - least;
            }
        }
    }

    /// The levels and scales of a block.
    fn unpack(self, block: &[u8]) -> Unpacked {
        let mut out = Unpacked {
            levels: [0; K_BLOCK],
            scales: [0.0; 16],
            minima: [0.0; 16],
        };
        let values = self.facts().block;
        let mut fill = |level: &dyn Fn(usize) -> i8| {
            let levels = out.levels[..values].iter_mut().enumerate();
            levels.for_each(|(k, place)| *place = level(k));
        };
        let signed = |level: u8| level.cast_signed();
        match self {
            Self::Held(_) => {}
            Self::Q4_0 => fill(&|k| signed(nibble(&block[2..], k)) - 8),
            Self::Q4_1 => fill(&|k| signed(nibble(&block[4..], k))),
            Self::Q5_0 => fill(&|k| signed(nibble(&block[6..], k) | bit(&block[2..], k) << 4) - 16),
            Self::Q5_1 => fill(&|k| signed(nibble(&block[8..], k) | bit(&block[4..], k) << 4)),
            Self::Q2K => fill(&|k| signed(pair(&block[16..], k))),
            // Without the high bit a level is four less.
            Self::Q3K => fill(&|k| {
                let high = block[k % 32] >> (k / 32) & 1;
                signed(pair(&block[32..], k) | high << 2) - 4
            }),
            Self::Q5K => fill(&|k| {
                let low = block[48 + k / 64 * 32 + k % 32] >> (k % 64 / 32 * 4) & 15;
                signed(low | (block[16 + k % 32] >> (k / 32) & 1) << 4)
            }),
            Self::Iq4Nl => fill(&|k| IQ4[usize::from(nibble(&block[2..], k))]),
            Self::Iq4Xs => fill(&|k| {
                let group = &block[8 + k / 32 * 16..];
                IQ4[usize::from(nibble(group, k % 32))]
            }),
            Self::Tq1_0 => fill(&|k| ternary(block, k)),
            Self::Tq2_0 => fill(&|k| signed(pair(block, k)) - 1),
            Self::Mxfp4 => fill(&|k| FP4[usize::from(nibble(&block[1..], k))]),
        }
        self.unpack_scales(block, &mut out);
        out
    }

    /// The scales and minima of a block.
    fn unpack_scales(self, block: &[u8], out: &mut Unpacked) {
        let half = |at| half_at(block, at);
        match self {
            Self::Held(_) => {}
            Self::Q4_0 | Self::Q5_0 | Self::Iq4Nl => out.scales[0] = half(0),
            // The file stores the offset that is added; a minimum is subtracted.
            Self::Q4_1 | Self::Q5_1 => (out.scales[0], out.minima[0]) = (half(0), -half(2)),
            Self::Tq1_0 => out.scales[0] = half(52),
            Self::Tq2_0 => out.scales[0] = half(64),
            // Half of two to the power of the byte less 127, because the levels are doubled.
            Self::Mxfp4 => {
                out.scales[0] = f32::from_bits(match u32::from(block[0]) {
                    e @ (0 | 1) => 0x0020_0000 << e,
                    e => (e - 1) << 23,
                });
            }
            Self::Q2K => {
                let (scale, least) = (half(80), half(82));
                for (j, packed) in block[..16].iter().enumerate() {
                    out.scales[j] = scale * f32::from(packed & 15);
                    out.minima[j] = least * f32::from(packed >> 4);
                }
            }
            Self::Q3K => {
                let (scale, small) = (half(108), q3k_scales(block));
                out.scales = small.map(|small| scale * f32::from(small));
            }
            Self::Q5K => {
                for j in 0..8 {
                    let (scale, least) = q4k_group(&block[4..16], j);
                    out.scales[j] = half(0) * f32::from(scale);
                    out.minima[j] = half(2) * f32::from(least);
                }
            }
            Self::Iq4Xs => {
                for j in 0..8 {
                    let low = block[4 + j / 2] >> (j % 2 * 4) & 15;
                    let high = block[2 + j / 4] >> (j % 4 * 2) & 3;
                    let small = (low | high << 4).cast_signed() - 32;
                    out.scales[j] = half(0) * f32::from(small);
                }
            }
        }
    }
}

/// The small scales of a `Q3_K` block: six bits each, stored with 32 added.
fn q3k_scales(block: &[u8]) -> [i8; 16] {
    let packed = &block[96..108];
    std::array::from_fn(|j| {
        let low = packed[j % 8] >> (j / 8 * 4) & 15;
        let high = packed[8 + j % 4] >> (j / 4 * 2) & 3;
        (low | high << 4).cast_signed() - 32
    })
}

/// The level at index `k` of a `TQ1_0` block, from -1 to 1. A byte is a fraction in base three with
/// five digits (the last four bytes have four); multiplying by three moves a digit in front of the
/// point.
fn ternary(block: &[u8], k: usize) -> i8 {
    let (byte, digit) = match k {
        0..160 => (k % 32, k / 32),
        160..240 => (32 + (k - 160) % 16, (k - 160) / 16),
        _ => (48 + (k - 240) % 4, (k - 240) / 4),
    };
    let rest = (0..digit).fold(block[byte], |rest, _| rest.wrapping_mul(3));
    ((u16::from(rest) * 3) >> 8) as i8 - 1
}
