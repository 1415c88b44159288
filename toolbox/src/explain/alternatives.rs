//! Candidate programs that keep some members: those of a class, or with one of two values.

use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::naming::class_nouns;
use super::plan::{Against, PlanStep};
use super::question::Asked;
use super::search::Search;
use super::state::State;
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet, intersection, sorted};

impl Asked {
    /// The comparison of a value: of a number, and of a time.
    pub(super) fn compare_of(&self, value: usize) -> Option<[Op; 2]> {
        let own = self.compared.get(value).and_then(|one| one.own);
        own.unwrap_or(self.compare)
    }
}

impl Search<'_> {
    /// The instances of a class that the question names, where they are some but not all.
    pub(super) fn narrowed(
        &self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        if state.plan.steps.is_empty() || state.nodes.len() < 2 {
            return;
        }
        for &class in &self.classes {
            if state.plan.steps.contains(&PlanStep::Class(class)) {
                continue;
            }
            let members = explainer.session.kg().instances(class);
            let nodes: EntSet = intersection(&[&*state.nodes, &*members]).into();
            let some = !nodes.is_empty() && nodes.len() < state.nodes.len();
            if some && says_more(explainer, state, class) {
                self.keep(next, state.class(class, nodes, explainer));
            }
        }
    }

    /// The members that have one of two values that the question joins by `or`. Returns whether the
    /// relation has both, so that nobody asks for members with only one of them.
    pub(super) fn alternatives(
        &self,
        state: &State,
        one: &Adjacent,
        index: usize,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> bool {
        let session = explainer.session;
        let values = &session.linked().values;
        let compared = &explainer.asked.compared;
        let behind = compared.get(index).and_then(|asked| asked.or);
        let before = compared.iter().position(|asked| asked.or == Some(index));
        let Some((other, second)) = behind.or(before).and_then(|at| Some((at, values.get(at)?)))
        else {
            return false;
        };
        let kept =
            |value: &Literal| session.satisfying_value(&state.nodes, one.relation, Op::Eq, value);
        let (first, second) = (kept(&values[index]), kept(second));
        if first.is_empty() || second.is_empty() {
            return false;
        }
        // Of the two, the one that is said first makes the plan.
        if behind.is_some() {
            let both: EntSet = sorted(first.iter().chain(second.iter()).copied().collect());
            let against = Against::Either(index, other);
            let state = state.compare(one.relation, Op::Eq, against, both, explainer);
            self.keep(next, state);
        }
        true
    }
}

/// Whether the question says more by a class than by the plan, or names it, and more than by the classes that the
/// plan's set was narrowed to before: who has `written` something need be no writer.
fn says_more(explainer: &mut Explainer<'_, '_>, state: &State, class: NodeId) -> bool {
    let words = explainer.class(class);
    let nouns = class_nouns(explainer.session.kg(), class);
    let named = (explainer.asked.words.iter()).any(|word| nouns.contains(&word.stem));
    if !named && (words.iter().zip(state.words.iter())).all(|(word, known)| word <= known) {
        return false;
    }
    let mut before = state.plan.steps.iter().rev();
    before.all(|step| match step {
        PlanStep::Class(other) => {
            let known = explainer.class(*other);
            known
                .iter()
                .zip(words.iter())
                .any(|(known, word)| word > known)
        }
        _ => true,
    })
}
