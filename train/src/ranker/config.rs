//! The configuration of a ranker's training.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::kernels::tiles;
use crate::{Precision, TrainError};

/// The size of a ranker made from scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankerSize {
    /// Layers.
    pub layers: usize,
    /// Width of a token vector; the feed-forward blocks are four times as wide.
    pub hidden: usize,
    /// Attention heads.
    pub heads: usize,
}

impl std::str::FromStr for RankerSize {
    type Err = String;

    /// Reads `LAYERSxHIDDENxHEADS`, such as `2x128x4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<usize> = text
            .split('x')
            .map_while(|part| part.parse().ok())
            .collect();
        match numbers[..] {
            [layers @ 1..=64, hidden @ 1..=4096, heads @ 1..=4096]
                if text.split('x').count() == 3 && hidden % heads == 0 =>
            {
                Ok(Self {
                    layers,
                    hidden,
                    heads,
                })
            }
            _ => Err(format!(
                "`{text}` is not LAYERSxHIDDENxHEADS, such as 2x128x4, with a width that the heads \
                 share evenly"
            )),
        }
    }
}

/// What training starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankerStart {
    /// An encoder folder, or the folder of a ranker.
    Folder(PathBuf),
    /// Random weights.
    Scratch {
        /// The size.
        size: RankerSize,
        /// The folder whose tokenizer is used.
        tokenizer: PathBuf,
        /// The encoder folder whose word embedding, reduced to the width, is the first one.
        words_from: Option<PathBuf>,
    },
}

/// The configuration of a ranker's training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankerConfig {
    /// Longest pair in tokens.
    pub max_tokens: usize,
    /// Weight of the distance from the teacher.
    pub distil: f32,
    /// What the score of a candidate's words adds to its logit in the loss, as a factor of the score:
    /// above 0 the ranker learns what the words do not know.
    pub words: f32,
    /// The share of the tokens that a step hides, so that no choice hangs on a single word.
    pub mask: f32,
    /// Most right candidates shown of a question.
    pub shown_right: usize,
    /// Wrong candidates shown: those with the highest scores of their words.
    pub shown_best: usize,
    /// Wrong candidates shown: a sample of the others.
    pub shown_other: usize,
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Highest learning rate of the head.
    pub head_rate: f64,
    /// Steps of warm-up.
    pub warmup: usize,
    /// Weight decay of matrices.
    pub weight_decay: f64,
    /// Questions of a step.
    pub questions_per_step: usize,
    /// Passes over the questions; may be a fraction.
    pub epochs: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Steps between two validations; by default a tenth of the run.
    pub evaluate_every: Option<usize>,
    /// Most questions of a validation before the last one.
    pub evaluate_most: Option<usize>,
    /// The numbers of products; by default bfloat16 where the processor has instructions for it that
    /// are much faster (AMX), and f32 elsewhere. Sums and all other numbers are f32.
    pub precision: Option<Precision>,
    /// Keep the weights of the best validation instead of the last ones.
    pub keep_best: bool,
    /// Write matrices with 8 bits, in a third of the space.
    pub small: bool,
    /// Steps between two reports of the mean loss.
    #[serde(skip)]
    pub report_every: usize,
    /// Seconds between checkpoints.
    #[serde(skip)]
    pub save_seconds: f64,
    /// Identifies the build that trains.
    #[serde(skip)]
    pub program: String,
}

impl Default for RankerConfig {
    fn default() -> Self {
        Self {
            max_tokens: 128,
            distil: 0.5,
            words: 0.0,
            mask: 0.0,
            shown_right: 2,
            shown_best: 5,
            shown_other: 5,
            learning_rate: 5e-5,
            head_rate: 1e-3,
            warmup: 60,
            weight_decay: 0.01,
            questions_per_step: 6,
            epochs: 1.0,
            seed: 1,
            evaluate_every: None,
            evaluate_most: None,
            precision: None,
            keep_best: false,
            small: false,
            report_every: 50,
            save_seconds: 240.0,
            program: "unknown".to_owned(),
        }
    }
}

/// The numbers of products that a run uses if it is not told.
pub(crate) fn usual_precision() -> Precision {
    if tiles::are_fast() {
        Precision::Bf16
    } else {
        Precision::F32
    }
}

/// The rate at the end as a share of the highest.
const FINAL_RATE: f64 = 0.02;

impl RankerConfig {
    /// Refuses values that training cannot use.
    ///
    /// # Errors
    /// Names the value.
    pub fn check(&self) -> Result<(), TrainError> {
        let positive = [
            ("--epochs", self.epochs),
            ("--learning-rate", self.learning_rate),
            ("--head-rate", self.head_rate),
        ];
        let wrong = positive
            .iter()
            .find(|(_, value)| !(value.is_finite() && *value > 0.0));
        let message = if let Some((name, value)) = wrong {
            format!("{name} is {value}, not above 0")
        } else if !(self.distil.is_finite() && self.distil >= 0.0) {
            format!("--distil is {}, not 0 or more", self.distil)
        } else if !(self.words.is_finite() && self.words >= 0.0) {
            format!("--words is {}, not 0 or more", self.words)
        } else if !(0.0..1.0).contains(&self.mask) {
            format!("--mask is {}, not a share from 0 to below 1", self.mask)
        } else if self.questions_per_step == 0 {
            "--questions-per-step is 0".to_owned()
        } else if self.shown_right == 0 || self.shown_best + self.shown_other == 0 {
            "a step must show at least one right and one wrong candidate".to_owned()
        } else if self.evaluate_every == Some(0) || self.report_every == 0 {
            "a number of steps is 0".to_owned()
        } else {
            return Ok(());
        };
        Err(TrainError::Config(message))
    }

    /// Steps of a run on `questions` questions.
    pub(crate) fn steps(&self, questions: usize) -> usize {
        let all = self.epochs * questions as f64 / self.questions_per_step as f64;
        (all.ceil() as usize).max(1)
    }

    /// The factor of the learning rates of step `step` of `total`, from 0: warm-up, then a linear
    /// decay.
    pub(crate) fn factor(&self, step: usize, total: usize) -> f64 {
        let warmup = self.warmup.min(total / 2);
        if step < warmup {
            return (step + 1) as f64 / warmup as f64;
        }
        let share = (step - warmup) as f64 / (total - warmup).max(1) as f64;
        1.0 - share * (1.0 - FINAL_RATE)
    }
}
