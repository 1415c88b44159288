//! KQA Pro's SPARQL as a query of the graph: packed value nodes (`pred:value`, `pred:unit`,
//! `pred:year`, `pred:date`) become literals, facts (`pred:fact_h`, `pred:fact_r`, `pred:fact_t`)
//! become statements, names become nodes.

use std::collections::BTreeMap;

use kg::Kg;
use kg::kqapro::{
    DIRECT, INSTANCE_OF, QUALIFIER, STATEMENT, STATEMENT_VALUE, date, quantity, text,
};
use kg::normalise;
use kg::spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};
use kg::spargebra::term::{
    Literal as RdfLiteral, NamedNodePattern, TermPattern, TriplePattern, Variable,
};
use kg::spargebra::{Query, SparqlParser};
use kg::term::{Literal, RDFS_LABEL, XSD};
use kg::value::Op;

use super::ground::{ground, walk};
use super::value::{ProgramValue, ValueConstraint};
use crate::Refusal;
use crate::algebra::{filter_all, literal, map_parts, triple};

/// The base of the queries' relative IRIs; used only in this file.
const BASE: &str = "http://kqapro.invalid/";

/// The known parts of a value node.
#[derive(Default)]
struct ValueNode {
    value: Option<TermPattern>,
    unit: Option<String>,
    year: Option<TermPattern>,
    date: Option<TermPattern>,
}

/// The known parts of a fact node.
#[derive(Default)]
struct FactNode {
    head: Option<TermPattern>,
    relation: Option<String>,
    tail: Option<TermPattern>,
}

/// What a variable denotes that is bound to a part of a value.
enum ValuePart {
    /// The amount of a quantity in a unit, or a text.
    Amount(String, String),
    /// The year of a time.
    Year(String),
    /// A date.
    Date(String),
}

#[derive(Default)]
struct Unpacker {
    packed: BTreeMap<String, ValueNode>,
    facts: BTreeMap<String, FactNode>,
    parts: BTreeMap<String, ValuePart>,
    unsupported: Option<String>,
}

/// Reads a query.
///
/// # Errors
/// [`Refusal::Syntax`], or the construct that a query graph cannot represent, with details.
pub(super) fn read(sparql: &str, kg: Option<&dyn Kg>) -> Result<Query, (Refusal, String)> {
    let syntax = |message: String| (Refusal::Syntax, message);
    let normal = normalise(sparql).map_err(|error| syntax(error.to_string()))?;
    let parser = SparqlParser::new()
        .with_base_iri(BASE)
        .map_err(|error| syntax(error.to_string()))?;
    let mut query = parser
        .parse_query(&normal)
        .map_err(|error| syntax(error.to_string()))?;
    let (Query::Select {
        pattern, base_iri, ..
    }
    | Query::Ask {
        pattern, base_iri, ..
    }) = &mut query
    else {
        return Err((Refusal::NotSelectOrAsk, String::new()));
    };
    *base_iri = None;
    let mut reader = Unpacker::default();
    walk(pattern, &mut |part| reader.collect(part));
    reader.name_parts();
    walk(pattern, &mut |part| reader.rewrite(part));
    if let Some(unsupported) = reader.unsupported {
        return Err((Refusal::Unsupported, unsupported));
    }
    ground(&mut query, kg);
    Ok(query)
}

/// The name of a variable or blank node.
fn name(node: &TermPattern) -> Option<&str> {
    match node {
        TermPattern::Variable(variable) => Some(variable.as_str()),
        TermPattern::BlankNode(node) => Some(node.as_str()),
        _ => None,
    }
}

fn constant(node: &TermPattern) -> Option<&RdfLiteral> {
    match node {
        TermPattern::Literal(value) => Some(value),
        _ => None,
    }
}

/// The number of a literal, if its datatype is numeric.
fn amount(value: &RdfLiteral) -> Option<f64> {
    let numeric = value
        .datatype()
        .as_str()
        .strip_prefix(XSD)
        .is_some_and(|local| matches!(local, "double" | "decimal" | "integer" | "float" | "int"));
    if numeric {
        value.value().parse().ok()
    } else {
        None
    }
}

