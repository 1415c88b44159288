//! Things whose names share a noun, for kinds that a graph has only in names.

use kg::Kg;
use kg::search::{NodeRole, normalise, singular};
use kg::term::NodeId;

use super::language::is_ordinary;

/// How many things may share a noun: fewer are no kind, more would not fit into a program.
const FEWEST: usize = 2;
const MOST: usize = 24;

/// The things whose names begin or end with the singular of a plural noun, in a graph whose names are made from IRIs; none
/// if a class or a thing has that name itself. Sorted.
pub(crate) fn named_alike(kg: &dyn Kg, plural: &str) -> Vec<NodeId> {
    let one = singular(&normalise(plural));
    let Some(one) = one.filter(|one| kg.schema().named_by_iris() && !is_ordinary(one)) else {
        return Vec::new();
    };
    let Ok(index) = kg.label_index() else {
        return Vec::new();
    };
    let known = |role: NodeRole| index.knows(&one, role).unwrap_or(true);
    if known(NodeRole::Class) || known(NodeRole::Relation) || known(NodeRole::Entity) {
        return Vec::new();
    }
    let found = index.containing(&one, MOST + 1, NodeRole::Entity);
    let mut nodes: Vec<NodeId> = (found.unwrap_or_default().into_iter())
        .filter(|found| {
            let name = normalise(&found.label);
            let mut words = name.split(' ');
            words.next() == Some(&*one) || words.next_back() == Some(&*one)
        })
        .map(|found| found.node)
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    if (FEWEST..=MOST).contains(&nodes.len()) {
        nodes
    } else {
        Vec::new()
    }
}
