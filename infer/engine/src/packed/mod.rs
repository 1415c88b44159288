//! Matrices in 16, 8, 6 and about 4½ bits per weight, in panels of sixteen outputs, and their
//! products.
//!
//! ```text
//! layout        blocks of a file → panels; a row back as numbers
//! activations   the other factor, as integers where the weights are integers
//! isa           the instruction sets
//! avx2, avx512  products of blocks of rows, for machines with these instructions
//! prefetch      fetches the next weights during a product
//! portable      the same sums in the same order in plain loops: the reference for tests, and the
//!               fallback for other machines
//! ```
//!
//! Within a block integers are multiplied and summed exactly; blocks are added in order with fused
//! multiply-adds. As with [`kernels`](crate::kernels), the bits of a row's result depend on that
//! row alone.

mod activations;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod isa;
mod layout;
mod portable;
#[cfg(target_arch = "x86_64")]
mod prefetch;

use model::gguf::BlockFormat;
use rayon::prelude::*;

use crate::kernels::{PANEL, Target};
#[cfg(target_arch = "x86_64")]
use crate::weight_memory::STREAMED;
use crate::weight_memory::{WeightArena, WeightSlice};
pub(crate) use activations::Activations;
pub(crate) use isa::Isa;

/// The 32 bytes of one vector register.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(32))]
pub(crate) struct Chunk([u8; 32]);

/// A matrix in a format other than f32.
pub(crate) struct PackedMatrix {
    format: BlockFormat,
    /// Panel by panel, and within a panel block by block; see [`layout`].
    chunks: WeightSlice<Chunk>,
    inputs: usize,
}

/// A product of some panels with all rows of activations.
pub(crate) struct ProductJob<'a> {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) x: &'a Activations,
    pub(crate) rows: usize,
    /// `out[row * row_step + (panel - first) * panel_step ..][..PANEL]`.
    pub(crate) out: &'a mut [f32],
    pub(crate) target: Target,
}

impl PackedMatrix {
    /// A zeroed matrix of `outputs` rows of `inputs` numbers. `None` if the rows do not split into
    /// whole blocks or the format is f32.
    pub(crate) fn new(
        format: BlockFormat,
        inputs: usize,
        outputs: usize,
        arena: &mut WeightArena,
    ) -> Option<Self> {
        if format == BlockFormat::F32 || !inputs.is_multiple_of(format.block()) {
            return None;
        }
        let each = inputs / format.block() * layout::chunks(format);
        Some(Self {
            format,
            chunks: arena.take(outputs.div_ceil(PANEL) * each),
            inputs,
        })
    }

    pub(crate) fn format(&self) -> BlockFormat {
        self.format
    }

    /// Chunks of one panel.
    fn step(&self) -> usize {
        self.inputs / self.format.block() * layout::chunks(self.format)
    }

    fn panel(&self, panel: usize) -> &[Chunk] {
        &self.chunks[panel * self.step()..][..self.step()]
    }

    /// Writes rows of stored blocks to the outputs from `first` on, which must still be zero.
    pub(crate) fn set_rows(&mut self, first: usize, rows: &[u8]) {
        let (format, step) = (self.format, self.step());
        let each = self.inputs / format.block() * format.block_bytes();
        let count = rows.len() / each;
        let begin = first / PANEL;
        let end = (first + count).div_ceil(PANEL);
        self.chunks[begin * step..end * step]
            .par_chunks_mut(step)
            .enumerate()
            .for_each(|(p, panel)| {
                let base = (begin + p) * PANEL;
                for o in base.max(first)..(base + PANEL).min(first + count) {
                    layout::set(format, panel, o - base, &rows[(o - first) * each..][..each]);
                }
            });
    }

    /// Row `o` as numbers.
    pub(crate) fn row(&self, o: usize, out: &mut [f32]) {
        layout::get(self.format, self.panel(o / PANEL), o % PANEL, out);
    }

