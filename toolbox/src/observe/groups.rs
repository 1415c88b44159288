//! Groups of observed triples.

use super::hops::Observed;
use kg::term::{NodeId, RelId};
use rustc_hash::FxHashMap;

/// The triples of one task, hop, relation and direction: the unit in which prompts show an
/// observation.
#[derive(Clone, Debug, PartialEq)]
pub struct TripleGroup {
    /// Index of the task.
    pub task: usize,
    /// The hop.
    pub hop: usize,
    /// The relation.
    pub relation: RelId,
    /// Whether the relation is followed from heads to tails.
    pub forward: bool,
    /// The far ends, best first.
    pub far: Vec<NodeId>,
    /// The best score of its triples.
    pub score: f32,
}

/// Groups an observation, ordered by the first triple of each group.
#[must_use]
pub fn grouped(observed: &[Observed]) -> Vec<TripleGroup> {
    let mut places: FxHashMap<(usize, usize, RelId, bool), usize> = FxHashMap::default();
    let mut groups: Vec<TripleGroup> = Vec::new();
    for one in observed {
        let at = *places
            .entry((one.task, one.hop, one.triple.1, one.forward))
            .or_insert_with(|| {
                let (task, hop, relation, forward) = (one.task, one.hop, one.triple.1, one.forward);
                groups.push(TripleGroup {
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
