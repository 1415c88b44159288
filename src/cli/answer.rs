//! Options of `ask`, `eval` and `replay`.

use std::path::PathBuf;

use clap::Args;
use infer::agent::AgentKind;
use infer::engine::EngineDevice;
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;
use toolbox::usage::Prices;

use super::agent::{AGENTS, AgentArgs, MakeAgent, with_examples};
use super::datagen::RankingArgs;
use super::graph::KgArg;
use super::remote::RemoteArgs;
use super::sweep::SweepAxis;
use super::values::{EntitySource, Names, TOOLS, names, number, one_of, share};

const EXCLUSIONS: Names<ExcludeWhen> = names! {
    "never": "Keep them" => ExcludeWhen::Never;
    "answer": "Drop them from the answer" => ExcludeWhen::Answer;
    "others": "Drop them from the answer unless nothing else is left" => ExcludeWhen::Others;
    "every-step": "Drop them from every result" => ExcludeWhen::EveryStep;
};

pub(super) const DEVICES: Names<EngineDevice> = names! {
    "cpu": "The CPU" => EngineDevice::Cpu;
    "cuda": "The first NVIDIA GPU (builds with `--features cuda`; CUDA_VISIBLE_DEVICES sets \
             the order)" => EngineDevice::Cuda;
};

/// Options that `ask` and `eval` share.
#[derive(Debug, Args)]
pub(crate) struct AnsweringArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Server: prices of a million tokens, to tell what the answers cost:
    /// PROMPT,COMPLETION[,CACHED].
    #[arg(long, value_name = "PRICES", value_parser = Prices::read)]
    pub(crate) price: Option<Prices>,
    /// Device for a model folder or file.
    #[arg(long, value_parser = one_of(DEVICES), default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: EngineDevice,
    #[command(flatten)]
    pub(crate) agents: AgentArgs,
    /// Tools of the agent `words`, and of the programs that `--model oracle` replays [default:
    /// extended for `ask`, paper for `eval`].
    ///
    /// Models have the tools that they were trained with.
    #[arg(long, value_parser = one_of(TOOLS), value_name = "TOOLS")]
    pub(crate) tools: Option<ToolTable>,
    /// Abstain if the model puts more than this probability on text that the graph does not allow
    /// [default: calibrated in training].
    ///
    /// Only for model folders and files. The answer is then "none" instead of the best allowed
    /// choice; 1 never abstains. Training calibrates the default on held-out examples.
    #[arg(long, alias = "doubt", value_name = "SHARE", value_parser = share)]
    pub(crate) abstention_threshold: Option<f64>,
    /// If the graph has no answer, ask the model for its own knowledge.
    ///
    /// Such an answer is marked as the model's. Without this option the answer is "none", with the
    /// reason.
    #[arg(long)]
    pub(crate) allow_model_knowledge: bool,
}

