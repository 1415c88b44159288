//! Evidence: the triples from which an answer can be derived again, collected by following the
//! steps backwards from the members of the answer.

mod rows;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::clock::Clock;
use super::error::ToolError;
use super::session::Session;
use super::table::{Cell, Table};
use super::types::{EntSet, Observation, Relation, Step, Value};
use crate::call::{Arg, Call, Repeat, Target, Tool};
use crate::limits::ANSWER_MEMBERS;
use kg::proof;
use kg::term::{NodeId, RelId};
pub(crate) use rows::row_evidence;

/// Subject, relation and object.
type Triple = (NodeId, RelId, NodeId);

/// The triples that support an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The triples, sorted.
    pub triples: Vec<(NodeId, RelId, NodeId)>,
    /// For each triple, the steps that use it, counting from 0.
    pub steps: Vec<BTreeSet<usize>>,
    /// Whether these are all triples: false if the answer has more than [`ANSWER_MEMBERS`] members,
    /// or if the question ran out of time.
    pub complete: bool,
}

/// The triples that support the answer of a finished session.
///
/// Running the program on these triples alone gives the same answer. Every member of the answer
/// keeps one full derivation; `count` keeps those of all members; an extreme keeps the values of
/// everything it was chosen from, or only those of the winners if there were more than
/// [`COMPARED`]. A false `judge` keeps the values that it compared. A table keeps every value that
/// its columns read. Every constant without influence on the answer keeps one triple, so that the
/// program can still resolve it.
#[must_use]
pub fn evidence(session: &Session<'_>) -> Evidence {
    let mut derivation = Derivation::new(session);
    let whole = match session.answer() {
        Some(Value::Set(set)) => set.len() <= ANSWER_MEMBERS,
        Some(Value::Table(table)) => table.len() <= ANSWER_MEMBERS,
        _ => true,
    };
    let complete = derivation.run().is_ok() && whole;
    let (triples, steps) = derivation.triples.into_iter().unzip();
    Evidence {
        triples,
        steps,
        complete,
    }
}

/// Maximum size of a set whose members all appear in the evidence of an extreme.
const COMPARED: usize = 20;

struct Derivation<'s, 'g> {
    session: &'s Session<'g>,
    /// Members still to be derived, by variable.
    needed: BTreeMap<u32, BTreeSet<NodeId>>,
    /// The triples with the steps that use them.
    triples: BTreeMap<Triple, BTreeSet<usize>>,
    /// The step that is followed.
    at: usize,
    clock: Clock,
}

impl<'s, 'g> Derivation<'s, 'g> {
    fn new(session: &'s Session<'g>) -> Self {
        Self {
            session,
            needed: BTreeMap::new(),
            triples: BTreeMap::new(),
            at: 0,
            clock: session.time_left(),
        }
    }

    /// Follows the steps backwards. The only error is the deadline.
    fn run(&mut self) -> Result<(), ToolError> {
        for (at, step) in self.session.steps().iter().enumerate().rev() {
            self.at = at;
            let members = match (&step.observation, step.call.target) {
                (Observation::Answer(Value::Set(set)), _) => {
                    set[..set.len().min(ANSWER_MEMBERS)].to_vec()
                }
                (Observation::Answer(_), _) => Vec::new(),
                (_, Target::Var(index)) => match self.needed.remove(&index) {
                    Some(set) => set.into_iter().collect(),
                    // No later step uses this variable.
                    None => continue,
                },
                _ => continue,
            };
            if let Observation::Value(Value::Table(table)) = &step.observation {
                self.table_step(step, table)?;
            } else {
                self.step(&step.call, &step.inputs, step.walked, &members)?;
            }
        }
        let mut mentioned: HashSet<NodeId> = HashSet::new();
        for &(s, _, o) in self.triples.keys() {
            mentioned.extend([s, o]);
        }
        for (at, step) in self.session.steps().iter().enumerate() {
            self.at = at;
            self.make_known(&step.call, &mut mentioned);
        }
        Ok(())
    }

    fn add(&mut self, triple: Triple) {
        self.triples.entry(triple).or_default().insert(self.at);
    }

    fn add_all(&mut self, triples: impl IntoIterator<Item = Triple>) {
        for triple in triples {
            self.add(triple);
        }
    }

    fn need(&mut self, arg: &Arg, members: impl IntoIterator<Item = NodeId>) {
        match arg {
            Arg::Var(index) => self.needed.entry(*index).or_default().extend(members),
            // A table is kept as a whole.
            Arg::Column(index, _) => {
                self.needed.entry(*index).or_default();
            }
            Arg::List(items) => {
                let members: Vec<NodeId> = members.into_iter().collect();
                for item in items {
                    self.need(item, members.iter().copied());
                }
            }
            _ => {}
        }
    }

