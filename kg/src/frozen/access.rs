//! The frozen graph as a [`Kg`]: every method is a lookup in its columns.

use std::borrow::Cow;

use spargebra::Query;

use super::kg::FrozenKg;
use super::layout::{NONE, Section};
use super::{derive, evaluate, memo};
use crate::dictionary::{TermParts, literal_prefix, term_key};
use crate::graph::Kg;
use crate::schema::Schema;
use crate::search::{LabelIndex, SearchError};
use crate::sparql::{QueryAnswer, QueryError, QueryLimits};
use crate::term::{NodeId, RelId, Term};
use crate::{hierarchy, label};

fn nodes(ids: &[u32]) -> Cow<'_, [NodeId]> {
    Cow::Borrowed(bytemuck::cast_slice(ids))
}

impl Kg for FrozenKg {
    fn len(&self) -> usize {
        usize::try_from(self.image.header.triples).unwrap_or(usize::MAX)
    }

    fn content_hash(&self) -> &str {
        &self.hash
    }

    fn term(&self, node: NodeId) -> Term {
        self.key(node.0).parts().to_term()
    }

    fn find(&self, term: &Term) -> Option<NodeId> {
        let mut key = String::new();
        term_key(&mut key, term);
        self.dictionary().find(&key).map(NodeId)
    }

    fn begins_literal(&self, text: &str) -> bool {
        memo::begins(self.identity, text, || {
            self.dictionary().has_prefix(&literal_prefix(text))
        })
    }

    fn has_texts(&self) -> bool {
        self.meta.names.has_texts()
    }

    fn name(&self, node: NodeId) -> String {
        if let Ok(at) = self.image.ids(Section::NameIds).binary_search(&node.0) {
            let ends = self.image.ids(Section::NameEnds);
            let start = at
                .checked_sub(1)
                .and_then(|before| ends.get(before))
                .copied()
                .unwrap_or(0) as usize;
            let end = ends.get(at).copied().unwrap_or(0) as usize;
            if let Some(Ok(name)) = self
                .image
                .section(Section::NameText)
                .get(start..end)
                .map(std::str::from_utf8)
            {
                return name.to_owned();
            }
        }
        memo::name(self.identity, node.0, || {
            self.meta.names.name(self.dictionary(), node.0)
        })
    }

    fn by_name(&self, name: &str) -> Option<NodeId> {
        memo::node(self.identity, name, || {
            self.meta.names.find(self.dictionary(), name)
        })
        .map(NodeId)
    }

    fn has_label(&self, node: NodeId) -> bool {
        let usable = |&id: &u32| id != NONE;
        // The setting only orders languages; a node with a label in any language has a label.
        self.image
            .ids(Section::Labels)
            .get(node.0 as usize)
            .is_some_and(usable)
            || self.label(node).is_some()
    }

    fn label(&self, node: NodeId) -> Option<String> {
        memo::label(self.identity, node.0, || self.any_label(node))
    }

    fn has_own_label(&self, node: NodeId) -> bool {
        self.own_label(node).is_some()
    }

