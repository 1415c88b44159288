//! Model folders in Hugging Face layout: everything needed to run a model, in one directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adapter::{self, Adapter};
use crate::{ModelConfig, ModelError, Tokenizer, Weights, limits};
use common::fs::StagedFolder;

/// `kgagent.json`: what this program needs to know about a model beside what transformers does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KgAgentInfo {
    /// Hashes of the templates that rendered the training data, by agent.
    pub templates: BTreeMap<String, String>,
    /// Agents the model was trained for.
    pub agents: Vec<String>,
    /// Layouts of the training data.
    pub layouts: Vec<String>,
    /// What ranked the relation lists of the training data; empty where the data does not say.
    pub ranker: String,
    /// How much doubt it may be left where it is held to what is there, from 0 to 1, by its held-out examples; `None` where it has not been measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<f64>,
    /// How it was trained: configuration and final figures.
    pub training: Value,
}

impl KgAgentInfo {
    /// Check that prompts rendered with `hash` are what this model was trained on for `agent`.
    ///
    /// # Errors
    /// When the model was trained for other agents only, or on other templates. A model that says nothing about its training is taken as it is.
    pub fn check_template(&self, agent: &str, hash: &str, place: &str) -> Result<(), ModelError> {
        match self.templates.get(agent) {
            Some(expected) if expected != hash => Err(ModelError::Template {
                expected: expected.clone(),
                found: hash.to_owned(),
                place: place.to_owned(),
            }),
            None if !self.templates.is_empty() => Err(ModelError::Agent {
                agent: agent.to_owned(),
                known: self
                    .templates
                    .keys()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(", "),
                place: place.to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// A model folder in memory, weights aside: they are read with [`ModelFolder::weights`] when they are needed.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Its shape.
    pub config: ModelConfig,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// What we know about it; empty for a model that is not ours.
    pub info: KgAgentInfo,
    /// The LoRA adapter that this folder is, and the folder of its base.
    adapter: Option<(Adapter, PathBuf)>,
}

impl ModelFolder {
    /// Open a folder: configuration, tokenizer and our own notes are read and checked, weights are not read yet. An adapter's folder in PEFT
    /// layout opens as its base with the adapter applied.
    ///
    /// # Errors
    /// Names the file that is missing or wrong.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let adapter = if path.join(adapter::CONFIG).is_file() && !path.join("config.json").exists()
        {
            let adapter = Adapter::read(path)?;
            let base = adapter::base_folder(path, &adapter.config.base)?;
            Some((adapter, base))
        } else {
            None
        };
        let base = adapter.as_ref().map_or(path, |(_, base)| base);
        let mut config = ModelConfig::from_json(&read_json(&base.join("config.json"))?)?;
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
        let own = path.join("tokenizer.json");
        let tokenizer = Tokenizer::from_file(&if own.is_file() {
            own
        } else {
            base.join("tokenizer.json")
        })?;
        let notes = path.join("kgagent.json");
        let info = if notes.exists() {
            serde_json::from_value(read_json(&notes)?).map_err(|error| ModelError::Json {
                path: notes.clone(),
                message: error.to_string(),
            })?
        } else {
            KgAgentInfo::default()
        };
        if tokenizer.control().is_ok() && tokenizer.vocab_size() > config.vocab_size {
            let (has, rows) = (tokenizer.vocab_size(), config.vocab_size);
            return Err(ModelError::Config(format!(
                "the tokenizer has {has} ids, the embedding {rows} rows"
            )));
        }
        Ok(Self {
            path: path.to_path_buf(),
            config,
            tokenizer,
            info,
            adapter,
        })
    }

    /// Read the weights; every tensor the configuration asks for is there with its shape.
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

    /// Write a whole model folder to `path`, or nothing.
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

    /// Write the files of a model folder into a folder that is being staged.
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
        staged.file("config.json", &pretty(&config.to_json()))?;
        staged.file("tokenizer.json", &tokenizer.to_bytes()?)?;
        staged.file(
            "tokenizer_config.json",
            &pretty(&tokenizer.config_json(config.max_position_embeddings)),
        )?;
        let generation = json!({
            "do_sample": false, "eos_token_id": config.eos_token_ids, "pad_token_id": config.pad_token_id, "bos_token_id": config.bos_token_id,
        });
        staged.file("generation_config.json", &pretty(&generation))?;
        staged.file(
            "kgagent.json",
            &pretty(&serde_json::to_value(info).unwrap_or_default()),
        )?;
        staged.file("README.md", card(config, info).as_bytes())?;
        weights.write_into(staged, "model.safetensors")
    }
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

/// Read a JSON file of bounded size.
///
/// # Errors
/// When it cannot be read, is too large or is no JSON.
pub(crate) fn read_json(path: &Path) -> Result<Value, ModelError> {
    let size = fs::metadata(path).map_err(ModelError::io(path))?.len();
    let wrong = |message: String| ModelError::Json {
        path: path.to_path_buf(),
        message,
    };
    if size > limits::JSON_BYTES {
        return Err(wrong(format!(
            "{size} bytes, the most is {}",
            limits::JSON_BYTES
        )));
    }
    let text = fs::read(path).map_err(ModelError::io(path))?;
    serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
}

fn card(config: &ModelConfig, info: &KgAgentInfo) -> String {
    let millions = config.parameters() as f64 / 1e6;
    format!(
        "---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- knowledge-graph\n- kgqa\n- tool-use\n---\n\n\
        # A knowledge-graph agent\n\n\
        A LLaMA-style model of {millions:.2} million parameters ({} layers, width {}), trained by `kgagent train` to answer questions over a \
        knowledge graph by calling tools: it writes the calls, the program runs them.\n\n\
        - agents: {}\n- layouts: {}\n- templates: {}\n\n\
        `kgagent ask --kg GRAPH --model THIS_FOLDER \"question\"` runs it. It knows no facts of its own and is of no use without a graph.\n\n\
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
        // Whoever may read one file of a folder may read them all.
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
