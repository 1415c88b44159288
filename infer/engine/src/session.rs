//! One conversation: its tokens, their keys and values, and the logits after the last token.

use std::sync::Arc;

use common::cancel::{Cancel, Cancelled};

use crate::batch::{Batch, BatchSlot};
use crate::cache::KvCache;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::generate::Decoder;
use crate::kernels::log_sum_exp;
use crate::llama::ForwardBuffers;

/// Tokens scored at once; each needs a row of logits, half a megabyte for a large vocabulary.
const SCORED_ROWS: usize = 32;

/// A conversation. Sessions of one engine are independent; a clone continues from the same state.
#[derive(Clone)]
pub struct DecodeSession {
    engine: Engine,
    ids: Vec<u32>,
    cache: KvCache,
    buffers: ForwardBuffers,
    logits: Vec<f32>,
    /// Number of tokens that `logits` follow; 0 if the logits are not valid.
    logits_at: usize,
    /// Membership in a batch, if steps are shared.
    slot: Option<Arc<BatchSlot>>,
    cancel: Cancel,
}

impl DecodeSession {
    /// An empty session.
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        Self {
            engine: engine.clone(),
            ids: Vec::new(),
            cache: engine.backend().cache(),
            buffers: ForwardBuffers::default(),
            logits: Vec::new(),
            logits_at: 0,
            slot: None,
            cancel: Cancel::default(),
        }
    }

    /// An empty session that shares its steps with the other sessions of `batch`. Use each on its
    /// own thread.
    #[must_use]
    pub fn in_batch(batch: &Arc<Batch>) -> Self {
        Self {
            slot: Some(Arc::new(BatchSlot::take(batch))),
            ..Self::new(batch.engine())
        }
    }

    /// From now on shares its steps with the other sessions of `batch`, which must belong to the same
    /// engine, or runs them alone. What the session holds stays.
    pub fn share_steps(&mut self, batch: Option<&Arc<Batch>>) {
        self.slot = batch.map(|batch| Arc::new(BatchSlot::take(batch)));
    }

    /// Checks `cancel` before each token and each block of a prompt, and ends with
    /// [`EngineError::Cancelled`] if it is set. The session is then unchanged and can be used again
    /// with another `cancel`.
    pub fn cancelled_by(&mut self, cancel: Cancel) {
        self.cancel = cancel;
    }

    /// The tokens held.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Appends tokens.
    ///
    /// # Errors
    /// A token outside the vocabulary, more tokens than the context holds, or
    /// [`EngineError::Cancelled`]; the session is then unchanged.
    pub fn feed(&mut self, ids: &[u32]) -> Result<(), EngineError> {
        self.run(ids, false)
    }

    /// Appends tokens. With `every`, `logits` receives a row per token and is marked invalid.
    fn run(&mut self, ids: &[u32], every: bool) -> Result<(), EngineError> {
        if ids.is_empty() {
            return Ok(());
        }
        let (cache, logits, cancel) = (&mut self.cache, &mut self.logits, &self.cancel);
        let backend = self.engine.backend();
        backend.check(ids, cache.len())?;
        let run = match &self.slot {
            Some(slot) => slot.run(ids, every, cache, logits, cancel),
            None => backend.forward(ids, every, cache, logits, &mut self.buffers, cancel),
        };
        if run.is_err() {
            self.cache.truncate(self.ids.len());
            self.logits_at = 0;
        }
        run?;
        self.ids.extend_from_slice(ids);
        self.logits_at = if every { 0 } else { self.ids.len() };
        Ok(())
    }

    /// Makes the session hold exactly `ids`: keeps the longest common prefix, drops the rest of the
    /// cache, and runs only the new tokens.
    ///
    /// # Errors
    /// As [`feed`](Self::feed); the session then holds the common prefix.
    pub fn sync(&mut self, ids: &[u32]) -> Result<(), EngineError> {
        let mut common = self.common_prefix(ids);
        if common == ids.len() && common != self.logits_at {
            // The logits belong to another position, so the last token is run again.
            common = common.saturating_sub(1);
        }
        self.truncate(common);
        self.feed(&ids[common..])
    }

    fn common_prefix(&self, ids: &[u32]) -> usize {
        self.ids.iter().zip(ids).take_while(|(a, b)| a == b).count()
    }

    fn truncate(&mut self, len: usize) {
        self.ids.truncate(len);
        self.cache.truncate(len);
    }

    /// The probability of each token of `text` under the unmasked model, after `prompt` and the
    /// tokens before it. The session then holds all tokens of both except the last.
    ///
    /// # Errors
    /// An empty prompt, and as [`feed`](Self::feed).
    pub fn probabilities(&mut self, prompt: &[u32], text: &[u32]) -> Result<Vec<f32>, EngineError> {
        let Some((&last, before)) = prompt.split_last() else {
            return Err(EngineError::EmptyPrompt);
        };
        let common = self.common_prefix(before);
        self.truncate(common);
        self.feed(&before[common..])?;
        let inputs: Vec<u32> = std::iter::once(last)
            .chain(text.iter().copied())
            .take(text.len())
            .collect();
        let vocab = self.engine.config().vocab_size;
        let mut out = Vec::with_capacity(text.len());
        for (inputs, text) in inputs.chunks(SCORED_ROWS).zip(text.chunks(SCORED_ROWS)) {
            self.run(inputs, true)?;
            let rows = self.logits.chunks_exact(vocab).zip(text);
            out.extend(rows.map(|(row, &id)| {
                row.get(id as usize)
                    .map_or(0.0, |logit| (logit - log_sum_exp(row)).exp().max(0.0))
            }));
        }
        Ok(out)
    }

    /// Logits after the last token; empty if nothing has been fed or the last feed failed.
    #[must_use]
    pub fn logits(&self) -> &[f32] {
        if self.ids.is_empty() || self.logits_at != self.ids.len() {
            &[]
        } else {
            &self.logits
        }
    }
}

impl Decoder for DecodeSession {
    fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError> {
        if ids.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        self.sync(ids)?;
        Ok(&self.logits)
    }

    fn vocab_size(&self) -> usize {
        self.engine.config().vocab_size
    }

    fn max_context(&self) -> usize {
        self.engine.context()
    }

    fn wanted(&self) -> Result<(), Cancelled> {
        self.cancel.check()
    }
}
