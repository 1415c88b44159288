//! Proposing and deciding on a small graph: one question or two for each shape of program, in
//! casual words, with the tables and weights that ship; and properties of every list of candidates.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::cancel::Cancel;
use kg::term::{NodeId, Term};
use kg::{FrozenKg, Kg};
use toolbox::answer::Answer;
use toolbox::call::ToolTable;
use toolbox::exec::{ExecOptions, Session, Value, evidence, run_program};
use toolbox::explain::{
    Candidate, ProposeError, Proposer, SearchLimits, TERMS, TermWeights, Terms, WordTables, decide,
};
use toolbox::limits::QUESTION_VALUES;
use toolbox::link::{self, Linked};
use toolbox::rank::{RankError, lexical};

use crate::support::graph_of;

/// Countries, cities, rivers, and films whose actors stand behind nodes without a label.
const GRAPH: &str = r#"
@prefix : <http://atlas.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:country rdfs:label "country" . :city rdfs:label "city" . :river rdfs:label "river" .
:film rdfs:label "film" . :person rdfs:label "person" .
:norland a :country ; rdfs:label "Norland" ; :capital :arvik ; :area 400000 ; :population 5000000 ; :official_language :norish .
:sudonia a :country ; rdfs:label "Sudonia" ; :capital :meroza ; :area 90000 ; :population 20000000 ; :official_language :sudish .
:westria a :country ; rdfs:label "Westria" ; :capital :kalden ; :area 250000 ; :population 9000000 ; :official_language :norish .
:eastmark a :country ; rdfs:label "Eastmark" ; :capital :tolvo ; :area 30000 ; :population 700000 ; :official_language :sudish .
:norish rdfs:label "Norish" . :sudish rdfs:label "Sudish" .
:arvik a :city ; rdfs:label "Arvik" ; :country :norland ; :population 600000 ; :mayor :hanna .
:belsund a :city ; rdfs:label "Belsund" ; :country :norland ; :population 250000 ; :mayor :otto .
:meroza a :city ; rdfs:label "Meroza" ; :country :sudonia ; :population 3000000 ; :mayor :pilar .
:kalden a :city ; rdfs:label "Kalden" ; :country :westria ; :population 1200000 ; :mayor :emil .
:tolvo a :city ; rdfs:label "Tolvo" ; :country :eastmark ; :population 90000 ; :mayor :greta .
:sarn a :river ; rdfs:label "Sarn" ; :length 1200 ; :country :norland ; :mouth :grey_sea .
:ulm a :river ; rdfs:label "Ulmer Water" ; :length 340 ; :country :norland ; :mouth :grey_sea .
:dorra a :river ; rdfs:label "Dorra" ; :length 800 ; :country :sudonia ; :mouth :red_sea .
:vell a :river ; rdfs:label "Vell" ; :length 95 ; :country :norland ; :mouth :red_sea .
:grey_sea rdfs:label "Grey Sea" . :red_sea rdfs:label "Red Sea" .
:lanterns a :film ; rdfs:label "Paper Lanterns" ; :film.directed_by :ines ; :film.release_year "1984"^^xsd:gYear ; :film.starring :p1, :p2 ; :film.genre :drama .
:harbour a :film ; rdfs:label "Cold Harbour" ; :film.directed_by :ines ; :film.release_year "1992"^^xsd:gYear ; :film.starring :p3 ; :film.genre :thriller .
:orchard a :film ; rdfs:label "The Glass Orchard" ; :film.directed_by :marek ; :film.release_year "2005"^^xsd:gYear ; :film.starring :p4, :p5 ; :film.genre :drama .
:meridian a :film ; rdfs:label "Meridian Nine" ; :film.directed_by :ines ; :film.release_year "2011"^^xsd:gYear ; :film.starring :p6 ; :film.genre :drama .
:drama rdfs:label "drama" . :thriller rdfs:label "thriller" .
:p1 :performance.actor :lena ; :performance.character :c1 .
:p2 :performance.actor :bruno ; :performance.character :c2 .
:p3 :performance.actor :lena ; :performance.character :c3 .
:p4 :performance.actor :bruno ; :performance.character :c4 .
:p5 :performance.actor :sofia ; :performance.character :c5 .
:p6 :performance.actor :sofia ; :performance.character :c6 .
:c1 rdfs:label "Widow Tarn" . :c2 rdfs:label "Captain Holt" . :c3 rdfs:label "Agent Quill" .
:c4 rdfs:label "Old Gardener" . :c5 rdfs:label "Mirela" . :c6 rdfs:label "Navigator" .
:ines a :person ; rdfs:label "Ines Valdera" ; :place_of_birth :kalden ; :date_of_birth "1950-03-02"^^xsd:date ; :spouse :marek .
:marek a :person ; rdfs:label "Marek Solan" ; :place_of_birth :arvik ; :date_of_birth "1961-11-20"^^xsd:date .
:lena a :person ; rdfs:label "Lena Brandt" ; :place_of_birth :tolvo ; :date_of_birth "1958-05-05"^^xsd:date .
:bruno a :person ; rdfs:label "Bruno Castel" ; :place_of_birth :meroza ; :date_of_birth "1947-01-30"^^xsd:date .
:sofia a :person ; rdfs:label "Sofia Renn" ; :place_of_birth :meroza ; :date_of_birth "1979-09-09"^^xsd:date .
:hanna a :person ; rdfs:label "Hanna Lind" . :otto a :person ; rdfs:label "Otto Berg" .
:pilar a :person ; rdfs:label "Pilar Ortez" . :emil a :person ; rdfs:label "Emil Kranz" .
:greta a :person ; rdfs:label "Greta Molin" .
"#;

fn graph() -> FrozenKg {
    graph_of(GRAPH)
}

/// A session of the question, linked by its words.
fn session<'g>(kg: &'g FrozenKg, question: &str) -> Session<'g> {
    let entities = link::entities_of(kg, question, lexical().as_ref()).unwrap();
    let linked = Linked::new(kg, question, &entities);
    Session::new(kg, question, linked, &[], ExecOptions::default()).unwrap()
}

/// The candidates of a question with the tables and weights that ship.
fn proposed(kg: &FrozenKg, question: &str, limits: SearchLimits, most: usize) -> Vec<Candidate> {
    proposed_with(kg, question, WordTables::base(), limits, most)
}

fn proposed_with(
    kg: &FrozenKg,
    question: &str,
    tables: Arc<WordTables>,
    limits: SearchLimits,
    most: usize,
) -> Vec<Candidate> {
    let session = session(kg, question);
    Proposer::new(&session, tables)
        .propose(&TermWeights::default(), limits, most)
        .unwrap()
}

/// Candidates of a question in agents.
const MOST: usize = 20;

fn usual(kg: &FrozenKg, question: &str) -> Vec<Candidate> {
    proposed(kg, question, SearchLimits::default(), MOST)
}

/// A value as sorted names and values, a number or a truth value; `-` if there is no value.
fn text(kg: &FrozenKg, value: Option<&Value>) -> String {
    let name = |node| match kg.term(node) {
        Term::Literal(literal) => literal.lexical,
        Term::Iri(_) | Term::Blank(_) => kg.name(node),
    };
    match value {
        None => "-".to_owned(),
        Some(Value::Set(set)) => {
            let mut names: Vec<String> = set.iter().map(|&node| name(node)).collect();
            names.sort();
            names.join(" ")
        }
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Bool(truth)) => truth.to_string(),
        Some(Value::Table(_)) => "a table".to_owned(),
    }
}

fn decided(kg: &FrozenKg, question: &str, tables: Arc<WordTables>) -> String {
    let candidates = proposed_with(kg, question, tables, SearchLimits::default(), MOST);
    let chosen = decide(&candidates, &TermWeights::default()).unwrap();
    text(kg, candidates[chosen].answer.as_ref())
}

/// Decides each question and compares the answers.
fn check(cases: &[(&str, &str)]) {
    check_on(&graph(), cases);
}

fn check_on(kg: &FrozenKg, cases: &[(&str, &str)]) {
    for (question, answer) in cases {
        let found = decided(kg, question, WordTables::base());
        assert_eq!(found, *answer, "{question}");
    }
}

/// A program without the calls that only list relations.
fn program(candidate: &Candidate) -> Vec<String> {
    (candidate.calls.iter())
        .map(ToString::to_string)
        .filter(|call| !call.starts_with("get_relation"))
        .collect()
}

/// How often a program calls the tools of one name.
fn uses(candidate: &Candidate, tool: &str) -> usize {
    let called = |call: &&String| call.contains(&format!("= {tool}("));
    program(candidate).iter().filter(called).count()
}

fn walks(candidate: &Candidate) -> usize {
    uses(candidate, "get_tail_entity") + uses(candidate, "get_head_entity")
}

/// Checks that proposing ends with its error soon after the deadline, and when it is cancelled.
fn stops<T: std::fmt::Debug>(
    limit: Duration,
    propose: impl Fn(ExecOptions) -> Result<T, ProposeError>,
) {
    let begun = Instant::now();
    let late = propose(ExecOptions {
        deadline: limit,
        ..ExecOptions::default()
    });
    assert_eq!(
        late.unwrap_err().to_string(),
        format!("the question ran past its deadline of {limit:?}")
    );
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
    let cancel = Cancel::default();
    cancel.cancel();
    let stopped = propose(ExecOptions {
        cancel,
        ..ExecOptions::default()
    });
    assert_eq!(
        stopped.unwrap_err().to_string(),
        "the question was cancelled"
    );
}

