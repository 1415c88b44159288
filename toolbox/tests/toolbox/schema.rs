//! Schema extraction (rules R3, R4, R11, R12, R22): aliases, languages, reverses, intervals,
//! statements and learned hidden relations.

use std::fmt::Write as _;
use std::fs;

use kg::term::{NodeId, RelId};
use kg::{FrozenKg, Kg, LoadOptions, Settings, learned};
use toolbox::call::parse_program;
use toolbox::exec::{ExecOptions, Observation, Session, ToolError, Value, run_program};
use toolbox::link::Linked;

const PREFIXES: &str = r#"
@prefix : <http://s.example/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix fb: <http://rdf.freebase.com/ns/> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix s: <http://www.wikidata.org/entity/statement/> .
"#;

fn load(text: &str) -> FrozenKg {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.ttl");
    fs::write(&path, format!("{PREFIXES}{text}")).unwrap();
    FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
}

fn names(kg: &FrozenKg, relations: &[RelId]) -> Vec<String> {
    relations.iter().map(|r| kg.name(r.node())).collect()
}

fn node(kg: &FrozenKg, name: &str) -> NodeId {
    kg.by_name(name)
        .unwrap_or_else(|| panic!("no node `{name}`"))
}

#[test]
fn aliases_are_names_and_stay_visible() {
    let kg = load(
        r#":a rdfs:label "A" ; skos:altLabel "B" ; :nick "C" ; fb:common.topic.alias "D" ; :name "E" ; :nickel "F" ."#,
    );
    assert_eq!(names(&kg, &kg.schema().alias_relations).len(), 4);
    for name in ["A", "B", "C", "D", "E"] {
        assert_eq!(
            kg.label_index()
                .unwrap()
                .candidates(name, 1)
                .unwrap()
                .first()
                .map(|c| c.node),
            Some(node(&kg, "a")),
            "{name}"
        );
    }
    let visible = names(&kg, &kg.out_relations(node(&kg, "a")));
    assert!(
        visible.contains(&"nick".to_owned()) && !visible.contains(&"skos:altLabel".to_owned()),
        "{visible:?}"
    );
}

#[test]
fn label_languages_fall_back_in_the_order_asked_for() {
    let text = r#":a rdfs:label "house"@en, "casa"@pt-br, "Haus"@de, "bare" . :b rdfs:label "nu"@ro, "only" . :c rdfs:label "zwei"@de, "deux"@fr ."#;
    for (languages, labels) in [
        (&["en"][..], ["house", "only", "zwei"]),
        (&["de", "en"], ["Haus", "only", "zwei"]),
        (&["pt", "de"], ["casa", "only", "zwei"]),
        (&["", "en"], ["bare", "only", "zwei"]),
        (&["fr"], ["bare", "only", "deux"]),
    ] {
        let languages = languages.iter().map(|&tag| tag.to_owned()).collect();
        let kg = load(text).with_settings(Settings {
            languages,
            ..Settings::default()
        });
        assert_eq!(
            ["a", "b", "c"].map(|name| kg.label(node(&kg, name)).unwrap()),
            labels
        );
    }
}

#[test]
fn domains_ranges_and_reverses_are_read_both_ways() {
    let kg = load(
        ":capital rdfs:domain :country ; rdfs:range :city ; owl:inverseOf :capital_of . :x :capital :y . :y :capital_of :x .
         wd:P40 wdt:P1696 wd:P22 . :x wdt:P40 :y . :y wdt:P22 :x . :absent owl:inverseOf :capital .",
    );
    let (schema, rel) = (kg.schema(), |name: &str| node(&kg, name).relation());
    assert_eq!(
        schema
            .domain(rel("capital"))
            .map(|n| kg.name(n))
            .collect::<Vec<_>>(),
        ["country"]
    );
    assert_eq!(
        schema
            .range(rel("capital"))
            .map(|n| kg.name(n))
            .collect::<Vec<_>>(),
        ["city"]
    );
    assert_eq!(
        schema.reverse(rel("capital")).collect::<Vec<_>>(),
        [rel("capital_of")],
        "only relations can be reverses"
    );
    assert_eq!(
        schema.reverse(rel("capital_of")).collect::<Vec<_>>(),
        [rel("capital")]
    );
    assert_eq!(
        schema.reverse(rel("wdt:P22")).collect::<Vec<_>>(),
        [rel("wdt:P40")]
    );
}

#[test]
fn r3_a_declared_reverse_is_shown_once() {
    let text = ":r owl:inverseOf :q . :a :r :b . :b :q :a . :c :s :a .";
    for (unify_directions, incoming) in [(false, &["r", "s"][..]), (true, &["s"])] {
        // `a` has r going out and q coming in; `b` q going out and r coming in.
        let kg = load(text).with_settings(Settings {
            unify_directions,
            ..Settings::default()
        });
        let mut session =
            Session::new(&kg, "", Linked::default(), &[], ExecOptions::default()).unwrap();
        let mut call = parse_program("get_relation([a, b])").unwrap();
        let step = session.run(&call.remove(0)).unwrap();
        let Observation::Relations(shown) = &step.observation else {
            panic!("no list")
        };
        let shown = shown.clone();
        let of = |relations: &[toolbox::exec::Relation]| {
            let mut names: Vec<String> = relations
                .iter()
                .map(|&r| session.relation_name(r))
                .collect();
            names.sort();
            names
        };
        assert_eq!(of(&shown.out), ["q", "r"]);
        let incoming_shown = of(&shown.incoming);
        assert_eq!(incoming_shown.contains(&"q".to_owned()), !unify_directions);
        assert!(
            incoming
                .iter()
                .all(|name| incoming_shown.contains(&(*name).to_owned())),
            "{incoming_shown:?}"
        );
    }
}

