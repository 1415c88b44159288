//! The extended tools on a small graph, rule by rule (rules D.1, D.2), and random programs of calls that
//! the acceptor allows.

use common::acceptor::Acceptor;
use common::rng::Rng;
use kg::term::{RDF_TYPE, Term};
use kg::value::DatePart;
use kg::{FrozenKg, Kg};
use toolbox::agent::Agent;
use toolbox::answer::{Answer, AnswerValue};
use toolbox::call::{CallAcceptor, ToolTable, parse_call, parse_program};
use toolbox::exec::{
    Exclude, ExcludeWhen, ExecOptions, Naming, Session, ToolError, Value, run_program,
};
use toolbox::limits::SET_SIZE;
use toolbox::link::Linked;
use toolbox::prompt::{Layout, Template};

use crate::support::graph_of;

pub(crate) const GRAPH: &str = r#"
@prefix : <http://e/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:ann a :Person ; :works :shop1 , :shop2 ; :age 30 ; :city "Porto" ; :limit 20 .
:bob a :Person ; :works :shop1 ; :age 20 ; :city "Oslo" ; :limit 25 .
:cat a :Person ; :works :shop1 ; :age 20 ; :city "Port Ellen" .
:dan a :Person ; :city "Oslo" .
:shop1 a :Shop . :shop2 a :Shop . :shop3 a :Shop .
:ann :born "1980-05-01"^^xsd:date . :bob :born "1991"^^xsd:gYear .
:north :about "A long text about the north, with many words. A long text about the north, with many words. A long text about the north, with many words. A long text about the north, with many words. A long text about the north, with many words. A long text about the north, with many words. A long text about the north, with many words. A long text about the north, with many words. This is its end"@en .
:shop1 :in :north . :north :in :land . :land :in :north .
"#;

pub(crate) fn begin(kg: &FrozenKg, tools: ToolTable) -> Session<'_> {
    let options = ExecOptions {
        tools,
        ..ExecOptions::default()
    };
    let question = "how many persons above 20 work for each shop";
    Session::new(kg, question, Linked::new(kg, question, &[]), &[], options).unwrap()
}

/// The answer of a program: rows by label, or a number.
fn rows(program: &str) -> Result<Vec<String>, ToolError> {
    let kg = graph_of(GRAPH);
    let mut session = begin(&kg, ToolTable::Extended);
    let calls = parse_program(program).unwrap();
    run_program(&mut session, &calls).map_err(|(_, error)| error)?;
    Ok(Answer::of(&session).texts())
}

pub(crate) const PERSONS: &str = "v0 = get_entity_by_type(<http://e/Person>); ";

pub(crate) fn of_persons(rest: &str) -> Result<Vec<String>, ToolError> {
    let rest = rest.replace('@', "http://e/");
    rows(&format!("{PERSONS}{rest}"))
}

