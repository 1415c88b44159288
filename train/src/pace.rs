//! Estimates the time left of a run.
//!
//! The time of a step is proportional to its operations. Other work on the machine delays single
//! steps, so the estimate takes the median of the seconds per operation over the later half of the
//! steps. Validations have a rate of their own once there was one. The time of checkpoints is a
//! share of the time of steps.

use std::collections::VecDeque;

/// Fewest steps for the median.
const STEPS: usize = 20;
/// Most steps for the median.
const WINDOW: usize = 1000;

/// The operations of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StepWork {
    pub(crate) step: f64,
    /// Those of the validation after it.
    pub(crate) validation: f64,
}

/// The pace of a run.
pub(crate) struct Pace {
    /// Operations from each step to the end of the run.
    left: Vec<StepWork>,
    /// Steps of this part of the run.
    steps: usize,
    /// Seconds per operation of the last steps.
    rates: VecDeque<f64>,
    /// Seconds per operation of the last validation.
    validating: Option<f64>,
    /// Seconds in steps, and between them for checkpoints.
    stepping: f64,
    saving: f64,
}

impl Pace {
    /// A run of these steps.
    pub(crate) fn new(work: &[StepWork]) -> Self {
        let mut left = vec![StepWork::default(); work.len() + 1];
        for (index, work) in work.iter().enumerate().rev() {
            left[index] = StepWork {
                step: left[index + 1].step + work.step,
                validation: left[index + 1].validation + work.validation,
            };
        }
        Self {
            left,
            steps: 0,
            rates: VecDeque::new(),
            validating: None,
            stepping: 0.0,
            saving: 0.0,
        }
    }

    /// Adds a step, which took `seconds` for `work` operations.
    pub(crate) fn step(&mut self, work: f64, seconds: f64) {
        self.steps += 1;
        self.stepping += seconds;
        self.rates.push_back(seconds / work.max(1.0));
        if self.rates.len() > WINDOW {
            self.rates.pop_front();
        }
    }

    /// Adds a validation, which took `seconds` for `work` operations.
    pub(crate) fn validated(&mut self, work: f64, seconds: f64) {
        self.validating = Some(seconds / work.max(1.0));
    }

    /// Adds a checkpoint that took `seconds`.
    pub(crate) fn saved(&mut self, seconds: f64) {
        self.saving += seconds;
    }

    /// The seconds from the beginning of step `index` to the end of the run.
    pub(crate) fn seconds_left(&self, index: usize) -> f64 {
        let count = self.steps.div_ceil(2).max(STEPS).min(self.rates.len());
        let mut recent: Vec<f64> = self.rates.iter().rev().take(count).copied().collect();
        if recent.is_empty() {
            return 0.0;
        }
        let (_, rate, _) = recent.select_nth_unstable_by(count / 2, f64::total_cmp);
        let left = self.left.get(index).copied().unwrap_or_default();
        let between = 1.0 + self.saving / self.stepping.max(1e-9);
        *rate * left.step * between + self.validating.unwrap_or(*rate) * left.validation
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
    /// last tenth, in which one slow step is much of what is left. `held_up` maps a step and its
    /// seconds to what it took.
    fn worst(held_up: impl Fn(usize, f64) -> f64, saves: bool) -> f64 {
        let steps = steps();
        let step = |step: &(f64, f64)| StepWork {
            step: step.0,
            validation: 0.0,
        };
        let work: Vec<StepWork> = steps.iter().map(step).collect();
        let saved = |i: usize| if saves && i % 40 == 39 { 20.0 } else { 0.0 };
        let mut pace = Pace::new(&work);
        let mut worst: f64 = 0.0;
        for (i, (work, seconds)) in steps.iter().enumerate() {
            pace.step(*work, held_up(i, *seconds));
            pace.saved(saved(i));
            let real: f64 = (i + 1..steps.len())
                .map(|j| held_up(j, steps[j].1) + saved(j))
                .sum();
            if (20..360).contains(&i) {
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
    fn validations_do_not_change_the_rate_of_steps() {
        let work = |index: usize| StepWork {
            step: 1e9,
            validation: if index % 10 == 9 { 3e9 } else { 0.0 },
        };
        let all: Vec<StepWork> = (0..3000).map(work).collect();
        let mut pace = Pace::new(&all);
        // A step takes two seconds, a validation nine.
        let left = |from: usize| 2.0 * (3000 - from) as f64 + 9.0 * ((3000 - from) / 10) as f64;
        for (index, work) in all.iter().enumerate() {
            pace.step(work.step, 2.0);
            if work.validation > 0.0 {
                pace.validated(work.validation, 9.0);
                let found = pace.seconds_left(index + 1);
                assert!((found - left(index + 1)).abs() < 1e-6, "{found}");
            }
        }
        assert_eq!(pace.rates.len(), WINDOW);
    }

    #[test]
    fn a_run_without_a_step_has_no_time_left() {
        let one = StepWork {
            step: 1.0,
            validation: 0.0,
        };
        assert_eq!(Pace::new(&[]).seconds_left(0), 0.0);
        assert_eq!(Pace::new(&[one]).seconds_left(0), 0.0);
    }
}
