//! Datasets as datagen writes them: `train.jsonl` and `valid.jsonl`, one conversation a line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use common::transcript::{Part, Role, Turn};
use serde::Deserialize;

use crate::{ModelError, limits};

/// One example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Where it came from; empty where the line has none.
    pub id: String,
    /// Its turns.
    pub turns: Vec<Turn>,
}

/// The training and validation parts of a dataset, and what its lines agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dataset {
    /// `train.jsonl`.
    pub train: Vec<Conversation>,
    /// `valid.jsonl`; empty where there is none.
    pub valid: Vec<Conversation>,
    /// Hashes of the templates that rendered the lines, by agent; empty where lines carry none.
    pub templates: BTreeMap<String, String>,
    /// Layouts that occur, sorted.
    pub layouts: Vec<String>,
    /// Agents that occur, sorted.
    pub agents: Vec<String>,
    /// Hashes of the graphs the lines were made from, sorted.
    pub kg_hashes: Vec<String>,
    /// What ranked the relation lists, as `run.json` says; empty where there is none.
    pub ranker: String,
}

#[derive(Deserialize)]
struct Line {
    messages: Vec<Message>,
    #[serde(default)]
    id: serde_json::Value,
    layout: Option<String>,
    agent: Option<String>,
    template_hash: Option<String>,
    kg_hash: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    role: Role,
    content: String,
    train: Option<bool>,
}

impl Dataset {
    /// Read the dataset in folder `dir`: `train.jsonl` and, where present, `valid.jsonl`.
    ///
    /// # Errors
    /// Names file and line of the first line that is no conversation, or whose template differs from that of an earlier line of the same agent.
    pub fn read(dir: &Path) -> Result<Self, ModelError> {
        let mut data = Self::default();
        data.train = data.read_file(&dir.join("train.jsonl"))?;
        let valid = dir.join("valid.jsonl");
        if valid.exists() {
            data.valid = data.read_file(&valid)?;
        }
        let run = dir.join("run.json");
        if run.exists() {
            let run = crate::folder::read_json(&run)?;
            data.ranker = run
                .pointer("/options/ranker")
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default()
                .to_owned();
        }
        for list in [&mut data.layouts, &mut data.agents, &mut data.kg_hashes] {
            list.sort();
        }
        Ok(data)
    }

    fn read_file(&mut self, path: &Path) -> Result<Vec<Conversation>, ModelError> {
        let mut reader = BufReader::new(File::open(path).map_err(ModelError::io(path))?);
        let mut out = Vec::new();
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            let wrong = |message: String| ModelError::Line {
                path: path.to_path_buf(),
                line,
                message,
            };
            let read = reader
                .read_line(&mut text)
                .map_err(|error| wrong(error.to_string()))?;
            if read == 0 {
                break;
            }
            if read > limits::LINE_BYTES {
                return Err(wrong(format!(
                    "{read} bytes in one line, the most is {}",
                    limits::LINE_BYTES
                )));
            }
            if text.trim().is_empty() {
                continue;
            }
            let parsed: Line =
                serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            if parsed.messages.is_empty() {
                return Err(wrong("`messages` is empty".to_owned()));
            }
            if let Some(hash) = parsed.template_hash {
                let expected = self
                    .templates
                    .entry(parsed.agent.clone().unwrap_or_default())
                    .or_insert_with(|| hash.clone());
                if *expected != hash {
                    let place = format!("{}:{line}", path.display());
                    return Err(ModelError::Template {
                        expected: expected.clone(),
                        found: hash,
                        place,
                    });
                }
            }
            for (list, item) in [
                (&mut self.layouts, parsed.layout),
                (&mut self.agents, parsed.agent),
                (&mut self.kg_hashes, parsed.kg_hash),
            ] {
                if let Some(item) = item.filter(|item| !list.contains(item)) {
                    list.push(item);
                }
            }
            let turns = parsed.messages.into_iter().map(|message| {
                let trained = message.role == Role::Assistant && message.train != Some(false);
                Turn {
                    role: message.role,
                    parts: vec![Part::kg(message.content)],
                    trained,
                }
            });
            let id = parsed
                .id
                .as_str()
                .map_or_else(|| parsed.id.to_string(), str::to_owned);
            out.push(Conversation {
                id,
                turns: turns.collect(),
            });
        }
        Ok(out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Result<Dataset, ModelError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("train.jsonl"), lines).unwrap();
        Dataset::read(dir.path())
    }

    const GOOD: &str = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"no","train":false},{"role":"assistant","content":"end(e0)"}],"id":"x","layout":"dialogue","agent":"kg-agent","template_hash":"aa"}"#;

    #[test]
    fn assistant_turns_are_trained_unless_they_say_otherwise() {
        let data = read(&format!("{GOOD}\n\n{GOOD}\n")).unwrap();
        assert_eq!(data.train.len(), 2);
        assert_eq!(
            data.train[0]
                .turns
                .iter()
                .map(|turn| turn.trained)
                .collect::<Vec<_>>(),
            [false, false, true]
        );
        assert_eq!(
            (data.templates["kg-agent"].as_str(), data.agents.as_slice()),
            ("aa", ["kg-agent".to_owned()].as_slice())
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error = read(&format!(
            "{GOOD}\n{{\"messages\":[{{\"role\":\"robot\",\"content\":\"\"}}]}}"
        ))
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("train.jsonl:2") && error.contains("robot"),
            "{error}"
        );
        let error = read(&format!("{GOOD}\n{}", GOOD.replace("\"aa\"", "\"bb\"")))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("aa") && error.contains("bb") && error.contains(":2"),
            "{error}"
        );
        assert!(read("{}").unwrap_err().to_string().contains("messages"));
    }
}
