//! Refused queries with their reasons, and shapes beyond the 24 worked ones, on the toy graph.

use std::path::PathBuf;

use datagen::convert::{Context, GoldProgram, convert};
use datagen::refusal::Refusal;
use kg::term::Term;
use kg::{FrozenKg, LoadOptions, parse_query};

const HEAD: &str = "PREFIX : <http://ex.org/ns/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

fn toy() -> FrozenKg {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/toy.ttl");
    FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
}

fn on(kg: Option<&FrozenKg>, query: &str) -> Result<GoldProgram, Refusal> {
    let kg = kg.map(|kg| kg as &dyn kg::Kg);
    convert(
        &parse_query(&format!("{HEAD}{query}")).unwrap(),
        &Context {
            kg,
            topics: &[],
            ..Context::default()
        },
    )
}

fn lines(program: &GoldProgram) -> Vec<String> {
    program
        .calls
        .iter()
        .filter(|call| call.tool != toolbox::call::Tool::GetRelation)
        .map(ToString::to_string)
        .collect()
}

#[test]
fn constraints_without_effect_on_the_graph_convert() {
    let kg = toy();
    let calls = |query: &str| {
        on(Some(&kg), query)
            .unwrap_or_else(|reason| panic!("{query}: {reason}"))
            .calls
    };
    let program = |query: &str| {
        calls(query)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    // Two teams are in the city, so two or three may be asked for, and one may not.
    let all = "SELECT ?x WHERE { ?x :sports.team.city :m.lx }";
    for limited in [
        format!("{all} LIMIT 2"),
        format!("{all} ORDER BY ?x LIMIT 3"),
    ] {
        assert_eq!(program(&limited), program(all));
    }
    assert_eq!(
        on(Some(&kg), &format!("{all} LIMIT 1")),
        Err(Refusal::Limit)
    );
    assert_eq!(
        on(None, &format!("{all} LIMIT 3")),
        Err(Refusal::Limit),
        "only a graph can tell"
    );
    assert_eq!(
        program("ASK { :m.lions :sports.team.city ?x }"),
        "get_relation(m.lions); v0 = judge(m.lions, sports.team.city, !=, m.lions); ans = end(v0)"
    );
    assert_eq!(
        program("ASK { :m.lions :type.object.type :sports.team }"),
        "get_relation(m.lions); v0 = judge(m.lions, type.object.type, =, sports.team); ans = end(v0)"
    );
    // Either of two attributes is compared.
    let either = "SELECT ?x WHERE { ?x :sports.team.city :m.lx . { ?x :sports.team.founded ?d } UNION { ?x :sports.team.city ?d } FILTER(?d > \"1910-01-01\"^^xsd:date) }";
    let either = program(either);
    assert_eq!(
        either.matches("get_entity_by_constraint(").count(),
        2,
        "{either}"
    );
    let several = program(
        "ASK { :m.rui :sports.athlete.teams ?y . ?y :sports.stint.team ?x . ?x :sports.team.city ?c . :m.lions :sports.team.city ?c }",
    );
    assert!(several.contains("judge("), "{several}");
}

/// Rules A.2.2: queries that no query graph can represent.
#[test]
fn inexpressible_queries_are_refused_with_a_reason() {
    let kg = toy();
    let rows = [
        (
            "SELECT ?x ?y WHERE { ?x :sports.team.city ?y }",
            Refusal::SeveralAnswers,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.lx } LIMIT 1",
            Refusal::Limit,
        ),
        (
            "SELECT ?x WHERE { ?x :type.object.type :sports.team . ?x :sports.team.founded ?n } ORDER BY ?n LIMIT 2",
            Refusal::Limit,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.lx . ?x :sports.team.founded ?n } ORDER BY ?n LIMIT 1 OFFSET 1",
            Refusal::Offset,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.lx . ?x :sports.team.founded ?n } ORDER BY (?n + 1) LIMIT 1",
            Refusal::OrderBy,
        ),
        (
            "SELECT ?c WHERE { ?x :sports.team.city ?c } GROUP BY ?c HAVING (COUNT(?x) > 1)",
            Refusal::GroupBy,
        ),
        (
            "SELECT (AVG(?n) AS ?a) WHERE { ?x :sports.team.capacity ?n }",
            Refusal::Aggregate,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.lx MINUS { ?x :sports.team.capacity ?n } }",
            Refusal::Minus,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.lx FILTER NOT EXISTS { ?x :sports.team.capacity ?n } }",
            Refusal::Minus,
        ),
        (
            "SELECT ?x WHERE { :m.lx :location.city.twin+ ?x }",
            Refusal::PropertyPath,
        ),
        (
            "SELECT ?p WHERE { :m.lions ?p :m.lx }",
            Refusal::VariablePredicate,
        ),
        (
            "SELECT ?x WHERE { ?x ?p ?y . ?x :sports.team.city :m.lx }",
            Refusal::VariablePredicate,
        ),
        (
            "SELECT ?n WHERE { ?x :sports.team.city :m.lx OPTIONAL { ?x :sports.team.capacity ?n } }",
            Refusal::OptionalAnswer,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.lx . ?x :sports.team.capacity ?n FILTER(STRLEN(STR(?n)) > 4) }",
            Refusal::Filter,
        ),
        (
            "SELECT ?t WHERE { :m.lions :type.object.type ?t }",
            Refusal::HiddenRelation,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city ?y }",
            Refusal::NoStart,
        ),
        (
            "SELECT ?x WHERE { ?x :sports.team.city :m.nowhere }",
            Refusal::UnknownConstant,
        ),
        (
            "SELECT ?x WHERE { :m.rui :sports.athlete.teams ?y . ?y :sports.stint.team ?x . ?y :sports.stint.from ?a . ?x :sports.team.founded ?b FILTER(?a > ?b) }",
            Refusal::VariableComparison,
        ),
        ("ASK { ?t :sports.team.city ?x }", Refusal::Unsupported),
        (
            "SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE { ?x :sports.team.city :m.lx . :m.rui :sports.athlete.teams ?y }",
            Refusal::Disconnected,
        ),
    ];
    for (query, reason) in rows {
        assert_eq!(on(Some(&kg), query), Err(reason), "{query}");
    }
    assert_eq!(
        convert(
            &parse_query("DESCRIBE <http://a/b>").unwrap(),
            &Context::default()
        ),
        Err(Refusal::NotSelectOrAsk)
    );
}

