//! The command line: what `kgagent` understands. Every option can also come from `KGAGENT_…` and from `kgagent.toml` (see [`crate::config`]).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use datagen::select::{Dedup, Mix};

/// Offline question answering over knowledge graphs: generate instruction data, train a local model, ask.
#[derive(Debug, Parser)]
#[command(name = "kgagent", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Configuration file; without it `kgagent.toml` in the current folder is read where there is one.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole pipeline on the graph in data/: load, generate, train, evaluate, ask.
    Demo(DemoArgs),
    /// Load graphs and look into them.
    #[command(subcommand)]
    Kg(KgCommand),
    /// Run tool calls by hand.
    Tool(ToolArgs),
    /// Make verified instruction data.
    #[command(subcommand)]
    Datagen(DatagenCommand),
    /// Train a model, or look at what it would be trained on.
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Train(TrainCommand),
    /// Answer one question.
    Ask(AskArgs),
    /// Measure an agent on questions with gold answers.
    Eval(EvalArgs),
    /// Run the calls of a trace again and compare every result.
    Replay(ReplayArgs),
    /// Download a model folder from the Hugging Face hub: the only command that opens a connection.
    Fetch(FetchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for everything the demo makes.
    #[arg(long, value_name = "DIR", default_value = "demo-out")]
    pub(crate) out: PathBuf,
    /// Folder with the demo graph and questions.
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) data: PathBuf,
    /// Files of a graph of your own instead: questions about it are made from the graph itself.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) graph: Vec<PathBuf>,
    /// Questions made of a graph given with --graph.
    #[arg(long, default_value_t = 8_000, value_name = "N")]
    pub(crate) count: usize,
    /// A much smaller run that shows every step and reaches no accuracy worth reporting.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KgCommand {
    /// Load files into a graph folder.
    Load(KgLoadArgs),
    /// Counts, named graphs and the vocabulary of a graph.
    Stats(KgArg),
    /// Check every byte of a graph folder.
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
        Self { kg: kg.to_path_buf(), graphs: Vec::new() }
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
    pub(crate) format: Option<toolbox::kg::Format>,
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
        let usual = toolbox::kg::LoadOptions::default();
        Self {
            kg,
            languages: toolbox::kg::Settings::default().languages,
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

fn graph_format(name: &str) -> Result<toolbox::kg::Format, String> {
    let known = || toolbox::kg::Format::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    toolbox::kg::Format::named(name).ok_or_else(|| format!("it is none of {}", known()))
}

/// Bytes as people write them: a number, or one with KiB, MiB or GiB behind it.
fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift))).unwrap_or((text, 0));
    let bytes = number.trim().parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "a size is a whole number of bytes, KiB, MiB or GiB, such as 512MiB".to_owned())
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

#[derive(Debug, Subcommand)]
pub(crate) enum DatagenCommand {
    /// From questions with gold SPARQL to verified examples.
    Gold(Box<GoldArgs>),
    /// Questions and gold queries from the graph itself, as verified examples.
    Synth(SynthArgs),
    /// Which gold queries convert, without a graph.
    Check(CheckArgs),
    /// Write a dataset folder in the layout of another trainer.
    Export(ExportArgs),
    /// The SPARQL query that gives what a program of calls gives.
    Sparql(SparqlArgs),
    /// Where the relations of gold programs stand in the lists they are chosen from.
    Recall(RecallArgs),
    /// The formats of questions, with an example of each.
    Formats,
}

/// A layout of data folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportName {
    /// Conversations with LLaMA-Factory's dataset_info.json.
    Sharegpt,
    /// Instruction, output and history with LLaMA-Factory's dataset_info.json.
    Alpaca,
    /// Parquet files as the Hugging Face hub lays them out.
    Parquet,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// The layout.
    #[arg(long, value_enum)]
    pub(crate) format: ExportName,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// What ranks relations and classes.
