//! Entity linking of loosely worded questions: each way of naming an entity on one small graph, and
//! the ordinary words that must not link.

use std::fs;

use kg::{FrozenKg, Kg, LoadOptions};
use toolbox::exec::{ExecOptions, Session};
use toolbox::link::{self, Linked};
use toolbox::rank::lexical;

const GRAPH: &str = r#"
@prefix : <http://loose.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:film rdfs:label "film" . :city rdfs:label "city" . :river rdfs:label "river" . :club rdfs:label "club" .
:person rdfs:label "person" . :country rdfs:label "country" . :language rdfs:label "language" .
:directed_by rdfs:label "directed by" . :born_in rdfs:label "born in" . :flows_in rdfs:label "flows in" .
:vertigo a :film ; rdfs:label "Vertigo" ; :directed_by :alfred ; :genre :thriller ; :year :y1958 .
:casablanca a :film ; rdfs:label "Casablanca" ; :directed_by :curtiz ; :genre :drama .
:casablanca_city a :city ; rdfs:label "Casablanca" ; :country :morocco ; :population 3500000 .
:london_uk a :city ; rdfs:label "London" ; :country :uk ; :population 8000000 .
:london_ca a :city ; rdfs:label "London" ; :country :canada ; :population 400000 .
:barcelona a :city ; rdfs:label "Barcelona" ; :country :spain ; :population 1600000 .
:fcb a :club ; rdfs:label "FC Barcelona" ; :founded 1899 . :real a :club ; rdfs:label "Real Madrid" ; :founded 1902 .
:bayern a :club ; rdfs:label "Bayern Munich" ; :founded 1900 .
:alfred a :person ; rdfs:label "Alfred Hitchcock" ; :born_in :london_uk ; :job :poet .
:hitchcock_film a :film ; rdfs:label "Hitchcock" ; :directed_by :gervasi ; :genre :drama .
:curtiz a :person ; rdfs:label "Michael Curtiz" . :gervasi a :person ; rdfs:label "Sacha Gervasi" .
:hca a :person ; rdfs:label "Hans Christian Andersen" ; :job :poet .
:orwell a :person ; rdfs:label "George Orwell" . :cech a :person ; rdfs:label "Petr Čech" .
:poet rdfs:label "poet" . :thriller rdfs:label "thriller" . :drama rdfs:label "drama" . :y1958 rdfs:label "1958" .
:everest :height 8849 ; rdfs:label "Mount Everest" .
:seine a :river ; rdfs:label "Seine" ; :flows_in :france . :french a :language ; rdfs:label "French" ; :code "fr" .
:france a :country ; rdfs:label "France" ; :government "Republic" . :spain a :country ; rdfs:label "Spain" . :morocco a :country ; rdfs:label "Morocco" .
:uk a :country ; rdfs:label "United Kingdom" . :canada a :country ; rdfs:label "Canada" .
:netherlands a :country ; rdfs:label "Netherlands" ; :capital :amsterdam . :amsterdam a :city ; rdfs:label "Amsterdam" .
:eea rdfs:label "European Economic Area" ; :founded 1994 .
:film a rdfs:Class . :city a rdfs:Class . :river a rdfs:Class . :club a rdfs:Class . :person a rdfs:Class .
:historical rdfs:label "historical fiction" ; :code "h" .
:show1 :starts "10:00" ; rdfs:label "Seal Show" ; :place :pool1 . :show2 :starts "11:00" ; rdfs:label "Seal Show" ; :place :pool2 .
:pool1 :zone :north . :north :zone_of :zoo1 . :zoo1 :founded 1901 ; rdfs:label "Arctic Hall" .
:anna_curtiz a :person ; rdfs:label "Anna Curtiz" . :real :captain :anna_curtiz .
:pool2 :zone :south . :south :zone_of :zoo2 . :zoo2 :founded 1902 ; rdfs:label "Ocean Bay" .
"#;

fn load() -> FrozenKg {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.ttl");
    fs::write(&path, GRAPH).unwrap();
    FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
}

/// Links each question and compares the nodes.
fn check(cases: &[(&str, &[&str])]) {
    let kg = load();
    for (question, names) in cases {
        let found = link::entities_of(&kg, question, lexical().as_ref()).unwrap();
        let found: Vec<String> = found.into_iter().map(|node| kg.name(node)).collect();
        assert_eq!(found, *names, "{question}");
    }
}

