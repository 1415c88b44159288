//! Arithmetic of two numbers, as SPARQL's `+`, `-`, `*` and `/` compute it.

use std::fmt;

use super::sum::Number;
use crate::term::Literal;

common::worded! {
    /// An operator of arithmetic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Sign, fn symbol() {
        /// `+`
        Plus = "+",
        /// `-`
        Minus = "-",
        /// `*`
        Times = "*",
        /// `/`
        Over = "/",
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

impl Sign {
    /// The result; `None` if a side is no number of a numeric datatype, if the result does not fit
    /// its datatype, or for whole numbers and decimals divided by zero. Whole numbers and decimals
    /// are computed exactly, the quotient of whole numbers is a decimal, and the result has the wider
    /// datatype of the two.
    #[must_use]
    pub fn of(self, left: &Literal, right: &Literal) -> Option<Literal> {
        let (left, right) = (Number::of(left)?, Number::of(right)?);
        self.number(left, right).map(Number::literal)
    }

    fn number(self, left: Number, right: Number) -> Option<Number> {
        if self == Self::Plus {
            return left.plus(right);
        }
        if let (Number::Integer(a), Number::Integer(b)) = (left, right)
            && self != Self::Over
        {
            let whole = match self {
                Self::Minus => a.checked_sub(b),
                _ => a.checked_mul(b),
            };
            return whole.map(Number::Integer);
        }
        if let (Some(a), Some(b)) = (left.decimal(), right.decimal()) {
            let exact = match self {
                Self::Minus => a.checked_sub(b),
                Self::Over => a.checked_div(b),
                _ => a.checked_mul(b),
            };
            return exact.map(Number::Decimal);
        }
        if let (Some(a), Some(b)) = (left.float(), right.float()) {
            return Some(Number::Float(match self {
                Self::Minus => a - b,
                Self::Over => a / b,
                _ => a * b,
            }));
        }
        let (a, b) = (left.double(), right.double());
        Some(Number::Double(match self {
            Self::Minus => a - b,
            Self::Over => a / b,
            _ => a * b,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_sparql() {
        let xsd = |(lexical, local): (&str, &str)| Literal::xsd(lexical, local);
        let most = i64::MAX.to_string();
        let cases = [
            (
                ("7", "integer"),
                Sign::Minus,
                ("9", "int"),
                Some(("-2", "integer")),
            ),
            (
                ("7", "integer"),
                Sign::Over,
                ("2", "integer"),
                Some(("3.5", "decimal")),
            ),
            (
                ("0.1", "decimal"),
                Sign::Times,
                ("3", "integer"),
                Some(("0.3", "decimal")),
            ),
            (
                ("0.1", "decimal"),
                Sign::Plus,
                ("0.2", "decimal"),
                Some(("0.3", "decimal")),
            ),
            (
                ("1.5", "float"),
                Sign::Over,
                ("2", "integer"),
                Some(("0.75", "float")),
            ),
            (("1", "integer"), Sign::Over, ("0", "integer"), None),
            (("1.0", "decimal"), Sign::Over, ("0", "integer"), None),
            (("2011", "gYear"), Sign::Minus, ("1", "integer"), None),
            (
                (most.as_str(), "integer"),
                Sign::Times,
                ("2", "integer"),
                None,
            ),
        ];
        for (left, sign, right, wanted) in cases {
            let found = sign.of(&xsd(left), &xsd(right));
            assert_eq!(found, wanted.map(xsd), "{left:?} {sign} {right:?}");
        }
    }
}
