//! Options of `kg` and `tool`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kg::subgraph::Direction;
use toolbox::call::ToolTable;

use super::values::{Names, TOOLS, graph_format, names, number, one_of, size};

#[derive(Debug, Subcommand)]
pub(crate) enum KgCommand {
    /// Load files into a graph folder.
    Load(KgLoadArgs),
    /// Show the counts, named graphs and vocabulary of a graph.
    Stats(KgArg),
    /// Check every byte of a graph folder against its checksums.
    ///
    /// This covers the graph, the index of its names and all of the manifest except the settings
    /// that you may edit.
    Check(KgCheckArgs),
    /// Run a SPARQL query.
    ///
    /// FROM and GRAPH choose named graphs, as in SPARQL 1.1. Without FROM, the default graph is the union of
    /// all graphs; the triples that are in no named graph are `FROM <urn:x-arq:DefaultGraph>`.
    Query(KgQueryArgs),
    /// Extract the neighbourhood of entities.
    Subgraph(KgSubgraphArgs),
    /// Propose words by which people may ask for the relations and classes of a graph.
    ///
    /// The file is Turtle with `skos:altLabel`. Edit it, and give it to `kg load` with the files of the
    /// graph.
    Lexicon(KgLexiconArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KgArg {
    /// Graph folder (made by `kg load`).
    #[arg(long, value_name = "DIR")]
    pub(crate) kg: PathBuf,
    /// Use only the triples of this named graph; repeat for more, `default` is the default graph.
    #[arg(long = "graph", value_name = "IRI")]
    pub(crate) graphs: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KgLoadArgs {
    /// Graph folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) kg: PathBuf,
    /// Languages of labels, best first, such as `en,de`.
    ///
    /// If there is no label in one of them, a label without a language is used, then any.
    #[arg(long, value_name = "TAGS", value_delimiter = ',', default_value = "en")]
    pub(crate) languages: Vec<String>,
    /// Relation whose texts are the labels, such as http://schema.org/name; may be repeated, best first.
    ///
    /// Known ones (`rdfs:label`, `skos:prefLabel`, `foaf:name`, `schema:name` and others) are found without this.
    #[arg(long = "label", value_name = "IRI")]
    pub(crate) label: Vec<String>,
    /// Date that NOW means [default: today; 2015-08-10, the day of its last dump, in graphs of Freebase].
    #[arg(long, value_name = "DATE")]
    pub(crate) now: Option<String>,
    /// Count instances of subclasses as instances of the class; SPARQL queries ignore this.
    ///
    /// Subclasses are read from rdfs:subClassOf, P279 and KQA Pro's concepts. This is always on where an
    /// instance of a subclass (rdfs:subClassOf) is not stated to be an instance of the class above.
    #[arg(long)]
    pub(crate) subclasses: bool,
    /// Hide an incoming relation if its declared inverse is listed as an outgoing one.
    #[arg(long)]
    pub(crate) unify_directions: bool,
    /// Files or folders to load, compressed (`.gz`, `.bz2`, `.xz`, `.zst`) or not.
    ///
    /// The formats are Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD, OBO, TSV (`head TAB relation
    /// TAB tail`) and MetaQA (`s|r|o`). Of a folder, all files are loaded whose names end as such files do.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of all files, if the file names do not show it: ttl, nt, nq, trig, rdf, jsonld, obo, tsv,
    /// metaqa, kqapro or oda.
    #[arg(long, value_name = "FORMAT", value_parser = graph_format)]
    pub(crate) format: Option<kg::GraphFormat>,
    /// Memory for triples and terms, such as 512MiB or 4GiB; the rest is sorted on disk.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) memory: usize,
    /// Number of parser threads [default: all cores]; it does not affect the result.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Accept malformed IRIs: dumps contain some with spaces and quotes.
    #[arg(long)]
    pub(crate) any_iri: bool,
    /// Number of malformed statements to skip before loading fails.
    ///
    /// A skipped statement is a line of N-Triples, N-Quads or a table, or everything up to the dot in Turtle and
    /// TriG. Nothing of it is stored. RDF/XML and JSON cannot be read after an error.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_faults: usize,
    /// Replace a graph that was made from other files.
    ///
    /// Without this, a folder with such a graph stays as it is: a graph is made by one command from all its files.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Add nothing that only axioms state.
    ///
    /// Without this, OWL restrictions (`someValuesFrom`, `hasValue`, `allValuesFrom`) and intersections of classes
    /// and individuals become triples that questions can follow: `crop subClassOf [onProperty partOf;
    /// someValuesFrom stomach]` adds `crop partOf stomach`. The evidence of an answer marks them.
    #[arg(long)]
    pub(crate) no_reasoning: bool,
    /// Base of relative IRIs in files that name none [default: one for each file, made from its name].
    #[arg(long, value_name = "IRI")]
    pub(crate) base: Option<String>,
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
    /// Format of the result; `--json` of all commands is another one.
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = one_of(RESULTS))]
    pub(crate) format: ResultTable,
    /// Print the label of each node after its name in the table.
    #[arg(long)]
    pub(crate) labels: bool,
    /// A SELECT, ASK, CONSTRUCT or DESCRIBE query.
    #[arg(value_name = "SPARQL")]
    pub(crate) sparql: String,
}

/// How `kg query` prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultTable {
    Table,
    Standard(kg::ResultsFormat),
    Triples(kg::TriplesFormat),
}

