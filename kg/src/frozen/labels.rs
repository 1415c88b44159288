//! Labels of nodes.

use super::derive;
use super::kg::FrozenKg;
use super::layout::{NONE, Section};
use crate::dictionary::{TermKey, TermParts};
use crate::graph::Kg;
use crate::label;
use crate::names::wikibase_property;
use crate::schema::row_key;
use crate::term::{NodeId, RelId, Term};

impl FrozenKg {
    /// The label, or the name made from the IRI where others have labels, without the memo.
    pub(super) fn any_label(&self, node: NodeId) -> Option<String> {
        self.own_label(node)
            .or_else(|| match self.key(node.0).parts() {
                TermParts::Iri(iri) => {
                    let classes = self.image.ids(Section::Classes);
                    derive::borrowed_label(&self.image, &self.meta.schema, classes, node.0, iri)
                }
                TermParts::Literal(..) | TermParts::Blank(_) => None,
            })
    }

    /// The label.
    pub(super) fn own_label(&self, node: NodeId) -> Option<String> {
        let settings = &self.meta.schema.settings;
        // The file stores labels in the default languages; others are looked up.
        let known = if self.default_languages {
            self.image
                .ids(Section::Labels)
                .get(node.0 as usize)
                .copied()
                .filter(|&id| id != NONE)
        } else {
            self.label_in(node, &settings.languages)
        };
        let literal = known.unwrap_or(node.0);
        match self.key(literal).parts() {
            TermParts::Literal(lexical, ..) => Some(label::clean(lexical)),
            TermParts::Iri(iri) => (self.row_label(node, iri))
                .or_else(|| derive::own_label(&self.image, &self.meta.schema, node.0, iri))
                .or_else(|| {
                    let property = self.find(&Term::Iri(wikibase_property(iri)?))?;
                    self.own_label(property)
                }),
            TermParts::Blank(_) => None,
        }
    }

    /// The label of a row of a table in a graph without labels: its name, or its table and key.
    fn row_label(&self, node: NodeId, iri: &str) -> Option<String> {
        let schema = &self.meta.schema;
        if !schema.named_by_iris() {
            return None;
        }
        let value = |column: &RelId| {
            let id = *self.image.tails(node.0, column.0).first()?;
            match self.key(id).parts() {
                TermParts::Literal(lexical, ..) => Some(label::clean(lexical)),
                TermParts::Iri(_) | TermParts::Blank(_) => None,
            }
        };
        let name = (schema.row_names.iter()).find_map(|columns| {
            let parts: Option<Vec<String>> = columns.iter().map(value).collect();
            parts.map(|parts| parts.join(" "))
        });
        name.filter(|name| !name.trim().is_empty())
            .or_else(|| row_key(iri).map(|(table, key)| format!("{table} {key}")))
    }

    /// All labels of a node, as written in the graph.
    fn label_texts(&self, node: NodeId) -> impl Iterator<Item = TermKey> + '_ {
        let literals = self
            .meta
            .schema
            .label_relations
            .iter()
            .flat_map(move |r| self.image.tails(node.0, r.0));
        literals.map(|&id| self.key(id))
    }

    /// The best label for these languages.
    fn label_in(&self, node: NodeId, languages: &[String]) -> Option<u32> {
        let mut best: Option<(u32, usize, TermKey)> = None;
        for (at, relation) in self.meta.schema.label_relations.iter().enumerate() {
            for &id in self.image.tails(node.0, relation.0) {
                let key = self.key(id);
                let usable = derive::is_usable(&key);
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

    pub(super) fn fits_label(&self, node: NodeId, fits: impl Fn(&str) -> bool) -> bool {
        self.label_texts(node)
            .any(|key| matches!(key.parts(), TermParts::Literal(lexical, ..) if fits(lexical)))
            || self.label(node).is_some_and(|text| fits(&text))
    }
}