/// Questions of all shapes.
const ALL: &[&str] = &[
    "what's the capital of Norland",
    "where was the director of The Glass Orchard born?",
    "what movies has Lena Brandt been in",
    "how many films did Ines Valdera direct",
    "what's the most recent movie by Ines Valdera",
    "which rivers are longer than 500 km",
    "movies by Ines Valdera released before 2000",
    "films directed by Ines Valdera starring Sofia Renn",
    "which is longer, the Sarn or the Dorra",
    "is Arvik the capital of Norland?",
    "how many rivers are in Norland",
    "list all countries",
    "rivers longer than the Dorra",
    "who was married to Marek Solan",
    "who directed Tolvo",
];

#[test]
fn a_relation_is_followed() {
    check(&[
        ("what's the capital of Norland", "arvik"),
        ("hey who is the mayor of Belsund?", "otto"),
        ("when did Meridian Nine come out", "2011"),
        ("how long is the Sarn", "1200"),
        ("whos the director of Cold Harbor", "ines"),
    ]);
}

#[test]
fn two_relations_are_followed() {
    check(&[
        ("where was the director of The Glass Orchard born?", "arvik"),
        ("who's the mayor of the capital of Sudonia", "pilar"),
        ("in which country was Bruno Castel born", "sudonia"),
    ]);
}

#[test]
fn chains_lead_through_nodes_without_labels() {
    check(&[
        ("who acted in Paper Lanterns", "bruno lena"),
        ("what movies has Lena Brandt been in", "harbour lanterns"),
    ]);
}

#[test]
fn things_are_counted() {
    check(&[
        ("how many films did Ines Valdera direct", "3"),
        ("how many rivers are in Norland", "3"),
        ("how many movies did Lena Brandt act in", "2"),
    ]);
}

#[test]
fn extremes_are_found() {
    check(&[
        ("what is the longest river", "sarn"),
        ("what's the most recent movie by Ines Valdera", "meridian"),
        ("first film of Ines Valdera", "lanterns"),
        ("which country has the smallest area", "eastmark"),
        ("youngest person", "sofia"),
        ("which is longer, the Sarn or the Dorra", "sarn"),
        ("who is older, Ines Valdera or Marek Solan", "ines"),
    ]);
}

#[test]
fn values_are_compared_with_those_of_the_question() {
    check(&[
        ("which rivers are longer than 500 km", "dorra sarn"),
        ("rivers under 400", "ulm vell"),
        ("countries with more than 8000000 people", "sudonia westria"),
        ("which films came out before 1990", "lanterns"),
        ("which films came out after 2000", "meridian orchard"),
        ("films released in 1992", "harbour"),
        (
            "movies by Ines Valdera released before 2000",
            "harbour lanterns",
        ),
    ]);
}

#[test]
fn two_conditions_are_met_together() {
    check(&[
        (
            "films directed by Ines Valdera starring Sofia Renn",
            "meridian",
        ),
        (
            "movies with Bruno Castel directed by Marek Solan",
            "orchard",
        ),
        ("rivers in Norland that flow into the Grey Sea", "sarn ulm"),
        (
            "which drama movies did Ines Valdera direct",
            "lanterns meridian",
        ),
    ]);
}

#[test]
fn yes_and_no_are_answers() {
    check(&[
        ("is Arvik the capital of Norland?", "true"),
        ("is Kalden the capital of Norland", "false"),
        ("did Ines Valdera direct Cold Harbour", "true"),
        ("did Ines Valdera direct The Glass Orchard", "false"),
    ]);
}

#[test]
fn classes_are_listed() {
    check(&[
        ("list all countries", "eastmark norland sudonia westria"),
        ("name every river", "dorra sarn ulm vell"),
    ]);
}

#[test]
fn things_are_compared_with_a_thing_of_their_class() {
    check(&[
        ("countries larger than Eastmark", "norland sudonia westria"),
        ("countries with a larger area than Westria", "norland"),
        ("rivers longer than the Dorra", "sarn"),
        ("rivers shorter than the Dorra", "ulm vell"),
    ]);
}

#[test]
fn questions_that_nothing_answers_are_given_up() {
    check(&[
        ("who directed Tolvo", "-"),
        ("what's the soup recipe of the Grey Sea", "-"),
        ("colour of the flag of Eastmark", "-"),
    ]);
}

#[test]
fn the_class_that_is_asked_for_is_the_answer() {
    check(&[
        (
            "films by the director of Cold Harbour",
            "harbour lanterns meridian",
        ),
        ("number of films by Ines Valdera", "3"),
    ]);
}

#[test]
fn two_things_are_compared_by_yes_or_no() {
    check(&[
        ("is the Sarn longer than the Dorra?", "true"),
        ("is the Dorra longer than the Sarn?", "false"),
    ]);
}

/// Parts as an export of a property graph has them, and people as in a Wikibase.
const EXPORTS: &str = r#"
@prefix : <http://parts.example/> .
@prefix wd: <http://base.example/entity/> .
@prefix wdt: <http://base.example/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:part rdfs:label "Part" .
:pump :IS_A :part ; rdfs:label "Pump" ; :spare 1 ; :price 90 ; :LAUNCHED "2021-02-01"^^xsd:date .
:valve :IS_A :part ; rdfs:label "Valve" ; :spare 0 ; :price 40 ; :LAUNCHED "2020-06-30"^^xsd:date .
:motor :IS_A :part ; rdfs:label "Motor" ; :spare 1 ; :price 40 ; :LAUNCHED "2019-11-05"^^xsd:date .
wd:P7 rdfs:label "place of birth"@en . wd:P8 rdfs:label "mentor"@en ; skos:altLabel "guru"@en .
wd:Q1 rdfs:label "Ada Brook"@en ; wdt:P7 wd:Q3 ; wdt:P8 wd:Q2 .
wd:Q2 rdfs:label "Tom Reed"@en ; wdt:P7 wd:Q3 .
wd:Q3 rdfs:label "Larkham"@en .
"#;

#[test]
fn exports_of_other_stores_are_understood() {
    let kg = graph_of(EXPORTS);
    for (question, answer) in [
        ("list all parts", "motor pump valve"),
        ("which parts are spare?", "motor pump"),
        ("parts launched after 1 March 2020", "pump valve"),
        ("where was Ada Brook born", "Q3"),
        ("guru of Ada Brook", "Q2"),
    ] {
        let decided = decided(&kg, question, WordTables::base());
        let names: Vec<&str> = decided
            .split(' ')
            .map(|name| name.rsplit([':', '/']).next().unwrap())
            .collect();
        assert_eq!(names.join(" "), answer, "{question}");
    }
}

#[test]
fn equal_numbers_connect_nothing() {
    let kg = graph_of(EXPORTS);
    let candidates = usual(&kg, "what else costs as much as the Valve");
    let back = |one: &Candidate| {
        let walked: Vec<String> = program(one);
        let out = walked
            .iter()
            .any(|call| call.contains("get_tail_entity") && call.contains("price"));
        let other = walked
            .iter()
            .any(|call| call.contains("get_head_entity") && !call.contains("price"));
        out && other
    };
    assert!(!candidates.iter().any(back));
}

#[test]
fn tables_explain_the_words_of_a_question() {
    let kg = graph();
    let known = "who was married to Marek Solan";
    assert_eq!(decided(&kg, known, WordTables::base()), "ines");
    assert_eq!(decided(&kg, known, Arc::default()), "-");

    let invented = "who glorped Cold Harbour";
    assert_eq!(decided(&kg, invented, WordTables::base()), "-");
    let learned = "kgagent word tables 1\nq\tdirect\tglorp\t20\nr\tglorp\tdirect\t10\n";
    let tables = WordTables::base().with(&WordTables::parse(learned).unwrap());
    assert_eq!(decided(&kg, invented, Arc::new(tables)), "ines");
}

/// The decision on a question about one given thing.
fn about(kg: &FrozenKg, question: &str, things: &[&str]) -> (String, Vec<Candidate>) {
    let nodes: Vec<NodeId> = things
        .iter()
        .map(|iri| kg.find(&Term::Iri((*iri).to_owned())).unwrap())
        .collect();
    let linked = Linked::new(kg, question, &nodes);
    let session = Session::new(kg, question, linked, &[], ExecOptions::default()).unwrap();
    let candidates = Proposer::new(&session, WordTables::base())
        .propose(&TermWeights::default(), SearchLimits::default(), MOST)
        .unwrap();
    let chosen = decide(&candidates, &TermWeights::default()).unwrap();
    (text(kg, candidates[chosen].answer.as_ref()), candidates)
}

/// A graph made from tables: rows with keys, of which only some have a text.
const TABLES: &str = r#"
@prefix cars: <http://t.example/cars#> .
@prefix makes: <http://t.example/makes#> .
<http://t.example/makes/makeid=7> a <http://t.example/makes> ; makes:make "blue comet" ; makes:makeid 7 .
<http://t.example/makes/makeid=8> a <http://t.example/makes> ; makes:make "red arrow" ; makes:makeid 8 .
<http://t.example/cars/id=1> a <http://t.example/cars> ; cars:ref-make <http://t.example/makes/makeid=7> ; cars:weight 1200 ; cars:horsepower 90 .
<http://t.example/cars/id=2> a <http://t.example/cars> ; cars:ref-make <http://t.example/makes/makeid=8> ; cars:weight 1500 ; cars:horsepower 110 .
"#;

#[test]
fn a_row_is_mentioned_by_its_text_and_rows_without_a_name_connect() {
    let kg = graph_of(TABLES);
    let comet = "http://t.example/makes/makeid=7";
    let (answer, candidates) = about(&kg, "how heavy is the blue comet", &[comet]);
    assert_eq!(answer, "1200");
    let rows = |one: &Candidate| text(&kg, one.answer.as_ref()).contains("cars/id=");
    assert!(
        !candidates.iter().any(rows),
        "a row that connects is no answer"
    );
    let compared = |one: &Candidate| program(one).iter().any(|call| call.contains("blue comet"));
    assert!(!candidates.iter().any(compared), "its name is no condition");
}

