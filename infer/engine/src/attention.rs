//! Causal attention of a block of rows over the cache, one key/value head at a time.
//!
//! All query heads that share a key/value head are rows of one product, so keys and values are read
//! once per group.

use rayon::prelude::*;

use crate::cache::KvCache;
use crate::kernels::{PANEL, Product, Target, dispatch, softmax_parts};

/// Query rows whose scores are computed at once; a multiple of the kernels' row tile.
const QUERY_ROWS: usize = 24;
/// Multiply-adds above which heads are split between threads (about 100 µs of one core).
const SPLIT_ABOVE: usize = 1 << 20;

/// Sizes and position of one segment: the rows of one conversation in a block.
pub(crate) struct SegmentShape {
    /// Query heads.
    pub(crate) heads: usize,
    /// Key/value heads.
    pub(crate) kv_heads: usize,
    /// Width of a head.
    pub(crate) dim: usize,
    /// Distance between rows of the fused q, k, v product.
    pub(crate) row: usize,
    /// Position of the segment's first row in its conversation.
    pub(crate) first: usize,
    pub(crate) rows: usize,
    /// The segment's first row in the block.
    pub(crate) begin: usize,
    /// Leading rows whose attention is not needed.
    pub(crate) skip: usize,
}

/// Buffers of one key/value head.
#[derive(Default, Clone)]
struct HeadBuffers {
    queries: Vec<f32>,
    scores: Vec<f32>,
    scales: Vec<f32>,
    mixed: Vec<f32>,
}

/// Buffers of all heads of all segments.
#[derive(Default, Clone)]
pub(crate) struct AttentionBuffers(Vec<HeadBuffers>);

/// `[a; b] → [a cos - b sin; b cos + a sin]`, the half-split rotation of Hugging Face weights.
fn rotate(head: &[f32], angles: &[(f32, f32)], scale: f32, out: &mut [f32]) {
    let half = angles.len();
    let (a, b) = head.split_at(half);
    let (out_a, out_b) = out.split_at_mut(half);
    for i in 0..half {
        let (cos, sin) = angles[i];
        out_a[i] = (a[i] * cos - b[i] * sin) * scale;
        out_b[i] = (b[i] * cos + a[i] * sin) * scale;
    }
}

/// Rotates the segment's keys and writes keys and values into its cache.
pub(crate) fn store(
    shape: &SegmentShape,
    layer: usize,
    qkv: &[f32],
    angles: &[(f32, f32)],
    cache: &mut KvCache,
) {
    let (heads, kv_heads, dim, begin) = (shape.heads, shape.kv_heads, shape.dim, shape.begin);
    let mut key = vec![0.0; dim];
    for (r, row) in qkv[begin * shape.row..]
        .chunks_exact(shape.row)
        .take(shape.rows)
        .enumerate()
    {
        let angles = &angles[(begin + r) * dim / 2..][..dim / 2];
        for head in 0..kv_heads {
            let k = &row[(heads + head) * dim..][..dim];
            let v = &row[(heads + kv_heads + head) * dim..][..dim];
            rotate(k, angles, 1.0, &mut key);
            cache.write(layer, head, shape.first + r, &key, v);
        }
    }
}

