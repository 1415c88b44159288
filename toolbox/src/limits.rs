//! Limits of this crate, each with its reason.

use std::time::Duration;

/// Steps of one question (spec A.5: the published loop stops at 30; two more leave room for a closing `end`).
pub const MAX_STEPS: usize = 32;

/// Wall-clock limit of one question's tool calls.
pub const QUESTION_DEADLINE: Duration = Duration::from_secs(30);

/// Tokens of a prompt in the paper layout, by estimate (spec A.3: KG-Agent's maximum length).
pub const PROMPT_TOKENS: usize = 1_500;

/// Relations shown per `get_relation` (spec A.3: no published value; most lists of 40 fit 1,500 tokens with the tool list).
pub const SHOWN_RELATIONS: usize = 40;

/// Classes offered with a question, best first: the gold class is among the first eight on every set measured.
pub const SHOWN_CLASSES: usize = 8;

/// Most arguments of `intersect` and `union`.
pub const MAX_SET_ARGS: usize = 8;

/// Members of a set that a tool accepts; a larger one is an error of its own instead of an endless walk.
pub const SET_SIZE: usize = 5_000_000;
