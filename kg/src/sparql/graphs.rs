//! `GRAPH` as SPARQL 1.1 defines it (section 18.6): the pattern is evaluated in each named graph by
//! itself, and the variable is bound to the graph's name afterwards.
//!
//! The evaluator instead gives every triple pattern inside `GRAPH ?g { … }` the variable as a fourth
//! place. For most patterns the result is the same. Other patterns are rewritten until it is, or
//! repeated for each named graph.

use std::collections::BTreeSet;

use oxigraph::model::NamedNode;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern, Variable};

use super::parts::{PatternPart, operands, parts};
use super::query::QueryError;
use crate::limits::QUERY_GRAPHS;

/// The name of the graph of all triples that are in no named graph, in FROM and GRAPH. Apache Jena
/// calls it so.
pub const UNNAMED_GRAPH: &str = "urn:x-arq:DefaultGraph";

/// The same graph in a rewritten GRAPH. No query can write this name, so a variable of GRAPH never stands for it.
pub(crate) const UNNAMED: &str = "";

/// Rewrites every GRAPH of a pattern. `named` are the visible named graphs, sorted. Returns those
/// that the evaluation needs.
///
/// # Errors
/// [`QueryError::Refused`] for a pattern that would have to be written for too many graphs.
pub(super) fn resolve(
    pattern: &mut GraphPattern,
    named: &[&str],
) -> Result<Vec<String>, QueryError> {
    let mut used = GraphsUsed::default();
    each_graph(pattern, named, &mut used)?;
    let names = named.iter().map(|&name| name.to_owned());
    Ok(if used.any {
        names.collect()
    } else {
        used.constants.into_iter().collect()
    })
}

/// Reads GRAPH in a graph without named graphs: `GRAPH <g>` reads the only graph, and `GRAPH ?g` has no
/// solutions.
pub(super) fn ignore(p: &mut GraphPattern) {
    for part in parts(p) {
        match part {
            PatternPart::Pattern(inner) => ignore(inner),
            PatternPart::Expression(inner) => ignore_in(inner),
        }
    }
    if let GraphPattern::Graph { name, inner } = p {
        *p = match name {
            NamedNodePattern::NamedNode(_) => std::mem::take(inner.as_mut()),
            NamedNodePattern::Variable(_) => nothing(),
        };
    }
}

fn ignore_in(e: &mut Expression) {
    match e {
        Expression::Exists(inner) => ignore(inner),
        _ => operands(e).into_iter().for_each(ignore_in),
    }
}

/// The graphs that a query reads.
#[derive(Default)]
struct GraphsUsed {
    /// Whether a variable may stand for any graph.
    any: bool,
    constants: BTreeSet<String>,
    /// Copies of patterns, one for each named graph.
    copies: usize,
}

/// A pattern without solutions.
fn nothing() -> GraphPattern {
    GraphPattern::Values {
        variables: Vec::new(),
        bindings: Vec::new(),
    }
}

fn each_graph(
    p: &mut GraphPattern,
    named: &[&str],
    used: &mut GraphsUsed,
) -> Result<(), QueryError> {
    let copies_before = used.copies;
    for part in parts(p) {
        match part {
            PatternPart::Pattern(inner) => each_graph(inner, named, used)?,
            PatternPart::Expression(inner) => in_expression(inner, named, used)?,
        }
    }
    let GraphPattern::Graph { name, inner } = p else {
        return Ok(());
    };
    match name {
        NamedNodePattern::NamedNode(node) => {
            let name = node.as_str();
            if name == UNNAMED_GRAPH {
                *node = self::node(UNNAMED);
            } else if named.binary_search(&name).is_ok() {
                used.constants.insert(name.to_owned());
            } else {
                *p = nothing();
            }
        }
        NamedNodePattern::Variable(variable) => {
            let mut carried = inner.as_ref().clone();
            if carry(&mut carried, variable) {
                **inner = carried;
                used.any = true;
            } else {
                let inside = used.copies - copies_before;
                used.copies = copies_before + named.len() * (1 + inside);
                if used.copies > QUERY_GRAPHS {
                    return Err(too_many_copies(variable, named.len()));
                }
                *p = for_each_graph(inner, variable, named);
                used.constants
                    .extend(named.iter().map(|&name| name.to_owned()));
            }
        }
    }
    Ok(())
}

