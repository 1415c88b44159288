//! The agents and their options.

use serde::{Deserialize, Serialize};
use toolbox::agent::Agent;
use toolbox::oda::OdaOptions;
use toolbox::prompts::{self, PromptFile};
use toolbox::published::tog::TogOptions;
use toolbox::published::triad::PublishedTriadOptions;
use toolbox::triad;

/// An agent with its options. Each variant has an entry in [`AgentKind::profile`] and an arm in
/// [`answer_with`](super::answer_with).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "agent", content = "options", rename_all = "kebab-case")]
pub enum AgentKind {
    /// The tool loop of KG-Agent.
    KgAgent,
    /// The tool loop with recovery from errors.
    KgAgentRobust(Robust),
    /// The tool loop's program compared with programs around the linked entities.
    KgAgentDecide(Deciding),
    /// No model: the program that explains the question's words best.
    Words(Deciding),
    /// Observe, act, reflect.
    Oda(OdaOptions),
    /// Triad's three roles.
    Triad(TriadOptions),
    /// ODA's answer compared with programs around the linked entities.
    OdaDecide(Voting<OdaOptions>),
    /// Triad's answer compared with programs around the linked entities.
    TriadDecide(Voting<TriadOptions>),
    /// ODA as published, for models that were not trained here.
    OdaPaper(OdaOptions),
    /// Triad as published, for models that were not trained here.
    TriadPaper(PublishedTriadOptions),
    /// The model alone, without the graph.
    Direct,
    /// The model alone, with thoughts before its answer.
    Cot(ThoughtsOptions),
    /// The model alone: the most frequent answer of several chains of thought.
    SelfConsistency(ThoughtsOptions),
    /// Think-on-Graph: a beam over paths that the model rates.
    TogModel(TogOptions),
    /// No model: the best one or two relations of the topic entities.
    Retrieval,
    /// No model: a beam over paths in the manner of Think-on-Graph.
    Tog,
}

/// Options of the robust tool loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Robust {
    /// Times that a step is repeated after an error.
    pub reasks: usize,
    /// Whether an answer of the wrong kind (a set where the question asks how many) is rejected.
    pub answer_types: bool,
}

impl Default for Robust {
    fn default() -> Self {
        Self {
            reasks: 2,
            answer_types: false,
        }
    }
}

/// Options of deciding between candidate programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciding {
    /// Candidates that are proposed, without the model's own and the one that gives up.
    pub candidates: usize,
}

impl Default for Deciding {
    fn default() -> Self {
        Self { candidates: 6 }
    }
}

/// Options of an agent whose answer is compared with programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voting<O> {
    /// Candidates that are proposed, without the agent's own and the one that gives up.
    pub candidates: usize,
    /// The agent's options.
    pub agent: O,
}

/// Options of Triad.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriadOptions {
    /// K, T and the limits.
    pub work: triad::Options,
    /// Whether D selects the meanings of the question's mentions; off if the entities are given.
    pub select_entities: bool,
}

impl Default for TriadOptions {
    /// The paper's limits, but one relation per triple: a model trained for the graph gains nothing
    /// from a second one (docs/results.md).
    fn default() -> Self {
        Self {
            work: triad::Options {
                relations: 1,
                ..triad::Options::default()
            },
            select_entities: false,
        }
    }
}

/// Options of the baselines that think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThoughtsOptions {
    /// Worked examples in the prompt.
    pub examples: usize,
    /// Chains of thought; one is chain of thought, more are self-consistency.
    pub samples: usize,
}

impl Default for ThoughtsOptions {
    fn default() -> Self {
        Self {
            examples: 3,
            samples: 1,
        }
    }
}

