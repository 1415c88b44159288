//! Answers one question with an agent and scores the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use common::hash;
use common::wordings::Wording;
use datagen::linking::gold_entities;
use datagen::question::GoldQuestion;
use datagen::verify::{self, Verified, VerifyOptions};
use infer::InferError;
use infer::agent::{Outcome, Task, answer_with};
use infer::planner::Planner;
use kg::Kg;
use kg::term::{NodeId, RelId};
use toolbox::answer::{AnswerValue, Provenance};
use toolbox::call::ToolTable;
use toolbox::exec::{Exclude, ExecOptions};
use toolbox::link::{self, Linked};
use toolbox::metrics::{Scored, score};
use toolbox::trace::TraceEvent;

use super::super::oracle;
use super::gold::GoldAnswers;
use super::linking::kept;
use super::result::{JudgedCandidate, Prediction};
use super::seen::TrainingQuestions;
use super::setting::Setting;
use crate::cli::EntitySource;

pub(super) struct EvaluatedQuestion {
    pub(super) scored: Scored,
    /// Gold entities, linked entities, and the time that linking took.
    pub(super) linking: Option<(Vec<NodeId>, Vec<NodeId>, Duration)>,
    pub(super) prediction: Prediction,
    pub(super) events: Vec<TraceEvent>,
    /// Its wording, if the training questions of the model are known.
    pub(super) wording: Option<Wording>,
}

/// Why a question was not evaluated.
pub(super) enum NotEvaluated {
    /// The question cannot be evaluated, for this reason.
    Skipped(String),
    /// The user interrupted before its turn.
    Stopped,
    /// The evaluation must end.
    Failed(Error),
}

impl From<Error> for NotEvaluated {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Evaluates questions; all threads share it.
pub(super) struct Evaluator<'a> {
    graph: &'a dyn Kg,
    setting: &'a Setting,
    attempts: Attempts,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(graph: &'a dyn Kg, setting: &'a Setting) -> Self {
        Self {
            graph,
            setting,
            attempts: Attempts::default(),
        }
    }

