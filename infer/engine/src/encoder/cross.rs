//! Cross-encoders: BERT-family models that read a question with a text and give a score.

use std::path::Path;

use model::encoder::Pooling;
use model::files;
use model::{EncoderFolder, ModelError, PairTokenizer, PairTokens};
use rayon::prelude::*;

use super::bert::Bert;
use super::{EncoderError, chunks};

/// A cross-encoder, as `kgagent train ranker` writes it.
pub struct CrossEncoder {
    bert: Bert,
    pairs: PairTokenizer,
    head: Vec<f32>,
    bias: f32,
    digest: String,
}

impl CrossEncoder {
    /// Whether a folder says that it holds a cross-encoder, and no sentence encoder.
    #[must_use]
    pub fn is_folder(path: &Path) -> bool {
        let text = std::fs::read_to_string(path.join(files::CONFIG)).unwrap_or_default();
        let config: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        config["architectures"][0] == "BertForSequenceClassification"
    }

    /// Opens the folder of a ranker and reads its weights.
    ///
    /// # Errors
    /// [`EncoderError`] names the file or tensor that is missing or wrong.
    pub fn open(path: &Path) -> Result<Self, EncoderError> {
        Self::of(EncoderFolder::open(path)?)
    }

    /// A cross-encoder from an opened folder, or from the parts of the program.
    ///
    /// # Errors
    /// As [`CrossEncoder::open`].
    pub fn of(mut folder: EncoderFolder) -> Result<Self, EncoderError> {
        let mut weights = folder.weights()?;
        let config = &folder.config;
        if config.pooling != Pooling::Mean {
            let message = "a ranker needs mean pooling".to_owned();
            return Err(ModelError::Config(message).into());
        }
        weights.get("classifier.weight", &[1, config.hidden_size])?;
        weights.get("classifier.bias", &[1])?;
        let mut take = |name: &str| weights.take(name).map(|tensor| tensor.data);
        let head = take("classifier.weight").unwrap_or_default();
        let bias = take("classifier.bias").unwrap_or_default();
        Ok(Self {
            bert: Bert::new(config, &mut weights)?,
            pairs: PairTokenizer::of_folder(&folder)?,
            head,
            bias: bias.iter().sum(),
            digest: folder.digest,
        })
    }

    /// SHA-256 over everything that the scores depend on.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The logits of `texts` for the question, in order; higher is better. The logit of a text
    /// depends neither on the other texts nor on the number of threads.
    ///
    /// # Errors
    /// [`EncoderError`] if the tokenizer fails.
    pub fn score(&self, question: &str, texts: &[&str]) -> Result<Vec<f32>, EncoderError> {
        let asked = self.pairs.tokens(question)?;
        let pairs: Vec<PairTokens> = texts
            .par_iter()
            .map(|text| Ok(self.pairs.join(&asked, &self.pairs.tokens(text)?)))
            .collect::<Result<_, ModelError>>()?;
        let chunks = chunks(pairs.len(), |i| pairs[i].ids.len());
        let run = |chunk: &Vec<usize>| {
            let ids: Vec<&[u32]> = chunk.iter().map(|&i| pairs[i].ids.as_slice()).collect();
            let firsts: Vec<usize> = chunk.iter().map(|&i| pairs[i].first).collect();
            let means = self.bert.means(&ids, &firsts);
            means.iter().map(|mean| self.logit(mean)).collect()
        };
        let found: Vec<Vec<f32>> = chunks.par_iter().map(run).collect();
        let mut logits = vec![0.0; texts.len()];
        for (chunk, found) in chunks.iter().zip(&found) {
            for (&i, &logit) in chunk.iter().zip(found) {
                logits[i] = logit;
            }
        }
        Ok(logits)
    }

    fn logit(&self, mean: &[f32]) -> f32 {
        let products = mean.iter().zip(&self.head);
        let sum: f64 = products.map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
        (sum + f64::from(self.bias)) as f32
    }
}