/// Programs and their rows.
const EACH_TOOL: &[(&str, &[&str])] = &[
    // D1: difference.
    (
        "v1 = get_entity_by_type(<@Shop>); v2 = get_tail_entity(v0, <@works>); v3 = difference(v1, v2); ans = end(v3)",
        &["shop 3"],
    ),
    // D2: a row per value, and no row without a value.
    (
        "v1 = extend(v0, <@works>); v2 = count(v1); ans = end(v2)",
        &["4"],
    ),
    // D4: groups, with repetitions counted; D6: order.
    (
        "v1 = extend(v0, <@city>); v2 = group(v1, k1, count); v3 = sort(v2, desc k1, asc k0); v4 = columns(v3, k1, k0); ans = end(v4)",
        &["2 | Oslo", "1 | Port Ellen", "1 | Porto"],
    ),
    (
        "v1 = extend(v0, <@age>); v2 = group(v1, sum k1, average k1, min k1, max k1, distinct k1, count); ans = end(v2)",
        &["70 | 23.333333333333333333 | 20 | 30 | 2 | 3"],
    ),
    // D3: values, other columns, sets, texts.
    (
        "v1 = extend(v0, <@age>); v2 = where(v1.k1, >, 20); v3 = count(v2); ans = end(v3)",
        &["1"],
    ),
    (
        "v1 = extend(v0, <@age>); v2 = extend(v1.k0, <@limit>); v3 = where(v2.k1, <, v2.k2); v4 = columns(v3, k1, k2); ans = end(v4)",
        &["20 | 25"],
    ),
    (
        "v1 = extend(v0, <@city>); v2 = where(v1.k1, starts, \"PORT\"); v3 = columns(v2, k1); v4 = sort(v3, asc k0); ans = end(v4)",
        &["Port Ellen", "Porto"],
    ),
    (
        "v1 = extend(v0, <@age>); v2 = group(v1, average k1); v3 = where(v1.k1, >, v2); v4 = columns(v3, k1); ans = end(v4)",
        &["30"],
    ),
    // A table of one cell may hold an entity.
    (
        "v1 = extend(v0, <@works>); v2 = extend(<@bob>, <@works>); v3 = columns(v2, k1); v4 = where(v1.k1, !=, v3); ans = end(v4)",
        &["ann | shop 2"],
    ),
    // D7: the first rows; D8: union of tables.
    (
        "v1 = extend(v0, <@age>); v2 = columns(v1, k1); v3 = sort(v2, asc k0); v4 = first(v3, 2); v5 = union(v4, v4); v6 = count(v5); ans = end(v6)",
        &["4"],
    ),
    // A path that repeats a relation: each node once, circles included.
    (
        "v1 = extend(<@shop1>, + <@in>); v2 = columns(v1, k1); v3 = sort(v2, asc k0); ans = end(v3)",
        &["land", "north"],
    ),
    (
        "v1 = extend(<@north>, * ~<@in>); v2 = columns(v1, k1); v3 = sort(v2, asc k0); ans = end(v3)",
        &["land", "north", "shop 1"],
    ),
    // All of a long text is looked at.
    (
        "v1 = extend(<@north>, <@about>); v2 = where(v1.k1, ends, \"its end\"); v3 = count(v2); ans = end(v3)",
        &["1"],
    ),
    // Parts of dates.
    (
        "v1 = extend(v0, <@born>); v2 = columns(v1, year k1); v3 = sort(v2, asc k0); ans = end(v3)",
        &["1980", "1991"],
    ),
    // The rows after the first.
    (
        "v1 = extend(v0, <@city>); v2 = columns(v1, k1); v3 = sort(v2, asc k0); v4 = first(v3, 1, 2); ans = end(v4)",
        &["Port Ellen"],
    ),
    // A number is a table of one cell; yes or no; one of two sets.
    (
        "v1 = count(v0); v2 = where(v1, >, 3); v3 = exists(v2); v4 = choose(v3, <@shop1>, <@shop2>); ans = end(v4)",
        &["shop 1"],
    ),
    (
        "v1 = count(v0); v2 = where(v1, >, 4); v3 = exists(v2); v4 = choose(v3, <@shop1>, <@shop2>); ans = end(v4)",
        &["shop 2"],
    ),
    (
        "v1 = extend(v0, <@age>); v2 = exists(v1); ans = end(v2)",
        &["true"],
    ),
    // Arithmetic with a column, a number and a count; no row without a result.
    (
        "v1 = extend(v0, <@age>); v2 = extend(v1.k0, <@limit>); v3 = compute(v2.k1, -, v2.k2); v4 = columns(v3, k3); v5 = sort(v4, asc k0); ans = end(v5)",
        &["-5", "10"],
    ),
    (
        "v1 = extend(<@ann>, <@age>); v2 = compute(v1.k1, /, 4); v3 = count(v0); v4 = compute(v2.k2, *, v3); v5 = columns(v4, k2, k3); ans = end(v5)",
        &["7.5 | 30"],
    ),
    (
        "v1 = count(v0); v2 = compute(v1, /, 0); v3 = exists(v2); ans = end(v3)",
        &["false"],
    ),
    (
        "v1 = extend(<@ann>, <@born>); v2 = columns(v1, year k1); v3 = compute(v2.k0, -, 1900); v4 = columns(v3, k1); ans = end(v4)",
        &["80"],
    ),
    // A row without a value: an empty cell is first in order, passes no test and is not counted.
    (
        "v1 = extend(v0, maybe <@age>); v2 = columns(v1, k0, k1); v3 = sort(v2, asc k1, asc k0); v4 = first(v3, 2); ans = end(v4)",
        &["dan | ", "bob | 20"],
    ),
    (
        "v1 = extend(v0, maybe <@age>); v2 = where(v1.k1, !=, 20); v3 = columns(v2, k1); ans = end(v3)",
        &["30"],
    ),
    (
        "v1 = extend(v0, maybe <@age>); v2 = group(v1, count, distinct k1, max k1); ans = end(v2)",
        &["4 | 2 | 30"],
    ),
    (
        "v1 = extend(<@dan>, maybe <@age>); v2 = group(v1, k0, max k1); v3 = extend(v1.k1, maybe <@in>); v4 = count(v3); ans = end(v4)",
        &["1"],
    ),
    // D9: no rows.
    (
        "v1 = extend(v0, <@age>); v2 = where(v1.k1, >, 99); v3 = group(v2, count, sum k1, average k1); ans = end(v3)",
        &["0 | 0 | 0"],
    ),
];

