//! X4: one row per group of rows (rules D).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxHashSet, FxHasher};

use super::Done;
use super::tables::ReadTable;
use crate::call::{Aggregate, Field};
use crate::exec::error::ToolError;
use crate::exec::session::Session;
use crate::exec::table::{Cell, Table, TableColumn};
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

/// The groups of a table.
#[derive(Default)]
struct Groups<'t> {
    /// The first row of every group; `None` for the group of all rows.
    firsts: Vec<Option<usize>>,
    /// The aggregates of every group, one group after another.
    gathered: Vec<Gathered<'t>>,
}

/// What is known about one aggregate of one group.
enum Gathered<'t> {
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
        let groups = self.gathered(&table, &wanted, &keys)?;
        let mut clock = self.clock.clone();
        let mut cells = Vec::with_capacity(groups.firsts.len() * wanted.len());
        let mut gathered = groups.gathered.into_iter();
        for first in groups.firsts {
            let row = first.and_then(|first| table.rows().nth(first));
            for column in &wanted {
                clock.tick()?;
                match (column, row) {
                    (GroupColumn::Key(index), Some(row)) => cells.extend(row.get(*index).cloned()),
                    (GroupColumn::Key(_), None) => {}
                    (column, _) => {
                        let one = gathered.next().unwrap_or(Gathered::Count(0));
                        // All rows of the group may have an empty cell.
                        let none = matches!(one, Gathered::Best(None)) && !table.is_empty();
                        cells.push(if none {
                            Cell::Empty
                        } else {
                            finished(*column, one)?
                        });
                    }
                }
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

    /// The groups of the rows of a table, in order of first appearance.
    fn gathered<'t>(
        &self,
        table: &'t Table,
        wanted: &[GroupColumn],
        keys: &[usize],
    ) -> Result<Groups<'t>, ToolError> {
        let aggregates: Vec<GroupColumn> = wanted.iter().copied().filter(is_aggregate).collect();
        let mut groups = Groups::default();
        if keys.is_empty() {
            // All rows are one group. A table without rows has that group too.
            groups.firsts.push(None);
            groups.gathered.extend(aggregates.iter().map(empty));
        }
        let mut clock = self.clock.clone();
        let hash = |row: &[Cell]| {
            let mut hasher = FxHasher::default();
            keys.iter().for_each(|&key| row[key].hash(&mut hasher));
            hasher.finish()
        };
        let row_of = |first: usize| table.rows().nth(first).unwrap_or_default();
        let mut places: HashTable<usize> = HashTable::new();
        for (number, row) in table.rows().enumerate() {
            clock.tick()?;
            let place = if keys.is_empty() {
                0
            } else {
                let firsts = &groups.firsts;
                let of_place = |place: usize| firsts[place].map_or(row, row_of);
                let same = |&place: &usize| {
                    let other = of_place(place);
                    keys.iter().all(|&key| other[key] == row[key])
                };
                let rehash = |&place: &usize| hash(of_place(place));
                match places.entry(hash(row), same, rehash) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(free) => {
                        let place = groups.firsts.len();
                        free.insert(place);
                        groups.firsts.push(Some(number));
                        groups.gathered.extend(aggregates.iter().map(empty));
                        place
                    }
                }
            };
            if groups.firsts.len().saturating_mul(wanted.len()) > SET_SIZE {
                return Err(ToolError::TooLarge { limit: SET_SIZE });
            }
            let from = place * aggregates.len();
            for (column, gathered) in aggregates.iter().zip(&mut groups.gathered[from..]) {
                self.gather(*column, gathered, row)?;
            }
        }
        Ok(groups)
    }

    /// Adds a row to one column of its group.
    fn gather<'t>(
        &self,
        column: GroupColumn,
        gathered: &mut Gathered<'t>,
        row: &'t [Cell],
    ) -> Result<(), ToolError> {
        let cell = match column {
            GroupColumn::Of(_, index, _) => row.get(index),
            GroupColumn::Key(_) | GroupColumn::Count => None,
        };
        match (gathered, cell) {
            (Gathered::Count(rows), _) => *rows += 1,
            (Gathered::Distinct(_) | Gathered::Best(_), Some(Cell::Empty)) => {}
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

fn is_aggregate(column: &GroupColumn) -> bool {
    !matches!(column, GroupColumn::Key(_))
}

/// An aggregate before the first row of its group is added.
fn empty<'t>(column: &GroupColumn) -> Gathered<'t> {
    match column {
        GroupColumn::Key(_) | GroupColumn::Count => Gathered::Count(0),
        GroupColumn::Of(Aggregate::Distinct, ..) => Gathered::Distinct(FxHashSet::default()),
        GroupColumn::Of(Aggregate::Sum | Aggregate::Average, ..) => Gathered::Sum(Sum::default()),
        GroupColumn::Of(Aggregate::Min | Aggregate::Max, ..) => Gathered::Best(None),
    }
}

fn finished(column: GroupColumn, gathered: Gathered<'_>) -> Result<Cell, ToolError> {
    Ok(match (gathered, column) {
        (Gathered::Best(Some((_, cell))), _) => cell.clone(),
        (Gathered::Count(rows), _) => Cell::number(rows),
        (Gathered::Distinct(cells), _) => Cell::number(cells.len()),
        (Gathered::Sum(sum), GroupColumn::Of(Aggregate::Average, _, column)) => {
            let total = Term::Literal(sum.total());
            let mean = sum.mean();
            let mean = mean.ok_or_else(|| not_a_number(Aggregate::Average, column, &total))?;
            Cell::computed(mean)
        }
        (Gathered::Sum(sum), _) => Cell::computed(sum.total()),
        (Gathered::Best(None), GroupColumn::Of(aggregate, _, column)) => {
            return Err(ToolError::NoRows {
                word: aggregate.word(),
                column,
            });
        }
        (Gathered::Best(None), _) => Cell::number(0),
    })
}
