//! X10: one more column, computed by arithmetic (rules D).

use super::filter_rows::RowValue;
use super::{Done, missing};
use crate::call::{Arg, Call};
use crate::exec::error::ToolError;
use crate::exec::session::Session;
use crate::exec::table::{Cell, TableColumn};
use crate::limits::SET_SIZE;
use kg::term::{Literal, Term};
use kg::value::{Op, is_number};

/// The number that a literal of a question is: with a numeric datatype as it is, without one as
/// SPARQL reads its digits. `None` if it is no number.
#[must_use]
pub fn amount(literal: &Literal) -> Option<Literal> {
    if is_number(literal) {
        return Some(literal.clone());
    }
    if literal.datatype.is_some() || literal.lang.is_some() {
        return None;
    }
    let read = |local| Some(Literal::xsd(literal.lexical.clone(), local)).filter(is_number);
    read("integer").or_else(|| read("decimal"))
}

impl Session<'_> {
    /// X10: the rows whose arithmetic has a result, with that result.
    pub(super) fn compute(&self, call: &Call) -> Result<Done, ToolError> {
        let [first, Arg::Sign(sign), value] = call.args.as_slice() else {
            return Err(missing(call));
        };
        let (read, column) = self.read_column(first)?;
        let no_number = || {
            ToolError::Argument {
            given: value.to_string(),
            right: "arithmetic needs a number, a count, a table of one cell or a column of the same table"
                .to_owned(),
        }
        };
        // `row_value` takes an entity only beside `=` and `!=`.
        let right = match self.row_value(first, &Arg::Op(Op::Lt), value)? {
            RowValue::Literal(literal) => Ok(amount(&literal).ok_or_else(no_number)?),
            RowValue::Column(other) => Err(other),
            RowValue::Set(_) => return Err(no_number()),
        };
        let number = |cell: Option<&Cell>| match cell?.value(self.kg)? {
            Term::Literal(literal) => Some(literal),
            Term::Iri(_) | Term::Blank(_) => None,
        };
        let mut clock = self.clock.clone();
        let mut cells = Vec::new();
        for row in read.table.rows() {
            clock.tick()?;
            let other = match &right {
                Ok(literal) => Some(literal.clone()),
                Err(column) => number(row.get(*column)),
            };
            let result = number(row.get(column)).zip(other);
            let Some(result) = result.and_then(|(a, b)| sign.of(&a, &b)) else {
                continue;
            };
            if cells.len() + row.len() >= SET_SIZE {
                return Err(ToolError::TooLarge { limit: SET_SIZE });
            }
            cells.extend_from_slice(row);
            cells.push(Cell::computed(result));
        }
        let mut columns = read.table.columns().to_vec();
        let heading = |column: usize| columns.get(column).map_or("", |one| one.heading.as_str());
        let other = match &right {
            Ok(literal) => literal.lexical.clone(),
            Err(column) => heading(*column).to_owned(),
        };
        let heading = format!("{} {sign} {other}", heading(column));
        let width = columns.len();
        columns.push(TableColumn::computed(heading));
        let ordered = read.table.is_ordered();
        Ok(read.made(columns, cells, ordered, |column| {
            (column < width).then_some(column)
        }))
    }
}
