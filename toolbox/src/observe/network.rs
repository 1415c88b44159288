//! The memory of ODA (rules B.3): reflected triples as a network of paths.

use super::edges::ObservedTriple;
use kg::term::NodeId;

/// An element of a path, with two ends.
pub trait PathLink: PartialEq {
    /// The type of an end.
    /// The type of an end.
    type End: PartialEq;
    /// The end at which it starts.
    fn near(&self) -> Self::End;
    /// The end to which it leads.
    fn far(&self) -> Self::End;
}

/// A triple and the direction in which it is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The triple as stored.
    pub triple: ObservedTriple,
    /// Whether it is walked from head to tail.
    pub forward: bool,
}

impl PathLink for Hop {
    type End = NodeId;
    fn near(&self) -> NodeId {
        if self.forward {
            self.triple.0
        } else {
            self.triple.2
        }
    }
    fn far(&self) -> NodeId {
        if self.forward {
            self.triple.2
        } else {
            self.triple.0
        }
    }
}

/// Paths in order of creation. As in the paper, a link extends the *first* path whose last link
/// leads to its start; otherwise it starts a new path. Paths never branch or merge, so the result
/// depends on the order of the links.
///
/// ```
/// use toolbox::observe::{Hop, PathNetwork};
/// use kg::term::{NodeId, RelId};
///
/// let hop = |s, o| Hop { triple: (NodeId(s), RelId(9), NodeId(o)), forward: true };
/// let network = |hops: &[Hop]| {
///     let mut network = PathNetwork::default();
///     hops.iter().for_each(|&hop| drop(network.add(hop)));
///     network.paths().iter().map(Vec::len).collect::<Vec<_>>()
/// };
/// assert_eq!(network(&[hop(1, 2), hop(2, 3)]), [2]);
/// assert_eq!(network(&[hop(2, 3), hop(1, 2)]), [1, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct PathNetwork<L> {
    paths: Vec<Vec<L>>,
}

impl<L> Default for PathNetwork<L> {
    fn default() -> Self {
        Self { paths: Vec::new() }
    }
}

impl<L: PathLink> PathNetwork<L> {
    /// Adds a link and returns the index of its path; `None` if the link is already present.
    pub fn add(&mut self, link: L) -> Option<usize> {
        if self.links().any(|known| *known == link) {
            return None;
        }
        let fits = |path: &Vec<L>| path.last().is_some_and(|last| last.far() == link.near());
        let at = self.paths.iter().position(fits).unwrap_or(self.paths.len());
        if at == self.paths.len() {
            self.paths.push(Vec::new());
        }
        self.paths[at].push(link);
        Some(at)
    }

    /// The paths in order of creation; no path is empty.
    #[must_use]
    pub fn paths(&self) -> &[Vec<L>] {
        &self.paths
    }

    /// All links, path by path.
    pub fn links(&self) -> impl Iterator<Item = &L> {
        self.paths.iter().flatten()
    }

    /// Whether the network has no links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}
