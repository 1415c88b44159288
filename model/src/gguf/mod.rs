//! GGUF, the one-file format of llama.cpp: metadata, tokenizer and weights, plain or quantised.
//!
//! ```text
//! read ── blocks          header and tensor table, every declared size checked before it is believed; rows of weights on demand
//!   ▲
//! describe                metadata ↔ ModelConfig, tensor names ↔ Hugging Face names, the order of q and k rows
//!   ▼
//! write                   a file from a model
//! vocabulary              the tokenizer in llama.cpp's own keys, there and back
//! ```
//!
//! Weights are never held whole: whoever packs them asks for rows.
pub mod blocks;
mod describe;
mod read;
mod vocabulary;
mod write;

pub use blocks::Format;
pub use describe::GgufModel;
pub use read::{GgufFile, TensorInfo, Value};
pub use write::{Recipe, write};