#[derive(Clone, Debug, Args)]
pub(crate) struct RankingArgs {
    /// What ranks relations: `lexical` (words, no weights), `shuffled` (a fixed chance order, for comparison), the folder of a sentence encoder (BERT family, from the hub), or `lexical+DIR`
    /// for both together. A model is asked under the ranker that its data was made with.
    #[arg(long, default_value = "lexical", value_name = "RANKER")]
    pub(crate) ranker: String,
    /// Folder in which an encoder's vectors are kept by text; without it `kgagent/vectors` in the user's cache folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) vectors: Option<PathBuf>,
}

/// A layout of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutName {
    /// One conversation a question.
    Dialogue,
    /// One sample a call, as in the KG-Agent paper.
    Paper,
}

impl LayoutName {
    pub(crate) fn layout(self) -> toolbox::memory::Layout {
        match self {
            Self::Dialogue => toolbox::memory::Layout::Dialogue,
            Self::Paper => toolbox::memory::Layout::Paper,
        }
    }
}

/// How dialogue calls write relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RelationStyle {
    /// By their full name, held to those shown.
    Name,
    /// By a handle shown beside the name.
    Handle,
    /// By the handle of the word of the question that stands for it, else by name.
    Mention,
}

#[derive(Debug, Args)]
pub(crate) struct GoldArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Where questions come from: a format of `datagen formats`, `=` and a file or folder (`qald:de=PATH` takes an option of the format);
    /// `#train` or `#heldout` behind the path takes that part of a fixed 90 / 10 split (`#heldout:20` for another share), `#seen:60` or
    /// `#unseen:60` the questions without or with any of 60 held-back relations.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Questions that must stay unseen: whatever shares a topic entity with them is left out.
    #[arg(long = "hold-out", value_name = "FORMAT=PATH")]
    pub(crate) hold_out: Vec<String>,
    /// Folder to write. A run that was interrupted goes on from what `DIR.partial` holds.
    #[arg(long, value_name = "DIR", required_unless_present = "show")]
    pub(crate) out: Option<PathBuf>,
    /// Print the examples instead of a table; without --out nothing is written and --limit is 5.
    #[arg(long)]
    pub(crate) show: bool,
    /// Layout of the samples.
    #[arg(long, value_enum, default_value = "dialogue")]
    pub(crate) layout: LayoutName,
    /// How dialogue calls write relations.
    #[arg(long, value_enum, default_value = "name")]
    pub(crate) relations: RelationStyle,
    /// Put the tool list into every dialogue (the paper layout always has it).
    #[arg(long)]
    pub(crate) tool_list: bool,
    /// Read at most this many questions a source.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Share of further examples in which a needed relation is taken away and the right end is `end([])`.
    #[arg(long, default_value_t = 0.08, value_name = "SHARE")]
    pub(crate) abstain: f64,
    /// Share of the dialogues to train on in which the words of relation names become invented ones, the same in question, lists and calls.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) scramble: f64,
    /// Instances of one template of a `templates` source.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) per_template: usize,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Worker threads; all cores without it. The output does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// What is chosen among verified questions.
#[derive(Debug, Args)]
pub(crate) struct SelectArgs {
    /// Mix sources by ratio, such as webqsp=1,kqapro=5,grailqa=5,cwq=10.
    #[arg(long, value_name = "SOURCE=N,...")]
    pub(crate) mix: Option<Mix>,
    /// Questions or steps (see --unit) to write in all; as many as there are without it.
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<usize>,
    /// What --mix and --count count.
    #[arg(long, value_enum, default_value = "question")]
    pub(crate) unit: UnitName,
    /// Drop questions that are like an earlier one: off, exact (same words and program), masked (but for names and numbers), near or
    /// near:SHARE (same masked program, wordings that share 0.8 of their word pairs).
    #[arg(long, default_value = "off", value_name = "KIND")]
    pub(crate) dedup: Dedup,
    /// What is special about the validation part: nothing (iid), unseen combinations of relations, or unseen relations.
    #[arg(long, value_enum, default_value = "iid")]
    pub(crate) split: SplitName,
    /// Share of the questions to validate with.
    #[arg(long, default_value_t = 0.02, value_name = "SHARE", value_parser = share)]
    pub(crate) valid: f64,
    /// Fail where parts share questions; with `masked` also where they do but for names and numbers, with `topics` also where they share
    /// an entity.
    #[arg(long, value_enum, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "question")]
    pub(crate) strict_leakage: Option<LeakName>,
}

