//! Scores the nodes that a mention may refer to by the words around it: the class that they name,
//! the class of a coordinated mention (`X and Y`), and the things that a node is linked with.

use kg::Kg;
use kg::term::NodeId;

use common::cancel::Cancel;

use crate::rank::{RankError, Ranker, stem, words};

use super::choose::choose;

/// Bonus of a node whose class is named next to its mention (`the film Casablanca`).
const CLASS: f32 = 0.8;
/// Bonus of a node that shares a class with a coordinated mention (`Real Madrid and Barcelona`).
const COORDINATED: f32 = 0.6;
/// Bonus of a node that is linked with the things named after its mention (`French rivers`).
const LINKED: f32 = 0.4;
/// Bonus of a node that a fact connects with another mention (`was Let It Be written by Ringo Starr`).
const CONNECTED: f32 = 0.6;
/// Bonus of a node from which relations lead to another mention: `the parade at the zoo` takes place in a
/// zone of that zoo.
const LEADS: f32 = 0.4;
/// How many relations may lead there, and how many nodes are looked at.
const STEPS: usize = 4;
const NODES: usize = 300;
/// Nodes with more facts are not searched for such a fact.
const HUB: usize = 2_000;
/// Weight of the words next to a mention, against a weight of 1 for all words of the question.
const NEAR: f32 = 0.5;
/// Bonus of a name with a capital, against the same name in lower case: tags are seldom asked for.
const CAPITAL: f32 = 0.2;
/// Bonus of a node that is a value of some relation, where the question asks for one (`by …`).
const VALUE: f32 = 1.5;
/// Bonus of a node of which the words before `by` say what is its: `operas by Halicki` are a composer's.
const MADE: f32 = 0.4;
/// Weight of the logarithm of a place's population: of two towns with one name, the larger is meant.
const POPULATION: f32 = 0.03;
/// Relations per candidate and direction whose far ends are read.
const RELATIONS: usize = 40;

/// Words that name one kind of thing; each list is one kind.
const KINDS: &[&str] = &[
    "film movie flick picture motion cinema",
    "novel book",
    "city town",
    "country nation state land",
    "team club side",
    "mountain mount peak summit",
    "person man woman guy lady",
];

/// The surroundings of a mention.
pub(super) struct Surroundings<'a> {
    /// The question without mentions.
    pub(super) bare: &'a str,
    /// The words next to the mention.
    pub(super) near: String,
    /// The words after the mention that may name the thing that it describes.
    pub(super) after: String,
    /// Whether the words before the mention ask for a value.
    pub(super) value: bool,
    /// Whether the mention follows `about`.
    pub(super) topic: bool,
    pub(super) coordinated: Vec<NodeId>,
    /// The nodes that other mentions may refer to.
    pub(super) others: Vec<NodeId>,
}

/// Scores the nodes that a mention may refer to, in the given order.
///
/// # Errors
/// [`RankError`] if the ranker fails or is cancelled.
pub(super) fn scores(
    kg: &dyn Kg,
    around: &Surroundings<'_>,
    nodes: &[NodeId],
    prior: &[f32],
    ranker: &dyn Ranker,
    cancel: &Cancel,
) -> Result<Vec<f32>, RankError> {
    let mut scores = choose(kg, around.bare, nodes, prior, ranker, cancel)?;
    let zero = vec![0.0; nodes.len()];
    let near = choose(kg, &around.near, nodes, &zero, ranker, cancel)?;
    let (near_stems, after) = (stems(&around.near), stems(&around.after));
    let classes: Vec<NodeId> = around
        .coordinated
        .iter()
        .flat_map(|&node| kg.types(node))
        .collect();
    let capital = |node: NodeId| {
        kg.label(node)
            .is_some_and(|label| label.contains(char::is_uppercase))
    };
    let populations: Vec<f32> = nodes.iter().map(|&node| population(kg, node)).collect();
    for (i, &node) in nodes.iter().enumerate() {
        let types = kg.types(node);
        scores[i] += NEAR * near[i];
        // In `films by Hitchcock`, the class is that of the answer.
        let named = |class: &NodeId| is_named(kg, *class, &near_stems);
        if !around.value && types.iter().any(named) {
            scores[i] += CLASS;
        }
        if types.iter().any(|class| classes.contains(class)) {
            scores[i] += COORDINATED;
        }
        if around
            .others
            .iter()
            .any(|&other| is_connected(kg, node, other))
        {
            scores[i] += CONNECTED;
        } else if leads_to(kg, node, &around.others) {
            scores[i] += LEADS;
        }
        if !after.is_empty() && is_linked(kg, node, &after) {
            scores[i] += LINKED;
        }
        if !around.topic && capital(node) {
            scores[i] += CAPITAL;
        }
        if around.value && !kg.in_relations(node).is_empty() {
            scores[i] += VALUE;
        }
        if around.value && has_made(kg, node, &near_stems) {
            scores[i] += MADE;
        }
        if populations.iter().all(|&count| count > 0.0) {
            scores[i] += POPULATION * populations[i];
        }
    }
    Ok(scores)
}

