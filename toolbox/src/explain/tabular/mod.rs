//! Candidates that end in the extended tools (rules D): tables, groups, differences, sums. They are
//! proposed where a question has a cue for them, and extend the sets that the search finds.
//!
//! ```text
//! request   what a question asks of a table; reading, asking, cues, counted, computed: from its words
//! bases     the sets that tables are made of
//! paths     the columns that a set can have
//! plan      the program
//! pairs     what is asked of two things or texts
//! compose   makes a plan from a set, its paths and the request; columns: what the phrases name; groups: whether rows are grouped;
//!           without, values_left: what is left out
//! ```

mod asking;
mod bases;
mod columns;
mod compose;
mod computed;
mod counted;
mod cues;
mod groups;
mod pairs;
mod paths;
mod plan;
mod reading;
mod request;
mod values_left;
mod without;

use common::cancel::{Cancel, Cancelled};
use kg::search::singular;
use kg::term::{NodeId, Term};
use kg::value::{Kind, Op};

use super::plan::{Against, Plan, PlanStep, Start, bit};
use super::search::Results;
use super::search_limits::SearchLimits;
use super::state::{Found, State};
use super::term_weights::TermWeights;
use super::terms::{DecisionTerm, Terms, of_found, of_state};
use super::text_part::TextPart;
use super::values::{is_truth, reached};
use super::vocabulary::split;
use super::words::{Explainer, strength};
use crate::call::{Aggregate, Call, ToolTable};
use crate::exec::{EntSet, Relation, Value};
use compose::Composed;
use paths::EXPLAINED;
use plan::Shown;
pub(super) use plan::TablePlan;
use request::Request;
use values_left::values_left;
use without::{Without, entity_left_out, inside, others};

/// Sets that are extended.
const BASES: usize = 80;
/// Members of the largest class that is extended. Its relations are not followed one by one.
const LARGEST: usize = 1_000_000;
/// Sets around the texts of a question that are followed.
const LINKED: usize = 40;

/// The candidates of extended tools.
#[derive(Default)]
pub(super) struct Tables {
    /// Their programs, with their terms.
    pub(super) found: Vec<(Terms, Vec<Call>)>,
    /// The content words of what the question leaves out.
    left_out: Vec<usize>,
    /// The entity that it leaves out.
    entity_left_out: Option<usize>,
    /// Whether it leaves out anything.
    without: bool,
}

impl Tables {
    /// No candidates, with what the question leaves out.
    fn left_out(request: &Request, explainer: &Explainer<'_, '_>) -> Self {
        let words = (request.left_out()).flat_map(|phrase| phrase.words.clone());
        Self {
            found: Vec::new(),
            left_out: words.collect(),
            entity_left_out: entity_left_out(request, explainer),
            without: request.without,
        }
    }

    /// Whether a plan asks for what the question leaves out: for albums with tracks, not for those without.
    pub(super) fn contradict(&self, state: &State) -> bool {
        let explained = |at: &usize| state.words.get(*at).is_some_and(|p| *p >= EXPLAINED);
        let uses = |entity: usize| state.tally.entities & bit(entity) != 0;
        (self.entity_left_out.is_some_and(uses) || self.left_out.iter().any(explained))
            && !denies(state)
    }

    /// Whether a plan without a table says what the question denies.
    pub(super) fn answers_negation(&self, state: &State) -> bool {
        self.without && excludes_value(state)
    }
}

/// Whether a plan says itself what is not so: by a value `no` of teachers who do not work full time.
fn denies(state: &State) -> bool {
    let truth = |step: &PlanStep| matches!(step, PlanStep::Compare(_, _, Against::Truth(value)) if is_truth(value, false));
    state.plan.steps.iter().any(truth) || excludes_value(state)
}

/// Whether a plan keeps what has another value than one that the question denies: an award that is not the Tony Award.
fn excludes_value(state: &State) -> bool {
    let other = |step: &PlanStep| matches!(step, PlanStep::Compare(_, Op::Ne, Against::Value(_)));
    state.plan.steps.iter().any(other)
}

