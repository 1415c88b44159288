//! Rows that say what somebody is: an entrepreneur is a row of `entrepreneur` that leads to a row of `people`, which has the
//! name, the height and the weight.

use kg::term::{NodeId, RelId};
use rustc_hash::FxHashSet;

use super::links::{key_column, referring_column};
use super::plan::{Hop, Way};
use super::state::State;
use super::vocabulary::split;
use super::words::Explainer;
use crate::exec::Relation;

/// From this probability a word says a class.
const SAID: f32 = 0.1;

impl Explainer<'_, '_> {
    /// Whether a relation leads from what somebody is to the person, and the question says what the person is.
    pub(super) fn is_role(&mut self, relation: Relation) -> bool {
        let Relation::Plain(id) = relation else {
            return false;
        };
        if let Some(&known) = self.roles.get(&id) {
            return known;
        }
        let role = self.role_class(id).is_some_and(|class| {
            let said = self.class(class);
            said.iter().any(|p| *p >= SAID)
        });
        self.roles.insert(id, role);
        role
    }

    /// The class of the subjects of a relation, if each is what one person is: it leads to one of its own, by the key of the
    /// people or by its own, and to nothing else, and has no name.
    fn role_class(&self, id: RelId) -> Option<NodeId> {
        /// Rows that are looked at.
        const SOME: usize = 64;
        let kg = self.session.kg();
        let own = referring_column(kg, id)?;
        let mut pairs = Vec::new();
        kg.each_pair(id, &mut |head, tail| {
            pairs.push((head, tail));
            pairs.len() < SOME
        });
        let &(head, tail) = pairs.first()?;
        let heads: FxHashSet<NodeId> = pairs.iter().map(|(head, _)| *head).collect();
        let tails: FxHashSet<NodeId> = pairs.iter().map(|(_, tail)| *tail).collect();
        let relations = kg.out_relations(head);
        let other = |relation: &RelId| *relation != id && referring_column(kg, *relation).is_some();
        let name = |relation: &RelId| split(&kg.name(relation.node())).0.ends_with("name");
        let role = [head, tail]
            .into_iter()
            .any(|row| key_column(kg, row).as_ref() == Some(&own))
            && heads.len() == pairs.len()
            && tails.len() == pairs.len()
            && kg.schema().named_by_iris()
            && !relations.iter().any(|one| other(one) || name(one))
            && kg.out_relations(tail).iter().any(name)
            && self.are_people(&[tail]);
        kg.types(head).into_iter().next().filter(|_| role)
    }

    /// The hop from rows that say what somebody is to the people.
    pub(super) fn role_of(&mut self, rows: &[NodeId]) -> Option<Hop> {
        let kg = self.session.kg();
        let relations = kg.out_relations(*rows.first()?);
        let relation = relations
            .into_iter()
            .map(Relation::Plain)
            .find(|one| self.is_role(*one))?;
        let way = Way::Out;
        Some(Hop { relation, way })
    }
}

impl State {
    /// The state behind a hop between a person and what that person is: nothing new was said.
    pub(super) fn same_as(mut self, before: &Self) -> Self {
        let (tally, old) = (&mut self.tally, &before.tally);
        (tally.hops, tally.incoming, tally.order) = (old.hops, old.incoming, old.order);
        (tally.returns, tally.unasked, tally.unsaid) = (old.returns, old.unasked, old.unsaid);
        tally.asked = old.asked;
        self.class_said |= before.class_said;
        self.last = self.last.max(before.last);
        self.distance = before.distance;
        self
    }
}
