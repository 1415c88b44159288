//! How questions are asked: agent, planner, entities, exclusions and ranker.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::agent::AgentKind;
use infer::engine::Batch;
use infer::planner::{LocalModel, LocalPlanner, Planner, Protocol, RemotePlanner, Scripted};
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;
use toolbox::prompt::{Layout, Template};
use toolbox::rank::{self, Ranker};
use toolbox::usage::Prices;

use super::super::oracle;
use super::seen::TrainingQuestions;
use super::sweep::BASE;
use crate::cli::{AnsweringArgs, EntitySource, Served};

/// The planner of an agent.
pub(in crate::commands) enum Planning {
    /// The gold programs.
    Oracle,
    /// A model folder or file.
    Local(Arc<LocalModel>),
    /// A model behind a server, and how many questions it gets at a time.
    Remote(RemotePlanner, usize),
    /// Nothing: the agent needs no planner.
    Unneeded,
}

/// Settings of a command, in addition to the options that `ask` and `eval` share.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Serving {
    /// Seed of its sampling.
    pub(in crate::commands) seed: u64,
    /// Worked examples in its prompts.
    pub(in crate::commands) shots: usize,
    /// Questions at a time.
    pub(in crate::commands) concurrency: usize,
    /// The tools of the agent `words`, if no option names them.
    pub(in crate::commands) tools: ToolTable,
}

impl Planning {
    /// The planning of an agent and the template of its turns. `model` is a model folder or file, a
    /// server (`http://…`), or `oracle`. A model loaded before is taken from `loaded`.
    pub(in crate::commands) fn open(
        agent: &AgentKind,
        model: Option<&str>,
        answering: &AnsweringArgs,
        serving: Serving,
        loaded: &mut Option<Arc<LocalModel>>,
    ) -> Result<(Self, Template)> {
        let remote = &answering.remote;
        let usual = Template::of(agent.trained_as());
        if matches!(agent, AgentKind::Words(_)) {
            let tools = answering.tools.unwrap_or(serving.tools);
            return Ok((Self::Unneeded, Template { tools, ..usual }));
        }
        let replayed = model == Some(oracle::NAME) && matches!(agent, AgentKind::KgAgent);
        if answering.tools.is_some() && agent.needs_model() && !replayed {
            bail!(
                "--tools is for the agent `words` and for `--model oracle`; the agent `{}` has the \
                 tools that its model was trained with",
                agent.name()
            );
        }
        Ok(match model {
            _ if !agent.needs_model() => (Self::Unneeded, usual),
            None => bail!(
                "{} needs a model: name one with --model",
                agent.clone().bare().name()
            ),
            Some(oracle::NAME) if !oracle::plays(agent) => bail!(
                "`--model oracle` cannot replay gold programs for the agent {}",
                agent.name()
            ),
            Some(oracle::NAME) => {
                let tools = answering.tools.filter(|_| replayed).unwrap_or(usual.tools);
                (Self::Oracle, Template { tools, ..usual })
            }
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                // A model that was not trained on these dialogues needs a description of the tools,
                // in the prompt or in a separate field of the request.
                if remote.layout == Layout::Paper && remote.protocol == Protocol::Tools {
                    bail!(
                        "the paper layout asks for calls as text: leave out `--layout paper` or `--protocol tools`"
                    );
                }
                let toolbox = agent.writes_programs()
                    && remote.served == Served::Any
                    && remote.protocol == Protocol::Text;
                let planner =
                    RemotePlanner::new(remote.options(url, agent, serving.seed, serving.shots)?)?;
                planner.probe()?;
                let template = if remote.layout == Layout::Paper && agent.writes_programs() {
                    Template::new(Layout::Paper)
                } else {
                    Template { toolbox, ..usual }
                };
                (Self::Remote(planner, serving.concurrency), template)
            }
            Some(name) if matches!(agent, AgentKind::OdaPaper(_) | AgentKind::TriadPaper(_)) => {
                bail!(
                    "{} asks for replies of several lines, which the model {name} does not write: name \
                 a server, or leave out `--oda paper` and `--triad paper`",
                    agent.name()
                )
            }
            Some(name) => {
                let model = match loaded {
                    Some(model) => Arc::clone(model),
                    None => {
                        let opened = LocalModel::open_on(answering.device, Path::new(name))
                            .with_context(|| format!("cannot load the model {name}"))?;
                        Arc::clone(loaded.insert(Arc::new(opened)))
                    }
                };
                let template = model.template(agent.trained_as())?;
                (Self::Local(model), template)
            }
        })
    }

    /// A planner for one thread; `None` for the oracle, which needs the question first.
    pub(in crate::commands) fn planner(&self, threshold: Option<f64>) -> Option<Box<dyn Planner>> {
        match self {
            Self::Oracle => None,
            Self::Local(model) => Some(Box::new(
                LocalPlanner::new(model)
                    .with_abstention_threshold(threshold.unwrap_or(model.abstention_threshold())),
            )),
            Self::Remote(planner, _) => Some(Box::new(planner.clone())),
            Self::Unneeded => Some(Box::new(Scripted::new(Vec::new()))),
        }
    }

    /// The number of questions to answer at a time, each by a planner on its own thread; `None` if
    /// the threads of the pool work independently.
    pub(super) fn batch(&self, requested: Option<usize>, questions: usize) -> Option<usize> {
        let model = match self {
            Self::Local(model) => model,
            Self::Remote(_, concurrency) => return Some((*concurrency).min(questions)),
            Self::Oracle | Self::Unneeded => return None,
        };
        let usual = model.batch_size();
        Some(requested.unwrap_or(usual).min(questions)).filter(|n| *n > 1)
    }

    /// `n` planners, for one thread each. Those of a local model decode in one batch.
    pub(super) fn planners(
        &self,
        n: usize,
        threads: usize,
        threshold: Option<f64>,
    ) -> Result<Vec<Box<dyn Planner + Send>>> {
        let model = match self {
            Self::Local(model) => model,
            Self::Remote(planner, _) => {
                let planner = |_| -> Box<dyn Planner + Send> { Box::new(planner.clone()) };
                return Ok((0..n).map(planner).collect());
            }
            Self::Oracle | Self::Unneeded => return Ok(Vec::new()),
        };
        let batch = Batch::new(model.engine(), threads)?;
        let threshold = threshold.unwrap_or(model.abstention_threshold());
        let planner = |_| -> Box<dyn Planner + Send> {
            Box::new(LocalPlanner::in_batch(model, &batch).with_abstention_threshold(threshold))
        };
        Ok((0..n).map(planner).collect())
    }

    /// Whether the model first reads what the agent's turns mean.
    pub(super) fn instructed(&self) -> bool {
        matches!(self, Self::Remote(planner, _) if !planner.is_own())
    }

    /// The name in traces.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Oracle => oracle::NAME,
            Self::Local(_) => "local model",
            Self::Remote(..) => "remote model",
            Self::Unneeded => "none",
        }
    }
}

