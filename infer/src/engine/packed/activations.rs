//! The rows that weights are multiplied with, in the form that the weights' format asks for.
use model::gguf::Format;
use model::gguf::blocks::K_BLOCK;

use super::super::kernels::dispatch;

/// Values that share a scale beside Q8_0 weights.
pub(super) const SMALL: usize = 32;

/// Rows of activations. Beside K formats they are 8-bit integers with a scale for 256, as in llama.cpp; beside Q8_0 16-bit integers with a
/// scale for 32, which costs nothing there and rounds 256 times finer; beside 16-bit floats they stay as they are.
#[derive(Default, Clone)]
pub(crate) struct Activations {
    pub(super) width: usize,
    pub(super) plain: Vec<f32>,
    /// `[row][width]`.
    pub(super) bytes: Vec<i8>,
    /// `[row][width / 256]`.
    pub(super) byte_scales: Vec<f32>,
    /// Sums of 16 and of 32 neighbouring bytes: `[row][width / 16]`, `[row][width / 32]`.
    pub(super) sums16: Vec<i16>,
    pub(super) sums32: Vec<i16>,
    /// `[row][width]`.
    pub(super) shorts: Vec<i16>,
    /// `[row][width / 32]`.
    pub(super) short_scales: Vec<f32>,
}

/// The largest magnitude.
#[inline(always)]
fn top(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for chunk in values.as_chunks::<8>().0 {
        for l in 0..8 {
            lanes[l] = lanes[l].max(chunk[l].abs());
        }
    }
    lanes.iter().fold(0.0, |m, &v| m.max(v))
}

/// To the nearest whole number, for magnitudes below 2^22: adding 1.5 · 2^23 leaves it in the low bits.
#[inline(always)]
fn whole(v: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    (v + SHIFT).to_bits().cast_signed().wrapping_sub(SHIFT.to_bits().cast_signed())
}

impl Activations {
    /// Takes `rows` rows of `width` values for products with weights in these formats.
    pub(crate) fn fill(&mut self, formats: &(impl Iterator<Item = Format> + Clone), x: &[f32], rows: usize, width: usize) {
        let x = &x[..rows * width];
        self.width = width;
        let has = |wanted: &[Format]| formats.clone().any(|format| wanted.contains(&format));
        if has(&[Format::F16, Format::Bf16]) {
            self.plain.clear();
            self.plain.extend_from_slice(x);
        }
        if has(&[Format::Q4K, Format::Q6K]) {
            self.bytes.resize(x.len(), 0);
            self.byte_scales.resize(x.len() / K_BLOCK, 0.0);
            self.sums16.resize(x.len() / 16, 0);
            self.sums32.resize(x.len() / 32, 0);
            self.fill_bytes(x);
        }
        if has(&[Format::Q8_0]) {
            self.shorts.resize(x.len(), 0);
            self.short_scales.resize(x.len() / SMALL, 0.0);
            self.fill_shorts(x);
        }
    }

    fn fill_bytes(&mut self, x: &[f32]) {
        let Self { bytes, byte_scales, sums16, sums32, .. } = self;
        dispatch(
            #[inline(always)]
            || {
                let blocks = x.as_chunks::<K_BLOCK>().0.iter().zip(bytes.as_chunks_mut::<K_BLOCK>().0).zip(byte_scales.iter_mut());
                for ((x, bytes), scale) in blocks {
                    let top = top(x);
                    *scale = top / 127.0;
                    let inverse = if top > 0.0 { 127.0 / top } else { 0.0 };
                    for (q, &v) in bytes.iter_mut().zip(x) {
                        *q = whole(v * inverse) as i8;
                    }
                }
                for (sum, bytes) in sums16.iter_mut().zip(bytes.as_chunks::<16>().0) {
                    *sum = bytes.iter().map(|&q| i16::from(q)).sum();
                }
                for (sum, halves) in sums32.iter_mut().zip(sums16.as_chunks::<2>().0) {
                    *sum = halves[0] + halves[1];
                }
            },
        );
    }

    fn fill_shorts(&mut self, x: &[f32]) {
        let Self { shorts, short_scales, .. } = self;
        dispatch(
            #[inline(always)]
            || {
                let blocks = x.as_chunks::<SMALL>().0.iter().zip(shorts.as_chunks_mut::<SMALL>().0).zip(short_scales.iter_mut());
                for ((x, shorts), scale) in blocks {
                    let top = top(x);
                    *scale = top / 32767.0;
                    let inverse = if top > 0.0 { 32767.0 / top } else { 0.0 };
                    for (q, &v) in shorts.iter_mut().zip(x) {
                        *q = whole(v * inverse) as i16;
                    }
                }
            },
        );
    }
}
