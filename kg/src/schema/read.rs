//! Reads the schema from a graph, once, when the graph is frozen (written in its final, read-only
//! form).

use super::families::{companions, language_variants};
use super::from_iris::{is_hardly_labelled, kind_marks, naming_relations};
use super::intervals::intervals;
use super::rows::{is_rank, row_names, row_noun};
use super::source::{NamedRelation, SchemaSource};
use super::types::Schema;
use super::vocabulary::{
    DOMAIN, RANGE, REVERSE, is_alias, is_meta_class, is_meta_relation, is_other_name, is_redirect,
    is_superclass, is_type_relation, label_rank, listed,
};
use crate::term::{NodeId, RelId, Term};

/// Wikidata describes a property as `wd:P…` and uses it as `wdt:P…`.
const WIKIDATA_ENTITY: &str = "http://www.wikidata.org/entity/";
const WIKIDATA_DIRECT: &str = "http://www.wikidata.org/prop/direct/";

/// Labels of the relations to classes in graphs whose relations have numbers as names.
const INSTANCE_OF: &str = "instance of";
const SUBCLASS_OF: &str = "subclass of";

const SUB_PROPERTY: &str = "http://www.w3.org/2000/01/rdf-schema#subPropertyOf";

/// Triples that are looked at to tell whether the things of a graph are its classes.
const CLASSES: usize = 20_000;

