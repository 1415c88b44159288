//! Limits of this crate, each with its reason.

/// Largest safetensors header: the format's own limit; a 70-billion model in one file has under 1 MB.
pub const HEADER_BYTES: u64 = 100_000_000;

/// Largest `config.json`, `tokenizer_config.json` and the like: real ones are below 1 MB.
pub const JSON_BYTES: u64 = 16 << 20;

/// Largest `tokenizer.json`: the largest published ones are about 35 MB.
pub const TOKENIZER_BYTES: u64 = 256 << 20;

/// Largest weight file read into memory: this program holds weights in memory as f32.
pub const WEIGHT_BYTES: u64 = 64 << 30;

/// Most tensors in a model: 126 layers of nine tensors are far below.
pub const TENSORS: usize = 100_000;

/// Most dimensions of a tensor in a LLaMA-family model, with room.
pub const RANK: usize = 8;

/// Longest line of a dataset: a dialogue of 32 steps is some tens of kilobytes.
pub const LINE_BYTES: usize = 16 << 20;

/// Metadata and tensor table of a GGUF file: a vocabulary of 256,000 tokens with merges and its `tokenizer.json` has about 60 MB.
pub const GGUF_HEADER_BYTES: u64 = 512 << 20;

/// Longest list of numbers in GGUF metadata: one for each token of a vocabulary.
pub const GGUF_LIST: usize = 1 << 24;
