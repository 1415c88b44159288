//! Options of `datagen`.

use std::path::PathBuf;

use ::datagen::export::ExportFormat;
use ::datagen::pipeline::ABSTAIN;
use ::datagen::select::{Dedup, LeakLevel, Mix, SplitKind, Unit};
use clap::{Args, Subcommand, ValueEnum};
use toolbox::agent::Agent;
use toolbox::call::ToolTable;
use toolbox::exec::Naming;
use toolbox::prompt::Layout;

use super::graph::KgArg;
use super::reword::RewordArgs;
use super::values::{EntitySource, Names, TOOLS, names, one_of, share};

#[derive(Debug, Subcommand)]
pub(crate) enum DatagenCommand {
    /// Generate verified examples from questions with gold SPARQL.
    Gold(Box<GoldArgs>),
    /// Generate questions, gold queries and verified examples from a graph alone.
    Synth(Box<SynthArgs>),
    /// Check which gold queries convert; this needs no graph.
    Check(CheckArgs),
    /// Convert a dataset folder to the layout of another trainer.
    Export(ExportArgs),
    /// Print the SPARQL query that is equivalent to a program of calls.
    Sparql(SparqlArgs),
    /// Measure how highly the relations of gold programs are ranked.
    Recall(RecallArgs),
    /// Write the programs proposed for each question with whether they answer it, to train a ranker.
    Choices(ChoicesArgs),
    /// Learn which question words mean which relation words, from questions with gold SPARQL.
    Words(WordsArgs),
    /// Fit the weights of the decision between candidate programs.
    Weights(WeightsArgs),
    /// List the question formats, with an example of each.
    Formats,
}

const EXPORT_FORMATS: Names<ExportFormat> = names! {
    "sharegpt": "Conversations, with LLaMA-Factory's dataset_info.json" => ExportFormat::ShareGpt;
    "alpaca": "Instruction, output and history, with LLaMA-Factory's dataset_info.json"
        => ExportFormat::Alpaca;
    #[cfg(feature = "parquet")]
    "parquet": "Parquet files in the layout of the Hugging Face hub" => ExportFormat::Parquet;
};

/// A trainer for models that are trained elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrainerName {
    /// Axolotl with DeepSpeed ZeRO-3: all weights, or LoRA.
    Axolotl,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Layout to write; a program built with `--features parquet` also writes `parquet`.
    #[arg(long, value_parser = one_of(EXPORT_FORMATS))]
    pub(crate) format: ExportFormat,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Add configurations for this trainer (with `--format sharegpt`).
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) trainer: Option<TrainerName>,
    /// Model that the configurations train: a folder, or ORG/NAME of the Hugging Face hub.
    #[arg(long, value_name = "MODEL")]
    pub(crate) base: Option<String>,
}

/// How relations and classes are ranked.
#[derive(Clone, Debug, Args)]
pub(crate) struct RankingArgs {
    /// Ranker of relations: `lexical`, `shuffled`, the folder of a sentence encoder, or
    /// `lexical+DIR` for both. The folder of `train ranker`: relations by words, and whole programs by
    /// that model.
    ///
    /// `lexical` compares words, with 15 built-in weights fitted on the data sets of
    /// docs/results.md; `shuffled` is a fixed random order, for comparison. Encoders are of the BERT family, from the hub. Use the ranker with which the
    /// model's data was generated.
    #[arg(long, default_value = "lexical", value_name = "RANKER")]
    pub(crate) ranker: String,
    /// Cache folder for an encoder's vectors [default: kgagent/vectors in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) vectors: Option<PathBuf>,
}

const LAYOUTS: Names<Layout> = names! {
    "dialogue": "One conversation per question" => Layout::Dialogue;
    "paper": "One sample per call, as in the KG-Agent paper" => Layout::Paper;
};

const NAMINGS: Names<Naming> = names! {
    "name": "By full name, restricted to those shown" => Naming::Mixed;
    "handle": "By a handle shown next to the name" => Naming::Handles;
    "mention": "By the handle of the question's word for the relation, or else by name"
        => Naming::Mentions;
};

