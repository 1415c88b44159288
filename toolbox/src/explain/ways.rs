//! The relations that a plan may follow next. Some graphs have a relation twice, once to things and once
//! with their names as texts (`dbo:spouse` and `dbp:spouse`): the text says nothing more.

use std::sync::Arc;

use kg::search::singular;
use kg::term::NodeId;
use kg::value::Kind;
use kg::words;

use super::naming::heading_of;
use super::nodes::literal_kind;
use super::plan::{Hop, PlanStep, Start, Way};
use super::state::State;
use super::values::is_value;
use super::vocabulary::split;
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet, Relation, Session};
use crate::rank::stem;

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

/// What people call a class of things that is narrower than another one.
const KINDS: [&str; 3] = ["kind", "type", "sort"];

/// Whether a word is what people call a narrower class, in the singular or plural.
pub(super) fn names_kinds(word: &str) -> bool {
    KINDS.contains(&singular(word).as_deref().unwrap_or(word))
}

impl Explainer<'_, '_> {
    /// The relations of a set that a plan may follow: those of the session without what the question passes over.
    pub(super) fn adjacent(&self, nodes: &[NodeId]) -> Vec<Adjacent> {
        let mut all = self.session.adjacent(nodes);
        let passed = |one: &Adjacent| match one.relation {
            Relation::Plain(id) => self.passed_over.binary_search(&id).is_ok(),
            Relation::Interval(_) => false,
        };
        if !self.passed_over.is_empty() {
            all.retain(|one| !passed(one));
        }
        all
    }

    /// Corrects the words of a relation's name by what the graph says of it.
    pub(super) fn by_schema(&self, relation: Relation, own: &mut Vec<String>) {
        let Relation::Plain(id) = relation else {
            return;
        };
        let schema = self.session.kg().schema();
        if schema.is_ontology && schema.superclass_relations.contains(&id) {
            own.extend(KINDS.map(str::to_owned));
        }
        // `parts of` is one phrase.
        if is_of_subject(self.session, relation) {
            let phrases: Vec<String> = own.iter().map(|noun| format!("{noun} of")).collect();
            own.extend(phrases);
        }
    }

    /// Whether the question names a relation such as `part of` right before an entity, which then is the whole: `what is
    /// part of the gut`, not `what is the gut part of`.
    pub(super) fn is_whole_of(&self, relation: Relation, entity: usize) -> bool {
        if !is_of_subject(self.session, relation) {
            return false;
        }
        let span = self.session.linked().span(entity);
        let before = span.and_then(|(start, _)| self.session.plain_question().get(..start));
        let mut before = words(before.unwrap_or(""));
        if before
            .last()
            .is_some_and(|word| matches!(word.as_str(), "the" | "a" | "an"))
        {
            before.pop();
        }
        let (own, _) = self.relation_words(relation);
        matches!(before.as_slice(), [.., noun, of] if of == "of" && own.contains(&stem(noun)))
    }
}

/// Whether the noun of a relation's name says what its subjects are: `part of`, `is member of`.
fn is_of_subject(session: &Session<'_>, relation: Relation) -> bool {
    let Relation::Plain(id) = relation else {
        return false;
    };
    let name = session.relation_name(relation);
    let label = session.kg().label(id.node());
    let name = words(label.as_deref().unwrap_or_else(|| split(&name).0));
    matches!(name.as_slice(), [_, of] | [_, _, of] if of == "of")
}
