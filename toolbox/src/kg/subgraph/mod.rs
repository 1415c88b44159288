//! Neighbourhoods of entities (ODA §3.2, spec B.5): every triple within some hops of a question set's entities, so that questions can be
//! worked on without the whole graph. Layouts in and out are in [`oda`].

mod oda;
mod write;

use rustc_hash::FxHashSet;
use std::borrow::Cow;

pub use oda::{OdaError, OdaKind, OdaReader};
pub use write::{Subgraph, write_files};

use super::Kg;
use crate::term::{NodeId, RelId, Term};

/// Which triples of a node belong to its neighbourhood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Those it is the head of.
    Out,
    /// Those it is the tail of.
    In,
    /// Both.
    #[default]
    Both,
}

/// How far a neighbourhood reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubgraphOptions {
    /// Steps from an entity.
    pub hops: u32,
    /// At most this many triples of a node in each direction, dealt round over its relations so that no relation is lost to a larger one.
    pub fan_out: Option<usize>,
    /// Which way triples are walked.
    pub direction: Direction,
}

/// A triple of a neighbourhood and how it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    /// The hop, from 1.
    pub hop: u32,
    /// The node whose triple it is: within `hop - 1` steps of the entity.
    pub from: NodeId,
    /// Head, relation, tail.
    pub triple: (NodeId, RelId, NodeId),
}

/// Every triple within some hops of an entity, each once, at the first hop that reaches it; sorted. Relations that planners never see (names,
/// classes, meta relations: rule R4) are not walked, and literals are not walked from.
#[must_use]
pub fn around(kg: &dyn Kg, entity: NodeId, options: &SubgraphOptions) -> Vec<Reached> {
    let mut found = Vec::new();
    let mut triples: FxHashSet<(NodeId, RelId, NodeId)> = FxHashSet::default();
    let mut nodes: FxHashSet<NodeId> = FxHashSet::from_iter([entity]);
    let mut frontier = vec![entity];
    for hop in 1..=options.hops {
        let mut next = Vec::new();
        for &from in &frontier {
            let out = options.direction != Direction::In;
            let incoming = options.direction != Direction::Out;
            let ahead = out.then(|| dealt(kg.out_relations(from), |r| kg.tails(from, r), options.fan_out));
            let behind = incoming.then(|| dealt(kg.in_relations(from), |r| kg.heads(r, from), options.fan_out));
            let ahead = ahead.into_iter().flatten().map(|(r, far)| ((from, r, far), far));
            let behind = behind.into_iter().flatten().map(|(r, far)| ((far, r, from), far));
            for (triple, far) in ahead.chain(behind) {
                if triples.insert(triple) {
                    found.push(Reached { hop, from, triple });
                }
                if hop < options.hops && nodes.insert(far) && !matches!(kg.term(far), Term::Literal(_)) {
                    next.push(far);
                }
            }
        }
        next.sort_unstable();
        frontier = next;
    }
    found.sort_unstable();
    found
}

/// The neighbours of a node over its relations: the first of every relation, then the second of every relation, up to the cap.
fn dealt<'k>(relations: Vec<RelId>, far: impl Fn(RelId) -> Cow<'k, [NodeId]>, cap: Option<usize>) -> Vec<(RelId, NodeId)> {
    let lists: Vec<(RelId, Cow<'k, [NodeId]>)> = relations.into_iter().map(|relation| (relation, far(relation))).collect();
    let all: usize = lists.iter().map(|(_, list)| list.len()).sum();
    if cap.is_none_or(|cap| all <= cap) {
        return lists.iter().flat_map(|(relation, list)| list.iter().map(move |&node| (*relation, node))).collect();
    }
    let longest = lists.iter().map(|(_, list)| list.len()).max().unwrap_or(0);
    let round = |i: usize| lists.iter().filter_map(move |(relation, list)| list.get(i).map(|&node| (*relation, node)));
    (0..longest).flat_map(round).take(cap.unwrap_or(all)).collect()
}

/// Bytes of one [`Reached`] in a record.
const RECORD: usize = 20;

/// A neighbourhood as a record of a [`crate::journal::Journal`]; ids are those of one graph.
#[must_use]
pub fn to_record(reached: &[Reached]) -> Vec<u8> {
    let numbers = |one: &Reached| [one.hop, one.from.0, one.triple.0.0, one.triple.1.0, one.triple.2.0];
    reached.iter().flat_map(numbers).flat_map(u32::to_le_bytes).collect()
}

/// Reads what [`to_record`] wrote; `None` where it cannot have.
#[must_use]
pub fn from_record(bytes: &[u8]) -> Option<Vec<Reached>> {
    let read = |record: &[u8]| {
        let mut numbers = record.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok().map(u32::from_le_bytes));
        let mut next = || numbers.next();
        let (hop, from) = (next()?, NodeId(next()?));
        Some(Reached { hop, from, triple: (NodeId(next()?), RelId(next()?), NodeId(next()?)) })
    };
    bytes.len().is_multiple_of(RECORD).then(|| bytes.chunks_exact(RECORD).map(read).collect::<Option<Vec<_>>>()).flatten()
}
