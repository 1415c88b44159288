//! Shared by training and inference: model folders in Hugging Face layout, the tokenizer, the chat
//! format and the loss mask.
//!
//! ```text
//! dataset ──▶ chat ◀── tokenizer          turns → token ids and the loss mask
//! folder  ──▶ config, weights, tokenizer  one directory; every size is checked; written atomically
//! hub     ──▶ folder                      the only module that opens a connection
//! ```
//!
//! Invariants: the only crate that opens weight files; no network outside [`hub`]; text never
//! becomes a control token.

pub mod adapter;
pub mod blocks;
pub mod chat;
pub mod config;
pub mod dataset;
pub mod digest;
pub mod encoder;
pub mod error;
pub mod files;
pub mod folder;
pub mod gguf;
mod guard;
pub mod hub;
pub mod info;
mod json;
pub mod limits;
mod mistaken;
pub mod pair;
pub mod preset;
pub mod rope;
mod small;
pub mod source;
pub mod tokenizer;
pub mod weights;

pub use chat::{ChatFormat, Encoded};
pub use common::transcript::{Part, Role, Trust, Turn};
pub use config::{Family, ModelConfig};
pub use dataset::{Dataset, TrainingConversation};
pub use encoder::{EncoderConfig, EncoderFolder};
pub use error::ModelError;
pub use folder::ModelFolder;
pub use gguf::GgufModel;
pub use guard::is_guarded;
pub use info::KgAgentInfo;
pub use pair::{PairTokenizer, PairTokens};
pub use preset::Preset;
pub use source::{Stored, WeightSource};
pub use tokenizer::Tokenizer;
pub use weights::{Tensor, WeightFiles, Weights};
