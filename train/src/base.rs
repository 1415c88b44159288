//! The base of a training run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::wordings::Wordings;
use model::adapter::{self, BaseName, grow_rows};
use model::gguf::{BlockFormat, Recipe};
use model::{
    Dataset, GgufModel, ModelConfig, ModelFolder, Preset, Tokenizer, WeightSource, Weights, files,
    hub,
};

use crate::TrainError;
use crate::config::{Method, TrainConfig};
use crate::llama::fresh_weights;

/// The base of a training run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Initial weights, and a tokenizer trained on the data.
    Scratch(Preset),
    /// A model folder in Hugging Face layout.
    Folder(PathBuf),
    /// A GGUF file. Its matrices stay in their blocks, so only LoRA can train it.
    Gguf(PathBuf),
}

impl Base {
    /// The folder or file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Scratch(_) => None,
            Self::Folder(path) | Self::Gguf(path) => Some(path),
        }
    }
}

/// Where the weights of a base come from.
enum Origin {
    Scratch,
    Folder(ModelFolder),
    Gguf(GgufModel, PathBuf),
}

/// A base with its configuration and tokenizer, but without its weights.
pub(crate) struct OpenedBase {
    pub(crate) config: ModelConfig,
    pub(crate) tokenizer: Tokenizer,
    /// Its name in reports.
    pub(crate) name: String,
    /// Rows of the embedding that come from the base.
    pub(crate) base_rows: usize,
    /// Control tokens that the base lacks.
    added: usize,
    /// The formats of the matrices, if they stay in blocks.
    pub(crate) formats: Option<BTreeMap<String, BlockFormat>>,
    origin: Origin,
}

impl OpenedBase {
    pub(crate) fn new(
        base: &Base,
        config: &TrainConfig,
        data: &Dataset,
    ) -> Result<Self, TrainError> {
        let mut opened = match base {
            Base::Scratch(preset) => Self::scratch(*preset, config, data)?,
            Base::Folder(path) => {
                let folder = ModelFolder::open(path)?;
                let formats = config
                    .quantize
                    .map(|recipe| recipe_formats(recipe, &folder.config));
                let (tokenizer, shape) = (folder.tokenizer.clone(), folder.config.clone());
                Self::trained(path, shape, tokenizer, formats, Origin::Folder(folder))?
            }
            Base::Gguf(path) => {
                let file = GgufModel::open(path)?;
                let formats = Some(stored_formats(&file, path, config.quantize)?);
                let (tokenizer, shape) = (file.tokenizer.clone(), file.config.clone());
                Self::trained(
                    path,
                    shape,
                    tokenizer,
                    formats,
                    Origin::Gguf(file, path.clone()),
                )?
            }
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
            added: 0,
            formats: None,
            origin: Origin::Scratch,
        })
    }

    fn trained(
        path: &Path,
        mut config: ModelConfig,
        mut tokenizer: Tokenizer,
        formats: Option<BTreeMap<String, BlockFormat>>,
        origin: Origin,
    ) -> Result<Self, TrainError> {
        let mut base_rows = config.vocab_size;
        let added = tokenizer.ensure_control_tokens()?;
        if let Some(first) = added.iter().min() {
            // If the base's embedding is longer than its vocabulary, the new tokens use rows that
            // were never trained.
            base_rows = base_rows.min(*first as usize);
            config.vocab_size = config.vocab_size.max(tokenizer.vocab_size());
        }
        // A snapshot of the hub is known by its commit, wherever the cache is.
        let name = hub::origin(path).map_or_else(
            || path.display().to_string(),
            |(name, commit)| format!("{name}@{commit}"),
        );
        Ok(Self {
            config,
            tokenizer,
            name,
            base_rows,
            added: added.len(),
            formats,
            origin,
        })
    }

    /// How an adapter names this base, and its digest; `None` if it is not a model folder.
    ///
    /// # Errors
    /// When a file of the base cannot be read.
    pub(crate) fn named(&self) -> Result<Option<(BaseName, String)>, TrainError> {
        let Origin::Folder(folder) = &self.origin else {
            return Ok(None);
        };
        let digest = adapter::digest(&folder.path)?;
        Ok(Some((BaseName::of(&folder.path), digest)))
    }

    /// Checks that the weights can be read, without reading them.
    ///
    /// # Errors
    /// When a file or a tensor is missing, or an adapter of an adapter is wanted.
    pub(crate) fn check(&self, config: &TrainConfig) -> Result<(), TrainError> {
        // A GGUF file is checked when it is opened.
        let Origin::Folder(folder) = &self.origin else {
            return Ok(());
        };
        folder.check_weights()?;
        if folder.is_adapter() && config.method == Method::Lora && !config.lora.merge {
            return Err(TrainError::Config(format!(
                "the base {} is an adapter, and PEFT has no adapters of adapters; leave \
                 `--adapter` out, or merge the base first (`kgagent export --format merged`)",
                self.name
            )));
        }
        Ok(())
    }

    /// The wordings of all questions that a model trained from this base on `data` has read; `None`
    /// if they are unknown for the data or for the training of the base. Data on which another
    /// program trained the base do not count.
    ///
    /// # Errors
    /// When the file of the base cannot be read.
    pub(crate) fn wordings(&self, data: &Dataset) -> Result<Option<Wordings>, TrainError> {
        let (before, info) = match &self.origin {
            Origin::Scratch => return Ok(data.wordings.clone()),
            Origin::Folder(folder) => (Wordings::of_folder(&folder.path)?, &folder.info),
            Origin::Gguf(file, path) => {
                let folder = files::folder_of(path);
                (Wordings::of_folder(folder)?, &file.info)
            }
        };
        // Only models that this program trained have agents.
        if before.is_none() && !info.agents.is_empty() {
            return Ok(None);
        }
        let Some(mut all) = data.wordings.clone() else {
            return Ok(None);
        };
        all.merge(before.unwrap_or_default());
        Ok(Some(all))
    }

    /// The base's weights, to be read one after the other.
    ///
    /// # Errors
    /// If the base has no weights, or if files are damaged.
    pub(crate) fn source(&self) -> Result<Box<dyn WeightSource + '_>, TrainError> {
        match &self.origin {
            Origin::Scratch => Err(TrainError::Config(
                "a model made from scratch has no weights to read".to_owned(),
            )),
            Origin::Folder(folder) => Ok(folder.source()?),
            Origin::Gguf(file, _) => Ok(Box::new(file)),
        }
    }

    /// Bytes of the base's weights, if its matrices stay in blocks.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        let formats = self.formats.as_ref()?;
        let bytes = self.config.tensors().into_iter().map(|(name, shape)| {
            let count: usize = shape.iter().product();
            let format = formats.get(&name).copied().unwrap_or(BlockFormat::F32);
            (count / format.block() * format.block_bytes()) as u64
        });
        Some(bytes.sum())
    }

    /// Reads or generates the weights, with rows for tokens that the base lacks.
    pub(crate) fn weights(&self, seed: u64) -> Result<Weights, TrainError> {
        let mut weights = match &self.origin {
            Origin::Scratch => return fresh_weights(&self.config, seed),
            Origin::Folder(folder) => folder.weights()?,
            Origin::Gguf(..) => {
                let message = "the matrices of a GGUF file stay in blocks; only LoRA trains it";
                return Err(TrainError::Config(message.to_owned()));
            }
        };
        if self.base_rows < self.config.vocab_size {
            for name in ["model.embed_tokens.weight", "lm_head.weight"] {
                grow_rows(&mut weights, name, self.base_rows, self.config.vocab_size)?;
            }
        }
        Ok(weights)
    }
}