/// How questions are asked, and what answers them.
pub(in crate::commands) struct Setting {
    pub(super) agent: AgentKind,
    /// The agent's name, with what is varied.
    pub(super) name: String,
    /// What differs from the setting that the options describe.
    pub(super) changed: String,
    /// Worked examples in the prompts of a served model, and the seed of its sampling.
    pub(super) sampling: (usize, u64),
    pub(super) planning: Planning,
    pub(super) template: Template,
    pub(super) entities: EntitySource,
    /// Which topic entities to drop; `None` follows the convention of the source.
    pub(super) exclude: Option<ExcludeWhen>,
    pub(in crate::commands) ranker: Arc<dyn Ranker>,
    /// Questions per batch; `None` decides by the size of the model.
    pub(super) batch: Option<usize>,
    /// Probability above which a local model abstains; `None` takes the model's own threshold. See
    /// [`LocalPlanner::doubting`].
    pub(super) abstention_threshold: Option<f64>,
    /// Whether the model may answer from its own knowledge if the graph has no answer.
    pub(super) model_knowledge: bool,
    /// Prices of a served model's tokens.
    pub(super) price: Option<Prices>,
    /// Whether a relation that the question needs is hidden from the agent.
    pub(super) withhold: bool,
    /// The questions that the model was trained on.
    pub(super) training: TrainingQuestions,
}

impl Setting {
    /// A setting with the default options.
    pub(in crate::commands) fn new(
        agent: AgentKind,
        planning: Planning,
        template: Template,
        entities: EntitySource,
    ) -> Self {
        Self {
            name: agent.name().to_owned(),
            changed: BASE.to_owned(),
            sampling: (0, 0),
            agent,
            planning,
            template,
            entities,
            exclude: None,
            ranker: rank::lexical(),
            batch: None,
            abstention_threshold: None,
            model_knowledge: false,
            price: None,
            withhold: false,
            training: TrainingQuestions::None,
        }
    }

    /// The setting with the training questions of the local model at `model`.
    pub(in crate::commands) fn trained_as(self, model: &Path) -> Result<Self> {
        let training = match self.planning {
            Planning::Oracle | Planning::Unneeded => TrainingQuestions::None,
            Planning::Remote(..) => TrainingQuestions::Unknown,
            Planning::Local(_) => TrainingQuestions::of_model(model)?,
        };
        Ok(Self { training, ..self })
    }
}