#[test]
fn adjectives_before_a_noun_name_nations() {
    check(&[
        ("french rivers", &["france"]),
        ("Which Spanish cities are there?", &["spain"]),
        ("was Orwell british?", &["orwell", "uk"]),
        ("list the canadians", &["canada"]),
        ("capital of holland", &["netherlands"]),
        ("how big is the UK", &["uk"]),
    ]);
}

#[test]
fn adjectives_of_languages_are_not_nations() {
    check(&[
        ("countries with spanish speakers", &[]),
        ("who speaks spanish", &[]),
        ("films in french", &["french"]),
    ]);
}

#[test]
fn parts_of_names_stand_for_the_whole() {
    check(&[
        ("books by orwell", &["orwell"]),
        ("orwell's books", &["orwell"]),
        ("how high is everest", &["everest"]),
        ("when was bayern founded", &["bayern"]),
        ("how tall is petr cech", &["cech"]),
        ("when was the eea founded", &["eea"]),
        ("historical novels", &["historical"]),
    ]);
}

#[test]
fn misspelt_names_are_found() {
    check(&[
        ("who directed vertgo", &["vertigo"]),
        ("movies by hitchcok", &["alfred"]),
        ("where was alfred hichcock born", &["alfred"]),
        ("How old is Barcelonna?", &["barcelona"]),
    ]);
}

#[test]
fn the_surroundings_settle_equal_names() {
    check(&[
        ("the movie casablanca", &["casablanca"]),
        ("the city casablanca", &["casablanca_city"]),
        ("who directed casablanca", &["casablanca"]),
        ("which country is casablanca in", &["casablanca_city"]),
        ("players of Real Madrid and Barcelona", &["real", "fcb"]),
        ("what language do they speak in Barcelona", &["barcelona"]),
        ("which country is london in", &["london_uk"]),
        ("Films directed by Hitchcock", &["alfred"]),
        ("who directed hitchcock", &["hitchcock_film"]),
        ("when is the Seal Show at Arctic Hall", &["show1", "zoo1"]),
        ("when is the Seal Show at Ocean Bay", &["show2", "zoo2"]),
    ]);
}

#[test]
fn ordinary_words_and_parts_of_other_names_do_not_link() {
    check(&[
        // Not `rdfs:Class`.
        ("classes with few students", &[]),
        ("name a film of the city", &[]),
        ("who was born here", &[]),
        ("what is the populaton", &[]),
        ("who was Hans Landa played by", &[]),
        ("who is the poet behind Vertigo", &["vertigo"]),
        ("poets born in amsterdam", &["poet", "amsterdam"]),
        ("films made after 1958", &[]),
        ("films of 1958", &["y1958"]),
    ]);
}

#[test]
fn every_way_of_naming_an_entity_is_masked() {
    let kg = load();
    for (question, masked) in [
        ("french rivers", "e0 rivers"),
        ("books by orwell", "books by e0"),
        ("movies by hitchcok", "movies by e0"),
        ("capital of holland", "capital of e0"),
        ("when was the eea founded", "when was the e0 founded"),
        ("historical novels", "e0 novels"),
        ("all poets", "all e0"),
        // `or Barcelona` is no misspelt `FC Barcelona`.
        (
            "which is older, Real Madrid or Barcelona",
            "which is older, e0 or e1",
        ),
    ] {
        let nodes = link::entities_of(&kg, question, lexical().as_ref()).unwrap();
        let linked = Linked::new(&kg, question, &nodes);
        assert_eq!(linked.mask(question), masked);
    }
}

/// Both have the surname, and only one of them has directed a film.
#[test]
fn what_is_by_somebody_tells_who() {
    check(&[
        ("films by Curtiz", &["curtiz"]),
        ("a film directed by curtiz", &["curtiz"]),
    ]);
}

/// Two letters are swapped in a relation's name and in a value.
#[test]
fn swapped_letters_are_put_right() {
    let kg = load();
    let linked = |question: &str| Linked::asked(&kg, question, &[]);
    let values = linked("countries that are a repulbic").values;
    let values: Vec<&str> = values.iter().map(|value| value.lexical.as_str()).collect();
    assert_eq!(values, ["Republic"]);
    let asked = |question: &str| {
        let options = ExecOptions::default();
        let session = Session::new(&kg, question, linked(question), &[], options).unwrap();
        session.bare_question().to_owned()
    };
    assert_eq!(
        asked("so, what is the populatoin"),
        "what is the population"
    );
    assert_eq!(asked("how many Populatoins"), "how many populations");
    // The graph does not know these words.
    assert_eq!(asked("\u{212a}ountries"), "\u{212a}ountries");
    assert_eq!(asked("what is the magnitued"), "what is the magnitued");
}
