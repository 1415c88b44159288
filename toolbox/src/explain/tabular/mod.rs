//! Candidates that end in the extended tools (rules D): tables, groups, differences, sums. They are
//! proposed where a question has a cue for them, and extend the sets that the search finds.
//!
//! ```text
//! request   what a question asks of a table; reading, cues, computed: from its words
//! paths     the columns that a set can have
//! plan      the program
//! compose   makes a plan from a set, its paths and the request; columns: what the phrases name
//! ```

mod columns;
mod compose;
mod computed;
mod cues;
mod paths;
mod plan;
mod reading;
mod request;

use common::cancel::{Cancel, Cancelled};
use kg::term::{NodeId, Term};
use kg::value::{Kind, Op};
use rustc_hash::FxHashSet;

use super::nodes::is_event_row;
use super::plan::{Against, Hop, Plan, PlanStep, Start, Way, bit};
use super::search::{Results, SearchLimits};
use super::state::{Found, State};
use super::terms::{DecisionTerm, TermWeights, Terms, of_found, of_state};
use super::values::{is_of_every_row, of_rows, reached, said_classes};
use super::words::{Explainer, strength};
use crate::call::{Aggregate, Call, ToolTable};
use crate::exec::{EntSet, Relation, Value, intersection, sorted};
use compose::Composed;
use paths::{EXPLAINED, KNOWN};
use plan::Shown;
pub(super) use plan::TablePlan;
use request::{Request, Role};

/// Sets that are extended.
const BASES: usize = 80;
/// Members of the largest class that is extended. Its relations are not followed one by one.
const LARGEST: usize = 1_000_000;
/// Sets around the texts of a question that are followed.
const LINKED: usize = 40;

