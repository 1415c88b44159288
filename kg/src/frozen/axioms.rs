//! What the axioms of an ontology say of its classes, as triples that tools can follow. OWL writes "every crop is
//! part of a digestive tract" as a restriction, a node of its own:
//!
//! ```text
//! crop subClassOf [ onProperty partOf ; someValuesFrom digestiveTract ]      →  crop partOf digestiveTract
//! crop equivalentClass [ intersectionOf ( organ [ onProperty … ] ) ]          →  crop subClassOf organ, crop …
//! ```
//!
//! That is for ontologies, whose things are classes. Where more things have a class than classes have a wider one, people
//! ask for the things, and what a class has with `hasValue` is added to its instances instead: a Zinfandel is red.
//!
//! Read are `someValuesFrom`, `hasValue` and `allValuesFrom` with a named filler, of named classes (`subClassOf`,
//! `equivalentClass`) and individuals (`type`), alone or in an intersection. The shapes are those of the OWL 2
//! Mapping to RDF Graphs, tables 1 and 13. All terms of an added triple are terms of the graph, so a graph without
//! the term `subClassOf` gets no triple of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::error::FreezeError;
use super::rows::{Row, RowRun};
use crate::dictionary::{IRI, node_key};

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";

/// Intersections inside intersections that are followed.
const DEPTH: usize = 8;

/// Bytes that an entry of a map takes with its share of the nodes and of a list of its own.
const ENTRY: usize = 96;

/// How many entries of maps the memory of a load still allows.
struct Allowance {
    bytes: usize,
    left: usize,
    is_over: bool,
}

impl Allowance {
    fn new(bytes: usize) -> Self {
        Self {
            bytes,
            left: bytes / ENTRY,
            is_over: false,
        }
    }

    /// Whether one more entry may be kept. If not, [`Self::check`] fails from now on.
    fn takes(&mut self) -> bool {
        self.is_over |= self.left == 0;
        self.left = self.left.saturating_sub(1);
        !self.is_over
    }

    fn check(&self) -> Result<(), FreezeError> {
        match self.is_over {
            true => Err(FreezeError::Axioms { bytes: self.bytes }),
            false => Ok(()),
        }
    }
}

/// The terms that axioms are written with, and their ids in a graph; `None` where the graph lacks one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AxiomTerms {
    first: Option<u32>,
    rest: Option<u32>,
    type_of: Option<u32>,
    datatype: Option<u32>,
    subclass: Option<u32>,
    only: Option<u32>,
    equivalent: Option<u32>,
    value: Option<u32>,
    intersection: Option<u32>,
    property: Option<u32>,
    some: Option<u32>,
}

impl AxiomTerms {
    /// Every term with its place, ordered by IRI.
    fn all(&mut self) -> [(&'static str, &'static str, &mut Option<u32>); 11] {
        [
            (RDF, "first", &mut self.first),
            (RDF, "rest", &mut self.rest),
            (RDF, "type", &mut self.type_of),
            (RDFS, "Datatype", &mut self.datatype),
            (RDFS, "subClassOf", &mut self.subclass),
            (OWL, "allValuesFrom", &mut self.only),
            (OWL, "equivalentClass", &mut self.equivalent),
            (OWL, "hasValue", &mut self.value),
            (OWL, "intersectionOf", &mut self.intersection),
            (OWL, "onProperty", &mut self.property),
            (OWL, "someValuesFrom", &mut self.some),
        ]
    }

    /// Whether restrictions, intersections or lists are written with a relation.
    fn write_axioms(&self, relation: Option<u32>) -> bool {
        let with = [
            self.property,
            self.some,
            self.value,
            self.only,
            self.intersection,
            self.first,
            self.rest,
        ];
        with.contains(&relation)
    }

    /// Whether the graph may have an axiom to read.
    fn any(&self) -> bool {
        let filled = [self.some, self.value, self.only]
            .iter()
            .any(Option::is_some);
        self.intersection.is_some() || self.property.is_some() && filled
    }
}

