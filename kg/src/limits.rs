//! Limits of this crate and their reasons.

use std::time::Duration;

/// Wall-clock limit of one gold query: enough for every query of the published sets, and short
/// enough that one bad query in ten thousand does not matter.
pub const QUERY_DEADLINE: Duration = Duration::from_secs(10);

/// Row limit of a query, far above every published answer set.
pub const QUERY_ROWS: usize = 1_000_000;

/// Maximum length of a displayed label, so that no label can flood a prompt.
pub const LABEL_CHARS: usize = 80;

/// Maximum bytes of a text that a query may build. Queries of the published sets build at most a
/// label.
pub const QUERY_TEXT: usize = 1 << 20;

/// Maximum bytes of a query's text. The longest of the published sets has 4,000.
pub const QUERY_BYTES: usize = 1 << 16;

/// Maximum nesting of brackets in a query, and of consecutive signs. The parser backtracks: each
/// level of `!(` doubles its time, from 6 ms at twelve levels. Real queries stay below ten.
pub const QUERY_DEPTH: usize = 16;

/// Maximum number of operators and groups of a query. Each nests the algebra once. Real queries
/// have fewer than a hundred.
pub const QUERY_JOINTS: usize = 400;

/// Maximum number of triple patterns of a query. Planning takes their fourth power (0.4 s at 64).
/// Real queries have fewer than thirty.
pub const QUERY_PATTERNS: usize = 64;
