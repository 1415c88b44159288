//! From groups back to algebra, and rewriting of expressions. Conversion runs SPARQL on the graph
//! to check whether the parts that a program cannot express have any effect there.

use kg::spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use kg::spargebra::term::{
    Literal as RdfLiteral, NamedNode, NamedNodePattern, TermPattern, TriplePattern, Variable,
};
use kg::term::{Literal, RelId};
use kg::{Kg, Schema};

use crate::algebra::{and, exists, not, or, union};
pub(crate) use crate::algebra::{
    constant, differs, filter, ground, join, literal as rdf_literal, nothing, replace, values_of,
};

use super::query_graph::{Comparison, Edge, GraphNode, PathStep, PatternGroup, TimeInterval, Var};

/// The variable with a query graph's number.
pub(crate) fn variable(var: Var) -> Variable {
    Variable::new_unchecked(format!("v{var}"))
}

/// The number of a variable from [`variable`].
fn number(variable: &Variable) -> Option<Var> {
    variable
        .as_str()
        .strip_prefix('v')
        .and_then(|digits| digits.parse().ok())
}

/// The variable in a test that was taken out of its query.
pub(crate) fn tail() -> Variable {
    Variable::new_unchecked("t")
}

/// Renames the numbered variables of an expression.
pub(crate) fn renumber(expression: &Expression, rename: &dyn Fn(Var) -> Var) -> Expression {
    replace(expression, &mut |old| {
        number(old).map_or_else(|| old.clone().into(), |var| variable(rename(var)).into())
    })
}

/// The expression with the tail's variable in place of a numbered one.
pub(crate) fn of_tail(expression: &Expression, var: Var) -> Expression {
    let wanted = variable(var);
    replace(expression, &mut |old| {
        if *old == wanted {
            tail().into()
        } else {
            old.clone().into()
        }
    })
}

pub(crate) fn variables(expression: &Expression) -> Vec<Var> {
    let mut found = Vec::new();
    replace(expression, &mut |old| {
        found.extend(number(old));
        old.clone().into()
    });
    found.sort_unstable();
    found.dedup();
    found
}

fn end(node: &GraphNode) -> TermPattern {
    match node {
        GraphNode::Var(var) => variable(*var).into(),
        GraphNode::Entity(iri) => NamedNode::new_unchecked(iri).into(),
        GraphNode::Literal(literal) => rdf_literal(literal).into(),
    }
}

/// One edge; alternatives become a property path.
pub(crate) fn along(subject: TermPattern, steps: &[PathStep], object: TermPattern) -> GraphPattern {
    let named = |step: &PathStep| NamedNode::new_unchecked(&step.relation);
    let triple = |subject, predicate: NamedNode, object| GraphPattern::Bgp {
        patterns: vec![TriplePattern {
            subject,
            predicate: NamedNodePattern::NamedNode(predicate),
            object,
        }],
    };
    match steps {
        [step] if step.forward => triple(subject, named(step), object),
        // A literal cannot be a subject, so the step is reversed only if the ends allow it.
        [step] if !matches!(object, TermPattern::Literal(_)) => {
            triple(object, named(step), subject)
        }
        _ => {
            let paths = steps.iter().map(|step| {
                let path = PropertyPathExpression::NamedNode(named(step));
                if step.forward {
                    path
                } else {
                    PropertyPathExpression::Reverse(Box::new(path))
                }
            });
            let path =
                paths.reduce(|a, b| PropertyPathExpression::Alternative(Box::new(a), Box::new(b)));
            match path {
                Some(path) => GraphPattern::Path {
                    subject,
                    path,
                    object,
                },
                None => nothing(),
            }
        }
    }
}

/// Steps along any of a graph's relations.
pub(crate) fn any_of(kg: &dyn Kg, relations: &[RelId]) -> Vec<PathStep> {
    let iris = relations
        .iter()
        .filter_map(|relation| kg.iri(relation.node()));
    iris.map(PathStep::forward).collect()
}

/// `NOT EXISTS {?y r ?a} || EXISTS {?y r ?t FILTER(test on ?t)}`, for both ends of an interval.
fn interval(interval: &TimeInterval) -> Expression {
    let side = |relation: &str, test: &Expression| {
        let step = [PathStep::forward(relation)];
        let pattern = along(end(&interval.node), &step, tail().into());
        let present = exists(filter(pattern.clone(), test.clone()));
        or(not(exists(pattern)), present)
    };
    and(
        side(&interval.from, &interval.starts),
        side(&interval.to, &interval.ends),
    )
}

/// The part of the group that a program expresses, as a pattern over numbered variables: everything
/// except inequalities between variables and [`PatternGroup::tests`]. A class may be given by any
/// of the graph's class relations, a label by any of its label relations.
pub(crate) fn pattern(kg: &dyn Kg, group: &PatternGroup) -> GraphPattern {
    let schema: &Schema = kg.schema();
    let mut whole = nothing();
    for edge in &group.edges {
        whole = join(whole, edge_pattern(edge));
    }
    let typed = any_of(kg, &schema.type_relations);
    for (node, class) in &group.classes {
        whole = join(
            whole,
            along(end(node), &typed, NamedNode::new_unchecked(class).into()),
        );
    }
    let labelled = any_of(kg, &schema.label_relations);
    for (var, label) in &group.labels {
        whole = join(
            whole,
            along(variable(*var).into(), &labelled, rdf_literal(label).into()),
        );
    }
    for (var, terms) in &group.values {
        whole = join(
            whole,
            values_of(variable(*var), terms.iter().filter_map(ground)),
        );
    }
    for branches in &group.unions {
        let branches = branches.iter().map(|branch| pattern(kg, branch));
        whole = join(whole, union(branches));
    }
    for interval_ in &group.intervals {
        whole = filter(whole, interval(interval_));
    }
    for comparison in &group.comparisons {
        whole = match same_literal(&comparison.test) {
            Some(literal) => {
                let only = [literal.clone().into()];
                join(whole, values_of(variable(comparison.var), only))
            }
            None => filter(whole, comparison.test.clone()),
        };
    }
    for (_, either) in &group.choices {
        whole = filter(whole, any(either));
    }
    for ordered in &group.ordered {
        whole = filter(whole, ordered.test.clone());
    }
    for (var, term) in &group.differ {
        if let Some(term) = constant(term) {
            whole = filter(whole, differs(variable(*var).into(), term));
        }
    }
    whole
}

/// The literal that a variable must be, as a term.
pub(crate) fn same_literal(test: &Expression) -> Option<&RdfLiteral> {
    match test {
        Expression::SameTerm(left, right) => match (left.as_ref(), right.as_ref()) {
            (Expression::Variable(_), Expression::Literal(literal)) => Some(literal),
            _ => None,
        },
        _ => None,
    }
}

/// Whether one of several comparisons holds.
pub(crate) fn any(either: &[Comparison]) -> Expression {
    let tests = either.iter().map(|comparison| comparison.test.clone());
    let never = || rdf_literal(&Literal::xsd("false", "boolean")).into();
    tests.reduce(or).unwrap_or_else(never)
}

pub(crate) fn edge_pattern(edge: &Edge) -> GraphPattern {
    along(end(&edge.subject), &edge.steps, end(&edge.object))
}
