//! Values of KQA Pro's programs and queries (texts, quantities with units, years, dates), and how
//! they are compared.

use kg::Kg;
use kg::kqapro::{date, quantity, text, year};
use kg::spargebra::algebra::{Expression, Function};
use kg::spargebra::term::{TermPattern, Variable};
use kg::term::{Literal, Term};
use kg::value::Op;

use crate::algebra::{compare, literal};

/// A constant of a program or query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProgramValue {
    /// A text, a quantity or a date: one literal of the graph.
    Literal(Literal),
    /// A year, which covers its dates.
    Year(i64),
}

/// The required value of an attribute or qualifier.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValueConstraint {
    pub op: Op,
    pub value: ProgramValue,
}

/// The end of an edge with a required value, and the condition on it.
pub(super) type EdgeEnd = (TermPattern, Option<Expression>);

impl ValueConstraint {
    /// The end of an edge; a variable with this name unless it is a constant.
    pub(super) fn end(&self, name: &str) -> EdgeEnd {
        let variable = Variable::new_unchecked(name);
        match (&self.value, self.op) {
            (ProgramValue::Literal(value), Op::Eq) => (literal(value).into(), None),
            _ => {
                let condition = self.condition(&variable);
                (variable.into(), Some(condition))
            }
        }
    }

    pub(super) fn condition(&self, variable: &Variable) -> Expression {
        let left = Expression::Variable(variable.clone());
        match &self.value {
            ProgramValue::Literal(value) => {
                compare(left, self.op, Expression::Literal(literal(value)))
            }
            ProgramValue::Year(value) => {
                let value = Literal::xsd(value.to_string(), "integer");
                compare(
                    Expression::FunctionCall(Function::Year, vec![left]),
                    self.op,
                    Expression::Literal(literal(&value)),
                )
            }
        }
    }
}

/// A quantity as programs write it: `1.7 metre`, `100`.
pub(super) fn quantity_of(value: &str) -> Option<Literal> {
    let (number, unit) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    number
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .map(|number| quantity(number, unit))
}

/// A year or a date as programs write it.
pub(super) fn time_of(value: &str) -> Option<ProgramValue> {
    date(value)
        .map(ProgramValue::Literal)
        .or_else(|| value.parse().ok().map(ProgramValue::Year))
}

/// A constant of unknown type. It gets the type that the relation has in the graph, otherwise the
/// type that it looks like.
pub(super) fn guess(kg: Option<&dyn Kg>, relation: &str, value: &str) -> ProgramValue {
    let plain = Literal::plain(text(value));
    let candidates = [
        Some(plain.clone()),
        quantity_of(value),
        date(value),
        value.parse().ok().map(year),
    ];
    if let Some(kg) = kg
        && let Some(relation) = kg.find(&Term::Iri(relation.to_owned()))
    {
        let leads = |candidate: &Literal| {
            kg.find(&Term::Literal(candidate.clone()))
                .is_some_and(|node| !kg.heads(relation.relation(), node).is_empty())
        };
        if let Some(found) = candidates.into_iter().flatten().find(leads) {
            return match value.parse() {
                Ok(number) if found == year(number) => ProgramValue::Year(number),
                _ => ProgramValue::Literal(found),
            };
        }
    }
    match (time_of(value), quantity_of(value)) {
        (Some(time), _) => time,
        (None, Some(quantity)) => ProgramValue::Literal(quantity),
        (None, None) => ProgramValue::Literal(plain),
    }
}