    fn step(
        &mut self,
        call: &Call,
        inputs: &[EntSet],
        walked: Option<(Relation, bool)>,
        members: &[NodeId],
    ) -> Result<(), ToolError> {
        match call.tool {
            // A number or truth value has no members, but `need` marks its variable, so that the
            // step that computed it is visited.
            Tool::End => self.need(&call.args[0], members.iter().copied()),
            Tool::GetTailEntity | Tool::GetHeadEntity => {
                let Some((relation, forward)) = walked else {
                    return Ok(());
                };
                for &member in members {
                    self.clock.tick()?;
                    // One derivation is enough; the lowest id keeps the choice deterministic.
                    let before = self.session.step(member, relation, !forward);
                    if let Some(node) = first_common(&before, &inputs[0]) {
                        self.keep(node, relation, forward, member);
                        self.need(&call.args[0], [node]);
                    }
                }
            }
            Tool::GetEntityByType => {
                let class = inputs[0][0];
                for &member in members {
                    self.clock.tick()?;
                    self.add_all(proof(self.session.kg(), member, class));
                }
            }
            Tool::GetEntityByConstraint => {
                let chosen = matches!(call.args.get(2), Some(Arg::Extreme(_)))
                    && inputs[0].len() <= COMPARED;
                let members = if chosen && !members.is_empty() {
                    &inputs[0]
                } else {
                    members
                };
                self.compared(call, walked, members)?;
                self.need(&call.args[0], members.iter().copied());
            }
            Tool::Judge => {
                self.compared(call, walked, &inputs[0])?;
                self.need(&call.args[0], inputs[0].iter().copied());
            }
            Tool::Count => {
                let members = inputs.first().map_or(&[][..], AsRef::as_ref);
                self.need(&call.args[0], members.iter().copied());
            }
            Tool::Difference => {
                self.need(&call.args[0], members.iter().copied());
                self.need(&call.args[1], inputs[1].iter().take(COMPARED).copied());
            }
            Tool::Intersect => {
                for arg in &call.args {
                    self.need(arg, members.iter().copied());
                }
            }
            Tool::Union => {
                for (arg, set) in call.args.iter().zip(inputs) {
                    let of = members.iter().copied();
                    self.need(arg, of.filter(|node| set.binary_search(node).is_ok()));
                }
            }
            Tool::DisambiguateEntity => self.need(&call.args[0], members.iter().copied()),
            // The tools that make tables are followed by `table_step`.
            Tool::GetRelation
            | Tool::RetrieveRelation
            | Tool::GetCandidateEntity
            | Tool::Extend
            | Tool::Where
            | Tool::Compute
            | Tool::Group
            | Tool::Columns
            | Tool::Sort
            | Tool::First => {}
            Tool::Exists => {
                let members = inputs.first().map_or(&[][..], AsRef::as_ref);
                self.need(&call.args[0], members.iter().take(1).copied());
                if members.is_empty() {
                    self.need_all_before();
                }
            }
            Tool::Choose => {
                self.need(&call.args[0], []);
                for arg in &call.args[1..] {
                    let set = self.session.set(arg).unwrap_or_default();
                    let of = members.iter().copied();
                    self.need(arg, of.filter(|node| set.binary_search(node).is_ok()));
                }
            }
        }
        Ok(())
    }

    /// Keeps every set made so far. That something does not exist follows from all of them.
    fn need_all_before(&mut self) {
        for step in &self.session.steps()[..self.at] {
            if let (Target::Var(index), Observation::Value(value)) =
                (step.call.target, &step.observation)
            {
                let needed = self.needed.entry(index).or_default();
                if let Value::Set(set) = value {
                    needed.extend(set.iter().take(ANSWER_MEMBERS));
                }
            }
        }
    }

    /// A step that made a table: the triples of a new column, and everything that the step read.
    fn table_step(&mut self, step: &Step, table: &Table) -> Result<(), ToolError> {
        for arg in &step.call.args {
            match arg {
                Arg::Var(_) | Arg::List(_) => {
                    let set = self.session.set(arg).unwrap_or_default();
                    self.need(arg, set.iter().copied());
                }
                Arg::Column(..) => self.need(arg, []),
                _ => {}
            }
        }
        let from = match step.call.args.first() {
            Some(Arg::Column(_, column)) => *column as usize,
            _ => 0,
        };
        if let (Tool::Extend, Some((relation, forward))) = (step.call.tool, step.walked) {
            let repeat = step.call.args.get(1).and_then(Arg::repeat);
            let repeated = repeat.is_some_and(|repeat| repeat != Repeat::Maybe);
            let mut known = false;
            let mut starts = BTreeSet::new();
            for row in table.rows() {
                self.clock.tick()?;
                match (row.get(from), row.last()) {
                    (Some(Cell::Node(node)), Some(_)) if repeated => {
                        starts.insert(*node);
                    }
                    (Some(Cell::Node(node)), Some(Cell::Node(value))) => {
                        known = true;
                        self.keep(*node, relation, forward, *value);
                    }
                    _ => {}
                }
            }
            self.repeated(starts, relation, forward)?;
            if table.is_empty() || repeat == Some(Repeat::Maybe) && !known {
                self.known_relation(relation);
            }
        }
        Ok(())
    }

