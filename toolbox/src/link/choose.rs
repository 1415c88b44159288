//! Choosing among the nodes that a mention may mean (tool S2): what the question asks for against each node's label, classes and relations.

use rustc_hash::FxHashMap;

use crate::rank::Ranker;
use kg::Kg;
use kg::term::NodeId;

/// Relations of one candidate that are compared with the question; hubs have thousands, and the first ones tell as much.
const RELATIONS: usize = 200;

/// Weight of how well known a node is against what fits the question: the logarithm of its degree, so that ten times as many facts count as
/// much as a relation that fits a tenth better.
const POPULARITY: f32 = 0.1;
/// Weight of a class, and of the label's own words, beside a relation.
const CLASS: f32 = 0.5;
const LABEL: f32 = 0.25;

/// Scores of nodes that one mention may mean, in their order: how well what the question says beside the mention fits each one's relations,
/// classes and label, and how well known each one is. `prior` is what is known of each beforehand.
///
/// `question` is the text without its mentions, so that a name does not attract what sounds alike.
pub fn choose(
    kg: &dyn Kg,
    question: &str,
    nodes: &[NodeId],
    prior: &[f32],
    ranker: &dyn Ranker,
) -> Vec<f32> {
    let mut texts: Vec<String> = Vec::new();
    let mut known: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut place = |node: NodeId, texts: &mut Vec<String>| {
        *known.entry(node).or_insert_with(|| {
            texts.push(text_of(kg, node));
            texts.len() - 1
        })
    };
    struct Described {
        relations: Vec<usize>,
        classes: Vec<usize>,
        label: Option<usize>,
    }
    let mut described = Vec::with_capacity(nodes.len());
    for &node in nodes {
        let relations = kg
            .out_relations(node)
            .into_iter()
            .chain(kg.in_relations(node))
            .take(RELATIONS);
        let relations = relations
            .map(|relation| place(relation.node(), &mut texts))
            .collect();
        let classes = kg
            .types(node)
            .into_iter()
            .map(|class| place(class, &mut texts))
            .collect();
        described.push(Described {
            relations,
            classes,
            label: kg.label(node).is_some().then(|| place(node, &mut texts)),
        });
    }
    let scores = ranker.score(question, &texts);
    let best = |places: &[usize]| {
        places
            .iter()
            .filter_map(|&at| scores.get(at))
            .fold(0.0_f32, |best, &score| best.max(score))
    };
    let fits = described.iter().map(|one| {
        best(&one.relations)
            + CLASS * best(&one.classes)
            + LABEL * one.label.map_or(0.0, |at| best(&[at]))
    });
    let popular = nodes
        .iter()
        .map(|&node| POPULARITY * (1.0 + kg.degree(node) as f32).log10());
    fits.zip(popular)
        .zip(prior)
        .map(|((fit, popular), prior)| fit + popular + prior)
        .collect()
}

/// A relation, class or node as a ranker reads it.
fn text_of(kg: &dyn Kg, node: NodeId) -> String {
    let name = kg.name(node);
    kg.label(node)
        .map_or_else(|| name.clone(), |label| format!("{name} {label}"))
}
