//! Turns a request into an answer. The request is checked first, then queued, then answered on a
//! thread of the pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use common::cancel::Cancel;
use infer::InferError;
use infer::agent::{AgentKind, Outcome, TraceWatcher};
use infer::answerer::{Answerer, Asking};
use infer::planner::{Planner, Scripted};
use kg::{FrozenKg, Kg as _};
use serde::Deserialize;
use toolbox::call::ToolTable;
use toolbox::link::LinkError;
use toolbox::prompt::Template;

use crate::fault::Fault;
use crate::metrics::count;
use crate::queue::{Asker, CANCELLED, Pending, ended, queued};
use crate::served::{ServedGraph, ServedModel};
use crate::service::Service;
use crate::store::StoredAnswer;

/// Maximum bytes of a question: the longest of the published sets has a few hundred.
const QUESTION_BYTES: usize = 2_000;
/// Members of an answer that its line of text names.
const LISTED: usize = 100;
/// Maximum number of given topic entities.
const ENTITIES: usize = 16;

/// What a client asks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskRequest {
    pub(crate) question: String,
    #[serde(default)]
    pub(crate) graph: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// Topic entities by name, id or label; without them, those that linking finds in the question.
    #[serde(default)]
    pub(crate) entities: Vec<String>,
    /// Labels of what the question is about if it names no entity itself.
    #[serde(skip)]
    pub(crate) about: Vec<String>,
    /// Whether the model may answer from its own knowledge if the graph has no answer.
    #[serde(default)]
    pub(crate) allow_model_knowledge: bool,
}

/// A request that can be answered.
pub(crate) struct Question {
    id: String,
    request: AskRequest,
    graph: Arc<ServedGraph>,
    model: Option<Arc<ServedModel>>,
    agent: AgentKind,
    agent_name: String,
    template: Template,
}

/// The agents that a model, or no model, can be asked as; the first is the default.
pub(crate) fn agents_of(model: Option<&ServedModel>) -> Vec<&'static str> {
    let can = |name: &&str| {
        let Some(agent) = AgentKind::named(name, true) else {
            return false;
        };
        match model {
            Some(model) => model.template(agent.trained_as()).is_some() && agent.needs_model(),
            None => !agent.needs_model(),
        }
    };
    AgentKind::NAMES.into_iter().filter(can).collect()
}

impl Question {
    /// Checks a request.
    ///
    /// # Errors
    /// [`Fault`] says what is wrong with it.
    pub(crate) fn of(service: &Service, request: AskRequest) -> Result<Self, Fault> {
        let text = request.question.trim();
        if text.is_empty() {
            return Err(Fault::bad("no_question", "`question` is empty"));
        }
        if request.question.len() > QUESTION_BYTES || request.entities.len() > ENTITIES {
            return Err(Fault::bad(
                "too_long",
                format!(
                    "a question has at most {QUESTION_BYTES} bytes and {ENTITIES} topic entities"
                ),
            ));
        }
        let served = service.served();
        let graph = served.graph(request.graph.as_deref())?;
        let model = served.model(request.model.as_deref())?;
        let own = agents_of(model.as_deref());
        let free = agents_of(None);
        let usual = own.first().or(free.first()).copied().unwrap_or_default();
        let name = request.agent.as_deref().unwrap_or(usual);
        if !own.contains(&name) && !free.contains(&name) {
            let more = free.iter().filter(|name| !own.contains(name));
            let known: Vec<&str> = own.iter().chain(more).copied().collect();
            return Err(Fault::unknown(
                "unknown_agent",
                format!(
                    "there is no agent `{name}` here; with {} there are {}",
                    match &model {
                        Some(model) => format!("the model `{}`", model.name),
                        None => "no model".to_owned(),
                    },
                    known.join(", ")
                ),
            ));
        }
        let agent =
            AgentKind::named(name, request.entities.is_empty()).ok_or_else(Fault::internal)?;
        let model = model.filter(|_| agent.needs_model());
        let trained_as = agent.trained_as();
        let template = match &model {
            Some(model) => model.template(trained_as).cloned(),
            None => None,
        };
        Ok(Self {
            id: service.answers.id(),
            agent_name: name.to_owned(),
            template: template.unwrap_or_else(|| Template {
                tools: if matches!(agent, AgentKind::Words(_)) {
                    service.tools
                } else {
                    ToolTable::Paper
                },
                ..Template::of(trained_as)
            }),
            request,
            graph,
            model,
            agent,
        })
    }

    /// The graph that it is about.
    pub(crate) fn kg(&self) -> &FrozenKg {
        &self.graph.kg
    }

