//! Rendering of an observation: one line of triples per task and hop, best first, within a token
//! budget.

use super::groups::{TripleGroup, grouped};
use super::hops::{ObserveOptions, observe};
use super::similarity::similarity_of;
use crate::call::print_name;
use crate::exec::Session;
use crate::rank::RankError;
use crate::tokens;
use common::transcript::Part;
use kg::term::NodeId;

/// Default token budget of an observation, by estimate ([`crate::tokens`]).
pub(crate) const TOKENS: usize = 32;

/// Maximum number of set members from which an observation starts; the surroundings of the others
/// are similar.
const STARTS: usize = 32;

/// The lines of the given tasks: `see e0`, then for each hop its number and pairs of relation and
/// far end. Empty if there is nothing to show.
///
/// # Errors
/// Returns the error of the session's ranker.
pub(crate) fn lines(
    session: &Session<'_>,
    tasks: &[(String, Vec<NodeId>)],
    options: &ObserveOptions,
    budget: usize,
) -> Result<Vec<Part>, RankError> {
    if budget == 0 || tasks.is_empty() {
        return Ok(Vec::new());
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
        &session.cancel(),
    )?;
    let mut groups = grouped(&observed);
    // Groups without any similarity to the question would only add reading.
    groups.retain(|group| group.score > 0.0);
    // Best first over all tasks and hops; ties go to the nearer hop.
    groups.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.hop.cmp(&b.hop)));
    let mut left = budget;
    let mut kept: Vec<(TripleGroup, String, String)> = Vec::new();
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
    Ok(parts)
}
