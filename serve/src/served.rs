//! Graphs and models by name, as they were when they were opened.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use infer::InferError;
use infer::engine::{Batch, EngineDevice};
use infer::planner::{LocalModel, LocalPlanner};
use kg::{FrozenKg, GraphFolder};
use toolbox::agent::Agent;
use toolbox::prompt::Template;

use crate::error::ServeError;
use crate::fault::Fault;
use crate::metrics::Metrics;

/// A graph with its name.
pub(crate) struct ServedGraph {
    pub(crate) name: String,
    pub(crate) kg: FrozenKg,
}

impl ServedGraph {
    /// Opens a graph folder.
    ///
    /// # Errors
    /// [`ServeError::Graph`].
    pub(crate) fn open(name: &str, path: &Path) -> Result<Self, ServeError> {
        let kg = GraphFolder::open(path).map_err(|source| ServeError::Graph {
            name: name.to_owned(),
            source: Box::new(source),
        })?;
        Ok(Self {
            name: name.to_owned(),
            kg,
        })
    }
}

/// A model with its name and the agents that it was trained for.
pub(crate) struct ServedModel {
    pub(crate) name: String,
    pub(crate) model: Arc<LocalModel>,
    templates: Vec<(Agent, Template)>,
    /// Decoding states that no question uses now. A prompt that begins like an earlier one is not
    /// read again from its beginning.
    idle: Mutex<Vec<LocalPlanner>>,
    /// What the planners of running questions share their steps in, so that the weights are read
    /// once for all of them; `None` if each decodes alone.
    batch: Option<Arc<Batch>>,
    files: FileTimes,
}

impl ServedModel {
    /// Opens a model folder or a GGUF file. Up to `batch` questions share the steps of the model; by
    /// default as many as are worth it.
    ///
    /// # Errors
    /// [`ServeError::Model`].
    pub(crate) fn open(
        device: EngineDevice,
        batch: Option<usize>,
        name: &str,
        path: &Path,
    ) -> Result<Self, ServeError> {
        let files = FileTimes::of(path);
        let wrong = |source: InferError| ServeError::Model {
            name: name.to_owned(),
            source: Box::new(source),
        };
        let model = LocalModel::open_on(device, path).map_err(wrong)?;
        let shared = batch.unwrap_or(model.batch_size()) > 1;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let batch = shared.then(|| Batch::new(model.engine(), threads));
        let batch = batch.transpose().map_err(|error| wrong(error.into()))?;
        let trained = |agent| Some((agent, model.template(agent).ok()?));
        Ok(Self {
            name: name.to_owned(),
            templates: Agent::ALL.into_iter().filter_map(trained).collect(),
            model: Arc::new(model),
            idle: Mutex::default(),
            batch,
            files,
        })
    }

    /// Whether the files have changed since the model was opened.
    pub(crate) fn has_changed(&self, path: &Path) -> bool {
        self.files != FileTimes::of(path)
    }

    /// The template for an agent; `None` if the model was not trained for it.
    pub(crate) fn template(&self, agent: Agent) -> Option<&Template> {
        let known = self.templates.iter().find(|(known, _)| *known == agent);
        known.map(|(_, template)| template)
    }

    /// How many questions it is asked at the same time to be fast.
    pub(crate) fn questions_at_once(&self, batch: Option<usize>) -> usize {
        batch.unwrap_or(self.model.batch_size())
    }

    /// Lends a decoding state to `work` and counts the tokens of its prompts. It is not used again if
    /// `work` panics.
    pub(crate) fn with_planner<T>(
        &self,
        metrics: &Metrics,
        work: impl FnOnce(&mut LocalPlanner) -> T,
    ) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut planner = kept.unwrap_or_else(|| {
            let threshold = self.model.abstention_threshold();
            LocalPlanner::new(&self.model).with_abstention_threshold(threshold)
        });
        planner.share_steps(self.batch.as_ref());
        let done = work(&mut planner);
        planner.share_steps(None);
        let prompts = planner.take_prompt_tokens();
        let add = |counter: &AtomicU64, tokens| counter.fetch_add(tokens as u64, Ordering::Relaxed);
        add(&metrics.prompt_tokens, prompts.all);
        add(&metrics.cached_tokens, prompts.cached);
        idle().push(planner);
        done
    }
}

/// Names, sizes and times of the files of a model.
#[derive(PartialEq)]
struct FileTimes(Vec<(PathBuf, u64, Option<SystemTime>)>);

impl FileTimes {
    fn of(path: &Path) -> Self {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.push(path.to_owned());
        paths.sort();
        let files = paths.into_iter().filter_map(|path| {
            let about = std::fs::metadata(&path).ok()?;
            let modified = about.modified().ok();
            Some((path, about.len(), modified))
        });
        Self(files.collect())
    }
}

/// Everything that is served at one time. A reload makes a new one; questions that have begun keep
/// the one that they began with.
#[derive(Clone, Default)]
pub(crate) struct Served {
    pub(crate) graphs: Vec<Arc<ServedGraph>>,
    pub(crate) models: Vec<Arc<ServedModel>>,
}

impl Served {
    /// The graph of this name, or the first.
    pub(crate) fn graph(&self, name: Option<&str>) -> Result<Arc<ServedGraph>, Fault> {
        let found = match name {
            Some(name) => self.graphs.iter().find(|graph| graph.name == name),
            None => self.graphs.first(),
        };
        found.cloned().ok_or_else(|| {
            let names = self.graphs.iter().map(|graph| graph.name.as_str());
            unknown("graph", name.unwrap_or_default(), names)
        })
    }

    /// The model of this name, or the first; `None` without a name if there is no model.
    pub(crate) fn model(&self, name: Option<&str>) -> Result<Option<Arc<ServedModel>>, Fault> {
        let Some(name) = name else {
            return Ok(self.models.first().cloned());
        };
        let found = self.models.iter().find(|model| model.name == name);
        found.cloned().map(Some).ok_or_else(|| {
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
