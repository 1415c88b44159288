//! From questions to examples: convert, verify and render each question on its own, on all threads, with the same result on any number of them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use toolbox::kg::Kg;
use toolbox::memory::{Layout, Template};

use crate::example::{Example, Renderer};
use crate::question::GoldQuestion;
use crate::report::{RefusedQuestion, Report};
use crate::verify::{self, Refused, VerifyOptions};
use crate::{Error, Refusal, hash, limits, scramble};

/// How data is made.
#[derive(Clone)]
pub struct GenerateOptions {
    /// What examples look like.
    pub template: Template,
    /// How questions are checked.
    pub verify: VerifyOptions,
    /// Worker threads; 0 means one a core.
    pub threads: usize,
    /// Seed of every choice.
    pub seed: u64,
    /// At most this many questions, chosen by the seed.
    pub limit: Option<usize>,
    /// Share of chain-like questions that also give an example of giving up; 0 turns these off.
    pub abstain: f64,
    /// Share of the examples to train on whose relation names are scrambled (dialogue layout only).
    pub scramble: f64,
    /// Share of questions that go to `valid.jsonl`.
    pub valid: f64,
    /// Questions whose entities must not occur in the data.
    pub hold_out: Vec<GoldQuestion>,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            template: Template::new(Layout::Dialogue),
            verify: VerifyOptions::default(),
            threads: 0,
            seed: 0,
            limit: None,
            abstain: 0.08,
            scramble: 0.0,
            valid: 0.02,
            hold_out: Vec::new(),
        }
    }
}

/// The two parts of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `train.jsonl`
    Train,
    /// `valid.jsonl`
    Valid,
}

/// What one question gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Examples, all of one part.
    Kept(Part, Vec<Example>),
    /// Nothing, and why.
    Refused(RefusedQuestion),
}

/// Everything a run made, in memory.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// Examples to train on, in order of the questions.
    pub train: Vec<Example>,
    /// Examples to validate with.
    pub valid: Vec<Example>,
    /// Refused questions.
    pub refused: Vec<RefusedQuestion>,
    /// Counts.
    pub report: Report,
}

/// Makes examples of questions, in memory. `progress` hears how many questions are done and how many there are; raising `stop` ends the run.
///
/// # Errors
/// [`Error::Stopped`] and [`Error::Threads`]; a question that cannot be used is no error.
pub fn generate(
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Generated, Error> {
    let mut made = Generated::default();
    let (train, valid, refused) = (&mut made.train, &mut made.valid, &mut made.refused);
    let mut sink = |outcome: Outcome| {
        match outcome {
            Outcome::Kept(Part::Train, examples) => train.extend(examples),
            Outcome::Kept(Part::Valid, examples) => valid.extend(examples),
            Outcome::Refused(question) => refused.push(question),
        }
        Ok(())
    };
    made.report = generate_into(questions, kg, options, progress, stop, &mut sink)?;
    Ok(made)
}

/// Makes examples of questions and hands them to `sink`, in order of the questions, a block at a time.
///
/// # Errors
/// [`Error::Stopped`], [`Error::Threads`], and whatever the sink returns.
pub fn generate_into(
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
    sink: &mut dyn FnMut(Outcome) -> Result<(), Error>,
) -> Result<Report, Error> {
    let begun = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().map_err(|error| Error::Threads(error.to_string()))?;
    let mut report = Report::default();
    let chosen = choose(questions, kg, options, &mut report);
    let renderer = Renderer::new(kg, &options.template, &options.verify);
    let done = AtomicUsize::new(0);
    for block in chosen.chunks(limits::BLOCK) {
        let work = |question: &&GoldQuestion| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let worked = work(question, kg, options, &renderer);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, chosen.len());
            Some(worked)
        };
        let results: Vec<Option<Worked>> = pool.install(|| block.par_iter().map(work).collect());
        for (question, result) in block.iter().zip(results) {
            let Some(worked) = result else {
                return Err(Error::Stopped { done: done.load(Ordering::Relaxed), total: chosen.len() });
            };
            report.count(question, &worked);
            sink(worked.outcome)?;
        }
    }
    report.total.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// The questions to work on: without those that share an entity with a held-out one, and no more than the limit.
fn choose<'q>(questions: &'q [GoldQuestion], kg: &dyn Kg, options: &GenerateOptions, report: &mut Report) -> Vec<&'q GoldQuestion> {
    // One entity may be named by its IRI in one source and by its short name in another.
    let key = |name: &str| kg.by_name(name).map_or_else(|| name.to_owned(), |node| kg.name(node));
    let held: HashSet<String> = options.hold_out.iter().flat_map(|question| &question.topics).map(|topic| key(&topic.name)).collect();
    let mut chosen = Vec::with_capacity(questions.len());
    for question in questions {
        if !held.is_empty() && question.topics.iter().any(|topic| held.contains(&key(&topic.name))) {
            report.add(&question.source, |counts| counts.held_out += 1);
        } else {
            chosen.push(question);
        }
    }
    if let Some(limit) = options.limit.filter(|limit| *limit < chosen.len()) {
        let mut order: Vec<(u64, usize)> =
            chosen.iter().enumerate().map(|(i, question)| (hash::number(options.seed, "limit", &question.id), i)).collect();
        order.sort_unstable();
        let mut kept: Vec<usize> = order.into_iter().take(limit).map(|(_, i)| i).collect();
        kept.sort_unstable();
        chosen = kept.into_iter().map(|i| chosen[i]).collect();
    }
    chosen
}

