//! GetPath (rules B.2): the simple paths between two entities in the undirected graph, shortest
//! first.

use rustc_hash::FxHashSet;

use super::edges::each_edge;
use super::network::{Hop, PathLink};
use kg::Kg;
use kg::term::{NodeId, RelId};

/// Limits of a path search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOptions {
    /// Maximum number of edges of a path.
    pub edges: usize,
    /// Maximum number of paths.
    pub paths: usize,
    /// Maximum number of visited edges: two hubs of a large graph are linked by more paths than
    /// anyone can read.
    pub visits: usize,
    /// Relations that the search does not follow.
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

/// The result of a path search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The paths, shortest first; paths of equal length are ordered by their triples. Triples keep
    /// their stored direction.
    pub paths: Vec<Vec<Hop>>,
    /// Whether the search stopped at a limit, so that there may be more paths.
    pub cut: bool,
}

/// The simple paths from `from` to `to`. No node occurs twice on a path; parallel edges give
/// different paths. There is no path from a node to itself.
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
    /// Neighbours of the goal: the second to last node of every path is one of them.
    next_to: FxHashSet<NodeId>,
    visited: usize,
    found: Paths,
}

impl Search<'_> {
    /// The edges of a node and their other ends, in order of their triples.
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

    /// Searches all continuations from the end of `on_path` to the goal with exactly `left` more
    /// edges.
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
            // The goal may only be the last node.
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