/// An inn as its database was exported: rows with keys, columns as relations, no labels.
const INN: &str = r#"
@base <http://inn.example/db/> .
<room/room_no=307> a <room> ; <room#room_no> 307 ; <room#wing> "West" ; <room#floor> 3 ; <room#ref-kind> <kind/code=S> .
<room/room_no=212> a <room> ; <room#room_no> 212 ; <room#wing> "West" ; <room#floor> 2 ; <room#ref-kind> <kind/code=D> .
<room/room_no=101> a <room> ; <room#room_no> 101 ; <room#wing> "East" ; <room#floor> 1 ; <room#ref-kind> <kind/code=D> .
<kind/code=S> a <kind> ; <kind#code> "S" ; <kind#kind_name> "Garden Suite" ; <kind#price> 300 .
<kind/code=D> a <kind> ; <kind#code> "D" ; <kind#kind_name> "Double" ; <kind#price> 120 .
<cook/id=1> a <cook> ; <cook#first_name> "Ada" ; <cook#last_name> "Brook" ; <cook#hired> "2019-04-01" ; <cook#birth_date> "1980-02-03" .
<cook/id=2> a <cook> ; <cook#first_name> "Tom" ; <cook#last_name> "Reed" ; <cook#hired> "2021-09-12" .
"#;

#[test]
fn rows_of_tables_have_the_names_that_people_use() {
    let kg = graph_of(INN);
    for (question, answer) in [
        ("room 307 which wing", "West"),
        ("when was Ada Brook born", "1980-02-03"),
        ("when was Tom Reed hired?", "2021-09-12"),
        // Of others the graph says when they were born.
        ("when was Tom Reed born", "-"),
    ] {
        assert_eq!(
            decided(&kg, question, WordTables::base()),
            answer,
            "{question}"
        );
    }
    let room = link::entities_of(&kg, "the room with the best wing", lexical().as_ref()).unwrap();
    assert!(room.is_empty(), "the room is none of the rooms: {room:?}");
}

/// A firm: codes of countries, people with flags, dishes with parts that have no name, cases with codes.
const FIRM: &str = r#"
@prefix : <http://firm.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ana a :Person ; rdfs:label "Ana Berg" ; :countryCode "NO" ; :worksRemotely true ; :reportsTo :kim ; :hired "2019-05-01"^^<http://www.w3.org/2001/XMLSchema#date> .
:bo a :Person ; rdfs:label "Bo Lund" ; :countryCode "SE" ; :worksRemotely false ; :reportsTo :kim ; :hired "2021-05-01"^^<http://www.w3.org/2001/XMLSchema#date> .
:kim a :Person ; rdfs:label "Kim Dahl" ; :countryCode "NO" ; :worksRemotely true ; :hired "2012-05-01"^^<http://www.w3.org/2001/XMLSchema#date> .
:stew a :Dish ; rdfs:label "Fish Stew" ; :category "soup" ; :cuisine "Norwegian" ; :nutrition :stew_n .
:broth a :Dish ; rdfs:label "Leek Broth" ; :category "soup" ; :cuisine "Swedish" ; :nutrition :broth_n .
:tart a :Dish ; rdfs:label "Plum Tart" ; :category "cake" ; :cuisine "Norwegian" ; :nutrition :tart_n .
:stew_n a :Nutrition ; :calories 410 ; :grams 300 . :broth_n a :Nutrition ; :calories 90 ; :grams 250 .
:tart_n a :Nutrition ; :calories 520 ; :grams 150 .
:c1 a :Incident ; rdfs:label "INC-2155 mail outage" ; :cause "power" ; :handler :ana .
:c2 a :Incident ; rdfs:label "INC-2198 web outage" ; :cause "disk" ; :handler :bo .
"#;

#[test]
fn codes_flags_and_parts_of_things_are_understood() {
    let kg = graph_of(FIRM);
    for (question, answer) in [
        ("list the norwegian people", "ana kim"),
        ("people from Sweden", "bo"),
        ("list the people who work remotely", "ana kim"),
        ("the people who report to Kim Dahl", "ana bo"),
        ("how many calories does the Fish Stew have", "410"),
        ("list the soups", "broth stew"),
        ("who was hired in 2021", "bo"),
    ] {
        let decided = decided(&kg, question, WordTables::base());
        assert_eq!(decided, answer, "{question}");
    }
    let about_part = usual(&kg, "nutrition of the Plum Tart");
    let part = |one: &Candidate| text(&kg, one.answer.as_ref()).contains("tart_n");
    assert!(
        !about_part.iter().any(part),
        "a part without a name is no answer"
    );
}

#[test]
fn the_key_of_another_row_stands_for_that_row() {
    let kg = graph_of(
        r#"
@base <http://air.example/db/> .
<flight/id=1> a <flight> ; <flight#no> "NV1" ; <flight#plane_id> 7 ; <flight#ref-plane_id> <plane/id=7> .
<flight/id=2> a <flight> ; <flight#no> "NV2" ; <flight#plane_id> 8 ; <flight#ref-plane_id> <plane/id=8> .
<plane/id=7> a <plane> ; <plane#id> 7 ; <plane#model> "Heron" .
<plane/id=8> a <plane> ; <plane#id> 8 ; <plane#model> "Stork" .
"#,
    );
    let found = decided(&kg, "which plane flew NV1", WordTables::base());
    assert_eq!(found, "7");
}

#[test]
fn equal_texts_connect_things_only_if_the_question_says_so() {
    let kg = graph_of(INN);
    let back = |question: &str| {
        let candidates = usual(&kg, question);
        candidates.iter().any(|one| {
            let calls = program(one).join(" ; ");
            calls.contains("get_tail_entity")
                && calls.contains("get_head_entity")
                && calls.contains("wing")
        })
    };
    assert!(back("rooms in the same wing as room 307"));
    assert!(!back("price of room 307 by wing"));
}

#[test]
fn an_extreme_is_of_the_things_that_are_asked_for() {
    check(&[
        ("biggest city in Norland", "arvik"),
        ("the second biggest city in Norland", "arvik"),
    ]);
    let kg = graph();
    let question = "the second longest river in Norland";
    let entities = link::entities_of(&kg, question, lexical().as_ref()).unwrap();
    let options = ExecOptions {
        tools: ToolTable::Extended,
        ..ExecOptions::default()
    };
    let linked = Linked::new(&kg, question, &entities);
    let session = Session::new(&kg, question, linked, &[], options).unwrap();
    let weights = TermWeights::default();
    let candidates = Proposer::new(&session, WordTables::base())
        .propose(&weights, SearchLimits::default(), MOST)
        .unwrap();
    let chosen = decide(&candidates, &weights).unwrap();
    assert_eq!(text(&kg, candidates[chosen].answer.as_ref()), "ulm");
}

/// A graph without classes, in which years are whole numbers.
const UNTYPED: &str = r#"
@prefix : <http://f.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:lanterns rdfs:label "Paper Lanterns" ; :directed_by :ines ; :written_by :marek ; :has_genre :drama ; :release_year 1984 ; :in_language :norish .
:harbour rdfs:label "Cold Harbour" ; :directed_by :ines ; :written_by :ines ; :has_genre :thriller ; :release_year 1992 ; :in_language :norish .
:ines rdfs:label "Ines Valdera" ; :child :lena . :lena rdfs:label "Lena Valdera" ; :child :otto .
:otto rdfs:label "Otto Valdera" .
:marek rdfs:label "Marek Solan" . :drama rdfs:label "drama" . :thriller rdfs:label "thriller" .
:norish rdfs:label "Norish" .
"#;

/// Countries without classes; one has three relations with the same word.
const CURRENCIES: &str = r#"
@prefix : <http://money.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:tavoria rdfs:label "Tavoria" ; :currency_used :tal ; :currency_of_wages :tal ; :currency_of_exports :tal ; :languages_spoken :tavorian ; :capital :orm .
:belland rdfs:label "Belland" ; :currency_used :mark ; :languages_spoken :bellish ; :capital :dun .
:tal rdfs:label "Taler" . :mark rdfs:label "Mark" . :tavorian rdfs:label "Tavorian" . :bellish rdfs:label "Bellish" .
:orm rdfs:label "Orm" . :dun rdfs:label "Dun" .
"#;

/// Music with names of relations as Freebase has them, and relations that are there twice as in DBpedia.
const MUSIC: &str = r#"
@prefix : <http://music.example/> .
@prefix o: <http://music.example/ontology/> .
@prefix p: <http://music.example/property/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:anna rdfs:label "Anna Marl" ; :__music__artist__track :rain ; :__music__recording__artist :duo .
:rain rdfs:label "Rain on Tin" ; :__music__release_track__release :first .
:duo rdfs:label "The Marl Duo" . :first rdfs:label "First Light" .
:anna o:spouse :ted ; p:spouse "Theodore Quint" ; p:code "E0" ; o:residence :hill ; o:party :greens .
:ted rdfs:label "Ted Quint" ; o:party :blues . :greens rdfs:label "The Greens" .
:blues rdfs:label "The Blues" . :hill rdfs:label "Fern Hill" .
"#;

#[test]
fn three_relations_of_one_word_do_not_say_what_a_thing_is() {
    let kg = graph_of(CURRENCIES);
    for question in [
        "In the country where Tavorian is spoken, what money do they use?",
        "what currency do they use where Tavorian is spoken",
    ] {
        let (found, _) = about(&kg, question, &["http://money.example/tavorian"]);
        assert_eq!(found, "tal", "{question}");
    }
}