/// One question's outcome and what it counts for.
struct Worked {
    outcome: Outcome,
    converted: bool,
    values_added: usize,
    ties: bool,
    seconds: f64,
}

fn work(question: &GoldQuestion, kg: &dyn Kg, options: &GenerateOptions, renderer: &Renderer<'_>) -> Worked {
    let begun = Instant::now();
    let mut check = options.verify.clone();
    check.abstain |= options.abstain > 0.0;
    let mut worked = match examples(question, kg, &check, options, renderer) {
        Ok(worked) => worked,
        Err(refused) => Worked {
            outcome: Outcome::Refused(RefusedQuestion {
                id: question.id.clone(),
                source: question.source.clone(),
                reason: refused.reason,
                detail: refused.detail,
                sparql: question.query.text(),
            }),
            converted: refused.converted,
            values_added: 0,
            ties: false,
            seconds: 0.0,
        },
    };
    worked.seconds = begun.elapsed().as_secs_f64();
    worked
}

fn examples(
    question: &GoldQuestion,
    kg: &dyn Kg,
    check: &VerifyOptions,
    options: &GenerateOptions,
    renderer: &Renderer<'_>,
) -> Result<Worked, Refused> {
    let verified = verify::verify(kg, question, check)?;
    let failed = |detail: String| Refused { reason: Refusal::ProgramFailed, detail, converted: true };
    let mut examples = renderer.render(question, &verified).map_err(failed)?;
    if hash::falls_into(options.abstain, options.seed, "abstain", &question.id) {
        let choice = hash::number(options.seed, "without", &question.id);
        if let Some(given_up) = verify::abstention(kg, question, &verified, check, choice) {
            examples.extend(renderer.render(question, &given_up).map_err(failed)?);
        }
    }
    let part = if hash::falls_into(options.valid, options.seed, "valid", &question.id) { Part::Valid } else { Part::Train };
    if part == Part::Train && hash::falls_into(options.scramble, options.seed, "scrambled", &question.id) {
        for example in examples.iter_mut().filter(|example| example.layout == Layout::Dialogue) {
            scramble::scramble(example, options.seed);
        }
    }
    Ok(Worked {
        outcome: Outcome::Kept(part, examples),
        converted: true,
        values_added: verified.values_added,
        ties: verified.ties,
        seconds: 0.0,
    })
}

impl Report {
    fn count(&mut self, question: &GoldQuestion, worked: &Worked) {
        self.add(&question.source, |counts| {
            counts.questions += 1;
            counts.converted += usize::from(worked.converted);
            counts.values_added += worked.values_added;
            counts.ties += usize::from(worked.ties);
            counts.seconds += worked.seconds;
            let kept = matches!(worked.outcome, Outcome::Kept(..));
            if let Some(hops) = question.hops {
                let by = counts.by_hops.entry(hops).or_default();
                by.questions += 1;
                by.verified += usize::from(kept);
            }
            match &worked.outcome {
                Outcome::Kept(_, examples) => {
                    counts.verified += 1;
                    counts.examples += examples.len();
                    // Every call is the last of one example in the paper layout; a dialogue carries all of them.
                    counts.steps += match examples.first().map(|example| example.layout) {
                        Some(Layout::Dialogue) => examples.iter().map(|example| example.n_steps).sum(),
                        _ => examples.len(),
                    };
                    counts.abstain += examples.iter().filter(|example| example.abstain && example.step == example.n_steps).count();
                }
                Outcome::Refused(refused) => *counts.refused.entry(refused.reason.name()).or_default() += 1,
            }
        });
    }
}

/// Conversion coverage without a graph: how many queries parse and become programs, and why the others do not.
#[must_use]
pub fn check(questions: &[GoldQuestion], threads: usize) -> (Report, Vec<RefusedQuestion>) {
    let begun = Instant::now();
    let convert = |question: &GoldQuestion| {
        let begun = Instant::now();
        let result = verify::converted(question, None).map(|program| program.calls.len());
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
            let (id, source, sparql) = (question.id.clone(), question.source.clone(), question.query.text());
            refused.push(RefusedQuestion { id, source, reason: why.reason, detail: why.detail, sparql });
        }
    }
    report.total.seconds = begun.elapsed().as_secs_f64();
    (report, refused)
}
