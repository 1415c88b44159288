//! Renders subgraphs as N-Triples or in ODA's JSON layouts.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::to_writer;

use super::neighbourhood::{Neighbourhood, SubgraphOptions, Triple, triples_of};
use super::oda::write_name;
use crate::graph::Kg;
use crate::term::{NodeId, RelId};

/// Lines per task.
const LINES: usize = 1 << 12;

/// Tasks per thread between two writes: enough to keep all threads busy, and few enough to hold
/// their output in memory.
const PIECES: usize = 4;

/// The neighbourhoods of a list of entities. Rendering uses all threads of the current pool.
pub struct Subgraph<'a> {
    kg: &'a dyn Kg,
    pub(super) options: SubgraphOptions,
    around: Vec<Neighbourhood>,
    triples: OnceLock<Vec<Triple>>,
    /// The JSON name of every node.
    names: OnceLock<FxHashMap<NodeId, Box<[u8]>>>,
}

impl<'a> Subgraph<'a> {
    /// The neighbourhoods explored with these options.
    #[must_use]
    pub fn new(kg: &'a dyn Kg, options: SubgraphOptions, around: Vec<Neighbourhood>) -> Self {
        Self {
            kg,
            options,
            around,
            triples: OnceLock::new(),
            names: OnceLock::new(),
        }
    }

    /// All triples, sorted, without duplicates.
    pub fn triples(&self) -> &[Triple] {
        self.triples.get_or_init(|| {
            let nodes = self.walked(1..=self.options.hops);
            let of =
                |&node: &NodeId| triples_of(self.kg, node, &self.options).map(|(triple, _)| triple);
            each_once(nodes.par_iter().flat_map_iter(of).collect())
        })
    }

    /// The nodes from which these hops start, sorted.
    fn walked(&self, hops: std::ops::RangeInclusive<u32>) -> Vec<NodeId> {
        each_once(
            self.around
                .iter()
                .flat_map(|around| hops.clone().flat_map(|hop| around.at(hop)))
                .copied()
                .collect(),
        )
    }

    /// Entities, relations, heads and tails; sorted.
    fn terms(&self) -> Vec<NodeId> {
        let entities = self.around.iter().map(Neighbourhood::entity);
        let ends = self.triples().iter();
        let ends = ends.flat_map(|&(s, r, o)| [s, r.node(), o]);
        each_once(ends.chain(entities).collect())
    }

    /// [`Self::terms`] without literals.
    fn nodes(&self) -> Vec<NodeId> {
        let mut nodes = self.terms();
        nodes.retain(|node| self.kg.resources().contains(&node.0));
        nodes
    }

    /// Labels and classes of the nodes; neighbourhoods do not follow these relations.
    fn about(&self) -> Vec<Triple> {
        let schema = self.kg.schema();
        let relations: Vec<RelId> = each_once(
            schema
                .label_relations
                .iter()
                .chain(&schema.type_relations)
                .copied()
                .collect(),
        );
        let of = |&node: &NodeId| {
            let tails = |&r: &RelId| {
                self.kg
                    .tails(node, r)
                    .into_owned()
                    .into_iter()
                    .map(move |o| (node, r, o))
            };
            relations.iter().flat_map(tails).collect::<Vec<_>>()
        };
        let nodes = self.nodes();
        let mut found: Vec<Triple> = nodes.par_iter().flat_map_iter(of).collect();
        // Classes have labels too.
        let classes = each_once(
            found
                .iter()
                .map(|triple| triple.2)
                .filter(|node| nodes.binary_search(node).is_err())
                .collect(),
        );
        found.extend(classes.iter().flat_map(of));
        found
    }

