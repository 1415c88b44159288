//! Answers: the value, the program that produced it, the triples that prove it and, if it is empty,
//! the step at which the set became empty.

use serde::{Deserialize, Serialize};

use crate::call::Tool;
use crate::exec::{Cell, Evidence, Observation, Session, Table, Value, evidence, row_evidence};
use crate::explain::segments;
use crate::limits::{ANSWER_MEMBERS, EVIDENCE_ROWS, EVIDENCE_TRIPLES};
use kg::Kg;
use kg::term::{Literal, NodeId, RelId, Term};

/// The source of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// The graph; the evidence proves it.
    Kg,
    /// The model's own knowledge.
    Model,
    /// There is no answer.
    #[default]
    None,
}

/// One member of an answer. The default stands for an empty cell of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Member {
    /// The RDF term.
    pub term: Term,
    /// Its short name in the graph.
    pub name: String,
    /// Its label, or its name if it has no label.
    pub label: String,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            term: Term::Literal(Literal::plain(String::new())),
            name: String::new(),
            label: String::new(),
        }
    }
}

impl Member {
    /// Whether it stands for an empty cell. The empty text of a graph has a name: its quotation
    /// marks.
    #[must_use]
    pub fn is_empty_cell(&self) -> bool {
        self.name.is_empty() && self.label.is_empty()
    }

    fn of(kg: &dyn Kg, node: NodeId) -> Self {
        Self {
            term: kg.term(node),
            name: kg.name(node),
            label: text(kg, node),
        }
    }
}

/// The value of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerValue {
    /// A set of terms, sorted; empty if the graph has no answer.
    Set(Vec<Member>),
    /// A number.
    Number(u64),
    /// A truth value.
    Truth(bool),
    /// A table.
    Table(AnswerTable),
}

impl Default for AnswerValue {
    fn default() -> Self {
        Self::Set(Vec::new())
    }
}

/// A table as an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTable {
    /// The heading of every column.
    pub columns: Vec<String>,
    /// The rows, with as many members as there are columns.
    pub rows: Vec<Vec<Member>>,
    /// Whether the order of the rows was asked for.
    pub ordered: bool,
}

impl AnswerTable {
    fn of(kg: &dyn Kg, table: &Table) -> Self {
        let member = |cell: &Cell| match cell {
            Cell::Node(node) => Member::of(kg, *node),
            Cell::Computed(value) => Member {
                term: Term::Literal(value.literal()),
                name: value.text(),
                label: value.text(),
            },
            Cell::Empty => Member::default(),
        };
        let rows = table.rows().take(ANSWER_MEMBERS);
        let columns = table.columns().iter();
        let columns: Vec<&str> = columns.map(|column| column.heading.as_str()).collect();
        Self {
            columns: plain_headings(&columns),
            rows: rows.map(|row| row.iter().map(member).collect()).collect(),
            ordered: table.is_ordered(),
        }
    }

    /// The labels of every row.
    pub fn labels(&self) -> impl Iterator<Item = Vec<&str>> {
        self.rows
            .iter()
            .map(|row| row.iter().map(|member| member.label.as_str()).collect())
    }
}

/// Separates the cells of a row in a line of text.
pub const CELL_SEPARATOR: &str = " | ";

/// The step at which the set became empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emptied {
    /// Step number, counting from 1.
    pub step: usize,
    /// The call.
    pub call: String,
    /// What was missing, in words.
    pub why: String,
}

/// An evidence triple in readable form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceTriple {
    /// Subject, predicate and object as terms.
    pub triple: [Term; 3],
    /// The same three by label or name; the predicate of an axiom says that it is one.
    pub text: [String; 3],
    /// Whether an axiom of the graph's ontology states it ([`Kg::is_axiom`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub axiom: bool,
}

impl EvidenceTriple {
    pub(crate) fn of(kg: &dyn Kg, (s, p, o): (NodeId, RelId, NodeId)) -> Self {
        let nodes = [s, p.node(), o];
        let axiom = kg.is_axiom(s, p, o);
        let mut text = nodes.map(|node| text(kg, node));
        if axiom {
            text[1].push_str(" (axiom)");
        }
        Self {
            triple: nodes.map(|node| kg.term(node)),
            text,
            axiom,
        }
    }
}

