//! The data folder: `train.jsonl`, `valid.jsonl`, the questions behind the latter, `refused.jsonl`, `report.json`, `run.json` and a data card,
//! whole or not at all. What is done lies in `OUT.partial` until then, so that a run that was stopped or killed goes on where it was.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use common::journal::{Journal, JournalEntry};
use kg::Kg;
use serde_json::{Map, json};
use sha2::{Digest, Sha256};
use toolbox::exec::ExcludeWhen;

use crate::card::card;
use crate::example::Example;
use crate::folder::{Folder, check_replaceable, sibling};
use crate::pipeline::{GenerateOptions, Outcome, Part, Record, choose, decide, work_all};
use crate::question::GoldQuestion;
use crate::report::Report;
use crate::select::Fate;
use crate::{Error, limits};

/// Files by which a data folder is known.
pub(crate) const MARKS: [&str; 2] = ["report.json", "run.json"];

/// Makes examples of questions and writes them as a data folder. `run` is what the caller wants remembered (sources, command line).
///
/// # Errors
/// [`Error::Io`] with the path, [`Error::Stopped`], and those of choosing ([`Error::Mix`], [`Error::Split`], [`Error::Leakage`]); the folder is
/// then as it was before, and what was done is kept in `OUT.partial` for the next run on the same questions.
pub fn write_dataset(
    out: &Path,
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    run: &serde_json::Value,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let begun = Instant::now();
    check_replaceable(out, &MARKS)?;
    let mut report = Report::default();
    let chosen = choose(questions, kg, options, &mut report)?;
    let partial = sibling(out, "partial");
    check_replaceable(&partial, &["journal"])?;
    fs::create_dir_all(&partial).map_err(Error::io(&partial))?;
    let (journal, found) =
        Journal::open(&partial.join("journal"), &fingerprint(&chosen, kg, options))?;
    let done = work(&journal, &found, &chosen, kg, options, progress, stop)?;
    report.resumed = found.len();

    let records: Vec<Record> = done.iter().map(|(_, record)| record.clone()).collect();
    let fates = decide(&chosen, &records, kg, options, &mut report)?;
    let folder = Folder::at(partial.join("data"), out)?;
    let mut train = folder.lines("train.jsonl")?;
    let mut valid = folder.lines("valid.jsonl")?;
    let mut asked = folder.lines("valid.questions.jsonl")?;
    let mut refused = folder.lines("refused.jsonl")?;
    let mut refusals = 0;
    for ((question, (entry, record)), fate) in chosen.iter().zip(&done).zip(&fates) {
        let file = match (&record.outcome, fate) {
            (Outcome::Refused(question), _) if refusals < limits::REFUSED_WRITTEN => {
                refusals += 1;
                refused.line(question)?;
                continue;
            }
            (_, Some(Fate::Written(Part::Train))) => &mut train,
            (Outcome::Kept(sketch, _), Some(Fate::Written(Part::Valid))) => {
                asked.line(&question_line(question, &sketch.topics))?;
                &mut valid
            }
            _ => continue,
        };
        let payload = journal.read(entry)?;
        let lines = payload
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(&[][..], |end| &payload[end + 1..]);
        if *fate == Some(Fate::Written(Part::Train)) && options.scrambles(question) {
            for line in lines
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                let example: Example = serde_json::from_slice(line)
                    .map_err(|error| Error::io(&partial)(error.into()))?;
                file.line(&options.scramble(example))?;
            }
        } else {
            file.raw(lines)?;
        }
    }
    if let Some(beside) = &options.synth {
        report.coverage = Some(beside.coverage.clone());
        for (name, questions) in [
            ("questions.jsonl", questions),
            ("heldout.jsonl", &beside.held_back),
        ] {
            let mut file = folder.lines(name)?;
            questions
                .iter()
                .try_for_each(|question| file.line(&question_line(question, &[])))?;
            file.finish()?;
        }
    }
    let (in_train, in_valid) = (train.finish()?, valid.finish()?);
    refused.finish()?;
    asked.finish()?;
    report.total.seconds = begun.elapsed().as_secs_f64();
    folder.json("report.json", &report)?;
    folder.json("run.json", &run_json(kg, options, run))?;
    folder.text("README.md", &card(&report, kg, options, in_train, in_valid))?;
    folder.commit()?;
    drop(journal);
    fs::remove_dir_all(&partial).map_err(Error::io(&partial))?;
    Ok(report)
}

