//! Buffers of a forward pass, and how their rows are divided between threads.

use model::ModelConfig;
use rayon::prelude::*;

use super::rows::{BlockWidths, RowBlock};
use crate::attention::AttentionBuffers;
use crate::linear::ProductBuffers;

/// Rows per thread from which a layer's rows are divided between the threads. With fewer,
/// reading all weights on every thread takes longer than synchronising the threads at every
/// product.
const ROWS_APIECE: usize = 16;

/// Buffers of a forward pass; they grow to the largest block and are reused.
#[derive(Default, Clone)]
pub(crate) struct ForwardBuffers {
    pub(super) x: Vec<f32>,
    pub(super) normed: Vec<f32>,
    pub(super) wide: Vec<f32>,
    pub(super) mixed: Vec<f32>,
    act: Vec<f32>,
    narrow: Vec<f32>,
    /// One per thread.
    pub(super) products: Vec<ProductBuffers>,
    pub(super) angles: Vec<(f32, f32)>,
    pub(super) attention: AttentionBuffers,
    pub(super) logits: Vec<f32>,
}

impl ForwardBuffers {
    /// Makes room for `rows` rows.
    pub(super) fn reserve(&mut self, rows: usize, widths: &BlockWidths) {
        for (buffer, width) in [
            (&mut self.x, widths.hidden),
            (&mut self.normed, widths.hidden),
            (&mut self.wide, widths.wide),
            (&mut self.act, widths.act),
            (&mut self.mixed, widths.mixed),
            (&mut self.narrow, widths.narrow),
        ] {
            if buffer.len() < rows * width {
                buffer.resize(rows * width, 0.0);
            }
        }
        if self.products.is_empty() {
            self.products.push(ProductBuffers::default());
        }
    }

    /// Applies `op` to the first `rows` rows, whose products are `wide` values wide. With enough
    /// rows each thread gets its own, so threads wait for each other only once; otherwise `op` gets
    /// all rows and all threads.
    pub(super) fn for_rows(
        &mut self,
        rows: usize,
        threads: usize,
        wide: usize,
        c: &ModelConfig,
        op: impl Fn(RowBlock<'_>) + Sync + Send,
    ) {
        let divided = threads > 1 && rows >= threads * ROWS_APIECE;
        let each = if divided {
            rows.div_ceil(threads)
        } else {
            rows
        };
        let widths = BlockWidths::of(c);
        let (hidden, mixed, act, narrow) = (widths.hidden, widths.mixed, widths.act, widths.narrow);
        self.products.resize_with(
            self.products.len().max(rows.div_ceil(each)),
            ProductBuffers::default,
        );
        let x = self.x[..rows * hidden].chunks_mut(each * hidden);
        let normed = self.normed[..rows * hidden].chunks_mut(each * hidden);
        let wide = self.wide[..rows * wide].chunks_mut(each * wide);
        let mixed = self.mixed[..rows * mixed].chunks(each * mixed);
        let act = self.act[..rows * act].chunks_mut(each * act);
        let narrow = self.narrow[..rows * narrow].chunks_mut(each * narrow);
        let blocks = x
            .zip(normed)
            .zip(wide)
            .zip(mixed)
            .zip(act)
            .zip(narrow)
            .zip(&mut self.products);
        let blocks = blocks.map(
            |((((((x, normed), wide), mixed), act), narrow), products)| RowBlock {
                count: x.len() / hidden,
                x,
                normed,
                wide,
                mixed,
                act,
                narrow,
                products,
                threads: if divided { 1 } else { threads },
            },
        );
        if divided {
            blocks
                .collect::<Vec<_>>()
                .into_par_iter()
                .with_max_len(1)
                .for_each(op);
        } else {
            blocks.for_each(op);
        }
    }
}