/// The candidates that end in extended tools; none if the session does not offer these tools, or if the question has no
/// cue for them.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
pub(super) fn tables(
    explainer: &mut Explainer<'_, '_>,
    results: &Results,
    weights: &TermWeights,
    limits: SearchLimits,
    cancel: &Cancel,
) -> Result<Tables, Cancelled> {
    let session = explainer.session;
    let bare = session.linked().blanked(session.plain_question());
    let mut request = reading::read(&bare, explainer.asked);
    request.fit(explainer);
    let denied = explainer
        .asked
        .part
        .as_ref()
        .is_some_and(TextPart::is_denied);
    if explainer.asked.judge || denied || results.too_many {
        return Ok(Tables::default());
    }
    if session.options().tools != ToolTable::Extended {
        return Ok(Tables::left_out(&request, explainer));
    }
    let mut of_two = pairs::differences(explainer, cancel)?;
    of_two.extend(pairs::chosen_texts(explainer, &results.found, &request));
    if !of_two.is_empty() {
        return Ok(Tables {
            found: of_two,
            ..Tables::default()
        });
    }
    if !request.wants_table() && !request.wants_labels() {
        let sum = sum(explainer, &results.found, weights);
        return Ok(Tables {
            found: sum.into_iter().collect(),
            ..Tables::default()
        });
    }
    let mut candidates = Vec::new();
    let positive = request.without_negation();
    let bases = bases::bases(explainer, results, &request, weights, limits, cancel)?;
    for base in bases {
        cancel.check()?;
        let paths = paths::paths(&base.nodes, explainer, cancel)?;
        if !request.without {
            candidates.extend(compose::compose(&base, None, &paths, &request, explainer));
            continue;
        }
        if denies(&base) {
            candidates.extend(compose::compose(&base, None, &paths, &positive, explainer));
        }
        candidates.extend(values_left(&base, &request, explainer, limits));
        let Some(all) = others(&base, &request, explainer, limits) else {
            continue;
        };
        candidates.extend(left_of(&base, &all, &request, explainer, cancel)?);
    }
    for (base, all) in inside(explainer, results, &request, weights, limits, cancel)? {
        candidates.extend(left_of(&base, &all, &request, explainer, cancel)?);
    }
    let chooses = chooses(&request, explainer);
    let is_choice = |one: &Composed| {
        let own = |shown: &Shown| matches!(shown, Shown::Path(path) if one.plan.paths.get(*path).is_some_and(Vec::is_empty));
        matches!(one.plan.base.start, Start::Entities)
            && one.plan.base.steps.is_empty()
            && one.plan.shown.first().is_some_and(own)
    };
    let programs = candidates
        .into_iter()
        .filter(|one| !chooses || is_choice(one));
    let programs = programs.map(|one| (terms(&one, explainer), one.plan.calls(session)));
    Ok(Tables {
        found: programs.collect(),
        ..Tables::left_out(&request, explainer)
    })
}

/// Whether the question asks which of some things has the most or the fewest of something: one of them is the answer.
fn chooses(request: &Request, explainer: &Explainer<'_, '_>) -> bool {
    explainer.asked.either.is_some()
        && request.most.is_some()
        && explainer.session.linked().entities.len() > 1
}

/// The plan for those of some things that are not in a set.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so.
fn left_of(
    base: &State,
    all: &Without,
    request: &Request,
    explainer: &mut Explainer<'_, '_>,
    cancel: &Cancel,
) -> Result<Option<Composed>, Cancelled> {
    cancel.check()?;
    let out = |node: &&NodeId| base.nodes.binary_search(node).is_err();
    let left: Vec<NodeId> = all.nodes.iter().filter(out).copied().collect();
    // Nothing is left: then the columns are those of what is taken away.
    let rows = if left.is_empty() {
        &base.nodes[..]
    } else {
        &left
    };
    let paths = paths::paths(rows, explainer, cancel)?;
    Ok(compose::compose(
        base,
        Some(all),
        &paths,
        request,
        explainer,
    ))
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
    if !numbers
        || !matches!(&best.answer, Value::Set(set) if set.len() > 1)
        || is_one_of_counted(explainer, hop.relation)
    {
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

/// Whether a relation is called by one of those that the question asks for: its numbers are codes of advisors where the
/// question asks how many advisors there are.
fn is_one_of_counted(explainer: &Explainer<'_, '_>, relation: Relation) -> bool {
    let focus = explainer.focus.and_then(|at| explainer.asked.words.get(at));
    let name = explainer.session.relation_name(relation);
    let last = kg::words(split(&name).0).pop();
    let one = focus.and_then(|word| singular(&word.word));
    one.is_some() && last == one
}

/// The terms of a candidate.
fn terms(one: &Composed, explainer: &Explainer<'_, '_>) -> Terms {
    let mut terms = of_state(&one.state, explainer);
    let asked = explainer.asked;
    terms[DecisionTerm::TableCues] = one.cues as f32;
    terms[DecisionTerm::ComparisonNotAsked] = one.state.tally.contrary as f32;
    terms[DecisionTerm::ColumnRelations] = one.relations as f32;
    terms[DecisionTerm::CountMissing] = if asked.count && !one.counts { 1.0 } else { 0.0 };
    let extreme = asked.extreme.is_some() && one.state.tally.extremes == 0 && !one.extreme;
    terms[DecisionTerm::ExtremeMissing] = if extreme { 1.0 } else { 0.0 };
    let missing = explainer.class_asked && !one.class_said;
    terms[DecisionTerm::ClassMissing] = if missing { 1.0 } else { 0.0 };
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
