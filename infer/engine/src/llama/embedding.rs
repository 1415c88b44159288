//! The embedding table of a model whose output layer is a separate matrix.

use model::gguf::{BlockFormat, blocks};

use crate::EngineError;
use crate::tensors::{NamedTensor, read_rows};

/// Rows of the embedding in their stored format.
pub(super) struct EmbeddingTable {
    format: BlockFormat,
    bytes: Vec<u8>,
}

impl EmbeddingTable {
    pub(super) fn load(
        table: &NamedTensor<'_>,
        rows: usize,
        width: usize,
    ) -> Result<Self, EngineError> {
        let mut bytes = Vec::new();
        read_rows(table, width, 0, rows, &mut bytes)?;
        Ok(Self {
            format: table.1.format,
            bytes,
        })
    }

    pub(super) fn row(&self, id: usize, out: &mut [f32]) {
        let row_bytes = self.format.row_bytes(out.len()).unwrap_or(0);
        let row = &self.bytes[id * row_bytes..][..row_bytes];
        blocks::dequantise(self.format, row, out);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
