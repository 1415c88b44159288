//! `kgagent kg lexicon`: proposes words by which people may ask for the relations and classes of a
//! graph, as Turtle that its owner edits and loads with the graph.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use common::fs::write_file;
use datagen::read::ReadOptions;
use datagen::word_pairs::WordHints;
use kg::{FrozenKg, Kg};
use serde_json::json;
use toolbox::explain::{LexiconEntry, WordTables, learn, lexicon, question_words};

use super::datagen::source;
use super::{graph, output};
use crate::cli::KgLexiconArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, clean_value};

/// The first bytes of the files that this command writes.
const HEAD: &str = "# Words by which people may ask for the relations and classes of a graph";

pub(crate) fn run(args: &KgLexiconArgs, ui: &Ui) -> Result<ExitStatus> {
    let mut inputs = output::paths_of(&args.questions)?;
    inputs.extend(args.model.clone());
    inputs.push(args.graph.kg.clone());
    output::spare(&args.out, inputs.iter().map(PathBuf::as_path))?;
    output::file(&args.out, Some(HEAD))?;
    let graph = graph::open(&args.graph)?;
    let mut tables = match &args.model {
        Some(folder) => infer::planner::words_of(folder)?,
        None => WordTables::base(),
    };
    let most = usize::from(args.words);
    let understood = lexicon(&graph, &tables, &question_words(), most);
    let questions = source::read(&args.questions, Some(&graph), &ReadOptions::default())?;
    let hints = WordHints::default();
    let pairs: Vec<_> = (questions.iter())
        .filter_map(|question| hints.wording(question))
        .collect();
    let mut proposed = Vec::new();
    if !pairs.is_empty() {
        let learned = WordTables::parse(&learn(&pairs))?;
        tables = tables.with(&learned).into();
        let asked: BTreeSet<String> = (pairs.iter())
            .flat_map(|pair| kg::words(&pair.question))
            .collect();
        proposed = lexicon(
            &graph,
            &tables,
            &asked.into_iter().collect::<Vec<_>>(),
            most,
        );
    }
    let (text, counts) = turtle(&graph, &understood, &proposed);
    write_file(&args.out, text.as_bytes())
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    ui.say(format!(
        "{} words proposed for {} relations and classes, and {} that are understood without them, in {}; \
         edit it and give it to `kg load` with the files of the graph",
        counts.proposed,
        understood.len(),
        counts.understood,
        args.out.display()
    ));
    ui.object(&json!({
        "proposed": counts.proposed, "understood": counts.understood, "entries": understood.len(),
        "questions": pairs.len(), "out": args.out,
    }));
    Ok(ExitStatus::Done)
}

/// How many words a file has.
#[derive(Default)]
struct Counts {
    proposed: usize,
    understood: usize,
}

/// The entries as Turtle. What is understood without the file is a comment.
fn turtle(
    graph: &FrozenKg,
    understood: &[LexiconEntry],
    proposed: &[LexiconEntry],
) -> (String, Counts) {
    let mut text = format!(
        "{HEAD}, proposed by `kgagent kg lexicon`.\n\
         # Remove the lines that are wrong and add your own. Then give this file to `kg load`, together \
         with the files\n# of the graph. The number behind a word is the probability that people use it \
         for this name.\n\n\
         @prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    );
    let (mut counts, mut seen) = (Counts::default(), BTreeSet::new());
    for (at, entry) in understood.iter().enumerate() {
        let Some(iri) = graph.iri(entry.node) else {
            continue;
        };
        // A relation may be a class too.
        if !seen.insert(entry.node) {
            continue;
        }
        let label = graph.label(entry.node).unwrap_or_default();
        let label = clean_value(&label);
        let kind = if entry.is_class { "class" } else { "relation" };
        let _ = writeln!(text, "\n# {kind} {}: {label}", graph.name(entry.node));
        let known: Vec<&str> = entry.words.iter().map(|(word, _)| word.as_str()).collect();
        if !known.is_empty() {
            let _ = writeln!(text, "# understood without this file: {}", known.join(", "));
            counts.understood += known.len();
        }
        let words = proposed.get(at).map_or(&[][..], |entry| &entry.words);
        let new = || {
            words
                .iter()
                .filter(|(word, _)| !known.contains(&word.as_str()))
        };
        for (word, probability) in new() {
            let _ = writeln!(
                text,
                "<{iri}> skos:altLabel \"{word}\"@en . # {probability:.2}"
            );
            counts.proposed += 1;
        }
        if new().next().is_none() {
            let _ = writeln!(text, "# <{iri}> skos:altLabel \"…\"@en .");
        }
    }
    (text, counts)
}
