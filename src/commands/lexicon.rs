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
    let mut vocabulary = question_words();
    let questions = source::read(&args.questions, Some(&graph), &ReadOptions::default())?;
    let hints = WordHints::default();
    let pairs: Vec<_> = (questions.iter())
        .filter_map(|question| hints.wording(question))
        .collect();
    if !pairs.is_empty() {
        let learned = WordTables::parse(&learn(&pairs))?;
        tables = tables.with(&learned).into();
        vocabulary.extend(pairs.iter().flat_map(|pair| kg::words(&pair.question)));
    }
    let entries = lexicon(&graph, &tables, &vocabulary, usize::from(args.words));
    let (text, proposed) = turtle(&graph, &entries);
    write_file(&args.out, text.as_bytes())
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    let named = entries
        .iter()
        .filter(|entry| !entry.words.is_empty())
        .count();
    ui.say(format!(
        "{proposed} words for {named} of {} relations and classes, in {}; edit it and give it to `kg \
         load` with the files of the graph",
        entries.len(),
        args.out.display()
    ));
    ui.object(&json!({
        "words": proposed, "named": named, "entries": entries.len(), "questions": pairs.len(),
        "out": args.out,
    }));
    Ok(ExitStatus::Done)
}

/// The entries as Turtle, and the number of words. Entries without words are comments to fill in.
fn turtle(graph: &FrozenKg, entries: &[LexiconEntry]) -> (String, usize) {
    let mut text = format!(
        "{HEAD}, proposed by `kgagent kg lexicon`.\n\
         # Remove the lines that are wrong and add your own. Then give this file to `kg load`, together \
         with the files\n# of the graph. The number behind a word is the probability that people use it \
         for this name.\n\n\
         @prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    );
    let (mut proposed, mut seen) = (0, BTreeSet::new());
    for entry in entries {
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
        if entry.words.is_empty() {
            let _ = writeln!(text, "# <{iri}> skos:altLabel \"…\"@en .");
        }
        for (word, probability) in &entry.words {
            let _ = writeln!(
                text,
                "<{iri}> skos:altLabel \"{word}\"@en . # {probability:.2}"
            );
            proposed += 1;
        }
    }
    (text, proposed)
}
