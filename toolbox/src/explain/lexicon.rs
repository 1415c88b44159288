//! Question words for the relations and classes of a graph, proposed from the word tables. Its owner
//! edits them and loads them as aliases.

use std::collections::BTreeSet;

use kg::Kg;
use kg::term::NodeId;

use super::naming::class_texts;
use super::table::{WordTables, stems_of};
use super::vocabulary::{SYNONYMS, sides_of, split};

/// Lowest probability of a proposed word, given a word of the name.
const LEAST: f32 = 0.04;
/// Lowest share of a word's probabilities that belongs to one relation or class: a word that may
/// mean any of many says little.
const OWN: f32 = 0.25;

/// The words proposed for a relation or class.
#[derive(Clone, Debug, PartialEq)]
pub struct LexiconEntry {
    /// The node that has the label of the relation, or the class.
    pub node: NodeId,
    /// Whether it is a class.
    pub is_class: bool,
    /// Question words that its names do not have, with their probabilities, likeliest first.
    pub words: Vec<(String, f32)>,
}

/// The words, and phrases of several words, by which the program's own list says that people ask. The
/// list has the most typical words of a name first.
#[must_use]
pub fn question_words() -> Vec<String> {
    let sides = sides_of(SYNONYMS).filter_map(|(_, sides)| sides);
    sides
        .flat_map(|(_, words)| words.split_whitespace())
        .map(|word| word.replace('_', " "))
        .collect()
}

/// At most `most` words of `vocabulary` for each visible relation and each class of a graph. Of equally
/// likely words the earlier ones are proposed.
#[must_use]
pub fn lexicon(
    kg: &dyn Kg,
    tables: &WordTables,
    vocabulary: &[String],
    most: usize,
) -> Vec<LexiconEntry> {
    let visible = (kg.relations().iter()).filter(|id| !kg.schema().hidden.contains(id));
    let relations = visible.map(|&id| (kg.property_of(id), kg.name(id.node())));
    let classes = kg.classes().iter().map(|&class| (class, kg.name(class)));
    let mut entries = propose(kg, tables, vocabulary, most, relations.collect(), false);
    entries.extend(propose(
        kg,
        tables,
        vocabulary,
        most,
        classes.collect(),
        true,
    ));
    entries
}

/// The entries of some nodes with their names, among which a word may have several meanings.
fn propose(
    kg: &dyn Kg,
    tables: &WordTables,
    vocabulary: &[String],
    most: usize,
    mut nodes: Vec<(NodeId, String)>,
    is_class: bool,
) -> Vec<LexiconEntry> {
    nodes.sort_unstable();
    nodes.dedup_by_key(|(node, _)| *node);
    let named: Vec<(Vec<String>, Vec<String>)> = (nodes.iter())
        .map(|(node, name)| {
            let stems = |texts: &[String]| texts.iter().flat_map(|text| stems_of(text)).collect();
            let own = [
                split(name).0.to_owned(),
                kg.label(*node).unwrap_or_default(),
            ];
            (stems(&own), stems(&class_texts(kg, *node)))
        })
        .collect();
    let mut entries: Vec<LexiconEntry> = (nodes.into_iter())
        .map(|(node, _)| LexiconEntry {
            node,
            is_class,
            words: Vec::new(),
        })
        .collect();
    for word in vocabulary {
        let parts = stems_of(word);
        let whole = parts.join(" ");
        let of = |own: &Vec<String>| {
            let given = own.iter().map(|name| tables.question_given(name, &whole));
            given.fold(0.0, f32::max)
        };
        let scores: Vec<f32> = named.iter().map(|(own, _)| of(own)).collect();
        let all: f32 = scores.iter().sum();
        for ((entry, (_, known)), score) in entries.iter_mut().zip(&named).zip(scores) {
            let new = parts.iter().any(|part| !known.contains(part));
            if new && score >= LEAST && score >= OWN * all {
                entry.words.push((word.clone(), score));
            }
        }
    }
    for entry in &mut entries {
        let words = &mut entry.words;
        words.sort_by(|a, b| b.1.total_cmp(&a.1));
        // One form of each word.
        let mut seen = BTreeSet::new();
        words.retain(|(word, _)| seen.insert(stems_of(word)));
        words.truncate(most);
    }
    entries
}