/// Finds the terms of axioms while all keys of a graph pass in order.
#[derive(Debug)]
pub(super) struct WantedTerms {
    /// Their keys, the next one last.
    keys: Vec<String>,
    found: Vec<Option<u32>>,
    kinds: Kinds,
}

impl Default for WantedTerms {
    fn default() -> Self {
        let key = |(namespace, local, _): &(&str, &str, &mut Option<u32>)| {
            let mut key = String::new();
            node_key(&mut key, IRI, &format!("{namespace}{local}"));
            key
        };
        Self {
            keys: AxiomTerms::default().all().iter().rev().map(key).collect(),
            found: Vec::new(),
            kinds: Kinds::default(),
        }
    }
}

impl WantedTerms {
    /// Takes the next key.
    pub(super) fn pass(&mut self, key: &[u8], id: u32) {
        if let Some((_, iri)) = key.split_first().filter(|(tag, _)| **tag == IRI as u8) {
            self.kinds.iris = id + 1;
            for (meta, namespace) in self.kinds.meta.iter_mut().zip([RDF, RDFS, OWL]) {
                if iri.starts_with(namespace.as_bytes()) {
                    if meta.start == meta.end {
                        meta.start = id;
                    }
                    meta.end = id + 1;
                }
            }
        }
        while let Some(next) = self.keys.pop_if(|next| next.as_bytes() <= key) {
            self.found.push((next.as_bytes() == key).then_some(id));
        }
    }

    pub(super) fn kinds(&self, resources: u32) -> Kinds {
        Kinds {
            resources,
            ..self.kinds.clone()
        }
    }

    pub(super) fn terms(self) -> AxiomTerms {
        let mut terms = AxiomTerms::default();
        for ((.., place), found) in terms.all().into_iter().zip(self.found) {
            *place = found;
        }
        terms
    }
}

/// Ids below `iris` are IRIs, below `resources` blank nodes, above literals.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    iris: u32,
    resources: u32,
    /// The terms of RDF, RDFS and OWL, which are no classes of things.
    meta: [Range<u32>; 3],
}

impl Kinds {
    fn is_blank(&self, id: u32) -> bool {
        (self.iris..self.resources).contains(&id)
    }

    /// Whether a node is a named thing or class, not one of the modelling language.
    fn is_named(&self, id: u32) -> bool {
        id < self.iris && !self.meta.iter().any(|meta| meta.contains(&id))
    }

    /// Whether a node may be a class of things.
    fn is_class(&self, id: u32) -> bool {
        self.is_named(id) || self.is_blank(id)
    }
}

/// The axioms of a graph, still as the triples that write them.
#[derive(Debug, Default)]
struct Axioms {
    /// The properties of each restriction.
    properties: BTreeMap<u32, Vec<u32>>,
    /// The fillers of each restriction: of `someValuesFrom`, `hasValue` and `allValuesFrom`.
    some: BTreeMap<u32, Vec<u32>>,
    values: BTreeMap<u32, Vec<u32>>,
    only: BTreeMap<u32, Vec<u32>>,
    /// The list of each intersection.
    lists: BTreeMap<u32, Vec<u32>>,
    first: BTreeMap<u32, u32>,
    rest: BTreeMap<u32, u32>,
}

impl Axioms {
    fn read(
        runs: &mut [RowRun],
        terms: &AxiomTerms,
        allowance: &mut Allowance,
    ) -> Result<Self, FreezeError> {
        let mut axioms = Self::default();
        for run in runs {
            run.scan(|[s, p, o, _]| {
                let p = Some(p);
                if !terms.write_axioms(p) || !allowance.takes() {
                    return;
                }
                let lists = if p == terms.property {
                    &mut axioms.properties
                } else if p == terms.some {
                    &mut axioms.some
                } else if p == terms.value {
                    &mut axioms.values
                } else if p == terms.only {
                    &mut axioms.only
                } else if p == terms.intersection {
                    &mut axioms.lists
                } else {
                    if p == terms.first {
                        axioms.first.insert(s, o);
                    } else if p == terms.rest {
                        axioms.rest.insert(s, o);
                    }
                    return;
                };
                lists.entry(s).or_default().push(o);
            })?;
            allowance.check()?;
        }
        Ok(axioms)
    }

