//! Answers as Markdown, for chat programs. Labels are text: whatever they contain, it makes no link,
//! no image and no markup.

use std::fmt::Write;

use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::trace::{ResultText, row_lines};

use crate::store::StoredAnswer;

/// Members of an answer and triples of its evidence that are listed.
const LISTED: usize = 25;

/// A text of one line in which no character means anything to Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        match c {
            // Neither of these does anything in the middle of a line.
            ',' | ';' | '\'' | '"' | '?' => out.push(c),
            '-' if at > 0 => out.push(c),
            c if c.is_ascii_punctuation() => {
                out.push('\\');
                out.push(c);
            }
            // Line ends and bidirectional marks become spaces.
            c if c.is_control() || is_mark(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The answer with its evidence.
pub(crate) fn answer(stored: &StoredAnswer) -> String {
    let answer = &stored.answer;
    let mut out = value(stored, answer);
    if answer.provenance == Provenance::Model {
        out.push_str("\n\nFrom the model's own knowledge; nothing in the graph proves it.");
    }
    if let Some(emptied) = answer.emptied.as_ref().filter(|_| answer.is_none()) {
        let _ = write!(
            out,
            "\n\nStep {}: {}: {}",
            emptied.step,
            escaped(&emptied.call),
            escaped(&emptied.why)
        );
    }
    if !answer.evidence.is_empty() {
        out.push_str("\n\nEvidence:\n");
        for triple in answer.evidence.iter().take(LISTED) {
            let text = triple.text.each_ref().map(|part| escaped(part));
            let _ = write!(out, "\n- {}", text.join(" · "));
        }
        if answer.evidence.len() > LISTED {
            let _ = write!(out, "\n- … {} triples in all", answer.evidence.len());
        }
    }
    out
}

fn value(stored: &StoredAnswer, answer: &Answer) -> String {
    match &answer.value {
        AnswerValue::Set(members) if !members.is_empty() => {
            let shown = members.iter().take(LISTED);
            let mut names: Vec<String> = shown
                .map(|member| format!("**{}**", escaped(member.label.trim())))
                .collect();
            if members.len() > LISTED {
                names.push(format!("… ({} in all)", members.len()));
            }
            names.join(", ")
        }
        _ => escaped(&stored.text),
    }
}

/// A step of a program in one line of Markdown.
pub(crate) fn step(call: &str, result: &ResultText) -> String {
    format!("{}\n\n", escaped(&plain_step(call, result)))
}

/// A step of a program in one line.
pub(crate) fn plain_step(call: &str, result: &ResultText) -> String {
    let found = match result {
        ResultText::Relations { out, r#in } => format!("{} relations", out.len() + r#in.len()),
        ResultText::Set { size, first } if first.len() < *size => {
            format!("{size}: {}, …", first.join(", "))
        }
        ResultText::Set { size, first } => format!("{size}: {}", first.join(", ")),
        ResultText::Number(number) => number.to_string(),
        ResultText::Truth(truth) => truth.to_string(),
        ResultText::Table { size, first, .. } => {
            format!("{size} rows: {}", row_lines(*size, first).join("; "))
        }
    };
    format!("{call} → {found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stays_text() {
        assert_eq!(escaped("Saint-Denis, 1902"), "Saint-Denis, 1902");
        for (hostile, text) in [
            ("[a](http://x)", r"\[a\]\(http\:\/\/x\)"),
            ("![i](x)", r"\!\[i\]\(x\)"),
            ("<script>", r"\<script\>"),
            ("a\n# b", r"a \# b"),
            ("- a", r"\- a"),
            ("1. a", r"1\. a"),
            ("www.x.org", r"www\.x\.org"),
            ("a\u{202e}b", "a b"),
        ] {
            assert_eq!(escaped(hostile), text);
        }
    }
}
