//! Limits of this crate and their reasons.

use std::time::Duration;

/// Wall-clock limit of one SPARQL query: enough for every query of the published sets, and short
/// enough that one bad query in ten thousand does not matter.
pub const QUERY_DEADLINE: Duration = Duration::from_secs(10);

/// Row limit of a query, far above every published answer set.
pub const QUERY_ROWS: usize = 1_000_000;

/// Maximum length of a displayed label, so that no label can flood a prompt.
pub const LABEL_CHARS: usize = 80;

/// Maximum bytes of a text that a query may build. Queries of the published sets build at most a
/// label.
pub const QUERY_TEXT: usize = 1 << 20;

/// Maximum bytes of the rows, terms and texts that a query holds at a time, and of its answer. Rows
/// are counted generously. Queries of the published sets hold a few megabytes.
pub const QUERY_MEMORY: usize = 1 << 30;

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

/// Maximum number of copies of a pattern, one for each named graph. Few patterns inside `GRAPH ?g`
/// need them (`sparql/graphs.rs`).
pub const QUERY_GRAPHS: usize = 256;

/// Maximum bytes of a graph file without a triple, and of one of its lines, if the memory of the load allows no more.
/// A file that is not a graph must not fill the memory.
pub const STATEMENT_BYTES: usize = 1 << 24;

/// The part of a load's memory that a line or statement may take. A coastline can have 20 MB. The parser holds several
/// copies.
pub const STATEMENT_PART: usize = 16;

/// Maximum bytes of a line or statement in a load with this memory.
#[must_use]
pub fn statement_bytes(memory: usize) -> usize {
    STATEMENT_BYTES.max(memory / STATEMENT_PART)
}

/// Maximum nesting of objects and lists in JSON-LD: its parser is recursive. Real files stay below
/// twenty.
pub const JSON_DEPTH: usize = 64;

/// Maximum bytes of a `@context` of JSON-LD. Its terms may refer to each other, and the parser
/// follows them recursively. Contexts inside real files have fewer than a thousand bytes.
pub const JSON_CONTEXT: usize = 1 << 13;

/// Memory that the parser of JSON-LD takes for a bracket, comma or colon of an object that it has
/// not finished, and for each object around it.
pub const JSON_EVENT: usize = 96;

/// The text of KQA Pro's `kb.json` or of an OBO file is read as a whole and may take one part in this many of a
/// load's memory. The rest is for the positions of its entries, or the lines of a stanza.
pub const KB_PART: usize = 4;

/// Memory that the values of one entry of a `kb.json` take per byte of its text, at most: measured
/// on objects with one short field.
pub const KB_VALUES: usize = 80;

/// Maximum number of attributes of an XML element and of those around it. The parser compares each with all others of
/// its element. Real files have fewer than a hundred.
pub const XML_ATTRIBUTES: usize = 4_000;

/// Maximum nesting of XML elements. Real files stay below twenty.
pub const XML_DEPTH: usize = 1_000;

/// Maximum bytes of the text that an XML entity stands for, with the entities in it. Namespaces, the only use in RDF,
/// have fewer than a hundred.
pub const ENTITY_BYTES: usize = 1_024;

/// Maximum number of XML entities within each other. Real files have one or two.
pub const ENTITY_DEPTH: usize = 32;

/// Maximum bytes of RDF/XML before its first element, and of the texts of all entities.
pub const XML_PROLOGUE: usize = 1 << 20;

/// Maximum bytes of the prefixes of Turtle or TriG when faulty statements are skipped: each statement that is read on
/// its own is read with them.
pub const PREFIX_BYTES: usize = 1 << 20;

/// Maximum number of references to XML entities without a triple, in files that declare entities.
pub const ENTITY_REFERENCES: usize = 1 << 16;
