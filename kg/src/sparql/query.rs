//! Limits, answers and errors of a query.

use std::time::Duration;

use crate::limits::{QUERY_DEADLINE, QUERY_MEMORY, QUERY_ROWS};
use crate::term::Term;

/// Limits of one query.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Wall-clock limit.
    pub deadline: Duration,
    /// Maximum number of rows.
    pub rows: usize,
    /// Maximum memory in bytes, see [`QUERY_MEMORY`].
    pub memory: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            deadline: QUERY_DEADLINE,
            rows: QUERY_ROWS,
            memory: QUERY_MEMORY,
        }
    }
}

/// The answer of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryAnswer {
    /// The result of a SELECT. Terms may be literals that the graph does not contain, such as a
    /// count.
    Rows {
        /// Projected variables, in order, without `?`.
        variables: Vec<String>,
        /// One row per solution.
        rows: Vec<Vec<Option<Term>>>,
    },
    /// The result of an ASK.
    Bool(bool),
}

/// A query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The query text does not parse.
    #[error("the query does not parse: {0}")]
    Syntax(String),
    /// The query contains something that is not allowed: CONSTRUCT, DESCRIBE, SERVICE and the like.
    #[error("{0} is refused here")]
    Refused(String),
    /// The query exceeded its deadline.
    #[error("the query ran past its deadline of {0:?}")]
    Deadline(Duration),
    /// Its asker does not want the answer any more ([`cancelled_by`](super::cancelled_by)).
    #[error("the query was cancelled")]
    Cancelled,
    /// The query exceeded its row limit.
    #[error("the query gives more than {0} rows")]
    Rows(usize),
    /// The query exceeded its memory limit in bytes.
    #[error("the query holds more than {0} bytes; ask for fewer rows or shorter texts")]
    Memory(usize),
    /// The evaluator failed.
    #[error("the query could not be evaluated: {0}")]
    Evaluation(String),
}
