//! Rows of `compute` as a graph pattern (rules D).

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::value::Sign;
use toolbox::call::{Arg, Call};
use toolbox::exec::amount;

use super::columns::Rows;
use super::error::Inexpressible;
use super::writer::QueryWriter;
use crate::algebra::project;
use crate::graph::algebra;

impl QueryWriter<'_> {
    /// The rows of `compute`.
    pub(super) fn computed(
        &mut self,
        call: &Call,
        mut rows: Rows,
        column: usize,
    ) -> Result<Rows, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let [first, Arg::Sign(sign), value] = call.args.as_slice() else {
            return Err(invalid());
        };
        let left: Expression = rows.columns.get(column).ok_or_else(invalid)?.clone().into();
        let right: Expression = match value {
            Arg::Literal(literal) => {
                // Calls write whole numbers and decimals without their datatype.
                let number = amount(literal).ok_or_else(invalid)?;
                algebra::rdf_literal(&number).into()
            }
            Arg::Column(other, place) if matches!(first, Arg::Column(table, _) if table == other) => {
                rows.columns
                    .get(*place as usize)
                    .ok_or_else(invalid)?
                    .clone()
                    .into()
            }
            Arg::Var(index) => {
                let mut only = self.rows(&Arg::Var(*index))?;
                let scalar = only.columns.pop().ok_or_else(invalid)?;
                let one = project(only.pattern, vec![scalar.clone()]);
                rows.pattern = algebra::join(rows.pattern, one);
                scalar.into()
            }
            _ => return Err(invalid()),
        };
        let (left, right) = (Box::new(left), Box::new(right));
        let expression = match sign {
            Sign::Plus => Expression::Add(left, right),
            Sign::Minus => Expression::Subtract(left, right),
            Sign::Times => Expression::Multiply(left, right),
            Sign::Over => Expression::Divide(left, right),
        };
        let made = self.fresh();
        let pattern = GraphPattern::Extend {
            inner: Box::new(rows.pattern),
            variable: made.clone(),
            expression,
        };
        rows.pattern = algebra::filter(pattern, Expression::Bound(made.clone()));
        rows.columns.push(made);
        Ok(rows)
    }
}
