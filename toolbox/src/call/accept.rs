//! The acceptor of calls: which bytes may follow a prefix of a call, given what is live.
//!
//! A call passes through *stages* (tool, set, relation, comparator, value, …). Each stage offers
//! finitely many texts, including the delimiter, and no text is a prefix of another. A state is
//! therefore a range of a sorted list of texts and the number of bytes written. A stage offers a
//! text only if the next stage has something to offer, so every accepted prefix can be completed.
//! The call ends at the stage without texts.

mod tables;

pub use tables::{LiveColumn, LiveTable};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use common::acceptor::Acceptor;

use super::ast::Tool;
use super::grammar::{Param, Returns, ToolTable};
use crate::limits::MAX_SET_ARGS;

/// A set that a call may name, with the relations shown for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSet {
    /// How the call writes it: `v3`, `e0`, or a printed name.
    pub text: String,
    /// A number or a truth value: only `end` accepts it.
    pub scalar: bool,
    /// Contains only statement nodes, which are not answers (rule R22): `end` does not accept it.
    pub unanswerable: bool,
    /// A linked entity rather than a result; it can also be a comparison value.
    pub entity: bool,
    /// Its relations are the ones shown last, so listing them again would not help.
    pub just_listed: bool,
    /// Its shown out-relations, as calls write them.
    pub out: Vec<String>,
    /// Its shown in-relations, as calls write them.
    pub incoming: Vec<String>,
}

/// Everything that a call may name in the current state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Index of the next variable.
    pub next_var: u32,
    /// This is the last allowed call, so it must be `end`.
    pub last_call: bool,
    /// Sets, columns of nodes, numbers and truth values.
    pub sets: Vec<LiveSet>,
    /// Whether the extended tools are offered.
    pub extended: bool,
    /// The tables, and the variables that stand for one: sets and numbers.
    pub tables: Vec<LiveTable>,
    /// The variables that are one number or date: those of `count`, and tables of one cell.
    pub numbers: Vec<String>,
    /// The variables that are a truth value.
    pub truths: Vec<String>,
    /// The numbers of rows that `first` may keep.
    pub sizes: Vec<String>,
    /// The offered classes.
    pub classes: Vec<String>,
    /// Type relations. No list shows them; only `judge` accepts one, with `=` and an offered class.
    pub types: Vec<String>,
    /// Literals found in the question.
    pub values: Vec<String>,
    /// Those of them that are numbers, and the variables that are one number.
    pub amounts: Vec<String>,
    /// Mentions of the question, printed as literals.
    pub mentions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Start,
    /// The first set of a tool.
    Set(Tool),
    /// The second set of `difference`, `choose` or a two-set `get_relation`.
    Second(usize),
    /// The first set of `choose`.
    Either,
    Relation(Tool, usize),
    Comparator(Tool),
    /// A value; the flag allows entities as comparison values (`=` and `!=` only).
    Value(bool),
    Class,
    Mention,
    /// Another set of `intersect` or `union`, with the sets chosen so far.
    More(Tool, Vec<usize>),
    /// Another table of `union`, with the tables chosen so far.
    MoreTables(Vec<usize>),
    /// The table of a tool that reads one.
    Table(Tool),
    /// The test of a column, given by its table and its place there.
    Test(usize, usize),
    /// What a column is compared with; the flag allows entities and sets (`=` and `!=` only).
    RowValue(usize, usize, bool),
    /// The sign behind a column of numbers.
    Sign(usize, usize),
    /// What is added to a column, taken from it, and so on.
    Amount(usize, usize),
    /// The words after a table, with their number so far.
    Fields(Tool, usize, Vec<usize>),
    Size,
    /// How many rows `first` leaves out.
    Skipped,
    /// The truth value of `choose`.
    Truth,
    Done,
}

#[derive(Debug)]
struct Choices {
    /// Sorted texts with the next stage of each.
    texts: Vec<(String, Stage)>,
}

/// A prefix of a call.
#[derive(Clone, Debug)]
pub struct CallState {
    choices: Arc<Choices>,
    from: usize,
    to: usize,
    typed: usize,
}

