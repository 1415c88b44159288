//! The part of RDF/XML before its first element: the encoding and the entities.
//!
//! The parser reads UTF-8, and entities that name only earlier ones. So the text is decoded here, entities are expanded
//! within a limit, and the parser gets declarations without references. Lines keep their numbers.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use common::input::{Encoding, Input, decoded};

use crate::limits::{ENTITY_BYTES, ENTITY_DEPTH, XML_PROLOGUE};

/// What the parser is given before the first element.
pub(super) struct Prologue {
    pub text: Vec<u8>,
    /// The line of the first element.
    pub line: u64,
    pub has_entities: bool,
}

/// A line, and why the file is refused there.
type Refusal = (u64, String);

/// A declared entity: its line, and its text as written.
struct Entity<'a> {
    line: u64,
    value: &'a str,
}

/// Reads up to the first element. Returns the prologue for the parser, and a reader of the rest in UTF-8.
///
/// # Errors
/// I/O errors; inside, why the file is refused.
pub(super) fn read<'a>(
    mut reader: &'a mut dyn BufRead,
) -> io::Result<Result<(Prologue, Input<'a>), Refusal>> {
    let mut head = Vec::new();
    let end = loop {
        let before = head.len();
        let more = (before as u64).max(4_096);
        (&mut reader).take(more).read_to_end(&mut head)?;
        match end(&head) {
            Some(end) => break end,
            None if head.len() == before => break before,
            None if before > XML_PROLOGUE => {
                let why = format!("no element in the first {XML_PROLOGUE} bytes; is this RDF/XML?");
                return Ok(Err((1, why)));
            }
            None => {}
        }
    };
    let rest = head.split_off(end);
    let body: Input<'a> = Box::new(io::Cursor::new(rest).chain(reader));
    let (text, body) = match encoding(&head) {
        Ok(None) => (String::from_utf8_lossy(&head).into_owned(), body),
        Ok(Some(encoding)) => {
            let mut text = String::new();
            decoded(Box::new(&head[..]), encoding).read_to_string(&mut text)?;
            (text, decoded(body, encoding))
        }
        Err(why) => return Ok(Err((1, why))),
    };
    Ok(rewritten(&text).map(|prologue| (prologue, body)))
}

/// The place of the first element, or `None` if it is not in `text`.
fn end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'<', &text[at..])?;
        let rest = &text[at..];
        at += match rest.get(1)? {
            b'?' => behind(rest, b"?>")?,
            b'!' if rest.len() < 4 => return None,
            b'!' if rest.starts_with(b"<!--") => behind(rest, b"-->")?,
            b'!' => declaration(rest)?,
            _ => return Some(at),
        };
    }
}

fn behind(text: &[u8], mark: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, mark).map(|at| at + mark.len())
}

/// The length of a declaration with its subset in brackets.
fn declaration(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (2, 0_usize);
    loop {
        let rest = text.get(at..)?;
        at += match rest.first()? {
            quote @ (b'"' | b'\'') => memchr::memchr(*quote, &rest[1..])? + 2,
            b'<' if rest.starts_with(b"<!--") => behind(rest, b"-->")?,
            b'<' if rest.starts_with(b"<?") => behind(rest, b"?>")?,
            b'[' => {
                depth += 1;
                1
            }
            b']' => {
                depth = depth.saturating_sub(1);
                1
            }
            b'>' if depth == 0 => return Some(at + 1),
            _ => 1,
        };
    }
}

/// The encoding that the first line names, if it is not UTF-8. Text in UTF-16 has been decoded before.
fn encoding(head: &[u8]) -> Result<Option<Encoding>, String> {
    if !head.starts_with(b"<?xml") {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&head[..behind(head, b"?>").unwrap_or(head.len())]);
    let named = text.split_once("encoding").and_then(|(_, rest)| {
        let rest = rest.trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|quote| "\"'".contains(*quote))?;
        rest[1..].split(quote).next()
    });
    match named.unwrap_or("utf-8").to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => Ok(None),
        "utf-16" | "utf-16le" | "utf-16be" | "ucs-2" => Ok(None),
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" | "windows-1252"
        | "cp1252" => Ok(Some(Encoding::Windows1252)),
        other => Err(format!(
            "its encoding is `{other}`; kgagent reads UTF-8, UTF-16, ISO-8859-1 and windows-1252. Convert it with \
             `iconv -f {other} -t UTF-8`, and name `UTF-8` in its first line"
        )),
    }
}

