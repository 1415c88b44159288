//! The sides of a comparison in SPARQL's algebra.

use kg::spargebra::algebra::{Expression, Function};
use kg::spargebra::term::Variable;
use kg::term::{Literal, Term, XSD};
use kg::term_literal;

use crate::refusal::Refusal;

/// One side of a comparison, without casts and `str`.
pub(super) enum Operand<'e> {
    Var(&'e Variable),
    Year(&'e Variable),
    Iri(String),
    Literal(Literal),
}

/// Reads one side of a comparison.
pub(super) fn operand(expression: &Expression) -> Result<Operand<'_>, Refusal> {
    match expression {
        Expression::Variable(variable) => Ok(Operand::Var(variable)),
        Expression::NamedNode(iri) => Ok(Operand::Iri(iri.as_str().to_owned())),
        Expression::Literal(literal) => Ok(Operand::Literal(term_literal(literal))),
        Expression::UnaryPlus(inner) => operand(inner),
        Expression::UnaryMinus(inner) => match operand(inner)? {
            Operand::Literal(literal) => Ok(Operand::Literal(Literal {
                lexical: format!("-{}", literal.lexical),
                ..literal
            })),
            _ => Err(Refusal::Filter),
        },
        Expression::FunctionCall(function, arguments) => match (function, arguments.as_slice()) {
            (Function::Str, [inner]) => operand(inner),
            (Function::Custom(iri), [inner]) if iri.as_str().starts_with(XSD) => operand(inner),
            (Function::Year, [inner]) => match operand(inner)? {
                Operand::Var(variable) => Ok(Operand::Year(variable)),
                _ => Err(Refusal::Filter),
            },
            _ => Err(Refusal::Filter),
        },
        _ => Err(Refusal::Filter),
    }
}

/// The variable that an expression consists of, apart from casts and `str`.
pub(crate) fn plain_variable(expression: &Expression) -> Option<&Variable> {
    match operand(expression) {
        Ok(Operand::Var(variable)) => Some(variable),
        _ => None,
    }
}

/// One side of a comparison of columns.
pub(crate) enum SideOf {
    /// A variable or the year of one, by name. A year contains its dates (rule R10).
    Var(String),
    /// A constant.
    Constant(Term),
}

/// Reads one side of a comparison of columns.
pub(crate) fn side_of(expression: &Expression) -> Result<SideOf, Refusal> {
    Ok(match operand(expression)? {
        Operand::Var(variable) | Operand::Year(variable) => {
            SideOf::Var(variable.as_str().to_owned())
        }
        Operand::Iri(iri) => SideOf::Constant(Term::Iri(iri)),
        Operand::Literal(literal) => SideOf::Constant(Term::Literal(literal)),
    })
}