/// Accepts exactly the calls whose arguments are live.
#[derive(Debug)]
pub struct CallAcceptor {
    live: Live,
    /// Cache of choices by stage: computing a token mask asks for them repeatedly.
    cache: Mutex<HashMap<Stage, Arc<Choices>>>,
}

impl CallAcceptor {
    /// The acceptor for what is live.
    #[must_use]
    pub fn new(live: Live) -> Self {
        Self {
            live,
            cache: Mutex::new(HashMap::new()),
        }
    }

    /// What is live.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// The texts that may complete the current stage.
    #[must_use]
    pub fn continuations(&self, state: &CallState) -> Vec<String> {
        state.choices.texts[state.from..state.to]
            .iter()
            .map(|(text, _)| text[state.typed..].to_owned())
            .collect()
    }

    /// The language as grammar rules. Each rule lists its texts and the rule that follows each;
    /// the first rule starts a call. A single rule describes everything after the first set of
    /// `intersect` and `union`, so the rules do not require the sets to be distinct.
    pub(crate) fn rules(&self) -> Vec<Vec<(String, Option<usize>)>> {
        let mut stages = vec![Stage::Start];
        let mut rules = Vec::new();
        while let Some(stage) = stages.get(rules.len()).cloned() {
            let mut number = |next: &Stage| {
                let next = match next {
                    Stage::Done => return None,
                    Stage::More(tool, chosen) => Stage::More(*tool, chosen[..1].to_vec()),
                    Stage::MoreTables(chosen) => Stage::MoreTables(chosen[..1].to_vec()),
                    Stage::Fields(tool, table, chosen) => {
                        let first = chosen.iter().take(1).copied().collect();
                        Stage::Fields(*tool, *table, first)
                    }
                    other => other.clone(),
                };
                let known = stages.iter().position(|stage| *stage == next);
                Some(known.unwrap_or_else(|| {
                    stages.push(next);
                    stages.len() - 1
                }))
            };
            let choices = self.choices(&stage);
            rules.push(
                choices
                    .texts
                    .iter()
                    .map(|(text, next)| (text.clone(), number(next)))
                    .collect(),
            );
        }
        rules
    }

