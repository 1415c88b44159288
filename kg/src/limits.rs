//! Limits of this crate, each with its reason.

use std::time::Duration;

/// Wall-clock limit of one gold query: long enough for every query of the published sets on one machine, short enough that one bad
/// query in ten thousand costs nothing.
pub const QUERY_DEADLINE: Duration = Duration::from_secs(10);

/// Rows after which a query is given up: no published answer set comes near it.
pub const QUERY_ROWS: usize = 1_000_000;

/// Characters of a label that are shown; longer ones are cut, so that no label can flood a prompt.
pub const LABEL_CHARS: usize = 80;

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
