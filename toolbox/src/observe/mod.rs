//! Observation (ODA algorithm 1, spec B.1): what lies around the task entities, hop by hop, the triples most like the question first. Pure
//! graph code: who asks, and what is shown of it, is the ODA agent's business.
//!
//! Also here: the paths between entities ([`paths`], action GetPath) and the network of paths that reflected triples form ([`PathNetwork`]).

mod network;
mod path;
pub(crate) mod shown;
mod similarity;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

pub use network::{Hop, Link, PathNetwork};
pub use path::{PathOptions, Paths, paths};
pub use similarity::{ByRanker, Similarity, StemSimilarity, Stems, similarity_of};

use kg::Kg;
use kg::term::{NodeId, RelId};

/// Head, relation, tail.
pub type Triple = (NodeId, RelId, NodeId);

/// How far and how much is observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObserveOptions {
    /// Hops, D in the paper.
    pub hops: usize,
    /// Triples kept a hop, N in the paper.
    pub kept: usize,
    /// Share of the kept triples whose far ends are observed next, P in the paper; rounded up.
    pub expanded: f64,
    /// Whether triples are also walked from tail to head. The paper walks from head to tail only.
    pub both_directions: bool,
    /// Whether all task entities are ranked together; the paper's algorithm ranks each by itself, its prose says together.
    pub joint: bool,
    /// Whether literals, which cannot be expanded, use up places of the next frontier.
    pub literals_take_places: bool,
    /// Relations that are not seen: the session's, and no option of a run.
    #[serde(skip)]
    pub without: Vec<RelId>,
}

impl Default for ObserveOptions {
    fn default() -> Self {
        Self {
            hops: 3,
            kept: 50,
            expanded: 0.1,
            both_directions: true,
            joint: false,
            literals_take_places: false,
            without: Vec::new(),
        }
    }
}

/// A triple of an observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// The triple as it is stored.
    pub triple: Triple,
    /// Whether it was reached from its head.
    pub forward: bool,
    /// How like the question its relation and far end are.
    pub score: f32,
    /// The hop, from 1.
    pub hop: usize,
    /// Place of the task entity it was reached from; 0 where all are ranked together.
    pub task: usize,
}

impl Observed {
    /// The end that was reached.
    #[must_use]
    pub fn far(&self) -> NodeId {
        if self.forward {
            self.triple.2
        } else {
            self.triple.0
        }
    }
}

/// Observes around each task: an entity, or a set that is one task. Per task the hops follow each other, each best first; a triple is
/// reported once, where it is met first.
#[must_use]
pub fn observe(
    kg: &dyn Kg,
    tasks: &[&[NodeId]],
    question: &str,
    similarity: &dyn Similarity,
    options: &ObserveOptions,
) -> Vec<Observed> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<Triple> = FxHashSet::default();
    let all: Vec<NodeId>;
    let together: [&[NodeId]; 1];
    let tasks = if options.joint {
        all = tasks.concat();
        together = [&all];
        &together
    } else {
        tasks
    };
    for (task, from) in tasks.iter().enumerate() {
        let mut visited: FxHashSet<NodeId> = FxHashSet::default();
        // Two tasks ranked together may name the same entity, which is one place to look from.
        let mut frontier: Vec<NodeId> = from
            .iter()
            .copied()
            .filter(|&node| visited.insert(node))
            .collect();
        for hop in 1..=options.hops {
            let top = hop_from(kg, &frontier, question, similarity, options);
            frontier = next_frontier(kg, &top, options, &mut visited);
            let fresh = top.into_iter().filter(|one| seen.insert(one.triple));
            found.extend(fresh.map(|one| Observed { hop, task, ..one }));
            if frontier.is_empty() {
                break;
            }
        }
    }
    found
}