    fn has(&self, node: u32) -> bool {
        self.properties.contains_key(&node) || self.lists.contains_key(&node)
    }

    /// Relations and objects that an axiom's node gives to what it is about, and the classes that it names.
    fn gives(&self, node: u32, kinds: &Kinds, depth: usize, out: &mut Given) {
        let of = |map: &BTreeMap<u32, Vec<u32>>| map.get(&node).cloned().unwrap_or_default();
        let usable = |id: &u32| !kinds.is_blank(*id);
        for property in of(&self.properties).into_iter().filter(usable) {
            let each = |fillers: Vec<u32>| {
                fillers
                    .into_iter()
                    .filter(usable)
                    .map(move |o| [property, o])
            };
            out.some.extend(each(of(&self.some)));
            out.values.extend(each(of(&self.values)));
            out.only.extend(each(of(&self.only)));
        }
        for list in of(&self.lists) {
            let (mut at, mut seen) = (Some(list), BTreeSet::new());
            while let Some(place) = at.filter(|&place| seen.insert(place)) {
                match self.first.get(&place) {
                    Some(&member) if member < kinds.iris => out.classes.push(member),
                    Some(&member) if depth < DEPTH => self.gives(member, kinds, depth + 1, out),
                    _ => {}
                }
                at = self.rest.get(&place).copied();
            }
        }
    }
}

/// What a node of an axiom gives: relations with objects, by the kind of restriction, and classes.
#[derive(Debug, Default)]
struct Given {
    some: Vec<[u32; 2]>,
    values: Vec<[u32; 2]>,
    only: Vec<[u32; 2]>,
    classes: Vec<u32>,
}

/// What the graph says of its classes and things.
#[derive(Debug, Default)]
struct About {
    /// A class or thing, the node of an axiom about it, the number of the graph, and whether it is a thing.
    axioms: BTreeSet<(u32, u32, u32, bool)>,
    /// Of the fillers of `allValuesFrom`, those that are classes.
    fillers: BTreeSet<u32>,
    /// The named classes below each named class.
    narrower: BTreeMap<u32, Vec<u32>>,
    /// Whether more classes have a wider one than things have a class.
    is_ontology: bool,
}

impl About {
    fn read(
        runs: &mut [RowRun],
        terms: &AxiomTerms,
        kinds: &Kinds,
        axioms: &Axioms,
        allowance: &mut Allowance,
    ) -> Result<Self, FreezeError> {
        let only: BTreeSet<u32> = axioms.only.values().flatten().copied().collect();
        let mut about = Self::default();
        let mut classes = BTreeSet::new();
        for run in &mut *runs {
            run.scan(|[s, p, o, graph]| {
                let p = Some(p);
                let narrower = p == terms.subclass || p == terms.equivalent;
                if s >= kinds.iris {
                    return;
                }
                if narrower || p == terms.type_of {
                    if kinds.is_blank(o) && axioms.has(o) && allowance.takes() {
                        about.axioms.insert((s, o, graph, !narrower));
                    }
                    if only.contains(&s) && Some(o) != terms.datatype {
                        about.fillers.insert(s);
                    }
                }
                if narrower && kinds.is_named(s) && kinds.is_class(o) && allowance.takes() {
                    classes.insert(s);
                    about.narrower.entry(o).or_default().push(s);
                }
                if p == terms.intersection && allowance.takes() {
                    about.axioms.insert((s, s, graph, false));
                }
            })?;
            allowance.check()?;
        }
        let mut things = BTreeSet::new();
        for run in runs {
            run.scan(|[s, p, o, _]| {
                if Some(p) == terms.type_of
                    && things.len() < classes.len()
                    && kinds.is_named(s)
                    && kinds.is_class(o)
                    && allowance.takes()
                {
                    things.insert(s);
                }
            })?;
        }
        allowance.check()?;
        about.is_ontology = classes.len() > things.len();
        Ok(about)
    }

