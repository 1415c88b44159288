//! Examples of giving up: the right behaviour if the graph has no answer.

use std::collections::BTreeSet;

use kg::Kg;
use kg::spargebra::Query;
use kg::term::{NodeId, RelId};
use toolbox::call::{Arg, Call, Tool, ToolTable};
use toolbox::exec::{Observation, Relation, Session, Shown, ToolError, run_program};
use toolbox::rank::RankError;

use super::gold::GoldAnswer;
use super::linked::{LinkedProgram, Verified, VerifyOptions, link, relation_name, walked};
use crate::convert::GoldProgram;
use crate::limits;
use crate::question::GoldQuestion;

/// The calls up to the relation list for the call `broken`, then the end.
fn cut(calls: &[Call], broken: usize) -> Option<Vec<Call>> {
    let set = calls.get(broken)?.args.first()?;
    let list = calls[..broken]
        .iter()
        .rposition(|call| call.tool == Tool::GetRelation && call.args.first() == Some(set))?;
    let mut kept = calls[..=list].to_vec();
    kept.push(Call::new(Tool::End, vec![Arg::List(Vec::new())], 0));
    Some(kept)
}

/// Whether a call follows a relation that its relation list does not show.
fn is_unlisted(kg: &dyn Kg, session: &Session<'_>, call: &Call) -> bool {
    let relation = walked(kg, call);
    let shown = call.args.first().and_then(|set| listed(session, set));
    relation_name(call).is_some()
        && shown.is_some_and(|shown| {
            let mut all = shown.out.iter().chain(&shown.incoming);
            !all.any(|listed| Some(*listed) == relation)
        })
}

/// For a question without an answer: the program up to the first relation list that does not show
/// the relation that comes next, then `end([])`.
pub(super) fn give_up(
    kg: &dyn Kg,
    question: &GoldQuestion,
    program: &GoldProgram,
    options: &VerifyOptions,
) -> Option<Result<Verified, RankError>> {
    if program.calls.iter().any(|call| {
        matches!(call.tool, Tool::Count | Tool::Judge | Tool::Union)
            || !ToolTable::Paper.has(call.tool)
    }) {
        return None;
    }
    let linked = link(kg, question, program.clone()).ok()?;
    let broken = match first_failure(kg, question, &linked, options) {
        Ok(broken) => broken?,
        Err(error) => return Some(Err(error)),
    };
    let linked = linked.with_calls(cut(&program.calls, broken)?);
    match linked.run(kg, question, options) {
        Ok(value) => Some(Ok(Verified::abstention(linked, value))),
        Err((_, ToolError::Rank(error))) => Some(Err(error)),
        Err(_) => None,
    }
}

/// The first call of a program that fails, or whose relation its list does not show.
fn first_failure(
    kg: &dyn Kg,
    question: &GoldQuestion,
    linked: &LinkedProgram,
    options: &VerifyOptions,
) -> Result<Option<usize>, RankError> {
    let mut session = linked.session(kg, question, options)?;
    for (at, call) in linked.gold.calls.iter().enumerate() {
        if is_unlisted(kg, &session, call) {
            return Ok(Some(at));
        }
        match session.run(call) {
            Ok(_) => {}
            Err(ToolError::Rank(error)) => return Err(error),
            Err(_) => return Ok(Some(at)),
        }
    }
    Ok(None)
}

/// For a question about a relation that the graph does not have: its entities exist, the gold query
/// has no answer, and a relation list shows why. `program` was converted without the graph.
pub(super) fn absent(
    kg: &dyn Kg,
    question: &GoldQuestion,
    query: &Query,
    mut program: GoldProgram,
    options: &VerifyOptions,
) -> Option<Result<Verified, RankError>> {
    let answer = kg.query(query, options.limits).ok()?;
    if !GoldAnswer::of(kg, &answer, false).is_ok_and(|gold| gold.is_empty()) {
        return None;
    }
    // Without a graph, names come from IRIs. Names that the graph knows get its spelling.
    for arg in program.calls.iter_mut().flat_map(|call| &mut call.args) {
        if let Arg::Name(name) = arg
            && let Some(node) = kg.by_name(name)
        {
            *name = kg.name(node);
        }
    }
    give_up(kg, question, &program, options)
}

/// The relation list last shown for a set argument.
pub(super) fn listed<'s>(session: &'s Session<'_>, set: &Arg) -> Option<&'s Shown> {
    session
        .steps()
        .iter()
        .rev()
        .find_map(|step| match &step.observation {
            Observation::Relations(shown) if step.call.args.first() == Some(set) => Some(shown),
            _ => None,
        })
}

/// Why no relation of a question can be hidden to make an example of giving up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotHidden {
    /// The program counts.
    #[error("count: without a relation, 0 would be right as well as no answer")]
    Count,
    /// The program judges.
    #[error("judge: without a relation, false would be right as well as no answer")]
    Judge,
    /// The program unites sets.
    #[error("union: without the relation of one part, the other parts still have answers")]
    Union,
    /// The program uses an extended tool.
    #[error("table: an extended tool goes on without the rows of a relation")]
    Table,
    /// The program looks an entity up by its label.
    #[error("search: the program looks an entity up by its label")]
    Search,
    /// The program compares with a time interval.
    #[error("interval: a time interval is made of two relations")]
    Interval,
    /// The program follows no relation.
    #[error("no relation: the program follows none")]
    NoRelation,
    /// The program has no answer with all relations.
    #[error("no answer: the question has none with all relations")]
    NoAnswer,
    /// The rest of the program still runs.
    #[error("still answered: the program has an answer without the chosen relation")]
    StillAnswered,
    /// No relation list shows that the relation is missing.
    #[error("no list: the program follows the relation without a list that shows it")]
    NoList,
    /// Another relation has the same tails.
    #[error("twin: another relation of the list leads to the same nodes")]
    Twin,
    /// Too many nodes to look for such a relation.
    #[error(
        "large set: the relation is followed from more than {} nodes",
        limits::ABSTAIN_SET
    )]
    LargeSet,
}

