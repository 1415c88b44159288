//! Profile of a graph for question synthesis: relations with sampled edges, classes with sampled
//! instances, and their wordings.

use std::collections::{BTreeMap, BTreeSet};

use kg::term::{Literal, NodeId, RelId, Term};
use kg::value::Kind;
use kg::{Companion, Kg, readable_name, words};

use super::lexicon::Lexicon;
use super::tail::TailType;
use super::wording::{RelationWording, class_nouns};

/// Sampled edges per relation.
const SAMPLE: usize = 3000;
/// Edges per relation that are read to draw the sample.
const READ: usize = 400_000;
/// Edges of a relation that are checked; it is an identifier if all of them are keys.
const IDENTIFIERS: usize = 200;
/// Sampled instances per class.
const INSTANCES: usize = 2000;

/// A relation that planners see.
pub(super) struct RelationProfile {
    pub id: RelId,
    pub iri: String,
    pub name: String,
    pub edges: usize,
    pub sample: Vec<(NodeId, NodeId)>,
    pub tail: TailType,
    /// The classes of its heads and tails.
    pub heads: Option<usize>,
    pub tails: Option<usize>,
    /// Its values are keys of table rows: questions ask for them but do not compare them.
    pub identifier: bool,
    pub wording: RelationWording,
}

/// A class with instances.
pub(super) struct ClassProfile {
    pub node: NodeId,
    pub name: String,
    pub type_relation: String,
    pub size: usize,
    pub sample: Vec<NodeId>,
    /// Its nouns in the singular, best first.
    pub nouns: Vec<String>,
    /// The attribute that names its instances if they have no labels.
    pub key: Option<usize>,
}

pub(super) struct GraphProfile<'g> {
    pub kg: &'g dyn Kg,
    pub relations: Vec<RelationProfile>,
    pub classes: Vec<ClassProfile>,
    /// IRIs of the start and end relations of intervals.
    pub intervals: Vec<(String, String)>,
    by_relation: BTreeMap<RelId, usize>,
    by_class: BTreeMap<NodeId, usize>,
    /// Classes and relations.
    vocabulary: BTreeSet<NodeId>,
    /// Relations described by shapes or an ontology, which are asked about first.
    pub declared: BTreeSet<usize>,
}

impl<'g> GraphProfile<'g> {
    /// Profiles a graph.
    pub(super) fn new(kg: &'g dyn Kg, lexicon: &Lexicon) -> Self {
        let mut profile = Self {
            kg,
            relations: Vec::new(),
            classes: Vec::new(),
            intervals: Vec::new(),
            by_relation: BTreeMap::new(),
            by_class: BTreeMap::new(),
            vocabulary: BTreeSet::new(),
            declared: BTreeSet::new(),
        };
        profile.find_classes(lexicon);
        profile.find_relations();
        profile.find_ends();
        profile.find_identifiers();
        profile.find_keys();
        for i in 0..profile.relations.len() {
            let relation = &profile.relations[i];
            let nouns = |class: Option<usize>| {
                class.map_or_else(Vec::new, |class| profile.classes[class].nouns.clone())
            };
            let label = profile.given_label(relation.id.node());
            let wording = RelationWording::new(
                &relation.name,
                label.as_deref(),
                relation.tail,
                &nouns(relation.heads),
                &nouns(relation.tails),
                lexicon,
            );
            profile.relations[i].wording = wording;
        }
        profile.find_intervals();
        profile
    }

    /// The index of a relation.
    pub(super) fn relation(&self, id: RelId) -> Option<usize> {
        self.by_relation.get(&id).copied()
    }

    /// Whether a node is neither a literal nor a class nor a relation.
    pub(super) fn is_thing(&self, node: NodeId) -> bool {
        !self.vocabulary.contains(&node) && self.kg.term(node).as_literal().is_none()
    }

    /// The most specific class of a node among those of the profile.
    pub(super) fn class_of(&self, node: NodeId) -> Option<usize> {
        let known = self.kg.types(node);
        known
            .iter()
            .filter_map(|class| self.by_class.get(class).copied())
            .min_by_key(|&class| (self.classes[class].size, class))
    }

    pub(super) fn classes_of(&self, node: NodeId) -> Vec<usize> {
        self.kg
            .types(node)
            .iter()
            .filter_map(|class| self.by_class.get(class).copied())
            .collect()
    }

