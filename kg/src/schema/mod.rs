//! What the vocabulary of a graph means (rules R3, R4, R11, R12 and C.4): which relations carry
//! classes, names and aliases, which are hidden from planners, which are each other's reverse, and
//! which two form an interval.
//!
//! Relations are recognised by name. Statements about relations in the graph (domains, ranges,
//! reverses) are read once, when the graph is frozen (written in its final, read-only form).

mod families;
mod from_iris;
mod intervals;
mod read;
mod rows;
mod settings;
mod source;
mod types;
mod vocabulary;

pub use families::{Companion, LanguageVariant};
pub use intervals::INTERVAL_ENDS;
pub(crate) use read::read;
pub use rows::row_key;
pub use settings::Settings;
pub(crate) use source::{NamedRelation, SchemaSource};
pub use types::{IntervalRelation, Schema};
pub use vocabulary::is_meta_class;
pub(crate) use vocabulary::{RDFS_SUBCLASS_OF, is_meta_relation};
