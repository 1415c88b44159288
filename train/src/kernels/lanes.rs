//! Vectors of eight numbers: AVX2 with FMA if available, otherwise plain arrays, with identical
//! results.
//!
//! Compilers do not reliably vectorise loops with running sums, which take most of the time of a
//! training step.

/// Eight-lane arithmetic.
pub(crate) trait Lanes: Copy {
    /// Eight numbers.
    type V: Copy;
    fn splat(self, x: f32) -> Self::V;
    fn load(self, from: &[f32; 8]) -> Self::V;
    fn store(self, v: Self::V, to: &mut [f32; 8]);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    fn sqrt(self, a: Self::V) -> Self::V;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `y` times two to the power of the integer in the lowest bits of `t`.
    fn scale_by_bits(self, y: Self::V, t: Self::V) -> Self::V;
}

/// Arrays, for machines without AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

macro_rules! per_lane {
    ($($name:ident: $a:ident, $b:ident => $f:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $a: [f32; 8], $b: [f32; 8]) -> [f32; 8] {
            std::array::from_fn(|i| {
                let ($a, $b) = ($a[i], $b[i]);
                $f
            })
        }
    )*};
}

impl Lanes for Portable {
    type V = [f32; 8];
    #[inline(always)]
    fn splat(self, x: f32) -> [f32; 8] {
        [x; 8]
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> [f32; 8] {
        *from
    }
    #[inline(always)]
    fn store(self, v: [f32; 8], to: &mut [f32; 8]) {
        *to = v;
    }
    per_lane! {
        add: a, b => a + b;
        sub: a, b => a - b;
        mul: a, b => a * b;
        div: a, b => a / b;
        max: a, b => if a > b { a } else { b };
        min: a, b => if a < b { a } else { b };
        scale_by_bits: y, t => f32::from_bits(y.to_bits().wrapping_add(t.to_bits() << 23));
    }
    #[inline(always)]
    fn sqrt(self, a: [f32; 8]) -> [f32; 8] {
        a.map(f32::sqrt)
    }
    #[inline(always)]
    fn fma(self, a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! by_pulp {
    ($($name:ident: $theirs:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: pulp::f32x8, b: pulp::f32x8) -> pulp::f32x8 {
            self.$theirs(a, b)
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V3 {
    type V = pulp::f32x8;
    #[inline(always)]
    fn splat(self, x: f32) -> pulp::f32x8 {
        self.splat_f32x8(x)
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> pulp::f32x8 {
        pulp::cast(*from)
    }
    #[inline(always)]
    fn store(self, v: pulp::f32x8, to: &mut [f32; 8]) {
        *to = pulp::cast(v);
    }
    by_pulp! {
        add: add_f32x8;
        sub: sub_f32x8;
        mul: mul_f32x8;
        div: div_f32x8;
        max: max_f32x8;
        min: min_f32x8;
    }
    #[inline(always)]
    fn sqrt(self, a: pulp::f32x8) -> pulp::f32x8 {
        self.sqrt_f32x8(a)
    }
    #[inline(always)]
    fn fma(self, a: pulp::f32x8, b: pulp::f32x8, c: pulp::f32x8) -> pulp::f32x8 {
        self.mul_add_f32x8(a, b, c)
    }
    #[inline(always)]
    fn scale_by_bits(self, y: pulp::f32x8, t: pulp::f32x8) -> pulp::f32x8 {
        pulp::cast(
            self.wrapping_add_u32x8(pulp::cast(y), self.shl_const_u32x8::<23>(pulp::cast(t))),
        )
    }
}

/// Moved into the closures of [`simd`] to make them `FnOnce`. Otherwise they would be called
/// through a shim, which is not inlined into the function with vector instructions, so that every
/// instruction would become a call.
pub(crate) struct Once;

/// Runs `$body` with `$l` as the best lanes of this machine.
macro_rules! simd {
    ($l:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some($l) = pulp::x86::V3::try_new() {
            let once = $crate::kernels::lanes::Once;
            $l.vectorize(
                #[inline(always)]
                || {
                    let _moved = once;
                    $body
                },
            )
        } else {
            let $l = $crate::kernels::lanes::Portable;
            $body
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let $l = $crate::kernels::lanes::Portable;
            $body
        }
    }};
}
pub(crate) use simd;

/// `e^x` to about seven digits; constant below -87.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(l: L, x: L::V) -> L::V {
    const ROUND: f32 = 12_582_912.0;
    let x = l.min(l.max(x, l.splat(-87.0)), l.splat(88.0));
    let t = l.fma(x, l.splat(std::f32::consts::LOG2_E), l.splat(ROUND));
    let n = l.sub(t, l.splat(ROUND));
    let r = l.fma(n, l.splat(-0.693_359_4), x);
    let r = l.fma(n, l.splat(2.121_944_4e-4), r);
    let mut p = l.fma(l.splat(1.987_569_1e-4), r, l.splat(1.398_199_9e-3));
    p = l.fma(p, r, l.splat(8.333_452e-3));
    p = l.fma(p, r, l.splat(4.166_579_6e-2));
    p = l.fma(p, r, l.splat(1.666_666_5e-1));
    p = l.fma(p, r, l.splat(0.5));
    let y = l.add(l.fma(p, l.mul(r, r), r), l.splat(1.0));
    l.scale_by_bits(y, t)
}

/// Pads to eight numbers with `pad`.
#[inline(always)]
fn padded(rest: &[f32], pad: f32) -> [f32; 8] {
    let mut out = [pad; 8];
    for (out, x) in out.iter_mut().zip(rest) {
        *out = *x;
    }
    out
}

/// Sum of the eight lanes in fixed order.
#[inline(always)]
pub(crate) fn total<L: Lanes>(l: L, v: L::V) -> f32 {
    let mut a = [0.0; 8];
    l.store(v, &mut a);
    ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]))
}

/// Sum of products.
#[inline(always)]
pub(crate) fn dot<L: Lanes>(l: L, a: &[f32], b: &[f32]) -> f32 {
    let (ac, ar) = a.as_chunks::<8>();
    let (bc, br) = b.as_chunks::<8>();
    let mut sum = l.splat(0.0);
    for (a, b) in ac.iter().zip(bc) {
        sum = l.fma(l.load(a), l.load(b), sum);
    }
    if !ar.is_empty() {
        sum = l.fma(l.load(&padded(ar, 0.0)), l.load(&padded(br, 0.0)), sum);
    }
    total(l, sum)
}

/// Largest element.
#[inline(always)]
pub(crate) fn max<L: Lanes>(l: L, a: &[f32]) -> f32 {
    let (chunks, rest) = a.as_chunks::<8>();
    let mut top = l.splat(f32::NEG_INFINITY);
    for chunk in chunks {
        top = l.max(l.load(chunk), top);
    }
    let mut lanes = [0.0; 8];
    l.store(top, &mut lanes);
    lanes
        .iter()
        .chain(rest)
        .copied()
        .fold(f32::NEG_INFINITY, f32::max)
}

/// Replaces each `x` by `e^(x - shift)` and returns the sum.
#[inline(always)]
pub(crate) fn exp_sum<L: Lanes>(l: L, a: &mut [f32], shift: f32) -> f32 {
    let shift = l.splat(shift);
    let (chunks, rest) = a.as_chunks_mut::<8>();
    let mut sum = l.splat(0.0);
    for chunk in chunks {
        let y = exp(l, l.sub(l.load(chunk), shift));
        sum = l.add(sum, y);
        l.store(y, chunk);
    }
    let mut out = total(l, sum);
    if !rest.is_empty() {
        let mut y = [0.0; 8];
        l.store(exp(l, l.sub(l.load(&padded(rest, 0.0)), shift)), &mut y);
        for (x, y) in rest.iter_mut().zip(y) {
            *x = y;
            out += y;
        }
    }
    out
}

/// `out[i] = f(out[i], [inputs[0][i], inputs[1][i], …])`.
#[inline(always)]
pub(crate) fn map<L: Lanes, const N: usize>(
    l: L,
    out: &mut [f32],
    inputs: [&[f32]; N],
    f: impl Fn(L::V, [L::V; N]) -> L::V,
) {
    let n = out.len();
    let (chunks, rest) = out.as_chunks_mut::<8>();
    let parts = inputs.map(|input| input[..n].as_chunks::<8>());
    for (i, out) in chunks.iter_mut().enumerate() {
        let values = std::array::from_fn(
            #[inline(always)]
            |k| l.load(&parts[k].0[i]),
        );
        let y = f(l.load(out), values);
        l.store(y, out);
    }
    if !rest.is_empty() {
        let values = std::array::from_fn(
            #[inline(always)]
            |k| l.load(&padded(parts[k].1, 0.0)),
        );
        let mut y = [0.0; 8];
        l.store(f(l.load(&padded(rest, 0.0)), values), &mut y);
        rest.copy_from_slice(&y[..rest.len()]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn exps<L: Lanes>(l: L, x: &[f32]) -> Vec<f32> {
        let mut y = x.to_vec();
        exp_sum(l, &mut y, 0.0);
        y
    }

    #[test]
    fn exp_is_accurate_and_the_same_on_every_machine() {
        let x: Vec<f32> = (-87_000..88_000)
            .map(|i| i as f32 / 1000.0)
            .chain([-1e9, -200.0, 0.0])
            .collect();
        let portable = exps(Portable, &x);
        assert_eq!(portable, simd!(l => exps(l, &x)));
        let worst = x
            .iter()
            .zip(&portable)
            .filter(|(x, _)| **x >= -87.0)
            .map(|(x, y)| (f64::from(*y) / f64::from(*x).exp() - 1.0).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 3e-7, "{worst}");
        assert!(
            portable[x.len() - 3] < 1e-37 && portable[x.len() - 1].to_bits() == 1.0_f32.to_bits()
        );
    }

    #[test]
    fn sums_and_maxima_match_plain_loops_for_any_length() {
        for n in 0..40_usize {
            let a: Vec<f32> = (0..n).map(|i| (i as f32 * 7.3).sin()).collect();
            let expected: f64 = a.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
            let ours = simd!(l => dot(l, &a, &a));
            assert!((f64::from(ours) - expected).abs() < 1e-5);
            assert_eq!(ours.to_bits(), dot(Portable, &a, &a).to_bits());
            assert_eq!(
                simd!(l => max(l, &a)).to_bits(),
                a.iter()
                    .copied()
                    .fold(f32::NEG_INFINITY, f32::max)
                    .to_bits()
            );
            let mut b = a.clone();
            simd!(l => map(l, &mut b, [&a], |old, [x]| l.add(old, x)));
            assert!(
                a.iter()
                    .zip(&b)
                    .all(|(a, b)| (2.0 * a).to_bits() == b.to_bits())
            );
        }
    }
}
