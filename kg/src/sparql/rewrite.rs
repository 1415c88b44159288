//! Rewrites a query's algebra before evaluation, so that it keeps the meaning of its original
//! endpoint, cannot crash the evaluator, and always gives the same answer.
//!
//! - SERVICE, RAND and UUID are rejected. NOW is the day of the graph's settings (rule R12).
//! - GRAPH and FROM mean what SPARQL 1.1 says ([`graphs`]) if the graph has named graphs. If not,
//!   `GRAPH <g> { … }` and FROM refer to the only graph: queries of published sets name the graph of
//!   their endpoint.
//! - A constant quantity (`"1.7 metre"`) compares by number with quantities of the same unit.
//! - ORDER BY sorts by one text per term: the evaluator's comparison of mixed datatypes is not a
//!   total order, and Rust's sort panics on it.
//! - `xsd:dateTime(…)` and `xsd:date(…)` also accept partial dates (`2011`), as in Virtuoso, and so
//!   do constants of these datatypes.
//! - Texts that are joined or replaced, values that aggregates keep, and rows without values are made
//!   to count ([`growth`], [`QueryScope`]).

use oxigraph::model::{Literal as OxLiteral, NamedNode, vocab::xsd};
use spargebra::Query;
use spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};
use spargebra::term::{NamedNodePattern, Variable};

use super::functions::{AMOUNT, CustomFunction, DATE_TIME, SORT, date_time_start, functions};
use super::graphs;
use super::growth;
use super::languages;
use super::parts::{PatternPart, operands, parts};
use super::query::QueryError;
use super::scope::{QueryScope, may_be_free};
use crate::limits::QUERY_PATTERNS;
use crate::term::{QUANTITY, XSD};
use crate::value::{FREEBASE_NOW, TimeSpan};

/// A query ready for evaluation; any evaluator gives the same answers for it.
#[derive(Clone, Debug)]
pub struct RewrittenQuery {
    /// The rewritten query.
    pub query: Query,
    /// The functions that it calls.
    pub functions: [CustomFunction; 7],
    /// The named graphs that it reads, sorted.
    pub graphs: Vec<String>,
    /// The width of its widest row in terms, at most.
    pub(crate) width: usize,
}

impl RewrittenQuery {
    /// Rewrites a query for a graph without named graphs and with Freebase's date of NOW.
    ///
    /// # Errors
    /// Those of [`RewrittenQuery::over`].
    pub fn of(query: &Query) -> Result<Self, QueryError> {
        Self::over(query, FREEBASE_NOW, || None)
    }

    /// Rewrites a query; `now` is the date of NOW. `named` gives the named graphs that it can see,
    /// sorted; `None` if the graph has no named graphs.
    ///
    /// # Errors
    /// [`QueryError::Refused`] for a query that is not allowed, or too large to be planned in time:
    /// the evaluator's planner takes the fourth power of the number of triple patterns, and no
    /// deadline stops it.
    pub fn over<'g>(
        query: &Query,
        now: &str,
        named: impl FnOnce() -> Option<Vec<&'g str>>,
    ) -> Result<Self, QueryError> {
        let mut query = query.clone();
        let (width, graphs) = rewrite(&mut query, now, named)?;
        Ok(Self {
            query,
            functions: functions(),
            graphs,
            width,
        })
    }
}

/// The width of the widest row, and the named graphs that the query reads.
fn rewrite<'g>(
    query: &mut Query,
    now: &str,
    named: impl FnOnce() -> Option<Vec<&'g str>>,
) -> Result<(usize, Vec<String>), QueryError> {
    let start = TimeSpan::parse(now).map_or_else(|| now.to_owned(), TimeSpan::start_date_time);
    let mut scope = QueryScope::at(start);
    match query {
        Query::Select {
            dataset,
            pattern: p,
            ..
        }
        | Query::Ask {
            dataset,
            pattern: p,
            ..
        } => {
            // The caller that evaluates the query chooses the dataset.
            *dataset = None;
            languages::fold(p);
            root(p, &mut scope)?;
            let mut graphs = Vec::new();
            if scope.has_graph {
                match named() {
                    Some(named) => graphs = graphs::resolve(p, &named)?,
                    None => graphs::ignore(p),
                }
            }
            Ok((scope.width(), graphs))
        }
        Query::Construct { .. } => Err(QueryError::Refused("CONSTRUCT".to_owned())),
        Query::Describe { .. } => Err(QueryError::Refused("DESCRIBE".to_owned())),
    }
}

