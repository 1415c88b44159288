//! The model behind an engine: packed for the CPU's kernels, or as tensors on a device.
use super::cache::KvCache;
use super::llama::{Llama, PREFILL_ROWS, Scratch, Segment};
use super::{EngineError, device};
use model::ModelConfig;

pub(crate) enum Model {
    Packed(Llama),
    Tensors(device::Llama),
}

impl Model {
    pub(crate) fn config(&self) -> &ModelConfig {
        match self {
            Self::Packed(model) => model.config(),
            Self::Tensors(model) => model.config(),
        }
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

    /// Rows that go through the layers together.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Packed(_) => PREFILL_ROWS,
            Self::Tensors(_) => device::PREFILL_ROWS,
        }
    }

    /// Whether `ids` can follow `held` tokens.
    pub(crate) fn check(&self, ids: &[u32], held: usize) -> Result<(), EngineError> {
        let (vocab, max) = (self.config().vocab_size, self.config().context());
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

    /// Runs `ids`, which have been checked, after what `cache` holds and leaves the logits of the last one in `logits`, or of `every` one.
    pub(crate) fn forward(
        &self,
        ids: &[u32],
        every: bool,
        cache: &mut KvCache,
        logits: &mut Vec<f32>,
        scratch: &mut Scratch,
    ) -> Result<(), EngineError> {
        match self {
            Self::Packed(model) => model.forward(ids, every, cache, logits, scratch),
            Self::Tensors(model) => {
                logits.clear();
                let blocks = ids.len().div_ceil(device::PREFILL_ROWS);
                for (b, ids) in ids.chunks(device::PREFILL_ROWS).enumerate() {
                    let logits = (every || b + 1 == blocks).then_some(&mut *logits);
                    model.block(&mut [Segment {
                        ids,
                        cache: &mut *cache,
                        logits,
                        every,
                    }])?;
                }
            }
        }
        Ok(())
    }

    /// One block of rows through every layer; on the CPU on so many threads, and caches must have room for their segment.
    pub(crate) fn block(
        &self,
        segments: &mut [Segment<'_>],
        scratch: &mut Scratch,
        threads: usize,
    ) -> Result<(), EngineError> {
        match self {
            Self::Packed(model) => model.block(segments, scratch, threads),
            Self::Tensors(model) => model.block(segments)?,
        }
        Ok(())
    }
}
