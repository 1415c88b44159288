//! Limits, answers and errors of a query.

use std::time::Duration;

use crate::limits::{QUERY_DEADLINE, QUERY_ROWS};
use crate::term::Term;

/// Limits of one query.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Wall-clock limit.
    pub deadline: Duration,
    /// Rows after which the query is given up.
    pub rows: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            deadline: QUERY_DEADLINE,
            rows: QUERY_ROWS,
        }
    }
}

/// The answer of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryAnswer {
    /// A SELECT: variable names and rows; terms may be literals that the graph does not hold, such as a count.
    Rows {
        /// Projected variables, in order, without `?`.
        variables: Vec<String>,
        /// One row a solution.
        rows: Vec<Vec<Option<Term>>>,
    },
    /// An ASK.
    Bool(bool),
}

/// Why a query gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The query text does not parse.
    #[error("the query does not parse: {0}")]
    Syntax(String),
    /// CONSTRUCT, DESCRIBE, SERVICE and the like.
    #[error("{0} is refused here")]
    Refused(String),
    /// It ran longer than its deadline.
    #[error("the query ran past its deadline of {0:?}")]
    Deadline(Duration),
    /// It produced more rows than its limit.
    #[error("the query gives more than {0} rows")]
    Rows(usize),
    /// The evaluator failed.
    #[error("the query could not be evaluated: {0}")]
    Evaluation(String),
}
