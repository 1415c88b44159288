//! The questions that are read, and the data that the adapter is trained on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use common::fs::write_file;
use common::hash;
use common::input::read_text;
use datagen::linking::gold_entities;
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use datagen::verify;
use kg::term::{NodeId, Term};
use kg::{FrozenKg, Kg};
use model::{files, hub};
use serde_json::{Value, json};
use toolbox::carrier::plainly;
use toolbox::link::Linked;

use super::super::datagen::source;
use super::claims::{Claim, Vote};

/// The variable that stands for the entity of a question.
const SLOT: &str = "adapted";
/// Most entities that are looked up for a question.
const ROWS: usize = 1_000;

/// The questions of a file.
#[derive(Default)]
pub(super) struct AskedQuestions {
    /// Questions without a verdict; they are trusted, because the owner of the file wrote them.
    pub(super) questions: Vec<GoldQuestion>,
    /// Verdicts from which something could be learned.
    pub(super) claims: Vec<Claim>,
    /// Verdicts that only call an answer wrong.
    pub(super) denials: Vec<Vote>,
}

/// Reads the questions: one a line, or JSON Lines, in which neither `sparql` nor `answers` is
/// needed. Of the file that `serve --feedback` writes next to it, only the verdicts are read. `work`
/// gets the questions in the format `jsonl`.
pub(super) fn questions(path: &Path, graph: &FrozenKg, work: &Path) -> Result<AskedQuestions> {
    let mut asked = AskedQuestions::default();
    // Lines of questions, and of claims with their votes.
    let (mut lines, mut claimed, mut votes) = (String::new(), String::new(), Vec::new());
    for_each_line(path, &mut |mut value| {
        let vote = Vote::of(graph, &value)?;
        let known = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
        if value["verdict"] == "wrong" && !known("answers") {
            asked.denials.extend(vote);
            return Ok(());
        }
        let can_be_learned = known("sparql") || known("answers");
        if !known("sparql") {
            value["sparql"] = Value::Null;
        }
        match vote.filter(|_| can_be_learned) {
            Some(vote) => {
                votes.push(vote);
                claimed.push_str(&format!("{value}\n"));
            }
            None => lines.push_str(&format!("{value}\n")),
        }
        Ok(())
    })?;
    if lines.is_empty() && claimed.is_empty() {
        bail!("{} has no question to learn from", path.display());
    }
    let wrong = path.with_extension("wrong.jsonl");
    if wrong != path && wrong.is_file() {
        for_each_line(&wrong, &mut |value| {
            asked.denials.extend(Vote::of(graph, &value)?);
            Ok(())
        })?;
    }
    asked.questions = read(&lines, graph, &work.join("read.jsonl"))?;
    let claims = read(&claimed, graph, &work.join("claims.jsonl"))?;
    let claims = claims.into_iter().zip(votes);
    let claims = claims.map(|(question, vote)| Claim { question, vote });
    asked.claims = claims.collect();
    Ok(asked)
}

/// Reads the lines of a file, each of which is a question or an object with one.
fn for_each_line(path: &Path, each: &mut dyn FnMut(Value) -> Result<()>) -> Result<()> {
    let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let place = || format!("{}:{number}", path.display());
        let value: Value = match line {
            "" => continue,
            _ if line.starts_with('{') => {
                serde_json::from_str(line).with_context(|| format!("{}: not JSON", place()))?
            }
            _ => json!({ "question": line }),
        };
        if !value["question"].is_string() {
            bail!("{}: `question` is missing", place());
        }
        each(value).with_context(place)?;
    }
    Ok(())
}

/// The questions of lines in the format `jsonl`, one for each line.
fn read(lines: &str, graph: &FrozenKg, place: &Path) -> Result<Vec<GoldQuestion>> {
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    write_file(place, lines.as_bytes())?;
    let source = format!("jsonl={}", place.display());
    let mut read = source::read(&[source], Some(graph), &ReadOptions::default())?;
    // Feedback has names of answers; `jsonl` compares labels.
    let answers = read.iter_mut().filter_map(|one| one.answers.as_mut());
    for answer in answers.flatten() {
        let label = graph.by_name(answer).and_then(|node| graph.label(node));
        *answer = label.unwrap_or_else(|| answer.clone());
    }
    Ok(read)
}

