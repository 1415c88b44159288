//! Sums and means of numbers with SPARQL's arithmetic: whole numbers and decimals are exact, floats
//! and doubles are rounded, and the result has the widest datatype among the numbers.

use oxsdatatypes::{Decimal, Double, Float, Integer};

use super::kind::Kind;
use crate::term::{Literal, XSD};

/// A number by its datatype, narrowest first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(Integer),
    Decimal(Decimal),
    Float(Float),
    Double(Double),
}

impl Number {
    pub(super) fn of(literal: &Literal) -> Option<Self> {
        let local = literal.datatype.as_deref()?.strip_prefix(XSD)?;
        let text = literal.lexical.trim();
        match local {
            "decimal" => text.parse().ok().map(Self::Decimal),
            "float" => text.parse().ok().map(Self::Float),
            "double" => text.parse().ok().map(Self::Double),
            _ if Kind::of(literal) == Kind::Int => text.parse().ok().map(Self::Integer),
            _ => None,
        }
    }

    pub(super) fn decimal(self) -> Option<Decimal> {
        match self {
            Self::Integer(number) => Some(number.into()),
            Self::Decimal(number) => Some(number),
            Self::Float(_) | Self::Double(_) => None,
        }
    }

    pub(super) fn float(self) -> Option<Float> {
        match self {
            Self::Integer(number) => Some(number.into()),
            Self::Decimal(number) => Some(number.into()),
            Self::Float(number) => Some(number),
            Self::Double(_) => None,
        }
    }

    pub(super) fn double(self) -> Double {
        match self {
            Self::Integer(number) => number.into(),
            Self::Decimal(number) => number.into(),
            Self::Float(number) => number.into(),
            Self::Double(number) => number,
        }
    }

    /// The sum; `None` if it does not fit the datatype.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        if let (Self::Integer(a), Self::Integer(b)) = (self, other) {
            return a.checked_add(b).map(Self::Integer);
        }
        if let (Some(a), Some(b)) = (self.decimal(), other.decimal()) {
            return a.checked_add(b).map(Self::Decimal);
        }
        if let (Some(a), Some(b)) = (self.float(), other.float()) {
            return Some(Self::Float(a + b));
        }
        Some(Self::Double(self.double() + other.double()))
    }

    /// The number divided by a count above 0; `None` if it does not fit the datatype.
    fn over(self, count: i64) -> Option<Self> {
        let count = Integer::from(count);
        match self {
            Self::Integer(number) => Decimal::from(number).checked_div(count).map(Self::Decimal),
            Self::Decimal(number) => number.checked_div(count).map(Self::Decimal),
            Self::Float(number) => Some(Self::Float(number / Float::from(count))),
            Self::Double(number) => Some(Self::Double(number / Double::from(count))),
        }
    }

    pub(super) fn literal(self) -> Literal {
        let (lexical, local) = match self {
            Self::Integer(number) => (number.to_string(), "integer"),
            Self::Decimal(number) => (number.to_string(), "decimal"),
            Self::Float(number) => (number.to_string(), "float"),
            Self::Double(number) => (number.to_string(), "double"),
        };
        Literal::xsd(lexical, local)
    }
}

/// Whether a literal has a numeric datatype and a number of that datatype.
#[must_use]
pub fn is_number(literal: &Literal) -> bool {
    Number::of(literal).is_some()
}

/// A running sum, as SUM and AVG compute it.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    total: Number,
    count: i64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            total: Number::Integer(Integer::from(0)),
            count: 0,
        }
    }
}

impl Sum {
    /// Adds a literal; `false` if it is not a number or the sum does not fit its datatype.
    pub fn add(&mut self, literal: &Literal) -> bool {
        let Some(total) = Number::of(literal).and_then(|number| self.total.plus(number)) else {
            return false;
        };
        self.total = total;
        self.count += 1;
        true
    }

    /// The sum; the integer 0 if nothing was added.
    #[must_use]
    pub fn total(&self) -> Literal {
        self.total.literal()
    }

    /// The mean: of whole numbers a decimal, and the integer 0 if nothing was added. `None` if it
    /// does not fit its datatype.
    #[must_use]
    pub fn mean(&self) -> Option<Literal> {
        if self.count == 0 {
            return Some(self.total());
        }
        self.total.over(self.count).map(Number::literal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[(&str, &str)]) -> Option<Sum> {
        let mut sum = Sum::default();
        numbers
            .iter()
            .all(|(lexical, local)| sum.add(&Literal::xsd(*lexical, local)))
            .then_some(sum)
    }

    #[test]
    fn the_widest_datatype_wins_and_decimals_are_exact() {
        let both = |numbers: &[(&str, &str)]| {
            let sum = sum(numbers)?;
            let mean = sum.mean()?;
            Some((sum.total(), mean))
        };
        let xsd = |lexical: &str, local| Literal::xsd(lexical, local);
        let cases = [
            (&[][..], ("0", "integer"), ("0", "integer")),
            (
                &[("1", "integer"), ("2", "int")],
                ("3", "integer"),
                ("1.5", "decimal"),
            ),
            (
                &[("0.1", "decimal"), ("2", "integer")],
                ("2.1", "decimal"),
                ("1.05", "decimal"),
            ),
            (
                &[("1", "integer"), ("1.5", "float")],
                ("2.5", "float"),
                ("1.25", "float"),
            ),
            (
                &[("1.5", "float"), ("2", "double")],
                ("3.5", "double"),
                ("1.75", "double"),
            ),
        ];
        for (numbers, (total, local), (mean, kind)) in cases {
            let found = both(numbers).map(|(total, mean)| {
                let plain = |literal: Literal| {
                    // Doubles are written with an exponent; only the value matters here.
                    let value: f64 = literal.lexical.parse().unwrap_or(f64::NAN);
                    (value.to_string(), literal.datatype)
                };
                (plain(total), plain(mean))
            });
            let wanted = |literal: Literal| (literal.lexical, literal.datatype);
            assert_eq!(
                found,
                Some((wanted(xsd(total, local)), wanted(xsd(mean, kind))))
            );
        }
    }

    #[test]
    fn other_values_and_too_large_numbers_are_refused() {
        for bad in [
            ("1", "string"),
            ("x", "integer"),
            ("1.5", "integer"),
            ("2011", "gYear"),
        ] {
            assert!(sum(&[bad]).is_none(), "{bad:?}");
        }
        let most = i64::MAX.to_string();
        assert!(sum(&[(&most, "integer"), ("1", "integer")]).is_none());
        assert!(!is_number(&Literal::plain("5")) && is_number(&Literal::xsd("5", "byte")));
    }
}
