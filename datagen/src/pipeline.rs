//! From questions to examples: convert, verify and render each question on its own, on all threads, with the same result on any number of
//! them; then choose among what was verified.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use kg::Kg;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toolbox::agent::Agent;
use toolbox::prompt::{Layout, Template};
use toolbox::tokens;

use crate::agents::{self, AgentExamples};
use crate::example::Example;
use crate::fingerprint::Sketch;
use crate::question::GoldQuestion;
use crate::report::{Lengths, RefusedQuestion, Report};
use crate::select::{self, Fate, Item, SelectOptions};
use crate::verify::{self, Refused, VerifyOptions};
use crate::{Error, Refusal, hash, scramble};

/// Share of the questions of which a further example is made in which a needed relation is missing and the right end is none. Where it was a twelfth,
/// models answered most questions about what was missing with another relation (docs/results.md, *What is not in the graph*).
pub const ABSTAIN: f64 = 0.5;

/// How data is made.
#[derive(Clone)]
pub struct GenerateOptions {
    /// What the tool loop's examples look like.
    pub template: Template,
    /// Agents that get examples of every question; each at most once.
    pub agents: Vec<Agent>,
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
    /// What is chosen among verified questions.
    pub select: SelectOptions,
    /// What made questions cover of the graph: goes into the report, and the questions beside the data.
    pub synth: Option<crate::synth::Beside>,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            template: Template::new(Layout::Dialogue),
            agents: vec![Agent::KgAgent],
            verify: VerifyOptions::default(),
            threads: 0,
            seed: 0,
            limit: None,
            abstain: ABSTAIN,
            scramble: 0.0,
            valid: 0.02,
            hold_out: Vec::new(),
            select: SelectOptions::default(),
            synth: None,
        }
    }
}

impl GenerateOptions {
    /// The template of every agent that gets examples.
    #[must_use]
    pub fn templates(&self) -> Vec<Template> {
        let own = |&agent: &Agent| {
            if agent == Agent::KgAgent {
                self.template.clone()
            } else {
                Template::of(agent)
            }
        };
        self.agents.iter().map(own).collect()
    }

    /// Whether relation names are scrambled in the examples of a question that is trained on.
    pub(crate) fn scrambles(&self, question: &GoldQuestion) -> bool {
        self.template.layout == Layout::Dialogue
            && hash::falls_into(self.scramble, self.seed, "scrambled", &question.id)
    }

    /// The example with invented relation names.
    pub(crate) fn scramble(&self, mut example: Example) -> Example {
        // Only the tool loop's turns are laid out such that names can be told from other words.
        if example.agent == Agent::KgAgent {
            scramble::scramble(&mut example, self.seed);
        }
        example
    }
}

/// The two parts of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// `train.jsonl`
    Train,
    /// `valid.jsonl`
    Valid,
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
/// [`Error::Stopped`] and [`Error::Threads`], and those of choosing: [`Error::Mix`], [`Error::Split`], [`Error::Leakage`]. A question that
/// cannot be used is no error.
pub fn generate(
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Generated, Error> {
    let begun = Instant::now();
    let mut made = Generated::default();
    let chosen = choose(questions, kg, options, &mut made.report)?;
    let done = Mutex::new(Vec::with_capacity(chosen.len()));
    let sink = |i: usize, record: Record, examples: Vec<Example>| {
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((i, record, examples));
        Ok(())
    };
    let todo: Vec<usize> = (0..chosen.len()).collect();
    work_all(&chosen, &todo, kg, options, progress, stop, &sink)?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(i, ..)| *i);
    let (records, examples): (Vec<Record>, Vec<Vec<Example>>) = done
        .into_iter()
        .map(|(_, record, examples)| (record, examples))
        .unzip();
    let fates = decide(&chosen, &records, kg, options, &mut made.report)?;
    for (((record, fate), examples), question) in
        records.into_iter().zip(fates).zip(examples).zip(&chosen)
    {
        match (record.outcome, fate) {
            (Outcome::Refused(refused), _) => made.refused.push(refused),
            (Outcome::Kept(..), Some(Fate::Written(Part::Train))) => {
                let scrambled = options.scrambles(question);
                made.train.extend(examples.into_iter().map(|example| {
                    if scrambled {
                        options.scramble(example)
                    } else {
                        example
                    }
                }));
            }
            (_, Some(Fate::Written(Part::Valid))) => made.valid.extend(examples),
            (Outcome::Kept(..), _) => {}
        }
    }
    made.report.total.seconds = begun.elapsed().as_secs_f64();
    Ok(made)
}

/// What is remembered of a question that was worked on; its examples lie beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) outcome: Outcome,
    pub(crate) converted: bool,
    pub(crate) values_added: usize,
    pub(crate) ties: bool,
    pub(crate) seconds: f64,
}

