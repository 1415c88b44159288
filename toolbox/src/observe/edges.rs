//! The edges at a node.

use kg::Kg;
use kg::term::{NodeId, RelId};

/// Head, relation, tail.
pub type ObservedTriple = (NodeId, RelId, NodeId);

/// Visits every triple of a node, out-edges first; skips hidden relations (rule R4) and those in
/// `without`.
pub(super) fn each_edge(
    kg: &dyn Kg,
    node: NodeId,
    both: bool,
    without: &[RelId],
    visit: &mut dyn FnMut(ObservedTriple, bool),
) {
    let visible = |relation: &RelId| !without.contains(relation);
    for relation in kg.out_relations(node).into_iter().filter(visible) {
        for &tail in kg.tails(node, relation).iter() {
            visit((node, relation, tail), true);
        }
    }
    if both {
        for relation in kg.in_relations(node).into_iter().filter(visible) {
            for &head in kg.heads(relation, node).iter() {
                visit((head, relation, node), false);
            }
        }
    }
}
