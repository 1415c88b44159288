//! Scores all candidates of questions, and how often the best one is right.

use std::sync::atomic::{AtomicBool, Ordering};

use model::{PairTokenizer, PairTokens};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::choices::ProgramChoice;
use super::net::{Memory, Net};
use crate::TrainError;

/// Factors of the logit that a validation tries.
const FACTORS: [f32; 9] = [0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0];
/// Most tokens of a pass.
const CHUNK_TOKENS: usize = 2048;
/// Questions between two looks at the stop flag.
const BATCH: usize = 32;

/// How many questions of a set are answered rightly, by what chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankerShares {
    /// The set; empty for all sets together.
    pub set: String,
    /// Questions.
    pub questions: usize,
    /// By the score of the words alone.
    pub words: usize,
    /// By the ranker's logit alone.
    pub ranker: usize,
    /// By the sum of both.
    pub both: usize,
    /// With a right candidate at all.
    pub proposed: usize,
}

/// A validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankerValidation {
    /// Steps done.
    pub step: usize,
    /// The factor of the logit with the most right choices by both.
    pub lambda: f32,
    /// All questions together.
    pub all: RankerShares,
    /// The sets.
    pub sets: Vec<RankerShares>,
}

/// Logits of all candidates of every question, or `None` if `stop` was set.
///
/// # Errors
/// Those of the tokenizer.
pub(crate) fn logits(
    net: &Net,
    pairs: &PairTokenizer,
    choices: &[&ProgramChoice],
    stop: &AtomicBool,
    done: &mut dyn FnMut(usize),
) -> Result<Option<Vec<Vec<f32>>>, TrainError> {
    let mut all = Vec::with_capacity(choices.len());
    for batch in choices.chunks(BATCH) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let found: Vec<Vec<f32>> = batch
            .par_iter()
            .map_init(Memory::default, |memory, choice| {
                of(net, pairs, choice, memory)
            })
            .collect::<Result<_, _>>()?;
        all.extend(found);
        done(all.len());
    }
    Ok(Some(all))
}

/// Logits of the candidates of a question, on this thread.
fn of(
    net: &Net,
    pairs: &PairTokenizer,
    choice: &ProgramChoice,
    memory: &mut Memory,
) -> Result<Vec<f32>, TrainError> {
    let asked = pairs.tokens(&choice.question)?;
    let joined = choice
        .candidates
        .iter()
        .map(|one| Ok(pairs.join(&asked, &pairs.tokens(&one.text)?)))
        .collect::<Result<Vec<_>, TrainError>>()?;
    let mut logits = Vec::with_capacity(joined.len());
    let (mut part, mut tokens) = (Vec::<&PairTokens>::new(), 0);
    for pair in &joined {
        if tokens + pair.ids.len() > CHUNK_TOKENS && !part.is_empty() {
            logits.extend(net.forward(&part, memory, false));
            part.clear();
            tokens = 0;
        }
        tokens += pair.ids.len();
        part.push(pair);
    }
    if !part.is_empty() {
        logits.extend(net.forward(&part, memory, false));
    }
    Ok(logits)
}

/// Whether the first candidate with the highest score is right.
fn right(choice: &ProgramChoice, score: impl Fn(usize) -> f32) -> bool {
    let scores = (0..choice.candidates.len()).map(|i| (i, score(i)));
    let best = scores.reduce(|best, one| if one.1 > best.1 { one } else { best });
    best.is_some_and(|(i, _)| choice.candidates[i].right)
}

/// The validation of questions by the logits of their candidates.
pub(crate) fn measure(
    choices: &[&ProgramChoice],
    logits: &[Vec<f32>],
    step: usize,
) -> RankerValidation {
    let both = |choice: &ProgramChoice, logits: &[f32], factor: f32| {
        right(choice, |i| choice.candidates[i].score + factor * logits[i])
    };
    let (mut lambda, mut most) = (0.0, None);
    for factor in FACTORS {
        let count = choices.iter().zip(logits);
        let count = count.filter(|(choice, logits)| both(choice, logits, factor));
        let count = count.count();
        if most.is_none_or(|most| count > most) {
            (lambda, most) = (factor, Some(count));
        }
    }
    let mut all = RankerShares::default();
    let mut sets: Vec<RankerShares> = Vec::new();
    for (choice, logits) in choices.iter().zip(logits) {
        let at = sets.iter().position(|one| one.set == choice.set);
        let at = at.unwrap_or_else(|| {
            sets.push(RankerShares {
                set: choice.set.clone(),
                ..RankerShares::default()
            });
            sets.len() - 1
        });
        let words = right(choice, |i| choice.candidates[i].score);
        let ranker = right(choice, |i| logits[i]);
        let both = both(choice, logits, lambda);
        let proposed = choice.candidates.iter().any(|one| one.right);
        for shares in [&mut all, &mut sets[at]] {
            shares.questions += 1;
            shares.words += usize::from(words);
            shares.ranker += usize::from(ranker);
            shares.both += usize::from(both);
            shares.proposed += usize::from(proposed);
        }
    }
    sets.sort_by(|a, b| a.set.cmp(&b.set));
    RankerValidation {
        step,
        lambda,
        all,
        sets,
    }
}

/// Places of at most `most` of `count` questions, evenly spread.
pub(crate) fn spread(count: usize, most: Option<usize>) -> Vec<usize> {
    let most = most.unwrap_or(count).min(count);
    (0..most).map(|i| i * count / most).collect()
}