fn in_expression(
    e: &mut Expression,
    named: &[&str],
    used: &mut GraphsUsed,
) -> Result<(), QueryError> {
    if let Expression::Exists(inner) = e {
        return each_graph(inner, named, used);
    }
    operands(e)
        .into_iter()
        .try_for_each(|operand| in_expression(operand, named, used))
}

fn too_many_copies(variable: &Variable, named: usize) -> QueryError {
    QueryError::Refused(format!(
        "LIMIT, MINUS or an aggregate without GROUP BY inside `GRAPH {variable} {{ … }}` over {named} named graphs (all \
         such GRAPH of a query make a copy of their pattern for each graph, in total at most {QUERY_GRAPHS}; choose \
         fewer graphs with FROM NAMED)"
    ))
}

/// The pattern in each graph, with its name.
fn for_each_graph(inner: &GraphPattern, variable: &Variable, named: &[&str]) -> GraphPattern {
    let in_graph = |name: &&str| GraphPattern::Join {
        left: Box::new(GraphPattern::Values {
            variables: vec![variable.clone()],
            bindings: vec![vec![Some(GroundTerm::NamedNode(node(name)))]],
        }),
        right: Box::new(GraphPattern::Graph {
            name: node(name).into(),
            inner: Box::new(inner.clone()),
        }),
    };
    let mut branches: Vec<GraphPattern> = named.iter().map(in_graph).collect();
    // A balanced tree is not deep.
    while branches.len() > 1 {
        let mut halves = branches.into_iter();
        branches = Vec::new();
        while let Some(left) = halves.next() {
            branches.push(match halves.next() {
                Some(right) => GraphPattern::Union {
                    left: Box::new(left),
                    right: Box::new(right),
                },
                None => left,
            });
        }
    }
    branches.pop().unwrap_or_else(nothing)
}

/// The name of a graph as a constant: also of one that is named by a blank node, which no query can
/// write.
fn node(name: &str) -> NamedNode {
    NamedNode::new_unchecked(name)
}

/// Changes a pattern inside `GRAPH ?g` so that each of its solutions binds `?g` when its triple
/// patterns do, and means the same. False if that is not possible; the pattern is then half changed.
fn carry(p: &mut GraphPattern, graph: &Variable) -> bool {
    if matches!(p, GraphPattern::Group { .. }) && mentions(p, graph) {
        return false;
    }
    match p {
        // An empty pattern binds each named graph.
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => true,
        // These do not read the graph of the outer GRAPH, but it must exist.
        GraphPattern::Values { .. } | GraphPattern::Graph { .. } => {
            *p = GraphPattern::Join {
                left: Box::new(std::mem::take(p)),
                right: Box::new(GraphPattern::default()),
            };
            true
        }
        GraphPattern::Join { left, right } => match (reads_graph(left), reads_graph(right)) {
            (true, false) => carry(left, graph),
            (false, true) => carry(right, graph),
            _ => carry(left, graph) && carry(right, graph),
        },
        GraphPattern::Union { left, right } => carry(left, graph) && carry(right, graph),
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => {
            let mentioned = mentions(right, graph)
                || expression
                    .as_mut()
                    .is_some_and(|e| expression_mentions(e, graph));
            (!mentioned || binds(left, graph))
                && expression.as_mut().is_none_or(|e| carry_exists(e, graph))
                && carry(left, graph)
                && carry(right, graph)
        }
        GraphPattern::Minus { left, right } => {
            let shared = |p: &GraphPattern| {
                let mut variables = BTreeSet::new();
                p.on_in_scope_variable(|v| {
                    variables.insert(v.clone());
                });
                variables
            };
            let both: Vec<Variable> = shared(left).intersection(&shared(right)).cloned().collect();
            if both.is_empty() {
                *p = std::mem::take(left.as_mut());
                return carry(p, graph);
            }
            // One variable that both sides always bind makes the graph irrelevant.
            let always = both.iter().any(|v| binds(left, v) && binds(right, v));
            always
                && (!mentions(right, graph) || binds(left, graph))
                && carry(left, graph)
                && carry(right, graph)
        }
        GraphPattern::Filter { expr, inner } => {
            (!expression_mentions(expr, graph) || binds(inner, graph))
                && carry_exists(expr, graph)
                && carry(inner, graph)
        }
        GraphPattern::Extend {
            inner,
            variable,
            expression,
        } => {
            variable != graph
                && (!expression_mentions(expression, graph) || binds(inner, graph))
                && carry_exists(expression, graph)
                && carry(inner, graph)
        }
        GraphPattern::Project { inner, variables } => {
            if !variables.contains(graph) {
                if mentions(inner, graph) {
                    return false;
                }
                variables.push(graph.clone());
            }
            carry(inner, graph)
        }
        GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => carry(inner, graph),
        // The order of a subquery without LIMIT has no effect.
        GraphPattern::OrderBy { inner, .. } => {
            *p = std::mem::take(inner.as_mut());
            carry(p, graph)
        }
        GraphPattern::Group {
            inner, variables, ..
        } => {
            // A group without keys has a solution also where the pattern has none.
            let has_keys = !variables.is_empty();
            variables.push(graph.clone());
            has_keys && carry(inner, graph)
        }
        GraphPattern::Slice { .. }
        | GraphPattern::Lateral { .. }
        | GraphPattern::Service { .. } => false,
    }
}

