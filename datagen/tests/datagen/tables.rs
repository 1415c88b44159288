//! Laws of the extended tools (rules D, D.3): on generated graphs a converted query, its program,
//! and the query made from that program give the same rows. The graphs have ties, missing values,
//! empty groups, repeated values and mixed numeric datatypes.

use std::collections::BTreeSet;

use crate::fingerprint;
use crate::rows::{Rows, of_program, of_query};
use common::acceptor::Acceptor;
use datagen::convert::{Context, convert};
use datagen::pipeline::{GenerateOptions, generate};
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::to_sparql::program_to_query;
use datagen::verify::{VerifyOptions, verify};
use kg::spargebra::Query;
use kg::spargebra::algebra::{GraphPattern, PropertyPathExpression};
use kg::spargebra::term::{NamedNode, TriplePattern, Variable};
use kg::term::{Literal, RDF_TYPE, RDFS_LABEL, Term};
use kg::{FrozenKg, parse_query};
use rayon::prelude::*;
use toolbox::call::{Arg, Call, CallAcceptor, ToolTable};
use toolbox::exec::ExcludeWhen;
use toolbox::prompt::{Layout, Template};

const GRAPHS: u64 = 20;
/// Graphs whose programs must stay as they are.
const SEEN: usize = 4;

const PREFIX: &str = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

/// A query on shops, their staff and their sales.
struct Case<'f> {
    query: &'f str,
    /// Whether the evaluator may choose among rows with equal keys at a LIMIT (`~` in the file).
    ties: bool,
    /// On how many of the graphs it converts and runs, and why not on the others.
    outcome: &'f str,
}

/// The queries of `tests/data/tables.txt`: how often each converts, why not, and the query, with tabs
/// between them.
fn cases(file: &str) -> Vec<Case<'_>> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (outcome, text) = line.rsplit_once('\t').unwrap_or(("", line));
            let query = text.trim_start_matches("~ ");
            let ties = query.len() < text.len();
            Case {
                query,
                ties,
                outcome,
            }
        })
        .collect()
}

const CASES: &str = include_str!("../data/tables.txt");

/// A graph that depends on the seed alone.
fn graph(seed: u64) -> FrozenKg {
    let mut rng = common::rng::Rng::new(seed);
    let iri = |name: String| Term::Iri(format!("http://e/{name}"));
    let relation = |name: &str| Term::Iri(format!("http://e/{name}"));
    let kind = |name: &str| [Term::Iri(RDF_TYPE.to_owned()), iri(name.to_owned())];
    let number = |text: String, local: &str| Term::Literal(Literal::xsd(text, local));
    let label = Term::Iri(RDFS_LABEL.to_owned());
    let mut triples = Vec::new();
    let mut add = |s: &Term, p: Term, o: Term| triples.push([s.clone(), p, o]);
    let shops: Vec<Term> = (0..4).map(|i| iri(format!("shop{i}"))).collect();
    // Places may be within each other in a circle.
    let places: Vec<Term> = (0..5).map(|i| iri(format!("place{i}"))).collect();
    for place in &places {
        for _ in 0..1 + rng.below(2) {
            add(place, relation("within"), places[rng.below(5)].clone());
        }
    }
    let above = relation("above");
    add(
        &iri("Person".to_owned()),
        above.clone(),
        iri("Agent".to_owned()),
    );
    add(
        &iri("Robot".to_owned()),
        above.clone(),
        iri("Agent".to_owned()),
    );
    add(&iri("Agent".to_owned()), above, iri("Thing".to_owned()));
    for shop in &shops {
        let [is, class] = kind("Shop");
        add(shop, is, class);
        add(shop, relation("at"), places[rng.below(5)].clone());
        let name = ["Port Stores", "Corner", "Airport Books"][rng.below(3)];
        add(shop, label.clone(), Term::Literal(Literal::plain(name)));
        if rng.below(2) == 0 {
            add(shop, relation("open"), number("2001".to_owned(), "gYear"));
        }
    }
    let [is, class] = kind("Robot");
    add(&iri("robot".to_owned()), is, class);
    for i in 0..3 + rng.below(9) {
        let person = iri(format!("person{i}"));
        let [is, class] = kind("Person");
        add(&person, is, class);
        // The last shop never has staff.
        for _ in 0..rng.below(3) {
            add(&person, relation("works"), shops[rng.below(3)].clone());
        }
        for _ in 0..[1, 1, 1, 0, 2][rng.below(5)] {
            let date = format!("19{}-0{}-10", 70 + rng.below(20), 1 + rng.below(9));
            add(&person, relation("born"), number(date, "date"));
        }
        if rng.below(4) > 0 {
            let city = ["Porto", "Oslo", "Port Ellen", "Cork"][rng.below(4)];
            add(
                &person,
                relation("city"),
                Term::Literal(Literal::plain(city)),
            );
        }
        if rng.below(4) > 0 {
            let age = 20 + 10 * rng.below(4);
            add(&person, relation("age"), number(age.to_string(), "integer"));
            let limit = 20 + 10 * rng.below(3);
            add(
                &person,
                relation("limit"),
                number(limit.to_string(), "integer"),
            );
        }
        for _ in 0..rng.below(3) {
            let value = rng.below(40);
            let local = ["integer", "decimal", "double"][rng.below(3)];
            let text = match local {
                "integer" => value.to_string(),
                "decimal" => format!("{}.{}", value / 10, value % 10),
                // Halves are exact, so the order of a sum does not matter.
                _ => format!("{value}.5"),
            };
            add(&person, relation("sold"), number(text, local));
        }
    }
    FrozenKg::from_triples(triples)
}

