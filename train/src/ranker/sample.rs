//! Which questions and candidates a step shows.

use common::hash;
use common::rng::Rng;

use super::choices::ProgramChoice;
use super::config::RankerConfig;
use super::loss::Shown;

/// The order of `count` questions in an epoch.
fn order(count: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let seed = hash::number(seed, "ranker epoch", &epoch.to_string());
    Rng::new(seed).shuffle(&mut order);
    order
}

/// The questions of every step, with the epoch in which each is shown.
pub(crate) struct Schedule {
    count: usize,
    per_step: usize,
    seed: u64,
    /// The last epoch asked for and its order.
    current: Option<(usize, Vec<usize>)>,
}

impl Schedule {
    pub(crate) fn new(count: usize, config: &RankerConfig) -> Self {
        Self {
            count,
            per_step: config.questions_per_step,
            seed: config.seed,
            current: None,
        }
    }

    /// The questions of step `step`, from 0, each with its epoch.
    pub(crate) fn step(&mut self, step: usize) -> Vec<(usize, usize)> {
        let first = step * self.per_step;
        (first..first + self.per_step)
            .map(|at| {
                let (epoch, place) = (at / self.count, at % self.count);
                if self
                    .current
                    .as_ref()
                    .is_none_or(|(known, _)| *known != epoch)
                {
                    self.current = Some((epoch, order(self.count, self.seed, epoch)));
                }
                let question = self
                    .current
                    .as_ref()
                    .map_or(place, |(_, order)| order[place]);
                (question, epoch)
            })
            .collect()
    }
}

/// The candidates of a question that a step shows: a sample of the right ones, the wrong ones with
/// the best scores, and a sample of the other wrong ones.
pub(crate) fn shown(
    choice: &ProgramChoice,
    question: usize,
    epoch: usize,
    config: &RankerConfig,
) -> Vec<Shown> {
    let name = format!("{question} {epoch}");
    let mut rng = Rng::new(hash::number(config.seed, "ranker candidates", &name));
    let all = || 0..choice.candidates.len();
    let mut right: Vec<usize> = all().filter(|i| choice.candidates[*i].right).collect();
    let mut wrong: Vec<usize> = all().filter(|i| !choice.candidates[*i].right).collect();
    rng.shuffle(&mut right);
    right.truncate(config.shown_right);
    wrong.sort_by(|a, b| {
        let score = |i: &usize| choice.candidates[*i].score;
        score(b).total_cmp(&score(a))
    });
    let mut other = wrong.split_off(wrong.len().min(config.shown_best));
    rng.shuffle(&mut other);
    other.truncate(config.shown_other);
    right
        .into_iter()
        .chain(wrong)
        .chain(other)
        .map(|at| Shown {
            at,
            right: choice.candidates[at].right,
            words: config.words * choice.candidates[at].score,
            teacher: choice.candidates[at].teacher,
        })
        .collect()
}
