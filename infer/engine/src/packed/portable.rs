//! Products in plain loops for any machine, summed in the order defined by [`packed`](super).

use half::bf16;
use model::gguf::BlockFormat;
use model::gguf::blocks::K_BLOCK;

use super::activations::SMALL;
use super::{Activations, Chunk, PackedMatrix, ProductJob, layout};
use crate::kernels::PANEL;

/// Computes a product.
pub(super) fn run(packed: &PackedMatrix, job: ProductJob<'_>) {
    let ProductJob {
        first,
        count,
        x,
        rows,
        out,
        target,
    } = job;
    for panel in 0..count {
        let chunks = packed.panel(first + panel);
        for row in 0..rows {
            let at = row * target.row_step + panel * target.panel_step;
            for (o, out) in out[at..at + PANEL].iter_mut().enumerate() {
                *out = output_sum(packed, chunks, o, x, row);
            }
        }
    }
}

fn output_sum(
    packed: &PackedMatrix,
    chunks: &[Chunk],
    o: usize,
    x: &Activations,
    row: usize,
) -> f32 {
    let format = packed.format;
    let mut q = [0i32; K_BLOCK];
    let mut sum = 0.0f32;
    for (b, chunks) in chunks.chunks_exact(layout::chunks(format)).enumerate() {
        let d = layout::half_of(&chunks[0], o);
        layout::integers(format, chunks, o, &mut q[..format.block()]);
        match format {
            BlockFormat::F32 => {}
            BlockFormat::F16 => sum = x.float(row, b).mul_add(d, sum),
            BlockFormat::Bf16 => {
                sum = x
                    .float(row, b)
                    .mul_add(bf16::from_bits(layout::bits16(&chunks[0], o)).to_f32(), sum);
            }
            BlockFormat::Q8_0 => {
                let first = b * SMALL;
                let total: i32 = (0..SMALL)
                    .map(|k| q[k] * i32::from(x.short(row, first + k).0))
                    .sum();
                sum = (d * x.short(row, first).1).mul_add(total as f32, sum);
            }
            BlockFormat::Q4K | BlockFormat::Q6K => {
                let group = if format == BlockFormat::Q4K { 32 } else { 16 };
                let bytes: [i8; K_BLOCK] = std::array::from_fn(|k| x.byte(row, b * K_BLOCK + k).0);
                let scale = x.byte(row, b * K_BLOCK).1;
                let (mut total, mut least) = (0i32, 0i32);
                for (s, (q, bytes)) in q
                    .chunks_exact(group)
                    .zip(bytes.chunks_exact(group))
                    .enumerate()
                {
                    let product: i32 = q.iter().zip(bytes).map(|(q, &x)| q * i32::from(x)).sum();
                    let plain: i32 = bytes.iter().map(|&x| i32::from(x)).sum();
                    let by = layout::group_scale(format, chunks, s, o);
                    total += by * product;
                    least += plain
                        * if format == BlockFormat::Q4K {
                            layout::group_minimum(chunks, s, o)
                        } else {
                            by
                        };
                }
                if format == BlockFormat::Q4K {
                    sum = (d * scale).mul_add(total as f32, sum);
                    sum = (-(layout::half_of(&chunks[1], o) * scale)).mul_add(least as f32, sum);
                } else {
                    sum = (d * scale).mul_add((total - 32 * least) as f32, sum);
                }
            }
        }
    }
    sum
}