#[test]
fn queries_that_would_convert_to_something_else_are_refused() {
    let kg = toy();
    let rows = [
        (
            "SELECT ?p WHERE { :m.lions ?p ?x }",
            Refusal::VariablePredicate,
        ),
        (
            "SELECT ?x WHERE { :m.md ?p ?x . :m.mus1 ?p ?y }",
            Refusal::VariablePredicate,
        ),
        (
            "SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE { ?x :sports.team.city :m.lx FILTER(?x != :m.lions) }",
            Refusal::Filter,
        ),
        // Of two relations the graph has one, which leads away from what is ordered.
        (
            "SELECT ?x WHERE { ?x :type.object.type :location.city . ?x (:unknown|^:location.city.twin) ?n } ORDER BY ?n LIMIT 1",
            Refusal::Extreme,
        ),
    ];
    for (query, reason) in rows {
        assert_eq!(on(Some(&kg), query), Err(reason), "{query}");
    }
}

#[test]
fn cycles_are_tried_only_on_a_graph() {
    let query = "SELECT ?x WHERE { :m.lx :location.city.twin ?x . ?x :location.city.twin ?y . ?y :location.city.country :m.it . ?x :location.city.country ?k . ?k :a ?y }";
    assert_eq!(on(None, query), Err(Refusal::Cycle));
    let kg = toy();
    let parallel = "SELECT ?y WHERE { :m.rui :sports.athlete.teams ?x . ?x :sports.stint.team ?y . ?x :sports.stint.team ?y }";
    let program = on(Some(&kg), parallel).unwrap();
    assert_eq!(
        lines(&program).len(),
        3,
        "a pattern said twice is one pattern: {program:?}"
    );
}

#[test]
fn unions_that_share_more_than_one_variable_are_multiplied_out() {
    let kg = toy();
    let query = "SELECT DISTINCT ?x WHERE { :m.rui :sports.athlete.teams ?y . { ?y :sports.stint.team ?t . ?t :sports.team.city ?x } UNION { ?y :sports.stint.position ?x } }";
    let program = on(Some(&kg), query).unwrap();
    assert_eq!(program.shape, "union");
    assert_eq!(
        lines(&program),
        [
            "v0 = get_tail_entity(m.rui, sports.athlete.teams)",
            "v1 = get_tail_entity(v0, sports.stint.team)",
            "v2 = get_tail_entity(v1, sports.team.city)",
            "v3 = get_tail_entity(m.rui, sports.athlete.teams)",
            "v4 = get_tail_entity(v3, sports.stint.position)",
            "v5 = union(v2, v4)",
            "ans = end(v5)"
        ]
    );
}

