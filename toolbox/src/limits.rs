//! Limits of this crate, each with its reason.

use std::time::Duration;

/// Maximum steps of a question. The published loop stops at 30 (rules A.5); two more leave room for
/// a closing `end`.
pub const MAX_STEPS: usize = 32;

/// Wall-clock limit for all tool calls of a question.
pub const QUESTION_DEADLINE: Duration = Duration::from_secs(30);

/// Estimated tokens of a prompt in the paper layout: KG-Agent's maximum length (rules A.3).
pub const PROMPT_TOKENS: usize = 1_500;

/// Relations shown per `get_relation`. The papers give no value; most lists of 40 fit into 1,500
/// tokens together with the tool list (rules A.3).
pub const SHOWN_RELATIONS: usize = 40;

/// Classes offered with a question, best first: the gold class is among the first eight on every
/// set measured.
pub const SHOWN_CLASSES: usize = 8;

/// Maximum number of arguments of `intersect` and `union`.
pub const MAX_SET_ARGS: usize = 8;

/// Maximum number of triples of a question in Triad; gold queries of the published sets have fewer.
pub const MAX_TRIPLES: usize = 8;

/// Maximum characters of a question. People's questions have fewer than 500; the time of linking
/// grows with the length.
pub const QUESTION_CHARS: usize = 4_000;

/// Maximum number of values of a question. People's questions have fewer than ten; the search for
/// programs compares each with every relation.
pub const QUESTION_VALUES: usize = 64;

/// Maximum characters of a name in a prompt. Names of published graphs have fewer than 120. A
/// relation or class with a longer name is not offered: a call writes the name, so it cannot be
/// cut.
pub const NAME_CHARS: usize = 256;

/// Whether a name is short enough for a prompt.
#[must_use]
pub fn fits_prompt(name: &str) -> bool {
    name.len() <= NAME_CHARS || name.chars().nth(NAME_CHARS).is_none()
}

/// Maximum number of members of a tool's result; a larger set is an error.
pub const SET_SIZE: usize = 5_000_000;

/// Maximum number of members of all sets of a program together.
pub const SESSION_SIZE: usize = 20_000_000;

/// Maximum number of items of a list argument. Programs of the published sets list fewer than ten.
pub const LIST_ITEMS: usize = 64;

/// Maximum number of members that an answer writes out, and whose derivation is evidence. Gold
/// answers of the published sets have fewer.
pub const ANSWER_MEMBERS: usize = 20_000;

/// Number of rows of a table that have evidence of their own: more than people look through. The time
/// grows with this number and the size of the table.
pub const EVIDENCE_ROWS: usize = 100;

/// Maximum number of triples of evidence that an answer writes out.
pub const EVIDENCE_TRIPLES: usize = 50_000;
