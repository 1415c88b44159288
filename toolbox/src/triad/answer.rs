//! The result of a question as an answer with query and evidence, or with the reason why there is
//! none.

use super::fill::FilledQuery;
use super::solve::Solved;
use super::task::TriadFailure;
use crate::answer::{Answer, AnswerValue, Emptied, EvidenceTriple, Provenance};
use crate::exec::Session;

/// The answer of a solved query.
#[must_use]
pub fn from_graph(session: &Session<'_>, query: &FilledQuery, solved: &Solved) -> Answer {
    let kg = session.kg();
    Answer {
        value: AnswerValue::of(kg, &solved.value),
        program: vec![query.text(session)],
        evidence: solved
            .evidence
            .iter()
            .map(|&triple| EvidenceTriple::of(kg, triple))
            .collect(),
        provenance: Provenance::Kg,
        ..Answer::default()
    }
}

/// The answer "not in the graph", with the last failure as the reason.
#[must_use]
pub fn none(failures: &[TriadFailure]) -> Answer {
    let last = failures.last();
    let why = last.map_or_else(|| "nothing was tried".to_owned(), ToString::to_string);
    let call = last.map_or_else(String::new, |failure| failure.cause().to_owned());
    Answer {
        emptied: Some(Emptied {
            step: failures.len(),
            call,
            why: format!("not in the graph: {why}"),
        }),
        ..Answer::default()
    }
}
