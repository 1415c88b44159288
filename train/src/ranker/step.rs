//! One step of training: pairs are shared out to a fixed number of lanes, each of which computes its
//! gradients on one thread.

use common::hash;
use common::rng::Rng;
use model::{PairTokenizer, PairTokens};
use rayon::prelude::*;

use super::choices::ProgramChoice;
use super::config::RankerConfig;
use super::loss::{Shown, loss};
use super::net::{Gradients, Memory, Net};
use super::sample::shown;
use super::update::{LazyAdam, Rates};
use crate::TrainError;

/// Parts of a step. Fixed, so that the weights do not depend on the number of threads.
const LANES: usize = 4;

/// The work memory of all lanes.
pub(crate) struct Lanes {
    memory: Vec<Memory>,
    gradients: Vec<Gradients>,
}

/// What a step did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepOutcome {
    /// Mean loss of the questions.
    pub(crate) loss: f64,
    /// Norm of the gradient before clipping.
    pub(crate) norm: f64,
    pub(crate) tokens: usize,
}

/// A question of a step: its shown candidates and their pairs.
pub(crate) struct ShownQuestion {
    shown: Vec<Shown>,
    pairs: Vec<PairTokens>,
}

/// The questions of a step, given with their epochs, as tokens.
///
/// # Errors
/// Those of the tokenizer.
pub(crate) fn prepare(
    choices: &[ProgramChoice],
    questions: &[(usize, usize)],
    pairs: &PairTokenizer,
    config: &RankerConfig,
) -> Result<Vec<ShownQuestion>, TrainError> {
    let prepared = questions.iter().map(|&(question, epoch)| {
        let choice = &choices[question];
        let shown = shown(choice, question, epoch, config);
        let name = format!("{question} {epoch}");
        let mut rng = Rng::new(hash::number(config.seed, "ranker mask", &name));
        let mut tokens = |text: &str| -> Result<Vec<u32>, TrainError> {
            let mut tokens = pairs.tokens(text)?;
            if config.mask > 0.0 {
                hide(&mut tokens, pairs, config.mask, &mut rng)?;
            }
            Ok(tokens)
        };
        let asked = tokens(&choice.question)?;
        let pairs = shown
            .iter()
            .map(|one| Ok(pairs.join(&asked, &tokens(&choice.candidates[one.at].text)?)))
            .collect::<Result<_, TrainError>>()?;
        Ok(ShownQuestion { shown, pairs })
    });
    prepared.collect()
}

/// Replaces a share of the tokens by the one that stands for a hidden one.
fn hide(
    tokens: &mut [u32],
    pairs: &PairTokenizer,
    share: f32,
    rng: &mut Rng,
) -> Result<(), TrainError> {
    let mask = (pairs.mask()).ok_or_else(|| {
        TrainError::Config("--mask: the vocabulary has no token [MASK]".to_owned())
    })?;
    for token in tokens {
        if rng.uniform() < share {
            *token = mask;
        }
    }
    Ok(())
}

/// For every lane the places of its pairs: the longest pairs first, each to the lane with the fewest
/// tokens so far. Lanes without a pair are left out.
fn share_out(pairs: &[&PairTokens]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(pairs[*i].ids.len()));
    let mut lanes = vec![(0, Vec::new()); LANES];
    for i in order {
        if let Some(lane) = lanes.iter_mut().min_by_key(|(tokens, _)| *tokens) {
            lane.0 += pairs[i].ids.len();
            lane.1.push(i);
        }
    }
    let lanes = lanes.into_iter().map(|(_, lane)| lane);
    lanes.filter(|lane| !lane.is_empty()).collect()
}

impl Lanes {
    pub(crate) fn new() -> Self {
        Self {
            memory: (0..LANES).map(|_| Memory::default()).collect(),
            gradients: (0..LANES).map(|_| Gradients::default()).collect(),
        }
    }

    /// The mean loss of the questions; their gradients are then in the first lanes, whose number is
    /// the second result.
    pub(crate) fn gradients(
        &mut self,
        net: &Net,
        questions: &[ShownQuestion],
        distil: f32,
    ) -> (f64, usize) {
        let pairs: Vec<&PairTokens> = questions.iter().flat_map(|one| &one.pairs).collect();
        let lanes = share_out(&pairs);
        let of_lane = |lane: &[usize]| lane.iter().map(|i| pairs[*i]).collect::<Vec<_>>();
        let found: Vec<Vec<f32>> = lanes
            .par_iter()
            .zip(&mut self.memory)
            .map(|(lane, memory)| net.forward(&of_lane(lane), memory, true))
            .collect();
        let mut logits = vec![0.0; pairs.len()];
        for (lane, found) in lanes.iter().zip(&found) {
            for (i, logit) in lane.iter().zip(found) {
                logits[*i] = *logit;
            }
        }
        let (mut total, mut slopes, mut first) = (0.0, Vec::new(), 0);
        let share = 1.0 / questions.len().max(1) as f32;
        for question in questions {
            let end = first + question.shown.len();
            let (loss, slope) = loss(&logits[first..end], &question.shown, distil);
            total += loss;
            slopes.extend(slope.iter().map(|slope| slope * share));
            first = end;
        }
        lanes
            .par_iter()
            .zip(&mut self.memory)
            .zip(&mut self.gradients)
            .for_each(|((lane, memory), out)| {
                let slopes: Vec<f32> = lane.iter().map(|i| slopes[*i]).collect();
                net.backward(&of_lane(lane), &slopes, memory, out);
            });
        (total / questions.len().max(1) as f64, lanes.len())
    }

    /// Takes step `time`, from 1.
    pub(crate) fn step(
        &mut self,
        net: &mut Net,
        adam: &mut LazyAdam,
        questions: &[ShownQuestion],
        config: &RankerConfig,
        (rates, time): (Rates, usize),
    ) -> StepOutcome {
        let (loss, lanes) = self.gradients(net, questions, config.distil);
        let norm = adam.step(net, &mut self.gradients[..lanes], rates, time);
        net.pack();
        let pairs = questions.iter().flat_map(|one| &one.pairs);
        StepOutcome {
            loss,
            norm,
            tokens: pairs.map(|pair| pair.ids.len()).sum(),
        }
    }
}
