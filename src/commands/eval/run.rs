//! Questions through an agent, one by one, and their scores.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use datagen::agents::OdaExamples;
use datagen::hash;
use datagen::linking::{Linking, gold_entities};
use datagen::question::GoldQuestion;
use datagen::verify::{self, Verified, VerifyOptions};
use indicatif::ProgressBar;
use infer::InferError;
use infer::agent::{
    AgentKind, Linkable, Outcome as Answered, PLANNER_FAILED, Survived, Task, answer_with,
};
use infer::planner::{Oracle, Planner, Scripted};
use kg::Kg;
use kg::term::{NodeId, RelId};
use rayon::prelude::*;
use serde::Serialize;
use toolbox::answer::{AnswerValue, Provenance};
use toolbox::call::parse_program;
use toolbox::exec::{Exclude, ExecOptions};
use toolbox::link::{self, Linked};
use toolbox::metrics::{Metrics, Scored, Scores, score};

use super::gold::Gold;
use super::setting::{Planning, Setting};
use crate::cli::EntitySource;
use crate::ui::Ui;

/// One line of `predictions.jsonl`.
#[derive(Serialize)]
pub(super) struct Prediction {
    pub(super) id: String,
    pub(super) question: String,
    pub(super) gold: BTreeSet<String>,
    pub(super) predicted: BTreeSet<String>,
    pub(super) gold_labels: Vec<String>,
    pub(super) predicted_labels: Vec<String>,
    pub(super) provenance: Provenance,
    pub(super) scores: Scores,
    pub(super) program: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gold_program: Option<bool>,
    pub(super) calls: usize,
    pub(super) invalid_calls: usize,
    pub(super) asked: usize,
    pub(super) tokens: usize,
    pub(super) groups: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<&'static str>,
    /// What went wrong where the model, and not the graph, is why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) emptied: Option<toolbox::answer::Emptied>,
    /// For the QALD form, which wants terms.
    #[serde(skip)]
    pub(super) value: AnswerValue,
}

/// What an evaluation gave.
pub(crate) struct Evaluated {
    /// The agent's name.
    pub(super) agent: &'static str,
    pub(crate) metrics: Metrics,
    /// How well entities were found, where they were linked.
    pub(crate) linking: Option<Linking>,
    /// Questions that could not be measured (no gold answer, or for the oracle no verified program), with the reason.
    pub(crate) skipped: Vec<(String, String)>,
    pub(super) predictions: Vec<Prediction>,
    /// One a prediction.
    pub(super) traces: Vec<Vec<toolbox::trace::TraceEvent>>,
}

struct One {
    scored: Scored,
    /// Gold and linked entities and how long linking took.
    linking: Option<(Vec<NodeId>, Vec<NodeId>, Duration)>,
    prediction: Prediction,
    events: Vec<toolbox::trace::TraceEvent>,
}

/// Answers every question and scores the answers, on the current thread pool; results do not depend on its size.
pub(crate) fn evaluate(
    graph: &dyn Kg,
    questions: &[GoldQuestion],
    setting: &Setting,
    ui: &Ui,
) -> Result<Evaluated> {
    let bar = ui.bar(Some(questions.len() as u64), "evaluate");
    let tries = Tries::default();
    let results: Vec<Result<Result<One, String>>> =
        match setting.planning.together(setting.batch, questions.len()) {
            Some(slots) => {
                let planners = setting.planning.planners(
                    slots,
                    rayon::current_num_threads(),
                    setting.doubt,
                )?;
                together(planners, questions.len(), |i, planner| {
                    one(
                        graph,
                        &questions[i],
                        setting,
                        Some(planner),
                        &tries,
                        (&bar, ui),
                    )
                })?
            }
            None => questions
                .par_iter()
                .map_init(
                    || setting.planning.planner(setting.doubt),
                    |planner, question| {
                        one(
                            graph,
                            question,
                            setting,
                            planner.as_deref_mut(),
                            &tries,
                            (&bar, ui),
                        )
                    },
                )
                .collect(),
        };
    bar.finish_and_clear();
    let linking = (setting.entities == EntitySource::Linked).then(Linking::default);
    let mut evaluated = Evaluated {
        agent: setting.agent.name(),
        metrics: Metrics::default(),
        linking,
        skipped: Vec::new(),
        predictions: Vec::new(),
        traces: Vec::new(),
    };
    let mut scored = Vec::new();
    for (question, result) in questions.iter().zip(results) {
        match result? {
            Ok(one) => {
                if let (Some(linking), Some((gold, linked, took))) =
                    (&mut evaluated.linking, &one.linking)
                {
                    linking.add(gold, linked, *took, &one.scored.groups);
                }
                scored.push(one.scored);
                evaluated.traces.push(one.events);
                evaluated.predictions.push(one.prediction);
            }
            Err(reason) => evaluated.skipped.push((question.id.clone(), reason)),
        }
    }
    if scored.is_empty() {
        let first = evaluated
            .skipped
            .first()
            .map_or("", |(_, reason)| reason.as_str());
        bail!(
            "none of the {} questions can be measured; the first because: {first}",
            questions.len()
        );
    }
    let mut failed = evaluated
        .predictions
        .iter()
        .filter(|one| one.failure == Some(PLANNER_FAILED));
    if let Some(Prediction { id, reason, .. }) = failed.next() {
        let error = reason.as_deref().unwrap_or_default();
        let n = 1 + failed.count();
        if n == questions.len() {
            bail!("the planner failed at all {n} questions; at the first: {error}");
        }
        ui.warn(&format!(
            "{n} of {} questions count as unanswered because the planner failed; the first is {id}: {error}",
            questions.len()
        ));
    }
    evaluated.metrics = Metrics::of(&scored);
    Ok(evaluated)
}