    fn tails(&self, s: NodeId, r: RelId) -> Cow<'_, [NodeId]> {
        let tails = self.image.tails(s.0, r.0);
        let schema = &self.meta.schema;
        if schema.is_ontology && schema.superclass_relations.contains(&r) {
            // What unnamed classes state are triples of their own (module `axioms`). IRIs come before blank nodes.
            let is_iri = |&id: &u32| matches!(self.key(id).parts(), TermParts::Iri(_));
            return nodes(&tails[..tails.partition_point(is_iri)]);
        }
        nodes(tails)
    }

    fn heads(&self, r: RelId, o: NodeId) -> Cow<'_, [NodeId]> {
        nodes(self.image.heads(r.0, o.0))
    }

    fn has(&self, s: NodeId, r: RelId, o: NodeId) -> bool {
        self.image.has(s.0, r.0, o.0)
    }

    fn is_axiom(&self, s: NodeId, r: RelId, o: NodeId) -> bool {
        let axioms = &self.meta.axioms;
        let row = || self.image.row_of(s.0, r.0, o.0);
        !axioms.is_empty() && row().is_some_and(|row| axioms.binary_search(&row).is_ok())
    }

    fn degree(&self, node: NodeId) -> usize {
        self.image.out_edges(node.0)[0].len() + self.image.in_edges(node.0)[0].len()
    }

    fn out_relations(&self, node: NodeId) -> Vec<RelId> {
        self.visible(self.image.out_edges(node.0)[0])
    }

    fn in_relations(&self, node: NodeId) -> Vec<RelId> {
        self.visible(self.image.in_edges(node.0)[0])
    }

    fn relations_of(&self, nodes: &[NodeId]) -> [Vec<(RelId, NodeId)>; 2] {
        [
            self.first_of(nodes, |node| self.image.out_edges(node.0)[0]),
            self.first_of(nodes, |node| self.image.in_edges(node.0)[0]),
        ]
    }

    fn relations(&self) -> &[RelId] {
        self.image.numbers(Section::Relations)
    }

    fn resources(&self) -> std::ops::Range<u32> {
        self.dictionary().resources()
    }

    fn uses(&self, r: RelId) -> usize {
        self.image.pairs(r.0)[0].len()
    }

    fn each_pair(&self, r: RelId, visit: &mut dyn FnMut(NodeId, NodeId) -> bool) {
        for (head, tail) in self.pairs(r) {
            if !visit(head, tail) {
                return;
            }
        }
    }

    fn label_index(&self) -> Result<&LabelIndex, SearchError> {
        self.label_index
            .get_or_init(|| LabelIndex::in_memory(self))
            .as_ref()
            .map_err(Clone::clone)
    }

    fn classes(&self) -> &[NodeId] {
        self.wider
            .as_deref()
            .unwrap_or_else(|| self.direct_classes())
    }

    fn direct_classes(&self) -> &[NodeId] {
        self.image.numbers(Section::Classes)
    }

    fn instances(&self, class: NodeId) -> Cow<'_, [NodeId]> {
        let classes = if self.wider.is_some() {
            hierarchy::narrower(self, &[class])
        } else {
            vec![class]
        };
        match (&self.meta.schema.type_relations[..], &classes[..]) {
            ([only], [class]) => self.heads(*only, *class),
            (several, classes) => {
                let each = classes
                    .iter()
                    .flat_map(|&class| several.iter().map(move |&r| (r, class)));
                let mut all: Vec<NodeId> = each
                    .flat_map(|(r, class)| self.heads(r, class).into_owned())
                    .collect();
                all.sort_unstable();
                all.dedup();
                all.into()
            }
        }
    }

    fn types(&self, node: NodeId) -> Vec<NodeId> {
        if self.wider.is_some() {
            return memo::types(self.identity, node.0, || {
                hierarchy::wider(self, &self.direct_types(node))
            });
        }
        self.direct_types(node)
    }

    fn kinds(&self, node: NodeId) -> Vec<NodeId> {
        if !self.meta.schema.is_ontology {
            return self.types(node);
        }
        memo::kinds(self.identity, node.0, || hierarchy::kinds(self, node))
    }

    fn by_label(&self, text: &str) -> Vec<NodeId> {
        let folded = label::fold(text);
        let hash = derive::fold_hash(&folded);
        let hashes = self.image.ids(Section::FoldHashes);
        let start = hashes.partition_point(|&h| h < hash);
        let same = hashes[start..].iter().take_while(|&&h| h == hash).count();
        let listed: &[NodeId] = self
            .image
            .numbers::<NodeId>(Section::FoldNodes)
            .get(start..start + same)
            .unwrap_or(&[]);
        let all: Vec<NodeId> = listed
            .iter()
            .copied()
            .filter(|&node| self.fits_label(node, |label| label::fold(label) == folded))
            .collect();
        let exact: Vec<NodeId> = all
            .iter()
            .copied()
            .filter(|&node| self.fits_label(node, |label| label == text))
            .collect();
        if exact.is_empty() { all } else { exact }
    }

    fn has_named_graphs(&self) -> bool {
        !self.meta.graphs.is_empty()
    }

    fn reads_all(&self, query: &Query) -> bool {
        let size = query
            .dataset()
            .and_then(|dataset| self.default_size(dataset));
        size.is_none_or(|rows| rows == self.len())
    }

    fn schema(&self) -> &Schema {
        &self.meta.schema
    }

    fn query(&self, query: &Query, limits: QueryLimits) -> Result<QueryAnswer, QueryError> {
        evaluate::evaluate(self, query, limits)
    }
}