#[test]
fn relations_said_one_after_another_have_a_step_each() {
    let kg = graph_of(MUSIC);
    for (question, answer) in [
        ("what is the release of Anna Marl 's track ?", "first"),
        ("what is Anna Marl 's track ?", "rain"),
        ("what is the party of the spouse of Anna Marl", "blues"),
        ("what is the party of Anna Marl", "greens"),
    ] {
        let (found, _) = about(&kg, question, &["http://music.example/anna"]);
        assert_eq!(found, answer, "{question}");
    }
}

#[test]
fn a_text_beside_a_thing_of_the_same_relation_is_no_answer() {
    let kg = graph_of(MUSIC);
    let (found, _) = about(
        &kg,
        "who is the spouse of Anna Marl",
        &["http://music.example/anna"],
    );
    assert_eq!(found, "ted");
}

#[test]
fn the_mention_of_an_entity_leaves_no_value_behind() {
    let kg = graph_of(MUSIC);
    let session = session(&kg, "was Anna Marl there");
    assert_eq!(session.linked().entities.len(), 1);
    assert!(
        session.linked().values.is_empty(),
        "{:?}",
        session.linked().values
    );
}

#[test]
fn things_without_a_class_are_known_by_their_relations() {
    let kg = graph_of(UNTYPED);
    let (answer, _) = about(&kg, "norish movies", &["http://f.example/norish"]);
    assert_eq!(answer, "harbour lanterns");
}

#[test]
fn years_written_as_numbers_are_times() {
    let kg = graph_of(UNTYPED);
    let both = ["http://f.example/lanterns", "http://f.example/harbour"];
    for (question, film) in [
        (
            "which is older, Paper Lanterns or Cold Harbour?",
            "lanterns",
        ),
        ("which is newer, Paper Lanterns or Cold Harbour?", "harbour"),
    ] {
        assert_eq!(about(&kg, question, &both).0, film, "{question}");
    }
}

#[test]
fn only_symmetric_relations_are_followed_both_ways() {
    let kg = graph_of(UNTYPED);
    let (answer, candidates) = about(&kg, "children of Lena Valdera", &["http://f.example/lena"]);
    assert_eq!(answer, "otto");
    assert!(candidates.iter().all(|one| uses(one, "union") == 0));
}

#[test]
fn calls_run_again_in_a_new_session_give_the_answer() {
    let kg = graph();
    for question in ALL {
        let candidates = usual(&kg, question);
        let (last, answered) = candidates.split_last().unwrap();
        assert!(!answered.is_empty(), "{question}");
        for candidate in answered {
            let mut again = session(&kg, question);
            let value = run_program(&mut again, &candidate.calls).unwrap();
            assert_eq!(Some(&value), candidate.answer.as_ref(), "{question}");
            assert!(!value.is_empty(), "{question}");
        }
        let mut again = session(&kg, question);
        let value = run_program(&mut again, &last.calls).unwrap();
        assert!(value.is_empty() && last.answer.is_none(), "{question}");
    }
}

#[test]
fn no_candidate_is_proposed_twice_and_the_best_come_first() {
    let kg = graph();
    let weights = TermWeights::default();
    for question in ALL {
        let candidates = proposed(&kg, question, SearchLimits::default(), 500);
        let programs: BTreeSet<Vec<String>> = (candidates.iter())
            .map(|one| one.calls.iter().map(ToString::to_string).collect())
            .collect();
        assert_eq!(programs.len(), candidates.len(), "{question}");
        let answered = &candidates[..candidates.len() - 1];
        let falls =
            |pair: &[Candidate]| weights.score(&pair[0].terms) >= weights.score(&pair[1].terms);
        assert!(answered.windows(2).all(falls), "{question}");
    }
}

#[test]
fn proposals_are_the_same_in_every_run() {
    let (one, two) = (graph(), graph());
    let same = |a: &Candidate, b: &Candidate| {
        a.calls == b.calls && a.answer == b.answer && a.terms == b.terms
    };
    for question in ALL {
        let first = usual(&one, question);
        for kg in [&one, &two] {
            let again = usual(kg, question);
            assert_eq!(first.len(), again.len(), "{question}");
            let equal = first.iter().zip(&again).all(|(a, b)| same(a, b));
            assert!(equal, "{question}");
        }
    }
}

#[test]
fn no_more_candidates_than_asked_for_and_one_that_gives_up() {
    let kg = graph();
    for question in ALL {
        let all = usual(&kg, question);
        for most in [0, 1, 3] {
            let few = proposed(&kg, question, SearchLimits::default(), most);
            assert_eq!(few.len(), most.min(all.len() - 1) + 1, "{question}");
            let best = few[..few.len() - 1].iter().zip(&all);
            assert!(best.into_iter().all(|(a, b)| a.calls == b.calls));
            let last = few.last().unwrap();
            assert_eq!(program(last), ["ans = end([])"]);
            assert!(few[..few.len() - 1].iter().all(|one| one.answer.is_some()));
        }
    }
}

#[test]
fn steps_and_hops_are_limited() {
    let kg = graph();
    let question = "where was the director of The Glass Orchard born?";
    let most_walks = |limits| {
        let candidates = proposed(&kg, question, limits, 500);
        candidates.iter().map(walks).max().unwrap()
    };
    let limits = |steps, hops| SearchLimits {
        steps,
        hops,
        ..SearchLimits::default()
    };
    assert_eq!(most_walks(limits(0, 3)), 0);
    assert_eq!(most_walks(limits(1, 3)), 1);
    assert_eq!(most_walks(limits(2, 3)), 2);
    assert!(most_walks(limits(5, 3)) > 3, "statement nodes are no hops");
    // One hop may lead through a statement node.
    let one_hop = proposed(&kg, question, limits(5, 1), 500);
    for candidate in &one_hop {
        let through = program(candidate).join(" ").contains("film.starring");
        let allowed = if through { 2 } else { 1 };
        assert!(walks(candidate) <= allowed, "{:?}", program(candidate));
    }
    assert!(one_hop.iter().any(|candidate| walks(candidate) == 2));
}

#[test]
fn the_beam_and_the_sizes_of_sets_are_limited() {
    let kg = graph();
    let usual = SearchLimits::default();
    let question = "which rivers are longer than 500 km";
    let all = proposed(&kg, question, usual, 500);
    let narrow = proposed(&kg, question, SearchLimits { beam: 1, ..usual }, 500);
    assert!(1 < narrow.len() && narrow.len() < all.len());

    // There are four rivers: sets of three are followed, the class itself only when it may be.
    let small = proposed(&kg, question, SearchLimits { set: 3, ..usual }, 500);
    let first_walks = |candidates: &[Candidate]| {
        candidates
            .iter()
            .any(|one| program(one).len() > 1 && program(one)[1].contains("_entity(v0"))
    };
    assert!(first_walks(&all) && !first_walks(&small));
    assert!(small.iter().any(|candidate| walks(candidate) > 0));

    let starts = |class| proposed(&kg, question, SearchLimits { class, ..usual }, 500).len();
    assert_eq!(starts(3), 1, "no start is left but to give up");
    assert!(starts(4) > 1);
}

#[test]
fn without_entities_or_facts_the_last_candidate_gives_up() {
    let empty = FrozenKg::from_triples(std::iter::empty::<[Term; 3]>());
    for question in ["", "?!", "who", "who made Cold Harbour in 1992", "is it 5"] {
        let linked = Linked::new(&empty, question, &[]);
        let session = Session::new(&empty, question, linked, &[], ExecOptions::default()).unwrap();
        let candidates = Proposer::new(&session, WordTables::base())
            .propose(&TermWeights::default(), SearchLimits::default(), MOST)
            .unwrap();
        assert_eq!(candidates.len(), 1, "{question}");
        assert!(candidates[0].answer.is_none());
        assert_eq!(decide(&candidates, &TermWeights::default()), Some(0));
    }
    let kg = graph();
    for question in [
        "",
        "?!",
        "who",
        "how many",
        "is it",
        "before 1990 or after",
        "more than 5",
    ] {
        assert!(session(&kg, question).linked().entities.is_empty());
        let candidates = usual(&kg, question);
        assert!(candidates.last().unwrap().answer.is_none(), "{question}");
    }
}

/// Hotels with true and false as values, stays that are numbered, and a relation to classes that
/// only its label explains.
const HOTELS: &str = r#"
@prefix : <http://inn.example/entity/> .
@prefix p: <http://inn.example/prop/direct/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
p:P1 rdfs:label "instance of" . p:P2 rdfs:label "has swimming pool" . p:P3 rdfs:label "stay" .
p:P4 rdfs:label "guest" . p:P5 rdfs:label "opening year" .
:Q1 rdfs:label "hotel" . :Q2 rdfs:label "person" .
:Q11 rdfs:label "Harbour Inn" ; p:P1 :Q1 ; p:P2 true ; p:P5 "1974"^^xsd:gYear ; p:P3 :stay-1, :stay-2 .
:Q12 rdfs:label "Old Mill" ; p:P1 :Q1 ; p:P2 false ; p:P5 "1979"^^xsd:gYear ; p:P3 :stay-3 .
:Q13 rdfs:label "Castle View" ; p:P1 :Q1 ; p:P2 true ; p:P5 "1991"^^xsd:gYear .
:stay-1 p:P4 :Q21 . :stay-2 p:P4 :Q22 . :stay-3 p:P4 :Q21 .
:Q21 rdfs:label "Nora Falk" ; p:P1 :Q2 . :Q22 rdfs:label "Emil Strand" ; p:P1 :Q2 .
"#;

