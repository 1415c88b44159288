//! How well linking finds entities: linked entities compared with the gold entities of each
//! question.

use std::collections::BTreeMap;
use std::time::Duration;

use kg::Kg;
use kg::term::NodeId;
use toolbox::call::ToolTable;

use crate::question::GoldQuestion;
use crate::verify;

/// The gold entities of a question, sorted: the topics that its data set gives, otherwise the
/// entities of its gold query. Classes are excluded, because every question is offered them. `None`
/// if the query cannot be read.
#[must_use]
pub fn gold_entities(kg: &dyn Kg, question: &GoldQuestion) -> Option<Vec<NodeId>> {
    let mut nodes: Vec<NodeId> = question
        .topics
        .iter()
        .filter_map(|topic| kg.by_name(&topic.name))
        .collect();
    if question.topics.is_empty() {
        let program = verify::converted(question, Some(kg), ToolTable::Paper).ok()?;
        nodes = program
            .constants
            .iter()
            .filter_map(|term| kg.find(term))
            .collect();
    }
    nodes.retain(|node| {
        kg.term(*node).as_literal().is_none() && kg.classes().binary_search(node).is_err()
    });
    nodes.sort_unstable();
    nodes.dedup();
    Some(nodes)
}

/// Linked entities compared with gold ones, summed over questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linking {
    /// Questions whose gold entities are known.
    pub questions: usize,
    /// Gold entities.
    pub gold: usize,
    /// Linked entities.
    pub linked: usize,
    /// Gold entities among the linked ones.
    pub found: usize,
    /// Questions whose gold entities are all linked.
    pub complete: usize,
    /// Seconds spent linking, summed over questions.
    pub seconds: f64,
    /// The same per group: dimension, value.
    pub by: BTreeMap<String, BTreeMap<String, Linking>>,
}

impl Linking {
    /// Adds a question to the totals and to each of its groups.
    pub fn add(
        &mut self,
        gold: &[NodeId],
        linked: &[NodeId],
        took: Duration,
        groups: &[(String, String)],
    ) {
        self.count(gold, linked, took);
        for (dimension, value) in groups {
            self.by
                .entry(dimension.clone())
                .or_default()
                .entry(value.clone())
                .or_default()
                .count(gold, linked, took);
        }
    }

    fn count(&mut self, gold: &[NodeId], linked: &[NodeId], took: Duration) {
        let found = gold.iter().filter(|node| linked.contains(node)).count();
        self.questions += 1;
        self.gold += gold.len();
        self.linked += linked.len();
        self.found += found;
        self.complete += usize::from(found == gold.len());
        self.seconds += took.as_secs_f64();
    }

    /// Share of gold entities that are linked; 1 if there are no gold entities.
    #[must_use]
    pub fn recall(&self) -> f64 {
        share(self.found, self.gold)
    }

    /// Share of linked entities that are gold; 1 if no entity is linked.
    #[must_use]
    pub fn precision(&self) -> f64 {
        share(self.found, self.linked)
    }

    /// Share of questions whose gold entities are all linked.
    #[must_use]
    pub fn complete(&self) -> f64 {
        share(self.complete, self.questions)
    }

    /// Linked entities per question.
    #[must_use]
    pub fn a_question(&self) -> f64 {
        if self.questions == 0 {
            0.0
        } else {
            self.linked as f64 / self.questions as f64
        }
    }
}

fn share(part: usize, all: usize) -> f64 {
    if all == 0 {
        1.0
    } else {
        part as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_entities_and_complete_counts_questions() {
        let nodes = |ids: &[u32]| ids.iter().map(|&id| NodeId(id)).collect::<Vec<_>>();
        let mut linking = Linking::default();
        let hops = [("hops".to_owned(), "2".to_owned())];
        linking.add(&nodes(&[1, 2]), &nodes(&[2, 3, 4]), Duration::ZERO, &hops);
        linking.add(&nodes(&[5]), &nodes(&[5]), Duration::ZERO, &[]);
        assert_eq!(
            (
                linking.recall(),
                linking.precision(),
                linking.complete(),
                linking.a_question()
            ),
            (2.0 / 3.0, 0.5, 0.5, 2.0)
        );
        assert_eq!(linking.by["hops"]["2"].recall(), 0.5);
        assert_eq!(
            (Linking::default().recall(), Linking::default().a_question()),
            (1.0, 0.0)
        );
    }
}
