//! The session of one question.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::classes::offered_classes;
use super::clock::Clock;
use super::error::ToolError;
use super::types::{ExecOptions, Observation, Relation, Shown, Step, Value};
use crate::call::{Arg, Call, Target};
use crate::link::Linked;
use crate::mention::Mentions;
use crate::rank::{RankError, Ranker, RelationCandidate};
use common::cancel::Cancel;
use kg::Kg;
use kg::term::{NodeId, RelId};

/// The value of a set argument as a key of relation lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetKey {
    Var(u32),
    Node(NodeId),
    List(Vec<Arg>),
    /// A column of a table.
    Column(u32, u32),
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
    /// Stops the call that runs.
    pub(super) clock: Clock,
    /// Members of all sets of the session.
    pub(super) held: usize,
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
            let classes = offered_classes(kg, &bare, must_offer, &options)?;
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
            clock: Clock::endless(),
            held: 0,
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
    /// The plain question ([`plainly`](crate::carrier::plainly)), as it was linked.
    pub(crate) fn plain_question(&self) -> &str {
        self.linked.plain().unwrap_or(&self.question)
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
        if !self.options.tools.has(call.tool) {
            return Err(ToolError::NotOffered(call.tool.name()));
        }
        let next = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        if let Target::Var(index) = call.target
            && index != next
        {
            return Err(ToolError::Assignment { given: index, next });
        }
        let named = self.with_names(call)?;
        self.clock = self.time_left();
        let done = self.apply(&named);
        self.clock = Clock::endless();
        self.spent += begun.elapsed();
        let done = done?;
        self.held = self.held_with(&named, &done)?;
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
                for (column, origin) in done.origins.iter().enumerate() {
                    let known = origin.as_ref().and_then(|key| self.shown.get(key)).cloned();
                    if let (Some(shown), Ok(column)) = (known, u32::try_from(column)) {
                        self.shown.insert(SetKey::Column(next, column), shown);
                    }
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

    /// What ends a ranking: the question's cancel and, during a call, the deadline of the calls.
    pub(crate) fn cancel(&self) -> Cancel {
        self.clock.over(&self.options.cancel)
    }

    /// A clock with the time that is left for the calls of this question.
    pub(super) fn time_left(&self) -> Clock {
        let limit = self.options.deadline;
        Clock::new(
            limit.saturating_sub(self.spent),
            limit,
            self.options.cancel.clone(),
        )
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
            Arg::Column(table, column) => SetKey::Column(*table, *column),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use crate::call::{parse_call, parse_program};
    use crate::exec::evidence;
    use crate::limits::SESSION_SIZE;
    use kg::FrozenKg;
    use kg::term::Term;

    fn iri(text: &str) -> Term {
        Term::Iri(text.to_owned())
    }

    /// A node with many children, each with one child.
    fn wide(size: usize) -> FrozenKg {
        FrozenKg::from_triples((0..size).flat_map(|i| {
            let child = iri(&format!("x:c{i}"));
            [
                [iri("x:top"), iri("x:r"), child.clone()],
                [child, iri("x:q"), iri(&format!("x:d{i}"))],
            ]
        }))
    }

    fn begin(kg: &FrozenKg) -> Session<'_> {
        let options = ExecOptions {
            lists: false,
            ..ExecOptions::default()
        };
        Session::new(kg, "", Linked::default(), &[], options).unwrap()
    }

    const WALK: &str =
        "v0 = get_tail_entity(<x:top>, <x:r>); v1 = get_tail_entity(v0, <x:q>); ans = end(v1)";

    #[test]
    fn evidence_is_linear_and_large_answers_are_cut() {
        let kg = wide(30_000);
        let mut session = begin(&kg);
        run_program(&mut session, &parse_program(WALK).unwrap()).unwrap();
        let start = Instant::now();
        let answer = Answer::of(&session);
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(
            (answer.texts().len(), answer.evidence.len()),
            (20_000, 40_000)
        );
        let cut = answer.cut.unwrap();
        assert_eq!((cut.members, cut.evidence), (30_000, 40_000));
        assert_eq!(
            cut.note,
            "the first 20000 of 30000 members; the evidence does not cover the whole answer"
        );
    }

    #[test]
    fn evidence_ends_with_the_time_of_the_question() {
        let kg = wide(5_000);
        let mut session = begin(&kg);
        run_program(&mut session, &parse_program(WALK).unwrap()).unwrap();
        let whole = evidence(&session);
        assert_eq!((whole.triples.len(), whole.complete), (10_000, true));
        assert_eq!(Answer::of(&session).cut, None);
        session.options.deadline = Duration::ZERO;
        let part = evidence(&session);
        assert!(part.triples.len() < 5_000 && !part.complete);
        assert!(Answer::of(&session).cut.is_some());
    }

    #[test]
    fn calls_end_with_the_time_of_the_question() {
        let kg = wide(5_000);
        for last in [
            "get_tail_entity(v0, <x:q>)",
            "get_entity_by_constraint(v0, <x:q>, =, <x:d1>)",
            "get_entity_by_constraint(v0, <x:q>, argmax)",
            "judge(v0, <x:q>, <, 5)",
        ] {
            let program = format!("v0 = get_tail_entity(<x:top>, <x:r>); v1 = {last}");
            let calls = parse_program(&program).unwrap();
            let mut session = begin(&kg);
            session.run(&calls[0]).unwrap();
            // Less than the next call takes, and more than the call before it took.
            session.options.deadline = Duration::from_nanos(1);
            session.spent = Duration::ZERO;
            assert!(
                matches!(session.run(&calls[1]), Err(ToolError::Deadline { .. })),
                "{last}"
            );
        }
    }

    #[test]
    fn lists_and_sets_are_limited() {
        let kg = wide(100);
        let mut session = begin(&kg);
        let list = vec!["<x:top>"; 65].join(", ");
        let long = parse_program(&format!("v0 = count([{list}])")).unwrap();
        assert_eq!(
            session.run(&long[0]).unwrap_err(),
            ToolError::LongList {
                items: 65,
                limit: 64
            }
        );
        let calls = parse_program(WALK).unwrap();
        session.held = SESSION_SIZE - 150;
        session.run(&calls[0]).unwrap();
        let error = session.run(&calls[1]).unwrap_err();
        assert!(
            matches!(
                error,
                ToolError::TooLarge {
                    limit: SESSION_SIZE
                }
            ),
            "{error}"
        );
        assert_eq!(session.variables(), 1);
        // A variable is shared between calls; a list takes its members once more with every call.
        let mut session = begin(&kg);
        session.run(&calls[0]).unwrap();
        let mut listed = (1..).map(|i| parse_call(&format!("v{i} = count([v0])")).unwrap());
        for call in listed.by_ref().take(5) {
            session.run(&call).unwrap();
        }
        session.held = SESSION_SIZE - 50;
        let error = session.run(&listed.next().unwrap()).unwrap_err();
        assert!(matches!(error, ToolError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn names_that_would_flood_a_prompt_are_not_offered() {
        let long = |start: &str| iri(&format!("x:{start}{}", "y".repeat(20_000)));
        let rdf_type = iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type");
        let kg = FrozenKg::from_triples([
            [iri("x:top"), long("r"), iri("x:a")],
            [iri("x:top"), iri("x:r"), iri("x:a")],
            [iri("x:a"), rdf_type.clone(), long("c")],
            [iri("x:b"), rdf_type, iri("x:c")],
        ]);
        let mut session =
            Session::new(&kg, "r", Linked::default(), &[], ExecOptions::default()).unwrap();
        assert_eq!(session.classes(), [kg.find(&iri("x:c")).unwrap()]);
        let calls = parse_program("get_relation(<x:top>)").unwrap();
        let step = session.run(&calls[0]).unwrap();
        let Observation::Relations(shown) = &step.observation else {
            panic!("no list");
        };
        assert_eq!(
            shown.out,
            [Relation::Plain(kg.find(&iri("x:r")).unwrap().relation())]
        );
    }
}