impl Default for SelectArgs {
    fn default() -> Self {
        let (unit, split) = (UnitName::Question, SplitName::Iid);
        Self { mix: None, count: None, unit, dedup: Dedup::Off, split, valid: 0.02, strict_leakage: None }
    }
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| "a share is a number from 0 to 1".to_owned())
}

/// What a mixture counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitName {
    /// Questions.
    Question,
    /// Calls.
    Step,
}

/// How the validation part is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SplitName {
    /// At random.
    Iid,
    /// Combinations of relations that are not trained on.
    Compositional,
    /// Relations that are not trained on.
    ZeroShot,
}

/// What counts as a leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeakName {
    /// The same words.
    Question,
    /// The same words and program but for names and numbers.
    Masked,
    /// A common entity.
    Topics,
}

#[derive(Debug, Args)]
pub(crate) struct SparqlArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Calls separated by `;`, ending in `ans = end(..)`.
    #[arg(value_name = "CALLS")]
    pub(crate) calls: String,
}

#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Questions to make.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) count: usize,
    /// Folder to write: the dataset, and the questions with their queries as `questions.jsonl`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Layout of the samples.
    #[arg(long, value_enum, default_value = "dialogue")]
    pub(crate) layout: LayoutName,
    /// How dialogue calls write relations.
    #[arg(long, value_enum, default_value = "name")]
    pub(crate) relations: RelationStyle,
    /// Share of further examples in which a needed relation is taken away and the right end is `end([])`.
    #[arg(long, default_value_t = 0.04, value_name = "SHARE")]
    pub(crate) abstain: f64,
    /// Share of the questions that are left out of the data, to be measured on: `eval --source jsonl=DIR/heldout.jsonl`.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) hold_back: f64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Worker threads; all cores without it. The output does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Where queries come from; as for `datagen gold`.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Compare the front ends of a format that has several (grailqa): equal programs, or equal answers on graphs made from the queries.
    #[arg(long)]
    pub(crate) fronts: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecallArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Where questions come from; as for `datagen gold`.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Also write every choice with its candidates into this folder: what a relation retriever is trained on.
    #[arg(long, value_name = "DIR")]
    pub(crate) pairs: Option<PathBuf>,
    /// Instances of one template of a `templates` source.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) per_template: usize,
    /// Seed of the choice of instances.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Worker threads; all cores without it. The output does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct TrainCommand {
    #[command(subcommand)]
    pub(crate) inspect: Option<TrainSub>,
    #[command(flatten)]
    pub(crate) run: Option<TrainArgs>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrainSub {
    /// Show the tokens of a dataset, with the trained ones in colour.
    Inspect(InspectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Model folder whose tokenizer is used; without it one is trained on the data.
    #[arg(long, value_name = "DIR")]
    pub(crate) base: Option<PathBuf>,
    /// Examples to show.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) limit: usize,
}

/// A training method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodName {
    /// All weights.
    Full,
    /// Low-rank adapters.
    Lora,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Model folder to start from, ORG/NAME that `kgagent fetch` has brought, or scratch:tiny, scratch:small, scratch:base.
    #[arg(long, value_name = "BASE")]
    pub(crate) base: String,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What is trained.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) method: MethodName,
    /// Rank of LoRA's corrections.
    #[arg(long, value_name = "R")]
    pub(crate) lora_rank: Option<usize>,
    /// The corrections are scaled by this over the rank.
    #[arg(long, value_name = "A")]
    pub(crate) lora_alpha: Option<f32>,
    /// Scale by alpha over the square root of the rank (rsLoRA).
    #[arg(long)]
    pub(crate) rslora: bool,
    /// Share of the corrections' input dropped while training.
    #[arg(long, value_name = "SHARE")]
    pub(crate) lora_dropout: Option<f32>,
    /// Projections that are corrected, such as q_proj,v_proj; all seven by default.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) lora_targets: Option<Vec<String>>,
    /// Write the corrections as an adapter in PEFT layout, not added to a whole model.
    #[arg(long)]
    pub(crate) adapter: bool,
    /// Preset of the options below: `default` (from scratch), `finetune`, or `paper` (KG-Agent, appendix A.4).
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) recipe: String,
    /// Passes over the data.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Peak learning rate.
    #[arg(long, value_name = "RATE")]
    pub(crate) lr: Option<f64>,
    /// Tokens of one optimizer step.
    #[arg(long, value_name = "N")]
    pub(crate) batch_tokens: Option<usize>,
    /// Tokens of one forward pass; a step accumulates as many as it needs.
    #[arg(long, value_name = "N")]
    pub(crate) micro_tokens: Option<usize>,
    /// Steps between checkpoints.
    #[arg(long, value_name = "N")]
    pub(crate) save_every: Option<usize>,
    /// `auto` goes on from the newest whole checkpoint in the output folder.
    #[arg(long, value_name = "auto")]
    pub(crate) resume: Option<String>,
    /// Vocabulary of a model made from scratch.
    #[arg(long, value_name = "N")]
    pub(crate) vocab_size: Option<usize>,
    /// Where to train: cpu.
    #[arg(long, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: String,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Which agent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentName {
    /// The tool loop of KG-Agent.
    KgAgent,
}

