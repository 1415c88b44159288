//! Evidence of single rows of a table: the triples that one row was made from. What all rows share,
//! such as the mean that a column is compared with, belongs to the table and not to a row.

use std::collections::{BTreeMap, BTreeSet};

use super::{Derivation, Triple};
use crate::call::{Arg, Call, Field, Repeat, Target, Tool};
use crate::exec::error::ToolError;
use crate::exec::session::Session;
use crate::exec::table::{Cell, Table};
use crate::exec::types::{Observation, Step, Value};
use kg::value::Op;

/// The triples of one row of the answer of a finished session, sorted; nothing if the answer is no
/// table.
///
/// # Errors
/// The question ran out of time.
pub(crate) fn row_evidence(session: &Session<'_>, row: usize) -> Result<Vec<Triple>, ToolError> {
    let mut derivation = Derivation::new(session);
    let mut wanted: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for (at, step) in session.steps().iter().enumerate().rev() {
        derivation.at = at;
        match (&step.observation, step.call.target) {
            (Observation::Answer(Value::Table(_)), _) => {
                if let Some(Arg::Var(index)) = step.call.args.first() {
                    wanted.entry(*index).or_default().insert(row);
                }
            }
            (Observation::Value(Value::Table(table)), Target::Var(index)) => {
                if let Some(rows) = wanted.remove(&index) {
                    derivation.rows_of(step, table, &rows, &mut wanted)?;
                }
            }
            (Observation::Value(_), Target::Var(index)) => {
                if let Some(members) = derivation.needed.remove(&index) {
                    let members: Vec<_> = members.into_iter().collect();
                    derivation.step(&step.call, &step.inputs, step.walked, &members)?;
                }
            }
            _ => {}
        }
    }
    Ok(derivation.triples.into_keys().collect())
}

impl Derivation<'_, '_> {
    /// Notes the triples of some rows, and the rows and members that they were made from.
    fn rows_of(
        &mut self,
        step: &Step,
        table: &Table,
        rows: &BTreeSet<usize>,
        wanted: &mut BTreeMap<u32, BTreeSet<usize>>,
    ) -> Result<(), ToolError> {
        let call = &step.call;
        let from = match call.args.first() {
            Some(Arg::Column(_, column)) => *column as usize,
            _ => 0,
        };
        for row in rows.iter().filter_map(|&row| table.rows().nth(row)) {
            self.clock.tick()?;
            let before = match call.tool {
                Tool::Extend | Tool::Compute => row.split_last().map_or(row, |(_, before)| before),
                _ => row,
            };
            if let (Tool::Extend, Some((relation, forward))) = (call.tool, step.walked) {
                let repeat = call.args.get(1).and_then(Arg::repeat);
                match (before.get(from), row.last()) {
                    (Some(Cell::Node(node)), Some(Cell::Node(value)))
                        if repeat.is_none_or(|repeat| repeat == Repeat::Maybe) =>
                    {
                        self.keep(*node, relation, forward, *value);
                    }
                    (Some(Cell::Node(node)), _) if repeat != Some(Repeat::Maybe) => {
                        self.repeated(BTreeSet::from([*node]), relation, forward)?;
                    }
                    _ => {}
                }
            }
            if let (Tool::Where, [_, Arg::Op(Op::Eq), set], Some(Cell::Node(node))) =
                (call.tool, call.args.as_slice(), row.get(from))
                && self.session.set(set).is_ok()
            {
                self.need(set, [*node]);
            }
            self.rows_before(call, before, wanted)?;
        }
        Ok(())
    }

    /// The rows of the tables that a call reads, or the member of its set, that became a row.
    fn rows_before(
        &mut self,
        call: &Call,
        row: &[Cell],
        wanted: &mut BTreeMap<u32, BTreeSet<usize>>,
    ) -> Result<(), ToolError> {
        let several = call.tool == Tool::Union;
        let args = call
            .args
            .iter()
            .take(if several { call.args.len() } else { 1 });
        for arg in args {
            let (Arg::Var(index) | Arg::Column(index, _)) = arg else {
                continue;
            };
            match self.session.variable(*index as usize) {
                Some(Value::Table(table)) => {
                    for (place, other) in table.rows().enumerate() {
                        self.clock.tick()?;
                        if self.became(call, other, row) {
                            wanted.entry(*index).or_default().insert(place);
                            // A group is made from all its rows, another row from one.
                            if call.tool != Tool::Group {
                                break;
                            }
                        }
                    }
                }
                Some(Value::Set(set)) => {
                    let nodes = set
                        .iter()
                        .filter(|&&node| self.became(call, &[Cell::Node(node)], row));
                    let nodes: Vec<_> = nodes.copied().collect();
                    self.need(&Arg::Var(*index), nodes);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a call made a row from another one.
    fn became(&self, call: &Call, before: &[Cell], row: &[Cell]) -> bool {
        if !matches!(call.tool, Tool::Group | Tool::Columns) {
            return before == row;
        }
        let fields = call.args.iter().skip(1).zip(row);
        fields.into_iter().all(|(field, cell)| match field {
            Arg::Field(Field::Key(column)) => before.get(*column as usize) == Some(cell),
            Arg::Field(Field::Part(part, column)) => {
                let date = before.get(*column as usize);
                let made = date.map(|date| self.session.part_of(date, *part, *column));
                made.is_some_and(|made| made.as_ref() == Ok(cell))
            }
            _ => true,
        })
    }
}
