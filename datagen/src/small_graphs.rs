//! Graphs for questions whose own graph is not at hand: made of the patterns of their queries, with
//! relations of other questions around the same entities, so that there is something to choose
//! from.
//!
//! A variable becomes one to three nodes; a triple pattern becomes some of its possible triples,
//! the first one always, so that most queries have an answer. Entities are labelled as the
//! questions call them, relations as [`WordHints`] knows them.

use std::collections::{BTreeMap, BTreeSet};

use common::hash;
use kg::FrozenKg;
use kg::spargebra::term::{NamedNodePattern, TermPattern};
use kg::term::{Literal, Term};
use kg::term_literal;

use crate::agree::made::{QueryUses, is_type, values};
use crate::question::{GoldQuestion, Topic};
use crate::verify::parsed;
use crate::word_pairs::WordHints;

/// Questions that share a graph.
const TOGETHER: usize = 250;
/// Most nodes of a variable.
const POOL: u64 = 3;
/// How many of ten possible triples exist, besides the first.
const DENSITY: u64 = 5;
/// Relations of other questions around an entity of a question, and around what its query passes.
const AROUND_TOPIC: usize = 6;
const AROUND_NODE: usize = 3;
/// Relations among which the most similar ones are looked for.
const LOOKED_AT: u64 = 40;

const MADE: &str = "http://made.example/";
const LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";

/// A graph and the questions that it can answer.
pub struct SmallGraph {
    /// The graph.
    pub graph: FrozenKg,
    /// The questions, with the entities that they mention as topics.
    pub questions: Vec<GoldQuestion>,
}

/// A question whose query can be part of a graph.
struct Usable {
    question: GoldQuestion,
    uses: QueryUses,
}

/// How a relation is used: from an entity or to it, and whether it leads to values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Usage {
    relation: String,
    forward: bool,
    /// A value at its other end, if it leads to values.
    value: Option<Literal>,
}

/// Makes the graphs of questions, some hundred questions each. Left out are questions that `hints`
/// skips, that have no query, or that do not say how they call an entity of their query. The same
/// questions and seed give the same graphs.
#[must_use]
pub fn small_graphs(questions: &[GoldQuestion], hints: &WordHints, seed: u64) -> Vec<SmallGraph> {
    let mut usable: Vec<Usable> = questions
        .iter()
        .filter(|question| !hints.skipped.contains(&question.id))
        .filter_map(|question| usable(question, hints))
        .collect();
    usable.sort_by_cached_key(|one| hash::number(seed, "order", &one.question.id));
    (usable.chunks(TOGETHER))
        .enumerate()
        .map(|(at, some)| SmallGraph {
            graph: graph(some, hints, seed.wrapping_add(at as u64)),
            questions: some.iter().map(|one| one.question.clone()).collect(),
        })
        .collect()
}

/// The question with all its entities as topics; `None` if its query cannot be used.
fn usable(question: &GoldQuestion, hints: &WordHints) -> Option<Usable> {
    let uses = QueryUses::of(&parsed(question).ok()?);
    let tagged = hints.mentions.get(&question.id).into_iter().flatten();
    let known: BTreeMap<&str, &Topic> = (question.topics.iter().chain(tagged))
        .filter(|topic| !topic.label.is_empty())
        .map(|topic| (topic.name.trim_matches(['<', '>']), topic))
        .collect();
    let mut topics: Vec<Topic> = Vec::new();
    for triple in &uses.triples {
        let NamedNodePattern::NamedNode(relation) = &triple.predicate else {
            return None;
        };
        let class = is_type(&Term::Iri(relation.as_str().to_owned()));
        for (node, entity) in [(&triple.subject, true), (&triple.object, !class)] {
            if let (TermPattern::NamedNode(iri), true) = (node, entity) {
                let topic = known.get(iri.as_str())?;
                if !topics.iter().any(|one| one.name == iri.as_str()) {
                    topics.push(Topic {
                        name: iri.as_str().to_owned(),
                        label: topic.label.clone(),
                    });
                }
            }
        }
    }
    (!uses.triples.is_empty()).then(|| Usable {
        question: GoldQuestion {
            topics,
            answers: None,
            answers_bind: false,
            ..question.clone()
        },
        uses,
    })
}

