//! The arithmetic of transformer layers on plain slices: matrix products over packed panels, norms,
//! softmax, activations.
//!
//! A tensor library's own operations take ten times as long for a model with 1.5 million parameters
//! (`docs/lab/candle.md`), so the CPU path calls these functions. Every output is summed in one fixed
//! order, whatever the number of rows, the tile, the thread and the width of the machine's vectors:
//! a prompt fed in two pieces, on another number of threads or after a cached prefix gives the same
//! bits. Traces rely on this.

use pulp::{Simd, WithSimd};

/// Outputs of one packed panel: two AVX2 registers, one AVX-512 register, four NEON registers.
pub(crate) const PANEL: usize = 16;

/// Runs `op` with the widest vector instructions of this machine.
#[inline(always)]
pub(crate) fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return Simd::vectorize(simd, op);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, op);
    }
    pulp::Arch::new().dispatch(op)
}

/// The panels of a right-hand side.
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a> {
    /// All values.
    pub(crate) data: &'a [f32],
    pub(crate) step: usize,
    /// Distance between terms of the sum within a panel (`PANEL` if packed).
    pub(crate) stride: usize,
    pub(crate) count: usize,
    /// Whether a single row is multiplied with one panel at a time; see
    /// [`STREAMED`](crate::weight_memory::STREAMED).
    pub(crate) streamed: bool,
}

/// Where products are written: `out[row * row_step + panel * panel_step ..][..PANEL]`.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) row_step: usize,
    /// Distance between panels.
    pub(crate) panel_step: usize,
}

/// `out[row][panel] = Σ_k x[row][k] · panel[k][..PANEL]` for `rows` rows of `terms` values,
/// `x_step` apart.
pub(crate) struct Product<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) x_step: usize,
    pub(crate) rows: usize,
    pub(crate) terms: usize,
    pub(crate) panels: Panels<'a>,
    pub(crate) out: &'a mut [f32],
    pub(crate) target: Target,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match PANEL / S::F32_LANES {
            1 => self.run::<S, 1>(simd),
            2 => self.run::<S, 2>(simd),
            4 => self.run::<S, 4>(simd),
            _ => self.run::<S, 16>(simd),
        }
    }
}

/// Panels multiplied with all rows before the next group: enough for tiles of few rows, few enough
/// to stay in cache for all rows.
const GROUP: usize = 6;

impl Product<'_> {
    /// Works in tiles of about twelve vectors of sums. With few rows a tile spans several panels,
    /// so that a multiply-add rarely waits for the previous one.
    #[inline(always)]
    fn run<S: Simd, const V: usize>(mut self, simd: S) {
        let (rows, count) = (self.rows, self.panels.count);
        let mut panel = 0;
        while panel < count {
            let group = GROUP.min(count - panel);
            let mut row = 0;
            while row < rows {
                let tall = (rows - row).min(6);
                let mut done = 0;
                while done < group {
                    let at = panel + done;
                    done += match (tall, group - done) {
                        (1, _) if self.panels.streamed => self.tile::<S, V, 1, 1>(simd, row, at),
                        (1, 6) => self.tile::<S, V, 1, 6>(simd, row, at),
                        (1, 4..) => self.tile::<S, V, 1, 4>(simd, row, at),
                        (1, 2..) => self.tile::<S, V, 1, 2>(simd, row, at),
                        (1, _) => self.tile::<S, V, 1, 1>(simd, row, at),
                        (2, 3..) => self.tile::<S, V, 2, 3>(simd, row, at),
                        (2, _) => self.tile::<S, V, 2, 1>(simd, row, at),
                        (3, 2..) => self.tile::<S, V, 3, 2>(simd, row, at),
                        (3, _) => self.tile::<S, V, 3, 1>(simd, row, at),
                        // If a register holds a whole panel, there is room for the sums of two.
                        (4, 2..) if V == 1 => self.tile::<S, V, 4, 2>(simd, row, at),
                        (5, 2..) if V == 1 => self.tile::<S, V, 5, 2>(simd, row, at),
                        (6, 2..) if V == 1 => self.tile::<S, V, 6, 2>(simd, row, at),
                        (4, _) => self.tile::<S, V, 4, 1>(simd, row, at),
                        (5, _) => self.tile::<S, V, 5, 1>(simd, row, at),
                        _ => self.tile::<S, V, 6, 1>(simd, row, at),
                    };
                }
                row += tall;
            }
            panel += group;
        }
    }

    /// Multiplies `R` rows with `P` panels and returns `P`.
    #[inline(always)]
    fn tile<S: Simd, const V: usize, const R: usize, const P: usize>(
        &mut self,
        simd: S,
        row: usize,
        panel: usize,
    ) -> usize {
        let rows: [&[f32]; R] =
            std::array::from_fn(|r| &self.x[(row + r) * self.x_step..][..self.terms]);
        let stride = self.panels.stride;
        let span = (self.terms.max(1) - 1) * stride + PANEL;
        let panels: [&[f32]; P] =
            std::array::from_fn(|p| &self.panels.data[(panel + p) * self.panels.step..][..span]);
        let mut sums = [[[simd.splat_f32s(0.0); V]; P]; R];
        for k in 0..self.terms {
            for p in 0..P {
                let (line, _) = S::as_simd_f32s(&panels[p][k * stride..k * stride + PANEL]);
                for r in 0..R {
                    let value = simd.splat_f32s(rows[r][k]);
                    for v in 0..V {
                        sums[r][p][v] = simd.mul_add_f32s(value, line[v], sums[r][p][v]);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (p, sum) in sums.iter().enumerate() {
                let at = (row + r) * self.target.row_step + (panel + p) * self.target.panel_step;
                store::<S, V>(sum, &mut self.out[at..at + PANEL]);
            }
        }
        P
    }
}

#[inline(always)]
fn store<S: Simd, const V: usize>(sum: &[S::f32s; V], out: &mut [f32]) {
    let (out, _) = S::as_mut_simd_f32s(out);
    out[..V].copy_from_slice(sum);
}

/// e^x for x in about [-87, 88] with a relative error below 2e-7; branch-free, so that loops over
/// it are vectorised, and identical on every machine.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding 1.5 · 2^23 leaves the nearest integer in the low bits.
    const SHIFT: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    // ln 2 in two parts, so that the remainder keeps its low bits.
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_199_9e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_5e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    let e = p * r * r + r + 1.0;
    e * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// Sum of `f(value)` in sixteen fixed lanes folded in a fixed order.
#[inline(always)]
fn lane_sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 16];
    let mut chunks = values.chunks_exact(16);
    for chunk in &mut chunks {
        for l in 0..16 {
            lanes[l] += f(chunk[l]);
        }
    }
    for (lane, &v) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane += f(v);
    }
    for width in [8, 4, 2, 1] {
        for l in 0..width {
            lanes[l] += lanes[l + width];
        }
    }
    lanes[0]
}