/// The questions with the same about other entities: each with one entity becomes a template that
/// the graph fills up to `most` times, without the entities of `avoid`. `place` is for the
/// templates.
pub(super) fn with_instances(
    questions: Vec<GoldQuestion>,
    graph: &FrozenKg,
    (most, seed): (usize, u64),
    avoid: &[GoldQuestion],
    place: &Path,
) -> Result<Vec<GoldQuestion>> {
    let lines = (questions.iter()).filter_map(|question| template(question, graph));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    if lines.is_empty() || most == 0 {
        return Ok(questions);
    }
    write_file(place, lines.as_bytes())?;
    let options = ReadOptions {
        per_template: most,
        seed,
    };
    let source = format!("templates={}", place.display());
    let made = source::read(&[source], Some(graph), &options)?;
    let entities = |one: &GoldQuestion| gold_entities(graph, one).unwrap_or_default();
    let avoided: BTreeSet<NodeId> = avoid.iter().flat_map(entities).collect();
    let asked: BTreeSet<&str> = questions.iter().map(|one| one.question.as_str()).collect();
    let mut made: Vec<GoldQuestion> = (made.into_iter())
        .filter(|one| !asked.contains(one.question.as_str()))
        .filter(|one| !entities(one).iter().any(|node| avoided.contains(node)))
        .collect();
    made.extend(questions);
    Ok(made)
}

/// A question as a template, with a slot for its only entity. `None` if it has several, or does not
/// mention it.
fn template(question: &GoldQuestion, graph: &FrozenKg) -> Option<Value> {
    let [node] = gold_entities(graph, question)?[..] else {
        return None;
    };
    let Term::Iri(iri) = graph.term(node) else {
        return None;
    };
    let text = &plainly(&question.question);
    let masked = Linked::new(graph, text, &[node]).mask(text);
    let query = verify::parsed(question).ok()?.to_string();
    let filled = query.replace(&format!("<{iri}>"), &format!("?{SLOT}"));
    if masked == *text || text.contains('{') || filled == query {
        return None;
    }
    let pattern = filled.get(filled.find('{')?..=filled.rfind('}')?)?;
    let bind = format!("SELECT DISTINCT ?{SLOT} WHERE {pattern} LIMIT {ROWS}");
    kg::parse_query(&bind).ok()?;
    let wording = masked.replacen("e0", &format!("{{{SLOT}}}"), 1);
    Some(json!({ "id": question.id, "wordings": [wording], "sparql": filled, "bind": bind }))
}

/// Writes the dataset `out`: the examples of `new`, and for each of them `replay` of `old`, which
/// also gives the validation part. The word tables are those of the model. Returns the numbers of new and of repeated examples.
pub(super) fn mix(
    new: &Path,
    (old, replay): (Option<&Path>, usize),
    model: &Path,
    seed: u64,
    out: &Path,
) -> Result<(usize, usize)> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let read = |folder: &Path, name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let write = |name: &str, text: &str| write_file(&out.join(name), text.as_bytes());
    let mut examples = read(new, "train.jsonl")?;
    let count = examples.lines().count();
    let known = old.map_or(Ok(String::new()), |old| read(old, "train.jsonl"))?;
    let mut order: Vec<(u64, &str)> = (known.lines())
        .map(|line| (hash::number(seed, "replay", line), line))
        .collect();
    order.sort_unstable();
    order.truncate(count * replay);
    for (_, line) in &order {
        examples.push_str(&format!("{line}\n"));
    }
    write("train.jsonl", &examples)?;
    write("valid.jsonl", &read(old.unwrap_or(new), "valid.jsonl")?)?;
    for name in ["run.json", files::WORDINGS] {
        write(name, &read(new, name)?)?;
    }
    // Words of questions that only the model has judged make decisions worse.
    let model = hub::locate(model)?;
    let folder = files::folder_of(&model);
    if folder.join(files::WORDS).exists() {
        write(files::WORDS, &read(folder, files::WORDS)?)?;
    }
    Ok((count, order.len()))
}
