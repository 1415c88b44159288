//! Planning a run: base, examples, steps and estimate.

use model::{ChatFormat, Dataset};

use crate::base::{Base, OpenedBase};
use crate::batch::{self, Examples, StepPlan};
use crate::config::{Method, TrainConfig};
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
        let base = OpenedBase::new(base, config, data)?;
        let given = config;
        let config = &given.with_devices(base.config.parameters());
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
        let estimate =
            estimator::estimate(&base.config, base.base_rows, config, &train, &valid, &steps);
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
