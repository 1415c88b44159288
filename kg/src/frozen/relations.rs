//! The relations of a node or of a set of nodes.

use super::index::distinct;
use super::kg::FrozenKg;
use crate::term::{NodeId, RelId};

/// The relations of sets up to this size are sorted. For larger sets they are marked in a bit set,
/// which costs one bit per term.
const FEW: usize = 32;

impl FrozenKg {
    pub(super) fn visible(&self, relations: &[u32]) -> Vec<RelId> {
        distinct(relations)
            .map(RelId)
            .filter(|r| self.hidden.binary_search(r).is_err())
            .collect()
    }

    /// The relations in a column of many nodes, each with the first node that has it. For a large
    /// set each relation is marked once, and only the result is sorted.
    pub(super) fn first_of<'a>(
        &'a self,
        nodes: &[NodeId],
        column: impl Fn(NodeId) -> &'a [u32],
    ) -> Vec<(RelId, NodeId)> {
        let mut found = Vec::new();
        if nodes.len() <= FEW {
            found.extend(nodes.iter().flat_map(|&node| {
                distinct(column(node)).map(move |relation| (RelId(relation), node))
            }));
            found.retain(|(relation, _)| self.hidden.binary_search(relation).is_err());
            // The sort is stable, so the first node stays.
            found.sort_by_key(|(relation, _)| *relation);
            found.dedup_by_key(|(relation, _)| *relation);
            return found;
        }
        let mut seen = vec![0_u64; self.dictionary().len() / 64 + 1];
        for &node in nodes {
            for relation in distinct(column(node)) {
                if let Some(word) = seen.get_mut(relation as usize / 64)
                    && *word >> (relation % 64) & 1 == 0
                {
                    *word |= 1 << (relation % 64);
                    found.push((RelId(relation), node));
                }
            }
        }
        found.retain(|(relation, _)| self.hidden.binary_search(relation).is_err());
        found.sort_unstable();
        found
    }
}
