//! Observation hop by hop.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::edges::{ObservedTriple, each_edge};
use super::similarity::Similarity;
use crate::rank::RankError;
use common::cancel::Cancel;
use kg::Kg;
use kg::term::{NodeId, RelId};

/// Range and size of an observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObserveOptions {
    /// Number of hops, D in the paper.
    pub hops: usize,
    /// Triples kept per hop, N in the paper.
    pub kept: usize,
    /// Share of the kept triples whose far ends are observed next, rounded up; P in the paper.
    pub expanded: f64,
    /// Whether triples are also followed from tail to head. The paper follows them from head to
    /// tail only.
    pub both_directions: bool,
    /// Whether all task entities are ranked together. The paper's algorithm ranks each separately,
    /// but its text ranks them together.
    pub joint: bool,
    /// Whether literals, which cannot be expanded, take places in the next frontier.
    pub literals_take_places: bool,
    /// Relations hidden from the session; not an option of a run.
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
    pub triple: ObservedTriple,
    /// Whether it was reached from its head.
    pub forward: bool,
    /// Similarity of its relation and far end to the question.
    pub score: f32,
    /// The hop, counting from 1.
    pub hop: usize,
    /// Index of the task from which it was reached; 0 if all tasks are ranked together.
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

/// Observes the surroundings of each task, which is an entity or a set. The result lists the hops
/// of each task in order, best triples first. A triple is reported once, at its first occurrence.
///
/// # Errors
/// Returns the error of the similarity's ranker, which looks at `cancel`.
pub fn observe(
    kg: &dyn Kg,
    tasks: &[&[NodeId]],
    question: &str,
    similarity: &dyn Similarity,
    options: &ObserveOptions,
    cancel: &Cancel,
) -> Result<Vec<Observed>, RankError> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<ObservedTriple> = FxHashSet::default();
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
        // Two tasks ranked together may contain the same entity.
        let mut frontier: Vec<NodeId> = from
            .iter()
            .copied()
            .filter(|&node| visited.insert(node))
            .collect();
        for hop in 1..=options.hops {
            let top = hop_from(kg, &frontier, question, similarity, options, cancel)?;
            frontier = next_frontier(kg, &top, options, &mut visited);
            let fresh = top.into_iter().filter(|one| seen.insert(one.triple));
            found.extend(fresh.map(|one| Observed { hop, task, ..one }));
            if frontier.is_empty() {
                break;
            }
        }
    }
    Ok(found)
}

/// The best triples of one frontier, best first.
fn hop_from(
    kg: &dyn Kg,
    frontier: &[NodeId],
    question: &str,
    similarity: &dyn Similarity,
    options: &ObserveOptions,
    cancel: &Cancel,
) -> Result<Vec<Observed>, RankError> {
    let mut edges: Vec<(ObservedTriple, bool)> = Vec::new();
    for &node in frontier {
        cancel.check()?;
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
    let scores = similarity.scores(kg, question, &pairs, cancel)?;
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
    // A triple reached from both ends keeps the better score.
    let order = |a: &Observed, b: &Observed| {
        b.score
            .total_cmp(&a.score)
            .then(a.triple.cmp(&b.triple))
            .then(b.forward.cmp(&a.forward))
    };
    // A triple occurs at most twice, once from each end. The best `2 * kept` edges therefore
    // contain `kept` distinct triples, and sorting those is enough.
    let enough = options.kept.saturating_mul(2);
    if ranked.len() > enough && enough > 0 {
        ranked.select_nth_unstable_by(enough - 1, order);
        ranked.truncate(enough);
    }
    ranked.sort_unstable_by(order);
    let mut seen: FxHashSet<ObservedTriple> = FxHashSet::default();
    ranked.retain(|one| seen.insert(one.triple));
    ranked.truncate(options.kept);
    Ok(ranked)
}

/// The far ends of the first P % of a hop, without literals and nodes expanded before.
fn next_frontier(
    kg: &dyn Kg,
    top: &[Observed],
    options: &ObserveOptions,
    visited: &mut FxHashSet<NodeId>,
) -> Vec<NodeId> {
    // At least one place regardless of the share, so that the observation can continue.
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