    fn choices(&self, stage: &Stage) -> Arc<Choices> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(choices) = cache.get(stage) {
            return Arc::clone(choices);
        }
        let mut texts = self.texts(stage);
        texts.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        texts.dedup_by(|a, b| a.0 == b.0);
        let choices = Arc::new(Choices { texts });
        cache.insert(stage.clone(), Arc::clone(&choices));
        choices
    }

    fn enter(&self, stage: &Stage) -> CallState {
        let choices = self.choices(stage);
        CallState {
            from: 0,
            to: choices.texts.len(),
            typed: 0,
            choices,
        }
    }

    fn texts(&self, stage: &Stage) -> Vec<(String, Stage)> {
        match stage {
            Stage::Start => self.openings(),
            Stage::Set(tool) => self.first_sets(*tool),
            Stage::Second(first) => {
                let others = self.nodes().filter(|(i, _)| i != first);
                closed(others.map(|(_, set)| &set.text))
            }
            Stage::Either => {
                let sets = self.nodes().filter(|_| self.nodes().count() > 1);
                sets.map(|(i, set)| (format!("{}, ", set.text), Stage::Second(i)))
                    .collect()
            }
            Stage::Relation(tool, set) => self.relations(*tool, &self.live.sets[*set]),
            Stage::Comparator(tool) => self.comparators(*tool),
            Stage::Value(entities) => closed(self.values(*entities)),
            Stage::Class => closed(&self.live.classes),
            Stage::Mention => closed(&self.live.mentions),
            Stage::More(tool, chosen) => self.more(*tool, chosen),
            Stage::MoreTables(chosen) => self.more_tables(chosen),
            Stage::Table(tool) => self.tables(*tool),
            Stage::Test(table, column) => self.row_tests(*table, *column),
            Stage::RowValue(table, column, equal) => {
                closed(self.row_values(*table, *column, *equal))
            }
            Stage::Sign(table, column) => self.signs(*table, *column),
            Stage::Amount(table, column) => closed(self.amounts(*table, *column)),
            Stage::Fields(tool, table, chosen) => self.fields(*tool, *table, chosen),
            Stage::Size => self.sizes(),
            Stage::Skipped => closed(&self.live.sizes),
            Stage::Truth => self.truths(),
            Stage::Done => Vec::new(),
        }
    }

    /// The sets of nodes, without numbers and truth values.
    fn nodes(&self) -> impl Iterator<Item = (usize, &LiveSet)> {
        self.live
            .sets
            .iter()
            .enumerate()
            .filter(|(_, set)| !set.scalar)
    }

    fn values(&self, entities: bool) -> impl Iterator<Item = &str> {
        let entities = self
            .live
            .sets
            .iter()
            .filter(move |set| entities && set.entity)
            .map(|set| set.text.as_str());
        self.live.values.iter().map(String::as_str).chain(entities)
    }

    fn openings(&self) -> Vec<(String, Stage)> {
        let mut texts = Vec::new();
        let table = if self.live.extended {
            ToolTable::Extended
        } else {
            ToolTable::Paper
        };
        for row in table
            .rows()
            .filter(|row| !self.live.last_call || row.tool == Tool::End)
        {
            let stage = match row.params.first() {
                Some(Param::Class) => Stage::Class,
                Some(Param::Mention) => Stage::Mention,
                Some(Param::Truth) => Stage::Truth,
                // `where` and `compute` start with a column of a table, which the grammar counts as a
                // set.
                Some(Param::Set) if !matches!(row.tool, Tool::Where | Tool::Compute) => {
                    Stage::Set(row.tool)
                }
                _ => Stage::Table(row.tool),
            };
            if self.choices_exist(&stage) {
                let target = match row.returns {
                    Returns::Relations => String::new(),
                    Returns::Answer => "ans = ".to_owned(),
                    Returns::Set | Returns::Number | Returns::Truth | Returns::Table => {
                        format!("v{} = ", self.live.next_var)
                    }
                };
                texts.push((format!("{target}{}(", row.name), stage));
            }
        }
        texts
    }

    fn choices_exist(&self, stage: &Stage) -> bool {
        match stage {
            Stage::Class => !self.live.classes.is_empty(),
            Stage::Mention => !self.live.mentions.is_empty(),
            stage => !self.texts(stage).is_empty(),
        }
    }

    fn first_sets(&self, tool: Tool) -> Vec<(String, Stage)> {
        let mut texts = Vec::new();
        let last = |set: &LiveSet| (format!("{})", set.text), Stage::Done);
        let next = |set: &LiveSet, stage: Stage| (format!("{}, ", set.text), stage);
        match tool {
            Tool::GetRelation => {
                for (i, set) in self.nodes() {
                    if !set.just_listed {
                        texts.push(last(set));
                    }
                    if self.nodes().count() > 1 {
                        texts.push(next(set, Stage::Second(i)));
                    }
                }
            }
            Tool::GetTailEntity
            | Tool::GetHeadEntity
            | Tool::GetEntityByConstraint
            | Tool::Extend
            | Tool::Judge => {
                for (i, set) in self.nodes() {
                    let stage = Stage::Relation(tool, i);
                    if !self.texts(&stage).is_empty() {
                        texts.push(next(set, stage));
                    }
                }
            }
            Tool::Intersect | Tool::Union => {
                if self.nodes().count() > 1 {
                    texts.extend(
                        self.nodes()
                            .map(|(i, set)| next(set, Stage::More(tool, vec![i]))),
                    );
                }
                if tool == Tool::Union {
                    texts.extend(self.first_tables());
                }
            }
            Tool::Difference => {
                if self.nodes().count() > 1 {
                    texts.extend(self.nodes().map(|(i, set)| next(set, Stage::Second(i))));
                }
            }
            Tool::Count | Tool::Exists | Tool::DisambiguateEntity => {
                texts.extend(self.nodes().map(|(_, set)| last(set)));
                if tool != Tool::DisambiguateEntity {
                    texts.extend(self.whole_tables());
                }
            }
            Tool::RetrieveRelation => {
                texts.extend(
                    self.nodes()
                        .filter(|(_, set)| !set.out.is_empty() || !set.incoming.is_empty())
                        .map(|(_, set)| last(set)),
                );
            }
            Tool::End => {
                texts.extend(
                    self.live
                        .sets
                        .iter()
                        .filter(|set| !set.unanswerable)
                        .map(last),
                );
                texts.push(("[])".to_owned(), Stage::Done));
                texts.extend(self.whole_tables());
            }
            Tool::GetEntityByType
            | Tool::GetCandidateEntity
            | Tool::Where
            | Tool::Compute
            | Tool::Group
            | Tool::Columns
            | Tool::Sort
            | Tool::First
            | Tool::Choose => {}
        }
        texts
    }

    fn relations(&self, tool: Tool, set: &LiveSet) -> Vec<(String, Stage)> {
        match tool {
            Tool::GetTailEntity => closed(&set.out),
            Tool::GetHeadEntity => closed(&set.incoming),
            Tool::Extend => self.paths(set),
            _ => {
                let stage = Stage::Comparator(tool);
                if self.texts(&stage).is_empty() {
                    return Vec::new();
                }
                let along = set.out.iter().map(|name| format!("{name}, "));
                let against = set.incoming.iter().map(|name| format!("~{name}, "));
                let mut texts: Vec<(String, Stage)> = along
                    .chain(against)
                    .map(|text| (text, stage.clone()))
                    .collect();
                if tool == Tool::Judge && !texts.is_empty() && !self.live.classes.is_empty() {
                    texts.extend(
                        self.live
                            .types
                            .iter()
                            .map(|name| (format!("{name}, =, "), Stage::Class)),
                    );
                }
                texts
            }
        }
    }

    fn comparators(&self, tool: Tool) -> Vec<(String, Stage)> {
        let mut texts = Vec::new();
        if tool == Tool::GetEntityByConstraint {
            texts.extend(["argmax)", "argmin)"].map(|text| (text.to_owned(), Stage::Done)));
        }
        if self.values(true).next().is_some() {
            texts.extend(["=, ", "!=, "].map(|text| (text.to_owned(), Stage::Value(true))));
        }
        if self.values(false).next().is_some() {
            texts.extend(
                ["<, ", "<=, ", ">, ", ">=, "].map(|text| (text.to_owned(), Stage::Value(false))),
            );
        }
        texts
    }

    fn more(&self, tool: Tool, chosen: &[usize]) -> Vec<(String, Stage)> {
        let mut texts = Vec::new();
        let left = self.nodes().filter(|(i, _)| !chosen.contains(i)).count();
        for (i, set) in self.nodes().filter(|(i, _)| !chosen.contains(i)) {
            texts.push((format!("{})", set.text), Stage::Done));
            if left > 1 && chosen.len() + 1 < MAX_SET_ARGS {
                let mut longer = chosen.to_vec();
                longer.push(i);
                texts.push((format!("{}, ", set.text), Stage::More(tool, longer)));
            }
        }
        texts
    }
}