impl AnsweringArgs {
    /// The agent of a name on the command line, for this model. `linked` tells whether entities are
    /// linked rather than given.
    pub(crate) fn agent(&self, make: MakeAgent, linked: bool, model: Option<&str>) -> AgentKind {
        let agent = make(&self.agents, linked);
        with_examples(self.agents.for_planner(agent, model), self.remote.shots)
    }
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) answering: AnsweringArgs,
    /// Model folder, GGUF file, http(s)://HOST:PORT/v1 of an OpenAI-compatible server, or
    /// scripted:FILE.
    ///
    /// FILE has the turns to replay in place of a model's, one a line, or of several lines with a line
    /// `---` between two turns. The agents `retrieval` and `tog` need no model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// Agent that answers.
    #[arg(long, value_parser = one_of(AGENTS), default_value = "kg-agent")]
    pub(crate) agent: MakeAgent,
    /// Topic entity by name or id; repeat for more [default: found in the question by label].
    #[arg(long = "entity", value_name = "ID")]
    pub(crate) entities: Vec<String>,
    /// What to do with topic entities in results [default: `others` if the question asks for others than those
    /// (`who else …`), or else `never`].
    #[arg(long, value_parser = one_of(EXCLUSIONS))]
    pub(crate) exclude_topics: Option<ExcludeWhen>,
    /// Say which part of the program explains which word of the question, and which program came
    /// second.
    #[arg(long)]
    pub(crate) why: bool,
    /// Write a trace to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Server: seed of the sampling, if the temperature is not 0.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) answering: AnsweringArgs,
    /// Model folder, GGUF file, http(s)://HOST:PORT/v1 of an OpenAI-compatible server, or `oracle`.
    ///
    /// The oracle replays gold programs as kg-agent or oda. The agents `retrieval` and `tog` need
    /// no model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Source of the questions; see `datagen gold`.
    #[arg(long, value_name = "FORMAT=PATH")]
    pub(crate) source: String,
    /// Agents to evaluate on the same questions, separated by commas.
    #[arg(
        long = "agent",
        value_parser = one_of(AGENTS),
        value_delimiter = ',',
        default_value = "kg-agent"
    )]
    pub(crate) agents: Vec<MakeAgent>,
    /// Folder to write: report.html, metrics.json, predictions.jsonl and predictions.qald.json.
    ///
    /// With several agents, each has a folder for all but report.html.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Source of the topic entities.
    #[arg(long, value_enum, default_value = "gold")]
    pub(crate) entities: EntitySource,
    /// What to do with topic entities in results [default: the convention of the source].
    #[arg(long, value_parser = one_of(EXCLUSIONS))]
    pub(crate) exclude_topics: Option<ExcludeWhen>,
    /// Maximum number of questions (of each hop count, if the source has hop counts).
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Seed of the sample under --limit, and of a server's sampling.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Hide one relation per question that its gold program needs; the right answer is then "none".
    ///
    /// Some questions are left out, because "none" would not be the only right answer: the program
    /// counts or judges (0 and "no" would be right as well), unites sets (a part still has
    /// answers), uses a time interval (two relations) or looks an entity up; the question has no
    /// answer anyway; or the rest of the graph still answers it. The output counts them by reason.
    #[arg(long)]
    pub(crate) withhold: bool,
    /// Also measure variations of the setting, one parameter at a time, and print one table with
    /// intervals. Example: n=0,1,3 k=1,2,3 t=1,2,3 leave-out=g,d,a
    ///
    /// n: worked examples (--shots). k: what is selected (--top-entities and --top-relations;
    /// --reflect-kept). t: tries of triad (--tries), actions of oda (--iterations). leave-out: parts
    /// of triad (--leave-out). reflection: of oda (--reflection). observation: of oda, on or off.
    #[arg(
        long,
        num_args = 1..,
        value_name = "NAME=VALUES",
        value_parser = SweepAxis::read,
        conflicts_with = "compare"
    )]
    pub(crate) sweep: Vec<SweepAxis>,
    /// Number of runs of every setting, with seeds from --seed on; the table has their means.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = number::<u64>(1..=100))]
    pub(crate) runs: u64,
    /// Show the papers' results on this dataset next to ours, and how the settings differ.
    #[arg(long)]
    pub(crate) compare: bool,
    /// Write a trace of every question into the output folder.
    #[arg(long)]
    pub(crate) traces: bool,
    /// Number of questions to answer in one batch [default: 16 on a GPU and for models larger than
    /// a processor's cache, otherwise 1 per thread].
    ///
    /// A batch reads the weights once for all its questions. Answers do not depend on it, except
    /// for rounding on a GPU.
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
    /// Number of worker threads [default: all cores].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Server: number of questions to ask at a time.
    ///
    /// Answers do not depend on it unless the server's replies do.
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = number::<usize>(1..=1024))]
    pub(crate) concurrency: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Trace file (from `ask --trace` or `eval --traces`).
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Model folder that decodes the turns again; the tokens are compared, too.
    #[arg(long, value_name = "MODEL")]
    pub(crate) decode: Option<PathBuf>,
    /// Folder of the model that made the trace: its word tables influenced the decision.
    #[arg(long, value_name = "MODEL")]
    pub(crate) words: Option<PathBuf>,
    /// With --decode: device of the model; use the one on which the trace was made.
    ///
    /// A GPU's numbers differ from the CPU's by rounding.
    #[arg(long, value_parser = one_of(DEVICES), default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: EngineDevice,
    /// With --decode: the abstention threshold with which the trace was made.
    #[arg(long, alias = "doubt", value_name = "SHARE", value_parser = share)]
    pub(crate) abstention_threshold: Option<f64>,
}
