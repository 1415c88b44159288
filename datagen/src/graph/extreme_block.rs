//! Recognises an inner `SELECT (MAX(?b) …)` that repeats the outer pattern: GrailQA writes an
//! extreme in this way (rules A.2.2).

use std::collections::HashMap;

use super::query_graph::{GraphNode, PatternGroup, Var};

/// Maximum number of edges of a block. Published blocks have four; trying every renaming of many
/// more would take too long.
const MAX_EDGES: usize = 10;

/// Whether the block's group equals the outer group under a renaming of variables that maps `from`
/// to `to`.
pub(super) fn repeats(inner: &PatternGroup, outer: &PatternGroup, from: Var, to: Var) -> bool {
    let same_sizes = inner.edges.len() <= MAX_EDGES
        && inner.edges.len() == outer.edges.len()
        && inner.classes.len() == outer.classes.len()
        && inner.comparisons.len() == outer.comparisons.len()
        && inner.intervals.len() == outer.intervals.len()
        && inner.values.len() == outer.values.len()
        && inner.labels.len() == outer.labels.len();
    // A block that only repeats the pattern contains nothing of this kind.
    let plain = |group: &PatternGroup| {
        group.unions.is_empty() && group.ordered.is_empty() && group.bounds.is_empty()
    };
    // Conditions that no tool expresses must be in both groups, or only in the outer one.
    let conditions =
        |group: &PatternGroup| group.tests.len() + group.unequal.len() + group.differ.len();
    let same_sizes =
        same_sizes && (conditions(inner) == 0 || conditions(inner) == conditions(outer));
    same_sizes
        && plain(inner)
        && plain(outer)
        && edges(
            inner,
            outer,
            0,
            &mut vec![false; outer.edges.len()],
            &HashMap::from([(from, to)]),
        )
}

fn edges(
    inner: &PatternGroup,
    outer: &PatternGroup,
    at: usize,
    used: &mut Vec<bool>,
    map: &HashMap<Var, Var>,
) -> bool {
    let Some(edge) = inner.edges.get(at) else {
        return annotations(inner, outer, map);
    };
    for i in 0..outer.edges.len() {
        let candidate = &outer.edges[i];
        if used[i]
            || candidate.steps != edge.steps
            || edge.predicate.is_some()
            || candidate.predicate.is_some()
        {
            continue;
        }
        let mut longer = map.clone();
        if node(&edge.subject, &candidate.subject, &mut longer)
            && node(&edge.object, &candidate.object, &mut longer)
        {
            used[i] = true;
            if edges(inner, outer, at + 1, used, &longer) {
                return true;
            }
            used[i] = false;
        }
    }
    false
}

/// Matches two nodes and extends the renaming, which stays one-to-one.
fn node(a: &GraphNode, b: &GraphNode, map: &mut HashMap<Var, Var>) -> bool {
    match (a, b) {
        (GraphNode::Var(a), GraphNode::Var(b)) => match map.get(a) {
            Some(known) => known == b,
            None if map.values().any(|taken| taken == b) => false,
            None => {
                map.insert(*a, *b);
                true
            }
        },
        _ => a == b,
    }
}

fn annotations(inner: &PatternGroup, outer: &PatternGroup, map: &HashMap<Var, Var>) -> bool {
    let renamed = |var: Var| map.get(&var).copied();
    let renamed_node = |node: &GraphNode| match node {
        GraphNode::Var(var) => renamed(*var).map(GraphNode::Var),
        other => Some(other.clone()),
    };
    inner.classes.iter().all(|(at, class)| {
        renamed_node(at).is_some_and(|at| outer.classes.contains(&(at, class.clone())))
    }) && inner.comparisons.iter().all(|c| {
        outer
            .comparisons
            .iter()
            .any(|o| Some(o.var) == renamed(c.var) && o.op == c.op && o.value == c.value)
    }) && inner.intervals.iter().all(|c| {
        outer.intervals.iter().any(|o| {
            Some(&o.node) == renamed_node(&c.node).as_ref()
                && (&o.from, &o.to, &o.value) == (&c.from, &c.to, &c.value)
        })
    }) && inner.values.iter().all(|(var, terms)| {
        renamed(*var).is_some_and(|var| outer.values.contains(&(var, terms.clone())))
    }) && inner.labels.iter().all(|(var, label)| {
        renamed(*var).is_some_and(|var| outer.labels.contains(&(var, label.clone())))
    })
}