const RESULTS: Names<ResultTable> = names! {
    "table": "A table for people: short names, and texts without their types" => ResultTable::Table;
    "csv": "CSV of the SPARQL 1.1 Protocol" => ResultTable::Standard(kg::ResultsFormat::Csv);
    "tsv": "TSV, terms as in Turtle" => ResultTable::Standard(kg::ResultsFormat::Tsv);
    "json": "SPARQL 1.1 Query Results JSON" => ResultTable::Standard(kg::ResultsFormat::Json);
    "xml": "SPARQL Query Results XML" => ResultTable::Standard(kg::ResultsFormat::Xml);
    "ttl": "CONSTRUCT and DESCRIBE: Turtle" => ResultTable::Triples(kg::TriplesFormat::Turtle);
    "nt": "CONSTRUCT and DESCRIBE: N-Triples" => ResultTable::Triples(kg::TriplesFormat::NTriples);
    "jsonld": "CONSTRUCT and DESCRIBE: JSON-LD" => ResultTable::Triples(kg::TriplesFormat::JsonLd);
    "rdf": "CONSTRUCT and DESCRIBE: RDF/XML" => ResultTable::Triples(kg::TriplesFormat::RdfXml);
};

const DIRECTIONS: Names<Direction> = names! {
    "out": "Triples that have the node as head" => Direction::Out;
    "in": "Triples that have the node as tail" => Direction::In;
    "both": "Both" => Direction::Both;
};

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("start").required(true).multiple(true))]
pub(crate) struct KgSubgraphArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Question set whose topic entities to start from; see `datagen gold`.
    #[arg(long = "source", group = "start", value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Entity to start from, by name or id.
    #[arg(long = "entity", group = "start", value_name = "ID")]
    pub(crate) entities: Vec<String>,
    /// Maximum distance from an entity.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = number::<u32>(1..=8))]
    pub(crate) hops: u32,
    /// Maximum number of triples of a node in each direction, shared evenly among its relations.
    #[arg(long, value_name = "K")]
    pub(crate) fan_out: Option<usize>,
    /// Direction in which to follow triples.
    #[arg(long, value_parser = one_of(DIRECTIONS), default_value = "both")]
    pub(crate) direction: Direction,
    /// Output: FILE.nt (N-Triples), FILE.json (ODA's layout, with FILE.labels.json), or a folder of
    /// ODA's files.
    ///
    /// N-Triples include names and classes. An interrupted run continues from OUT.partial.
    #[arg(long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Number of worker threads [default: all cores]; it does not affect the result.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct KgLexiconArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Model folder whose word tables to use too.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Source of questions with SPARQL whose words to propose, such as the file of
    /// `serve --feedback`; repeat for more. See `datagen gold`.
    #[arg(long, value_name = "FORMAT=PATH")]
    pub(crate) questions: Vec<String>,
    /// Maximum number of words for a relation or class.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = number::<u8>(1..=100))]
    pub(crate) words: u8,
    /// File to write.
    #[arg(long, default_value = "lexicon.ttl", value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ToolArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Calls separated by `;`, such as `v0 = get_tail_entity(lisbon, location.city.country); ans =
    /// end(v0)`.
    #[arg(value_name = "CALLS")]
    pub(crate) calls: String,
    /// Question that the calls answer; relations and candidates are ranked by its words.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub(crate) question: String,
    /// Tools that the calls may use.
    #[arg(long, value_parser = one_of(TOOLS), default_value = "paper")]
    pub(crate) tools: ToolTable,
}
