//! What kind of thing a node is where its class does not say it: `Midvale Province` is a province and
//! `France` a country, although both may be of the class `Place`.

use kg::Kg;
use kg::term::NodeId;
use kg::words;

use super::asked_word::AskedWord;
use super::plan::{Hop, PlanStep, Way};
use super::state::State;
use super::vocabulary::split;
use super::words::{Explainer, is_part_of_name};
use crate::link::kind_of_place;
use crate::rank::stem;

impl Explainer<'_, '_> {
    /// Whether the first of two relations leads from a thing to its place, and the second from that place to the
    /// place that contains it: `headquartered in`, then `in country`. Both may be followed backwards instead.
    /// `sets` are what the first relation leads to and what the second leads to. A member of a team that is
    /// part of a department counts too.
    pub(super) fn lies_in(&mut self, first: Hop, second: Hop, sets: [&[NodeId]; 2]) -> bool {
        let [between, end] = sets;
        let (inner, wider, out) = match (first.way, second.way) {
            (Way::Out, Way::Out) => (first, second, true),
            (Way::In, Way::In) => (second, first, false),
            _ => return false,
        };
        let (inner, wider) = (self.hop(inner).role, self.hop(wider).role);
        // What a team belongs to, its members belong to.
        inner.member && wider.part
            // A hospital is a place, but it contains no others.
            || wider.place
                && self.are_places(between)
                && (!out || self.are_places(end))
    }

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

    /// Whether a relation speaks of what the question asks for. If that is a class, the relation has its name: a city with a
    /// museum is no country.
    pub(super) fn says_focus(&self, hop: Hop, words: &[f32]) -> bool {
        let literal = || {
            let asked = self.focus.and_then(|at| self.asked.words.get(at));
            let (own, domain) = self.relation_words(hop.relation);
            asked.is_some_and(|word| own.contains(&word.stem) || domain.contains(&word.stem))
        };
        is_part_of_name(words, self.focus) && (!self.class_named || literal())
    }

    /// Whether the name of a plan's last relation ends with the word that names what is asked for.
    pub(super) fn is_called_so(&self, state: &State) -> bool {
        let Some(PlanStep::Walk(hop)) = state.plan.steps.last() else {
            return false;
        };
        let name = self.session.relation_name(hop.relation);
        let noun = words(split(&name).0).pop().map(|noun| stem(&noun));
        let focus = self.focus.and_then(|at| self.asked.words.get(at));
        noun.is_some() && focus.map(|word| &word.stem) == noun.as_ref()
    }

    /// Whether a word belongs to a quoted name. Where no thing has that name, nothing has to explain it.
    pub(super) fn is_quoted(&self, word: &AskedWord) -> bool {
        let value = word
            .value
            .and_then(|at| self.session.linked().values.get(at));
        let question = self.session.plain_question();
        value.is_some_and(|value| question.contains(&format!("\"{}\"", value.lexical)))
    }

    /// The stem of the word that says what is asked for, and the name of a thing.
    fn named(&self, node: NodeId) -> Option<(&str, String)> {
        let asked = self.asked.words.get(self.focus?)?;
        let kg: &dyn Kg = self.session.kg();
        let thing = asked.adjective.is_none() && kg.term(node).as_literal().is_none();
        Some((asked.stem.as_str(), kg.label(node).filter(|_| thing)?))
    }
}

/// Whether a plan leads from place to wider place, and ends at the kind of place that the question asks for.
pub(super) fn ends_at_place(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    let out = |step: &PlanStep| match step {
        PlanStep::Walk(hop) => hop.way == Way::Out && !explainer.symmetric(hop.relation),
        _ => false,
    };
    let tally = &state.tally;
    state.class_said && tally.lies + 1 == tally.hops && state.plan.steps.iter().all(out)
}

/// Whether a name of several words ends with a word of this stem.
fn ends_with(label: &str, asked: &str) -> bool {
    let words = words(label);
    words.len() > 1 && words.last().is_some_and(|word| stem(word) == asked)
}
