//! Small graphs with questions that stand for kinds of graphs and of questions, answered by words alone with entities
//! linked. They are development sets: errors on them were read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kg::term::{NodeId, Term};
use kg::{FrozenKg, GraphFolder, Kg, LoadOptions, QueryAnswer, QueryLimits, parse_query};
use serde_json::Value as Json;
use toolbox::exec::Value;

use crate::explain::tabled;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A term without the quotes of a literal.
fn plain(term: &Term) -> String {
    match term {
        Term::Iri(iri) => iri.clone(),
        Term::Blank(label) => label.clone(),
        Term::Literal(literal) => literal.lexical.clone(),
    }
}

/// The label where the answers of a set are labels: in `years`.
fn named(kg: &FrozenKg, node: NodeId) -> String {
    let label = kg.label(node).filter(|_| !kg.schema().named_by_iris());
    label.unwrap_or_else(|| plain(&kg.term(node)))
}

fn gold(kg: &FrozenKg, question: &Json) -> BTreeSet<String> {
    let Some(sparql) = question["sparql"].as_str() else {
        let answers = question["answers"].as_array().unwrap();
        return answers
            .iter()
            .map(|one| one.as_str().unwrap().to_owned())
            .collect();
    };
    let query = parse_query(sparql).unwrap();
    match kg.query(&query, QueryLimits::default()).unwrap() {
        QueryAnswer::Bool(holds) => [holds.to_string()].into(),
        QueryAnswer::Rows { rows, .. } => rows
            .iter()
            .map(|row| plain(row[0].as_ref().unwrap()))
            .collect(),
    }
}

fn found(kg: &FrozenKg, question: &str) -> (BTreeSet<String>, String) {
    let candidate = tabled(kg, question);
    let program: Vec<String> = candidate.calls.iter().map(ToString::to_string).collect();
    let answer = match &candidate.answer {
        None => BTreeSet::new(),
        Some(Value::Set(set)) => set.iter().map(|&node| named(kg, node)).collect(),
        Some(Value::Int(number)) => [number.to_string()].into(),
        Some(Value::Bool(holds)) => [holds.to_string()].into(),
        Some(Value::Table(table)) => {
            let cells = table.rows().filter_map(|row| row.first());
            cells.map(|cell| cell.text(kg)).collect()
        }
    };
    (answer, program.join("; "))
}

/// The questions of a set that are answered wrong, with what was found, and how many questions there are.
fn wrong(set: &str) -> (Vec<String>, usize) {
    let place = tempfile::tempdir().unwrap();
    let (kg, _) = GraphFolder::load(
        &place.path().join("graph"),
        &[file(&format!("{set}.ttl"))],
        &LoadOptions::default(),
        &|_| {},
    )
    .unwrap();
    let questions = std::fs::read_to_string(file(&format!("{set}.jsonl"))).unwrap();
    let mut wrong = Vec::new();
    for line in questions.lines() {
        let question: Json = serde_json::from_str(line).unwrap();
        let text = question["question"].as_str().unwrap();
        let (found, program) = found(&kg, text);
        let gold = gold(&kg, &question);
        if found != gold {
            wrong.push(format!(
                "{text}\n  gold {gold:?}\n  found {found:?}\n  {program}"
            ));
        }
    }
    (wrong, questions.lines().count())
}

#[test]
fn names_made_from_iris_are_answered() {
    let (wrong, all) = wrong("reef");
    assert!(all >= 30, "{all}");
    assert!(
        wrong.len() <= 4,
        "{} of {all} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn years_before_our_era_limit_answers() {
    let (wrong, all) = wrong("years");
    // Two of them ask for what the graph has not, and are answered by what is next to it.
    assert!(
        wrong.len() <= 2,
        "{} of {all} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
