//! From questions to examples. Every question is converted, verified and rendered independently on
//! a thread pool, with the same result for any number of threads; then the verified questions are
//! selected.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use common::hash;
use kg::Kg;
use rayon::prelude::*;
use toolbox::call::ToolTable;

use crate::agents::examples_of;
use crate::example::{AgentExamples, Example};
use crate::fingerprint::Fingerprint;
use crate::question::GoldQuestion;
use crate::record::{ExampleSize, QuestionOutcome, Record};
use crate::report::{Lengths, Report};
use crate::select::{self, DatasetPart, Fate, Item};
use crate::verify::{self, Refused, VerifyOptions};
use crate::{Error, Refusal, thread_pool};

pub use crate::options::{ABSTAIN, GenerateOptions};
pub use crate::record::RefusedQuestion;

/// The dataset of a run, in memory.
#[derive(Clone, Debug, Default)]
pub struct GoldDataset {
    /// Training examples, in order of the questions.
    pub train: Vec<Example>,
    /// Validation examples.
    pub valid: Vec<Example>,
    /// Refused questions.
    pub refused: Vec<RefusedQuestion>,
    /// Counts.
    pub report: Report,
}

/// Makes examples of questions, in memory. `progress` is called with the number of questions done
/// and the total; setting `stop` ends the run.
///
/// # Errors
/// [`Error::Stopped`] and [`Error::Threads`], and those of selection: [`Error::Mix`],
/// [`Error::Split`], [`Error::Leakage`]. A question that cannot be used is not an error.
pub fn generate(
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<GoldDataset, Error> {
    let begun = Instant::now();
    let mut dataset = GoldDataset::default();
    let chosen = choose(questions, kg, options, &mut dataset.report)?;
    let done = Mutex::new(Vec::with_capacity(chosen.len()));
    let sink = |i: usize, record: Record, examples: Vec<Example>| {
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((i, record, examples));
        Ok(())
    };
    let todo: Vec<usize> = (0..chosen.len()).collect();
    process_all(&chosen, &todo, kg, options, progress, stop, &sink)?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(i, ..)| *i);
    let (records, examples): (Vec<Record>, Vec<Vec<Example>>) = done
        .into_iter()
        .map(|(_, record, examples)| (record, examples))
        .unzip();
    let fates = decide(&chosen, &records, kg, options, &mut dataset.report)?;
    for (((record, fate), examples), question) in
        records.into_iter().zip(fates).zip(examples).zip(&chosen)
    {
        match (record.outcome, fate) {
            (QuestionOutcome::Refused(refused), _) => dataset.refused.push(refused),
            (QuestionOutcome::Kept(..), Some(Fate::Written(DatasetPart::Train))) => {
                let scrambled = options.scrambles(question);
                dataset.train.extend(examples.into_iter().map(|example| {
                    if scrambled {
                        options.scramble(example)
                    } else {
                        example
                    }
                }));
            }
            (_, Some(Fate::Written(DatasetPart::Valid))) => dataset.valid.extend(examples),
            (QuestionOutcome::Kept(..), _) => {}
        }
    }
    dataset.report.total.seconds = begun.elapsed().as_secs_f64();
    Ok(dataset)
}

/// Processes the questions at the indices in `todo` on all threads; passes each result to `sink`.
///
/// # Errors
/// [`Error::Stopped`], [`Error::Threads`], and the errors of `sink`.
pub(crate) fn process_all(
    chosen: &[&GoldQuestion],
    todo: &[usize],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
    sink: &(dyn Fn(usize, Record, Vec<Example>) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let pool = thread_pool(options.threads)?;
    let templates = options.templates();
    let renderers = templates
        .iter()
        .map(|template| examples_of(kg, template, &options.verify))
        .collect::<Result<Vec<_>, _>>()?;
    let check = VerifyOptions {
        abstain: options.verify.abstain || options.abstain > 0.0,
        ..options.verify.clone()
    };
    let done = AtomicUsize::new(chosen.len() - todo.len());
    let process_one = |&i: &usize| {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped {
                done: done.load(Ordering::Relaxed),
                total: chosen.len(),
            });
        }
        let (record, examples) = process(chosen[i], kg, &check, options, &renderers)?;
        sink(i, record, examples)?;
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, chosen.len());
        Ok(())
    };
    pool.install(|| todo.par_iter().try_for_each(process_one))
}

/// The questions to process: all that share no entity with a held-out question, up to the limit.
///
/// # Errors
/// [`Error::Mix`] if the mixture does not fit the sources.
pub(crate) fn choose<'q>(
    questions: &'q [GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    report: &mut Report,
) -> Result<Vec<&'q GoldQuestion>, Error> {
    options
        .select
        .mixing
        .check(questions.iter().map(|question| question.source.as_str()))?;
    // Sources name an entity by its IRI or by its short name.
    let key = |name: &str| {
        kg.by_name(name)
            .map_or_else(|| name.to_owned(), |node| kg.name(node))
    };
    let held: HashSet<String> = options
        .hold_out
        .iter()
        .flat_map(|question| &question.topics)
        .map(|topic| key(&topic.name))
        .collect();
    let mut chosen = Vec::with_capacity(questions.len());
    for question in questions {
        if !held.is_empty()
            && question
                .topics
                .iter()
                .any(|topic| held.contains(&key(&topic.name)))
        {
            report.add(&question.source, |counts| counts.held_out += 1);
        } else {
            chosen.push(question);
        }
    }
    if let Some(limit) = options.limit.filter(|limit| *limit < chosen.len()) {
        let mut order: Vec<(u64, usize)> = chosen
            .iter()
            .enumerate()
            .map(|(i, question)| (hash::number(options.seed, "limit", &question.id), i))
            .collect();
        order.sort_unstable();
        let mut kept: Vec<usize> = order.into_iter().take(limit).map(|(_, i)| i).collect();
        kept.sort_unstable();
        chosen = kept.into_iter().map(|i| chosen[i]).collect();
    }
    Ok(chosen)
}

