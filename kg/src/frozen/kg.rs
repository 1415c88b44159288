//! The frozen graph: construction, settings, and accessors beyond [`Kg`].

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use super::bytes::ImageBytes;
use super::chunk::Chunk;
use super::error::FreezeError;
use super::freeze::{self, FreezeInput};
use super::image::{Damage, Image};
use super::layout::Section;
use super::members::{Origins, Scan};
use super::memo::GraphIdentity;
use super::meta::{GraphMeta, NamedGraph};
use super::spool::WorkFile;
use crate::dictionary::{Dictionary, TermKey, term_key};
use crate::graph::Kg;
use crate::hierarchy;
use crate::schema::Settings;
use crate::search::{LabelIndex, SearchError};
use crate::term::{NodeId, RelId, Term};
use common::hex::hex;

/// An immutable graph.
#[derive(Debug)]
pub struct FrozenKg {
    pub(super) image: Image,
    pub(super) meta: GraphMeta,
    /// Relations that planners do not see, sorted.
    pub(super) hidden: Vec<RelId>,
    /// Whether labels are wanted in the languages of the stored labels.
    pub(super) default_languages: bool,
    /// The classes and their superclasses, if the settings include subclasses.
    pub(super) wider: Option<Vec<NodeId>>,
    pub(super) label_index: OnceLock<Result<LabelIndex, SearchError>>,
    /// The named graphs of each row, once a query has needed them.
    pub(super) origins: OnceLock<Origins>,
    pub(super) hash: String,
    pub(super) identity: GraphIdentity,
}

impl FrozenKg {
    /// Builds a graph from triples in any order, without duplicates. Triples that are not RDF (a
    /// literal as subject, a relation that is not an IRI) are dropped, and so is everything after
    /// 2³² − 1 triples or distinct terms.
    #[must_use]
    pub fn from_triples(triples: impl IntoIterator<Item = [Term; 3]>) -> Self {
        let triples = triples.into_iter().map(|triple| (triple, 0));
        Self::from_quads(triples, vec![String::new()])
    }

    /// [`FrozenKg::from_triples`] with the place of each triple's graph in `graphs`.
    fn from_quads(quads: impl Iterator<Item = ([Term; 3], u32)>, graphs: Vec<String>) -> Self {
        let mut chunk = Chunk::default();
        let mut key = String::new();
        for (triple, graph) in quads {
            if matches!(triple[0], Term::Literal(_)) || !matches!(triple[1], Term::Iri(_)) {
                continue;
            }
            let [s, p, o] = triple.map(|term| {
                term_key(&mut key, &term);
                chunk.intern(&key)
            });
            chunk.push([s, p, o, graph]);
            if chunk.is_full() {
                break;
            }
        }
        let frozen = chunk
            .seal(None)
            .map_err(FreezeError::from)
            .and_then(|sealed| {
                Self::freeze(
                    FreezeInput {
                        chunks: vec![sealed],
                        graphs,
                        reasoning: Some(usize::MAX),
                        labels: Vec::new(),
                    },
                    None,
                    None,
                )
            });
        // Writing to memory cannot fail, and the loop above stops at a full chunk.
        frozen.unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// Freezes the input of a loader into a file or into memory. With a `work` file, data are sorted
    /// there.
    pub(crate) fn freeze(
        input: FreezeInput,
        file: Option<&Path>,
        work: Option<&WorkFile>,
    ) -> Result<Self, FreezeError> {
        let image = freeze::freeze(input, file, work)?;
        Self::of(image).map_err(|damage| io::Error::other(damage).into())
    }

    /// Maps a file. Reads only the header and the small sections.
    pub(crate) fn open(path: &Path) -> io::Result<Result<Self, Damage>> {
        let bytes = ImageBytes::map(path)?;
        Ok(Image::open(bytes, Section::ALL).and_then(Self::of))
    }

    fn of(image: Image) -> Result<Self, Damage> {
        let meta: GraphMeta = serde_json::from_slice(image.section(Section::Meta))
            .map_err(|error| Damage::Section(format!("section Meta ({error})")))?;
        let hash = hex(&image.header.content_hash);
        let mut kg = Self {
            image,
            meta,
            hidden: Vec::new(),
            default_languages: true,
            wider: None,
            label_index: OnceLock::new(),
            origins: OnceLock::new(),
            hash,
            identity: GraphIdentity::new(),
        };
        kg.meta.names.prepare(kg.image.dictionary());
        kg.default_languages = kg.meta.schema.settings.languages == Settings::default().languages;
        kg.hidden.clone_from(&kg.meta.schema.hidden);
        kg.hidden.sort_unstable();
        Ok(kg)
    }

    /// The bytes, as written to a file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.image.as_slice()
    }

