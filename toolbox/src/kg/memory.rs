//! A graph in memory: a sorted term dictionary and three sorted copies of the triples, so that every access is a binary search and every
//! answer comes out sorted. SPARQL runs over the same arrays ([`super::sparql`]).

use std::io::{self, Write};
use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};

use super::dictionary::{Builder, Dictionary, Parts, term_key};
use super::names::{Names, TEXT_NAMESPACE, split};
use super::{Kg, QueryAnswer, QueryError, QueryLimits, Schema, label, schema};
use crate::term::{NodeId, RelId, Term};

/// In-edges of one node above which its relations are found by probing every relation instead of walking the edges.
const HUB: usize = 256;

/// One sorted copy of the triples.
pub(super) type Sorted = Vec<[u32; 3]>;

/// A graph held in memory.
#[derive(Debug, Default)]
pub struct MemoryKg {
    pub(super) dictionary: Dictionary,
    pub(super) spo: Sorted,
    pub(super) pos: Sorted,
    pub(super) osp: Sorted,
    relations: Vec<u32>,
    names: Names,
    schema: Schema,
    hidden: FxHashSet<u32>,
    /// Best label of a node: the id of its literal.
    labels: FxHashMap<u32, u32>,
    classes: Vec<NodeId>,
    by_label: OnceLock<FxHashMap<String, Vec<NodeId>>>,
    hash: String,
}

/// The rows of `sorted` that begin with `prefix`.
pub(super) fn range<'a>(sorted: &'a [[u32; 3]], prefix: &[u32]) -> &'a [[u32; 3]] {
    let n = prefix.len().min(3);
    let start = sorted.partition_point(|row| row[..n] < prefix[..n]);
    let len = sorted[start..].partition_point(|row| row[..n] == prefix[..n]);
    &sorted[start..start + len]
}

/// The distinct values of column `n` of `rows`, which agree in all columns before it.
fn distinct(mut rows: &[[u32; 3]], n: usize) -> Vec<u32> {
    let mut out = Vec::new();
    while let Some(first) = rows.first().map(|row| row[n]) {
        out.push(first);
        rows = &rows[rows.partition_point(|row| row[n] <= first)..];
    }
    out
}

impl MemoryKg {
    /// Builds a graph from triples in any order; repeated ones count once. A triple whose subject is a literal or whose relation is no
    /// IRI is not RDF and is left out, and so is what comes after 2³² − 1 different terms.
    #[must_use]
    pub fn from_triples(triples: impl IntoIterator<Item = [Term; 3]>) -> Self {
        let mut builder = Builder::default();
        let mut key = String::new();
        for triple in triples {
            if matches!(triple[0], Term::Literal(_)) || !matches!(triple[1], Term::Iri(_)) {
                continue;
            }
            let mut intern = |term: &Term| {
                term_key(&mut key, term);
                builder.intern(&key)
            };
            let ids = (intern(&triple[0]), intern(&triple[1]), intern(&triple[2]));
            let (Some(s), Some(p), Some(o)) = ids else { break };
            builder.push([s, p, o]);
        }
        Self::build(builder)
    }

    /// Sorts, indexes and hashes what a loader has collected.
    pub(super) fn build(builder: Builder) -> Self {
        let (dictionary, spo) = builder.finish();
        let permuted = |order: [usize; 3]| {
            let mut rows: Sorted = spo.iter().map(|row| order.map(|i| row[i])).collect();
            rows.sort_unstable();
            rows
        };
        let (pos, osp) = (permuted([1, 2, 0]), permuted([2, 0, 1]));
        let relations = distinct(&pos, 0);
        let names = Names::new(&dictionary);
        let mut kg = Self { dictionary, spo, pos, osp, relations, names, ..Self::default() };
        kg.find_schema();
        kg.find_labels();
        kg.find_classes();
        kg.hash = kg.compute_hash();
        kg
    }

    fn iri(&self, id: u32) -> Option<&str> {
        match self.dictionary.parts(id) {
            Parts::Iri(iri) => Some(iri),
            _ => None,
        }
    }

