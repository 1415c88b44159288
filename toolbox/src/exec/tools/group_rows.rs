//! X4: one row per group of rows (rules D).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Done;
use super::tables::ReadTable;
use crate::call::{Aggregate, Field};
use crate::exec::error::ToolError;
use crate::exec::session::Session;
use crate::exec::table::{Cell, TableColumn};
use crate::limits::SET_SIZE;
use kg::term::Term;
use kg::value::{Sum, order_key};

/// One column of the result, with the index of the column that it reads.
#[derive(Clone, Copy)]
enum GroupColumn {
    Key(usize),
    Count,
    Of(Aggregate, usize, u32),
}

/// What is known about one column of one group.
enum Gathered<'t> {
    First(&'t Cell),
    Count(usize),
    Distinct(FxHashSet<&'t Cell>),
    Sum(Sum),
    Best(Option<(String, &'t Cell)>),
}

impl Session<'_> {
    pub(super) fn group_rows(&self, read: ReadTable, fields: &[Field]) -> Result<Done, ToolError> {
        let mut wanted = Vec::new();
        for field in fields {
            wanted.push(match field {
                Field::Key(column) => GroupColumn::Key(read.index(*column)?),
                Field::Count => GroupColumn::Count,
                Field::Of(aggregate, column) => {
                    GroupColumn::Of(*aggregate, read.index(*column)?, *column)
                }
                other => {
                    return Err(ToolError::Argument {
                        given: other.to_string(),
                        right: "group takes k0, count, distinct k0, sum k0, average k0, min k0 or max k0"
                            .to_owned(),
                    });
                }
            });
        }
        let key = |column: &GroupColumn| match column {
            GroupColumn::Key(index) => Some(*index),
            _ => None,
        };
        let keys: Vec<usize> = wanted.iter().filter_map(key).collect();
        let table = Arc::clone(&read.table);
        let mut clock = self.clock.clone();
        let mut places: FxHashMap<Vec<&Cell>, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<Gathered<'_>>> = Vec::new();
        if keys.is_empty() {
            // All rows are one group. A table without rows has that group too.
            places.insert(Vec::new(), 0);
            groups.push(empty(&wanted, None));
        }
        for row in table.rows() {
            clock.tick()?;
            let cells: Vec<&Cell> = keys.iter().filter_map(|&index| row.get(index)).collect();
            let place = *places.entry(cells).or_insert_with(|| {
                groups.push(empty(&wanted, Some(row)));
                groups.len() - 1
            });
            if groups.len().saturating_mul(wanted.len()) > SET_SIZE {
                return Err(ToolError::TooLarge { limit: SET_SIZE });
            }
            for (column, gathered) in wanted.iter().zip(&mut groups[place]) {
                self.gather(*column, gathered, row)?;
            }
        }
        let mut cells = Vec::new();
        for group in groups {
            for (column, gathered) in wanted.iter().zip(group) {
                clock.tick()?;
                cells.push(finished(*column, gathered)?);
            }
        }
        let columns = wanted.iter().zip(fields).map(|(column, field)| {
            let source = |index: usize| &table.columns()[index];
            match column {
                GroupColumn::Key(index) => source(*index).clone(),
                GroupColumn::Count => TableColumn::computed("count".to_owned()),
                GroupColumn::Of(aggregate @ (Aggregate::Min | Aggregate::Max), index, _) => {
                    TableColumn {
                        heading: format!("{} {}", aggregate.word(), source(*index).heading),
                        ..source(*index).clone()
                    }
                }
                GroupColumn::Of(aggregate, index, _) => {
                    debug_assert!(matches!(field, Field::Of(..)));
                    TableColumn::computed(format!(
                        "{} {}",
                        aggregate.word(),
                        source(*index).heading
                    ))
                }
            }
        });
        let columns: Vec<TableColumn> = columns.collect();
        Ok(read.made(columns, cells, false, |column| {
            wanted.get(column).and_then(key)
        }))
    }

    /// Adds a row to one column of its group.
    fn gather<'t>(
        &self,
        column: GroupColumn,
        gathered: &mut Gathered<'t>,
        row: &'t [Cell],
    ) -> Result<(), ToolError> {
        let cell = match column {
            GroupColumn::Of(_, index, _) | GroupColumn::Key(index) => row.get(index),
            GroupColumn::Count => None,
        };
        match (gathered, cell) {
            (Gathered::Count(rows), _) => *rows += 1,
            (Gathered::Distinct(cells), Some(cell)) => {
                cells.insert(cell);
            }
            (Gathered::Sum(sum), Some(cell)) => {
                let term = cell.term(self.kg);
                let added = term.as_literal().is_some_and(|literal| sum.add(literal));
                if !added && let GroupColumn::Of(aggregate, _, column) = column {
                    return Err(not_a_number(aggregate, column, &term));
                }
            }
            (Gathered::Best(best), Some(cell)) => {
                let key = order_key(&cell.term(self.kg));
                let least = matches!(column, GroupColumn::Of(Aggregate::Min, ..));
                let better = best
                    .as_ref()
                    .is_none_or(|(known, _)| if least { key < *known } else { key > *known });
                if better {
                    *best = Some((key, cell));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn not_a_number(aggregate: Aggregate, column: u32, value: &Term) -> ToolError {
    ToolError::NotANumber {
        word: aggregate.word(),
        column,
        value: value.to_string(),
    }
}

/// A group before its first row is added.
fn empty<'t>(wanted: &[GroupColumn], row: Option<&'t [Cell]>) -> Vec<Gathered<'t>> {
    let one = |column: &GroupColumn| match column {
        GroupColumn::Key(index) => row
            .and_then(|row| row.get(*index))
            .map_or(Gathered::Count(0), Gathered::First),
        GroupColumn::Count => Gathered::Count(0),
        GroupColumn::Of(Aggregate::Distinct, ..) => Gathered::Distinct(FxHashSet::default()),
        GroupColumn::Of(Aggregate::Sum | Aggregate::Average, ..) => Gathered::Sum(Sum::default()),
        GroupColumn::Of(Aggregate::Min | Aggregate::Max, ..) => Gathered::Best(None),
    };
    wanted.iter().map(one).collect()
}

fn finished(column: GroupColumn, gathered: Gathered<'_>) -> Result<Cell, ToolError> {
    Ok(match (gathered, column) {
        (Gathered::First(cell) | Gathered::Best(Some((_, cell))), _) => cell.clone(),
        (Gathered::Count(rows), _) => Cell::number(rows),
        (Gathered::Distinct(cells), _) => Cell::number(cells.len()),
        (Gathered::Sum(sum), GroupColumn::Of(Aggregate::Average, _, column)) => {
            let total = Term::Literal(sum.total());
            let mean = sum.mean();
            let mean = mean.ok_or_else(|| not_a_number(Aggregate::Average, column, &total))?;
            Cell::Computed(Arc::new(mean))
        }
        (Gathered::Sum(sum), _) => Cell::Computed(Arc::new(sum.total())),
        (Gathered::Best(None), GroupColumn::Of(aggregate, _, column)) => {
            return Err(ToolError::NoRows {
                word: aggregate.word(),
                column,
            });
        }
        (Gathered::Best(None), _) => Cell::number(0),
    })
}