/// Rules D.1 and D.2, a program each.
#[test]
fn each_tool_follows_its_rule() {
    for &(program, wanted) in EACH_TOOL {
        let mut found = of_persons(program).unwrap();
        if program.contains("average") && wanted[0].contains("23.3") {
            // As many digits as the datatype has.
            found[0] = found[0].chars().take(11).collect();
            assert_eq!(found, ["70 | 23.333"], "{program}");
            continue;
        }
        assert_eq!(found, wanted, "{program}");
    }
}

#[test]
fn errors_say_what_would_be_right() {
    for (program, wanted) in [
        (
            "v1 = extend(v0, <@age>); v2 = extend(v1, <@city>)",
            "name one of its columns, v1.k0 to v1.k1",
        ),
        (
            "v1 = extend(v0, <@age>); v2 = extend(v1.k2, <@city>)",
            "its columns are k0 to k1",
        ),
        (
            "v1 = extend(v0, <@city>); v2 = group(v1, sum k1)",
            "needs numbers",
        ),
        (
            "v1 = extend(v0, <@age>); v2 = where(v1.k1, >, 99); v3 = group(v2, max k1)",
            "of no rows has no value",
        ),
        (
            "v1 = extend(v0, <@age>); v2 = union(v1, v0)",
            "the same number of columns",
        ),
        (
            "v1 = extend(v0, <@age>); v2 = compute(v1.k1, +, \"much\")",
            "arithmetic needs a number",
        ),
        (
            "v1 = extend(v0, maybe <@age>); v2 = group(v1, sum k1)",
            "needs numbers",
        ),
        ("v1 = exists(v0); v2 = group(v1, count)", "is a truth value"),
        ("v1 = choose(v0, v0, v0)", "v0 is no truth value"),
        (
            "v1 = extend(v0, <@born>); v2 = columns(v1, day k1)",
            "needs dates with that part; it stopped at",
        ),
        (
            "v1 = extend(v0, <@age>); v2 = group(v1, count); v3 = count(v2.k0)",
            "computed values",
        ),
        ("v1 = extend(v0, <@agee>)", "no member of v0"),
    ] {
        let error = of_persons(program).unwrap_err().to_string();
        assert!(error.contains(wanted), "{program}: {error}");
    }
    let kg = graph_of(GRAPH);
    let mut session = begin(&kg, ToolTable::Paper);
    let calls = parse_program(&format!("{PERSONS} v1 = extend(v0, <http://e/age>)")).unwrap();
    session.run(&calls[0]).unwrap();
    assert_eq!(
        session.run(&calls[1]).unwrap_err(),
        ToolError::NotOffered("extend")
    );
    for bad in [
        "v0 = first(v1, 0)",
        "v0 = sort(v1, k0)",
        "v0 = group(v1, asc k0)",
        "v0 = where(v1.k0, like, 3)",
        "v0 = columns(e0, k0)",
        "v0 = compute(v1.k0, %, 2)",
        "v0 = extend(v1.k0, perhaps r)",
    ] {
        assert!(parse_call(bad).is_err(), "{bad}");
    }
}