/// Rules A.2.3, step e.
#[test]
fn an_extreme_on_an_inner_node_follows_all_constraints() {
    let kg = toy();
    // The latest stint overall is at m.juve, the latest at a team in Lisbon is m.s1 or m.s3.
    let query = "SELECT ?x WHERE { :m.rui :sports.athlete.teams ?y . ?y :sports.stint.from ?n . ?y :sports.stint.team ?x . ?x :sports.team.city :m.lx } ORDER BY DESC(?n) LIMIT 1";
    let program = on(Some(&kg), query).unwrap();
    let calls = lines(&program);
    let extreme = calls
        .iter()
        .position(|call| call.contains("argmax"))
        .unwrap();
    let city = calls
        .iter()
        .position(|call| call.contains("sports.team.city"))
        .unwrap();
    assert!(city < extreme, "{calls:?}");
}

#[test]
fn intervals_are_named_by_the_time_that_they_cover() {
    let half = |op: &str, end: &str, date: &str| {
        format!(
            "FILTER(NOT EXISTS {{?y :sports.stint.{end} ?a{end}}} || EXISTS {{?y :sports.stint.{end} ?b{end} . FILTER(?b{end} {op} \"{date}\"^^xsd:date)}})"
        )
    };
    let rows = [
        ("2011-01-01", "2011-12-31", Ok("2011")),
        ("2011-02-01", "2011-02-28", Ok("2011-02")),
        ("2015-08-10", "2015-08-10", Ok("2015-08-10")),
        ("2011-01-01", "2012-12-31", Err(Refusal::Filter)),
    ];
    for (start, end, wanted) in rows {
        let query = format!(
            "SELECT ?x WHERE {{ :m.rui :sports.athlete.teams ?y . ?y :sports.stint.team ?x . {} {} }}",
            half("<=", "from", end),
            half(">=", "to", start)
        );
        let got = on(None, &query).map(|program| program.literals[0].lexical.clone());
        assert_eq!(got, wanted.map(str::to_owned));
    }
}

#[test]
fn exclusions_classes_and_constants_are_reported() {
    let kg = toy();
    let query = "SELECT DISTINCT ?x WHERE { ?x a :sports.team . ?x :type.object.type :sports.team . FILTER(?x != :m.lions && ?x != ?k) ?x :sports.team.city ?k . VALUES ?k { :m.lx } }";
    let program = on(Some(&kg), &query.replace("?x a :sports.team . ", "")).unwrap();
    let term = |name: &str| Term::Iri(format!("http://ex.org/ns/{name}"));
    assert_eq!(program.exclude, [term("m.lions"), term("m.lx")]);
    assert_eq!(program.constants, [term("m.lx")]);
    // Everything in Lisbon is a team, so the class has no effect here.
    assert_eq!(program.classes, []);
    assert_eq!(
        lines(&program),
        [
            "v0 = get_head_entity(m.lx, sports.team.city)",
            "ans = end(v0)"
        ]
    );
    let strict = on(None, &query.replace("?x a :sports.team . ", "")).unwrap();
    assert_eq!(strict.classes, [term("sports.team")]);
}

#[test]
fn a_program_has_the_shape_of_its_query() {
    for (query, shape) in [
        ("ASK { :m.lions :sports.team.city :m.lx }", "ask"),
        (
            "SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x :sports.team.city :m.lx }",
            "count",
        ),
        (
            "SELECT ?x { ?x :type.object.type :sports.team . ?x :sports.team.founded ?n } ORDER BY ?n LIMIT 1",
            "argmin",
        ),
        (
            "SELECT ?x { { ?x :sports.team.city :m.lx } UNION { ?x :sports.team.city :m.md } }",
            "union",
        ),
        // Either of two relations is a union of sets too.
        (
            "SELECT ?x { :m.lx :location.city.twin|:location.city.country ?x }",
            "union",
        ),
        (
            "SELECT ?x { ?x :sports.team.city :m.lx . ?x :sports.team.founded ?d FILTER(?d > \"1910-01-01\"^^xsd:date) }",
            "filter",
        ),
        (
            "SELECT ?x { ?y :sports.stint.team :m.whites . ?y :sports.stint.position :m.cap . ?x :sports.athlete.teams ?y }",
            "star",
        ),
        ("SELECT ?x { ?x :type.object.type :sports.team }", "class"),
        ("SELECT ?x { :m.lions :sports.team.city ?x }", "chain"),
    ] {
        let program = on(Some(&toy()), query).unwrap();
        assert_eq!(program.shape, shape, "{query}");
    }
}

