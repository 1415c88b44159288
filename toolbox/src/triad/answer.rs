//! The result of a question as an answer with query and evidence, or with the reason why there is
//! none.

use super::fill::FilledQuery;
use super::solve::Solved;
use super::task::TriadFailure;
use crate::answer::{Answer, AnswerValue, Emptied, EvidenceTriple, Provenance, member, text};
use crate::exec::{Session, Value};

/// The answer of a solved query.
#[must_use]
pub fn from_graph(session: &Session<'_>, query: &FilledQuery, solved: &Solved) -> Answer {
    let kg = session.kg();
    let value = match &solved.value {
        Value::Set(set) => AnswerValue::Set(set.iter().map(|&node| member(kg, node)).collect()),
        Value::Int(number) => AnswerValue::Number(*number),
        Value::Bool(truth) => AnswerValue::Truth(*truth),
    };
    let readable = |&(s, p, o): &(_, kg::term::RelId, _)| {
        let nodes = [s, p.node(), o];
        EvidenceTriple {
            triple: nodes.map(|node| kg.term(node)),
            text: nodes.map(|node| text(kg, node)),
        }
    };
    Answer {
        value,
        program: vec![query.text(session)],
        evidence: solved.evidence.iter().map(readable).collect(),
        provenance: Provenance::Kg,
        emptied: None,
    }
}

/// The answer "not in the graph", with the last failure as the reason.
#[must_use]
pub fn none(failures: &[TriadFailure]) -> Answer {
    let last = failures.last();
    let why = last.map_or_else(|| "nothing was tried".to_owned(), ToString::to_string);
    let call = last.map_or_else(String::new, |failure| failure.cause().to_owned());
    Answer {
        value: AnswerValue::Set(Vec::new()),
        program: Vec::new(),
        evidence: Vec::new(),
        provenance: Provenance::None,
        emptied: Some(Emptied {
            step: failures.len(),
            call,
            why: format!("not in the graph: {why}"),
        }),
    }
}
