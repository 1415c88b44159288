//! What kind of thing a node is where its class does not say it: `Midvale Province` is a province and
//! `France` a country, although both may be of the class `Place`.

use kg::Kg;
use kg::term::NodeId;
use kg::words;

use super::words::Explainer;
use crate::link::kind_of_place;
use crate::rank::stem;

impl Explainer<'_, '_> {
    /// Whether the name of a thing says that it is of the kind that the question asks for.
    pub(super) fn is_by_name(&self, node: NodeId) -> bool {
        let Some(asked) = self.focus.and_then(|at| self.asked.words.get(at)) else {
            return false;
        };
        let kg: &dyn Kg = self.session.kg();
        if asked.adjective.is_some() || kg.term(node).as_literal().is_some() {
            return false;
        }
        let Some(label) = kg.label(node) else {
            return false;
        };
        let words = words(&label);
        let noun = |word: &String| stem(word) == asked.stem;
        words.len() > 1 && words.last().is_some_and(noun)
            || kind_of_place(&label).is_some_and(|kind| stem(kind) == asked.stem)
    }
}
