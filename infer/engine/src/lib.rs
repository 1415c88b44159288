//! The engine: a LLaMA-family model on the CPU or on a device, sessions that keep what they have read, and decoding that can only write what a grammar allows.
//!
//! ```text
//! llama ── linear, attention ── kernels, packed   weights (in areas of memory) and arithmetic; stateless, shared by all threads
//! device ── candle                                the same in tensors, for GPUs
//!   ▲
//! batch                                      steps of several conversations, taken together
//!   ▲
//! session ── cache                           one conversation: tokens, keys and values, prefix reuse
//!   ▲
//! generate ── mask ── trie ── vocab          decide, take what is forced, end in budget
//!          └─ sample
//! ```
//!
//! Invariants: a text comes back only if the acceptor takes it and it fits the budget; the logits after a list of tokens are the same bits
//! however they were fed (at once, in pieces, after a kept prefix, in a batch with whatever else) and on however many threads, on a device the same but
//! for rounding; nothing here knows a graph or a tool.
mod attention;
mod backend;
pub mod batch;
mod cache;
mod candle;
mod compare;
mod device;
pub mod encoder;
mod error;
mod generate;
pub(crate) mod kernels;
pub(crate) mod linear;
mod llama;
pub mod mask;
mod packed;
mod sample;
mod session;
mod trie;
mod vocab;
mod weight_memory;

pub use batch::Batch;
pub use candle::Tensors;
pub use compare::{Comparison, compare};
pub use device::Processor;
pub use error::EngineError;
pub use generate::{Decoder, Encode, Generated, Limits, Vocab, generate, generate_free};
pub use llama::Llama;
pub use sample::{Decision, Sampling};
pub use session::{Engine, Session};
pub use trie::TokenTrie;
pub use vocab::{Spelling, VocabBytes, vocab_bytes};