#[test]
fn labels_say_which_relation_leads_to_classes() {
    let kg = graph_of(HOTELS);
    let types: Vec<String> = (kg.schema().type_relations.iter())
        .map(|relation| kg.name(relation.node()))
        .collect();
    assert_eq!(types.len(), 1, "{types:?}");
    assert!(types[0].ends_with("P1"), "{types:?}");
    let decided = decided(&kg, "list all hotels", WordTables::base());
    assert_eq!(decided, "Q11 Q12 Q13");
}

#[test]
fn true_and_false_are_conditions_and_numbered_rows_connect() {
    let kg = graph_of(HOTELS);
    for (question, answer) in [
        ("which hotels have a swimming pool?", "Q11 Q13"),
        ("hotels without a swimming pool", "Q12"),
        ("does the Harbour Inn have a swimming pool?", "true"),
        ("does the Old Mill have a swimming pool?", "false"),
        ("guests of the Harbour Inn", "Q21 Q22"),
        ("hotels opened in the 1970s", "Q11 Q12"),
    ] {
        let decided = decided(&kg, question, WordTables::base());
        assert_eq!(decided, answer, "{question}");
    }
}

#[test]
fn an_ended_session_is_a_candidate_with_the_same_terms() {
    let kg = graph();
    for question in [
        "what's the capital of Norland",
        "where was the director of The Glass Orchard born?",
        "how many films did Ines Valdera direct",
        "what's the most recent movie by Ines Valdera",
        "movies by Ines Valdera released before 2000",
        "films directed by Ines Valdera starring Sofia Renn",
    ] {
        let start = session(&kg, question);
        let proposer = Proposer::new(&start, WordTables::base());
        let answered = |one: &Candidate| one.answer.is_some();
        for candidate in usual(&kg, question).into_iter().filter(answered) {
            let mut again = session(&kg, question);
            run_program(&mut again, &candidate.calls).unwrap();
            let ended = proposer.ended(&again);
            assert_eq!(ended.calls, candidate.calls, "{question}");
            assert_eq!(ended.answer, candidate.answer, "{question}");
            let terms = ended.terms.0.iter().zip(candidate.terms.0);
            let far = terms.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 1e-4, "{question}: {:?}", program(&candidate));
        }
    }
}

#[test]
fn each_word_has_the_part_of_the_program_that_accounts_for_it() {
    let kg = graph();
    let question = "what year did the zany film Meridian Nine come out";
    let asking = session(&kg, question);
    let proposer = Proposer::new(&asking, WordTables::base());
    let weights = TermWeights::default();
    let candidates = (proposer.propose(&weights, SearchLimits::default(), MOST)).unwrap();
    let chosen = &candidates[decide(&candidates, &weights).unwrap()];
    let mut run = session(&kg, question);
    run_program(&mut run, &chosen.calls).unwrap();
    let reasons = proposer.reasons(&run);
    let by = |word: &str| {
        let reason = reasons.iter().find(|one| one.word.contains(word)).unwrap();
        assert_eq!(reason.by.is_some(), reason.probability > 0.0, "{reason:?}");
        reason.by.as_deref()
    };
    assert!(by("come").unwrap().contains("release"), "{reasons:?}");
    assert_eq!(by("zany"), None, "nothing in the graph is like this word");
    // Question words and the names of entities are no content words.
    assert!(
        reasons
            .iter()
            .all(|one| one.word != "meridian" && !one.word.starts_with('#'))
    );
}

#[test]
fn aliases_of_relations_and_classes_teach_words() {
    let lexicon = "
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        :mayor skos:altLabel \"grand poobah\" . :film skos:altLabel \"zorple\" .";
    let taught = graph_of(&format!("{GRAPH}{lexicon}"));
    for (question, answer) in [
        ("who's the poobah of Belsund?", "otto"),
        ("zorples directed by Marek Solan", "orchard"),
    ] {
        assert_eq!(
            decided(&taught, question, WordTables::base()),
            answer,
            "{question}"
        );
    }
    let plain = decided(&graph(), "who's the poobah of Belsund?", WordTables::base());
    assert_ne!(
        plain, "otto",
        "without the alias nothing speaks for the mayor"
    );
}

#[test]
fn a_session_without_an_answer_gives_up() {
    let kg = graph();
    let question = "what's the capital of Norland";
    let start = session(&kg, question);
    let proposer = Proposer::new(&start, WordTables::base());
    let given_up = proposer.abstention();
    let mut stopped = session(&kg, question);
    let calls = &usual(&kg, question)[0].calls;
    for call in &calls[..calls.len() - 1] {
        stopped.run(call).unwrap();
    }
    for unfinished in [&start, &stopped] {
        let ended = proposer.ended(unfinished);
        assert!(ended.answer.is_none());
        assert_eq!(
            (ended.calls, ended.terms),
            (given_up.calls.clone(), given_up.terms)
        );
    }
}

#[test]
fn equal_sets_add_up() {
    let mut weights = TermWeights([0.0; TERMS]);
    weights.0[0] = 1.0;
    let with = |answer: Option<Value>, score: f32| {
        let mut terms = Terms([0.0; TERMS]);
        terms.0[0] = score;
        Candidate {
            calls: Vec::new(),
            answer,
            terms,
        }
    };
    let candidate = |answer: Option<u32>, score: f32| {
        with(answer.map(|id| Value::Set([NodeId(id)].into())), score)
    };
    let chosen = |candidates: &[Candidate]| decide(candidates, &weights);
    assert_eq!(chosen(&[]), None);
    let (seven, eight) = (candidate(Some(7), 1.0), candidate(Some(8), 0.8));
    let pair = [seven.clone(), eight.clone()];
    assert_eq!(chosen(&pair), Some(0));
    // Two for eight beat one for seven; the better of the two is chosen.
    let three = [candidate(Some(8), 0.5), seven.clone(), eight.clone()];
    assert_eq!(chosen(&three), Some(2));
    // Equal numbers may count different things.
    let number = |number: u64, score: f32| with(Some(Value::Int(number)), score);
    let numbers = [number(8, 0.5), number(7, 1.0), number(8, 0.8)];
    assert_eq!(chosen(&numbers), Some(1));
    // The first of equal ones.
    assert_eq!(chosen(&[eight.clone(), seven.clone(), seven]), Some(1));
    // Giving up is a candidate like any other.
    assert_eq!(chosen(&[eight, candidate(None, 2.0)]), Some(1));
    let unlikely = [candidate(None, -900.0), candidate(Some(1), -950.0)];
    assert_eq!(chosen(&unlikely), Some(0), "however small the scores");
}

/// A hub with 300 relations, whose neighbours have 30 each, and a question about no relation of it:
/// the search looks at everything. Without a deadline it takes seconds.
#[test]
fn the_search_for_programs_ends_at_its_deadline_or_when_it_is_cancelled() {
    let mut turtle = String::from(
        "@prefix : <http://h/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
         :hub rdfs:label \"Hub\" .\n",
    );
    for i in 0..300 {
        for j in 0..30 {
            turtle.push_str(&format!(":hub :r{i} :n{i}_{j} . :n{i}_{j} :s{j} :m{j} .\n"));
        }
    }
    let kg = graph_of(&turtle);
    let question = "Who is the parent of Hub?";
    let propose = |options: ExecOptions| {
        let node = kg.by_name("hub").unwrap();
        let linked = Linked::new(&kg, question, &[node]);
        let session = Session::new(&kg, question, linked, &[], options).unwrap();
        Proposer::new(&session, WordTables::base()).propose(
            &TermWeights::default(),
            SearchLimits::default(),
            MOST,
        )
    };
    stops(Duration::from_millis(20), propose);
}

/// A session of the question that offers the extended tools.
fn extended<'g>(
    kg: &'g FrozenKg,
    question: &str,
    options: ExecOptions,
) -> Result<Session<'g>, RankError> {
    let entities = link::entities_of(kg, question, lexical().as_ref()).unwrap();
    let linked = Linked::new(kg, question, &entities);
    let tools = ToolTable::Extended;
    Session::new(kg, question, linked, &[], ExecOptions { tools, ..options })
}

/// The decided candidate of a question with extended tools.
pub(crate) fn tabled(kg: &FrozenKg, question: &str) -> Candidate {
    let session = extended(kg, question, ExecOptions::default()).unwrap();
    let weights = TermWeights::default();
    let candidates = Proposer::new(&session, WordTables::base())
        .propose(&weights, SearchLimits::default(), MOST)
        .unwrap();
    let chosen = decide(&candidates, &weights).unwrap();
    candidates[chosen].clone()
}

/// Whether a program uses one of the extended tools.
fn is_extended(candidate: &Candidate) -> bool {
    (candidate.calls.iter()).any(|call| !ToolTable::Paper.has(call.tool))
}

/// The rows of an answer, in order, and sorted if no order was asked for.
fn rows(kg: &FrozenKg, candidate: &Candidate) -> Vec<String> {
    let Some(Value::Table(table)) = &candidate.answer else {
        return vec![text(kg, candidate.answer.as_ref())];
    };
    let row = |row: &[toolbox::exec::Cell]| {
        let cells: Vec<String> = row.iter().map(|cell| cell.text(kg)).collect();
        cells.join(" | ")
    };
    let mut rows: Vec<String> = table.rows().map(row).collect();
    if !table.is_ordered() {
        rows.sort();
    }
    rows
}

/// Decides each question with extended tools and compares the rows.
fn check_rows(cases: &[(&str, &[&str])]) {
    let kg = graph();
    for (question, expected) in cases {
        let found = tabled(&kg, question);
        assert!(is_extended(&found), "{question}: {:?}", program(&found));
        assert_eq!(
            rows(&kg, &found),
            *expected,
            "{question}: {:?}",
            program(&found)
        );
    }
}

