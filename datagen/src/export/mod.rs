//! Data folders in the layouts of other trainers: ShareGPT and Alpaca with LLaMA-Factory's `dataset_info.json`, and parquet as the Hugging
//! Face hub lays it out. Every file is read back and compared with what it was made from before the folder appears.

mod alpaca;
#[cfg(feature = "parquet")]
mod parquet;
mod sharegpt;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use common::transcript::Role;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::example::Message;
use crate::folder::Folder;

/// File by which an exported folder is known.
const MARK: &str = "export.json";

/// A layout of data folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// `conversations` of `from` and `value`, and a system text.
    ShareGpt,
    /// The same fields for a trainer that puts any turns into the chat format's own template (Axolotl): Triad's conversations too, where two
    /// things are given one after the other.
    ShareGptTurns,
    /// `instruction`, `output` and `history`.
    Alpaca,
    /// Parquet files in `data/`.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Examples to train on.
    pub train: usize,
    /// Examples to validate with.
    pub valid: usize,
    /// Files written, relative to the folder.
    pub files: Vec<String>,
}

/// Writes the data folder `data` in another layout as the folder `out`.
///
/// # Errors
/// [`Error::Io`], and [`Error::Format`] with the line that is no example or that the layout cannot hold; `out` is then as it was.
pub fn export(data: &Path, format: ExportFormat, out: &Path) -> Result<Exported, Error> {
    export_with(data, format, out, &[])
}

/// [`export`] with more files (names and texts) beside the data.
///
/// # Errors
/// As [`export`].
pub fn export_with(
    data: &Path,
    format: ExportFormat,
    out: &Path,
    beside: &[(&str, String)],
) -> Result<Exported, Error> {
    let folder = Folder::new(out, &[MARK])?;
    let mut done = Exported::default();
    for (part, name) in [("train", "train.jsonl"), ("valid", "valid.jsonl")] {
        let source = Lines {
            path: data.join(name),
        };
        let count = match format {
            ExportFormat::ShareGpt => {
                json_lines(&source, &folder, name, sharegpt::encode, sharegpt::decode)?
            }
            ExportFormat::ShareGptTurns => json_lines(
                &source,
                &folder,
                name,
                sharegpt::encode_turns,
                sharegpt::decode,
            )?,
            ExportFormat::Alpaca => {
                json_lines(&source, &folder, name, alpaca::encode, alpaca::decode)?
            }
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => parquet::write(&source, &folder, part)?,
        };
        *(if part == "train" {
            &mut done.train
        } else {
            &mut done.valid
        }) = count;
        if count > 0 {
            done.files.push(match format {
                ExportFormat::ShareGpt | ExportFormat::ShareGptTurns | ExportFormat::Alpaca => {
                    name.to_owned()
                }
                #[cfg(feature = "parquet")]
                ExportFormat::Parquet => parquet::file_name(part),
            });
        }
    }
    match format {
        ExportFormat::ShareGpt => folder.json(
            "dataset_info.json",
            &dataset_info(&sharegpt::info(), &done.files),
        )?,
        ExportFormat::Alpaca => folder.json(
            "dataset_info.json",
            &dataset_info(&alpaca::info(), &done.files),
        )?,
        // Its configuration says what the fields are; LLaMA-Factory would not take the turns.
        ExportFormat::ShareGptTurns => {}
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => folder.text("README.md", &card(data, &done.files)?)?,
    }
    for (name, text) in beside {
        folder.text(name, text)?;
    }
    let name = match format {
        ExportFormat::ShareGpt | ExportFormat::ShareGptTurns => "sharegpt",
        ExportFormat::Alpaca => "alpaca",
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => "parquet",
    };
    folder.json(MARK, &json!({ "version": env!("CARGO_PKG_VERSION"), "format": name, "train": done.train, "valid": done.valid }))?;
    folder.commit()?;
    Ok(done)
}

/// The data sets of a folder as LLaMA-Factory looks them up: `kgagent_train`, `kgagent_valid`.
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

