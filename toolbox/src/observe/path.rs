//! GetPath (spec B.2): the simple paths between two entities over the undirected view of the graph, shortest first.

use rustc_hash::FxHashSet;

use super::{Hop, Link, each_edge};
use kg::Kg;
use kg::term::{NodeId, RelId};

/// Limits of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOptions {
    /// Most edges of a path.
    pub edges: usize,
    /// Most paths.
    pub paths: usize,
    /// Most edges looked at: between two hubs of a large graph lie more than anyone will read.
    pub visits: usize,
    /// Relations that are not walked.
    pub without: Vec<RelId>,
}

impl Default for PathOptions {
    fn default() -> Self {
        Self {
            edges: 3,
            paths: 100,
            visits: 2_000_000,
            without: Vec::new(),
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Shortest first; of equal length in order of the edges' triples. Every edge is reported as it is stored.
    pub paths: Vec<Vec<Hop>>,
    /// Whether there may be more than were found.
    pub cut: bool,
}

/// The simple paths from `from` to `to`. No node stands twice on a path; parallel edges make different paths. From a node to itself there
/// is none.
#[must_use]
pub fn paths(kg: &dyn Kg, from: NodeId, to: NodeId, options: &PathOptions) -> Paths {
    let mut search = Search {
        kg,
        to,
        options,
        next_to: FxHashSet::default(),
        visited: 0,
        found: Paths::default(),
    };
    if from == to {
        return search.found;
    }
    for (_, node) in search.edges(to) {
        search.next_to.insert(node);
    }
    for edges in 1..=options.edges {
        let mut on_path = vec![from];
        search.extend(&mut Vec::new(), &mut on_path, edges);
        if search.found.cut {
            break;
        }
    }
    search.found
}

struct Search<'a> {
    kg: &'a dyn Kg,
    to: NodeId,
    options: &'a PathOptions,
    /// Neighbours of the goal: a path's last node but one is one of them.
    next_to: FxHashSet<NodeId>,
    visited: usize,
    found: Paths,
}

impl Search<'_> {
    /// Edges at a node with the node at their other end, in order of their triples.
    fn edges(&mut self, node: NodeId) -> Vec<(Hop, NodeId)> {
        let mut edges = Vec::new();
        each_edge(
            self.kg,
            node,
            true,
            &self.options.without,
            &mut |triple, forward| {
                let hop = Hop { triple, forward };
                edges.push((hop, hop.far()));
            },
        );
        self.visited += edges.len();
        edges.sort_unstable_by_key(|(hop, _)| (hop.triple, !hop.forward));
        edges
    }

    /// All ways on from the end of `on_path` to the goal with exactly `left` more edges.
    fn extend(&mut self, path: &mut Vec<Hop>, on_path: &mut Vec<NodeId>, left: usize) {
        let Some(&here) = on_path.last() else { return };
        if self.found.cut || (left == 1 && !self.next_to.contains(&here)) {
            return;
        }
        if self.visited > self.options.visits {
            self.found.cut = true;
            return;
        }
        for (hop, next) in self.edges(here) {
            let arrives = next == self.to;
            // The goal ends a path, and only in its place.
            if arrives != (left == 1) || on_path.contains(&next) {
                continue;
            }
            path.push(hop);
            if arrives {
                if self.found.paths.len() >= self.options.paths {
                    self.found.cut = true;
                } else {
                    self.found.paths.push(path.clone());
                }
            } else {
                on_path.push(next);
                self.extend(path, on_path, left - 1);
                on_path.pop();
            }
            path.pop();
            if self.found.cut {
                return;
            }
        }
    }
}
