//! Known relations and namespaces, with their roles.

use crate::names::{local_name, split};
use crate::term::{RDF_TYPE, RDFS_LABEL};

/// Relations to a class, by full IRI.
const TYPE_IRIS: &[&str] = &[
    RDF_TYPE,
    "http://www.wikidata.org/prop/direct/P31",
    "http://www.wikidata.org/entity/P31",
    "urn:kgagent:P31",
    "urn:kgagent:type",
];
/// Relations to a class, by local name in any namespace: two of Freebase, one of KQA Pro, and what
/// people write in tables of triples.
const TYPE_LOCALS: &[&str] = &[
    "type.object.type",
    "common.topic.notable_types",
    "instance_of",
    "instance of",
    "instanceOf",
    "is_a",
    "is a",
    "isA",
];

/// RDF Schema's relation to a superclass.
pub(crate) const RDFS_SUBCLASS_OF: &str = "http://www.w3.org/2000/01/rdf-schema#subClassOf";
/// Relations to a superclass, by full IRI.
const SUPERCLASS_IRIS: &[&str] = &[
    RDFS_SUBCLASS_OF,
    "http://www.wikidata.org/prop/direct/P279",
    "http://www.wikidata.org/entity/P279",
    "urn:kgagent:P279",
];
/// Relations to a superclass, by local name. In KQA Pro, concepts are instances of wider concepts.
const SUPERCLASS_LOCALS: &[&str] = &[
    "subclass_of",
    "instance_of",
    "freebase.type_hints.included_types",
];

/// Relations to a name, best first, by full IRI.
const LABEL_IRIS: &[&str] = &[
    RDFS_LABEL,
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
];
/// Freebase's relation to a name, in any namespace. It has the rank of `rdfs:label`.
const LABEL_LOCALS: &[&str] = &["type.object.name"];

/// Relations to further names of a node, by full IRI. Unlike labels they stay visible, because
/// people ask for nicknames.
const ALIAS_IRIS: &[&str] = &[
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://www.w3.org/2004/02/skos/core#hiddenLabel",
    // Ontologies of the OBO Foundry: alternative term, editor preferred term.
    "http://purl.obolibrary.org/obo/IAO_0000118",
    "http://purl.obolibrary.org/obo/IAO_0000111",
];
/// Relations to further names, by local name in lower case without separators, in any namespace. A
/// `name` relation outside the known vocabularies is one of them: it may name only a part of the
/// entity, so it is not a label, but people use it to refer to the entity.
const ALIAS_LOCALS: &[&str] = &[
    "common.topic.alias",
    "alternatename",
    "altlabel",
    "alias",
    "aliases",
    "nick",
    "nickname",
    "alsoknownas",
    "othername",
    "othernames",
    "fullname",
    "birthname",
    "longname",
    "name",
    "title",
    "hasexactsynonym",
    "exactsynonym",
    "synonym",
    "synonyms",
];

/// Relations from a redirecting page. Its title is an alias of its target.
const REDIRECT_LOCALS: &[&str] = &["wikiPageRedirects", "wikiPageDisambiguates"];

/// Relations that describe the graph rather than the world, by local name.
const HIDDEN_LOCALS: &[&str] = &[
    // Freebase (rule R4)
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
    "type.object.id",
    "type.object.guid",
    "type.object.permission",
    "type.object.creator",
    "type.object.timestamp",
    "type.type.instance",
    "type.property.schema",
    "type.property.expected_type",
    "type.property.reverse_property",
    "type.property.unique",
    // DBpedia (rules C.4, and other relations of its pages about themselves)
    "wikiPageRedirects",
    "wikiPageRevisionID",
    "wikiPageID",
    "wikiPageDisambiguates",
    "wikiPageExternalLink",
    "wikiPageLength",
    "wikiPageOutDegree",
    "wikiPageInDegree",
    "wikiPageInterLanguageLink",
    "wikiPageModified",
    "wikiPageExtracted",
    "wikiPageHistoryLink",
    "wikiPageRevisionLink",
    "wikiPageUsesTemplate",
    "wikiPageWikiLinkText",
];
/// Hidden relations, by the start of the local name.
const HIDDEN_LOCAL_STARTS: &[&str] = &["soft.isbn"];
/// Hidden relations, by full IRI.
const HIDDEN_IRIS: &[&str] = &[
    // How a list is written
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#first",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#rest",
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://www.w3.org/2000/01/rdf-schema#domain",
    "http://www.w3.org/2000/01/rdf-schema#range",
    RDFS_SUBCLASS_OF,
    "http://www.w3.org/2000/01/rdf-schema#subPropertyOf",
    "http://www.w3.org/2000/01/rdf-schema#isDefinedBy",
    "http://www.w3.org/2000/01/rdf-schema#seeAlso",
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://www.w3.org/2004/02/skos/core#hiddenLabel",
    "http://www.w3.org/2004/02/skos/core#definition",
    "http://www.w3.org/2004/02/skos/core#note",
    "http://www.w3.org/2004/02/skos/core#inScheme",
    "http://www.w3.org/ns/prov#wasDerivedFrom",
    "http://xmlns.com/foaf/0.1/isPrimaryTopicOf",
    "http://xmlns.com/foaf/0.1/primaryTopic",
    // Wikidata: relations of pages and statements about themselves
    "http://schema.org/dateModified",
    "http://schema.org/description",
    "http://schema.org/isPartOf",
    "http://schema.org/inLanguage",
    "http://schema.org/version",
    "http://schema.org/domainIncludes",
    "http://schema.org/rangeIncludes",
    "https://schema.org/domainIncludes",
    "https://schema.org/rangeIncludes",
    "http://wikiba.se/ontology#statements",
    "http://wikiba.se/ontology#sitelinks",
    "http://wikiba.se/ontology#identifiers",
    "http://wikiba.se/ontology#rank",
    "http://wikiba.se/ontology#directClaim",
    "http://wikiba.se/ontology#claim",
    "http://wikiba.se/ontology#statementProperty",
    "http://wikiba.se/ontology#statementValue",
    "http://wikiba.se/ontology#qualifier",
    "http://wikiba.se/ontology#qualifierValue",
    "http://wikiba.se/ontology#reference",
    "http://wikiba.se/ontology#referenceValue",
    "http://wikiba.se/ontology#novalue",
    "http://wikiba.se/ontology#propertyType",
    "http://wikiba.se/ontology#badge",
    "http://wikiba.se/ontology#timestamp",
];
/// Namespaces whose relations are all hidden.
const HIDDEN_NAMESPACES: &[&str] = &[
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/ns/shacl#",
];

