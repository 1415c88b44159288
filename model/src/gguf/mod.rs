//! GGUF, the single-file format of llama.cpp: metadata, tokenizer and weights, plain or quantised.
//!
//! ```text
//! read           header and tensor table, with every declared size checked; rows of weights on demand
//! describe       metadata ↔ ModelConfig, tensor names ↔ Hugging Face names, the order of q and k rows
//! vocabulary     the tokenizer in llama.cpp's keys
//! write          a file from a model
//! ```
//!
//! Weights are never in memory as a whole: readers and writers process rows.

mod describe;
mod metadata;
mod read;
mod vocabulary;
mod write;

pub use crate::blocks::{self, BlockFormat, StoredFormat};
pub use describe::GgufModel;
pub use metadata::GgufValue;
pub use read::{GgufFile, TensorInfo};
pub use write::{Recipe, write};
