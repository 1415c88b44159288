//! Counting. A program counts distinct values; `COUNT(?x)` without DISTINCT counts solutions.
//!
//! LC-QuAD's `SELECT DISTINCT COUNT(?x)` also counts solutions, because DISTINCT is outside the
//! count. The questions ask for a number of *things*, but the published answers are those of the
//! query. So a query is kept if both counts are equal on the graph, and refused if they differ.

use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateExpression, AggregateFunction, GraphPattern};
use kg::spargebra::term::Variable;
use kg::{Kg, QueryAnswer, QueryLimits};

use crate::algebra::{aggregate_call, group_all, project, select, variable};
use crate::refusal::Refusal;

/// Whether the counting query has as many solutions as `counted` has values.
pub(super) fn are_distinct(kg: &dyn Kg, query: &Query, counted: &str) -> Result<bool, Refusal> {
    let Query::Select { pattern, .. } = query else {
        return Ok(true);
    };
    let Some((inner, aggregate)) = counting(pattern) else {
        return Err(Refusal::Aggregate);
    };
    let counted = Variable::new(counted).map_err(|_| Refusal::Aggregate)?;
    let distinct = aggregate_call(AggregateFunction::Count, counted.into(), true);
    let names = vec![variable("all"), variable("different")];
    let aggregates = names.iter().cloned().zip([aggregate.clone(), distinct]);
    let group = group_all(inner.clone(), aggregates.collect());
    match kg.query(&select(project(group, names)), QueryLimits::default()) {
        Ok(QueryAnswer::Rows { rows, .. }) => Ok(rows.iter().all(|row| row.first() == row.get(1))),
        Ok(QueryAnswer::Bool(_)) | Err(_) => Err(Refusal::QueryFailed),
    }
}

/// The pattern and the aggregate of the count, inside the modifiers of a SELECT.
fn counting(pattern: &GraphPattern) -> Option<(&GraphPattern, &AggregateExpression)> {
    match pattern {
        GraphPattern::Group {
            inner, aggregates, ..
        } => Some((inner, &aggregates.first()?.1)),
        GraphPattern::Slice { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Extend { inner, .. } => counting(inner),
        _ => None,
    }
}