    pub(super) fn dictionary(&self) -> Dictionary<'_> {
        self.image.dictionary()
    }

    pub(super) fn key(&self, id: u32) -> TermKey {
        self.image.dictionary().key(id)
    }

    /// Applies the owner's settings: label languages, the value of NOW, and so on.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.default_languages = settings.languages == Settings::default().languages;
        self.meta.schema.settings = settings;
        // The memo may contain labels in other languages.
        self.identity = GraphIdentity::new();
        self.wider = self
            .meta
            .schema
            .settings
            .subclasses
            .then(|| hierarchy::wider(&self, self.direct_classes()));
        self
    }

    /// Sets the label index from the graph folder.
    pub(crate) fn set_label_index(&mut self, index: LabelIndex) {
        self.label_index = Ok(index).into();
    }

    /// Sets the deny list (rule R4): relations that are hidden from planners in addition to type
    /// and label relations, which are always hidden.
    #[must_use]
    pub fn with_hidden(mut self, iris: &[String]) -> Self {
        let listed = iris
            .iter()
            .filter_map(|iri| self.dictionary().find_iri(iri))
            .map(RelId);
        let always = self
            .meta
            .schema
            .type_relations
            .iter()
            .chain(&self.meta.schema.label_relations)
            .copied();
        let mut hidden: Vec<RelId> = listed
            .chain(always)
            .filter(|r| self.relations().binary_search(r).is_ok())
            .collect();
        hidden.sort_unstable();
        hidden.dedup();
        self.meta.schema.hidden.clone_from(&hidden);
        self.hidden = hidden;
        self
    }

    /// A new graph in memory, with its own ids, that contains the union of these named graphs. The
    /// empty name is the default graph. Its triples keep their graphs; the other graphs are empty.
    ///
    /// # Errors
    /// The first unknown name.
    pub fn restricted(&self, graphs: &[String]) -> Result<Self, String> {
        let names: Vec<String> = self
            .graphs()
            .iter()
            .map(|graph| graph.name.clone())
            .collect();
        let places = graphs
            .iter()
            .map(|name| {
                names
                    .iter()
                    .position(|own| own == name)
                    .ok_or_else(|| name.clone())
            })
            .collect::<Result<Vec<usize>, _>>()?;
        let quads = places.into_iter().flat_map(|place| {
            let rows = Scan::new(&self.image, self.image.rows_of_graph(place), [None; 3]);
            // What axioms state is read from them again.
            let own = rows.filter(|&[s, p, o]| !self.is_axiom(NodeId(s), RelId(p), NodeId(o)));
            own.map(move |triple| (triple.map(|id| self.term(NodeId(id))), place as u32))
        });
        Ok(Self::from_quads(quads, names))
    }

    /// The named graphs of the triples; empty if all triples are in the default graph.
    #[must_use]
    pub fn graphs(&self) -> &[NamedGraph] {
        &self.meta.graphs
    }

    /// The classes that a node is stated to have, sorted.
    pub(super) fn direct_types(&self, node: NodeId) -> Vec<NodeId> {
        let mut types: Vec<NodeId> = (self.meta.schema.type_relations.iter())
            .flat_map(|&r| self.tails(node, r).into_owned())
            .collect();
        types.retain(|class| self.direct_classes().binary_search(class).is_ok());
        types.sort_unstable();
        types.dedup();
        types
    }

    /// Number of triples that only axioms state.
    #[must_use]
    pub fn axiom_count(&self) -> usize {
        self.meta.axioms.len()
    }

    /// The triples, ordered by their terms.
    pub fn triples(&self) -> impl Iterator<Item = (NodeId, RelId, NodeId)> + '_ {
        self.image
            .triples()
            .map(|[s, p, o]| (NodeId(s), RelId(p), NodeId(o)))
    }

    /// Subject and object of every triple of a relation, ordered by object, then subject.
    pub fn pairs(&self, relation: RelId) -> impl ExactSizeIterator<Item = (NodeId, NodeId)> + '_ {
        let [objects, subjects] = self.image.pairs(relation.0);
        objects
            .iter()
            .zip(subjects)
            .map(|(&o, &s)| (NodeId(s), NodeId(o)))
    }

    /// Relation and object of every triple of a subject, sorted, including hidden relations.
    pub fn outgoing(&self, subject: NodeId) -> impl ExactSizeIterator<Item = (RelId, NodeId)> + '_ {
        let [relations, objects] = self.image.out_edges(subject.0);
        relations
            .iter()
            .zip(objects)
            .map(|(&p, &o)| (RelId(p), NodeId(o)))
    }

    /// Relation and subject of every triple of an object, sorted, including hidden relations.
    pub fn incoming(&self, object: NodeId) -> impl ExactSizeIterator<Item = (RelId, NodeId)> + '_ {
        let [relations, subjects] = self.image.in_edges(object.0);
        relations
            .iter()
            .zip(subjects)
            .map(|(&p, &s)| (RelId(p), NodeId(s)))
    }

    /// Number of terms: IRIs, blank nodes and literals.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.dictionary().len()
    }

    /// Number of IRIs and blank nodes that are the head or tail of a triple.
    #[must_use]
    pub fn entity_count(&self) -> usize {
        self.meta.entities
    }

    /// Every IRI and blank node that is the head or tail of a triple.
    pub fn entities(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.dictionary()
            .resources()
            .map(NodeId)
            .filter(|&node| self.degree(node) > 0)
    }

    /// Number of distinct literals.
    #[must_use]
    pub fn literal_count(&self) -> usize {
        self.dictionary().len() - self.dictionary().resources().len()
    }

    /// Languages of the labels, sorted; the empty string means untagged.
    #[must_use]
    pub fn label_languages(&self) -> &[String] {
        &self.meta.label_languages
    }
}
