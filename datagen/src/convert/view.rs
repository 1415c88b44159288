//! A group as a tree: the edges at each variable, the possible starts of a program, and the
//! constraints at each node.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use kg::term::Term;

use crate::graph::{Edge, GraphNode, PatternGroup, Var};

/// The kind of a start; lower is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StartKind {
    Entity,
    Class,
    Literal,
}

/// How a set reaches a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartEntry {
    /// Along an edge.
    Edge(usize),
    /// From `VALUES`.
    Values(usize),
    /// From a label.
    Label(usize),
    /// From a union.
    Union(usize),
    /// From a class.
    Class(usize),
}

/// A possible start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub kind: StartKind,
    /// Position among the data set's topic entities.
    pub topic: usize,
    /// Edges to the requested node.
    pub distance: usize,
    order: usize,
    pub entry: StartEntry,
}

impl Start {
    /// Topic entities first, then the longest path, then the order of mention (rules A.2.3).
    fn key(&self) -> (StartKind, bool, Reverse<usize>, usize, usize) {
        (
            self.kind,
            self.topic == usize::MAX,
            Reverse(self.distance),
            self.topic,
            self.order,
        )
    }

    /// Order among the constraints of one node: the order of mention.
    pub(super) fn mention(&self) -> (usize, usize) {
        (self.topic, self.order)
    }
}

/// A group with its adjacency.
pub(super) struct TreeView<'g> {
    pub group: &'g PatternGroup,
    topics: &'g [Term],
    incident: BTreeMap<Var, Vec<usize>>,
    /// Edges that would close a cycle.
    pub closing: Vec<usize>,
}

impl<'g> TreeView<'g> {
    pub(super) fn new(group: &'g PatternGroup, topics: &'g [Term]) -> Self {
        let mut view = Self {
            group,
            topics,
            incident: BTreeMap::new(),
            closing: Vec::new(),
        };
        let mut joined: BTreeMap<Var, Var> = BTreeMap::new();
        let find = |joined: &BTreeMap<Var, Var>, mut var: Var| {
            while let Some(&next) = joined.get(&var) {
                var = next;
            }
            var
        };
        for (i, edge) in group.edges.iter().enumerate() {
            let is_same = |other: &Edge| {
                (&other.subject, &other.object, &other.steps)
                    == (&edge.subject, &edge.object, &edge.steps)
            };
            if group.edges[..i].iter().any(is_same) {
                continue;
            }
            if let (Some(a), Some(b)) = (edge.subject.var(), edge.object.var()) {
                let (root_a, root_b) = (find(&joined, a), find(&joined, b));
                if root_a == root_b {
                    view.closing.push(i);
                    continue;
                }
                joined.insert(root_a, root_b);
            }
            for var in [edge.subject.var(), edge.object.var()]
                .into_iter()
                .flatten()
            {
                view.incident.entry(var).or_default().push(i);
            }
        }
        view
    }