/// What callers need to know about an agent in order to run and measure it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentProfile<'a> {
    /// The name on the command line, in traces and in reports.
    pub name: &'static str,
    /// The agent whose training data the model must have seen. The baselines have no training data
    /// and render as the tool loop does.
    pub trained_as: Agent,
    /// Whether the agent needs a model.
    pub needs_model: bool,
    /// Whether the answer is the result of a program of calls, comparable with the gold program.
    pub writes_programs: bool,
    /// What an oracle replays; `None` if there is no gold for this agent.
    pub oracle: Option<GoldTurns<'a>>,
}

/// The turns that an oracle replays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoldTurns<'a> {
    /// The calls of the gold program.
    Program,
    /// The turns of an ideal ODA run with these options.
    IdealRun(&'a OdaOptions),
}

impl GoldTurns<'_> {
    /// The turn that ends a question without an answer.
    #[must_use]
    pub const fn abstention(&self) -> &'static str {
        match self {
            Self::Program => "ans = end([])",
            Self::IdealRun(_) => "answer none",
        }
    }
}

impl AgentKind {
    /// The agent's properties.
    #[must_use]
    pub fn profile(&self) -> AgentProfile<'_> {
        let tool_loop = AgentProfile {
            name: "kg-agent",
            trained_as: Agent::KgAgent,
            needs_model: true,
            writes_programs: true,
            oracle: Some(GoldTurns::Program),
        };
        let baseline = |name, needs_model| AgentProfile {
            name,
            needs_model,
            writes_programs: false,
            oracle: None,
            ..tool_loop
        };
        match self {
            Self::KgAgent => tool_loop,
            Self::KgAgentRobust(_) => AgentProfile {
                name: "kg-agent-robust",
                oracle: None,
                ..tool_loop
            },
            Self::KgAgentDecide(_) => AgentProfile {
                name: "kg-agent-decide",
                oracle: None,
                ..tool_loop
            },
            Self::Words(_) => AgentProfile {
                writes_programs: true,
                ..baseline("words", false)
            },
            Self::Oda(options) => AgentProfile {
                name: "oda",
                trained_as: Agent::Oda,
                needs_model: true,
                writes_programs: false,
                oracle: Some(GoldTurns::IdealRun(options)),
            },
            Self::Triad(_) => AgentProfile {
                trained_as: Agent::Triad,
                ..baseline("triad", true)
            },
            Self::OdaDecide(_) => AgentProfile {
                trained_as: Agent::Oda,
                ..baseline("oda-decide", true)
            },
            Self::TriadDecide(_) => AgentProfile {
                trained_as: Agent::Triad,
                ..baseline("triad-decide", true)
            },
            Self::OdaPaper(_) => AgentProfile {
                trained_as: Agent::Oda,
                ..baseline("oda-paper", true)
            },
            Self::TriadPaper(_) => AgentProfile {
                trained_as: Agent::Triad,
                ..baseline("triad-paper", true)
            },
            Self::Direct => baseline("direct", true),
            Self::Cot(_) => baseline("cot", true),
            Self::SelfConsistency(_) => baseline("self-consistency", true),
            Self::TogModel(_) => baseline("tog-model", true),
            Self::Retrieval => baseline("retrieval", false),
            Self::Tog => baseline("tog", false),
        }
    }

    /// The name on the command line, in traces and in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.profile().name
    }

    /// Whether the agent needs a model.
    #[must_use]
    pub fn needs_model(&self) -> bool {
        self.profile().needs_model
    }

    /// Whether the answer is the result of a program of calls, comparable with the gold program.
    #[must_use]
    pub fn writes_programs(&self) -> bool {
        self.profile().writes_programs
    }

    /// The agent whose training data the model must have seen.
    #[must_use]
    pub fn trained_as(&self) -> Agent {
        self.profile().trained_as
    }

    /// Whether the agent answers without the graph.
    #[must_use]
    pub fn knows_itself(&self) -> bool {
        matches!(self, Self::Direct | Self::Cot(_) | Self::SelfConsistency(_))
    }

    /// Whether worked examples may stand in its prompts.
    #[must_use]
    pub fn takes_examples(&self) -> bool {
        self.needs_model() && !matches!(self, Self::Direct | Self::OdaPaper(_) | Self::TogModel(_))
    }

    /// The prompt files that the agent's requests to a model are made from. The tool loop, ODA and
    /// Triad of models trained here have none; a served model gets the instructions for their
    /// turns.
    #[must_use]
    pub fn prompts(&self) -> &'static [PromptFile] {
        match self {
            Self::KgAgent | Self::KgAgentRobust(_) | Self::KgAgentDecide(_) => {
                &[prompts::SERVED_KG_AGENT, prompts::SERVED_KG_AGENT_TOOLS]
            }
            Self::Oda(_) | Self::OdaDecide(_) => &[prompts::SERVED_ODA],
            Self::Triad(_) | Self::TriadDecide(_) => &[prompts::SERVED_TRIAD],
            Self::OdaPaper(_) => &[
                prompts::ODA_ACTION,
                prompts::ODA_REFLECTION,
                prompts::ODA_FACTS,
                prompts::ODA_ANSWER,
            ],
            Self::TriadPaper(_) => &[
                prompts::TRIAD_TRIPLES,
                prompts::TRIAD_TYPE,
                prompts::TRIAD_ENTITY,
                prompts::TRIAD_RELATION,
                prompts::TRIAD_QUERY,
                prompts::TRIAD_SELECTION,
                prompts::TRIAD_YES_OR_NO,
                prompts::TRIAD_FACT,
                prompts::TRIAD_EXAMPLES,
            ],
            Self::Direct => &[prompts::DIRECT],
            Self::Cot(_) | Self::SelfConsistency(_) => {
                &[prompts::THOUGHTS, prompts::THOUGHTS_EXAMPLES]
            }
            Self::TogModel(_) => &[
                prompts::TOG_RELATIONS,
                prompts::TOG_ENTITIES,
                prompts::TOG_REASONING,
                prompts::TOG_ANSWER,
            ],
            Self::Words(_) | Self::Retrieval | Self::Tog => &[],
        }
    }

    /// The hash of [`prompts`](Self::prompts), without the instructions for turns unless a served
    /// model gets them; `None` if there are no prompts.
    #[must_use]
    pub fn prompts_hash(&self, instructed: bool) -> Option<String> {
        let used = |prompt: &&PromptFile| instructed || !prompt.name.starts_with("served/");
        let used: Vec<PromptFile> = self.prompts().iter().filter(used).copied().collect();
        (!used.is_empty()).then(|| prompts::hash_of(&used))
    }

    /// The agent as it answers best: it decides between its own answer and programs.
    #[must_use]
    pub fn best(agent: Agent) -> Self {
        Self::from(agent).deciding(Deciding::default())
    }

    /// The agent, deciding between its own answer and programs if it can.
    #[must_use]
    pub fn deciding(self, options: Deciding) -> Self {
        let candidates = options.candidates;
        match self {
            Self::KgAgent => Self::KgAgentDecide(options),
            Self::Oda(agent) => Self::OdaDecide(Voting { candidates, agent }),
            Self::Triad(agent) => Self::TriadDecide(Voting { candidates, agent }),
            other => other,
        }
    }

    /// The agent without a decision.
    #[must_use]
    pub fn bare(self) -> Self {
        match self {
            Self::KgAgentDecide(_) => Self::KgAgent,
            Self::OdaDecide(voting) => Self::Oda(voting.agent),
            Self::TriadDecide(voting) => Self::Triad(voting.agent),
            other => other,
        }
    }

    /// ODA's options, if it is ODA in one of its forms.
    pub fn oda_mut(&mut self) -> Option<&mut OdaOptions> {
        match self {
            Self::Oda(options) | Self::OdaPaper(options) => Some(options),
            Self::OdaDecide(voting) => Some(&mut voting.agent),
            _ => None,
        }
    }

    /// Triad's options, unless it is as published.
    pub fn triad_mut(&mut self) -> Option<&mut TriadOptions> {
        match self {
            Self::Triad(options) => Some(options),
            Self::TriadDecide(voting) => Some(&mut voting.agent),
            _ => None,
        }
    }

    /// Names that [`named`](Self::named) knows: the agents on the command line.
    pub const NAMES: [&'static str; 7] = [
        "kg-agent",
        "oda",
        "triad",
        "direct",
        "words",
        "retrieval",
        "tog",
    ];

    /// The agent of this name on the command line, with default options. `linked` tells whether its
    /// entities are found in the question rather than given.
    #[must_use]
    pub fn named(name: &str, linked: bool) -> Option<Self> {
        Some(match name {
            "kg-agent" => Self::best(Agent::KgAgent),
            "oda" => Self::best(Agent::Oda),
            "triad" => Self::Triad(TriadOptions {
                select_entities: linked,
                ..TriadOptions::default()
            })
            .deciding(Deciding::default()),
            "direct" => Self::Direct,
            "words" => Self::Words(Deciding::default()),
            "retrieval" => Self::Retrieval,
            "tog" => Self::Tog,
            _ => return None,
        })
    }

    /// The agent with this name and these options, as recorded in a trace
    /// ([`TraceEvent::Observe`](toolbox::trace::TraceEvent::Observe)).
    ///
    /// # Errors
    /// A message about the name or the options.
    pub fn traced(name: &str, options: &serde_json::Value) -> Result<Self, String> {
        serde_json::from_value(serde_json::json!({ "agent": name, "options": options }))
            .map_err(|error| error.to_string())
    }

    /// The options as recorded in traces and results.
    #[must_use]
    pub fn options(&self) -> serde_json::Value {
        // Options are numbers and names, so serialising them cannot fail.
        serde_json::to_value(self)
            .ok()
            .and_then(|mut whole| whole.get_mut("options").map(serde_json::Value::take))
            .unwrap_or_default()
    }
}