/// Attention of the rows `skip..` of every segment over its own cache, on `threads` threads. `out`
/// receives these rows in order, `[row][heads · dim]`.
#[allow(clippy::too_many_arguments)]
pub(crate) fn attend(
    shapes: &[SegmentShape],
    layer: usize,
    qkv: &[f32],
    angles: &[(f32, f32)],
    caches: &[&KvCache],
    buffers: &mut AttentionBuffers,
    out: &mut [f32],
    threads: usize,
) {
    let Some(shape) = shapes.first() else {
        return;
    };
    let (heads, kv_heads, dim) = (shape.heads, shape.kv_heads, shape.dim);
    let group = heads / kv_heads;
    buffers
        .0
        .resize_with(shapes.len() * kv_heads, HeadBuffers::default);
    let head = |(i, work): (usize, &mut HeadBuffers)| {
        let segment = i / kv_heads;
        work.head(
            &shapes[segment],
            layer,
            i % kv_heads,
            qkv,
            angles,
            caches[segment],
        );
    };
    let cost: usize = shapes
        .iter()
        .map(|s| 2 * heads * dim * (s.rows - s.skip) * (s.first + s.rows))
        .sum();
    if cost > SPLIT_ABOVE && threads > 1 {
        buffers.0.par_iter_mut().enumerate().for_each(head);
    } else {
        buffers.0.iter_mut().enumerate().for_each(head);
    }
    let mut begin = 0;
    for ((shape, cache), works) in shapes
        .iter()
        .zip(caches)
        .zip(buffers.0.chunks_exact(kv_heads))
    {
        let (rows, width) = (shape.rows - shape.skip, cache.value_width());
        for (h, work) in works.iter().enumerate() {
            for r in 0..rows {
                for g in 0..group {
                    let from = &work.mixed[(r * group + g) * width..][..dim];
                    out[(begin + r) * heads * dim + (h * group + g) * dim..][..dim]
                        .copy_from_slice(from);
                }
            }
        }
        begin += rows;
    }
}

impl HeadBuffers {
    fn head(
        &mut self,
        shape: &SegmentShape,
        layer: usize,
        head: usize,
        qkv: &[f32],
        angles: &[(f32, f32)],
        cache: &KvCache,
    ) {
        let (heads, kv_heads, dim) = (shape.heads, shape.kv_heads, shape.dim);
        let (first, begin, skip) = (shape.first, shape.begin, shape.skip);
        let group = heads / kv_heads;
        let rows = shape.rows - skip;
        let width = cache.value_width();
        let scale = 1.0 / (dim as f32).sqrt();
        self.queries.resize(rows * group * dim, 0.0);
        self.mixed.resize(rows * group * width, 0.0);
        for r in 0..rows {
            let row = &qkv[(begin + skip + r) * shape.row..][..shape.row];
            let angles = &angles[(begin + skip + r) * dim / 2..][..dim / 2];
            for g in 0..group {
                let query = &row[(head * group + g) * dim..][..dim];
                rotate(
                    query,
                    angles,
                    scale,
                    &mut self.queries[(r * group + g) * dim..][..dim],
                );
            }
        }
        let values = cache.values(layer, head);
        let mut at = 0;
        while at < rows * group {
            let tile = QUERY_ROWS.min(rows * group - at);
            // Positions visible to the tile's last row; its other rows see a prefix of them.
            let seen = first + skip + (at + tile - 1) / group + 1;
            let padded = seen.next_multiple_of(PANEL);
            self.scores.resize(QUERY_ROWS * padded, 0.0);
            self.scales.clear();
            dispatch(Product {
                x: &self.queries[at * dim..],
                x_step: dim,
                rows: tile,
                terms: dim,
                panels: cache.keys(layer, head, seen),
                out: &mut self.scores,
                target: Target {
                    row_step: padded,
                    panel_step: PANEL,
                },
            });
            for q in 0..tile {
                let live = first + skip + (at + q) / group + 1;
                self.scales.push(softmax_parts(
                    &mut self.scores[q * padded..(q + 1) * padded],
                    live,
                ));
            }
            let mixed = &mut self.mixed[at * width..(at + tile) * width];
            dispatch(Product {
                x: &self.scores,
                x_step: padded,
                rows: tile,
                terms: seen,
                panels: values,
                out: mixed,
                target: Target {
                    row_step: width,
                    panel_step: PANEL,
                },
            });
            for (row, &scale) in mixed.chunks_exact_mut(width).zip(&self.scales) {
                row.iter_mut().for_each(|v| *v *= scale);
            }
            at += tile;
        }
    }
}
