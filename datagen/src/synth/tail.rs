//! Types of the tails of a relation.

/// The type of a relation's tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailType {
    Thing,
    Text,
    Number,
    Time,
}

/// The kind of a relation's tails, which selects the interrogative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailKind {
    Person,
    Place,
    Time,
    Number,
    #[default]
    Thing,
}