    /// Every triple of a relation that can be reached from these nodes along it.
    fn repeated(
        &mut self,
        starts: BTreeSet<NodeId>,
        relation: Relation,
        forward: bool,
    ) -> Result<(), ToolError> {
        let mut open: Vec<NodeId> = starts.iter().copied().collect();
        let mut seen = starts;
        while let Some(node) = open.pop() {
            for &value in self.session.step(node, relation, forward).iter() {
                self.clock.tick()?;
                self.keep(node, relation, forward, value);
                if seen.insert(value) {
                    open.push(value);
                }
            }
        }
        Ok(())
    }

    /// Keeps one triple of a relation that no row has, so that the program can still name it.
    fn known_relation(&mut self, relation: Relation) {
        let kg = self.session.kg();
        let id = match relation {
            Relation::Plain(id) => id,
            Relation::Interval(index) => kg.schema().intervals[index].from,
        };
        let mut found = None;
        kg.each_pair(id, &mut |subject, object| {
            found = Some((subject, id, object));
            false
        });
        self.add_all(found);
    }

    /// Keeps every value that a comparison read, for the given members.
    fn compared(
        &mut self,
        call: &Call,
        walked: Option<(Relation, bool)>,
        members: &[NodeId],
    ) -> Result<(), ToolError> {
        let Some((relation, forward)) = walked else {
            return Ok(());
        };
        if let Some(Arg::Var(index)) = call.args.get(3)
            && let Ok(set) = self.session.set(&Arg::Var(*index))
        {
            self.needed
                .entry(*index)
                .or_default()
                .extend(set.iter().copied());
        }
        for &member in members {
            self.clock.tick()?;
            match relation {
                Relation::Interval(index) => {
                    let interval = self.session.kg().schema().intervals[index].clone();
                    for id in [interval.from, interval.to] {
                        for &tail in self.session.kg().tails(member, id).iter() {
                            self.add((member, id, tail));
                        }
                    }
                }
                Relation::Plain(_) => {
                    for &tail in self.session.step(member, relation, forward).iter() {
                        self.keep(member, relation, forward, tail);
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps one triple of every constant that no kept triple mentions.
    fn make_known(&mut self, call: &Call, mentioned: &mut HashSet<NodeId>) {
        if matches!(call.tool, Tool::GetRelation | Tool::RetrieveRelation) {
            return;
        }
        let kg = self.session.kg();
        for name in names_of_things(call) {
            let Some(node) = kg.by_name(name) else {
                continue;
            };
            if mentioned.contains(&node) {
                continue;
            }
            let typed = || {
                kg.instances(node)
                    .first()
                    .map(|&member| proof(kg, member, node))
                    .unwrap_or_default()
            };
            let mut add = |triples: Vec<Triple>| {
                mentioned.extend(triples.iter().flat_map(|&(s, _, o)| [s, o]));
                self.add_all(triples);
            };
            if call.tool == Tool::GetEntityByType {
                add(typed());
                continue;
            }
            let out = kg
                .out_relations(node)
                .first()
                .and_then(|&r| kg.tails(node, r).first().map(|&t| (node, r, t)));
            let known = out.or_else(|| {
                kg.in_relations(node)
                    .first()
                    .and_then(|&r| kg.heads(r, node).first().map(|&h| (h, r, node)))
            });
            // A class that `judge` tested.
            add(known.map_or_else(typed, |known| vec![known]));
        }
    }

    fn keep(&mut self, node: NodeId, relation: Relation, forward: bool, other: NodeId) {
        let id = match relation {
            Relation::Plain(id) => id,
            Relation::Interval(index) => self.session.kg().schema().intervals[index].from,
        };
        self.add(if forward {
            (node, id, other)
        } else {
            (other, id, node)
        });
    }
}

/// The names of things in a call, also in its lists. The second argument is a relation, except where sets are joined.
fn names_of_things(call: &Call) -> Vec<&str> {
    let joins = matches!(call.tool, Tool::Union | Tool::Intersect | Tool::Difference);
    let args = call.args.iter().enumerate();
    let args = args.filter(|(at, _)| joins || *at != 1).map(|(_, arg)| arg);
    args.flat_map(|arg| match arg {
        Arg::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    })
    .filter_map(|arg| match arg {
        Arg::Name(name) => Some(name.as_str()),
        _ => None,
    })
    .collect()
}

/// The lowest id that two sorted sets share, in time proportional to the smaller set.
fn first_common(a: &[NodeId], b: &[NodeId]) -> Option<NodeId> {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    small
        .iter()
        .copied()
        .find(|node| large.binary_search(node).is_ok())
}
