//! Subgraphs as files: N-Triples, or ODA's JSON layouts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::to_writer;

use super::oda::write_name;
use super::{Kg, Reached};
use crate::term::{NodeId, RelId, Term};

type Triple = (NodeId, RelId, NodeId);

/// The neighbourhoods of a list of entities.
pub struct Subgraph<'a> {
    /// The graph they are of.
    pub kg: &'a dyn Kg,
    /// Each entity with its triples.
    pub around: Vec<(NodeId, Vec<Reached>)>,
}

impl Subgraph<'_> {
    /// All triples, sorted, each once.
    #[must_use]
    pub fn triples(&self) -> Vec<Triple> {
        let mut all: Vec<Triple> = self.around.iter().flat_map(|(_, reached)| reached.iter().map(|one| one.triple)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Entities, heads and tails that are no literals, and relations.
    fn nodes(&self) -> BTreeSet<NodeId> {
        let mut nodes: BTreeSet<NodeId> = self.around.iter().map(|(entity, _)| *entity).collect();
        nodes.extend(self.triples().into_iter().flat_map(|(s, r, o)| [s, r.node(), o]));
        nodes.retain(|&node| !matches!(self.kg.term(node), Term::Literal(_)));
        nodes
    }

    /// Names and classes of the nodes, which neighbourhoods do not walk.
    fn about(&self) -> Vec<Triple> {
        let schema = self.kg.schema();
        let relations: BTreeSet<RelId> = schema.label_relations.iter().chain(&schema.type_relations).copied().collect();
        let mut nodes = self.nodes();
        let of =
            |node: NodeId| relations.iter().flat_map(move |&r| self.kg.tails(node, r).into_owned().into_iter().map(move |o| (node, r, o)));
        let mut found: Vec<Triple> = nodes.iter().flat_map(|&node| of(node)).collect();
        // Classes have names too.
        let classes: BTreeSet<NodeId> = found.iter().map(|triple| triple.2).filter(|node| !nodes.contains(node)).collect();
        nodes = classes;
        found.extend(nodes.into_iter().flat_map(of));
        found
    }

    /// As N-Triples: the triples with the names and classes of their nodes, sorted.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_ntriples(&self, out: &mut impl Write) -> std::io::Result<usize> {
        let mut all = self.triples();
        all.extend(self.about());
        all.sort_unstable();
        all.dedup();
        for &(s, r, o) in &all {
            writeln!(out, "{} {} {} .", self.kg.term(s), self.kg.term(r.node()), self.kg.term(o))?;
        }
        Ok(all.len())
    }

    /// As `{entity: [[head, relation, tail], …]}` with the hops up to `last`.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_oda(&self, last: u32, out: &mut impl Write) -> std::io::Result<usize> {
        let within = |reached: &Vec<Reached>| reached.iter().filter(|one| one.hop <= last).map(|one| one.triple).collect();
        self.write_map(self.around.iter().map(|(entity, reached)| (*entity, within(reached))), out)
    }

    /// As `{entity: [[head, relation, tail], …]}` with one hop only, by the node whose triples they are: nothing is written twice.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_oda_hop(&self, hop: u32, out: &mut impl Write) -> std::io::Result<usize> {
        let mut by_node: BTreeMap<NodeId, Vec<Triple>> = BTreeMap::new();
        for one in self.around.iter().flat_map(|(_, reached)| reached).filter(|one| one.hop == hop) {
            by_node.entry(one.from).or_default().push(one.triple);
        }
        for triples in by_node.values_mut() {
            triples.sort_unstable();
            triples.dedup();
        }
        self.write_map(by_node.into_iter(), out)
    }

    /// As `{id: label}` for every node and relation; those without a label have themselves.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_labels(&self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(b"{")?;
        for (i, node) in self.nodes().into_iter().enumerate() {
            let name = self.name(node);
            let label = self.kg.label(node).unwrap_or_else(|| name.clone());
            out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
            to_writer(&mut *out, &name)?;
            out.write_all(b": ")?;
            to_writer(&mut *out, &label)?;
        }
        out.write_all(b"\n}\n")
    }

    fn name(&self, node: NodeId) -> String {
        write_name(&self.kg.term(node))
    }

    fn write_map(&self, entries: impl Iterator<Item = (NodeId, Vec<Triple>)>, out: &mut impl Write) -> std::io::Result<usize> {
        let mut written = 0;
        out.write_all(b"{")?;
        for (i, (key, triples)) in entries.enumerate() {
            out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
            to_writer(&mut *out, &self.name(key))?;
            out.write_all(b": ")?;
            let named: Vec<[String; 3]> = triples.iter().map(|&(s, r, o)| [s, r.node(), o].map(|node| self.name(node))).collect();
            written += named.len();
            to_writer(&mut *out, &named)?;
        }
        out.write_all(b"\n}\n")?;
        Ok(written)
    }
}