/// The relations whose label is [`INSTANCE_OF`] or [`SUBCLASS_OF`], with that label. A private
/// Wikibase gives properties other numbers than Wikidata, so only their labels identify them.
fn labelled(graph: &dyn SchemaSource, relations: &[NamedRelation]) -> Vec<(RelId, String)> {
    let ids: Vec<RelId> = relations.iter().map(|relation| relation.id).collect();
    let labels = relations
        .iter()
        .filter(|relation| label_rank(&relation.iri).is_some());
    // In Wikibase, relations to and from statement nodes have the same labels as the direct ones.
    let direct = |id: RelId| {
        let found = ids.binary_search(&id).ok().map(|at| &relations[at].iri);
        found.is_some_and(|iri| !iri.contains("/prop/") || iri.contains("/prop/direct/"))
    };
    let mut found: Vec<(RelId, String)> = labels
        .flat_map(|relation| graph.about_relations(relation.id, &ids))
        .filter_map(|(id, label)| {
            let label = graph.term(label).as_literal()?.lexical.to_lowercase();
            let known = label == INSTANCE_OF || label == SUBCLASS_OF;
            (known && direct(id)).then_some((id, label))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Which relation's texts become labels, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LabelRank {
    /// One that the owner of the graph named, by its place.
    Given(usize),
    /// A known one, by its rank.
    Known(usize),
    /// One that the graph declares to be narrower than a known one.
    Stated,
}

impl LabelRank {
    /// The rank of a relation, if its texts are labels; `narrower` is [`narrower_labels`].
    fn of(graph: &dyn SchemaSource, narrower: &[RelId], relation: &NamedRelation) -> Option<Self> {
        let is_given = |given: &String| *given == relation.iri || *given == relation.name;
        let given = graph.given_labels().iter().position(is_given);
        let known = || label_rank(&relation.iri).map(Self::Known);
        // SKOS says of `altLabel`, too, that it is a label.
        let is_narrower = || narrower.contains(&relation.id) && !is_other_name(&relation.iri);
        let stated = || is_narrower().then_some(Self::Stated);
        given.map(Self::Given).or_else(known).or_else(stated)
    }
}

/// The relations that the graph declares to be narrower than a known relation of labels.
fn narrower_labels(graph: &dyn SchemaSource, relations: &[NamedRelation]) -> Vec<RelId> {
    let ids: Vec<RelId> = relations.iter().map(|relation| relation.id).collect();
    let is_label =
        |node: NodeId| matches!(graph.term(node), Term::Iri(iri) if label_rank(&iri).is_some());
    (relations.iter())
        .filter(|relation| relation.iri == SUB_PROPERTY)
        .flat_map(|relation| graph.about_relations(relation.id, &ids))
        .filter(|&(_, wider)| is_label(wider))
        .map(|(narrower, _)| narrower)
        .collect()
}

pub(crate) fn read(graph: &dyn SchemaSource) -> Schema {
    let mut schema = Schema::default();
    let relations = graph.relations();
    let mut named = Vec::new();
    let mut ranked = Vec::new();
    let labelled = labelled(graph, &relations);
    let has_label =
        |id: &RelId, label: &str| labelled.iter().any(|(of, is)| of == id && is == label);
    let narrower = narrower_labels(graph, &relations);
    for relation in &relations {
        let NamedRelation { id, iri, name } = relation;
        let is_type = is_type_relation(iri) || has_label(id, INSTANCE_OF);
        let label_rank = LabelRank::of(graph, &narrower, relation);
        if is_type {
            schema.type_relations.push(*id);
        }
        match label_rank {
            Some(rank) => ranked.push((rank, *id)),
            None if is_alias(iri) => schema.alias_relations.push(*id),
            None => {}
        }
        if is_superclass(iri) || has_label(id, SUBCLASS_OF) {
            schema.superclass_relations.push(*id);
        }
        if is_redirect(iri) {
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
    schema.variants = language_variants(&relations);
    schema.companions = companions(&relations);
    find_names(graph, &mut schema, &relations);
    if schema.named_by_iris() {
        schema.kind_marks = kind_marks(graph, &schema);
    }
    (schema.row_names, schema.row_codes) = row_names(
        graph,
        &relations,
        &schema.type_relations,
        !schema.named_by_iris(),
    );
    for names in &schema.row_names {
        if let [name] = names.as_slice() {
            let noun = row_noun(graph, *name, &schema.type_relations);
            schema.row_nouns.extend(noun);
        }
    }
    for relation in &relations {
        if is_rank(graph, relation, &relations, &schema.row_names) {
            schema.alias_relations.retain(|id| *id != relation.id);
        }
    }
    for names in &schema.row_names {
        // A part of a person's name is no name of its own.
        if let [name] = names.as_slice()
            && !schema.alias_relations.contains(name)
            && !schema.label_relations.contains(name)
        {
            schema.alias_relations.push(*name);
        }
    }
    let between_classes = between_classes(&schema);
    schema.is_ontology = is_ontology(graph, &schema, &between_classes);
    if schema.is_ontology {
        schema.hidden.retain(|id| !between_classes.contains(id));
    }
    schema.intervals = intervals(graph, &named);
    reverse_both_ways(&mut schema, &relations);
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

/// Whether hardly any node has a label. If so, the relations that name nearly all of them carry labels: the shortest
/// names are the labels.
fn find_names(graph: &dyn SchemaSource, schema: &mut Schema, relations: &[NamedRelation]) {
    let hardly =
        |schema: &Schema| !schema.label_relations.is_empty() && is_hardly_labelled(graph, schema);
    schema.hardly_labelled = hardly(schema);
    if schema.named_by_iris()
        && let [label, others @ ..] = naming_relations(graph, schema, relations).as_slice()
    {
        schema.label_relations.push(*label);
        schema.alias_relations.retain(|relation| relation != label);
        schema.alias_relations.extend(others);
        schema.alias_relations.sort_unstable();
        schema.alias_relations.dedup();
        schema.hidden.push(*label);
        schema.hardly_labelled = hardly(schema);
    }
}

/// Only relations have reverses. If one relation is the reverse of another, the converse holds too.
fn reverse_both_ways(schema: &mut Schema, relations: &[NamedRelation]) {
    schema
        .reverses
        .retain(|&(_, other)| is_relation(relations, other));
    let other_way: Vec<(RelId, NodeId)> = schema
        .reverses
        .iter()
        .map(|&(relation, other)| (other.relation(), relation.node()))
        .collect();
    schema.reverses.extend(other_way);
}

/// The relations from classes to wider classes that no thing has to its class.
fn between_classes(schema: &Schema) -> Vec<RelId> {
    let all = schema.superclass_relations.iter().copied();
    all.filter(|id| !schema.type_relations.contains(id))
        .collect()
}

/// Whether the things of a graph are its classes: more classes have a wider one than things have a class. Then people ask
/// for kinds of things.
fn is_ontology(graph: &dyn SchemaSource, schema: &Schema, between_classes: &[RelId]) -> bool {
    let is_thing =
        |node: NodeId| matches!(graph.term(node), Term::Iri(iri) if !is_meta_class(&iri));
    let heads = |relations: &[RelId]| -> usize {
        let mut heads: Vec<NodeId> = (relations.iter())
            .flat_map(|&relation| graph.sample(relation, CLASSES))
            .filter(|&(head, class)| is_thing(head) && is_thing(class))
            .map(|(head, _)| head)
            .collect();
        heads.sort_unstable();
        heads.dedup();
        heads.len()
    };
    let counted = || heads(between_classes) > heads(&schema.type_relations);
    !between_classes.is_empty() && graph.is_ontology().unwrap_or_else(counted)
}

/// Adds the triples of `relation` (domain, range or reverse) about relations of this graph to
/// `list`.
fn stated(
    graph: &dyn SchemaSource,
    relation: RelId,
    relations: &[NamedRelation],
    list: &mut Vec<(RelId, NodeId)>,
) {
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
        let about = direct(about)
            .filter(|&node| is_relation(relations, node))
            .unwrap_or(about);
        let value = direct(value)
            .filter(|&node| is_relation(relations, node))
            .unwrap_or(value);
        if is_relation(relations, about) {
            list.push((about.relation(), value));
        }
    }
}

fn is_relation(relations: &[NamedRelation], node: NodeId) -> bool {
    relations
        .binary_search_by_key(&node.relation(), |relation| relation.id)
        .is_ok()
}
