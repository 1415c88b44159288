//! Fewer dimensions for a word embedding: its projection on the directions of the largest variance.

/// Sweeps after which the rotations stop at the latest; a handful is usual.
const SWEEPS: usize = 30;

/// Standard deviation of the result, twice that of the other new weights: words should count for
/// more than positions at first.
const DEVIATION: f64 = 0.04;

/// The rows of `x`, `from` wide, projected on `to` directions and scaled to [`DEVIATION`].
pub(crate) fn reduce(x: &[f32], from: usize, to: usize) -> Vec<f32> {
    let rows = x.len() / from.max(1);
    let mut mean = vec![0.0_f64; from];
    for row in x.chunks_exact(from) {
        for (mean, x) in mean.iter_mut().zip(row) {
            *mean += f64::from(*x) / rows as f64;
        }
    }
    let mut covariance = vec![0.0_f64; from * from];
    let mut centred = vec![0.0_f64; from];
    for row in x.chunks_exact(from) {
        for ((centred, x), mean) in centred.iter_mut().zip(row).zip(&mean) {
            *centred = f64::from(*x) - mean;
        }
        for (i, a) in centred.iter().enumerate() {
            let sums = &mut covariance[i * from..(i + 1) * from];
            for (sum, b) in sums.iter_mut().zip(&centred) {
                *sum += a * b;
            }
        }
    }
    let directions = directions(&mut covariance, from);
    let mut out = Vec::with_capacity(rows * to);
    for row in x.chunks_exact(from) {
        for direction in &directions[..to] {
            let along = row.iter().zip(&mean).zip(direction);
            out.push(
                along
                    .map(|((x, mean), d)| (f64::from(*x) - mean) * d)
                    .sum::<f64>(),
            );
        }
    }
    let variance = out.iter().map(|x| x * x).sum::<f64>() / out.len().max(1) as f64;
    let factor = DEVIATION / variance.sqrt().max(f64::MIN_POSITIVE);
    out.iter().map(|x| (x * factor) as f32).collect()
}

/// Eigenvectors of the symmetric matrix `a`, `n` wide, by falling eigenvalue, found by cyclic Jacobi
/// rotations. Destroys `a`.
fn directions(a: &mut [f64], n: usize) -> Vec<Vec<f64>> {
    // Row `i` of `vectors` becomes an eigenvector.
    let mut vectors: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    let size: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..SWEEPS {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i * n + j] * a[i * n + j])
            .sum();
        if off <= size * 1e-20 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(a, n, (p, q), &mut vectors);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a[j * n + j].total_cmp(&a[i * n + i]));
    order
        .iter()
        .map(|i| std::mem::take(&mut vectors[*i]))
        .collect()
}

/// Makes the element in row `p` and column `q` zero.
fn rotate(a: &mut [f64], n: usize, (p, q): (usize, usize), vectors: &mut [Vec<f64>]) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let turn = |x: &mut f64, y: &mut f64| (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    for row in a.chunks_exact_mut(n) {
        let (left, right) = row.split_at_mut(q);
        turn(&mut left[p], &mut right[0]);
    }
    let (above, below) = a.split_at_mut(q * n);
    for (x, y) in above[p * n..(p + 1) * n].iter_mut().zip(&mut below[..n]) {
        turn(x, y);
    }
    let (above, below) = vectors.split_at_mut(q);
    for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
        turn(x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_variance_stays() {
        // Three directions of falling variance, turned.
        let mut rng = common::rng::Rng::new(3);
        let mut x = Vec::new();
        let mut kept = Vec::new();
        for _ in 0..500 {
            let (a, b, c) = (3.0 * rng.normal(), rng.normal(), 0.001 * rng.normal());
            x.extend([a + b + 7.0, a - b, c - 2.0 + a]);
            kept.push((a, b));
        }
        let y = reduce(&x, 3, 2);
        let variance = y.iter().map(|x| f64::from(x * x)).sum::<f64>() / y.len() as f64;
        assert!((variance.sqrt() - 0.04).abs() < 1e-6);
        // Distances between rows are those in the plane, up to one factor.
        let ratio = |i: usize, j: usize| {
            let d = |a: f32, b: f32| (a - b) * (a - b);
            let ours = d(y[2 * i], y[2 * j]) + d(y[2 * i + 1], y[2 * j + 1]);
            let ((a, b), (c, e)) = (kept[i], kept[j]);
            ours / (3.0 * (a - c) * (a - c) + 2.0 * (b - e) * (b - e))
        };
        assert!((1..50).all(|i| (ratio(i, i + 1) / ratio(0, 1) - 1.0).abs() < 0.02));
    }
}