/// The form of samples.
#[derive(Clone, Debug, Args)]
pub(crate) struct SampleArgs {
    /// Agents to generate examples for, separated by commas: kg-agent, oda, triad.
    ///
    /// Each question gives examples for all of them; the data trains one model.
    #[arg(
        long = "agent",
        value_parser = Agent::named,
        value_delimiter = ',',
        default_value = "kg-agent",
        value_name = "AGENT"
    )]
    pub(crate) agents: Vec<Agent>,
    /// Layout of the samples.
    #[arg(long, value_parser = one_of(LAYOUTS), default_value = "dialogue")]
    pub(crate) layout: Layout,
    /// How calls in dialogues name relations [default: by name; `synth` on a graph with more than
    /// 200 relations: by handle].
    ///
    /// From synthesized questions, a small model does not learn to spell more than 200 names.
    #[arg(long, value_parser = one_of(NAMINGS))]
    pub(crate) relations: Option<Naming>,
    /// Put the tool list into every dialogue (the paper layout always has it).
    #[arg(long)]
    pub(crate) tool_list: bool,
    /// Show the neighbourhood of a set next to its relations, as ODA does; for dialogues only.
    ///
    /// This costs a few tokens per step.
    #[arg(long)]
    pub(crate) observe: bool,
    /// Seed of all random choices.
    ///
    /// The variants of ODA's and Triad's examples (without observations, after a failed try, with a
    /// missing relation) depend on the id of the question alone.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of worker threads [default: all cores]; it does not affect the result.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct GoldArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Source of questions: a format of `datagen formats`, `=`, and a file or folder; repeat for
    /// more.
    ///
    /// `qald:de=PATH` sets an option of the format. `#train` or `#heldout` after the path selects
    /// that part of a fixed 90/10 split (`#heldout:20` for another share), and `#seen:60` or
    /// `#unseen:60` the questions without or with any of 60 held-out relations.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Questions to keep unseen: every question that shares a topic entity with them is left out.
    #[arg(long = "hold-out", value_name = "FORMAT=PATH")]
    pub(crate) hold_out: Vec<String>,
    /// Folder to write; an interrupted run continues from DIR.partial.
    #[arg(long, value_name = "DIR", required_unless_present = "show")]
    pub(crate) out: Option<PathBuf>,
    /// Print the examples instead of a table. Without --out, nothing is written and --limit is 5.
    #[arg(long)]
    pub(crate) show: bool,
    #[command(flatten)]
    pub(crate) samples: SampleArgs,
    /// Tools that the programs of the tool loop may use.
    #[arg(long, value_parser = one_of(TOOLS), default_value = "paper")]
    pub(crate) tools: ToolTable,
    /// Maximum number of questions to work on, chosen by the seed.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Share of additional examples in which a needed relation is hidden and the right call is
    /// `end([])`.
    #[arg(long, default_value_t = ABSTAIN, value_name = "SHARE")]
    pub(crate) abstain: f64,
    /// Share of the training dialogues whose relation names are replaced by invented words.
    ///
    /// The words are the same in question, lists and calls.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) scramble: f64,
    /// Number of questions per template of a `templates` source.
    ///
    /// A template with few matches is asked in several wordings.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) per_template: usize,
    #[command(flatten)]
    pub(crate) reword: RewordArgs,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
}

const UNITS: Names<Unit> = names! {
    "question": "Questions" => Unit::Question;
    "step": "Calls" => Unit::Step;
};

const SPLITS: Names<SplitKind> = names! {
    "iid": "Random questions" => SplitKind::Iid;
    "compositional": "Combinations of relations that are not trained on"
        => SplitKind::Compositional;
    "zero-shot": "Relations that are not trained on" => SplitKind::ZeroShot;
};

const LEAKS: Names<LeakLevel> = names! {
    "question": "The same words" => LeakLevel::Question;
    "masked": "The same words and program except for names and numbers" => LeakLevel::Masked;
    "topics": "A common entity" => LeakLevel::Topics;
};

/// Selection among verified questions.
#[derive(Debug, Args)]
pub(crate) struct SelectArgs {
    /// Mix sources by ratio, such as webqsp=1,kqapro=5,grailqa=5,cwq=10.
    #[arg(long, value_name = "SOURCE=N,...")]
    pub(crate) mix: Option<Mix>,
    /// Number of questions or steps (see --unit) to write [default: all].
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<usize>,
    /// Unit of --mix and --count.
    #[arg(long, value_parser = one_of(UNITS), default_value = "question")]
    pub(crate) unit: Unit,
    /// Drop near-duplicates: off, exact, masked, near or near:SHARE.
    ///
    /// `exact` means the same words and program, `masked` the same except for names and numbers,
    /// `near` the same masked program and wordings that share 0.8 (or SHARE) of their word pairs.
    #[arg(long, default_value = "off", value_name = "KIND")]
    pub(crate) dedup: Dedup,
    /// What the validation part consists of.
    #[arg(long, value_parser = one_of(SPLITS), default_value = "iid")]
    pub(crate) split: SplitKind,
    /// Share of the questions in the validation part.
    #[arg(long, default_value_t = 0.02, value_name = "SHARE", value_parser = share)]
    pub(crate) valid: f64,
    /// Fail if the parts share questions; each level includes those before it.
    #[arg(
        long,
        value_parser = one_of(LEAKS),
        value_name = "LEVEL",
        num_args = 0..=1,
        default_missing_value = "question"
    )]
    pub(crate) strict_leakage: Option<LeakLevel>,
}

#[derive(Debug, Args)]
pub(crate) struct SparqlArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Calls separated by `;`, ending in `ans = end(..)`.
    #[arg(value_name = "CALLS")]
    pub(crate) calls: String,
}

