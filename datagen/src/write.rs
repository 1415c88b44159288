//! Writes the data folder: `train.jsonl`, `valid.jsonl` with its questions, `wordings.txt`,
//! `refused.jsonl`, `report.json`, `run.json` and a data card. The folder appears complete or not
//! at all. While the run works, a journal in `OUT.partial` records finished questions, so that a
//! stopped or killed run can resume.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use common::fs::{StagedFolder, check_target};
use common::hex::hex;
use common::journal::{Journal, JournalEntry};
use common::wordings::{self, Wordings};

/// The name of the file with translation tables; `train` copies it into the model folder.
const WORDS_FILE: &str = "words.tsv";
use kg::Kg;
use serde_json::{Map, json};
use sha2::{Digest, Sha256};
use toolbox::exec::ExcludeWhen;
use toolbox::explain::{WordPair, learn};
use toolbox::wording::of_masked;

use crate::card::card;
use crate::example::Example;
use crate::lines::{JsonLines, write_json};
use crate::options::GenerateOptions;
use crate::pipeline::{choose, decide, process_all};
use crate::question::GoldQuestion;
use crate::record::{QuestionOutcome, Record};
use crate::report::Report;
use crate::select::{DatasetPart, Fate};
use crate::verify::VerifyOptions;
use crate::{Error, limits, read, reword, synth, word_pairs};

/// Files that identify a data folder.
const MARKS: [&str; 2] = ["report.json", "run.json"];

/// Makes examples of questions and writes them as a data folder. `run` is recorded in `run.json`
/// (sources, command line).
///
/// # Errors
/// [`Error::Io`] with the path, [`Error::Stopped`], and those of selection ([`Error::Mix`],
/// [`Error::Split`], [`Error::Leakage`]). `out` is then unchanged, and finished work is kept in
/// `OUT.partial` for the next run on the same questions.
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
    check_target(out, &MARKS)?;
    let mut report = Report::default();
    let chosen = choose(questions, kg, options, &mut report)?;
    let partial = out.with_added_extension("partial");
    fs::create_dir_all(&partial).map_err(Error::io(&partial))?;
    let fingerprint = run_fingerprint(&chosen, kg, options);
    let (journal, found) = Journal::open(&partial.join("journal"), &options.program, &fingerprint)?;
    let done = process_missing(&journal, &found, &chosen, kg, options, progress, stop)?;
    report.resumed = found.len();

    let records: Vec<Record> = done.iter().map(|(_, record)| record.clone()).collect();
    let fates = decide(&chosen, &records, kg, options, &mut report)?;
    let folder = StagedFolder::within(&partial, out)?;
    let (in_train, in_valid) = write_examples(&folder, &journal, &chosen, &done, &fates, options)?;
    report.reworded.clone_from(&options.reworded);
    if let Some(extras) = &options.synth {
        report.coverage = Some(extras.coverage.clone());
        write_questions(&folder, "questions.jsonl", questions)?;
        write_questions(&folder, "heldout.jsonl", &extras.held_back)?;
    }
    report.total.seconds = begun.elapsed().as_secs_f64();
    write_json(&folder, "report.json", &report)?;
    write_json(&folder, "run.json", &run_json(kg, options, run))?;
    let card = card(&report, kg, options, in_train, in_valid);
    folder.file("README.md", card.as_bytes())?;
    folder.commit()?;
    drop(journal);
    let journal = partial.join("journal");
    fs::remove_file(&journal).map_err(Error::io(&journal))?;
    // The folder stays if it contains other files.
    let _ = fs::remove_dir(&partial);
    Ok(report)
}

/// The share of a dataset's wordings from which on it is one of given questions.
const MOSTLY: f32 = 0.5;

/// Writes the examples of every question by its fate, and the refused questions. Returns the
/// numbers of training and validation examples.
fn write_examples(
    folder: &StagedFolder,
    journal: &Journal,
    chosen: &[&GoldQuestion],
    done: &[(JournalEntry, Record)],
    fates: &[Option<Fate>],
    options: &GenerateOptions,
) -> Result<(usize, usize), Error> {
    let mut train = JsonLines::create(folder, "train.jsonl")?;
    let mut valid = JsonLines::create(folder, "valid.jsonl")?;
    let mut asked = JsonLines::create(folder, "valid.questions.jsonl")?;
    let mut refused = JsonLines::create(folder, "refused.jsonl")?;
    let mut refusals = 0;
    let mut trained = Wordings::default();
    let mut pairs = Vec::new();
    for ((question, (entry, record)), fate) in chosen.iter().zip(done).zip(fates) {
        match (&record.outcome, fate) {
            (QuestionOutcome::Refused(question), _) if refusals < limits::REFUSED_WRITTEN => {
                refusals += 1;
                refused.push(question)?;
            }
            (QuestionOutcome::Kept(fingerprint, _), Some(Fate::Written(DatasetPart::Train))) => {
                let wording = of_masked(&fingerprint.masked);
                if was_given(question) {
                    trained.add_given(wording);
                } else {
                    trained.add(wording);
                }
                let payload = journal.read(entry)?;
                let lines = example_lines(&payload);
                let pair = word_pairs::of_example(&fingerprint.masked, lines);
                pairs.extend(pair.filter(|pair| teaches_words(question, pair)));
                if options.scrambles(question) {
                    push_scrambled(&mut train, lines, options)?;
                } else {
                    train.push_raw(lines)?;
                }
            }
            (QuestionOutcome::Kept(fingerprint, _), Some(Fate::Written(DatasetPart::Valid))) => {
                asked.push(&question_line(question, &fingerprint.topics))?;
                valid.push_raw(example_lines(&journal.read(entry)?))?;
            }
            _ => {}
        }
    }
    let counts = (train.finish()?, valid.finish()?);
    // A few given questions among made ones do not teach how people word things.
    if trained.given() < MOSTLY {
        trained.forget_given();
    }
    refused.finish()?;
    asked.finish()?;
    folder.file(wordings::FILE, trained.to_text().as_bytes())?;
    folder.file(WORDS_FILE, learn(&pairs).as_bytes())?;
    Ok(counts)
}

