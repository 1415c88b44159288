//! Execution of calls: a [`Session`] holds the immutable variables of one question, the relation
//! lists shown so far and the steps taken (rules A.1.1).

mod classes;
mod clock;
mod error;
mod evidence;
mod list;
mod live;
mod paper;
mod resolve;
mod session;
mod table;
mod tools;
mod types;

pub use error::ToolError;
pub(crate) use evidence::row_evidence;
pub use evidence::{Evidence, evidence};
pub use list::RankedRelation;
pub(crate) use list::{Adjacent, best_first};
pub(crate) use paper::{INSTRUCTION, paper_question};
pub use session::{Session, run_program};
pub use table::{Cell, ComputedValue, Table, TableColumn};
pub use tools::amount;
pub use types::{
    EntSet, Exclude, ExcludeWhen, ExecOptions, Naming, Observation, Relation, Shown, Step, Value,
};
pub(crate) use types::{intersection, sorted};
