//! The links of ODA's memory.

use crate::observe::PathLink;

/// A chosen group: the triples of one relation from one set, and the set of their far ends, or of
/// the remaining near ends if the group is narrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The set from which the relation starts.
    pub near: String,
    /// The relation with its condition.
    pub group: String,
    /// The resulting set.
    pub far: String,
}

impl PathLink for Selected {
    type End = String;
    fn near(&self) -> String {
        self.near.clone()
    }
    fn far(&self) -> String {
        self.far.clone()
    }
}
