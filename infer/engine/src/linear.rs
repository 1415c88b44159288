//! A linear layer packed for [`kernels`](super::kernels) or [`packed`](super::packed): sixteen outputs side by side, so that neither one row
//! nor many need a horizontal sum. Matrices that stand on top of each other (q, k and v; gate and up) may have formats of their own.
use model::gguf::{Format, blocks};
use model::source::Stored;
use rayon::prelude::*;

use super::EngineError;
use super::kernels::{PANEL, Panels, Product, Target, dispatch};
use super::packed::{Activations, Job, Packed};
use super::weight_memory::{Arena, Room, STREAMED};

/// Multiply-adds below which splitting a product costs more than it gives (about 50 µs of one core).
const SPLIT_ABOVE: usize = 2 << 20;
/// Rows below which a product takes as long as reading the weights.
const FEW_ROWS: usize = 4;
/// Panels read from a file at once.
const BATCH: usize = 32;

/// Some panels of the weights.
enum Data {
    /// `[panel][in][PANEL]`, the last panel filled up with zeros.
    Plain(Room<f32>),
    Packed(Packed),
}

struct Part {
    data: Data,
    panels: usize,
}

/// `y = x Wᵀ (+ b)`.
pub(crate) struct Linear {
    parts: Vec<Part>,
    bias: Option<Vec<f32>>,
    /// Width of the input.
    pub(crate) inputs: usize,
    /// Width of the output without the fill.
    pub(crate) outputs: usize,
}

/// Buffers of a product; they grow to the largest seen and are reused.
#[derive(Default, Clone)]
pub(crate) struct Spare {
    turned: Vec<f32>,
    activations: Activations,
}

