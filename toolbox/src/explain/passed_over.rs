//! Relations that a question passes over: what is only told about a value, such as its unit.

use kg::term::{NodeId, RelId};
use kg::words;

use super::words::Explainer;
use crate::exec::{Adjacent, Relation, Session};
use crate::rank::stem;

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
}

/// The companions of values (`populationUnit`) that the question does not ask for; sorted.
pub(super) fn passed_over(session: &Session<'_>) -> Vec<RelId> {
    let companions = &session.kg().schema().companions;
    if companions.is_empty() {
        return Vec::new();
    }
    let said: Vec<String> = words(session.plain_question())
        .iter()
        .map(|word| stem(word))
        .collect();
    let asks = |what: &str| said.iter().any(|word| *word == stem(what));
    let asked = |what: &str| match what {
        "year" | "date" => ["when", "year", "date"].into_iter().any(asks),
        _ => asks(what),
    };
    let passed = companions.iter().filter(|one| !asked(&one.what));
    passed.map(|one| one.relation).collect()
}
