//! SPARQL queries before evaluation: the dialects of the published question sets, and rewriting.

pub(crate) mod budget;
mod dataset;
mod dialect;
mod functions;
mod graphs;
mod growth;
mod label_service;
mod languages;
mod parts;
mod project;
mod query;
mod results;
mod rewrite;
mod scope;
mod syntax;
mod tokens;
mod triples;
mod xml;

pub use budget::cancelled_by;
pub use dataset::with_dataset;
pub use dialect::{normalise, parse_query, parse_query_at};
pub(crate) use functions::length;
pub use functions::term_literal;
pub(crate) use graphs::UNNAMED;
pub use graphs::UNNAMED_GRAPH;
pub(crate) use parts::any_pattern;
pub use parts::{PatternPart, operands, parts};
pub use query::{QueryAnswer, QueryError, QueryLimits};
pub use results::{ResultsFormat, algebra_literal};
pub use rewrite::RewrittenQuery;
pub use triples::TriplesFormat;