    /// Evaluates one question with `planner`, or with the oracle if there is none.
    pub(super) fn evaluate(
        &self,
        question: &GoldQuestion,
        planner: Option<&mut (dyn Planner + '_)>,
    ) -> Result<EvaluatedQuestion, NotEvaluated> {
        link::check_question(&question.question)
            .map_err(|error| NotEvaluated::Skipped(format!("too long: {error}")))?;
        let withheld = match self.setting.withhold {
            true => {
                Some(withheld(self.graph, question, self.tools()).map_err(NotEvaluated::Skipped)?)
            }
            false => None,
        };
        let gold = match withheld {
            Some(_) => GoldAnswers::none(),
            None => GoldAnswers::of(self.graph, question).map_err(NotEvaluated::Skipped)?,
        };
        let begun = Instant::now();
        let linked = match self.setting.entities {
            EntitySource::Gold => None,
            EntitySource::Linked => Some(
                link::entities_of(self.graph, &question.question, self.setting.ranker.as_ref())
                    .map_err(Error::from)?,
            ),
        };
        let linking_took = begun.elapsed();
        let (outcome, verified) = match planner {
            Some(planner) => {
                let without = withheld.as_ref().map(|gold| gold.without.clone());
                let without = without.unwrap_or_default();
                let answer = self.answer_with_model(question, linked.as_deref(), without, planner);
                // If the planner fails at one question, that question has no answer; the evaluation
                // continues.
                (self.attempts.outcome(answer)?, withheld)
            }
            None => {
                let verified = match withheld {
                    Some(verified) => verified,
                    None => verified(self.graph, question, self.tools())
                        .map_err(NotEvaluated::Skipped)?,
                };
                let outcome = self.answer_with_oracle(question, &verified, linked.as_deref())?;
                (outcome, Some(verified))
            }
        };
        let took = begun.elapsed();
        // Only an agent that writes programs can write the gold one.
        let equal_program = if self.setting.agent.writes_programs() {
            verified
                .or_else(|| self::verified(self.graph, question, self.tools()).ok())
                .map(|verified| {
                    let gold = verified.gold.calls.iter().map(ToString::to_string);
                    gold.eq(outcome.answer.program.iter().cloned())
                })
        } else {
            None
        };
        let mut evaluated = scored(self.graph, question, &gold, outcome, took, equal_program);
        if matches!(self.setting.training, TrainingQuestions::Known(_)) {
            evaluated.wording = Some(datagen::wording(self.graph, question));
        }
        evaluated.linking = linked
            .and_then(|linked| Some((gold_entities(self.graph, question)?, linked, linking_took)));
        Ok(evaluated)
    }

    /// The tools of gold programs.
    fn tools(&self) -> ToolTable {
        self.setting.template.tools
    }

    /// Replays the gold program. With linked entities, the oracle abstains unless all entities of
    /// the program are linked, so its score is the best that a planner can reach on them.
    fn answer_with_oracle(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
        linked: Option<&[NodeId]>,
    ) -> Result<Outcome> {
        let needed = &verified.linked.entities;
        let reachable = linked.is_none_or(|linked| needed.iter().all(|node| linked.contains(node)));
        let options = VerifyOptions {
            ranker: Arc::clone(&self.setting.ranker),
            tools: self.tools(),
            ..VerifyOptions::default()
        };
        let mut planner = oracle::planner(
            &self.setting.agent,
            self.graph,
            question,
            verified,
            reachable,
            &self.setting.template,
            &options,
        )?;
        let task = Task {
            must_offer: &verified.must_offer,
            options: verified.exec_options(&options),
            ..self.task(question, verified.linked.clone(), ExecOptions::default())
        };
        Ok(answer_with(&self.setting.agent, task, planner.as_mut())?)
    }

    fn answer_with_model(
        &self,
        question: &GoldQuestion,
        linked: Option<&[NodeId]>,
        without: Vec<RelId>,
        planner: &mut dyn Planner,
    ) -> Result<Outcome, InferError> {
        let entities = match linked {
            Some(linked) => linked.to_vec(),
            None => question
                .topics
                .iter()
                .filter_map(|topic| self.graph.by_name(&topic.name))
                .collect(),
        };
        let linked = Linked::asked(self.graph, &question.question, &entities);
        let options = ExecOptions {
            exclude: Exclude {
                nodes: linked.entities.clone(),
                when: self.setting.exclude.unwrap_or(question.exclude),
            },
            without,
            ranker: Arc::clone(&self.setting.ranker),
            ..ExecOptions::default()
        };
        let task = Task {
            model_knowledge: self.setting.model_knowledge,
            ..self.task(question, linked, options)
        };
        answer_with(&self.setting.agent, task, planner)
    }

    fn task<'t>(
        &'t self,
        question: &'t GoldQuestion,
        linked: Linked,
        options: ExecOptions,
    ) -> Task<'t> {
        let (template, name) = (&self.setting.template, self.setting.planning.name());
        Task::new(
            self.graph,
            &question.question,
            linked,
            options,
            template,
            name,
        )
    }
}