/// The prologue without its first line, whose encoding is no longer true, and with expanded entities.
fn rewritten(text: &str) -> Result<Prologue, Refusal> {
    let lines = |text: &str| text.bytes().filter(|&byte| byte == b'\n').count();
    let line = lines(text) as u64 + 1;
    let first = if text.starts_with("<?xml") {
        behind(text.as_bytes(), b"?>").unwrap_or(0)
    } else {
        0
    };
    let mut out = "\n".repeat(lines(&text[..first]));
    let rest = &text[first..];
    let Some((start, end)) =
        doctype(rest).filter(|&(start, end)| rest[start..end].contains("<!ENTITY"))
    else {
        out.push_str(rest);
        return Ok(Prologue {
            text: out.into_bytes(),
            line,
            has_entities: false,
        });
    };
    out.push_str(&rest[..start]);
    let declared = entities(
        &rest[start..end],
        (lines(&text[..first + start]) + 1) as u64,
    )?;
    out.push_str("<!DOCTYPE r [");
    let mut known = BTreeMap::new();
    let mut bytes = 0;
    for name in declared.keys() {
        bytes += expand(name, &declared, &mut known, 0)?;
        if bytes > XML_PROLOGUE {
            let why = format!("its entities stand for more than {XML_PROLOGUE} bytes");
            return Err((declared[name].line, why));
        }
    }
    for (name, value) in &known {
        let value = value
            .replace('"', "&#34;")
            .replace('>', "&#62;")
            .replace('\n', "&#10;");
        out.push_str(&format!("<!ENTITY {name} \"{value}\">"));
    }
    out.push_str("]>");
    out.push_str(&"\n".repeat(lines(&rest[start..end])));
    out.push_str(&rest[end..]);
    Ok(Prologue {
        text: out.into_bytes(),
        line,
        has_entities: true,
    })
}

/// The start and the end of the document type declaration.
fn doctype(text: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    loop {
        at += text[at..].find('<')?;
        let rest = &text.as_bytes()[at..];
        at += if rest.starts_with(b"<!DOCTYPE") {
            return Some((at, at + declaration(rest)?));
        } else if rest.starts_with(b"<!--") {
            behind(rest, b"-->")?
        } else {
            behind(rest, b">")?
        };
    }
}

/// The entities of a document type declaration that begins at `line`. Parameter entities and entities in other files are
/// left out; the parser refuses what refers to them.
fn entities(text: &str, line: u64) -> Result<BTreeMap<&str, Entity<'_>>, Refusal> {
    let mut found = BTreeMap::new();
    let (mut at, mut line, mut counted) = (2, line, 0);
    while let Some(next) = text[at..].find('<') {
        at += next;
        let rest = &text[at..];
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count() as u64;
        counted = at;
        let whole = if rest.starts_with("<!--") {
            behind(rest.as_bytes(), b"-->")
        } else {
            declaration(rest.as_bytes())
        };
        let Some(length) = whole else {
            return Err((line, "a declaration that does not end".to_owned()));
        };
        at += length;
        let Some(body) = rest[..length].strip_prefix("<!ENTITY") else {
            continue;
        };
        let body = body.trim_start();
        let (name, value) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|quote| "\"'".contains(*quote)) else {
            continue;
        };
        if let Some(value) = value[1..].split(quote).next() {
            // The first declaration counts.
            found.entry(name).or_insert(Entity { line, value });
        }
    }
    Ok(found)
}