impl AnswerValue {
    /// Whether there is no answer: the empty set or a table without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Set(members) => members.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
            Self::Number(_) | Self::Truth(_) => false,
        }
    }

    /// A value with the names of its members or cells, at most [`ANSWER_MEMBERS`] members or rows.
    #[must_use]
    pub fn of(kg: &dyn Kg, value: &Value) -> Self {
        let member = |&node: &NodeId| Member::of(kg, node);
        match value {
            Value::Set(set) => Self::Set(set.iter().take(ANSWER_MEMBERS).map(member).collect()),
            Value::Table(table) => Self::Table(AnswerTable::of(kg, table)),
            Value::Int(number) => Self::Number(*number),
            Value::Bool(truth) => Self::Truth(*truth),
        }
    }
}

/// What an answer does not write out because it is too large.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerCut {
    /// Number of members, or rows, of the whole answer.
    pub members: usize,
    /// Number of triples of evidence that were found.
    pub evidence: usize,
    /// What is missing, in words.
    pub note: String,
}

/// An answer with its explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The value.
    pub value: AnswerValue,
    /// The executed calls with full names.
    pub program: Vec<String>,
    /// The triples from which the answer can be derived again.
    pub evidence: Vec<EvidenceTriple>,
    /// Of a table, for each of its first rows the triples that this row was made from, as places in
    /// `evidence`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row_evidence: Vec<Vec<usize>>,
    /// The source of the answer.
    pub provenance: Provenance,
    /// For an empty answer, the step that emptied the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Emptied>,
    /// The parts of a very large answer that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<AnswerCut>,
}

impl Answer {
    /// The answer of a session. A session without `end` has none.
    #[must_use]
    pub fn of(session: &Session<'_>) -> Self {
        let kg = session.kg();
        let answer = session.answer();
        let value = answer
            .map(|value| AnswerValue::of(kg, value))
            .unwrap_or_default();
        let none = value.is_empty();
        let proof = if session.answer().is_some() {
            evidence(session)
        } else {
            Evidence {
                complete: true,
                ..Evidence::default()
            }
        };
        let cut = cut(session.answer(), &proof);
        let row_evidence = of_rows(session, &proof);
        Self {
            program: session
                .steps()
                .iter()
                .map(|step| step.call.to_string())
                .collect(),
            evidence: proof
                .triples
                .into_iter()
                .take(EVIDENCE_TRIPLES)
                .map(|triple| EvidenceTriple::of(kg, triple))
                .collect(),
            row_evidence,
            cut,
            provenance: if none {
                Provenance::None
            } else {
                Provenance::Kg
            },
            emptied: if none { emptied(session) } else { None },
            value,
        }
    }

    /// Whether there is no answer.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.provenance == Provenance::None
    }

    /// The members as texts: labels, the number or truth value, or the rows.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        match &self.value {
            AnswerValue::Set(members) => {
                members.iter().map(|member| member.label.clone()).collect()
            }
            AnswerValue::Number(number) => vec![number.to_string()],
            AnswerValue::Truth(truth) => vec![truth.to_string()],
            AnswerValue::Table(table) => {
                table.labels().map(|row| row.join(CELL_SEPARATOR)).collect()
            }
        }
    }
}

