//! A linear layer packed for [`kernels`](crate::kernels) or [`packed`](crate::packed): sixteen
//! outputs per panel, so that no product needs a horizontal sum. Stacked matrices (q, k and v; gate
//! and up) may have different formats.

use model::gguf::{BlockFormat, blocks};
use rayon::prelude::*;

use crate::EngineError;
use crate::kernels::{self, PANEL, Panels, Product, Target, dispatch};
use crate::packed::{Activations, PackedMatrix, ProductJob};
use crate::tensors::{NamedTensor, read_rows};
use crate::weight_memory::{STREAMED, WeightArena, WeightSlice};

/// Multiply-adds below which splitting a product does not pay off (about 50 µs of one core).
const SPLIT_ABOVE: usize = 2 << 20;
/// Rows below which a product takes as long as reading the weights.
const FEW_ROWS: usize = 4;
/// Panels read from a file at once.
const READ_PANELS: usize = 32;

/// Panels of one format.
enum PanelData {
    /// `[panel][in][PANEL]`, the last panel padded with zeros.
    Plain(WeightSlice<f32>),
    Packed(PackedMatrix),
}

struct PanelGroup {
    data: PanelData,
    panels: usize,
}

/// `y = x Wᵀ (+ b)`.
pub(crate) struct Linear {
    parts: Vec<PanelGroup>,
    bias: Option<Vec<f32>>,
    pub(crate) inputs: usize,
    /// Width of the output without the padding.
    pub(crate) outputs: usize,
}

/// Buffers of a product; they grow to the largest product and are reused.
#[derive(Default, Clone)]
pub(crate) struct ProductBuffers {
    /// The product panel by panel.
    transposed: Vec<f32>,
    activations: Activations,
}

impl Linear {
    /// Packs stacked row-major matrices `[outputs, inputs]`.
    pub(crate) fn pack(
        parts: &[&[f32]],
        inputs: usize,
        bias: Option<Vec<f32>>,
        arena: &mut WeightArena,
    ) -> Self {
        let outputs: usize = parts.iter().map(|p| p.len() / inputs).sum();
        let mut data = arena.take(outputs.div_ceil(PANEL) * inputs * PANEL);
        for (o, row) in parts
            .iter()
            .flat_map(|p| p.chunks_exact(inputs))
            .enumerate()
        {
            set_plain(&mut data, inputs, o, row);
        }
        Self::new(
            vec![PanelGroup {
                data: PanelData::Plain(data),
                panels: outputs.div_ceil(PANEL),
            }],
            inputs,
            outputs,
            bias,
        )
    }

    fn new(parts: Vec<PanelGroup>, inputs: usize, outputs: usize, bias: Option<Vec<f32>>) -> Self {
        let bias = bias.map(|mut b| {
            b.resize(outputs.next_multiple_of(PANEL), 0.0);
            b
        });
        Self {
            parts,
            bias,
            inputs,
            outputs,
        }
    }