/// Decides each question with extended tools and compares the rows, written with `between` between them.
pub(crate) fn check_answers(kg: &FrozenKg, between: &str, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (question, answer) in cases {
        let found = tabled(kg, question);
        let got = rows(kg, &found).join(between);
        if got != *answer {
            wrong.push(format!("{question}: {got}; {:?}", program(&found)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// rules D.2
#[test]
fn values_are_computed_of_a_column() {
    check_rows(&[
        ("average length of the rivers", &["608.75"]),
        ("what is the total population of the cities", &["5140000"]),
        ("maximum and minimum length of the rivers", &["1200 | 95"]),
    ]);
}

#[test]
fn rows_are_grouped_by_what_follows_per_and_each() {
    let cities = ["Eastmark | 1", "Norland | 2", "Sudonia | 1", "Westria | 1"];
    check_rows(&[
        ("how many cities per country", &cities),
        (
            "number of films for each genre",
            &["drama | 3", "thriller | 1"],
        ),
        (
            "average population of cities per country",
            &[
                "1200000 | Westria",
                "3000000 | Sudonia",
                "425000 | Norland",
                "90000 | Eastmark",
            ],
        ),
    ]);
}

#[test]
fn groups_are_kept_by_their_number_of_rows() {
    check_rows(&[
        ("which country has the most cities", &["norland"]),
        (
            "which country has the fewest cities",
            &["eastmark sudonia westria"],
        ),
        ("countries with at least two cities", &["norland"]),
        ("which countries have more than one city", &["norland"]),
    ]);
}

/// `more than 4 cylinders` compares the number of cylinders, which each car has, and counts no other
/// things that there are more than four of.
#[test]
fn a_number_is_compared_with_what_stands_behind_it() {
    let kg = graph_of(
        r#"
@prefix : <http://cars.example/> .
:n a :countries ; :countryname "Norland" . :s a :countries ; :countryname "Sudonia" .
:m1 a :car_makers ; :in_country :n ; :fullname "Aster" . :m2 a :car_makers ; :in_country :n ; :fullname "Bolt" .
:m3 a :car_makers ; :in_country :n ; :fullname "Comet" . :m4 a :car_makers ; :in_country :s ; :fullname "Dart" .
:m5 a :car_makers ; :in_country :n ; :fullname "Ember" . :m6 a :car_makers ; :in_country :n ; :fullname "Flint" .
:d1 a :cars_data ; :cylinders 4 ; :weight 900 . :d2 a :cars_data ; :cylinders 6 ; :weight 1200 .
:d3 a :cars_data ; :cylinders 8 ; :weight 1500 .
"#,
    );
    let cars = tabled(&kg, "How many cars have more than 4 cylinders?");
    assert_eq!(text(&kg, cars.answer.as_ref()), "2", "{:?}", program(&cars));
    let countries = tabled(&kg, "Which countries have more than 4 car makers?");
    assert_eq!(rows(&kg, &countries), ["n"], "{:?}", program(&countries));
}

#[test]
fn things_that_have_something_are_left_out() {
    check_rows(&[
        ("countries that have no river", &["eastmark westria"]),
        ("countries without rivers", &["eastmark westria"]),
        (
            "which countries don't have any rivers",
            &["eastmark westria"],
        ),
    ]);
}

#[test]
fn columns_stand_side_by_side() {
    let born = [
        "Bruno Castel | 1947-01-30",
        "Ines Valdera | 1950-03-02",
        "Lena Brandt | 1958-05-05",
        "Marek Solan | 1961-11-20",
        "Sofia Renn | 1979-09-09",
    ];
    check_rows(&[
        ("capital and population of Norland", &["Arvik | 5000000"]),
        (
            "list the rivers with their length and mouth",
            &[
                "Dorra | 800 | Red Sea",
                "Sarn | 1200 | Grey Sea",
                "Ulmer Water | 340 | Grey Sea",
                "Vell | 95 | Red Sea",
            ],
        ),
        ("show the name and date of birth of each person", &born),
    ]);
}

#[test]
fn rows_are_ordered_and_cut() {
    let all = ["Sarn", "Dorra", "Ulmer Water", "Vell"];
    let last: Vec<&str> = all.iter().rev().copied().collect();
    check_rows(&[
        ("rivers in descending order of length", &all),
        ("list the rivers ordered by length", &last),
        ("the top 2 rivers by length", &all[..2]),
        ("the three largest cities", &["Meroza", "Kalden", "Arvik"]),
    ]);
}

#[test]
fn values_are_compared_with_their_mean() {
    check_rows(&[(
        "cities with a population above the average",
        &["Kalden", "Meroza"],
    )]);
}

/// A shop as its database was exported.
const SHOP: &str = r#"
@base <http://shop.example/db/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<country/1> a <country> ; rdfs:label "France" . <country/2> a <country> ; rdfs:label "Spain" .
<country/3> a <country> ; rdfs:label "Italy" .
<customer/1> a <customer> ; rdfs:label "Ann Petit" ; <customer#ref-country_id> <country/1> .
<customer/2> a <customer> ; rdfs:label "Luis Vega" ; <customer#ref-country_id> <country/2> .
<customer/3> a <customer> ; rdfs:label "Eva Conti" ; <customer#ref-country_id> <country/3> .
<customer/4> a <customer> ; rdfs:label "Rosa Gil" ; <customer#ref-country_id> <country/2> .
<orders/1> a <orders> ; <orders#ref-customer_id> <customer/1> ; <orders#status> "sent" .
<orders/2> a <orders> ; <orders#ref-customer_id> <customer/2> ; <orders#status> "sent" .
<orders/3> a <orders> ; <orders#ref-customer_id> <customer/2> ; <orders#status> "open" .
<depot/1> a <depot> ; rdfs:label "North" . <depot/2> a <depot> ; rdfs:label "South" .
<staff/1> a <staff> ; rdfs:label "Kit Dale" ; <staff#salary> 30000 ; <staff#hire_date> "2012-03-01"^^xsd:date ; <staff#ref-depot_id> <depot/1> .
<staff/2> a <staff> ; rdfs:label "Jo Reed" ; <staff#salary> 40000 ; <staff#hire_date> "2019-03-01"^^xsd:date ; <staff#ref-depot_id> <depot/2> .
<staff/3> a <staff> ; rdfs:label "Max Holt" ; <staff#salary> 24000 ; <staff#hire_date> "2015-03-01"^^xsd:date ; <staff#ref-depot_id> <depot/1> .
"#;

#[test]
fn tables_answer_what_shops_are_asked() {
    let kg = graph_of(SHOP);
    // A set by the labels of its members.
    let names = |candidate: &Candidate| -> String {
        let Some(Value::Set(set)) = &candidate.answer else {
            return rows(&kg, candidate).join(", ");
        };
        let name = |&node| kg.label(node).unwrap_or_else(|| kg.name(node));
        let mut names: Vec<String> = set.iter().map(name).collect();
        names.sort();
        names.join(", ")
    };
    for (question, answer) in [
        (
            "which customers have never ordered anything",
            "Eva Conti, Rosa Gil",
        ),
        (
            "customers from France or Spain",
            "Ann Petit, Luis Vega, Rosa Gil",
        ),
        ("which country do most of the customers come from", "Spain"),
        ("the most common status of orders", "sent"),
        ("which depot has the highest average salary", "South"),
        (
            "staff from the lowest to the highest salary",
            "Max Holt, Kit Dale, Jo Reed",
        ),
        (
            "list the staff by hire date, longest serving first",
            "Kit Dale, Max Holt, Jo Reed",
        ),
        ("which staff earn more than the average salary", "Jo Reed"),
    ] {
        let found = names(&tabled(&kg, question));
        assert_eq!(found, answer, "{question}");
    }
}

/// Countries and the languages that are spoken there, and districts of towns.
const WORLD: &str = r#"
@base <http://w.example/> .
<country/code=CA> a <country> ; <country#name> "Canada" .
<country/code=FR> a <country> ; <country#name> "France" .
<country/code=UK> a <country> ; <country#name> "Britain" .
<countrylanguage/1> a <countrylanguage> ; <countrylanguage#language> "English" ; <countrylanguage#ref-country> <country/code=CA> .
<countrylanguage/2> a <countrylanguage> ; <countrylanguage#language> "French" ; <countrylanguage#ref-country> <country/code=CA> .
<countrylanguage/3> a <countrylanguage> ; <countrylanguage#language> "French" ; <countrylanguage#ref-country> <country/code=FR> .
<countrylanguage/4> a <countrylanguage> ; <countrylanguage#language> "English" ; <countrylanguage#ref-country> <country/code=UK> .
<town/1> a <town> ; <town#district> "Fen" ; <town#population> 1200 . <town/2> a <town> ; <town#district> "Fen" ; <town#population> 300 .
<town/3> a <town> ; <town#district> "Moor" ; <town#population> 900 .
"#;

#[test]
fn two_values_of_one_relation_and_sums_of_several_numbers() {
    let kg = graph_of(WORLD);
    for (question, answer) in [
        (
            "names of the countries where both English and French are spoken",
            "Canada",
        ),
        ("names of the countries that do not speak English", "France"),
        ("how many people live in the district Fen", "1500"),
        ("how many people live in the district Moor", "900"),
    ] {
        assert_eq!(
            rows(&kg, &tabled(&kg, question)).join(" "),
            answer,
            "{question}"
        );
    }
}

/// A ferry company's tables, with columns as databases call them.
const FERRIES: &str = r#"
@base <http://f.example/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<PORT/Port_ID=1> a <PORT> ; <PORT#Port_ID> 1 ; <PORT#Port_Name> "Ostra" ; <PORT#Country> "Norway" ; <PORT#n_staff> 40 .
<PORT/Port_ID=2> a <PORT> ; <PORT#Port_ID> 2 ; <PORT#Port_Name> "Vell" ; <PORT#Country> "Denmark" ; <PORT#n_staff> 180 .
<PORT/Port_ID=3> a <PORT> ; <PORT#Port_ID> 3 ; <PORT#Port_Name> "Hafn" ; <PORT#Country> "Denmark" ; <PORT#n_staff> 80 .
<CAPTAIN/Capt_ID=7> a <CAPTAIN> ; <CAPTAIN#Capt_ID> 7 ; <CAPTAIN#Cpt_fname> "Nils" ; <CAPTAIN#Cpt_lname> "Berg" ;
  <CAPTAIN#Sex> "M" ; <CAPTAIN#Nationality> "Norwegian" ; <CAPTAIN#hrly_rate> 30 ; <CAPTAIN#hire_dt> "2011-01-05"^^xsd:date .
<CAPTAIN/Capt_ID=8> a <CAPTAIN> ; <CAPTAIN#Capt_ID> 8 ; <CAPTAIN#Cpt_fname> "Asta" ; <CAPTAIN#Cpt_lname> "Holm" ;
  <CAPTAIN#Sex> "F" ; <CAPTAIN#Nationality> "Danish" ; <CAPTAIN#hrly_rate> 34 ; <CAPTAIN#hire_dt> "2015-03-01"^^xsd:date .
<CAPTAIN/Capt_ID=9> a <CAPTAIN> ; <CAPTAIN#Capt_ID> 9 ; <CAPTAIN#Cpt_fname> "Ida" ; <CAPTAIN#Cpt_lname> "Dahl" ;
  <CAPTAIN#Sex> "F" ; <CAPTAIN#Nationality> "Danish" ; <CAPTAIN#hrly_rate> 29 ; <CAPTAIN#hire_dt> "2019-07-01"^^xsd:date .
<SAILING/Sail_ID=1> a <SAILING> ; <SAILING#Sail_ID> 1 ; <SAILING#wkday> "Friday" ; <SAILING#sail_dt> "2024-05-03"^^xsd:date ;
  <SAILING#Rtg> 4 ; <SAILING#ref-Port_ID> <PORT/Port_ID=1> ; <SAILING#ref-Capt_ID> <CAPTAIN/Capt_ID=7> .
<SAILING/Sail_ID=2> a <SAILING> ; <SAILING#Sail_ID> 2 ; <SAILING#wkday> "Monday" ; <SAILING#sail_dt> "2024-05-06"^^xsd:date ;
  <SAILING#Rtg> 5 ; <SAILING#ref-Port_ID> <PORT/Port_ID=2> ; <SAILING#ref-Capt_ID> <CAPTAIN/Capt_ID=8> .
"#;

#[test]
fn columns_are_named_as_people_name_them() {
    let kg = graph_of(FERRIES);
    let cases = [
        (
            "What are the first and last names of the Danish captains?",
            "Asta | Holm / Ida | Dahl",
        ),
        (
            "Which captains come from Norway? Show first name and last name.",
            "Nils | Berg",
        ),
        ("How many captains are women?", "2"),
        ("What are the ports in Denmark called?", "Hafn Vell"),
        (
            "Which ports are in Norway or have more than 150 staff? List their names.",
            "Ostra Vell",
        ),
        (
            "What are the names and numbers of staff of the two ports with the most staff?",
            "Vell | 180 / Hafn | 80",
        ),
        (
            "Show the name of each port together with its country.",
            "Hafn | Denmark / Ostra | Norway / Vell | Denmark",
        ),
        ("How many staff do the ports have on average?", "100"),
        (
            "Give the ids and dates of the sailings with a rating of 4.",
            "1 | 2024-05-03",
        ),
        ("On which weekday is the sailing with id 2?", "Monday"),
    ];
    check_answers(&kg, " / ", &cases);
}

/// Places of one class, whose names say what they are.
const REGIONS: &str = r#"
@prefix : <http://r.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:den a :Enclosure ; rdfs:label "Bear Den" ; :inZone :hills . :hills a :Zone ; rdfs:label "Hill Walk" ; :zoneOf :park .
:park a :Institution ; rdfs:label "Lowther Park" ; :locatedIn :kirby .
:kirby a :Region ; rdfs:label "Kirby" ; :partOf :ashire . :ashire a :Region ; rdfs:label "Ashire County" ; :partOf :norland .
:norland a :Region ; rdfs:label "Norway" .
:lowen a :Region ; rdfs:label "Lowen" ; :partOf :ashire .
"#;

#[test]
fn names_say_what_kind_of_place_a_place_is() {
    check_on(
        &graph_of(REGIONS),
        &[
            ("which county is Lowther Park in", "ashire"),
            ("what county is Lowen in", "ashire"),
            ("in which country is Kirby", "norland"),
        ],
    );
}

#[test]
fn plain_questions_get_no_extended_candidates() {
    let kg = graph();
    let weights = TermWeights::default();
    let plain = |question: &str, tools: ToolTable| {
        let options = ExecOptions::default();
        let session = match tools {
            ToolTable::Extended => extended(&kg, question, options).unwrap(),
            ToolTable::Paper => session(&kg, question),
        };
        Proposer::new(&session, WordTables::base())
            .propose(&weights, SearchLimits::default(), MOST)
            .unwrap()
    };
    for question in ALL {
        let found = plain(question, ToolTable::Extended);
        assert!(!found.iter().any(is_extended), "{question}");
        let calls = |candidates: &[Candidate]| -> Vec<Vec<String>> {
            candidates.iter().map(program).collect()
        };
        assert_eq!(
            calls(&found),
            calls(&plain(question, ToolTable::Paper)),
            "{question}"
        );
    }
    // Without the extended tools, a cue for them proposes nothing.
    let cue = "average length of the rivers";
    assert!(plain(cue, ToolTable::Extended).iter().any(is_extended));
    assert!(!plain(cue, ToolTable::Paper).iter().any(is_extended));
}

#[test]
fn extended_candidates_give_their_answer_again_with_evidence() {
    let kg = graph();
    for question in [
        "how many cities per country",
        "countries that have no river",
        "capital and population of Norland",
        "which country has the most cities",
    ] {
        let found = tabled(&kg, question);
        let mut again = extended(&kg, question, ExecOptions::default()).unwrap();
        let value = run_program(&mut again, &found.calls).unwrap();
        assert_eq!(Some(&value), found.answer.as_ref(), "{question}");
        assert!(evidence(&again).complete, "{question}");
        let answer = Answer::of(&again);
        assert!(
            !answer.is_none() && !answer.evidence.is_empty(),
            "{question}"
        );
    }
}

#[test]
fn cues_without_anything_to_compute_are_harmless() {
    let kg = graph();
    for question in [
        "average",
        "per per each",
        "top 5",
        "the 99999999999999999999 largest",
        "without",
        "no not never without",
        "most fewest least",
        "sum of the average of the total",
        "at least 18446744073709551616 rivers",
        "ordered by",
        "and and , and",
        "average colour of the rivers",
        "rivers per soup",
        "how many and how many and how many each",
        "the top 0 rivers by length",
        "countries with at least 7 cities",
    ] {
        let found = tabled(&kg, question);
        if let Some(answer) = &found.answer {
            assert!(!answer.is_empty(), "{question}");
        }
    }
}

#[test]
fn large_sets_are_grouped_within_the_limits_and_the_deadline() {
    let mut text = String::from(
        "@prefix : <http://big.example/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n:parcel rdfs:label \"parcel\" .\n",
    );
    for i in 0..30_000 {
        text.push_str(&format!(
            ":p{i} a :parcel ; :weight {} ; :depot :d{} .\n",
            i % 90,
            i % 700
        ));
    }
    let kg = graph_of(&text);
    let question = "average weight of the parcels per depot";
    let propose = |options: ExecOptions| {
        let session = extended(&kg, question, options)?;
        let limits = SearchLimits::default();
        Proposer::new(&session, WordTables::base()).propose(&TermWeights::default(), limits, MOST)
    };
    let found = propose(ExecOptions::default()).unwrap();
    let chosen = decide(&found, &TermWeights::default()).unwrap();
    assert_eq!(rows(&kg, &found[chosen]).len(), 700);
    stops(Duration::from_millis(1), propose);
}

/// Each of 900 numbers would be compared with each of 1,000 relations.
#[test]
fn questions_with_many_values_take_little_time_and_memory() {
    let relations: String = (0..1_000)
        .map(|i| format!(":lisbon :population{i} {i} .\n"))
        .collect();
    let kg = graph_of(&format!(
        "@prefix : <http://h/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
         :lisbon rdfs:label \"Lisbon\" .\n{relations}"
    ));
    let numbers: Vec<String> = (0..900).map(|i| i.to_string()).collect();
    let question = format!("Is Lisbon {}?", numbers.join(" "));
    let begun = Instant::now();
    let session = session(&kg, &question);
    assert_eq!(session.linked().values.len(), QUESTION_VALUES);
    let proposer = Proposer::new(&session, WordTables::base());
    let proposed = proposer.propose(&TermWeights::default(), SearchLimits::default(), MOST);
    assert!(!proposed.unwrap().is_empty());
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
}

/// Tables of a clinic as D2RQ writes them: no labels, columns with their table's name, abbreviations,
/// a table that only connects two others.
const CLINIC: &str = r#"
@prefix : <http://clinic.example/db/> .
@prefix v: <http://clinic.example/vocab#> .
<http://clinic.example/db/species/1> a v:Species ; v:species_nm "Dog" .
<http://clinic.example/db/species/2> a v:Species ; v:species_nm "Cat" .
<http://clinic.example/db/animal/11> a v:Animal ; v:animal_name "Rex" ; v:animal_species_id <http://clinic.example/db/species/1> ;
  v:animal_birth_yr 1995 ; v:animal_wt_kg 40 ; v:animal_owner_id <http://clinic.example/db/owner/21> .
<http://clinic.example/db/animal/12> a v:Animal ; v:animal_name "Fido" ; v:animal_species_id <http://clinic.example/db/species/1> ;
  v:animal_birth_yr 2003 ; v:animal_wt_kg 60 ; v:animal_owner_id <http://clinic.example/db/owner/22> .
<http://clinic.example/db/animal/13> a v:Animal ; v:animal_name "Tom" ; v:animal_species_id <http://clinic.example/db/species/2> ;
  v:animal_birth_yr 1997 ; v:animal_wt_kg 5 ; v:animal_owner_id <http://clinic.example/db/owner/21> .
<http://clinic.example/db/owner/21> a v:Owner ; v:owner_first_name "Ana" ; v:owner_last_name "Ruiz" .
<http://clinic.example/db/owner/22> a v:Owner ; v:owner_first_name "Bo" ; v:owner_last_name "Lind" .
<http://clinic.example/db/treatment/51> a v:Treatment ; v:treatment_nm "Vaccination" ; v:treatment_price 80 .
<http://clinic.example/db/treatment/52> a v:Treatment ; v:treatment_nm "Dental cleaning" ; v:treatment_price 120 .
<http://clinic.example/db/animal_treatment/61> a v:AnimalTreatment ;
  v:animal_treatment_animal_id <http://clinic.example/db/animal/11> ; v:animal_treatment_treatment_id <http://clinic.example/db/treatment/51> .
<http://clinic.example/db/animal_treatment/62> a v:AnimalTreatment ;
  v:animal_treatment_animal_id <http://clinic.example/db/animal/12> ; v:animal_treatment_treatment_id <http://clinic.example/db/treatment/51> .
<http://clinic.example/db/animal_treatment/63> a v:AnimalTreatment ;
  v:animal_treatment_animal_id <http://clinic.example/db/animal/12> ; v:animal_treatment_treatment_id <http://clinic.example/db/treatment/52> .
"#;

#[test]
fn rows_of_tables_are_asked_for_by_their_names() {
    let kg = graph_of(CLINIC);
    let cases = [
        ("who owns Fido", "22"),
        ("animals of Ana Ruiz", "Rex Tom"),
        ("dogs over 50 kilos", "Fido"),
        ("what's the heaviest dog?", "Fido"),
        ("animals born in the 1990s", "Rex Tom"),
        (
            "which treatments did Fido get?",
            "Dental cleaning Vaccination",
        ),
        ("how many treatments has Fido had", "2"),
        ("average weight of each species", "5 | Cat | 50 | Dog"),
        ("phone number of Bo Lind", "-"),
    ];
    check_answers(&kg, " | ", &cases);
}

/// Painters and paintings, and a town that is the capital of a region.
const GALLERY: &str = r#"
@prefix : <http://gallery.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:artist rdfs:label "painter" . :painting rdfs:label "painting" . :museum rdfs:label "museum" .
:city rdfs:label "city" . :country rdfs:label "country" . :region rdfs:label "region" .
:anna a :artist ; rdfs:label "Anna Vos" ; :nationality :westria ; :place_of_birth :kalden ; :date_of_death "1950-01-01"^^xsd:date ; :profession :engraver .
:boris a :artist ; rdfs:label "Boris Hale" ; :nationality :westria ; :place_of_birth :tolvo ; :profession :sculptor ; :spouse :clara .
:clara rdfs:label "Clara Renn" ; :nationality :westria ; :place_of_birth :tolvo ; :profession :sculptor .
:engraver rdfs:label "engraver" . :sculptor rdfs:label "sculptor" .
:dune a :painting ; rdfs:label "The Dune" ; :painted_by :anna .
:mill a :painting ; rdfs:label "The Mill" ; :painted_by :boris .
:vos_museum a :museum ; rdfs:label "Vos Museum" ; :city :kalden .
:kalden a :city ; rdfs:label "Kalden" ; :country :westria .
:tolvo a :city ; rdfs:label "Tolvo" ; :country :westria .
:merrin a :city ; rdfs:label "Merrin" ; :country :westria ; :twin_town :kalden .
:lowland a :region ; rdfs:label "Lowland" ; :capital :kalden ; :country :westria .
:westria a :country ; rdfs:label "Westria" ; :capital :tolvo .
"#;

#[test]
fn one_thing_is_judged_by_its_class_and_by_what_it_has() {
    check_on(
        &graph_of(GALLERY),
        &[
            ("is Kalden a city?", "true"),
            ("is Kalden a museum?", "false"),
            ("is The Dune a painting?", "true"),
            ("does Kalden have a museum?", "true"),
            ("are there any museums in Kalden?", "true"),
            ("does Westria have a capital?", "true"),
            ("was Boris Hale married?", "true"),
            // Nothing in the graph says whether she was, or what a volcano is.
            ("was Anna Vos tall?", "-"),
            ("is Kalden a volcano?", "-"),
            // The capital of a region that is in the country.
            ("is Kalden the capital of Westria?", "false"),
            ("is Tolvo the capital of Westria?", "true"),
        ],
    );
}

#[test]
fn words_with_one_stem_are_told_apart() {
    check_on(
        &graph_of(GALLERY),
        &[
            ("list all painters", "anna boris"),
            ("list all paintings", "dune mill"),
            // Not what somebody died of.
            ("when was the death of Anna Vos?", "1950-01-01"),
            ("what did Anna Vos paint?", "dune"),
        ],
    );
}

#[test]
fn things_are_named_by_place_profession_and_surname() {
    check_on(
        &graph_of(GALLERY),
        &[
            ("where is the Vos Museum?", "kalden"),
            // Not the museum that has its name from her.
            ("did Vos paint The Dune?", "true"),
            ("sculptors from Westria", "boris clara"),
            ("painters born in Tolvo", "boris"),
            // Nobody was born in Merrin, but somebody was in its twin town.
            ("who was born in Merrin?", "-"),
            ("who was born in Tolvo?", "boris clara"),
            // A place that the graph does not have.
            ("which painters were born in Utopia?", "-"),
        ],
    );
}

/// A company with its offices, customers and contracts, and songs for its lift.
const COMPANY: &str = r#"
@prefix : <http://company.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:employee rdfs:label "employee" . :team rdfs:label "team" . :department rdfs:label "department" .
:office rdfs:label "office" . :city rdfs:label "city" . :country rdfs:label "country" .
:customer rdfs:label "customer" . :contract rdfs:label "contract" . :song rdfs:label "song" . :skill rdfs:label "skill" .
:ada a :employee ; rdfs:label "Ada Holm" ; :memberOf :security ; :jobTitle "analyst" ; :hasSkill :haggling .
:bo a :employee ; rdfs:label "Bo Lind" ; :memberOf :security ; :jobTitle "clerk" .
:haggling a :skill ; rdfs:label "contract haggling" .
:security a :team ; rdfs:label "Security" ; :partOfDepartment :operations .
:operations a :department ; rdfs:label "Operations" .
:quay a :office ; rdfs:label "Quay House" ; :dogsAllowed true .
:mill a :office ; rdfs:label "Mill Yard" ; :dogsAllowed false .
:porto a :city ; rdfs:label "Porto" ; :inCountry :portugal . :gdansk a :city ; rdfs:label "Gdansk" ; :inCountry :poland .
:portugal a :country ; rdfs:label "Portugal" . :poland a :country ; rdfs:label "Poland" .
:nova a :customer ; rdfs:label "Nova Freight" ; :headquarteredIn :gdansk ; :continent "Europe" .
:pax a :customer ; rdfs:label "Pax Labs" ; :headquarteredIn :porto ; :continent "Asia" .
:c1 a :contract ; rdfs:label "CT-1" ; :contractValue 500 ; :signedOn "2022-08-10"^^xsd:date ; :coversTopic "Åland ferries" .
:c2 a :contract ; rdfs:label "CT-2" ; :contractValue 900 ; :signedOn "2023-01-05"^^xsd:date ; :coversTopic "Öland ferries" .
:hum a :song ; rdfs:label "Hum" ; :durationSeconds 200 . :drone a :song ; rdfs:label "Drone" ; :durationSeconds 420 .
"#;

#[test]
fn places_groups_truths_and_extremes_are_read_as_people_say_them() {
    check_on(
        &graph_of(COMPANY),
        &[
            // What lies in a city lies in its country, and a member of a team is in its department.
            ("customers in Poland", "nova"),
            ("what department is Ada Holm in?", "operations"),
            ("Asian customers", "pax"),
            ("how many people are in Security?", "2"),
            ("can i bring my dog to Quay House?", "true"),
            ("Mill Yard allows dogs, or not?", "false"),
            // A class is no part of a name.
            ("show me the contract that is worth the most", "c2"),
        ],
    );
}

#[test]
fn months_and_units_are_values() {
    check_on(
        &graph_of(COMPANY),
        &[
            ("which contracts were signed in August 2022?", "c1"),
            ("contracts signed between july and december 2022", "c1"),
            ("contracts signed from 1 September 2022 onwards", "c2"),
            ("songs longer than 4 minutes", "drone"),
        ],
    );
}

#[test]
fn a_range_of_texts_that_begin_with_a_letter_of_two_bytes_is_read() {
    let question = "which contracts lie between Åland ferries and Öland ferries?";
    // It used to end the process.
    check_on(&graph_of(COMPANY), &[(question, "c1 c2")]);
}