impl Linear {
    /// Packs row-major matrices `[outputs, inputs]` that stand on top of each other.
    pub(crate) fn pack(
        parts: &[&[f32]],
        inputs: usize,
        bias: Option<Vec<f32>>,
        arena: &mut Arena,
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
            vec![Part {
                data: Data::Plain(data),
                panels: outputs.div_ceil(PANEL),
            }],
            inputs,
            outputs,
            bias,
        )
    }

    fn new(parts: Vec<Part>, inputs: usize, outputs: usize, bias: Option<Vec<f32>>) -> Self {
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

    /// Packs stored matrices, given with their names, that stand on top of each other, some rows at a time: at no moment is there a second copy.
    ///
    /// # Errors
    /// A tensor that cannot be read or is not finite.
    pub(crate) fn load(
        stored: &[(String, Stored<'_>)],
        inputs: usize,
        bias: Option<Vec<f32>>,
        arena: &mut Arena,
    ) -> Result<Self, EngineError> {
        let rows = |s: &Stored<'_>| s.shape.first().copied().unwrap_or(0);
        let outputs = stored.iter().map(|(_, s)| rows(s)).sum();
        let last = stored.len().saturating_sub(1);
        // A panel has one format, so matrices of several formats must meet between panels.
        let alike = stored
            .windows(2)
            .all(|pair| pair[0].1.format == pair[1].1.format);
        let whole = stored
            .iter()
            .take(last)
            .all(|(_, s)| rows(s).is_multiple_of(PANEL));
        let groups: Vec<(Format, &[(String, Stored<'_>)])> = match stored.first() {
            Some((_, first)) if alike => vec![(first.format, stored)],
            _ if whole => stored.chunks(1).map(|one| (one[0].1.format, one)).collect(),
            _ => vec![(Format::F32, stored)],
        };
        let parts = groups
            .into_iter()
            .map(|(format, group)| Part::load(format, group, inputs, arena))
            .collect::<Result<_, _>>()?;
        Ok(Self::new(parts, inputs, outputs, bias))
    }

    /// Width of a row that [`run`](Self::run) writes.
    pub(crate) fn width(&self) -> usize {
        self.outputs.next_multiple_of(PANEL)
    }

    /// Copies row `o` of the matrix into `out`: an embedding table that is also the output layer is kept once.
    pub(crate) fn row(&self, mut o: usize, out: &mut [f32]) {
        for part in &self.parts {
            if o >= part.panels * PANEL {
                o -= part.panels * PANEL;
                continue;
            }
            match &part.data {
                Data::Plain(data) => {
                    let base = o / PANEL * self.inputs * PANEL + o % PANEL;
                    for (k, v) in out.iter_mut().enumerate() {
                        *v = data[base + k * PANEL];
                    }
                }
                Data::Packed(packed) => packed.row(o, out),
            }
            return;
        }
    }

    /// Whether a product with so many rows is spread over threads.
    pub(crate) fn splits(&self, rows: usize) -> bool {
        rows.max(FEW_ROWS) * self.inputs * self.width() > SPLIT_ABOVE
    }

    /// `rows` rows of `x` into rows of [`width`](Self::width) values, on so many threads of the pool.
    pub(crate) fn run(
        &self,
        x: &[f32],
        rows: usize,
        out: &mut [f32],
        spare: &mut Spare,
        threads: usize,
    ) {
        let width = self.width();
        let count = width / PANEL;
        spare
            .activations
            .fill(&self.formats(), x, rows, self.inputs);
        let activations = &spare.activations;
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
                // Threads own whole panels, so the product comes out panel by panel and is turned afterwards.
                spare.turned.resize(rows * width, 0.0);
                let target = Target {
                    row_step: PANEL,
                    panel_step: rows * PANEL,
                };
                spare
                    .turned
                    .par_chunks_mut(each * rows * PANEL)
                    .enumerate()
                    .for_each(|part| multiply(part, target));
                let turned = &spare.turned;
                let few = rows.div_ceil(threads * 2);
                out[..rows * width]
                    .par_chunks_mut(few * width)
                    .enumerate()
                    .for_each(|(c, out)| {
                        for (r, out) in out.chunks_exact_mut(width).enumerate() {
                            for (p, out) in out.as_chunks_mut::<PANEL>().0.iter_mut().enumerate() {
                                out.copy_from_slice(
                                    &turned[(p * rows + c * few + r) * PANEL..][..PANEL],
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

    /// [`run`](Self::run) on the calling thread alone, for callers that give each thread rows of its own.
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

    fn formats(&self) -> impl Iterator<Item = Format> + Clone {
        self.parts.iter().map(|part| match &part.data {
            Data::Plain(_) => Format::F32,
            Data::Packed(packed) => packed.format(),
        })
    }

    /// The product of `count` panels from panel `first`; the first of them goes to the beginning of `out`.
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
                Data::Plain(data) => {
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
                Data::Packed(packed) => packed.run(Job {
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
                super::kernels::add(row, bias);
            }
        }
    }

    /// Bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        let part = |part: &Part| match &part.data {
            Data::Plain(data) => size_of_val(&**data),
            Data::Packed(packed) => packed.bytes(),
        };
        self.parts.iter().map(part).sum()
    }
}

fn set_plain(data: &mut [f32], inputs: usize, o: usize, row: &[f32]) {
    let base = o / PANEL * inputs * PANEL + o % PANEL;
    for (k, &w) in row.iter().enumerate() {
        data[base + k * PANEL] = w;
    }
}

impl Part {
    fn load(
        format: Format,
        group: &[(String, Stored<'_>)],
        inputs: usize,
        arena: &mut Arena,
    ) -> Result<Self, EngineError> {
        let rows_of = |s: &Stored<'_>| s.shape.first().copied().unwrap_or(0);
        let outputs: usize = group.iter().map(|(_, s)| rows_of(s)).sum();
        let panels = outputs.div_ceil(PANEL);
        let mut data = match Packed::new(format, inputs, outputs, arena) {
            Some(packed) => Data::Packed(packed),
            None => Data::Plain(arena.take(panels * inputs * PANEL)),
        };
        let (mut done, mut bytes, mut line) = (0, Vec::new(), vec![0.0; inputs]);
        for (name, stored) in group {
            let fail = |reason: String| EngineError::Weight {
                name: name.clone(),
                reason,
            };
            let each = stored
                .format
                .row_bytes(inputs)
                .ok_or_else(|| fail(format!("rows of {inputs} are no whole number of blocks")))?;
            let rows = rows_of(stored);
            for first in (0..rows).step_by(BATCH * PANEL) {
                let count = (BATCH * PANEL).min(rows - first);
                bytes.clear();
                stored
                    .rows(first, count, &mut bytes)
                    .map_err(|e| fail(e.to_string()))?;
                if let Some(bad) = bytes
                    .chunks_exact(each)
                    .position(|row| !blocks::finite(stored.format, row))
                {
                    return Err(fail(format!(
                        "row {} is not finite: a value or scale is NaN or infinite",
                        first + bad
                    )));
                }
                match &mut data {
                    Data::Packed(packed) => packed.set_rows(done, &bytes),
                    Data::Plain(data) => {
                        for (r, row) in bytes.chunks_exact(each).enumerate() {
                            blocks::dequantise(stored.format, row, &mut line);
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
