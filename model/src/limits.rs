//! Limits of this crate.

/// Largest safetensors header: the limit of the format. The header of a model of 70 billion
/// parameters has less than 1 MB.
pub const HEADER_BYTES: u64 = 100_000_000;

/// Largest `config.json`, `tokenizer_config.json` and the like: published ones are below 1 MB.
pub const JSON_BYTES: u64 = 16 << 20;

/// Largest `tokenizer.json`: the largest published ones are about 35 MB.
pub const TOKENIZER_BYTES: u64 = 256 << 20;

/// Deepest nesting of brackets in a `tokenizer.json`: published ones have fewer than ten. The
/// library that reads it recurses for each.
pub const TOKENIZER_DEPTH: usize = 32;

/// Largest token id plus one: tables have a place for every id. The largest published vocabularies
/// have 262,144.
pub const TOKEN_IDS: usize = 1 << 22;

/// Largest weight file. Weights are in memory as f32.
pub const WEIGHT_BYTES: u64 = 64 << 30;

/// Most tensors in a model: far above 126 layers of nine tensors.
pub const TENSORS: usize = 100_000;

/// Most dimensions of a tensor: more than any LLaMA-family model needs.
pub const RANK: usize = 8;

/// Longest line of a dataset: a dialogue of 32 steps has tens of kilobytes.
pub const LINE_BYTES: usize = 16 << 20;

/// Largest metadata and tensor table of a GGUF file: a vocabulary of 256,000 tokens with merges and
/// `tokenizer.json` has about 60 MB.
pub const GGUF_HEADER_BYTES: u64 = 512 << 20;

/// Longest list of numbers in GGUF metadata: one number for each token of a vocabulary.
pub const GGUF_LIST: usize = 1 << 24;
