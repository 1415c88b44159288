//! What requests share: what is served, the threads that answer, kept answers, counters.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::Duration;

use infer::engine::EngineDevice;
use kg::Kg;
use serde_json::{Value, json};
use toolbox::call::ToolTable;
use toolbox::rank::Ranker;

use crate::clock::now;
use crate::error::ServeError;
use crate::fault::Fault;
use crate::feedback_files::FeedbackFiles;
use crate::metrics::{Metrics, count};
use crate::pool::Pool;
use crate::served::{Served, ServedGraph, ServedModel};
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
    /// Number of threads that answer; by default one for each core, or one for each question of the
    /// largest batch.
    pub workers: Option<usize>,
    /// Number of questions that share the steps of a model; by default what is fast for the model.
    pub batch: Option<usize>,
    /// Number of questions and queries that may wait for a thread; by default as many as there are
    /// threads, but at least four.
    pub queue: Option<usize>,
    /// Time for a question, from its arrival to its answer.
    pub deadline: Duration,
    /// File to which feedback is appended; without it, there is no feedback.
    pub feedback: Option<PathBuf>,
}

/// Where graphs and models come from.
struct Sources {
    graphs: Vec<(String, PathBuf)>,
    models: Vec<(String, PathBuf)>,
    device: EngineDevice,
    batch: Option<usize>,
}

impl Sources {
    fn model(&self, name: &str, path: &Path) -> Result<ServedModel, ServeError> {
        ServedModel::open(self.device, self.batch, name, path)
    }

    /// Opens all graphs and models.
    fn open(&self) -> Result<Served, ServeError> {
        let mut served = Served::default();
        for (name, path) in &self.graphs {
            served.graphs.push(Arc::new(ServedGraph::open(name, path)?));
        }
        for (name, path) in &self.models {
            served.models.push(Arc::new(self.model(name, path)?));
        }
        Ok(served)
    }
}

/// Everything that requests share.
pub struct Service {
    sources: Sources,
    served: RwLock<Arc<Served>>,
    /// Held while graphs and models are opened again.
    reloading: Mutex<()>,
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
        let io = |what: String| move |source| ServeError::Io { what, source };
        let opened = |path: &PathBuf| {
            let what = format!("cannot write feedback to {}", path.display());
            FeedbackFiles::open(path).map_err(io(what))
        };
        let feedback = options.feedback.as_ref().map(opened).transpose()?;
        let sources = Sources {
            graphs: options.graphs,
            models: options.models,
            device: options.device,
            batch: options.batch,
        };
        let served = sources.open()?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let models = served.models.iter();
        let batches = models.map(|model| model.questions_at_once(options.batch));
        let usual = batches.fold(cores, usize::max);
        let pool = Pool::start(options.workers.unwrap_or(usual), options.queue);
        let service = Self {
            sources,
            served: RwLock::new(Arc::new(served)),
            reloading: Mutex::default(),
            ranker: options.ranker,
            tools: options.tools,
            pool: pool.map_err(io("cannot start a thread".to_owned()))?,
            answers: AnswerStore::default(),
            metrics: Metrics::default(),
            feedback,
            started: now(),
            deadline: options.deadline,
            stopping: AtomicBool::new(false),
        };
        for model in &service.served().models {
            service.warn_of_ranker(model);
        }
        Ok(Arc::new(service))
    }

    fn warn_of_ranker(&self, model: &ServedModel) {
        if let Some(warning) = model.model.other_ranker(self.ranker.as_ref()) {
            tracing::warn!("the model `{}`: {warning}", model.name);
        }
    }

    /// New questions get this from now on.
    fn serve(&self, served: Served) {
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(served);
    }

    /// Opens every graph again, every model whose files have changed, and the files of feedback. What
    /// cannot be opened stays as it was; the log says why. Questions that have begun end as they began.
    ///
    /// The result has a row for each graph and model.
    ///
    /// # Errors
    /// [`Fault`] if another reload is running.
    pub(crate) fn reload(&self) -> Result<Value, Fault> {
        let _one = match self.reloading.try_lock() {
            Ok(lock) => lock,
            Err(TryLockError::Poisoned(lock)) => lock.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let message = "graphs and models are being opened already";
                return Err(Fault::new(409, "reloading", message));
            }
        };
        let mut served = Served::clone(&self.served());
        let mut graphs = Vec::new();
        let mut models = Vec::new();
        for (at, (name, path)) in self.sources.graphs.iter().enumerate() {
            let opened = ServedGraph::open(name, path);
            let row = self.row(name, opened, |graph| {
                let old = std::mem::replace(&mut served.graphs[at], Arc::new(graph));
                served.graphs[at].kg.content_hash() != old.kg.content_hash()
            });
            graphs.push(row);
        }
        for (at, (name, path)) in self.sources.models.iter().enumerate() {
            let row = if served.models[at].has_changed(path) {
                self.row(name, self.sources.model(name, path), |model| {
                    self.warn_of_ranker(&model);
                    served.models[at] = Arc::new(model);
                    true
                })
            } else {
                json!({ "name": name, "opened": true, "changed": false })
            };
            models.push(row);
        }
        self.serve(served);
        if let Some(Err(error)) = self.feedback.as_ref().map(FeedbackFiles::reopen) {
            count(&self.metrics.reload_failures);
            tracing::error!("reload: the files of feedback: {error}; the earlier ones stay");
        }
        Ok(json!({ "graphs": graphs, "models": models }))
    }

    /// What became of one graph or model. `put` takes the new one and says whether it is another
    /// than before.
    fn row<T>(
        &self,
        name: &str,
        opened: Result<T, ServeError>,
        put: impl FnOnce(T) -> bool,
    ) -> Value {
        match opened {
            Ok(opened) => json!({ "name": name, "opened": true, "changed": put(opened) }),
            Err(error) => {
                count(&self.metrics.reload_failures);
                tracing::error!("reload: {error}; the earlier one stays");
                let message = "it cannot be opened, so the earlier one stays; the log says why";
                json!({ "name": name, "opened": false, "changed": false, "error": message })
            }
        }
    }

    /// What is served now.
    pub(crate) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The graph of this name, or the first.
    pub(crate) fn graph(&self, name: Option<&str>) -> Result<Arc<ServedGraph>, Fault> {
        self.served().graph(name)
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