/// The tokenizer of a model trained from `base` on `data`, with the control tokens, and how many of
/// them are new to the base.
///
/// # Errors
/// When the base cannot be opened.
pub fn tokenizer(
    base: &Base,
    config: &TrainConfig,
    data: &Dataset,
) -> Result<(Tokenizer, usize), TrainError> {
    let opened = OpenedBase::new(base, config, data)?;
    Ok((opened.tokenizer, opened.added))
}

/// The matrices of a model.
fn matrices(config: &ModelConfig) -> impl Iterator<Item = (String, Vec<usize>)> {
    let tensors = config.tensors().into_iter();
    tensors.filter(|(_, shape)| shape.len() == 2)
}

/// The formats of a recipe for the matrices of a model.
fn recipe_formats(recipe: Recipe, config: &ModelConfig) -> BTreeMap<String, BlockFormat> {
    matrices(config)
        .map(|(name, shape)| {
            let format = recipe.format(config, &name, &shape);
            (name, format)
        })
        .collect()
}

/// The formats of the matrices in a file, which must be those of the recipe, if there is one.
fn stored_formats(
    file: &GgufModel,
    path: &Path,
    recipe: Option<Recipe>,
) -> Result<BTreeMap<String, BlockFormat>, TrainError> {
    let mut out = BTreeMap::new();
    for (name, shape) in matrices(&file.config) {
        let stored = file.open(&name)?.format;
        if let Some(recipe) = recipe
            && recipe.format(&file.config, &name, &shape) != stored
        {
            return Err(TrainError::Config(format!(
                "{} has `{name}` in {}, which is not the format of `--quantize` {}; leave \
                 `--quantize` out, because the matrices of a GGUF file stay as they are",
                path.display(),
                stored.name(),
                recipe.name()
            )));
        }
        out.insert(name, stored);
    }
    Ok(out)
}