/// For the first rows of a table, the places of their triples in the evidence.
fn of_rows(session: &Session<'_>, proof: &Evidence) -> Vec<Vec<usize>> {
    let rows = match session.answer() {
        Some(Value::Table(table)) => table.len().min(EVIDENCE_ROWS),
        _ => 0,
    };
    let places = |row| {
        let triples = row_evidence(session, row).ok()?;
        let known = triples
            .iter()
            .filter_map(|triple| proof.triples.binary_search(triple).ok());
        Some(known.filter(|&place| place < EVIDENCE_TRIPLES).collect())
    };
    // Without time, the table has its evidence and its rows have none of their own.
    (0..rows)
        .map(places)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// What an answer with this value and evidence leaves out.
fn cut(value: Option<&Value>, evidence: &Evidence) -> Option<AnswerCut> {
    let members = match value {
        Some(Value::Set(set)) => set.len(),
        Some(Value::Table(table)) => table.len(),
        _ => 0,
    };
    let triples = evidence.triples.len();
    if members <= ANSWER_MEMBERS && triples <= EVIDENCE_TRIPLES && evidence.complete {
        return None;
    }
    let mut note = Vec::new();
    if members > ANSWER_MEMBERS {
        note.push(format!("the first {ANSWER_MEMBERS} of {members} members"));
    }
    if triples > EVIDENCE_TRIPLES {
        note.push(format!(
            "the first {EVIDENCE_TRIPLES} of {triples} triples of evidence"
        ));
    }
    if !evidence.complete {
        note.push("the evidence does not cover the whole answer".to_owned());
    }
    Some(AnswerCut {
        members,
        evidence: triples,
        note: note.join("; "),
    })
}

/// Headings for people: only the last part of an IRI, or the last two where columns would else be
/// called the same.
fn plain_headings(headings: &[&str]) -> Vec<String> {
    let last_parts = |heading: &str, both: bool| {
        let plain = |word: &str| match segments(word.trim_end_matches(['/', '#'])) {
            _ if !word.contains("://") => word.to_owned(),
            (last, before) if both => format!("{before} {last}"),
            (last, _) => last.to_owned(),
        };
        heading.split(' ').map(plain).collect::<Vec<_>>().join(" ")
    };
    let short: Vec<String> = headings.iter().map(|one| last_parts(one, false)).collect();
    let alone = |one: &String| short.iter().filter(|other| *other == one).count() == 1;
    let named = |(heading, short): (&&str, &String)| match alone(short) {
        true => short.clone(),
        false => last_parts(heading, true),
    };
    headings.iter().zip(&short).map(named).collect()
}

fn text(kg: &dyn Kg, node: NodeId) -> String {
    kg.label(node).unwrap_or_else(|| kg.name(node))
}

fn emptied(session: &Session<'_>) -> Option<Emptied> {
    let steps = session.steps();
    let index = session
        .first_empty()
        .or_else(|| steps.len().checked_sub(1))?;
    let step = &steps[index];
    if step.call.tool == Tool::End {
        // The planner gave up: the relation list before it held nothing relevant to the question.
        if let Some(before) = index
            .checked_sub(1)
            .filter(|&i| matches!(steps[i].observation, Observation::Relations(_)))
        {
            let call = &steps[before].call;
            return Some(Emptied {
                step: before + 1,
                call: call.to_string(),
                why: format!(
                    "none of the relations of {} answers the question",
                    call.args
                        .first()
                        .map_or_else(String::new, ToString::to_string)
                ),
            });
        }
        return Some(Emptied {
            step: index + 1,
            call: step.call.to_string(),
            why: "the program ended without an answer".to_owned(),
        });
    }
    let why = match &step.observation {
        Observation::Relations(_) => "the set has no relations".to_owned(),
        Observation::Value(_) | Observation::Answer(_) if session.answer().is_none() => {
            "no call reached an answer after it".to_owned()
        }
        Observation::Value(_) | Observation::Answer(_) => "the result is empty".to_owned(),
    };
    Some(Emptied {
        step: index + 1,
        call: step.call.to_string(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::plain_headings;

    #[test]
    fn headings_have_no_whole_iris() {
        let customer = "http://store.example/customer#first_name";
        let employee = "http://store.example/employee#first_name";
        assert_eq!(
            plain_headings(&["member", customer]),
            ["member", "first_name"]
        );
        assert_eq!(
            plain_headings(&[customer, employee, "sum http://store.example/invoice#total"]),
            ["customer first_name", "employee first_name", "sum total"]
        );
        assert_eq!(
            plain_headings(&["dbo:name", "ratio / of"]),
            ["dbo:name", "ratio / of"]
        );
    }
}
