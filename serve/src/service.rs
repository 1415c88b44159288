//! What is served: graphs and models by name, opened once and shared by all questions.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use infer::engine::EngineDevice;
use infer::planner::LocalModel;
use kg::{FrozenKg, GraphFolder};
use toolbox::agent::Agent;
use toolbox::call::ToolTable;
use toolbox::prompt::Template;
use toolbox::rank::Ranker;

use crate::clock::now;
use crate::error::ServeError;
use crate::fault::Fault;
use crate::feedback_files::FeedbackFiles;
use crate::metrics::Metrics;
use crate::pool::Pool;
use crate::store::{AnswerStore, StoredAnswer};

/// What to serve, and with how much.
pub struct ServiceOptions {
    /// Graph folders by name; the first is the default.
    pub graphs: Vec<(String, PathBuf)>,
    /// Models (folders or GGUF files) by name; the first is the default. Without a model the words
    /// of a question decide alone.
    pub models: Vec<(String, PathBuf)>,
    /// Tools of the agent `words`, which has no model.
    pub tools: ToolTable,
    /// Where models run.
    pub device: EngineDevice,
    /// What orders relations and classes.
    pub ranker: Arc<dyn Ranker>,
    /// Number of threads that answer.
    pub workers: usize,
    /// Number of questions and queries that may wait for a thread.
    pub queue: usize,
    /// Time for a question, from its arrival to its answer.
    pub deadline: Duration,
    /// File to which feedback is appended; without it, there is no feedback.
    pub feedback: Option<PathBuf>,
    /// Takes a line for the operator's log. Lines have no text of a question.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

/// A graph with its name.
pub(crate) struct ServedGraph {
    pub(crate) name: String,
    pub(crate) kg: FrozenKg,
}

/// A model with its name and the agents that it was trained for.
pub(crate) struct ServedModel {
    pub(crate) name: String,
    pub(crate) model: Arc<LocalModel>,
    pub(crate) templates: Vec<(Agent, Template)>,
}

impl ServedModel {
    /// The template for an agent; `None` if the model was not trained for it.
    pub(crate) fn template(&self, agent: Agent) -> Option<&Template> {
        let known = self.templates.iter().find(|(known, _)| *known == agent);
        known.map(|(_, template)| template)
    }
}

/// Everything that requests share.
pub struct Service {
    pub(crate) graphs: Vec<Arc<ServedGraph>>,
    pub(crate) models: Vec<Arc<ServedModel>>,
    pub(crate) ranker: Arc<dyn Ranker>,
    /// Tools of the agent `words`.
    pub(crate) tools: ToolTable,
    pub(crate) pool: Pool,
    pub(crate) answers: AnswerStore,
    pub(crate) metrics: Metrics,
    pub(crate) feedback: Option<FeedbackFiles>,
    /// When the server started, in seconds since 1970.
    pub(crate) started: u64,
    pub(crate) deadline: Duration,
    pub(crate) stopping: AtomicBool,
    log: Box<dyn Fn(&str) + Send + Sync>,
}

impl Service {
    /// Opens graphs and models and starts the threads that answer.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn open(options: ServiceOptions) -> Result<Arc<Self>, ServeError> {
        check_names(&options.graphs)?;
        check_names(&options.models)?;
        if options.graphs.is_empty() {
            return Err(ServeError::NoGraph);
        }
        let mut graphs = Vec::new();
        for (name, path) in options.graphs {
            let kg = GraphFolder::open(&path).map_err(|source| ServeError::Graph {
                name: name.clone(),
                source: Box::new(source),
            })?;
            graphs.push(Arc::new(ServedGraph { name, kg }));
        }
        let mut models = Vec::new();
        for (name, path) in options.models {
            let opened = LocalModel::open_on(options.device, &path);
            let model = opened.map_err(|source| ServeError::Model {
                name: name.clone(),
                source: Box::new(source),
            })?;
            if let Some(warning) = model.other_ranker(options.ranker.as_ref()) {
                (options.log)(&format!("the model `{name}`: {warning}"));
            }
            let trained = |agent| Some((agent, model.template(agent).ok()?));
            let templates = Agent::ALL.into_iter().filter_map(trained).collect();
            models.push(Arc::new(ServedModel {
                name,
                templates,
                model: Arc::new(model),
            }));
        }
        let opened = |path: &PathBuf| {
            FeedbackFiles::open(path).map_err(|source| ServeError::Io {
                what: format!("cannot write feedback to {}", path.display()),
                source,
            })
        };
        let feedback = options.feedback.as_ref().map(opened).transpose()?;
        let pool = Pool::start(options.workers, options.queue);
        Ok(Arc::new(Self {
            graphs,
            models,
            ranker: options.ranker,
            tools: options.tools,
            pool: pool.map_err(|source| ServeError::Io {
                what: "cannot start a thread".to_owned(),
                source,
            })?,
            answers: AnswerStore::default(),
            metrics: Metrics::default(),
            feedback,
            started: now(),
            deadline: options.deadline,
            stopping: AtomicBool::new(false),
            log: options.log,
        }))
    }

    /// Writes a line to the operator's log.
    pub(crate) fn log(&self, line: &str) {
        (self.log)(line);
    }

    /// Whether the server is ending, so that nothing new is begun.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// A kept answer.
    pub(crate) fn answer(&self, id: &str) -> Result<Arc<StoredAnswer>, Fault> {
        self.answers.get(id).ok_or_else(|| {
            let message = format!("there is no answer `{id}`; only the last answers are kept");
            Fault::unknown("unknown_answer", message)
        })
    }

    /// The graph of this name, or the first.
    pub(crate) fn graph(&self, name: Option<&str>) -> Result<&Arc<ServedGraph>, Fault> {
        let found = match name {
            Some(name) => self.graphs.iter().find(|graph| graph.name == name),
            None => self.graphs.first(),
        };
        found.ok_or_else(|| {
            let names = self.graphs.iter().map(|graph| graph.name.as_str());
            unknown("graph", name.unwrap_or_default(), names)
        })
    }

    /// The model of this name, or the first; `None` without a name if there is no model.
    pub(crate) fn model(&self, name: Option<&str>) -> Result<Option<&Arc<ServedModel>>, Fault> {
        let Some(name) = name else {
            return Ok(self.models.first());
        };
        let found = self.models.iter().find(|model| model.name == name);
        found.map(Some).ok_or_else(|| {
            let names = self.models.iter().map(|model| model.name.as_str());
            unknown("model", name, names)
        })
    }
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Fault {
    let names: Vec<&str> = names.collect();
    let code = match what {
        "graph" => "unknown_graph",
        _ => "unknown_model",
    };
    let known = if names.is_empty() {
        format!("no {what} is served here")
    } else {
        format!("served here: {}", names.join(", "))
    };
    Fault::unknown(code, format!("there is no {what} `{name}`; {known}"))
}

/// Names are parts of addresses and of `agent@graph`.
fn check_names(named: &[(String, PathBuf)]) -> Result<(), ServeError> {
    for (at, (name, _)) in named.iter().enumerate() {
        let clean = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
        let dots = name.chars().all(|c| c == '.');
        let twice = named[..at].iter().any(|(other, _)| other == name);
        if dots || twice || !name.chars().all(clean) {
            return Err(ServeError::Name(name.clone()));
        }
    }
    Ok(())
}
