//! Plural nouns without a class, for things whose names share the noun: without a class of wisps, `wisps` are `BlueWisp`,
//! `HalfWisp` and `WispQueen`.

use super::classes::CLASS;
use super::plan::{PlanStep, Start};
use super::search::Search;
use super::state::State;
use super::words::Explainer;
use crate::exec::{EntSet, intersection};
use crate::link::named_alike;

impl Explainer<'_, '_> {
    /// The plans that begin at things whose names share a noun of the question and that have no class.
    pub(super) fn alike(&mut self) -> Vec<State> {
        let asked = self.asked;
        let words = asked.words.iter().enumerate().filter(|(at, word)| {
            !word.is_mark() && word.value.is_none() && self.mentioned[*at].is_none()
        });
        let named = words.map(|(at, word)| (at, named_alike(self.session.kg(), &word.word)));
        let named: Vec<_> = named.filter(|(_, nodes)| !nodes.is_empty()).collect();
        let mut starts = Vec::with_capacity(named.len());
        for (word, nodes) in named {
            let start = Start::Alike(word, nodes.clone());
            let mut state = State::start(start, nodes.into(), self);
            state.class_said |= self.focus == Some(word);
            starts.push(state);
        }
        starts
    }

    /// What such a noun explains: its word.
    pub(super) fn of_alike(&self, word: usize) -> Vec<f32> {
        let of = |at: usize| if at == word { CLASS } else { 0.0 };
        (0..self.asked.words.len()).map(of).collect()
    }
}

impl Search<'_> {
    /// The members of a set whose names share a noun, where some but not all do.
    pub(super) fn narrowed_to_alike(&self, state: &State, next: &mut Vec<State>) {
        for kind in &self.alike {
            let is = |step: &PlanStep| matches!(step, PlanStep::Meet(plan) if **plan == kind.plan);
            let kept: EntSet = intersection(&[&*state.nodes, &*kind.nodes]).into();
            let narrows = !kept.is_empty() && kept.len() < state.nodes.len();
            if narrows && !state.plan.steps.iter().any(is) {
                let class_said = state.class_said || kind.class_said;
                // The noun stands for a class.
                let mut tally = state.tally;
                tally.classes += 1;
                let met = state.meet(kind, kept);
                self.keep(
                    next,
                    State {
                        class_said,
                        tally,
                        ..met
                    },
                );
            }
        }
    }
}