    /// The key of a node: its class, the naming attribute of that class, and the value.
    pub(super) fn key(&self, node: NodeId) -> Option<(usize, usize, Literal)> {
        let class = self.class_of(node)?;
        let key = self.classes[class].key?;
        let values = self.kg.tails(node, self.relations[key].id);
        let literal = values
            .iter()
            .find_map(|&value| self.kg.term(value).as_literal().cloned())?;
        Some((class, key, literal))
    }

    /// The label that the graph states for a node, not one derived from its IRI.
    fn given_label(&self, node: NodeId) -> Option<String> {
        let stated = self
            .kg
            .schema()
            .label_relations
            .iter()
            .any(|&relation| !self.kg.tails(node, relation).is_empty());
        self.kg
            .label(node)
            .filter(|label| stated && !label.is_empty())
    }

    /// Whether a node has a natural name: a stated label, or an IRI that reads like one and not
    /// like the key of a table row.
    pub(super) fn is_labelled(&self, node: NodeId) -> bool {
        if self.given_label(node).is_some() {
            return true;
        }
        let reads = |label: String| {
            label
                .split(|c: char| !c.is_alphabetic())
                .any(|run| run.chars().count() >= 2)
        };
        // The label of a row is made of its table's name and its key: `course arrange 10 7 4`.
        !self.kg.name(node).contains('=') && self.kg.label(node).is_some_and(reads)
    }

    /// An alias of a node, such as the `name` of a table row; linking finds nodes by aliases too.
    pub(super) fn alias(&self, node: NodeId) -> Option<String> {
        let kg = self.kg;
        let mut names = kg
            .schema()
            .alias_relations
            .iter()
            .flat_map(|&relation| kg.tails(node, relation).into_owned());
        names.find_map(|name| {
            kg.term(name)
                .as_literal()
                .map(|literal| literal.lexical.clone())
        })
    }

    /// Whether a node is a statement node, which only joins others: it has neither label nor key.
    pub(super) fn is_statement(&self, node: NodeId) -> bool {
        self.is_thing(node) && !self.is_labelled(node) && self.key(node).is_none()
    }

    /// Whether a node is a thing but not a statement node.
    pub(super) fn is_named_thing(&self, node: NodeId) -> bool {
        self.is_thing(node) && !self.is_statement(node)
    }

    /// Whether a node is a thing with a class.
    pub(super) fn is_classed(&self, node: NodeId) -> bool {
        self.is_thing(node) && self.class_of(node).is_some()
    }

    fn find_classes(&mut self, lexicon: &Lexicon) {
        let kg = self.kg;
        let classes_are_things = kg.schema().is_ontology;
        for &node in kg.classes() {
            if !classes_are_things {
                self.vocabulary.insert(node);
            }
            let instances = kg.instances(node);
            let type_relation = kg
                .schema()
                .type_relations
                .iter()
                .find(|&&relation| !kg.heads(relation, node).is_empty());
            let Some(Term::Iri(iri)) = type_relation.map(|relation| kg.term(relation.node()))
            else {
                continue;
            };
            if instances.is_empty() || !matches!(kg.term(node), Term::Iri(_)) {
                continue;
            }
            let name = kg.name(node);
            let label = self.given_label(node);
            let nouns = class_nouns(&name, label.as_deref(), lexicon);
            let (size, sample) = (instances.len(), spread(instances.into_owned(), INSTANCES));
            self.by_class.insert(node, self.classes.len());
            self.classes.push(ClassProfile {
                node,
                name,
                type_relation: iri,
                size,
                sample,
                nouns,
                key: None,
            });
        }
    }

    /// The relations with sampled edges. They are read from the graph's columns, because a query
    /// has a deadline and its result would depend on the load of the machine.
    fn find_relations(&mut self) {
        let kg = self.kg;
        for &id in kg.relations() {
            let node = id.node();
            let Term::Iri(iri) = kg.term(node) else {
                continue;
            };
            self.vocabulary.insert(node);
            if kg.schema().hidden.contains(&id) || self.is_unasked(id, &iri) {
                continue;
            }
            let mut edges: Vec<(NodeId, NodeId)> = Vec::with_capacity(kg.uses(id).min(READ));
            kg.each_pair(id, &mut |head, tail| {
                edges.push((head, tail));
                edges.len() < READ
            });
            edges.sort_unstable();
            let count = edges.len();
            let sample = spread(edges, SAMPLE);
            let tail = self.tail(&sample);
            self.by_relation.insert(id, self.relations.len());
            let (name, wording) = (kg.name(node), RelationWording::default());
            self.relations.push(RelationProfile {
                id,
                iri,
                name,
                edges: count,
                sample,
                tail,
                heads: None,
                tails: None,
                identifier: false,
                wording,
            });
        }
    }

