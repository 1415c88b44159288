//! Candidate programs that keep some members: those of a class, or with one of two values.

use kg::term::{Literal, NodeId};
use kg::value::Op;
use kg::words;

use super::asked_word::AskedWord;
use super::compared::Compared;
use super::focus::is_verb_behind;
use super::naming::{class_nouns, class_texts};
use super::phrases::same_but_ending;
use super::plan::{Against, PlanStep, Start};
use super::question::Asked;
use super::search::Search;
use super::state::State;
use super::vocabulary::stems;
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
            if some && says_more(explainer, state, class) && !is_too_special(explainer, class) {
                self.keep(next, state.class(class, nodes, explainer));
            }
        }
    }

    /// The members that have one of two values that the question joins by `or`, or by `and` if none has both: `violin and
    /// cello teachers`. Returns whether the relation has both values, so that nobody asks for members with only one.
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
        let joined = |asked: &Compared| asked.or.or(asked.and);
        let behind = compared.get(index).and_then(joined);
        let before = compared
            .iter()
            .position(|asked| joined(asked) == Some(index));
        let Some((other, second)) = behind.or(before).and_then(|at| Some((at, values.get(at)?)))
        else {
            return false;
        };
        let kept =
            |value: &Literal| session.satisfying_value(&state.nodes, one.relation, Op::Eq, value);
        let (first, second) = (kept(&values[index]), kept(second));
        let or = |at: usize| compared.get(at).is_some_and(|asked| asked.or.is_some());
        // Countries that speak English and Dutch are no rows with English or Dutch.
        let apart = intersection(&[&first, &second]).is_empty()
            && !explainer.asked.both
            && is_class_named(explainer, state);
        let both = !or(index) && !or(other) && !apart;
        if first.is_empty() || second.is_empty() || both {
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

/// Whether a class explains more of the question than the classes to which the plan's set was narrowed before. If only
/// verbs name the class, it must also explain more than the plan: `written by` does not ask for a writer.
fn says_more(explainer: &mut Explainer<'_, '_>, state: &State, class: NodeId) -> bool {
    let said = explainer.class(class);
    let words = &explainer.asked.words;
    let only_verbs = (said.iter().zip(words)).all(|(p, word)| *p < SAID || is_verb(&word.word));
    if only_verbs && (said.iter().zip(state.words.iter())).all(|(word, known)| word <= known) {
        return false;
    }
    let mut before = state.plan.steps.iter().rev();
    before.all(|step| match step {
        PlanStep::Class(other) => {
            let known = explainer.class(*other);
            known
                .iter()
                .zip(said.iter())
                .any(|(known, word)| word > known)
        }
        _ => true,
    })
}

/// Whether the question says only a part of a class's names, and other classes with the same noun have as many instances:
/// reserves are not only moorland reserves. But where most stations are railway stations, these are meant.
fn is_too_special(explainer: &Explainer<'_, '_>, class: NodeId) -> bool {
    let (kg, asked) = (explainer.session.kg(), &explainer.asked.words);
    let said = |stem: &String| asked.iter().any(|word| word.stem == *stem);
    let texts = class_texts(kg, class);
    if texts.iter().any(|text| stems(text).iter().all(said)) {
        return false;
    }
    let nouns = class_nouns(kg, class);
    let shared = |other: &&NodeId| {
        let others = class_nouns(kg, **other);
        **other != class && others.iter().any(|noun| nouns.contains(noun))
    };
    let others = explainer.session.classes().iter().filter(shared);
    let count = |class: NodeId| kg.instances(class).len();
    let all: usize = others.map(|&other| count(other)).sum();
    all >= count(class)
}

/// From this probability a word says a class.
const SAID: f32 = 0.1;

/// Whether a word is a form of a verb that may say what somebody is.
fn is_verb(word: &str) -> bool {
    word.ends_with("ing") || is_verb_behind("", word)
}

/// Whether a content word of the question is the noun of a class, in the singular or the plural.
fn is_named(explainer: &Explainer<'_, '_>, class: NodeId) -> bool {
    let texts = class_texts(explainer.session.kg(), class);
    let nouns: Vec<String> = texts.iter().filter_map(|text| words(text).pop()).collect();
    let noun = |word: &AskedWord| nouns.iter().any(|noun| same_but_ending(&word.word, noun));
    explainer.asked.words.iter().any(noun)
}

/// Whether the question names the class at which a plan begins.
fn is_class_named(explainer: &Explainer<'_, '_>, state: &State) -> bool {
    match state.plan.start {
        Start::Class(class) => is_named(explainer, class),
        Start::Entity(_) | Start::Entities | Start::Alike(..) => false,
    }
}
