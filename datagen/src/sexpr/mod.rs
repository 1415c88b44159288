//! Other front ends of GrailQA (rules A.2.1): s-expressions and the explicit graph query. Both
//! become one logical form of nodes and edges. Its algebra is that of GrailQA's own SPARQL: classes
//! as type triples, constants as VALUES, all nodes pairwise different, an extreme as an inner MAX
//! or MIN over a copy of the pattern.

mod graph_query;
mod logical_form;
mod parse;
mod tree;

pub use graph_query::graph_query;
pub use parse::SexprError;

use kg::spargebra::Query;

/// The query of an s-expression.
///
/// # Errors
/// What is wrong with it.
///
/// ```
/// let query = datagen::sexpr::sexpr("(AND biology.gene (JOIN (R biology.cell.gene) m.01))")?;
/// assert!(query.to_string().contains("biology.cell.gene"));
/// # Ok::<(), datagen::sexpr::SexprError>(())
/// ```
pub fn sexpr(text: &str) -> Result<Query, SexprError> {
    let tree = parse::parse(text)?;
    Ok(tree::pattern(&tree)?.query())
}