    /// The class and all named ones below it.
    fn below(&self, class: u32) -> BTreeSet<u32> {
        let (mut found, mut open) = (BTreeSet::from([class]), vec![class]);
        while let Some(at) = open.pop() {
            let below = self.narrower.get(&at).into_iter().flatten();
            open.extend(below.copied().filter(|&class| found.insert(class)));
        }
        found
    }
}

/// What the axioms of a graph give.
#[derive(Debug, Default)]
pub(super) struct Stated {
    /// The triples that they state and the graph does not, sorted, each with the number of the axiom's graph.
    pub rows: Vec<Row>,
    /// Whether the things of the graph are its classes; `None` if it has no axioms.
    pub is_ontology: Option<bool>,
}

/// Reads the axioms of a graph with `memory` bytes.
///
/// # Errors
/// When they take more, or the rows cannot be read.
pub(super) fn stated(
    runs: &mut [RowRun],
    terms: &AxiomTerms,
    kinds: &Kinds,
    memory: usize,
) -> Result<Stated, FreezeError> {
    if !terms.any() {
        return Ok(Stated::default());
    }
    let allowance = &mut Allowance::new(memory);
    let axioms = Axioms::read(runs, terms, allowance)?;
    let mut about = About::read(runs, terms, kinds, &axioms, allowance)?;
    let mut found: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    // What instances of a class have.
    let mut inherited: BTreeMap<u32, Vec<([u32; 2], u32)>> = BTreeMap::new();
    for (s, node, graph, is_thing) in std::mem::take(&mut about.axioms) {
        let mut given = Given::default();
        axioms.gives(node, kinds, 0, &mut given);
        let belongs = if is_thing {
            terms.type_of
        } else {
            terms.subclass
        };
        let classes = given
            .classes
            .into_iter()
            .filter_map(|class| Some([belongs?, class]));
        let mut facts: Vec<[u32; 2]> = classes.collect();
        if !is_thing {
            for [_, class] in &facts {
                about.narrower.entry(*class).or_default().push(s);
            }
        }
        if about.is_ontology {
            let only = given
                .only
                .into_iter()
                .filter(|[_, o]| about.fillers.contains(o));
            facts.extend(given.some.into_iter().chain(given.values).chain(only));
        } else if is_thing {
            facts.extend(given.values);
        } else {
            let of_class = inherited.entry(s).or_default();
            of_class.extend(given.values.into_iter().map(|fact| (fact, graph)));
        }
        for [p, o] in facts.into_iter().filter(|[_, o]| *o != s) {
            if allowance.takes() {
                found.entry([s, p, o]).or_insert(graph);
            }
        }
        allowance.check()?;
    }
    let mut of_classes: BTreeMap<u32, Vec<([u32; 2], u32)>> = BTreeMap::new();
    for (class, facts) in inherited {
        for below in about.below(class) {
            let of_class = of_classes.entry(below).or_default();
            of_class.extend(facts.iter().filter(|_| allowance.takes()));
            allowance.check()?;
        }
    }
    let with_instances = if of_classes.is_empty() {
        &mut []
    } else {
        &mut *runs
    };
    for run in with_instances {
        run.scan(|[s, p, o, _]| {
            if Some(p) == terms.type_of {
                for &([p, value], graph) in of_classes.get(&o).into_iter().flatten() {
                    if allowance.takes() {
                        found.entry([s, p, value]).or_insert(graph);
                    }
                }
            }
        })?;
        allowance.check()?;
    }
    for run in runs {
        run.scan(|[s, p, o, _]| {
            found.remove(&[s, p, o]);
        })?;
    }
    let rows = found.into_iter().map(|([s, p, o], graph)| [s, p, o, graph]);
    Ok(Stated {
        rows: rows.collect(),
        is_ontology: Some(about.is_ontology),
    })
}