/// The best triples of one frontier, best first.
fn hop_from(
    kg: &dyn Kg,
    frontier: &[NodeId],
    question: &str,
    similarity: &dyn Similarity,
    options: &ObserveOptions,
) -> Vec<Observed> {
    let mut edges: Vec<(Triple, bool)> = Vec::new();
    for &node in frontier {
        each_edge(
            kg,
            node,
            options.both_directions,
            &options.without,
            &mut |triple, forward| edges.push((triple, forward)),
        );
    }
    let pairs: Vec<(RelId, NodeId)> = edges
        .iter()
        .map(|&((s, r, o), forward)| (r, if forward { o } else { s }))
        .collect();
    let scores = similarity.scores(kg, question, &pairs);
    let mut ranked: Vec<Observed> = edges
        .into_iter()
        .zip(scores)
        .map(|((triple, forward), score)| Observed {
            triple,
            forward,
            score,
            hop: 0,
            task: 0,
        })
        .collect();
    // A triple met from both ends counts with the better of its scores.
    let order = |a: &Observed, b: &Observed| {
        b.score
            .total_cmp(&a.score)
            .then(a.triple.cmp(&b.triple))
            .then(b.forward.cmp(&a.forward))
    };
    // Sorting the twice kept is enough: a triple is met once from each of its two ends, so that among as many there are `kept` different ones.
    let enough = options.kept.saturating_mul(2);
    if ranked.len() > enough && enough > 0 {
        ranked.select_nth_unstable_by(enough - 1, order);
        ranked.truncate(enough);
    }
    ranked.sort_unstable_by(order);
    let mut seen: FxHashSet<Triple> = FxHashSet::default();
    ranked.retain(|one| seen.insert(one.triple));
    ranked.truncate(options.kept);
    ranked
}

/// Far ends of the first P % of a hop, without literals and without what was expanded before.
fn next_frontier(
    kg: &dyn Kg,
    top: &[Observed],
    options: &ObserveOptions,
    visited: &mut FxHashSet<NodeId>,
) -> Vec<NodeId> {
    // At least one place whatever the share, so that an observation can go on where there is anything at all.
    let places = ((top.len() as f64 * options.expanded).ceil() as usize).max(1);
    let resources = kg.resources();
    let open = |node: NodeId| resources.contains(&node.0);
    let counted = top
        .iter()
        .filter(|one| options.literals_take_places || open(one.far()))
        .take(places);
    counted
        .map(Observed::far)
        .filter(|&node| open(node) && visited.insert(node))
        .collect()
}

/// Every triple at a node, those it is the head of first; hidden relations (rule R4) and `without` left out.
pub(crate) fn each_edge(
    kg: &dyn Kg,
    node: NodeId,
    both: bool,
    without: &[RelId],
    visit: &mut dyn FnMut(Triple, bool),
) {
    for relation in kg
        .out_relations(node)
        .into_iter()
        .filter(|relation| !without.contains(relation))
    {
        for &tail in kg.tails(node, relation).iter() {
            visit((node, relation, tail), true);
        }
    }
    if both {
        for relation in kg
            .in_relations(node)
            .into_iter()
            .filter(|relation| !without.contains(relation))
        {
            for &head in kg.heads(relation, node).iter() {
                visit((head, relation, node), false);
            }
        }
    }
}

/// Triples that share task, hop, relation and direction, as one: what a short prompt shows of an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Place of the task.
    pub task: usize,
    /// The hop.
    pub hop: usize,
    /// The relation.
    pub relation: RelId,
    /// Whether it is walked from heads to tails.
    pub forward: bool,
    /// Far ends, best first.
    pub far: Vec<NodeId>,
    /// The best score among them.
    pub score: f32,
}

/// Groups an observation, in the order in which the first triple of each group stands.
#[must_use]
pub fn grouped(observed: &[Observed]) -> Vec<Group> {
    let mut places: FxHashMap<(usize, usize, RelId, bool), usize> = FxHashMap::default();
    let mut groups: Vec<Group> = Vec::new();
    for one in observed {
        let at = *places
            .entry((one.task, one.hop, one.triple.1, one.forward))
            .or_insert_with(|| {
                let (task, hop, relation, forward) = (one.task, one.hop, one.triple.1, one.forward);
                groups.push(Group {
                    task,
                    hop,
                    relation,
                    forward,
                    far: Vec::new(),
                    score: one.score,
                });
                groups.len() - 1
            });
        if !groups[at].far.contains(&one.far()) {
            groups[at].far.push(one.far());
        }
    }
    groups
}
