//! The agents. Each is one way of driving the toolbox with a planner; all take a [`Task`] and give an [`Outcome`], so that one harness measures them.

pub mod direct;
pub mod kg_agent;
pub mod oda;
pub mod path_baselines;
pub mod robust;
pub mod triad;

use common::transcript::Turn;
use kg::Kg;
use kg::term::NodeId;
use serde::{Deserialize, Serialize};
use toolbox::agent::Agent;
use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::exec::ExecOptions;
use toolbox::link::Linked;
use toolbox::oda::OdaOptions;
use toolbox::prompt::Template;
use toolbox::trace::{Opening, TRACE_VERSION, TraceEvent};

use crate::InferError;
use crate::planner::Planner;

/// Which agent answers. A further agent is a variant here (with its options, where it has any) and an arm in [`answer_with`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "agent", content = "options", rename_all = "kebab-case")]
pub enum AgentKind {
    /// The tool loop of KG-Agent.
    KgAgent,
    /// The same, going on after errors, with several programs side by side.
    KgAgentRobust(robust::Robust),
    /// Observe, act, reflect.
    Oda(OdaOptions),
    /// Triad's three roles.
    Triad(triad::TriadOptions),
    /// The model alone, without the graph.
    Direct,
    /// No model: the best one or two relations of the topic entities.
    Retrieval,
    /// No model: a beam over paths in the manner of Think-on-Graph.
    Tog,
}

impl AgentKind {
    /// The name on the command line, in traces and in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::KgAgent => "kg-agent",
            Self::KgAgentRobust(_) => "kg-agent-robust",
            Self::Oda(_) => "oda",
            Self::Triad(_) => "triad",
            Self::Direct => "direct",
            Self::Retrieval => "retrieval",
            Self::Tog => "tog",
        }
    }

    /// Whether it needs a model at all.
    #[must_use]
    pub fn needs_model(&self) -> bool {
        !matches!(self, Self::Retrieval | Self::Tog)
    }

    /// Whether its answer is what a program of calls gives, so that it can be compared with the gold one.
    #[must_use]
    pub fn writes_programs(&self) -> bool {
        matches!(self, Self::KgAgent | Self::KgAgentRobust(_))
    }

    /// Whose training data its model must have seen; the baselines, which nothing is trained for, render as the tool loop does.
    #[must_use]
    pub fn trained_as(&self) -> Agent {
        match self {
            Self::KgAgent | Self::KgAgentRobust(_) | Self::Direct | Self::Retrieval | Self::Tog => {
                Agent::KgAgent
            }
            Self::Oda(_) => Agent::Oda,
            Self::Triad(_) => Agent::Triad,
        }
    }

    /// The agent of a name with options as a trace has them ([`TraceEvent::Observe`]).
    ///
    /// # Errors
    /// What is wrong with the name or the options, in words.
    pub fn traced(name: &str, options: &serde_json::Value) -> Result<Self, String> {
        serde_json::from_value(serde_json::json!({ "agent": name, "options": options }))
            .map_err(|error| error.to_string())
    }

    /// Its options as a trace has them.
    fn options(&self) -> serde_json::Value {
        // Options are plain numbers and names; there is no way for them not to be JSON.
        serde_json::to_value(self)
            .ok()
            .and_then(|mut whole| whole.get_mut("options").map(serde_json::Value::take))
            .unwrap_or_default()
    }
}

impl From<Agent> for AgentKind {
    /// The agent that is trained for, with the options it has by default.
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::KgAgent => Self::KgAgent,
            Agent::Oda => Self::Oda(OdaOptions::default()),
            Agent::Triad => Self::Triad(triad::TriadOptions::default()),
        }
    }
}

/// One question for an agent.
pub struct Task<'a> {
    /// The graph.
    pub kg: &'a dyn Kg,
    /// The question as asked.
    pub question: &'a str,
    /// What it is about.
    pub linked: Linked,
    /// Classes that must be on offer (an oracle's; empty otherwise).
    pub must_offer: &'a [NodeId],
    /// Limits, exclusions and ranking.
    pub options: ExecOptions,
    /// The prompt template.
    pub template: &'a Template,
    /// The planner's name, for the trace.
    pub planner_name: &'a str,
    /// Whether the model is asked for what it knows itself where the graph has no answer (Triad's advisor, ODA's answer): such an answer says
    /// that it is the model's.
    pub model_knowledge: bool,
}

/// Answers one question with an agent.
///
/// # Errors
/// [`InferError`] when the planner itself fails; a question without an answer is an [`Outcome`].
pub fn answer_with(
    agent: &AgentKind,
    task: Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    planner.begin();
    let (kg, question, may_know) = (
        task.kg,
        task.question,
        task.model_knowledge && agent.needs_model(),
    );
    let outcome = match agent {
        AgentKind::KgAgent => kg_agent::answer(task, planner),
        AgentKind::KgAgentRobust(mode) => robust::answer(*mode, &task, planner),
        AgentKind::Oda(options) => oda::answer(task, options, planner),
        AgentKind::Triad(options) => triad::answer(options, task, planner),
        AgentKind::Direct => direct::answer(&task, planner),
        AgentKind::Retrieval => {
            path_baselines::answer(agent, path_baselines::Beam::RETRIEVAL, &task)
        }
        AgentKind::Tog => path_baselines::answer(agent, path_baselines::Beam::TOG, &task),
    }?;
    if may_know && outcome.answer.is_none() && *agent != AgentKind::Direct {
        return direct::instead(kg, question, outcome, planner);
    }
    Ok(outcome)
}