/// RMSNorm of every row: `out = x / sqrt(mean(x²) + eps) · weight`.
pub(crate) fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            let width = weight.len();
            for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
                let scale = 1.0 / (lane_sum(x, |v| v * v) / width as f32 + eps).sqrt();
                for ((out, &x), &w) in out.iter_mut().zip(x).zip(weight) {
                    *out = x * scale * w;
                }
            }
        },
    );
}

/// Softmax numerators in place: `row[..live] = exp(row - max)`, zero after; returns `1 / sum`.
pub(crate) fn softmax_parts(row: &mut [f32], live: usize) -> f32 {
    dispatch(
        #[inline(always)]
        || {
            let (live, rest) = row.split_at_mut(live);
            rest.fill(0.0);
            let mut top = [f32::NEG_INFINITY; 16];
            let mut chunks = live.chunks_exact(16);
            for chunk in &mut chunks {
                for l in 0..16 {
                    top[l] = if chunk[l] > top[l] { chunk[l] } else { top[l] };
                }
            }
            let max = top
                .iter()
                .chain(chunks.remainder())
                .fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m });
            for v in live.iter_mut() {
                *v = exp(*v - max);
            }
            1.0 / lane_sum(live, |v| v)
        },
    )
}

/// `out = silu(gate) · up`; every row of `gate_up` holds the gates, then the ups.
pub(crate) fn swiglu(gate_up: &[f32], row_step: usize, width: usize, rows: usize, out: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            for (row, out) in gate_up
                .chunks_exact(row_step)
                .zip(out.chunks_exact_mut(width))
                .take(rows)
            {
                let (gate, up) = row[..2 * width].split_at(width);
                for ((out, &g), &u) in out.iter_mut().zip(gate).zip(up) {
                    *out = g / (1.0 + exp(-g)) * u;
                }
            }
        },
    );
}

/// LayerNorm of every row, in place: `(x - mean(x)) / sqrt(var(x) + eps) · weight + bias`.
pub(crate) fn layer_norm(x: &mut [f32], weight: &[f32], bias: &[f32], eps: f32) {
    dispatch(
        #[inline(always)]
        || {
            let width = weight.len();
            for row in x.chunks_exact_mut(width) {
                let mean = lane_sum(row, |v| v) / width as f32;
                let variance = lane_sum(row, |v| (v - mean) * (v - mean)) / width as f32;
                let scale = 1.0 / (variance + eps).sqrt();
                for ((x, &w), &b) in row.iter_mut().zip(weight).zip(bias) {
                    *x = (*x - mean) * scale * w + b;
                }
            }
        },
    );
}

/// The error function to a few units in the last place: a rational function of x clamped to ±4,
/// beyond which erf is ±1 in single precision.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let s = x * x;
    let mut p = -2.726_142_3e-10;
    p = p * s + 2.770_681_4e-8;
    p = p * s - 2.101_024e-6;
    p = p * s - 5.692_506_4e-5;
    p = p * s - 7.349_906_3e-4;
    p = p * s - 2.954_6e-3;
    p = p * s - 1.609_603_3e-2;
    let mut q = -1.456_607_2e-5;
    q = q * s - 2.133_740_6e-4;
    q = q * s - 1.682_827e-3;
    q = q * s - 7.373_329e-3;
    q = q * s - 1.426_473_9e-2;
    x * p / q
}