/// Share of additional examples of `synth` without an answer.
pub(crate) const SYNTH_ABSTAIN: f64 = 0.04;

#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    /// Number of questions to generate.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) count: usize,
    /// Folder to write: the dataset, and the questions with their queries as `questions.jsonl`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) samples: SampleArgs,
    /// Tools that the programs of the tool loop may use; with `extended`, questions also ask for
    /// tables, groups and sums [default: extended; paper with `--layout paper` and without the
    /// agent kg-agent].
    #[arg(long, value_parser = one_of(TOOLS))]
    pub(crate) tools: Option<ToolTable>,
    /// Share of additional examples in which a needed relation is hidden and the right call is
    /// `end([])`.
    #[arg(long, default_value_t = SYNTH_ABSTAIN, value_name = "SHARE")]
    pub(crate) abstain: f64,
    /// Share of the questions to hold out for `eval --source jsonl=DIR/heldout.jsonl`.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) hold_back: f64,
    #[command(flatten)]
    pub(crate) reword: RewordArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Source of queries; see `datagen gold`.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Compare the front ends of a format with several (grailqa): equal programs, or equal answers
    /// on graphs made from the queries.
    #[arg(long)]
    pub(crate) fronts: bool,
    /// Name each refused question with its reason and the place in its query.
    #[arg(long, conflicts_with = "fronts")]
    pub(crate) show: bool,
    /// Tools that programs may use.
    #[arg(long, value_parser = one_of(TOOLS), default_value = "paper")]
    pub(crate) tools: ToolTable,
}

#[derive(Debug, Args)]
pub(crate) struct RecallArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Source of questions; see `datagen gold`.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Write every choice with its candidates into this folder, as training pairs of a relation
    /// retriever.
    #[arg(long, value_name = "DIR")]
    pub(crate) pairs: Option<PathBuf>,
    /// Number of questions per template of a `templates` source.
    ///
    /// A template with few matches is asked in several wordings.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) per_template: usize,
    /// Seed of the sample of instances.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of worker threads [default: all cores]; it does not affect the result.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ChoicesArgs {
    /// Graph folder (made by `kg load`) that the questions are about. Without it, small graphs are
    /// made from the queries, with relations of other questions around their entities.
    #[arg(long, value_name = "DIR")]
    pub(crate) kg: Option<PathBuf>,
    /// Source of questions; see `datagen gold`.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Entities of the questions: `linked` finds them in the question, `gold` takes them from the
    /// source [default: linked with --kg, else gold].
    #[arg(long, value_enum)]
    pub(crate) entities: Option<EntitySource>,
    /// Tools that the programs may use.
    #[arg(long, value_parser = one_of(TOOLS), default_value = "extended")]
    pub(crate) tools: ToolTable,
    /// Most programs of a question.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) candidates: u8,
    /// Name of the set in the file [default: the format of each source].
    #[arg(long, value_name = "NAME")]
    pub(crate) set: Option<String>,
    /// Labels of relations, without --kg; see `datagen words`.
    #[arg(long, value_name = "FILE", conflicts_with = "kg")]
    pub(crate) labels: Option<PathBuf>,
    /// Further mentions of entities, without --kg; see `datagen words`.
    #[arg(long, value_name = "FILE", conflicts_with = "kg")]
    pub(crate) mentions: Option<PathBuf>,
    /// Ids of questions to leave out: the first field of each line.
    #[arg(long, value_name = "FILE")]
    pub(crate) skip: Option<PathBuf>,
    /// Use only the first N questions in an order that the seed gives.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Seed of the order, and of the small graphs.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of worker threads [default: all cores]; it does not affect the result.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// File to write, JSON Lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct WordsArgs {
    /// Source of questions; see `datagen gold`. Their graph is not needed.
    #[arg(long = "source", required = true, value_name = "FORMAT=PATH")]
    pub(crate) sources: Vec<String>,
    /// Labels of relations: lines of a local name, a tab and the label, after a heading.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Further mentions of entities: JSON Lines of `id` and `topic`.
    #[arg(long, value_name = "FILE")]
    pub(crate) mentions: Option<PathBuf>,
    /// Ids of questions to leave out: the first field of each line.
    #[arg(long, value_name = "FILE")]
    pub(crate) skip: Option<PathBuf>,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct WeightsArgs {
    /// Predictions of `eval` on development questions; repeat for more sets, which count equally.
    #[arg(long, required = true, value_name = "FILE")]
    pub(crate) predictions: Vec<PathBuf>,
    /// Weights to start from [default: the shipped weights without a model].
    #[arg(long, value_name = "FILE")]
    pub(crate) start: Option<PathBuf>,
    /// How strongly weights are kept near those of --start.
    #[arg(long, default_value_t = 0.01, value_name = "X")]
    pub(crate) pull: f64,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}
