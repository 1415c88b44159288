//! Parquet in the layout of the Hugging Face hub: `data/train-00000-of-00001.parquet`. The
//! conversation is a list of structs, so that `datasets` and trainers read it as the usual
//! `messages` column.

use std::fs::File;
use std::sync::Arc;

use common::fs::StagedFolder;
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

use super::line::{ExampleFile, ExportLine, ExportTurn};
use crate::Error;
use crate::example::ExampleMessage;

/// Rows per row group, the unit that the hub's viewer reads.
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

/// Fields with a separate column. All other fields form one JSON object in `more`. The answer is
/// also JSON, because it may be names, a number or a truth value.
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

/// Writes one part as the file `name` and reads it back. Returns the number of examples.
pub(super) fn write(
    source: &ExampleFile,
    folder: &StagedFolder,
    name: &str,
) -> Result<usize, Error> {
    let path = folder.path().join(name);
    let parent = folder.path().join("data");
    std::fs::create_dir_all(&parent).map_err(Error::io(&parent))?;
    let wrong = |error: ParquetError| Error::file(&path, error.to_string());
    let schema = parse_message_type(SCHEMA).map_err(wrong)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let file = File::create(&path).map_err(Error::io(&path))?;
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(wrong)?;
    let mut rows: Vec<ExportLine> = Vec::with_capacity(ROWS);
    let mut failed = Ok(());
    let count = source.each(|line| {
        rows.push(line);
        if rows.len() == ROWS && failed.is_ok() {
            failed = write_group(&mut writer, &rows);
            rows.clear();
        }
        Ok(())
    })?;
    failed.map_err(wrong)?;
    if !rows.is_empty() {
        write_group(&mut writer, &rows).map_err(wrong)?;
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
            Err("the written line reads back from parquet differently".to_owned())
        }
    })?;
    Ok(count)
}

/// The values of one column, with definition and repetition levels if it is a list.
#[derive(Default)]
struct Column {
    texts: Vec<ByteArray>,
    numbers: Vec<i32>,
    flags: Vec<bool>,
    levels: Option<(Vec<i16>, Vec<i16>)>,
}

impl Column {
    fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Self {
        Self {
            texts: values.map(|text| text.as_ref().into()).collect(),
            ..Self::default()
        }
    }

    /// Lists of texts; an empty list is one undefined entry.
    fn lists(lists: impl Iterator<Item = Vec<ByteArray>>) -> Self {
        let (mut texts, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for list in lists {
            if list.is_empty() {
                defined.push(0);
                repeated.push(0);
            }
            for (i, text) in list.into_iter().enumerate() {
                texts.push(text);
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

/// The columns of some rows, in the order of [`SCHEMA`].
fn columns(rows: &[ExportLine]) -> Vec<Column> {
    let text = |key: &str| {
        let of = |line: &ExportLine| line.get(key).as_str().unwrap_or_default().to_owned();
        Column::texts(rows.iter().map(of))
    };
    let number = |key: &str| Column {
        numbers: rows
            .iter()
            .map(|line| {
                line.get(key)
                    .as_i64()
                    .and_then(|n| i32::try_from(n).ok())
                    .unwrap_or(0)
            })
            .collect(),
        ..Column::default()
    };
    let flag = |key: &str| Column {
        flags: rows
            .iter()
            .map(|line| line.get(key).as_bool().unwrap_or(false))
            .collect(),
        ..Column::default()
    };
    let turns = |of: &dyn Fn(&ExportTurn) -> ByteArray| {
        Column::lists(
            rows.iter()
                .map(|line| line.messages.iter().map(of).collect()),
        )
    };
    let calls = |line: &ExportLine| {
        let program = line.get("program");
        let calls = program.as_array().into_iter().flatten();
        calls
            .filter_map(Value::as_str)
            .map(ByteArray::from)
            .collect()
    };
    let more = |line: &ExportLine| {
        let mut rest = line.rest.clone();
        rest.retain(|key, _| !COLUMNS.contains(&key.as_str()));
        Value::Object(rest).to_string()
    };
    vec![
        turns(&|turn| role_name(turn.role).into()),
        turns(&|turn| turn.content.as_str().into()),
        text("id"),
        text("source"),
        text("question"),
        Column::lists(rows.iter().map(calls)),
        Column::texts(rows.iter().map(|line| line.get("answer").to_string())),
        text("layout"),
        text("agent"),
        number("step"),
        number("n_steps"),
        text("template_hash"),
        text("kg_hash"),
        flag("verified"),
        flag("abstain"),
        Column::texts(rows.iter().map(more)),
    ]
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    rows: &[ExportLine],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns(rows) {
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
                writer.write_batch(&column.flags, defined, repeated)?
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

fn conversation(row: &Row) -> Option<Vec<ExampleMessage>> {
    let list = row.get_list(0).ok()?;
    let message = |i: usize| {
        use parquet::record::ListAccessor;
        let turn = list.get_group(i).ok()?;
        let role = serde_json::from_value(Value::String(turn.get_string(0).ok()?.clone())).ok()?;
        Some(ExampleMessage {
            role,
            content: turn.get_string(1).ok()?.clone(),
        })
    };
    (0..list.len()).map(message).collect()
}

/// All fields except the conversation.
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
            // Lines omit a false `abstain`.
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
