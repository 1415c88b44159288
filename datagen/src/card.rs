//! The data card: a README with the YAML header that data hubs read, and the figures of the run.

use kg::Kg;
use toolbox::prompt::Template;

use crate::options::GenerateOptions;
use crate::report::{Counts, Report};
use crate::select::{Dedup, SplitKind, Unit};

/// The data card: YAML header, then the contents of the folder.
pub(crate) fn card(
    report: &Report,
    kg: &dyn Kg,
    options: &GenerateOptions,
    train: usize,
    valid: usize,
) -> String {
    let total = &report.total;
    let size = match train + valid {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        _ => "n>1M",
    };
    let layout = options.template.layout.name();
    let templates = options.templates();
    let joined = |of: &dyn Fn(&Template) -> String, by: &str| {
        templates.iter().map(of).collect::<Vec<_>>().join(by)
    };
    let mut text = format!(
        "---\nlanguage:\n- en\ntask_categories:\n- question-answering\n- text-generation\ntags:\n- knowledge-graph\n- tool-use\n- {}\n\
         size_categories:\n- {size}\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.jsonl\n  - split: \
         validation\n    path: valid.jsonl\n---\n\n# Verified knowledge-graph programs ({layout} layout)\n\n",
        joined(&|template| template.agent.name().to_owned(), "\n- ")
    );
    text.push_str(&format!(
        "Questions over a knowledge graph of {} triples, each with a program of tool calls. Every program was run on the graph, and its \
         answer is that of the gold SPARQL query.\n\n| | |\n|---|---|\n| questions read | {} |\n| verified | {} |\n| examples | {} ({train} to \
         train on, {valid} to validate) |\n| calls | {} |\n| examples of giving up | {} |\n| templates | {} |\n| graph | `{}` |\n\n",
        kg.len(),
        total.questions,
        total.verified,
        total.examples,
        total.steps,
        total.abstain,
        joined(&|template| format!("`{}` ({})", template.hash(), template.agent.name()), ", "),
        kg.content_hash(),
    ));
    text.push_str(
        "| source | read | verified | written | examples | calls |\n|---|---|---|---|---|---|\n",
    );
    for (source, counts) in &report.sources {
        let written = counts.verified - counts.duplicates - counts.not_drawn;
        let Counts {
            questions,
            verified,
            examples,
            steps,
            ..
        } = counts;
        text.push_str(&format!(
            "| {source} | {questions} | {verified} | {written} | {examples} | {steps} |\n"
        ));
    }
    if let Some(counts) = &report.reworded {
        text.push_str(&format!("\n{}\n", counts.sentence()));
    }
    text.push_str(&selection(report, options));
    if !total.refused.is_empty() {
        text.push_str("\nRefused, by reason (`refused.jsonl` has the queries):\n\n| reason | questions |\n|---|---|\n");
        for (reason, count) in &total.refused {
            text.push_str(&format!("| {reason} | {count} |\n"));
        }
    }
    text.push_str(
        "\n`valid.questions.jsonl` holds the questions behind `valid.jsonl` with their gold queries, as a source of format `jsonl`. \
         `wordings.txt` has hashes of how the training questions are worded.\n\nA line is one JSON \
         object: `messages` (role, content; the assistant's turns are to be trained on), `id`, `source`, `question`, \
         `program`, `answer`, `layout`, `agent`, `step`, `n_steps`, `template_hash`, `kg_hash`, `verified`, and where they apply `shape`, \
         `kind`, `hops`, `topics`, `exclude`, `abstain`, `without`. The licences of the questions and of the graph are those of their sources.\n",
    );
    text
}

/// The section on selection, split, lengths and leakage.
fn selection(report: &Report, options: &GenerateOptions) -> String {
    let (selection, tokens) = (&report.selection, &report.tokens);
    let mut text = format!(
        "\nExamples are {} tokens long at the median, {} at the 95th percentile and {} at most ({} in all), by an estimate that knows no \
         tokenizer: four letters, a digit or a sign are a token.\n\n",
        tokens.median, tokens.p95, tokens.max, tokens.total
    );
    if options.select.dedup != Dedup::Off {
        text.push_str(&format!(
            "Near-duplicates (`{}`) dropped: {} questions.\n\n",
            selection.dedup, selection.duplicates
        ));
    }
    if let Some(mix) = &options.select.mixing.mix {
        let unit = if selection.unit == Unit::Step {
            "calls"
        } else {
            "questions"
        };
        let drawn = selection.drawn.iter().map(|(source, amount)| {
            format!(
                "{source} {} questions with {} calls",
                amount.questions, amount.steps
            )
        });
        text.push_str(&format!(
            "Mixed as `{mix}` by {unit}: {}.\n\n",
            drawn.collect::<Vec<_>>().join(", ")
        ));
    }
    let special = match selection.split {
        SplitKind::Iid => "drawn at random".to_owned(),
        SplitKind::Compositional => {
            format!(
                "of {} combinations of relations, classes and functions that are not trained on",
                selection.unseen.len()
            )
        }
        SplitKind::ZeroShot => format!(
            "with {} relations that are not trained on",
            selection.unseen.len()
        ),
    };
    let (train, valid) = (&selection.train, &selection.valid);
    text.push_str(&format!(
        "{} questions to train on, {} to validate with ({special}).\n",
        train.questions, valid.questions
    ));
    for leak in &selection.leakage {
        text.push_str(&format!(
            "\nOf {} questions of *{}*, ",
            leak.questions, leak.second
        ));
        text.push_str(&format!(
            "{} are word for word in *{}*, ",
            leak.same_question, leak.first
        ));
        text.push_str(&format!(
            "{} but for names and numbers, and {} share an entity with it.\n",
            leak.same_masked, leak.shared_topics
        ));
    }
    text
}