/// Puts an entity, and those in it, into `known` with all references to entities expanded. Returns the number of bytes
/// that this adds.
fn expand<'a>(
    name: &'a str,
    declared: &BTreeMap<&'a str, Entity<'a>>,
    known: &mut BTreeMap<&'a str, String>,
    depth: usize,
) -> Result<usize, Refusal> {
    if known.contains_key(name) {
        return Ok(0);
    }
    let Entity { line, value } = declared[name];
    let refused = |why: &str| Err((line, format!("the entity `{name}` {why}")));
    if depth == ENTITY_DEPTH {
        return refused(&format!(
            "contains itself, or entities nested deeper than {ENTITY_DEPTH}"
        ));
    }
    if value.contains('<') {
        return refused("has elements in it; write its text out");
    }
    let (mut text, mut added) = (String::new(), 0);
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let Some((inner, after)) = after.split_once(';') else {
            return refused("has `&` without a name and `;`");
        };
        rest = after;
        if inner.starts_with('#') || ["lt", "gt", "amp", "quot", "apos"].contains(&inner) {
            text.push_str(&format!("&{inner};"));
        } else if let Some((&inner, _)) = declared.get_key_value(inner) {
            added += expand(inner, declared, known, depth + 1)?;
            text.push_str(&known[inner]);
        } else {
            return refused(&format!(
                "contains the entity `{inner}`, which is not declared"
            ));
        }
        if text.len() > ENTITY_BYTES {
            break;
        }
    }
    text.push_str(rest);
    if text.len() > ENTITY_BYTES {
        return refused(&format!(
            "stands for more than {ENTITY_BYTES} bytes; write its text out"
        ));
    }
    added += text.len();
    known.insert(name, text);
    Ok(added)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn prologue(text: &str) -> Result<String, Refusal> {
        let mut bytes = text.as_bytes();
        let (prologue, mut body) = read(&mut bytes).unwrap()?;
        let mut rest = String::new();
        body.read_to_string(&mut rest).unwrap();
        Ok(String::from_utf8(prologue.text).unwrap() + &rest)
    }

    #[test]
    fn entities_are_expanded_in_any_order() {
        let text = "<?xml version='1.0'?>\n<!DOCTYPE r [\n<!ENTITY b \"&a;/b#\"> <!-- <!ENTITY c \"'no\"> -->\n<!ENTITY a 'http://a'>\n<!ENTITY b 'twice'>]>\n<r x='&b;'/>";
        assert_eq!(
            prologue(text).unwrap(),
            "\n<!DOCTYPE r [<!ENTITY a \"http://a\"><!ENTITY b \"http://a/b#\">]>\n\n\n\n<r x='&b;'/>"
        );
        for plain in [
            "<r/>",
            "",
            "no element",
            "<!-- <r> -->\n<r>&amp;</r>",
            "<!DOCTYPE r SYSTEM 'a>b'>\n<r/>",
        ] {
            assert_eq!(prologue(plain).unwrap(), plain);
        }
    }

    #[test]
    fn the_time_for_a_prologue_is_proportional_to_its_length() {
        let start = std::time::Instant::now();
        let lines: String = (0..40_000)
            .map(|i| format!("<!ENTITY e{i} \"\">\n"))
            .collect();
        let text = format!("<!DOCTYPE r [\n{lines}<!ENTITY bad \"<\">]>\n<r/>");
        let (line, why) = prologue(&text).unwrap_err();
        assert!(line == 40_002 && why.contains("`bad`"), "{line}: {why}");
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn long_and_endless_entities_are_refused_at_their_line() {
        let lines: String = (1..20)
            .map(|i| {
                format!(
                    "<!ENTITY e{i} \"{}\">\n",
                    format!("&e{};", i - 1).repeat(10)
                )
            })
            .collect();
        let laughs = format!("<!DOCTYPE r [\n<!ENTITY e0 \"ha\">\n{lines}]>\n<r/>");
        let (line, why) = prologue(&laughs).unwrap_err();
        assert!(
            line > 2 && why.contains("more than 1024 bytes"),
            "{line}: {why}"
        );
        for (text, line, why) in [
            (
                "<!DOCTYPE r [\n<!ENTITY a \"&b;\">\n<!ENTITY b \"&a;\">]><r/>",
                3,
                "contains itself",
            ),
            (
                "<!DOCTYPE r [\n\n<!ENTITY a \"&w;\">]><r/>",
                3,
                "`w`, which is not declared",
            ),
            ("<!DOCTYPE r [<!ENTITY a \"<b/>\">]><r/>", 1, "has elements"),
            (
                "<!DOCTYPE r [<!ENTITY a \"x & y\">]><r/>",
                1,
                "`&` without a name",
            ),
            (
                "<?xml version=\"1.0\" encoding='EBCDIC'?><r/>",
                1,
                "iconv -f ebcdic",
            ),
        ] {
            let (at, said) = prologue(text).unwrap_err();
            assert!(said.contains(why), "{said}");
            assert!(at == line || why == "contains itself", "{text}: {at}");
        }
    }
}