/// Works on what the journal does not hold; the records of all questions in order, and where their examples lie.
fn work(
    journal: &Journal,
    found: &[JournalEntry],
    chosen: &[&GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Vec<(JournalEntry, Record)>, Error> {
    let mut done: Vec<Option<(JournalEntry, Record)>> = vec![None; chosen.len()];
    for entry in found {
        let payload = journal.read(entry)?;
        let head = payload
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        // A record that does not read back is of another build: its question is done again.
        if let (Ok(record), Some(place)) = (
            serde_json::from_slice(head),
            usize::try_from(entry.piece)
                .ok()
                .and_then(|i| done.get_mut(i)),
        ) {
            *place = Some((*entry, record));
        }
    }
    let todo: Vec<usize> = (0..chosen.len()).filter(|&i| done[i].is_none()).collect();
    let done = Mutex::new(done);
    let sink = |i: usize, record: Record, examples: Vec<Example>| {
        let entry = journal.append(i as u64, &payload(&record, &examples)?)?;
        done.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some((entry, record));
        Ok(())
    };
    work_all(chosen, &todo, kg, options, progress, stop, &sink)?;
    Ok(done
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .flatten()
        .collect())
}

/// The record as one line, then a line an example.
fn payload(record: &Record, examples: &[Example]) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(8192);
    let wrong = |error: serde_json::Error| Error::io(Path::new("journal"))(error.into());
    serde_json::to_writer(&mut bytes, record).map_err(wrong)?;
    bytes.push(b'\n');
    for example in examples {
        serde_json::to_writer(&mut bytes, example).map_err(wrong)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// What the work depends on: a journal of anything else is begun anew. Options of selection are not in it, so that a mixture or a split can
/// be changed without verifying again.
fn fingerprint(chosen: &[&GoldQuestion], kg: &dyn Kg, options: &GenerateOptions) -> String {
    let mut hasher = Sha256::new();
    let verify = &options.verify;
    let fixed = json!([
        env!("CARGO_PKG_VERSION"),
        kg.content_hash(),
        options
            .templates()
            .iter()
            .map(toolbox::prompt::Template::hash)
            .collect::<Vec<_>>(),
        options.seed,
        options.abstain,
        verify.ties,
        verify.abstain,
        verify.shown,
        verify.ranker.name(),
        verify.max_steps,
        verify.limits.rows,
        verify.limits.deadline.as_millis() as u64,
    ]);
    hasher.update(fixed.to_string());
    for question in chosen {
        let GoldQuestion {
            id,
            source,
            question: wording,
            query,
            topics,
            answers,
            answers_bind,
            hops,
            kind,
            exclude,
        } = question;
        hasher.update(
            json!([
                id,
                source,
                wording,
                query.text(),
                topics,
                answers,
                answers_bind,
                hops,
                kind,
                exclude
            ])
            .to_string(),
        );
    }
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A question as a `jsonl` source reads it, for `kgagent eval`.
fn question_line(question: &GoldQuestion, linked: &[String]) -> serde_json::Value {
    let mut topic = Map::new();
    for name in linked {
        topic.insert(name.clone(), json!(""));
    }
    if !question.topics.is_empty() {
        topic = question
            .topics
            .iter()
            .map(|topic| (topic.name.clone(), json!(topic.label)))
            .collect();
    }
    let mut line = json!({ "id": question.id, "question": question.question, "sparql": question.query.text(), "topic": topic });
    if let Some(kind) = &question.kind {
        line["shape"] = json!(kind);
    }
    if let Some(hops) = question.hops {
        line["hops"] = json!(hops);
    }
    if question.exclude != ExcludeWhen::Others {
        line["exclude"] = json!(question.exclude);
    }
    line
}

fn run_json(kg: &dyn Kg, options: &GenerateOptions, run: &serde_json::Value) -> serde_json::Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "templates": options.templates().iter().map(|template| (template.agent.name().to_owned(), json!(template.hash()))).collect::<Map<_, _>>(),
        "kg_hash": kg.content_hash(),
        "kg_triples": kg.len(),
        "options": {
            "layout": options.template.layout,
            "agents": options.agents,
            "toolbox": options.template.toolbox,
            "seed": options.seed,
            "limit": options.limit,
            "abstain": options.abstain,
            "scramble": options.scramble,
            "valid": options.valid,
            "split": options.select.split,
            "dedup": options.select.dedup.to_string(),
            "mix": options.select.draw.mix.as_ref().map(ToString::to_string),
            "count": options.select.draw.count,
            "unit": options.select.draw.unit,
            "ties": options.verify.ties,
            "shown": options.verify.shown,
            "ranker": options.verify.ranker.name(),
            "max_steps": options.verify.max_steps,
            "held_out_questions": options.hold_out.len(),
        },
        "run": run,
    })
}