/// The data card with the exported files in its head.
fn card(data: &Path, files: &[String]) -> Result<String, Error> {
    let path = data.join("README.md");
    let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
    let text = text
        .replace("path: train.jsonl", "path: data/train-*")
        .replace("path: valid.jsonl", "path: data/validation-*");
    // A split without a file would make the hub's viewer fail.
    let empty = "  - split: validation\n    path: data/validation-*\n";
    Ok(if files.iter().any(|file| file.contains("validation")) {
        text
    } else {
        text.replace(empty, "")
    })
}

/// A line of a data set: its conversation and everything else it says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Line {
    messages: Vec<Turn>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Turn {
    role: Role,
    content: String,
    train: Option<bool>,
}

impl Turn {
    /// No layout but parquet says of a call that it is only shown.
    fn must_be_trained_on(&self) -> Result<(), String> {
        if self.train == Some(false) {
            Err("a call that is not to be trained on; this layout cannot say so".to_owned())
        } else {
            Ok(())
        }
    }
}

/// What is given and the call that answers it.
type Pair<'a> = (&'a Turn, &'a Turn);

impl Line {
    fn conversation(&self) -> Vec<Message> {
        self.messages
            .iter()
            .map(|turn| Message {
                role: turn.role,
                content: turn.content.clone(),
            })
            .collect()
    }

    fn get(&self, key: &str) -> Value {
        self.rest.get(key).cloned().unwrap_or(Value::Null)
    }

    /// The system text, and the turns behind it.
    fn turns(&self) -> (&str, &[Turn]) {
        match self.messages.split_first() {
            Some((first, rest)) if first.role == Role::System => (first.content.as_str(), rest),
            _ => ("", &self.messages[..]),
        }
    }

    /// The system text and then question or tool result and call by turns, as both of LLaMA-Factory's layouts want them: what is given at odd
    /// places, what is trained on at even ones.
    fn pairs(&self) -> Result<(&str, Vec<Pair<'_>>), String> {
        let (system, turns) = self.turns();
        let mut pairs = Vec::new();
        for (i, pair) in turns.chunks(2).enumerate() {
            let [given, call] = pair else {
                return Err(
                    "the conversation does not end with a call; calls stand at even places"
                        .to_owned(),
                );
            };
            if !matches!(given.role, Role::User | Role::Tool) || call.role != Role::Assistant {
                let place = 2 * i + 1;
                let agent = self.get("agent");
                return Err(format!(
                    "turns {place} and {} of the agent `{}` are not a question or result and a call, as this layout wants them; \
                     `--format parquet` and `--format sharegpt --trainer axolotl` take turns in any order",
                    place + 1,
                    agent.as_str().unwrap_or("unknown"),
                ));
            }
            call.must_be_trained_on()?;
            pairs.push((given, call));
        }
        if pairs.is_empty() {
            Err("the conversation has no call".to_owned())
        } else {
            Ok((system, pairs))
        }
    }
}

/// The examples of a file, as often as they are asked for.
struct Lines {
    path: PathBuf,
}

impl Lines {
    /// Calls `each` with every line, in order; its error is given the line's place. The number of lines.
    fn each(&self, mut each: impl FnMut(Line) -> Result<(), String>) -> Result<usize, Error> {
        let file = File::open(&self.path).map_err(Error::io(&self.path))?;
        let mut count = 0;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(Error::io(&self.path))?;
            count += 1;
            let read = serde_json::from_str(&line).map_err(|error| error.to_string());
            read.and_then(&mut each)
                .map_err(|message| Error::line(&self.path, count, message))?;
        }
        Ok(count)
    }
}

/// Writes a file of one record a line and reads it back.
fn json_lines(
    source: &Lines,
    folder: &Folder,
    name: &str,
    encode: impl Fn(&Line) -> Result<Value, String>,
    decode: impl Fn(&Value) -> Option<Vec<Message>>,
) -> Result<usize, Error> {
    let mut file = folder.lines(name)?;
    let mut failed = None;
    source.each(|line| {
        let record = encode(&line)?;
        // An error of the disk is not one of the line.
        if let Err(error) = file.line(&record) {
            failed.get_or_insert(error);
        }
        Ok(())
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let count = file.finish()?;
    if count == 0 {
        std::fs::remove_file(folder.path(name)).map_err(Error::io(&folder.path(name)))?;
        return Ok(0);
    }
    let path = folder.path(name);
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
            Err("it does not read back as it was written".to_owned())
        }
    })?;
    Ok(count)
}
