//! `kgagent datagen check`: which gold queries convert, without a graph.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use datagen::agree::{Agreements, agreements};
use datagen::read::{QuestionSource, ReadOptions, readers};

use super::report::{counts, row};
use super::source::read;
use crate::cli::CheckArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, header};

pub(crate) fn run(args: &CheckArgs, ui: &Ui) -> Result<ExitStatus> {
    if args.fronts {
        return fronts(&args.sources, ui);
    }
    let questions = read(&args.sources, None, &ReadOptions::default())?;
    let (report, refused) = datagen::pipeline::check(&questions, args.tools, 0);
    let mut object = serde_json::to_value(&report)?;
    if args.show {
        object["refused_questions"] = serde_json::to_value(&refused)?;
    }
    ui.object(&object);
    counts(&report, ui);
    for one in refused.iter().filter(|_| args.show) {
        ui.say(format!(
            "{}: {}",
            one.id,
            one.reason.with_detail(&one.detail)
        ));
    }
    Ok(ExitStatus::Done)
}

/// Reads each source with every front end of its format and compares the results. The check fails
/// if two front ends answer differently.
fn fronts(sources: &[String], ui: &Ui) -> Result<ExitStatus> {
    let compared = sources
        .iter()
        .map(|text| Ok((text.as_str(), agreement(text)?)))
        .collect::<Result<Vec<_>>>()?;
    let objects: BTreeMap<_, _> = compared.iter().map(|(text, found)| (text, found)).collect();
    ui.object(&serde_json::to_value(objects)?);
    let mut rows = header(
        "source|questions|equal programs|equal answers|untested|some refused|all refused|differ",
    );
    rows.extend(compared.iter().map(|(text, found)| {
        let counts = [
            found.questions,
            found.programs,
            found.answers,
            found.untested,
            found.some,
            found.none,
            found.differ,
        ];
        row(text, &counts)
    }));
    ui.table(&rows);
    for (front, reasons) in compared.iter().flat_map(|(_, found)| &found.refused) {
        for (reason, count) in reasons {
            ui.say(format!("{front}: {count} refused, {reason}"));
        }
    }
    for (id, how) in compared.iter().flat_map(|(_, found)| &found.differing) {
        ui.say(format!("{id}: {how}"));
    }
    Ok(if compared.iter().any(|(_, found)| found.differ > 0) {
        ExitStatus::Negative
    } else {
        ExitStatus::Done
    })
}

/// How well the front ends of a source's format agree on it.
fn agreement(text: &str) -> Result<Agreements> {
    let source: QuestionSource = text.parse()?;
    let all = readers(&ReadOptions::default());
    let format = all
        .iter()
        .map(|reader| reader.format())
        .find(|format| format.name == source.format)
        .with_context(|| format!("there is no format `{}`", source.format))?;
    ensure!(
        !format.fronts.is_empty(),
        "{} has only one front end; there is nothing to compare",
        format.name
    );
    let mut results = Vec::new();
    for option in std::iter::once(None).chain(format.fronts.iter().map(|name| Some(*name))) {
        let source = QuestionSource {
            option: option.map(str::to_owned),
            ..source.clone()
        };
        let questions = source
            .read(None, &ReadOptions::default())
            .with_context(|| format!("cannot read the source {text}"))?;
        results.push((option.unwrap_or("sparql").to_owned(), questions));
    }
    Ok(agreements(&results, 1))
}
