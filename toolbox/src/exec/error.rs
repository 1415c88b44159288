//! Errors of call execution. Every message states what would be right.

use std::time::Duration;

use crate::rank::RankError;
use common::cancel::Cancelled;

/// Why a call cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// A variable that was never assigned (rule R20).
    #[error("v{given} is not defined; {}", defined(*live))]
    UnknownVariable {
        /// The index used.
        given: u32,
        /// How many variables there are.
        live: usize,
    },
    /// An assignment to anything but the next variable (rule R20).
    #[error("v{given} cannot be assigned here; the next variable is v{next}")]
    Assignment {
        /// The index used.
        given: u32,
        /// The expected index.
        next: u32,
    },
    /// A handle that refers to nothing.
    #[error("{given} stands for nothing here; {right}")]
    UnknownHandle {
        /// The handle.
        given: String,
        /// What exists instead.
        right: String,
    },
    /// A name that is not a node of the graph.
    #[error("`{given}` is not in the graph{}", nearest(near))]
    UnknownEntity {
        /// The name.
        given: String,
        /// Nodes with a similar label.
        near: Vec<String>,
    },
    /// An answer of statement nodes only (rule R22).
    #[error(
        "{set} holds statements without names, which answer nothing; walk on from it{}",
        nearest(near)
    )]
    Statements {
        /// The set argument.
        set: String,
        /// Relations that leave it.
        near: Vec<String>,
    },
    /// The label index cannot be read.
    #[error(transparent)]
    Search(#[from] kg::search::SearchError),
    /// The ranker failed.
    #[error(transparent)]
    Rank(RankError),
    /// A name that is not a class of the graph.
    #[error("`{given}` is no class of the graph{}", nearest(near))]
    UnknownClass {
        /// The name.
        given: String,
        /// The offered classes.
        near: Vec<String>,
    },
    /// A relation that no member of the set has (rule R1).
    #[error("no member of {set} has the relation `{given}`{}", nearest(near))]
    UnknownRelation {
        /// The relation.
        given: String,
        /// The set argument.
        set: String,
        /// Relations of the set, nearest first.
        near: Vec<String>,
    },
    /// The relation exists only in the other direction (rule R2).
    #[error("`{relation}` only {} {set}: {hint}", if *incoming { "enters" } else { "leaves" })]
    WrongDirection {
        /// The relation.
        relation: String,
        /// The set argument.
        set: String,
        /// Whether it enters the set.
        incoming: bool,
        /// The correct call.
        hint: String,
    },
    /// A number or truth value where a set is needed.
    #[error("v{0} is a number or a truth value, not a set; only end takes it")]
    NotASet(u32),
    /// A tool that the session does not offer.
    #[error("`{0}` is an extended tool, and this session offers the paper's thirteen only")]
    NotOffered(&'static str),
    /// A table where a set or one of its columns is needed.
    #[error("v{table} is a table; name one of its columns, v{table}.k0 to v{table}.k{last}")]
    WholeTable {
        /// The variable.
        table: u32,
        /// Its last column.
        last: usize,
    },
    /// A column that a table does not have.
    #[error("the table has no column k{given}; its columns are k0 to k{last}")]
    UnknownColumn {
        /// The column used.
        given: u32,
        /// The last column.
        last: usize,
    },
    /// A truth value where a table is needed.
    #[error("v{0} is a truth value, not a table, a set or a number")]
    NotATable(u32),
    /// A column of computed values where nodes are needed.
    #[error(
        "v{table}.k{column} has computed values, which are not in the graph; end(v{table}) answers with them"
    )]
    Computed {
        /// The variable.
        table: u32,
        /// The column.
        column: u32,
    },
    /// A sum or a mean of values that are not all numbers, or that is too large.
    #[error(
        "`{word} k{column}` needs numbers whose sum fits their datatype; it stopped at `{value}`"
    )]
    NotANumber {
        /// `sum` or `average`.
        word: &'static str,
        /// The column.
        column: u32,
        /// The value that could not be added.
        value: String,
    },
    /// A part of a value that is no date, or whose date has no such part.
    #[error("`{word} k{column}` needs dates with that part; it stopped at `{value}`")]
    NotADate {
        /// `year`, `month` or `day`.
        word: &'static str,
        /// The column.
        column: u32,
        /// The value.
        value: String,
    },
    /// A variable that is no truth value where one is needed.
    #[error("v{0} is no truth value; exists and judge give one")]
    NotATruth(u32),
    /// The smallest or greatest value of no rows.
    #[error("`{word} k{column}` of no rows has no value")]
    NoRows {
        /// `min` or `max`.
        word: &'static str,
        /// The column.
        column: u32,
    },
    /// Tables with different numbers of columns.
    #[error("union takes tables with the same number of columns, not {first} and {other}")]
    Widths {
        /// Columns of the first table.
        first: usize,
        /// Columns of the other one.
        other: usize,
    },
    /// Values that cannot be compared.
    #[error("{0}")]
    Comparison(String),
    /// A result beyond the size limit.
    #[error("the set, or all sets of the program together, have more than {limit} members")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// A list argument beyond the length limit.
    #[error("a list of {items} items; at most {limit} are read")]
    LongList {
        /// Its length.
        items: usize,
        /// The limit.
        limit: usize,
    },
    /// The step limit of the question.
    #[error("the limit of {limit} calls is reached")]
    Steps {
        /// The limit.
        limit: usize,
    },
    /// The wall-clock limit of the question.
    #[error("the calls of this question ran past {limit:?}")]
    Deadline {
        /// The limit.
        limit: Duration,
    },
    /// The caller cancelled the question.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A call after `end`.
    #[error("the program has ended; no call may follow")]
    Ended,
    /// A program without `end`.
    #[error("the program does not call end")]
    NoEnd,
    /// An argument of a kind that the tool does not accept.
    #[error("`{given}` cannot stand here: {right}")]
    Argument {
        /// The argument.
        given: String,
        /// What the tool accepts.
        right: String,
    },
}

impl From<RankError> for ToolError {
    fn from(error: RankError) -> Self {
        match error {
            RankError::Cancelled(Cancelled::Deadline { limit }) => Self::Deadline { limit },
            RankError::Cancelled(asked) => Self::Cancelled(asked),
            failed @ RankError::Failed { .. } => Self::Rank(failed),
        }
    }
}

impl ToolError {
    /// Separates failures of the ranker, which end a run, from errors that a planner can correct.
    ///
    /// # Errors
    /// Returns the failure of the ranker.
    pub fn recoverable(self) -> Result<Self, RankError> {
        match self {
            Self::Rank(error) => Err(error),
            other => Ok(other),
        }
    }
}

fn nearest(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!("; nearest: {}", near.join(", "))
    }
}

fn defined(live: usize) -> String {
    match live {
        0 => "no variable is defined yet".to_owned(),
        1 => "only v0 is".to_owned(),
        n => format!("v0 to v{} are", n - 1),
    }
}
