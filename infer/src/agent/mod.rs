//! The agents. Each is one way of driving the toolbox with a planner; all take a [`Task`] and give an [`Outcome`], so that one harness measures them.

pub mod direct;
pub mod kg_agent;
pub mod oda;
pub mod robust;
pub mod triad;
pub mod walk;

use toolbox::answer::Answer;
use toolbox::exec::ExecOptions;
use toolbox::kg::Kg;
use toolbox::link::Linked;
use toolbox::memory::{Agent, Template};
use toolbox::oda::OdaOptions;
use toolbox::term::NodeId;
use toolbox::trace::{Event, TRACE_VERSION};
use toolbox::transcript::Turn;

use crate::InferError;
use crate::planner::Planner;

/// Which agent answers. A further agent is a variant here (with its options, where it has any) and an arm in [`answer_with`].
#[derive(Clone, Debug, PartialEq)]
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
    /// All of them, with the options they have by default.
    #[must_use]
    pub fn all() -> Vec<Self> {
        vec![
            Self::KgAgent,
            Self::KgAgentRobust(robust::Robust::default()),
            Self::Oda(OdaOptions::default()),
            Self::Triad(triad::TriadOptions::default()),
            Self::Direct,
            Self::Retrieval,
            Self::Tog,
        ]
    }

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
            Self::KgAgent | Self::KgAgentRobust(_) | Self::Direct | Self::Retrieval | Self::Tog => Agent::KgAgent,
            Self::Oda(_) => Agent::Oda,
            Self::Triad(_) => Agent::Triad,
        }
    }

    /// The agent of that name, with the options it has by default.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|agent| agent.name() == name)
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
}

/// Answers one question with an agent.
///
/// # Errors
/// [`InferError`] when the planner itself fails; a question without an answer is an [`Outcome`].
pub fn answer_with(agent: &AgentKind, task: Task<'_>, planner: &mut dyn Planner) -> Result<Outcome, InferError> {
    match agent {
        AgentKind::KgAgent => kg_agent::answer(task, planner),
        AgentKind::KgAgentRobust(mode) => robust::answer(*mode, &task, planner),
        AgentKind::Oda(options) => oda::answer(task, options, planner),
        AgentKind::Triad(options) => triad::answer(options, task, planner),
        AgentKind::Direct => direct::answer(&task, planner),
        AgentKind::Retrieval => walk::answer(agent, walk::Beam::RETRIEVAL, &task),
        AgentKind::Tog => walk::answer(agent, walk::Beam::TOG, &task),
    }
}

/// The event that opens a trace.
fn opening(task: &Task<'_>, agent: &str) -> Event {
    let names = |nodes: &[NodeId]| nodes.iter().map(|&node| task.kg.name(node)).collect::<Vec<_>>();
    Event::Observe {
        version: TRACE_VERSION,
        agent: agent.to_owned(),
        question: task.question.to_owned(),
        entities: names(&task.linked.entities),
        kg_hash: task.kg.content_hash().to_owned(),
        template_hash: task.template.hash(),
        layout: task.template.layout,
        planner: task.planner_name.to_owned(),
        exclude: (names(&task.options.exclude.nodes), task.options.exclude.when),
    }
}

/// What one question came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer, or why there is none.
    pub answer: Answer,
    /// Everything that happened, for the trace.
    pub events: Vec<Event>,
    /// The transcript as training samples (see [`toolbox::memory::Conversation::into_samples`]).
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
    pub fn new(answer: Answer, events: Vec<Event>) -> Self {
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
}
