//! Coverage of the graph by synthesised questions, with reasons for uncovered relations and
//! classes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::profile::{ClassProfile, GraphProfile, RelationProfile};

/// A relation or class without a question, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncovered {
    /// Its name.
    pub name: String,
    /// Whether questions about it are possible.
    pub usable: bool,
    /// The reason.
    pub why: String,
}

/// Coverage of the graph by the questions of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Questions wanted.
    pub wanted: usize,
    /// Questions made.
    pub questions: usize,
    /// Usable relations.
    pub relations_usable: usize,
    /// Usable relations with at least one question.
    pub relations_covered: usize,
    /// Usable classes.
    pub classes_usable: usize,
    /// Usable classes with at least one question.
    pub classes_covered: usize,
    /// Questions by shape.
    pub by_shape: BTreeMap<String, usize>,
    /// Questions by hops.
    pub by_hops: BTreeMap<u32, usize>,
    /// Relations without a question.
    pub relations_uncovered: Vec<Uncovered>,
    /// Classes without a question.
    pub classes_uncovered: Vec<Uncovered>,
    /// Elapsed seconds.
    pub seconds: f64,
}

impl Coverage {
    /// Share of the usable relations with a question; 1 if no relation is usable.
    #[must_use]
    pub fn relation_share(&self) -> f64 {
        share(self.relations_covered, self.relations_usable)
    }

    /// Share of the usable classes with a question; 1 if no class is usable.
    #[must_use]
    pub fn class_share(&self) -> f64 {
        share(self.classes_covered, self.classes_usable)
    }

    pub(super) fn add_relation(&mut self, name: &str, questions: usize, reasons: Reasons) {
        let (usable, uncovered) = reasons.judge(name, questions);
        self.relations_usable += usize::from(usable);
        self.relations_covered += usize::from(questions > 0);
        self.relations_uncovered.extend(uncovered);
    }

    pub(super) fn add_class(&mut self, name: &str, questions: usize, reasons: Reasons) {
        let (usable, uncovered) = reasons.judge(name, questions);
        self.classes_usable += usize::from(usable);
        self.classes_covered += usize::from(questions > 0);
        self.classes_uncovered.extend(uncovered);
    }
}

/// Reasons why a relation or class may have no question.
pub(super) struct Reasons {
    /// No question is possible.
    pub(super) unusable: Option<&'static str>,
    /// The last attempt failed.
    pub(super) failure: Option<&'static str>,
}

impl Reasons {
    /// Whether the relation or class is usable, and the entry for it if it has no question.
    fn judge(self, name: &str, questions: usize) -> (bool, Option<Uncovered>) {
        let usable = questions > 0 || self.unusable.is_none();
        let why = self
            .unusable
            .or(self.failure)
            .unwrap_or("the requested number of questions was reached first");
        let uncovered = (questions == 0).then(|| Uncovered {
            name: name.to_owned(),
            usable,
            why: why.to_owned(),
        });
        (usable, uncovered)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

/// The reason why no question about a relation is possible, if there is one.
pub(super) fn unusable(
    profile: &GraphProfile<'_>,
    relation: &RelationProfile,
) -> Option<&'static str> {
    let kg = profile.kg;
    if relation.sample.is_empty() {
        return Some("it has no edges that planners see");
    }
    let named = |node| profile.is_named_thing(node);
    let mut things = relation.sample.iter().filter(|(s, o)| {
        profile.is_thing(*s) && (profile.is_thing(*o) || kg.term(*o).as_literal().is_some())
    });
    if things.clone().next().is_none() {
        return Some("it describes only classes and relations");
    }
    let asked = |&(s, o): &(kg::term::NodeId, kg::term::NodeId)| {
        let value = kg.term(o).as_literal().is_some();
        // A node is reachable if it is named itself or next to a named node.
        let reached = |node| {
            named(node)
                || kg
                    .in_relations(node)
                    .iter()
                    .any(|&r| kg.heads(r, node).iter().take(20).any(|&other| named(other)))
                || kg.out_relations(node).iter().any(|&r| {
                    kg.tails(node, r)
                        .iter()
                        .take(20)
                        .any(|&other| other != o && named(other))
                })
        };
        if value {
            reached(s) || profile.class_of(s).is_some()
        } else {
            (reached(s) && (named(o) || profile.is_statement(o))) || named(o)
        }
    };
    if things.any(asked) {
        None
    } else {
        Some("it joins only nodes without names")
    }
}

/// The reason why no question about a class is possible, if there is one.
pub(super) fn unnamed(profile: &GraphProfile<'_>, class: &ClassProfile) -> Option<&'static str> {
    let named = |&node: &kg::term::NodeId| {
        !profile.is_statement(node) || !profile.kg.out_relations(node).is_empty()
    };
    if class.sample.iter().any(named) {
        None
    } else {
        Some("its instances have neither names nor attributes")
    }
}
