//! The folder of a trained ranker, in the layout of Hugging Face.

use common::fs::StagedFolder;
use model::{Weights, files};
use serde_json::{Value, json};

use crate::TrainError;

/// The record of the training, by which the folder is known.
pub(crate) const RECORD: &str = "training.json";

/// What a folder contains.
pub(crate) struct RankerFolder<'a> {
    /// The base's `config.json`.
    pub(crate) config: &'a Value,
    pub(crate) tokenizer: &'a [u8],
    pub(crate) weights: &'a Weights,
    pub(crate) max_tokens: usize,
    /// Whether matrices are written with 8 bits.
    pub(crate) small: bool,
    /// The record of the training.
    pub(crate) record: &'a Value,
}

impl RankerFolder<'_> {
    /// Writes all files.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write_into(&self, staged: &StagedFolder) -> Result<(), TrainError> {
        let pretty = |value: &Value| serde_json::to_vec_pretty(value).unwrap_or_default();
        let mut config = self.config.clone();
        config["architectures"] = json!(["BertForSequenceClassification"]);
        config["num_labels"] = json!(1);
        config["id2label"] = json!({ "0": "LABEL_0" });
        config["label2id"] = json!({ "LABEL_0": 0 });
        config["torch_dtype"] = json!("float32");
        config["kgagent"] = json!({
            "ranker": 1, "pooling": "mean", "max_tokens": self.max_tokens,
        });
        staged.file(files::CONFIG, &pretty(&config))?;
        staged.file(files::TOKENIZER, self.tokenizer)?;
        let limit = json!({ "max_seq_length": self.max_tokens, "do_lower_case": false });
        staged.file("sentence_bert_config.json", &pretty(&limit))?;
        match self.small {
            true => staged.file(files::SMALL_WEIGHTS, &self.weights.to_small()?)?,
            false => self.weights.write_into(staged, files::WEIGHTS)?,
        }
        staged.file(RECORD, &pretty(self.record))?;
        Ok(())
    }
}
