//! The triples of a query's dataset (SPARQL 1.1, section 13): its default graph and its named
//! graphs, each a set of rows in SPO order.
//!
//! Without FROM, the default graph has all triples, also those of named graphs. A named graph
//! without triples does not exist.

use oxigraph::model::{BlankNode, NamedNode, Term as OxTerm};
use spargebra::algebra::QueryDataset;

use super::eval_term::EvalTerm;
use super::image::Image;
use super::kg::FrozenKg;
use super::members::{Origins, RowsOf};
use super::pattern::PatternRows;
use crate::sparql::{UNNAMED, UNNAMED_GRAPH, budget};

/// Up to this number of named graphs, each is searched for a pattern; with more, the graphs of each
/// matching row are looked up.
const FEW: usize = 16;

impl FrozenKg {
    /// The place of a graph that has triples.
    fn graph_at(&self, name: &str) -> Option<usize> {
        let name = if name == UNNAMED_GRAPH { "" } else { name };
        let graphs = &self.meta.graphs;
        let at = graphs.binary_search_by(|graph| graph.name.as_str().cmp(name));
        at.ok().filter(|&at| graphs[at].triples > 0)
    }

    /// The default graph of a dataset.
    fn default_graph(&self, dataset: &QueryDataset) -> DefaultGraph<'_> {
        if self.meta.graphs.is_empty() {
            return DefaultGraph::Union;
        }
        let names = dataset.default.iter();
        let mut places: Vec<usize> = names
            .filter_map(|name| self.graph_at(name.as_str()))
            .collect();
        places.sort_unstable();
        places.dedup();
        match places.as_slice() {
            [] => DefaultGraph::One(&[]),
            &[only] => DefaultGraph::One(self.image.rows_of_graph(only)),
            several => {
                let parts = several.iter().map(|&at| self.image.rows_of_graph(at));
                let mut rows: Vec<u32> = parts.flatten().copied().collect();
                rows.sort_unstable();
                rows.dedup();
                DefaultGraph::Several(rows)
            }
        }
    }

    /// The number of triples of a dataset's default graph; `None` if it is the whole graph.
    pub(super) fn default_size(&self, dataset: &QueryDataset) -> Option<usize> {
        match self.default_graph(dataset) {
            DefaultGraph::Union => None,
            DefaultGraph::One(rows) => Some(rows.len()),
            DefaultGraph::Several(rows) => Some(rows.len()),
        }
    }

    /// The names of the named graphs that a query can see, sorted; `None` if the graph has no named
    /// graphs at all.
    pub(super) fn visible_graphs(&self, dataset: Option<&QueryDataset>) -> Option<Vec<&str>> {
        if self.meta.graphs.is_empty() {
            return None;
        }
        let all = || (0..self.meta.graphs.len()).collect();
        let places: Vec<usize> = match dataset.map(|dataset| dataset.named.as_deref()) {
            None => all(),
            Some(listed) => {
                let listed = listed.unwrap_or_default().iter();
                let mut found: Vec<usize> = listed
                    .filter_map(|name| self.graph_at(name.as_str()))
                    .collect();
                found.sort_unstable();
                found.dedup();
                found
            }
        };
        let graphs = places.into_iter().filter_map(|at| self.meta.graphs.get(at));
        let named = graphs.filter(|graph| graph.triples > 0 && !graph.name.is_empty());
        Some(named.map(|graph| graph.name.as_str()).collect())
    }
}

/// The default graph.
enum DefaultGraph<'a> {
    /// All triples.
    Union,
    /// The rows of one graph.
    One(&'a [u32]),
    /// The rows of several graphs, each once.
    Several(Vec<u32>),
}

/// A named graph of the dataset.
pub(super) struct NamedRows<'a> {
    /// Its place in the list of the file.
    at: usize,
    term: EvalTerm,
    rows: &'a [u32],
}

