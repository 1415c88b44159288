//! Planning a run: base, examples, steps and estimate.

use model::{ChatFormat, Dataset};

use crate::base::{Base, OpenedBase};
use crate::batch::{self, Examples, StepPlan};
use crate::config::{Method, TrainConfig};
use crate::device::Processor;
use crate::estimate::Estimate;
use crate::{TrainError, estimator};

/// A run that is planned, but whose weights are not read yet.
pub(super) struct RunPlan {
    /// The configuration, with the number of devices.
    pub(super) config: TrainConfig,
    pub(super) base: OpenedBase,
    pub(super) train: Examples,
    pub(super) valid: Examples,
    /// Steps by epoch.
    pub(super) steps: Vec<Vec<StepPlan>>,
    pub(super) estimate: Estimate,
}

impl RunPlan {
    pub(super) fn new(
        config: &TrainConfig,
        base: &Base,
        data: &Dataset,
    ) -> Result<Self, TrainError> {
        config.check()?;
        if config.method == Method::Lora && matches!(base, Base::Scratch(_)) {
            return Err(TrainError::Config(
                "LoRA needs a trained base; a model made from scratch must be trained in full"
                    .to_owned(),
            ));
        }
        check_gguf(config, base)?;
        let base = OpenedBase::new(base, config, data)?;
        base.check(config)?;
        let given = config;
        let config = &given.for_size(base.config.parameters());
        let format = ChatFormat::new(base.tokenizer.clone())?;
        let train = batch::tokenise(&data.train, &format, config)?;
        let valid = batch::tokenise(&data.valid, &format, config)?;
        if train.examples.is_empty() {
            let (read, long, untrained) = (data.train.len(), train.too_long, train.untrained);
            return Err(TrainError::Data(format!(
                "nothing to train on: {read} examples, {long} too long, {untrained} without a trained turn"
            )));
        }
        let steps: Vec<Vec<StepPlan>> = (0..config.epochs)
            .map(|epoch| batch::plan(&train.examples, epoch, config))
            .collect();
        batch::check_parts(&steps, given)?;
        let estimate = estimator::estimate(&base, config, &train, &valid, &steps);
        if estimate.longest > base.config.context() {
            let (longest, most) = (estimate.longest, base.config.context());
            return Err(TrainError::Data(format!(
                "an example has {longest} tokens, but the model supports {most}"
            )));
        }
        Ok(Self {
            config: config.clone(),
            base,
            train,
            valid,
            steps,
            estimate,
        })
    }
}

/// Rejects what cannot be done with a GGUF base.
fn check_gguf(config: &TrainConfig, base: &Base) -> Result<(), TrainError> {
    let Base::Gguf(path) = base else {
        return Ok(());
    };
    let problem = if config.method == Method::Full {
        "its matrices stay in blocks, which only `--method lora` can train"
    } else if config.processor == Processor::Cuda {
        "it can be trained on the CPU only; a GPU needs a model folder"
    } else if !config.lora.merge {
        "an adapter in PEFT layout needs a model folder as its base; without `--adapter` the \
         output is a whole model"
    } else {
        return Ok(());
    };
    let path = path.display();
    Err(TrainError::Config(format!(
        "the base {path} is a GGUF file: {problem}"
    )))
}
