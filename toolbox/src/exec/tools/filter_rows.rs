//! X3: the rows of a table that pass a test (rules D).

use rustc_hash::FxHashMap;

use super::{Done, missing};
use crate::call::{Arg, Call, TextTest};
use crate::exec::error::ToolError;
use crate::exec::session::Session;
use crate::exec::table::{Cell, Table};
use crate::exec::types::{EntSet, Value};
use kg::term::{Literal, Term};
use kg::value::{self, Kind, Op, normalise};

/// What a column is compared with.
pub(super) enum RowValue {
    Literal(Literal),
    Set(EntSet),
    /// Another column of the same table.
    Column(usize),
}

impl Session<'_> {
    pub(super) fn filter_rows(&self, call: &Call) -> Result<Done, ToolError> {
        let [first, test, value] = call.args.as_slice() else {
            return Err(missing(call));
        };
        let (read, column) = self.read_column(first)?;
        let right = self.row_value(first, test, value)?;
        let table = std::sync::Arc::clone(&read.table);
        let cells = match (test, &right) {
            (Arg::Text(test), RowValue::Literal(text)) => {
                let text = normalise(&text.lexical);
                let resources = self.kg.resources();
                let is_text = |cell: &Cell| match cell {
                    Cell::Node(node) => !resources.contains(&node.0),
                    Cell::Computed(_) => true,
                    Cell::Empty => false,
                };
                let texts = table.column(column).any(is_text);
                let holds = |cell: &Cell| {
                    // An entity among texts has no text; SPARQL drops it too.
                    if *cell == Cell::Empty || texts && !is_text(cell) {
                        return false;
                    }
                    // The name of a long literal is cut, so its own text counts.
                    let cell_text = match cell.term(self.kg) {
                        Term::Literal(literal) => normalise(&literal.lexical),
                        Term::Iri(_) | Term::Blank(_) => normalise(&cell.text(self.kg)),
                    };
                    match test {
                        TextTest::Contains => cell_text.contains(&text),
                        TextTest::Starts => cell_text.starts_with(&text),
                        TextTest::Ends => cell_text.ends_with(&text),
                    }
                };
                self.rows_with(&table, column, holds)?
            }
            (Arg::Op(op), RowValue::Set(set)) => {
                let within = |cell: &Cell| {
                    let node = self.node_of(cell);
                    node.is_some_and(|node| set.binary_search(&node).is_ok())
                };
                let holds = |cell: &Cell| *cell != Cell::Empty && within(cell) == (*op == Op::Eq);
                self.rows_with(&table, column, holds)?
            }
            (Arg::Op(op), RowValue::Literal(literal)) => {
                let kind = self.column_kind(&table, &[column])?;
                let holds = |cell: &Cell| {
                    let value_of_cell = self.cell_literal(cell);
                    value_of_cell.is_some_and(|value_of_cell| {
                        value::compare(&value_of_cell, *op, literal, kind)
                    })
                };
                self.rows_with(&table, column, holds)?
            }
            (Arg::Op(op), RowValue::Column(other)) => {
                self.compared_columns(&table, (column, *other), *op)?
            }
            _ => return Err(missing(call)),
        };
        let ordered = table.is_ordered();
        Ok(read.kept(cells, ordered))
    }

    /// The right side of a test.
    pub(super) fn row_value(
        &self,
        first: &Arg,
        test: &Arg,
        value: &Arg,
    ) -> Result<RowValue, ToolError> {
        let entity = matches!(test, Arg::Op(Op::Eq | Op::Ne));
        let only_equal = || {
            ToolError::Comparison(format!(
                "entities and sets can be compared with = and != only, not with {test}"
            ))
        };
        match value {
            Arg::Literal(literal) => Ok(RowValue::Literal(literal.clone())),
            Arg::Name(name) if name == "NOW" => {
                let now = self.options.now.clone();
                Ok(RowValue::Literal(
                    now.unwrap_or_else(|| self.kg.schema().settings.now()),
                ))
            }
            Arg::Column(table, column) if matches!(first, Arg::Column(own, _) if own == table) => {
                Ok(RowValue::Column(self.table_column(*table, *column)?.1))
            }
            Arg::Var(index) => match self.variables.get(*index as usize) {
                Some(Value::Int(number)) => Ok(RowValue::Literal(Literal::xsd(
                    number.to_string(),
                    "integer",
                ))),
                Some(Value::Table(table)) => {
                    let only = table.only().ok_or_else(|| {
                        ToolError::Comparison(format!(
                            "v{index} has {} rows and {} columns; a value to compare with is one",
                            table.len(),
                            table.columns().len()
                        ))
                    })?;
                    self.single(only.term(self.kg), entity)
                        .ok_or_else(only_equal)
                }
                Some(Value::Set(_)) if entity => Ok(RowValue::Set(self.set(value)?)),
                Some(Value::Set(set)) => match set.as_ref() {
                    [only] => self
                        .single(self.kg.term(*only), false)
                        .ok_or_else(only_equal),
                    many => Err(ToolError::Comparison(format!(
                        "v{index} has {} members; a value to compare with is one",
                        many.len()
                    ))),
                },
                _ => self.set(value).map(RowValue::Set),
            },
            other if entity => self.set(other).map(RowValue::Set),
            _ => Err(only_equal()),
        }
    }

    /// One term to compare with.
    fn single(&self, term: Term, entity: bool) -> Option<RowValue> {
        match term {
            Term::Literal(literal) => Some(RowValue::Literal(literal)),
            other if entity => Some(RowValue::Set(self.kg.find(&other).into_iter().collect())),
            Term::Iri(_) | Term::Blank(_) => None,
        }
    }

    /// The literal of a cell: a node's text where a graph made from plain text stores values as
    /// nodes.
    fn cell_literal(&self, cell: &Cell) -> Option<Literal> {
        match cell {
            Cell::Node(node) => self.literals(&[*node]).pop(),
            Cell::Computed(value) => Some(value.literal()),
            Cell::Empty => None,
        }
    }

    /// The kind of the values of some columns (rule R8).
    fn column_kind(&self, table: &Table, columns: &[usize]) -> Result<Kind, ToolError> {
        let mut clock = self.clock.clone();
        let mut literals = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        for &column in columns {
            for cell in table.column(column) {
                clock.tick()?;
                if seen.insert(cell) {
                    literals.extend(self.cell_literal(cell));
                }
            }
        }
        Ok(Kind::majority(&literals))
    }

    /// The rows whose cell of one column passes a test; equal cells are tested once.
    fn rows_with(
        &self,
        table: &Table,
        column: usize,
        holds: impl Fn(&Cell) -> bool,
    ) -> Result<Vec<Cell>, ToolError> {
        let mut clock = self.clock.clone();
        let mut known: FxHashMap<&Cell, bool> = FxHashMap::default();
        let mut cells = Vec::new();
        for row in table.rows() {
            clock.tick()?;
            let passes = row
                .get(column)
                .is_some_and(|cell| *known.entry(cell).or_insert_with(|| holds(cell)));
            if passes {
                cells.extend_from_slice(row);
            }
        }
        Ok(cells)
    }

    /// The rows in which two columns compare so.
    fn compared_columns(
        &self,
        table: &Table,
        (left, right): (usize, usize),
        op: Op,
    ) -> Result<Vec<Cell>, ToolError> {
        let kind = self.column_kind(table, &[left, right])?;
        let mut clock = self.clock.clone();
        let mut cells = Vec::new();
        for row in table.rows() {
            clock.tick()?;
            let (Some(a), Some(b)) = (row.get(left), row.get(right)) else {
                continue;
            };
            if *a == Cell::Empty || *b == Cell::Empty {
                continue;
            }
            let holds = match (self.cell_literal(a), self.cell_literal(b)) {
                (Some(a), Some(b)) => value::compare(&a, op, &b, kind),
                _ => match op {
                    Op::Eq => a == b,
                    Op::Ne => a != b,
                    _ => false,
                },
            };
            if holds {
                cells.extend_from_slice(row);
            }
        }
        Ok(cells)
    }
}