    /// Bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.chunks)
    }

    /// Whether a single row is multiplied with one panel at a time; see [`STREAMED`].
    #[cfg(target_arch = "x86_64")]
    fn streamed(&self) -> bool {
        self.bytes() >= STREAMED
    }

    /// The product, with the instruction set of the activations.
    pub(crate) fn run(&self, job: ProductJob<'_>) {
        // SAFETY: each `product` is called only after its instructions were detected.
        #[cfg(target_arch = "x86_64")]
        #[allow(
            unsafe_code,
            reason = "calling code for instructions detected at run time is always unsafe"
        )]
        unsafe {
            match job.x.isa {
                Isa::Avx512 if Isa::Avx512.supported() => return avx512::product(self, job),
                Isa::Avx2 if Isa::Avx2.supported() => return avx2::product(self, job),
                _ => {}
            }
        }
        portable::run(self, job);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use model::gguf::blocks;

    use super::*;

    /// Numbers between -1 and 1.
    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    /// The activations as they are multiplied: rounded to integers, or as floats.
    fn rounded(format: BlockFormat, x: &Activations, n: usize) -> Vec<f64> {
        match format {
            BlockFormat::Q8_0 => {
                let number = |(short, scale): (i16, f32)| f64::from(short) * f64::from(scale);
                (0..n)
                    .map(|i| number(x.short(i / x.width, i % x.width)))
                    .collect()
            }
            BlockFormat::Q4K | BlockFormat::Q6K => {
                let number = |(byte, scale): (i8, f32)| f64::from(byte) * f64::from(scale);
                (0..n)
                    .map(|i| number(x.byte(i / x.width, i % x.width)))
                    .collect()
            }
            BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 => (0..n)
                .map(|i| f64::from(x.float(i / x.width, i % x.width)))
                .collect(),
        }
    }

    #[test]
    fn products_of_all_shapes_equal_plain_loops() {
        for format in BlockFormat::ALL
            .into_iter()
            .filter(|format| *format != BlockFormat::F32)
        {
            for (inputs, outputs) in [(1, 16), (3, 16), (7, 100), (11, 1)]
                .map(|(blocks, outputs)| (blocks * format.block(), outputs))
            {
                let weights = numbers(inputs * outputs, 7);
                let mut raw = Vec::new();
                blocks::quantise(format, &weights, &mut raw);
                let mut real = vec![0.0; weights.len()];
                blocks::dequantise(format, &raw, &mut real);
                let mut packed =
                    PackedMatrix::new(format, inputs, outputs, &mut WeightArena::default())
                        .unwrap();
                // In two pieces that meet inside a panel.
                let cut = raw.len() / outputs * (outputs / 3);
                packed.set_rows(0, &raw[..cut]);
                packed.set_rows(outputs / 3, &raw[cut..]);
                for o in 0..outputs {
                    let mut row = vec![0.0; inputs];
                    packed.row(o, &mut row);
                    assert_eq!(
                        row,
                        real[o * inputs..][..inputs],
                        "{} row {o}",
                        format.name()
                    );
                }
                let width = outputs.next_multiple_of(PANEL);
                for rows in (1..=12).chain([14, 23, 32, 37]) {
                    let plain = numbers(rows * inputs, 99);
                    let product = |isa| {
                        let mut x = Activations::of(isa);
                        x.fill(&std::iter::once(format), &plain, rows, inputs);
                        let target = Target {
                            row_step: width,
                            panel_step: PANEL,
                        };
                        let mut out = vec![f32::NAN; rows * width];
                        packed.run(ProductJob {
                            first: 0,
                            count: width / PANEL,
                            x: &x,
                            rows,
                            out: &mut out,
                            target,
                        });
                        (rounded(format, &x, rows * inputs), out)
                    };
                    let (x, slow) = product(Isa::Portable);
                    for isa in Isa::present() {
                        assert!(
                            (&x, &slow) == (&product(isa).0, &product(isa).1),
                            "{isa:?}: {} {inputs} × {outputs}, {rows} rows",
                            format.name()
                        );
                    }
                    for (r, row) in slow.chunks_exact(width).enumerate() {
                        for (o, &got) in row.iter().enumerate().take(outputs) {
                            let terms =
                                |i: usize| x[r * inputs + i] * f64::from(real[o * inputs + i]);
                            let want: f64 = (0..inputs).map(terms).sum();
                            let size: f64 = (0..inputs).map(|i| terms(i).abs()).sum();
                            assert!(
                                (want - f64::from(got)).abs() < 1e-5 * size.max(1e-3),
                                "{}: {want} {got}",
                                format.name()
                            );
                        }
                        assert!(row[outputs..].iter().all(|v| *v == 0.0));
                    }
                    // Rounding the activations costs at most half a step each.
                    let step = match format {
                        BlockFormat::Q8_0 => 1.0 / 32767.0,
                        BlockFormat::Q4K | BlockFormat::Q6K => 1.0 / 127.0,
                        BlockFormat::F32 | BlockFormat::F16 | BlockFormat::Bf16 => 0.0,
                    };
                    assert!(
                        x.iter()
                            .zip(&plain)
                            .all(|(a, b)| (a - f64::from(*b)).abs() <= 0.5001 * step),
                        "{}",
                        format.name()
                    );
                }
            }
        }
    }

    #[test]
    fn extreme_weights_and_activations_do_not_overflow() {
        for format in [BlockFormat::Q8_0, BlockFormat::Q4K, BlockFormat::Q6K] {
            let mut raw = vec![0xff; format.block_bytes() * 16];
            for row in raw.chunks_exact_mut(format.block_bytes()) {
                // Scales of one; everything else at its maximum.
                for at in match format {
                    BlockFormat::Q4K => [0, 2],
                    BlockFormat::Q6K => [208, 208],
                    _ => [0, 0],
                } {
                    row[at..at + 2].copy_from_slice(&[0x00, 0x3c]);
                }
                if format == BlockFormat::Q6K {
                    row[192..208].fill(0x80);
                }
            }
            let inputs = format.block();
            let mut packed =
                PackedMatrix::new(format, inputs, 16, &mut WeightArena::default()).unwrap();
            packed.set_rows(0, &raw);
            for sign in [1.0, -1.0] {
                let mut row = vec![0.0; inputs];
                packed.row(0, &mut row);
                let want: f64 = row.iter().map(|v| f64::from(sign) * f64::from(*v)).sum();
                let target = Target {
                    row_step: 16,
                    panel_step: 16,
                };
                let product = |isa| {
                    let mut x = Activations::of(isa);
                    x.fill(&std::iter::once(format), &vec![sign; inputs], 1, inputs);
                    let mut out = [0.0; 16];
                    packed.run(ProductJob {
                        first: 0,
                        count: 1,
                        x: &x,
                        rows: 1,
                        out: &mut out,
                        target,
                    });
                    out
                };
                let slow = product(Isa::Portable);
                assert!(
                    (want - f64::from(slow[3])).abs() <= 1e-5 * want.abs(),
                    "{}: {want} {}",
                    format.name(),
                    slow[3]
                );
                for isa in Isa::present() {
                    assert_eq!(product(isa), slow, "{isa:?}, {}", format.name());
                }
            }
        }
    }
}