/// The answer of a program, which running it on its evidence must give again.
pub(crate) fn with_its_evidence(rest: &str) -> Answer {
    let kg = graph_of(GRAPH);
    let program = format!("{PERSONS}{}", rest.replace('@', "http://e/"));
    let calls = parse_program(&program).unwrap();
    let mut session = begin(&kg, ToolTable::Extended);
    run_program(&mut session, &calls).unwrap();
    let answer = Answer::of(&session);
    let proof = FrozenKg::from_triples(answer.evidence.iter().map(|line| line.triple.clone()));
    assert!(proof.len() < kg.len(), "{program}");
    let mut again = begin(&proof, ToolTable::Extended);
    run_program(&mut again, &calls).unwrap();
    assert_eq!(Answer::of(&again).texts(), answer.texts(), "{program}");
    answer
}

#[test]
fn evidence_of_a_table_is_enough_to_make_it_again() {
    let rows = "v1 = extend(v0, <@works>); v2 = extend(v1.k0, <@age>); v3 = group(v2, k1, average k2); v4 = sort(v3, desc k1); v5 = first(v4, 1); ans = end(v5)";
    let answer = with_its_evidence(rows);
    let AnswerValue::Table(table) = &answer.value else {
        panic!("no table")
    };
    assert!(table.ordered && table.columns.len() == 2);
    let text = serde_json::to_string(&answer).unwrap();
    assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
    for rest in [
        "v1 = extend(<@shop1>, + <@in>); ans = end(v1.k1)",
        "v1 = extend(<@north>, * ~<@in>); ans = end(v1)",
        "v1 = extend(v0, <@born>); v2 = columns(v1, year k1); ans = end(v2)",
        "v1 = extend(v0, maybe <@age>); ans = end(v1)",
        "v1 = extend(<@dan>, maybe <@age>); ans = end(v1)",
        "v1 = extend(v0, <@age>); v2 = compute(v1.k1, *, 2); ans = end(v2)",
        "v1 = get_tail_entity(<@ann>, <@works>); v2 = exists(v1); ans = end(v2)",
        "v1 = extend(<@dan>, <@works>); v2 = exists(v1); ans = end(v2)",
        "v1 = get_tail_entity(<@ann>, <@works>); v2 = get_tail_entity(<@bob>, <@works>); v3 = difference(v2, v1); v4 = exists(v3); ans = end(v4)",
        "v1 = get_tail_entity(<@ann>, <@works>); v2 = count(v1); v3 = where(v2, >, 1); v4 = exists(v3); v5 = choose(v4, <@ann>, <@bob>); ans = end(v5)",
    ] {
        with_its_evidence(rest);
    }
}

