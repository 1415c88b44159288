//! Things that a question names in passing and that linking leaves out, because their name is an everyday
//! word: `governor` is a title among the officials of a state, `pizza` the industry of a company.

use std::sync::Arc;

use kg::term::NodeId;

use super::vocabulary::stems;
use super::words::Explainer;
use crate::exec::{Adjacent, Relation};

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

    /// The thing that a relation leads to from these nodes and that the question names with most words,
    /// without the linked entities.
    pub(super) fn said_by_name(&mut self, one: &Adjacent, nodes: &[NodeId]) -> Option<NodeId> {
        /// Nodes that are looked at.
        const SOME: usize = 24;
        if !one.out || !matches!(one.relation, Relation::Plain(_)) {
            return None;
        }
        let session = self.session;
        let mut best: Option<(usize, NodeId)> = None;
        for &node in nodes.iter().take(SOME) {
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
