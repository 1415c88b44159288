//! The lines of a dataset as they are exported.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use common::transcript::Role;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Error;
use crate::example::ExampleMessage;

/// A line of a dataset: its conversation and all other fields.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ExportLine {
    pub(super) messages: Vec<ExportTurn>,
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// A turn, with the flag whether it is trained.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ExportTurn {
    pub(super) role: Role,
    pub(super) content: String,
    train: Option<bool>,
}

impl ExportTurn {
    /// Rejects an untrained call, which only parquet can represent.
    pub(super) fn must_be_trained_on(&self) -> Result<(), String> {
        if self.train == Some(false) {
            Err("a call is not to be trained on, which this layout cannot represent".to_owned())
        } else {
            Ok(())
        }
    }
}

/// A question or tool result, and the call that follows it.
type TurnPair<'a> = (&'a ExportTurn, &'a ExportTurn);

impl ExportLine {
    pub(super) fn conversation(&self) -> Vec<ExampleMessage> {
        self.messages
            .iter()
            .map(|turn| ExampleMessage {
                role: turn.role,
                content: turn.content.clone(),
            })
            .collect()
    }

    pub(super) fn get(&self, key: &str) -> Value {
        self.rest.get(key).cloned().unwrap_or(Value::Null)
    }

    /// The system text, and the turns after it.
    pub(super) fn turns(&self) -> (&str, &[ExportTurn]) {
        match self.messages.split_first() {
            Some((first, rest)) if first.role == Role::System => (first.content.as_str(), rest),
            _ => ("", &self.messages[..]),
        }
    }

    /// The system text, and the other turns as pairs of a question or tool result and a call, as
    /// both layouts of LLaMA-Factory require.
    pub(super) fn pairs(&self) -> Result<(&str, Vec<TurnPair<'_>>), String> {
        let (system, turns) = self.turns();
        let mut pairs = Vec::new();
        for (i, pair) in turns.chunks(2).enumerate() {
            let [given, call] = pair else {
                return Err(
                    "the conversation does not end with a call; calls must be at even positions"
                        .to_owned(),
                );
            };
            if !matches!(given.role, Role::User | Role::Tool) || call.role != Role::Assistant {
                let place = 2 * i + 1;
                let agent = self.get("agent");
                return Err(format!(
                    "turns {place} and {} of the agent `{}` are not a question or result followed by a call, as this layout requires; \
                     `--format parquet` and `--format sharegpt --trainer axolotl` accept turns in any order",
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

/// A file of examples, which can be read several times.
pub(super) struct ExampleFile {
    pub(super) path: PathBuf,
}

impl ExampleFile {
    /// Calls `each` with every line, in order, and adds the line number to its error. Returns the
    /// number of lines.
    pub(super) fn each(
        &self,
        mut each: impl FnMut(ExportLine) -> Result<(), String>,
    ) -> Result<usize, Error> {
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