    /// Writes N-Triples: the triples, and the labels and classes of their nodes, sorted.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_ntriples(&self, out: &mut (impl Write + Send)) -> io::Result<usize> {
        let all = each_once([self.triples(), &self.about()].concat());
        let line = |&(s, r, o): &Triple, text: &mut Vec<u8>| {
            writeln!(
                text,
                "{} {} {} .",
                self.kg.term(s),
                self.kg.term(r.node()),
                self.kg.term(o)
            )
        };
        in_order(&all, LINES, "", out, line)?;
        Ok(all.len())
    }

    /// Writes `{entity: [[head, relation, tail], …]}` with the hops up to `last`.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_oda(&self, last: u32, out: &mut (impl Write + Send)) -> io::Result<usize> {
        let within = |around: &Neighbourhood| {
            let triples = around
                .triples(self.kg, &self.options, last)
                .into_iter()
                .map(|reached| reached.triple)
                .collect();
            (around.entity(), triples)
        };
        self.write_map(&self.around, 1, out, within)
    }

    /// Writes `{node: [[head, relation, tail], …]}` with one hop: all followed triples of each node
    /// from which the hop starts, once for all entities.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_oda_hop(&self, hop: u32, out: &mut (impl Write + Send)) -> io::Result<usize> {
        self.write_map(&self.walked(hop..=hop), LINES >> 6, out, |&node| {
            let mut triples: Vec<Triple> = triples_of(self.kg, node, &self.options)
                .map(|(triple, _)| triple)
                .collect();
            triples.sort_unstable();
            triples.dedup();
            (node, triples)
        })
    }

    /// Writes `{id: label}` for every node and relation; without a label, the id is its label.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_labels(&self, out: &mut (impl Write + Send)) -> io::Result<()> {
        let entry = |node: &NodeId, text: &mut Vec<u8>| {
            let name = write_name(&self.kg.term(*node));
            let label = self.kg.label(*node).unwrap_or_else(|| name.clone());
            text.push(b'\n');
            to_writer(&mut *text, &name)?;
            text.extend_from_slice(b": ");
            Ok(to_writer(text, &label)?)
        };
        object(&self.nodes(), LINES, out, entry)
    }

    fn write_map<T: Sync>(
        &self,
        items: &[T],
        together: usize,
        out: &mut (impl Write + Send),
        triples: impl Fn(&T) -> (NodeId, Vec<Triple>) + Sync,
    ) -> io::Result<usize> {
        let names = self.names();
        let name = |node: NodeId| names.get(&node).map_or(&b"null"[..], |name| name);
        let written = AtomicUsize::new(0);
        let entry = |item: &T, text: &mut Vec<u8>| {
            let (key, triples) = triples(item);
            text.push(b'\n');
            text.extend_from_slice(name(key));
            text.extend_from_slice(b": [");
            for (i, &(s, r, o)) in triples.iter().enumerate() {
                for (before, node) in [
                    (if i == 0 { "[" } else { ",[" }, s),
                    (",", r.node()),
                    (",", o),
                ] {
                    text.extend_from_slice(before.as_bytes());
                    text.extend_from_slice(name(node));
                }
                text.push(b']');
            }
            text.push(b']');
            written.fetch_add(triples.len(), Ordering::Relaxed);
            Ok(())
        };
        object(items, together, out, entry)?;
        Ok(written.into_inner())
    }

    fn names(&self) -> &FxHashMap<NodeId, Box<[u8]>> {
        self.names.get_or_init(|| {
            let name = |&node: &NodeId| {
                let name = serde_json::Value::String(write_name(&self.kg.term(node)));
                (node, name.to_string().into_bytes().into())
            };
            let named: Vec<_> = self.terms().par_iter().map(name).collect();
            named.into_iter().collect()
        })
    }
}

/// Sorted, without duplicates.
fn each_once<T: Ord + Send>(mut items: Vec<T>) -> Vec<T> {
    items.par_sort_unstable();
    items.dedup();
    items
}

/// Writes a JSON object of the entries that `render` produces, one per line.
fn object<T: Sync>(
    items: &[T],
    together: usize,
    out: &mut (impl Write + Send),
    render: impl Fn(&T, &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    out.write_all(b"{")?;
    in_order(items, together, ",", out, render)?;
    out.write_all(b"\n}\n")
}

/// Writes the output of `render` for all items, in order. A task renders `together` items, and
/// tasks are rendered while the output of earlier ones is written.
fn in_order<T: Sync>(
    items: &[T],
    together: usize,
    separator: &str,
    out: &mut (impl Write + Send),
    render: impl Fn(&T, &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let piece = |items: &[T]| {
        let mut text = Vec::new();
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                text.extend_from_slice(separator.as_bytes());
            }
            render(item, &mut text)?;
        }
        io::Result::Ok(text)
    };
    let mut separated = "";
    let mut write = |pieces: Vec<Vec<u8>>| {
        pieces.iter().try_for_each(|text| {
            out.write_all(separated.as_bytes())?;
            separated = separator;
            out.write_all(text)
        })
    };
    let mut ready = Vec::new();
    for items in items.chunks(together * rayon::current_num_threads() * PIECES) {
        let make = || {
            items
                .par_chunks(together)
                .map(piece)
                .collect::<io::Result<Vec<_>>>()
        };
        let (written, made) = rayon::join(|| write(ready), make);
        written?;
        ready = made?;
    }
    write(ready)
}