/// The dataset of a query.
pub(super) struct Dataset<'a> {
    kg: &'a FrozenKg,
    default: DefaultGraph<'a>,
    /// Sorted by place.
    named: Vec<NamedRows<'a>>,
    /// The triples that are in no named graph. Only GRAPH with [`UNNAMED`] reads them.
    unnamed: Option<NamedRows<'a>>,
}

impl<'a> Dataset<'a> {
    /// The dataset that a query names with FROM and FROM NAMED. `named` are the names of the visible
    /// named graphs; it may be empty for a query that has no GRAPH.
    pub(super) fn new(kg: &'a FrozenKg, dataset: Option<&QueryDataset>, named: &[String]) -> Self {
        let default = dataset.map_or(DefaultGraph::Union, |dataset| kg.default_graph(dataset));
        if let DefaultGraph::Several(rows) = &default {
            budget::hold(size_of_val(&rows[..]));
        }
        let rows_of = |name: &str| {
            let at = kg.graph_at(name)?;
            Some(NamedRows {
                at,
                term: EvalTerm::of(kg.dictionary(), graph_term(name)),
                rows: kg.image.rows_of_graph(at),
            })
        };
        Self {
            kg,
            default,
            named: named.iter().filter_map(|name| rows_of(name)).collect(),
            unnamed: rows_of(UNNAMED),
        }
    }

