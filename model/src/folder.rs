//! Model folders in Hugging Face layout: everything needed to run a model, in one directory.

use std::path::{Path, PathBuf};

use common::fs::StagedFolder;
use serde_json::json;

use crate::adapter::{self, Adapter};
use crate::json::{pretty, read_json};
use crate::{
    KgAgentInfo, ModelConfig, ModelError, Tensor, Tokenizer, WeightFiles, WeightSource, Weights,
    files, hub, mistaken, weights,
};

/// A model folder in memory, without its weights; [`ModelFolder::weights`] reads them on demand.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    /// Its path.
    pub path: PathBuf,
    /// Its configuration.
    pub config: ModelConfig,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// How it was trained; empty for a model that this program did not train.
    pub info: KgAgentInfo,
    /// If this folder is a LoRA adapter: the adapter and the folder of its base.
    adapter: Option<(Adapter, PathBuf)>,
}

impl ModelFolder {
    /// Opens a folder: reads and checks the configuration, the tokenizer and `kgagent.json`, but
    /// not the weights. An adapter folder in PEFT layout opens as its base with the adapter
    /// applied.
    ///
    /// # Errors
    /// Names the missing or invalid file.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let path = &hub::resolve(path)?;
        let info = KgAgentInfo::read(path)?;
        let is_adapter = path.join(files::ADAPTER_CONFIG).is_file();
        let adapter = if is_adapter && !path.join(files::CONFIG).exists() {
            let adapter = Adapter::read(path)?;
            let base = adapter::base_folder(path, &adapter.config, &info)?;
            Some((adapter, base))
        } else {
            None
        };
        let base = adapter.as_ref().map_or(path, |(_, base)| base);
        if !base.join(files::CONFIG).exists() {
            return Err(mistaken::not_a_model(base));
        }
        let mut config = ModelConfig::from_json(&read_json(&base.join(files::CONFIG))?)?;
        if let Some(table) = adapter
            .as_ref()
            .and_then(|(adapter, _)| adapter.weights.find("model.embed_tokens.weight"))
        {
            config.vocab_size = table
                .shape
                .first()
                .copied()
                .unwrap_or(0)
                .max(config.vocab_size);
        }
        let here = path.join(files::TOKENIZER);
        let tokenizer = Tokenizer::from_file(&if here.is_file() {
            here
        } else {
            base.join(files::TOKENIZER)
        })?;
        if tokenizer.control().is_ok() && tokenizer.vocab_size() > config.vocab_size {
            let (has, rows) = (tokenizer.vocab_size(), config.vocab_size);
            return Err(ModelError::Config(format!(
                "the tokenizer has {has} ids, but the embedding has {rows} rows"
            )));
        }
        Ok(Self {
            path: path.clone(),
            config,
            tokenizer,
            info,
            adapter,
        })
    }

    /// Whether this is a LoRA adapter.
    #[must_use]
    pub fn is_adapter(&self) -> bool {
        self.adapter.is_some()
    }

    /// Checks that the weight files are present and have every configured tensor with its shape,
    /// without reading their elements.
    ///
    /// # Errors
    /// As [`ModelFolder::weights`], except for damaged elements.
    pub fn check_weights(&self) -> Result<(), ModelError> {
        match &self.adapter {
            None => WeightFiles::open(&self.path, &self.config.tensors()).map(drop),
            Some((adapter, base)) => {
                let own = ModelConfig::from_json(&read_json(&base.join(files::CONFIG))?)?;
                WeightFiles::open(base, &own.tensors())?;
                adapter.check(&own, &self.config)
            }
        }
    }

    /// Reads the weights and checks that every configured tensor is present with its shape.
    ///
    /// # Errors
    /// Names the damaged file or the missing tensor.
    pub fn weights(&self) -> Result<Weights, ModelError> {
        let Some((adapter, base)) = &self.adapter else {
            return Weights::read_model(&self.path, &self.config.tensors());
        };
        let mut weights = Weights::read_folder(base)?;
        adapter.apply(&mut weights)?;
        for (name, shape) in self.config.tensors() {
            weights.get(&name, &shape)?;
        }
        Ok(weights)
    }

    /// The weights, to be read one after the other. Those of an adapter are in memory, with the
    /// adapter applied.
    ///
    /// # Errors
    /// As [`ModelFolder::weights`].
    pub fn source(&self) -> Result<Box<dyn WeightSource>, ModelError> {
        Ok(match self.adapter {
            Some(_) => Box::new(self.weights()?),
            None => Box::new(WeightFiles::open(&self.path, &self.config.tensors())?),
        })
    }

    /// Writes a complete model folder to `path`, or nothing.
    ///
    /// # Errors
    /// When the folder cannot be written, or a tensor is missing.
    pub fn write(
        path: &Path,
        config: &ModelConfig,
        tokenizer: &Tokenizer,
        info: &KgAgentInfo,
        weights: &Weights,
    ) -> Result<(), ModelError> {
        let staged = StagedFolder::new(path)?;
        Self::write_into(&staged, config, tokenizer, info, weights)?;
        Ok(staged.commit()?)
    }

    /// Writes the files of a model folder into a staged folder.
    ///
    /// # Errors
    /// When a file cannot be written, or a tensor is missing.
    pub fn write_into(
        staged: &StagedFolder,
        config: &ModelConfig,
        tokenizer: &Tokenizer,
        info: &KgAgentInfo,
        weights: &Weights,
    ) -> Result<(), ModelError> {
        for (name, shape) in config.tensors() {
            weights.get(&name, &shape)?;
        }
        write_about(staged, config, tokenizer, info)?;
        weights.write_into(staged, files::WEIGHTS)
    }

    /// Writes the files of a model folder into a staged folder. `make` makes the tensors one after
    /// the other.
    ///
    /// # Errors
    /// Those of `make`, and when a file cannot be written.
    pub fn write_made_into(
        staged: &StagedFolder,
        config: &ModelConfig,
        tokenizer: &Tokenizer,
        info: &KgAgentInfo,
        make: &dyn Fn(&str) -> Result<Tensor, ModelError>,
    ) -> Result<(), ModelError> {
        write_about(staged, config, tokenizer, info)?;
        weights::write_made(staged, files::WEIGHTS, &config.tensors(), make)
    }
}

