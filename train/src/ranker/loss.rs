//! The loss of one question by the logits of its shown candidates.

/// Softens the distributions that distillation compares.
const TEMPERATURE: f32 = 2.0;

/// A candidate shown in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Its place among the question's candidates.
    pub(crate) at: usize,
    pub(crate) right: bool,
    /// The score of its words times [`super::config::RankerConfig::words`].
    pub(crate) words: f32,
    pub(crate) teacher: Option<f32>,
}

fn softmax(x: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let top = x.clone().fold(f64::NEG_INFINITY, f64::max);
    let mut all: Vec<f64> = x.map(|x| (x - top).exp()).collect();
    let sum: f64 = all.iter().sum();
    all.iter_mut().for_each(|x| *x /= sum);
    all
}

/// The loss and its derivatives by the logits.
///
/// The loss is minus the logarithm of the probability that a choice is right by the softmax of the
/// logits, each with what its words add, if some candidates are right and some wrong, plus `distil`
/// times the divergence from the teacher, if all candidates have its logit.
pub(crate) fn loss(logits: &[f32], shown: &[Shown], distil: f32) -> (f64, Vec<f32>) {
    let mut slopes = vec![0.0; logits.len()];
    let mut loss = 0.0;
    let values = || logits.iter().map(|x| f64::from(*x));
    let right = shown.iter().filter(|one| one.right).count();
    if right > 0 && right < shown.len() {
        let all = softmax(values().zip(shown).map(|(x, one)| x + f64::from(one.words)));
        let chosen: f64 = all
            .iter()
            .zip(shown)
            .filter(|(_, one)| one.right)
            .map(|(p, _)| p)
            .sum();
        let chosen = chosen.max(1e-30);
        loss -= chosen.ln();
        for ((slope, p), one) in slopes.iter_mut().zip(&all).zip(shown) {
            let share = if one.right { p / chosen } else { 0.0 };
            *slope += p - share;
        }
    }
    let teacher: Option<Vec<f32>> = shown.iter().map(|one| one.teacher).collect();
    if let Some(teacher) = teacher.filter(|teacher| distil > 0.0 && teacher.len() > 1) {
        let (weight, warm) = (f64::from(distil), f64::from(TEMPERATURE));
        let wanted = softmax(teacher.iter().map(|x| f64::from(*x) / warm));
        let given = softmax(values().map(|x| x / warm));
        for ((slope, p), q) in slopes.iter_mut().zip(&wanted).zip(&given) {
            if *p > 0.0 {
                loss += weight * p * (p / q.max(1e-30)).ln();
            }
            *slope += weight * (q - p) / warm;
        }
    }
    (loss, slopes.iter().map(|x| *x as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_the_derivatives() {
        let shown: Vec<Shown> = [(true, 2.0), (false, 0.5), (true, -1.0), (false, 1.0)]
            .into_iter()
            .enumerate()
            .map(|(at, (right, teacher))| Shown {
                at,
                right,
                words: 0.3 * teacher,
                teacher: Some(teacher),
            })
            .collect();
        let logits = [0.3, 1.2, -0.4, 0.1];
        for distil in [0.0, 0.7] {
            let (_, slopes) = loss(&logits, &shown, distil);
            for i in 0..logits.len() {
                let at = |by: f32| {
                    let mut moved = logits;
                    moved[i] += by;
                    loss(&moved, &shown, distil).0
                };
                let difference = (at(1e-2) - at(-1e-2)) / 2e-2;
                assert!((difference - f64::from(slopes[i])).abs() < 1e-4);
            }
        }
        let wrong: Vec<Shown> = shown
            .iter()
            .map(|one| Shown {
                right: false,
                teacher: None,
                ..*one
            })
            .collect();
        assert_eq!(loss(&logits, &wrong, 0.5), (0.0, vec![0.0; 4]));
    }
}
