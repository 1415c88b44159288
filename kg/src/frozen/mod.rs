//! The frozen graph: a term dictionary and the triples in three orders, read-only, as one run of bytes that lies in a mapped file or in a
//! buffer. Opening it does no work that grows with the graph, and only what is touched is in memory.
//!
//! ```text
//! chunk ──▶ freeze (dictionary, rows) ──▶ derive (labels, classes, names) ──▶ image ──▶ index ──▶ FrozenKg
//! ```
//!
//! The orders are SPO, POS and OPS: with the object's relations beside each other, heads and incoming relations of a node are found as
//! quickly as its tails, and the relations between two nodes by walking those of the first.

mod access;
mod assemble;
mod bytes;
mod chunk;
mod derive;
mod freeze;
mod image;
mod index;
mod memo;
mod meta;
mod rows;
mod verify;

use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

pub(super) use chunk::{Chunk, Sealed};
pub use freeze::FreezeError;
pub(super) use freeze::Input;
pub use image::Damage;
pub(super) use image::VERSION;
use image::{Image, Section};
use index::distinct;
use meta::Meta;
pub use meta::NamedGraph;

use super::dictionary::{Dictionary, Key, Parts, term_key};
use super::{Kg, Settings, hierarchy, label};
use crate::search::{LabelIndex, SearchError};
use crate::term::{NodeId, RelId, Term};

/// Sets of up to so many nodes have their relations sorted; for larger ones each relation is marked as seen, which costs a bit a term.
const FEW: usize = 32;

/// A graph that is read and never changed.
#[derive(Debug)]
pub struct FrozenKg {
    image: Image,
    meta: Meta,
    /// Relations that no planner sees, sorted.
    hidden: Vec<RelId>,
    /// Whether labels are wanted in the languages for which the file has them.
    default_languages: bool,
    /// The classes and all wider ones, where they count.
    wider: Option<Vec<NodeId>>,
    label_index: OnceLock<Result<LabelIndex, SearchError>>,
    hash: String,
    identity: memo::Identity,
}

impl FrozenKg {
    /// Builds a graph from triples in any order; repeated ones count once. A triple whose subject is a literal or whose relation is no
    /// IRI is not RDF and is left out, and so is what comes after 2³² − 1 triples or different terms.
    #[must_use]
    pub fn from_triples(triples: impl IntoIterator<Item = [Term; 3]>) -> Self {
        let mut chunk = Chunk::default();
        let mut key = String::new();
        for triple in triples {
            if matches!(triple[0], Term::Literal(_)) || !matches!(triple[1], Term::Iri(_)) {
                continue;
            }
            let [s, p, o] = triple.map(|term| {
                term_key(&mut key, &term);
                chunk.intern(&key)
            });
            chunk.push([s, p, o, 0]);
            if chunk.is_full() {
                break;
            }
        }
        let frozen = chunk
            .seal(None)
            .map_err(FreezeError::from)
            .and_then(|sealed| {
                Self::freeze(
                    Input {
                        chunks: vec![sealed],
                        graphs: vec![String::new()],
                    },
                    None,
                    None,
                )
            });
        // Writing into memory cannot fail, and a full chunk is no longer filled.
        frozen.unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// Freezes what a loader has gathered, into a file or into memory. With a folder to work in, sorting happens on disk.
    pub(super) fn freeze(
        input: Input,
        file: Option<&Path>,
        work: Option<&Path>,
    ) -> Result<Self, FreezeError> {
        let target = file.map_or(assemble::Target::Memory, |path| {
            assemble::Target::File(path.to_owned())
        });
        let image = freeze::freeze(input, &target, work)?;
        Self::of(image).map_err(|damage| io::Error::other(damage).into())
    }

    /// Maps a file. Reads the header and the small sections only.
    pub(super) fn open(path: &Path) -> io::Result<Result<Self, Damage>> {
        let bytes = bytes::Bytes::map(path)?;
        Ok(Image::open(bytes, Section::ALL).and_then(Self::of))
    }

    fn of(image: Image) -> Result<Self, Damage> {
        let meta: Meta = serde_json::from_slice(image.section(Section::Meta))
            .map_err(|error| Damage::Section(format!("section Meta ({error})")))?;
        let hash = image
            .header
            .content_hash
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let mut kg = Self {
            image,
            meta,
            hidden: Vec::new(),
            default_languages: true,
            wider: None,
            label_index: OnceLock::new(),
            hash,
            identity: memo::Identity::new(),
        };
        kg.meta.names.prepare(kg.image.dictionary());
        kg.default_languages = kg.meta.schema.settings.languages == Settings::default().languages;
        kg.hidden.clone_from(&kg.meta.schema.hidden);
        kg.hidden.sort_unstable();
        Ok(kg)
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.image.as_slice()
    }

    pub(super) fn dictionary(&self) -> Dictionary<'_> {
        self.image.dictionary()
    }

