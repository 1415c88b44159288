//! `kgagent datagen words` and `datagen weights`: learn the word tables and the weights of the
//! decision between candidate programs.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use common::fs::write_file;
use common::input::read_text;
use datagen::read::ReadOptions;
use datagen::weights;
use datagen::word_pairs::WordHints;
use serde_json::json;
use toolbox::explain::{TermWeights, learn};

use super::super::output;
use super::source;
use crate::cli::{WeightsArgs, WordsArgs};
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// The first bytes of files with word tables and with weights.
const TABLES: &str = "kgagent word tables ";
const WEIGHTS: &str = "{\n  \"explained\": ";

/// Learns translation tables between question words and relation words.
pub(crate) fn words(args: &WordsArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let mut inputs = output::paths_of(&args.sources)?;
    let hints = [&args.labels, &args.mentions, &args.skip];
    inputs.extend(hints.into_iter().flatten().cloned());
    output::spare(&args.out, inputs.iter().map(PathBuf::as_path))?;
    output::file(&args.out, Some(TABLES))?;
    let mut hints = WordHints::default();
    if let Some(path) = &args.labels {
        hints.read_labels(path)?;
    }
    if let Some(path) = &args.mentions {
        hints.read_mentions(path)?;
    }
    if let Some(path) = &args.skip {
        hints.read_skipped(path)?;
    }
    let questions = source::read(&args.sources, None, &ReadOptions::default())?;
    let stage = ui.progress("read", "question", Some(questions.len() as u64));
    let mut wordings = Vec::new();
    for (done, question) in questions.iter().enumerate() {
        wordings.extend(hints.wording(question));
        stage.set_position(done as u64);
    }
    stage.finish_and_clear();
    if wordings.is_empty() {
        bail!("no question has a query whose relations have names in words");
    }
    let text = learn(&wordings);
    write_file(&args.out, text.as_bytes())
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    ui.object(&json!({ "questions": questions.len(), "learned_from": wordings.len(), "bytes": text.len() }));
    ui.say(format!(
        "learned from {} of {} questions; {} bytes written to {}",
        wordings.len(),
        questions.len(),
        text.len(),
        args.out.display()
    ));
    Ok(ExitStatus::Done)
}

/// Fits the weights of the decision.
pub(crate) fn weights(args: &WeightsArgs, ui: &Ui) -> Result<ExitStatus> {
    let inputs = args.predictions.iter().chain(&args.start);
    output::spare(&args.out, inputs.map(PathBuf::as_path))?;
    output::file(&args.out, Some(WEIGHTS))?;
    let mut sets = Vec::new();
    for path in &args.predictions {
        let cases = weights::read(path)?;
        if cases.is_empty() {
            bail!(
                "{} has no decisions; make it with `eval --mode decide` or `--agent words`",
                path.display()
            );
        }
        sets.push(cases);
    }
    let start = match &args.start {
        Some(path) => {
            let text =
                read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
            TermWeights::parse(&text).map_err(|why| anyhow!("{}: {why}", path.display()))?
        }
        None => TermWeights::default(),
    };
    let fitted = weights::fit(&sets, &start, args.pull);
    for (path, set) in args.predictions.iter().zip(&sets) {
        let ((before, any), (after, _)) = (
            weights::measure(set, &start),
            weights::measure(set, &fitted),
        );
        ui.say(format!(
            "{}: {} questions, right {before} before, {after} after, {any} among the candidates",
            path.display(),
            set.len()
        ));
    }
    write_file(&args.out, fitted.print().as_bytes())
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    ui.object(&json!({ "weights": fitted.0.to_vec() }));
    ui.say(fitted.print());
    Ok(ExitStatus::Done)
}
