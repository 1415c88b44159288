//! Builders of SPARQL algebra. Queries are never assembled from text.

pub(crate) use kg::algebra_literal as literal;
use kg::operands;
use kg::spargebra::Query;
use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, GraphPattern, OrderExpression,
};
use kg::spargebra::term::{
    GroundTerm, NamedNode, NamedNodePattern, TermPattern, TriplePattern, Variable,
};
use kg::term::{Term, XSD};
use kg::value::{Extreme, Op};

pub(crate) fn variable(name: &str) -> Variable {
    Variable::new_unchecked(name)
}

/// An IRI, unchecked.
pub(crate) fn iri(iri: &str) -> NamedNode {
    NamedNode::new_unchecked(iri)
}

/// A triple with a constant predicate.
pub(crate) fn triple(
    subject: impl Into<TermPattern>,
    relation: &str,
    object: impl Into<TermPattern>,
) -> TriplePattern {
    TriplePattern {
        subject: subject.into(),
        predicate: NamedNodePattern::NamedNode(iri(relation)),
        object: object.into(),
    }
}

/// A term as a constant; `None` for blank nodes.
pub(crate) fn ground(term: &Term) -> Option<GroundTerm> {
    match term {
        Term::Iri(iri) => Some(self::iri(iri).into()),
        Term::Literal(literal) => Some(self::literal(literal).into()),
        Term::Blank(_) => None,
    }
}

/// A term as an expression; `None` for blank nodes.
pub(crate) fn constant(term: &Term) -> Option<Expression> {
    match term {
        Term::Iri(iri) => Some(self::iri(iri).into()),
        Term::Literal(literal) => Some(self::literal(literal).into()),
        Term::Blank(_) => None,
    }
}

/// The empty pattern, which joins with anything.
pub(crate) fn nothing() -> GraphPattern {
    GraphPattern::Bgp {
        patterns: Vec::new(),
    }
}

/// `a != b`.
pub(crate) fn differs(a: Expression, b: Expression) -> Expression {
    Expression::Not(Box::new(Expression::Equal(Box::new(a), Box::new(b))))
}

/// The join of both patterns; an empty one adds nothing.
pub(crate) fn join(left: GraphPattern, right: GraphPattern) -> GraphPattern {
    match (left, right) {
        (GraphPattern::Bgp { patterns }, other) | (other, GraphPattern::Bgp { patterns })
            if patterns.is_empty() =>
        {
            other
        }
        (GraphPattern::Bgp { patterns: mut left }, GraphPattern::Bgp { patterns: right }) => {
            left.extend(right);
            GraphPattern::Bgp { patterns: left }
        }
        (left, right) => GraphPattern::Join {
            left: Box::new(left),
            right: Box::new(right),
        },
    }
}

/// The variable is one of these terms. Blank nodes have no name outside their graph and are left
/// out.
pub(crate) fn values(of: &str, terms: &[Term]) -> GraphPattern {
    values_of(variable(of), terms.iter().filter_map(ground))
}

/// `VALUES` for one variable.
pub(crate) fn values_of(
    variable: Variable,
    terms: impl IntoIterator<Item = GroundTerm>,
) -> GraphPattern {
    GraphPattern::Values {
        variables: vec![variable],
        bindings: terms.into_iter().map(|term| vec![Some(term)]).collect(),
    }
}

/// The pattern under all these conditions.
pub(crate) fn filter_all(
    inner: GraphPattern,
    conditions: impl IntoIterator<Item = Expression>,
) -> GraphPattern {
    let all = conditions.into_iter().reduce(and);
    match all {
        Some(expr) => filter(inner, expr),
        None => inner,
    }
}

/// The pattern under one condition.
pub(crate) fn filter(inner: GraphPattern, expr: Expression) -> GraphPattern {
    GraphPattern::Filter {
        expr,
        inner: Box::new(inner),
    }
}

/// The union of the patterns; an empty list gives the empty pattern.
pub(crate) fn union(patterns: impl IntoIterator<Item = GraphPattern>) -> GraphPattern {
    patterns
        .into_iter()
        .reduce(|left, right| GraphPattern::Union {
            left: Box::new(left),
            right: Box::new(right),
        })
        .unwrap_or_else(nothing)
}

/// `left && right`.
pub(crate) fn and(left: Expression, right: Expression) -> Expression {
    Expression::And(Box::new(left), Box::new(right))
}

/// `left || right`.
pub(crate) fn or(left: Expression, right: Expression) -> Expression {
    Expression::Or(Box::new(left), Box::new(right))
}

/// `!inner`.
pub(crate) fn not(inner: Expression) -> Expression {
    Expression::Not(Box::new(inner))
}

/// `sameTerm(left, right)`.
pub(crate) fn same_term(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    Expression::SameTerm(Box::new(left.into()), Box::new(right.into()))
}