/// Texts that complete the call.
fn closed<T: std::fmt::Display>(texts: impl IntoIterator<Item = T>) -> Vec<(String, Stage)> {
    let text = |text| (format!("{text})"), Stage::Done);
    texts.into_iter().map(text).collect()
}

impl Acceptor for CallAcceptor {
    type State = CallState;

    fn start(&self) -> CallState {
        self.enter(&Stage::Start)
    }

    fn step(&self, state: &CallState, byte: u8) -> Option<CallState> {
        let texts = &state.choices.texts[state.from..state.to];
        // The texts of the range share the bytes written so far and are sorted, so those that
        // continue with `byte` are contiguous.
        let low = texts.partition_point(|(text, _)| text.as_bytes()[state.typed] < byte);
        let high =
            low + texts[low..].partition_point(|(text, _)| text.as_bytes()[state.typed] == byte);
        if low == high {
            return None;
        }
        let typed = state.typed + 1;
        let (text, stage) = &texts[low];
        if text.len() == typed {
            return Some(self.enter(stage));
        }
        Some(CallState {
            choices: Arc::clone(&state.choices),
            from: state.from + low,
            to: state.from + high,
            typed,
        })
    }

    fn may_end(&self, state: &CallState) -> bool {
        // Only the last stage offers no texts: every other stage is entered only if it has some.
        state.choices.texts.is_empty()
    }
}
