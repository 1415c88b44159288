//! Graphs whose things are known by their relations alone, and tables whose rows are called by codes: relatives,
//! believers, casts, abbreviations.

use crate::explain::check_answers;
use crate::support::graph_of;

/// A family without classes: only relations say what its things are.
const FAMILY: &str = r#"
@prefix : <http://family.example/> .
:ada_berg :spouse :jon_berg ; :gender :female ; :nationality :canada ; :religion :buddhism ; :place_of_birth :oslo .
:jon_berg :parents :karl_berg ; :gender :male ; :children :tove_berg ; :nationality :norway .
:karl_berg :cause_of_death :pneumonia ; :gender :male ; :children :jon_berg ; :place_of_birth :bergen .
:tove_berg :children :sven_lind ; :gender :female ; :place_of_birth :oslo .
:sven_lind :children :mia_lind ; :gender :male ; :place_of_birth :oslo ; :religion :buddhism .
:mia_lind :gender :female ; :nationality :canada ; :profession :singer .
:lars_holm :gender :male ; :nationality :norway ; :profession :singer ; :religion :atheism ; :cause_of_death :stroke .
"#;

#[test]
fn relatives_are_chains_of_parents_children_and_spouses() {
    check_answers(
        &graph_of(FAMILY),
        "; ",
        &[
            ("how did Ada Berg's father-in-law die", "pneumonia"),
            ("Jon Berg great-grandchild", "mia_lind"),
            (
                "Do you happen to know where the grandson of Jon Berg was born?",
                "oslo",
            ),
        ],
    );
}

#[test]
fn believers_and_nationals_are_found_by_their_relation() {
    check_answers(
        &graph_of(FAMILY),
        "; ",
        &[
            ("how many buddhists are there", "2"),
            ("Was Lars Holm an atheist?", "true"),
            ("Show me the Canadians", "ada_berg mia_lind"),
        ],
    );
}

/// Films with casts, and novels with years.
const FILMS: &str = r#"
@prefix : <http://films.example/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Film rdfs:label "film" . :Actor rdfs:label "actor" . :Novel rdfs:label "novel" . :Player rdfs:label "footballer" . :Country rdfs:label "country" .
:starring rdfs:label "starring" . :director rdfs:label "directed by" . :writer rdfs:label "written by" . :published rdfs:label "published" .
:height rdfs:label "height" . :born rdfs:label "date of birth" . :citizenship rdfs:label "nationality" .
:dune a :Film ; rdfs:label "Salt Road" ; :starring :ines , :omar ; :director :wanda ; :writer :paul .
:ebb a :Film ; rdfs:label "Ebb" ; :starring :ines ; :director :wanda ; :writer :wanda .
:ines a :Actor ; rdfs:label "Ines Calvo" . :omar a :Actor ; rdfs:label "Omar Reyes" . :wanda rdfs:label "Wanda Lis" . :paul rdfs:label "Paul Voss" .
:tin a :Novel ; rdfs:label "Tin Harbour" ; :published "1922"^^xsd:gYear . :oak a :Novel ; rdfs:label "Oak and Ash" ; :published "1925"^^xsd:gYear .
:zico a :Player ; rdfs:label "Zico Prado" ; :height 165 ; :born "1960-03-03"^^xsd:date ; :citizenship :brazil .
:olaf a :Player ; rdfs:label "Olaf Strand" ; :height 190 ; :born "1950-05-05"^^xsd:date ; :citizenship :norway .
:population rdfs:label "population" . :pele a :Player ; rdfs:label "Rui Pele" ; :citizenship :brazil .
:brazil a :Country ; rdfs:label "Brazil" ; :population 200 . :norway a :Country ; rdfs:label "Norway" ; :population 500 .
"#;

#[test]
fn casts_are_asked_for_without_a_word_for_them() {
    check_answers(
        &graph_of(FILMS),
        "; ",
        &[
            ("who was in Salt Road", "ines omar"),
            ("who all was in Salt Road?", "ines omar"),
            ("what was Ines Calvo in", "dune ebb"),
        ],
    );
}

#[test]
fn the_first_the_smallest_and_those_who_are() {
    check_answers(
        &graph_of(FILMS),
        "; ",
        &[
            ("Did Tin Harbour or Oak and Ash come out first?", "tin"),
            ("who's the smallest footballer of them all", "zico"),
            ("How many of the footballers are Brazilian?", "2"),
            ("country with the most people", "norway"),
            ("which country has the fewest inhabitants", "brazil"),
        ],
    );
}

/// Trams: vehicles and tours are called by codes, columns have short names, and all depots end in the same word.
const TRAMS: &str = r#"
@base <http://trams.example/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<site/site_id=1> a <site> ; <site#site_id> 1 ; <site#name> "Elm Depot" ; <site#city> "Varn" .
<site/site_id=2> a <site> ; <site#site_id> 2 ; <site#name> "Quay Depot" ; <site#city> "Olt" .
<site/site_id=3> a <site> ; <site#site_id> 3 ; <site#name> "Mill Depot" ; <site#city> "Olt" .
<tram/tram_id=1> a <tram> ; <tram#tram_id> 1 ; <tram#tram_no> "T-101" ; <tram#seats> 40 ; <tram#ref-site_id> <site/site_id=1> .
<tram/tram_id=2> a <tram> ; <tram#tram_id> 2 ; <tram#tram_no> "T-102" ; <tram#seats> 90 ; <tram#ref-site_id> <site/site_id=2> .
<tram/tram_id=3> a <tram> ; <tram#tram_id> 3 ; <tram#tram_no> "T-205" ; <tram#seats> 60 ; <tram#ref-site_id> <site/site_id=2> .
<driver/driver_id=1> a <driver> ; <driver#driver_id> 1 ; <driver#full_nm> "Ida Moss" ; <driver#sal> 52300 ; <driver#dob> "1971-02-03"^^xsd:date .
<driver/driver_id=2> a <driver> ; <driver#driver_id> 2 ; <driver#full_nm> "Sam Reed" ; <driver#sal> 48100 ; <driver#dob> "1994-07-09"^^xsd:date .
<driver/driver_id=3> a <driver> ; <driver#driver_id> 3 ; <driver#full_nm> "Ole Berg" ; <driver#sal> 61000 ; <driver#dob> "1983-11-12"^^xsd:date .
"#;

#[test]
fn rows_without_names_are_called_by_their_codes() {
    check_answers(
        &graph_of(TRAMS),
        "; ",
        &[
            ("biggest tram by seats", "T-102"),
            ("trams with more than 50 seats", "T-102 T-205"),
        ],
    );
}

#[test]
fn abbreviations_of_columns_are_spelled_out() {
    check_answers(
        &graph_of(TRAMS),
        "; ",
        &[
            ("how much does Sam Reed get paid", "48100"),
            ("who's the youngest driver", "Sam Reed"),
        ],
    );
}

#[test]
fn the_last_word_of_most_names_is_a_noun_of_their_table() {
    check_answers(
        &graph_of(TRAMS),
        "; ",
        &[
            ("how many depots are there", "3"),
            ("which depots are in Olt", "Mill Depot Quay Depot"),
        ],
    );
}
