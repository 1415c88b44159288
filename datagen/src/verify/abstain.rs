//! Examples of giving up: what to do where the graph holds no answer.

use std::collections::BTreeSet;

use kg::Kg;
use kg::spargebra::Query;
use kg::term::{NodeId, RelId};
use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::{Observation, Relation, Session, Shown, ToolError, run_program};
use toolbox::rank::RankError;

use super::gold::Gold;
use super::{Verified, VerifyOptions, convert_query, link, relation_name, walked};
use crate::convert::GoldProgram;
use crate::limits;
use crate::question::GoldQuestion;

/// The calls up to and including the relation list on which the first call that cannot be made rests, and then the end.
fn cut(calls: &[Call], broken: usize) -> Option<Vec<Call>> {
    let set = calls.get(broken)?.args.first()?;
    let list = calls[..broken]
        .iter()
        .rposition(|call| call.tool == Tool::GetRelation && call.args.first() == Some(set))?;
    let mut kept = calls[..=list].to_vec();
    kept.push(Call::new(Tool::End, vec![Arg::List(Vec::new())], 0));
    Some(kept)
}

/// For a question without an answer: the program up to the first relation list that lacks what the program needs, then the end.
pub(super) fn give_up(
    kg: &dyn Kg,
    question: &GoldQuestion,
    program: &GoldProgram,
    options: &VerifyOptions,
) -> Option<Result<Verified, RankError>> {
    if program
        .calls
        .iter()
        .any(|call| matches!(call.tool, Tool::Count | Tool::Judge | Tool::Union))
    {
        return None;
    }
    let mut verified = link(kg, question, program.clone()).ok()?;
    let mut session = match verified.session(kg, question, options) {
        Ok(session) => session,
        Err(error) => return Some(Err(error)),
    };
    let mut broken = None;
    for (i, call) in program.calls.iter().enumerate() {
        let relation = walked(kg, call);
        let lacks = relation_name(call).is_some() && {
            let input = call.args.first().and_then(|set| listed(&session, set));
            input.is_some_and(|shown| {
                !shown
                    .out
                    .iter()
                    .chain(&shown.incoming)
                    .any(|r| Some(*r) == relation)
            })
        };
        let fails = match session.run(call) {
            _ if lacks => true,
            Err(ToolError::Rank(error)) => return Some(Err(error)),
            ran => ran.is_err(),
        };
        if fails {
            broken = Some(i);
            break;
        }
    }
    let broken = broken?;
    verified.gold.calls = cut(&program.calls, broken)?;
    verified.abstain = true;
    match verified.run(kg, question, options) {
        Ok(value) => verified.value = value,
        Err((_, ToolError::Rank(error))) => return Some(Err(error)),
        Err(_) => return None,
    }
    Some(Ok(verified))
}

/// For a question about what the graph has no relation for: the entities are there, the gold query gives nothing, and a relation list shows why.
pub(super) fn absent(
    kg: &dyn Kg,
    question: &GoldQuestion,
    query: &Query,
    options: &VerifyOptions,
) -> Option<Result<Verified, RankError>> {
    let answer = kg.query(query, options.limits).ok()?;
    if !Gold::of(kg, &answer).is_ok_and(|gold| gold.is_empty()) {
        return None;
    }
    let mut program = convert_query(query, question, None).ok()?;
    // Without a graph, names come from IRIs: those that the graph knows are written as it writes them.
    let rename = |arg: &mut Arg| {
        if let Arg::Name(name) = arg
            && let Some(node) = kg.by_name(name)
        {
            *name = kg.name(node);
        }
    };
    program
        .calls
        .iter_mut()
        .flat_map(|call| &mut call.args)
        .for_each(rename);
    give_up(kg, question, &program, options)
}

/// The relation list last shown for a set argument.
fn listed<'s>(session: &'s Session<'_>, set: &Arg) -> Option<&'s Shown> {
    session
        .steps()
        .iter()
        .rev()
        .find_map(|step| match &step.observation {
            Observation::Relations(shown) if step.call.args.first() == Some(set) => Some(shown),
            _ => None,
        })
}

/// Takes one relation that a verified program needs out of the session's view: the right thing to do is then to stop at the list that lacks
/// it. `choice` picks among the relations. `None` where the program is no chain, or where another relation leads to the same place.
#[must_use]
pub fn abstention(
    kg: &dyn Kg,
    question: &GoldQuestion,
    verified: &Verified,
    options: &VerifyOptions,
    choice: u64,
) -> Option<Result<Verified, RankError>> {
    let calls = &verified.gold.calls;
    let chain = |call: &Call| {
        !matches!(
            call.tool,
            Tool::Count
                | Tool::Judge
                | Tool::Union
                | Tool::GetCandidateEntity
                | Tool::DisambiguateEntity
        )
    };
    let plain = verified
        .must_show
        .iter()
        .all(|relation| matches!(relation, Relation::Plain(_)));
    if verified.abstain || !plain || !calls.iter().all(chain) {
        return None;
    }
    let mut relations = verified.must_show.clone();
    relations.sort_unstable();
    relations.dedup();
    let Relation::Plain(taken) =
        *relations.get(usize::try_from(choice % relations.len().max(1) as u64).ok()?)?
    else {
        return None;
    };
    let broken = calls
        .iter()
        .position(|call| walked(kg, call) == Some(Relation::Plain(taken)))?;
    let mut given_up = verified.clone();
    given_up.without = vec![taken];
    given_up
        .must_show
        .retain(|relation| *relation != Relation::Plain(taken));
    // What is left of the view must give the whole program nothing.
    match given_up.run(kg, question, options) {
        Err((step, ToolError::UnknownRelation { .. } | ToolError::WrongDirection { .. }))
            if step == broken => {}
        Ok(value) if value.is_empty() => {}
        Err((_, ToolError::Rank(error))) => return Some(Err(error)),
        _ => return None,
    }
    given_up.gold.calls = cut(calls, broken)?;
    given_up.abstain = true;
    let mut session = match given_up.session(kg, question, options) {
        Ok(session) => session,
        Err(error) => return Some(Err(error)),
    };
    given_up.value = match run_program(&mut session, &given_up.gold.calls) {
        Ok(value) => value,
        Err((_, ToolError::Rank(error))) => return Some(Err(error)),
        Err(_) => return None,
    };
    let input = session
        .steps()
        .iter()
        .rev()
        .find(|step| step.call.tool == Tool::GetRelation)?
        .inputs
        .first()?
        .clone();
    let shown = listed(&session, calls[broken].args.first()?)?;
    let along = calls[broken].tool != Tool::GetHeadEntity
        && !matches!(calls[broken].args.get(1), Some(Arg::Inverse(_)));
    let others = shown
        .out
        .iter()
        .map(|&r| (r, true))
        .chain(shown.incoming.iter().map(|&r| (r, false)));
    (input.len() <= limits::ABSTAIN_SET && !has_twin(kg, &input, taken, along, others))
        .then_some(Ok(given_up))
}

/// Whether one of the other relations leads from the set exactly where the one taken out leads.
fn has_twin(
    kg: &dyn Kg,
    set: &[NodeId],
    taken: RelId,
    along: bool,
    mut others: impl Iterator<Item = (Relation, bool)>,
) -> bool {
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
    let wanted = reached(taken, along);
    others.any(|(relation, forward)| matches!(relation, Relation::Plain(id) if reached(id, forward) == wanted))
}
