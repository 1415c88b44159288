//! The alternatives of a query-graph group: unions, value lists and edges with several steps,
//! multiplied out.

use crate::graph::{Edge, PatternGroup};

/// Maximum number of alternatives of a template, as in its grammar.
const BRANCHES: usize = 3;

/// The group as a disjunction of groups without alternatives; `None` if it is not expressible.
pub(super) fn alternatives(group: &PatternGroup) -> Option<Vec<PatternGroup>> {
    let unsupported = !group.labels.is_empty()
        || !group.choices.is_empty()
        || !group.bounds.is_empty()
        || !group.blocks.is_empty();
    if unsupported {
        return None;
    }
    let mut plain = group.clone();
    let unions = std::mem::take(&mut plain.unions);
    let values = std::mem::take(&mut plain.values);
    let edges = std::mem::take(&mut plain.edges);
    let mut all = vec![plain];
    for (var, terms) in &values {
        all = product(&all, terms, |group, term| {
            group.values.push((*var, vec![term.clone()]));
        })?;
    }
    for edge in &edges {
        all = product(&all, &edge.steps, |group, step| {
            group.edges.push(Edge {
                steps: vec![step.clone()],
                ..edge.clone()
            });
        })?;
    }
    for branches in &unions {
        let inner: Vec<PatternGroup> = branches
            .iter()
            .map(alternatives)
            .collect::<Option<Vec<_>>>()?
            .concat();
        all = product(&all, &inner, |group, branch| group.absorb(branch.clone()))?;
    }
    (!all.is_empty()).then_some(all)
}

/// Every group extended by every option; `None` if there are too many.
fn product<T>(
    groups: &[PatternGroup],
    options: &[T],
    extend: impl Fn(&mut PatternGroup, &T),
) -> Option<Vec<PatternGroup>> {
    if groups.len() * options.len() > BRANCHES {
        return None;
    }
    let extended = |group: &PatternGroup, option: &T| {
        let mut group = group.clone();
        extend(&mut group, option);
        group
    };
    let all = groups
        .iter()
        .flat_map(|group| options.iter().map(move |option| (group, option)));
    Some(all.map(|(group, option)| extended(group, option)).collect())
}
