//! Answers as Markdown, for chat programs. Labels are text: whatever they contain, it makes no link,
//! no image and no markup.

use std::fmt::Write;

use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::trace::{ResultText, row_lines};

use crate::store::StoredAnswer;

/// Members of an answer and triples of its evidence that are listed.
const LISTED: usize = 25;
/// Most characters of a value or a step: a label has at most 80, a value of a graph may have megabytes.
const LINE: usize = 1_000;
/// Most characters of an answer in one line, which may be a table.
const WHOLE: usize = 20_000;

/// A text as one line of visible characters, none of which means anything to Markdown.
pub(crate) fn escaped(text: &str) -> String {
    escaped_up_to(text, LINE)
}

fn escaped_up_to(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (at, c) in kg::one_line(text, most).chars().enumerate() {
        match c {
            // Neither of these does anything in the middle of a line.
            ',' | ';' | '\'' | '"' | '?' => out.push(c),
            '-' if at > 0 => out.push(c),
            c if c.is_ascii_punctuation() => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
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
        _ => escaped_up_to(&stored.text, WHOLE),
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
            ("a\u{202e}\u{200b}\u{e0041}b", "ab"),
            ("a\u{2028}b\u{85}c", "a b c"),
        ] {
            assert_eq!(escaped(hostile), text);
        }
        assert_eq!(escaped(&"x".repeat(1 << 20)).chars().count(), LINE);
    }
}