#[test]
fn r11_intervals_of_every_spelling_and_no_others() {
    let kg = load(
        r#":s1 :stint.from 1 ; :stint.to 2 ; :reign.from_date "1990" ; :reign.to_date "1991" ; :validFrom "2001"^^xsd:gYear ; :validTo "2002"^^xsd:gYear ;
         :activeStartYear "2001"^^xsd:gYear ; :activeEndYear "2004"^^xsd:gYear ; pq:P580 "2001-01-01"^^xsd:date ; pq:P582 "2002-01-01"^^xsd:date ;
         :from :lisbon ; :to :porto ; :start "1999" ; :end "2000" ; :trip_from :lisbon ; :trip_to :porto ; :inherit "1990" ; :inherend "1991" ."#,
    );
    let found: Vec<&str> = kg
        .schema()
        .intervals
        .iter()
        .map(|interval| interval.name.as_str())
        .collect();
    assert_eq!(
        found,
        [
            "active.from_to",
            "pq:P580.from_to",
            "reign.from_to",
            "start.from_to",
            "stint.from_to",
            "validFrom.from_to"
        ]
    );
}

#[test]
fn r12_now_is_a_setting_of_the_graph() {
    let text = r#":a :born "2015-01-01"^^xsd:date . :b :born "2020-01-01"^^xsd:date ."#;
    let older = |now: &str| {
        let kg = load(text).with_settings(Settings {
            now: Some(now.to_owned()),
            ..Settings::default()
        });
        let mut session =
            Session::new(&kg, "", Linked::default(), &[], ExecOptions::default()).unwrap();
        let calls = parse_program("get_relation([a, b]); v0 = get_entity_by_constraint([a, b], born, <, NOW); ans = end(v0)").unwrap();
        match run_program(&mut session, &calls).unwrap() {
            Value::Set(set) => set.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        (
            older("2015-08-10"),
            older("2021-01-01"),
            older("2014-01-01")
        ),
        (1, 2, 0)
    );
    assert!(
        Settings {
            now: Some("soon".to_owned()),
            ..Settings::default()
        }
        .fault()
        .is_some()
    );
    assert!(
        Settings {
            languages: vec!["en glish".to_owned()],
            ..Settings::default()
        }
        .fault()
        .is_some()
    );
    assert_eq!(Settings::default().fault(), None);
}

#[test]
fn r22_statements_are_recognised_and_rejected_as_answers() {
    let kg = load(
        r#":ada rdfs:label "Ada" ; :stints fb:m.0s1 ; p:P54 s:q1-9f ; :twin [ :with :bob ; :since 1999 ] ; :homepage <http://ada.example/> .
         fb:m.0s1 :team :reds ; :year 2001 . s:q1-9f ps:P54 :reds ; pq:P580 "2001" . :reds rdfs:label "Reds" . :bob :likes :reds ; :age 3 .
         :eve :homepage <http://ada.example/> . fb:m.0lone :team :reds . :thing a fb:m.0class . fb:m.0class :x 1 ; :y 2 ."#,
    );
    let statement = |name: &str| kg.is_statement(node(&kg, name));
    assert!(statement("m.0s1") && statement("<http://www.wikidata.org/entity/statement/q1-9f>"));
    assert!(kg.is_statement(kg.tails(node(&kg, "ada"), node(&kg, "twin").relation())[0]));
    for thing in [
        "ada",
        "reds",
        "bob",
        "<http://ada.example/>",
        "m.0lone",
        "m.0class",
        "team",
    ] {
        assert!(!statement(thing), "{thing}");
    }
    assert!(
        !kg.is_statement(kg.tails(node(&kg, "bob"), node(&kg, "age").relation())[0]),
        "a literal is not a statement"
    );

    let end = |refuse_statements| {
        let options = ExecOptions {
            refuse_statements,
            ..ExecOptions::default()
        };
        let mut session = Session::new(&kg, "which team", Linked::default(), &[], options).unwrap();
        run_program(
            &mut session,
            &parse_program("v0 = get_tail_entity(ada, stints); ans = end(v0)").unwrap(),
        )
    };
    assert!(
        matches!(end(true).unwrap_err(), (1, ToolError::Statements { near, .. }) if near.contains(&"team".to_owned()))
    );
    assert!(end(false).is_ok());
}

#[test]
fn r4_record_keys_and_flags_are_learned_and_facts_are_not() {
    let mut text = String::new();
    for i in 0..400_u32 {
        let class = ["city", "river", "person"][i as usize % 3];
        writeln!(
            text,
            ":{class}{i} a :{class} ; rdfs:label \"{class} {i}\" ; :record_id \"r-{i}\" ; :page <http://pages.example/p{i}x> ; :published true ;
             :population {} ; :country :portugal ; :code \"c{i}\" ; :seen \"20{:02}-01-01\"^^xsd:date .",
            i * 7919,
            i % 20,
        )
        .unwrap();
        if i % 2 == 0 {
            writeln!(text, ":{class}{i} :old_id \"o-{i}\" .").unwrap();
        }
    }
    text.push_str(":portugal rdfs:label \"Portugal\" .");
    let kg = load(&text);
    assert_eq!(
        names(&kg, &learned(&kg)),
        ["page", "published", "record_id"]
    );
    // Nothing is learned from small graphs or graphs with a single class.
    let small: String = text.lines().take(60).collect::<Vec<_>>().join("\n");
    assert!(learned(&load(&small)).is_empty());
    assert!(
        learned(&load(
            &text
                .replace("a :river", "a :city")
                .replace("a :person", "a :city")
        ))
        .is_empty()
    );
}
