//! GELU, x·Φ(x) with the exact normal distribution function, and its derivative in the same pass.

use super::lanes::{Lanes, exp, simd};

/// Replaces every `x` by `gelu(x)` and writes the derivative there to `slope`, on this thread.
pub(crate) fn forward(x: &mut [f32], slope: &mut [f32]) {
    simd!(l => forward_lanes(l, x, slope));
}

#[inline(always)]
fn forward_lanes<L: Lanes>(l: L, x: &mut [f32], slope: &mut [f32]) {
    let (chunks, rest) = x.as_chunks_mut::<8>();
    let (slopes, slope_rest) = slope.as_chunks_mut::<8>();
    for (x, slope) in chunks.iter_mut().zip(slopes) {
        step(l, x, slope);
    }
    if !rest.is_empty() {
        let (mut padded, mut slopes) = ([0.0; 8], [0.0; 8]);
        padded[..rest.len()].copy_from_slice(rest);
        step(l, &mut padded, &mut slopes);
        rest.copy_from_slice(&padded[..rest.len()]);
        slope_rest.copy_from_slice(&slopes[..slope_rest.len()]);
    }
}

#[inline(always)]
fn step<L: Lanes>(l: L, x: &mut [f32; 8], slope: &mut [f32; 8]) {
    /// 1 / sqrt(2π).
    const DENSITY: f32 = 0.398_942_3;
    let v = l.load(x);
    let half = l.splat(0.5);
    let normal = l.fma(
        erf(l, l.mul(v, l.splat(std::f32::consts::FRAC_1_SQRT_2))),
        half,
        half,
    );
    let density = l.mul(exp(l, l.mul(l.mul(v, v), l.splat(-0.5))), l.splat(DENSITY));
    l.store(l.mul(v, normal), x);
    l.store(l.fma(v, density, normal), slope);
}

/// The error function to a few units in the last place: a rational function of x clamped to ±4,
/// beyond which erf is ±1 in single precision.
#[inline(always)]
fn erf<L: Lanes>(l: L, x: L::V) -> L::V {
    const P: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    const Q: [f32; 5] = [
        -1.456_607_2e-5,
        -2.133_740_6e-4,
        -1.682_827e-3,
        -7.373_329e-3,
        -1.426_473_9e-2,
    ];
    let x = l.min(l.max(x, l.splat(-4.0)), l.splat(4.0));
    let s = l.mul(x, x);
    let mut p = l.splat(P[0]);
    for c in &P[1..] {
        p = l.fma(p, s, l.splat(*c));
    }
    let mut q = l.splat(Q[0]);
    for c in &Q[1..] {
        q = l.fma(q, s, l.splat(*c));
    }
    l.div(l.mul(x, p), q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_slopes_match_finite_differences_and_known_values() {
        let x: Vec<f32> = (-450..=450).map(|i| i as f32 / 50.0).collect();
        let (mut y, mut slope) = (x.clone(), vec![0.0; x.len()]);
        forward(&mut y, &mut slope);
        // gelu(1) = 0.841344746.
        assert!((y[500] - 0.841_344_7).abs() < 1e-6, "{}", y[500]);
        assert!(y[0].abs() < 1e-6 && (y[900] - 9.0).abs() < 1e-6);
        for i in 1..x.len() - 1 {
            let difference = (y[i + 1] - y[i - 1]) / 0.04;
            assert!((difference - slope[i]).abs() < 1e-3, "{}", x[i]);
        }
    }
}
