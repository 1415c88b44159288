//! Sections that are derived once when a graph is frozen, so that the time to open it does not
//! depend on its size: schema, labels, classes, names.

use std::collections::BTreeSet;
use std::io;

use super::assemble::SectionWriter;
use super::image::Image;
use super::index::distinct;
use super::layout::{NONE, Section};
use super::meta::{GraphMeta, NamedGraph};
use crate::dictionary::{Dictionary, TermKey, TermParts};
use crate::label;
use crate::names::{ShortNames, TEXT_NAMESPACE};
use crate::readable::{TITLE_NAMESPACES, marked_names, readable_name, relation_name, shown_name};
use crate::schema::{self, Schema};
use crate::term::{NodeId, RelId, Term};

/// The sections derived from the base sections. `members` are the rows of each named graph in
/// `graphs`, `axioms` the rows that only axioms state, and `is_ontology` what these
/// say of the graph; `given_labels` are the relations whose texts its owner wants as labels.
pub(super) fn derive(
    image: &Image,
    graphs: &[String],
    members: &[Vec<u32>],
    axioms: Vec<u32>,
    is_ontology: Option<bool>,
    given_labels: &[String],
) -> io::Result<Vec<SectionWriter>> {
    let dictionary = image.dictionary();
    let names = ShortNames::new(dictionary);
    let schema = schema::read(&RawGraph {
        image,
        names: &names,
        is_ontology,
        given_labels,
    });
    let labels = find_labels(image, &schema);
    let classes = find_classes(image, &schema);
    let (hashes, nodes) = fold_index(image, &schema, &labels, &classes);
    let mut named: Vec<u32> = image
        .ids(Section::Relations)
        .iter()
        .chain(&classes)
        .copied()
        .collect();
    named.sort_unstable();
    named.dedup();
    let (mut ends, mut text) = (Vec::new(), String::new());
    for &id in &named {
        text.push_str(&names.name(dictionary, id));
        ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
    }
    let listed = graphs
        .iter()
        .zip(members)
        .map(|(name, rows)| NamedGraph {
            name: name.clone(),
            triples: rows.len(),
        })
        .collect();
    let meta = GraphMeta {
        entities: count_entities(image),
        label_languages: label_languages(image, &schema),
        schema,
        names,
        graphs: listed,
        axioms,
    };
    let mut parts = vec![SectionWriter::of(
        Section::Meta,
        &serde_json::to_vec(&meta)?,
    )?];
    let (mut starts, mut rows) = (Vec::new(), SectionWriter::new(Section::GraphRows, None));
    let mut count = 0_u64;
    for member in members {
        starts.push(count as u32);
        count += member.len() as u64;
        rows.bytes(bytemuck::cast_slice(member))?;
    }
    if u32::try_from(count).is_err() {
        return Err(io::Error::other(
            "more than 4,294,967,295 triples counted once for each graph they are in; load a part of them",
        ));
    }
    if !members.is_empty() {
        starts.push(count as u32);
    }
    for (section, numbers) in [
        (Section::Labels, labels),
        (Section::FoldHashes, hashes),
        (Section::FoldNodes, nodes),
        (Section::Classes, classes),
        (Section::NameIds, named),
        (Section::NameEnds, ends),
        (Section::GraphStarts, starts),
    ] {
        parts.push(SectionWriter::of(section, bytemuck::cast_slice(&numbers))?);
    }
    parts.push(SectionWriter::of(Section::NameText, text.as_bytes())?);
    parts.push(rows);
    Ok(parts)
}

/// A graph that has only its triples so far.
struct RawGraph<'a> {
    image: &'a Image,
    names: &'a ShortNames,
    is_ontology: Option<bool>,
    given_labels: &'a [String],
}

