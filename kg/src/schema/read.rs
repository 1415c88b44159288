//! Reads the schema from a graph, once, when it is frozen.

use super::intervals::intervals;
use super::source::Vocabulary;
use super::types::Schema;
use super::vocabulary::{
    DOMAIN, RANGE, REVERSE, is_alias, is_meta_relation, is_redirect, is_superclass,
    is_type_relation, label_rank, listed,
};
use crate::term::{NodeId, RelId, Term};

/// Wikidata describes a property as `wd:P…` and uses it as `wdt:P…`.
const WIKIDATA_ENTITY: &str = "http://www.wikidata.org/entity/";
const WIKIDATA_DIRECT: &str = "http://www.wikidata.org/prop/direct/";

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
        if is_superclass(iri) {
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
    schema.intervals = intervals(graph, &named);
    let known = |node: NodeId| {
        relations
            .binary_search_by_key(&node.relation(), |relation| relation.0)
            .is_ok()
    };
    // Only relations have reverses, and a statement of a reverse holds in both directions.
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

/// Adds what `relation` states about relations of the graph to `list`.
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