/// Whether somebody gave the question. Those made from templates or from the graph have a few wordings, which people seldom use.
fn was_given(question: &GoldQuestion) -> bool {
    ![synth::SOURCE, read::TEMPLATES].contains(&question.source.as_str())
}

/// Whether the words of a question may be learned as words of its relations. `synth` combines
/// relations at random and names each by its own words: with several in one question, the words of
/// one would be learned for the others.
fn teaches_words(question: &GoldQuestion, pair: &WordPair) -> bool {
    let synthesised =
        question.source == synth::SOURCE && reword::original(&question.id) == question.id;
    !synthesised || pair.relations.len() == 1
}

/// Writes examples with scrambled relation names.
fn push_scrambled(
    file: &mut JsonLines,
    lines: &[u8],
    options: &GenerateOptions,
) -> Result<(), Error> {
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let example: Example = serde_json::from_slice(line).map_err(journal_error)?;
        file.push(&options.scramble(example))?;
    }
    Ok(())
}

fn write_questions(
    folder: &StagedFolder,
    name: &str,
    questions: &[GoldQuestion],
) -> Result<(), Error> {
    let mut file = JsonLines::create(folder, name)?;
    for question in questions {
        file.push(&question_line(question, &[]))?;
    }
    file.finish().map(drop)
}

/// Processes the questions that the journal lacks. Returns the records of all questions in order,
/// each with its journal entry.
fn process_missing(
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
    process_all(chosen, &todo, kg, options, progress, stop, &sink)?;
    Ok(done
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .flatten()
        .collect())
}

/// The journal's payload of a question: its record as one line, then one line per example.
fn payload(record: &Record, examples: &[Example]) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(8192);
    serde_json::to_writer(&mut bytes, record).map_err(journal_error)?;
    bytes.push(b'\n');
    for example in examples {
        serde_json::to_writer(&mut bytes, example).map_err(journal_error)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// The example lines of a [`payload`].
fn example_lines(payload: &[u8]) -> &[u8] {
    let end = payload.iter().position(|byte| *byte == b'\n');
    end.map_or(&[], |end| &payload[end + 1..])
}

fn journal_error(error: serde_json::Error) -> Error {
    Error::io(Path::new("journal"))(error.into())
}

/// A hash of everything that the records depend on besides the program; a journal with another hash is discarded. It
/// leaves out the selection options, so that a mixture or a split can change without verifying
/// again.
fn run_fingerprint(chosen: &[&GoldQuestion], kg: &dyn Kg, options: &GenerateOptions) -> String {
    let mut hasher = Sha256::new();
    let VerifyOptions {
        limits,
        ties,
        abstain,
        tools,
        shown,
        max_steps,
        deadline,
        ranker,
    } = &options.verify;
    let fixed = json!([
        kg.fingerprint(),
        options
            .templates()
            .iter()
            .map(toolbox::prompt::Template::hash)
            .collect::<Vec<_>>(),
        options.seed,
        options.abstain,
        ties,
        abstain,
        tools,
        shown,
        ranker.name(),
        max_steps,
        deadline.as_millis() as u64,
        format!("{limits:?}"),
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
    hex(&hasher.finalize())
}

/// A question in the format of a `jsonl` source, for `kgagent eval`. `linked` are the names of its
/// entities, if it names no topics itself.
#[must_use]
pub fn question_line(question: &GoldQuestion, linked: &[String]) -> serde_json::Value {
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
            "mix": options.select.mixing.mix.as_ref().map(ToString::to_string),
            "count": options.select.mixing.count,
            "unit": options.select.mixing.unit,
            "ties": options.verify.ties,
            "shown": options.verify.shown,
            "ranker": options.verify.ranker.name(),
            "max_steps": options.verify.max_steps,
            "held_out_questions": options.hold_out.len(),
        },
        "run": run,
    })
}

#[cfg(test)]
mod tests {
    use toolbox::exec::ExcludeWhen;

    use super::*;
    use crate::question::GoldQuery;

    #[test]
    fn synthesised_questions_with_several_relations_teach_no_words() {
        let question = |source: &str, id: &str| GoldQuestion {
            id: id.to_owned(),
            source: source.to_owned(),
            question: "the age and the town of each teacher".to_owned(),
            query: GoldQuery::Text(String::new()),
            topics: Vec::new(),
            answers: None,
            answers_bind: false,
            hops: None,
            kind: None,
            exclude: ExcludeWhen::Never,
        };
        let pair = |relations: &[&str]| WordPair {
            question: String::new(),
            relations: relations.iter().map(|&name| name.to_owned()).collect(),
        };
        let (one, two) = (pair(&["age"]), pair(&["age", "town"]));
        let synthesised = question("synth", "synth-000001");
        assert!(teaches_words(&synthesised, &one) && !teaches_words(&synthesised, &two));
        // A model that rewords a question chooses words of its own.
        let reworded = question("synth", "synth-000001~reworded1");
        assert!(teaches_words(&reworded, &two));
        assert!(teaches_words(&question("jsonl", "1"), &two));
    }
}
