//! Query graphs (rules A.2.2): a gold query as nodes, edges and annotations, independent of
//! SPARQL's algebra.
//!
//! ```text
//! algebra ──read──▶ PatternGroup of edges, values, comparisons, unions ──normalise──▶ QueryGraph
//! ```
//! Reading strips boilerplate: language filters, inequalities between variables, nested SELECTs
//! that only rename, labels that are only displayed. A query that no query graph can represent is
//! refused with its reason.

pub(crate) mod algebra;
mod expression;
mod extreme_block;
mod head;
mod intervals;
mod normal;
mod operand;
mod path;
mod query_graph;
mod read;
mod reader;
mod rename;
mod vocabulary;

pub(crate) use expression::{comparison, is_language_test, mirrored};
pub(crate) use kg::term_literal;
pub(crate) use operand::{SideOf, plain_variable, side_of};
pub(crate) use query_graph::{
    Edge, GraphNode, PathStep, PatternGroup, QueryForm, QueryGraph, TimeInterval, Var,
};
pub(crate) use read::read_query;
pub(crate) use vocabulary::Vocabulary;