    fn find_schema(&mut self) {
        let mut schema = Schema::default();
        let mut named = Vec::new();
        let mut ranked = Vec::new();
        for &relation in &self.relations {
            let Some(iri) = self.iri(relation) else { continue };
            let id = RelId(relation);
            let is_type = schema::is_type_relation(iri);
            let label_rank = schema::label_rank(iri);
            if is_type {
                schema.type_relations.push(id);
            }
            if let Some(rank) = label_rank {
                ranked.push((rank, id));
            }
            if is_type || label_rank.is_some() || schema::is_meta_relation(iri) {
                schema.hidden.push(id);
            } else {
                named.push((self.name(NodeId(relation)), id));
            }
        }
        ranked.sort_unstable();
        schema.label_relations = ranked.into_iter().map(|(_, id)| id).collect();
        schema.intervals = schema::intervals(&named);
        self.hidden = schema.hidden.iter().map(|r| r.0).collect();
        self.schema = schema;
    }

    fn find_labels(&mut self) {
        let mut best: FxHashMap<u32, u32> = FxHashMap::default();
        // The best language wins, then the better relation, then the smaller text: nothing here depends on the order of loading.
        let rank = |relation: usize, literal: u32| match self.dictionary.parts(literal) {
            Parts::Literal(lexical, _, lang) => (label::language_rank(lang), relation, lexical),
            _ => ((u8::MAX, ""), relation, ""),
        };
        let mut ranks: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, relation) in self.schema.label_relations.iter().enumerate() {
            for &[_, o, s] in range(&self.pos, &[relation.0]) {
                let Parts::Literal(lexical, ..) = self.dictionary.parts(o) else { continue };
                if label::clean(lexical).is_empty() {
                    continue;
                }
                match best.get(&s) {
                    Some(&old) if rank(ranks.get(&s).copied().unwrap_or(0), old) <= rank(at, o) => {}
                    _ => {
                        best.insert(s, o);
                        ranks.insert(s, at);
                    }
                }
            }
        }
        self.labels = best;
    }

    fn find_classes(&mut self) {
        let mut classes: Vec<NodeId> = Vec::new();
        for relation in &self.schema.type_relations {
            classes.extend(distinct_of(range(&self.pos, &[relation.0]), 1));
        }
        classes.retain(|class| self.is_class(class.0));
        self.classes = sorted(classes);
    }

    /// Whether an object of a type relation is a class of things.
    fn is_class(&self, id: u32) -> bool {
        match self.dictionary.parts(id) {
            Parts::Iri(iri) => !schema::is_meta_class(iri),
            Parts::Blank(_) => true,
            Parts::Literal(..) => false,
        }
    }

    fn compute_hash(&self) -> String {
        let mut hasher = HashWriter(Sha256::new());
        // Writing into a hasher cannot fail.
        let _ = self.write_ntriples(&mut hasher);
        hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Sets the graph's own deny list (rule R4): what is hidden from planners besides type and label relations, which always are.
    #[must_use]
    pub fn with_hidden(mut self, iris: &[String]) -> Self {
        let listed = iris.iter().filter_map(|iri| self.dictionary.find_iri(iri)).map(RelId);
        let always = self.schema.type_relations.iter().chain(&self.schema.label_relations).copied();
        let mut hidden: Vec<RelId> = listed.chain(always).filter(|r| self.relations.binary_search(&r.0).is_ok()).collect();
        hidden.sort_unstable();
        hidden.dedup();
        self.hidden = hidden.iter().map(|r| r.0).collect();
        self.schema.hidden = hidden;
        self
    }

    /// The triples in order of their terms.
    pub fn triples(&self) -> TripleIter<'_> {
        self.spo.iter().map(|&[s, p, o]| (NodeId(s), RelId(p), NodeId(o)))
    }

    /// Number of terms: nodes, relations and literals.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.dictionary.len()
    }

    /// Every relation of the graph, the hidden ones too.
    #[must_use]
    pub fn relations(&self) -> Vec<RelId> {
        self.relations.iter().map(|&id| RelId(id)).collect()
    }

    /// Every node that is an IRI or a blank node and stands as the head or tail of some triple.
    #[must_use]
    pub fn entities(&self) -> Vec<NodeId> {
        let resources = self.dictionary.resources();
        let tails = &self.osp[..self.osp.partition_point(|row| row[0] < resources.end)];
        sorted(distinct_of(&self.spo, 0).chain(distinct_of(tails, 0)).collect())
    }

    /// Number of distinct literals.
    #[must_use]
    pub fn literal_count(&self) -> usize {
        self.dictionary.len() - self.dictionary.resources().len()
    }

    /// Languages in which nodes have labels, sorted; the empty string stands for untagged ones.
    #[must_use]
    pub fn label_languages(&self) -> Vec<String> {
        let mut languages = std::collections::BTreeSet::new();
        for relation in &self.schema.label_relations {
            for o in distinct_of(range(&self.pos, &[relation.0]), 1) {
                if let Parts::Literal(_, _, lang) = self.dictionary.parts(o.0) {
                    languages.insert(lang);
                }
            }
        }
        languages.into_iter().map(str::to_owned).collect()
    }

    /// Writes the graph as N-Triples in order of its terms: equal graphs give equal bytes.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_ntriples(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut head = String::new();
        let mut last = None;
        let mut line = String::new();
        for &[s, p, o] in &self.spo {
            if last != Some((s, p)) {
                head.clear();
                write_term(&mut head, self.dictionary.parts(s));
                head.push(' ');
                write_term(&mut head, self.dictionary.parts(p));
                head.push(' ');
                last = Some((s, p));
            }
            line.clear();
            line.push_str(&head);
            write_term(&mut line, self.dictionary.parts(o));
            line.push_str(" .\n");
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    /// The label that an IRI's own text gives: that of a plain text format, a title, or any name in a graph that has no labels at all.
    fn own_label(&self, iri: &str) -> Option<String> {
        let local = if let Some(text) = iri.strip_prefix(TEXT_NAMESPACE) {
            text
        } else {
            let title = schema::TITLE_NAMESPACES.iter().filter_map(|namespace| iri.strip_prefix(namespace)).min_by_key(|t| t.len());
            match title {
                Some(title) => title,
                None if self.schema.label_relations.is_empty() => split(iri).1,
                None => return None,
            }
        };
        let text = names_to_words(local);
        (!text.is_empty()).then_some(text)
    }

    fn label_index(&self) -> &FxHashMap<String, Vec<NodeId>> {
        self.by_label.get_or_init(|| {
            let mut index: FxHashMap<String, Vec<NodeId>> = FxHashMap::default();
            for relation in &self.schema.label_relations {
                for &[_, o, s] in range(&self.pos, &[relation.0]) {
                    if let Parts::Literal(lexical, ..) = self.dictionary.parts(o) {
                        index.entry(label::fold(lexical)).or_default().push(NodeId(s));
                    }
                }
            }
            for id in self.dictionary.resources() {
                if !self.labels.contains_key(&id)
                    && let Some(text) = self.iri(id).and_then(|iri| self.own_label(iri))
                {
                    index.entry(label::fold(&text)).or_default().push(NodeId(id));
                }
            }
            for nodes in index.values_mut() {
                nodes.sort_unstable();
                nodes.dedup();
            }
            index
        })
    }

    /// Whether one of the node's labels is `text`, letter for letter.
    fn has_label(&self, node: NodeId, text: &str) -> bool {
        let labelled = self.schema.label_relations.iter().flat_map(|relation| range(&self.spo, &[node.0, relation.0]));
        let mut texts = labelled.map(|row| self.dictionary.parts(row[2]));
        texts.any(|parts| matches!(parts, Parts::Literal(lexical, ..) if lexical == text)) || self.label(node).as_deref() == Some(text)
    }
}