/// How a query converts on the graphs: its outcome, how many of its programs are written back, and
/// what differs.
fn law(case: &Case<'_>, graphs: &[FrozenKg]) -> (String, usize, Vec<String>) {
    let query = parse_query(&format!("{PREFIX}{}", case.query)).unwrap();
    let (mut converted, mut written) = (0, 0);
    let mut reasons: BTreeSet<String> = BTreeSet::new();
    let mut differ = Vec::new();
    for (seed, kg) in graphs.iter().enumerate() {
        let context = Context {
            kg: Some(kg),
            tools: ToolTable::Extended,
            ..Context::default()
        };
        let program = match convert(&query, &context) {
            Ok(program) => program,
            Err(reason) => {
                reasons.insert(format!("{reason:?}"));
                continue;
            }
        };
        let mut gold = of_query(kg, &query).unwrap();
        let Ok(ours) = of_program(kg, &program) else {
            reasons.insert("fails".to_owned());
            continue;
        };
        converted += 1;
        let set = !program.makes_table();
        if set {
            // A set has no repetitions.
            gold.dedup();
        }
        let same = |rows: &Rows| match case.ties {
            // An extreme keeps all equal ones.
            true if set => gold.iter().all(|row| rows.contains(row)),
            true => rows.len() == gold.len(),
            false => *rows == gold,
        };
        let shown = || toolbox::call::print_program(&program.calls);
        if !same(&ours) {
            differ.push(format!(
                "{seed}: {}\n{}\n{ours:?}\n{gold:?}",
                case.query,
                shown()
            ));
        }
        if let Ok(back) = program_to_query(kg, &program.calls, &program.exclude) {
            written += 1;
            let mut back = of_query(kg, &back).unwrap();
            if set {
                back.dedup();
            }
            if !same(&back) {
                let text = case.query;
                differ.push(format!(
                    "{seed}: back of {text}\n{}\n{back:?}\n{gold:?}",
                    shown()
                ));
            }
        }
    }
    let contexts: Vec<Context<'_>> = (graphs.iter().take(SEEN))
        .map(|kg| Context {
            kg: Some(kg),
            tools: ToolTable::Extended,
            ..Context::default()
        })
        .collect();
    let programs = fingerprint::of(&fingerprint::programs(&query, &contexts));
    let mut outcome = vec![format!("{converted}, {written} back, {programs}")];
    outcome.extend(reasons);
    (outcome.join("; "), written, differ)
}

