//! Arithmetic: `+`, `-`, `*` and `/` of columns, numbers and parts of dates.

use kg::spargebra::algebra::Expression;
use kg::term::{Literal, XSD};
use kg::value::{Sign, is_number};
use toolbox::call::Arg;

use super::TableWriter;
use super::body::date_part;
use super::calls::{Bound, BoundForm};
use super::head::hidden;
use crate::graph::{plain_variable, term_literal};
use crate::refusal::Refusal;

/// A side of an operator.
enum Side {
    /// A column of the table.
    Column(usize),
    Number(Literal),
    /// A number of another part of the group.
    Other(Arg),
}

impl Side {
    /// The side as an argument.
    fn arg(self, main: &Bound) -> Arg {
        match self {
            Self::Column(place) => main.column(place),
            // Calls write numbers without their datatype.
            Self::Number(literal) => Arg::Literal(match literal.datatype.as_deref() {
                Some(datatype)
                    if matches!(datatype.strip_prefix(XSD), Some("integer" | "decimal")) =>
                {
                    Literal::plain(literal.lexical)
                }
                _ => literal,
            }),
            Self::Other(arg) => arg,
        }
    }
}

impl TableWriter<'_> {
    /// One more column with the values of an expression, for the variable `name`.
    pub(super) fn arithmetic(
        &mut self,
        main: Bound,
        expression: &Expression,
        name: &str,
        parts: &[Bound],
    ) -> Result<Bound, Refusal> {
        let (mut main, side) = self.side(main, expression, parts)?;
        let Side::Column(place) = side else {
            return Err(Refusal::Filter);
        };
        main.columns[place].extend([hidden(name), name.to_owned()]);
        Ok(main)
    }

    fn side(
        &mut self,
        main: Bound,
        expression: &Expression,
        parts: &[Bound],
    ) -> Result<(Bound, Side), Refusal> {
        let (sign, left, right) = match expression {
            Expression::Add(left, right) => (Sign::Plus, left, right),
            Expression::Subtract(left, right) => (Sign::Minus, left, right),
            Expression::Multiply(left, right) => (Sign::Times, left, right),
            Expression::Divide(left, right) => (Sign::Over, left, right),
            Expression::UnaryMinus(inner) => {
                let (main, side) = self.side(main, inner, parts)?;
                return self.computed(main, side, Sign::Times, Side::Number(whole(-1)));
            }
            Expression::UnaryPlus(inner) => return self.side(main, inner, parts),
            Expression::Literal(literal) => {
                let literal = Some(term_literal(literal)).filter(is_number);
                let literal = literal.ok_or(Refusal::Filter)?;
                return Ok((main, Side::Number(literal)));
            }
            other => return self.read(main, other, parts),
        };
        let (main, left) = self.side(main, left, parts)?;
        let (main, right) = self.side(main, right, parts)?;
        self.computed(main, left, sign, right)
    }

    /// A variable, or a part of a date.
    fn read(
        &mut self,
        main: Bound,
        expression: &Expression,
        parts: &[Bound],
    ) -> Result<(Bound, Side), Refusal> {
        if let Some((part, of)) = date_part(expression) {
            let place = main.index(of.as_str()).ok_or(Refusal::Filter)?;
            let main = self.dated(&main, "", part, place)?;
            let last = main.columns.len() - 1;
            return Ok((main, Side::Column(last)));
        }
        let name = plain_variable(expression).ok_or(Refusal::Filter)?.as_str();
        if let Some(place) = main.index(name) {
            return Ok((main, Side::Column(place)));
        }
        let on_graph = self.calls.kg().is_some();
        let one = |part: &&Bound| {
            part.has(name)
                && (part.form == BoundForm::Number || on_graph && part.columns.len() == 1)
        };
        let part = parts.iter().find(one).ok_or(Refusal::Filter)?;
        Ok((main, Side::Other(part.arg.clone())))
    }

    fn computed(
        &mut self,
        main: Bound,
        left: Side,
        sign: Sign,
        right: Side,
    ) -> Result<(Bound, Side), Refusal> {
        let commutes = matches!(sign, Sign::Plus | Sign::Times);
        let (place, sign, right) = match (left, right) {
            (Side::Number(a), Side::Number(b)) => {
                let result = sign.of(&a, &b).ok_or(Refusal::Filter)?;
                return Ok((main, Side::Number(result)));
            }
            (Side::Column(place), right) => (place, sign, right),
            (left, Side::Column(place)) if commutes => (place, sign, left),
            (left, Side::Column(place)) if sign == Sign::Minus => {
                // `a - b` is `b * -1 + a`.
                let minus = Side::Number(whole(-1));
                let (main, turned) =
                    self.computed(main, Side::Column(place), Sign::Times, minus)?;
                return self.computed(main, turned, Sign::Plus, left);
            }
            _ => return Err(Refusal::Filter),
        };
        let value = right.arg(&main);
        // Without a graph, a name marks the column as computed.
        let made = self
            .calls
            .compute(&main, place, (sign, value), vec![hidden("")])?;
        let last = made.columns.len() - 1;
        Ok((made, Side::Column(last)))
    }
}

fn whole(number: i64) -> Literal {
    Literal::xsd(number.to_string(), "integer")
}
