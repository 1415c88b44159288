//! The sets and tables of a program in words.

use std::collections::BTreeMap;

use kg::term::{NodeId, RelId, Term};
use kg::value::{DatePart, Extreme, Op};
use kg::{Kg, words};

use crate::call::{Aggregate, Arg, Call, Field, Repeat, Target, TextTest, Tool};
use crate::link::Linked;

/// Characters of a text after which it ends.
const LONGEST: usize = 400;
/// Entities of a list that are named.
const NAMED: usize = 3;

/// Cuts a text that is too long.
pub(super) fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
    }
}

/// The label of a node, or the words of its name.
pub(super) fn name_of(kg: &dyn Kg, node: NodeId) -> String {
    match kg.term(node) {
        Term::Literal(literal) => literal.lexical,
        _ => kg
            .label(node)
            .unwrap_or_else(|| words(local(&kg.name(node))).join(" ")),
    }
}

/// The words with which the question calls a linked entity.
pub(super) fn mention(linked: &Linked, at: usize) -> Option<&str> {
    let (start, end) = linked.span(at)?;
    linked.plain()?.get(start..end)
}

/// The last part of a name with a namespace.
fn local(name: &str) -> &str {
    let name = name.trim_matches(['<', '>']);
    name.rsplit(['/', '#', ':'])
        .find(|part| !part.is_empty())
        .unwrap_or(name)
}

/// The name of a relation in words. A name in sections (`film.film.directed_by`) keeps the section
/// before the last, which says whose relation it is.
pub(super) fn relation_of(kg: &dyn Kg, name: &str) -> String {
    let label = kg
        .by_name(name)
        .and_then(|node| kg.label(kg.property_of(RelId(node.0))));
    if let Some(label) = label {
        return words(&label).join(" ");
    }
    let own = name.rsplit("..").next().unwrap_or(name);
    let own = local(own);
    let mut sections = own.rsplit('.');
    let last = words(sections.next().unwrap_or(own));
    let before = sections.next().map(words).unwrap_or_default();
    let new = before.into_iter().filter(|word| !last.contains(word));
    let all: Vec<String> = new.chain(last.iter().cloned()).collect();
    all.join(" ")
}

/// A table in words.
#[derive(Clone, Default)]
struct SaidTable {
    /// Its columns.
    columns: Vec<String>,
    /// What was done with its rows.
    rows: String,
}

impl SaidTable {
    fn column(&self, index: u32) -> String {
        (self.columns.get(index as usize)).map_or_else(|| "column".to_owned(), Clone::clone)
    }

    fn whole(&self) -> String {
        format!("{}{}", self.columns.join(", "), self.rows)
    }
}

/// What the variables of a program stand for, in words.
pub(super) struct Speaker<'a> {
    kg: &'a dyn Kg,
    linked: &'a Linked,
    sets: BTreeMap<u32, String>,
    tables: BTreeMap<u32, SaidTable>,
}

impl<'a> Speaker<'a> {
    /// A speaker for a program about linked entities.
    pub(super) fn new(kg: &'a dyn Kg, linked: &'a Linked) -> Self {
        Self {
            kg,
            linked,
            sets: BTreeMap::new(),
            tables: BTreeMap::new(),
        }
    }

    /// What a program is, in words.
    pub(super) fn program(mut self, calls: &[Call]) -> String {
        let mut said = String::new();
        for call in calls {
            match call.target {
                Target::None => {}
                Target::Ans => said = self.ended(call),
                Target::Var(to) => self.assign(to, call),
            }
        }
        shorten(&mut said);
        said
    }

    fn ended(&self, call: &Call) -> String {
        match call.args.first() {
            Some(Arg::Var(index)) if self.tables.contains_key(index) => self
                .tables
                .get(index)
                .map(SaidTable::whole)
                .unwrap_or_default(),
            Some(arg) => self.operand(arg),
            None => String::new(),
        }
    }

    fn assign(&mut self, to: u32, call: &Call) {
        let from_table = match call.args.first() {
            Some(Arg::Var(index) | Arg::Column(index, _)) => self.tables.contains_key(index),
            _ => false,
        };
        let makes_table = matches!(
            call.tool,
            Tool::Extend
                | Tool::Where
                | Tool::Group
                | Tool::Columns
                | Tool::Sort
                | Tool::First
                | Tool::Compute
        );
        if makes_table || from_table && call.tool == Tool::Union {
            let mut table = self.table(call);
            shorten(&mut table.rows);
            table.columns.iter_mut().for_each(shorten);
            self.tables.insert(to, table);
        } else {
            let mut said = self.set(call);
            shorten(&mut said);
            self.sets.insert(to, said);
        }
    }