/// Where topic entities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntitySource {
    /// The dataset's.
    Gold,
    /// Found in the question by label.
    Linked,
}

/// Which topic entities are kept out of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExcludeTopics {
    /// None.
    Never,
    /// All of them, from the answer.
    Answer,
    /// All of them, from the answer, where something else is left.
    Others,
    /// All of them, from every result.
    EveryStep,
}

impl ExcludeTopics {
    pub(crate) fn when(self) -> toolbox::exec::ExcludeWhen {
        use toolbox::exec::ExcludeWhen;
        match self {
            Self::Never => ExcludeWhen::Never,
            Self::Answer => ExcludeWhen::Answer,
            Self::Others => ExcludeWhen::Others,
            Self::EveryStep => ExcludeWhen::EveryStep,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Model folder, or scripted:FILE (calls, one a line).
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// Who answers.
    #[arg(long, value_enum, default_value = "kg-agent")]
    pub(crate) agent: AgentName,
    /// Topic entity by name or id; without any they are found in the question by label.
    #[arg(long = "entity", value_name = "ID")]
    pub(crate) entities: Vec<String>,
    /// Topic entities kept out of the answer.
    #[arg(long, value_enum, default_value = "others")]
    pub(crate) exclude_topics: ExcludeTopics,
    /// Write everything that happened to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Model folder, or `oracle` (the gold programs).
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Where questions come from; as for `datagen gold`.
    #[arg(long, value_name = "FORMAT=PATH")]
    pub(crate) source: String,
    /// Who answers.
    #[arg(long, value_enum, default_value = "kg-agent")]
    pub(crate) agent: AgentName,
    /// Folder to write: metrics.json and predictions.jsonl.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Where topic entities come from.
    #[arg(long, value_enum, default_value = "gold")]
    pub(crate) entities: EntitySource,
    /// Topic entities kept out of answers; the source's own convention without it.
    #[arg(long, value_enum)]
    pub(crate) exclude_topics: Option<ExcludeTopics>,
    /// Evaluate at most this many questions (of each hop, where the source has hops).
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Seed of the choice under --limit.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a trace of every question into this folder of the output.
    #[arg(long)]
    pub(crate) traces: bool,
    /// Worker threads; all cores without it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Trace file (from `ask --trace` or `eval --traces`).
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) graph: KgArg,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Repository on the hub.
    #[arg(value_name = "ORG/NAME")]
    pub(crate) repo: String,
}
