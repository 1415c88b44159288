//! The extended tools on tables (rules D).

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Done, missing};
use crate::call::{Arg, Call, Field, Tool};
use crate::exec::error::ToolError;
use crate::exec::session::{Session, SetKey};
use crate::exec::table::{Cell, Table, TableColumn};
use crate::exec::types::{EntSet, Observation, Value};
use crate::limits::SET_SIZE;
use kg::term::NodeId;
use kg::value::{DatePart, order_key};

/// A table that a call reads, and where its columns come from.
pub(super) struct ReadTable {
    pub table: Arc<Table>,
    pub origins: Vec<Option<SetKey>>,
    /// The set that it was made from, if it was a set.
    pub inputs: Vec<EntSet>,
}

impl ReadTable {
    /// The result of a call that keeps all columns.
    pub(super) fn kept(self, cells: Vec<Cell>, ordered: bool) -> Done {
        let columns = self.table.columns().to_vec();
        self.made(columns, cells, ordered, Some)
    }

    /// The result of a call; `from` gives the column that a new column comes from.
    pub(super) fn made(
        self,
        columns: Vec<TableColumn>,
        cells: Vec<Cell>,
        ordered: bool,
        from: impl Fn(usize) -> Option<usize>,
    ) -> Done {
        let origin = |column| self.origins.get(from(column)?)?.clone();
        let origins = (0..columns.len()).map(origin).collect();
        let table = Table::new(columns, cells, ordered);
        let mut done = Done::new(
            Observation::Value(Value::Table(Arc::new(table))),
            self.inputs,
        );
        done.origins = origins;
        done
    }

    /// The index of a column.
    ///
    /// # Errors
    /// [`ToolError::UnknownColumn`].
    pub(super) fn index(&self, column: u32) -> Result<usize, ToolError> {
        column_of(&self.table, column)
    }
}

fn column_of(table: &Table, column: u32) -> Result<usize, ToolError> {
    let width = table.columns().len();
    let index = usize::try_from(column).ok().filter(|index| *index < width);
    index.ok_or(ToolError::UnknownColumn {
        given: column,
        last: width.saturating_sub(1),
    })
}