/// The event that opens a trace.
fn opening(task: &Task<'_>, agent: &AgentKind) -> TraceEvent {
    let names = |nodes: &[NodeId]| {
        nodes
            .iter()
            .map(|&node| task.kg.name(node))
            .collect::<Vec<_>>()
    };
    TraceEvent::Observe(Box::new(Opening {
        version: TRACE_VERSION,
        agent: agent.name().to_owned(),
        options: agent.options(),
        model_knowledge: task.model_knowledge,
        question: task.question.to_owned(),
        entities: names(&task.linked.entities),
        kg_hash: task.kg.content_hash().to_owned(),
        template_hash: task.template.hash(),
        layout: task.template.layout,
        planner: task.planner_name.to_owned(),
        exclude: (
            names(&task.options.exclude.nodes),
            task.options.exclude.when,
        ),
        without: task
            .options
            .without
            .iter()
            .map(|relation| task.kg.name(relation.node()))
            .collect(),
        ranker: task.options.ranker.name(),
    }))
}

/// What one question came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer, or why there is none.
    pub answer: Answer,
    /// Everything that happened, for the trace.
    pub events: Vec<TraceEvent>,
    /// The transcript as training samples (see [`toolbox::prompt::Conversation::into_samples`]).
    pub samples: Vec<Vec<Turn>>,
    /// Calls executed.
    pub calls: usize,
    /// Calls that did not parse or could not be executed.
    pub invalid: usize,
    /// Times the model was asked.
    pub asked: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// Seconds in the model.
    pub model_seconds: f64,
    /// Seconds in the graph.
    pub kg_seconds: f64,
    /// Seconds by phase, for agents that have phases.
    pub phases: Vec<(&'static str, f64)>,
    /// Names of entities and relations that were still there after a stage of linking; how many of the gold ones are among them is the
    /// stage's recall.
    pub survived: Vec<Survived>,
    /// Why there is no answer, as one of the agent's own causes.
    pub failure: Option<&'static str>,
}

/// What a stage of linking left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survived {
    /// The stage.
    pub stage: &'static str,
    /// Entities or relations.
    pub what: Linkable,
    /// Names as the graph has them (IRIs).
    pub names: Vec<String>,
}

/// What a stage of linking links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkable {
    /// Entities and classes.
    Entities,
    /// Relations.
    Relations,
}

impl Outcome {
    /// An outcome of which only the answer and the events are known yet.
    #[must_use]
    pub fn new(answer: Answer, events: Vec<TraceEvent>) -> Self {
        Self {
            answer,
            events,
            samples: Vec::new(),
            calls: 0,
            invalid: 0,
            asked: 0,
            tokens: 0,
            model_seconds: 0.0,
            kg_seconds: 0.0,
            phases: Vec::new(),
            survived: Vec::new(),
            failure: None,
        }
    }

    /// The outcome of a question at which the planner itself failed: no answer, for which it counts wherever answers are counted.
    #[must_use]
    pub fn failed(error: &InferError) -> Self {
        let (value, provenance) = (AnswerValue::Set(Vec::new()), Provenance::None);
        let answer = Answer {
            value,
            program: Vec::new(),
            evidence: Vec::new(),
            provenance,
            emptied: None,
        };
        Self {
            failure: Some(PLANNER_FAILED),
            ..Self::new(
                answer,
                vec![TraceEvent::Error {
                    message: error.to_string(),
                }],
            )
        }
    }

    /// What went wrong where the model, and not the graph, is why there is no answer.
    #[must_use]
    pub fn stuck(&self) -> Option<&str> {
        if !self.failure.is_some_and(|failure| {
            [PLANNER_FAILED, kg_agent::NO_CALL, kg_agent::NO_END].contains(&failure)
        }) {
            return None;
        }
        self.events.iter().rev().find_map(|event| match event {
            TraceEvent::Error { message } => Some(message.as_str()),
            _ => None,
        })
    }
}

/// Why there is no answer where the planner itself failed.
pub const PLANNER_FAILED: &str = "planner_failed";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_names_an_agent_with_all_its_options() {
        let robust = robust::Robust {
            beam: 4,
            ..robust::Robust::default()
        };
        let blind = OdaOptions {
            observation: false,
            kept: 3,
            ..OdaOptions::default()
        };
        let plain = Agent::ALL.map(AgentKind::from);
        let others = [
            AgentKind::KgAgentRobust(robust),
            AgentKind::Oda(blind),
            AgentKind::Direct,
            AgentKind::Retrieval,
            AgentKind::Tog,
        ];
        for agent in plain.iter().chain(&others) {
            assert_eq!(
                AgentKind::traced(agent.name(), &agent.options()).as_ref(),
                Ok(agent)
            );
        }
        assert!(
            AgentKind::traced("nobody", &serde_json::Value::Null)
                .unwrap_err()
                .contains("nobody")
        );
    }
}
