//! A linear layer packed for [`kernels`](super::kernels): sixteen outputs side by side, so that neither one row nor many need a horizontal sum.
use super::kernels::{PANEL, Panels, Product, Target, dispatch};
use rayon::prelude::*;

/// Multiply-adds below which splitting a product costs more than it gives (about 100 µs of one core).
const SPLIT_ABOVE: usize = 4 << 20;

/// `y = x Wᵀ (+ b)`.
pub(crate) struct Linear {
    /// `[out / PANEL][in][PANEL]`, the last panel filled up with zeros. Formats other than f32 become variants here.
    data: Vec<f32>,
    bias: Option<Vec<f32>>,
    /// Width of the input.
    pub(crate) inputs: usize,
    /// Width of the output without the fill.
    pub(crate) outputs: usize,
}

impl Linear {
    /// Packs row-major matrices `[outputs, inputs]` that stand on top of each other (q, k and v; gate and up).
    pub(crate) fn pack(parts: &[&[f32]], inputs: usize, bias: Option<Vec<f32>>) -> Self {
        let outputs: usize = parts.iter().map(|p| p.len() / inputs).sum();
        let mut data = vec![0.0; outputs.div_ceil(PANEL) * inputs * PANEL];
        let rows = parts.iter().flat_map(|p| p.chunks_exact(inputs));
        for (o, row) in rows.enumerate() {
            let base = o / PANEL * inputs * PANEL + o % PANEL;
            for (k, &w) in row.iter().enumerate() {
                data[base + k * PANEL] = w;
            }
        }
        let bias = bias.map(|mut b| {
            b.resize(outputs.next_multiple_of(PANEL), 0.0);
            b
        });
        Self { data, bias, inputs, outputs }
    }

    /// Width of a row that [`run`](Self::run) writes.
    pub(crate) fn width(&self) -> usize {
        self.outputs.next_multiple_of(PANEL)
    }

    /// Copies row `o` of the matrix into `out`: an embedding table that is also the output layer is kept once.
    pub(crate) fn row(&self, o: usize, out: &mut [f32]) {
        let base = o / PANEL * self.inputs * PANEL + o % PANEL;
        for (k, v) in out.iter_mut().enumerate() {
            *v = self.data[base + k * PANEL];
        }
    }

    /// `rows` rows of `x` into rows of [`width`](Self::width) values. `spare` is scratch for a product split over threads.
    pub(crate) fn run(&self, x: &[f32], rows: usize, out: &mut [f32], spare: &mut Vec<f32>) {
        let width = self.width();
        let step = self.inputs * PANEL;
        let count = width / PANEL;
        let threads = rayon::current_num_threads();
        if threads > 1 && rows * self.data.len() > SPLIT_ABOVE {
            let each = count.div_ceil(threads * 2);
            let multiply = |(c, out): (usize, &mut [f32]), target: Target| {
                let count = each.min(count - c * each);
                let panels = Panels { data: &self.data[c * each * step..], step, stride: PANEL, count };
                dispatch(Product { x, x_step: self.inputs, rows, terms: self.inputs, panels, out, target });
            };
            if rows == 1 {
                let target = Target { row_step: width, panel_step: PANEL };
                out[..width].par_chunks_mut(each * PANEL).enumerate().for_each(|part| multiply(part, target));
            } else {
                // Threads own whole panels, so the product comes out panel by panel and is turned afterwards.
                spare.clear();
                spare.resize(rows * width, 0.0);
                let target = Target { row_step: PANEL, panel_step: rows * PANEL };
                spare.par_chunks_mut(each * rows * PANEL).enumerate().for_each(|part| multiply(part, target));
                for (p, block) in spare.chunks_exact(rows * PANEL).enumerate() {
                    for (r, line) in block.chunks_exact(PANEL).enumerate() {
                        out[r * width + p * PANEL..][..PANEL].copy_from_slice(line);
                    }
                }
            }
            self.add_bias(rows, out);
        } else {
            self.run_here(x, rows, out);
        }
    }

    /// [`run`](Self::run) on the calling thread alone, for callers that give each thread rows of its own.
    pub(crate) fn run_here(&self, x: &[f32], rows: usize, out: &mut [f32]) {
        let panels = Panels { data: &self.data, step: self.inputs * PANEL, stride: PANEL, count: self.width() / PANEL };
        let target = Target { row_step: self.width(), panel_step: PANEL };
        dispatch(Product { x, x_step: self.inputs, rows, terms: self.inputs, panels, out, target });
        self.add_bias(rows, out);
    }

    fn add_bias(&self, rows: usize, out: &mut [f32]) {
        if let Some(bias) = &self.bias {
            let width = self.width();
            for row in out[..rows * width].chunks_exact_mut(width) {
                super::kernels::add(row, bias);
            }
        }
    }
}
