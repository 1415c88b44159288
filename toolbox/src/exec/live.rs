//! The live items of a session: everything that the next call may name, and how calls write it.

use super::session::{Session, SetKey};
use super::table::{all_literals, common_part};
use super::tools::amount;
use super::types::{Naming, Relation, Value};
use crate::call::{Arg, Live, LiveColumn, LiveSet, LiveTable, ToolTable, print_name};
use crate::link;
use crate::mention::{Mentions, Named};
use crate::text_values;
use kg::term::{Literal, NodeId};
use kg::value::is_number;

impl Session<'_> {
    /// Everything that the next call may name, in the given naming.
    #[must_use]
    pub fn live(&self, naming: Naming) -> Live {
        let handles = naming.things_by_handle();
        let mut sets = Vec::new();
        let relation_texts = |relations: &[Relation], first: usize| -> Vec<String> {
            let named = relations
                .iter()
                .zip(self.mentioned(relations, naming))
                .enumerate();
            let text =
                |(i, (&relation, mention)): (usize, (&Relation, Option<usize>))| match mention {
                    Some(mention) => format!("m{mention}"),
                    None if naming.relations_by_handle() => format!("r{}", first + i),
                    None => print_name(&self.relation_name(relation)),
                };
            named.map(text).collect()
        };
        let mut add =
            |key: SetKey, text: String, scalar: bool, entity: bool, unanswerable: bool| {
                let shown = self.shown.get(&key).cloned().unwrap_or_default();
                sets.push(LiveSet {
                    text,
                    scalar,
                    entity,
                    unanswerable,
                    just_listed: self.last_shown.as_ref() == Some(&key),
                    out: relation_texts(&shown.out, 0),
                    incoming: relation_texts(&shown.incoming, shown.out.len()),
                });
            };
        let name = |node: NodeId| print_name(&self.kg.name(node));
        let written = |letter: char, i: usize, name: &dyn Fn() -> String| {
            if handles {
                format!("{letter}{i}")
            } else {
                name()
            }
        };
        for (i, &node) in self.linked.entities.iter().enumerate() {
            add(
                SetKey::Node(node),
                written('e', i, &|| name(node)),
                false,
                true,
                self.only_statements(&[node]),
            );
        }
        for (i, value) in self.variables.iter().enumerate() {
            let (scalar, unanswerable) = match value {
                Value::Set(set) => (false, self.only_statements(set)),
                Value::Int(_) | Value::Bool(_) => (true, false),
                Value::Table(_) => continue,
            };
            add(
                SetKey::Var(u32::try_from(i).unwrap_or(u32::MAX)),
                format!("v{i}"),
                scalar,
                false,
                unanswerable,
            );
        }
        let variables = self.variables.iter().enumerate();
        let live_tables = match self.options.tools {
            ToolTable::Paper => Vec::new(),
            ToolTable::Extended => variables
                .filter_map(|(i, value)| self.live_table(i, value, &mut add))
                .collect(),
        };
        let classes = self.classes.iter().enumerate();
        let values = self.linked.values.iter().enumerate();
        let types = &self.kg.schema().type_relations;
        let value_text = |i: usize, value: &Literal| {
            written('x', i, &|| Arg::Literal(value.clone()).to_string())
        };
        Live {
            next_var: u32::try_from(self.variables.len()).unwrap_or(u32::MAX),
            last_call: self.steps.len() + 1 >= self.options.max_steps,
            sets,
            extended: self.options.tools == ToolTable::Extended,
            tables: live_tables,
            numbers: self.live_numbers(true),
            truths: self.live_truths(),
            sizes: self.live_sizes(),
            types: types.iter().map(|relation| name(relation.node())).collect(),
            classes: classes
                .map(|(i, &node)| written('c', i, &|| name(node)))
                .collect(),
            amounts: (values.clone())
                .filter(|(_, value)| amount(value).is_some())
                .map(|(i, value)| value_text(i, value))
                .chain(self.live_numbers(false))
                .collect(),
            values: values.map(|(i, value)| value_text(i, value)).collect(),
            mentions: link::mention_texts(&self.question)
                .into_iter()
                .map(|text| Literal::plain(text).to_string())
                .collect(),
        }
    }

    /// A table, or a set or number as one; `add` takes the columns of nodes of a table as live sets.
    fn live_table(
        &self,
        variable: usize,
        value: &Value,
        add: &mut dyn FnMut(SetKey, String, bool, bool, bool),
    ) -> Option<LiveTable> {
        let of_values = |test: fn(&Literal) -> bool| match value {
            Value::Set(set) => all_literals(self.kg, set, test),
            _ => matches!(value, Value::Int(_)),
        };
        let table = match value {
            Value::Table(table) => table,
            Value::Set(_) | Value::Int(_) => {
                let text = format!("v{variable}");
                let column = LiveColumn {
                    text: text.clone(),
                    numbers: of_values(is_number),
                    dates: match value {
                        Value::Set(set) => common_part(self.kg, set),
                        _ => None,
                    },
                };
                return Some(LiveTable {
                    text,
                    columns: vec![column],
                    empty: value.is_empty(),
                    stands_in: true,
                });
            }
            Value::Bool(_) => return None,
        };
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let mut columns = Vec::new();
        for (k, column) in table.columns().iter().enumerate() {
            let text = format!("v{variable}.k{k}");
            if column.nodes {
                let nodes = table.set(k).unwrap_or_default();
                let unanswerable = self.only_statements(&nodes);
                let key = SetKey::Column(number(variable), number(k));
                add(key, text.clone(), false, false, unanswerable);
            }
            columns.push(LiveColumn {
                text,
                numbers: column.numbers,
                dates: column.dates,
            });
        }
        Some(LiveTable {
            text: format!("v{variable}"),
            columns,
            empty: table.is_empty(),
            stands_in: false,
        })
    }

    /// The variables that are one value to compare with: those of `count`, and tables with one cell, a
    /// number or, with `dates`, a date.
    fn live_numbers(&self, dates: bool) -> Vec<String> {
        let is_number = |value: &Value| match value {
            Value::Int(_) => true,
            Value::Table(table) => {
                let [column] = table.columns() else {
                    return false;
                };
                table.only().is_some() && (column.numbers || dates && column.dates.is_some())
            }
            Value::Set(_) | Value::Bool(_) => false,
        };
        let numbers = self.variables.iter().enumerate();
        numbers
            .filter(|(_, value)| is_number(value))
            .map(|(i, _)| format!("v{i}"))
            .collect()
    }

    fn live_truths(&self) -> Vec<String> {
        let truths = self.variables.iter().enumerate();
        truths
            .filter(|(_, value)| matches!(value, Value::Bool(_)))
            .map(|(i, _)| format!("v{i}"))
            .collect()
    }

    /// Numbers of rows that a call may keep: one to ten, and whole numbers of the question.
    fn live_sizes(&self) -> Vec<String> {
        let named = self
            .linked
            .values
            .iter()
            .map(|value| value.lexical.as_str());
        let whole = named.filter_map(|text| text.parse::<u32>().ok());
        let sizes = (1..=10).chain(whole.filter(|&size| size > 10));
        sizes.map(|size| size.to_string()).collect()
    }

    /// For each relation of one direction of a list, the mention linked to it, if the naming uses
    /// mentions.
    #[must_use]
    pub fn mentioned(&self, relations: &[Relation], naming: Naming) -> Vec<Option<usize>> {
        if !naming.relations_by_mention() {
            return vec![None; relations.len()];
        }
        let named: Vec<Named> = relations
            .iter()
            .map(|&r| Named {
                name: self.relation_name(r),
                label: self.relation_label(r),
            })
            .collect();
        self.mentions().link(&named)
    }

    /// The words of the question that may name relations.
    #[must_use]
    pub fn mentions(&self) -> &Mentions {
        self.mentions.get_or_init(|| {
            Mentions::of(&text_values::mask_values(
                &self.linked.mask(&self.question),
                &self.linked.values,
            ))
        })
    }
}