fn as_quantity(value: &RdfLiteral, unit: &str) -> Literal {
    amount(value).map_or_else(
        || Literal::plain(text(value.value())),
        |number| quantity(number, unit),
    )
}

impl Unpacker {
    /// Collects the parts of value and fact nodes.
    fn collect(&mut self, part: &GraphPattern) {
        let GraphPattern::Bgp { patterns } = part else {
            return;
        };
        for triple in patterns {
            let (NamedNodePattern::NamedNode(relation), Some(subject)) =
                (&triple.predicate, name(&triple.subject))
            else {
                continue;
            };
            let (object, subject) = (&triple.object, subject.to_owned());
            match relation.as_str() {
                "pred:fact_h" => self.facts.entry(subject).or_default().head = Some(object.clone()),
                "pred:fact_t" => self.facts.entry(subject).or_default().tail = Some(object.clone()),
                "pred:fact_r" => {
                    if let TermPattern::NamedNode(relation) = object {
                        self.facts.entry(subject).or_default().relation =
                            relation.as_str().strip_prefix(BASE).map(str::to_owned);
                    }
                }
                part @ ("pred:value" | "pred:unit" | "pred:year" | "pred:date") => {
                    let node = self.packed.entry(subject).or_default();
                    match part {
                        "pred:value" => node.value = Some(object.clone()),
                        "pred:year" => node.year = Some(object.clone()),
                        "pred:date" => node.date = Some(object.clone()),
                        _ => node.unit = constant(object).map(|unit| unit.value().to_owned()),
                    }
                }
                _ => {}
            }
        }
    }

    /// Records the variables that are bound to parts of values.
    fn name_parts(&mut self) {
        for (node, packed) in &self.packed {
            let unit = || packed.unit.clone().unwrap_or_default();
            let of = |part: &Option<TermPattern>| part.as_ref().and_then(name).map(str::to_owned);
            let named = [
                of(&packed.value).map(|name| (name, ValuePart::Amount(node.clone(), unit()))),
                of(&packed.year).map(|name| (name, ValuePart::Year(node.clone()))),
                of(&packed.date).map(|name| (name, ValuePart::Date(node.clone()))),
            ];
            self.parts.extend(named.into_iter().flatten());
        }
    }

    /// The literal of a value node, if the query fixes it.
    fn fixed(&self, node: &TermPattern) -> Option<Literal> {
        let packed = self.packed.get(name(node)?)?;
        if let Some(value) = packed.value.as_ref().and_then(constant) {
            return Some(as_quantity(
                value,
                packed.unit.as_deref().unwrap_or_default(),
            ));
        }
        packed
            .date
            .as_ref()
            .and_then(constant)
            .and_then(|value| date(value.value()))
    }

    fn end(&self, node: &TermPattern) -> TermPattern {
        match self.fixed(node) {
            Some(value) => literal(&value).into(),
            None => node.clone(),
        }
    }

    fn rewrite(&mut self, part: &mut GraphPattern) {
        match part {
            GraphPattern::Bgp { patterns } => {
                let patterns = std::mem::take(patterns);
                *part = self.triples(&patterns);
            }
            GraphPattern::Filter { expr, .. } => *expr = self.expression(expr),
            GraphPattern::OrderBy { expression, .. } => {
                for key in expression {
                    let (OrderExpression::Asc(value) | OrderExpression::Desc(value)) = key;
                    *value = self.expression(value);
                }
            }
            GraphPattern::Path { .. } => self.unsupported = Some("a property path".to_owned()),
            _ => {}
        }
    }

