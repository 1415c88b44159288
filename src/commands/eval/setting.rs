//! Who answers, and how questions are put.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use infer::agent::AgentKind;
use infer::planner::{LocalModel, LocalPlanner, Planner};
use toolbox::exec::ExcludeWhen;
use toolbox::memory::Template;
use toolbox::rank::Ranker;

use crate::cli::EntitySource;

/// Who plans.
pub(crate) enum Planning {
    /// The gold programs.
    Oracle,
    /// A model folder.
    Local(Arc<LocalModel>),
}

impl Planning {
    /// A planner for one thread; none for the oracle, which needs the question first.
    pub(super) fn planner(&self) -> Option<Box<dyn Planner>> {
        match self {
            Self::Oracle => None,
            Self::Local(model) => Some(Box::new(LocalPlanner::new(model))),
        }
    }

    /// The name in traces.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Local(_) => "local model",
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
}

impl Setting {
    /// The setting of a model folder, or of `oracle`.
    pub(crate) fn open(
        agent: AgentKind,
        model: &str,
        entities: EntitySource,
        exclude: Option<ExcludeWhen>,
        ranker: Arc<dyn Ranker>,
    ) -> Result<Self> {
        let (planning, template) = if model == "oracle" {
            (Planning::Oracle, Template::of(agent.trained_as()))
        } else {
            let model = LocalModel::open(Path::new(model)).with_context(|| format!("cannot load the model {model}"))?;
            let template = model.template(agent.trained_as())?;
            (Planning::Local(Arc::new(model)), template)
        };
        Ok(Self { agent, planning, template, entities, exclude, ranker })
    }
}
