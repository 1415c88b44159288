//! The relations that a plan may follow next. Some graphs have a relation twice, once to things and once
//! with their names as texts (`dbo:spouse` and `dbp:spouse`): the text says nothing more.

use std::sync::Arc;

use kg::value::Kind;

use super::naming::heading_of;
use super::nodes::literal_kind;
use super::plan::{Hop, PlanStep, Start, Way};
use super::state::State;
use super::values::is_value;
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet, Relation};

/// The relations of a plan's set, each with its direction.
pub(super) fn ways(
    state: &State,
    adjacent: &[Adjacent],
    explainer: &Explainer<'_, '_>,
) -> Vec<Hop> {
    // Equal numbers, dates and truths connect nothing, except along the relation that led there:
    // `films of the same year`.
    let value = is_value(explainer.session, &state.nodes);
    let mut ways = Vec::new();
    for one in adjacent {
        if !matches!(one.relation, Relation::Plain(_)) {
            continue;
        }
        let led = matches!(state.plan.steps.last(), Some(PlanStep::Walk(last))
            if last.relation == one.relation && last.way == Way::Out);
        if value && (one.out || !led) {
            continue;
        }
        if !one.out && explainer.heads_elsewhere(state, one.relation) {
            continue;
        }
        let both = explainer.symmetric(one.relation)
            && state.nodes.len() == 1
            && (adjacent.iter())
                .any(|other| other.out != one.out && other.relation == one.relation);
        let way = match (both, one.out) {
            (true, true) => continue,
            (true, false) => Way::Both,
            (false, true) => Way::Out,
            (false, false) => Way::In,
        };
        ways.push(Hop {
            relation: one.relation,
            way,
        });
    }
    ways
}

/// Takes out the relations to texts of which another one with the same name leads to things.
pub(super) fn without_texts(
    explainer: &mut Explainer<'_, '_>,
    reached: Vec<(Hop, EntSet)>,
) -> Vec<(Hop, EntSet)> {
    let session = explainer.session;
    let kinds: Vec<Option<Kind>> = (reached.iter())
        .map(|(_, nodes)| literal_kind(session, nodes))
        .collect();
    let is_text = |at: &usize| kinds[*at] == Some(Kind::Text) && reached[*at].0.way == Way::Out;
    if !(0..reached.len()).any(|at| is_text(&at)) {
        return reached;
    }
    let things: Vec<Arc<str>> = (reached.iter().zip(&kinds))
        .filter(|((hop, _), kind)| kind.is_none() && hop.way != Way::In)
        .map(|((hop, _), _)| explainer.plain_name(hop.relation))
        .collect();
    let mut at = 0;
    let mut kept = reached;
    kept.retain(|(hop, _)| {
        let text = kinds[at] == Some(Kind::Text) && hop.way == Way::Out;
        at += 1;
        !text || things.is_empty() || !things.contains(&explainer.plain_name(hop.relation))
    });
    kept
}

impl Explainer<'_, '_> {
    /// Whether a plan goes from an entity against the word before its mention: what goes `from Rome` does not
    /// arrive there.
    fn heads_elsewhere(&self, state: &State, relation: Relation) -> bool {
        let Start::Entity(entity) = state.plan.start else {
            return false;
        };
        let said = self.asked.heading.get(entity).copied().unwrap_or_default();
        let name = || self.session.relation_name(relation);
        said != 0
            && state.plan.steps.is_empty()
            && heading_of(super::vocabulary::split(&name()).0) == -said
    }

    /// The letters of the last segment of a relation's name, in lower case and without the ending of a plural.
    fn plain_name(&mut self, relation: Relation) -> Arc<str> {
        if let Some(known) = self.plain_names.get(&relation) {
            return Arc::clone(known);
        }
        let name = self.session.relation_name(relation);
        let last = super::vocabulary::split(&name).0;
        let plain: String = (last.chars().filter(|c| c.is_alphanumeric()))
            .flat_map(char::to_lowercase)
            .collect();
        let plain: Arc<str> = plain.strip_suffix('s').unwrap_or(&plain).into();
        self.plain_names.insert(relation, Arc::clone(&plain));
        plain
    }
}
