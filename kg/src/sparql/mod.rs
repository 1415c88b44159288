//! SPARQL queries before evaluation: the dialects of the published question sets, and rewriting.

pub(crate) mod budget;
mod dialect;
mod functions;
mod growth;
mod parts;
mod project;
mod query;
mod results;
mod rewrite;
mod scope;
mod tokens;
mod triples;

pub use budget::cancelled_by;
pub use dialect::{normalise, parse_query, parse_query_at};
pub(crate) use functions::length;
pub use functions::term_literal;
pub use parts::{PatternPart, operands, parts};
pub use query::{QueryAnswer, QueryError, QueryLimits};
pub use results::{ResultsFormat, algebra_literal};
pub use rewrite::RewrittenQuery;
pub use triples::TriplesFormat;
