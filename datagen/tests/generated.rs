//! Programs against gold queries on graphs made from the queries themselves: every variable gets a handful of nodes, every edge holds between
//! some of them, so that wrong directions, lost constraints and sets that say too much all show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;

use datagen::convert::{Context, convert};
use datagen::graph::{Group, Node, QueryGraph, Var, Vocabulary, read_query};
use datagen::refusal::Refusal;
use serde_json::Value as Json;
use toolbox::call::Tool;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Session, Value, run_program};
use toolbox::kg::{Kg, MemoryKg, QueryAnswer, QueryLimits, parse_query};
use toolbox::link::Linked;
use toolbox::term::{Literal, RDF_TYPE, Term};

/// Nodes a variable can be.
const POOL: u64 = 4;
/// Graphs made from one query.
const GRAPHS: u64 = 3;

/// A small generator, so that failures repeat.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

struct Maker<'q> {
    text: &'q str,
    graph: &'q QueryGraph,
    /// Attributes: each owner gets one value, as `FILTER` and `ORDER BY` on several values is left to verification.
    attributes: BTreeSet<Var>,
    dice: Dice,
    triples: Vec<[Term; 3]>,
}

fn iri(text: impl Into<String>) -> Term {
    Term::Iri(text.into())
}

impl Maker<'_> {
    fn pool(&self, node: &Node) -> Vec<Term> {
        match node {
            Node::Var(var) => (0..POOL).map(|i| iri(format!("http://ex.org/node/v{var}n{i}"))).collect(),
            Node::Entity(entity) => vec![iri(entity.as_str())],
            Node::Literal(literal) => vec![Term::Literal(literal.clone())],
        }
    }

    /// A value of an attribute, of the datatype that the query compares it with.
    fn value(&mut self, group: &Group, var: Var) -> Term {
        let roll = self.dice.below(5);
        let compared = group.comparisons.iter().find(|comparison| comparison.var == var).map(|comparison| &comparison.value);
        let value = match compared {
            Some(value) if roll == 0 => value.clone(),
            Some(Literal { datatype: Some(datatype), lexical, .. }) if datatype.ends_with("integer") || datatype.ends_with("float") => {
                let number: f64 = lexical.parse().unwrap_or(10.0);
                Literal {
                    lexical: format!("{:?}", number.trunc() + roll as f64 - 2.5)
                        .replace(if datatype.ends_with("integer") { ".5" } else { "none" }, ""),
                    datatype: Some(datatype.clone()),
                    lang: None,
                }
            }
            Some(Literal { datatype: Some(datatype), .. }) if datatype.ends_with("date") => {
                Literal::xsd(format!("20{roll}5-03-04"), "date")
            }
            Some(Literal { datatype: Some(_), .. }) => Literal::xsd(format!("19{roll}5-03-04T00:00:00Z"), "dateTime"),
            Some(_) => Literal::plain(format!("other {roll}")),
            None if self.text.contains("xsd:float(") => Literal::xsd(format!("{roll}.5"), "float"),
            None if self.text.contains("xsd:integer(") || self.text.contains("MAX(") || self.text.contains("MIN(") => {
                Literal::xsd(roll.to_string(), "integer")
            }
            None => Literal::xsd(format!("19{roll}5-03-04T00:00:00Z"), "dateTime"),
        };
        Term::Literal(value)
    }

    fn group(&mut self, group: &Group) {
        for edge in &group.edges {
            let attribute = edge.object.var().filter(|var| self.attributes.contains(var));
            for subject in self.pool(&edge.subject) {
                for step in &edge.steps {
                    if let Some(var) = attribute {
                        let value = self.value(group, var);
                        if self.dice.below(6) > 0 {
                            self.triples.push([subject.clone(), iri(step.relation.as_str()), value]);
                        }
                        continue;
                    }
                    for object in self.pool(&edge.object) {
                        if self.dice.below(5) < 3 {
                            let (s, o) = if step.forward { (subject.clone(), object) } else { (object, subject.clone()) };
                            self.triples.push([s, iri(step.relation.as_str()), o]);
                        }
                    }
                }
            }
        }
        for (node, class) in &group.classes {
            let typed =
                if self.text.contains("notable_types ") { "http://rdf.freebase.com/ns/common.topic.notable_types" } else { RDF_TYPE };
            let typed = if self.text.contains("type.object.type") { "http://rdf.freebase.com/ns/type.object.type" } else { typed };
            for member in self.pool(node) {
                if self.dice.below(4) > 0 {
                    self.triples.push([member, iri(typed), iri(class.as_str())]);
                }
            }
        }
        for interval in &group.intervals {
            for node in self.pool(&interval.node) {
                for relation in [&interval.from, &interval.to] {
                    let roll = self.dice.below(4);
                    if roll > 0 {
                        let year = interval.value.lexical[..4].parse::<u64>().unwrap() + roll - 2;
                        let date = Term::Literal(Literal::xsd(format!("{year}-05-06T00:00:00Z"), "dateTime"));
                        self.triples.push([node.clone(), iri(relation.as_str()), date]);
                    }
                }
            }
        }
        for branch in group.unions.iter().flatten() {
            self.group(branch);
        }
    }
}

