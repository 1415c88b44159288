//! Evidence: the triples from which an answer can be derived again, collected by following the
//! steps backwards from the members of the answer.

use std::collections::{BTreeMap, BTreeSet};

use super::session::Session;
use super::types::{EntSet, Observation, Relation, Value};
use crate::call::{Arg, Call, Target, Tool};
use kg::proof;
use kg::term::{NodeId, RelId};

/// Subject, relation and object.
type Triple = (NodeId, RelId, NodeId);

/// The triples that support the answer of a finished session, sorted.
///
/// Running the program on these triples alone gives the same answer. Every member of the answer
/// keeps one full derivation; `count` keeps those of all members; an extreme keeps the values of
/// everything it was chosen from, or only those of the winners if there were more than
/// [`COMPARED`]. A false `judge` keeps the values that it compared. Constants without influence
/// keep one triple each, so that the program can still resolve them.
#[must_use]
pub fn evidence(session: &Session<'_>) -> Vec<(NodeId, RelId, NodeId)> {
    derived(session).triples.into_keys().collect()
}

/// The triples of [`evidence`], each with the steps that use it, counting from 0.
#[must_use]
pub fn evidence_by_step(session: &Session<'_>) -> Vec<((NodeId, RelId, NodeId), BTreeSet<usize>)> {
    derived(session).triples.into_iter().collect()
}

fn derived<'s, 'g>(session: &'s Session<'g>) -> Derivation<'s, 'g> {
    let mut derivation = Derivation {
        session,
        needed: BTreeMap::new(),
        triples: BTreeMap::new(),
        at: 0,
    };
    for (at, step) in session.steps().iter().enumerate().rev() {
        derivation.at = at;
        let members = match (&step.observation, step.call.target) {
            (Observation::Answer(Value::Set(set)), _) => set.to_vec(),
            (Observation::Answer(_), _) => Vec::new(),
            (_, Target::Var(index)) => match derivation.needed.remove(&index) {
                Some(set) => set.into_iter().collect(),
                // No later step uses this variable.
                None => continue,
            },
            _ => continue,
        };
        derivation.step(&step.call, &step.inputs, step.walked, &members);
    }
    for (at, step) in session.steps().iter().enumerate() {
        derivation.at = at;
        derivation.make_known(&step.call);
    }
    derivation
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
}

impl Derivation<'_, '_> {
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
    ) {
        match call.tool {
            // A number or truth value has no members, but `need` marks its variable, so that the
            // step that computed it is visited.
            Tool::End => self.need(&call.args[0], members.iter().copied()),
            Tool::GetTailEntity | Tool::GetHeadEntity => {
                let Some((relation, forward)) = walked else {
                    return;
                };
                for &member in members {
                    // One derivation is enough; the lowest id keeps the choice deterministic.
                    let from = inputs[0]
                        .iter()
                        .copied()
                        .find(|&node| self.session.step(node, relation, forward).contains(&member));
                    if let Some(node) = from {
                        self.keep(node, relation, forward, member);
                        self.need(&call.args[0], [node]);
                    }
                }
            }
            Tool::GetEntityByType => {
                let class = inputs[0][0];
                for &member in members {
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
                self.compared(call, walked, members);
                self.need(&call.args[0], members.iter().copied());
            }
            Tool::Judge => {
                self.compared(call, walked, &inputs[0]);
                self.need(&call.args[0], inputs[0].iter().copied());
            }
            Tool::Count => self.need(&call.args[0], inputs[0].iter().copied()),
            Tool::Intersect => {
                for arg in &call.args {
                    self.need(arg, members.iter().copied());
                }
            }
            Tool::Union => {
                for (arg, set) in call.args.iter().zip(inputs) {
                    self.need(
                        arg,
                        members
                            .iter()
                            .copied()
                            .filter(|member| set.binary_search(member).is_ok()),
                    );
                }
            }
            Tool::DisambiguateEntity => self.need(&call.args[0], members.iter().copied()),
            Tool::GetRelation | Tool::RetrieveRelation | Tool::GetCandidateEntity => {}
        }
    }

    /// Keeps every value that a comparison read, for the given members.
    fn compared(&mut self, call: &Call, walked: Option<(Relation, bool)>, members: &[NodeId]) {
        let Some((relation, forward)) = walked else {
            return;
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
    }

    /// Keeps one triple of every constant that no kept triple mentions.
    fn make_known(&mut self, call: &Call) {
        if matches!(call.tool, Tool::GetRelation | Tool::RetrieveRelation) {
            return;
        }
        let kg = self.session.kg();
        for (i, arg) in call.args.iter().enumerate() {
            let Arg::Name(name) = arg else { continue };
            let Some(node) = kg.by_name(name).filter(|_| i != 1) else {
                continue;
            };
            if self.triples.keys().any(|&(s, _, o)| s == node || o == node) {
                continue;
            }
            let typed = || {
                kg.instances(node)
                    .first()
                    .map(|&member| proof(kg, member, node))
                    .unwrap_or_default()
            };
            if call.tool == Tool::GetEntityByType {
                self.add_all(typed());
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
            self.add_all(known.map_or_else(typed, |known| vec![known]));
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
