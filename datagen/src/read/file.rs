//! Reading question files whole, gzipped or not, and saying what a file of the wrong kind looks like.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::{Error, limits};

/// The text of a file, decompressed if its first bytes say gzip, without a byte order mark.
pub(super) fn text(path: &Path) -> Result<String, Error> {
    let io = Error::io(path);
    if path.is_dir() {
        return Err(Error::file(path, "this is a folder; this format is read from a file"));
    }
    let mut reader = BufReader::new(File::open(path).map_err(&io)?);
    let gzip = reader.fill_buf().map_err(&io)?.starts_with(&[0x1f, 0x8b]);
    let mut bytes = Vec::new();
    let most = limits::FILE_BYTES + 1;
    if gzip {
        MultiGzDecoder::new(reader).take(most).read_to_end(&mut bytes).map_err(&io)?;
    } else {
        reader.take(most).read_to_end(&mut bytes).map_err(&io)?;
    }
    if bytes.len() as u64 > limits::FILE_BYTES {
        return Err(Error::file(path, format!("more than {} bytes; split the file", limits::FILE_BYTES)));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::line(path, line, "not UTF-8 text")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The lines that are not blank, with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line)).filter(|(_, line)| !line.trim().is_empty())
}

/// The file of this name, or with `.gz`.
pub(super) fn plain_or_gz(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// The name of a file without folders and extensions.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// What a text looks like, in words: the end of a message about a file of the wrong kind.
pub(super) fn looks_like(text: &str) -> String {
    let Some((_, first)) = lines(text).next() else { return "the file is empty".to_owned() };
    let first = first.trim();
    if first.starts_with(['{', '[']) && !first.starts_with("[]") {
        return looks_like_json(text, first);
    }
    let bars = first.matches('|').count();
    let tabs = first.matches('\t').count();
    if first.starts_with("@prefix") || first.starts_with("PREFIX") && first.ends_with('.') {
        "it looks like a Turtle graph; load it with `kg load`".to_owned()
    } else if first.starts_with('<') && first.ends_with('.') {
        "it looks like an N-Triples graph; load it with `kg load`".to_owned()
    } else if tabs >= 1 && first.contains('[') && first.contains(']') {
        "it looks like MetaQA questions (`metaqa=`)".to_owned()
    } else if tabs >= 2 && first.split('\t').nth(2).is_some_and(|path| path.contains('#')) {
        "it looks like PathQuestion (`pathquestion=`)".to_owned()
    } else if bars == 2 && tabs == 0 {
        "it looks like a MetaQA graph (`s|r|o`); load it with `kg load`".to_owned()
    } else if tabs == 2 {
        "it looks like a graph of tab-separated triples; load it with `kg load`".to_owned()
    } else {
        format!("it begins with `{}`", first.chars().take(60).collect::<String>())
    }
}

/// Keys that only one published format has.
const MARKS: [(&str, &str); 8] = [
    ("compositionality_type", "ComplexWebQuestions (`cwq=`)"),
    ("graph_query", "GrailQA (`grailqa=`)"),
    ("sparql_template_id", "LC-QuAD 1 (`lcquad1=`)"),
    ("corrected_question", "LC-QuAD 1 (`lcquad1=`)"),
    ("questions", "QALD-JSON (`qald=`)"),
    ("wordings", "templates (`templates=`)"),
    ("topic_entity", "QALD-10 as ToG and ODA use it (`qald10=`)"),
    ("sparql", "questions with SPARQL (`jsonl=` a line each, `cwq=` as an array)"),
];

fn looks_like_json(text: &str, first: &str) -> String {
    let whole: Option<Value> = serde_json::from_str(text).ok();
    let line: Option<Value> = serde_json::from_str(first).ok();
    let (record, form) = match (&whole, &line) {
        (Some(Value::Array(records)), _) => (records.first(), "a JSON array"),
        (Some(value), _) => (Some(value), "a JSON object"),
        (None, Some(value)) => (Some(value), "JSON Lines"),
        (None, None) => return "it begins like JSON but does not parse".to_owned(),
    };
    let Some(Value::Object(object)) = record else { return format!("it looks like {form} without objects") };
    let keys: Vec<&str> = object.keys().map(String::as_str).take(8).collect();
    match MARKS.iter().find(|(mark, _)| object.contains_key(*mark)) {
        Some((_, name)) => format!("it looks like {form} of {name}"),
        None => format!("it looks like {form} with the keys {}", keys.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_recognised() {
        for (text, word) in [
            ("a|b|c\n", "MetaQA graph"),
            ("who made [X]\tY\n", "metaqa="),
            ("q\ta(a/)\th#r#t\n", "pathquestion="),
            ("[{\"ID\":1,\"compositionality_type\":\"x\"}]", "cwq="),
            ("{\"wordings\":[]}\n{\"wordings\":[]}\n", "JSON Lines of templates"),
            ("<a> <b> <c> .\n", "N-Triples"),
            ("", "empty"),
        ] {
            assert!(looks_like(text).contains(word), "{text}: {}", looks_like(text));
        }
    }
}
