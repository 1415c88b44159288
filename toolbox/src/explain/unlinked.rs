//! Things that a question names in passing and that linking leaves out, because their name is an everyday
//! word: `governor` is a title among the officials of a state, `pizza` the industry of a company.

use std::sync::Arc;

use kg::term::NodeId;
use kg::words;

use super::naming::class_texts;
use super::phrases::same_but_ending;
use super::vocabulary::stems;
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet, Relation};

impl Explainer<'_, '_> {
    /// The content words that are the name of a thing; none if the question does not say all of it.
    pub(super) fn name_of(&mut self, node: NodeId) -> Arc<[usize]> {
        if let Some(known) = self.named.get(&node) {
            return Arc::clone(known);
        }
        let kg = self.session.kg();
        let words = &self.asked.words;
        let place = |stem: &String| {
            (words.iter()).position(|word| word.stem == *stem && word.value.is_none())
        };
        let label = kg.label(node).unwrap_or_default();
        let places: Option<Vec<usize>> = stems(&label).iter().map(place).collect();
        let places: Arc<[usize]> = places.unwrap_or_default().into();
        self.named.insert(node, Arc::clone(&places));
        places
    }

    /// The share of these nodes that the question itself names: linked things, and the names that stand there for
    /// them.
    pub(super) fn share_of_topics(&self, set: &EntSet) -> f32 {
        let (kg, linked) = (self.session.kg(), self.session.linked());
        let spans = (0..linked.entities.len()).filter_map(|at| linked.span(at));
        let question = self.session.plain_question();
        let mut texts = spans.filter_map(|(from, to)| question.get(from..to));
        let mut says = |name: &str| texts.any(|text| text.eq_ignore_ascii_case(name));
        if let [one] = **set
            && let Some(name) = kg.term(one).as_literal()
        {
            return if says(&name.lexical) { 1.0 } else { 0.0 };
        }
        let found = set.iter().filter(|node| linked.entities.contains(node));
        found.count() as f32 / set.len().max(1) as f32
    }

    /// Whether a thing has the name of what the question asks for, in the singular or the plural.
    pub(super) fn is_asked_for(&self, node: NodeId) -> bool {
        let label = self.session.kg().label(node);
        label.is_some_and(|label| self.is_noun_asked_for(&label))
    }

    /// Whether a class of the graph has that name.
    pub(super) fn names_class(&self) -> bool {
        let kg = self.session.kg();
        let mut classes = self.session.classes().iter();
        classes
            .any(|&class| (class_texts(kg, class).iter()).any(|text| self.is_noun_asked_for(text)))
    }

    fn is_noun_asked_for(&self, text: &str) -> bool {
        let asked = self.focus.and_then(|at| self.asked.words.get(at));
        let noun = words(text).pop().unwrap_or_default();
        asked.is_some_and(|word| same_but_ending(&word.word, &noun))
    }

    /// The thing that a relation leads to from these nodes and that the question names with most words,
    /// without the linked entities.
    pub(super) fn said_by_name(&mut self, one: &Adjacent, nodes: &[NodeId]) -> Option<NodeId> {
        /// Nodes that are looked at, and things that each leads to.
        const NODES: usize = 256;
        const SOME: usize = 24;
        if !one.out || !matches!(one.relation, Relation::Plain(_)) {
            return None;
        }
        let session = self.session;
        let mut best: Option<(usize, NodeId)> = None;
        for &node in nodes.iter().take(NODES) {
            for &tail in session.step(node, one.relation, true).iter().take(SOME) {
                let literal = session.kg().term(tail).as_literal().is_some();
                if literal || session.linked().entities.contains(&tail) {
                    continue;
                }
                let said = self.name_of(tail).len();
                if said > best.map_or(0, |(most, _)| most) {
                    best = Some((said, tail));
                }
            }
        }
        best.map(|(_, node)| node)
    }
}
