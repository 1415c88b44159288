//! Things whose names share a noun, for kinds that a graph has only in names.

use kg::Kg;
use kg::search::{NodeRole, normalise, singular};
use kg::term::NodeId;

use super::language::is_ordinary;

/// How many things may share a noun: one thing is not a kind, and more do not fit into a program.
const FEWEST: usize = 2;
const MOST: usize = 24;

/// The things whose names begin or end with the singular of a plural noun, in a graph whose names are made from IRIs,
/// sorted by id. Empty if a class, a relation or a thing is called so itself.
pub(crate) fn named_alike(kg: &dyn Kg, plural: &str) -> Vec<NodeId> {
    if !kg.schema().named_by_iris() {
        return Vec::new();
    }
    let Some(one) = singular(&normalise(plural)).filter(|one| !is_ordinary(one)) else {
        return Vec::new();
    };
    let Ok(index) = kg.label_index() else {
        return Vec::new();
    };
    let known = |role| index.knows(&one, role).unwrap_or(true);
    let roles = [NodeRole::Class, NodeRole::Relation, NodeRole::Entity];
    if roles.into_iter().any(known) {
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
