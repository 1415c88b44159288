//! What the graph says of other things of a topic's class and not of the topic: a question that asks
//! for it has no answer.

use kg::term::NodeId;

use super::plan::{Hop, Way, bit};
use super::words::Explainer;
use crate::exec::{Adjacent, Relation};

/// Instances of a class that are looked at.
const SOME: usize = 64;
/// From this probability a relation is what a word asks for.
const MEANT: f32 = 0.24;

impl Explainer<'_, '_> {
    /// Fills in what relations explain that the linked entities do not have, and other instances of
    /// their classes have.
    pub(super) fn with_others(mut self) -> Self {
        let entities = self.session.linked().entities.clone();
        self.others = (entities.into_iter())
            .map(|one| self.missing_of(one))
            .collect();
        self
    }

    /// For every content word, the best probability with which a relation explains it that other
    /// instances of the entity's classes have. Relations of the entity itself do not count.
    fn missing_of(&mut self, entity: NodeId) -> Vec<f32> {
        let session = self.session;
        let kg = session.kg();
        let mut best: Vec<f32> = self.asked.words.iter().map(|_| 0.0).collect();
        let own = session.adjacent(&[entity]);
        for class in kg.types(entity) {
            let members = kg.instances(class);
            let step = members.len().div_ceil(SOME).max(1);
            let some: Vec<NodeId> = members.iter().copied().step_by(step).collect();
            for one in session.adjacent(&some) {
                let mutual = self.symmetric(one.relation);
                let has = |mine: &Adjacent| {
                    mine.relation == one.relation && (mutual || mine.out == one.out)
                };
                if !matches!(one.relation, Relation::Plain(_)) || own.iter().any(has) {
                    continue;
                }
                let (relation, way) = (one.relation, if one.out { Way::Out } else { Way::In });
                let words = self.hop(Hop { relation, way }).words;
                for (best, p) in best.iter_mut().zip(words.iter()) {
                    *best = best.max(*p);
                }
            }
        }
        best
    }

    /// How many content words a plan leaves unexplained, or explains half as well as a relation that
    /// the entities it uses do not have, and others of their classes have.
    pub(super) fn said_of_others(&self, words: &[f32], entities: u64) -> f32 {
        let missed = |at: usize, p: f32| {
            let of = |(entity, others): (usize, &Vec<f32>)| {
                let best = others.get(at).copied().unwrap_or_default();
                entities & bit(entity) != 0 && best >= MEANT && p <= 0.5 * best
            };
            self.others.iter().enumerate().any(of)
        };
        let content = (words.iter().zip(&self.asked.words).enumerate())
            .filter(|(_, (_, word))| !word.is_mark() && word.value.is_none());
        content.filter(|(at, (p, _))| missed(*at, **p)).count() as f32
    }
}
