//! What is shown of an observation: per task its hops, each a line of triples, best first, within a budget of tokens.

use crate::call::print_name;
use crate::exec::Session;
use crate::observe::{Group, ObserveOptions, grouped, observe, similarity_of};
use crate::tokens;
use common::transcript::Part;
use kg::term::NodeId;

/// What is shown of an observation where nobody says how much, in tokens by estimate ([`crate::tokens`]).
pub(crate) const TOKENS: usize = 32;

/// Members of a set from which an observation starts: what is around some of them is around the others too.
const STARTS: usize = 32;

/// Lines for tasks given by handle: `see e0`, then for each hop its number and `relation far-end` pairs. Empty where nothing is shown.
pub(crate) fn lines(
    session: &Session<'_>,
    tasks: &[(String, Vec<NodeId>)],
    options: &ObserveOptions,
    budget: usize,
) -> Vec<Part> {
    if budget == 0 || tasks.is_empty() {
        return Vec::new();
    }
    let kg = session.kg();
    let starts: Vec<&[NodeId]> = tasks
        .iter()
        .map(|(_, nodes)| &nodes[..nodes.len().min(STARTS)])
        .collect();
    let similarity = similarity_of(session.ranker());
    let observed = observe(
        kg,
        &starts,
        session.bare_question(),
        similarity.as_ref(),
        options,
    );
    let mut groups = grouped(&observed);
    // What has nothing in common with the question would only be read.
    groups.retain(|group| group.score > 0.0);
    // Best first over all tasks and hops; what stands nearer wins ties.
    groups.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.hop.cmp(&b.hop)));
    let mut left = budget;
    let mut kept: Vec<(Group, String, String)> = Vec::new();
    for group in groups {
        let sign = if group.forward { "" } else { "~" };
        let relation = format!("{sign}{}", print_name(&kg.name(group.relation.node())));
        let far = group
            .far
            .iter()
            .find_map(|&node| kg.label(node))
            .unwrap_or_default();
        let cost = tokens::estimate(&relation) + tokens::estimate(&far);
        let Some(rest) = left.checked_sub(cost) else {
            break;
        };
        left = rest;
        kept.push((group, relation, far));
    }
    let mut parts = Vec::new();
    for (task, (handle, _)) in tasks.iter().enumerate() {
        for hop in 1..=options.hops {
            let here: Vec<_> = kept
                .iter()
                .filter(|(group, ..)| (group.task, group.hop) == (task, hop))
                .collect();
            for (i, (_, relation, far)) in here.iter().enumerate() {
                parts.push(if i == 0 {
                    Part::ours(format!("\nsee {handle} {hop} "))
                } else {
                    Part::ours(", ")
                });
                parts.push(Part::kg(relation.clone()));
                if !far.is_empty() {
                    parts.push(Part::kg(format!(" {far}")));
                }
            }
        }
    }
    parts
}
