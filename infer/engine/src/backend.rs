//! The model behind an engine: packed for the CPU kernels, or tensors of burn on a device.

use common::cancel::Cancel;
use model::ModelConfig;

use crate::EngineError;
use crate::cache::KvCache;
use crate::device::{self, DeviceLlama};
use crate::llama::{self, ForwardBuffers, PackedLlama};
use crate::segment::TokenSegment;

/// Maximum bytes of a conversation's keys and values. A model's `config.json` may promise a million
/// tokens; in 16 GiB a model of 70 billion parameters has 26,000.
const CACHE_BYTES: usize = 16 << 30;

// There is one for each model, behind a pointer.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Backend {
    Packed(PackedLlama),
    Tensors(DeviceLlama),
}

impl Backend {
    pub(crate) fn config(&self) -> &ModelConfig {
        match self {
            Self::Packed(model) => model.config(),
            Self::Tensors(model) => model.config(),
        }
    }

    /// Maximum number of tokens: the model's, or fewer if their keys and values would need more than
    /// [`CACHE_BYTES`].
    pub(crate) fn context(&self) -> usize {
        let c = self.config();
        let position = 2 * c.num_hidden_layers * c.num_key_value_heads * c.head_dim;
        let most = CACHE_BYTES / (position * size_of::<f32>()).max(1);
        c.context().min(most)
    }

    /// Bytes of all matrices.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Packed(model) => model.bytes(),
            Self::Tensors(model) => model.bytes(),
        }
    }

    /// An empty cache of this model's shape.
    pub(crate) fn cache(&self) -> KvCache {
        match self {
            Self::Packed(model) => model.cache(),
            Self::Tensors(_) => KvCache::on_device(),
        }
    }

    /// Maximum number of rows in a block.
    pub(crate) fn block_rows(&self) -> usize {
        match self {
            Self::Packed(_) => llama::PREFILL_ROWS,
            Self::Tensors(_) => device::PREFILL_ROWS,
        }
    }

    /// Checks that `ids` can follow `held` tokens.
    pub(crate) fn check(&self, ids: &[u32], held: usize) -> Result<(), EngineError> {
        let (vocab, max) = (self.config().vocab_size, self.context());
        if let Some(&id) = ids.iter().find(|&&id| id as usize >= vocab) {
            return Err(EngineError::Token { id, vocab });
        }
        let needed = held + ids.len();
        if needed > max {
            Err(EngineError::Context { needed, max })
        } else {
            Ok(())
        }
    }

    /// Runs `ids`, which must have been checked, after the tokens in `cache`. Leaves the logits of
    /// the last token in `logits`, or those of `every` token. Checks before each block whether it
    /// is cancelled.
    pub(crate) fn forward(
        &self,
        ids: &[u32],
        every: bool,
        cache: &mut KvCache,
        logits: &mut Vec<f32>,
        buffers: &mut ForwardBuffers,
        cancel: &Cancel,
    ) -> Result<(), EngineError> {
        cancel.check()?;
        cache.reserve(cache.len() + ids.len());
        logits.clear();
        let mut blocks = || {
            let mut left = ids.len();
            for ids in ids.chunks(self.block_rows()) {
                cancel.check()?;
                left -= ids.len();
                let segment = TokenSegment {
                    ids,
                    cache: &mut *cache,
                    logits: (every || left == 0).then_some(&mut *logits),
                    every,
                };
                self.block(&mut [segment], buffers, rayon::current_num_threads())?;
            }
            Ok(())
        };
        match self {
            // Outside the pool every product would have to wake one of its threads, so the whole
            // pass runs inside.
            Self::Packed(model) if model.splits(ids.len()) => rayon::scope(|_| blocks()),
            _ => blocks(),
        }
    }

    /// Runs one block of rows through every layer; on the CPU on `threads` threads, with room for
    /// every segment reserved in its cache.
    pub(crate) fn block(
        &self,
        segments: &mut [TokenSegment<'_>],
        buffers: &mut ForwardBuffers,
        threads: usize,
    ) -> Result<(), EngineError> {
        match self {
            Self::Packed(model) => model.block(segments, buffers, threads),
            Self::Tensors(model) => model.block(segments)?,
        }
        Ok(())
    }
}