/// The scores and the prediction of an outcome; `equal_program` says whether its program is the
/// gold one.
fn scored(
    graph: &dyn Kg,
    question: &GoldQuestion,
    gold: &GoldAnswers,
    outcome: Outcome,
    took: Duration,
    equal_program: Option<bool>,
) -> EvaluatedQuestion {
    let predicted = gold.comparable(&outcome.answer);
    let scores = score(&predicted, &gold.answers);
    let groups = groups(question);
    let phases = outcome.phases.iter();
    let scored = Scored {
        scores,
        answered: !outcome.answer.is_none(),
        from_model: outcome.answer.provenance == Provenance::Model,
        calls: outcome.calls,
        invalid_calls: outcome.invalid,
        asked: outcome.asked,
        tokens: outcome.tokens,
        seconds: took.as_secs_f64(),
        phases: phases
            .map(|(phase, seconds)| ((*phase).to_owned(), *seconds))
            .collect(),
        failure: outcome.failure.map(str::to_owned),
        kept: kept(graph, question, &outcome.survived),
        program: equal_program,
        groups: groups.clone(),
    };
    let decided = &outcome.decided;
    // Equal numbers and truths need not mean the same.
    let same = |at: usize| {
        let set = matches!(decided[at].value, AnswerValue::Set(_));
        let first = decided
            .iter()
            .position(|one| one.value == decided[at].value);
        first.filter(|_| set).unwrap_or(at)
    };
    let decided = (decided.iter().enumerate())
        .map(|(at, one)| JudgedCandidate {
            right: score(&gold.comparable(&one.answer()), &gold.answers).exact == 1.0,
            answer: same(at),
            terms: one.terms,
            said: one.said.clone(),
        })
        .collect();
    let prediction = Prediction {
        decided,
        said: outcome.said.clone(),
        id: question.id.clone(),
        question: question.question.clone(),
        gold: gold.answers.ids.clone(),
        predicted: predicted.ids,
        gold_labels: gold.answers.labels.clone(),
        predicted_labels: predicted.labels,
        provenance: outcome.answer.provenance,
        scores,
        gold_program: equal_program,
        calls: outcome.calls,
        invalid_calls: outcome.invalid,
        asked: outcome.asked,
        tokens: outcome.tokens,
        served: outcome.served,
        groups,
        failure: outcome.failure.map(str::to_owned),
        reason: outcome.stuck(),
        program: outcome.answer.program,
        emptied: outcome.answer.emptied,
        value: outcome.answer.value,
    };
    EvaluatedQuestion {
        scored,
        linking: None,
        prediction,
        events: outcome.events,
        wording: None,
    }
}

/// The groups of a question in the metrics: its number of hops, and its types or, for GrailQA, its
/// level of generalisation. Questions of KQA Pro have several types.
pub(super) fn groups(question: &GoldQuestion) -> Vec<(String, String)> {
    let dimension = match question.source.as_str() {
        "grailqa" => "level",
        _ => "type",
    };
    let hops = question
        .hops
        .map(|hops| ("hops".to_owned(), hops.to_string()));
    let several = question.source == "kqapro";
    let kinds = question.kind.iter().flat_map(|kind| {
        kind.split(move |c| several && c == '+')
            .map(|kind| (dimension.to_owned(), kind.to_owned()))
    });
    hops.into_iter().chain(kinds).collect()
}

/// The gold program, verified against the gold query on this graph. The published answers need not
/// be the same: the oracle also measures how often they differ.
fn verified(graph: &dyn Kg, question: &GoldQuestion, tools: ToolTable) -> Result<Verified, String> {
    let free = GoldQuestion {
        answers_bind: false,
        ..question.clone()
    };
    let options = VerifyOptions {
        abstain: true,
        tools,
        ..VerifyOptions::default()
    };
    verify::verify(graph, &free, &options)
        .map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))
}

/// The gold program with one of its relations hidden, so that it ends without an answer.
fn withheld(graph: &dyn Kg, question: &GoldQuestion, tools: ToolTable) -> Result<Verified, String> {
    let verified = verified(graph, question, tools)?;
    let choice = hash::number(0, "withhold", &question.id);
    verify::withhold(
        graph,
        question,
        &verified,
        &VerifyOptions::default(),
        choice,
    )
    .map_err(|error| error.to_string())?
    .map_err(|reason| reason.to_string())
}

/// Number of failures before the first success after which the planner counts as broken.
const HOPELESS: usize = 5;

/// How often the planner has succeeded and failed, on all threads.
#[derive(Default)]
struct Attempts {
    answered: AtomicUsize,
    failed: AtomicUsize,
}

impl Attempts {
    /// Turns a failure into an outcome without an answer, or passes it on if the planner is broken.
    fn outcome(&self, answer: Result<Outcome, InferError>) -> Result<Outcome> {
        match answer {
            Ok(outcome) => {
                self.answered.fetch_add(1, Ordering::Relaxed);
                Ok(outcome)
            }
            // A ranker that fails would fail for every question.
            Err(error @ InferError::Rank(_)) => Err(error.into()),
            Err(error) => {
                let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
                if failed >= HOPELESS && self.answered.load(Ordering::Relaxed) == 0 {
                    return Err(error.into());
                }
                Ok(Outcome::failed(&error))
            }
        }
    }
}
