//! Weights in 16, 8, 6 and about 4½ bits, side by side in panels of sixteen outputs, and their products.
//!
//! ```text
//! layout        a file's blocks → panels; a row back as numbers
//! activations   the other factor, as integers where the weights are
//! avx2          products of blocks of rows, on machines that have the instructions
//! portable      the same sums in the same order in plain loops: the reference of the tests, and what other machines run
//! ```
//!
//! Integers are multiplied and summed exactly inside a block, blocks are added in order with fused multiply-adds: as with
//! [`kernels`](super::kernels), the bits of a row's result depend on that row alone.
mod activations;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod layout;
mod portable;

pub(crate) use activations::Activations;
use model::gguf::Format;
use rayon::prelude::*;

use super::kernels::{PANEL, Target};

/// Thirty-two bytes, what one vector register holds.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(32))]
pub(crate) struct Chunk([u8; 32]);

/// A matrix in a format other than f32.
pub(crate) struct Packed {
    format: Format,
    /// Panel by panel, each block by block; see [`layout`].
    chunks: Vec<Chunk>,
    inputs: usize,
}

/// A product of some panels with all rows of the activations.
pub(crate) struct Job<'a> {
    /// First panel, and how many.
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) x: &'a Activations,
    pub(crate) rows: usize,
    /// `out[row * row_step + (panel - first) * panel_step ..][..PANEL]`.
    pub(crate) out: &'a mut [f32],
    pub(crate) target: Target,
}

impl Packed {
    /// Room for `outputs` rows of `inputs` numbers, all zero. `None` where rows are no whole number of blocks, or the format is f32.
    pub(crate) fn new(format: Format, inputs: usize, outputs: usize) -> Option<Self> {
        if format == Format::F32 || !inputs.is_multiple_of(format.block()) {
            return None;
        }
        let each = inputs / format.block() * layout::chunks(format);
        Some(Self { format, chunks: vec![Chunk([0; 32]); outputs.div_ceil(PANEL) * each], inputs })
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Chunks of one panel.
    fn step(&self) -> usize {
        self.inputs / self.format.block() * layout::chunks(self.format)
    }

    fn panel(&self, panel: usize) -> &[Chunk] {
        &self.chunks[panel * self.step()..][..self.step()]
    }

    /// Writes rows of a file's blocks to the outputs from `first` on, which must still be zero.
    pub(crate) fn set_rows(&mut self, first: usize, rows: &[u8]) {
        let (format, step) = (self.format, self.step());
        let each = self.inputs / format.block() * format.block_bytes();
        let count = rows.len() / each;
        let begin = first / PANEL;
        let end = (first + count).div_ceil(PANEL);
        self.chunks[begin * step..end * step].par_chunks_mut(step).enumerate().for_each(|(p, panel)| {
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
        size_of_val(self.chunks.as_slice())
    }

    /// The product in plain loops.
    #[cfg_attr(not(test), allow(dead_code, reason = "the reference of the tests"))]
    pub(crate) fn run_portable(&self, job: Job<'_>) {
        portable::run(self, job);
    }

    /// The product, as fast as this machine can.
    pub(crate) fn run(&self, job: Job<'_>) {
        #[cfg(target_arch = "x86_64")]
        if avx2::run(self, job) {
            return;
        }
        #[cfg(not(target_arch = "x86_64"))]
        portable::run(self, job);
    }
}
