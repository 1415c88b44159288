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

/// What a pretrained model is told in the system turn (spec B.2): the actions, and how to write them.
pub(super) const RULES: &str = "Answer a question over a knowledge graph in turns. Choose exactly one action a turn and never one that was taken before:
neighbor SET            the triples around a set, grouped by relation (~ before a relation: walked from tails to heads)
path ENTITY ENTITY      how two entities are linked, at most three triples long
answer SET | answer count SET | answer judge SET | answer none     only when what is remembered suffices
A SET is an entity e0, a class c0, a result v0, intersect(v0, v1) or union(v0, v1). What can be seen around (see …) is a reference for choosing.
After neighbor or path write what is worth remembering: relations separated by `; `, each optionally narrowed (= x0, > x0, = e1, argmax, argmin), or none.";
