//! Comma-separated values with a header: `question`, `sparql` (or `query`), and optionally `id`, `topic`, `answers`, `hops`, `shape`. Several topics or
//! answers are separated by `|`. A record with answers and no query is for evaluation only. A tab or semicolon may stand for the comma. Records are read one at a time.

use std::path::{Path, PathBuf};

use toolbox::exec::ExcludeWhen;

use super::file;
use super::formats::SourceFormat;
use super::json::{bad, blank};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample, SampleForm};
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::{Error, Refusal};

pub(super) struct Csv;

const FORMAT: SourceFormat = SourceFormat {
    name: "csv",
    about: "questions of one's own in a table",
    needs: "a table with a header line that names `question` and `sparql` (or `answers`), and optionally `id`, `topic`, `hops`, `shape`",
    folder: "every .csv",
    example: "id,question,sparql,topic,answers\nq1,Who founded Arvel?,\"SELECT ?x { ex:arvel ex:founder ?x }\",ex:arvel,Mira Sol|Ivo Sol",
    options: &[],
    fronts: &[],
    queries: true,
};

const QUERY: [&str; 2] = ["sparql", "query"];

/// The character between fields, and the fields of a header.
fn header(line: &str) -> Option<(u8, Vec<String>)> {
    let delimiter = [b',', b'\t', b';']
        .into_iter()
        .max_by_key(|delimiter| line.bytes().filter(|byte| byte == delimiter).count())?;
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .from_reader(line.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some((
        delimiter,
        record
            .iter()
            .map(|name| name.trim().to_ascii_lowercase())
            .collect(),
    ))
}

impl QuestionReader for Csv {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let named = |fields: &[String], name: &str| fields.iter().any(|field| field == name);
        let is_one = sample.form == SampleForm::Text
            && header(&sample.line).is_some_and(|(_, fields)| {
                named(&fields, "question")
                    && (QUERY.iter().any(|name| named(&fields, name)) || named(&fields, "answers"))
            });
        Likeness::of(is_one, is_one)
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        file::of_set(path, "*.csv", |name| name.ends_with(".csv"))
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        let sample = Sample::read(from.path)?;
        let (delimiter, names) =
            header(&sample.line).ok_or_else(|| Error::file(from.path, "no header line"))?;
        let column = |name: &str| names.iter().position(|field| field == name);
        let query = QUERY.iter().find_map(|name| column(name));
        let columns = [
            column("id"),
            column("question"),
            query,
            column("topic"),
            column("answers"),
            column("hops"),
            column("shape"),
        ];
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(file::open(from.path)?);
        let mut record = ::csv::StringRecord::new();
        let mut number = 0;
        loop {
            let line = reader.position().line();
            match reader.read_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                Err(error) => match error.into_kind() {
                    ::csv::ErrorKind::Io(source) => {
                        return Err(Error::Io {
                            path: from.path.to_owned(),
                            source,
                        });
                    }
                    kind => {
                        number += 1;
                        each(bad(FORMAT.name, number, &format!("line {line}: {kind:?}")))?;
                        continue;
                    }
                },
            }
            let blank_line = record.iter().all(|field| field.trim().is_empty());
            // The header is the first line that is not blank.
            if blank_line
                || number == 0
                    && record
                        .iter()
                        .map(|field| {
                            field
                                .trim_start_matches('\u{feff}')
                                .trim()
                                .to_ascii_lowercase()
                        })
                        .eq(names.iter().cloned())
            {
                continue;
            }
            number += 1;
            let get = |at: Option<usize>| {
                at.and_then(|at| record.get(at))
                    .map(str::trim)
                    .filter(|text| !text.is_empty())
            };
            let made = match (record.len() == names.len(), get(columns[1])) {
                (false, _) => bad(
                    FORMAT.name,
                    number,
                    &format!(
                        "line {line}: {} fields where the header has {}",
                        record.len(),
                        names.len()
                    ),
                ),
                (true, None) => bad(
                    FORMAT.name,
                    number,
                    &format!("line {line}: `question` is empty"),
                ),
                (true, Some(question)) => {
                    let [id, _, sparql, topic, answers, hops, shape] = columns.map(get);
                    let list = |text: &str| {
                        text.split('|')
                            .map(str::trim)
                            .filter(|one| !one.is_empty())
                            .map(str::to_owned)
                            .collect::<Vec<_>>()
                    };
                    GoldQuestion {
                        question: question.to_owned(),
                        query: match sparql {
                            Some(sparql) => GoldQuery::Text(sparql.to_owned()),
                            None if answers.is_some() => GoldQuery::AnswersOnly {
                                aliases: Vec::new(),
                            },
                            None => {
                                GoldQuery::Missing(Refusal::NoQuery, "`sparql` is empty".to_owned())
                            }
                        },
                        topics: topic
                            .map(list)
                            .unwrap_or_default()
                            .into_iter()
                            .map(|name| Topic {
                                name,
                                label: String::new(),
                            })
                            .collect(),
                        answers: answers.map(list),
                        hops: hops.and_then(|hops| hops.parse().ok()),
                        kind: shape.map(str::to_owned),
                        exclude: ExcludeWhen::Others,
                        ..blank(
                            FORMAT.name,
                            id.map_or_else(|| format!("csv-{number}"), str::to_owned),
                        )
                    }
                }
            };
            each(made)?;
        }
    }
}
