//! Label search: from a surface form to the nodes with that name.
//!
//! One tantivy index per graph contains every name of every node: labels in all languages, aliases,
//! and the words of the IRI if there is no label. It is memory-mapped from the graph folder, so the
//! time to open it does not depend on its size. A graph without a folder gets the same index in
//! memory.
//!
//! ```text
//! exact       the name, letter for letter
//! normalised  the same without case, diacritics, punctuation; then with or without an article, in the singular, without "(1997 film)"
//! fuzzy       at most two edits away, one in a short name
//! partial     shares words or most character trigrams
//! ```
//!
//! `parts` finds names by one of their words or by their initials, for callers that check the rest of
//! the name themselves.
//!
//! A kind of match is tried only if the earlier kinds find nothing. Within a kind, results are
//! ordered by score, then degree (descending), then id.

mod directory;
mod fields;
mod index;
mod open;
mod parts;
mod query;
mod text;
mod types;

pub use index::LabelIndex;
pub use parts::forms_of;
pub use text::{edits_of, letters, nearly, normal_letters, normalise, singular};
pub use types::{FoundLabels, LabelMatch, MatchKind, NameKind, NodeRole, SearchError};

pub(crate) use fields::{IndexFields, pack, schema, tokenizers};
pub(crate) use open::{IndexPayload, VERSION};
pub(crate) use text::{NAME_CHARS, undistinguished, variants};
