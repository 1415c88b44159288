//! The agents on the command line: their names, their options and how they plan.

use clap::{Args, ValueEnum};
use infer::agent::AgentKind;
use infer::agent::Deciding;
use infer::agent::Robust;
use infer::agent::ThoughtsOptions;
use infer::agent::TriadOptions;
use toolbox::agent::Agent;
use toolbox::observe::ObserveOptions;
use toolbox::oda::{OdaOptions, Reflection};
use toolbox::published::tog::TogOptions;
use toolbox::published::triad::{Advice, PublishedTriadOptions};
use toolbox::triad;

use super::values::{Names, names, number, one_of};

/// Options of each agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    mode: ModeArgs,
    #[command(flatten)]
    oda: OdaArgs,
    #[command(flatten)]
    triad: TriadArgs,
    /// Agent `self-consistency`: number of chains of thought; the most frequent answer counts.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = number::<u8>(2..=64))]
    samples: u8,
}

/// Makes an agent from its options. The flag tells whether entities are linked rather than given.
pub(crate) type MakeAgent = fn(&AgentArgs, bool) -> AgentKind;

/// All agents.
pub(super) const AGENTS: Names<MakeAgent> = names! {
    "kg-agent": "The tool loop of KG-Agent" => |args, _| args.mode.kind();
    "oda": "Observe, act, reflect (ODA)" => |args, _| args.mode.of(args.oda.kind());
    "triad": "Triad's three roles in four phases"
        => |args, linked| args.mode.of(args.triad.kind(linked));
    "direct": "The model alone, without the graph: its answer at once" => |_, _| AgentKind::Direct;
    "cot": "The model alone: thoughts first, then the answer"
        => |_, _| AgentKind::Cot(ThoughtsOptions::default());
    "self-consistency": "The model alone: the most frequent answer of several chains of thought"
        => |args, _| AgentKind::SelfConsistency(ThoughtsOptions {
            samples: usize::from(args.samples),
            ..ThoughtsOptions::default()
        });
    "tog-model": "Think-on-Graph: a beam search over paths that the model rates (width 3, depth 3)"
        => |_, _| AgentKind::TogModel(TogOptions::default());
    "words": "No model: the program that explains the question's words best"
        => |args, _| AgentKind::Words(args.mode.deciding());
    "retrieval": "No model: the best one or two relations of the topic entities"
        => |_, _| AgentKind::Retrieval;
    "tog": "No model: beam search over paths in the style of Think-on-Graph (width 3, depth 3)"
        => |_, _| AgentKind::Tog;
};

/// How the kg-agent loop deals with failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// As in the agent's paper. kg-agent: a call that cannot be executed ends the question.
    Paper,
    /// Compare the agent's own answer with programs around the linked entities, by the words of the
    /// question that each explains; see --candidates.
    Decide,
    /// kg-agent: return errors to the model, at most twice per step, and never repeat a call; see
    /// --answer-types.
    Robust,
}

/// How kg-agent, ODA and Triad reach an answer.
#[derive(Clone, Debug, Args)]
struct ModeArgs {
    /// How kg-agent, oda and triad choose their answer [default: decide; paper for `oracle`,
    /// `scripted:…` and servers].
    ///
    /// kg-agent without a model is the agent `words`.
    #[arg(long, value_enum)]
    mode: Option<ModeName>,
    /// Decide mode and agent `words`: number of programs compared with the agent's own.
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = number::<u8>(1..=32))]
    candidates: u8,
    /// Robust mode: reject answers of a kind that the question's first words do not ask for.
    #[arg(long)]
    answer_types: bool,
}

impl AgentArgs {
    /// The agent for a planner, if no mode was named. Without a model, the words of the question decide
    /// for the tool loop. Replayed texts and servers give no probabilities, so agents run alone with
    /// them.
    pub(crate) fn for_planner(&self, agent: AgentKind, model: Option<&str>) -> AgentKind {
        let decides = agent.clone().bare() != agent;
        if !decides || self.mode.mode.is_some() {
            return agent;
        }
        let silent = |name: &str| {
            name == "oracle"
                || ["scripted:", "http://", "https://"]
                    .iter()
                    .any(|start| name.starts_with(start))
        };
        match model {
            None if agent.trained_as() == Agent::KgAgent => AgentKind::Words(self.mode.deciding()),
            Some(name) if silent(name) => agent.bare(),
            _ => agent,
        }
    }
}

