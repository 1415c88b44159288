//! The tools that choose columns and order rows, as graph patterns (rules D).

use kg::spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};
use kg::spargebra::term::Variable;
use kg::value::DatePart;
use toolbox::call::{Arg, Call, Field};

use super::error::Inexpressible;
use super::writer::QueryWriter;
use crate::algebra::project;

/// A pattern with the variable of each column.
pub(super) struct Rows {
    pub pattern: GraphPattern,
    pub columns: Vec<Variable>,
}

impl QueryWriter<'_> {
    /// `columns`: chosen columns of rows, or parts of their dates.
    pub(super) fn chosen_columns(
        &mut self,
        call: &Call,
        rows: Rows,
    ) -> Result<Rows, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let mut pattern = rows.pattern;
        let mut columns = Vec::new();
        for arg in call.args.iter().skip(1) {
            let (part, column) = match arg {
                Arg::Field(Field::Key(column)) => (None, column),
                Arg::Field(Field::Part(part, column)) => (Some(*part), column),
                _ => return Err(invalid()),
            };
            let source = rows.columns.get(*column as usize).ok_or_else(invalid)?;
            columns.push(match part {
                None => source.clone(),
                Some(part) => {
                    let made = self.fresh();
                    pattern = GraphPattern::Extend {
                        inner: Box::new(pattern),
                        variable: made.clone(),
                        expression: part_of(part, source),
                    };
                    made
                }
            });
        }
        Ok(Rows { pattern, columns })
    }
}

/// `sort`: rows in the order of some columns.
pub(super) fn sorted(call: &Call, rows: Rows) -> Result<Rows, Inexpressible> {
    let invalid = || Inexpressible::Argument(call.to_string());
    let key = |arg: &Arg| {
        let of = |column: u32| {
            let variable = rows.columns.get(column as usize)?.clone();
            Some(Expression::from(variable))
        };
        match arg {
            Arg::Field(Field::Ascending(column)) => Some(OrderExpression::Asc(of(*column)?)),
            Arg::Field(Field::Descending(column)) => Some(OrderExpression::Desc(of(*column)?)),
            _ => None,
        }
    };
    let keys = call.args.iter().skip(1).map(key);
    let expression = keys.collect::<Option<_>>().ok_or_else(invalid)?;
    Ok(Rows {
        pattern: GraphPattern::OrderBy {
            inner: Box::new(rows.pattern),
            expression,
        },
        columns: rows.columns,
    })
}

/// `first`: some rows, from the first or after those that are left out.
pub(super) fn cut(call: &Call, rows: Rows) -> Result<Rows, Inexpressible> {
    let invalid = || Inexpressible::Argument(call.to_string());
    let number = |arg: &Arg| match arg {
        Arg::Literal(size) => size.lexical.parse().ok(),
        _ => None,
    };
    let size: Option<usize> = call.args.get(1).and_then(number);
    let skipped = call.args.get(2).map_or(Some(0), number);
    Ok(Rows {
        pattern: GraphPattern::Slice {
            inner: Box::new(project(rows.pattern, rows.columns.clone())),
            start: skipped.ok_or_else(invalid)?,
            length: Some(size.ok_or_else(invalid)?),
        },
        columns: rows.columns,
    })
}

/// A part of a variable's date.
fn part_of(part: DatePart, of: &Variable) -> Expression {
    let function = match part {
        DatePart::Year => Function::Year,
        DatePart::Month => Function::Month,
        DatePart::Day => Function::Day,
    };
    Expression::FunctionCall(function, vec![of.clone().into()])
}
