//! Options of `kg` and `tool`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum KgCommand {
    /// Load files into a graph folder.
    Load(KgLoadArgs),
    /// Counts, named graphs and the vocabulary of a graph.
    Stats(KgArg),
    /// Check every byte of a graph folder: the graph, the index of its names, and what of the manifest is not yours to edit.
    Check(KgCheckArgs),
    /// Run a SPARQL query.
    Query(KgQueryArgs),
    /// Write the neighbourhood of a question set's entities.
    Subgraph(KgSubgraphArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KgArg {
    /// Graph folder (made by `kg load`).
    #[arg(long, value_name = "DIR")]
    pub(crate) kg: PathBuf,
    /// Only the triples that came in this named graph; can be given again for more, `default` is the default graph.
    #[arg(long = "graph", value_name = "IRI")]
    pub(crate) graphs: Vec<String>,
}

impl KgArg {
    /// A folder with all its triples.
    pub(crate) fn whole(kg: &std::path::Path) -> Self {
        Self {
            kg: kg.to_path_buf(),
            graphs: Vec::new(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct KgLoadArgs {
    /// Graph folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) kg: PathBuf,
    /// Languages of labels, best first, such as `en,de`; then labels without a language, then any.
    #[arg(long, value_name = "TAGS", value_delimiter = ',', default_value = "en")]
    pub(crate) languages: Vec<String>,
    /// What NOW means in comparisons with this graph: the day it was made, as in `2015-08-10` (Freebase's, and the default).
    #[arg(long, value_name = "DATE")]
    pub(crate) now: Option<String>,
    /// Give classes the instances of their subclasses (rdfs:subClassOf, P279, KQA Pro's concepts). SPARQL does not see them.
    #[arg(long)]
    pub(crate) subclasses: bool,
    /// Leave an in-relation out of lists that have its declared reverse as an out-relation.
    #[arg(long)]
    pub(crate) unify_directions: bool,
    /// Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD, TSV (`head TAB relation TAB tail`) or MetaQA (`s|r|o`) files; `.gz` is read as
    /// it is.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of every file, where the extension does not say it: ttl, nt, nq, trig, rdf, jsonld, tsv, metaqa or kqapro.
    #[arg(long, value_name = "FORMAT", value_parser = graph_format)]
    pub(crate) format: Option<kg::GraphFormat>,
    /// Memory for triples and terms, such as 512MiB or 4GiB; what does not fit is sorted on disk, beside the folder.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) memory: usize,
    /// Threads that parse; all cores without it. The folder does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Take IRIs as they stand: dumps hold spaces and quotes in them.
    #[arg(long)]
    pub(crate) any_iri: bool,
    /// Faulty statements to pass over before loading fails.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_faults: usize,
}

impl KgLoadArgs {
    /// Files into a folder, all else as it is without options.
    pub(crate) fn plain(kg: PathBuf, files: Vec<PathBuf>) -> Self {
        let usual = kg::LoadOptions::default();
        Self {
            kg,
            languages: kg::Settings::default().languages,
            now: None,
            subclasses: false,
            unify_directions: false,
            files,
            format: None,
            memory: usual.memory,
            threads: None,
            any_iri: false,
            max_faults: 0,
        }
    }
}

fn graph_format(name: &str) -> Result<kg::GraphFormat, String> {
    let known = || {
        kg::GraphFormat::NAMES
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    kg::GraphFormat::named(name).ok_or_else(|| format!("it is none of {}", known()))
}

/// Bytes as people write them: a number, or one with KiB, MiB or GiB behind it.
fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((text, 0));
    let bytes = number
        .trim()
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| {
        "a size is a whole number of bytes, KiB, MiB or GiB, such as 512MiB".to_owned()
    })
}

#[derive(Debug, Args)]
pub(crate) struct KgCheckArgs {
    /// Graph folder (made by `kg load`).
    #[arg(long, value_name = "DIR")]
    pub(crate) kg: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KgQueryArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// A SELECT or ASK query.
    #[arg(value_name = "SPARQL")]
    pub(crate) sparql: String,
}

/// Which triples of a node are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionName {
    /// Those it is the head of.
    Out,
    /// Those it is the tail of.
    In,
    /// Both.
    Both,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("start").required(true).multiple(true))]
pub(crate) struct KgSubgraphArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Question sets whose topic entities are walked from; as for `datagen gold`.
    #[arg(long = "source", group = "start", value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// An entity to walk from, by name or id.
    #[arg(long = "entity", group = "start", value_name = "ID")]
    pub(crate) entities: Vec<String>,
    /// Steps from an entity.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) hops: u32,
    /// At most this many triples of a node in each direction, dealt round over its relations; all without it.
    #[arg(long, value_name = "K")]
    pub(crate) fan_out: Option<usize>,
    /// Which triples of a node are walked.
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) direction: DirectionName,
    /// Where to write: FILE.nt as N-Triples with names and classes, FILE.json in ODA's layout with FILE.labels.json, anything else as a folder
    /// of ODA's files. A run that was interrupted goes on from OUT.partial.
    #[arg(long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Worker threads; all cores without it. The output does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Calls separated by `;`, such as `v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)`.
    #[arg(value_name = "CALLS")]
    pub(crate) calls: String,
    /// The question the calls belong to: it ranks relations and gives candidates their context.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub(crate) question: String,
}