impl From<Agent> for AgentKind {
    /// The agent with default options.
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::KgAgent => Self::KgAgent,
            Agent::Oda => Self::Oda(OdaOptions::default()),
            Agent::Triad => Self::Triad(TriadOptions::default()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_names_an_agent_with_all_its_options() {
        let robust = Robust {
            reasks: 4,
            ..Robust::default()
        };
        let blind = OdaOptions {
            observation: false,
            kept: 3,
            ..OdaOptions::default()
        };
        let defaults = Agent::ALL.map(AgentKind::from);
        let others = [
            AgentKind::KgAgentRobust(robust),
            AgentKind::KgAgentDecide(Deciding { candidates: 3 }),
            AgentKind::Words(Deciding::default()),
            AgentKind::Oda(blind.clone()),
            AgentKind::Oda(blind).deciding(Deciding::default()),
            AgentKind::best(Agent::Triad),
            AgentKind::OdaPaper(OdaOptions::published()),
            AgentKind::TriadPaper(PublishedTriadOptions::default()),
            AgentKind::Direct,
            AgentKind::Cot(ThoughtsOptions::default()),
            AgentKind::SelfConsistency(ThoughtsOptions::default()),
            AgentKind::TogModel(TogOptions { width: 2, depth: 1 }),
            AgentKind::Retrieval,
            AgentKind::Tog,
        ];
        for agent in defaults.iter().chain(&others) {
            assert_eq!(
                AgentKind::traced(agent.name(), &agent.options()).as_ref(),
                Ok(agent)
            );
        }
        // Traces of version 2 may name options that were removed since.
        let earlier = serde_json::json!({ "reasks": 4, "beam": 1, "answer_types": false });
        assert_eq!(
            AgentKind::traced("kg-agent-robust", &earlier),
            Ok(AgentKind::KgAgentRobust(robust))
        );
        assert!(
            AgentKind::traced("nobody", &serde_json::Value::Null)
                .unwrap_err()
                .contains("nobody")
        );
    }
}
