//! Questions as people speak them: courtesies, tags, one of two things, and a garden centre's tables with short names.

use crate::explain::check_answers;
use crate::plain::{CLINIC, LANDS};
use crate::support::graph_of;

#[test]
fn one_of_two_is_chosen_and_nothing_is_judged() {
    check_answers(
        &graph_of(LANDS),
        "; ",
        &[
            (
                "Is it the Ardel or the Benna that is the longer river?",
                "ard",
            ),
            (
                "Between the Benna and the Camor, which river is longer?",
                "ben",
            ),
            ("are there more inhabitants in Noria or in Sulia", "noria"),
            ("is the Benna longer than the Ardel", "false"),
        ],
    );
}

#[test]
fn courtesies_and_tags_say_nothing() {
    check_answers(
        &graph_of(LANDS),
        "; ",
        &[
            (
                "I should be most grateful if you told me the length of the Benna.",
                "700",
            ),
            ("am I right in thinking the Benna crosses Noria?", "true"),
            ("the Benna crosses Sulia, right?", "false"),
            (
                "Has anybody got an idea which river crosses Westen and Sulia?",
                "ard",
            ),
            ("what's the tally of rivers that cross Noria", "3"),
        ],
    );
}

#[test]
fn a_name_in_lower_case_has_a_possessive_without_apostrophe() {
    check_answers(
        &graph_of(LANDS),
        "; ",
        &[
            ("norias capital", "alt"),
            ("is norias capital miralt", "false"),
        ],
    );
}

#[test]
fn places_lie_in_wider_places() {
    check_answers(
        &graph_of(CLINIC),
        "; ",
        &[
            ("in which country is Citadel Hill", "canada"),
            ("to which country must I travel to see Rosa Vale", "peru"),
            ("how many other countries does Peru border", "1"),
        ],
    );
}

/// A harbour: reserves of several kinds, a film and its festival's stars.
const HARBOUR: &str = r#"
@prefix : <http://harbour.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:NatureReserve rdfs:label "nature reserve" . :MoorlandReserve rdfs:label "moorland reserve" ; rdfs:subClassOf :NatureReserve .
:MarineReserve rdfs:label "marine reserve" ; rdfs:subClassOf :NatureReserve . :Writer rdfs:label "food writer" . :Cook rdfs:label "cook" .
:Restaurant rdfs:label "restaurant" . :Book rdfs:label "cookbook" . :Novel rdfs:label "novel" . :Genre rdfs:label "genre" .
:extent rdfs:label "extent in hectares" . :stars rdfs:label "guide stars" . :author rdfs:label "author" . :genre rdfs:label "genre" .
:corl a :MoorlandReserve , :NatureReserve ; rdfs:label "Corl Moor" ; :extent 1400 . :deep a :MarineReserve , :NatureReserve ; rdfs:label "Kettle Deep" ; :extent 2600 .
:hay a :MoorlandReserve , :NatureReserve ; rdfs:label "Hay Heath" ; :extent 300 .
:copper a :Book ; rdfs:label "Copper Pans" ; :author :ota , :zul . :ota a :Writer ; rdfs:label "Otto Resen" . :zul a :Cook ; rdfs:label "Zula Font" .
:bruma a :Restaurant ; rdfs:label "Bruma" ; :stars 3 . :cerva a :Restaurant ; rdfs:label "La Cerva" ; :stars 2 .
:fog a :Novel ; rdfs:label "The Fog" ; :genre :gothic . :gothic a :Genre ; rdfs:label "gothic fiction" . :mist a :Novel ; rdfs:label "Mist" ; :genre :gothic .
"#;

#[test]
fn what_the_question_does_not_say_narrows_nothing() {
    check_answers(
        &graph_of(HARBOUR),
        "; ",
        &[
            ("all reserves covering over 1000 hectares", "corl deep"),
            ("Copper Pans: written by?", "ota zul"),
            ("restaurants with three stars", "bruma"),
            ("what sort of novel is The Fog", "gothic"),
        ],
    );
}

/// A garden centre whose columns have short names.
const GARDEN: &str = r#"
@base <http://garden.example/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<branch/1> a <branch> ; <branch#id> 1 ; <branch#name> "Highfold" ; <branch#has_cafe> "Y" ; <branch#opened_on> "2003-05-17"^^xsd:date .
<branch/2> a <branch> ; <branch#id> 2 ; <branch#name> "Larkmere" ; <branch#has_cafe> "N" ; <branch#opened_on> "2011-02-20"^^xsd:date .
<branch/3> a <branch> ; <branch#id> 3 ; <branch#name> "Quarry Lane" ; <branch#has_cafe> "Y" ; <branch#opened_on> "1999-06-01"^^xsd:date .
<employee/1> a <employee> ; <employee#id> 1 ; <employee#full_name> "Ida Moss" ; <employee#is_full_time> "Y" ; <employee#hourly_wage> 22.5 ; <employee#hire_dt> "2015-01-02"^^xsd:date ; <employee#branch_id> <branch/1> .
<employee/2> a <employee> ; <employee#id> 2 ; <employee#full_name> "Sam Reed" ; <employee#is_full_time> "N" ; <employee#hourly_wage> 12.5 ; <employee#hire_dt> "2021-03-04"^^xsd:date ; <employee#branch_id> <branch/1> .
<employee/3> a <employee> ; <employee#id> 3 ; <employee#full_name> "Ole Berg" ; <employee#is_full_time> "N" ; <employee#hourly_wage> 13.5 ; <employee#hire_dt> "2019-05-06"^^xsd:date ; <employee#branch_id> <branch/2> .
<plant/1> a <plant> ; <plant#id> 1 ; <plant#name> "Goblin Box" ; <plant#ptype> "shrub" ; <plant#is_evergreen> "Y" ; <plant#unit_price> 9.5 ; <plant#depth_cm> 30 .
<plant/2> a <plant> ; <plant#id> 2 ; <plant#name> "Hoarfrost" ; <plant#ptype> "shrub" ; <plant#is_evergreen> "N" ; <plant#unit_price> 27.5 ; <plant#depth_cm> 20 .
<plant/3> a <plant> ; <plant#id> 3 ; <plant#name> "Snowbell" ; <plant#ptype> "bulb" ; <plant#is_evergreen> "N" ; <plant#unit_price> 4 ; <plant#depth_cm> 10 .
"#;

#[test]
fn short_names_of_columns_are_read() {
    check_answers(
        &graph_of(GARDEN),
        "; ",
        &[
            (
                "How many plants are there of each plant type?",
                "bulb | 1; shrub | 2",
            ),
            ("which plants are evergreen", "Goblin Box"),
            ("Find the mean hourly wage of part-time employees.", "13"),
            ("Which employees earn more than 20 per hour?", "Ida Moss"),
            (
                "Give the full name of the employee who was hired most recently.",
                "Sam Reed",
            ),
        ],
    );
}

#[test]
fn tables_are_asked_for_in_many_ways() {
    check_answers(
        &graph_of(GARDEN),
        "; ",
        &[
            ("Find the sum of the unit prices of all plants.", "41"),
            ("plants whose unit price is above the average", "Hoarfrost"),
            (
                "branches opened after 2000, oldest first",
                "Highfold; Larkmere",
            ),
            (
                "Which branch has the most employees? Give its name.",
                "Highfold",
            ),
            (
                "What is the price of the plant called \"Midwinter Oboe\"?",
                "-",
            ),
        ],
    );
}