/// `EXISTS { pattern }`.
pub(crate) fn exists(pattern: GraphPattern) -> Expression {
    Expression::Exists(Box::new(pattern))
}

/// `left op right`.
pub(crate) fn compare(left: Expression, op: Op, right: Expression) -> Expression {
    let (left, right) = (Box::new(left), Box::new(right));
    match op {
        Op::Eq => Expression::Equal(left, right),
        Op::Ne => Expression::Not(Box::new(Expression::Equal(left, right))),
        Op::Lt => Expression::Less(left, right),
        Op::Le => Expression::LessOrEqual(left, right),
        Op::Gt => Expression::Greater(left, right),
        Op::Ge => Expression::GreaterOrEqual(left, right),
    }
}

/// The distinct values of one variable, by name.
pub(crate) fn distinct(inner: GraphPattern, of: &str) -> GraphPattern {
    distinct_values(inner, variable(of))
}

pub(crate) fn distinct_values(inner: GraphPattern, variable: Variable) -> GraphPattern {
    GraphPattern::Distinct {
        inner: Box::new(project(inner, vec![variable])),
    }
}

/// The pattern with only these variables.
pub(crate) fn project(inner: GraphPattern, variables: Vec<Variable>) -> GraphPattern {
    GraphPattern::Project {
        inner: Box::new(inner),
        variables,
    }
}

/// Aggregates over all solutions of a pattern.
pub(crate) fn group_all(
    inner: GraphPattern,
    aggregates: Vec<(Variable, AggregateExpression)>,
) -> GraphPattern {
    GraphPattern::Group {
        inner: Box::new(inner),
        variables: Vec::new(),
        aggregates,
    }
}

pub(crate) fn aggregate_call(
    name: AggregateFunction,
    expr: Expression,
    distinct: bool,
) -> AggregateExpression {
    AggregateExpression::FunctionCall {
        name,
        expr,
        distinct,
    }
}

/// The aggregate that computes an extreme.
pub(crate) fn extreme_function(extreme: Extreme) -> AggregateFunction {
    match extreme {
        Extreme::Max => AggregateFunction::Max,
        Extreme::Min => AggregateFunction::Min,
    }
}

/// `ORDER BY` one key, so that the extreme comes first.
pub(crate) fn order_by(inner: GraphPattern, key: Expression, extreme: Extreme) -> GraphPattern {
    let key = match extreme {
        Extreme::Max => OrderExpression::Desc(key),
        Extreme::Min => OrderExpression::Asc(key),
    };
    GraphPattern::OrderBy {
        inner: Box::new(inner),
        expression: vec![key],
    }
}

/// `LIMIT 1`.
pub(crate) fn first(inner: GraphPattern) -> GraphPattern {
    GraphPattern::Slice {
        inner: Box::new(inner),
        start: 0,
        length: Some(1),
    }
}

/// One aggregate of a variable over all solutions, under a new name.
pub(crate) fn aggregate(
    inner: GraphPattern,
    function: AggregateFunction,
    distinct: bool,
    of: &str,
    as_name: &str,
) -> GraphPattern {
    let call = aggregate_call(function, variable(of).into(), distinct);
    let hidden = variable(&format!("{as_name}Value"));
    let extend = GraphPattern::Extend {
        inner: Box::new(group_all(inner, vec![(hidden.clone(), call)])),
        variable: variable(as_name),
        expression: Expression::Variable(hidden),
    };
    project(extend, vec![variable(as_name)])
}

/// The query of a projected pattern.
pub(crate) fn select(pattern: GraphPattern) -> Query {
    Query::Select {
        dataset: None,
        pattern,
        base_iri: None,
    }
}

/// Whether the pattern has a solution.
pub(crate) fn ask(pattern: GraphPattern) -> Query {
    Query::Ask {
        dataset: None,
        pattern,
        base_iri: None,
    }
}

/// The full IRI of an XML Schema type.
pub(crate) fn xsd(local: &str) -> String {
    format!("{XSD}{local}")
}

/// The expression with each of its direct sub-expressions replaced; patterns of EXISTS stay.
pub(crate) fn map_parts(
    expression: &Expression,
    map: &mut dyn FnMut(&Expression) -> Expression,
) -> Expression {
    let mut mapped = expression.clone();
    for operand in operands(&mut mapped) {
        *operand = map(operand);
    }
    mapped
}

/// The expression with every variable replaced, except in the patterns of EXISTS.
pub(crate) fn replace(
    expression: &Expression,
    with: &mut dyn FnMut(&Variable) -> Expression,
) -> Expression {
    let mut replaced = expression.clone();
    replace_in(&mut replaced, with);
    replaced
}

fn replace_in(expression: &mut Expression, with: &mut dyn FnMut(&Variable) -> Expression) {
    if let Expression::Variable(variable) = expression {
        *expression = with(variable);
        return;
    }
    for operand in operands(expression) {
        replace_in(operand, with);
    }
}
