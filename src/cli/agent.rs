//! Options of `ask`, `eval` and `replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use infer::agent::{AgentKind, Robust, TriadOptions};
use infer::engine::EngineDevice;
use infer::planner::{Constraint, RemoteOptions};
use toolbox::observe::ObserveOptions;
use toolbox::oda::{OdaOptions, Reflection, TurnForm};
use toolbox::triad;

use super::{KgArg, RankingArgs, share};

/// Which agent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentName {
    /// The tool loop of KG-Agent.
    KgAgent,
    /// Observe, act, reflect.
    Oda,
    /// Triad's three roles in four phases.
    Triad,
    /// The model alone, without the graph.
    Direct,
    /// No model: the best one or two relations of the topic entities.
    Retrieval,
    /// No model: a beam over paths in the manner of Think-on-Graph (width 3, depth 3).
    Tog,
}

/// A part of Triad that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriadPart {
    /// D selects no entities and relations: the best candidates by words count.
    UriSelection,
    /// D selects no query: the first that matches counts.
    QuerySelection,
    /// A is not asked: what the query gives is the answer.
    Advisor,
}

/// Options of the agent triad.
#[derive(Clone, Debug, Args)]
pub(crate) struct TriadArgs {
    /// Triad: most tries at a question (T).
    #[arg(long, value_name = "T", default_value_t = TriadOptions::default().work.tries)]
    pub(crate) tries: usize,
    /// Triad: most relations selected for a triple (K; the paper's is 2).
    #[arg(long, value_name = "K", default_value_t = TriadOptions::default().work.relations)]
    pub(crate) top_relations: usize,
    /// Triad: most entities selected for a mention (K), where entities are linked.
    #[arg(long, value_name = "K", default_value_t = TriadOptions::default().work.entities)]
    pub(crate) top_entities: usize,
    /// Triad without these parts, separated by commas (ablations).
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub(crate) leave_out: Vec<TriadPart>,
}

impl TriadArgs {
    fn options(&self, linked: bool) -> TriadOptions {
        let has = |part: TriadPart| !self.leave_out.contains(&part);
        let work = triad::Options {
            tries: self.tries,
            relations: self.top_relations,
            entities: self.top_entities,
            select_uris: has(TriadPart::UriSelection),
            select_query: has(TriadPart::QuerySelection),
            advisor: has(TriadPart::Advisor),
            ..triad::Options::default()
        };
        TriadOptions {
            work,
            select_entities: linked,
        }
    }
}

/// What an action of ODA finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormName {
    /// Groups of triples that share near end, relation and direction.
    Grouped,
    /// Single triples of single entities.
    Paper,
}

/// Who chooses what ODA remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReflectionName {
    /// The model.
    Model,
    /// The triples most like the question.
    Similarity,
    /// Any, by a hash of the question: the same every time, whatever the seed.
    Random,
    /// Nothing: the model writes down facts that it knows.
    GeneratedFact,
}

/// How ODA observes and reflects; other agents pass it over.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OdaArgs {
    /// ODA: what an action finds; models are trained on groups.
    #[arg(
        long = "oda",
        value_enum,
        default_value = "grouped",
        value_name = "FORM"
    )]
    pub(crate) form: FormName,
    /// ODA: observe nothing.
    #[arg(long)]
    pub(crate) no_observation: bool,
    /// ODA: what is shown of an observation, in tokens by estimate.
    #[arg(long, default_value_t = OdaOptions::default().observation_tokens, value_name = "N")]
    pub(crate) observation_tokens: usize,
    /// ODA: hops of an observation (D in the paper).
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) observe_hops: usize,
    /// ODA: triples kept a hop (N in the paper).
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) observe_kept: usize,
    /// ODA: share of the kept triples whose far ends are observed next (P in the paper).
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    pub(crate) observe_expanded: f64,
    /// ODA: observe from heads to tails only, as the paper does.
    #[arg(long)]
    pub(crate) observe_forward: bool,
    /// ODA: rank what is around all task entities together.
    #[arg(long)]
    pub(crate) observe_joint: bool,
    /// ODA: who chooses what is remembered of an action's triples.
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) reflection: ReflectionName,
    /// ODA: groups of triples remembered of one action (K in the paper).
    #[arg(long, default_value_t = 15, value_name = "N")]
    pub(crate) reflect_kept: usize,
    /// ODA: actions before an answer is forced.
    #[arg(long, default_value_t = 8, value_name = "N")]
    pub(crate) iterations: usize,
}