/// Rule D.1: each row has the triples that it was made from.
#[test]
fn every_row_has_its_own_evidence() {
    let of_rows = |rest: &str| -> Vec<(String, Vec<String>)> {
        let answer = with_its_evidence(rest);
        let text = |&place: &usize| answer.evidence[place].text.join(" ");
        let own = answer.row_evidence.iter();
        let own = own.map(|row| row.iter().map(text).collect::<Vec<_>>());
        answer.texts().into_iter().zip(own).collect()
    };
    let is = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
    let plain = of_rows("v1 = extend(v0, <@age>); v2 = sort(v1, asc k0); ans = end(v2)");
    assert_eq!(plain.len(), 3);
    assert_eq!(plain[0].0, "ann | 30");
    let short = |texts: &[String]| -> Vec<String> {
        let short = texts.iter().map(|text| text.replace(is, "type"));
        short.map(|text| text.replace("http://e/", "")).collect()
    };
    assert_eq!(short(&plain[0].1), ["ann age 30", "ann type Person"]);
    // A group has the triples of all its rows, and of no others.
    let groups = of_rows(
        "v1 = extend(v0, <@works>); v2 = extend(v1.k0, <@age>); v3 = group(v2, k1, average k2); v4 = sort(v3, desc k1); v5 = first(v4, 1); ans = end(v5)",
    );
    assert_eq!(groups[0].0, "shop 2 | 30");
    assert_eq!(
        short(&groups[0].1),
        ["ann age 30", "ann works shop 2", "ann type Person"]
    );
    // A relation may be followed from any column.
    let second = of_rows(
        "v1 = extend(v0, <@works>); v2 = extend(v1.k1, <@in>); v3 = sort(v2, asc k0); ans = end(v3)",
    );
    assert_eq!(second[1].0, "bob | shop 1 | north");
    assert_eq!(
        short(&second[1].1),
        ["bob works shop 1", "bob type Person", "shop 1 in north"]
    );
    // A set, a number and a truth value have no rows.
    let set = with_its_evidence("ans = end(v0)");
    assert!(set.row_evidence.is_empty() && !set.evidence.is_empty());
}

/// The whole table keeps a triple of a relation that no row has, so that the program can name it.
#[test]
fn a_row_with_an_empty_cell_has_no_triple_of_an_excluded_value() {
    let kg = graph_of("@prefix : <http://e/> . :ann :works :shop1 .");
    let options = ExecOptions {
        tools: ToolTable::Extended,
        exclude: Exclude {
            nodes: vec![kg.by_name("shop1").unwrap()],
            when: ExcludeWhen::EveryStep,
        },
        ..ExecOptions::default()
    };
    let mut session = Session::new(&kg, "", Linked::default(), &[], options).unwrap();
    let program = "v0 = extend(ann, maybe works); ans = end(v0)";
    run_program(&mut session, &parse_program(program).unwrap()).unwrap();
    let answer = Answer::of(&session);
    assert_eq!(answer.texts(), ["ann | "]);
    assert_eq!(answer.evidence.len(), 1);
    assert_eq!(answer.row_evidence, [[0; 0]]);
}

/// A part of a date may be asked of a column only if all its values have it, in every table of a union.
#[test]
fn parts_of_dates_are_offered_where_all_values_have_them() {
    let kg = graph_of(GRAPH);
    let mut session = begin(&kg, ToolTable::Extended);
    let dates = "v1 = extend(v0, <http://e/born>); v2 = columns(v1, k1); v3 = extend(v0, <http://e/age>); v4 = columns(v3, k1); v5 = union(v2, v4); v6 = union(v2, v2)";
    for call in parse_program(&format!("{PERSONS}{dates}")).unwrap() {
        session.run(&call).unwrap();
    }
    let live = session.live(Naming::Mixed);
    let dates = |name: &str| {
        let table = live.tables.iter().find(|table| table.text == name);
        table.unwrap().columns[0].dates
    };
    // One of the two was born in a year without a month.
    assert_eq!(
        (dates("v2"), dates("v6")),
        (Some(DatePart::Year), Some(DatePart::Year))
    );
    assert_eq!((dates("v4"), dates("v5")), (None, None));
    let acceptor = CallAcceptor::new(live);
    assert!(accepts(&acceptor, "v7 = columns(v2, year k0)"));
    assert!(!accepts(&acceptor, "v7 = columns(v2, month k0)"));
    assert!(!accepts(&acceptor, "v7 = columns(v5, year k0)"));
}

