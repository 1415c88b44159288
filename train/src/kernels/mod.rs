//! The arithmetic of one training step on the CPU, on plain slices: what burn's stock operations would spread over many passes and
//! materialised masks. Results do not depend on the number of threads: work is cut into blocks of fixed size, every output is written by
//! one task, and sums over blocks run in their order.

pub(crate) mod attention;
pub(crate) mod cross_entropy;
pub(crate) mod norm;
pub(crate) mod swiglu;

/// Rows one task works on. Fixed, so that block sums are the same for any number of threads.
pub(crate) const BLOCK_ROWS: usize = 64;

/// Run `f` compiled for the widest vectors this machine has. Everything `f` calls must be `#[inline(always)]` to profit.
#[inline(always)]
pub(crate) fn simd<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(f);
    }
    f()
}

/// `e^x` to about one unit in the seventh digit, in a form the compiler turns into vector code. Below -87 it stays at the smallest normal
/// number.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let t = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = t - ROUND;
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4_f32;
    p = p.mul_add(r, 1.398_199_9e-3);
    p = p.mul_add(r, 8.333_452e-3);
    p = p.mul_add(r, 4.166_579_6e-2);
    p = p.mul_add(r, 1.666_666_5e-1);
    p = p.mul_add(r, 0.5);
    let y = p.mul_add(r * r, r) + 1.0;
    f32::from_bits(y.to_bits().wrapping_add(t.to_bits() << 23))
}

/// Sum of products, in 16 lanes.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let (ac, ar) = a.as_chunks::<16>();
    let (bc, br) = b.as_chunks::<16>();
    for (a, b) in ac.iter().zip(bc) {
        for i in 0..16 {
            lanes[i] = a[i].mul_add(b[i], lanes[i]);
        }
    }
    let mut tail = 0.0;
    for (a, b) in ar.iter().zip(br) {
        tail = a.mul_add(*b, tail);
    }
    fold(&lanes) + tail
}

/// Sum of 16 lanes, always in the same order.
#[inline(always)]
pub(crate) fn fold(lanes: &[f32; 16]) -> f32 {
    let mut sum = 0.0;
    for i in 0..8 {
        sum += lanes[i] + lanes[i + 8];
    }
    sum
}

/// Largest element, in 16 lanes.
#[inline(always)]
pub(crate) fn max(a: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; 16];
    let (chunks, rest) = a.as_chunks::<16>();
    for chunk in chunks {
        for i in 0..16 {
            lanes[i] = if chunk[i] > lanes[i] { chunk[i] } else { lanes[i] };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

/// Replace each `x` by `e^(x - shift)` and return the sum.
#[inline(always)]
pub(crate) fn exp_sum(a: &mut [f32], shift: f32) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let (chunks, rest) = a.as_chunks_mut::<16>();
    for chunk in chunks {
        for i in 0..16 {
            chunk[i] = exp(chunk[i] - shift);
            lanes[i] += chunk[i];
        }
    }
    let mut tail = 0.0;
    for x in rest {
        *x = exp(*x - shift);
        tail += *x;
    }
    fold(&lanes) + tail
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    #[test]
    fn exp_is_close_everywhere_it_is_used() {
        let mut worst = 0.0_f64;
        for i in -87_000..88_000 {
            let x = i as f32 / 1000.0;
            let (ours, true_value) = (f64::from(super::exp(x)), f64::from(x).exp());
            worst = worst.max((ours / true_value - 1.0).abs());
        }
        assert!(worst < 3e-7, "{worst}");
        assert!(super::exp(-1e9) < 1e-37);
    }
}