impl schema::SchemaSource for RawGraph<'_> {
    fn relations(&self) -> Vec<schema::NamedRelation> {
        let dictionary = self.image.dictionary();
        let named = self.image.ids(Section::Relations).iter().filter_map(|&id| {
            let key = dictionary.key(id);
            Some(schema::NamedRelation {
                id: RelId(id),
                iri: key.iri()?.to_owned(),
                name: self.names.name(dictionary, id),
            })
        });
        named.collect()
    }

    fn pairs(&self, relation: RelId, limit: usize) -> Vec<(NodeId, NodeId)> {
        let [objects, subjects] = self.image.pairs(relation.0);
        objects
            .iter()
            .zip(subjects)
            .take(limit)
            .map(|(&o, &s)| (NodeId(s), NodeId(o)))
            .collect()
    }

    fn sample(&self, relation: RelId, most: usize) -> Vec<(NodeId, NodeId)> {
        let [objects, subjects] = self.image.pairs(relation.0);
        let step = objects.len().div_ceil(most.max(1)).max(1);
        (objects.iter().zip(subjects).step_by(step))
            .map(|(&o, &s)| (NodeId(s), NodeId(o)))
            .collect()
    }

    fn tail(&self, head: NodeId, relation: RelId) -> Option<NodeId> {
        self.image
            .tails(head.0, relation.0)
            .first()
            .map(|&id| NodeId(id))
    }

    fn about_relations(&self, relation: RelId, about: &[RelId]) -> Vec<(RelId, NodeId)> {
        let [objects, subjects] = self.image.pairs(relation.0);
        (objects.iter().zip(subjects))
            .map(|(&o, &s)| (RelId(s), NodeId(o)))
            .filter(|(s, _)| about.binary_search(s).is_ok())
            .collect()
    }

    fn given_labels(&self) -> &[String] {
        self.given_labels
    }

    fn is_ontology(&self) -> Option<bool> {
        self.is_ontology
    }

    fn term(&self, node: NodeId) -> Term {
        self.image.dictionary().key(node.0).parts().to_term()
    }

    fn find_iri(&self, iri: &str) -> Option<NodeId> {
        self.image.dictionary().find_iri(iri).map(NodeId)
    }
}

/// The label literal of each resource: best language first, then best relation, then smallest text.
fn find_labels(image: &Image, schema: &Schema) -> Vec<u32> {
    let dictionary = image.dictionary();
    let mut best = vec![NONE; dictionary.resources().len()];
    let mut ranks = vec![0_usize; best.len()];
    let languages = &schema.settings.languages;
    for (at, relation) in schema.label_relations.iter().enumerate() {
        let [objects, subjects] = image.pairs(relation.0);
        let mut known: Option<(u32, TermKey, bool)> = None;
        for (&o, &s) in objects.iter().zip(subjects) {
            if known.as_ref().is_none_or(|(id, ..)| *id != o) {
                let key = dictionary.key(o);
                let usable = is_usable(&key);
                known = Some((o, key, usable));
            }
            let Some((_, key, true)) = &known else {
                continue;
            };
            let Some(place) = best.get_mut(s as usize) else {
                continue;
            };
            if *place == NONE
                || label_rank(key, at, languages)
                    < label_rank(&dictionary.key(*place), ranks[s as usize], languages)
            {
                *place = o;
                ranks[s as usize] = at;
            }
        }
    }
    best
}

/// Whether a key is a literal with visible text.
pub(super) fn is_usable(key: &TermKey) -> bool {
    matches!(key.parts(), TermParts::Literal(text, ..) if !label::clean(text).is_empty())
}

