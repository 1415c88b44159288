//! Language model inference: LLaMA-family models, sessions that reuse a common prefix, decoding
//! constrained by a grammar, and sentence encoders.
//!
//! On the CPU the models run on our own kernels; on NVIDIA GPUs they run on burn.
//!
//! ```text
//! llama ── linear, attention ── kernels, packed   weights and arithmetic on the CPU; stateless
//! device ── burn                                  the same model as tensors, for GPUs
//!   ▲
//! backend ── engine                               one of the two, shared by all threads
//!   ▲
//! batch                                           steps shared by several sessions
//!   ▲
//! session ── cache                                one conversation: tokens, keys and values
//!   ▲
//! generate ── mask ── trie ── vocab               decide, append forced text, end within budget
//!          └─ sample
//!
//! encoder ── kernels, linear                      BERT-family sentence encoders
//! ```
//!
//! Invariants
//! - Generated text is always accepted by the acceptor and fits the token budget.
//! - On the CPU the logits after a list of tokens are the same bits however the tokens were fed (at
//!   once, in pieces, after a cached prefix, in a batch) and on any number of threads. On a device
//!   they are the same up to rounding.
//! - Nothing here knows a graph or a tool, prints, or reads the environment.

mod attention;
mod backend;
mod batch;
mod cache;
mod compare;
mod device;
pub mod encoder;
mod engine;
mod error;
mod generate;
mod kernels;
mod layer;
mod linear;
mod llama;
pub mod mask;
mod packed;
mod sample;
mod segment;
mod session;
mod tensors;
mod trie;
mod vocab;
mod weight_memory;

pub use batch::Batch;
pub use compare::{LogitComparison, compare};
pub use device::EngineDevice;
pub use engine::Engine;
pub use error::EngineError;
pub use generate::{Decoder, Generated, generate};
pub use llama::PackedLlama;
pub use sample::Decision;
pub use session::DecodeSession;
pub use trie::TokenTrie;
pub use vocab::Vocab;

/// The instructions with which this processor answers.
#[must_use]
pub fn instructions() -> &'static str {
    match packed::Isa::default() {
        packed::Isa::Portable => "plain loops",
        packed::Isa::Avx2 => "AVX2",
        packed::Isa::Avx512 => "AVX-512",
    }
}
