//! Sentence encoders from a local folder: texts to vectors of length 1, cached on disk by text. And
//! cross-encoders, which score texts for a question.
//!
//! ```text
//! folder ──▶ Encoder: cache ─ miss ─▶ tokens, sorted by length ─▶ bert ─▶ vectors
//! ```
//!
//! Invariants: the vector of a text depends neither on the texts it is computed with nor on the
//! number of threads; weights are read only if a text is not in the cache.

mod bert;
mod cache;
mod cross;
mod error;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use model::EncoderFolder;
use rayon::prelude::*;

use bert::Bert;
use cache::VectorCache;
pub use cross::CrossEncoder;
pub use error::EncoderError;

/// Tokens that one thread runs through the model at once: enough rows for efficient products, few
/// enough to divide the work between threads.
const CHUNK_TOKENS: usize = 256;

/// Shares out `count` texts by their tokens: each chunk holds the places of texts of similar length.
fn chunks(count: usize, length: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| length(i));
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut tokens = CHUNK_TOKENS;
    for i in order {
        if tokens + length(i) > CHUNK_TOKENS {
            chunks.push(Vec::new());
            tokens = 0;
        }
        tokens += length(i);
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(i);
        }
    }
    chunks
}

/// A sentence encoder.
pub struct Encoder {
    folder: EncoderFolder,
    model: OnceLock<Bert>,
    cache: VectorCache,
}

impl Encoder {
    /// Opens an encoder folder. New vectors are stored in the folder `vectors`, if given, for later
    /// runs. Weights are not read yet.
    ///
    /// # Errors
    /// [`EncoderError`] names the file that is missing or wrong.
    pub fn open(path: &Path, vectors: Option<&Path>) -> Result<Self, EncoderError> {
        let folder = EncoderFolder::open(path)?;
        let width = folder.config.hidden_size;
        let cache = match vectors {
            Some(dir) => VectorCache::open(dir, &folder.digest, width)?,
            None => VectorCache::memory(width),
        };
        Ok(Self {
            folder,
            model: OnceLock::new(),
            cache,
        })
    }

    /// SHA-256 over everything that the vectors depend on.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.folder.digest
    }

    /// Vectors of length 1, one per text, in order.
    ///
    /// # Errors
    /// [`EncoderError`]: the weights, the tokenizer, or the vector cache.
    pub fn encode(&self, texts: &[&str]) -> Result<Vec<Arc<[f32]>>, EncoderError> {
        let mut found: Vec<Option<Arc<[f32]>>> =
            texts.iter().map(|text| self.cache.get(text)).collect();
        let mut missing: Vec<&str> = texts
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(text, _)| *text)
            .collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let vectors = self.compute(&missing)?;
            let new: Vec<(&str, Arc<[f32]>)> = missing.iter().copied().zip(vectors).collect();
            self.cache.put(&new)?;
            for (text, slot) in texts.iter().zip(&mut found) {
                if slot.is_none() {
                    *slot = new
                        .binary_search_by_key(text, |(text, _)| *text)
                        .ok()
                        .map(|at| Arc::clone(&new[at].1));
                }
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn compute(&self, texts: &[&str]) -> Result<Vec<Arc<[f32]>>, EncoderError> {
        let model = self.model()?;
        let ids = texts
            .par_iter()
            .map(|text| self.tokens(text))
            .collect::<Result<Vec<_>, _>>()?;
        let chunks = chunks(ids.len(), |i| ids[i].len());
        let run = |chunk: &Vec<usize>| {
            model.run(&chunk.iter().map(|&i| ids[i].as_slice()).collect::<Vec<_>>())
        };
        let results: Vec<Vec<Vec<f32>>> = chunks.par_iter().map(run).collect();
        let mut vectors: Vec<(usize, Arc<[f32]>)> = chunks
            .iter()
            .flatten()
            .copied()
            .zip(results.into_iter().flatten().map(Arc::from))
            .collect();
        vectors.sort_unstable_by_key(|(i, _)| *i);
        Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
    }

    fn tokens(&self, text: &str) -> Result<Vec<u32>, EncoderError> {
        let mut ids = self.folder.tokenizer.encode_with_special(text)?;
        let most = self.folder.config.max_tokens;
        if ids.len() > most {
            // The closing token stays.
            let last = ids[ids.len() - 1];
            ids.truncate(most);
            ids[most - 1] = last;
        }
        let rows = self.folder.config.vocab_size;
        match ids.iter().find(|id| **id as usize >= rows) {
            Some(&id) => Err(EncoderError::Token { id, rows }),
            None => Ok(ids),
        }
    }

    fn model(&self) -> Result<&Bert, EncoderError> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let mut folder = self.folder.clone();
        let mut weights = folder.weights()?;
        let made = Bert::new(&folder.config, &mut weights)?;
        Ok(self.model.get_or_init(|| made))
    }
}