impl Session<'_> {
    /// A table variable and one of its columns.
    ///
    /// # Errors
    /// [`ToolError::UnknownVariable`], [`ToolError::NotATable`] or [`ToolError::UnknownColumn`].
    pub(in crate::exec) fn table_column(
        &self,
        index: u32,
        column: u32,
    ) -> Result<(&Arc<Table>, usize), ToolError> {
        match self.variables.get(index as usize) {
            Some(Value::Table(table)) => Ok((table, column_of(table, column)?)),
            Some(_) => Err(ToolError::NotATable(index)),
            None => Err(ToolError::UnknownVariable {
                given: index,
                live: self.variables.len(),
            }),
        }
    }

    /// Whether `count` or `union` reads tables.
    pub(super) fn reads_tables(&self, call: &Call) -> bool {
        call.args.iter().any(|arg| match arg {
            Arg::Var(index) => matches!(self.variables.get(*index as usize), Some(Value::Table(_))),
            _ => false,
        })
    }

    /// Runs a call of a tool that reads tables.
    pub(super) fn with_tables(&self, call: &Call) -> Result<Done, ToolError> {
        let first = call.args.first().ok_or_else(|| missing(call))?;
        match call.tool {
            Tool::Extend => self.extend(call),
            Tool::Where => self.filter_rows(call),
            Tool::Compute => self.compute(call),
            Tool::Group => self.group_rows(self.read_table(first)?, &fields(call)?),
            Tool::Columns => {
                let read = self.read_table(first)?;
                self.columns(read, &fields(call)?)
            }
            Tool::Sort => self.sort(self.read_table(first)?, &fields(call)?),
            Tool::First => {
                let number = |arg: &Arg| match arg {
                    Arg::Literal(literal) => literal.lexical.parse().ok(),
                    _ => None,
                };
                let size: Option<usize> = call.args.get(1).and_then(number);
                let size = size.ok_or_else(|| missing(call))?;
                let skipped = call.args.get(2).map_or(Some(0), number);
                let skipped = skipped.ok_or_else(|| missing(call))?;
                let read = self.read_table(first)?;
                let rows = read.table.rows().skip(skipped).take(size);
                let cells = rows.flatten().cloned().collect();
                let ordered = read.table.is_ordered();
                Ok(read.kept(cells, ordered))
            }
            Tool::Count => {
                let rows = Value::Int(self.read_table(first)?.table.len() as u64);
                Ok(Done::new(Observation::Value(rows), Vec::new()))
            }
            Tool::Union => self.append(call),
            Tool::Exists => {
                let read = self.read_table(first)?;
                let found = Observation::Value(Value::Bool(!read.table.is_empty()));
                Ok(Done::new(found, read.inputs))
            }
            _ => Err(missing(call)),
        }
    }

    /// The table of an argument; a set is a table of one column, a number a table of one cell.
    fn read_table(&self, arg: &Arg) -> Result<ReadTable, ToolError> {
        if let Arg::Var(index) = arg {
            match self.variables.get(*index as usize) {
                Some(Value::Table(table)) => {
                    let columns = 0..u32::try_from(table.columns().len()).unwrap_or(u32::MAX);
                    return Ok(ReadTable {
                        table: Arc::clone(table),
                        origins: columns
                            .map(|column| Some(SetKey::Column(*index, column)))
                            .collect(),
                        inputs: Vec::new(),
                    });
                }
                Some(Value::Int(number)) => {
                    return Ok(ReadTable {
                        table: Arc::new(Table::of_number(*number)),
                        origins: vec![None],
                        inputs: Vec::new(),
                    });
                }
                Some(Value::Bool(_)) => return Err(ToolError::NotATable(*index)),
                Some(Value::Set(_)) | None => {}
            }
        }
        let set = self.set(arg)?;
        Ok(ReadTable {
            table: Arc::new(Table::of_set(self.kg, &set)),
            origins: vec![self.set_key(arg).ok()],
            inputs: vec![set],
        })
    }

    /// The table and the column of an argument such as `v1.k0`; a set is a table of one column.
    pub(super) fn read_column(&self, arg: &Arg) -> Result<(ReadTable, usize), ToolError> {
        match arg {
            Arg::Column(index, column) => {
                let column = self.table_column(*index, *column)?.1;
                Ok((self.read_table(&Arg::Var(*index))?, column))
            }
            other => {
                let number = |index: u32| self.variables.get(index as usize);
                if !matches!(other, Arg::Var(index) if matches!(number(*index), Some(Value::Int(_))))
                {
                    // For a table with several columns a column must be named; `set` returns that
                    // error.
                    self.set(other)?;
                }
                Ok((self.read_table(other)?, 0))
            }
        }
    }

    /// X5: the table with other columns.
    fn columns(&self, read: ReadTable, fields: &[Field]) -> Result<Done, ToolError> {
        let mut kept = Vec::new();
        for field in fields {
            kept.push(match field {
                Field::Key(column) => (read.index(*column)?, None),
                Field::Part(part, column) => (read.index(*column)?, Some((*part, *column))),
                other => {
                    return Err(ToolError::Argument {
                        given: other.to_string(),
                        right: "columns takes k0, k1, …, or year k0, month k0 or day k0".to_owned(),
                    });
                }
            });
        }
        let mut clock = self.clock.clone();
        let mut cells =
            Vec::with_capacity(read.table.len().saturating_mul(kept.len()).min(SET_SIZE));
        for row in read.table.rows() {
            clock.tick()?;
            if cells.len() + kept.len() > SET_SIZE {
                return Err(ToolError::TooLarge { limit: SET_SIZE });
            }
            for &(column, part) in &kept {
                let Some(cell) = row.get(column) else {
                    continue;
                };
                cells.push(match part {
                    None => cell.clone(),
                    Some((part, named)) => self.part_of(cell, part, named)?,
                });
            }
        }
        let all = read.table.columns();
        let column = |&(column, part): &(usize, Option<(DatePart, u32)>)| {
            let source = all.get(column)?;
            let Some((part, _)) = part else {
                return Some(source.clone());
            };
            let heading = format!("{} {}", part.word(), source.heading);
            Some(TableColumn::computed(heading))
        };
        let columns: Vec<TableColumn> = kept.iter().filter_map(column).collect();
        let ordered = read.table.is_ordered();
        Ok(read.made(columns, cells, ordered, |column| {
            let (column, part) = kept.get(column)?;
            part.is_none().then_some(*column)
        }))
    }

    /// A part of the date in a cell of column `named`.
    pub(in crate::exec) fn part_of(
        &self,
        cell: &Cell,
        part: DatePart,
        named: u32,
    ) -> Result<Cell, ToolError> {
        let term = cell.term(self.kg);
        let found = term.as_literal().and_then(|literal| part.of(literal));
        found
            .map(Cell::computed)
            .ok_or_else(|| ToolError::NotADate {
                word: part.word(),
                column: named,
                value: term.to_string(),
            })
    }

    /// X6: the rows in order; rows with equal keys keep their order.
    fn sort(&self, read: ReadTable, keys: &[Field]) -> Result<Done, ToolError> {
        let mut order = Vec::new();
        for key in keys {
            match key {
                Field::Ascending(column) => order.push((read.index(*column)?, false)),
                Field::Descending(column) => order.push((read.index(*column)?, true)),
                other => {
                    return Err(ToolError::Argument {
                        given: other.to_string(),
                        right: "an order is asc k0 or desc k0".to_owned(),
                    });
                }
            }
        }
        let mut ranks = Vec::new();
        for &(column, descending) in &order {
            ranks.push((self.ranks(&read.table, column)?, descending));
        }
        let rows: Vec<&[Cell]> = read.table.rows().collect();
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by(|&a, &b| {
            let each = ranks.iter().map(|(of, descending)| match descending {
                true => of[b].cmp(&of[a]),
                false => of[a].cmp(&of[b]),
            });
            each.fold(Ordering::Equal, Ordering::then)
        });
        let sorted = places.into_iter().flat_map(|place| rows[place]);
        let cells = sorted.cloned().collect();
        Ok(read.kept(cells, true))
    }

    /// The place of every row's cell in the order of the column's different cells; cells that are
    /// equal in the order have the same place.
    fn ranks(&self, table: &Table, column: usize) -> Result<Vec<u32>, ToolError> {
        let mut clock = self.clock.clone();
        let mut numbers: FxHashMap<&Cell, u32> = FxHashMap::default();
        let mut of_rows = Vec::with_capacity(table.len());
        let mut keys: Vec<(String, u32)> = Vec::new();
        for cell in table.column(column) {
            clock.tick()?;
            let next = u32::try_from(keys.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(cell).or_insert(next);
            if number == next {
                let key = cell.value(self.kg).map(|term| order_key(&term));
                // An empty cell comes first.
                keys.push((key.unwrap_or_default(), next));
            }
            of_rows.push(number);
        }
        keys.sort_unstable();
        let mut ranks = vec![0; keys.len()];
        let mut rank = 0;
        for (place, (key, number)) in keys.iter().enumerate() {
            if place > 0 && keys[place - 1].0 != *key {
                rank += 1;
            }
            ranks[*number as usize] = rank;
        }
        let of_rows = of_rows
            .into_iter()
            .map(|number: u32| ranks[number as usize]);
        Ok(of_rows.collect())
    }

    /// The rows of several tables, one after another.
    fn append(&self, call: &Call) -> Result<Done, ToolError> {
        let mut tables = call.args.iter().map(|arg| self.read_table(arg));
        let mut whole = tables.next().ok_or_else(|| missing(call))??;
        let mut cells = whole.table.cells().to_vec();
        let mut columns = whole.table.columns().to_vec();
        for other in tables {
            let other = other?;
            if other.table.columns().len() != columns.len() {
                return Err(ToolError::Widths {
                    first: columns.len(),
                    other: other.table.columns().len(),
                });
            }
            if cells.len() + other.table.cells().len() > SET_SIZE {
                return Err(ToolError::TooLarge { limit: SET_SIZE });
            }
            for (column, more) in columns.iter_mut().zip(other.table.columns()) {
                column.numbers &= more.numbers;
                column.dates = column.dates.min(more.dates);
                column.nodes &= more.nodes;
            }
            cells.extend_from_slice(other.table.cells());
            whole.inputs.extend(other.inputs);
        }
        Ok(whole.made(columns, cells, false, |_| None))
    }

    /// The truth value of an argument.
    pub(super) fn truth(&self, arg: &Arg) -> Result<bool, ToolError> {
        match arg {
            Arg::Var(index) => match self.variables.get(*index as usize) {
                Some(Value::Bool(truth)) => Ok(*truth),
                Some(_) => Err(ToolError::NotATruth(*index)),
                None => Err(ToolError::UnknownVariable {
                    given: *index,
                    live: self.variables.len(),
                }),
            },
            other => Err(ToolError::Argument {
                given: other.to_string(),
                right: "a truth value of exists or judge is needed".to_owned(),
            }),
        }
    }

    /// The node of a cell, if the graph has its value.
    pub(super) fn node_of(&self, cell: &Cell) -> Option<NodeId> {
        match cell {
            Cell::Node(node) => Some(*node),
            Cell::Computed(_) => self.kg.find(&cell.term(self.kg)),
            Cell::Empty => None,
        }
    }
}

/// The columns that a call names after its table.
fn fields(call: &Call) -> Result<Vec<Field>, ToolError> {
    let field = |arg: &Arg| match arg {
        Arg::Field(field) => Ok(*field),
        _ => Err(missing(call)),
    };
    call.args.iter().skip(1).map(field).collect()
}
