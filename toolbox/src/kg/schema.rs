//! Which relations of a graph say a node's class or name, and which no planner should see (rule R4 of the specification, section C.4).

use super::Interval;
use super::names::{local_name, split};
use crate::term::{RDF_TYPE, RDFS_LABEL};

/// Relations to a class, by full IRI.
const TYPE_IRIS: &[&str] = &[RDF_TYPE, "http://www.wikidata.org/prop/direct/P31", "http://www.wikidata.org/entity/P31", "urn:kgagent:P31"];
/// Relations to a class, by local name in any namespace: Freebase's two and KQA Pro's.
const TYPE_LOCALS: &[&str] = &["type.object.type", "common.topic.notable_types", "instance_of"];

/// Relations to a name, best first, by full IRI.
const LABEL_IRIS: &[&str] = &[
    RDFS_LABEL,
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
];
/// Freebase's relation to a name, in any namespace; its rank is that of `rdfs:label`.
const LABEL_LOCALS: &[&str] = &["type.object.name"];

/// Relations that describe the graph and not the world, by local name.
const HIDDEN_LOCALS: &[&str] = &[
    "common.topic.article",
    "common.topic.notable_types",
    "common.topic.description",
    "common.topic.notable_for",
    "common.topic.topic_equivalent_webpage",
    "common.topic.webpage",
    "common.webpage.topic",
    "imdb.topic.title_id",
    "kg.object_profile.prominent_type",
    "type.object.type",
    "type.object.key",
    "type.type.instance",
    "wikiPageRedirects",
    "wikiPageRevisionID",
    "wikiPageID",
    "wikiPageDisambiguates",
    "wikiPageExternalLink",
];
/// Relations hidden by the beginning of their local name.
const HIDDEN_LOCAL_STARTS: &[&str] = &["soft.isbn"];
/// Relations hidden by full IRI.
const HIDDEN_IRIS: &[&str] = &[
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://www.w3.org/2000/01/rdf-schema#domain",
    "http://www.w3.org/2000/01/rdf-schema#range",
    "http://www.w3.org/2000/01/rdf-schema#subClassOf",
    "http://www.w3.org/2000/01/rdf-schema#subPropertyOf",
    "http://www.w3.org/2000/01/rdf-schema#isDefinedBy",
    "http://www.w3.org/2000/01/rdf-schema#seeAlso",
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://www.w3.org/2004/02/skos/core#hiddenLabel",
    "http://www.w3.org/2004/02/skos/core#definition",
    "http://www.w3.org/2004/02/skos/core#note",
    "http://www.w3.org/2004/02/skos/core#inScheme",
];
/// Namespaces whose relations are all hidden.
const HIDDEN_NAMESPACES: &[&str] = &["http://www.w3.org/2002/07/owl#"];

/// Namespaces whose members are the modelling language itself, not classes of things.
const META_NAMESPACES: &[&str] =
    &["http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#"];

/// Ends of the names of the two relations of an interval (rule R11).
const INTERVAL_ENDS: &[(&str, &str)] = &[(".from", ".to"), (".from_date", ".to_date"), (".start_date", ".end_date")];

/// Namespaces whose local names are titles: a node without a label is still readable.
pub(crate) const TITLE_NAMESPACES: &[&str] = &[
    "http://dbpedia.org/resource/",
    "http://dbpedia.org/resource/Category:",
    "http://dbpedia.org/ontology/",
    "http://yago-knowledge.org/resource/",
];

pub(crate) fn is_type_relation(iri: &str) -> bool {
    TYPE_IRIS.contains(&iri) || TYPE_LOCALS.contains(&local_name(iri).as_str())
}

/// Rank of a label relation, smaller is better; `None` for every other relation.
pub(crate) fn label_rank(iri: &str) -> Option<usize> {
    let by_iri = LABEL_IRIS.iter().position(|known| *known == iri);
    by_iri.or_else(|| LABEL_LOCALS.contains(&local_name(iri).as_str()).then_some(0))
}

/// Whether a relation is hidden from planners, types and labels apart.
pub(crate) fn is_meta_relation(iri: &str) -> bool {
    let local = local_name(iri);
    HIDDEN_IRIS.contains(&iri)
        || HIDDEN_LOCALS.contains(&local.as_str())
        || HIDDEN_LOCAL_STARTS.iter().any(|start| local.starts_with(start))
        || HIDDEN_NAMESPACES.contains(&split(iri).0)
}

/// Whether a class belongs to the modelling language (`owl:Class`, `rdf:Property`, …).
pub(crate) fn is_meta_class(iri: &str) -> bool {
    META_NAMESPACES.contains(&split(iri).0)
}

/// The interval relations among `relations`, given as name and id.
pub(crate) fn intervals(relations: &[(String, crate::term::RelId)]) -> Vec<Interval> {
    let mut found: Vec<Interval> = Vec::new();
    for (from_end, to_end) in INTERVAL_ENDS {
        for (from_name, from) in relations {
            let Some(stem) = from_name.strip_suffix(from_end) else { continue };
            let to_name = format!("{stem}{to_end}");
            let Some((_, to)) = relations.iter().find(|(name, _)| *name == to_name) else { continue };
            let name = format!("{stem}.from_to");
            if !found.iter().any(|interval| interval.name == name) && !relations.iter().any(|(taken, _)| *taken == name) {
                found.push(Interval { name, from: *from, to: *to });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}
