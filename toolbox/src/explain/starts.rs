//! Where the search begins: the linked entities, the classes that a question names, and the things that
//! a question compares with an entity.

use kg::term::{NodeId, Term};
use kg::value::{Kind, Op};

use super::plan::{Against, Start, bit};
use super::search::{Search, Searched};
use super::state::State;
use super::values::{classes_with_column, kind_of, measured_classes};
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet};

impl Search<'_> {
    /// The plans without steps.
    pub(super) fn starts(&self, explainer: &mut Explainer<'_, '_>) -> Vec<State> {
        let session = explainer.session;
        let entities = session.linked().entities.clone();
        let mut starts: Vec<State> = entities
            .iter()
            .enumerate()
            .map(|(index, &node)| State::start(Start::Entity(index), [node].into(), explainer))
            .collect();
        if entities.len() > 1 && (explainer.asked.either.is_some() || explainer.asked.any_of) {
            let mut all = entities.clone();
            all.sort_unstable();
            all.dedup();
            starts.push(State::start(Start::Entities, all.into(), explainer));
        }
        // A question that names entities is about them. An adjective may be a value instead of a nation:
        // `Peruvian dishes`.
        let values = &session.linked().values;
        let is_value = |index: usize| {
            let (start, end) = session.linked().span(index).unwrap_or_default();
            let text = &session.plain_question()[start..end];
            values
                .iter()
                .any(|value| value.lexical.eq_ignore_ascii_case(text))
        };
        let only_values = (0..entities.len()).all(is_value);
        let mut classes = match (only_values, self.classes.is_empty()) {
            (false, _) => Vec::new(),
            (true, false) => {
                let mut classes = self.classes.clone();
                // `halls holding 500 people` are no people.
                if !values.is_empty() && explainer.asked.compare.is_some() {
                    let more = measured_classes(explainer);
                    if !more.iter().any(|class| classes.contains(class)) {
                        classes.extend(more);
                    }
                }
                classes
            }
            (true, true) => {
                let mut classes = Vec::new();
                let measured = !values.is_empty();
                let asked = &explainer.asked;
                if measured || asked.compare.is_some() || asked.extreme.is_some() {
                    classes = measured_classes(explainer);
                }
                classes.extend(classes_with_column(explainer));
                classes.extend(session.classes().iter().copied().take(3));
                classes.dedup();
                classes
            }
        };
        if only_values {
            let more = classes_with_texts(explainer);
            classes.extend(
                more.into_iter()
                    .filter(|class| !self.classes.contains(class)),
            );
        }
        if entities.is_empty() {
            starts.extend(self.alike.iter().cloned());
        }
        for class in classes {
            let members = session.kg().instances(class);
            if members.len() <= self.limits.class {
                let members: EntSet = members.into_owned().into();
                starts.push(State::start(Start::Class(class), members, explainer));
            }
        }
        starts
    }

    /// The members with a thing that the question names: statements of the title `governor`, people of
    /// the profession `painter` where the question asks for `painters`.
    pub(super) fn named(
        &self,
        state: &State,
        adjacent: &[Adjacent],
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        let things = !state.statements;
        if things && (state.plan.steps.len() != 1 || explainer.class_named) {
            return;
        }
        for one in adjacent {
            let Some(named) = explainer.said_by_name(one, &state.nodes) else {
                continue;
            };
            if things && !explainer.is_asked_for(named) {
                continue;
            }
            let session = explainer.session;
            let kept = session.satisfying_node(&state.nodes, one.relation, named);
            if !kept.is_empty() && kept.len() < state.nodes.len() {
                let against = Against::Named(named);
                let state = state.compare(one.relation, Op::Eq, against, kept, explainer);
                self.keep(next, state);
            }
        }
    }

    /// Things of an entity's class that have more or less of something than the entity: "countries
    /// larger than Brazil".
    pub(super) fn compared(
        &self,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let session = explainer.session;
        let Some(ops) = explainer.asked.compare.filter(|_| {
            let asked = explainer.asked;
            (asked.than || asked.than_entity.is_some()) && !asked.judge
        }) else {
            return Ok(());
        };
        for (index, &entity) in session.linked().entities.iter().enumerate() {
            let spans = session.linked().span(index).is_some();
            if spans && explainer.asked.than_entity != Some(index) {
                continue;
            }
            for class in session.kg().types(entity) {
                let members = session.kg().instances(class);
                if members.len() > self.limits.set {
                    continue;
                }
                let all: EntSet = members.into_owned().into();
                let start = State::start(Start::Class(class), all, explainer);
                self.against_own(&start, (index, ops), explainer, next)?;
            }
        }
        Ok(())
    }

    /// Members of a set that the entity which the question compares with belongs to, and that have more or less than it: its
    /// director's films `newer than The Piano`.
    pub(super) fn compared_here(
        &self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let asked = explainer.asked;
        let (Some(index), Some(ops), false) = (asked.than_entity, asked.compare, asked.judge)
        else {
            return Ok(());
        };
        let entity = explainer.session.linked().entities[index];
        let unused = state.tally.entities & bit(index) == 0;
        if unused && state.nodes.binary_search(&entity).is_ok() {
            self.against_own(state, (index, ops), explainer, next)?;
        }
        Ok(())
    }

    /// Members of a set that have more or less of something than an entity.
    fn against_own(
        &self,
        start: &State,
        (index, ops): (usize, [Op; 2]),
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) -> Searched {
        let session = explainer.session;
        let entity = session.linked().entities[index];
        for one in session.adjacent(&[entity]).iter().filter(|one| one.out) {
            self.cancel.check()?;
            let op = match kind_of(explainer, one) {
                Some(Kind::Int | Kind::Float | Kind::Quantity) => ops[0],
                Some(Kind::Time) => ops[1],
                _ => continue,
            };
            let own = session.literals(&session.step(entity, one.relation, true));
            let [own] = own.as_slice() else {
                continue;
            };
            let kept = session.satisfying_value(&start.nodes, one.relation, op, own);
            let against = Against::Own(index);
            if !kept.is_empty() {
                let state = start.compare(one.relation, op, against, kept, explainer);
                self.keep(next, state);
            } else if explainer.says_attribute(one.relation) {
                // Nothing is higher than the highest.
                let all = start.nodes.clone();
                self.note(
                    &start.compare(one.relation, op, against, all, explainer),
                    explainer,
                );
            }
        }
        Ok(())
    }
}

/// The classes of the things that have a text of the question: `weddings` are events.
fn classes_with_texts(explainer: &Explainer<'_, '_>) -> Vec<NodeId> {
    const SOME: usize = 3;
    let session = explainer.session;
    let kg = session.kg();
    let texts = session.linked().values.iter();
    let mut found: Vec<NodeId> = Vec::new();
    for text in texts.filter(|text| text.lexical.chars().any(char::is_alphabetic)) {
        let Some(node) = kg.find(&Term::Literal(text.clone())) else {
            continue;
        };
        for one in session.adjacent(&[node]).iter().filter(|one| !one.out) {
            let heads = session.step(node, one.relation, false);
            for class in heads
                .first()
                .map(|&head| kg.types(head))
                .unwrap_or_default()
            {
                if !found.contains(&class) {
                    found.push(class);
                }
            }
        }
    }
    found.truncate(SOME);
    found
}