/// Whether a question is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// With what selection needs to know.
    Kept(Sketch, Vec<Size>),
    /// Why not.
    Refused(RefusedQuestion),
}

/// The size of one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Size {
    /// Whose example it is.
    pub(crate) agent: Agent,
    /// Calls it trains.
    pub(crate) steps: usize,
    /// Whether it is the whole of an example of giving up, or the last part of one.
    pub(crate) abstain: bool,
    /// Tokens by estimate.
    pub(crate) tokens: usize,
}

impl Size {
    fn of(example: &Example) -> Self {
        // Every call is the last of one example in the paper layout; a dialogue carries all of them.
        let steps = if example.layout == Layout::Dialogue {
            example.n_steps
        } else {
            1
        };
        let tokens = example
            .messages
            .iter()
            .map(|message| tokens::estimate(&message.content))
            .sum();
        Self {
            agent: example.agent,
            steps,
            abstain: example.abstain && example.step == example.n_steps,
            tokens,
        }
    }
}

/// Works on the questions whose places are in `todo`, on all threads, and hands each to `sink` as it is done.
///
/// # Errors
/// [`Error::Stopped`], [`Error::Threads`], and whatever the sink returns.
pub(crate) fn work_all(
    chosen: &[&GoldQuestion],
    todo: &[usize],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
    sink: &(dyn Fn(usize, Record, Vec<Example>) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|error| Error::Threads(error.to_string()))?;
    let templates = options.templates();
    let renderers = templates
        .iter()
        .map(|template| agents::examples_of(kg, template, &options.verify))
        .collect::<Result<Vec<_>, _>>()?;
    let check = VerifyOptions {
        abstain: options.verify.abstain || options.abstain > 0.0,
        ..options.verify.clone()
    };
    let done = AtomicUsize::new(chosen.len() - todo.len());
    let work = |&i: &usize| {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped {
                done: done.load(Ordering::Relaxed),
                total: chosen.len(),
            });
        }
        let (record, examples) = work(chosen[i], kg, &check, options, &renderers)?;
        sink(i, record, examples)?;
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, chosen.len());
        Ok(())
    };
    pool.install(|| todo.par_iter().try_for_each(work))
}

/// The questions to work on: without those that share an entity with a held-out one, and no more than the limit.
///
/// # Errors
/// [`Error::Mix`] where the mixture does not fit the sources.
pub(crate) fn choose<'q>(
    questions: &'q [GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    report: &mut Report,
) -> Result<Vec<&'q GoldQuestion>, Error> {
    options
        .select
        .draw
        .check(questions.iter().map(|question| question.source.as_str()))?;
    // One entity may be named by its IRI in one source and by its short name in another.
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

fn work(
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
            let outcome = Outcome::Refused(RefusedQuestion {
                id: question.id.clone(),
                source: question.source.clone(),
                reason: refused.reason,
                detail: refused.detail,
                sparql: question.query.text(),
            });
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
        if let Some(given_up) = verify::abstention(kg, question, &verified, check, choice) {
            examples.extend(render(&given_up?)?);
        }
    }
    let sketch = Sketch::of(kg, question, &verified);
    let sizes = examples.iter().map(Size::of).collect();
    let (values_added, ties) = (verified.values_added, verified.ties);
    Ok((
        Record {
            outcome: Outcome::Kept(sketch, sizes),
            converted: true,
            values_added,
            ties,
            seconds: 0.0,
        },
        examples,
    ))
}

/// Chooses among the questions that were kept and counts everything; `None` is the fate of a refused question.
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
            Outcome::Kept(sketch, sizes) => Some(Item {
                question,
                sketch,
                steps: sizes.iter().map(|size| size.steps).sum(),
            }),
            Outcome::Refused(_) => None,
        })
        .collect();
    let (fates, selection) = select::select(&items, kg, options)?;
    report.selection = selection;
    let mut fates = fates.into_iter();
    let mut all = Vec::with_capacity(records.len());
    let mut lengths = Vec::new();
    for (question, record) in chosen.iter().zip(records) {
        let fate = match record.outcome {
            Outcome::Kept(..) => fates.next(),
            Outcome::Refused(_) => None,
        };
        report.count(question, record, fate);
        if let (Outcome::Kept(_, sizes), Some(Fate::Written(_))) = (&record.outcome, fate) {
            lengths.extend(sizes.iter().map(|size| size.tokens));
        }
        all.push(fate);
    }
    report.tokens = Lengths::of(lengths);
    Ok(all)
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
            let (id, source, sparql) = (
                question.id.clone(),
                question.source.clone(),
                question.query.text(),
            );
            refused.push(RefusedQuestion {
                id,
                source,
                reason: why.reason,
                detail: why.detail,
                sparql,
            });
        }
    }
    report.total.seconds = begun.elapsed().as_secs_f64();
    (report, refused)
}