    /// Packs stacked stored matrices, some rows at a time, without ever holding a second copy.
    ///
    /// # Errors
    /// A tensor that cannot be read or is not finite.
    pub(crate) fn load(
        stored: &[NamedTensor<'_>],
        inputs: usize,
        bias: Option<Vec<f32>>,
        arena: &mut WeightArena,
    ) -> Result<Self, EngineError> {
        let outputs = stored.iter().map(rows).sum();
        let last = stored.len().saturating_sub(1);
        // A panel has one format, so matrices of different formats must meet at a panel boundary.
        let alike = stored
            .windows(2)
            .all(|pair| pair[0].1.format == pair[1].1.format);
        let whole = stored
            .iter()
            .take(last)
            .all(|tensor| rows(tensor).is_multiple_of(PANEL));
        let groups: Vec<(BlockFormat, &[NamedTensor<'_>])> = match stored.first() {
            Some((_, first)) if alike => vec![(first.format, stored)],
            _ if whole => stored.chunks(1).map(|one| (one[0].1.format, one)).collect(),
            _ => vec![(BlockFormat::F32, stored)],
        };
        let parts = groups
            .into_iter()
            .map(|(format, group)| PanelGroup::load(format, group, inputs, arena))
            .collect::<Result<_, _>>()?;
        Ok(Self::new(parts, inputs, outputs, bias))
    }

    /// Width of a row that [`run`](Self::run) writes.
    pub(crate) fn width(&self) -> usize {
        self.outputs.next_multiple_of(PANEL)
    }

    /// Copies row `o` of the matrix into `out`, for an output layer that doubles as the embedding
    /// table.
    pub(crate) fn row(&self, mut o: usize, out: &mut [f32]) {
        for part in &self.parts {
            if o >= part.panels * PANEL {
                o -= part.panels * PANEL;
                continue;
            }
            match &part.data {
                PanelData::Plain(data) => {
                    let base = o / PANEL * self.inputs * PANEL + o % PANEL;
                    for (k, v) in out.iter_mut().enumerate() {
                        *v = data[base + k * PANEL];
                    }
                }
                PanelData::Packed(packed) => packed.row(o, out),
            }
            return;
        }
    }

    /// Whether a product with `rows` rows is split between threads.
    pub(crate) fn splits(&self, rows: usize) -> bool {
        rows.max(FEW_ROWS) * self.inputs * self.width() > SPLIT_ABOVE
    }

    /// Multiplies `rows` rows of `x` into rows of [`width`](Self::width) values, on `threads`
    /// threads of the pool.
    pub(crate) fn run(
        &self,
        x: &[f32],
        rows: usize,
        out: &mut [f32],
        buffers: &mut ProductBuffers,
        threads: usize,
    ) {
        let width = self.width();
        let count = width / PANEL;
        buffers
            .activations
            .fill(&self.formats(), x, rows, self.inputs);
        let activations = &buffers.activations;
        if threads > 1 && self.splits(rows) {
            let each = count.div_ceil(threads * 4);
            let multiply = |(c, out): (usize, &mut [f32]), target: Target| {
                self.multiply(
                    c * each,
                    each.min(count - c * each),
                    x,
                    activations,
                    rows,
                    out,
                    target,
                );
            };
            if rows == 1 {
                let target = Target {
                    row_step: width,
                    panel_step: PANEL,
                };
                out[..width]
                    .par_chunks_mut(each * PANEL)
                    .enumerate()
                    .for_each(|part| multiply(part, target));
            } else {
                // Threads own whole panels, so the product is computed panel by panel and
                // transposed afterwards.
                buffers.transposed.resize(rows * width, 0.0);
                let target = Target {
                    row_step: PANEL,
                    panel_step: rows * PANEL,
                };
                buffers
                    .transposed
                    .par_chunks_mut(each * rows * PANEL)
                    .enumerate()
                    .for_each(|part| multiply(part, target));
                let transposed = &buffers.transposed;
                let few = rows.div_ceil(threads * 2);
                out[..rows * width]
                    .par_chunks_mut(few * width)
                    .enumerate()
                    .for_each(|(c, out)| {
                        for (r, out) in out.chunks_exact_mut(width).enumerate() {
                            for (p, out) in out.as_chunks_mut::<PANEL>().0.iter_mut().enumerate() {
                                out.copy_from_slice(
                                    &transposed[(p * rows + c * few + r) * PANEL..][..PANEL],
                                );
                            }
                        }
                    });
            }
        } else {
            self.multiply(
                0,
                count,
                x,
                activations,
                rows,
                out,
                Target {
                    row_step: width,
                    panel_step: PANEL,
                },
            );
        }
        self.add_bias(rows, out);
    }

    /// [`run`](Self::run) on the calling thread only, for callers that divide rows between threads.
    pub(crate) fn run_here(&self, x: &[f32], rows: usize, out: &mut [f32]) {
        let mut activations = Activations::default();
        activations.fill(&self.formats(), x, rows, self.inputs);
        let target = Target {
            row_step: self.width(),
            panel_step: PANEL,
        };
        self.multiply(0, self.width() / PANEL, x, &activations, rows, out, target);
        self.add_bias(rows, out);
    }

    fn formats(&self) -> impl Iterator<Item = BlockFormat> + Clone {
        self.parts.iter().map(|part| match &part.data {
            PanelData::Plain(_) => BlockFormat::F32,
            PanelData::Packed(packed) => packed.format(),
        })
    }

    /// The product of `count` panels from panel `first`, whose result begins at `out[0]`.
    #[allow(clippy::too_many_arguments)]
    fn multiply(
        &self,
        mut first: usize,
        mut count: usize,
        x: &[f32],
        activations: &Activations,
        rows: usize,
        out: &mut [f32],
        target: Target,
    ) {
        let mut done = 0;
        for part in &self.parts {
            if first >= part.panels {
                first -= part.panels;
                continue;
            }
            let here = count.min(part.panels - first);
            let out = &mut out[done * target.panel_step..];
            match &part.data {
                PanelData::Plain(data) => {
                    let step = self.inputs * PANEL;
                    let streamed = rows == 1 && size_of_val(&**data) >= STREAMED;
                    let panels = Panels {
                        data: &data[first * step..],
                        step,
                        stride: PANEL,
                        count: here,
                        streamed,
                    };
                    dispatch(Product {
                        x,
                        x_step: self.inputs,
                        rows,
                        terms: self.inputs,
                        panels,
                        out,
                        target,
                    });
                }
                PanelData::Packed(packed) => packed.run(ProductJob {
                    first,
                    count: here,
                    x: activations,
                    rows,
                    out,
                    target,
                }),
            }
            (first, count, done) = (0, count - here, done + here);
            if count == 0 {
                return;
            }
        }
    }

    fn add_bias(&self, rows: usize, out: &mut [f32]) {
        if let Some(bias) = &self.bias {
            let width = self.width();
            for row in out[..rows * width].chunks_exact_mut(width) {
                kernels::add(row, bias);
            }
        }
    }

    /// Bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        let part = |part: &PanelGroup| match &part.data {
            PanelData::Plain(data) => size_of_val(&**data),
            PanelData::Packed(packed) => packed.bytes(),
        };
        self.parts.iter().map(part).sum()
    }
}