/// The stems of a text; words for one kind of thing have one stem.
fn stems(text: &str) -> Vec<String> {
    words(text).iter().map(|word| stem(&kind(word))).collect()
}

fn kind(word: &str) -> String {
    let one = kg::search::singular(word).unwrap_or_else(|| word.to_owned());
    let known = KINDS
        .iter()
        .find(|kind| kind.split(' ').any(|name| name == one));
    known
        .and_then(|kind| kind.split(' ').next())
        .unwrap_or(word)
        .to_owned()
}

/// Whether one of these stems is the last word of a class's name or a word of its label.
fn is_named(kg: &dyn Kg, class: NodeId, named: &[String]) -> bool {
    let name = kg.name(class);
    let last = stems(&name).pop();
    let label = kg.label(class).map(|label| stems(&label));
    last.iter()
        .chain(label.iter().flatten())
        .any(|stem| named.contains(stem))
}

/// Whether a node is linked with instances of a class with one of these names.
fn is_linked(kg: &dyn Kg, node: NodeId, named: &[String]) -> bool {
    let tails = kg.out_relations(node).into_iter().take(RELATIONS);
    let tails = tails.filter_map(|relation| kg.tails(node, relation).first().copied());
    heads_of(kg, node)
        .chain(tails)
        .flat_map(|other| kg.types(other))
        .any(|class| is_named(kg, class, named))
}

/// The first node from which each relation leads to a node.
fn heads_of(kg: &dyn Kg, node: NodeId) -> impl Iterator<Item = NodeId> {
    let relations = kg.in_relations(node).into_iter().take(RELATIONS);
    relations.filter_map(move |relation| kg.heads(relation, node).first().copied())
}

/// Whether a relation leads to a node from instances of a class whose name ends with one of these stems.
fn has_made(kg: &dyn Kg, node: NodeId, named: &[String]) -> bool {
    let ends = |class: NodeId| {
        let last = stems(&kg.name(class)).pop();
        last.is_some_and(|last| named.contains(&last))
    };
    heads_of(kg, node).flat_map(|head| kg.types(head)).any(ends)
}

/// Whether a fact connects two nodes.
pub(crate) fn is_connected(kg: &dyn Kg, a: NodeId, b: NodeId) -> bool {
    let (from, to) = if kg.degree(a) <= kg.degree(b) {
        (a, b)
    } else {
        (b, a)
    };
    from != to
        && kg.degree(from) <= HUB
        && (kg
            .out_relations(from)
            .into_iter()
            .any(|r| kg.tails(from, r).contains(&to))
            || kg
                .in_relations(from)
                .into_iter()
                .any(|r| kg.heads(r, from).contains(&to)))
}

/// Whether a few relations lead from a node to one of the others.
fn leads_to(kg: &dyn Kg, node: NodeId, others: &[NodeId]) -> bool {
    if others.is_empty() || others.contains(&node) {
        return false;
    }
    let mut seen = vec![node];
    let mut from = 0;
    for _ in 0..STEPS {
        let until = seen.len();
        for at in from..until {
            let here = seen[at];
            for relation in kg.out_relations(here).into_iter().take(RELATIONS) {
                for &next in kg.tails(here, relation).iter().take(RELATIONS) {
                    if others.contains(&next) {
                        return true;
                    }
                    let thing = kg.term(next).as_literal().is_none();
                    if thing && seen.len() < NODES && !seen.contains(&next) {
                        seen.push(next);
                    }
                }
            }
        }
        from = until;
    }
    false
}

/// The decimal logarithm of a node's population; 0 if it has none.
fn population(kg: &dyn Kg, node: NodeId) -> f32 {
    let relations = kg.out_relations(node).into_iter().take(RELATIONS);
    relations
        .filter(|relation| {
            words(&kg.name(relation.node()))
                .iter()
                .any(|word| word == "population")
        })
        .filter_map(|relation| kg.label(*kg.tails(node, relation).first()?)?.parse().ok())
        .fold(0.0, |most: f32, count: f32| {
            most.max((1.0 + count.max(0.0)).log10())
        })
}
