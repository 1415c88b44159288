//! The layout of blocks in a panel. The chunks of a block, for output `o` of the panel, number `k`
//! of the block, group of four `t = k / 4` and `p = k % 4`:
//!
//! | format | chunks | content |
//! |---|---|---|
//! | F16, BF16 | 0 | the number of output `o` in bytes `2o, 2o + 1` (a block is one number per row) |
//! | Q8_0 | 0 | scales, F16 |
//! | | 1 + 2t + o/8 | byte `4(o % 8) + [0, 2, 1, 3][p]` |
//! | Q4_K | 0; 1 | block scales; block minima, F16 |
//! | | 2.. | group scales: byte `16 s + o` |
//! | | 6 + s/2 | group minima: byte `2o + s % 2` |
//! | | 10 + t | byte `4(o % 8) + p`: low four bits for outputs 0 to 7, high four for 8 to 15 |
//! | Q6_K | 0 | block scales, F16 |
//! | | 1.. | group scales: byte `16 s + o` |
//! | | 9 + t | the low four bits, as in Q4_K |
//! | | 73 + 2(t/4) + o/8 | the high two bits: byte `4(o % 8) + p`, bits `2(t % 4)` |
//!
//! In Q8_0 the even bytes of a group, widened in place, are neighbouring numbers, and so are the
//! odd ones. 128 is added to every number, so that widening is a mask or a shift.

use half::{bf16, f16};
use model::gguf::BlockFormat;
use model::gguf::blocks::{K_BLOCK, q4k_group, q4k_value, q6k_value};

use super::Chunk;

/// The place of each Q8_0 byte of a group of four.
const PAIRED: [usize; 4] = [0, 2, 1, 3];
/// XOR with this adds 128 to a signed byte, giving an unsigned one, or takes it away.
const RAISED: u8 = 0x80;
/// The first chunk of each part.
pub(super) const Q4_SCALES: usize = 2;
pub(super) const Q4_MINIMA: usize = 6;
pub(super) const Q4_BITS: usize = 10;
pub(super) const Q6_SCALES: usize = 1;
pub(super) const Q6_LOW: usize = 9;
pub(super) const Q6_HIGH: usize = 73;
/// Chunks per block.
pub(super) const Q8_CHUNKS: usize = 17;
pub(super) const Q4_CHUNKS: usize = 74;
pub(super) const Q6_CHUNKS: usize = 105;

/// Chunks per block of sixteen outputs.
pub(super) fn chunks(format: BlockFormat) -> usize {
    match format {
        BlockFormat::F32 => 2,
        BlockFormat::F16 | BlockFormat::Bf16 => 1,
        BlockFormat::Q8_0 => Q8_CHUNKS,
        BlockFormat::Q4K => Q4_CHUNKS,
        BlockFormat::Q6K => Q6_CHUNKS,
    }
}

fn put16(chunk: &mut Chunk, o: usize, bytes: &[u8]) {
    chunk.0[2 * o..2 * o + 2].copy_from_slice(bytes);
}

pub(super) fn bits16(chunk: &Chunk, o: usize) -> u16 {
    u16::from_le_bytes([chunk.0[2 * o], chunk.0[2 * o + 1]])
}

fn put_nibble(chunk: &mut Chunk, o: usize, p: usize, value: u8) {
    chunk.0[4 * (o % 8) + p] |= value << (o / 8 * 4);
}

fn nibble(chunk: &Chunk, o: usize, p: usize) -> u8 {
    (chunk.0[4 * (o % 8) + p] >> (o / 8 * 4)) & 15
}

