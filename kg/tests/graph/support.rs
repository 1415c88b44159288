//! Small graphs and helpers to inspect them.

use std::path::{Path, PathBuf};

use kg::term::{NodeId, RelId, Term};
use kg::{self, FrozenKg, Kg, LoadError, LoadOptions, QueryAnswer, QueryError, QueryLimits};

pub(crate) fn file(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

pub(crate) fn try_load(
    name: &str,
    content: &str,
    options: &LoadOptions,
) -> Result<FrozenKg, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    FrozenKg::load(
        &[file(dir.path(), name, content.as_bytes())],
        options,
        &|_| {},
    )
}

pub(crate) fn load(name: &str, content: &str) -> FrozenKg {
    try_load(name, content, &LoadOptions::default()).unwrap()
}

pub(crate) fn node(kg: &FrozenKg, name: &str) -> NodeId {
    kg.by_name(name)
        .unwrap_or_else(|| panic!("no node `{name}`"))
}

pub(crate) fn rel(kg: &FrozenKg, name: &str) -> RelId {
    node(kg, name).relation()
}

pub(crate) fn names(kg: &FrozenKg, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|&n| kg.name(n)).collect()
}

pub(crate) fn rel_names(kg: &FrozenKg, relations: &[RelId]) -> Vec<String> {
    relations.iter().map(|r| kg.name(r.node())).collect()
}

pub(crate) fn text_of(term: Term) -> String {
    match term {
        Term::Iri(iri) => iri,
        Term::Blank(id) => id,
        Term::Literal(literal) => literal.lexical,
    }
}

/// The first column of the answer, in row order.
pub(crate) fn column(kg: &FrozenKg, text: &str) -> Result<Vec<String>, QueryError> {
    Ok(
        match kg.query(&kg::parse_query(text)?, QueryLimits::default())? {
            QueryAnswer::Bool(holds) => vec![holds.to_string()],
            QueryAnswer::Rows { rows, .. } => rows
                .into_iter()
                .filter_map(|row| row.into_iter().next().flatten())
                .map(text_of)
                .collect(),
        },
    )
}

pub(crate) const CITIES: &str = r#"
@prefix : <http://kg.test/> .
@prefix o: <http://kg.test/ontology#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
o:City a owl:Class ; rdfs:label "city"@en .
o:country a rdf:Property ; rdfs:label "country"@en ; rdfs:domain o:City .
:lisbon a o:City ; rdfs:label "Lissabon"@de, "Lisbon"@en ; skos:altLabel "LX" ; o:country :portugal ; o:population 545796 ; o:founded "-1200"^^xsd:gYear .
:porto a o:City ; rdfs:label "Porto" ; o:country :portugal ; o:population 231800 ; o:twin [ o:city :lisbon ; o:stint.from "2001"^^xsd:gYear ; o:stint.to "2003"^^xsd:gYear ] .
:portugal rdfs:label "Portugal"@pt , "Portugalia"@pl .
"#;