/// Namespaces of the modelling language, whose members are not classes of things.
const META_NAMESPACES: &[&str] = &[
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
];

/// Relations that state the domain, the range and the reverse of a relation, by full IRI or by
/// local name in any namespace.
pub(super) const DOMAIN: &[&str] = &[
    "http://www.w3.org/2000/01/rdf-schema#domain",
    "http://schema.org/domainIncludes",
    "https://schema.org/domainIncludes",
    "type.property.schema",
];
pub(super) const RANGE: &[&str] = &[
    "http://www.w3.org/2000/01/rdf-schema#range",
    "http://schema.org/rangeIncludes",
    "https://schema.org/rangeIncludes",
    "type.property.expected_type",
];
pub(super) const REVERSE: &[&str] = &[
    "http://www.w3.org/2002/07/owl#inverseOf",
    "http://schema.org/inverseOf",
    "https://schema.org/inverseOf",
    "http://www.wikidata.org/prop/direct/P1696",
    "type.property.reverse_property",
];

pub(super) fn is_type_relation(iri: &str) -> bool {
    let local = local_name(iri);
    // Exports of property graphs write `IS_A`.
    let capitals = local
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    TYPE_IRIS.contains(&iri)
        || TYPE_LOCALS.contains(&local.as_str())
        || capitals && TYPE_LOCALS.contains(&local.to_lowercase().as_str())
}

/// Rank of a label relation, smaller is better; `None` for any other relation.
pub(super) fn label_rank(iri: &str) -> Option<usize> {
    let by_iri = LABEL_IRIS.iter().position(|known| *known == iri);
    by_iri.or_else(|| {
        LABEL_LOCALS
            .contains(&local_name(iri).as_str())
            .then_some(0)
    })
}

/// Whether a relation is hidden from planners for a reason other than being a type or label
/// relation.
pub(crate) fn is_meta_relation(iri: &str) -> bool {
    let local = local_name(iri);
    HIDDEN_IRIS.contains(&iri)
        || HIDDEN_LOCALS.contains(&local.as_str())
        || HIDDEN_LOCAL_STARTS
            .iter()
            .any(|start| local.starts_with(start))
        || HIDDEN_NAMESPACES.contains(&split(iri).0)
}

/// Whether a class belongs to the modelling language (`owl:Class`, `rdf:Property`, …).
pub fn is_meta_class(iri: &str) -> bool {
    META_NAMESPACES.contains(&split(iri).0)
}

pub(super) fn is_alias(iri: &str) -> bool {
    let local = local_name(iri);
    // `country#name` and `ceb:full_name` both match; Freebase's dotted names are unchanged.
    let plain: String = local
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .collect();
    is_other_name(iri) || ALIAS_LOCALS.contains(&plain.as_str())
}

/// Whether a relation of a known vocabulary has further names.
pub(super) fn is_other_name(iri: &str) -> bool {
    ALIAS_IRIS.contains(&iri)
}

/// Whether a relation leads from a class to a wider class.
pub(super) fn is_superclass(iri: &str) -> bool {
    SUPERCLASS_IRIS.contains(&iri) || SUPERCLASS_LOCALS.contains(&local_name(iri).as_str())
}

/// Whether a relation leads from a redirecting page to its target.
pub(super) fn is_redirect(iri: &str) -> bool {
    REDIRECT_LOCALS.contains(&local_name(iri).as_str())
}

/// Whether a list contains a relation, by full IRI or by local name.
pub(super) fn listed(iri: &str, known: &[&str]) -> bool {
    known.contains(&iri) || known.contains(&local_name(iri).as_str())
}