/// `x = x · Φ(x)`, where Φ is the normal distribution function.
pub(crate) fn gelu(x: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            for x in x.iter_mut() {
                *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
            }
        },
    );
}

/// `x += y`.
pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    dispatch(
        #[inline(always)]
        || {
            for (x, &y) in x.iter_mut().zip(y) {
                *x += y;
            }
        },
    );
}

/// `ln Σ e^v`. NaN counts as -∞ and +∞ as `f32::MAX`; the result is -∞ if all values are.
pub(crate) fn log_sum_exp(values: &[f32]) -> f32 {
    dispatch(
        #[inline(always)]
        || {
            let max = values
                .iter()
                .fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m })
                .min(f32::MAX);
            if max == f32::NEG_INFINITY {
                return max;
            }
            let sum = lane_sum(values, |v| {
                let below = v.min(f32::MAX) - max;
                if v >= f32::MIN && below > -87.0 {
                    exp(below)
                } else {
                    0.0
                }
            });
            max + sum.ln()
        },
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_real_one() {
        let mut worst = 0.0f64;
        for i in -870_000..=880_000 {
            let x = i as f32 / 10_000.0;
            let want = f64::from(x).exp();
            worst = worst.max(((f64::from(exp(x)) - want) / want).abs());
        }
        assert!(worst < 3e-7, "{worst}");
    }

    #[test]
    fn erf_is_close_to_the_real_one() {
        let mut worst = 0.0f64;
        for i in -600..=600 {
            let x = f64::from(i) / 100.0;
            // 2/sqrt(pi) times the integral of e^(-t²) from 0 to x, by Simpson's rule.
            let steps = 2000;
            let h = x / f64::from(steps);
            let f = |i: i32| (-(f64::from(i) * h).powi(2)).exp();
            let inner: f64 = (1..steps)
                .map(|i| f(i) * if i % 2 == 0 { 2.0 } else { 4.0 })
                .sum();
            let want = 2.0 / std::f64::consts::PI.sqrt() * h / 3.0 * (f(0) + f(steps) + inner);
            worst = worst.max((f64::from(erf(x as f32)) - want).abs());
        }
        assert!(worst < 5e-7, "{worst}");
    }

    /// The results of `op` with every instruction set of this machine.
    fn on_each<Op: WithSimd>(op: impl Fn() -> Op) -> Vec<Op::Output> {
        #[allow(unused_mut, reason = "only x86-64 has wider instruction sets")]
        let mut results = vec![dispatch(op()), Simd::vectorize(pulp::Scalar, op())];
        #[cfg(target_arch = "x86_64")]
        results.extend(pulp::x86::V3::try_new().map(|simd| Simd::vectorize(simd, op())));
        #[cfg(target_arch = "x86_64")]
        results.extend(pulp::x86::V4::try_new().map(|simd| Simd::vectorize(simd, op())));
        results
    }

    /// A product with `rows` rows.
    struct RowsProduct<'a> {
        rows: usize,
        x: &'a [f32],
        terms: usize,
        panels: Panels<'a>,
    }

    impl WithSimd for RowsProduct<'_> {
        type Output = Vec<f32>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let Self {
                rows,
                x,
                terms,
                panels,
            } = self;
            let width = panels.count * PANEL;
            let mut out = vec![f32::NAN; rows * width];
            let target = Target {
                row_step: width,
                panel_step: PANEL,
            };
            Product {
                x,
                x_step: terms,
                rows,
                terms,
                panels,
                out: &mut out,
                target,
            }
            .with_simd(simd);
            out
        }
    }

    #[test]
    fn products_depend_neither_on_the_tile_nor_on_the_instructions() {
        let (terms, count) = (37, 7);
        let x: Vec<f32> = (0..13 * terms)
            .map(|i| ((i * 7919) % 101) as f32 / 50.0 - 1.0)
            .collect();
        let data: Vec<f32> = (0..count * terms * PANEL)
            .map(|i| ((i * 104_729) % 997) as f32 / 500.0 - 1.0)
            .collect();
        let panels = Panels {
            data: &data,
            step: terms * PANEL,
            stride: PANEL,
            count,
            streamed: false,
        };
        let width = count * PANEL;
        let single = |row: usize| {
            dispatch(RowsProduct {
                rows: 1,
                x: &x[row * terms..],
                terms,
                panels,
            })
        };
        let want: Vec<f32> = (0..13).flat_map(single).collect();
        for (row, want) in want.chunks_exact(width).enumerate() {
            let naive: f32 = (0..terms)
                .map(|k| x[row * terms + k] * data[k * PANEL])
                .sum();
            assert!((naive - want[0]).abs() < 1e-4);
        }
        for rows in 1..=13 {
            for streamed in [false, true] {
                let all = on_each(|| RowsProduct {
                    rows,
                    x: &x,
                    terms,
                    panels: Panels { streamed, ..panels },
                });
                assert!(
                    all.iter().all(|all| all == &want[..rows * width]),
                    "{rows} rows"
                );
            }
        }
    }
}