    fn arg(&self, call: &Call, at: usize) -> String {
        call.args
            .get(at)
            .map(|arg| self.operand(arg))
            .unwrap_or_default()
    }

    /// A set or a value.
    fn operand(&self, arg: &Arg) -> String {
        match arg {
            Arg::Var(index) => match (self.sets.get(index), self.tables.get(index)) {
                (Some(said), _) => said.clone(),
                (None, Some(table)) => table.whole(),
                (None, None) => String::new(),
            },
            Arg::Column(table, column) => match self.tables.get(table) {
                Some(table) => format!("{}{}", table.column(*column), table.rows),
                None => String::new(),
            },
            Arg::Name(name) => self.thing(name),
            Arg::Literal(literal) => literal.lexical.clone(),
            Arg::List(items) => {
                let mut said: Vec<String> = items
                    .iter()
                    .take(NAMED)
                    .map(|item| self.operand(item))
                    .collect();
                if items.len() > NAMED {
                    said.push(format!("{} more", items.len() - NAMED));
                }
                said.join(" or ")
            }
            Arg::Op(op) => op_word(*op).to_owned(),
            Arg::Text(test) => text_word(*test).to_owned(),
            Arg::Extreme(Extreme::Max) => "largest".to_owned(),
            Arg::Extreme(Extreme::Min) => "smallest".to_owned(),
            Arg::Sign(sign) => sign.symbol().to_owned(),
            other => other.to_string(),
        }
    }

    /// An entity: as the question calls it, or by its name.
    fn thing(&self, name: &str) -> String {
        let Some(node) = self.kg.by_name(name) else {
            return words(local(name)).join(" ");
        };
        let at = self.linked.entities.iter().position(|&one| one == node);
        at.and_then(|at| mention(self.linked, at))
            .map_or_else(|| name_of(self.kg, node), str::to_owned)
    }

    /// The words of a relation argument, and whether it leads backwards.
    fn path(&self, arg: Option<&Arg>) -> (String, bool) {
        let Some(arg) = arg else {
            return (String::new(), false);
        };
        let said = match arg.relation() {
            Arg::Name(name) => relation_of(self.kg, name),
            other => other.to_string(),
        };
        let said = match arg.repeat() {
            Some(Repeat::OneOrMore | Repeat::ZeroOrMore) => format!("any {said}"),
            Some(Repeat::Maybe) | None => said,
        };
        (said, arg.is_inverse())
    }

    /// What a relation leads to from `from`.
    fn walked(&self, from: &str, arg: Option<&Arg>, forward: bool) -> String {
        let (relation, inverse) = self.path(arg);
        if forward == inverse {
            format!("those with {relation} {from}")
        } else {
            format!("{relation} of {from}")
        }
    }

    fn set(&self, call: &Call) -> String {
        let one = self.arg(call, 0);
        match call.tool {
            Tool::GetTailEntity => self.walked(&one, call.args.get(1), true),
            Tool::GetHeadEntity => self.walked(&one, call.args.get(1), false),
            Tool::GetEntityByType => match call.args.first() {
                Some(Arg::Name(name)) => {
                    let class = self.kg.by_name(name).map(|node| name_of(self.kg, node));
                    let class = class.unwrap_or_else(|| local(name).to_owned());
                    format!("all {}", words(&class).join(" "))
                }
                _ => one,
            },
            Tool::GetEntityByConstraint => {
                let (relation, _) = self.path(call.args.get(1));
                let (how, value) = (self.arg(call, 2), self.arg(call, 3));
                match call.args.get(2) {
                    Some(Arg::Extreme(_)) => format!("{one} with {how} {relation}"),
                    _ => format!("{one} with {relation} {how} {value}"),
                }
            }
            Tool::Count => format!("number of {one}"),
            Tool::Intersect => self.sorted(call, " that are also "),
            Tool::Union => self.sorted(call, " or "),
            Tool::Difference => self.joined(call, " without "),
            Tool::Judge => format!("is it true that {}", self.judged(call)),
            Tool::Exists => format!("are there {one}"),
            Tool::Choose => format!("{one} or {} as true", self.arg(call, 1)),
            _ => self.joined(call, " "),
        }
    }

    fn judged(&self, call: &Call) -> String {
        let (relation, _) = self.path(call.args.get(1));
        format!(
            "{relation} of {} {} {}",
            self.arg(call, 0),
            self.arg(call, 2),
            self.arg(call, 3)
        )
    }

