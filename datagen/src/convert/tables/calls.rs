//! Calls as they are written: on a graph, each runs at once.

use std::collections::{BTreeSet, HashSet};

use kg::Kg;
use kg::term::{Literal, NodeId, Term};
use kg::value::{Sign, is_number};
use toolbox::call::{Arg, Call, Field, Repeat, Tool};
use toolbox::exec::{Cell, ExecOptions, Session, Table, Value};
use toolbox::limits::MAX_STEPS;
use toolbox::link::Linked;

use super::super::names::CallNames;
use super::super::program::GoldProgram;
use crate::refusal::Refusal;

/// Maximum number of calls tried, including those that are undone.
const MAX_TRIED: usize = 8 * MAX_STEPS;

/// A relation by IRI, how often it is followed, and whether from heads to tails.
pub(super) type Path<'p> = (&'p str, Option<Repeat>, bool);

/// A set, a table or a number that a call assigned, with the query variables of its columns.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// How calls name it.
    pub arg: Arg,
    /// What it is.
    pub form: BoundForm,
    /// For each column, the names of its variables.
    pub columns: Vec<Vec<String>>,
    /// For each column, whether its relations were listed.
    pub listed: Vec<bool>,
    /// Whether a later step must remove repeated rows.
    pub distinct: bool,
    /// Whether an order was asked for.
    pub sorted: bool,
}

/// What a call assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundForm {
    Set,
    Table,
    Number,
}

impl Bound {
    /// A set with the name of its variable.
    pub(super) fn set(arg: Arg, name: &str) -> Self {
        Self {
            arg,
            form: BoundForm::Set,
            columns: vec![vec![name.to_owned()]],
            listed: vec![false],
            distinct: false,
            sorted: false,
        }
    }

    /// The column of a variable.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|names| names.iter().any(|known| known == name))
    }

    /// Whether a column holds the variable.
    pub(super) fn has(&self, name: &str) -> bool {
        self.index(name).is_some()
    }

    /// How calls name a column as a set.
    pub(super) fn column(&self, index: usize) -> Arg {
        match (&self.form, &self.arg) {
            (BoundForm::Table, Arg::Var(table)) => {
                Arg::Column(*table, u32::try_from(index).unwrap_or(u32::MAX))
            }
            (_, other) => other.clone(),
        }
    }

    /// A table with the same columns.
    fn with(&self, arg: Arg) -> Self {
        Self {
            arg,
            form: BoundForm::Table,
            ..self.clone()
        }
    }
}

/// Writes calls, and runs them if there is a graph.
pub(super) struct CallWriter<'a> {
    pub names: CallNames<'a>,
    session: Option<Session<'a>>,
    calls: Vec<Call>,
    next: u32,
    tried: usize,
    constants: Vec<Term>,
    classes: Vec<Term>,
}

/// A state of the writer to return to.
pub(super) struct Snapshot<'a> {
    session: Option<Session<'a>>,
    calls: usize,
    next: u32,
}

impl<'a> CallWriter<'a> {
    pub(super) fn new(names: CallNames<'a>) -> Result<Self, Refusal> {
        let options = ExecOptions {
            lists: false,
            tools: toolbox::call::ToolTable::Extended,
            max_steps: MAX_TRIED,
            ..ExecOptions::default()
        };
        let begin = |kg| Session::new(kg, "", Linked::default(), &[], options);
        let session = names.kg.map(begin).transpose();
        Ok(Self {
            names,
            session: session.map_err(|_| Refusal::RankerFailed)?,
            calls: Vec::new(),
            next: 0,
            tried: 0,
            constants: Vec::new(),
            classes: Vec::new(),
        })
    }

