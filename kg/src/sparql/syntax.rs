//! Messages for queries that do not parse: where, what was found, and what would be right.
//!
//! The parser lists everything that it tried at the furthest place that it reached, character by
//! character.

use super::tokens::{TokenKind, tokens};

/// The parser's message for a name whose prefix is not declared.
const NO_PREFIX: &str = "Prefix not found";
/// The most expected words that a message lists.
const LISTED: usize = 6;
/// The most characters of what was found.
const FOUND: usize = 40;

/// A query as SPARQL 1.1, and where its tokens come from.
pub(super) struct NormalQuery {
    pub(super) text: String,
    /// Where tokens begin: in `text`, and in the query as it was written.
    pub(super) places: Vec<(usize, usize)>,
}

/// The message of a syntax error. `source` is the query as it was written, and `error` is what the
/// parser says about the normal one: `error at LINE:COLUMN: expected one of …`. With `has_base`,
/// relative IRIs begin at a base outside the query.
pub(super) fn message(source: &str, normal: &NormalQuery, error: &str, has_base: bool) -> String {
    let Some((line, column, expected)) = parts(error) else {
        return error.to_owned();
    };
    let expected = items(expected);
    // The parser gives the place after the keyword that it tried.
    let tried = expected.iter().all(|item| is_keyword(item));
    let longest = expected.iter().map(|item| item.chars().count()).max();
    let back = longest.filter(|_| tried).unwrap_or(0);
    let at = offset(&normal.text, line, column);
    let mut at = before(&normal.text, at, back);
    if expected.contains(&NO_PREFIX) {
        // The parser has read the name, and the space after it.
        at = last_name(&normal.text, at).unwrap_or(at);
    }
    if let Some((iri_at, iri)) = relative_without_base(&normal.text).filter(|_| !has_base)
        && iri_at <= at
    {
        let (line, column) = place(source, original(normal, iri_at));
        return format!(
            "line {line}, column {column}: `{}` is a relative IRI, but the query has no base; write \
             the whole IRI, or begin the query with `BASE <http://…/>`",
            shortened(&iri)
        );
    }
    let rest = normal.text.get(at..).unwrap_or_default();
    let (line, column) = place(source, original(normal, at));
    let solid = tokens(rest)
        .into_iter()
        .find(|token| token.kind != TokenKind::Space);
    let found = match solid {
        Some(token) => format!("`{}`", shortened(token.text.trim())),
        None => "the end of the query".to_owned(),
    };
    let sentence = expected.iter().find_map(|item| sentence(item));
    let mut words: Vec<String> = expected.iter().filter_map(|item| word(item)).collect();
    words.dedup();
    if tried {
        words.clear();
    }
    let why = match (sentence, words.as_slice()) {
        (Some(sentence), _) => format!("{found}: {sentence}"),
        (None, []) => format!("{found} cannot stand here"),
        (None, words) if words.len() > LISTED => format!("{found} cannot stand here"),
        (None, [only]) => format!("found {found}, expected {only}"),
        (None, [first @ .., last]) => {
            format!("found {found}, expected {} or {last}", first.join(", "))
        }
    };
    format!("line {line}, column {column}: {why}")
}

/// The first relative IRI that no `BASE` with a whole IRI precedes, and where it is.
fn relative_without_base(text: &str) -> Option<(usize, String)> {
    let mut after_base = false;
    for token in tokens(text) {
        match token.kind {
            TokenKind::Space => {}
            TokenKind::Iri if is_relative(&token.text) => {
                return Some((token.at, token.text.into_owned()));
            }
            TokenKind::Iri if after_base => return None,
            _ => {
                after_base =
                    token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case("base");
            }
        }
    }
    None
}

/// Whether an IRI in angle brackets has no scheme.
fn is_relative(iri: &str) -> bool {
    let iri = iri.trim_start_matches('<').trim_end_matches('>');
    let Some((scheme, _)) = iri.split_once(':') else {
        return true;
    };
    let mut chars = scheme.chars();
    let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    !begins || !chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Line, column and the list of what was expected.
fn parts(error: &str) -> Option<(usize, usize, &str)> {
    let rest = error.strip_prefix("error at ")?;
    let (place, expected) = rest.split_once(": expected ")?;
    let (line, column) = place.split_once(':')?;
    let expected = expected.strip_prefix("one of ").unwrap_or(expected);
    Some((line.parse().ok()?, column.parse().ok()?, expected))
}

/// The byte of a line and column, both from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let rest = text.get(start..).unwrap_or_default();
    let mut chars = rest.char_indices().skip(column.saturating_sub(1));
    start + chars.next().map_or(rest.len(), |(at, _)| at)
}

/// The byte this many characters before another one.
fn before(text: &str, at: usize, chars: usize) -> usize {
    let start = text.get(..at).unwrap_or_default();
    let mut back = start.char_indices().rev().take(chars);
    back.by_ref().last().map_or(at, |(first, _)| first)
}

/// Where the last name before a byte begins.
fn last_name(text: &str, at: usize) -> Option<usize> {
    let before = tokens(text.get(..at)?);
    let mut names = before.iter().rev();
    names
        .find(|token| token.kind == TokenKind::Name)
        .map(|token| token.at)
}

/// Line and column of a byte, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}

/// The place in the query as it was written of a place in the normal one. Inside a token that was
/// changed, it is the begin of the token.
fn original(normal: &NormalQuery, at: usize) -> usize {
    let after = normal.places.partition_point(|&(own, _)| own <= at);
    match after
        .checked_sub(1)
        .and_then(|before| normal.places.get(before))
    {
        Some(&(own, source)) => {
            let next = normal.places.get(after).map(|&(_, source)| source);
            let within = source + (at - own);
            next.map_or(within, |next| within.min(next.max(source)))
        }
        None => 0,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(FOUND) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The items of the parser's list. Characters and classes are written as in Rust.
fn items(list: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut quote, mut escaped, mut depth) = (0, None, false, 0usize);
    for (at, c) in list.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if depth > 0 || list[start..at].trim().is_empty() => {
                quote = Some(c);
            }
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                out.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(list[start..].trim());
    out.retain(|item| !item.is_empty());
    out
}

/// An item that says what is wrong in words.
fn sentence(item: &str) -> Option<String> {
    if item == NO_PREFIX {
        return Some("the prefix is not declared".to_owned());
    }
    let is_text = item.contains(' ') && item.starts_with(char::is_alphabetic);
    let has_words = item.chars().any(char::is_lowercase);
    (is_text && has_words).then(|| item.trim_end_matches('.').to_owned())
}

/// An item that is a keyword or a sign; `None` for classes of characters and parts of names.
fn word(item: &str) -> Option<String> {
    if let Some(sign) = item
        .strip_prefix('"')
        .and_then(|item| item.strip_suffix('"'))
    {
        let sign = sign.replace("\\\"", "\"");
        return (!sign.is_empty() && !sign.contains('\\')).then(|| format!("`{sign}`"));
    }
    is_keyword(item).then(|| item.to_owned())
}

fn is_keyword(item: &str) -> bool {
    item.len() > 1
        && item
            .chars()
            .all(|c| c.is_ascii_uppercase() || matches!(c, ' ' | '_'))
}