    /// Whether nobody asks for a relation: it tells the unit or the note of something, or its name is a number.
    fn is_unasked(&self, id: RelId, iri: &str) -> bool {
        const ABOUT: [&str; 6] = ["note", "notes", "comment", "comments", "unit", "xref"];
        let told_with = |one: &Companion| one.relation == id;
        let label = self.given_label(id.node());
        let Some(name) = label.or_else(|| readable_name(iri)) else {
            return !self.kg.schema().named_by_iris();
        };
        let last = words(&name).pop().unwrap_or_default();
        ABOUT.contains(&last.as_str()) || self.kg.schema().companions.iter().any(told_with)
    }

    /// The majority type of the sampled tails.
    fn tail(&self, sample: &[(NodeId, NodeId)]) -> TailType {
        let literals: Vec<Literal> = sample
            .iter()
            .filter_map(|&(_, o)| self.kg.term(o).as_literal().cloned())
            .collect();
        if literals.len() * 2 <= sample.len() {
            return TailType::Thing;
        }
        match Kind::majority(&literals) {
            Kind::Int | Kind::Float | Kind::Quantity => TailType::Number,
            Kind::Time => TailType::Time,
            Kind::Text => TailType::Text,
        }
    }

    /// The classes of heads and tails: those declared, else the smallest class of most of the
    /// sample.
    fn find_ends(&mut self) {
        let declared = self.declarations();
        for i in 0..self.relations.len() {
            let relation = &self.relations[i];
            let common = |nodes: &mut dyn Iterator<Item = NodeId>| {
                let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
                let mut all = 0;
                for node in nodes {
                    all += 1;
                    for class in self.classes_of(node) {
                        *counts.entry(class).or_default() += 1;
                    }
                }
                let wide = counts.iter().filter(|(_, count)| **count * 10 >= all * 7);
                wide.map(|(&class, _)| class)
                    .min_by_key(|&class| (self.classes[class].size, class))
            };
            let heads = common(&mut relation.sample.iter().take(300).map(|edge| edge.0));
            let tails = common(
                &mut relation
                    .sample
                    .iter()
                    .take(300)
                    .map(|edge| edge.1)
                    .filter(|&o| self.is_thing(o)),
            );
            let (domain, range) = declared.get(&relation.id).copied().unwrap_or_default();
            if domain.is_some() || range.is_some() {
                self.declared.insert(i);
            }
            self.relations[i].heads = domain.or(heads);
            self.relations[i].tails = range.or(tails);
        }
    }

    /// Domains and ranges from `rdfs:domain`, `rdfs:range` and SHACL property shapes, if these
    /// classes have instances.
    fn declarations(&self) -> BTreeMap<RelId, (Option<usize>, Option<usize>)> {
        const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
        const SHACL: &str = "http://www.w3.org/ns/shacl#";
        let kg = self.kg;
        let find = |iri: String| kg.find(&Term::Iri(iri)).map(NodeId::relation);
        let class = |nodes: &[NodeId]| {
            nodes
                .iter()
                .find_map(|node| self.by_class.get(node).copied())
        };
        let mut ends: BTreeMap<RelId, (Option<usize>, Option<usize>)> = BTreeMap::new();
        for relation in &self.relations {
            let end = |name: &str| {
                find(format!("{RDFS}{name}"))
                    .and_then(|via| class(&kg.tails(relation.id.node(), via)))
            };
            let (domain, range) = (end("domain"), end("range"));
            if domain.is_some() || range.is_some() {
                ends.insert(relation.id, (domain, range));
            }
        }
        let shacl = |name: &str| find(format!("{SHACL}{name}"));
        let (Some(property), Some(path)) = (shacl("property"), shacl("path")) else {
            return ends;
        };
        let target = shacl("targetClass");
        for relation in &self.relations {
            for &shape in kg.heads(path, relation.id.node()).iter() {
                let range = shacl("class").and_then(|via| class(&kg.tails(shape, via)));
                for &owner in kg.heads(property, shape).iter() {
                    let domain = target
                        .and_then(|via| class(&kg.tails(owner, via)))
                        .or_else(|| class(&[owner]));
                    let known = ends.entry(relation.id).or_default();
                    known.0 = known.0.or(domain);
                    known.1 = known.1.or(range);
                }
            }
        }
        ends
    }

