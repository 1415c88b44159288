//! Parquet as the Hugging Face hub lays it out: `data/train-00000-of-00001.parquet`. The conversation is a list of structs, so `datasets` and
//! trainers read it as they read `messages` of any other set.

use std::fs::File;
use std::sync::Arc;

use common::transcript::Role;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Row, RowAccessor};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

use super::{Line, Lines};
use crate::Error;
use crate::example::Message;
use crate::folder::Folder;

/// Rows of a row group: what the hub's viewer reads at once.
const ROWS: usize = 1000;

const SCHEMA: &str = "message example {
    REQUIRED GROUP messages (LIST) { REPEATED GROUP list { REQUIRED GROUP element {
        REQUIRED BYTE_ARRAY role (STRING); REQUIRED BYTE_ARRAY content (STRING); } } }
    REQUIRED BYTE_ARRAY id (STRING);
    REQUIRED BYTE_ARRAY source (STRING);
    REQUIRED BYTE_ARRAY question (STRING);
    REQUIRED GROUP program (LIST) { REPEATED GROUP list { REQUIRED BYTE_ARRAY element (STRING); } }
    REQUIRED BYTE_ARRAY answer (STRING);
    REQUIRED BYTE_ARRAY layout (STRING);
    REQUIRED BYTE_ARRAY agent (STRING);
    REQUIRED INT32 step;
    REQUIRED INT32 n_steps;
    REQUIRED BYTE_ARRAY template_hash (STRING);
    REQUIRED BYTE_ARRAY kg_hash (STRING);
    REQUIRED BOOLEAN verified;
    REQUIRED BOOLEAN abstain;
    REQUIRED BYTE_ARRAY more (STRING);
}";

/// Fields with a column of their own; what else a line says is one JSON object in `more`, and an answer, which may be names, a number or a
/// truth value, is JSON too.
const COLUMNS: [&str; 13] = [
    "id",
    "source",
    "question",
    "program",
    "answer",
    "layout",
    "agent",
    "step",
    "n_steps",
    "template_hash",
    "kg_hash",
    "verified",
    "abstain",
];

pub(super) fn file_name(part: &str) -> String {
    let split = if part == "train" {
        "train"
    } else {
        "validation"
    };
    format!("data/{split}-00000-of-00001.parquet")
}

/// Writes one part and reads it back. The number of examples.
pub(super) fn write(source: &Lines, folder: &Folder, part: &str) -> Result<usize, Error> {
    let path = folder.path(&file_name(part));
    let parent = folder.path("data");
    std::fs::create_dir_all(&parent).map_err(Error::io(&parent))?;
    let wrong = |error: ParquetError| Error::file(&path, error.to_string());
    let schema = parse_message_type(SCHEMA).map_err(wrong)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let file = File::create(&path).map_err(Error::io(&path))?;
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(wrong)?;
    let mut rows: Vec<Line> = Vec::with_capacity(ROWS);
    let mut failed = Ok(());
    let count = source.each(|line| {
        rows.push(line);
        if rows.len() == ROWS && failed.is_ok() {
            failed = group(&mut writer, &rows);
            rows.clear();
        }
        Ok(())
    })?;
    failed.map_err(wrong)?;
    if !rows.is_empty() {
        group(&mut writer, &rows).map_err(wrong)?;
    }
    let file = writer.into_inner().map_err(wrong)?;
    file.sync_all().map_err(Error::io(&path))?;
    if count == 0 {
        std::fs::remove_file(&path).map_err(Error::io(&path))?;
        return Ok(0);
    }

    let reader =
        SerializedFileReader::new(File::open(&path).map_err(Error::io(&path))?).map_err(wrong)?;
    let mut back = reader.get_row_iter(None).map_err(wrong)?;
    source.each(|line| {
        let row = back.next().and_then(Result::ok);
        let same = row.is_some_and(|row| {
            conversation(&row).as_deref() == Some(&line.conversation()[..])
                && rest(&row).as_ref() == Some(&line.rest)
        });
        if same {
            Ok(())
        } else {
            Err("it does not read back from parquet as it was written".to_owned())
        }
    })?;
    Ok(count)
}

/// One column's values, with the definition and repetition levels that a list needs.
#[derive(Default)]
struct Column {
    texts: Vec<ByteArray>,
    numbers: Vec<i32>,
    truths: Vec<bool>,
    levels: Option<(Vec<i16>, Vec<i16>)>,
}

impl Column {
    fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Self {
        Self {
            texts: values.map(|text| text.as_ref().into()).collect(),
            ..Self::default()
        }
    }