    fn triples(&mut self, patterns: &[TriplePattern]) -> GraphPattern {
        let mut made = Vec::new();
        let mut conditions = Vec::new();
        for one in patterns {
            let NamedNodePattern::NamedNode(relation) = &one.predicate else {
                made.push(one.clone());
                continue;
            };
            let subject = name(&one.subject);
            match relation.as_str() {
                "pred:value" | "pred:unit" | "pred:date" | "pred:fact_r" | "pred:fact_t" => {}
                "pred:year" => {
                    // A given year covers all its dates. A year that is compared is handled in the
                    // comparison.
                    if let (Some(node), Some(value)) = (subject, constant(&one.object)) {
                        match value.value().parse() {
                            Ok(year) => {
                                let wanted = ValueConstraint {
                                    op: Op::Eq,
                                    value: ProgramValue::Year(year),
                                };
                                conditions.push(wanted.condition(&Variable::new_unchecked(node)));
                            }
                            Err(_) => {
                                self.unsupported =
                                    Some(format!("`{}` is not a year", value.value()));
                            }
                        }
                    }
                }
                "pred:fact_h" => match subject.and_then(|subject| self.facts.get(subject)) {
                    Some(FactNode {
                        head: Some(head),
                        relation: Some(relation),
                        tail: Some(tail),
                    }) => {
                        made.push(triple(
                            head.clone(),
                            &format!("{STATEMENT}{relation}"),
                            one.subject.clone(),
                        ));
                        made.push(triple(
                            one.subject.clone(),
                            &format!("{STATEMENT_VALUE}{relation}"),
                            self.end(tail),
                        ));
                    }
                    _ => {
                        self.unsupported = Some("a fact without head, relation or tail".to_owned());
                    }
                },
                "pred:name" => match &one.object {
                    TermPattern::Literal(name) => {
                        made.push(triple(
                            one.subject.clone(),
                            RDFS_LABEL,
                            RdfLiteral::new_simple_literal(text(name.value())),
                        ));
                    }
                    _ => made.push(triple(one.subject.clone(), RDFS_LABEL, one.object.clone())),
                },
                "pred:instance_of" => {
                    made.push(triple(one.subject.clone(), INSTANCE_OF, one.object.clone()));
                }
                other => match other.strip_prefix(BASE) {
                    None => self.unsupported = Some(format!("the predicate <{other}>")),
                    Some(key)
                        if subject.is_some_and(|subject| self.facts.contains_key(subject)) =>
                    {
                        made.push(triple(
                            one.subject.clone(),
                            &format!("{QUALIFIER}{key}"),
                            self.end(&one.object),
                        ));
                    }
                    // The statement already states it.
                    Some(key)
                        if self.facts.values().any(|fact| {
                            fact.relation.as_deref() == Some(key)
                                && fact.head.as_ref() == Some(&one.subject)
                                && fact.tail.as_ref() == Some(&one.object)
                        }) => {}
                    Some(key) => made.push(triple(
                        one.subject.clone(),
                        &format!("{DIRECT}{key}"),
                        self.end(&one.object),
                    )),
                },
            }
        }
        filter_all(GraphPattern::Bgp { patterns: made }, conditions)
    }

    /// An expression over whole values instead of their parts.
    fn expression(&self, expression: &Expression) -> Expression {
        match expression {
            Expression::Equal(a, b)
            | Expression::Greater(a, b)
            | Expression::GreaterOrEqual(a, b)
            | Expression::Less(a, b)
            | Expression::LessOrEqual(a, b) => map_parts(expression, &mut |side| {
                let other = if side == a.as_ref() { b } else { a };
                self.side(side, other)
            }),
            Expression::And(..) | Expression::Or(..) | Expression::Not(_) => {
                map_parts(expression, &mut |part| self.expression(part))
            }
            other => self.side(other, other),
        }
    }

    /// One side of a comparison with `other`.
    fn side(&self, side: &Expression, other: &Expression) -> Expression {
        let part = |expression: &Expression| match expression {
            Expression::Variable(variable) => self.parts.get(variable.as_str()),
            _ => None,
        };
        let whole = |node: &str| Expression::Variable(Variable::new_unchecked(node));
        match (side, part(side), part(other)) {
            (_, Some(ValuePart::Amount(node, _) | ValuePart::Date(node)), _) => whole(node),
            (_, Some(ValuePart::Year(node)), _) => {
                Expression::FunctionCall(Function::Year, vec![whole(node)])
            }
            (Expression::Literal(value), None, Some(ValuePart::Amount(_, unit))) => {
                Expression::Literal(literal(&as_quantity(value, unit)))
            }
            (Expression::Literal(value), None, Some(ValuePart::Date(_))) => Expression::Literal(
                date(value.value()).map_or_else(|| value.clone(), |date| literal(&date)),
            ),
            _ => side.clone(),
        }
    }
}
