//! Limits of this crate, each with its reason.

use std::time::Duration;

/// Wall-clock limit of one gold query: long enough for every query of the published sets on one machine, short enough that one bad
/// query in ten thousand costs nothing.
pub const QUERY_DEADLINE: Duration = Duration::from_secs(10);

/// Rows after which a query is given up: no published answer set comes near it.
pub const QUERY_ROWS: usize = 1_000_000;

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

/// Characters of a label that are shown; longer ones are cut, so that no label can flood a prompt.
pub const LABEL_CHARS: usize = 80;

/// Most arguments of `intersect` and `union`.
pub const MAX_SET_ARGS: usize = 8;

/// Members of a set that a tool accepts; a larger one is an error of its own instead of an endless walk.
pub const SET_SIZE: usize = 5_000_000;

/// Bytes of a text that a query may build: queries of the published sets build none longer than a label.
pub const QUERY_TEXT: usize = 1 << 20;

/// Bytes of a query's text: the longest of the published sets has 4,000.
pub const QUERY_BYTES: usize = 1 << 16;

/// Brackets that may be open at once in a query, and signs in a row. The parser backtracks: each level of `!(` doubles its time, from 6 ms
/// at twelve levels. Real queries stay below ten.
pub const QUERY_DEPTH: usize = 16;

/// Operators and groups of a query, each of which nests its algebra once: real queries have below a hundred.
pub const QUERY_JOINTS: usize = 400;

/// Triple patterns of a query: planning takes their fourth power (0.4 s at 64), and real queries have below thirty.
pub const QUERY_PATTERNS: usize = 64;
