//! Who answers, and how questions are put.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::agent::AgentKind;
use infer::engine::Batch;
use infer::planner::{LocalModel, LocalPlanner, Planner, RemotePlanner, Scripted};
use toolbox::exec::ExcludeWhen;
use toolbox::prompt::Template;
use toolbox::rank::Ranker;

use crate::cli::{AnsweringArgs, EntitySource, Served};

/// Who plans.
pub(crate) enum Planning {
    /// The gold programs.
    Oracle,
    /// A model folder or file.
    Local(Arc<LocalModel>),
    /// A model behind a server.
    Remote(RemotePlanner),
    /// The agent needs nobody.
    Nobody,
}

/// Weights up to this size stay in a processor's cache, where threads with a question each are faster than questions together.
const CACHED: usize = 32 << 20;
/// Questions answered together where nobody says how many.
const TOGETHER: usize = 16;

impl Planning {
    /// Who plans for an agent, and the template of its turns: a model folder (or file), a server (`http://…`), `oracle`, or nobody where the agent needs none. A
    /// model that has been loaded is taken from `loaded`.
    pub(crate) fn open(
        agent: &AgentKind,
        model: Option<&str>,
        answering: &AnsweringArgs,
        loaded: &mut Option<Arc<LocalModel>>,
    ) -> Result<(Self, Template)> {
        let remote = &answering.remote;
        let usual = Template::of(agent.trained_as());
        Ok(match model {
            _ if !agent.needs_model() => (Self::Nobody, usual),
            None => bail!("{} needs a model: name one with --model", agent.name()),
            Some("oracle") if !matches!(agent, AgentKind::KgAgent | AgentKind::Oda(_)) => {
                bail!(
                    "there are gold programs for kg-agent and oda only; `--model oracle` cannot answer as {}",
                    agent.name()
                )
            }
            Some("oracle") => (Self::Oracle, usual),
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                // A model that was not trained on these dialogues has to read what the tools are.
                let toolbox = agent.writes_programs() && remote.served == Served::Any;
                (
                    Self::Remote(RemotePlanner::new(remote.options(url)?)?),
                    Template { toolbox, ..usual },
                )
            }
            Some(name) => {
                let model = match loaded {
                    Some(model) => Arc::clone(model),
                    None => {
                        let opened = LocalModel::open_on(answering.device.into(), Path::new(name))
                            .with_context(|| format!("cannot load the model {name}"))?;
                        Arc::clone(loaded.insert(Arc::new(opened)))
                    }
                };
                let template = model.template(agent.trained_as())?;
                (Self::Local(model), template)
            }
        })
    }

    /// A planner for one thread; none for the oracle, which needs the question first.
    pub(crate) fn planner(&self, doubt: Option<f64>) -> Option<Box<dyn Planner>> {
        match self {
            Self::Oracle => None,
            Self::Local(model) => Some(Box::new(
                LocalPlanner::new(model)
                    .with_abstention_threshold(doubt.unwrap_or(model.abstention_threshold())),
            )),
            Self::Remote(planner) => Some(Box::new(planner.clone())),
            Self::Nobody => Some(Box::new(Scripted::new(Vec::new()))),
        }
    }

    /// How many of `questions` are answered together; `None` where every thread takes questions of its own.
    pub(super) fn together(&self, asked: Option<usize>, questions: usize) -> Option<usize> {
        let Self::Local(model) = self else {
            return None;
        };
        let usual = if model.engine().is_on_device() || model.engine().bytes() > CACHED {
            TOGETHER
        } else {
            1
        };
        Some(asked.unwrap_or(usual).min(questions)).filter(|n| *n > 1)
    }

    /// Planners that take their steps together, one for each of `n` threads.
    pub(super) fn planners(
        &self,
        n: usize,
        threads: usize,
        doubt: Option<f64>,
    ) -> Result<Vec<Box<dyn Planner + Send>>> {
        let Self::Local(model) = self else {
            return Ok(Vec::new());
        };
        let (batch, doubt) = (
            Batch::new(model.engine(), threads)?,
            doubt.unwrap_or(model.abstention_threshold()),
        );
        Ok((0..n)
            .map(|_| {
                Box::new(LocalPlanner::in_batch(model, &batch).with_abstention_threshold(doubt))
                    as Box<dyn Planner + Send>
            })
            .collect())
    }

    /// The name in traces.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Local(_) => "local model",
            Self::Remote(_) => "remote model",
            Self::Nobody => "none",
        }
    }
}

/// How questions are put, and to whom.
pub(crate) struct Setting {
    pub(crate) agent: AgentKind,
    pub(crate) planning: Planning,
    pub(crate) template: Template,
    pub(crate) entities: EntitySource,
    pub(crate) exclude: Option<ExcludeWhen>,
    pub(crate) ranker: Arc<dyn Ranker>,
    /// Questions answered together; without it the size of the model decides.
    pub(crate) batch: Option<usize>,
    /// How much doubt a local model's choice may leave, where not as much as the model says; see [`LocalPlanner::with_abstention_threshold`].
    pub(crate) doubt: Option<f64>,
    /// Whether the model may answer by itself where the graph has no answer.
    pub(crate) model_knowledge: bool,
    /// Whether a relation that the question needs is taken out of the agent's view.
    pub(crate) withhold: bool,
}

impl Setting {
    /// The setting of an agent; see [`Planning::open`].
    pub(crate) fn open(
        agent: AgentKind,
        model: Option<&str>,
        answering: &AnsweringArgs,
        loaded: &mut Option<Arc<LocalModel>>,
        entities: EntitySource,
        exclude: Option<ExcludeWhen>,
        ranker: Arc<dyn Ranker>,
    ) -> Result<Self> {
        let (planning, template) = Planning::open(&agent, model, answering, loaded)?;
        Ok(Self {
            agent,
            planning,
            template,
            entities,
            exclude,
            ranker,
            batch: None,
            doubt: None,
            model_knowledge: false,
            withhold: false,
        })
    }
}
