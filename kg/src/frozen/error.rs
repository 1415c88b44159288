//! Why a graph could not be frozen.

use std::io;

/// The triples could not be frozen.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// Temporary files or the graph file cannot be written or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// More distinct terms than ids.
    #[error("the graph has more than 4,294,967,294 different terms; load a part of it")]
    Terms,
    /// More triples than row numbers.
    #[error("the graph has more than 4,294,967,295 triples; load a part of it")]
    Triples,
    /// The axioms of an ontology do not fit the memory of the load.
    #[error(
        "the classes, restrictions and lists of the graph take more than {bytes} bytes of memory, half of --memory; raise it, \
         or leave their axioms out with --no-reasoning"
    )]
    Axioms {
        /// The memory that they may take.
        bytes: usize,
    },
}
