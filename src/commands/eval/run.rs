//! Evaluates an agent on a set of questions, on all threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, anyhow, bail};
use datagen::linking::Linking;
use datagen::question::GoldQuestion;
use infer::agent::PLANNER_FAILED;
use infer::planner::Planner;
use kg::Kg;
use rayon::prelude::*;
use toolbox::metrics::Metrics;

use super::question::{EvaluatedQuestion, Evaluator, NotEvaluated};
use super::result::{Evaluation, Prediction};
use super::setting::Setting;
use super::unfinished::Unfinished;
use crate::cli::EntitySource;
use crate::ui::Ui;

/// Answers every question and scores the answers, on the current thread pool. The result does not
/// depend on the size of the pool. Questions that `unfinished` contains are not asked again; the
/// others are added to it, so that an interrupted evaluation can continue.
pub(in crate::commands) fn evaluate(
    graph: &dyn Kg,
    questions: &[GoldQuestion],
    setting: &Setting,
    unfinished: Option<&Unfinished>,
    ui: &Ui,
) -> Result<Evaluation> {
    let stage = ui.progress("evaluate", "question", Some(questions.len() as u64));
    let evaluator = Evaluator::new(graph, setting);
    let one = |i: usize, planner: Option<&mut (dyn Planner + '_)>| {
        if let Some(done) = unfinished.and_then(|unfinished| unfinished.get(&questions[i])) {
            stage.inc(1);
            return Ok(done);
        }
        if ui.stop().load(Ordering::Relaxed) {
            return Err(NotEvaluated::Stopped);
        }
        let result = evaluator.evaluate(&questions[i], planner)?;
        if let Some(unfinished) = unfinished {
            unfinished.add(&questions[i], &result)?;
        }
        stage.inc(1);
        Ok(result)
    };
    let planning = &setting.planning;
    let threshold = setting.abstention_threshold;
    let results: Vec<_> = match planning.batch(setting.batch, questions.len()) {
        Some(slots) => {
            let planners = planning.planners(slots, rayon::current_num_threads(), threshold)?;
            with_planners(planners, questions.len(), |i, planner| {
                one(i, Some(planner))
            })?
        }
        None => (0..questions.len())
            .into_par_iter()
            .map_init(
                || planning.planner(threshold),
                |planner, i| one(i, planner.as_deref_mut()),
            )
            .collect(),
    };
    stage.finish_and_clear();
    let stopped = |one: &&Result<_, _>| matches!(one, Err(NotEvaluated::Stopped));
    let left = results.iter().filter(stopped).count();
    if left > 0 {
        bail!(
            "stopped after {} of {} questions{}",
            results.len() - left,
            results.len(),
            unfinished.map_or("", |_| "; the same command continues from here")
        );
    }
    let evaluation = collect(questions, results, setting)?;
    warn_of_failures(&evaluation, questions.len(), ui)?;
    Ok(evaluation)
}

fn collect(
    questions: &[GoldQuestion],
    results: Vec<Result<EvaluatedQuestion, NotEvaluated>>,
    setting: &Setting,
) -> Result<Evaluation> {
    let linking = (setting.entities == EntitySource::Linked).then(Linking::default);
    let mut evaluation = Evaluation {
        agent: setting.name.clone(),
        kind: setting.agent.name(),
        changed: setting.changed.clone(),
        options: setting.agent.options(),
        prompts: setting.agent.prompts_hash(setting.planning.instructed()),
        linking,
        ..Evaluation::default()
    };
    let (mut scored, mut asked) = (Vec::new(), Vec::new());
    for (question, result) in questions.iter().zip(results) {
        match result {
            Ok(one) => {
                if let (Some(linking), Some((gold, linked, took))) =
                    (&mut evaluation.linking, &one.linking)
                {
                    linking.add(gold, linked, *took, &one.scored.groups);
                }
                scored.push(one.scored);
                asked.extend(one.wording);
                evaluation.traces.push(one.events);
                evaluation.predictions.push(one.prediction);
            }
            Err(NotEvaluated::Skipped(reason)) => {
                evaluation.skipped.push((question.id.clone(), reason));
            }
            Err(NotEvaluated::Failed(error)) => return Err(error),
            Err(NotEvaluated::Stopped) => bail!("interrupted"),
        }
    }
    if scored.is_empty() {
        let first = evaluation.skipped.first();
        bail!(
            "none of the {} questions can be evaluated; the reason for the first: {}",
            questions.len(),
            first.map_or("", |(_, reason)| reason.as_str())
        );
    }
    evaluation.metrics = Metrics::of(&scored);
    let counted = evaluation.predictions.iter().filter_map(|one| one.served);
    let all = counted.reduce(|mut sum, one| {
        sum += one;
        sum
    });
    evaluation.served = all.map(|all| (all, setting.price.map(|price| price.cost(&all))));
    evaluation.seen = setting.training.seen(&asked);
    Ok(evaluation)
}

/// Warns if the planner failed at some questions; an error if it failed at all of them.
fn warn_of_failures(evaluation: &Evaluation, questions: usize, ui: &Ui) -> Result<()> {
    let mut failed = evaluation
        .predictions
        .iter()
        .filter(|one| one.failure.as_deref() == Some(PLANNER_FAILED));
    if let Some(Prediction { id, reason, .. }) = failed.next() {
        let error = reason.as_deref().unwrap_or_default();
        let n = 1 + failed.count();
        if n == questions {
            bail!("the model failed at all {n} questions; the error at the first: {error}");
        }
        ui.warn(&format!(
            "{n} of {questions} questions count as unanswered because the model failed; the \
             first is {id}: {error}"
        ));
    }
    Ok(())
}

/// Runs `work` on 0 to `n` with one thread per planner; a planner that has finished takes the next
/// number. Results are in order.
fn with_planners<T: Send>(
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
