//! One conversation's place in a model: which tokens are in the cache, and the logits after the last of them.
use super::backend::Model;
use super::batch::{Batch, BatchSlot};
use super::cache::KvCache;
use super::kernels::log_sum_exp;
use super::llama::{Llama, Scratch};
use super::{Decoder, EngineError, Processor, device};
use candle_core::Device;
use model::{ModelConfig, WeightSource};
use std::sync::Arc;

/// Tokens whose logits are held at once while a text is scored: a row of a large vocabulary has half a megabyte.
const SCORED_ROWS: usize = 32;

/// A loaded model, cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Engine(Arc<Model>);

impl Engine {
    /// Builds the model from its configuration and named weights; see [`Llama::new`].
    ///
    /// # Errors
    /// As [`Llama::new`].
    pub fn new(config: ModelConfig, source: &dyn WeightSource) -> Result<Self, EngineError> {
        Ok(Self(Arc::new(Model::Packed(Llama::new(config, source)?))))
    }

    /// The same where `processor` says.
    ///
    /// # Errors
    /// As [`Llama::new`], and where there is no such processor, or this build does not compute on it.
    pub fn on(
        processor: Processor,
        config: ModelConfig,
        source: &dyn WeightSource,
    ) -> Result<Self, EngineError> {
        match processor {
            Processor::Cpu => Self::new(config, source),
            Processor::Cuda => Self::on_device(device::cuda()?, config, source),
            Processor::Tensors => Self::on_device(Device::Cpu, config, source),
        }
    }

    fn on_device(
        device: Device,
        config: ModelConfig,
        source: &dyn WeightSource,
    ) -> Result<Self, EngineError> {
        Ok(Self(Arc::new(Model::Tensors(device::Llama::new(
            config, source, device,
        )?))))
    }

    /// Whether it computes in tensors, as on a GPU: sessions on threads of their own then gain nothing but by sharing steps.
    pub fn is_on_device(&self) -> bool {
        matches!(*self.0, Model::Tensors(_))
    }

    /// Bytes of the model's matrices: what one token's decoding reads.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    pub(crate) fn model(&self) -> &Model {
        &self.0
    }

    /// The shape of the model.
    pub fn config(&self) -> &ModelConfig {
        self.0.config()
    }
}

/// A conversation. Sessions of one engine are independent of each other; a clone goes on from the same place (a beam, a shared prefix).
#[derive(Clone)]
pub struct Session {
    model: Arc<Model>,
    ids: Vec<u32>,
    cache: KvCache,
    scratch: Scratch,
    logits: Vec<f32>,
    /// Tokens after which `logits` stand.
    logits_at: usize,
    prefilled: usize,
    /// Where steps are taken together with other sessions, if they are.
    seat: Option<Arc<BatchSlot>>,
}

impl Session {
    /// An empty session.
    pub fn new(engine: &Engine) -> Self {
        let model = Arc::clone(&engine.0);
        let (ids, logits) = (Vec::new(), Vec::new());
        Self {
            cache: model.cache(),
            model,
            ids,
            scratch: Scratch::default(),
            logits,
            logits_at: 0,
            prefilled: 0,
            seat: None,
        }
    }

    /// An empty session that takes its steps together with the batch's other sessions. Each belongs on a thread of its own.
    pub fn in_batch(batch: &Arc<Batch>) -> Self {
        Self {
            seat: Some(Arc::new(BatchSlot::take(batch))),
            ..Self::new(batch.engine())
        }
    }

    /// The tokens held.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Tokens that went through the model since the session began: what prefix reuse saves does not count.
    pub fn tokens_run(&self) -> usize {
        self.prefilled
    }

    /// Appends tokens.
    ///
    /// # Errors
    /// A token outside the vocabulary, or more tokens than the context holds; the session is unchanged then.
    pub fn feed(&mut self, ids: &[u32]) -> Result<(), EngineError> {
        self.run(ids, false)
    }

    /// Appends tokens; with `every`, `logits` gets a row for each of them and counts as none.
    fn run(&mut self, ids: &[u32], every: bool) -> Result<(), EngineError> {
        if ids.is_empty() {
            return Ok(());
        }
        self.model.check(ids, self.cache.len())?;
        let run = match &self.seat {
            Some(seat) => seat.run(ids, every, &mut self.cache, &mut self.logits),
            None => self.model.forward(
                ids,
                every,
                &mut self.cache,
                &mut self.logits,
                &mut self.scratch,
            ),
        };
        if run.is_err() {
            self.cache.truncate(self.ids.len());
            self.logits_at = 0;
        }
        run?;
        self.ids.extend_from_slice(ids);
        self.logits_at = if every { 0 } else { self.ids.len() };
        self.prefilled += ids.len();
        Ok(())
    }

    /// Makes the session hold exactly `ids`: the longest common prefix is kept, the rest of the cache forgotten, and only what is new is run.
    ///
    /// # Errors
    /// As [`feed`](Self::feed); the session then holds the common prefix.
    pub fn sync(&mut self, ids: &[u32]) -> Result<(), EngineError> {
        let mut common = self.ids.iter().zip(ids).take_while(|(a, b)| a == b).count();
        if common == ids.len() && common != self.logits_at {
            // The logits held belong to another position: run the last token again.
            common = common.saturating_sub(1);
        }
        self.ids.truncate(common);
        self.cache.truncate(common);
        self.feed(&ids[common..])
    }

    /// The probabilities that the model, unmasked, gives the tokens of `text`, each after `prompt` and those before it. The session then holds all
    /// tokens of both but the last.
    ///
    /// # Errors
    /// An empty prompt, and as [`feed`](Self::feed).
    pub fn probabilities(&mut self, prompt: &[u32], text: &[u32]) -> Result<Vec<f32>, EngineError> {
        let Some((&last, before)) = prompt.split_last() else {
            return Err(EngineError::EmptyPrompt);
        };
        let common = self
            .ids
            .iter()
            .zip(before)
            .take_while(|(a, b)| a == b)
            .count();
        self.ids.truncate(common);
        self.cache.truncate(common);
        self.feed(&before[common..])?;
        let read: Vec<u32> = std::iter::once(last)
            .chain(text.iter().copied())
            .take(text.len())
            .collect();
        let vocab = self.model.config().vocab_size;
        let mut out = Vec::with_capacity(text.len());
        for (read, text) in read.chunks(SCORED_ROWS).zip(text.chunks(SCORED_ROWS)) {
            self.run(read, true)?;
            let rows = self.logits.chunks_exact(vocab).zip(text);
            out.extend(rows.map(|(row, &id)| {
                row.get(id as usize)
                    .map_or(0.0, |logit| (logit - log_sum_exp(row)).exp().max(0.0))
            }));
        }
        Ok(out)
    }

    /// Logits after the last token; empty where nothing has been fed or the last feed failed.
    pub fn logits(&self) -> &[f32] {
        if self.ids.is_empty() || self.logits_at != self.ids.len() {
            &[]
        } else {
            &self.logits
        }
    }
}

impl Decoder for Session {
    fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError> {
        if ids.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        self.sync(ids)?;
        Ok(&self.logits)
    }

    fn vocab_size(&self) -> usize {
        self.model.config().vocab_size
    }

    fn max_context(&self) -> usize {
        self.model.config().context()
    }
}