/// Whether a pattern reads the graph that is around it.
fn reads_graph(p: &GraphPattern) -> bool {
    !matches!(p, GraphPattern::Values { .. } | GraphPattern::Graph { .. })
}

/// [`carry`] for the patterns of EXISTS in an expression.
fn carry_exists(e: &mut Expression, graph: &Variable) -> bool {
    if let Expression::Exists(inner) = e {
        return carry(inner, graph);
    }
    let mut operands = operands(e).into_iter();
    operands.all(|operand| carry_exists(operand, graph))
}

/// Whether a pattern contains a variable anywhere.
fn mentions(p: &mut GraphPattern, variable: &Variable) -> bool {
    let own = match p {
        GraphPattern::Bgp { patterns } => patterns.iter().any(|t| triple_has(t, variable)),
        GraphPattern::Path {
            subject, object, ..
        } => term_is(subject, variable) || term_is(object, variable),
        GraphPattern::Values { variables, .. }
        | GraphPattern::Project { variables, .. }
        | GraphPattern::Group { variables, .. } => variables.contains(variable),
        GraphPattern::Extend { variable: own, .. } => own == variable,
        GraphPattern::Graph { name, .. } | GraphPattern::Service { name, .. } => {
            matches!(name, NamedNodePattern::Variable(own) if own == variable)
        }
        _ => false,
    };
    own || parts(p).into_iter().any(|part| match part {
        PatternPart::Pattern(inner) => mentions(inner, variable),
        PatternPart::Expression(inner) => expression_mentions(inner, variable),
    })
}

fn expression_mentions(e: &mut Expression, variable: &Variable) -> bool {
    match e {
        Expression::Variable(own) | Expression::Bound(own) => own == variable,
        Expression::Exists(inner) => mentions(inner, variable),
        _ => operands(e)
            .into_iter()
            .any(|operand| expression_mentions(operand, variable)),
    }
}

fn triple_has(triple: &TriplePattern, variable: &Variable) -> bool {
    term_is(&triple.subject, variable)
        || term_is(&triple.object, variable)
        || matches!(&triple.predicate, NamedNodePattern::Variable(own) if own == variable)
}

fn term_is(term: &TermPattern, variable: &Variable) -> bool {
    matches!(term, TermPattern::Variable(own) if own == variable)
}

/// Whether every solution of a pattern binds a variable by itself.
fn binds(p: &GraphPattern, variable: &Variable) -> bool {
    match p {
        GraphPattern::Bgp { patterns } => patterns.iter().any(|t| triple_has(t, variable)),
        GraphPattern::Path {
            subject, object, ..
        } => term_is(subject, variable) || term_is(object, variable),
        GraphPattern::Values {
            variables,
            bindings,
        } => {
            let at = variables.iter().position(|own| own == variable);
            at.is_some_and(|at| {
                bindings
                    .iter()
                    .all(|row| row.get(at).is_some_and(Option::is_some))
            })
        }
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            binds(left, variable) || binds(right, variable)
        }
        GraphPattern::Union { left, right } => binds(left, variable) && binds(right, variable),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => {
            binds(left, variable)
        }
        GraphPattern::Graph { name, inner } => {
            matches!(name, NamedNodePattern::Variable(own) if own == variable)
                || binds(inner, variable)
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => binds(inner, variable),
        GraphPattern::Project { inner, variables }
        | GraphPattern::Group {
            inner, variables, ..
        } => variables.contains(variable) && binds(inner, variable),
        GraphPattern::Service { .. } => false,
    }
}
