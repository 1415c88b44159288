//! The base of a training run.

use std::path::{Path, PathBuf};

use common::wordings::Wordings;
use model::adapter::grow_rows;
use model::{Dataset, ModelConfig, ModelFolder, Preset, Tokenizer, Weights};

use crate::TrainError;
use crate::config::TrainConfig;
use crate::llama::fresh_weights;

/// The base of a training run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Initial weights, and a tokenizer trained on the data.
    Scratch(Preset),
    /// A model folder in Hugging Face layout.
    Folder(PathBuf),
}

/// A base with its configuration and tokenizer, but without its weights.
pub(crate) struct OpenedBase {
    pub(crate) config: ModelConfig,
    pub(crate) tokenizer: Tokenizer,
    /// Its name in reports.
    pub(crate) name: String,
    /// Rows of the embedding that come from the base.
    pub(crate) base_rows: usize,
    folder: Option<ModelFolder>,
}

impl OpenedBase {
    pub(crate) fn new(
        base: &Base,
        config: &TrainConfig,
        data: &Dataset,
    ) -> Result<Self, TrainError> {
        let mut opened = match base {
            Base::Scratch(preset) => Self::scratch(*preset, config, data)?,
            Base::Folder(path) => Self::folder(path)?,
        };
        let control = opened.tokenizer.control()?;
        opened.config.eos_token_ids = vec![control.end];
        opened.config.pad_token_id = Some(control.pad);
        Ok(opened)
    }

    fn scratch(preset: Preset, config: &TrainConfig, data: &Dataset) -> Result<Self, TrainError> {
        let texts = data
            .train
            .iter()
            .flat_map(|conversation| conversation.turns.iter().map(model::Turn::text));
        let tokenizer =
            Tokenizer::train_bpe(texts, config.vocab_size.unwrap_or(preset.vocab_size()))?;
        let mut shape = preset.config(tokenizer.vocab_size());
        shape.max_position_embeddings = shape.max_position_embeddings.max(config.max_length);
        let base_rows = shape.vocab_size;
        Ok(Self {
            config: shape,
            tokenizer,
            name: format!("scratch:{preset:?}").to_lowercase(),
            base_rows,
            folder: None,
        })
    }

    fn folder(path: &Path) -> Result<Self, TrainError> {
        let folder = ModelFolder::open(path)?;
        let (mut tokenizer, mut config) = (folder.tokenizer.clone(), folder.config.clone());
        let mut base_rows = config.vocab_size;
        if let Some(first) = tokenizer.ensure_control_tokens()? {
            // If the base's embedding is longer than its vocabulary, the new tokens use rows that
            // were never trained.
            base_rows = base_rows.min(first as usize);
            config.vocab_size = config.vocab_size.max(tokenizer.vocab_size());
        }
        Ok(Self {
            config,
            tokenizer,
            name: path.display().to_string(),
            base_rows,
            folder: Some(folder),
        })
    }

    /// The wordings of all questions that a model trained from this base on `data` has read; `None`
    /// if they are unknown for the data or for the training of the base. Data on which another
    /// program trained the base do not count.
    ///
    /// # Errors
    /// When the file of the base cannot be read.
    pub(crate) fn wordings(&self, data: &Dataset) -> Result<Option<Wordings>, TrainError> {
        let (Some(mut all), Some(folder)) = (data.wordings.clone(), &self.folder) else {
            return Ok(data.wordings.clone());
        };
        let before = Wordings::of_folder(&folder.path)?;
        // Only models that this program trained have agents.
        if before.is_none() && !folder.info.agents.is_empty() {
            return Ok(None);
        }
        all.merge(before.unwrap_or_default());
        Ok(Some(all))
    }

    /// Reads or generates the weights, with rows for tokens that the base lacks.
    pub(crate) fn weights(&self, seed: u64) -> Result<Weights, TrainError> {
        let Some(folder) = &self.folder else {
            return fresh_weights(&self.config, seed);
        };
        let mut weights = folder.weights()?;
        if self.base_rows < self.config.vocab_size {
            for name in ["model.embed_tokens.weight", "lm_head.weight"] {
                grow_rows(&mut weights, name, self.base_rows, self.config.vocab_size)?;
            }
        }
        Ok(weights)
    }
}