/// The rank of a literal as a label, smaller is better: language, position of its relation, text.
pub(super) fn label_rank<'k>(
    key: &'k TermKey,
    relation: usize,
    languages: &[String],
) -> ((usize, &'k str), usize, &'k str) {
    match key.parts() {
        TermParts::Literal(lexical, _, lang) => {
            (label::language_rank(lang, languages), relation, lexical)
        }
        TermParts::Iri(_) | TermParts::Blank(_) => ((usize::MAX, ""), relation, ""),
    }
}

/// Hash of each folded label and the node with that label, sorted.
fn fold_index(
    image: &Image,
    schema: &Schema,
    labels: &[u32],
    classes: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let mut pairs = Vec::new();
    for relation in &schema.label_relations {
        let [objects, subjects] = image.pairs(relation.0);
        let mut last = None;
        for (&o, &s) in objects.iter().zip(subjects) {
            let hash = match last {
                Some((id, hash)) if id == o => hash,
                _ => match image.dictionary().key(o).parts() {
                    TermParts::Literal(lexical, ..) => Some(fold_hash(&label::fold(lexical))),
                    TermParts::Iri(_) | TermParts::Blank(_) => None,
                },
            };
            last = Some((o, hash));
            pairs.extend(hash.map(|hash| [hash, s]));
        }
    }
    let mut keys = image.dictionary().keys();
    for &known in labels {
        let Some((id, key)) = keys.next() else { break };
        if known == NONE
            && let Ok(key) = std::str::from_utf8(key)
            && let TermParts::Iri(iri) = TermParts::of(key)
            && let Some(text) = own_label(image, schema, id, iri)
                .or_else(|| borrowed_label(image, schema, classes, id, iri))
        {
            pairs.push([fold_hash(&label::fold(&text)), id]);
        }
    }
    rayon::slice::ParallelSliceMut::par_sort_unstable(&mut pairs[..]);
    pairs.dedup();
    (
        pairs.iter().map(|pair| pair[0]).collect(),
        pairs.iter().map(|pair| pair[1]).collect(),
    )
}

/// The hash under which folded labels are stored: both halves of [`common::hash::quick`] combined.
pub(super) fn fold_hash(text: &str) -> u32 {
    let hash = common::hash::quick(text.bytes());
    (hash ^ (hash >> 32)) as u32
}

/// The label in an IRI's own text: the text of a plain text format, a title, or, if the graph has
/// no labels or hardly any, the name made from the IRI.
pub(super) fn own_label(image: &Image, schema: &Schema, id: u32, iri: &str) -> Option<String> {
    let title = || {
        TITLE_NAMESPACES
            .iter()
            .filter_map(|namespace| iri.strip_prefix(namespace))
            .min_by_key(|t| t.len())
    };
    let text = match iri.strip_prefix(TEXT_NAMESPACE).or_else(title) {
        Some(local) => label::clean(&label::percent_decode(local).replace('_', " ")),
        None if schema.named_by_iris() && is_relation(image, id) => relation_name(iri),
        None if schema.named_by_iris() => {
            let types = schema.type_relations.iter();
            let classes = types.flat_map(|relation| image.tails(id, relation.0));
            let marks = classes.flat_map(|&class| schema.marks_of(NodeId(class)));
            // Where some nodes have labels, a key is no name: nodes that only connect others have none.
            let name = match schema.hardly_labelled {
                true => readable_name(iri)?,
                false => shown_name(iri),
            };
            marked_names(&name, marks).0
        }
        None => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn is_relation(image: &Image, id: u32) -> bool {
    image.ids(Section::Relations).binary_search(&id).is_ok()
}

/// The name made from the IRI of a node that has no label although others have: only of a thing with facts of
/// its own and a name in words. What has only a number (`booking-17`) has no name there.
pub(super) fn borrowed_label(
    image: &Image,
    schema: &Schema,
    classes: &[u32],
    id: u32,
    iri: &str,
) -> Option<String> {
    if schema.named_by_iris()
        || image.out_edges(id)[0].is_empty()
        || classes.binary_search(&id).is_ok()
        || is_relation(image, id)
    {
        return None;
    }
    readable_name(iri).filter(|name| !name.ends_with(|last: char| last.is_ascii_digit()))
}

fn find_classes(image: &Image, schema: &Schema) -> Vec<u32> {
    let mut classes: Vec<u32> = schema
        .type_relations
        .iter()
        .flat_map(|r| distinct(image.pairs(r.0)[0]))
        .collect();
    classes.retain(|&class| is_class(image.dictionary(), class));
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Whether an object of a type relation is a class of things, not of the modelling language.
pub(super) fn is_class(dictionary: Dictionary<'_>, id: u32) -> bool {
    match dictionary.key(id).parts() {
        TermParts::Iri(iri) => !schema::is_meta_class(iri),
        // What is defined on the spot, such as a restriction, has no name to ask for.
        TermParts::Blank(_) | TermParts::Literal(..) => false,
    }
}

fn count_entities(image: &Image) -> usize {
    let is_used = |id: &u32| {
        !image.range(Section::SpoStarts, *id as usize).is_empty()
            || !image.range(Section::OpsStarts, *id as usize).is_empty()
    };
    image.dictionary().resources().filter(is_used).count()
}

fn label_languages(image: &Image, schema: &Schema) -> Vec<String> {
    let mut languages = BTreeSet::new();
    for o in schema
        .label_relations
        .iter()
        .flat_map(|r| distinct(image.pairs(r.0)[0]))
    {
        if let TermParts::Literal(_, _, lang) = image.dictionary().key(o).parts()
            && !languages.contains(lang)
        {
            languages.insert(lang.to_owned());
        }
    }
    languages.into_iter().collect()
}
