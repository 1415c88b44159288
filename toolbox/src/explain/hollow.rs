//! Plans that find nothing although the question says them, such as the birthplace of a discoverer of whom the graph does
//! not know it. The best of them speaks for giving up.

use kg::term::{NodeId, Term};

use super::others::{MEANT, some_of};
use super::plan::{Hop, Way};
use super::possessive;
use super::search::{Search, Searched};
use super::state::{Found, State};
use super::terms::{DecisionTerm, Terms, flag, of_found};
use super::words::Explainer;
use crate::exec::{EntSet, Relation, Value, sorted};

/// Members of the largest set of which it is asked what they lack.
const LARGEST: usize = 16;

impl Search<'_> {
    /// Notes what the members of a set lack and others of their class have, if the question asks for it.
    pub(super) fn lacks(&mut self, state: &State, explainer: &mut Explainer<'_, '_>) -> Searched {
        let session = explainer.session;
        let kg = session.kg();
        let thing = |node: &NodeId| !matches!(kg.term(*node), Term::Literal(_));
        let first = state.nodes.first().filter(|node| thing(node));
        let few = state.nodes.len() <= LARGEST && state.tally.filters == 0;
        let (Some(&first), true) = (first, few) else {
            return Ok(());
        };
        for class in kg.types(first) {
            self.cancel.check()?;
            let said = self.of_class.entry(class);
            let said = said.or_insert_with(|| said_of(class, explainer)).clone();
            for (hop, some) in said {
                let has = |&node: &NodeId| {
                    !session
                        .step(node, hop.relation, hop.way == Way::Out)
                        .is_empty()
                };
                if !state.nodes.iter().any(has) {
                    self.note(&state.walk(hop, some, explainer), explainer);
                }
            }
        }
        Ok(())
    }

    /// Notes a plan that finds nothing.
    pub(super) fn note(&self, state: &State, explainer: &Explainer<'_, '_>) {
        let found = Found {
            answer: Value::Set(state.nodes.clone()),
            state: state.clone(),
        };
        let terms = of_found(&found, explainer);
        // Who acted for a director is not what the director acted in.
        if terms[DecisionTerm::PersonForWho] < 0.0 {
            return;
        }
        let mut hollow = self.hollow.borrow_mut();
        let score = |terms: &Terms| self.weights.score(terms);
        if hollow
            .as_ref()
            .is_none_or(|best| score(&terms) > score(best))
        {
            *hollow = Some(terms);
        }
    }
}

/// The relations of instances of a class that the question asks for.
fn said_of(class: NodeId, explainer: &mut Explainer<'_, '_>) -> Vec<(Hop, EntSet)> {
    let session = explainer.session;
    let mut found = Vec::new();
    for one in session.adjacent(&some_of(session.kg(), class)) {
        let (relation, way) = (one.relation, if one.out { Way::Out } else { Way::In });
        let hop = Hop { relation, way };
        let words = explainer.hop(hop).words;
        let mut asked = words.iter().zip(&explainer.asked.words);
        let said = asked.any(|(p, word)| *p >= MEANT && !word.is_mark() && word.value.is_none());
        if said && matches!(relation, Relation::Plain(_)) && !explainer.symmetric(relation) {
            let ends = session.step(one.member, relation, one.out).into_owned();
            found.push((hop, sorted(ends)));
        }
    }
    found
}

/// The terms of giving up.
pub(super) fn of_abstention(explainer: &Explainer<'_, '_>) -> Terms {
    let content = || {
        (explainer.asked.words.iter().zip(&explainer.mentioned))
            .filter(|(word, mentioned)| !word.is_mark() && mentioned.is_none())
            .filter(|(word, _)| !explainer.is_quoted(word))
            .map(|(word, _)| word)
    };
    let mut terms = Terms::ZERO;
    terms[DecisionTerm::GiveUp] = 1.0;
    let again = possessive::repeated(&explainer.chains);
    terms[DecisionTerm::GiveUpPerWord] = (content().count() + again) as f32;
    terms[DecisionTerm::GiveUpWithoutWords] = flag(content().next().is_none());
    terms[DecisionTerm::GiveUpKnown] = content().map(|word| explainer.known(word)).sum();
    terms
}