    /// The id that its answer will have.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Answers the question, keeps the answer and counts what happened. `arrived` is when the
    /// question was queued, `cancel` why it ended before it began or what may end it.
    pub(crate) fn run(
        &self,
        service: &Service,
        arrived: Instant,
        watcher: Option<TraceWatcher>,
        cancel: Result<&Cancel, Fault>,
    ) -> Result<Arc<StoredAnswer>, Fault> {
        let metrics = &service.metrics;
        metrics.queue_seconds.add(arrived.elapsed().as_secs_f64());
        let begun = Instant::now();
        let answered = cancel.and_then(|cancel| self.answer(service, watcher, cancel.clone()));
        match &answered {
            Ok(stored) => {
                metrics.answer_seconds.add(begun.elapsed().as_secs_f64());
                measure(service, stored);
            }
            Err(fault) if fault.code == CANCELLED => count(&metrics.cancelled),
            Err(_) => count(&metrics.failed),
        }
        answered
    }

    /// Answers the question and keeps the answer.
    fn answer(
        &self,
        service: &Service,
        watcher: Option<TraceWatcher>,
        cancel: Cancel,
    ) -> Result<Arc<StoredAnswer>, Fault> {
        let kg = &self.graph.kg;
        let answerer = Answerer {
            kg,
            agent: &self.agent,
            template: &self.template,
            ranker: &service.ranker,
            model_name: self.model.as_ref().map_or("none", |model| &model.name),
        };
        let asking = Asking {
            entities: &self.request.entities,
            about: &self.request.about,
            model_knowledge: self.request.allow_model_knowledge,
            watcher,
            cancel,
            ..Asking::of(&self.request.question)
        };
        let run = |planner: &mut dyn Planner| answerer.answer(asking, planner);
        let answered = match &self.model {
            Some(model) => model.with_planner(&service.metrics, |planner| run(planner)),
            None => run(&mut Scripted::new(Vec::new())),
        };
        let answered = answered.map_err(|error| match error {
            InferError::Link(LinkError::Unknown(_)) => {
                Fault::bad("unknown_entity", error.to_string())
            }
            InferError::TooLong { .. } | InferError::Question(_) => {
                Fault::bad("too_long", error.to_string())
            }
            InferError::Cancelled(why) => ended(why),
            _ => failed(&error),
        })?;
        let (names, outcome) = (answered.names(kg), answered.outcome);
        let stored = Arc::new(self.stored(names, outcome));
        service.answers.put(Arc::clone(&stored));
        Ok(stored)
    }

    fn stored(&self, entities: Vec<String>, outcome: Outcome) -> StoredAnswer {
        let mut object = outcome.object(&self.request.question, &entities);
        object["id"] = self.id.as_str().into();
        object["graph"] = self.graph.name.as_str().into();
        object["agent"] = self.agent_name.as_str().into();
        object["model"] = self.model.as_ref().map(|model| model.name.as_str()).into();
        let events: usize = (outcome.events.iter())
            .map(|event| serde_json::to_string(event).map_or(0, |text| text.len()))
            .sum();
        StoredAnswer {
            id: self.id.clone(),
            graph: self.graph.name.clone(),
            content_hash: self.graph.kg.content_hash().to_owned(),
            bytes: object.to_string().len() + events,
            text: outcome.answer_text(LISTED),
            object,
            entities,
            question: self.request.question.clone(),
            answer: outcome.answer,
            events: outcome.events,
        }
    }
}

/// A failure that is not the asker's: the log has its text.
fn failed(error: &dyn std::error::Error) -> Fault {
    tracing::error!("a question failed: {error}");
    Fault::internal()
}

/// Queues a question. `watcher` sees the events of its trace as they happen.
///
/// # Errors
/// [`Fault`] if the queue is full or the server is stopping.
pub(crate) fn ask(
    service: &Arc<Service>,
    question: Question,
    asker: Asker,
    watcher: Option<TraceWatcher>,
) -> Result<Pending<Arc<StoredAnswer>>, Fault> {
    let arrived = Instant::now();
    queued(service, asker, move |service, cancel| {
        question.run(service, arrived, watcher, cancel)
    })
}

fn measure(service: &Service, stored: &StoredAnswer) {
    let metrics = &service.metrics;
    count(if stored.answer.is_none() {
        &metrics.unanswered
    } else {
        &metrics.answered
    });
    let tokens = stored.object["tokens"].as_u64().unwrap_or(0);
    metrics.tokens.fetch_add(tokens, Ordering::Relaxed);
    for event in &stored.events {
        if let toolbox::trace::TraceEvent::Timing { kg, model } = event {
            metrics.graph_seconds.add(*kg);
            metrics.model_seconds.add(*model);
        }
    }
}
