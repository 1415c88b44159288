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
        let nation =
            |asked: &str, label: &str| kind_of_place(label).is_some_and(|kind| stem(kind) == asked);
        self.named(node)
            .is_some_and(|(asked, label)| ends_with(&label, asked) || nation(asked, &label))
    }

    /// Whether its name ends with a kind of place that the question asks for: `Midvale Province`. Cities and
    /// states have no such names. Or the question asks for a country or a continent, and it is one.
    pub(super) fn is_in_name(&self, node: NodeId) -> bool {
        const KINDS: &str =
            "county province district region parish canton borough prefecture municipality oblast";
        let kind = |asked: &str| KINDS.split(' ').any(|kind| stem(kind) == asked);
        let asked = self.focus.and_then(|at| self.asked.words.get(at));
        let asked = asked.map(|word| word.word.as_str());
        // `X's country's teams` asks for teams.
        let chain = self.chains.iter().any(|chain| chain.len() > 1);
        self.named(node).is_some_and(|(stem, label)| {
            let nation = kind_of_place(&label).filter(|_| !chain);
            kind(stem) && ends_with(&label, stem) || nation.is_some() && nation == asked
        })
    }

    /// The stem of the word that says what is asked for, and the name of a thing.
    fn named(&self, node: NodeId) -> Option<(&str, String)> {
        let asked = self.asked.words.get(self.focus?)?;
        let kg: &dyn Kg = self.session.kg();
        let thing = asked.adjective.is_none() && kg.term(node).as_literal().is_none();
        Some((asked.stem.as_str(), kg.label(node).filter(|_| thing)?))
    }
}

/// Whether a name of several words ends with a word of this stem.
fn ends_with(label: &str, asked: &str) -> bool {
    let words = words(label);
    words.len() > 1 && words.last().is_some_and(|word| stem(word) == asked)
}