/// Does `work` on 0 to `n` with a thread a planner; a planner that is done with one takes the next. Results are in order.
fn together<T: Send>(
    planners: Vec<Box<dyn Planner + Send>>,
    n: usize,
    work: impl Fn(usize, &mut (dyn Planner + 'static)) -> T + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let start = |mut planner: Box<dyn Planner + Send>| {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                let mine = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed))
                    .take_while(|i| *i < n);
                mine.map(|i| (i, work(i, planner.as_mut())))
                    .collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = planners.into_iter().map(start).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .map_err(|_| anyhow!("a thread that answered questions failed"))
            })
            .collect::<Result<Vec<_>>>()
    })?
    .into_iter()
    .flatten()
    .collect();
    done.sort_by_key(|(i, _)| *i);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

fn one(
    graph: &dyn Kg,
    question: &GoldQuestion,
    setting: &Setting,
    planner: Option<&mut (dyn Planner + '_)>,
    tries: &Tries,
    (bar, ui): (&ProgressBar, &Ui),
) -> Result<Result<One, String>> {
    if ui.stop().load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    bar.inc(1);
    let taken = match setting
        .withhold
        .then(|| withheld(graph, question))
        .transpose()
    {
        Ok(taken) => taken,
        Err(reason) => return Ok(Err(reason)),
    };
    let gold = if taken.is_some() {
        Ok(Gold::nothing())
    } else {
        Gold::of(graph, question)
    };
    let gold = match gold {
        Ok(gold) => gold,
        Err(reason) => return Ok(Err(reason)),
    };
    let without = taken
        .as_ref()
        .map(|taken| taken.without.clone())
        .unwrap_or_default();
    let begun = Instant::now();
    let found = match setting.entities {
        EntitySource::Gold => None,
        EntitySource::Linked => Some(link::entities_of(
            graph,
            &question.question,
            setting.ranker.as_ref(),
        )?),
    };
    let linking_took = begun.elapsed();
    let (answered, known) = match planner {
        Some(planner) => {
            match model_answer(graph, question, setting, found.as_deref(), without, planner) {
                Ok(answered) => (tries.answered(answered), taken),
                // One question that cannot be put to the model is one without an answer, not the end of the evaluation.
                Err(error) => (tries.failed(error)?, taken),
            }
        }
        None => match taken.map_or_else(|| verified(graph, question), Ok) {
            Ok(verified) => (
                oracle_answer(graph, question, setting, &verified, found.as_deref())?,
                Some(verified),
            ),
            Err(reason) => return Ok(Err(reason)),
        },
    };
    let took = begun.elapsed();
    let linking =
        found.and_then(|found| Some((gold_entities(graph, question)?, found, linking_took)));
    let known = known.or_else(|| verified(graph, question).ok());
    // Only the agent that writes programs can write the gold one.
    let known = known.filter(|_| setting.agent.writes_programs());
    let program = known.map(|verified| {
        verified
            .gold
            .calls
            .iter()
            .map(ToString::to_string)
            .eq(answered.answer.program.iter().cloned())
    });
    let predicted = gold.comparable(&answered.answer);
    let scores = score(&predicted, &gold.answers);
    let groups = groups(question);
    let scored = Scored {
        scores,
        answered: !answered.answer.is_none(),
        from_model: answered.answer.provenance == Provenance::Model,
        calls: answered.calls,
        invalid_calls: answered.invalid,
        asked: answered.asked,
        tokens: answered.tokens,
        seconds: took.as_secs_f64(),
        phases: answered
            .phases
            .iter()
            .map(|(phase, seconds)| ((*phase).to_owned(), *seconds))
            .collect(),
        failure: answered.failure.map(str::to_owned),
        kept: kept(graph, question, &answered.survived),
        program,
        groups: groups.clone(),
    };
    let prediction = Prediction {
        id: question.id.clone(),
        question: question.question.clone(),
        gold: gold.answers.ids,
        predicted: predicted.ids,
        gold_labels: gold.answers.labels,
        predicted_labels: predicted.labels,
        provenance: answered.answer.provenance,
        scores,
        program: answered.answer.program.clone(),
        gold_program: program,
        calls: answered.calls,
        invalid_calls: answered.invalid,
        asked: answered.asked,
        tokens: answered.tokens,
        groups,
        failure: answered.failure,
        reason: answered.stuck().map(str::to_owned),
        emptied: answered.answer.emptied,
        value: answered.answer.value,
    };
    Ok(Ok(One {
        scored,
        linking,
        prediction,
        events: answered.events,
    }))
}

/// What a question is measured by: its hops, and its type or (GrailQA) its level of generalisation.
fn groups(question: &GoldQuestion) -> Vec<(String, String)> {
    let dimension = if question.source == "grailqa" {
        "level"
    } else {
        "type"
    };
    let hops = question
        .hops
        .map(|hops| ("hops".to_owned(), hops.to_string()));
    hops.into_iter()
        .chain(
            question
                .kind
                .clone()
                .map(|kind| (dimension.to_owned(), kind)),
        )
        .collect()
}

/// How many gold entities, and relations that the gold query names, each stage of linking kept.
fn kept(
    graph: &dyn Kg,
    question: &GoldQuestion,
    survived: &[Survived],
) -> Vec<(String, usize, usize)> {
    if survived.is_empty() {
        return Vec::new();
    }
    let Ok(query) = verify::parsed(question) else {
        return Vec::new();
    };
    let relations: BTreeSet<RelId> = iris(&query.to_string())
        .filter_map(|iri| relation(graph, iri))
        .collect();
    let entities = gold_entities(graph, question).unwrap_or_default();
    let one = |stage: &Survived| {
        let (kept, all) = match stage.what {
            Linkable::Entities => {
                let found: Vec<NodeId> = stage
                    .names
                    .iter()
                    .filter_map(|name| graph.by_name(name))
                    .collect();
                (
                    entities.iter().filter(|node| found.contains(node)).count(),
                    entities.len(),
                )
            }
            Linkable::Relations => {
                let found: Vec<RelId> = stage
                    .names
                    .iter()
                    .filter_map(|name| relation(graph, name))
                    .collect();
                (
                    relations
                        .iter()
                        .filter(|relation| found.contains(relation))
                        .count(),
                    relations.len(),
                )
            }
        };
        (stage.stage.to_owned(), kept, all)
    };
    survived.iter().map(one).collect()
}

fn relation(graph: &dyn Kg, name: &str) -> Option<RelId> {
    let node = graph.by_name(name)?;
    graph
        .relations()
        .iter()
        .copied()
        .find(|relation| relation.node() == node)
}

/// IRIs of a query as it is printed.
fn iris(query: &str) -> impl Iterator<Item = &str> {
    query
        .split('<')
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(iri, _)| iri)
        .filter(|iri| !iri.contains(' '))
}