fn graph(questions: &[Usable], hints: &WordHints, seed: u64) -> FrozenKg {
    let mut made = Made {
        seed,
        triples: Vec::new(),
        usages: usages(questions),
        known: BTreeMap::new(),
        nameless: BTreeSet::new(),
    };
    for (number, one) in questions.iter().enumerate() {
        made.patterns(one, number);
        for (at, topic) in one.question.topics.iter().enumerate() {
            let node = Term::Iri(topic.name.clone());
            made.surround(&node, AROUND_TOPIC, &format!("{number} {at}"));
        }
    }
    made.name();
    for one in questions {
        for topic in &one.question.topics {
            let node = Term::Iri(topic.name.clone());
            made.triples.push([
                node.clone(),
                Term::Iri(LABEL.to_owned()),
                Term::Literal(Literal::plain(topic.label.clone())),
            ]);
        }
    }
    let relations: BTreeSet<Term> = (made.triples.iter()).map(|[_, r, _]| r.clone()).collect();
    for relation in relations {
        let Term::Iri(iri) = &relation else { continue };
        let local = iri.rsplit(['/', '#']).next().unwrap_or(iri);
        if let Some(label) = hints.labels.get(local) {
            let label = Term::Literal(Literal::plain(label.clone()));
            made.triples
                .push([relation, Term::Iri(LABEL.to_owned()), label]);
        }
    }
    FrozenKg::from_triples(made.triples)
}

/// All ways in which the questions use relations.
fn usages(questions: &[Usable]) -> Vec<Usage> {
    let mut found = BTreeSet::new();
    for one in questions {
        for triple in &one.uses.triples {
            let NamedNodePattern::NamedNode(relation) = &triple.predicate else {
                continue;
            };
            if is_type(&Term::Iri(relation.as_str().to_owned())) {
                continue;
            }
            let value = match &triple.object {
                TermPattern::Literal(value) => Some(term_literal(value)),
                TermPattern::Variable(variable) => {
                    let constants = one.uses.compared.get(variable.as_str());
                    constants.map(|constants| {
                        constants
                            .first()
                            .cloned()
                            .unwrap_or_else(|| Literal::xsd("7".to_owned(), "integer"))
                    })
                }
                _ => None,
            };
            let is_value = value.is_some();
            for forward in [true, false] {
                if forward || !is_value {
                    found.insert(Usage {
                        relation: relation.as_str().to_owned(),
                        forward,
                        value: value.clone(),
                    });
                }
            }
        }
    }
    found.into_iter().collect()
}

/// A graph in the making.
struct Made {
    seed: u64,
    triples: Vec<[Term; 3]>,
    usages: Vec<Usage>,
    /// The relations of each node so far.
    known: BTreeMap<Term, BTreeSet<String>>,
    /// Nodes that stand for facts and have no name: a node between two relations with names in
    /// sections, as Freebase has them.
    nameless: BTreeSet<Term>,
}

impl Made {
    fn push(&mut self, subject: &Term, relation: &str, object: &Term) {
        for node in [subject, object] {
            let known = self.known.entry(node.clone()).or_default();
            known.insert(relation.to_owned());
        }
        self.triples.push([
            subject.clone(),
            Term::Iri(relation.to_owned()),
            object.clone(),
        ]);
    }

    /// Adds the triples of a question's query, and relations around the nodes of its variables.
    fn patterns(&mut self, one: &Usable, number: usize) {
        let mut passed: BTreeSet<Term> = BTreeSet::new();
        for (at, triple) in one.uses.triples.iter().enumerate() {
            let NamedNodePattern::NamedNode(relation) = &triple.predicate else {
                continue;
            };
            let class = is_type(&Term::Iri(relation.as_str().to_owned()));
            let subjects = self.pool(&triple.subject, one, number);
            let objects = self.pool(&triple.object, one, number);
            for (i, subject) in subjects.iter().enumerate() {
                for (j, object) in objects.iter().enumerate() {
                    let key = format!("{number} {at} {i} {j}");
                    let chance = hash::number(self.seed, "triple", &key) % 10;
                    if i + j == 0 || class || chance < DENSITY {
                        self.push(subject, relation.as_str(), object);
                    }
                }
            }
            let is_fact = |node: &&Term| self.known.get(*node).is_some_and(|all| all.len() > 1);
            if relation.as_str().matches('.').count() > 3 {
                let facts: Vec<Term> = subjects.iter().filter(is_fact).cloned().collect();
                let entity = |node: &Term| {
                    one.question
                        .topics
                        .iter()
                        .any(|t| node == &Term::Iri(t.name.clone()))
                };
                self.nameless
                    .extend(facts.into_iter().filter(|node| !entity(node)));
            }
            if matches!(triple.subject, TermPattern::Variable(_)) {
                passed.extend(subjects.into_iter().take(1));
            }
            if matches!(triple.object, TermPattern::Variable(_)) {
                let nodes = objects.into_iter().take(1);
                passed.extend(nodes.filter(|node| matches!(node, Term::Iri(_))));
            }
        }
        for (at, node) in passed.iter().enumerate() {
            self.surround(node, AROUND_NODE, &format!("{number} passed {at}"));
        }
    }

