//! The parts of a layer before and after attention, which treat each row separately.

use model::ModelConfig;
use rayon::prelude::*;

use crate::kernels;
use crate::layer::LayerWeights;
use crate::linear::{Linear, ProductBuffers};

pub(super) type PackedLayer = LayerWeights<Linear, Vec<f32>>;

/// Values of a block above which SwiGLU is split between threads (about 20 µs of one core).
const SWIGLU_ABOVE: usize = 16 << 10;

/// Values per row of each buffer of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockWidths {
    pub(super) hidden: usize,
    /// Products with stacked matrices.
    pub(super) wide: usize,
    /// The output of attention.
    pub(super) mixed: usize,
    /// Activations, with room for the normed heads of a row.
    pub(super) act: usize,
    /// Products with matrices of hidden outputs.
    pub(super) narrow: usize,
}

impl BlockWidths {
    /// All but `wide`, which depends on the layer.
    pub(super) fn of(c: &ModelConfig) -> Self {
        let heads = c.num_attention_heads * c.head_dim;
        let kv_heads = c.num_key_value_heads * c.head_dim;
        Self {
            hidden: c.hidden_size,
            wide: 0,
            mixed: heads,
            act: c.intermediate_size.max(heads).max(kv_heads),
            narrow: c.hidden_size.next_multiple_of(kernels::PANEL),
        }
    }
}

/// Buffers of some rows of a block: those of one thread, or all of them.
pub(super) struct RowBlock<'a> {
    pub(super) x: &'a mut [f32],
    pub(super) normed: &'a mut [f32],
    pub(super) wide: &'a mut [f32],
    pub(super) mixed: &'a [f32],
    pub(super) act: &'a mut [f32],
    pub(super) narrow: &'a mut [f32],
    pub(super) products: &'a mut ProductBuffers,
    pub(super) count: usize,
    /// Threads that share the products.
    pub(super) threads: usize,
}

impl PackedLayer {
    /// From `x` to the queries, keys and values in `wide`.
    pub(super) fn project_qkv(&self, rows: RowBlock<'_>, c: &ModelConfig) {
        let RowBlock {
            x,
            normed,
            wide,
            act,
            products,
            count,
            threads,
            ..
        } = rows;
        let eps = c.rms_norm_eps as f32;
        kernels::rms_norm(x, &self.input_norm, eps, normed);
        self.qkv.run(normed, count, wide, products, threads);
        if let Some((q_norm, k_norm)) = &self.head_norms {
            let (q_width, kv_width) = (
                c.num_attention_heads * c.head_dim,
                c.num_key_value_heads * c.head_dim,
            );
            for row in wide.chunks_exact_mut(self.qkv.width()) {
                let (q, rest) = row.split_at_mut(q_width);
                for (part, weight) in [(q, q_norm), (&mut rest[..kv_width], k_norm)] {
                    let normed = &mut act[..part.len()];
                    kernels::rms_norm(part, weight, eps, normed);
                    part.copy_from_slice(normed);
                }
            }
        }
    }

    /// From the output of attention to the layer's output, in `x`.
    pub(super) fn finish(&self, rows: RowBlock<'_>, c: &ModelConfig) {
        let RowBlock {
            x,
            normed,
            wide,
            mixed,
            act,
            narrow,
            products,
            count,
            threads,
        } = rows;
        let hidden = c.hidden_size;
        self.o.run(mixed, count, narrow, products, threads);
        add_rows(x, narrow, hidden, self.o.width(), count);
        kernels::rms_norm(x, &self.post_norm, c.rms_norm_eps as f32, normed);
        self.gate_up.run(normed, count, wide, products, threads);
        swiglu(
            wide,
            self.gate_up.width(),
            c.intermediate_size,
            count,
            act,
            threads,
        );
        self.down.run(act, count, narrow, products, threads);
        add_rows(x, narrow, hidden, self.down.width(), count);
    }
}

/// [`kernels::swiglu`], with many rows split between threads.
fn swiglu(
    gate_up: &[f32],
    row_step: usize,
    width: usize,
    rows: usize,
    out: &mut [f32],
    threads: usize,
) {
    let each = if rows * width > SWIGLU_ABOVE {
        rows.div_ceil(threads)
    } else {
        rows
    };
    if each == rows {
        return kernels::swiglu(gate_up, row_step, width, rows, out);
    }
    let parts = gate_up[..rows * row_step]
        .par_chunks(each * row_step)
        .zip(out[..rows * width].par_chunks_mut(each * width));
    parts.for_each(|(gate_up, out)| {
        kernels::swiglu(gate_up, row_step, width, out.len() / width, out);
    });
}

/// `x += y`; the rows of `y` are padded to `width`.
fn add_rows(x: &mut [f32], y: &[f32], hidden: usize, width: usize, rows: usize) {
    for (x, y) in x
        .chunks_exact_mut(hidden)
        .zip(y.chunks_exact(width))
        .take(rows)
    {
        kernels::add(x, y);
    }
}
