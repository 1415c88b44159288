//! Options of `datagen`.

use std::path::PathBuf;

use ::datagen::pipeline::ABSTAIN;
use ::datagen::select::{Dedup, Mix};
use clap::{Args, Subcommand, ValueEnum};
use toolbox::agent::Agent;

use super::{KgArg, share};

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
    /// The layout.
    #[arg(long, value_enum)]
    pub(crate) format: ExportName,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Write configurations for this trainer beside the data (with `--format sharegpt`).
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) trainer: Option<TrainerName>,
    /// Model that the configurations are for: a folder, or ORG/NAME of the Hugging Face hub.
    #[arg(long, value_name = "MODEL")]
    pub(crate) base: Option<String>,
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
    pub(crate) fn layout(self) -> toolbox::prompt::Layout {
        match self {
            Self::Dialogue => toolbox::prompt::Layout::Dialogue,
            Self::Paper => toolbox::prompt::Layout::Paper,
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

/// What samples are like, whatever they are made of.
#[derive(Clone, Debug, Args)]
pub(crate) struct SampleArgs {
    /// Agents that get examples of every question (kg-agent, oda, triad), separated by commas: the data trains one model for all of them.
    #[arg(long = "agent", value_parser = Agent::named, value_delimiter = ',', default_value = "kg-agent", value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// Layout of the samples.
    #[arg(long, value_enum, default_value = "dialogue")]
    pub(crate) layout: LayoutName,
    /// How dialogue calls write relations. Without it by name; where `synth` makes data of a graph with more than 200 relations, by handle: more
    /// names than that a small model does not learn to spell from synthesised questions.
    #[arg(long, value_enum)]
    pub(crate) relations: Option<RelationStyle>,
    /// Put the tool list into every dialogue (the paper layout always has it).
    #[arg(long)]
    pub(crate) tool_list: bool,
    /// Let the tool loop see what lies around a set beside its relations, as ODA does: a few tokens more a step, for dialogues only.
    #[arg(long)]
    pub(crate) observe: bool,
    /// Seed of everything random but in which variants ODA's and Triad's examples come (without observations, after a failed try, with a missing
    /// relation): that depends on a question's id alone.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Worker threads; all cores without it. The output does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

impl SampleArgs {
    /// What the demo trains on: dialogues as they are without further options.
    pub(crate) fn plain(agents: &[Agent], seed: u64) -> Self {
        Self {
            agents: agents.to_vec(),
            layout: LayoutName::Dialogue,
            relations: None,
            tool_list: false,
            observe: false,
            seed,
            threads: None,
        }
    }
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
    #[command(flatten)]
    pub(crate) samples: SampleArgs,
    /// Work on at most this many questions in all, chosen by the seed.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Share of further examples in which a needed relation is taken away and the right end is `end([])`.
    #[arg(long, default_value_t = ABSTAIN, value_name = "SHARE")]
    pub(crate) abstain: f64,
    /// Share of the dialogues to train on in which the words of relation names become invented ones, the same in question, lists and calls.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) scramble: f64,
    /// Questions made from one template of a `templates` source; what few things have is asked in several wordings.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) per_template: usize,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
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
        Self {
            mix: None,
            count: None,
            unit,
            dedup: Dedup::Off,
            split,
            valid: 0.02,
            strict_leakage: None,
        }
    }
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
    #[command(flatten)]
    pub(crate) samples: SampleArgs,
    /// Share of further examples in which a needed relation is taken away and the right end is `end([])`.
    #[arg(long, default_value_t = 0.04, value_name = "SHARE")]
    pub(crate) abstain: f64,
    /// Share of the questions that are left out of the data, to be measured on: `eval --source jsonl=DIR/heldout.jsonl`.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) hold_back: f64,
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
    /// Questions made from one template of a `templates` source; what few things have is asked in several wordings.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) per_template: usize,
    /// Seed of the choice of instances.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Worker threads; all cores without it. The output does not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}
