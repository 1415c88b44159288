//! The sets of things that tables are made of.

use common::cancel::{Cancel, Cancelled};
use kg::term::{Literal, NodeId, Term};
use kg::value::Op;
use rustc_hash::FxHashSet;

use super::super::denied::excludes;
use super::super::mentions::are_joined;
use super::super::plan::{Against, Hop, Start, Way, bit};
use super::super::search::Results;
use super::super::search_limits::SearchLimits;
use super::super::state::State;
use super::super::term_weights::TermWeights;
use super::super::terms::of_state;
use super::super::values::{is_of_every_row, of_rows, reached, said_classes};
use super::super::words::Explainer;
use super::paths::KNOWN;
use super::request::Request;
use super::without::linked_members;
use super::{BASES, LARGEST, LINKED, chooses};
use crate::exec::{EntSet, Relation, Value, intersection, sorted};

/// The sets of things that are extended, best first: those of the search and the classes. If rows are
/// counted, that number is no value to compare something else with.
pub(super) fn bases(
    explainer: &mut Explainer<'_, '_>,
    results: &Results,
    request: &Request,
    weights: &TermWeights,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<Vec<State>, Cancelled> {
    let session = explainer.session;
    if chooses(request, explainer) {
        let all = sorted(session.linked().entities.clone());
        return Ok(vec![State::start(Start::Entities, all, explainer)]);
    }
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
    compared_members(explainer, &mut states, limits, cancel)?;
    for (index, &entity) in session.linked().entities.iter().enumerate() {
        states.push(State::start(
            Start::Entity(index),
            [entity].into(),
            explainer,
        ));
    }
    if request.computes() && are_joined(session.plain_question(), session.linked()) {
        // `the total population of Spain and Portugal`
        let all = sorted(session.linked().entities.clone());
        states.push(State::start(Start::Entities, all, explainer));
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
    states.retain(|state| !state.misses_part(explainer.asked));
    states.retain(|state| !compared(state) || measures_counted(state, request, explainer));
    let mut scored: Vec<(f32, State)> = states
        .into_iter()
        .filter(|state| state.named.is_none() && state.nodes.first().is_some_and(thing))
        .map(|state| (weights.score(&of_state(&state, explainer)), state))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen: FxHashSet<(EntSet, Vec<u32>)> = FxHashSet::default();
    let (mut kept, mut measured) = (Vec::new(), 0);
    for (_, state) in scored {
        // `countries with more than two rivers`: sets of measured things leave room for the countries.
        if compared(&state) {
            measured += 1;
            if measured > BASES / 4 {
                continue;
            }
        }
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

/// Adds the members of each class of a set of states that a number of the question compares by a column of their own: the
/// search begins at classes that the question names, and `students older than 50` may be rows of lessons.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
fn compared_members(
    explainer: &mut Explainer<'_, '_>,
    states: &mut Vec<State>,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    let session = explainer.session;
    let number = |value: &Literal| value.lexical.parse::<f64>().is_ok();
    let values = session.linked().values.iter().enumerate();
    let numbers: Vec<(usize, &Literal)> = values.filter(|(_, value)| number(value)).collect();
    let mut found = Vec::new();
    for state in states
        .iter()
        .filter(|state| state.nodes.len() <= limits.class)
    {
        let adjacent = explainer.adjacent(&state.nodes);
        for one in adjacent.iter().filter(|one| one.out) {
            for &(index, value) in &numbers {
                cancel.check()?;
                for op in explainer.ops_of(state, &adjacent, one, index) {
                    let nodes = session.satisfying_value(&state.nodes, one.relation, op, value);
                    if !nodes.is_empty() && nodes.len() < state.nodes.len() {
                        let against = Against::Value(index);
                        let nodes = sorted(nodes.to_vec());
                        found.push(state.compare(one.relation, op, against, nodes, explainer));
                    }
                }
            }
        }
    }
    states.extend(found);
    Ok(())
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
        let text = value.lexical.chars().any(char::is_alphabetic)
            && !excludes(session.plain_question(), &value.lexical);
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
            for one in explainer.adjacent(&state.nodes) {
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
