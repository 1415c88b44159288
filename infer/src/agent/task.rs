//! One question for an agent.

use std::sync::Arc;

use common::cancel::Cancel;
use kg::Kg;
use kg::term::NodeId;
use toolbox::exec::{ExecOptions, Session};
use toolbox::link::Linked;
use toolbox::prompt::Template;
use toolbox::rank::RankError;
use toolbox::trace::TraceEvent;

/// Sees every event of a trace at the moment it is recorded.
pub type TraceWatcher = Arc<dyn Fn(&TraceEvent) + Send + Sync>;

/// One question for an agent.
pub struct Task<'a> {
    /// The graph.
    pub kg: &'a dyn Kg,
    /// The question as asked.
    pub question: &'a str,
    /// The linked entities, classes and values.
    pub linked: Linked,
    /// Classes that must be offered (an oracle's; otherwise empty).
    pub must_offer: &'a [NodeId],
    /// Limits, exclusions and ranking.
    pub options: ExecOptions,
    /// The prompt template.
    pub template: &'a Template,
    /// The planner's name, for the trace.
    pub planner_name: &'a str,
    /// Whether the model may answer from its own knowledge if the graph has no answer (Triad's
    /// advisor, ODA's answer). Such an answer is marked as the model's.
    pub model_knowledge: bool,
    /// Sees the events as they happen.
    pub watcher: Option<TraceWatcher>,
}

impl<'a> Task<'a> {
    /// A question for a model, with the tools of its template. Statement nodes are not accepted as
    /// answers (rule R22).
    #[must_use]
    pub fn new(
        kg: &'a dyn Kg,
        question: &'a str,
        linked: Linked,
        options: ExecOptions,
        template: &'a Template,
        planner_name: &'a str,
    ) -> Self {
        Self {
            kg,
            question,
            linked,
            must_offer: &[],
            options: ExecOptions {
                refuse_statements: true,
                tools: template.tools,
                ..options
            },
            template,
            planner_name,
            model_knowledge: false,
            watcher: None,
        }
    }

    /// A question about the given topic entities, which become the excluded nodes of `options`.
    #[must_use]
    pub fn about(
        kg: &'a dyn Kg,
        question: &'a str,
        entities: &[NodeId],
        mut options: ExecOptions,
        template: &'a Template,
        planner_name: &'a str,
    ) -> Self {
        let linked = Linked::asked(kg, question, entities);
        options.exclude.nodes.clone_from(&linked.entities);
        Self::new(kg, question, linked, options, template, planner_name)
    }

    /// The same question, which ends early when `cancel` says so.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: Cancel) -> Self {
        self.options.cancel = cancel;
        self
    }

    /// A new session on the question.
    pub(super) fn session(&self) -> Result<Session<'a>, RankError> {
        self.session_with(self.options.clone())
    }

    /// A new session on the question with other options.
    pub(super) fn session_with(&self, options: ExecOptions) -> Result<Session<'a>, RankError> {
        Session::new(
            self.kg,
            self.question,
            self.linked.clone(),
            self.must_offer,
            options,
        )
    }
}
