//! Errors of sentence encoders.

use std::path::PathBuf;

use model::ModelError;

/// Why an encoder failed.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// The folder, its tokenizer or its weights.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The file of cached vectors.
    #[error("{path}: {source}; name another folder with --vectors, or remove the file")]
    Cache {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a vector cache, or belongs to another encoder.
    #[error("{path}: not the vectors of this encoder; remove the file")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The tokenizer returned an id outside the embedding table.
    #[error("the tokenizer gives the id {id}, the embedding has {rows} rows")]
    Token {
        /// The id.
        id: u32,
        /// Rows of the embedding.
        rows: usize,
    },
}
