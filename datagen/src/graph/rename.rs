//! Replaces variables of a group by other variables or by constants.

use std::collections::HashMap;

use kg::term::Term;

use super::algebra;
use super::query_graph::{GraphNode, PatternGroup, Var};

/// Renames the variables of a group, unions excluded.
pub(super) fn rename(group: &mut PatternGroup, new_name: &dyn Fn(Var) -> Var) {
    for node in group.nodes_mut() {
        if let GraphNode::Var(var) = node {
            *var = new_name(*var);
        }
    }
    for edge in &mut group.edges {
        edge.predicate = edge.predicate.map(new_name);
    }
    for comparison in &mut group.comparisons {
        comparison.var = new_name(comparison.var);
        comparison.test = algebra::renumber(&comparison.test, new_name);
    }
    for pair in &mut group.ordered {
        (pair.left, pair.right) = (new_name(pair.left), new_name(pair.right));
        pair.test = algebra::renumber(&pair.test, new_name);
    }
    for test in &mut group.tests {
        *test = algebra::renumber(test, new_name);
    }
    let values = group.values.iter_mut().map(|(var, _)| var);
    let labels = group.labels.iter_mut().map(|(var, _)| var);
    let differ = group.differ.iter_mut().map(|(var, _)| var);
    let pairs = group.unequal.iter_mut().chain(&mut group.same);
    for var in values
        .chain(labels)
        .chain(differ)
        .chain(pairs.flat_map(|(a, b)| [a, b]))
    {
        *var = new_name(*var);
    }
}

/// Replaces variables by constants, in unions too.
pub(super) fn substitute(group: &mut PatternGroup, constants: &HashMap<Var, Term>) {
    if constants.is_empty() {
        return;
    }
    for node in group.nodes_mut() {
        if let Some(Term::Iri(iri)) = node.var().and_then(|var| constants.get(&var)) {
            *node = GraphNode::Entity(iri.clone());
        }
    }
    for test in &mut group.tests {
        *test = algebra::replace(test, &mut |old| {
            constants
                .iter()
                .find(|(var, _)| algebra::variable(**var) == *old)
                .and_then(|(_, term)| algebra::constant(term))
                .unwrap_or_else(|| old.clone().into())
        });
    }
    for branch in group.unions.iter_mut().flatten() {
        substitute(branch, constants);
    }
}
