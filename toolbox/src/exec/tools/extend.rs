//! X2: one more column, along a relation or a path that repeats one (rules D).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{Done, missing};
use crate::call::{Arg, Call, Repeat};
use crate::exec::clock::Clock;
use crate::exec::error::ToolError;
use crate::exec::resolve::NEAREST;
use crate::exec::session::Session;
use crate::exec::table::{Cell, TableColumn, all_literals, common_part};
use crate::exec::types::Relation;
use crate::limits::SET_SIZE;
use kg::term::NodeId;
use kg::value::is_number;

impl Session<'_> {
    /// X2: one row per row and value.
    pub(super) fn extend(&self, call: &Call) -> Result<Done, ToolError> {
        let first = call.args.first().ok_or_else(|| missing(call))?;
        let (read, column) = self.read_column(first)?;
        let path = call.args.get(1).ok_or_else(|| missing(call))?;
        let Arg::Name(name) = path.relation() else {
            return Err(missing(call));
        };
        let (forward, repeat) = (!path.is_inverse(), path.repeat());
        let Some(relation) = self.relation_by_name(name) else {
            let from = self.set(first)?;
            let near = self.nearest_relations(&from, name)?;
            return Err(ToolError::UnknownRelation {
                given: name.clone(),
                set: first.to_string(),
                near: near.into_iter().take(NEAREST).collect(),
            });
        };
        let mut clock = self.clock.clone();
        let mut cells = Vec::new();
        let mut values = Vec::new();
        let mut closures: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for row in read.table.rows() {
            clock.tick()?;
            let node = match row.get(column) {
                Some(Cell::Node(node)) => node,
                Some(Cell::Empty) => {
                    if repeat == Some(Repeat::Maybe) {
                        without(row, &mut cells)?;
                    }
                    continue;
                }
                _ => return Err(computed(first)),
            };
            let reached = match repeat {
                None | Some(Repeat::Maybe) => self.step(*node, relation, forward),
                Some(repeat) => {
                    if !closures.contains_key(node) {
                        let all = self.closure(*node, (relation, forward), repeat, &mut clock)?;
                        closures.insert(*node, all);
                    }
                    closures
                        .get(node)
                        .map(Vec::as_slice)
                        .unwrap_or_default()
                        .into()
                }
            };
            let mut any = false;
            for &value in reached.iter() {
                clock.tick()?;
                if self.without_excluded(vec![value]).is_empty() {
                    continue;
                }
                any = true;
                if cells.len() + row.len() >= SET_SIZE {
                    return Err(ToolError::TooLarge { limit: SET_SIZE });
                }
                cells.extend_from_slice(row);
                cells.push(Cell::Node(value));
                values.push(value);
            }
            if !any && repeat == Some(Repeat::Maybe) {
                without(row, &mut cells)?;
            }
        }
        let width = read.table.columns().len() + 1;
        let full = cells.len() == values.len() * width;
        values.sort_unstable();
        values.dedup();
        let mut columns = read.table.columns().to_vec();
        let mark = if forward { "" } else { "~" };
        let again = repeat.map_or_else(String::new, |repeat| format!("{} ", repeat.mark()));
        columns.push(TableColumn {
            heading: format!("{again}{mark}{}", self.relation_name(relation)),
            numbers: full && all_literals(self.kg, &values, is_number),
            dates: common_part(self.kg, &values).filter(|_| full),
            nodes: true,
        });
        let width = columns.len() - 1;
        let mut done = read.made(columns, cells, false, |column| {
            (column < width).then_some(column)
        });
        done.walked = Some((relation, forward));
        Ok(done)
    }

    /// The nodes that a repeated relation reaches from a node, by id.
    ///
    /// # Errors
    /// [`ToolError::TooLarge`], or the deadline.
    pub(crate) fn closure(
        &self,
        from: NodeId,
        (relation, forward): (Relation, bool),
        repeat: Repeat,
        clock: &mut Clock,
    ) -> Result<Vec<NodeId>, ToolError> {
        let mut reached = BTreeSet::new();
        if repeat == Repeat::ZeroOrMore {
            reached.insert(from);
        }
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for &value in self.step(node, relation, forward).iter() {
                clock.tick()?;
                if reached.insert(value) {
                    open.push(value);
                }
            }
            if reached.len() > SET_SIZE {
                return Err(ToolError::TooLarge { limit: SET_SIZE });
            }
        }
        Ok(reached.into_iter().collect())
    }
}

/// Adds a row with an empty cell at its end.
fn without(row: &[Cell], cells: &mut Vec<Cell>) -> Result<(), ToolError> {
    if cells.len() + row.len() >= SET_SIZE {
        return Err(ToolError::TooLarge { limit: SET_SIZE });
    }
    cells.extend_from_slice(row);
    cells.push(Cell::Empty);
    Ok(())
}

fn computed(arg: &Arg) -> ToolError {
    match arg {
        Arg::Column(table, column) => ToolError::Computed {
            table: *table,
            column: *column,
        },
        other => ToolError::Argument {
            given: other.to_string(),
            right: "a set or a column of a table is needed".to_owned(),
        },
    }
}
