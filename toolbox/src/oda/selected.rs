//! A link of the memory, and what a pretrained model is told before it builds one.

use crate::observe::Link;

/// A remembered group: the triples along one relation from one set, and the set at their far end (of a narrowed group: its near ends that are
/// left).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The set it starts from.
    pub near: String,
    /// The relation and what narrows it.
    pub group: String,
    /// The set that was made of it.
    pub far: String,
}

impl Link for Selected {
    type End = String;
    fn near(&self) -> String {
        self.near.clone()
    }
    fn far(&self) -> String {
        self.far.clone()
    }
}
