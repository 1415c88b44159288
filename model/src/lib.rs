//! What training and inference share: model folders in Hugging Face layout, the tokenizer, the chat format and the loss mask.
//!
//! ```text
//! dataset ──▶ chat ◀── tokenizer          turns → token ids + which of them are trained on
//! folder  ──▶ config, weights, tokenizer  one directory, read with every size checked, written whole or not at all
//! hub     ──▶ folder                      the only module that opens a connection
//! ```
//!
//! Invariants: the only crate that opens weight files; no network outside [`hub`]; no text ever becomes a control token.

pub mod adapter;
pub mod chat;
pub mod config;
pub mod dataset;
pub mod digest;
pub mod encoder;
pub mod error;
pub mod folder;
pub mod gguf;
pub mod hub;
pub mod limits;
pub mod rope;
pub mod source;
pub mod tokenizer;
pub mod weights;

pub use chat::{ChatFormat, Encoded};
pub use common::transcript::{Part, Role, Trust, Turn};
pub use config::{Family, ModelConfig, Preset};
pub use dataset::{Conversation, Dataset};
pub use encoder::{EncoderConfig, EncoderFolder};
pub use error::ModelError;
pub use folder::{KgAgentInfo, ModelFolder};
pub use gguf::GgufModel;
pub use source::{Stored, WeightSource};
pub use tokenizer::Tokenizer;
pub use weights::{Tensor, Weights};
