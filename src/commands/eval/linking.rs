//! How many gold entities and relations each stage of an agent's linking keeps.

use std::collections::BTreeSet;

use datagen::linking::gold_entities;
use datagen::question::GoldQuestion;
use datagen::verify;
use infer::agent::{Linkable, Survived};
use kg::Kg;
use kg::term::{NodeId, RelId};

/// For each stage: its name, the number of gold entities or relations of the gold query that it
/// kept, and their number.
pub(super) fn kept(
    graph: &dyn Kg,
    question: &GoldQuestion,
    survived: &[Survived],
) -> Vec<(String, usize, usize)> {
    if survived.is_empty() {
        return Vec::new();
    }
    let Ok(query) = verify::parsed(question) else {
        return Vec::new();
    };
    let relations: BTreeSet<RelId> = iris(&query.to_string())
        .filter_map(|iri| relation(graph, iri))
        .collect();
    let entities = gold_entities(graph, question).unwrap_or_default();
    let one = |stage: &Survived| {
        let names = stage.names.iter();
        let (kept, all) = match stage.what {
            Linkable::Entities => {
                let found: Vec<NodeId> = names.filter_map(|name| graph.by_name(name)).collect();
                let kept = entities.iter().filter(|node| found.contains(node)).count();
                (kept, entities.len())
            }
            Linkable::Relations => {
                let found: BTreeSet<RelId> =
                    names.filter_map(|name| relation(graph, name)).collect();
                (relations.intersection(&found).count(), relations.len())
            }
        };
        (stage.stage.to_owned(), kept, all)
    };
    survived.iter().map(one).collect()
}

fn relation(graph: &dyn Kg, name: &str) -> Option<RelId> {
    let node = graph.by_name(name)?;
    let mut relations = graph.relations().iter().copied();
    relations.find(|relation| relation.node() == node)
}

/// The IRIs in the text of a query.
fn iris(query: &str) -> impl Iterator<Item = &str> {
    query
        .split('<')
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(iri, _)| iri)
        .filter(|iri| !iri.contains(' '))
}
