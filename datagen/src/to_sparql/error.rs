//! Why a program has no query.

use toolbox::exec::ToolError;

/// Why no query expresses a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    /// The program fails.
    #[error("step {step} of the program fails: {error}", step = step + 1)]
    Fails {
        /// The step, from 0.
        step: usize,
        /// The tool's error.
        error: ToolError,
    },
    /// The result of a tool does not depend on triples alone.
    #[error("`{0}`: no query expresses this tool, which depends on the wording of the question")]
    Words(String),
    /// No filter keeps the same members as the tool.
    #[error("`{0}`: no filter compares the values of this graph as the tool does")]
    Comparison(String),
    /// A blank node, which no query can name.
    #[error("`{0}` is a blank node, which no query can name")]
    Blank(String),
    /// An argument that does not fit the call.
    #[error("`{0}` cannot be read")]
    Argument(String),
}
