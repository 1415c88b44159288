//! What the vocabulary of a graph says (rules R3, R4, R11, R12; specification C.4, E4): which relations carry classes, names and aliases,
//! which no planner should see, which are each other's reverse, and which two make an interval.
//!
//! Relations are recognised by name. What is said about them in the graph itself (domains, ranges, reverses) is read from it once.

use serde::{Deserialize, Serialize};

use super::names::{local_name, split};
use super::{Interval, Kg, Schema};
use crate::term::{Literal, NodeId, RDF_TYPE, RDFS_LABEL, RelId, Term};
use crate::value::{Kind, Span};

/// Relations to a class, by full IRI.
const TYPE_IRIS: &[&str] = &[
    RDF_TYPE,
    "http://www.wikidata.org/prop/direct/P31",
    "http://www.wikidata.org/entity/P31",
    "urn:kgagent:P31",
];
/// Relations to a class, by local name in any namespace: Freebase's two and KQA Pro's.
const TYPE_LOCALS: &[&str] = &[
    "type.object.type",
    "common.topic.notable_types",
    "instance_of",
];

/// Relations from a class to a wider one.
const SUPERCLASS_IRIS: &[&str] = &[
    "http://www.w3.org/2000/01/rdf-schema#subClassOf",
    "http://www.wikidata.org/prop/direct/P279",
    "http://www.wikidata.org/entity/P279",
    "urn:kgagent:P279",
];
/// The same by local name: KQA Pro's concepts are instances of wider concepts.
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
];
/// Freebase's relation to a name, in any namespace; its rank is that of `rdfs:label`.
const LABEL_LOCALS: &[&str] = &["type.object.name"];

/// Relations to further names of a node, by full IRI. Unlike labels they stay visible: people ask for nicknames.
const ALIAS_IRIS: &[&str] = &[
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://www.w3.org/2004/02/skos/core#hiddenLabel",
];
/// The same by local name in lower case without separators, in any namespace. A relation called `name` that no vocabulary defines is one of
/// them: it may name a part of the thing only, so it is no label, but it is how people will refer to it.
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
];

/// Relations from a page that only leads elsewhere, whose title is an alias of where it leads.
const REDIRECT_LOCALS: &[&str] = &["wikiPageRedirects", "wikiPageDisambiguates"];

/// Relations that describe the graph and not the world, by local name.
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
    // DBpedia (section C.4, and what else its pages say about themselves)
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
    "http://www.w3.org/ns/prov#wasDerivedFrom",
    "http://xmlns.com/foaf/0.1/isPrimaryTopicOf",
    "http://xmlns.com/foaf/0.1/primaryTopic",
    // Wikidata: what a page or a statement says about itself
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

/// Namespaces whose members are the modelling language itself, not classes of things.
const META_NAMESPACES: &[&str] = &[
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
];

/// Relations that state the domain of a relation, its range, and its reverse: by full IRI or, in any namespace, by local name.
const DOMAIN: &[&str] = &[
    "http://www.w3.org/2000/01/rdf-schema#domain",
    "http://schema.org/domainIncludes",
    "https://schema.org/domainIncludes",
    "type.property.schema",
];
const RANGE: &[&str] = &[
    "http://www.w3.org/2000/01/rdf-schema#range",
    "http://schema.org/rangeIncludes",
    "https://schema.org/rangeIncludes",
    "type.property.expected_type",
];
const REVERSE: &[&str] = &[
    "http://www.w3.org/2002/07/owl#inverseOf",
    "http://schema.org/inverseOf",
    "https://schema.org/inverseOf",
    "http://www.wikidata.org/prop/direct/P1696",
    "type.property.reverse_property",
];

/// Wikidata states facts about a property on `wd:P…` and uses it as `wdt:P…`.
const WIKIDATA_ENTITY: &str = "http://www.wikidata.org/entity/";
const WIKIDATA_DIRECT: &str = "http://www.wikidata.org/prop/direct/";

