//! Every reader, and the page that documents the formats.

use std::fmt::Write;

use super::reader::{QuestionReader, ReadOptions};
use super::{
    creak, csv, cwq, grailqa, jsonl, kqapro, lcquad1, lcquad2, metaqa, pathquestion, qald, qald10,
    templates, trex, webqsp, zeroshot,
};

/// Every reader.
#[must_use]
pub fn readers(options: &ReadOptions) -> Vec<Box<dyn QuestionReader>> {
    vec![
        Box::new(jsonl::Jsonl),
        Box::new(csv::Csv),
        Box::new(templates::Templates { options: *options }),
        Box::new(webqsp::WEBQSP),
        Box::new(cwq::CWQ),
        Box::new(grailqa::GRAILQA),
        Box::new(kqapro::KQAPRO),
        Box::new(lcquad1::LCQUAD1),
        Box::new(lcquad2::LCQUAD2),
        Box::new(qald::Qald),
        Box::new(qald10::QALD10),
        Box::new(metaqa::MetaQa),
        Box::new(pathquestion::PathQuestion),
        Box::new(trex::TREX),
        Box::new(zeroshot::ZERO_SHOT_RE),
        Box::new(creak::CREAK),
    ]
}

/// The names of all formats, for messages.
pub(super) fn known(readers: &[Box<dyn QuestionReader>]) -> String {
    readers
        .iter()
        .map(|reader| reader.format().name)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The text of docs/formats.md.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "# Formats of questions\n\nMade from the table of the readers (`kgagent datagen formats`); a test checks that it is current.\n\n\
         A source is `FORMAT=PATH` or `FORMAT:OPTION=PATH`. PATH is a file or the set's folder as published; every file may be compressed. `#train` or\n\
         `#heldout` after the path reads that part of a fixed 90 / 10 split. A folder means all splits in it, the test split too; name a file to read only one.\n\
         A file in the wrong format is an error that names the format it looks like; a single bad record becomes a question that is refused\n\
         with a reason.\n\n| format | set | option | gold query |\n|---|---|---|---|\n",
    );
    let all = readers(&ReadOptions::default());
    // Writing to a string cannot fail.
    for format in all.iter().map(|reader| reader.format()) {
        let options = format
            .options
            .iter()
            .map(|(name, about)| format!("`:{name}` {about}"))
            .collect::<Vec<_>>()
            .join("; ");
        let queries = if format.queries {
            "yes"
        } else {
            "no: for `eval` only"
        };
        let _ = writeln!(
            page,
            "| [`{}`](#{}) | {} | {options} | {queries} |",
            format.name, format.name, format.about
        );
    }
    for format in all.iter().map(|reader| reader.format()) {
        let _ = write!(
            page,
            "\n## {}\n\n{}: {}. In a folder: {}.\n\n```\n{}\n```\n",
            format.name, format.about, format.needs, format.folder, format.example
        );
    }
    page
}
