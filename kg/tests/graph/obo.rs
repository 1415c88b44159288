//! Ontologies in the OBO format are the graphs that their OWL is.

use kg::term::Term;
use kg::{FrozenKg, Kg, LoadOptions};

use crate::support::{load, try_load};

const ZOO: &str = r#"format-version: 1.4
ontology: zoo
! a comment

[Term]
id: ZOO:1
name: sea \{lion\} ! not a part of it
def: "An \"eared\" seal." [ZOO:ref] {source="x"}
comment: line one\nline two
synonym: "Otariinae" EXACT []
synonym: "eared seal" BROAD TYPE [ZOO:ref]
synonym: "otary" []
xref: WIKI:1 "a page"
alt_id: ZOO:9
is_a: ZOO:2 {source="x"} ! seal
relationship: part_of ZOO:3 ! herd
intersection_of: ZOO:2 ! seal
intersection_of: part_of ZOO:3
property_value: http://zoo.test/legs "4" xsd:integer
property_value: http://zoo.test/near ZOO:3

[Term]
id: ZOO:8
name: old
is_a: ZOO:2
is_obsolete: true

[Typedef]
id: part_of
name: part of
xref: BFO:0000050
is_transitive: true

[Typedef]
id: fed by
name: fed by
inverse_of: feeds

[Instance]
id: ZOO:7
name: Nemo
instance_of: ZOO:1
relationship: part_of ZOO:6
"#;

const AS_OWL: &str = r#"@prefix obo: <http://purl.obolibrary.org/obo/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
obo:ZOO_1 a owl:Class ; rdfs:label "sea {lion}" ; obo:IAO_0000115 "An \"eared\" seal." ; rdfs:comment "line one\nline two" ;
  oio:hasExactSynonym "Otariinae" ; oio:hasBroadSynonym "eared seal" ; oio:hasRelatedSynonym "otary" ;
  oio:hasDbXref "WIKI:1" ; oio:hasAlternativeId "ZOO:9" ; <http://zoo.test/legs> 4 ; <http://zoo.test/near> obo:ZOO_3 ;
  rdfs:subClassOf obo:ZOO_2 , [ a owl:Restriction ; owl:onProperty obo:BFO_0000050 ; owl:someValuesFrom obo:ZOO_3 ] ;
  owl:equivalentClass [ owl:intersectionOf ( obo:ZOO_2 [ a owl:Restriction ; owl:onProperty obo:BFO_0000050 ; owl:someValuesFrom obo:ZOO_3 ] ) ] .
obo:ZOO_8 a owl:Class ; rdfs:label "old" ; rdfs:subClassOf obo:ZOO_2 ; owl:deprecated true .
obo:BFO_0000050 a owl:ObjectProperty , owl:TransitiveProperty ; rdfs:label "part of" ; oio:hasDbXref "BFO:0000050" .
<http://purl.obolibrary.org/obo/zoo#fed%20by> a owl:ObjectProperty ; rdfs:label "fed by" ; owl:inverseOf <http://purl.obolibrary.org/obo/zoo#feeds> .
obo:ZOO_7 a owl:NamedIndividual , obo:ZOO_1 ; rdfs:label "Nemo" ; obo:BFO_0000050 obo:ZOO_6 .
"#;

/// All triples, with one name for all blank nodes.
fn triples(kg: &FrozenKg) -> Vec<String> {
    let text = |node| match kg.term(node) {
        Term::Blank(_) => "_".to_owned(),
        other => other.to_string(),
    };
    let mut lines: Vec<String> = kg
        .triples()
        .map(|(s, p, o)| [s, p.node(), o].map(text).join(" "))
        .collect();
    lines.sort();
    lines
}

#[test]
fn stanzas_are_the_triples_of_their_owl() {
    let (obo, owl) = (load("zoo.obo", ZOO), load("zoo.ttl", AS_OWL));
    assert_eq!(triples(&obo), triples(&owl));
    assert_eq!(obo.axiom_count(), 1, "the sea lion is part of a herd");
}

#[test]
fn faults_name_their_line() {
    for (text, line, says) in [
        ("[Term]\nid: A:1\nno tag\n", 3, "tag: value"),
        ("format-version: 1.4\n\n[Term]\nname: a\n", 3, "no `id:`"),
        ("[Term]\nid: A:1\ndef: none\n", 3, "not complete"),
        ("[Term]\nid: A:1\nsynonym: \"open\n", 3, "not complete"),
        (
            "[Term]\nid: A:1\nrelationship: part_of\n",
            3,
            "not complete",
        ),
        ("[Term]\nid: A:1\nproperty_value: p\n", 3, "not complete"),
    ] {
        let error = try_load("a.obo", text, &LoadOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(&format!(":{line}:")) && error.contains(says),
            "{error}"
        );
    }
}

#[test]
fn a_stanza_stays_within_the_memory_of_the_load() {
    let text = format!("[Term]\nid: A:1\n{}", "x:\n".repeat(10_000));
    let small = LoadOptions {
        memory: 100_000,
        ..LoadOptions::default()
    };
    let error = try_load("a.obo", &text, &small).unwrap_err().to_string();
    assert!(error.contains("raise --memory"), "{error}");
    assert!(try_load("a.obo", &text, &LoadOptions::default()).is_ok());
}