/// Writes a row of stored blocks to output `o` of a panel, which must be zero.
pub(super) fn set(format: BlockFormat, panel: &mut [Chunk], o: usize, row: &[u8]) {
    let blocks = row.chunks_exact(format.block_bytes());
    for (chunks, block) in panel.chunks_exact_mut(chunks(format)).zip(blocks) {
        match format {
            // f32 is never packed.
            BlockFormat::F32 => {}
            BlockFormat::F16 | BlockFormat::Bf16 => put16(&mut chunks[0], o, block),
            BlockFormat::Q8_0 => {
                put16(&mut chunks[0], o, &block[..2]);
                for (k, &q) in block[2..].iter().enumerate() {
                    chunks[1 + k / 4 * 2 + o / 8].0[4 * (o % 8) + PAIRED[k % 4]] = q ^ RAISED;
                }
            }
            BlockFormat::Q4K => {
                put16(&mut chunks[0], o, &block[..2]);
                put16(&mut chunks[1], o, &block[2..4]);
                for s in 0..8 {
                    let (scale, min) = q4k_group(&block[4..16], s);
                    chunks[Q4_SCALES + s / 2].0[s % 2 * 16 + o] = scale;
                    chunks[Q4_MINIMA + s / 2].0[2 * o + s % 2] = min;
                }
                for k in 0..K_BLOCK {
                    put_nibble(&mut chunks[Q4_BITS + k / 4], o, k % 4, q4k_value(block, k));
                }
            }
            BlockFormat::Q6K => {
                put16(&mut chunks[0], o, &block[208..210]);
                for s in 0..16 {
                    chunks[Q6_SCALES + s / 2].0[s % 2 * 16 + o] = block[192 + s];
                }
                for k in 0..K_BLOCK {
                    let q = q6k_value(block, k);
                    put_nibble(&mut chunks[Q6_LOW + k / 4], o, k % 4, q & 15);
                    chunks[Q6_HIGH + k / 16 * 2 + o / 8].0[4 * (o % 8) + k % 4] |=
                        (q >> 4) << (k / 4 % 4 * 2);
                }
            }
        }
    }
}

/// The numbers of a block as stored integers.
pub(super) fn integers(format: BlockFormat, chunks: &[Chunk], o: usize, out: &mut [i32]) {
    for (k, q) in out.iter_mut().enumerate() {
        *q = match format {
            BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 => 0,
            BlockFormat::Q8_0 => i32::from(
                (chunks[1 + k / 4 * 2 + o / 8].0[4 * (o % 8) + PAIRED[k % 4]] ^ RAISED)
                    .cast_signed(),
            ),
            BlockFormat::Q4K => i32::from(nibble(&chunks[Q4_BITS + k / 4], o, k % 4)),
            BlockFormat::Q6K => {
                let high = chunks[Q6_HIGH + k / 16 * 2 + o / 8].0[4 * (o % 8) + k % 4]
                    >> (k / 4 % 4 * 2)
                    & 3;
                i32::from(nibble(&chunks[Q6_LOW + k / 4], o, k % 4) | (high << 4))
            }
        };
    }
}

/// The scale of group `s` of a K block.
pub(super) fn group_scale(format: BlockFormat, chunks: &[Chunk], s: usize, o: usize) -> i32 {
    match format {
        BlockFormat::Q4K => i32::from(chunks[Q4_SCALES + s / 2].0[s % 2 * 16 + o]),
        BlockFormat::Q6K => i32::from(chunks[Q6_SCALES + s / 2].0[s % 2 * 16 + o].cast_signed()),
        BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 | BlockFormat::Q8_0 => 1,
    }
}

/// The minimum of group `s` of a Q4_K block.
pub(super) fn group_minimum(chunks: &[Chunk], s: usize, o: usize) -> i32 {
    i32::from(chunks[Q4_MINIMA + s / 2].0[2 * o + s % 2])
}

/// The F16 number of output `o` in a chunk.
pub(super) fn half_of(chunk: &Chunk, o: usize) -> f32 {
    f16::from_bits(bits16(chunk, o)).to_f32()
}

/// Output `o` of a panel as numbers.
pub(super) fn get(format: BlockFormat, panel: &[Chunk], o: usize, out: &mut [f32]) {
    let mut numbers = [0; K_BLOCK];
    let block = format.block();
    for (chunks, out) in panel
        .chunks_exact(chunks(format))
        .zip(out.chunks_exact_mut(block))
    {
        let q = &mut numbers[..block];
        integers(format, chunks, o, q);
        let d = half_of(&chunks[0], o);
        match format {
            BlockFormat::F32 => {}
            BlockFormat::F16 => out[0] = d,
            BlockFormat::Bf16 => out[0] = bf16::from_bits(bits16(&chunks[0], o)).to_f32(),
            BlockFormat::Q8_0 => out.iter_mut().zip(q).for_each(|(v, q)| *v = d * *q as f32),
            BlockFormat::Q4K => {
                let least = half_of(&chunks[1], o);
                for (k, v) in out.iter_mut().enumerate() {
                    let scale = d * group_scale(format, chunks, k / 32, o) as f32;
                    *v = scale * q[k] as f32 - least * group_minimum(chunks, k / 32, o) as f32;
                }
            }
            BlockFormat::Q6K => {
                for (k, v) in out.iter_mut().enumerate() {
                    *v = d * group_scale(format, chunks, k / 16, o) as f32 * (q[k] - 32) as f32;
                }
            }
        }
    }
}