fn refused_question(question: &GoldQuestion, why: &Refused) -> RefusedQuestion {
    RefusedQuestion {
        id: question.id.clone(),
        source: question.source.clone(),
        reason: why.reason,
        detail: why.detail.clone(),
        sparql: question.query.text(),
    }
}

fn process(
    question: &GoldQuestion,
    kg: &dyn Kg,
    check: &VerifyOptions,
    options: &GenerateOptions,
    renderers: &[Box<dyn AgentExamples + '_>],
) -> Result<(Record, Vec<Example>), Error> {
    let begun = Instant::now();
    let (mut record, examples) = match examples(question, kg, check, options, renderers) {
        Ok(kept) => kept,
        Err(refused) if refused.reason == Refusal::RankerFailed => {
            return Err(Error::Ranker(refused.detail));
        }
        Err(refused) => {
            let outcome = QuestionOutcome::Refused(refused_question(question, &refused));
            (
                Record {
                    outcome,
                    converted: refused.converted,
                    values_added: 0,
                    ties: false,
                    seconds: 0.0,
                },
                Vec::new(),
            )
        }
    };
    record.seconds = begun.elapsed().as_secs_f64();
    Ok((record, examples))
}

fn examples(
    question: &GoldQuestion,
    kg: &dyn Kg,
    check: &VerifyOptions,
    options: &GenerateOptions,
    renderers: &[Box<dyn AgentExamples + '_>],
) -> Result<(Record, Vec<Example>), Refused> {
    let verified = verify::verify(kg, question, check)?;
    let render = |verified: &verify::Verified| -> Result<Vec<Example>, Refused> {
        let mut all = Vec::new();
        for renderer in renderers {
            all.extend(renderer.examples(question, verified)?);
        }
        Ok(all)
    };
    let mut examples = render(&verified)?;
    if hash::falls_into(options.abstain, options.seed, "abstain", &question.id) {
        let choice = hash::number(options.seed, "without", &question.id);
        if let Some(abstained) = verify::abstention(kg, question, &verified, check, choice) {
            examples.extend(render(&abstained?)?);
        }
    }
    let fingerprint = Fingerprint::of(kg, question, &verified);
    let sizes = examples.iter().map(ExampleSize::of).collect();
    let (values_added, ties) = (verified.values_added, verified.ties);
    Ok((
        Record {
            outcome: QuestionOutcome::Kept(fingerprint, sizes),
            converted: true,
            values_added,
            ties,
            seconds: 0.0,
        },
        examples,
    ))
}

/// Selects among the verified questions and counts everything; the fate of a refused question is
/// `None`.
///
/// # Errors
/// See [`select::select`].
pub(crate) fn decide(
    chosen: &[&GoldQuestion],
    records: &[Record],
    kg: &dyn Kg,
    options: &GenerateOptions,
    report: &mut Report,
) -> Result<Vec<Option<Fate>>, Error> {
    let items: Vec<Item<'_>> = chosen
        .iter()
        .zip(records)
        .filter_map(|(question, record)| match &record.outcome {
            QuestionOutcome::Kept(fingerprint, sizes) => Some(Item {
                question,
                fingerprint,
                steps: sizes.iter().map(|size| size.steps).sum(),
            }),
            QuestionOutcome::Refused(_) => None,
        })
        .collect();
    let (fates, selection) = select::select(
        &items,
        kg,
        &options.select,
        options.seed,
        options.valid,
        &options.hold_out,
    )?;
    report.selection = selection;
    let mut fates = fates.into_iter();
    let mut all = Vec::with_capacity(records.len());
    let mut lengths = Vec::new();
    for (question, record) in chosen.iter().zip(records) {
        let fate = match record.outcome {
            QuestionOutcome::Kept(..) => fates.next(),
            QuestionOutcome::Refused(_) => None,
        };
        report.count(question, record, fate);
        if let (QuestionOutcome::Kept(_, sizes), Some(Fate::Written(_))) = (&record.outcome, fate) {
            lengths.extend(sizes.iter().map(|size| size.tokens));
        }
        all.push(fate);
    }
    report.tokens = Lengths::of(lengths);
    Ok(all)
}

/// Conversion coverage without a graph: how many queries parse and convert to programs, and why the
/// others do not.
#[must_use]
pub fn check(
    questions: &[GoldQuestion],
    tools: ToolTable,
    threads: usize,
) -> (Report, Vec<RefusedQuestion>) {
    let begun = Instant::now();
    let convert = |question: &GoldQuestion| {
        let begun = Instant::now();
        let result = verify::converted(question, None, tools).map(|program| program.calls.len());
        (result, begun.elapsed().as_secs_f64())
    };
    let all = || questions.par_iter().map(convert).collect::<Vec<_>>();
    let results = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(all),
        Err(_) => all(),
    };
    let mut report = Report::default();
    let mut refused = Vec::new();
    for (question, (result, seconds)) in questions.iter().zip(results) {
        report.add(&question.source, |counts| {
            counts.questions += 1;
            counts.seconds += seconds;
            match &result {
                Ok(steps) => {
                    counts.converted += 1;
                    counts.steps += steps;
                }
                Err(refused) => *counts.refused.entry(refused.reason.name()).or_default() += 1,
            }
        });
        if let Err(why) = result {
            refused.push(refused_question(question, &why));
        }
    }
    report.total.seconds = begun.elapsed().as_secs_f64();
    (report, refused)
}