/// The candidates that end in extended tools, with their terms; none if the session does not offer
/// these tools, or if the question has no cue for them.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
pub(super) fn tables(
    explainer: &mut Explainer<'_, '_>,
    results: &Results,
    weights: &TermWeights,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<Vec<(Terms, Vec<Call>)>, Cancelled> {
    let session = explainer.session;
    if session.options().tools != ToolTable::Extended {
        return Ok(Vec::new());
    }
    let bare = session.linked().blanked(session.plain_question());
    let request = reading::read(&bare, explainer.asked);
    if explainer.asked.judge {
        return Ok(Vec::new());
    }
    if !request.wants_table() && !request.wants_labels() {
        return Ok(sum(explainer, &results.found, weights)
            .into_iter()
            .collect());
    }
    let mut candidates = Vec::new();
    let bases = bases(explainer, results, &request, weights, limits, cancel)?;
    for base in bases {
        cancel.check()?;
        let paths = paths::paths(&base.nodes, explainer, cancel)?;
        if !request.without {
            candidates.extend(compose::compose(&base, None, &paths, &request, explainer));
            continue;
        }
        let Some((class, all)) = others(&base, &request, explainer, limits) else {
            continue;
        };
        let paths = paths::paths(&all, explainer, cancel)?;
        candidates.extend(compose::compose(
            &base,
            Some(class),
            &paths,
            &request,
            explainer,
        ));
    }
    Ok(candidates
        .into_iter()
        .map(|one| (terms(&one, explainer), one.plan.calls(session)))
        .collect())
}

/// The sum of what the best plan finds, if the question asks how many and that plan finds several
/// numbers: `how many people live in the district` asks for the populations of its towns together.
fn sum(
    explainer: &Explainer<'_, '_>,
    found: &[Found],
    weights: &TermWeights,
) -> Option<(Terms, Vec<Call>)> {
    let session = explainer.session;
    if !explainer.asked.count {
        return None;
    }
    let scored = (found.iter()).map(|one| (of_found(one, explainer), one));
    let (mut terms, best) =
        scored.reduce(
            |best, one| match weights.score(&one.0) > weights.score(&best.0) {
                true => one,
                false => best,
            },
        )?;
    let kind = best.state.literal_kind(session);
    let numbers = matches!(kind, Some(Kind::Int | Kind::Float | Kind::Quantity));
    let (PlanStep::Walk(hop), before) = best.state.plan.steps.split_last()? else {
        return None;
    };
    if !numbers || !matches!(&best.answer, Value::Set(set) if set.len() > 1) {
        return None;
    }
    terms[DecisionTerm::TableCues] = 1.0;
    let base = Plan {
        steps: before.to_vec(),
        ..best.state.plan.clone()
    };
    let plan = TablePlan::of_one(base, *hop, Aggregate::Sum);
    Some((terms, plan.calls(session)))
}

/// The sets of things that are extended, best first: those of the search and the classes. If rows are
/// counted, that number is no value to compare something else with.
fn bases(
    explainer: &mut Explainer<'_, '_>,
    results: &Results,
    request: &Request,
    weights: &TermWeights,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<Vec<State>, Cancelled> {
    let session = explainer.session;
    let kg = session.kg();
    let mut classes = said_classes(explainer);
    for &class in session.classes() {
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    let mut states: Vec<State> = Vec::new();
    for class in classes {
        let members = kg.instances(class);
        if members.len() <= LARGEST {
            let members: EntSet = members.into_owned().into();
            states.push(State::start(Start::Class(class), members, explainer));
        }
    }
    for (index, &entity) in session.linked().entities.iter().enumerate() {
        states.push(State::start(
            Start::Entity(index),
            [entity].into(),
            explainer,
        ));
    }
    if request.without {
        linked_members(explainer, &mut states, limits, cancel)?;
    }
    states.extend(with_texts(explainer, limits, cancel)?);
    let found = results.found.iter();
    let sets = found.filter(|one| matches!(one.answer, Value::Set(_)));
    states.extend(sets.map(|one| &one.state).chain(&results.rows).cloned());
    let thing = |node: &NodeId| !matches!(kg.term(*node), Term::Literal(_));
    let had = request.having.map(|(_, number)| number);
    let numbers: Vec<String> = (had.into_iter().chain(request.first))
        .map(|number| number.to_string())
        .collect();
    let compared = |state: &State| {
        let mut values = session.linked().values.iter().enumerate();
        values.any(|(at, value)| {
            state.tally.values & bit(at) != 0 && numbers.contains(&value.lexical)
        })
    };
    states.retain(|state| !compared(state) || measures_counted(state, request, explainer));
    let mut scored: Vec<(f32, State)> = states
        .into_iter()
        .filter(|state| state.named.is_none() && state.nodes.first().is_some_and(thing))
        .map(|state| (weights.score(&of_state(&state, explainer)), state))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen: FxHashSet<(EntSet, Vec<u32>)> = FxHashSet::default();
    let mut kept = Vec::new();
    for (_, state) in scored {
        // Of plans that find the same and explain the same, the best is enough.
        let words = state.words.iter().map(|p| p.to_bits()).collect();
        if seen.insert((state.nodes.clone(), words)) {
            kept.push(state);
        }
        if kept.len() == BASES {
            break;
        }
    }
    Ok(kept)
}

/// Whether a set compares a number that the graph has of what the question counts: `more than 150 staff`.
fn measures_counted(state: &State, request: &Request, explainer: &mut Explainer<'_, '_>) -> bool {
    let Some(phrase) = request
        .having
        .and_then(|_| request.phrases.get(request.had))
    else {
        return false;
    };
    let class = match state.plan.start {
        Start::Class(class) => explainer.class(class),
        _ => return false,
    };
    let p = |words: &[f32], at: usize| words.get(at).copied().unwrap_or_default();
    let measured = |&at: &usize| p(&class, at) < KNOWN && p(&state.words, at) >= KNOWN;
    phrase.words.iter().any(measured)
}

/// Adds the members of each class that the question names to which something is linked, by each relation
/// that leads to or from them: those who have ordered something, for `who never ordered anything`, and those with an
/// address, for `guests without an email address`.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
fn linked_members(
    explainer: &mut Explainer<'_, '_>,
    states: &mut Vec<State>,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    let session = explainer.session;
    for class in said_classes(explainer) {
        let all: EntSet = session.kg().instances(class).into_owned().into();
        if all.len() > limits.class {
            continue;
        }
        let start = State::start(Start::Class(class), all, explainer);
        for one in session.adjacent(&start.nodes) {
            cancel.check()?;
            let ways = match one.out {
                true => [Way::Out, Way::In],
                false => [Way::In, Way::Out],
            };
            let [there, back] = ways.map(|way| Hop {
                relation: one.relation,
                way,
            });
            let between = reached(session, &start.nodes, there);
            let linked = reached(session, &between, back);
            let others = linked
                .iter()
                .any(|node| start.nodes.binary_search(node).is_err());
            if others || linked.is_empty() || linked.len() >= start.nodes.len() {
                continue;
            }
            let mut state = start
                .walk(there, between, explainer)
                .walk(back, linked, explainer);
            // The way back is no relation of the question.
            (state.tally.returns, state.tally.unasked, state.tally.unsaid) = (0, 0, 0);
            state.tally.hops = 1;
            states.push(state);
        }
    }
    Ok(())
}

/// The things that have a text of the question, and what one or two relations link to them. The
/// search misses these: it begins at classes that the question names, and `cars from France` does
/// not say `country`.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
fn with_texts(
    explainer: &mut Explainer<'_, '_>,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<Vec<State>, Cancelled> {
    let session = explainer.session;
    let kg = session.kg();
    let mut states = Vec::new();
    let of_rows = of_rows(session);
    for (index, value) in session.linked().values.iter().enumerate() {
        let described = of_rows & bit(index) != 0;
        let text = value.lexical.chars().any(char::is_alphabetic);
        let Some(node) = kg.find(&Term::Literal(value.clone())).filter(|_| text) else {
            continue;
        };
        for one in session.adjacent(&[node]).iter().filter(|one| !one.out) {
            cancel.check()?;
            let heads: EntSet = sorted(session.step(node, one.relation, false).into_owned());
            if heads.len() > limits.set {
                continue;
            }
            let mut classes: Vec<NodeId> = heads.iter().flat_map(|&head| kg.types(head)).collect();
            classes.sort_unstable();
            classes.dedup();
            for class in classes {
                let all = kg.instances(class);
                if all.len() > limits.class || described && is_of_every_row(session, class, value) {
                    continue;
                }
                let nodes: EntSet = intersection(&[&*heads, &*all]).into();
                let start = State::start(Start::Class(class), all.into_owned().into(), explainer);
                let against = Against::Value(index);
                states.push(start.compare(one.relation, Op::Eq, against, nodes, explainer));
            }
        }
    }
    let mut from = 0;
    for _ in 0..2 {
        let until = states.len().min(LINKED);
        for at in from..until {
            let state = states[at].clone();
            if state.nodes.len() > limits.set {
                continue;
            }
            for one in session.adjacent(&state.nodes) {
                cancel.check()?;
                let way = if one.out { Way::Out } else { Way::In };
                let relation = one.relation;
                let hop = Hop { relation, way };
                let nodes = reached(session, &state.nodes, hop);
                let thing = |node: &NodeId| !matches!(kg.term(*node), Term::Literal(_));
                if matches!(relation, Relation::Plain(_)) && nodes.first().is_some_and(thing) {
                    states.push(state.walk(hop, nodes, explainer));
                }
            }
        }
        from = until;
    }
    Ok(states)
}

/// The class of a set, and its members that are not in the set, if the set has what the question
/// leaves out.
fn others(
    base: &State,
    request: &Request,
    explainer: &Explainer<'_, '_>,
    limits: SearchLimits,
) -> Option<(NodeId, Vec<NodeId>)> {
    let left_out = request
        .phrases
        .iter()
        .filter(|phrase| phrase.role == Role::Without)
        .flat_map(|phrase| phrase.words.iter().chain(&phrase.of));
    let explained = |at: &usize| base.words.get(*at).is_some_and(|p| *p >= EXPLAINED);
    if base.plan.steps.is_empty() || !left_out.into_iter().any(explained) {
        return None;
    }
    let kg = explainer.session.kg();
    let first = base.nodes.first()?;
    // What was not attended is not what is left when that is taken away.
    let truth = |step: &PlanStep| matches!(step, PlanStep::Compare(_, _, Against::Truth(_)));
    if base.plan.steps.iter().any(truth) {
        return None;
    }
    // Who does not speak English is no row that says who speaks what.
    if base.statements && !is_event_row(explainer.session, *first) {
        return None;
    }
    kg.types(*first).into_iter().find_map(|class| {
        let members = kg.instances(class);
        if members.len() > limits.class {
            return None;
        }
        let others = (members.iter()).filter(|node| base.nodes.binary_search(node).is_err());
        let others: Vec<NodeId> = others.copied().collect();
        (!others.is_empty()).then_some((class, others))
    })
}

/// The terms of a candidate.
fn terms(one: &Composed, explainer: &Explainer<'_, '_>) -> Terms {
    let mut terms = of_state(&one.state, explainer);
    let asked = explainer.asked;
    terms[DecisionTerm::TableCues] = one.cues as f32;
    terms[DecisionTerm::ColumnRelations] = one.relations as f32;
    terms[DecisionTerm::CountMissing] = if asked.count && !one.counts { 1.0 } else { 0.0 };
    let extreme = asked.extreme.is_some() && one.state.tally.extremes == 0 && !one.extreme;
    terms[DecisionTerm::ExtremeMissing] = if extreme { 1.0 } else { 0.0 };
    terms[DecisionTerm::FocusLast] = strength(&one.state.words, asked.focus);
    terms[DecisionTerm::PersonForWho] = person_for_who(one, explainer);
    terms
}

/// Members of a set that show what a column leads to.
const FIRST: usize = 8;

/// 1 if the question asks for people and the first column shows people, less than 0 if it shows other things.
fn person_for_who(one: &Composed, explainer: &Explainer<'_, '_>) -> f32 {
    let (asked, session) = (explainer.asked, explainer.session);
    let who = asked.wants_people || asked.words.iter().any(|word| word.stem == "#who");
    let path = match one.plan.shown.first() {
        Some(Shown::Path(path)) if who => one.plan.paths.get(*path),
        _ => None,
    };
    let Some(path) = path else {
        return 0.0;
    };
    let mut nodes: EntSet = one.state.nodes.iter().take(FIRST).copied().collect();
    for hop in path {
        let next = reached(session, &nodes, *hop);
        let literal = |node: &NodeId| matches!(session.kg().term(*node), Term::Literal(_));
        // A name stands for the thing.
        if next.first().is_some_and(literal) {
            break;
        }
        nodes = next;
    }
    if explainer.are_people(&nodes) {
        1.0
    } else {
        -0.5
    }
}
