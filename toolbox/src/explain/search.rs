//! The search for plans around the linked entities and classes of a question: a beam over steps,
//! pruned by what each plan explains and by execution.

use std::cell::{Cell, RefCell};

use common::cancel::{Cancel, Cancelled};
use kg::term::{Literal, NodeId};
use kg::value::{Kind, Op};
use rustc_hash::FxHashMap;

use super::links::has_reference;
use super::nodes::is_key_of;
use super::ops::is_range;
use super::plan::{Against, Hop, PlanStep, Start, Way, bit};
use super::search_limits::SearchLimits;
use super::state::{Found, State};
use super::term_weights::TermWeights;
use super::terms::{Terms, of_state};
use super::values::{
    is_of_every_row, is_unasked_key, kind_of, of_rows, reached, said_classes, truth, year_used,
};
use super::ways::{ways, without_texts};
use super::words::Explainer;
use crate::call::ToolTable;
use crate::exec::{Adjacent, EntSet, intersection};
use crate::link::unit_of;

/// Branches of each entity that others are intersected with.
const BRANCHES: usize = 24;

/// Members and words of all plans that a search holds, some 512 MB. Plans beyond it are left out: a
/// graph of a few megabytes can have billions.
const HELD: usize = 128_000_000;
/// What a plan takes besides its members and words.
const PLAN: usize = 128;

/// A part of the search is done, or the search ended early.
pub(super) type Searched = Result<(), Cancelled>;

/// What a search found, in that order.
pub(super) struct Results {
    /// Plans with their answers.
    pub(super) found: Vec<Found>,
    /// Plans that end at rows which only connect things. They are no answers, but such rows have columns.
    pub(super) rows: Vec<State>,
    /// The terms of the best plan that finds nothing.
    pub(super) hollow: Option<Terms>,
    /// More texts have the part that the question says than are compared.
    pub(super) too_many: bool,
}

/// Searches for plans, pruned by `weights`.
///
/// # Errors
/// [`Cancelled`] when `cancel` says so. What was found until then depends on the machine, so it is
/// dropped.
pub(super) fn search(
    explainer: &mut Explainer<'_, '_>,
    limits: SearchLimits,
    weights: &TermWeights,
    cancel: &Cancel,
) -> Result<Results, Cancelled> {
    let mut search = Search {
        limits,
        weights: *weights,
        cancel,
        branches: Vec::new(),
        classes: Vec::new(),
        alike: explainer.alike(),
        found: Vec::new(),
        rows: Vec::new(),
        hollow: RefCell::new(None),
        of_class: FxHashMap::default(),
        held: Cell::new(0),
        too_many: Cell::new(false),
        denied: false,
        of_rows: of_rows(explainer.session),
    };
    search.run(explainer)?;
    Ok(Results {
        found: search.found,
        rows: search.rows,
        hollow: search.hollow.into_inner(),
        too_many: search.too_many.get(),
    })
}

/// A search in progress.
pub(super) struct Search<'c> {
    pub(super) limits: SearchLimits,
    pub(super) weights: TermWeights,
    pub(super) cancel: &'c Cancel,
    /// Short chains from linked entities, by the index of the entity.
    branches: Vec<(usize, State)>,
    /// Classes that the question names.
    pub(super) classes: Vec<NodeId>,
    /// The plans that begin at things whose names share a noun of the question (`alike`).
    pub(super) alike: Vec<State>,
    pub(super) found: Vec<Found>,
    pub(super) rows: Vec<State>,
    /// The terms of the best plan that finds nothing.
    pub(super) hollow: RefCell<Option<Terms>>,
    /// For each class, the relations of its instances that the question asks for, with what some of them lead to.
    pub(super) of_class: FxHashMap<NodeId, Vec<(Hop, EntSet)>>,
    /// What the plans so far take of [`HELD`].
    held: Cell<usize>,
    /// More texts have the part that the question says than are compared.
    pub(super) too_many: Cell<bool>,
    /// Two of the question's entities are not linked by a relation that it names.
    pub(super) denied: bool,
    /// The values that may describe every row of a table, as bits.
    of_rows: u64,
}