    fn joined(&self, call: &Call, by: &str) -> String {
        let all: Vec<String> = call.args.iter().map(|arg| self.operand(arg)).collect();
        all.join(by)
    }

    /// Sets whose order does not matter, always in the same order.
    fn sorted(&self, call: &Call, by: &str) -> String {
        let mut all: Vec<String> = call.args.iter().map(|arg| self.operand(arg)).collect();
        all.sort();
        all.join(by)
    }

    /// The table that a call reads; a set is a table of one column.
    fn read(&self, arg: Option<&Arg>) -> SaidTable {
        match arg {
            Some(Arg::Var(index) | Arg::Column(index, _)) if self.tables.contains_key(index) => {
                self.tables.get(index).cloned().unwrap_or_default()
            }
            Some(arg) => SaidTable {
                columns: vec![self.operand(arg)],
                rows: String::new(),
            },
            None => SaidTable::default(),
        }
    }

    fn table(&self, call: &Call) -> SaidTable {
        let mut table = self.read(call.args.first());
        let rest = call.args.get(1..).unwrap_or_default();
        match call.tool {
            Tool::Extend => {
                let (relation, inverse) = self.path(call.args.get(1));
                let from = match call.args.first() {
                    Some(Arg::Column(_, column)) if *column > 0 => table.column(*column),
                    _ if inverse => table.column(0),
                    _ => String::new(),
                };
                table.columns.push(match (inverse, from.is_empty()) {
                    (true, _) => format!("those with {relation} {from}"),
                    (false, true) => relation,
                    (false, false) => format!("{relation} of {from}"),
                });
            }
            Tool::Where => {
                let what = match call.args.first() {
                    Some(Arg::Column(_, column)) => table.column(*column),
                    _ => table.column(0),
                };
                let said: Vec<String> = rest.iter().map(|arg| self.cell(arg, &table)).collect();
                table.rows = format!("{} where {what} {}", table.rows, said.join(" "));
            }
            Tool::Group => {
                let columns = rest.iter().map(|arg| self.cell(arg, &table)).collect();
                table.columns = columns;
                table.rows = format!("{} per {}", table.rows, table.column(0));
            }
            Tool::Columns => {
                table.columns = rest.iter().map(|arg| self.cell(arg, &table)).collect();
            }
            Tool::Sort => {
                let keys: Vec<String> = rest.iter().map(|arg| self.cell(arg, &table)).collect();
                table.rows = format!("{} ordered by {}", table.rows, keys.join(", "));
            }
            Tool::First => {
                table.rows = format!("{} only the first {}", table.rows, self.arg(call, 1));
            }
            Tool::Compute => {
                let said: Vec<String> = rest.iter().map(|arg| self.cell(arg, &table)).collect();
                table.columns.push(said.join(" "));
            }
            _ => {
                let other = self.read(call.args.get(1));
                table.rows = format!("{} or {}", table.rows, other.whole());
            }
        }
        table
    }

    /// An argument of a call that reads the columns of a table.
    fn cell(&self, arg: &Arg, table: &SaidTable) -> String {
        match arg {
            Arg::Field(field) => match *field {
                Field::Key(column) => table.column(column),
                Field::Count => format!("number of {}", table.column(0)),
                Field::Of(how, column) => {
                    format!("{} {}", aggregate_word(how), table.column(column))
                }
                Field::Part(part, column) => {
                    format!("{} of {}", part_word(part), table.column(column))
                }
                Field::Ascending(column) => format!("rising {}", table.column(column)),
                Field::Descending(column) => format!("falling {}", table.column(column)),
            },
            other => self.operand(other),
        }
    }
}

fn op_word(op: Op) -> &'static str {
    match op {
        Op::Eq => "is",
        Op::Ne => "is not",
        Op::Lt => "under",
        Op::Le => "at most",
        Op::Gt => "over",
        Op::Ge => "at least",
    }
}

fn text_word(test: TextTest) -> &'static str {
    match test {
        TextTest::Contains => "contains",
        TextTest::Starts => "starts with",
        TextTest::Ends => "ends with",
    }
}

fn aggregate_word(how: Aggregate) -> &'static str {
    match how {
        Aggregate::Distinct => "number of different",
        Aggregate::Sum => "total",
        Aggregate::Average => "average",
        Aggregate::Min => "smallest",
        Aggregate::Max => "largest",
    }
}

fn part_word(part: DatePart) -> &'static str {
    match part {
        DatePart::Year => "year",
        DatePart::Month => "month",
        DatePart::Day => "day",
    }
}
