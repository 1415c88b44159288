//! What a question asks of two things or texts: how much more one has than the other, as in `how much longer is the Danube
//! than the Rhine`, and which of two texts more things have, as in `more guests from Spain or from Italy`.

use common::cancel::{Cancel, Cancelled};
use kg::value::{DatePart, Kind, Op, Sign};

use super::super::mentions::are_joined;
use super::super::plan::{Against, Hop, Plan, PlanStep, Start, Way, Writer};
use super::super::question::Asked;
use super::super::state::{Found, State};
use super::super::terms::{DecisionTerm, Terms, of_state};
use super::super::values::kind_of;
use super::super::words::Explainer;
use super::plan::{Kept, Shown, TablePlan};
use super::request::Request;
use crate::call::{Arg, Call, Field, Tool};
use crate::exec::{Session, Value, sorted};

/// Cues that such a program answers: the comparison, and the number that is asked for.
const CUES: f32 = 2.0;

/// The programs that subtract a number of one of two things from the other's.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
pub(super) fn differences(
    explainer: &mut Explainer<'_, '_>,
    cancel: &Cancel,
) -> Result<Vec<(Terms, Vec<Call>)>, Cancelled> {
    let session = explainer.session;
    let mut found = Vec::new();
    let &[first, second] = session.linked().entities.as_slice() else {
        return Ok(found);
    };
    let Some(ops) = asked_for(session, explainer.asked) else {
        return Ok(found);
    };
    let start = State::start(Start::Entity(0), [first].into(), explainer);
    for one in explainer.adjacent(&[first]).iter().filter(|one| one.out) {
        cancel.check()?;
        let (op, part) = match kind_of(explainer, one) {
            Some(Kind::Int | Kind::Float | Kind::Quantity) => (ops[0], None),
            Some(Kind::Time) => (ops[1], Some(DatePart::Year)),
            _ => continue,
        };
        let value = |node| session.literals(&session.step(node, one.relation, true));
        let (own, theirs) = (value(first), value(second));
        let ([own], [_]) = (own.as_slice(), theirs.as_slice()) else {
            continue;
        };
        let hop = Hop {
            relation: one.relation,
            way: Way::Out,
        };
        let nodes = sorted(session.step(first, one.relation, true).into_owned());
        let mut state = start.walk(hop, nodes, explainer).using(1, explainer);
        state.tally.filters += 1;
        let mut terms = of_state(&state, explainer);
        terms[DecisionTerm::TableCues] = CUES;
        terms[DecisionTerm::FocusLast] = state.last;
        // What is more comes first.
        let more = match op {
            Op::Gt | Op::Ge => true,
            Op::Lt | Op::Le => false,
            Op::Eq | Op::Ne => !session
                .satisfying_value(&[second], one.relation, Op::Le, own)
                .is_empty(),
        };
        let pair = if more { [0, 1] } else { [1, 0] };
        found.push((terms, calls(session, pair, hop, part)));
    }
    Ok(found)
}

/// The programs that choose the one of two texts that more or fewer members of a class have.
pub(super) fn chosen_texts(
    explainer: &Explainer<'_, '_>,
    found: &[Found],
    request: &Request,
) -> Vec<(Terms, Vec<Call>)> {
    let session = explainer.session;
    let Some(extreme) = request.most.filter(|_| explainer.asked.chosen) else {
        return Vec::new();
    };
    let sets = (found.iter()).filter(|one| matches!(one.answer, Value::Set(_)));
    let chosen = sets.filter_map(|one| {
        let state = &one.state;
        let Some(PlanStep::Compare(relation, Op::Eq, Against::Either(..))) =
            state.plan.steps.last()
        else {
            return None;
        };
        let hop = Hop {
            relation: *relation,
            way: Way::Out,
        };
        let plan = TablePlan {
            keys: Some(vec![0]),
            kept: Some(Kept::Extreme(extreme, Shown::Count)),
            ..TablePlan::of_columns(state.plan.clone(), &[hop])
        };
        let mut terms = of_state(state, explainer);
        terms[DecisionTerm::TableCues] = CUES;
        Some((terms, plan.calls(session)))
    });
    chosen.collect()
}

/// The comparisons of numbers and of times whose difference is asked for; equality if the question does not say which of the
/// two has more.
fn asked_for(session: &Session<'_>, asked: &Asked) -> Option<[Op; 2]> {
    let question = session.plain_question();
    let difference = || {
        let named = kg::words(question).iter().any(|word| word == "difference");
        (named && are_joined(question, session.linked())).then_some([Op::Eq; 2])
    };
    let amount = asked.amount || asked.count;
    (asked.compare)
        .filter(|_| amount && asked.than_entity == Some(1))
        .or_else(difference)
}

/// The program that subtracts what a relation leads to from the second thing of what it leads to from the first one.
fn calls(session: &Session<'_>, pair: [usize; 2], hop: Hop, part: Option<DatePart>) -> Vec<Call> {
    let mut writer = Writer::new(session);
    let mut value = |index: usize, alone: bool| {
        let entity = writer.plan(&Plan::at(Start::Entity(index)));
        let relation = writer.relation(hop.relation);
        let table = writer.assign(Tool::Extend, vec![entity, relation]);
        let field = match part {
            Some(part) => Field::Part(part, 1),
            None => Field::Key(1),
        };
        match alone || part.is_some() {
            true => writer.assign(Tool::Columns, vec![table, Arg::Field(field)]),
            false => table,
        }
    };
    let (first, second) = (value(pair[0], false), value(pair[1], true));
    let at = u32::from(part.is_none());
    let column = match first {
        Arg::Var(table) => Arg::Column(table, at),
        other => other,
    };
    let table = writer.assign(Tool::Compute, vec![column, Arg::Sign(Sign::Minus), second]);
    let only = Arg::Field(Field::Key(at + 1));
    let answer = writer.assign(Tool::Columns, vec![table, only]);
    writer.end(answer)
}