impl OdaArgs {
    pub(crate) fn options(&self) -> OdaOptions {
        OdaOptions {
            form: match self.form {
                FormName::Grouped => TurnForm::Grouped,
                FormName::Paper => TurnForm::Paper,
            },
            observation: !self.no_observation,
            observation_tokens: self.observation_tokens,
            observe: ObserveOptions {
                hops: self.observe_hops,
                kept: self.observe_kept,
                expanded: self.observe_expanded,
                both_directions: !self.observe_forward,
                joint: self.observe_joint,
                ..ObserveOptions::default()
            },
            reflection: match self.reflection {
                ReflectionName::Model => Reflection::Model,
                ReflectionName::Similarity => Reflection::Similarity,
                ReflectionName::Random => Reflection::Random,
                ReflectionName::GeneratedFact => Reflection::GeneratedFact,
            },
            kept: self.reflect_kept,
            iterations: self.iterations,
            ..OdaOptions::default()
        }
    }
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

/// How the kg-agent loop deals with failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// As in the paper: a call that cannot be executed ends the question.
    Paper,
    /// An error goes back to the model, at most twice a step; nothing is called twice; see --beam and --answer-types.
    Robust,
}

/// The loop of kg-agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModeArgs {
    /// How the kg-agent loop deals with failure.
    #[arg(long, value_enum, default_value = "paper")]
    pub(crate) mode: ModeName,
    /// Programs kept side by side by log-probability, those that lead to nothing dropped (robust mode).
    #[arg(long, default_value_t = 1, value_name = "B", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) beam: u8,
    /// Refuse an answer of another kind than the question's first words ask for (robust mode).
    #[arg(long)]
    pub(crate) answer_types: bool,
}

impl ModeArgs {
    /// The loop in this mode.
    fn kind(&self) -> AgentKind {
        match self.mode {
            ModeName::Paper => AgentKind::KgAgent,
            ModeName::Robust => AgentKind::KgAgentRobust(Robust {
                beam: usize::from(self.beam),
                answer_types: self.answer_types,
                ..Robust::default()
            }),
        }
    }
}

/// How a server is told what may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConstraintName {
    /// Not at all: what comes back is checked, and asked for again at most twice.
    None,
    /// llama.cpp's field `grammar`.
    Grammar,
    /// vLLM's field `guided_grammar`.
    GuidedGrammar,
}

/// What a served model has learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Served {
    /// Anything: it is told what the turns mean and shown worked examples.
    Any,
    /// It is an export of a model trained here: it gets the turns of its training.
    Own,
}

/// A model behind a server (`--model http://HOST:PORT/v1`). The key comes from the environment only: `KGAGENT_API_KEY`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The model's name on the server.
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) served_model: String,
    /// What the model on the server has learned.
    #[arg(long, value_enum, default_value = "any", value_name = "WHAT")]
    pub(crate) served: Served,
    /// How the server is told what may be written.
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) constraint: ConstraintName,
    /// Seconds that one turn may take, retries and all.
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Worked examples that a served model is shown before the question; there are eight an agent.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) shots: usize,
}

impl RemoteArgs {
    /// What a planner needs to ask this server.
    pub(crate) fn options(&self, url: &str) -> anyhow::Result<RemoteOptions> {
        let key = match std::env::var("KGAGENT_API_KEY") {
            Ok(key) => Some(key),
            Err(std::env::VarError::NotPresent) => None,
            Err(error) => anyhow::bail!("KGAGENT_API_KEY: {error}"),
        };
        let constraint = match self.constraint {
            ConstraintName::None => Constraint::None,
            ConstraintName::Grammar => Constraint::Grammar,
            ConstraintName::GuidedGrammar => Constraint::GuidedGrammar,
        };
        let deadline = Duration::from_secs(self.timeout);
        let own = self.served == Served::Own;
        Ok(RemoteOptions {
            model: self.served_model.clone(),
            key,
            constraint,
            own,
            deadline,
            shots: self.shots,
            ..RemoteOptions::new(url)
        })
    }
}

