//! Tables that calls may name, and the stages of the tools that read them.

use super::super::ast::{Aggregate, Repeat, TextTest, Tool};
use super::{CallAcceptor, LiveSet, Stage, closed};
use crate::limits::MAX_SET_ARGS;
use kg::value::{DatePart, Sign};

/// A table that a call may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveTable {
    /// How the call writes it: `v3`.
    pub text: String,
    /// Its columns. Those that hold nodes are among the live sets too.
    pub columns: Vec<LiveColumn>,
    /// Whether it has no rows.
    pub empty: bool,
    /// Whether it is a set or a number, which tools that take both do not read as a table.
    pub stands_in: bool,
}

/// A column of a live table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveColumn {
    /// How the call writes it: `v3.k0`.
    pub text: String,
    /// Whether its values can be added up.
    pub numbers: bool,
    /// The finest part that all its values have as dates; `None` if one is no date.
    pub dates: Option<DatePart>,
}

type Choice = (String, Stage);

impl CallAcceptor {
    /// The tables of a tool that reads one; for `where` and `compute`, their columns.
    pub(super) fn tables(&self, tool: Tool) -> Vec<Choice> {
        let tables = self.live.tables.iter().enumerate();
        if matches!(tool, Tool::Where | Tool::Compute) {
            return tables
                .flat_map(|(i, table)| {
                    let columns = table.columns.iter().enumerate();
                    columns.map(move |(k, column)| (i, k, column))
                })
                .filter(|(_, _, column)| tool == Tool::Where || column.numbers)
                .map(|(i, k, column)| {
                    let stage = if tool == Tool::Where {
                        Stage::Test(i, k)
                    } else {
                        Stage::Sign(i, k)
                    };
                    (format!("{}, ", column.text), stage)
                })
                .filter(|(_, stage)| !self.texts(stage).is_empty())
                .collect();
        }
        tables
            .map(|(i, table)| {
                let next = match tool {
                    Tool::First => Stage::Size,
                    tool => Stage::Fields(tool, i, Vec::new()),
                };
                (format!("{}, ", table.text), next)
            })
            .filter(|(_, stage)| !self.texts(stage).is_empty())
            .collect()
    }

    /// The tables as the last argument.
    pub(super) fn whole_tables(&self) -> Vec<Choice> {
        let whole = |text: &String| (format!("{text})"), Stage::Done);
        let tables = self.live.tables.iter().filter(|table| !table.stands_in);
        tables.map(|table| whole(&table.text)).collect()
    }

    /// The relations that `extend` may follow, once or repeatedly. Class relations are never
    /// listed, and the tool takes them for every set.
    pub(super) fn paths(&self, set: &LiveSet) -> Vec<Choice> {
        let against = set.incoming.iter().map(|name| format!("~{name}"));
        let listed: Vec<String> = set.out.iter().cloned().chain(against).collect();
        let repeated = Repeat::ALL.into_iter().flat_map(|repeat| {
            let mark = move |path: &String| format!("{} {path}", repeat.mark());
            listed.iter().map(mark)
        });
        let types = self.live.types.iter();
        let types = types.flat_map(|name| [name.clone(), format!("~{name}")]);
        closed(repeated.chain(types).chain(listed.iter().cloned()))
    }

    /// The numbers of rows of `first`.
    pub(super) fn sizes(&self) -> Vec<Choice> {
        let mut texts = closed(&self.live.sizes);
        let more = |size: &String| (format!("{size}, "), Stage::Skipped);
        texts.extend(self.live.sizes.iter().map(more));
        texts
    }

    /// The truth values of `choose`.
    pub(super) fn truths(&self) -> Vec<Choice> {
        let truths = self.live.truths.iter();
        truths
            .map(|text| (format!("{text}, "), Stage::Either))
            .filter(|(_, stage)| !self.texts(stage).is_empty())
            .collect()
    }

    pub(super) fn row_tests(&self, table: usize, column: usize) -> Vec<Choice> {
        let mut texts = Vec::new();
        if !self.live.values.is_empty() {
            texts.extend(
                TextTest::ALL.map(|test| (format!("{}, ", test.word()), Stage::Value(false))),
            );
        }
        for (words, equal) in [
            (&["=, ", "!=, "][..], true),
            (&["<, ", "<=, ", ">, ", ">=, "], false),
        ] {
            if !self.row_values(table, column, equal).is_empty() {
                let stage = Stage::RowValue(table, column, equal);
                texts.extend(words.iter().map(|word| ((*word).to_owned(), stage.clone())));
            }
        }
        texts
    }