impl ModeArgs {
    fn deciding(&self) -> Deciding {
        Deciding {
            candidates: usize::from(self.candidates),
        }
    }

    /// The agent in this mode; only kg-agent has the robust one.
    fn of(&self, agent: AgentKind) -> AgentKind {
        match self.mode {
            None | Some(ModeName::Decide) => agent.deciding(self.deciding()),
            Some(ModeName::Paper | ModeName::Robust) => agent,
        }
    }

    fn kind(&self) -> AgentKind {
        match self.mode {
            Some(ModeName::Robust) => AgentKind::KgAgentRobust(Robust {
                answer_types: self.answer_types,
                ..Robust::default()
            }),
            _ => self.of(AgentKind::KgAgent),
        }
    }
}

/// In which form an agent asks its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Short turns with handles.
    Turns,
    /// The published prompts.
    Paper,
}

const ODA_FORMS: Names<Form> = names! {
    "grouped": "Short turns over groups of triples, which models are trained on here" => Form::Turns;
    "paper": "As published, for a large served model: single triples, the memory in every prompt, \
              the answer from memory and own knowledge" => Form::Paper;
};

const TRIAD_FORMS: Names<Form> = names! {
    "turns": "Short turns with handles, which models are trained on here" => Form::Turns;
    "paper": "As published, for a large served model: it extracts the mentions itself and writes \
              SPARQL; --entities has no effect" => Form::Paper;
};

pub(super) const REFLECTIONS: Names<Reflection> = names! {
    "model": "The model" => Reflection::Model;
    "similarity": "Similarity: the triples most like the question" => Reflection::Similarity;
    "random": "Chance: a hash of the question, the same for every seed" => Reflection::Random;
    "generated-fact": "Nothing is chosen: the model writes down facts that it knows"
        => Reflection::GeneratedFact;
};

/// How ODA observes and reflects; other agents ignore it.
#[derive(Clone, Copy, Debug, Args)]
struct OdaArgs {
    /// ODA: how the model is asked.
    #[arg(
        long = "oda",
        value_parser = one_of(ODA_FORMS),
        default_value = "grouped",
        value_name = "FORM"
    )]
    oda_form: Form,
    /// ODA: skip the observation.
    #[arg(long)]
    no_observation: bool,
    /// ODA: maximum length of a shown observation, in estimated tokens [default: 32; 4000 with
    /// `--oda paper`].
    #[arg(long, value_name = "N")]
    observation_tokens: Option<usize>,
    /// ODA: hops of an observation (D in the paper).
    #[arg(long, default_value_t = 3, value_name = "N")]
    observe_hops: usize,
    /// ODA: triples kept per hop (N in the paper).
    #[arg(long, default_value_t = 50, value_name = "N")]
    observe_kept: usize,
    /// ODA: share of the kept triples whose far ends are observed next (P in the paper).
    #[arg(long, default_value_t = 0.1, value_name = "SHARE")]
    observe_expanded: f64,
    /// ODA: observe from heads to tails only, as in the paper [default: with `--oda paper`].
    #[arg(long)]
    observe_forward: bool,
    /// ODA with `--oda paper`: also observe and explore from tails to heads.
    #[arg(long, conflicts_with = "observe_forward")]
    observe_both: bool,
    /// ODA: rank the neighbourhoods of all task entities together.
    #[arg(long)]
    observe_joint: bool,
    /// ODA: what chooses the triples of an action to remember.
    #[arg(long, value_parser = one_of(REFLECTIONS), default_value = "model")]
    reflection: Reflection,
    /// ODA: groups of triples remembered per action (K in the paper).
    #[arg(long, default_value_t = 15, value_name = "N")]
    reflect_kept: usize,
    /// ODA: number of actions before an answer is forced.
    #[arg(long, default_value_t = 8, value_name = "N")]
    iterations: usize,
}

impl OdaArgs {
    fn kind(&self) -> AgentKind {
        match self.oda_form {
            Form::Turns => {
                AgentKind::Oda(self.options(&OdaOptions::default(), !self.observe_forward))
            }
            Form::Paper => {
                AgentKind::OdaPaper(self.options(&OdaOptions::published(), self.observe_both))
            }
        }
    }

    fn options(&self, usual: &OdaOptions, both_directions: bool) -> OdaOptions {
        OdaOptions {
            observation: !self.no_observation,
            observation_tokens: self.observation_tokens.unwrap_or(usual.observation_tokens),
            observe: ObserveOptions {
                hops: self.observe_hops,
                kept: self.observe_kept,
                expanded: self.observe_expanded,
                both_directions,
                joint: self.observe_joint,
                ..ObserveOptions::default()
            },
            reflection: self.reflection,
            kept: self.reflect_kept,
            iterations: self.iterations,
            ..usual.clone()
        }
    }
}

