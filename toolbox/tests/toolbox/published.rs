//! Questions about graphs as people publish them: ontologies, names in IRIs and in several languages, values with units,
//! terms of public vocabularies.

use kg::Kg;

use crate::explain::check_answers;
use crate::support::graph_of;

/// An ontology of instruments: its things are classes, its facts are restrictions.
const INSTRUMENTS: &str = r#"
@prefix : <http://m.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> . @prefix o: <http://purl.obolibrary.org/obo/> .
o:BFO_0000050 a owl:ObjectProperty ; rdfs:label "part of" . :amplifies a owl:ObjectProperty ; rdfs:label "amplifies" .
:M1 a owl:Class ; rdfs:label "violin" ; rdfs:subClassOf :M9 . :M2 a owl:Class ; rdfs:label "viola" ; rdfs:subClassOf :M9 .
:M9 a owl:Class ; rdfs:label "bowed instrument" ; rdfs:subClassOf :M0 . :M0 a owl:Class ; rdfs:label "instrument" .
:M3 a owl:Class ; rdfs:label "scroll" ; rdfs:subClassOf :P , [ owl:onProperty o:BFO_0000050 ; owl:someValuesFrom :M4 ] .
:M4 a owl:Class ; rdfs:label "pegbox" ; rdfs:subClassOf :P , [ owl:onProperty o:BFO_0000050 ; owl:someValuesFrom :M1 ] .
:M5 a owl:Class ; rdfs:label "sound post" ; rdfs:subClassOf :P , [ owl:onProperty o:BFO_0000050 ; owl:someValuesFrom :M1 ] .
:M6 a owl:Class ; rdfs:label "resonator" ; rdfs:subClassOf :P , [ owl:onProperty :amplifies ; owl:someValuesFrom :M7 ] .
:M7 a owl:Class ; rdfs:label "string vibration" ; rdfs:subClassOf :P . :P a owl:Class ; rdfs:label "component" .
"#;

#[test]
fn classes_of_an_ontology_are_asked_for_like_things() {
    check_answers(
        &graph_of(INSTRUMENTS),
        "; ",
        &[
            ("What is the scroll part of?", "M4"),
            ("parts of the violin", "M4 M5"),
            ("How many components are part of the violin?", "2"),
            ("What does the resonator amplify?", "M7"),
            ("Which kinds of bowed instrument are there?", "M1 M2"),
            ("What is the viola a kind of?", "M9"),
            ("Is the violin a kind of bowed instrument?", "true"),
        ],
    );
}

/// Dishes with labels in another language than their IRIs, and kinds in the names.
const DISHES: &str = r#"
@prefix : <http://d.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:hasFilling a owl:ObjectProperty .
:Pie a owl:Class ; rdfs:label "Torta"@pt . :Filling a owl:Class ; rdfs:label "Recheio"@pt .
:PotatoFilling rdfs:subClassOf :Filling ; rdfs:label "RecheioDeBatata"@pt . :LentilFilling rdfs:subClassOf :Filling ; rdfs:label "RecheioDeLentilha"@pt .
:Harvester rdfs:subClassOf :Pie , [ owl:onProperty :hasFilling ; owl:someValuesFrom :PotatoFilling ] ; rdfs:label "Colheita"@pt .
:Shepherd rdfs:subClassOf :Pie , [ owl:onProperty :hasFilling ; owl:someValuesFrom :PotatoFilling ] ,
  [ owl:onProperty :hasFilling ; owl:someValuesFrom :LentilFilling ] ; rdfs:label "Pastor"@pt .
"#;

#[test]
fn names_in_iris_and_kinds_in_names_link() {
    check_answers(
        &graph_of(DISHES),
        "; ",
        &[
            ("Which pies have lentils?", "Shepherd"),
            ("What fillings does the Harvester have?", "PotatoFilling"),
            ("Does the Shepherd have a potato filling?", "true"),
        ],
    );
}

/// Countries whose values have units, years and notes, and whose names are properties in two languages.
fn countries() -> String {
    let names = [
        ("NOR", "Norway", "la Norvège", 5400, "SWE"),
        ("SWE", "Sweden", "la Suède", 10500, "NOR"),
        ("FIN", "Finland", "la Finlande", 5500, "SWE"),
        ("KEN", "Kenya", "le Kenya", 53000, "UGA"),
        ("UGA", "Uganda", "l'Ouganda", 45000, "KEN"),
    ];
    let mut text = "@prefix : <http://c.test/> .\n".to_owned();
    for (id, english, french, people, neighbour) in names {
        text += &format!(
            ":{id}_state a :Selfgoverning ; :nameShortEN \"{english}\" ; :nameShortFR \"{french}\" ; :nameCurrencyEN \"{id} crown\" ; \
             :nameCurrencyFR \"couronne {id}\" ; :populationTotal {people}.0 ; :populationUnit \"1000\" ; :populationYear 2020 ; \
             :populationNotes \"estimate\" ; :countryAreaTotal {people}0 ; :hasBorderWith :{neighbour}_state .\n"
        );
    }
    // Fewer than twenty instances say nothing about a graph.
    for i in 0..20 {
        text += &format!(
            ":isle_of_{letter} a :Isle ; :nameShortEN \"Isle of {letter}\" .\n",
            letter = (b'A' + i) as char
        );
    }
    text
}

#[test]
fn values_have_company_and_names_have_languages() {
    let kg = graph_of(&countries());
    let norway = kg.by_name("NOR_state").unwrap();
    assert_eq!(kg.label(norway).as_deref(), Some("Norway"));
    check_answers(
        &kg,
        "; ",
        &[
            ("population of Norway", "5400.0"),
            (
                "In which year was the population of Norway counted?",
                "2020",
            ),
            ("What currency does Kenya use?", "KEN crown"),
        ],
    );
}

/// People and papers in the terms of FOAF and Dublin Core.
const PAPERS: &str = r#"
@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix dc: <http://purl.org/dc/elements/1.1/> . @prefix : <http://p.test/> .
:mona-iversen a foaf:Person ; foaf:knows :otto-brandt . :otto-brandt a foaf:Person ; foaf:knows :kim-sand . :kim-sand a foaf:Person .
:p1 a foaf:Document ; dc:title "Rivers of Ink" ; foaf:maker :mona-iversen ; dc:subject :typography .
:p2 a foaf:Document ; dc:title "Late Letters" ; foaf:maker :mona-iversen , :otto-brandt ; dc:subject :handwriting .
"#;

#[test]
fn terms_of_public_vocabularies_have_other_names() {
    check_answers(
        &graph_of(PAPERS),
        "; ",
        &[
            ("Who wrote Rivers of Ink?", "mona-iversen"),
            (
                "Who is the author of Late Letters?",
                "mona-iversen otto-brandt",
            ),
        ],
    );
}
