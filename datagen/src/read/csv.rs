//! Comma-separated values with a header: `question`, `sparql` (or `query`), and optionally `id`,
//! `topic`, `answers`, `hops`, `shape`. Several topics or answers are separated by `|`. A record
//! with answers but no query is for evaluation only. Tabs or semicolons also work as separators.
//! Records are read one at a time.

use common::input::without_mark;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::file;
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
    files: "*.csv",
    is_one: |name| name.ends_with(".csv"),
    example: "id,question,sparql,topic,answers\nq1,Who founded Arvel?,\"SELECT ?x { ex:arvel ex:founder ?x }\",ex:arvel,Mira Sol|Ivo Sol",
    options: &[],
    fronts: &[],
    queries: true,
};

const QUERY: [&str; 2] = ["sparql", "query"];

/// The separator, and the field names of a header.
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
        Likeness::certain(is_one)
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        let sample = Sample::read(from.path)?;
        let (delimiter, names) =
            header(&sample.line).ok_or_else(|| Error::file(from.path, "no header line"))?;
        let columns = Columns::of(&names);
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
                Ok(true) => {
                    let blank_line = record.iter().all(|field| field.trim().is_empty());
                    // The header is the first line that is not blank.
                    if blank_line || number == 0 && is_header(&record, &names) {
                        continue;
                    }
                    number += 1;
                    let made = if record.len() == names.len() {
                        columns.question(&record, number)
                    } else {
                        let (found, wanted) = (record.len(), names.len());
                        Err(format!("{found} fields where the header has {wanted}"))
                    };
                    each(made.unwrap_or_else(|message| {
                        bad(FORMAT.name, number, &format!("line {line}: {message}"))
                    }))?;
                }
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
                    }
                },
            }
        }
    }
}

/// Whether a record repeats the field names.
fn is_header(record: &::csv::StringRecord, names: &[String]) -> bool {
    let name = |field: &str| without_mark(field).trim().to_ascii_lowercase();
    record.iter().map(name).eq(names.iter().cloned())
}

/// The position of each field in a record.
struct Columns {
    id: Option<usize>,
    question: Option<usize>,
    sparql: Option<usize>,
    topic: Option<usize>,
    answers: Option<usize>,
    hops: Option<usize>,
    shape: Option<usize>,
}

impl Columns {
    fn of(names: &[String]) -> Self {
        let column = |name: &str| names.iter().position(|field| field == name);
        Self {
            id: column("id"),
            question: column("question"),
            sparql: QUERY.iter().find_map(|name| column(name)),
            topic: column("topic"),
            answers: column("answers"),
            hops: column("hops"),
            shape: column("shape"),
        }
    }

    fn question(
        &self,
        record: &::csv::StringRecord,
        number: usize,
    ) -> Result<GoldQuestion, String> {
        let get = |column: Option<usize>| {
            let field = record.get(column?)?.trim();
            (!field.is_empty()).then_some(field)
        };
        let question = get(self.question).ok_or("`question` is empty")?;
        let answers = get(self.answers).map(list);
        let query = match get(self.sparql) {
            Some(sparql) => GoldQuery::Text(sparql.to_owned()),
            None if answers.is_some() => GoldQuery::AnswersOnly {
                aliases: Vec::new(),
            },
            None => GoldQuery::Missing(Refusal::NoQuery, "`sparql` is empty".to_owned()),
        };
        let topic = |name| Topic {
            name,
            label: String::new(),
        };
        let topics = get(self.topic).map(list).unwrap_or_default();
        let id = get(self.id).map_or_else(|| format!("csv-{number}"), str::to_owned);
        Ok(GoldQuestion {
            question: question.to_owned(),
            query,
            topics: topics.into_iter().map(topic).collect(),
            answers,
            hops: get(self.hops).and_then(|hops| hops.parse().ok()),
            kind: get(self.shape).map(str::to_owned),
            exclude: ExcludeWhen::Others,
            ..blank(FORMAT.name, id)
        })
    }
}

/// The entries of a field with several values.
fn list(text: &str) -> Vec<String> {
    text.split('|')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
}