/// A part of Triad that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriadPart {
    /// With `--triad paper`: G is not asked; every linked mention and the question's words are a
    /// triple.
    #[value(alias = "g")]
    Generalist,
    /// D is not asked: neither for entities and relations nor for a query.
    #[value(alias = "d")]
    DecisionMaker,
    /// D does not select entities and relations; the best lexical matches are used.
    UriSelection,
    /// D does not select a query; the first match is used.
    QuerySelection,
    /// A is not asked; the result of the query is the answer.
    #[value(alias = "a")]
    Advisor,
    /// With `--triad paper`: A is asked about yes/no questions only.
    AdvisorNames,
}

impl TriadPart {
    /// The agent without this part; `None` if it has no such part.
    pub(crate) fn left_out_of(self, agent: &AgentKind) -> Option<AgentKind> {
        let mut agent = agent.clone();
        match (&mut agent, self) {
            (AgentKind::TriadPaper(options), Self::Generalist) => options.generalist = false,
            (AgentKind::TriadPaper(options), Self::AdvisorNames) => {
                options.advice = Advice::YesOrNo;
            }
            (AgentKind::TriadPaper(options), Self::Advisor) => options.advice = Advice::None,
            (AgentKind::TriadPaper(options), _) => {
                options.select_uris &= self == Self::QuerySelection;
                options.select_query &= self == Self::UriSelection;
            }
            (_, Self::Generalist | Self::AdvisorNames) => return None,
            (other, Self::Advisor) => other.triad_mut()?.work.advisor = false,
            (other, _) => {
                let work = &mut other.triad_mut()?.work;
                work.select_uris &= self == Self::QuerySelection;
                work.select_query &= self == Self::UriSelection;
            }
        }
        Some(agent)
    }
}

/// Options of Triad; other agents ignore them.
#[derive(Clone, Debug, Args)]
struct TriadArgs {
    /// Triad: how the model is asked.
    #[arg(
        long = "triad",
        value_parser = one_of(TRIAD_FORMS),
        default_value = "turns",
        value_name = "FORM"
    )]
    triad_form: Form,
    /// Triad: maximum number of tries per question (T).
    #[arg(long, value_name = "T", default_value_t = TriadOptions::default().work.tries)]
    tries: usize,
    /// Triad: maximum number of relations selected per triple (K) [default: 1; 2 with `--triad
    /// paper`, as in the paper].
    #[arg(long, value_name = "K")]
    top_relations: Option<usize>,
    /// Triad: maximum number of entities selected per mention (K), if entities are linked.
    #[arg(long, value_name = "K", default_value_t = TriadOptions::default().work.entities)]
    top_entities: usize,
    /// Triad: parts to leave out, separated by commas (ablations).
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    leave_out: Vec<TriadPart>,
}

impl TriadArgs {
    fn kind(&self, linked: bool) -> AgentKind {
        let whole = match self.triad_form {
            Form::Turns => {
                let usual = TriadOptions::default();
                AgentKind::Triad(TriadOptions {
                    work: triad::Options {
                        tries: self.tries,
                        relations: self.top_relations.unwrap_or(usual.work.relations),
                        entities: self.top_entities,
                        ..triad::Options::default()
                    },
                    select_entities: linked,
                })
            }
            Form::Paper => {
                let usual = PublishedTriadOptions::default();
                AgentKind::TriadPaper(PublishedTriadOptions {
                    tries: self.tries,
                    relations: self.top_relations.unwrap_or(usual.relations),
                    entities: self.top_entities,
                    ..usual
                })
            }
        };
        let parts = self.leave_out.iter();
        parts.fold(whole, |agent, part| {
            part.left_out_of(&agent).unwrap_or(agent)
        })
    }
}

/// The agent with this many worked examples in its prompts, if it has any of its own. Other agents
/// of a served model get theirs from the planner.
pub(crate) fn with_examples(mut agent: AgentKind, examples: usize) -> AgentKind {
    match &mut agent {
        AgentKind::TriadPaper(options) => options.examples = examples,
        AgentKind::Cot(options) | AgentKind::SelfConsistency(options) => {
            options.examples = examples;
        }
        _ => {}
    }
    agent
}
