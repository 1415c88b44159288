//! Why the server cannot start.

use infer::InferError;
use kg::FolderError;

/// Least number of characters of a token.
pub(crate) const TOKEN_LENGTH: usize = 16;

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A graph cannot be opened.
    #[error("cannot open the graph `{name}`: {source}")]
    Graph {
        /// Its name.
        name: String,
        /// What is wrong.
        source: Box<FolderError>,
    },
    /// A model cannot be opened.
    #[error("cannot open the model `{name}`: {source}")]
    Model {
        /// Its name.
        name: String,
        /// What is wrong.
        source: Box<InferError>,
    },
    /// A name is given twice, or cannot be part of an address.
    #[error(
        "`{0}` cannot be the name of a graph or model: every name is used once and consists of letters, digits, `-`, `_` and `.`; write NAME=DIR"
    )]
    Name(String),
    /// Nothing to serve.
    #[error("name at least one graph folder")]
    NoGraph,
    /// Another address than this machine's own needs a token.
    #[error(
        "{0} can be reached from other machines: name a file with a token of at least {least} characters (--token-file, or KGAGENT_TOKEN), or listen on 127.0.0.1",
        least = TOKEN_LENGTH
    )]
    Open(std::net::SocketAddr),
    /// The token is too short to protect anything.
    #[error("the token has {0} characters; it needs at least {least}", least = TOKEN_LENGTH)]
    Token(usize),
    /// Both tokens are equal, so every client would be an operator.
    #[error("the operator's token is the same as the clients' token; use two different tokens")]
    SameToken,
    /// The certificate or its key cannot be used.
    #[error("{path}: {message}; a certificate and its key in PEM form are needed")]
    Tls {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The network or a thread failed.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}