/// Ends of the names of the two relations of an interval that are taken at their word (rule R11): Freebase's.
const INTERVAL_ENDS: &[(&str, &str)] = &[
    (".from", ".to"),
    (".from_date", ".to_date"),
    (".start_date", ".end_date"),
];

/// Ends of such names elsewhere. They may mean places ("from Lisbon to Porto") or pages, so both relations must lead to times.
const TIME_ENDS: &[(&str, &str)] = &[
    ("from", "to"),
    ("start", "end"),
    ("fromDate", "toDate"),
    ("from_date", "to_date"),
    ("FromDate", "ToDate"),
    ("startDate", "endDate"),
    ("StartDate", "EndDate"),
    ("start_date", "end_date"),
    ("startYear", "endYear"),
    ("StartYear", "EndYear"),
    ("start_year", "end_year"),
    ("startTime", "endTime"),
    ("start_time", "end_time"),
    ("validFrom", "validTo"),
    ("valid_from", "valid_to"),
    ("P580", "P582"),
];

/// Values of a relation that are looked at to tell whether it leads to times.
const LOOKED_AT: usize = 20;

/// Namespaces whose local names are titles: a node without a label is still readable.
pub(crate) const TITLE_NAMESPACES: &[&str] = &[
    "http://dbpedia.org/resource/",
    "http://dbpedia.org/resource/Category:",
    "http://dbpedia.org/ontology/",
    "http://yago-knowledge.org/resource/",
];

/// What NOW means without a setting (rule R12): the freeze of the Freebase dump that WebQSP was made on.
const NOW: &str = "2015-08-10";

/// What a graph's owner may set; it stands in `manifest.json` and may be edited there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Languages of labels, best first; a tag stands for its regions too, and the empty one for labels without a language. Where none of
    /// them has a label, one without a language is taken, then the smallest tag.
    pub languages: Vec<String>,
    /// The date that NOW means in comparisons (rule R12).
    pub now: String,
    /// Whether a class has the instances of its subclasses too. SPARQL does not reason, so gold queries that rely on direct types want this off.
    pub subclasses: bool,
    /// Whether an in-relation is left out of a list that has its declared reverse as an out-relation (rule R3). Only right where both
    /// directions are in the graph.
    pub unify_directions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            languages: vec!["en".to_owned()],
            now: NOW.to_owned(),
            subclasses: false,
            unify_directions: false,
        }
    }
}

impl Settings {
    /// [`Settings::now`] as a date.
    #[must_use]
    pub fn now(&self) -> Literal {
        Literal::xsd(self.now.clone(), "date")
    }

    /// What is wrong with the settings, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if !is_time(&self.now()) {
            return Some(format!(
                "`now` is `{}`; write a date such as {NOW}",
                self.now
            ));
        }
        let bad = self
            .languages
            .iter()
            .find(|tag| !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        bad.map(|tag| format!("`{tag}` is no language tag; write one such as `en` or `pt-br`"))
    }
}

pub(crate) fn is_type_relation(iri: &str) -> bool {
    TYPE_IRIS.contains(&iri) || TYPE_LOCALS.contains(&local_name(iri).as_str())
}

/// Rank of a label relation, smaller is better; `None` for every other relation.
pub(crate) fn label_rank(iri: &str) -> Option<usize> {
    let by_iri = LABEL_IRIS.iter().position(|known| *known == iri);
    by_iri.or_else(|| {
        LABEL_LOCALS
            .contains(&local_name(iri).as_str())
            .then_some(0)
    })
}

/// Whether a relation is hidden from planners, types and labels apart.
pub(crate) fn is_meta_relation(iri: &str) -> bool {
    let local = local_name(iri);
    HIDDEN_IRIS.contains(&iri)
        || HIDDEN_LOCALS.contains(&local.as_str())
        || HIDDEN_LOCAL_STARTS
            .iter()
            .any(|start| local.starts_with(start))
        || HIDDEN_NAMESPACES.contains(&split(iri).0)
}

