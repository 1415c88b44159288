//! GrailQA's `graph_query`: nodes (`nid, node_type, id, function, question_node`) and edges
//! (`start, end, relation`).

use kg::spargebra::Query;
use kg::value::{Extreme, Op};
use serde_json::Value;

use super::logical_form::{FormNode, LogicalForm, NodeFunction, literal_of};

/// The query of a graph query.
///
/// # Errors
/// The field that is missing or invalid.
pub fn graph_query(value: &Value) -> Result<Query, String> {
    pattern(value).map(|pattern| pattern.query())
}

fn pattern(value: &Value) -> Result<LogicalForm, String> {
    let list = |name: &str| {
        value[name]
            .as_array()
            .ok_or_else(|| format!("`graph_query.{name}` is not a list"))
    };
    let mut pattern = LogicalForm::default();
    let mut numbers = Vec::new();
    let mut answer = None;
    for (i, node) in list("nodes")?.iter().enumerate() {
        let text = |name: &str| {
            node[name]
                .as_str()
                .ok_or_else(|| format!("node {i} of `graph_query` has no `{name}`"))
        };
        let id = text("id")?;
        let function = match node["function"].as_str().unwrap_or("none") {
            "none" => NodeFunction::None,
            "count" => {
                pattern.count = true;
                NodeFunction::None
            }
            "argmax" => NodeFunction::Extreme(Extreme::Max),
            "argmin" => NodeFunction::Extreme(Extreme::Min),
            op => NodeFunction::Compare(
                op.parse::<Op>()
                    .map_err(|error| format!("node {i} of `graph_query`: {error}"))?,
            ),
        };
        pattern.nodes.push(match (text("node_type")?, function) {
            ("class", NodeFunction::None) => FormNode::Any(vec![id.to_owned()]),
            ("entity", NodeFunction::None) => FormNode::Entity(id.to_owned()),
            ("literal", NodeFunction::Extreme(_)) => FormNode::Value(None, function),
            ("literal", _) => FormNode::Value(Some(literal_of(id)), function),
            (kind, _) => {
                return Err(format!(
                    "node {i} of `graph_query`: a function on a node of type `{kind}`"
                ));
            }
        });
        numbers.push(
            node["nid"]
                .as_u64()
                .ok_or_else(|| format!("node {i} of `graph_query` has no `nid`"))?,
        );
        if node["question_node"].as_u64() == Some(1) {
            answer = Some(i);
        }
    }
    for (i, edge) in list("edges")?.iter().enumerate() {
        let end = |name: &str| {
            let number = edge[name].as_u64();
            numbers
                .iter()
                .position(|nid| Some(*nid) == number)
                .ok_or_else(|| format!("edge {i} of `graph_query`: `{name}` is not a node"))
        };
        let relation = edge["relation"]
            .as_str()
            .ok_or_else(|| format!("edge {i} of `graph_query` has no `relation`"))?;
        pattern
            .edges
            .push((end("start")?, relation.to_owned(), end("end")?));
    }
    pattern.answer = answer.ok_or("`graph_query` has no question node")?;
    Ok(pattern)
}
