//! The neighbourhood of one entity.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::graph::Kg;
use crate::term::{NodeId, RelId};

/// The triples of a node that belong to its neighbourhood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Triples with the node as head.
    Out,
    /// Triples with the node as tail.
    In,
    /// Both.
    #[default]
    Both,
}

/// The extent of a neighbourhood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubgraphOptions {
    /// Maximum number of steps from an entity.
    pub hops: u32,
    /// Maximum number of triples of a node in each direction. They are taken from its relations in
    /// turn, so that every relation is represented.
    pub fan_out: Option<usize>,
    /// The direction in which triples are followed.
    pub direction: Direction,
}

/// A triple of a neighbourhood and its hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    /// The hop, from 1.
    pub hop: u32,
    /// The node from which the triple was reached, at most `hop - 1` steps from the entity.
    pub from: NodeId,
    /// Head, relation, tail.
    pub triple: (NodeId, RelId, NodeId),
}

/// A head, a relation and a tail.
pub(super) type Triple = (NodeId, RelId, NodeId);

/// The neighbourhood of an entity: the nodes whose triples belong to it. The triples are in the
/// graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbourhood {
    entity: NodeId,
    /// The nodes at one step, at two steps and so on, each list sorted. Nodes at the last step are
    /// omitted, because nothing is followed from them.
    steps: Vec<Vec<NodeId>>,
}

impl Neighbourhood {
    /// Explores the graph from an entity. Relations hidden from planners (names, classes, meta
    /// relations: rule R4) are not followed, and nothing is followed from literals.
    #[must_use]
    pub fn walk(kg: &dyn Kg, entity: NodeId, options: &SubgraphOptions) -> Self {
        let mut seen: FxHashSet<NodeId> = FxHashSet::from_iter([entity]);
        let mut around = Self {
            entity,
            steps: Vec::new(),
        };
        for hop in 1..options.hops {
            let far = around
                .at(hop)
                .iter()
                .flat_map(|&from| triples_of(kg, from, options).map(|(_, far)| far));
            let mut next: Vec<NodeId> = far
                .filter(|&far| kg.resources().contains(&far.0) && seen.insert(far))
                .collect();
            next.sort_unstable();
            around.steps.push(next);
        }
        around
    }

    /// The start of the exploration.
    #[must_use]
    pub fn entity(&self) -> NodeId {
        self.entity
    }

    /// The nodes whose triples belong to this hop, counted from 1.
    pub(super) fn at(&self, hop: u32) -> &[NodeId] {
        match (hop as usize).checked_sub(2) {
            None => std::slice::from_ref(&self.entity),
            Some(steps) => self.steps.get(steps).map_or(&[], Vec::as_slice),
        }
    }

    /// Every triple of the first `hops` hops, once, with the first hop that reaches it; sorted.
    /// `options` must be those of the exploration.
    #[must_use]
    pub fn triples(&self, kg: &dyn Kg, options: &SubgraphOptions, hops: u32) -> Vec<Reached> {
        let mut found = Vec::new();
        let mut known: FxHashSet<Triple> = FxHashSet::default();
        for hop in 1..=hops {
            for &from in self.at(hop) {
                let new = triples_of(kg, from, options).filter(|&(triple, _)| known.insert(triple));
                found.extend(new.map(|(triple, _)| Reached { hop, from, triple }));
            }
        }
        found.sort_unstable();
        found
    }

    /// Encodes the neighbourhood for a [`common::journal::Journal`]: the entity, then the length of
    /// each list and its ids. The ids are valid in one graph only.
    #[must_use]
    pub fn to_record(&self) -> Vec<u8> {
        let steps = self.steps.iter().flat_map(|nodes| {
            std::iter::once(nodes.len() as u32).chain(nodes.iter().map(|node| node.0))
        });
        std::iter::once(self.entity.0)
            .chain(steps)
            .flat_map(u32::to_le_bytes)
            .collect()
    }

    /// Decodes [`Self::to_record`]; `None` for invalid bytes.
    #[must_use]
    pub fn from_record(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<4>() else {
            return None;
        };
        let mut numbers = numbers.iter().map(|&bytes| u32::from_le_bytes(bytes));
        let mut around = Self {
            entity: NodeId(numbers.next()?),
            steps: Vec::new(),
        };
        while let Some(length) = numbers.next() {
            if length as usize > numbers.len() {
                return None;
            }
            around
                .steps
                .push(numbers.by_ref().take(length as usize).map(NodeId).collect());
        }
        Some(around)
    }
}

/// The triples of a node that are followed, each with its other end.
pub(super) fn triples_of(
    kg: &dyn Kg,
    from: NodeId,
    options: &SubgraphOptions,
) -> impl Iterator<Item = (Triple, NodeId)> {
    let out = options.direction != Direction::In;
    let incoming = options.direction != Direction::Out;
    let ahead = out.then(|| {
        dealt(
            kg.out_relations(from),
            |r| kg.tails(from, r),
            options.fan_out,
        )
    });
    let behind = incoming.then(|| {
        dealt(
            kg.in_relations(from),
            |r| kg.heads(r, from),
            options.fan_out,
        )
    });
    let ahead = ahead
        .into_iter()
        .flatten()
        .map(move |(r, far)| ((from, r, far), far));
    ahead.chain(
        behind
            .into_iter()
            .flatten()
            .map(move |(r, far)| ((far, r, from), far)),
    )
}

/// The neighbours of a node over its relations: the first of every relation, then the second of
/// every relation, up to `cap`.
fn dealt<'k>(
    relations: Vec<RelId>,
    far: impl Fn(RelId) -> Cow<'k, [NodeId]>,
    cap: Option<usize>,
) -> Vec<(RelId, NodeId)> {
    let lists: Vec<(RelId, Cow<'k, [NodeId]>)> = relations
        .into_iter()
        .map(|relation| (relation, far(relation)))
        .collect();
    let all: usize = lists.iter().map(|(_, list)| list.len()).sum();
    if cap.is_none_or(|cap| all <= cap) {
        return lists
            .iter()
            .flat_map(|(relation, list)| list.iter().map(move |&node| (*relation, node)))
            .collect();
    }
    let longest = lists.iter().map(|(_, list)| list.len()).max().unwrap_or(0);
    let round = |i: usize| {
        lists
            .iter()
            .filter_map(move |(relation, list)| list.get(i).map(|&node| (*relation, node)))
    };
    (0..longest)
        .flat_map(round)
        .take(cap.unwrap_or(all))
        .collect()
}