/// The last hop that ODA's folder layout keeps under the entity; later ones go by node.
const TOGETHER: u32 = 2;

/// Writes a subgraph: `FILE.nt` as N-Triples; `FILE.json` in ODA's layout with `FILE.labels.json` beside it; anything else is a folder with
/// ODA's `2-hop.json` (by entity), a `3-hop-only.json` and so on (by the node whose triples they are) and `labels.json`. Each appears whole or
/// not at all. Gives the files with the number of triples in each.
///
/// # Errors
/// Those of the disk, with the path in the message.
pub fn write_files(subgraph: &Subgraph<'_>, hops: u32, out: &Path) -> std::io::Result<Vec<(PathBuf, usize)>> {
    let labels = |out: &mut BufWriter<File>| subgraph.write_labels(out).map(|()| 0);
    match out.extension().and_then(|extension| extension.to_str()) {
        Some("nt") => Ok(vec![whole(out, |out| subgraph.write_ntriples(out))?]),
        Some("json") => Ok(vec![whole(out, |out| subgraph.write_oda(hops, out))?, whole(&out.with_extension("labels.json"), labels)?]),
        _ => {
            if fs::read_dir(out).map_or_else(|_| out.exists(), |mut entries| entries.next().is_some() && !out.join("labels.json").is_file())
            {
                let message = format!("{}: this exists and is no folder that this command wrote; name a new one", out.display());
                return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, message));
            }
            let temp = tempfile::Builder::new().prefix(".partial-").tempdir_in(parent(out)?)?;
            let together = hops.min(TOGETHER);
            let mut written = vec![whole(&temp.path().join(format!("{together}-hop.json")), |out| subgraph.write_oda(together, out))?];
            for hop in together + 1..=hops {
                written.push(whole(&temp.path().join(format!("{hop}-hop-only.json")), |out| subgraph.write_oda_hop(hop, out))?);
            }
            written.push(whole(&temp.path().join("labels.json"), labels)?);
            if out.exists() {
                fs::remove_dir_all(out)?;
            }
            fs::rename(temp.keep(), out)?;
            let name = |path: PathBuf| path.file_name().map_or(path.clone(), |name| out.join(name));
            Ok(written.into_iter().map(|(path, count)| (name(path), count)).collect())
        }
    }
}

fn parent(path: &Path) -> std::io::Result<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    Ok(parent.to_owned())
}

/// Writes a file beside its place and moves it there.
fn whole(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<usize>) -> std::io::Result<(PathBuf, usize)> {
    let named = |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let temp = tempfile::NamedTempFile::new_in(parent(path)?).map_err(named)?;
    let mut out = BufWriter::with_capacity(1 << 20, temp.reopen().map_err(named)?);
    let count = write(&mut out).map_err(named)?;
    out.flush().map_err(named)?;
    out.get_ref().sync_all().map_err(named)?;
    temp.persist(path).map_err(|error| named(error.error))?;
    Ok((path.to_owned(), count))
}