/// The gold program, verified against the gold query on this graph. Published answers do not bind here: how often they differ is part of
/// what the oracle measures.
fn verified(graph: &dyn Kg, question: &GoldQuestion) -> Result<Verified, String> {
    let free = GoldQuestion {
        answers_bind: false,
        ..question.clone()
    };
    let options = VerifyOptions {
        abstain: true,
        ..VerifyOptions::default()
    };
    verify::verify(graph, &free, &options)
        .map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))
}

/// The gold program with a relation that it needs taken away, so that it ends without an answer.
fn withheld(graph: &dyn Kg, question: &GoldQuestion) -> Result<Verified, String> {
    let verified = verified(graph, question)?;
    let choice = hash::number(0, "withhold", &question.id);
    verify::abstention(
        graph,
        question,
        &verified,
        &VerifyOptions::default(),
        choice,
    )
    .ok_or_else(|| {
        "nothing can be taken away from it that leaves no other way to an answer".to_owned()
    })?
    .map_err(|error| error.to_string())
}

/// Replays the gold program. With linked entities it can only be written where all of its entities are linked; elsewhere the oracle gives up,
/// so that its score is the best that any planner can reach on them.
fn oracle_answer(
    graph: &dyn Kg,
    question: &GoldQuestion,
    setting: &Setting,
    verified: &Verified,
    found: Option<&[NodeId]>,
) -> Result<Answered> {
    let reachable = found.is_none_or(|found| {
        verified
            .linked
            .entities
            .iter()
            .all(|node| found.contains(node))
    });
    let options = VerifyOptions {
        ranker: Arc::clone(&setting.ranker),
        ..VerifyOptions::default()
    };
    let mut planner: Box<dyn Planner> = match &setting.agent {
        AgentKind::Oda(oda) if reachable => {
            let examples =
                OdaExamples::new(graph, &setting.template, &options).observing(oda.clone());
            match examples
                .ideal(question, verified)
                .map_err(|refused| anyhow::Error::msg(refused.detail))?
            {
                Some(texts) => Box::new(Scripted::new(texts)),
                // What ODA has no turns for it cannot answer, whoever plans.
                None => Box::new(Scripted::new(vec![ODA_GIVES_UP.to_owned()])),
            }
        }
        AgentKind::Oda(_) => Box::new(Scripted::new(vec![ODA_GIVES_UP.to_owned()])),
        _ if reachable => Box::new(Oracle::new(verified.gold.calls.clone())),
        _ => Box::new(Oracle::new(parse_program(GIVE_UP)?)),
    };
    let task = Task::new(
        graph,
        &question.question,
        verified.linked.clone(),
        verified.exec_options(&options),
        &setting.template,
        Planning::Oracle.name(),
    )
    .for_oracle(&verified.must_offer);
    Ok(answer_with(&setting.agent, task, planner.as_mut())?)
}

