//! A small graph generated from a query's own patterns.

use std::collections::BTreeMap;

use kg::FrozenKg;
use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};
use kg::spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};
use kg::term::{Literal, Term};
use kg::term_literal;

use common::hash;

/// Nodes per variable.
const POOL: u64 = 4;
/// How many of ten possible triples exist.
const DENSITY: u64 = 6;

/// The namespace of generated nodes.
const MADE: &str = "http://made.example/";

/// What a query mentions.
#[derive(Default)]
pub(crate) struct QueryUses {
    /// Its triple patterns.
    pub(crate) triples: Vec<TriplePattern>,
    /// Constants that VALUES gives to variables.
    pub(crate) given: BTreeMap<String, Vec<Term>>,
    /// Variables that are compared or ordered, with the constants they are compared with.
    pub(crate) compared: BTreeMap<String, Vec<Literal>>,
}

/// The graph of a query; another seed gives another graph.
pub(super) fn graph(query: &Query, seed: u64) -> FrozenKg {
    let seen = QueryUses::of(query);
    let mut triples = Vec::new();
    for (number, triple) in seen.triples.iter().enumerate() {
        let NamedNodePattern::NamedNode(relation) = &triple.predicate else {
            continue;
        };
        let relation = Term::Iri(relation.as_str().to_owned());
        // Every node of the variable has the class, as in the schema of the published graphs.
        let always = matches!(triple.object, TermPattern::NamedNode(_))
            && matches!(triple.subject, TermPattern::Variable(_))
            && is_type(&relation);
        let objects = seen.pool(&triple.object, seed);
        for (i, subject) in seen.pool(&triple.subject, seed).into_iter().enumerate() {
            for (j, object) in objects.iter().enumerate() {
                if always || hash::number(seed, "made", &format!("{number} {i} {j}")) % 10 < DENSITY
                {
                    triples.push([subject.clone(), relation.clone(), object.clone()]);
                }
            }
        }
    }
    FrozenKg::from_triples(triples)
}

pub(crate) fn is_type(relation: &Term) -> bool {
    matches!(relation, Term::Iri(iri) if crate::graph::Vocabulary::new(None).is_type(iri))
}

impl QueryUses {
    /// What a query mentions; nothing for a query that is neither SELECT nor ASK.
    pub(crate) fn of(query: &Query) -> Self {
        let mut seen = Self::default();
        if let Query::Select { pattern, .. } | Query::Ask { pattern, .. } = query {
            seen.pattern(pattern);
        }
        seen
    }

    fn pool(&self, node: &TermPattern, seed: u64) -> Vec<Term> {
        match node {
            TermPattern::NamedNode(iri) => vec![Term::Iri(iri.as_str().to_owned())],
            TermPattern::Literal(value) => vec![Term::Literal(term_literal(value))],
            TermPattern::BlankNode(node) => made(node.as_str()),
            TermPattern::Variable(variable) => {
                let name = variable.as_str();
                match (self.given.get(name), self.compared.get(name)) {
                    (Some(terms), _) => terms.clone(),
                    (None, Some(constants)) => values(constants, seed),
                    (None, None) => made(name),
                }
            }
        }
    }

