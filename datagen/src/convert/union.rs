//! Unions that are not the alternatives of a single node: the query is multiplied out into groups
//! whose answers are united.

use std::collections::BTreeSet;

use kg::term::Term;

use super::view::TreeView;
use crate::graph::{PatternGroup, Var};
use crate::refusal::Refusal;

/// Maximum number of groups after multiplying out; beyond it no program stays within the step
/// limit.
const MAX_ALTERNATIVES: usize = 8;

/// Moves inequalities that all branches of a union share out of the union (hoisting).
pub(super) fn hoist(group: &mut PatternGroup) {
    for branches in &mut group.unions {
        branches.iter_mut().for_each(hoist);
        let Some((first, rest)) = branches.split_first() else {
            continue;
        };
        let shared: Vec<(Var, Term)> = first
            .differ
            .iter()
            .filter(|differ| rest.iter().all(|branch| branch.differ.contains(differ)))
            .cloned()
            .collect();
        branches
            .iter_mut()
            .for_each(|branch| branch.differ.retain(|differ| !shared.contains(differ)));
        group.differ.extend(shared);
    }
}

/// Keeps the unions that are the alternatives of one node, each with its own start, and multiplies
/// out the others.
pub(super) fn multiply(
    group: PatternGroup,
    answer: Option<Var>,
    extreme: Option<Var>,
    topics: &[Term],
) -> Result<Vec<PatternGroup>, Refusal> {
    let index = (0..group.unions.len()).find(|&i| !is_local(&group, i, answer, extreme, topics));
    let Some(index) = index else {
        return Ok(vec![group]);
    };
    if extreme.is_some() {
        return Err(Refusal::Extreme);
    }
    let mut rest = group;
    let branches = rest.unions.remove(index);
    // An exclusion in only one branch cannot apply to the whole.
    if branches
        .iter()
        .any(|branch| branch.differ.iter().any(|(var, _)| Some(*var) == answer))
    {
        return Err(Refusal::Filter);
    }
    let mut all = Vec::new();
    for branch in branches {
        let mut joined = rest.clone();
        joined.absorb(branch);
        all.extend(multiply(joined, answer, extreme, topics)?);
        if all.len() > MAX_ALTERNATIVES {
            return Err(Refusal::TooLong);
        }
    }
    Ok(all)
}

/// Whether a union shares one variable with the rest, and each of its branches reaches that
/// variable from its own start.
fn is_local(
    group: &PatternGroup,
    index: usize,
    answer: Option<Var>,
    extreme: Option<Var>,
    topics: &[Term],
) -> bool {
    let branches = &group.unions[index];
    let mut rest = group.clone();
    rest.unions.remove(index);
    let mut outside: BTreeSet<Var> = rest.variables().collect();
    outside.extend(answer);
    outside.extend(extreme);
    let inside: BTreeSet<Var> = branches.iter().flat_map(PatternGroup::variables).collect();
    let shared: Vec<Var> = inside.intersection(&outside).copied().collect();
    let [var] = shared[..] else { return false };
    branches.iter().all(|branch| {
        branch.differ.is_empty()
            && is_connected(branch, var, topics)
            && TreeView::new(branch, topics).best(var, None).is_some()
    })
}

/// Whether every part of the group is connected with a variable.
pub(super) fn is_connected(group: &PatternGroup, var: Var, topics: &[Term]) -> bool {
    let view = TreeView::new(group, topics);
    let here = view.component(var);
    let compared = |var| group.ordered.iter().any(|pair| pair.involves(var));
    group
        .own_variables()
        .all(|other| here.contains(&other) || compared(other))
        && group
            .edges
            .iter()
            .all(|edge| edge.subject.var().or(edge.object.var()).is_some())
}