/// Whether an acceptor allows a whole text.
pub(crate) fn accepts(acceptor: &CallAcceptor, text: &str) -> bool {
    let mut bytes = text.bytes();
    let end = bytes.try_fold(acceptor.start(), |state, byte| acceptor.step(&state, byte));
    end.is_some_and(|state| acceptor.may_end(&state))
}

/// Number of random calls; `KGAGENT_DECODED=100000` takes minutes.
fn decoded_calls() -> usize {
    let wanted = std::env::var("KGAGENT_DECODED").ok();
    wanted.map_or(5_000, |text| {
        text.parse().expect("KGAGENT_DECODED is a number")
    })
}

#[test]
fn calls_that_the_acceptor_allows_parse_and_fit_their_table() {
    let kg = graph_of(GRAPH);
    let mut rng = Rng::new(7);
    let wanted = decoded_calls();
    let mut decoded = 0;
    let mut tables = 0;
    while decoded < wanted {
        let mut session = begin(&kg, ToolTable::Extended);
        while session.answer().is_none() && decoded < wanted {
            let acceptor = CallAcceptor::new(session.live(Naming::Mixed));
            let (mut state, mut text) = (acceptor.start(), String::new());
            while !acceptor.may_end(&state) {
                let ways = acceptor.continuations(&state);
                let way = &ways[rng.below(ways.len())];
                state = way
                    .bytes()
                    .fold(state, |state, byte| acceptor.step(&state, byte).unwrap());
                text.push_str(way);
            }
            decoded += 1;
            let call = parse_call(&text).unwrap();
            assert_eq!(parse_call(&call.to_string()).unwrap(), call, "{text}");
            // A column keeps the relation list of the column that it comes from, so a relation may
            // have lost its members.
            let lost = |error: &ToolError| {
                matches!(
                    error,
                    ToolError::Comparison(_)
                        | ToolError::UnknownRelation { .. }
                        | ToolError::WrongDirection { .. }
                )
            };
            if let Err(error) = session.run(&call) {
                assert!(lost(&error), "{text}: {error}");
            }
        }
        tables += (0..session.variables())
            .filter(|&i| matches!(session.variable(i), Some(Value::Table(_))))
            .count();
    }
    assert!(tables > wanted / 50, "only {tables} tables");
}

#[test]
fn the_template_of_the_thirteen_keeps_its_hash() {
    let paper = Template::new(Layout::Dialogue);
    let extended = Template {
        tools: ToolTable::Extended,
        ..paper.clone()
    };
    assert_ne!(paper.hash(), extended.hash());
    assert_eq!(Template::by_hash(&extended.hash()), Some(extended));
    assert_eq!(Template::by_hash(&paper.hash()), Some(paper));
    // ODA and Triad decide between programs of these tools if their model knows them.
    for agent in [Agent::Oda, Agent::Triad] {
        let deciding = Template {
            tools: ToolTable::Extended,
            ..Template::of(agent)
        };
        assert_eq!(Template::by_hash(&deciding.hash()), Some(deciding));
    }
}

/// Members of the graph of [`circle`].
const MEMBERS: usize = 3_000;

/// Members of one class that follow each other in a circle, all in one place.
fn circle() -> FrozenKg {
    let iri = |name: String| Term::Iri(format!("http://e/{name}"));
    let mut triples = Vec::new();
    for i in 0..MEMBERS {
        let member = iri(format!("m{i}"));
        triples.push([
            member.clone(),
            Term::Iri(RDF_TYPE.to_owned()),
            iri("M".to_owned()),
        ]);
        triples.push([member.clone(), iri("in".to_owned()), iri("hub".to_owned())]);
        triples.push([
            member,
            iri("next".to_owned()),
            iri(format!("m{}", (i + 1) % MEMBERS)),
        ]);
    }
    FrozenKg::from_triples(triples)
}

