//! Choice among the nodes that a mention may refer to (tool S2): compares the question with each
//! node's label, classes and relations.

use rustc_hash::FxHashMap;

use common::cancel::Cancel;

use crate::rank::{RankError, Ranker};
use kg::Kg;
use kg::term::NodeId;

/// Relations per candidate that are compared with the question. Hubs have thousands, and the first
/// ones are representative.
const RELATIONS: usize = 1_000;

/// Weight of popularity, the logarithm of a node's degree, against the match with the question: ten
/// times as many facts count as much as a relation that matches better by 0.1.
const POPULARITY: f32 = 0.1;
/// Weight of the best class, against a weight of 1 for the best relation.
const CLASS: f32 = 0.5;
/// Weight of the label.
const LABEL: f32 = 0.25;

/// Scores the nodes that one mention may refer to, in the given order: the match of the question
/// with a node's relations, classes and label, its popularity, and its `prior` score.
///
/// `question` excludes mentions, so that a name does not attract similar words.
///
/// # Errors
/// [`RankError`] if the ranker fails, or when `cancel` says so.
pub fn choose(
    kg: &dyn Kg,
    question: &str,
    nodes: &[NodeId],
    prior: &[f32],
    ranker: &dyn Ranker,
    cancel: &Cancel,
) -> Result<Vec<f32>, RankError> {
    let mut texts: Vec<String> = Vec::new();
    let mut known: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut place = |node: NodeId, texts: &mut Vec<String>| {
        *known.entry(node).or_insert_with(|| {
            texts.push(text_of(kg, node));
            texts.len() - 1
        })
    };
    let mut described = Vec::with_capacity(nodes.len());
    for (at, &node) in nodes.iter().enumerate() {
        cancel.check_item(at)?;
        let relations = kg.out_relations(node).into_iter();
        let relations: Vec<usize> = relations
            .chain(kg.in_relations(node))
            .take(RELATIONS)
            .map(|relation| place(relation.node(), &mut texts))
            .collect();
        let classes = kg.types(node).into_iter();
        let classes: Vec<usize> = classes.map(|class| place(class, &mut texts)).collect();
        let label = kg.label(node).map(|_| place(node, &mut texts));
        described.push((relations, classes, label));
    }
    let scores = ranker.score(question, &texts, cancel)?;
    let best = |places: &[usize]| {
        places
            .iter()
            .filter_map(|&at| scores.get(at))
            .fold(0.0_f32, |best, &score| best.max(score))
    };
    let fits = described.iter().map(|(relations, classes, label)| {
        best(relations) + CLASS * best(classes) + LABEL * label.map_or(0.0, |at| best(&[at]))
    });
    let popular = nodes
        .iter()
        .map(|&node| POPULARITY * (1.0 + kg.degree(node) as f32).log10());
    Ok(fits
        .zip(popular)
        .zip(prior)
        .map(|((fit, popular), prior)| fit + popular + prior)
        .collect())
}

/// The text of a relation, class or node for rankers.
fn text_of(kg: &dyn Kg, node: NodeId) -> String {
    let name = kg.name(node);
    kg.label(node)
        .map_or_else(|| name.clone(), |label| format!("{name} {label}"))
}