/// The triples of a graph.
pub type TripleIter<'a> = std::iter::Map<std::slice::Iter<'a, [u32; 3]>, fn(&[u32; 3]) -> (NodeId, RelId, NodeId)>;

/// A name's words: percent-decoded, underscores as spaces, clean.
fn names_to_words(local: &str) -> String {
    label::clean(&label::percent_decode(local).replace('_', " "))
}

fn sorted(mut ids: Vec<NodeId>) -> Vec<NodeId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn distinct_of(rows: &[[u32; 3]], n: usize) -> impl Iterator<Item = NodeId> {
    distinct(rows, n).into_iter().map(NodeId)
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

struct HashWriter(Sha256);

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kg for MemoryKg {
    fn len(&self) -> usize {
        self.spo.len()
    }

    fn content_hash(&self) -> &str {
        &self.hash
    }

    fn term(&self, node: NodeId) -> Term {
        self.dictionary.parts(node.0).to_term()
    }

    fn find(&self, term: &Term) -> Option<NodeId> {
        let mut key = String::new();
        term_key(&mut key, term);
        self.dictionary.find(&key).map(NodeId)
    }

    fn name(&self, node: NodeId) -> String {
        self.names.name(&self.dictionary, node.0)
    }

    fn by_name(&self, name: &str) -> Option<NodeId> {
        self.names.find(&self.dictionary, name).map(NodeId)
    }

    fn label(&self, node: NodeId) -> Option<String> {
        let literal = self.labels.get(&node.0).copied().unwrap_or(node.0);
        match self.dictionary.parts(literal) {
            Parts::Literal(lexical, ..) => Some(label::clean(lexical)),
            Parts::Iri(iri) => self.own_label(iri),
            Parts::Blank(_) => None,
        }
    }

    fn tails(&self, s: NodeId, r: RelId) -> Vec<NodeId> {
        range(&self.spo, &[s.0, r.0]).iter().map(|row| NodeId(row[2])).collect()
    }

    fn heads(&self, r: RelId, o: NodeId) -> Vec<NodeId> {
        range(&self.pos, &[r.0, o.0]).iter().map(|row| NodeId(row[2])).collect()
    }

    fn has(&self, s: NodeId, r: RelId, o: NodeId) -> bool {
        self.spo.binary_search(&[s.0, r.0, o.0]).is_ok()
    }

    fn out_relations(&self, node: NodeId) -> Vec<RelId> {
        let all = distinct(range(&self.spo, &[node.0]), 1);
        all.into_iter().filter(|r| !self.hidden.contains(r)).map(RelId).collect()
    }

    fn in_relations(&self, node: NodeId) -> Vec<RelId> {
        let edges = range(&self.osp, &[node.0]);
        let mut all: Vec<u32> = if edges.len() > HUB {
            self.relations.iter().copied().filter(|&r| !range(&self.pos, &[r, node.0]).is_empty()).collect()
        } else {
            edges.iter().map(|row| row[2]).collect()
        };
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter(|r| !self.hidden.contains(r)).map(RelId).collect()
    }

    fn classes(&self) -> &[NodeId] {
        &self.classes
    }

    fn instances(&self, class: NodeId) -> Vec<NodeId> {
        sorted(self.schema.type_relations.iter().flat_map(|&r| self.heads(r, class)).collect())
    }

    fn types(&self, node: NodeId) -> Vec<NodeId> {
        let mut types: Vec<NodeId> = self.schema.type_relations.iter().flat_map(|&r| self.tails(node, r)).collect();
        types.retain(|class| self.is_class(class.0));
        sorted(types)
    }

    fn by_label(&self, text: &str) -> Vec<NodeId> {
        let all = self.label_index().get(&label::fold(text)).cloned().unwrap_or_default();
        let exact: Vec<NodeId> = all.iter().copied().filter(|&node| self.has_label(node, text)).collect();
        if exact.is_empty() { all } else { exact }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn query(&self, query: &super::spargebra::Query, limits: QueryLimits) -> Result<QueryAnswer, QueryError> {
        super::sparql::evaluate(self, query, limits)
    }
}
