//! Datasets from datagen: `train.jsonl` and `valid.jsonl`, one conversation per line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use common::transcript::{Part, Role, Turn};
use common::wordings::Wordings;
use serde::Deserialize;

use crate::json::read_json;
use crate::{ModelError, files, limits};

/// One example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingConversation {
    /// Its id; empty if the line has no id.
    pub id: String,
    /// Its turns.
    pub turns: Vec<Turn>,
}

/// The training and validation parts of a dataset, and facts about its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dataset {
    /// `train.jsonl`.
    pub train: Vec<TrainingConversation>,
    /// `valid.jsonl`; empty if there is no such file.
    pub valid: Vec<TrainingConversation>,
    /// Hashes of the templates that rendered the lines, by agent; empty if the lines do not name
    /// them.
    pub templates: BTreeMap<String, String>,
    /// The layouts, sorted.
    pub layouts: Vec<String>,
    /// The agents, sorted.
    pub agents: Vec<String>,
    /// Hashes of the source graphs, sorted.
    pub kg_hashes: Vec<String>,
    /// The ranker of the relation lists, from `run.json`; empty if unknown.
    pub ranker: String,
    /// How its training questions are worded, from `wordings.txt`; `None` if there is no such file.
    pub wordings: Option<Wordings>,
    /// The translation tables of its training questions, from `words.tsv`, as text; empty if there
    /// is no such file.
    pub words: String,
}

#[derive(Deserialize)]
struct DatasetLine {
    messages: Vec<LineMessage>,
    #[serde(default)]
    id: serde_json::Value,
    layout: Option<String>,
    agent: Option<String>,
    template_hash: Option<String>,
    kg_hash: Option<String>,
}

#[derive(Deserialize)]
struct LineMessage {
    role: Role,
    content: String,
    train: Option<bool>,
}

impl Dataset {
    /// Reads the dataset in the folder `dir`: `train.jsonl` and, if present, `valid.jsonl`.
    ///
    /// # Errors
    /// Names file and line of the first invalid conversation, and of the first template that
    /// differs from an earlier line of the same agent.
    pub fn read(dir: &Path) -> Result<Self, ModelError> {
        let mut data = Self::default();
        ModelError::expect(dir, "dataset", "train.jsonl", "kgagent datagen")?;
        data.train = data.read_file(&dir.join("train.jsonl"))?;
        let valid = dir.join("valid.jsonl");
        if valid.exists() {
            data.valid = data.read_file(&valid)?;
        }
        let run = dir.join("run.json");
        if run.exists() {
            let run = read_json(&run)?;
            data.ranker = run["options"]["ranker"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
        }
        data.wordings = Wordings::of_folder(dir)?;
        let words = dir.join(files::WORDS);
        if words.exists() {
            data.words = std::fs::read_to_string(&words).map_err(ModelError::io(&words))?;
        }
        for list in [&mut data.layouts, &mut data.agents, &mut data.kg_hashes] {
            list.sort();
        }
        Ok(data)
    }

    fn read_file(&mut self, path: &Path) -> Result<Vec<TrainingConversation>, ModelError> {
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
            let most = limits::LINE_BYTES;
            if read > most {
                return Err(wrong(format!(
                    "{read} bytes in one line, the limit is {most}"
                )));
            }
            if text.trim().is_empty() {
                continue;
            }
            let parsed: DatasetLine =
                serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            if parsed.messages.is_empty() {
                return Err(wrong("`messages` is empty".to_owned()));
            }
            self.note_origin(&parsed, || format!("{}:{line}", path.display()))?;
            out.push(parsed.into());
        }
        Ok(out)
    }

    /// Adds template, layout, agent and graph of a line to those of the dataset.
    fn note_origin(
        &mut self,
        line: &DatasetLine,
        place: impl Fn() -> String,
    ) -> Result<(), ModelError> {
        if let Some(hash) = &line.template_hash {
            let agent = line.agent.clone().unwrap_or_default();
            let expected = self.templates.entry(agent).or_insert_with(|| hash.clone());
            if expected != hash {
                return Err(ModelError::Template {
                    expected: expected.clone(),
                    found: hash.clone(),
                    place: place(),
                });
            }
        }
        for (list, item) in [
            (&mut self.layouts, &line.layout),
            (&mut self.agents, &line.agent),
            (&mut self.kg_hashes, &line.kg_hash),
        ] {
            if let Some(item) = item.as_ref().filter(|item| !list.contains(item)) {
                list.push(item.clone());
            }
        }
        Ok(())
    }
}

impl From<DatasetLine> for TrainingConversation {
    fn from(line: DatasetLine) -> Self {
        let turns = line.messages.into_iter().map(|message| Turn {
            role: message.role,
            trained: message.role == Role::Assistant && message.train != Some(false),
            parts: vec![Part::kg(message.content)],
        });
        Self {
            id: line
                .id
                .as_str()
                .map_or_else(|| line.id.to_string(), str::to_owned),
            turns: turns.collect(),
        }
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
    fn assistant_turns_are_trained_by_default() {
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
