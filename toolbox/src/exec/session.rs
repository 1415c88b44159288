//! The session of one question.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::classes::offered_classes;
use super::error::ToolError;
use super::types::{ExecOptions, Observation, Relation, Shown, Step, Value};
use crate::call::{Arg, Call, Target};
use crate::link::Linked;
use crate::mention::Mentions;
use crate::rank::{RankError, Ranker, RelationCandidate};
use kg::Kg;
use kg::term::{NodeId, RelId};

/// The value of a set argument as a key of relation lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetKey {
    Var(u32),
    Node(NodeId),
    List(Vec<Arg>),
}

/// One question in progress: variables, lists and steps. Everything that the planner can name is
/// stored here.
#[derive(Clone)]
pub struct Session<'g> {
    pub(super) kg: &'g dyn Kg,
    pub(super) question: String,
    pub(super) bare_question: String,
    pub(super) linked: Linked,
    /// Computed on first use: only one naming needs them.
    pub(super) mentions: OnceLock<Mentions>,
    pub(super) classes: Vec<NodeId>,
    pub(super) options: ExecOptions,
    pub(super) variables: Vec<Value>,
    /// For each variable, the relations followed from the linked entities to it.
    pub(super) paths: Vec<Vec<RelationCandidate>>,
    pub(super) shown: HashMap<SetKey, Shown>,
    pub(super) last_shown: Option<SetKey>,
    pub(super) steps: Vec<Step>,
    answer: Option<Value>,
    /// Time spent in calls. Planner and observation time is excluded: a served model may take
    /// minutes.
    spent: Duration,
}

impl<'g> Session<'g> {
    /// Begins a question. The classes in `must_offer` stay in the offer even if the ranking would
    /// cut them (training data only).
    ///
    /// # Errors
    /// Returns the error of the ranker.
    pub fn new(
        kg: &'g dyn Kg,
        question: &str,
        linked: Linked,
        must_offer: &[NodeId],
        options: ExecOptions,
    ) -> Result<Self, RankError> {
        let (bare_question, classes) = if options.lists {
            let bare = linked.bare(question);
            let classes = offered_classes(kg, &bare, must_offer, options.ranker.as_ref())?;
            (bare, classes)
        } else {
            (question.to_owned(), Vec::new())
        };
        Ok(Self {
            kg,
            question: question.to_owned(),
            bare_question,
            linked,
            mentions: OnceLock::new(),
            classes,
            options,
            variables: Vec::new(),
            shown: HashMap::new(),
            last_shown: None,
            paths: Vec::new(),
            steps: Vec::new(),
            answer: None,
            spent: Duration::ZERO,
        })
    }

