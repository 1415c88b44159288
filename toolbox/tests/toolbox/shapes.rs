//! Questions that ask two things at once: two relations of one entity, what two entities share, how much more one has, and
//! what is left out.

use crate::explain::check_answers;
use crate::support::graph_of;

/// Films, their makers, and the places where these were born.
const FILMS: &str = r#"
@prefix : <http://ex.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Film rdfs:label "film" . :Person rdfs:label "person" . :Country rdfs:label "country" . :City rdfs:label "city" . :Genre rdfs:label "genre" .
:director rdfs:label "director" . :writer rdfs:label "writer" . :starring rdfs:label "starring" . :runtime rdfs:label "runtime" .
:birthPlace rdfs:label "place of birth" . :deathPlace rdfs:label "place of death" . :country rdfs:label "country" . :genre rdfs:label "genre" .
:population rdfs:label "population" .
:f1 a :Film ; rdfs:label "Glass Harbour" ; :director :ada ; :writer :ada ; :starring :tom, :eva ; :runtime 90 ; :genre :noir .
:f2 a :Film ; rdfs:label "Paper Moonlight" ; :director :ada ; :writer :bo ; :starring :tom ; :runtime 120 ; :genre :noir .
:f3 a :Film ; rdfs:label "Some of Us Are Late" ; :director :bo ; :writer :bo ; :starring :eva, :kim ; :runtime 150 ; :genre :comedy .
:ada a :Person ; rdfs:label "Ada Morel" ; :birthPlace :lune ; :deathPlace :lune .
:bo a :Person ; rdfs:label "Bo Tarkan" ; :birthPlace :lune ; :deathPlace :ostra .
:tom a :Person ; rdfs:label "Thomas Quill" ; :birthPlace :ostra .
:eva a :Person ; rdfs:label "Eva Sorel" ; :birthPlace :ostra .
:kim a :Person ; rdfs:label "Kim Danner" ; :birthPlace :lune .
:lune a :City ; rdfs:label "Lune" ; :country :valdoria ; :population 40000 .
:ostra a :City ; rdfs:label "Ostra" ; :country :kestria ; :population 25000 .
:valdoria a :Country ; rdfs:label "Valdoria" . :kestria a :Country ; rdfs:label "Kestria" .
:noir a :Genre ; rdfs:label "film noir" . :comedy a :Genre ; rdfs:label "comedy" .
"#;

fn check(cases: &[(&str, &str)]) {
    check_answers(&graph_of(FILMS), "; ", cases);
}

#[test]
fn two_relations_may_lead_to_one_entity() {
    check(&[
        ("films that Ada Morel wrote and directed", "f1"),
        ("who was born and died in Lune", "ada"),
        ("How many films did Bo Tarkan both write and direct?", "1"),
    ]);
}

#[test]
fn two_entities_may_share_something() {
    check(&[
        (
            "Were Ada Morel and Bo Tarkan born in the same city?",
            "true",
        ),
        (
            "Were Ada Morel and Eva Sorel born in the same city?",
            "false",
        ),
        (
            "Is there any film starring both Thomas Quill and Eva Sorel?",
            "true",
        ),
        ("are there any comedy films", "true"),
    ]);
}

#[test]
fn one_has_more_than_another() {
    check(&[
        (
            "how much longer is Paper Moonlight than Glass Harbour",
            "30",
        ),
        (
            "the difference in population between Ostra and Lune",
            "15000",
        ),
        ("total population of Lune and Ostra", "65000"),
        (
            "which of Glass Harbour, Paper Moonlight and Some of Us Are Late is the shortest",
            "f1",
        ),
        ("films noir shorter than Paper Moonlight", "f1"),
    ]);
}

#[test]
fn things_are_left_out() {
    check(&[
        ("films by Ada Morel without Eva Sorel", "f2"),
        ("films by Ada Morel except Glass Harbour", "f2"),
        ("who acted in the most films by Ada Morel", "tom"),
    ]);
}

#[test]
fn names_are_turned_and_shortened() {
    check(&[
        ("Valdorian cities", "lune"),
        ("films with Mr Quill", "f1 f2"),
        ("where was Th Quill born", "ostra"),
        ("some of us are late cast", "eva kim"),
        ("directors Kim Danner has worked with", "bo"),
        ("how long are films by Ada Morel on average", "105"),
        ("no. of films by Bo Tarkan", "1"),
    ]);
}

/// A graph whose relations carry the class that they leave in name and label.
const ART: &str = r#"
@prefix : <http://ex.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix x: <http://www.w3.org/2001/XMLSchema#> .
:art.painting.artist rdfs:label "artist of the painting" .
:dusk a :art.painting ; rdfs:label "Dusk" ; :art.painting.artist :ola . :dawn a :art.painting ; rdfs:label "Dawn" ; :art.painting.artist :ola .
:noon a :art.painting ; rdfs:label "Noon" ; :art.painting.artist :mei .
:ola a :art.artist ; rdfs:label "Ola Brandt" ; :people.person.date_of_death "1590-01-01"^^x:date .
:mei a :art.artist ; rdfs:label "Mei Sato" ; :people.person.date_of_death "1790-01-01"^^x:date .
"#;

#[test]
fn a_relation_leads_away_from_the_class_in_its_name() {
    let cases = [("paintings by artists who died before 1600", "dawn dusk")];
    check_answers(&graph_of(ART), "; ", &cases);
}