    fn pool(&self, node: &TermPattern, one: &Usable, number: usize) -> Vec<Term> {
        match node {
            TermPattern::NamedNode(iri) => vec![Term::Iri(iri.as_str().to_owned())],
            TermPattern::Literal(value) => vec![Term::Literal(term_literal(value))],
            TermPattern::BlankNode(node) => self.nodes(number, node.as_str()),
            TermPattern::Variable(variable) => {
                let name = variable.as_str();
                match (one.uses.given.get(name), one.uses.compared.get(name)) {
                    (Some(terms), _) => terms.clone(),
                    (None, Some(constants)) => values(constants, self.seed),
                    (None, None) => self.nodes(number, name),
                }
            }
        }
    }

    /// The nodes of a variable of a question.
    fn nodes(&self, number: usize, name: &str) -> Vec<Term> {
        let count = 1 + hash::number(self.seed, "nodes", &format!("{number} {name}")) % POOL;
        (0..count)
            .map(|at| Term::Iri(format!("{MADE}{number}/{name}/n{at}")))
            .collect()
    }

    /// Names the nodes that were made.
    fn name(&mut self) {
        let made = |node: &&Term| matches!(node, Term::Iri(iri) if iri.starts_with(MADE));
        let nodes: Vec<Term> = self.known.keys().filter(made).cloned().collect();
        for node in nodes
            .into_iter()
            .filter(|node| !self.nameless.contains(node))
        {
            let drawn = hash::number(self.seed, "name", &node.to_string());
            let name = Term::Literal(Literal::plain(made_name(drawn)));
            self.triples.push([node, Term::Iri(LABEL.to_owned()), name]);
        }
    }

    /// Adds `count` relations of other questions around a node: half of them like those that it has.
    fn surround(&mut self, node: &Term, count: usize, key: &str) {
        let own = self.known.get(node).cloned().unwrap_or_default();
        for at in 0..count {
            let draw = |what: &str, from: u64| {
                hash::number(self.seed, what, &format!("{key} {at}")) % from.max(1)
            };
            let looked = if at % 2 == 0 { LOOKED_AT } else { 1 };
            let some = (0..looked).filter_map(|i| {
                let drawn = hash::number(self.seed, "other", &format!("{key} {at} {i}"));
                let index = usize::try_from(drawn % (self.usages.len() as u64).max(1)).ok()?;
                self.usages.get(index)
            });
            let new = some.filter(|usage| !own.contains(&usage.relation));
            let best = new.max_by_key(|usage| {
                let likeness = own.iter().map(|one| alike(one, &usage.relation)).max();
                (likeness, std::cmp::Reverse(*usage))
            });
            let Some(usage) = best.cloned() else {
                continue;
            };
            let ends = match &usage.value {
                Some(value) => vec![Term::Literal(value.clone())],
                None => (0..=draw("ends", POOL))
                    .map(|end| Term::Iri(format!("{MADE}{}/o{at}/n{end}", key.replace(' ', "/"))))
                    .collect(),
            };
            for end in &ends {
                match usage.forward {
                    true => self.push(node, &usage.relation, end),
                    false => self.push(end, &usage.relation, node),
                }
            }
        }
    }
}

/// A name that means nothing: `Tiko Ravelu`.
fn made_name(drawn: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "do", "fi", "ga", "ke", "lo", "mi", "nu", "pa", "ra", "si", "ta", "ve", "wo", "xi",
        "zu",
    ];
    let word = |from: u32, count: u32| {
        let syllable = |at| SYLLABLES[((drawn >> (4 * at)) % 16) as usize];
        let word: String = (from..from + count).map(syllable).collect();
        let (first, rest) = word.split_at(1);
        format!("{}{rest}", first.to_uppercase())
    };
    format!("{} {}", word(0, 2), word(2, 4))
}

/// How many sections two names of relations share at their beginning.
fn alike(one: &str, other: &str) -> usize {
    let sections =
        |name: &str| -> Vec<String> { name.split(['/', '#', '.']).map(str::to_owned).collect() };
    let (one, other) = (sections(one), sections(other));
    one.iter().zip(&other).take_while(|(a, b)| a == b).count()
}
