//! The time left of a run, from the work of the steps that are done and of those to do.
//!
//! Steps differ in size, single steps are held up by other work on the machine, and validations and
//! checkpoints come between steps. So the pace is the median of the time per operation over the
//! later half of the steps, and the time between steps counts as a share.

/// Fewest steps for the median.
const STEPS: usize = 20;

/// The pace of a run.
pub(crate) struct Pace {
    /// Operations from each step to the end of the run, with those of the validations that follow.
    left: Vec<f64>,
    /// Seconds per operation of the steps of this part of the run.
    rates: Vec<f64>,
    /// Seconds in steps, and between them for checkpoints.
    stepping: f64,
    saving: f64,
}

impl Pace {
    /// A run of steps with `work` operations each, including what follows them.
    pub(crate) fn new(work: &[f64]) -> Self {
        let mut left = vec![0.0; work.len() + 1];
        for (index, work) in work.iter().enumerate().rev() {
            left[index] = left[index + 1] + work;
        }
        Self {
            left,
            rates: Vec::new(),
            stepping: 0.0,
            saving: 0.0,
        }
    }

    /// Adds a step, which took `seconds` for `work` operations.
    pub(crate) fn step(&mut self, work: f64, seconds: f64) {
        self.stepping += seconds;
        self.rates.push(seconds / work.max(1.0));
    }

    /// Adds a checkpoint that took `seconds`.
    pub(crate) fn saved(&mut self, seconds: f64) {
        self.saving += seconds;
    }

    /// The seconds from the beginning of step `index` to the end of the run.
    pub(crate) fn seconds_left(&self, index: usize) -> f64 {
        let count = self
            .rates
            .len()
            .div_ceil(2)
            .max(STEPS)
            .min(self.rates.len());
        let mut recent = self.rates[self.rates.len() - count..].to_vec();
        recent.sort_by(f64::total_cmp);
        let rate = recent.get(count / 2).copied().unwrap_or(0.0);
        let between = 1.0 + self.saving / self.stepping.max(1e-9);
        rate * self.left.get(index).copied().unwrap_or(0.0) * between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of unequal size: (operations, seconds without disturbance).
    fn steps() -> Vec<(f64, f64)> {
        let size = |i: usize| 1e9 * (1 + i * 7 % 5) as f64;
        (0..400).map(|i| (size(i), 2e-9 * size(i))).collect()
    }

    /// The largest relative error of the time left after the first twentieth of the run, up to its
    /// last twentieth. `held_up` maps a step and its seconds to what it took.
    fn worst(held_up: impl Fn(usize, f64) -> f64, saves: bool) -> f64 {
        let steps = steps();
        let work: Vec<f64> = steps.iter().map(|step| step.0).collect();
        let saved = |i: usize| if saves && i % 40 == 39 { 20.0 } else { 0.0 };
        let mut pace = Pace::new(&work);
        let mut worst: f64 = 0.0;
        for (i, (work, seconds)) in steps.iter().enumerate() {
            pace.step(*work, held_up(i, *seconds));
            pace.saved(saved(i));
            let real: f64 = (i + 1..steps.len())
                .map(|j| held_up(j, steps[j].1) + saved(j))
                .sum();
            if (20..380).contains(&i) {
                worst = worst.max((pace.seconds_left(i + 1) / real - 1.0).abs());
            }
        }
        worst
    }

    #[test]
    fn the_time_left_is_within_a_quarter() {
        let even = |_: usize, seconds: f64| seconds;
        assert!(worst(even, false) < 1e-6);
        // One step in forty takes eight times as long, as when other work has the cores for a moment.
        let now_and_then = |i: usize, seconds| if i % 40 == 7 { 8.0 * seconds } else { seconds };
        assert!(
            worst(now_and_then, false) < 0.25,
            "{}",
            worst(now_and_then, false)
        );
        // The first steps are slow.
        let warming = |i: usize, seconds| if i < 3 { 20.0 * seconds } else { seconds };
        assert!(worst(warming, false) < 0.01);
        // Every step differs by up to a fifth.
        let noisy =
            |i: usize, seconds: f64| seconds * (0.8 + 0.4 * ((i * 37 % 101) as f64 / 100.0));
        assert!(worst(noisy, true) < 0.25, "{}", worst(noisy, true));
        assert!(worst(even, true) < 0.25, "{}", worst(even, true));
    }

    #[test]
    fn a_run_without_a_step_has_no_time_left() {
        assert_eq!(Pace::new(&[]).seconds_left(0), 0.0);
        assert_eq!(Pace::new(&[1.0]).seconds_left(0), 0.0);
    }
}