/// Writes all files but the weights.
fn write_about(
    staged: &StagedFolder,
    config: &ModelConfig,
    tokenizer: &Tokenizer,
    info: &KgAgentInfo,
) -> Result<(), ModelError> {
    staged.file(files::CONFIG, &pretty(&config.to_json()))?;
    staged.file(files::TOKENIZER, &tokenizer.to_bytes()?)?;
    staged.file(
        files::TOKENIZER_CONFIG,
        &pretty(&tokenizer.config_json(config.max_position_embeddings)),
    )?;
    let generation = json!({
        "do_sample": false, "eos_token_id": config.eos_token_ids, "pad_token_id": config.pad_token_id, "bos_token_id": config.bos_token_id,
    });
    staged.file(files::GENERATION_CONFIG, &pretty(&generation))?;
    staged.file(
        files::INFO,
        &pretty(&serde_json::to_value(info).unwrap_or_default()),
    )?;
    staged.file(files::CARD, card(config, info).as_bytes())?;
    Ok(())
}

/// The model card.
fn card(config: &ModelConfig, info: &KgAgentInfo) -> String {
    let millions = config.parameters() as f64 / 1e6;
    format!(
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- knowledge-graph\n- kgqa\n- tool-use\n---\n\n\
        # A knowledge-graph agent\n\n\
        A LLaMA-style model of {millions:.2} million parameters ({} layers, width {}), trained by `kgagent train` to answer questions over a \
        knowledge graph by calling tools: it writes the calls, the program runs them.\n\n\
        - agents: {}\n- layouts: {}\n- templates: {}\n\n\
        `kgagent ask --kg GRAPH --model THIS_FOLDER \"question\"` runs it. It stores no facts and needs a graph.\n\n\
        ## Training\n\n```json\n{:#}\n```\n",
        config.num_hidden_layers,
        config.hidden_size,
        info.agents.join(", "),
        info.layouts.join(", "),
        info.templates
            .iter()
            .map(|(agent, hash)| format!("`{hash}` ({agent})"))
            .collect::<Vec<_>>()
            .join(", "),
        info.training,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::{Preset, Tensor};

    #[test]
    fn other_folders_are_called_what_they_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let error = ModelFolder::open(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("is not a model folder") && error.contains("kgagent train"),
            "{error}"
        );
        let error = crate::Dataset::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("is not a dataset folder"), "{error}");
    }

    #[test]
    fn a_written_folder_opens_and_a_missing_tensor_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("model");
        let tokenizer = Tokenizer::train_bpe(["abc abd"].iter(), 300).unwrap();
        let config = Preset::Tiny.config(tokenizer.vocab_size());
        let info = KgAgentInfo {
            templates: [("a".to_owned(), "aa".to_owned())].into(),
            ..KgAgentInfo::default()
        };
        let mut weights = Weights::default();
        for (name, shape) in config.tensors() {
            let n = shape.iter().product();
            weights.insert(
                name,
                Tensor {
                    shape,
                    data: vec![0.5; n],
                },
            );
        }
        ModelFolder::write(&target, &config, &tokenizer, &info, &weights).unwrap();
        let folder = ModelFolder::open(&target).unwrap();
        assert_eq!((&folder.config, &folder.info), (&config, &info));
        assert_eq!(folder.weights().unwrap(), weights);
        // All files of a folder have the same permissions.
        common::fs::write_file(&target.join("report.html"), b"").unwrap();
        let ordinary = std::fs::File::create(dir.path().join("ordinary"))
            .unwrap()
            .metadata()
            .unwrap()
            .permissions();
        for file in std::fs::read_dir(&target).unwrap().map(Result::unwrap) {
            assert_eq!(
                file.metadata().unwrap().permissions(),
                ordinary,
                "{:?}",
                file.file_name()
            );
        }
        let check = |agent, hash| folder.info.check_template(agent, hash, "x").is_ok();
        assert_eq!(
            [check("a", "aa"), check("a", "bb"), check("b", "aa")],
            [true, false, false]
        );
        let _ = weights.take("model.norm.weight");
        let error = ModelFolder::write(
            &dir.path().join("other"),
            &config,
            &tokenizer,
            &info,
            &weights,
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("model.norm.weight"), "{error}");
        assert!(!dir.path().join("other").exists());
    }
}