/// Groups of groups, tables of tables, unions of unions: limits end them (rule D.1).
#[test]
fn hostile_programs_end_in_typed_errors() {
    let kg = circle();
    let start = "v0 = get_entity_by_type(<http://e/M>)";
    // The calls of a program, which ends with an error or at the limit of calls.
    let run = |calls: &dyn Fn(usize) -> String| -> ToolError {
        let mut session = begin(&kg, ToolTable::Extended);
        session.run(&parse_call(start).unwrap()).unwrap();
        (1..1_000)
            .find_map(|i| session.run(&parse_call(&calls(i)).unwrap()).err())
            .expect("an endless program")
    };
    let too_large = |error: &ToolError| matches!(error, ToolError::TooLarge { .. });
    let too_long = |error: &ToolError| matches!(error, ToolError::Steps { .. });
    // Every pair of members, then every three.
    let error = run(&|i| match i {
        1 => "v1 = extend(v0, <http://e/in>)".to_owned(),
        i => format!("v{i} = extend(v{}.k{}, ~<http://e/in>)", i - 1, i - 1),
    });
    assert!(too_large(&error), "{error}");
    // Everything that everything reaches along a circle.
    let error = run(&|i| format!("v{i} = extend(v0, + <http://e/next>)"));
    assert!(too_large(&error), "{error}");
    // Every member compared with every member.
    let error = run(&|i| format!("v{i} = judge(v0, <http://e/next>, =, v0)"));
    assert!(too_large(&error), "{error}");
    // Twice as many rows with every call.
    let error = run(&|i| match i {
        1 => "v1 = columns(v0, k0, k0)".to_owned(),
        i => format!("v{i} = union(v{}, v{})", i - 1, i - 1),
    });
    assert!(too_large(&error), "{error}");
    // Wider tables with every call.
    let error = run(&|i| {
        let keys = vec!["k0"; 8 << i.min(9)].join(", ");
        format!("v{i} = columns(v{}, {keys})", i - 1)
    });
    assert!(too_large(&error), "{error}");
    // Groups of groups, with computed values.
    let error = run(&|i| match i {
        1 => "v1 = group(v0, k0, count)".to_owned(),
        i => format!(
            "v{i} = group(v{}, k0, k1, count, sum k1, average k1)",
            i - 1
        ),
    });
    assert!(too_large(&error) || too_long(&error), "{error}");
    // Tables of tables of one cell, and a choice of choices.
    let error = run(&|i| match i {
        1 => "v1 = count(v0)".to_owned(),
        2 => "v2 = group(v1, count)".to_owned(),
        i => format!("v{i} = group(v{}, k0, count, sum k0)", i - 1),
    });
    assert!(too_long(&error), "{error}");
    let error = run(&|i| match i {
        1 => "v1 = exists(v0)".to_owned(),
        2 => "v2 = choose(v1, v0, v0)".to_owned(),
        i => format!("v{i} = choose(v1, v{}, v0)", i - 1),
    });
    assert!(too_long(&error), "{error}");
}

#[test]
fn a_table_may_be_as_large_as_the_limit() {
    let kg = circle();
    let rows = 2_500;
    let wide = |width: usize| {
        let keys = vec!["k0"; width].join(", ");
        let program = format!(
            "v0 = get_entity_by_type(<http://e/M>); v1 = first(v0, {rows}); v2 = columns(v1, {keys}); v3 = count(v2); ans = end(v3)"
        );
        let mut session = begin(&kg, ToolTable::Extended);
        let calls = parse_program(&program).unwrap();
        run_program(&mut session, &calls).map_err(|(_, error)| error)
    };
    let most = SET_SIZE / rows;
    assert_eq!(wide(most), Ok(Value::Int(2_500)));
    assert_eq!(wide(most + 1), Err(ToolError::TooLarge { limit: SET_SIZE }));
}
