//! The relations that give a node's class or name.

use kg::Kg;
use kg::term::{RDF_TYPE, RDFS_LABEL};

/// Relations to a class in the published sets, by IRI.
const TYPES: &[&str] = &[RDF_TYPE, "http://www.wikidata.org/prop/direct/P31"];
/// Relations to a class, by local name in any namespace (Freebase, KQA Pro).
const TYPE_LOCALS: &[&str] = &[
    "type.object.type",
    "common.topic.notable_types",
    "instance_of",
];
/// Relations to a name, by IRI.
const LABELS: &[&str] = &[
    RDFS_LABEL,
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
];
/// Relations to a name, by local name in any namespace.
const LABEL_LOCALS: &[&str] = &["type.object.name"];

/// The class and label relations of a graph, or those of the published sets if there is no graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    known: Option<(Vec<String>, Vec<String>)>,
}

impl Vocabulary {
    /// The vocabulary of a graph, or the built-in one.
    pub(crate) fn new(kg: Option<&dyn Kg>) -> Self {
        let iris = |kg: &dyn Kg, ids: &[kg::term::RelId]| {
            ids.iter().filter_map(|id| kg.iri(id.node())).collect()
        };
        Self {
            known: kg.map(|kg| {
                (
                    iris(kg, &kg.schema().type_relations),
                    iris(kg, &kg.schema().label_relations),
                )
            }),
        }
    }

    /// Whether there is a graph. If so, constructs that must be checked by a run may be tried.
    pub(crate) fn has_graph(&self) -> bool {
        self.known.is_some()
    }

    /// Whether the relation leads to a class.
    pub(crate) fn is_type(&self, iri: &str) -> bool {
        match &self.known {
            Some((types, _)) => types.iter().any(|known| known == iri),
            None => TYPES.contains(&iri) || TYPE_LOCALS.contains(&local(iri)),
        }
    }

    /// Whether the relation leads to a name.
    pub(crate) fn is_label(&self, iri: &str) -> bool {
        match &self.known {
            Some((_, labels)) => labels.iter().any(|known| known == iri),
            None => LABELS.contains(&iri) || LABEL_LOCALS.contains(&local(iri)),
        }
    }
}

fn local(iri: &str) -> &str {
    iri.rsplit(['#', '/']).next().unwrap_or(iri)
}