    /// Lists of texts: an empty list is one entry that is not defined.
    fn lists<'a>(lists: impl Iterator<Item = Vec<&'a str>>) -> Self {
        let (mut texts, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for list in lists {
            if list.is_empty() {
                defined.push(0);
                repeated.push(0);
            }
            for (i, text) in list.into_iter().enumerate() {
                texts.push(text.into());
                defined.push(1);
                repeated.push(i16::from(i > 0));
            }
        }
        Self {
            texts,
            levels: Some((defined, repeated)),
            ..Self::default()
        }
    }
}

/// Writes the rows as a row group.
fn group(writer: &mut SerializedFileWriter<File>, rows: &[Line]) -> Result<(), ParquetError> {
    let text = |key: &'static str| {
        Column::texts(rows.iter().map(move |line| {
            line.rest
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        }))
    };
    let number = |key: &'static str| Column {
        numbers: rows
            .iter()
            .map(|line| {
                line.rest
                    .get(key)
                    .and_then(Value::as_i64)
                    .and_then(|n| i32::try_from(n).ok())
                    .unwrap_or(0)
            })
            .collect(),
        ..Column::default()
    };
    let truth = |key: &'static str| Column {
        truths: rows
            .iter()
            .map(|line| line.rest.get(key).and_then(Value::as_bool).unwrap_or(false))
            .collect(),
        ..Column::default()
    };
    let calls = |line: &'_ Line| -> Vec<String> {
        line.rest
            .get("program")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let programs: Vec<Vec<String>> = rows.iter().map(calls).collect();
    let more = |line: &Line| {
        let mut rest = line.rest.clone();
        rest.retain(|key, _| !COLUMNS.contains(&key.as_str()));
        Value::Object(rest).to_string()
    };
    let columns = [
        Column::lists(rows.iter().map(|line| {
            line.messages
                .iter()
                .map(|turn| role_name(turn.role))
                .collect()
        })),
        Column::lists(rows.iter().map(|line| {
            line.messages
                .iter()
                .map(|turn| turn.content.as_str())
                .collect()
        })),
        text("id"),
        text("source"),
        text("question"),
        Column::lists(
            programs
                .iter()
                .map(|program| program.iter().map(String::as_str).collect()),
        ),
        Column::texts(rows.iter().map(|line| line.get("answer").to_string())),
        text("layout"),
        text("agent"),
        number("step"),
        number("n_steps"),
        text("template_hash"),
        text("kg_hash"),
        truth("verified"),
        truth("abstain"),
        Column::texts(rows.iter().map(more)),
    ];
    let mut group = writer.next_row_group()?;
    for column in &columns {
        let Some(mut written) = group.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".to_owned(),
            ));
        };
        let (defined, repeated) = column
            .levels
            .as_ref()
            .map_or((None, None), |(d, r)| (Some(&d[..]), Some(&r[..])));
        match written.untyped() {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                writer.write_batch(&column.texts, defined, repeated)?
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                writer.write_batch(&column.numbers, defined, repeated)?
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                writer.write_batch(&column.truths, defined, repeated)?
            }
            _ => {
                return Err(ParquetError::General(
                    "a column of a type that the schema does not have".to_owned(),
                ));
            }
        };
        written.close()?;
    }
    group.close()?;
    Ok(())
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn conversation(row: &Row) -> Option<Vec<Message>> {
    let list = row.get_list(0).ok()?;
    let message = |i: usize| {
        use parquet::record::ListAccessor;
        let turn = list.get_group(i).ok()?;
        let role = serde_json::from_value(Value::String(turn.get_string(0).ok()?.clone())).ok()?;
        Some(Message {
            role,
            content: turn.get_string(1).ok()?.clone(),
        })
    };
    (0..list.len()).map(message).collect()
}

/// Everything but the conversation, put together again.
fn rest(row: &Row) -> Option<serde_json::Map<String, Value>> {
    use parquet::record::ListAccessor;
    let mut all = serde_json::from_str::<serde_json::Map<String, Value>>(
        row.get_string(COLUMNS.len() + 1).ok()?,
    )
    .ok()?;
    for (i, key) in COLUMNS.iter().enumerate() {
        let at = i + 1;
        let value = match *key {
            "step" | "n_steps" => Value::from(row.get_int(at).ok()?),
            "verified" => Value::from(row.get_bool(at).ok()?),
            // Lines leave it out where it does not hold.
            "abstain" if !row.get_bool(at).ok()? => continue,
            "abstain" => Value::from(true),
            "answer" => serde_json::from_str(row.get_string(at).ok()?).ok()?,
            "program" => {
                let list = row.get_list(at).ok()?;
                (0..list.len())
                    .map(|i| {
                        list.get_string(i)
                            .ok()
                            .map(|call| Value::from(call.clone()))
                    })
                    .collect::<Option<Vec<Value>>>()?
                    .into()
            }
            _ => Value::from(row.get_string(at).ok()?.clone()),
        };
        all.insert((*key).to_owned(), value);
    }
    Some(all)
}
