//! Edges that lead away from a node and not to an entity: paths out and back, edges that only have
//! to exist, edges that close a cycle.

use toolbox::call::Arg;

use super::super::view::TreeView;
use super::{Compiler, OptionalConstraint};
use crate::graph::{GraphNode, Var};
use crate::refusal::Refusal;

impl Compiler<'_> {
    /// Whether an edge that leads to no entity constrains the node. Records the edge if it may be
    /// left out.
    pub(super) fn counts(&mut self, view: &TreeView<'_>, node: Var, edge: usize) -> bool {
        let Some(far) = view.far(edge, node).var() else {
            return true;
        };
        if self.extreme.is_some_and(|(attribute, _)| attribute == far) {
            return false;
        }
        let label = view
            .edge(edge)
            .steps
            .iter()
            .all(|step| self.names.vocabulary.is_label(&step.relation));
        if label && view.is_leaf(far) {
            return false;
        }
        if self.is_bare(view, far, edge) || self.leads_to_answer(view, far, edge) {
            let constraint = OptionalConstraint::Exists(view.edge(edge).order);
            let out = self.without.contains(&constraint);
            self.optional.push(constraint);
            return !out;
        }
        true
    }

    /// Whether only the existence of a sub-tree matters.
    fn is_bare(&self, view: &TreeView<'_>, var: Var, via: usize) -> bool {
        let plain = |node: &GraphNode| node.var() != Some(var);
        let bare = view.group.classes.iter().all(|(node, _)| plain(node))
            && view
                .group
                .intervals
                .iter()
                .all(|interval| plain(&interval.node))
            && view.own_entity_starts(var).is_empty()
            && !self.is_compared(view, var)
            && self.extreme.is_none_or(|(attribute, _)| attribute != var);
        let edges = view.edges_at(var, &[via]);
        bare && edges.into_iter().all(|edge| {
            view.far(edge, var)
                .var()
                .is_some_and(|far| self.is_bare(view, far, edge))
        })
    }

    /// Whether an edge leads to the answer. With an extreme, that side is walked again afterwards.
    fn leads_to_answer(&self, view: &TreeView<'_>, var: Var, via: usize) -> bool {
        let (Some(_), Some(answer)) = (self.extreme, self.answer) else {
            return false;
        };
        var == answer
            || view.edges_at(var, &[via]).into_iter().any(|edge| {
                view.far(edge, var)
                    .var()
                    .is_some_and(|far| self.leads_to_answer(view, far, edge))
            })
    }

    /// Walks out along an edge, narrows there, walks back, and intersects with the start set (rule
    /// R16).
    pub(super) fn out_and_back(
        &mut self,
        view: &TreeView<'_>,
        node: Var,
        set: Arg,
        edge: usize,
        close: bool,
    ) -> Result<Arg, Refusal> {
        let GraphNode::Var(far) = view.far(edge, node) else {
            return Err(Refusal::Filter);
        };
        let (steps, subject) = (&view.edge(edge).steps, view.is_subject(edge, node));
        let out = self.walk(&set, steps, subject)?;
        let there = self.narrow(view, *far, &out, &[edge], None, true)?;
        self.sets.insert(*far, there.clone());
        let back = self.walk(&there, steps, !subject)?;
        Ok(if close {
            self.intersect(set, back)
        } else {
            back
        })
    }

    /// Compiles edges that close a cycle as intersections. This needs a graph, where a check
    /// decides whether the sets were exact.
    pub(super) fn close(
        &mut self,
        view: &TreeView<'_>,
        node: Var,
        mut set: Arg,
    ) -> Result<Arg, Refusal> {
        for &edge in &view.closing {
            let ends = (view.edge(edge).subject.var(), view.edge(edge).object.var());
            let far = match ends {
                (Some(a), Some(b)) if a == node => b,
                (Some(a), Some(b)) if b == node => a,
                _ => continue,
            };
            let Some(known) = self
                .sets
                .get(&far)
                .cloned()
                .filter(|_| far != node && !self.closed.contains(&edge))
            else {
                continue;
            };
            let reached =
                self.walk(&known, &view.edge(edge).steps, !view.is_subject(edge, node))?;
            set = self.intersect(set, reached);
            self.closed.insert(edge);
        }
        Ok(set)
    }
}