/// Why a relation is hidden from planners, in a word; `None` where it is not.
#[must_use]
pub fn why_hidden(kg: &dyn Kg, relation: RelId) -> Option<&'static str> {
    let schema = kg.schema();
    if !schema.hidden.contains(&relation) {
        return None;
    }
    let listed = matches!(kg.term(relation.node()), Term::Iri(iri) if is_meta_relation(&iri));
    Some(match () {
        () if schema.type_relations.contains(&relation) => "class",
        () if schema.label_relations.contains(&relation) => "label",
        () if listed => "about the graph",
        () => "learned, or added by hand",
    })
}

/// Whether a class belongs to the modelling language (`owl:Class`, `rdf:Property`, …).
pub fn is_meta_class(iri: &str) -> bool {
    META_NAMESPACES.contains(&split(iri).0)
}

fn is_alias(iri: &str) -> bool {
    let local = local_name(iri);
    // `country#name` and `ceb:full_name` alike; Freebase's dotted names stand as they are.
    let plain: String = local
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .collect();
    ALIAS_IRIS.contains(&iri) || ALIAS_LOCALS.contains(&plain.as_str())
}

fn listed(iri: &str, known: &[&str]) -> bool {
    known.contains(&iri) || known.contains(&local_name(iri).as_str())
}

/// What the schema is read from: a graph, whole or still being made.
pub(crate) trait Vocabulary {
    /// Every relation with its IRI and its printed name, in order of id.
    fn relations(&self) -> Vec<(RelId, String, String)>;
    /// Heads and tails of the triples of a relation, at most `limit` of them.
    fn pairs(&self, relation: RelId, limit: usize) -> Vec<(NodeId, NodeId)>;
    /// The term of an id.
    fn term(&self, node: NodeId) -> Term;
    /// The id of an IRI.
    fn find_iri(&self, iri: &str) -> Option<NodeId>;
}

/// Reads the schema of a graph.
pub(crate) fn read(graph: &dyn Vocabulary) -> Schema {
    let mut schema = Schema::default();
    let relations = graph.relations();
    let mut named = Vec::new();
    let mut ranked = Vec::new();
    for (id, iri, name) in &relations {
        let is_type = is_type_relation(iri);
        let label_rank = label_rank(iri);
        if is_type {
            schema.type_relations.push(*id);
        }
        match label_rank {
            Some(rank) => ranked.push((rank, *id)),
            None if is_alias(iri) => schema.alias_relations.push(*id),
            None => {}
        }
        if SUPERCLASS_IRIS.contains(&iri.as_str())
            || SUPERCLASS_LOCALS.contains(&local_name(iri).as_str())
        {
            schema.superclass_relations.push(*id);
        }
        if REDIRECT_LOCALS.contains(&local_name(iri).as_str()) {
            schema.redirect_relations.push(*id);
        }
        for (list, known) in [
            (&mut schema.domains, DOMAIN),
            (&mut schema.ranges, RANGE),
            (&mut schema.reverses, REVERSE),
        ] {
            if listed(iri, known) {
                stated(graph, *id, &relations, list);
            }
        }
        if is_type || label_rank.is_some() || is_meta_relation(iri) {
            schema.hidden.push(*id);
        } else {
            named.push((name.clone(), *id));
        }
    }
    ranked.sort_unstable();
    schema.label_relations = ranked.into_iter().map(|(_, id)| id).collect();
    schema.intervals = intervals(graph, &named);
    let known = |node: NodeId| {
        relations
            .binary_search_by_key(&node.relation(), |relation| relation.0)
            .is_ok()
    };
    // A reverse is a relation and holds both ways, whichever way it is stated.
    schema.reverses.retain(|&(_, other)| known(other));
    let other_way: Vec<(RelId, NodeId)> = schema
        .reverses
        .iter()
        .map(|&(relation, other)| (other.relation(), relation.node()))
        .collect();
    schema.reverses.extend(other_way);
    for list in [
        &mut schema.domains,
        &mut schema.ranges,
        &mut schema.reverses,
    ] {
        list.sort_unstable();
        list.dedup();
    }
    schema
}