fn attributes(graph: &QueryGraph, group: &Group) -> BTreeSet<Var> {
    let mut found: BTreeSet<Var> = group.comparisons.iter().map(|comparison| comparison.var).collect();
    found.extend(group.ordered.iter().flat_map(|ordered| [ordered.left, ordered.right]));
    found.extend(graph.extreme.map(|(var, _)| var));
    found.extend(group.unions.iter().flatten().flat_map(|branch| attributes(graph, branch)));
    found
}

#[derive(Debug, Default)]
struct Tally {
    graphs: u32,
    compared: u32,
    /// The graph lacks a constant, or a relation is one that planners never see.
    refused: u32,
    differ: u32,
}

fn check(text: &str, seed: u64, tally: &mut Tally) {
    let Ok(query) = parse_query(text) else { return };
    let Ok(graph) = read_query(&query, &Vocabulary::new(None)) else { return };
    // Cycles are closed by sets, rows of COUNT without DISTINCT are rows: both are for verification to judge.
    if convert(&query, &Context::default()).is_err() || text.contains("COUNT(?") {
        return;
    }
    for i in 0..GRAPHS {
        tally.graphs += 1;
        let dice = Dice(seed * 1_000 + i + 1);
        let mut maker = Maker { text, graph: &graph, attributes: attributes(&graph, &graph.group), dice, triples: Vec::new() };
        maker.group(&maker.graph.group.clone());
        let kg = MemoryKg::from_triples(maker.triples);
        let wanted: BTreeSet<String> = match kg.query(&query, QueryLimits::default()) {
            Ok(QueryAnswer::Rows { rows, .. }) => {
                rows.into_iter().filter_map(|mut row| row.remove(0)).map(|term| term.to_string()).collect()
            }
            Ok(QueryAnswer::Bool(truth)) => BTreeSet::from([truth.to_string()]),
            Err(_) => continue,
        };
        if wanted.is_empty() {
            continue;
        }
        tally.compared += 1;
        let program = convert(&query, &Context { kg: Some(&kg), topics: &[] });
        if matches!(program, Err(Refusal::UnknownConstant | Refusal::HiddenRelation)) {
            tally.refused += 1;
            continue;
        }
        let got: Result<BTreeSet<String>, String> = program.as_ref().map_err(|reason| reason.name()).and_then(|program| {
            let nodes: Vec<_> = program.exclude.iter().filter_map(|term| kg.find(term)).collect();
            let options = ExecOptions { exclude: Exclude { nodes, when: ExcludeWhen::Answer }, ..ExecOptions::default() };
            let mut session = Session::new(&kg, "", Linked::default(), &[], options);
            let calls: Vec<_> = program.calls.iter().filter(|call| call.tool != Tool::GetRelation).cloned().collect();
            match run_program(&mut session, &calls) {
                Ok(Value::Set(set)) => Ok(set.iter().map(|&node| kg.term(node).to_string()).collect()),
                Ok(Value::Int(n)) => Ok(BTreeSet::from([Term::Literal(Literal::xsd(n.to_string(), "integer")).to_string()])),
                Ok(Value::Bool(truth)) => Ok(BTreeSet::from([truth.to_string()])),
                Err((step, error)) => Err(format!("step {step}: {error}")),
            }
        });
        let tied = graph.extreme.is_some() && got.as_ref().is_ok_and(|got| wanted.is_subset(got));
        if got.as_ref() != Ok(&wanted) && !tied {
            tally.differ += 1;
            if std::env::var_os("SHOW_DIFFERING").is_some() {
                eprintln!("--- {text}\ngold {wanted:?}\ngot {got:?}");
                if let Ok(program) = &program {
                    program.calls.iter().for_each(|call| eprintln!("{call}"));
                }
            }
        }
    }
}

fn run(file: &str, field: &str, every: usize) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets/gold-sparql").join(file);
    if !path.exists() {
        eprintln!("skipped: {file} is not on this machine");
        return;
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let data: Json = serde_json::from_str(&text).unwrap();
    let mut tally = Tally::default();
    for (i, record) in data.as_array().unwrap().iter().enumerate().step_by(every) {
        check(record[field].as_str().unwrap(), i as u64 + 1, &mut tally);
    }
    eprintln!("{file}: {tally:?}");
    assert!(tally.compared * 2 > tally.graphs, "{tally:?}");
    assert!(tally.differ * 500 <= tally.compared && tally.refused * 20 <= tally.compared, "{tally:?}");
}

#[test]
fn lcquad1_on_its_own_graphs() {
    run("lcquad1-train.json.gz", "sparql_query", 8);
}

#[test]
fn grailqa_on_its_own_graphs() {
    run("grailqa.json.gz", "sparql_query", 1);
}

#[test]
fn cwq_on_its_own_graphs() {
    run("cwq.json.gz", "sparql", 1);
}