    /// What a column may be compared with: values, numbers, other columns of its table, and with
    /// `=` and `!=` sets.
    pub(super) fn row_values(&self, table: usize, column: usize, equal: bool) -> Vec<String> {
        let columns = &self.live.tables[table].columns;
        let others = columns.iter().enumerate().filter(|(k, _)| *k != column);
        let others: Vec<String> = others.map(|(_, column)| column.text.clone()).collect();
        let of_table = |text: &String| columns.iter().any(|column| column.text == *text);
        let sets = self.nodes().map(|(_, set)| &set.text);
        let sets = sets.filter(|text| equal && !of_table(text));
        let numbers = self.live.numbers.iter().filter(|text| !of_table(text));
        let literals = self.live.values.iter().chain(numbers);
        literals.chain(sets).cloned().chain(others).collect()
    }

    pub(super) fn signs(&self, table: usize, column: usize) -> Vec<Choice> {
        if self.amounts(table, column).is_empty() {
            return Vec::new();
        }
        let sign = |sign: Sign| (format!("{sign}, "), Stage::Amount(table, column));
        Sign::ALL.map(sign).to_vec()
    }

    /// What arithmetic may take beside a column: numbers of the question, counts and tables of one
    /// cell, and other columns of numbers.
    pub(super) fn amounts(&self, table: usize, column: usize) -> Vec<String> {
        let columns = &self.live.tables[table].columns;
        let others = columns.iter().enumerate();
        let others = others.filter(|(k, other)| *k != column && other.numbers);
        let own = |text: &String| columns.iter().any(|column| column.text == *text);
        let known = self.live.amounts.iter().filter(|text| !own(text));
        (known.cloned())
            .chain(others.map(|(_, column)| column.text.clone()))
            .collect()
    }

    /// What may follow a table: columns, aggregates or keys of an order. Each is named once.
    pub(super) fn fields(&self, tool: Tool, table: usize, chosen: &[usize]) -> Vec<Choice> {
        let words = self.words(tool, table);
        let mut texts = Vec::new();
        let left = words
            .iter()
            .enumerate()
            .filter(|(i, _)| !chosen.contains(i));
        for (i, word) in left {
            texts.push((format!("{word})"), Stage::Done));
            if chosen.len() + 1 < words.len().min(MAX_SET_ARGS) {
                let mut longer = chosen.to_vec();
                longer.push(i);
                texts.push((format!("{word}, "), Stage::Fields(tool, table, longer)));
            }
        }
        texts
    }

    /// The words that a tool takes after a table.
    fn words(&self, tool: Tool, table: usize) -> Vec<String> {
        let table = &self.live.tables[table];
        let columns = table.columns.iter().enumerate();
        let mut words = Vec::new();
        for (k, column) in columns {
            match tool {
                Tool::Sort => words.extend([format!("asc k{k}"), format!("desc k{k}")]),
                Tool::Columns => {
                    words.push(format!("k{k}"));
                    let parts = DatePart::ALL.into_iter();
                    let parts =
                        parts.filter(|part| column.dates.is_some_and(|finest| *part <= finest));
                    words.extend(parts.map(|part| format!("{} k{k}", part.word())));
                }
                _ => {
                    words.push(format!("k{k}"));
                    let known = Aggregate::ALL
                        .into_iter()
                        .filter(|aggregate| match aggregate {
                            Aggregate::Distinct => true,
                            Aggregate::Sum | Aggregate::Average => column.numbers,
                            Aggregate::Min | Aggregate::Max => !table.empty,
                        });
                    words.extend(known.map(|aggregate| format!("{} k{k}", aggregate.word())));
                }
            }
        }
        if tool == Tool::Group {
            words.push("count".to_owned());
        }
        words
    }

    /// The first table of a union: there must be another table with as many columns.
    pub(super) fn first_tables(&self) -> Vec<Choice> {
        let tables = self.live.tables.iter().enumerate();
        tables
            .filter(|(_, table)| !table.stands_in)
            .map(|(i, table)| (format!("{}, ", table.text), Stage::MoreTables(vec![i])))
            .filter(|(_, stage)| !self.texts(stage).is_empty())
            .collect()
    }

    /// Another table of a union.
    pub(super) fn more_tables(&self, chosen: &[usize]) -> Vec<Choice> {
        let width = |i: usize| self.live.tables[i].columns.len();
        let fitting: Vec<usize> = (0..self.live.tables.len())
            .filter(|i| !chosen.contains(i) && width(*i) == width(chosen[0]))
            .filter(|i| !self.live.tables[*i].stands_in)
            .collect();
        let mut texts = Vec::new();
        for &i in &fitting {
            let text = &self.live.tables[i].text;
            texts.push((format!("{text})"), Stage::Done));
            if fitting.len() > 1 && chosen.len() + 1 < MAX_SET_ARGS {
                let longer = chosen.iter().copied().chain([i]).collect();
                texts.push((format!("{text}, "), Stage::MoreTables(longer)));
            }
        }
        texts
    }
}
