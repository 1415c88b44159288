//! The thirteen tools on sorted sets of integers (rules R1–R22), and the extended tools on tables
//! (rules D).

mod bind;
mod compare;
mod compute;
mod extend;
mod filter_rows;
mod group_rows;
mod tables;

pub use compute::amount;

use std::borrow::Cow;

use super::error::ToolError;
use super::resolve::NEAREST;
use super::session::{Session, SetKey};
use super::table::{Cell, ComputedValue};
use super::types::{EntSet, ExcludeWhen, Observation, Relation, Value, intersection, sorted};
use crate::call::{Arg, Call, Tool};
use crate::limits;
use crate::link;
use crate::rank::RankError;
use kg::term::NodeId;

/// The result of a tool before it becomes a [`super::Step`].
pub(super) struct Done {
    pub observation: Observation,
    pub walked: Option<(Relation, bool)>,
    pub inputs: Vec<EntSet>,
    /// For each column of a table, the set or column that its values come from, if they do.
    pub origins: Vec<Option<SetKey>>,
}

impl Done {
    fn new(observation: Observation, inputs: Vec<EntSet>) -> Self {
        Self {
            observation,
            walked: None,
            inputs,
            origins: Vec::new(),
        }
    }
}

impl Session<'_> {
    /// Runs a call that contains only names.
    pub(super) fn apply(&self, call: &Call) -> Result<Done, ToolError> {
        let args = &call.args;
        let set = |i: usize| -> Result<EntSet, ToolError> {
            args.get(i)
                .map_or_else(|| Err(missing(call)), |arg| self.set(arg))
        };
        let value = |members: Vec<NodeId>, inputs: Vec<EntSet>| self.found(members, inputs);
        match call.tool {
            Tool::GetRelation => {
                let from = set(0)?;
                let second = if args.len() > 1 { Some(set(1)?) } else { None };
                let shown = self.list(call, &from, second.as_deref(), self.options.shown)?;
                Ok(Done::new(Observation::Relations(shown), vec![from]))
            }
            Tool::RetrieveRelation => {
                let from = set(0)?;
                let shown = self.list(call, &from, None, RETRIEVED)?;
                Ok(Done::new(Observation::Relations(shown), vec![from]))
            }
            Tool::GetHeadEntity | Tool::GetTailEntity => {
                let from = set(0)?;
                let (relation, forward) =
                    self.bound_relation(call, &from, call.tool == Tool::GetTailEntity)?;
                self.walk(from, relation, forward)
            }
            Tool::GetEntityByType => {
                let class = self.class(args.first().ok_or_else(|| missing(call))?)?;
                value(self.kg.instances(class).into_owned(), vec![[class].into()])
            }
            Tool::GetEntityByConstraint => self.constrain(call, set(0)?),
            Tool::GetCandidateEntity => {
                let Some(Arg::Literal(mention)) = args.first() else {
                    return Err(missing(call));
                };
                let found = link::candidates(self.kg, &mention.lexical)?;
                value(
                    found.into_iter().map(|candidate| candidate.node).collect(),
                    Vec::new(),
                )
            }
            Tool::DisambiguateEntity => {
                let from = set(0)?;
                value(
                    self.best_candidate(&from)?.into_iter().collect(),
                    vec![from],
                )
            }
            Tool::Count | Tool::Union if self.reads_tables(call) => self.with_tables(call),
            Tool::Count => {
                let from = set(0)?;
                let size = Value::Int(from.len() as u64);
                Ok(Done::new(Observation::Value(size), vec![from]))
            }
            Tool::Intersect | Tool::Union => {
                let sets = args
                    .iter()
                    .map(|arg| self.set(arg))
                    .collect::<Result<Vec<_>, _>>()?;
                let members: Vec<NodeId> = if call.tool == Tool::Union {
                    sets.iter().flat_map(|s| s.iter().copied()).collect()
                } else {
                    intersection(&sets)
                };
                value(members, sets)
            }
            Tool::Judge => self.judge(call, &set(0)?),
            Tool::Difference => {
                let (from, without) = (set(0)?, set(1)?);
                let left = from
                    .iter()
                    .filter(|node| without.binary_search(node).is_err());
                value(left.copied().collect(), vec![from.clone(), without.clone()])
            }
            Tool::Extend
            | Tool::Where
            | Tool::Compute
            | Tool::Group
            | Tool::Columns
            | Tool::Sort
            | Tool::First
            | Tool::Exists => self.with_tables(call),
            Tool::Choose => {
                let truth = self.truth(args.first().ok_or_else(|| missing(call))?)?;
                let (first, second) = (set(1)?, set(2)?);
                let chosen = if truth { &first } else { &second };
                value(chosen.to_vec(), vec![chosen.clone()])
            }
            Tool::End => self.end(args.first().ok_or_else(|| missing(call))?),
        }
    }

    /// A set as a result.
    fn found(&self, members: Vec<NodeId>, inputs: Vec<EntSet>) -> Result<Done, ToolError> {
        if members.len() > limits::SET_SIZE {
            return Err(ToolError::TooLarge {
                limit: limits::SET_SIZE,
            });
        }
        let set = Value::Set(sorted(self.without_excluded(members)));
        Ok(Done::new(Observation::Value(set), inputs))
    }

    /// What a relation leads to.
    fn walk(&self, from: EntSet, relation: Relation, forward: bool) -> Result<Done, ToolError> {
        let mut members = Vec::new();
        let mut clock = self.clock.clone();
        for &node in from.iter() {
            clock.tick()?;
            members.extend_from_slice(&self.step(node, relation, forward));
        }
        let mut done = self.found(members, vec![from])?;
        done.walked = Some((relation, forward));
        Ok(done)
    }

    /// The members of all sets after this call, if they are not too many.
    pub(super) fn held_with(&self, call: &Call, done: &Done) -> Result<usize, ToolError> {
        let mut held = self.held;
        match &done.observation {
            Observation::Value(Value::Set(set)) => held += set.len(),
            Observation::Value(Value::Table(table)) => {
                held += table.cells().len();
                // Other tools copy the cells that they compute from.
                if matches!(call.tool, Tool::Group | Tool::Columns | Tool::Compute) {
                    let computed =
                        |cell: &&Cell| matches!(cell, Cell::Computed(ComputedValue::Other(_)));
                    held += table.cells().iter().filter(computed).count() * COMPUTED_SIZE;
                }
            }
            _ => {}
        }
        // Variables are shared between calls; a list argument is a new set.
        for (arg, set) in call.args.iter().zip(&done.inputs) {
            if matches!(arg, Arg::List(_)) {
                held += set.len();
            }
        }
        if held > limits::SESSION_SIZE {
            return Err(ToolError::TooLarge {
                limit: limits::SESSION_SIZE,
            });
        }
        Ok(held)
    }

    pub(crate) fn without_excluded(&self, mut members: Vec<NodeId>) -> Vec<NodeId> {
        let exclude = &self.options.exclude;
        if exclude.when == ExcludeWhen::EveryStep {
            members.retain(|node| !exclude.nodes.contains(node));
        }
        members
    }

    /// The neighbours of a node along a relation (`forward`) or against it.
    pub(crate) fn step(
        &self,
        node: NodeId,
        relation: Relation,
        forward: bool,
    ) -> Cow<'_, [NodeId]> {
        match relation {
            Relation::Plain(id) if self.options.without.contains(&id) => Cow::default(),
            Relation::Plain(id) if forward => self.kg.tails(node, id),
            Relation::Plain(id) => self.kg.heads(id, node),
            // A derived interval has no values; following it leads to its start (rule R11).
            Relation::Interval(index) => {
                let interval = &self.kg.schema().intervals[index];
                if forward {
                    self.kg.tails(node, interval.from)
                } else {
                    self.kg.heads(interval.from, node)
                }
            }
        }
    }

    fn class(&self, arg: &Arg) -> Result<NodeId, ToolError> {
        let Arg::Name(name) = arg else {
            return Err(ToolError::Argument {
                given: arg.to_string(),
                right: "a class is needed".to_owned(),
            });
        };
        match self.kg.by_name(name) {
            Some(node) if !self.kg.instances(node).is_empty() => Ok(node),
            _ => {
                let near = self
                    .classes
                    .iter()
                    .take(NEAREST)
                    .map(|&class| self.kg.name(class))
                    .collect();
                Err(ToolError::UnknownClass {
                    given: name.clone(),
                    near,
                })
            }
        }
    }

    /// S2: the candidate whose relations, classes and label match the question best; ties go to the
    /// higher degree, then to the lower id.
    fn best_candidate(&self, from: &[NodeId]) -> Result<Option<NodeId>, RankError> {
        let scores = link::choose(
            self.kg,
            &self.bare_question,
            from,
            &vec![0.0; from.len()],
            self.options.ranker.as_ref(),
            &self.cancel(),
        )?;
        let degree = |i: usize| self.kg.degree(from[i]);
        let best = (0..from.len()).max_by(|&a, &b| {
            scores[a]
                .total_cmp(&scores[b])
                .then(degree(a).cmp(&degree(b)))
                .then(b.cmp(&a))
        });
        Ok(best.map(|i| from[i]))
    }

    fn end(&self, arg: &Arg) -> Result<Done, ToolError> {
        let value = match arg {
            Arg::Var(index) => match self.variables.get(*index as usize) {
                Some(value) => value.clone(),
                None => {
                    return Err(ToolError::UnknownVariable {
                        given: *index,
                        live: self.variables.len(),
                    });
                }
            },
            other => Value::Set(self.set(other)?),
        };
        if let Value::Set(set) = &value
            && self.only_statements(set)
        {
            let near = self.nearest_relations(set, &self.bare_question)?;
            return Err(ToolError::Statements {
                set: arg.to_string(),
                near,
            });
        }
        let inputs = match &value {
            Value::Set(set) => vec![set.clone()],
            Value::Int(_) | Value::Bool(_) | Value::Table(_) => Vec::new(),
        };
        let exclude = &self.options.exclude;
        let answer = match value {
            Value::Set(set) if exclude.when != ExcludeWhen::Never => {
                let left: EntSet = set
                    .iter()
                    .filter(|node| !exclude.nodes.contains(node))
                    .copied()
                    .collect();
                if left.is_empty() && exclude.when == ExcludeWhen::Others {
                    Value::Set(set)
                } else {
                    Value::Set(left)
                }
            }
            other => other,
        };
        Ok(Done::new(Observation::Answer(answer), inputs))
    }
}