    pub(super) fn edge(&self, index: usize) -> &'g Edge {
        &self.group.edges[index]
    }

    /// Edges at a variable, except those in `without`.
    pub(super) fn edges_at(&self, var: Var, without: &[usize]) -> Vec<usize> {
        self.incident.get(&var).map_or_else(Vec::new, |edges| {
            edges
                .iter()
                .copied()
                .filter(|edge| !without.contains(edge))
                .collect()
        })
    }

    /// The far end of an edge.
    pub(super) fn far(&self, edge: usize, var: Var) -> &'g GraphNode {
        let edge = self.edge(edge);
        if edge.subject == GraphNode::Var(var) {
            &edge.object
        } else {
            &edge.subject
        }
    }

    /// Whether `var` is the edge's subject.
    pub(super) fn is_subject(&self, edge: usize, var: Var) -> bool {
        self.edge(edge).subject == GraphNode::Var(var)
    }

    /// Whether a variable has one edge and otherwise only comparisons.
    pub(super) fn is_leaf(&self, var: Var) -> bool {
        let plain = |node: &GraphNode| node.var() != Some(var);
        self.edges_at(var, &[]).len() == 1
            && self.group.classes.iter().all(|(node, _)| plain(node))
            && self
                .group
                .intervals
                .iter()
                .all(|interval| plain(&interval.node))
            && self.group.values.iter().all(|(known, _)| *known != var)
            && self.group.labels.iter().all(|(known, _)| *known != var)
            && self.unions_at(var).is_empty()
            && self
                .closing
                .iter()
                .all(|&edge| plain(&self.edge(edge).subject) && plain(&self.edge(edge).object))
    }

    /// Unions that mention a variable.
    pub(super) fn unions_at(&self, var: Var) -> Vec<usize> {
        let speaks =
            |branches: &Vec<PatternGroup>| branches.iter().any(|branch| branch.mentions(var));
        (0..self.group.unions.len())
            .filter(|&i| speaks(&self.group.unions[i]))
            .collect()
    }

    /// Variables connected with `var` by edges.
    pub(super) fn component(&self, var: Var) -> BTreeSet<Var> {
        let mut seen = BTreeSet::from([var]);
        let mut open = vec![var];
        while let Some(var) = open.pop() {
            for edge in self.edges_at(var, &[]) {
                if let Some(far) = self.far(edge, var).var()
                    && seen.insert(far)
                {
                    open.push(far);
                }
            }
        }
        seen
    }

    /// The edges from one variable to another.
    pub(super) fn path(&self, from: Var, to: Var) -> Option<Vec<(usize, Var)>> {
        self.path_without(from, to, None)
    }

    fn path_without(&self, from: Var, to: Var, via: Option<usize>) -> Option<Vec<(usize, Var)>> {
        if from == to {
            return Some(Vec::new());
        }
        self.edges_at(from, via.as_slice())
            .into_iter()
            .find_map(|edge| {
                let far = self.far(edge, from).var()?;
                let mut rest = self.path_without(far, to, Some(edge))?;
                rest.insert(0, (edge, far));
                Some(rest)
            })
    }

    fn topic(&self, term: &Term) -> usize {
        self.topics
            .iter()
            .position(|topic| topic == term)
            .unwrap_or(usize::MAX)
    }

    /// The start that reaches a variable along one edge.
    pub(super) fn start_over(&self, edge: usize, var: Var) -> Option<Start> {
        let order = self.edge(edge).order;
        let entry = StartEntry::Edge(edge);
        match self.far(edge, var) {
            GraphNode::Entity(iri) => Some(Start {
                kind: StartKind::Entity,
                topic: self.topic(&Term::Iri(iri.clone())),
                distance: 1,
                order,
                entry,
            }),
            GraphNode::Literal(_) => Some(Start {
                kind: StartKind::Literal,
                topic: usize::MAX,
                distance: 1,
                order,
                entry,
            }),
            GraphNode::Var(far) => {
                let start = self.best(*far, Some(edge))?;
                Some(Start {
                    distance: start.distance + 1,
                    entry,
                    ..start
                })
            }
        }
    }

    /// Starts at the node itself.
    fn own_starts(&self, var: Var) -> Vec<Start> {
        let group = self.group;
        let start = |kind, topic, entry| Start {
            kind,
            topic,
            distance: 0,
            order: usize::MAX,
            entry,
        };
        let values = group
            .values
            .iter()
            .enumerate()
            .filter(|(_, (known, _))| *known == var)
            .map(|(i, (_, terms))| {
                let topic = terms
                    .iter()
                    .map(|term| self.topic(term))
                    .min()
                    .unwrap_or(usize::MAX);
                start(StartKind::Entity, topic, StartEntry::Values(i))
            });
        let labels = group
            .labels
            .iter()
            .enumerate()
            .filter(|(_, (known, _))| *known == var);
        let labels =
            labels.map(|(i, _)| start(StartKind::Entity, usize::MAX, StartEntry::Label(i)));
        let unions = self.unions_at(var).into_iter().filter_map(|i| {
            let kinds: Option<Vec<Start>> = group.unions[i]
                .iter()
                .map(|branch| TreeView::new(branch, self.topics).best(var, None))
                .collect();
            let kinds = kinds?;
            let distance = kinds.iter().map(|start| start.distance).max()?;
            let topic = kinds.iter().map(|start| start.topic).min()?;
            let order = kinds.iter().map(|start| start.order).min()?;
            Some(Start {
                kind: kinds.iter().map(|start| start.kind).max()?,
                topic,
                distance,
                order,
                entry: StartEntry::Union(i),
            })
        });
        let classes = group
            .classes
            .iter()
            .enumerate()
            .filter(|(_, (node, _))| node.var() == Some(var));
        let classes =
            classes.map(|(i, _)| start(StartKind::Class, usize::MAX, StartEntry::Class(i)));
        values.chain(labels).chain(unions).chain(classes).collect()
    }

    /// The best start for a node's set.
    pub(super) fn best(&self, var: Var, via: Option<usize>) -> Option<Start> {
        let over = self
            .edges_at(var, via.as_slice())
            .into_iter()
            .filter_map(|edge| self.start_over(edge, var));
        self.own_starts(var)
            .into_iter()
            .chain(over)
            .min_by_key(Start::key)
    }

    /// Entity starts at the node itself, in order.
    pub(super) fn own_entity_starts(&self, var: Var) -> Vec<Start> {
        self.own_starts(var)
            .into_iter()
            .filter(|start| !matches!(start.entry, StartEntry::Class(_)))
            .collect()
    }
}
