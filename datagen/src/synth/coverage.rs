//! What the questions of a run cover of the graph, and why they do not cover the rest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::profile::{Class, Profile, Relation};

/// A relation or class without a question, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncovered {
    /// Its name.
    pub name: String,
    /// Whether questions about it were possible.
    pub usable: bool,
    /// Why there is none.
    pub why: String,
}

/// What the questions of a run cover.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Questions wanted.
    pub wanted: usize,
    /// Questions made.
    pub questions: usize,
    /// Relations that can be asked about.
    pub relations_usable: usize,
    /// Those that a question uses.
    pub relations_covered: usize,
    /// Classes that can be asked about.
    pub classes_usable: usize,
    /// Those that a question names.
    pub classes_covered: usize,
    /// Questions by shape.
    pub by_shape: BTreeMap<String, usize>,
    /// Questions by hops.
    pub by_hops: BTreeMap<u32, usize>,
    /// Relations without a question.
    pub relations_uncovered: Vec<Uncovered>,
    /// Classes without a question.
    pub classes_uncovered: Vec<Uncovered>,
    /// Seconds that making the questions took.
    pub seconds: f64,
}

impl Coverage {
    /// Share of the usable relations that a question uses; 1 where there are none.
    #[must_use]
    pub fn relation_share(&self) -> f64 {
        share(self.relations_covered, self.relations_usable)
    }

    /// Share of the usable classes that a question names; 1 where there are none.
    #[must_use]
    pub fn class_share(&self) -> f64 {
        share(self.classes_covered, self.classes_usable)
    }

    pub(super) fn relation(
        &mut self,
        name: &str,
        questions: usize,
        unusable: Option<&'static str>,
        failure: Option<&'static str>,
    ) {
        let usable = questions > 0 || unusable.is_none();
        self.relations_usable += usize::from(usable);
        self.relations_covered += usize::from(questions > 0);
        if questions == 0 {
            self.relations_uncovered
                .push(uncovered(name, unusable, failure));
        }
    }

    pub(super) fn class(
        &mut self,
        name: &str,
        questions: usize,
        unusable: Option<&'static str>,
        failure: Option<&'static str>,
    ) {
        let usable = questions > 0 || unusable.is_none();
        self.classes_usable += usize::from(usable);
        self.classes_covered += usize::from(questions > 0);
        if questions == 0 {
            self.classes_uncovered
                .push(uncovered(name, unusable, failure));
        }
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

fn uncovered(
    name: &str,
    unusable: Option<&'static str>,
    failure: Option<&'static str>,
) -> Uncovered {
    let why = unusable
        .or(failure)
        .unwrap_or("it was not reached within the count");
    Uncovered {
        name: name.to_owned(),
        usable: unusable.is_none(),
        why: why.to_owned(),
    }
}

/// Why no question can be asked about a relation, if so.
pub(super) fn unusable(profile: &Profile<'_>, relation: &Relation) -> Option<&'static str> {
    let kg = profile.kg;
    if relation.sample.is_empty() {
        return Some("it has no edges that planners see");
    }
    let named = |node| profile.is_thing(node) && !profile.is_statement(node);
    let mut things = relation.sample.iter().filter(|(s, o)| {
        profile.is_thing(*s) && (profile.is_thing(*o) || kg.term(*o).as_literal().is_some())
    });
    if things.clone().next().is_none() {
        return Some("it is about classes and relations only");
    }
    let asked = |&(s, o): &(kg::term::NodeId, kg::term::NodeId)| {
        let value = kg.term(o).as_literal().is_some();
        // A literal of a thing with a name, a thing by a thing with a name, or by a statement that such a thing hangs on.
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
        Some("it joins nodes that have no name only")
    }
}

/// Why no question can be asked about a class, if so.
pub(super) fn unnamed(profile: &Profile<'_>, class: &Class) -> Option<&'static str> {
    let named = |&node: &kg::term::NodeId| {
        !profile.is_statement(node) || !profile.kg.out_relations(node).is_empty()
    };
    if class.sample.iter().any(named) {
        None
    } else {
        Some("its instances have neither names nor attributes")
    }
}