/// How many more members a computed literal counts for: it has about ten times the bytes of a node.
const COMPUTED_SIZE: usize = 10;

/// Number of relations that `retrieve_relation` shows.
const RETRIEVED: usize = 10;

fn missing(call: &Call) -> ToolError {
    ToolError::Argument {
        given: call.to_string(),
        right: format!(
            "{} takes other arguments; see the tool list",
            call.tool.name()
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::call::{ToolTable, parse_call, parse_program};
    use crate::exec::table::{Table, TableColumn};
    use crate::exec::types::ExecOptions;
    use crate::limits::{SESSION_SIZE, SET_SIZE};
    use crate::link::Linked;
    use kg::FrozenKg;
    use kg::term::{Literal, Term};

    /// A node with ten numbers.
    fn numbers() -> FrozenKg {
        let iri = |text: &str| Term::Iri(text.to_owned());
        FrozenKg::from_triples((0..10).map(|i| {
            let number = Literal::xsd((2 * i + 1).to_string(), "integer");
            [iri("x:top"), iri("x:n"), Term::Literal(number)]
        }))
    }

    fn begin(kg: &FrozenKg) -> Session<'_> {
        let options = ExecOptions {
            lists: false,
            tools: ToolTable::Extended,
            ..ExecOptions::default()
        };
        Session::new(kg, "", Linked::default(), &[], options).unwrap()
    }

    fn run(session: &mut Session<'_>, call: &str) -> Result<(), ToolError> {
        session.run(&parse_call(call).unwrap()).map(|_| ())
    }

    #[test]
    fn sets_and_tables_count_for_the_size_of_a_session() {
        let kg = numbers();
        let mut session = begin(&kg);
        let mut held = 0;
        for (call, more) in [
            ("v0 = get_tail_entity(<x:top>, <x:n>)", 10),
            ("v1 = columns(v0, k0, k0)", 20),
            ("v2 = count(v1)", 0),
            // Whole numbers take no memory of their own; other computed values do.
            ("v3 = compute(v1.k0, *, 2)", 30),
            ("v4 = compute(v1.k0, /, 2)", 30 + 10 * COMPUTED_SIZE),
            ("v5 = columns(v4, k2)", 10 + 10 * COMPUTED_SIZE),
            ("v6 = first(v5, 3)", 3),
            ("v7 = exists(v6)", 0),
            // A list is a new set.
            ("v8 = count([v0])", 10),
        ] {
            run(&mut session, call).unwrap();
            held += more;
            assert_eq!(session.held, held, "{call}");
        }
        let last = "v9 = columns(v0, k0, k0)";
        session.held = SESSION_SIZE - 19;
        let limit = SESSION_SIZE;
        let error = run(&mut session, last).unwrap_err();
        assert_eq!(error, ToolError::TooLarge { limit });
        assert_eq!(session.variables(), 9);
        session.held = SESSION_SIZE - 20;
        run(&mut session, last).unwrap();
        assert_eq!(session.held, SESSION_SIZE);
    }

    #[test]
    fn a_result_may_be_as_large_as_the_limit() {
        let kg = numbers();
        let half = u32::try_from(SET_SIZE / 2).unwrap();
        let set: EntSet = (0..half).map(NodeId).collect();
        let column = TableColumn::computed("n".to_owned());
        let cells = vec![Cell::number(1); SET_SIZE / 2];
        let table = Arc::new(Table::new(vec![column], cells, false));
        for (value, one) in [
            (Value::Set(set), "get_tail_entity(<x:top>, <x:n>)"),
            (Value::Table(table), "columns(v0, k0)"),
        ] {
            let mut session = begin(&kg);
            let first = parse_program("v0 = get_tail_entity(<x:top>, <x:n>)").unwrap();
            session.run(&first[0]).unwrap();
            session.variables.push(value);
            run(&mut session, &format!("v2 = {one}")).unwrap();
            let error = run(&mut session, "v3 = union(v1, v1, v2)").unwrap_err();
            assert_eq!(error, ToolError::TooLarge { limit: SET_SIZE });
            run(&mut session, "v3 = union(v1, v1)").unwrap();
        }
    }
}