impl Search<'_> {
    fn run(&mut self, explainer: &mut Explainer<'_, '_>) -> Searched {
        let session = explainer.session;
        self.classes = said_classes(explainer);
        let mut open = self.starts(explainer);
        for state in &open {
            self.conclude(state, explainer)?;
        }
        if session.linked().entities.len() > 1 || explainer.asked.joined {
            self.branch(explainer, &open)?;
        }
        let mut compared = Vec::new();
        self.compared(explainer, &mut compared)?;
        for state in &compared {
            self.conclude(state, explainer)?;
        }
        open.extend(compared);
        for _ in 0..self.limits.steps {
            let mut next = Vec::new();
            for state in &open {
                self.lacks(state, explainer)?;
                self.extend(state, explainer, &mut next)?;
            }
            for state in &next {
                self.conclude(state, explainer)?;
            }
            self.sort(&mut next, explainer);
            next.truncate(self.limits.beam);
            if next.is_empty() {
                break;
            }
            open = next;
        }
        Ok(())
    }

    /// Whether the search may hold one more plan, which then counts.
    pub(super) fn fits(&self, state: &State) -> bool {
        let held = self.held.get() + state.nodes.len() + state.words.len() + PLAN;
        let fits = held <= HELD;
        if fits {
            self.held.set(held);
        }
        fits
    }

    /// Adds a plan that fits.
    pub(super) fn keep(&self, next: &mut Vec<State>, state: State) {
        if self.fits(&state) {
            next.push(state);
        }
    }

    /// Records a plan that has an answer.
    pub(super) fn record(&mut self, found: Found) {
        if self.fits(&found.state) {
            self.found.push(found);
        }
    }

    /// Best first; equal scores keep their order.
    fn sort(&self, states: &mut Vec<State>, explainer: &Explainer<'_, '_>) {
        let mut scored: Vec<(f32, State)> = std::mem::take(states)
            .into_iter()
            .map(|state| (self.weights.score(&of_state(&state, explainer)), state))
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        states.extend(scored.into_iter().map(|(_, state)| state));
    }

    /// Chains of one or two relations from each entity, for intersections.
    fn branch(&mut self, explainer: &mut Explainer<'_, '_>, starts: &[State]) -> Searched {
        for state in starts {
            let Start::Entity(index) = state.plan.start else {
                continue;
            };
            let mut chains = Vec::new();
            self.walks(state, explainer, &mut chains)?;
            let first = chains.clone();
            for chain in &first {
                self.walks(chain, explainer, &mut chains)?;
            }
            chains.retain(|chain| chain.nodes.len() <= self.limits.set);
            self.sort(&mut chains, explainer);
            chains.truncate(BRANCHES);
            self.branches
                .extend(chains.into_iter().map(|chain| (index, chain)));
        }
        Ok(())
    }

    /// Adds the continuations of a plan by one step.
    fn extend(
        &self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        if state.nodes.is_empty() || state.nodes.len() > self.limits.class || state.named.is_some()
        {
            return Ok(());
        }
        if state.nodes.len() <= self.limits.set {
            self.walks(state, explainer, next)?;
        }
        let filters = state.tally.filters + state.tally.classes + state.tally.extremes;
        if filters >= 3 {
            return Ok(());
        }
        let adjacent = explainer.adjacent(&state.nodes);
        // A filter on an entity of the question says nothing about the answer.
        let either = explainer.asked.either.is_some();
        let named = matches!(state.plan.start, Start::Entity(_))
            || matches!(state.plan.start, Start::Entities) && !either;
        if state.plan.steps.is_empty() && named {
            return Ok(());
        }
        self.comparisons(state, &adjacent, explainer, next)?;
        self.containing(state, &adjacent, explainer, next)?;
        self.compared_here(state, explainer, next)?;
        self.extremes(state, &adjacent, explainer, next)?;
        self.intersections(state, explainer, next);
        self.narrowed(state, explainer, next);
        self.narrowed_to_alike(state, next);
        self.both(state, explainer, next);
        Ok(())
    }

    fn walks(
        &self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let session = explainer.session;
        if state.tally.hops >= self.limits.hops && !state.statements {
            return Ok(());
        }
        let adjacent = explainer.adjacent(&state.nodes);
        let mut reached_by: Vec<(Hop, EntSet)> = Vec::new();
        for hop in ways(state, &adjacent, explainer) {
            self.cancel.check()?;
            let nodes = reached(session, &state.nodes, hop);
            if !nodes.is_empty() {
                reached_by.push((hop, nodes));
            }
        }
        for (hop, nodes) in without_texts(explainer, reached_by) {
            // Straight back to where the plan came from.
            let back = matches!(state.plan.steps.last(), Some(PlanStep::Walk(last))
                if last.relation == hop.relation && last.way != hop.way)
                && (state.statements || nodes.len() == 1 || explainer.is_role(hop.relation));
            // The value that the members were just compared with.
            let here = (state.plan.steps.iter().rev())
                .take_while(|step| !matches!(step, PlanStep::Walk(_)));
            let known = hop.way == Way::Out
                && here.into_iter().any(|step| {
                    matches!(step, PlanStep::Compare(relation, Op::Eq, _) if *relation == hop.relation)
                });
            // A row is not its key, unless the question asks for keys.
            let key = hop.way == Way::Out
                && !explainer.asked.keys
                && state.nodes.len() == nodes.len()
                && is_key_of(session.kg(), state.nodes[0], nodes[0]);
            // A foreign key stands for the row it points to; a second relation leads to that row.
            let key = key
                || hop.way == Way::Out
                    && !explainer.asked.keys
                    && has_reference(session.kg(), hop.relation);
            // Equal texts connect things only where the question says so: `rooms of the same wing`.
            let alike = hop.way == Way::In
                && !explainer.asked.others
                && !explainer.asked.same
                && session.kg().term(state.nodes[0]).as_literal().is_some()
                && matches!(state.plan.steps.last(), Some(PlanStep::Walk(_)));
            if !back && !known && !alike && !key {
                let walked = state.walk(hop, nodes, explainer);
                let same = explainer.is_role(hop.relation);
                self.keep(next, if same { walked.same_as(state) } else { walked });
            }
        }
        Ok(())
    }

    /// Comparisons with the question's values.
    fn comparisons(
        &self,
        state: &State,
        adjacent: &[Adjacent],
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let session = explainer.session;
        let values = &session.linked().values;
        let range = is_range(explainer);
        let either = state.either_condition(explainer);
        let members = either.as_ref().unwrap_or(&state.nodes);
        for (index, value) in values.iter().enumerate() {
            let described = self.of_rows & bit(index) != 0
                && (session.kg().types(state.nodes[0]).into_iter())
                    .any(|class| is_of_every_row(session, class, value));
            if described || year_used(values, index, state.tally.values) {
                continue;
            }
            let unit = unit_of(session.plain_question(), value);
            for one in adjacent.iter().filter(|one| one.out) {
                self.cancel.check()?;
                // Both ends of a range are of one relation.
                let other = range
                    && state.plan.steps.iter().any(|step| {
                        matches!(step, PlanStep::Compare(relation, _, Against::Value(_) | Against::Converted(..)) if *relation != one.relation)
                    });
                if other {
                    continue;
                }
                let ops = explainer.ops_of(state, adjacent, one, index);
                if ops == [Op::Eq] && self.alternatives(state, one, index, explainer, next) {
                    continue;
                }
                for op in ops {
                    let keeps = |value: &Literal| {
                        session.satisfying_value(members, one.relation, op, value)
                    };
                    let (mut kept, mut against) = (keeps(value), Against::Value(index));
                    if let Some(unit) = unit {
                        let stems = explainer.relation_words(one.relation).0;
                        let readings = unit.readings(value, &stems);
                        // If the relation's name does not say its unit, a reading counts that keeps some, not all.
                        let known = readings.len() == 1;
                        let fits =
                            |kept: &EntSet| known || !kept.is_empty() && kept.len() < members.len();
                        let mut all = readings.into_iter().map(|read| (keeps(&read), read));
                        if let Some((fit, read)) = all.find(|(kept, _)| fits(kept)) {
                            kept = fit;
                            against = Against::Converted(index, read);
                        }
                    }
                    if kept.is_empty() {
                        let class = matches!(state.plan.start, Start::Class(_));
                        if class && op != Op::Eq && explainer.says_attribute(one.relation) {
                            let members = state.nodes.clone();
                            let none = state.compare(one.relation, op, against, members, explainer);
                            self.note(&none, explainer);
                        }
                        continue;
                    }
                    let mut kept = state.compare(one.relation, op, against, kept, explainer);
                    if either.is_some() {
                        kept = kept.or_before(state);
                    }
                    self.keep(next, kept);
                }
            }
        }
        self.named(state, adjacent, explainer, next);
        let said = !explainer.asked.negated;
        for one in adjacent.iter().filter(|one| one.out) {
            self.cancel.check()?;
            // What is so before a relation says nothing about what it leads to.
            let known = state.plan.steps.iter().any(|step| {
                matches!(step, PlanStep::Compare(relation, _, Against::Truth(_)) if *relation == one.relation)
            });
            let Some(value) = truth(explainer, one, &state.nodes, said).filter(|_| !known) else {
                continue;
            };
            let kept = session.satisfying_value(members, one.relation, Op::Eq, &value);
            if !kept.is_empty() && kept.len() < members.len() {
                let against = Against::Truth(value);
                let mut kept = state.compare(one.relation, Op::Eq, against, kept, explainer);
                if either.is_some() {
                    kept = kept.or_before(state);
                }
                self.keep(next, kept);
            }
        }
        Ok(())
    }

    fn extremes(
        &self,
        state: &State,
        adjacent: &[Adjacent],
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let session = explainer.session;
        let either = matches!(state.plan.start, Start::Entities);
        let wanted = if either {
            explainer.asked.either
        } else {
            explainer.asked.extreme
        };
        let Some(wanted) = wanted.filter(|_| state.nodes.len() > 1 && state.tally.extremes == 0)
        else {
            return Ok(());
        };
        // Only the extended tools can leave the first ones out.
        let rank = match session.options().tools {
            ToolTable::Extended if !either => explainer.asked.rank,
            _ => 1,
        };
        for one in adjacent.iter().filter(|one| one.out) {
            self.cancel.check()?;
            let extreme = match kind_of(explainer, one) {
                Some(Kind::Int | Kind::Float | Kind::Quantity) => wanted[0],
                Some(Kind::Time) => wanted[1],
                _ => continue,
            };
            if is_unasked_key(explainer, one) {
                continue;
            }
            let mut kept: EntSet = session.extreme_of(&state.nodes, one.relation, extreme);
            let mut left = state.nodes.clone();
            for _ in 1..rank {
                left = left
                    .iter()
                    .copied()
                    .filter(|node| kept.binary_search(node).is_err())
                    .collect();
                kept = session.extreme_of(&left, one.relation, extreme);
            }
            if !kept.is_empty() {
                let wanted = (one.relation, extreme, rank);
                self.keep(next, state.extreme(wanted, kept, explainer));
            }
        }
        Ok(())
    }

    /// Intersections with the branches of entities that the plan does not use.
    fn intersections(
        &self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        // A question for one of two asks for nothing that both have.
        if explainer.asked.either.is_some() {
            return;
        }
        for (index, branch) in &self.branches {
            if state.tally.entities & bit(*index) != 0 {
                self.meet_again(state, branch, explainer, next);
                continue;
            }
            let nodes: EntSet = intersection(&[&state.nodes, &branch.nodes]).into();
            if nodes.is_empty() {
                continue;
            }
            // One relation back from statement nodes is a comparison on them.
            if state.statements
                && let [
                    PlanStep::Walk(Hop {
                        relation,
                        way: Way::In,
                    }),
                ] = branch.plan.steps.as_slice()
            {
                let against = Against::Entity(*index);
                let state = state.compare(*relation, Op::Eq, against, nodes, explainer);
                self.keep(next, state);
                continue;
            }
            self.keep(next, state.meet(branch, nodes));
        }
    }
}