/// What `relation` states about relations of the graph.
fn stated(
    graph: &dyn Vocabulary,
    relation: RelId,
    relations: &[(RelId, String, String)],
    list: &mut Vec<(RelId, NodeId)>,
) {
    let known = |node: NodeId| {
        relations
            .binary_search_by_key(&node.relation(), |relation| relation.0)
            .is_ok()
    };
    let direct = |node: NodeId| match graph.term(node) {
        Term::Iri(iri) => {
            let local = iri
                .strip_prefix(WIKIDATA_ENTITY)
                .filter(|local| local.starts_with('P'))?;
            graph.find_iri(&format!("{WIKIDATA_DIRECT}{local}"))
        }
        Term::Blank(_) | Term::Literal(_) => None,
    };
    for (about, value) in graph.pairs(relation, usize::MAX) {
        let about = direct(about).filter(|&node| known(node)).unwrap_or(about);
        let value = direct(value).filter(|&node| known(node)).unwrap_or(value);
        if known(about) {
            list.push((about.relation(), value));
        }
    }
}

/// The interval relations among `relations`, given as name and id.
fn intervals(graph: &dyn Vocabulary, relations: &[(String, RelId)]) -> Vec<Interval> {
    let ids: rustc_hash::FxHashMap<&str, RelId> = relations
        .iter()
        .map(|(name, id)| (name.as_str(), *id))
        .collect();
    let mut found: Vec<Interval> = Vec::new();
    for (ends, checked) in [(INTERVAL_ENDS, false), (TIME_ENDS, true)] {
        for (from_end, to_end) in ends {
            for (from_name, from) in relations {
                let Some(stem) = from_name.strip_suffix(from_end) else {
                    continue;
                };
                let Some(&to) = ids.get(format!("{stem}{to_end}").as_str()) else {
                    continue;
                };
                // The ending is a word of its own: `valid_from`, `activeStartDate`, but not `inherit`.
                let parted = !stem.ends_with(char::is_alphanumeric)
                    || from_end.starts_with(['.'])
                    || from_end.starts_with(char::is_uppercase);
                let taken = found
                    .iter()
                    .any(|interval| interval.from == *from || interval.to == to);
                if !parted
                    || taken
                    || checked && !(leads_to_times(graph, *from) && leads_to_times(graph, to))
                {
                    continue;
                }
                let stem = stem.trim_end_matches(['.', '_', '-']);
                let name = match (
                    stem.is_empty() || stem.ends_with([':', '/', '#']),
                    *from_end,
                ) {
                    (true, "from") => format!("{stem}from_to"),
                    // Without a stem the start gives the name: `startDate.from_to`, `pq:P580.from_to`.
                    (true, start) => format!("{stem}{start}.from_to"),
                    (false, _) => format!("{stem}.from_to"),
                };
                if !found.iter().any(|interval| interval.name == name)
                    && !ids.contains_key(name.as_str())
                {
                    found.push(Interval {
                        name,
                        from: *from,
                        to,
                    });
                }
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Whether the first values of a relation are all times.
fn leads_to_times(graph: &dyn Vocabulary, relation: RelId) -> bool {
    let values = graph.pairs(relation, LOOKED_AT);
    !values.is_empty()
        && values
            .iter()
            .all(|(_, tail)| graph.term(*tail).as_literal().is_some_and(is_time))
}

/// Whether a literal reads as a time: by its datatype, or as a year of four digits or a date.
fn is_time(literal: &Literal) -> bool {
    let shape = literal.lexical.len() == 4 && literal.lexical.bytes().all(|b| b.is_ascii_digit())
        || literal.lexical.contains('-');
    Span::parse(&literal.lexical).is_some() && (shape || Kind::of(literal) == Kind::Time)
}