/// Number of rows of a matrix.
fn rows((_, stored): &NamedTensor<'_>) -> usize {
    stored.shape.first().copied().unwrap_or(0)
}

fn set_plain(data: &mut [f32], inputs: usize, o: usize, row: &[f32]) {
    let base = o / PANEL * inputs * PANEL + o % PANEL;
    for (k, &w) in row.iter().enumerate() {
        data[base + k * PANEL] = w;
    }
}

impl PanelGroup {
    fn load(
        format: BlockFormat,
        group: &[NamedTensor<'_>],
        inputs: usize,
        arena: &mut WeightArena,
    ) -> Result<Self, EngineError> {
        let outputs: usize = group.iter().map(rows).sum();
        let panels = outputs.div_ceil(PANEL);
        let mut data = match PackedMatrix::new(format, inputs, outputs, arena) {
            Some(packed) => PanelData::Packed(packed),
            None => PanelData::Plain(arena.take(panels * inputs * PANEL)),
        };
        let (mut done, mut bytes, mut line) = (0, Vec::new(), vec![0.0; inputs]);
        for tensor in group {
            let (format, rows) = (tensor.1.format, rows(tensor));
            for first in (0..rows).step_by(READ_PANELS * PANEL) {
                let count = (READ_PANELS * PANEL).min(rows - first);
                let row_bytes = read_rows(tensor, inputs, first, count, &mut bytes)?;
                match &mut data {
                    PanelData::Packed(packed) => packed.set_rows(done, &bytes),
                    PanelData::Plain(data) => {
                        for (r, row) in bytes.chunks_exact(row_bytes).enumerate() {
                            blocks::dequantise(format, row, &mut line);
                            set_plain(data, inputs, done + r, &line);
                        }
                    }
                }
                done += count;
            }
        }
        Ok(Self { data, panels })
    }
}