    fn key(&self, id: u32) -> Key {
        self.image.dictionary().key(id)
    }

    /// Sets what the graph's owner wants: label languages, the value of NOW, and so on.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.default_languages = settings.languages == Settings::default().languages;
        self.meta.schema.settings = settings;
        // Labels may be others now.
        self.identity = memo::Identity::new();
        self.wider = self
            .meta
            .schema
            .settings
            .subclasses
            .then(|| hierarchy::wider(&self, self.direct_classes()));
        self
    }

    /// Sets the index of names that lies beside the graph.
    pub(super) fn set_label_index(&mut self, index: LabelIndex) {
        self.label_index = Ok(index).into();
    }

    /// Sets the graph's own deny list (rule R4): what is hidden from planners besides type and label relations, which always are.
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

    /// The graph of the triples that came in one of these named graphs; the empty name is the default graph. It is a graph of its own, in
    /// memory, with ids of its own.
    ///
    /// # Errors
    /// The first name that is no graph of this one.
    pub fn restricted(&self, graphs: &[String]) -> Result<Self, String> {
        let places: Vec<usize> = graphs
            .iter()
            .map(|name| {
                self.meta
                    .graphs
                    .iter()
                    .position(|graph| graph.name == *name)
                    .ok_or_else(|| name.clone())
            })
            .collect::<Result<_, _>>()?;
        let rows = self.image.ids(Section::GraphRows);
        let mut wanted = vec![false; self.len()];
        for place in places {
            for &row in rows
                .get(self.image.range(Section::GraphStarts, place))
                .unwrap_or(&[])
            {
                if let Some(wanted) = wanted.get_mut(row as usize) {
                    *wanted = true;
                }
            }
        }
        let kept = self
            .triples()
            .zip(wanted)
            .filter(|(_, wanted)| *wanted)
            .map(|(triple, _)| triple);
        Ok(Self::from_triples(kept.map(|(s, r, o)| {
            [self.term(s), self.term(r.node()), self.term(o)]
        })))
    }

    /// The graphs in which the triples came; empty where all of them came in the default graph.
    #[must_use]
    pub fn graphs(&self) -> &[NamedGraph] {
        &self.meta.graphs
    }

    /// The triples in order of their terms.
    pub fn triples(&self) -> impl Iterator<Item = (NodeId, RelId, NodeId)> + '_ {
        self.image
            .triples()
            .map(|[s, p, o]| (NodeId(s), RelId(p), NodeId(o)))
    }

    /// Subject and object of every triple of a relation, in order of object and subject.
    pub fn pairs(&self, relation: RelId) -> impl ExactSizeIterator<Item = (NodeId, NodeId)> + '_ {
        let [objects, subjects] = self.image.pairs(relation.0);
        objects
            .iter()
            .zip(subjects)
            .map(|(&o, &s)| (NodeId(s), NodeId(o)))
    }

    /// Relation and object of every triple of a subject, in order; the hidden ones too.
    pub fn outgoing(&self, subject: NodeId) -> impl ExactSizeIterator<Item = (RelId, NodeId)> + '_ {
        let [relations, objects] = self.image.out_edges(subject.0);
        relations
            .iter()
            .zip(objects)
            .map(|(&p, &o)| (RelId(p), NodeId(o)))
    }

    /// Relation and subject of every triple of an object, in order; the hidden ones too.
    pub fn incoming(&self, object: NodeId) -> impl ExactSizeIterator<Item = (RelId, NodeId)> + '_ {
        let [relations, subjects] = self.image.in_edges(object.0);
        relations
            .iter()
            .zip(subjects)
            .map(|(&p, &s)| (RelId(p), NodeId(s)))
    }

    /// Number of terms: nodes, relations and literals.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.dictionary().len()
    }

    /// Number of nodes that are an IRI or a blank node and stand as the head or tail of some triple.
    #[must_use]
    pub fn entity_count(&self) -> usize {
        self.meta.entities
    }

    /// Every node that is an IRI or a blank node and stands as the head or tail of some triple.
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

    /// Languages in which nodes have labels, sorted; the empty string stands for untagged ones.
    #[must_use]
    pub fn label_languages(&self) -> &[String] {
        &self.meta.label_languages
    }

    /// Objects of a subject and a relation.
    pub(super) fn tail_ids(&self, s: u32, p: u32) -> &[u32] {
        self.image.tails(s, p)
    }

    /// Subjects of a relation and an object.
    pub(super) fn head_ids(&self, p: u32, o: u32) -> &[u32] {
        self.image.heads(p, o)
    }

    /// Relations from a subject to an object: those of the node with fewer edges are tried.
    pub(super) fn between(&self, s: u32, o: u32) -> Vec<u32> {
        let ([leaving, _], [entering, _]) = (self.image.out_edges(s), self.image.in_edges(o));
        let relations = if leaving.len() <= entering.len() {
            leaving
        } else {
            entering
        };
        distinct(relations)
            .filter(|&p| self.image.has(s, p, o))
            .collect()
    }

    /// Relations and objects of the triples of a subject, in order.
    pub(super) fn out_edges(&self, s: u32) -> [&[u32]; 2] {
        self.image.out_edges(s)
    }

    /// Relations and subjects of the triples of an object, in order.
    pub(super) fn in_edges(&self, o: u32) -> [&[u32]; 2] {
        self.image.in_edges(o)
    }

    /// Objects and subjects of the triples of a relation, in order.
    pub(super) fn relation_edges(&self, p: u32) -> [&[u32]; 2] {
        self.image.pairs(p)
    }

    /// Number of nodes that are no literals; their ids are the first ones.
    pub(super) fn resource_count(&self) -> u32 {
        self.image.header.resources
    }

    /// Writes the graph as N-Triples in order of its terms: equal graphs give equal bytes.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_ntriples(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut head = String::new();
        let mut last = None;
        let mut line = String::new();
        for [s, p, o] in self.image.triples() {
            if last != Some((s, p)) {
                head.clear();
                write_term(&mut head, self.key(s).parts());
                head.push(' ');
                write_term(&mut head, self.key(p).parts());
                head.push(' ');
                last = Some((s, p));
            }
            line.clear();
            line.push_str(&head);
            write_term(&mut line, self.key(o).parts());
            line.push_str(" .\n");
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn visible(&self, relations: &[u32]) -> Vec<RelId> {
        distinct(relations)
            .map(RelId)
            .filter(|r| self.hidden.binary_search(r).is_err())
            .collect()
    }

    /// The relations of a column of many nodes, each with the first node that has it: each is marked once, and only what is found is sorted.
    fn first_of<'a>(
        &'a self,
        nodes: &[NodeId],
        column: impl Fn(NodeId) -> &'a [u32],
    ) -> Vec<(RelId, NodeId)> {
        let mut found = Vec::new();
        if nodes.len() <= FEW {
            found.extend(nodes.iter().flat_map(|&node| {
                distinct(column(node)).map(move |relation| (RelId(relation), node))
            }));
            found.retain(|(relation, _)| self.hidden.binary_search(relation).is_err());
            // The first node in the order given, for each.
            found.sort_by_key(|(relation, _)| *relation);
            found.dedup_by_key(|(relation, _)| *relation);
            return found;
        }
        let mut seen = vec![0_u64; self.dictionary().len() / 64 + 1];
        for &node in nodes {
            for relation in distinct(column(node)) {
                if let Some(word) = seen.get_mut(relation as usize / 64)
                    && *word >> (relation % 64) & 1 == 0
                {
                    *word |= 1 << (relation % 64);
                    found.push((RelId(relation), node));
                }
            }
        }
        found.retain(|(relation, _)| self.hidden.binary_search(relation).is_err());
        found.sort_unstable();
        found
    }

    /// The texts of all labels of a node, as written.
    fn label_texts(&self, node: NodeId) -> impl Iterator<Item = Key> + '_ {
        let literals = self
            .meta
            .schema
            .label_relations
            .iter()
            .flat_map(move |r| self.image.tails(node.0, r.0));
        literals.map(|&id| self.key(id))
    }

    /// The best label in these languages.
    fn label_in(&self, node: NodeId, languages: &[String]) -> Option<u32> {
        let mut best: Option<(u32, usize, Key)> = None;
        for (at, relation) in self.meta.schema.label_relations.iter().enumerate() {
            for &id in self.image.tails(node.0, relation.0) {
                let key = self.key(id);
                let usable = matches!(key.parts(), Parts::Literal(lexical, ..) if !label::clean(lexical).is_empty());
                let better = best.as_ref().is_none_or(|(_, old_at, old)| {
                    derive::label_rank(&key, at, languages)
                        < derive::label_rank(old, *old_at, languages)
                });
                if usable && better {
                    best = Some((id, at, key));
                }
            }
        }
        best.map(|(id, ..)| id)
    }

    fn fits_label(&self, node: NodeId, fits: impl Fn(&str) -> bool) -> bool {
        self.label_texts(node)
            .any(|key| matches!(key.parts(), Parts::Literal(lexical, ..) if fits(lexical)))
            || self.label(node).is_some_and(|text| fits(&text))
    }
}

/// One term of N-Triples; characters that an IRI may not hold are escaped.
fn write_term(out: &mut String, parts: Parts<'_>) {
    match parts {
        Parts::Iri(iri) => {
            out.push('<');
            for c in iri.chars() {
                if c <= ' ' || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\') {
                    out.push_str(&format!("\\u{:04X}", u32::from(c)));
                } else {
                    out.push(c);
                }
            }
            out.push('>');
        }
        other => out.push_str(&other.to_term().to_string()),
    }
}