/// The law of rules D.3, and that every query converts as often and to the same programs as it did. `BLESS=1` writes
/// down anew how often that is, and a fingerprint of the programs.
#[test]
fn queries_and_programs_give_the_same_rows_on_generated_graphs() {
    let graphs: Vec<FrozenKg> = (0..GRAPHS).map(graph).collect();
    let cases = cases(CASES);
    let found: Vec<_> = cases.par_iter().map(|case| law(case, &graphs)).collect();
    let differ: Vec<&str> = (found.iter())
        .flat_map(|(_, _, differ)| differ.iter().map(String::as_str))
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
    let mut outcomes = found.iter().map(|(outcome, ..)| outcome);
    if std::env::var_os("BLESS").is_some() {
        let lines = CASES.lines().map(|line| match line.starts_with('#') {
            true => format!("{line}\n"),
            false => {
                let text = line.rsplit('\t').next().unwrap();
                format!("{}\t{text}\n", outcomes.next().unwrap())
            }
        });
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tables.txt");
        std::fs::write(path, lines.collect::<String>()).unwrap();
        return;
    }
    let changed: Vec<String> = (cases.iter().zip(outcomes))
        .filter(|(case, outcome)| case.outcome != outcome.as_str())
        .map(|(case, outcome)| format!("{}\n  was {}\n  is  {outcome}", case.query, case.outcome))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn without_the_extended_tools_nothing_changes() {
    let kg = graph(1);
    let query = "PREFIX : <http://e/> SELECT ?s (COUNT(*) AS ?n) { ?p :works ?s } GROUP BY ?s";
    let query = parse_query(query).unwrap();
    let context = Context {
        kg: Some(&kg),
        ..Context::default()
    };
    assert!(convert(&query, &context).is_err());
    let extended = Context {
        tools: ToolTable::Extended,
        ..context
    };
    // Without a class or an entity there is no start, and the reason of the thirteen tools counts.
    assert_eq!(convert(&query, &extended), convert(&query, &context));
}

#[test]
fn a_program_of_tables_reports_what_it_names() {
    let query = parse_query(&format!(
        "{PREFIX}SELECT ?s (COUNT(*) AS ?n) {{ ?p a :Person . ?p :works ?s . ?p :age ?a FILTER(?a > 20) }} GROUP BY ?s"
    ));
    let kg = graph(1);
    let context = Context {
        kg: Some(&kg),
        tools: ToolTable::Extended,
        ..Context::default()
    };
    let program = convert(&query.unwrap(), &context).unwrap();
    assert_eq!(program.shape, "group");
    assert_eq!(program.classes, [Term::Iri("http://e/Person".to_owned())]);
    let literals: Vec<&str> = (program.literals.iter())
        .map(|literal| literal.lexical.as_str())
        .collect();
    assert_eq!(literals, ["20"]);
}

/// Without a graph, nothing tells what a column holds but the query.
#[test]
fn one_column_of_nodes_is_a_set_without_a_graph_too() {
    let context = Context {
        tools: ToolTable::Extended,
        ..Context::default()
    };
    for (asked, table) in [("?s", false), ("(COUNT(*) AS ?n)", true)] {
        let text = format!(
            "SELECT {asked} {{ ?p a :Person . ?p :works ?s }} GROUP BY ?s HAVING (COUNT(*) > 2)"
        );
        let query = parse_query(&format!("{PREFIX}{text}")).unwrap();
        let program = convert(&query, &context).unwrap();
        assert_eq!(program.makes_table(), table, "{text}: {program:?}");
    }
}

/// The parser writes a sequence as triples; an algebra made by hand may have it as one path.
#[test]
fn sequences_convert_as_their_triples_do() {
    let node = |name: &str| NamedNode::new_unchecked(format!("http://e/{name}"));
    let person = Variable::new_unchecked("p");
    let along = |end: &str| {
        let step = |name| Box::new(PropertyPathExpression::NamedNode(node(name)));
        GraphPattern::Path {
            subject: person.clone().into(),
            path: PropertyPathExpression::Sequence(step("works"), step("at")),
            object: Variable::new_unchecked(end).into(),
        }
    };
    let join = |left: GraphPattern, right: GraphPattern| GraphPattern::Join {
        left: Box::new(left),
        right: Box::new(right),
    };
    let class = GraphPattern::Bgp {
        patterns: vec![TriplePattern {
            subject: person.clone().into(),
            predicate: NamedNode::new_unchecked(RDF_TYPE).into(),
            object: node("Person").into(),
        }],
    };
    let by_hand = Query::Select {
        dataset: None,
        pattern: GraphPattern::Project {
            inner: Box::new(join(join(class, along("a")), along("b"))),
            variables: ["a", "b"].map(Variable::new_unchecked).to_vec(),
        },
        base_iri: None,
    };
    let text = "SELECT ?a ?b { ?p a :Person . ?p :works/:at ?a . ?p :works/:at ?b }";
    let parsed = parse_query(&format!("{PREFIX}{text}")).unwrap();
    let kg = graph(1);
    let context = Context {
        kg: Some(&kg),
        tools: ToolTable::Extended,
        ..Context::default()
    };
    let program = convert(&parsed, &context).unwrap();
    assert_eq!(convert(&by_hand, &context), Ok(program));
}

/// Whether decoding may offer a call: it offers no lists, no literals and no classes as sets, and no column twice.
fn is_offered(call: &Call) -> bool {
    let set = call.args.first().map(Arg::to_string).unwrap_or_default();
    let list = set.starts_with('[') || set.starts_with("<\"");
    let class = matches!(call.args.as_slice(), [Arg::Name(_), Arg::Repeated(..), ..]);
    let twice = |(at, arg): (usize, &Arg)| call.args[..at].contains(arg);
    !list && !class && !call.args.iter().enumerate().any(twice)
}

/// Training data: every call of a table program is one that constrained decoding allows there, and
/// every kept question gives an example (rules D.3).
#[test]
fn programs_of_tables_become_examples_that_decoding_allows() {
    let kg = graph(3);
    let cases = cases(CASES);
    let question = |(i, case): (usize, &Case<'_>)| GoldQuestion {
        id: i.to_string(),
        source: "test".to_owned(),
        question: format!("question {i} with 20, 25, 30, 40 and 1.5, \"or\" and \"po\""),
        query: GoldQuery::Text(format!("{PREFIX}{}", case.query)),
        topics: Vec::new(),
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Never,
    };
    let questions: Vec<GoldQuestion> = cases.iter().enumerate().map(question).collect();
    let template = Template {
        tools: ToolTable::Extended,
        ..Template::new(Layout::Dialogue)
    };
    let options = GenerateOptions {
        template: template.clone(),
        verify: VerifyOptions {
            tools: ToolTable::Extended,
            ..VerifyOptions::default()
        },
        valid: 0.0,
        ..GenerateOptions::default()
    };
    let (mut kept, mut tables) = (0, 0);
    let mut not_allowed = BTreeSet::new();
    for question in &questions {
        let Ok(verified) = verify(&kg, question, &options.verify) else {
            continue;
        };
        kept += 1;
        let added = |call: &Call| !ToolTable::Paper.has(call.tool);
        let extended = verified.gold.calls.iter().any(added);
        tables += usize::from(verified.gold.makes_table());
        let mut session = verified.session(&kg, question, &options.verify).unwrap();
        for call in &verified.gold.calls {
            let written = template.call(&session, call).to_string();
            let acceptor = CallAcceptor::new(session.live(template.naming));
            if extended && is_offered(call) && !acceptor.accepts(&written) {
                not_allowed.insert(written);
            }
            session.run(call).unwrap();
        }
    }
    assert!(not_allowed.is_empty(), "{not_allowed:#?}");
    assert!(tables > cases.len() / 4, "only {tables} tables");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let made = generate(&questions, &kg, &options, &|_, _| {}, &stop).unwrap();
    // A query without an answer gives an example that gives up; some of these are verified too.
    let total = &made.report.total;
    assert!((kept..=kept + total.abstain).contains(&total.verified));
    assert!(made.train.len() >= kept);
    for example in &made.train {
        assert_eq!(example.template_hash, template.hash());
    }
}