    pub(super) fn kg(&self) -> &'a FrozenKg {
        self.kg
    }

    fn image(&self) -> &'a Image {
        &self.kg.image
    }

    /// The terms of the named graphs.
    pub(super) fn names(&self) -> impl Iterator<Item = EvalTerm> + use<'_, 'a> {
        self.named.iter().map(|graph| graph.term.clone())
    }

    /// The named graph of this name.
    fn graph(&self, name: &EvalTerm) -> Option<&NamedRows<'a>> {
        let text = graph_text(&name.to_ox(self.kg.dictionary()))?;
        if text == UNNAMED {
            return self.unnamed.as_ref();
        }
        let at = self.kg.graph_at(&text)?;
        let place = self.named.binary_search_by_key(&at, |graph| graph.at);
        place.ok().and_then(|place| self.named.get(place))
    }

    pub(super) fn has(&self, name: &EvalTerm) -> bool {
        self.graph(name).is_some()
    }

    /// The triples of the default graph that match a pattern.
    pub(super) fn in_default(&'a self, pattern: [Option<u32>; 3]) -> QuadRows<'a> {
        match &self.default {
            DefaultGraph::Union => {
                let [s, p, o] = pattern;
                QuadRows::Union(PatternRows::matching(self.image(), s, p, o))
            }
            DefaultGraph::One(rows) => QuadRows::Default(RowsOf::new(self.image(), rows, pattern)),
            DefaultGraph::Several(rows) => {
                QuadRows::Default(RowsOf::new(self.image(), rows, pattern))
            }
        }
    }

    /// The triples of a named graph that match a pattern.
    pub(super) fn in_graph(&'a self, name: &EvalTerm, pattern: [Option<u32>; 3]) -> QuadRows<'a> {
        match self.graph(name) {
            Some(graph) => {
                let rows = RowsOf::new(self.image(), graph.rows, pattern);
                QuadRows::Named(graph, rows)
            }
            None => QuadRows::none(),
        }
    }

    /// The triples of all named graphs that match a pattern, each once for every graph.
    pub(super) fn in_any_graph(&'a self, pattern: [Option<u32>; 3]) -> QuadRows<'a> {
        let [s, p, o] = pattern;
        let rows = PatternRows::matching(self.image(), s, p, o);
        if self.named.len() > FEW && rows.len() < self.named.len() {
            let origins = self
                .kg
                .origins
                .get_or_init(|| Origins::of(&self.kg.image, &self.kg.meta.graphs));
            QuadRows::ByRow(ByRow {
                dataset: self,
                origins,
                rows,
                row: [0; 3],
                graphs: &[],
            })
        } else {
            QuadRows::ByGraph(ByGraph {
                dataset: self,
                pattern,
                next: 0,
                rows: None,
            })
        }
    }
}

/// The name of a graph as a term.
pub(super) fn graph_term(name: &str) -> OxTerm {
    match name.strip_prefix("_:") {
        Some(label) => BlankNode::new_unchecked(label).into(),
        None => NamedNode::new_unchecked(name).into(),
    }
}

/// The name of the graph that a term stands for; `None` for a literal.
fn graph_text(term: &OxTerm) -> Option<String> {
    match term {
        OxTerm::NamedNode(node) => Some(node.as_str().to_owned()),
        OxTerm::BlankNode(node) => Some(format!("_:{}", node.as_str())),
        OxTerm::Literal(_) => None,
    }
}

/// A triple and its named graph; no graph is the default graph.
pub(super) type QuadRow<'a> = ([u32; 3], Option<&'a EvalTerm>);

/// Matching triples of the dataset.
pub(super) enum QuadRows<'a> {
    /// Triples of the whole graph.
    Union(PatternRows<'a>),
    /// Triples of the default graph.
    Default(RowsOf<'a>),
    /// Triples of a named graph.
    Named(&'a NamedRows<'a>, RowsOf<'a>),
    /// Triples of all named graphs, by graph.
    ByGraph(ByGraph<'a>),
    /// Triples of all named graphs, by triple.
    ByRow(ByRow<'a>),
}

impl QuadRows<'_> {
    /// No rows.
    pub(super) fn none() -> Self {
        Self::Union(PatternRows::none())
    }
}

impl<'a> Iterator for QuadRows<'a> {
    type Item = QuadRow<'a>;

    fn next(&mut self) -> Option<QuadRow<'a>> {
        match self {
            Self::Union(rows) => Some((rows.next()?, None)),
            Self::Default(rows) => Some((rows.next()?, None)),
            Self::Named(graph, rows) => Some((rows.next()?, Some(&graph.term))),
            Self::ByGraph(rows) => rows.next(),
            Self::ByRow(rows) => rows.next(),
        }
    }
}

/// One named graph after the other.
pub(super) struct ByGraph<'a> {
    dataset: &'a Dataset<'a>,
    pattern: [Option<u32>; 3],
    next: usize,
    rows: Option<(&'a EvalTerm, RowsOf<'a>)>,
}

impl<'a> Iterator for ByGraph<'a> {
    type Item = QuadRow<'a>;

    fn next(&mut self) -> Option<QuadRow<'a>> {
        loop {
            if let Some((term, rows)) = &mut self.rows
                && let Some(row) = rows.next()
            {
                return Some((row, Some(term)));
            }
            budget::tick();
            let graph = self.dataset.named.get(self.next)?;
            self.next += 1;
            let rows = RowsOf::new(self.dataset.image(), graph.rows, self.pattern);
            self.rows = Some((&graph.term, rows));
        }
    }
}

/// Each row with the named graphs that it is in.
pub(super) struct ByRow<'a> {
    dataset: &'a Dataset<'a>,
    origins: &'a Origins,
    rows: PatternRows<'a>,
    row: [u32; 3],
    graphs: &'a [u32],
}

impl<'a> Iterator for ByRow<'a> {
    type Item = QuadRow<'a>;

    fn next(&mut self) -> Option<QuadRow<'a>> {
        loop {
            while let Some((&at, rest)) = self.graphs.split_first() {
                self.graphs = rest;
                let named = &self.dataset.named;
                // A graph that FROM NAMED leaves out is not in the list.
                if let Ok(place) = named.binary_search_by_key(&(at as usize), |graph| graph.at) {
                    return Some((self.row, Some(&named[place].term)));
                }
            }
            budget::tick();
            self.row = self.rows.next()?;
            let [s, p, o] = self.row;
            let row = self.dataset.image().row_of(s, p, o);
            self.graphs = row.map_or(&[], |row| self.origins.of_row(row));
        }
    }
}
