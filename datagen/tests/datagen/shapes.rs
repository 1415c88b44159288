//! The 24 worked shapes of rules A.2.6 on their toy graph: the listed programs have the listed
//! answers, and the listed queries convert to the listed programs.

use std::path::PathBuf;

use datagen::convert::{Context, convert};
use kg::term::Term;
use kg::{FrozenKg, Kg, LoadOptions, parse_query};
use toolbox::call::parse_program;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Session, Value, run_program};
use toolbox::link::Linked;

const HEAD: &str = "PREFIX : <http://ex.org/ns/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

#[derive(serde::Deserialize)]
struct Row {
    id: String,
    sparql: String,
    program: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    answer: serde_json::Value,
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn toy() -> FrozenKg {
    FrozenKg::load(&[data("toy.ttl")], &LoadOptions::default(), &|_| {}).unwrap()
}

fn rows() -> Vec<Row> {
    serde_json::from_str(&std::fs::read_to_string(data("shapes.json")).unwrap()).unwrap()
}

fn answer(kg: &FrozenKg, program: &str, exclude: &[String]) -> serde_json::Value {
    let nodes = exclude
        .iter()
        .map(|name| kg.by_name(name).unwrap())
        .collect();
    let options = ExecOptions {
        exclude: Exclude {
            nodes,
            when: ExcludeWhen::Answer,
        },
        ..ExecOptions::default()
    };
    let mut session = Session::new(kg, "", Linked::default(), &[], options).unwrap();
    match run_program(&mut session, &parse_program(program).unwrap()).unwrap() {
        Value::Set(set) => {
            let mut names: Vec<String> = set
                .iter()
                .map(|&node| match kg.term(node) {
                    Term::Literal(literal) => literal.lexical,
                    _ => kg.name(node),
                })
                .collect();
            names.sort();
            names.into()
        }
        Value::Int(n) => n.into(),
        Value::Bool(truth) => truth.into(),
        Value::Table(_) => panic!("no shape makes a table"),
    }
}

#[test]
fn listed_programs_run_to_the_listed_answers() {
    let kg = toy();
    let rows = rows();
    assert_eq!(rows.len(), 24);
    for row in rows {
        assert_eq!(
            answer(&kg, &row.program.join(";\n"), &row.exclude),
            row.answer,
            "{}",
            row.id
        );
    }
}

/// Rules A.2.3 and A.2.6; rule R16 in S13 and S14.
#[test]
fn listed_queries_convert_to_the_listed_programs() {
    let kg = toy();
    let rows = rows();
    // S06b asks the same as S06; synthesis prefers the semi-join.
    let semi_join = rows
        .iter()
        .find(|row| row.id == "S06")
        .unwrap()
        .program
        .clone();
    let mut failures = Vec::new();
    for row in &rows {
        let query = parse_query(&format!("{HEAD}{}", row.sparql)).unwrap();
        let gold = match convert(
            &query,
            &Context {
                kg: Some(&kg),
                topics: &[],
                ..Context::default()
            },
        ) {
            Ok(gold) => gold,
            Err(reason) => {
                failures.push(format!("{}: refused, {reason}", row.id));
                continue;
            }
        };
        let calls: Vec<String> = gold.calls.iter().map(ToString::to_string).collect();
        let wanted = if row.id == "S06b" {
            &semi_join
        } else {
            &row.program
        };
        if calls != *wanted {
            failures.push(format!(
                "{}:\n  {}\nwanted\n  {}",
                row.id,
                calls.join("\n  "),
                wanted.join("\n  ")
            ));
        }
        let exclude: Vec<Term> = row
            .exclude
            .iter()
            .map(|name| Term::Iri(format!("http://ex.org/ns/{name}")))
            .collect();
        assert_eq!(gold.exclude, exclude, "{}", row.id);
        assert_eq!(
            answer(&kg, &calls.join(";\n"), &row.exclude),
            row.answer,
            "{}",
            row.id
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
