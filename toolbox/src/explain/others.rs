//! What the graph says of other things of a topic's class and not of the topic: a question that asks
//! for it has no answer.

use kg::Kg;
use kg::term::NodeId;

use super::plan::{Hop, Plan, PlanStep, Start, Way, bit};
use super::state::State;
use super::words::{Explainer, speaks};
use crate::exec::{Adjacent, Relation};

/// Instances of a class that are looked at.
const SOME: usize = 64;
/// Relations of a graph without classes, at most: of many relations, a thing need not have most.
const RELATIONS: usize = 64;
/// From this probability a relation is what a word asks for.
pub(super) const MEANT: f32 = 0.24;

/// Instances of a class, spread over all of them.
pub(super) fn some_of(kg: &dyn Kg, class: NodeId) -> Vec<NodeId> {
    let members = kg.instances(class);
    let step = members.len().div_ceil(SOME).max(1);
    members.iter().copied().step_by(step).collect()
}

impl Explainer<'_, '_> {
    /// Whether one relation leads from the thing that the question names to others of its class.
    pub(super) fn is_like_topic(&self, state: &State) -> bool {
        let (kg, linked) = (self.session.kg(), self.session.linked());
        let topic = match state.plan.start {
            Start::Entity(at) => linked.entities.get(at),
            _ => None,
        };
        let (Some(&topic), [PlanStep::Walk(_)], Some(&first)) =
            (topic, state.plan.steps.as_slice(), state.nodes.first())
        else {
            return false;
        };
        let classes = kg.types(topic);
        kg.types(first).iter().any(|class| classes.contains(class))
    }

    /// Fills in what relations explain that the linked entities do not have, and other instances of
    /// their classes have.
    pub(super) fn with_others(mut self) -> Self {
        let entities = self.session.linked().entities.clone();
        self.others = (entities.into_iter())
            .map(|one| self.missing_of(one))
            .collect();
        self
    }

    /// What other instances of the entity's classes have and the entity has not: for every content word
    /// the best probability with which one of these relations explains it, and the relations.
    fn missing_of(&mut self, entity: NodeId) -> (Vec<f32>, Vec<Hop>) {
        let session = self.session;
        let kg = session.kg();
        let mut best: Vec<f32> = self.asked.words.iter().map(|_| 0.0).collect();
        let mut hops = Vec::new();
        let own = session.adjacent(&[entity]);
        let classes = kg.types(entity);
        if classes.is_empty() {
            hops = self.missing_of_untyped(entity);
            for hop in &hops {
                let words = self.hop(*hop).words;
                for (best, p) in best.iter_mut().zip(words.iter()) {
                    *best = best.max(*p);
                }
            }
        }
        for class in classes {
            for one in session.adjacent(&some_of(kg, class)) {
                let mutual = self.symmetric(one.relation);
                let has = |mine: &Adjacent| {
                    mine.relation == one.relation && (mutual || mine.out == one.out)
                };
                if !matches!(one.relation, Relation::Plain(_)) || own.iter().any(has) {
                    continue;
                }
                let (relation, way) = (one.relation, if one.out { Way::Out } else { Way::In });
                let hop = Hop { relation, way };
                hops.push(hop);
                let words = self.hop(hop).words;
                for (best, p) in best.iter_mut().zip(words.iter()) {
                    *best = best.max(*p);
                }
            }
        }
        (best, hops)
    }

    /// The relations of the question that an entity without a class has not, and a thing with some of its relations has.
    fn missing_of_untyped(&mut self, entity: NodeId) -> Vec<Hop> {
        let kg = self.session.kg();
        let own = kg.out_relations(entity);
        let relations = kg.relations();
        let mut missing = Vec::new();
        if relations.len() > RELATIONS {
            return missing;
        }
        for &id in relations.iter().filter(|id| !own.contains(id)) {
            let hop = Hop {
                relation: Relation::Plain(id),
                way: Way::Out,
            };
            let words = self.hop(hop).words;
            if !speaks(&words, self) {
                continue;
            }
            let mut shares = false;
            kg.each_pair(id, &mut |head, _| {
                shares = kg.out_relations(head).iter().any(|one| own.contains(one));
                false
            });
            if shares {
                missing.push(hop);
            }
        }
        missing
    }

    /// Whether a plan goes to another thing, which the question does not ask for, and takes from there what
    /// the topic lacks: nobody was born in Lisbon, but somebody in its twin town.
    pub(super) fn takes_from_others(&self, plan: &Plan) -> bool {
        let Start::Entity(entity) = plan.start else {
            return false;
        };
        let Some((_, lacks)) = self.others.get(entity) else {
            return false;
        };
        let walks = plan.steps.iter().map_while(|step| match step {
            PlanStep::Walk(hop) => Some(hop),
            _ => None,
        });
        let said = |hop: &Hop| {
            self.hops
                .get(hop)
                .is_none_or(|way| speaks(&way.words, self))
        };
        let mut unsaid = false;
        let mut walks: Vec<&Hop> = walks.collect();
        if self.leads_to_relative(&walks) {
            return false;
        }
        // Out to something that the topic shares with others, and back to these others.
        if let [out, back, ..] = walks.as_slice()
            && out.relation == back.relation
            && out.way != back.way
            && !(self.asked.others || self.asked.same)
        {
            unsaid = true;
            walks.drain(..2);
        }
        for hop in walks {
            if unsaid && lacks.contains(hop) {
                return true;
            }
            if said(hop) {
                return false;
            }
            unsaid = true;
        }
        false
    }

    /// How many content words a plan leaves unexplained, or explains half as well as a relation that
    /// the entities it uses do not have, and others of their classes have.
    pub(super) fn said_of_others(&self, words: &[f32], entities: u64) -> f32 {
        let missed = |at: usize, p: f32| {
            let of = |(entity, (others, _)): (usize, &(Vec<f32>, Vec<Hop>))| {
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
