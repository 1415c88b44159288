//! From a question to an answer: finds its entities, excludes what cannot be an answer, and runs an agent. `ask`, the
//! server, the demo and the library for other programs use this.

use std::sync::Arc;

use common::cancel::Cancel;
use kg::Kg;
use kg::term::NodeId;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions};
use toolbox::explain;
use toolbox::limits::QUESTION_DEADLINE;
use toolbox::link;
use toolbox::prompt::Template;
use toolbox::rank::Ranker;

use crate::InferError;
use crate::agent::{AgentKind, Outcome, Task, TraceWatcher, answer_with};
use crate::planner::Planner;

/// At most this many labels of [`Asking::about`] are used.
const STAND_INS: usize = 16;

/// What all questions about a graph have in common.
pub struct Answerer<'a> {
    /// The graph.
    pub kg: &'a dyn Kg,
    /// The agent.
    pub agent: &'a AgentKind,
    /// The prompt template of its model.
    pub template: &'a Template,
    /// Orders relations, and entities of one name.
    pub ranker: &'a Arc<dyn Ranker>,
    /// The model's name, for traces.
    pub model_name: &'a str,
}

/// A question.
#[derive(Default)]
pub struct Asking<'a> {
    /// As it was asked.
    pub question: &'a str,
    /// Its entities, by name, id or label. If the list is empty, they are found in the question.
    pub entities: &'a [String],
    /// Labels of entities to use if none is found in the question. Labels unknown to the graph are ignored.
    pub about: &'a [String],
    /// Where its entities are removed from results. By default its words decide.
    pub exclude: Option<ExcludeWhen>,
    /// Whether the model may answer from its own knowledge if the graph has no answer.
    pub model_knowledge: bool,
    /// Sees the events of the trace as they happen.
    pub watcher: Option<TraceWatcher>,
    /// Ends the question early.
    pub cancel: Cancel,
}

impl<'a> Asking<'a> {
    /// A question without options.
    #[must_use]
    pub fn of(question: &'a str) -> Self {
        Self {
            question,
            ..Self::default()
        }
    }
}

/// An answered question.
pub struct Answered {
    /// The entities that it was answered with.
    pub entities: Vec<NodeId>,
    /// What the agent found.
    pub outcome: Outcome,
}

impl Answered {
    /// The names of the entities.
    #[must_use]
    pub fn names(&self, kg: &dyn Kg) -> Vec<String> {
        self.entities.iter().map(|&node| kg.name(node)).collect()
    }
}

impl Answerer<'_> {
    /// Answers a question.
    ///
    /// # Errors
    /// [`InferError`] if the question is too long or cancelled, names an entity that the graph does not have, or if the
    /// planner fails. A question without an answer is an [`Outcome`].
    pub fn answer(
        &self,
        asking: Asking<'_>,
        planner: &mut dyn Planner,
    ) -> Result<Answered, InferError> {
        let (kg, question, cancel) = (self.kg, asking.question, asking.cancel);
        let ranker = self.ranker.as_ref();
        let limited = cancel.clone().within(QUESTION_DEADLINE);
        let topics = |given: &[String]| link::topics(kg, question, given, ranker, &limited);
        let mut entities = topics(asking.entities)?;
        if entities.is_empty() {
            let labels = asking.about.iter().take(STAND_INS);
            let found = labels.filter_map(|label| topics(std::slice::from_ref(label)).ok());
            entities.extend(found.flatten());
        }
        let options = ExecOptions {
            exclude: Exclude {
                nodes: Vec::new(),
                when: asking
                    .exclude
                    .unwrap_or_else(|| explain::exclusion(question)),
            },
            ranker: Arc::clone(self.ranker),
            cancel,
            ..ExecOptions::default()
        };
        let task = Task {
            model_knowledge: asking.model_knowledge,
            watcher: asking.watcher,
            ..Task::about(
                kg,
                question,
                &entities,
                options,
                self.template,
                self.model_name,
            )
        };
        let outcome = answer_with(self.agent, task, planner)?;
        Ok(Answered { entities, outcome })
    }
}
