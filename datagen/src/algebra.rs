//! Pieces of SPARQL algebra that front ends build queries from; nothing here is ever text.

use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};
use kg::spargebra::term::{
    GroundTerm, Literal as RdfLiteral, NamedNode, NamedNodePattern, TermPattern, TriplePattern,
    Variable,
};
use kg::term::{Literal, Term, XSD};

/// A variable of this name.
pub(crate) fn variable(name: &str) -> Variable {
    Variable::new_unchecked(name)
}

/// An IRI as it stands.
pub(crate) fn iri(iri: &str) -> NamedNode {
    NamedNode::new_unchecked(iri)
}

/// A literal of the algebra.
pub(crate) fn literal(literal: &Literal) -> RdfLiteral {
    match (&literal.lang, &literal.datatype) {
        (Some(lang), _) => {
            RdfLiteral::new_language_tagged_literal_unchecked(&literal.lexical, lang)
        }
        (None, Some(datatype)) => RdfLiteral::new_typed_literal(&literal.lexical, iri(datatype)),
        (None, None) => RdfLiteral::new_simple_literal(&literal.lexical),
    }
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

/// Both patterns; an empty one adds nothing.
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

/// The variable is one of these terms; blank nodes name nothing outside their graph and are left out.
pub(crate) fn values(of: &str, terms: &[Term]) -> GraphPattern {
    let ground = |term: &Term| match term {
        Term::Iri(name) => Some(GroundTerm::NamedNode(iri(name))),
        Term::Literal(value) => Some(GroundTerm::Literal(literal(value))),
        Term::Blank(_) => None,
    };
    let bindings = terms
        .iter()
        .filter_map(ground)
        .map(|term| vec![Some(term)])
        .collect();
    GraphPattern::Values {
        variables: vec![variable(of)],
        bindings,
    }
}

/// The pattern, held to all these conditions.
pub(crate) fn filter(inner: GraphPattern, conditions: Vec<Expression>) -> GraphPattern {
    match conditions
        .into_iter()
        .reduce(|left, right| Expression::And(Box::new(left), Box::new(right)))
    {
        Some(expr) => GraphPattern::Filter {
            expr,
            inner: Box::new(inner),
        },
        None => inner,
    }
}

/// `left op right`.
pub(crate) fn compare(left: Expression, op: kg::value::Op, right: Expression) -> Expression {
    use kg::value::Op;
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

/// The different values of one variable.
pub(crate) fn distinct(inner: GraphPattern, of: &str) -> GraphPattern {
    let project = GraphPattern::Project {
        inner: Box::new(inner),
        variables: vec![variable(of)],
    };
    GraphPattern::Distinct {
        inner: Box::new(project),
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
    let expr = Expression::Variable(variable(of));
    let call = AggregateExpression::FunctionCall {
        name: function,
        expr,
        distinct,
    };
    let hidden = variable(&format!("{as_name}Value"));
    let group = GraphPattern::Group {
        inner: Box::new(inner),
        variables: Vec::new(),
        aggregates: vec![(hidden.clone(), call)],
    };
    let extend = GraphPattern::Extend {
        inner: Box::new(group),
        variable: variable(as_name),
        expression: Expression::Variable(hidden),
    };
    GraphPattern::Project {
        inner: Box::new(extend),
        variables: vec![variable(as_name)],
    }
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

/// The full IRI of a type of XML Schema.
pub(crate) fn xsd(local: &str) -> String {
    format!("{XSD}{local}")
}