/// Hides one relation of a verified program from the session. The right behaviour is then to stop
/// at the list in which it is missing. `choice` picks among the relations. `None` if the program is
/// not a chain, or if another relation leads to the same nodes.
#[must_use]
pub fn abstention(
    kg: &dyn Kg,
    question: &GoldQuestion,
    verified: &Verified,
    options: &VerifyOptions,
    choice: u64,
) -> Option<Result<Verified, RankError>> {
    withhold(kg, question, verified, options, choice)
        .map_or_else(|error| Some(Err(error)), |hidden| hidden.ok().map(Ok))
}

/// As [`abstention`], with the reason if no relation can be removed.
///
/// # Errors
/// That of the ranker.
pub fn withhold(
    kg: &dyn Kg,
    question: &GoldQuestion,
    verified: &Verified,
    options: &VerifyOptions,
    choice: u64,
) -> Result<Result<Verified, NotHidden>, RankError> {
    let calls = &verified.gold.calls;
    let taken = match taken(verified, choice) {
        Ok(taken) => taken,
        Err(reason) => return Ok(Err(reason)),
    };
    let is_taken = |relation: &Relation| *relation == Relation::Plain(taken);
    let Some(broken) = calls
        .iter()
        .position(|call| walked(kg, call).is_some_and(|relation| is_taken(&relation)))
    else {
        return Ok(Err(NotHidden::NoRelation));
    };
    let mut narrowed = verified.program.clone();
    narrowed.without = vec![taken];
    narrowed.must_show.retain(|relation| !is_taken(relation));
    // Without the hidden relation the whole program must have no answer.
    match narrowed.run(kg, question, options) {
        Err((step, ToolError::UnknownRelation { .. } | ToolError::WrongDirection { .. }))
            if step == broken => {}
        Ok(value) if value.is_empty() => {}
        Err((_, ToolError::Rank(error))) => return Err(error),
        _ => return Ok(Err(NotHidden::StillAnswered)),
    }
    let Some(cut) = cut(calls, broken) else {
        return Ok(Err(NotHidden::NoList));
    };
    let narrowed = narrowed.with_calls(cut);
    let mut session = narrowed.session(kg, question, options)?;
    let value = match run_program(&mut session, &narrowed.gold.calls) {
        Ok(value) => value,
        Err((_, ToolError::Rank(error))) => return Err(error),
        Err(_) => return Ok(Err(NotHidden::NoList)),
    };
    Ok(match has_twin(kg, &session, &calls[broken], taken) {
        Some(false) => Ok(Verified::abstention(narrowed, value)),
        Some(true) => Err(NotHidden::Twin),
        None => Err(NotHidden::LargeSet),
    })
}

/// The relation to remove from a verified program.
fn taken(verified: &Verified, choice: u64) -> Result<RelId, NotHidden> {
    for call in &verified.gold.calls {
        match call.tool {
            Tool::Count => return Err(NotHidden::Count),
            Tool::Judge => return Err(NotHidden::Judge),
            Tool::Union => return Err(NotHidden::Union),
            Tool::GetCandidateEntity | Tool::DisambiguateEntity => return Err(NotHidden::Search),
            tool if !ToolTable::Paper.has(tool) => return Err(NotHidden::Table),
            _ => {}
        }
    }
    let mut relations: Vec<RelId> = verified
        .must_show
        .iter()
        .map(|relation| match relation {
            Relation::Plain(relation) => Ok(*relation),
            Relation::Interval(_) => Err(NotHidden::Interval),
        })
        .collect::<Result<_, _>>()?;
    if verified.abstain {
        return Err(NotHidden::NoAnswer);
    }
    relations.sort_unstable();
    relations.dedup();
    usize::try_from(choice % relations.len().max(1) as u64)
        .ok()
        .and_then(|index| relations.get(index).copied())
        .ok_or(NotHidden::NoRelation)
}

/// Whether a relation of the last list leads from its set exactly where the removed relation leads.
/// `None` if the set is too large to check.
fn has_twin(kg: &dyn Kg, session: &Session<'_>, broken: &Call, taken: RelId) -> Option<bool> {
    let mut steps = session.steps().iter().rev();
    let last_list = steps.find(|step| step.call.tool == Tool::GetRelation)?;
    let set = last_list.inputs.first()?;
    if set.len() > limits::ABSTAIN_SET {
        return None;
    }
    let reached = |relation: RelId, forward: bool| -> BTreeSet<NodeId> {
        set.iter()
            .flat_map(|&node| {
                if forward {
                    kg.tails(node, relation)
                } else {
                    kg.heads(relation, node)
                }
                .into_owned()
            })
            .collect()
    };
    let forward =
        broken.tool != Tool::GetHeadEntity && !broken.args.get(1).is_some_and(Arg::is_inverse);
    let wanted = reached(taken, forward);
    let is_twin = |relation: &Relation, forward| matches!(relation, Relation::Plain(id) if reached(*id, forward) == wanted);
    let shown = listed(session, broken.args.first()?)?;
    Some(
        shown.out.iter().any(|relation| is_twin(relation, true))
            || shown
                .incoming
                .iter()
                .any(|relation| is_twin(relation, false)),
    )
}