    fn pattern(&mut self, pattern: &GraphPattern) {
        match pattern {
            GraphPattern::Bgp { patterns } => self.triples.extend(patterns.iter().cloned()),
            GraphPattern::Join { left, right }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => {
                self.pattern(left);
                self.pattern(right);
            }
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => {
                self.pattern(left);
                self.pattern(right);
                expression
                    .iter()
                    .for_each(|condition| self.condition(condition));
            }
            GraphPattern::Filter { expr, inner } => {
                self.condition(expr);
                self.pattern(inner);
            }
            GraphPattern::Values {
                variables,
                bindings,
            } => {
                for (column, variable) in variables.iter().enumerate() {
                    let terms = bindings.iter().filter_map(|row| match row.get(column) {
                        Some(Some(GroundTerm::NamedNode(iri))) => {
                            Some(Term::Iri(iri.as_str().to_owned()))
                        }
                        Some(Some(GroundTerm::Literal(value))) => {
                            Some(Term::Literal(term_literal(value)))
                        }
                        _ => None,
                    });
                    self.given
                        .insert(variable.as_str().to_owned(), terms.collect());
                }
            }
            GraphPattern::Group {
                inner, aggregates, ..
            } => {
                for (_, aggregate) in aggregates {
                    use kg::spargebra::algebra::{AggregateExpression, AggregateFunction};
                    if let AggregateExpression::FunctionCall {
                        name: AggregateFunction::Max | AggregateFunction::Min,
                        expr,
                        ..
                    } = aggregate
                    {
                        self.attribute(expr, None);
                    }
                }
                self.pattern(inner);
            }
            GraphPattern::OrderBy { inner, expression } => {
                for key in expression {
                    let (OrderExpression::Asc(value) | OrderExpression::Desc(value)) = key;
                    self.attribute(value, None);
                }
                self.pattern(inner);
            }
            GraphPattern::Extend {
                inner, variable, ..
            } => {
                // The value of an aggregate is compared with an attribute of the same name outside.
                if matches!(inner.as_ref(), GraphPattern::Group { .. }) {
                    self.compared
                        .entry(variable.as_str().to_owned())
                        .or_default();
                }
                self.pattern(inner);
            }
            GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => self.pattern(inner),
            _ => {}
        }
    }

    fn condition(&mut self, condition: &Expression) {
        match condition {
            Expression::And(left, right) | Expression::Or(left, right) => {
                self.condition(left);
                self.condition(right);
            }
            Expression::Not(inner) => self.condition(inner),
            Expression::Exists(pattern) => self.pattern(pattern),
            Expression::Equal(a, b)
            | Expression::Greater(a, b)
            | Expression::GreaterOrEqual(a, b)
            | Expression::Less(a, b)
            | Expression::LessOrEqual(a, b) => match (a.as_ref(), b.as_ref()) {
                (other, Expression::Literal(value)) | (Expression::Literal(value), other) => {
                    self.attribute(other, Some(term_literal(value)));
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Marks the variables of an expression as attributes.
    fn attribute(&mut self, expression: &Expression, constant: Option<Literal>) {
        match expression {
            Expression::Variable(variable) => self
                .compared
                .entry(variable.as_str().to_owned())
                .or_default()
                .extend(constant),
            // The language of a text is no value of its own.
            Expression::FunctionCall(Function::Lang | Function::LangMatches, _) => {}
            Expression::FunctionCall(_, arguments) => arguments
                .iter()
                .for_each(|argument| self.attribute(argument, constant.clone())),
            _ => {}
        }
    }
}

fn made(name: &str) -> Vec<Term> {
    (0..POOL)
        .map(|i| Term::Iri(format!("{MADE}{name}n{i}")))
        .collect()
}

/// Values on both sides of the constants, with their datatype; whole numbers if there is no
/// constant.
pub(crate) fn values(constants: &[Literal], seed: u64) -> Vec<Term> {
    let mut found: Vec<Literal> = constants.to_vec();
    for i in 0..POOL {
        let shift = hash::number(seed, "value", &i.to_string()) % 7;
        found.push(match constants.first() {
            None => Literal::xsd((shift + i * 10).to_string(), "integer"),
            Some(constant) => near(constant, i64::try_from(shift).unwrap_or_default() - 3),
        });
    }
    found.into_iter().map(Term::Literal).collect()
}

/// A literal of the same kind, some steps away: numbers by one, times by a year.
fn near(constant: &Literal, steps: i64) -> Literal {
    let digits: String = constant
        .lexical
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let dated = constant.lexical.get(4..5) == Some("-") && digits.len() == 4;
    let lexical = match (
        dated,
        digits.parse::<i64>(),
        constant.lexical.parse::<f64>(),
    ) {
        (true, Ok(year), _) => format!("{:04}{}", year + steps, &constant.lexical[4..]),
        (false, Ok(number), _) if digits == constant.lexical => (number + steps).to_string(),
        (_, _, Ok(number)) => format!("{:?}", number + steps as f64),
        _ => format!("{} {steps}", constant.lexical),
    };
    Literal {
        lexical,
        ..constant.clone()
    }
}