    pub(super) fn kg(&self) -> Option<&'a dyn Kg> {
        self.names.kg
    }

    pub(super) fn snapshot(&self) -> Snapshot<'a> {
        Snapshot {
            session: self.session.clone(),
            calls: self.calls.len(),
            next: self.next,
        }
    }

    pub(super) fn restore(&mut self, to: Snapshot<'a>) {
        self.session = to.session;
        self.calls.truncate(to.calls);
        self.next = to.next;
    }

    /// Writes a call, runs it, and returns its variable.
    pub(super) fn emit(&mut self, tool: Tool, args: Vec<Arg>) -> Result<Arg, Refusal> {
        let call = Call::new(tool, args, self.next);
        self.tried += 1;
        if self.tried > MAX_TRIED {
            return Err(Refusal::TooLong);
        }
        if let Some(session) = &mut self.session {
            session.run(&call).map_err(|_| Refusal::ProgramFailed)?;
        }
        self.calls.push(call);
        let result = Arg::Var(self.next);
        if tool != Tool::End {
            self.next += 1;
        }
        Ok(result)
    }

    /// Lists the relations of a column, unless they were listed.
    fn list(&mut self, of: &mut Bound, column: usize) {
        if !std::mem::replace(&mut of.listed[column], true) {
            let list = Call::new(Tool::GetRelation, vec![of.column(column)], self.next);
            self.calls.push(list);
        }
    }

    /// The nodes that a path leads to from a constant.
    pub(super) fn reached(
        &mut self,
        constant: &Arg,
        path: Path<'_>,
        name: &str,
    ) -> Result<Bound, Refusal> {
        let (relation, repeat, forward) = path;
        let listed = !self.names.vocabulary.is_type(relation);
        if listed {
            let list = Call::new(Tool::GetRelation, vec![constant.clone()], self.next);
            self.calls.push(list);
        }
        if listed && repeat.is_none() {
            let tool = if forward {
                Tool::GetTailEntity
            } else {
                Tool::GetHeadEntity
            };
            let relation = Arg::name(self.names.relation(relation)?);
            let set = self.emit(tool, vec![constant.clone(), relation])?;
            return Ok(Bound::set(set, name));
        }
        let path = self.path(path)?;
        let arg = self.emit(Tool::Extend, vec![constant.clone(), path])?;
        let mut made = Bound::set(arg.clone(), "").with(arg);
        made.columns = vec![Vec::new(), vec![name.to_owned()]];
        made.listed = vec![true, false];
        Ok(made)
    }

    /// A path as an argument.
    fn path(&self, (relation, repeat, forward): Path<'_>) -> Result<Arg, Refusal> {
        let mut path = Arg::name(self.names.path(relation)?);
        if !forward {
            path = Arg::Inverse(Box::new(path));
        }
        Ok(match repeat {
            Some(repeat) => Arg::Repeated(repeat, Box::new(path)),
            None => path,
        })
    }

    /// One more column, along a path.
    pub(super) fn extend(
        &mut self,
        of: &Bound,
        column: usize,
        path: Path<'_>,
        name: &str,
    ) -> Result<Bound, Refusal> {
        let mut of = of.clone();
        let along = self.path(path)?;
        if !self.names.vocabulary.is_type(path.0) {
            self.list(&mut of, column);
        }
        let arg = self.emit(Tool::Extend, vec![of.column(column), along])?;
        let mut made = of.with(arg);
        made.columns.push(vec![name.to_owned()]);
        made.listed.push(false);
        Ok(made)
    }

    /// The rows that pass a test of one column.
    pub(super) fn filter(
        &mut self,
        of: &Bound,
        column: usize,
        test: Arg,
        value: Arg,
    ) -> Result<Bound, Refusal> {
        let arg = self.emit(Tool::Where, vec![of.column(column), test, value])?;
        Ok(of.with(arg))
    }

    /// The members of a set that have a value of a relation.
    pub(super) fn constrain(
        &mut self,
        of: &Bound,
        relation: &str,
        forward: bool,
        value: Arg,
    ) -> Result<Bound, Refusal> {
        let mut of = of.clone();
        let relation = self.path((relation, None, forward))?;
        self.list(&mut of, 0);
        let args = vec![of.column(0), relation, Arg::Op(kg::value::Op::Eq), value];
        let arg = self.emit(Tool::GetEntityByConstraint, args)?;
        of.arg = arg;
        Ok(of)
    }

    /// A table made of columns and aggregates, with the names of the new columns.
    pub(super) fn regroup(
        &mut self,
        of: &Bound,
        tool: Tool,
        fields: &[(Field, Vec<String>)],
    ) -> Result<Bound, Refusal> {
        let mut args = vec![of.arg.clone()];
        args.extend(fields.iter().map(|(field, _)| Arg::Field(*field)));
        let arg = self.emit(tool, args)?;
        let listed = fields.iter().map(|(field, _)| match field {
            Field::Key(column) => of.listed[*column as usize],
            _ => false,
        });
        Ok(Bound {
            arg,
            form: BoundForm::Table,
            columns: fields.iter().map(|(_, names)| names.clone()).collect(),
            listed: listed.collect(),
            distinct: false,
            sorted: of.sorted,
        })
    }

    /// One more column, computed by arithmetic. On a graph every row must have a result.
    pub(super) fn compute(
        &mut self,
        of: &Bound,
        column: usize,
        (sign, value): (Sign, Arg),
        names: Vec<String>,
    ) -> Result<Bound, Refusal> {
        let args = vec![of.column(column), Arg::Sign(sign), value];
        let arg = self.emit(Tool::Compute, args)?;
        let mut made = of.with(arg);
        made.columns.push(names);
        made.listed.push(false);
        let before = match self.value(&of.arg) {
            Some(Value::Table(table)) => table.len(),
            Some(Value::Set(set)) => set.len(),
            _ => 1,
        };
        // SPARQL keeps a row whose arithmetic fails.
        match self.table(&made) {
            Some(table) if table.len() != before => Err(Refusal::ComparisonDiffers),
            _ => Ok(made),
        }
    }

    /// Whether no value of a column is twice beside the same keys, if there is a graph.
    pub(super) fn differ(&self, of: &Bound, keys: &[usize], column: usize) -> bool {
        let Some(table) = self.table(of) else {
            return false;
        };
        let mut seen: HashSet<Vec<&Cell>> = HashSet::new();
        table.rows().all(|row| {
            let places = keys.iter().chain([&column]);
            let cells: Vec<&Cell> = places.filter_map(|&place| row.get(place)).collect();
            row.get(column) == Some(&Cell::Empty) || seen.insert(cells)
        })
    }

    /// The rows in order.
    pub(super) fn sort(&mut self, of: &Bound, keys: &[Field]) -> Result<Bound, Refusal> {
        let mut args = vec![of.arg.clone()];
        args.extend(keys.iter().copied().map(Arg::Field));
        let arg = self.emit(Tool::Sort, args)?;
        Ok(Bound {
            sorted: true,
            ..of.with(arg)
        })
    }

    /// The first rows after those that are left out.
    pub(super) fn first(
        &mut self,
        of: &Bound,
        rows: usize,
        skipped: usize,
    ) -> Result<Bound, Refusal> {
        let number = |number: usize| Arg::Literal(Literal::plain(number.to_string()));
        let mut args = vec![of.arg.clone(), number(rows)];
        if skipped > 0 {
            args.push(number(skipped));
        }
        let arg = self.emit(Tool::First, args)?;
        Ok(of.with(arg))
    }

    /// The rows of both; their columns must stand in the same order.
    pub(super) fn append(&mut self, of: &Bound, other: &Bound) -> Result<Bound, Refusal> {
        let arg = self.emit(Tool::Union, vec![of.arg.clone(), other.arg.clone()])?;
        let mut made = of.clone();
        made.arg = arg;
        made.listed = vec![false; made.columns.len()];
        made.sorted = false;
        Ok(made)
    }

    /// The members of a class.
    pub(super) fn class(&mut self, iri: &str) -> Result<Arg, Refusal> {
        let name = self.names.iri(iri)?;
        let term = Term::Iri(iri.to_owned());
        if !self.classes.contains(&term) {
            self.classes.push(term);
        }
        self.emit(Tool::GetEntityByType, vec![Arg::Name(name)])
    }

    /// How calls name a constant.
    pub(super) fn constant(&mut self, term: &Term) -> Result<Arg, Refusal> {
        let name = match term {
            Term::Literal(literal) => self.names.literal(literal)?,
            other => self.names.node(other)?,
        };
        if matches!(term, Term::Iri(_)) && !self.constants.contains(term) {
            self.constants.push(term.clone());
        }
        Ok(Arg::Name(name))
    }

    /// The value of a variable, if there is a graph.
    pub(super) fn value(&self, arg: &Arg) -> Option<&Value> {
        match arg {
            Arg::Var(index) => self.session.as_ref()?.variable(*index as usize),
            _ => None,
        }
    }

    /// The table of a bound variable, if there is a graph and it is a table.
    pub(super) fn table(&self, of: &Bound) -> Option<&Table> {
        match self.value(&of.arg)? {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The different nodes of a column, if there is a graph and no value is computed.
    pub(super) fn nodes(&self, of: &Bound, column: usize) -> Option<Vec<NodeId>> {
        match self.value(&of.arg) {
            Some(Value::Table(table)) => table.set(column),
            Some(Value::Set(set)) => Some(set.to_vec()),
            _ => None,
        }
    }

    /// The values of a set, a number, or the first column of a table, if there is a graph.
    pub(super) fn terms(&self, of: &Bound) -> Option<Vec<Term>> {
        let kg = self.kg()?;
        match self.value(&of.arg)? {
            Value::Set(set) => Some(set.iter().map(|&node| kg.term(node)).collect()),
            Value::Int(number) => {
                let number = Literal::xsd(number.to_string(), "integer");
                Some(vec![Term::Literal(number)])
            }
            Value::Table(table) => Some(table.column(0).map(|cell| cell.term(kg)).collect()),
            Value::Bool(_) => None,
        }
    }

    /// Whether the nodes of a column are of one kind, if there is a graph. MIN and MAX of values
    /// that cannot be compared are whatever the evaluator says.
    pub(super) fn of_one_kind(&self, of: &Bound, column: usize) -> bool {
        let (Some(kg), Some(nodes)) = (self.kg(), self.nodes(of, column)) else {
            return true;
        };
        let kind = |node: &NodeId| match kg.term(*node) {
            Term::Literal(literal) if is_number(&literal) => Some("number".to_owned()),
            Term::Literal(literal) => Some(literal.datatype.unwrap_or_default()),
            Term::Iri(_) | Term::Blank(_) => None,
        };
        let kinds: BTreeSet<Option<String>> = nodes.iter().map(kind).collect();
        kinds.len() <= 1
    }

    /// Whether a table has the rows of another one, each once, and in the same order.
    pub(super) fn has_rows_of(&self, made: &Bound, of: &Bound) -> bool {
        let Some(table) = self.table(made) else {
            return false;
        };
        match self.value(&of.arg) {
            Some(Value::Set(set)) => {
                let column = table.column(0);
                table.len() == set.len()
                    && column.zip(set.iter()).all(|(a, b)| *a == Cell::Node(*b))
            }
            Some(Value::Table(before)) => {
                let width = before.columns().len();
                table.len() == before.len()
                    && (table.rows().zip(before.rows())).all(|(a, b)| &a[..width] == b)
            }
            _ => false,
        }
    }

    /// The finished program.
    pub(super) fn program(self) -> GoldProgram {
        let uses = |tool: Tool| self.calls.iter().any(|call| call.tool == tool);
        let shape = [
            (Tool::Group, "group"),
            (Tool::First, "first"),
            (Tool::Extend, "table"),
        ];
        let shape = shape.iter().find(|(tool, _)| uses(*tool));
        let mut literals: Vec<Literal> = Vec::new();
        for call in &self.calls {
            let compares = matches!(
                call.tool,
                Tool::Where | Tool::GetEntityByConstraint | Tool::Compute
            );
            for arg in call.args.iter().filter(|_| compares) {
                if let Arg::Literal(literal) = arg
                    && !literals.contains(literal)
                {
                    literals.push(literal.clone());
                }
            }
        }
        GoldProgram {
            shape: shape.map_or("set", |(_, name)| name).to_owned(),
            calls: self.calls,
            exclude: Vec::new(),
            hops: 1,
            constants: self.constants,
            literals,
            classes: self.classes,
        }
    }
}
