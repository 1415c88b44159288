//! Data folders in the layouts of other trainers: ShareGPT and Alpaca with LLaMA-Factory's
//! `dataset_info.json`, and parquet in the layout of the Hugging Face hub. Every file is read back
//! and compared with its source before the folder appears.

mod alpaca;
mod line;
#[cfg(feature = "parquet")]
mod parquet;
mod sharegpt;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use common::fs::{StagedFolder, check_target};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::example::ExampleMessage;
use crate::lines::{JsonLines, write_json};
use line::{ExampleFile, ExportLine};

/// File that identifies an exported folder.
const MARK: &str = "export.json";

/// A layout of data folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// `conversations` of `from` and `value`, and a `system` text.
    ShareGpt,
    /// The same fields for a trainer that accepts turns in any order (Axolotl). It also takes
    /// Triad's conversations, in which two inputs may follow each other.
    ShareGptTurns,
    /// `instruction`, `output` and `history`.
    Alpaca,
    /// Parquet files in `data/`.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Training examples.
    pub train: usize,
    /// Validation examples.
    pub valid: usize,
    /// Files written, relative to the folder.
    pub files: Vec<String>,
}

impl ExportFormat {
    fn name(self) -> &'static str {
        match self {
            Self::ShareGpt | Self::ShareGptTurns => "sharegpt",
            Self::Alpaca => "alpaca",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
        }
    }

    /// The file of a part, relative to the folder.
    fn file_name(self, part: &str) -> String {
        match self {
            Self::ShareGpt | Self::ShareGptTurns | Self::Alpaca => format!("{part}.jsonl"),
            #[cfg(feature = "parquet")]
            Self::Parquet => parquet::file_name(part),
        }
    }
}

/// Writes the data folder `data` in another layout as the folder `out`, with some additional files
/// (names and texts).
///
/// # Errors
/// [`Error::Io`], and [`Error::Format`] with the line that is not an example or that the layout cannot
/// represent; `out` is then unchanged.
pub fn export(
    data: &Path,
    format: ExportFormat,
    out: &Path,
    additional: &[(&str, String)],
) -> Result<Exported, Error> {
    check_target(out, &[MARK])?;
    let folder = StagedFolder::new(out)?;
    let mut done = Exported::default();
    for part in ["train", "valid"] {
        let source = ExampleFile {
            path: data.join(format!("{part}.jsonl")),
        };
        let name = format.file_name(part);
        let count = write_part(&source, format, &folder, &name)?;
        match part {
            "train" => done.train = count,
            _ => done.valid = count,
        }
        if count > 0 {
            done.files.push(name);
        }
    }
    const INFO: &str = "dataset_info.json";
    match format {
        ExportFormat::ShareGpt => {
            write_json(&folder, INFO, &dataset_info(&sharegpt::info(), &done.files))?;
        }
        ExportFormat::Alpaca => {
            write_json(&folder, INFO, &dataset_info(&alpaca::info(), &done.files))?;
        }
        // Axolotl's configuration names the fields; LLaMA-Factory would reject these turns.
        ExportFormat::ShareGptTurns => {}
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => {
            folder.file("README.md", card(data, &done.files)?.as_bytes())?;
        }
    }
    for (name, text) in additional {
        folder.file(name, text.as_bytes())?;
    }
    write_json(
        &folder,
        MARK,
        &json!({ "version": env!("CARGO_PKG_VERSION"), "format": format.name(), "train": done.train, "valid": done.valid }),
    )?;
    folder.commit()?;
    Ok(done)
}

/// Writes one part and returns the number of examples.
fn write_part(
    source: &ExampleFile,
    format: ExportFormat,
    folder: &StagedFolder,
    name: &str,
) -> Result<usize, Error> {
    match format {
        ExportFormat::ShareGpt => {
            json_lines(source, folder, name, sharegpt::encode, sharegpt::decode)
        }
        ExportFormat::ShareGptTurns => {
            let encode = sharegpt::encode_turns;
            json_lines(source, folder, name, encode, sharegpt::decode)
        }
        ExportFormat::Alpaca => json_lines(source, folder, name, alpaca::encode, alpaca::decode),
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => parquet::write(source, folder, name),
    }
}

/// The datasets of a folder under the names that LLaMA-Factory looks up: `kgagent_train` and
/// `kgagent_valid`.
fn dataset_info(entry: &Value, files: &[String]) -> Value {
    let mut sets = Map::new();
    for file in files {
        let mut entry = entry.clone();
        entry["file_name"] = json!(file);
        sets.insert(
            format!("kgagent_{}", file.trim_end_matches(".jsonl")),
            entry,
        );
    }
    Value::Object(sets)
}

/// The data card with the exported files in its header.
#[cfg(feature = "parquet")]
fn card(data: &Path, files: &[String]) -> Result<String, Error> {
    let path = data.join("README.md");
    let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
    let text = text
        .replace("path: train.jsonl", "path: data/train-*")
        .replace("path: valid.jsonl", "path: data/validation-*");
    // The hub's viewer fails on a split without a file.
    let empty = "  - split: validation\n    path: data/validation-*\n";
    Ok(if files.iter().any(|file| file.contains("validation")) {
        text
    } else {
        text.replace(empty, "")
    })
}

/// Writes a JSON Lines file and reads it back. Returns the number of examples.
fn json_lines(
    source: &ExampleFile,
    folder: &StagedFolder,
    name: &str,
    encode: impl Fn(&ExportLine) -> Result<Value, String>,
    decode: impl Fn(&Value) -> Option<Vec<ExampleMessage>>,
) -> Result<usize, Error> {
    let mut file = JsonLines::create(folder, name)?;
    let mut failed = None;
    source.each(|line| {
        let record = encode(&line)?;
        // Tell a write error from an error in the line.
        if let Err(error) = file.push(&record) {
            failed.get_or_insert(error);
        }
        Ok(())
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let count = file.finish()?;
    let path = folder.path().join(name);
    if count == 0 {
        std::fs::remove_file(&path).map_err(Error::io(&path))?;
        return Ok(0);
    }
    let mut written = BufReader::new(File::open(&path).map_err(Error::io(&path))?).lines();
    source.each(|line| {
        let record = written
            .next()
            .and_then(Result::ok)
            .and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let back = record.as_ref().and_then(&decode);
        if back.as_deref() == Some(&line.conversation()[..]) {
            Ok(())
        } else {
            Err("the written line reads back differently".to_owned())
        }
    })?;
    Ok(count)
}