/// A graph in which one node has relations to others, and others have one relation to another node.
fn star(relations: usize, members: usize) -> FrozenKg {
    let term = |name: String| Term::Iri(format!("http://ex.org/ns/{name}"));
    let out = (0..relations).map(|i| {
        let end = term(format!("end{i}"));
        [term("hub".to_owned()), term(format!("r{i}")), end]
    });
    let of = |name: &str, i: usize, end: &str| {
        let member = term(format!("member{i}"));
        [member, term(name.to_owned()), term(end.to_owned())]
    };
    let male = (0..members).map(|i| of("gender", i, "male"));
    let born = (members - 1..=members).map(|i| of("born", i, "place"));
    FrozenKg::from_triples(out.chain(male).chain(born))
}

#[test]
fn a_variable_predicate_stands_for_at_most_eight_relations() {
    let query = "SELECT ?x { :hub ?p ?x }";
    let program = on(Some(&star(8, 2)), query).unwrap();
    assert_eq!(lines(&program).len(), 8 + 2, "{program:?}");
    assert_eq!(
        on(Some(&star(9, 2)), query),
        Err(Refusal::VariablePredicate)
    );
}

/// Rule R14: a set is tested against an entity that very many have, which is never walked from.
#[test]
fn a_branch_of_very_many_members_becomes_a_test() {
    let query = "SELECT ?x { ?x :born :place . ?x :gender :male }";
    let test = |members: usize| {
        let program = on(Some(&star(1, members)), query).unwrap();
        lines(&program)
            .iter()
            .any(|call| call.contains("get_entity_by_constraint("))
    };
    assert!(!test(1_000));
    assert!(test(1_001));
}

/// The tools see all graphs together.
#[test]
fn a_query_of_a_part_of_the_graph_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("g.trig");
    let text =
        "@prefix : <http://ex.org/ns/> . :m.a :t.r :m.b . :g1 { :m.c :t.r :m.b . :m.d :t.r :m.c }";
    std::fs::write(&file, text).unwrap();
    let kg = FrozenKg::load(&[file], &LoadOptions::default(), &|_| {}).unwrap();
    let whole = on(Some(&kg), "SELECT ?x { ?x :t.r :m.b }").unwrap();
    let both = "SELECT ?x FROM <urn:x-arq:DefaultGraph> FROM :g1 { ?x :t.r :m.b }";
    assert_eq!(lines(&on(Some(&kg), both).unwrap()), lines(&whole));
    for query in [
        "SELECT ?x FROM :g1 { ?x :t.r :m.b }",
        "SELECT ?x FROM NAMED :g1 { ?x :t.r :m.b }",
        "SELECT ?x { GRAPH :g1 { ?x :t.r :m.b } }",
        "SELECT ?x { GRAPH ?g { ?x :t.r :m.b } }",
        "ASK { ?x :t.r :m.b FILTER EXISTS { GRAPH :g1 { ?x :t.r :m.b } } }",
    ] {
        assert_eq!(on(Some(&kg), query), Err(Refusal::NamedGraphs), "{query}");
    }
    // A graph without named graphs is every graph that a query of a published set names.
    let toy = toy();
    let plain = on(Some(&toy), "SELECT ?x { ?x :sports.team.city :m.lx }").unwrap();
    for query in [
        "SELECT ?x FROM <http://dbpedia.org> { ?x :sports.team.city :m.lx }",
        "SELECT ?x { GRAPH <http://dbpedia.org> { ?x :sports.team.city :m.lx } }",
        "SELECT ?x { ?x :sports.team.city :m.lx SERVICE wikibase:label { bd:serviceParam wikibase:language \"en\" } }",
    ] {
        assert_eq!(
            lines(&on(Some(&toy), query).unwrap()),
            lines(&plain),
            "{query}"
        );
    }
    let other = "SELECT ?x { SERVICE <http://other.test/> { ?x :sports.team.city :m.lx } }";
    assert_eq!(on(Some(&toy), other), Err(Refusal::Service));
    assert_eq!(on(None, other), Err(Refusal::Service));
}

#[test]
fn a_refusal_is_told_once() {
    let told = |reason: Refusal, detail: &str| reason.with_detail(detail);
    assert_eq!(
        told(Refusal::GroupBy, "the query uses GROUP BY"),
        "the query uses GROUP BY"
    );
    assert_eq!(told(Refusal::Offset, ""), "the query uses OFFSET");
    assert_eq!(
        told(
            Refusal::Syntax,
            "the query does not parse: line 1, column 2: x"
        ),
        "the query does not parse: line 1, column 2: x"
    );
    assert_eq!(
        told(Refusal::Service, "SERVICE <http://e.test/>"),
        "the query asks another endpoint: SERVICE <http://e.test/>"
    );
}