/// Where a local model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerDevice {
    /// The CPU.
    Cpu,
    /// The first NVIDIA GPU (builds with `--features cuda-infer`; CUDA_VISIBLE_DEVICES says which is first).
    Cuda,
}

impl From<AnswerDevice> for EngineDevice {
    fn from(device: AnswerDevice) -> Self {
        match device {
            AnswerDevice::Cpu => Self::Cpu,
            AnswerDevice::Cuda => Self::Cuda,
        }
    }
}

/// How a question is answered, whichever way it came.
#[derive(Debug, Args)]
pub(crate) struct AnsweringArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Where a model folder or file answers.
    #[arg(long, value_enum, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: AnswerDevice,
    #[command(flatten)]
    pub(crate) mode: ModeArgs,
    #[command(flatten)]
    pub(crate) oda: OdaArgs,
    #[command(flatten)]
    pub(crate) triad: TriadArgs,
    /// Say that the graph has nothing where a model would, left alone, have written something that is not in it by more than this probability, instead of
    /// the next best thing that is; 1 takes the next best always. Without it as much as the model's held-out examples showed it can bear.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) doubt: Option<f64>,
    /// Where the graph has no answer, ask the model for what it knows itself; such an answer says that it is the model's. Without this it is
    /// "none", with the reason.
    #[arg(long)]
    pub(crate) allow_model_knowledge: bool,
}

impl AnsweringArgs {
    /// The agent with its options. `linked` says whether entities were found in the question and not given.
    pub(crate) fn kind(&self, agent: AgentName, linked: bool) -> AgentKind {
        match agent {
            AgentName::KgAgent => self.mode.kind(),
            AgentName::Oda => AgentKind::Oda(self.oda.options()),
            AgentName::Triad => AgentKind::Triad(self.triad.options(linked)),
            AgentName::Direct => AgentKind::Direct,
            AgentName::Retrieval => AgentKind::Retrieval,
            AgentName::Tog => AgentKind::Tog,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) answering: AnsweringArgs,
    /// Model folder, GGUF file, http://HOST:PORT/v1 of an OpenAI-compatible server, or scripted:FILE (what the model would write, one turn a line);
    /// `retrieval` and `tog` need none.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
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
    pub(crate) answering: AnsweringArgs,
    /// Model folder, GGUF file, http://HOST:PORT/v1 of an OpenAI-compatible server, or `oracle` (gold programs, of kg-agent and oda); `retrieval` and `tog`
    /// need none.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Where questions come from; as for `datagen gold`.
    #[arg(long, value_name = "FORMAT=PATH")]
    pub(crate) source: String,
    /// Who answers; several, separated by commas, are measured on the same questions and shown side by side.
    #[arg(
        long = "agent",
        value_enum,
        value_delimiter = ',',
        default_value = "kg-agent"
    )]
    pub(crate) agents: Vec<AgentName>,
    /// Folder to write: report.html, metrics.json, predictions.jsonl and predictions.qald.json, in a folder each where there are several agents.
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
    /// Take out of every question's view one relation that its gold program needs: the right answer is then that there is none. Questions that
    /// something else in the graph would still answer are left out.
    #[arg(long)]
    pub(crate) withhold: bool,
    /// Print the papers' results on this data set beside ours, and how the settings differ.
    #[arg(long)]
    pub(crate) compare: bool,
    /// Write a trace of every question into this folder of the output.
    #[arg(long)]
    pub(crate) traces: bool,
    /// Questions answered together, so that the weights are read once for all of them; without it 16 on a GPU and for models that do not fit
    /// into a processor's cache, else one a thread. Answers do not depend on it, on a GPU but for rounding.
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
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
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Decode again with this model folder and compare the tokens too, instead of running the calls that the trace has.
    #[arg(long, value_name = "MODEL")]
    pub(crate) decode: Option<PathBuf>,
    /// With --decode: where the model answers. A GPU's numbers are the CPU's but for rounding, so a trace is decoded again where it was made.
    #[arg(long, value_enum, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: AnswerDevice,
    /// With --decode: the doubt that the model was left when the trace was written.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) doubt: Option<f64>,
}
