//! Kinds of things that a graph has only in their names: without a class of wisps, `wisps` are `BlueWisp`, `HalfWisp` and
//! `WispQueen`.

use kg::term::NodeId;

use super::classes::CLASS;
use super::plan::{Plan, PlanStep, Start};
use super::search::Search;
use super::state::State;
use super::words::Explainer;
use crate::exec::{EntSet, intersection};
use crate::link::named_alike;

impl Explainer<'_, '_> {
    /// The nouns of the question whose things have no class, by the index of the word, and these things.
    pub(super) fn alike(&self) -> Vec<(usize, Vec<NodeId>)> {
        let kg = self.session.kg();
        if !kg.schema().named_by_iris() {
            return Vec::new();
        }
        let words = self.asked.words.iter().enumerate();
        let plain = words.filter(|(at, word)| {
            !word.is_mark() && word.value.is_none() && self.mentioned[*at].is_none()
        });
        let found = plain.map(|(at, word)| (at, named_alike(kg, &word.word)));
        found.filter(|(_, nodes)| !nodes.is_empty()).collect()
    }

    /// What the name of a kind explains: the word that is its plural.
    pub(super) fn of_alike(&self, word: usize) -> Vec<f32> {
        let of = |at: usize| if at == word { CLASS } else { 0.0 };
        (0..self.asked.words.len()).map(of).collect()
    }
}

impl Search<'_> {
    /// The plans that begin at things of a kind.
    pub(super) fn alike_starts(&self, explainer: &mut Explainer<'_, '_>) -> Vec<State> {
        let kinds = self.alike.iter();
        kinds
            .map(|(word, nodes)| {
                let start = Start::Alike(*word, nodes.clone());
                let mut state = State::start(start, nodes.clone().into(), explainer);
                state.class_said |= explainer.focus == Some(*word);
                state
            })
            .collect()
    }

    /// The members of a set that are of a kind, where some but not all are.
    pub(super) fn narrowed_to_alike(
        &self,
        state: &State,
        explainer: &Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        for (word, nodes) in &self.alike {
            let plan = Plan::at(Start::Alike(*word, nodes.clone()));
            let step = PlanStep::Meet(Box::new(plan));
            if state.plan.steps.contains(&step) {
                continue;
            }
            let kept: EntSet = intersection(&[&*state.nodes, nodes]).into();
            if kept.is_empty() || kept.len() == state.nodes.len() {
                continue;
            }
            let mut tally = state.tally;
            tally.classes += 1;
            let said = explainer.of_alike(*word);
            let words = state.words.iter().zip(&said);
            let kept = State {
                plan: state.plan.and(step),
                nodes: kept,
                words: words.map(|(known, said)| known.max(*said)).collect(),
                class_said: state.class_said || explainer.focus == Some(*word),
                tally,
                ..state.clone()
            };
            self.keep(next, kept);
        }
    }
}