/// The outermost projection stays as it is: it names the columns of the result.
fn root(p: &mut GraphPattern, scope: &mut QueryScope) -> Result<(), QueryError> {
    match p {
        GraphPattern::Slice { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => root(inner, scope),
        GraphPattern::Project { inner, variables } => {
            variables.iter().for_each(|v| scope.variable(v));
            pattern(inner, scope)
        }
        _ => pattern(p, scope),
    }
}

fn pattern(p: &mut GraphPattern, scope: &mut QueryScope) -> Result<(), QueryError> {
    match p {
        GraphPattern::Values {
            variables,
            bindings,
        } => scope.mark_values(variables, bindings),
        GraphPattern::Bgp { patterns } => {
            patterns.iter().for_each(|triple| scope.triple(triple));
            count(scope, patterns.len())?;
        }
        GraphPattern::Path {
            subject, object, ..
        } => {
            scope.term(subject);
            scope.term(object);
            count(scope, 1)?;
        }
        GraphPattern::Extend { variable, .. } => scope.variable(variable),
        GraphPattern::Project { variables, .. } | GraphPattern::Group { variables, .. } => {
            variables.iter().for_each(|v| scope.variable(v));
        }
        GraphPattern::Service { name, .. } => return Err(refused_service(name)),
        _ => {}
    }
    for part in parts(p) {
        match part {
            PatternPart::Pattern(inner) => pattern(inner, scope)?,
            PatternPart::Expression(inner) => expression(inner, scope)?,
        }
    }
    match p {
        GraphPattern::Union { left, right } if may_be_free(left) && may_be_free(right) => {
            scope.mark(right);
        }
        GraphPattern::Graph { name, .. } => {
            scope.has_graph = true;
            if let NamedNodePattern::Variable(variable) = name {
                scope.variable(variable);
            }
        }
        GraphPattern::OrderBy { expression, .. } => {
            for key in expression {
                let (OrderExpression::Asc(value) | OrderExpression::Desc(value)) = key;
                wrap(value, SORT, None);
            }
        }
        GraphPattern::Project { .. } => scope.mark(p),
        GraphPattern::Group { aggregates, .. } => {
            for (variable, aggregate) in aggregates {
                scope.aggregate(variable);
                growth::aggregate(aggregate);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A query to another endpoint: nothing leaves this machine.
fn refused_service(name: &NamedNodePattern) -> QueryError {
    QueryError::Refused(format!("SERVICE {name}, which asks another endpoint,"))
}

fn count(scope: &mut QueryScope, more: usize) -> Result<(), QueryError> {
    scope.triples += more;
    if scope.triples > QUERY_PATTERNS {
        return Err(QueryError::Refused(format!(
            "a query of more than {QUERY_PATTERNS} triple patterns"
        )));
    }
    Ok(())
}

fn expression(e: &mut Expression, scope: &mut QueryScope) -> Result<(), QueryError> {
    match e {
        Expression::Variable(variable) | Expression::Bound(variable) => scope.variable(variable),
        Expression::Literal(literal) => {
            if matches!(
                literal.datatype().as_str().strip_prefix(XSD),
                Some("dateTime" | "date")
            ) && let Some(whole) = date_time_start(literal)
            {
                *literal = whole;
            }
        }
        Expression::Equal(a, b)
        | Expression::Greater(a, b)
        | Expression::GreaterOrEqual(a, b)
        | Expression::Less(a, b)
        | Expression::LessOrEqual(a, b) => return comparison(a, b, scope),
        Expression::Exists(inner) => return pattern(inner, scope),
        _ => {}
    }
    operands(e)
        .into_iter()
        .try_for_each(|operand| expression(operand, scope))?;
    if let Expression::FunctionCall(function, arguments) = e {
        match function {
            Function::Rand => return Err(QueryError::Refused("RAND".to_owned())),
            Function::Uuid | Function::StrUuid => {
                return Err(QueryError::Refused("UUID".to_owned()));
            }
            Function::Now => {
                let now = OxLiteral::new_typed_literal(scope.now.clone(), xsd::DATE_TIME);
                *e = Expression::Literal(now);
            }
            Function::Custom(name)
                if matches!(name.as_str().strip_prefix(XSD), Some("dateTime" | "date")) =>
            {
                *name = NamedNode::new_unchecked(DATE_TIME);
            }
            Function::Concat => *e = growth::concat(std::mem::take(arguments)),
            Function::Replace => growth::replace(arguments)?,
            _ => {}
        }
    }
    Ok(())
}

/// Rewrites the sides of a comparison and makes them comparable.
fn comparison(
    a: &mut Expression,
    b: &mut Expression,
    scope: &mut QueryScope,
) -> Result<(), QueryError> {
    // The evaluator knows no units: a quantity compares by number with quantities of its unit only.
    if let Some((number, unit)) = constant_quantity(a).or_else(|| constant_quantity(b)) {
        for side in [a, b] {
            if constant_quantity(side).is_some() {
                *side =
                    Expression::Literal(OxLiteral::new_typed_literal(number.clone(), xsd::DOUBLE));
            } else {
                expression(side, scope)?;
                let unit = Expression::Literal(OxLiteral::new_simple_literal(&unit));
                wrap(side, AMOUNT, Some(unit));
            }
        }
        return Ok(());
    }
    // A constant date becomes a date-time, and so must the other side: the evaluator cannot compare
    // a date with a date-time, so the filter would be false for every row.
    let timed = is_time(a) || is_time(b);
    for side in [a, b] {
        let convert = timed && !is_time(side);
        expression(side, scope)?;
        if convert {
            wrap(side, DATE_TIME, None);
        }
    }
    Ok(())
}

/// Replaces an expression by a call of a custom function on it.
fn wrap(e: &mut Expression, function: &str, argument: Option<Expression>) {
    let inner = std::mem::replace(e, Expression::Bound(Variable::new_unchecked("x")));
    *e = growth::call(function, std::iter::once(inner).chain(argument).collect());
}

/// Number and unit of a constant quantity.
fn constant_quantity(e: &Expression) -> Option<(String, String)> {
    let Expression::Literal(literal) = e else {
        return None;
    };
    let (number, unit) = literal.value().split_once(char::is_whitespace)?;
    (literal.datatype().as_str() == QUANTITY).then(|| (number.to_owned(), unit.to_owned()))
}

/// Whether an expression is a constant date or date-time.
fn is_time(e: &Expression) -> bool {
    matches!(e, Expression::Literal(literal) if matches!(literal.datatype().as_str().strip_prefix(XSD), Some("dateTime" | "date"))
        && TimeSpan::parse(literal.value()).is_some())
}
