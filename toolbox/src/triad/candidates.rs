//! Candidates of relation selection: one-hop traversal around the linked nodes (rules C.4).

use std::collections::BTreeSet;

use super::fill::{FilledQuery, Pattern, PhraseLink};
use super::solve::{Bounds, Unsolved, solve};
use super::template::AnswerType;
use crate::exec::{RankedRelation, Relation, Session, Value, best_first};
use crate::rank::{RankError, RelationCandidate};
use kg::term::NodeId;

/// Maximum number of nodes around which relations are searched: all members of a large class would
/// take long without adding relations.
const AROUND: usize = 2_000;

/// Relations that may match a triple whose ends may be these nodes, best first; `None` marks an
/// unknown end. Both directions are searched, and the link records which one found it.
///
/// # Errors
/// Returns the error of the ranker.
pub fn relations(
    session: &Session<'_>,
    phrase: &str,
    subject: Option<&[NodeId]>,
    object: Option<&[NodeId]>,
) -> Result<Vec<(PhraseLink, RankedRelation)>, RankError> {
    let some = |nodes: &[NodeId]| nodes[..nodes.len().min(AROUND)].to_vec();
    let link = |flip: bool| {
        move |one: RankedRelation| {
            (
                PhraseLink {
                    relation: one.relation,
                    out: one.candidate.out != flip,
                },
                one,
            )
        }
    };
    let (ranked, flip) = match (subject, object) {
        (Some(from), to) => (session.relations_of(&some(from), to, phrase)?, false),
        (None, Some(from)) => (session.relations_of(&some(from), None, phrase)?, true),
        (None, None) => (everything(session, phrase)?, false),
    };
    Ok(ranked.into_iter().map(link(flip)).collect())
}

/// All relations of the graph, for a triple with two unknown ends.
fn everything(session: &Session<'_>, phrase: &str) -> Result<Vec<RankedRelation>, RankError> {
    let kg = session.kg();
    let hidden = &kg.schema().hidden;
    let shown = kg
        .relations()
        .iter()
        .filter(|id| session.sees(**id) && hidden.binary_search(id).is_err());
    let relations: Vec<Relation> = shown.map(|&id| Relation::Plain(id)).collect();
    let candidates: Vec<RelationCandidate> = relations
        .iter()
        .map(|&r| RelationCandidate {
            name: session.relation_name(r),
            out: true,
            ..RelationCandidate::default()
        })
        .collect();
    let texts: Vec<String> = candidates.iter().map(RelationCandidate::text).collect();
    let (ranker, cancel) = (&session.options().ranker, session.cancel());
    let (asked, said) = (
        ranker.score(session.bare_question(), &texts, &cancel)?,
        ranker.score(phrase, &texts, &cancel)?,
    );
    let scored = relations
        .into_iter()
        .zip(candidates)
        .zip(asked.into_iter().zip(said));
    let mut ranked: Vec<RankedRelation> = scored
        .map(|((relation, candidate), (asked, said))| RankedRelation {
            relation,
            candidate,
            score: asked + said,
        })
        .collect();
    best_first(&mut ranked);
    Ok(ranked)
}

/// The possible nodes of a variable under the patterns linked so far; `None` if no pattern
/// constrains it.
///
/// # Errors
/// Returns [`Unsolved`] when a bound is reached.
pub fn linked_nodes(
    session: &Session<'_>,
    patterns: &[Pattern],
    var: &str,
    bounds: Bounds,
) -> Result<Option<Vec<NodeId>>, Unsolved> {
    // Only the patterns connected with the variable: others would multiply its solutions without
    // constraining it.
    let mut reached: BTreeSet<String> = BTreeSet::from([var.to_owned()]);
    let mut connected: Vec<usize> = Vec::new();
    while let Some(next) = (0..patterns.len())
        .find(|i| !connected.contains(i) && patterns[*i].vars().any(|name| reached.contains(name)))
    {
        connected.push(next);
        reached.extend(patterns[next].vars().map(ToOwned::to_owned));
    }
    if connected.is_empty() {
        return Ok(None);
    }
    connected.sort_unstable();
    let query = FilledQuery {
        kind: AnswerType::Select,
        answer: Some(var.to_owned()),
        branches: vec![connected.into_iter().map(|i| patterns[i].clone()).collect()],
        filters: Vec::new(),
        extreme: None,
    };
    Ok(match solve(session, &query, bounds)?.value {
        Value::Set(nodes) => Some(nodes.to_vec()),
        Value::Int(_) | Value::Bool(_) | Value::Table(_) => None,
    })
}