/// The program that ends without an answer.
const GIVE_UP: &str = "ans = end([])";
/// The turn of ODA that does the same.
const ODA_GIVES_UP: &str = "answer none";

fn model_answer(
    graph: &dyn Kg,
    question: &GoldQuestion,
    setting: &Setting,
    found: Option<&[NodeId]>,
    without: Vec<RelId>,
    planner: &mut dyn Planner,
) -> Result<Answered, InferError> {
    let entities = match found {
        Some(found) => found.to_vec(),
        None => question
            .topics
            .iter()
            .filter_map(|topic| graph.by_name(&topic.name))
            .collect(),
    };
    let linked = Linked::new(graph, &question.question, &entities);
    let when = setting.exclude.unwrap_or(question.exclude);
    let options = ExecOptions {
        exclude: Exclude {
            nodes: linked.entities.clone(),
            when,
        },
        without,
        ranker: Arc::clone(&setting.ranker),
        ..ExecOptions::default()
    };
    let task = Task {
        model_knowledge: setting.model_knowledge,
        ..Task::new(
            graph,
            &question.question,
            linked,
            options,
            &setting.template,
            setting.planning.name(),
        )
    };
    answer_with(&setting.agent, task, planner)
}

/// Questions at which a planner may fail before one succeeds: then it is the planner that is wrong and not the questions.
const HOPELESS: usize = 5;

/// How planners have done so far, counted by all threads.
#[derive(Default)]
struct Tries {
    answered: AtomicUsize,
    failed: AtomicUsize,
}

impl Tries {
    fn answered(&self, answered: Answered) -> Answered {
        self.answered.fetch_add(1, Ordering::Relaxed);
        answered
    }

    /// An outcome without an answer, or the error where nothing but failures has come.
    fn failed(&self, error: InferError) -> Result<Answered, InferError> {
        // A ranker that fails would fail for every question.
        if matches!(error, InferError::Rank(_)) {
            return Err(error);
        }
        let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        if failed >= HOPELESS && self.answered.load(Ordering::Relaxed) == 0 {
            Err(error)
        } else {
            Ok(Answered::failed(&error))
        }
    }
}
