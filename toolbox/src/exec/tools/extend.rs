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
            let Some(Cell::Node(node)) = row.get(column) else {
                return Err(computed(first));
            };
            let reached = match repeat {
                None => self.step(*node, relation, forward),
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
            for &value in reached.iter() {
                clock.tick()?;
                if self.without_excluded(vec![value]).is_empty() {
                    continue;
                }
                if cells.len() + row.len() >= SET_SIZE {
                    return Err(ToolError::TooLarge { limit: SET_SIZE });
                }
                cells.extend_from_slice(row);
                cells.push(Cell::Node(value));
                values.push(value);
            }
        }
        values.sort_unstable();
        values.dedup();
        let mut columns = read.table.columns().to_vec();
        let mark = if forward { "" } else { "~" };
        let again = repeat.map_or_else(String::new, |repeat| format!("{} ", repeat.mark()));
        columns.push(TableColumn {
            heading: format!("{again}{mark}{}", self.relation_name(relation)),
            numbers: all_literals(self.kg, &values, is_number),
            dates: common_part(self.kg, &values),
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
