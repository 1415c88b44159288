//! What the turns of a chat ask. The question is the last turn of the user. If it names no entity
//! and has a word such as `it`, it is about the answer before it; nothing else of earlier turns is
//! read.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::fault::Fault;

/// Words that stand for what the last answer named.
const PRONOUNS: [&str; 12] = [
    "it", "its", "they", "them", "their", "theirs", "he", "him", "his", "she", "her", "hers",
];
/// Verbs after which, or before which, `there` stands for nothing.
const EXISTING: [&str; 6] = ["is", "are", "was", "were", "has", "have"];
/// Who says a turn. Only the user and the answers before are read.
const ROLES: [&str; 6] = [
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
];
/// Longest title of a chat, in characters.
const TITLE: usize = 60;

/// A turn.
#[derive(Deserialize)]
pub(super) struct ChatTurn {
    role: String,
    #[serde(default)]
    content: Value,
}

/// What a chat asks.
#[derive(Debug, PartialEq)]
pub(super) enum ChatAsk {
    /// A question, and the labels of what `it` means in it.
    Question(String, Vec<String>),
    /// Work for the chat program itself, with its result.
    Task(String),
}

/// What the turns ask.
///
/// # Errors
/// [`Fault`] if no user asks, or something else than text.
pub(super) fn asked(turns: &[ChatTurn]) -> Result<ChatAsk, Fault> {
    if let Some(other) = turns
        .iter()
        .find(|turn| !ROLES.contains(&turn.role.as_str()))
    {
        let message = format!(
            "there is no role `{}`; there are {}",
            other.role,
            ROLES.join(", ")
        );
        return Err(Fault::bad("messages", message));
    }
    let at = turns.iter().rposition(|turn| turn.role == "user");
    let at = at.ok_or_else(|| Fault::bad("messages", "`messages` has no turn of a user"))?;
    let question = text(&turns[at].content)?;
    if let Some(result) = task(&question) {
        return Ok(ChatAsk::Task(result));
    }
    let mut about = Vec::new();
    if stands_for_another(&question) {
        let answer = turns[..at].iter().rfind(|turn| turn.role == "assistant");
        let answer = answer.and_then(|turn| text(&turn.content).ok());
        about = named(answer.as_deref().unwrap_or_default());
    }
    Ok(ChatAsk::Question(question, about))
}

/// The text of a turn: a string, or parts of type `text`.
fn text(content: &Value) -> Result<String, Fault> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            texts
                .map(|texts| texts.join(" "))
                .ok_or_else(|| Fault::bad("messages", "only text can be asked, no images or files"))
        }
        _ => Err(Fault::bad("messages", "`content` is a text")),
    }
}

/// The result of work that Open WebUI gives the model of a chat: a title, tags, follow-up
/// questions. `None` for a question.
fn task(text: &str) -> Option<String> {
    let task = text.trim_start().strip_prefix("### Task:")?;
    let result = if task.contains("\"title\"") {
        let first = task
            .lines()
            .find_map(|line| line.trim().strip_prefix("USER:"));
        let title: String = first.unwrap_or("Questions").trim().chars().collect();
        json!({ "title": title.chars().take(TITLE).collect::<String>() })
    } else if task.contains("\"follow_ups\"") {
        json!({ "follow_ups": [] })
    } else if task.contains("\"tags\"") {
        json!({ "tags": [] })
    } else {
        json!({ "queries": [] })
    };
    Some(result.to_string())
}

/// Whether a question has a word that stands for something that was said before.
fn stands_for_another(question: &str) -> bool {
    let lower = question.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().enumerate().any(|(at, word)| {
        let near = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let mut near = near.filter_map(|at| words.get(at));
        let exists = near.any(|word| EXISTING.contains(word));
        PRONOUNS.contains(word) || (*word == "there" && !exists)
    })
}

/// What an answer in Markdown names: the bold texts of its first paragraph.
fn named(answer: &str) -> Vec<String> {
    let first = answer.split("\n\n").next().unwrap_or_default();
    let mut names = Vec::new();
    let mut name: Option<String> = None;
    let mut chars = first.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                if let (Some(name), Some(next)) = (&mut name, chars.next()) {
                    name.push(next);
                }
            }
            '*' if chars.next_if_eq(&'*').is_some() => match name.take() {
                Some(done) => names.push(done),
                None => name = Some(String::new()),
            },
            c => {
                if let Some(name) = &mut name {
                    name.push(c);
                }
            }
        }
    }
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_stands_for_the_last_answer_is_recognised() {
        for question in [
            "What is its capital?",
            "Who was born there?",
            "Did she win?",
            "When did it end",
        ] {
            assert!(stands_for_another(question), "{question}");
        }
        for question in [
            "How many cities are there in Peru?",
            "Is there a river?",
            "The capital of Italy?",
            "Who is Sheila?",
        ] {
            assert!(!stands_for_another(question), "{question}");
        }
    }

    #[test]
    fn the_names_of_an_answer_are_read_back() {
        let answer = r"**Lima**, **St\. \*John\***, … (30 in all)";
        assert_eq!(
            named(&format!("{answer}\n\nEvidence: **no**")),
            ["Lima", "St. *John*"]
        );
        assert!(named("none\\: the graph has no answer").is_empty());
        assert!(named("**open").is_empty());
    }

    #[test]
    fn work_of_a_chat_program_is_done_without_the_agent() {
        let title = "### Task:\nGenerate a title.\n### Output:\nJSON format: { \"title\": \"your title\" }\n### Chat History:\n<chat_history>\nUSER: capital of peru?\nASSISTANT: Lima\n</chat_history>";
        assert_eq!(task(title).unwrap(), r#"{"title":"capital of peru?"}"#);
        let tags = "### Task:\nGenerate 1-3 tags. { \"tags\": [\"tag1\"] }";
        assert_eq!(task(tags).unwrap(), r#"{"tags":[]}"#);
        assert_eq!(task("Which task has the title King?"), None);
    }
}
