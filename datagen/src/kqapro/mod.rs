//! Front ends of KQA Pro (rules A.2.5): its SPARQL over packed values and reified facts, and its
//! programs of 27 functions. Both become queries of the graph that `kg::kqapro` builds from
//! `kb.json`, and are converted and verified like any other query.

mod ground;
mod program;
mod sparql;
mod value;

use kg::Kg;
use kg::kqapro::{number, text};
use kg::spargebra::Query;
use serde_json::Value;

use crate::Refusal;

/// The query of KQA Pro's SPARQL. With a graph, names become its nodes.
///
/// # Errors
/// The reason and its details.
pub fn sparql(text: &str, kg: Option<&dyn Kg>) -> Result<Query, (Refusal, String)> {
    sparql::read(text, kg)
}

/// The query of a program. With a graph, names become its nodes, and untyped values get the type
/// that they have there.
///
/// # Errors
/// The step and what is wrong with it.
pub fn program(program: &Value, kg: Option<&dyn Kg>) -> Result<Query, String> {
    program::query(&program::steps(program)?, kg)
}

/// Names and ids of the entities that a program starts from.
#[must_use]
pub fn topics(program: &Value, kg: Option<&dyn Kg>) -> Vec<(String, String)> {
    let mut topics = Vec::new();
    for name in program::steps(program)
        .map(|steps| program::found(&steps))
        .unwrap_or_default()
    {
        match kg.map(|kg| {
            ground::named(kg, &name)
                .into_iter()
                .filter_map(|term| kg.find(&term).map(|node| kg.name(node)))
                .collect::<Vec<_>>()
        }) {
            Some(ids) if !ids.is_empty() => {
                topics.extend(ids.into_iter().map(|id| (id, name.clone())));
            }
            _ => topics.push((name.clone(), name)),
        }
    }
    topics.dedup();
    topics
}

/// A published answer in the graph's spelling: `yes` and `no` as truth values, numbers without a
/// trailing `.0`.
#[must_use]
pub fn answer(published: &str) -> String {
    let published = text(published);
    match published.as_str() {
        "yes" => return "true".to_owned(),
        "no" => return "false".to_owned(),
        _ => {}
    }
    let (amount, unit) = published.split_once(' ').unwrap_or((&published, ""));
    match amount.parse::<f64>() {
        Ok(value) if value.is_finite() && amount.contains('.') => {
            format!("{} {unit}", number(value)).trim_end().to_owned()
        }
        _ => published,
    }
}