    /// The graph.
    #[must_use]
    pub fn kg(&self) -> &'g dyn Kg {
        self.kg
    }
    /// The question as asked.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }
    /// The question without its entity mentions, as rankers see it.
    #[must_use]
    pub fn bare_question(&self) -> &str {
        &self.bare_question
    }
    /// The session options.
    pub(crate) fn options(&self) -> &ExecOptions {
        &self.options
    }
    /// Whether a relation is visible to the session.
    pub(crate) fn sees(&self, relation: RelId) -> bool {
        !self.options.without.contains(&relation)
    }
    /// Entities and literals linked to the question.
    #[must_use]
    pub fn linked(&self) -> &Linked {
        &self.linked
    }
    /// Classes offered with the question, best first.
    #[must_use]
    pub fn classes(&self) -> &[NodeId] {
        &self.classes
    }
    /// The steps taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// The answer, once `end` was called.
    #[must_use]
    pub fn answer(&self) -> Option<&Value> {
        self.answer.as_ref()
    }
    /// Number of assigned variables.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables.len()
    }
    /// The value of a variable.
    #[must_use]
    pub fn variable(&self, index: usize) -> Option<&Value> {
        self.variables.get(index)
    }
    /// The ranker of relations and classes.
    #[must_use]
    pub fn ranker(&self) -> &Arc<dyn Ranker> {
        &self.options.ranker
    }
    /// Relations hidden from this session.
    #[must_use]
    pub fn without(&self) -> &[RelId] {
        &self.options.without
    }
    /// The first step whose result was the empty set or an empty relation list.
    #[must_use]
    pub fn first_empty(&self) -> Option<usize> {
        self.steps.iter().position(|step| match &step.observation {
            Observation::Relations(shown) => shown.is_empty(),
            Observation::Value(value) | Observation::Answer(value) => value.is_empty(),
        })
    }

    /// Runs one call, given with handles or with names.
    ///
    /// # Errors
    /// Returns [`ToolError`] if an argument is unknown, a limit is reached or the ranker fails. The
    /// session is unchanged then.
    pub fn run(&mut self, call: &Call) -> Result<&Step, ToolError> {
        let begun = Instant::now();
        self.options.cancel.check()?;
        if self.answer.is_some() {
            return Err(ToolError::Ended);
        }
        if self.steps.len() >= self.options.max_steps {
            return Err(ToolError::Steps {
                limit: self.options.max_steps,
            });
        }
        if self.spent >= self.options.deadline {
            return Err(ToolError::Deadline {
                limit: self.options.deadline,
            });
        }
        let next = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        if let Target::Var(index) = call.target
            && index != next
        {
            return Err(ToolError::Assignment { given: index, next });
        }
        let named = self.with_names(call)?;
        let done = self.apply(&named);
        self.spent += begun.elapsed();
        let done = done?;
        match &done.observation {
            Observation::Relations(shown) => {
                let key = self.set_key(&named.args[0])?;
                self.shown.insert(key.clone(), shown.clone());
                self.last_shown = Some(key);
            }
            Observation::Value(value) => {
                if self.options.lists {
                    let mut path: Vec<RelationCandidate> =
                        named.args.iter().flat_map(|arg| self.path(arg)).collect();
                    path.extend(
                        done.walked
                            .map(|(relation, out)| self.candidate(relation, out, None)),
                    );
                    self.paths.push(path);
                }
                self.variables.push(value.clone());
                self.last_shown = None;
            }
            Observation::Answer(value) => self.answer = Some(value.clone()),
        }
        self.steps.push(Step {
            call: named,
            observation: done.observation,
            walked: done.walked,
            inputs: done.inputs,
            took: begun.elapsed(),
        });
        let last = self.steps.len() - 1;
        Ok(&self.steps[last])
    }

    /// Whether a set is rejected as an answer because it contains only statement nodes (rule R22).
    pub(crate) fn only_statements(&self, set: &[NodeId]) -> bool {
        self.options.refuse_statements
            && !set.is_empty()
            && set.iter().all(|&node| self.kg.is_statement(node))
    }

    /// The printed name of a relation.
    #[must_use]
    pub fn relation_name(&self, relation: Relation) -> String {
        match relation {
            Relation::Plain(id) => self.kg.name(id.node()),
            Relation::Interval(index) => self.kg.schema().intervals[index].name.clone(),
        }
    }

    /// The label of a relation, if it has one.
    pub(super) fn relation_label(&self, relation: Relation) -> Option<String> {
        match relation {
            Relation::Plain(id) => self.kg.label(id.node()),
            Relation::Interval(_) => None,
        }
    }

    /// The relation list that the last call showed, if any: the "current KG information" of the
    /// knowledge memory.
    #[must_use]
    pub fn current(&self) -> Option<&Shown> {
        match self.steps.last().map(|step| &step.observation) {
            Some(Observation::Relations(shown)) => Some(shown),
            _ => None,
        }
    }

    pub(crate) fn set_key(&self, arg: &Arg) -> Result<SetKey, ToolError> {
        Ok(match arg {
            Arg::Var(index) => SetKey::Var(*index),
            Arg::List(items) => SetKey::List(items.clone()),
            other => SetKey::Node(self.node(other)?),
        })
    }
}

/// Runs a whole program in a fresh session.
///
/// # Errors
/// Returns the index of the failed step and the error.
pub fn run_program(session: &mut Session<'_>, calls: &[Call]) -> Result<Value, (usize, ToolError)> {
    for (i, call) in calls.iter().enumerate() {
        session.run(call).map_err(|error| (i, error))?;
    }
    session
        .answer()
        .cloned()
        .ok_or((calls.len(), ToolError::NoEnd))
}
