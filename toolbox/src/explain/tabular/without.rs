//! What a question leaves out: those who never ordered anything, missions that were not run by an agency.

use common::cancel::{Cancel, Cancelled};
use kg::term::{Literal, NodeId};

use kg::value::Op;

use super::super::nodes::is_event_row;
use super::super::plan::{Against, Hop, Plan, PlanStep, Start, Way, bit};
use super::super::search::Results;
use super::super::search_limits::SearchLimits;
use super::super::state::{State, joined};
use super::super::term_weights::TermWeights;
use super::super::terms::of_state;
use super::super::values::{denies_in_words, is_truth, reached, said_classes};
use super::super::words::Explainer;
use super::paths::{EXPLAINED, KNOWN};
use super::request::Request;
use crate::exec::{Adjacent, EntSet, Value};

/// Sets of which a part is left out.
const SETS: usize = 40;
/// Sets that may be parts of these.
const PARTS: usize = 200;

/// The things of which some are left out.
pub(super) struct Without {
    pub(super) plan: Plan,
    pub(super) nodes: EntSet,
}

impl Without {
    /// The things that a plan finds.
    fn of(state: &State) -> Self {
        Self {
            plan: state.plan.clone(),
            nodes: state.nodes.clone(),
        }
    }

    /// Whether they are all members of a class.
    pub(super) fn is_class(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

/// Sets with a part that the question leaves out: of the members, those that are linked to something, or that satisfy one
/// more condition. `astronauts from Peru who never won a prize` are those of the astronauts from Peru who did not win one.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
pub(super) fn inside(
    explainer: &mut Explainer<'_, '_>,
    results: &Results,
    request: &Request,
    weights: &TermWeights,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<Vec<(State, Without)>, Cancelled> {
    let mut found = Vec::new();
    if !request.without {
        return Ok(found);
    }
    let session = explainer.session;
    let sets = results.found.iter();
    let sets = sets.filter(|one| matches!(one.answer, Value::Set(_)) && one.state.named.is_none());
    let mut sets: Vec<(f32, &State)> = sets
        .map(|one| &one.state)
        .chain(&results.rows)
        .filter(|state| !state.plan.steps.is_empty() && state.nodes.len() <= limits.set)
        .map(|state| (weights.score(&of_state(state, explainer)), state))
        .collect();
    sets.sort_by(|a, b| b.0.total_cmp(&a.0));
    sets.truncate(PARTS);
    for (_, state) in &sets {
        cancel.check()?;
        // A condition of the set itself is what is left out.
        let Some((PlanStep::Compare(..) | PlanStep::Meet(_), before)) =
            state.plan.steps.split_last()
        else {
            continue;
        };
        let whole =
            |other: &State| other.plan.start == state.plan.start && other.plan.steps == before;
        // `not compliant` says once what the value says already.
        if matches!(state.plan.steps.last(), Some(PlanStep::Compare(_, _, Against::Truth(value))) if is_truth(value, false))
        {
            continue;
        }
        let Some((_, all)) = sets.iter().find(|(_, other)| whole(other)) else {
            continue;
        };
        if leaves_out(state, all, request, explainer) {
            found.push(((*state).clone(), Without::of(all)));
        }
    }
    found.truncate(SETS);
    if let Some(entity) = excepted(request, explainer) {
        return Ok(without_member(&sets, entity, explainer));
    }
    for (_, all) in sets.iter().take(SETS) {
        for one in session.adjacent(&all.nodes) {
            cancel.check()?;
            let [there, back] = there_and_back(&one);
            let between = reached(session, &all.nodes, there);
            // Of all that the way back leads to, only the members of the set count.
            let has = |&&node: &&NodeId| !session.step(node, one.relation, one.out).is_empty();
            let linked: EntSet = all.nodes.iter().filter(has).copied().collect();
            let state = linked_part(all, (there, between), (back, linked), explainer);
            if leaves_out(&state, all, request, explainer) {
                found.push((state, Without::of(all)));
            }
        }
    }
    Ok(found)
}

/// The entity that the question leaves out of those that it asks for: `except Kate Winslet`, `by Spielberg but not Jaws`. What
/// borders `Germany but not France` does not border France.
fn excepted(request: &Request, explainer: &Explainer<'_, '_>) -> Option<usize> {
    let session = explainer.session;
    let at = request.left_out().next()?.at;
    let (before, behind) = session.plain_question().split_at_checked(at)?;
    let entity = entity_left_out(request, explainer)?;
    let first = kg::words(behind).into_iter().next();
    if first.is_some_and(|word| matches!(word.as_str(), "except" | "excluding")) {
        return Some(entity);
    }
    let classes = |at: usize| session.kg().types(session.linked().entities[at]);
    let own = classes(entity);
    let alike =
        |other: usize| other != entity && classes(other).iter().any(|class| own.contains(class));
    let but = kg::words(before).last().is_some_and(|word| word == "but");
    (but && !(0..session.linked().entities.len()).any(alike)).then_some(entity)
}

/// The sets of which the question leaves out one member: the cast `except Kate Winslet`.
fn without_member(
    sets: &[(f32, &State)],
    entity: usize,
    explainer: &mut Explainer<'_, '_>,
) -> Vec<(State, Without)> {
    let node = explainer.session.linked().entities[entity];
    let start = State::start(Start::Entity(entity), [node].into(), explainer);
    let has = |all: &&State| {
        all.tally.entities & bit(entity) == 0 && all.nodes.binary_search(&node).is_ok()
    };
    let without = |all: &State| {
        let mut state = start.clone();
        state.words = joined(&all.words, &start.words);
        state.tally = all.tally;
        state.tally.entities |= bit(entity);
        state.tally.filters += 1;
        (state, Without::of(all))
    };
    let sets = sets.iter().map(|(_, all)| *all);
    sets.filter(has).take(SETS).map(without).collect()
}

/// A relation, followed to what it links and back.
fn there_and_back(one: &Adjacent) -> [Hop; 2] {
    let ways = match one.out {
        true => [Way::Out, Way::In],
        false => [Way::In, Way::Out],
    };
    let relation = one.relation;
    ways.map(|way| Hop { relation, way })
}

/// The members of a set that a relation links to something. The way back is no relation of the question.
fn linked_part(
    all: &State,
    (there, between): (Hop, EntSet),
    (back, linked): (Hop, EntSet),
    explainer: &mut Explainer<'_, '_>,
) -> State {
    let mut state = all
        .walk(there, between, explainer)
        .walk(back, linked, explainer);
    let (tally, before) = (&mut state.tally, &all.tally);
    (tally.returns, tally.unasked) = (before.returns, before.unasked);
    (tally.unsaid, tally.hops) = (before.unsaid, before.hops + 1);
    state
}

/// The entity right behind the negation: `without Diane Keaton`.
pub(super) fn entity_left_out(request: &Request, explainer: &Explainer<'_, '_>) -> Option<usize> {
    let phrase = request
        .left_out()
        .next()
        .filter(|one| one.words.is_empty())?;
    let linked = explainer.session.linked();
    let behind = |at: &usize| linked.span(*at).is_some_and(|(start, _)| start > phrase.at);
    let start = |at: &usize| linked.span(*at).unwrap_or_default().0;
    (0..linked.entities.len()).filter(behind).min_by_key(start)
}

/// Whether a set uses an entity or a value that the question mentions before what it leaves out. What is taken away from
/// a whole class may not.
fn uses_before(base: &State, request: &Request, explainer: &Explainer<'_, '_>) -> bool {
    let mut left_out = request.left_out();
    let Some(from) = left_out.next().map(|phrase| phrase.at) else {
        return false;
    };
    let linked = explainer.session.linked();
    let entity = |at: usize| {
        base.tally.entities & bit(at) != 0 && linked.span(at).is_some_and(|(start, _)| start < from)
    };
    let value = |at: usize| {
        let word = explainer
            .asked
            .words
            .iter()
            .find(|word| word.value == Some(at));
        base.tally.values & bit(at) != 0 && word.is_some_and(|word| word.at < from)
    };
    (0..linked.entities.len()).any(entity) || (0..linked.values.len()).any(value)
}

/// Whether a set explains what the question leaves out, and the set of which it is a part does not: by a word, or by an
/// entity or a value that the question mentions behind the negation.
fn leaves_out(part: &State, all: &State, request: &Request, explainer: &Explainer<'_, '_>) -> bool {
    let mut left_out = request.left_out();
    left_out.any(|phrase| {
        let p = |state: &State, at: usize| state.words.get(at).copied().unwrap_or_default();
        let mut words = phrase.words.iter().chain(&phrase.of);
        let word = words.any(|&at| p(part, at) >= EXPLAINED && p(part, at) > 2.0 * p(all, at));
        let linked = explainer.session.linked();
        let mut entities = 0..linked.entities.len();
        let entity = entities.any(|at| {
            let new = part.tally.entities & bit(at) != 0 && all.tally.entities & bit(at) == 0;
            new && linked.span(at).is_some_and(|(start, _)| start > phrase.at)
        });
        word || entity
    })
}

/// Adds the members of each class that the question names to which something is linked, by each relation
/// that leads to or from them: those who have ordered something, for `who never ordered anything`, and those with an
/// address, for `guests without an email address`.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
pub(super) fn linked_members(
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
            let [there, back] = there_and_back(&one);
            let between = reached(session, &start.nodes, there);
            // What is not approved has a value that says so.
            let truth = |value: &Literal| is_truth(value, true) || is_truth(value, false);
            let values = session.literals(&between);
            let truths = !values.is_empty() && values.iter().all(truth);
            if truths || denies_in_words(session, one.relation) {
                continue;
            }
            let linked = reached(session, &between, back);
            let others = linked
                .iter()
                .any(|node| start.nodes.binary_search(node).is_err());
            if others || linked.is_empty() {
                continue;
            }
            let (there, back) = ((there, between), (back, linked));
            states.push(linked_part(&start, there, back, explainer));
        }
    }
    Ok(())
}

/// The members of the class of a set, if the set has what the question leaves out.
pub(super) fn others(
    base: &State,
    request: &Request,
    explainer: &mut Explainer<'_, '_>,
    limits: SearchLimits,
) -> Option<Without> {
    let left_out = request
        .left_out()
        .flat_map(|phrase| phrase.words.iter().chain(&phrase.of));
    let explained = |at: &usize| base.words.get(*at).is_some_and(|p| *p >= EXPLAINED);
    if base.plan.steps.is_empty()
        || !left_out.clone().any(explained)
        || uses_before(base, request, explainer)
    {
        return None;
    }
    let kg = explainer.session.kg();
    let first = base.nodes.first()?;
    // The plan already says what is not so: `not attended`, `not 20 years old`. Nothing is taken away from that.
    let truth = |step: &PlanStep| {
        matches!(
            step,
            PlanStep::Compare(_, _, Against::Truth(_)) | PlanStep::Compare(_, Op::Ne, _)
        )
    };
    if base.plan.steps.iter().any(truth) {
        return None;
    }
    // Who does not speak English is no row that says who speaks what.
    if base.statements && !is_event_row(explainer.session, *first) {
        return None;
    }
    kg.types(*first).into_iter().find_map(|class| {
        let members = kg.instances(class);
        // Albums without tracks are no tracks.
        let of_class = explainer.class(class);
        let itself = |at: &usize| of_class.get(*at).is_some_and(|p| *p >= KNOWN);
        if members.len() > limits.class || left_out.clone().all(itself) {
            return None;
        }
        Some(Without {
            plan: Plan::at(Start::Class(class)),
            nodes: members.into_owned().into(),
        })
    })
}