    /// Marks numbers that are keys of rows: each occurs in the IRI of its head or of a node next to
    /// the head, in the form of W3C's Direct Mapping (`People/ID=7`). Years are compared even if
    /// they are keys.
    fn find_identifiers(&mut self) {
        for i in 0..self.relations.len() {
            let relation = &self.relations[i];
            let keys = || {
                relation
                    .sample
                    .iter()
                    .take(IDENTIFIERS)
                    .all(|&(head, tail)| self.is_key_of(head, tail))
            };
            let number =
                relation.tail == TailType::Number && !relation.name.to_lowercase().contains("year");
            self.relations[i].identifier = number && keys();
        }
    }

    /// Whether a value is a key in the IRI of a node or of a tail of the node.
    fn is_key_of(&self, node: NodeId, value: NodeId) -> bool {
        let kg = self.kg;
        let Some(value) = kg
            .term(value)
            .as_literal()
            .map(|literal| literal.lexical.clone())
        else {
            return false;
        };
        let has = |node: NodeId| match kg.term(node) {
            Term::Iri(iri) => iri
                .split(['/', ';', '#'])
                .filter_map(|part| part.split_once('='))
                .any(|(_, key)| key == value),
            Term::Blank(_) | Term::Literal(_) => false,
        };
        has(node)
            || kg
                .out_relations(node)
                .into_iter()
                .any(|relation| kg.tails(node, relation).iter().any(|&other| has(other)))
    }

    /// For classes without labels, finds the text attribute that identifies instances best, judged
    /// first by its name.
    fn find_keys(&mut self) {
        for class in 0..self.classes.len() {
            let sample = &self.classes[class].sample;
            if sample.iter().take(50).any(|&node| self.is_labelled(node)) {
                continue;
            }
            let noun = self.classes[class]
                .nouns
                .first()
                .cloned()
                .unwrap_or_default();
            let mut best: Option<((u8, usize, usize), usize)> = None;
            for (i, relation) in self.relations.iter().enumerate() {
                if relation.heads != Some(class) || relation.tail != TailType::Text {
                    continue;
                }
                let values: BTreeSet<NodeId> = relation.sample.iter().map(|edge| edge.1).collect();
                let distinct = values.len() as f64 / relation.sample.len().max(1) as f64;
                let local = relation
                    .name
                    .rsplit(['.', '/', '#', ':'])
                    .next()
                    .unwrap_or_default()
                    .to_lowercase()
                    .replace('_', " ");
                let rank = match local.as_str() {
                    "name" | "title" | "label" => 0,
                    local
                        if local == noun
                            || noun.ends_with(&format!(" {local}"))
                            || noun.starts_with(&format!("{local} ")) =>
                    {
                        1
                    }
                    local if local.ends_with("name") || local.ends_with("title") => 2,
                    _ if distinct > 0.9 => 4,
                    _ => continue,
                };
                // An attribute with few distinct values does not identify.
                if distinct < 0.5 {
                    continue;
                }
                let key = (rank, local.len(), i);
                if best.is_none_or(|(known, _)| key < known) {
                    best = Some((key, i));
                }
            }
            self.classes[class].key = best.map(|(_, i)| i);
        }
    }

    fn find_intervals(&mut self) {
        let iri = |id: RelId| self.kg.iri(id.node());
        let intervals = self.kg.schema().intervals.iter();
        let iris = intervals.filter_map(|one| Some((iri(one.from)?, iri(one.to)?)));
        self.intervals = iris.collect();
    }
}

/// At most `most` of the items, evenly spaced.
fn spread<T: Copy>(items: Vec<T>, most: usize) -> Vec<T> {
    if items.len() <= most {
        return items;
    }
    (0..most).map(|i| items[i * items.len() / most]).collect()
}
