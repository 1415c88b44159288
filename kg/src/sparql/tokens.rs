//! Tokens of a query: white space, IRIs, strings, names, variables, words, and everything else.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// White space and comments.
    Space,
    /// `<…>`.
    Iri,
    /// A string with any of the four kinds of quotes.
    Text,
    /// `prefix:local`, except blank nodes.
    Name,
    /// `?x`, `$x`.
    Variable,
    /// A keyword or a bare word.
    Word,
    /// Anything else: `_:b` and `@en` as a whole, other characters one at a time.
    Other,
}

#[derive(Clone, Debug)]
pub(super) struct QueryToken<'q> {
    pub kind: TokenKind,
    pub text: Cow<'q, str>,
    /// Where it begins in the query as it was written, in bytes.
    pub at: usize,
}

impl QueryToken<'_> {
    /// A token whose text is already SPARQL 1.1.
    pub(super) fn other(text: String, at: usize) -> Self {
        Self {
            kind: TokenKind::Other,
            text: text.into(),
            at,
        }
    }

    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Other)
            && self.text.eq_ignore_ascii_case(text)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-' || (!c.is_ascii() && !c.is_whitespace())
}

pub(super) fn tokens(text: &str) -> Vec<QueryToken<'_>> {
    let mut out: Vec<QueryToken<'_>> = Vec::new();
    let (mut rest, whole) = (text, text.len());
    // The last token that is not white space; there may be thousands of comments after it.
    let mut in_prefix = false;
    while let Some(first) = rest.chars().next() {
        let (kind, len) = token_at(rest, first, in_prefix);
        let (token, after) = rest.split_at(len);
        // The line end after a comment is a separate token.
        let text = Cow::Borrowed(if first == '#' { "" } else { token });
        let at = whole - rest.len();
        let token = QueryToken { kind, text, at };
        if kind != TokenKind::Space {
            in_prefix = token.is("prefix");
        }
        out.push(token);
        rest = after;
    }
    out
}

/// Kind and length in bytes of the first token of `rest`.
fn token_at(rest: &str, first: char, in_prefix: bool) -> (TokenKind, usize) {
    let while_chars = |from: usize, keep: &dyn Fn(char) -> bool| {
        from + rest[from..]
            .char_indices()
            .find(|&(_, c)| !keep(c))
            .map_or(rest.len() - from, |(at, _)| at)
    };
    let local = |from: usize| {
        if in_prefix {
            0
        } else {
            local_len(&rest[from..])
        }
    };
    match first {
        c if c.is_whitespace() => (TokenKind::Space, while_chars(0, &char::is_whitespace)),
        '#' => (TokenKind::Space, while_chars(0, &|c| c != '\n')),
        '<' => {
            let end = while_chars(1, &|c| {
                !matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\') && c > ' '
            });
            if rest[end..].starts_with('>') {
                (TokenKind::Iri, end + 1)
            } else {
                (TokenKind::Other, 1)
            }
        }
        '"' | '\'' => (TokenKind::Text, string_len(rest, first)),
        '?' | '$' => {
            let end = while_chars(1, &|c| c.is_alphanumeric() || c == '_');
            if end > 1 {
                (TokenKind::Variable, end)
            } else {
                (TokenKind::Other, 1)
            }
        }
        '@' => (
            TokenKind::Other,
            while_chars(1, &|c| c.is_ascii_alphanumeric() || c == '-'),
        ),
        '_' if rest.starts_with("_:") => (TokenKind::Other, while_chars(2, &is_name_char)),
        ':' => (TokenKind::Name, 1 + local(1)),
        c if c.is_alphabetic() || c == '_' => {
            let end = while_chars(0, &|c| is_name_char(c) || c == '.');
            if rest[end..].starts_with(':') {
                (TokenKind::Name, end + 1 + local(end + 1))
            } else {
                (TokenKind::Word, rest[..end].trim_end_matches('.').len())
            }
        }
        c if c.is_ascii_digit() => (
            TokenKind::Other,
            while_chars(0, &|c| c.is_ascii_alphanumeric()),
        ),
        c => (TokenKind::Other, c.len_utf8()),
    }
}

/// Length of a string with its quotes. An unterminated string extends to the end of the query.
fn string_len(rest: &str, quote: char) -> usize {
    let triple = [quote; 3].iter().collect::<String>();
    let close = if rest.starts_with(&triple) {
        triple.as_str()
    } else {
        &triple[..1]
    };
    let mut at = close.len();
    while at < rest.len() {
        if rest[at..].starts_with('\\') {
            at += 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8);
        } else if rest[at..].starts_with(close) {
            return at + close.len();
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of a local name, including characters of DBpedia titles that the grammar requires to be
/// escaped: `_(…)`, `,_`, `&`, `'` and `!` between letters.
fn local_len(rest: &str) -> usize {
    let mut at = 0;
    let mut open = 0usize;
    let mut previous = ' ';
    let mut chars = rest.char_indices().peekable();
    while let Some((index, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |&(_, c)| c);
        let inside = match c {
            '\\' => {
                // The backslash may be the last character.
                at = index + 1 + chars.next().map_or(0, |(_, escaped)| escaped.len_utf8());
                previous = next;
                continue;
            }
            '.' | ':' | '%' => true,
            '(' if previous == '_' && is_name_char(next) => {
                open += 1;
                true
            }
            ')' if open > 0 => {
                open -= 1;
                true
            }
            ',' | '&' => next == '_' && previous != ' ',
            '\'' | '!' => {
                is_name_char(previous) && next == '_'
                    || (is_name_char(next) && is_name_char(previous) && c == '\'')
            }
            c => is_name_char(c),
        };
        if !inside {
            break;
        }
        // A dot belongs to the name only if another character follows.
        if c != '.' {
            at = index + c.len_utf8();
        }
        previous = c;
    }
    at
}

/// The index of the first token at or after `at` that is not white space.
pub(super) fn next_solid(tokens: &[QueryToken<'_>], at: usize) -> usize {
    tokens
        .iter()
        .enumerate()
        .skip(at)
        .find(|(_, t)| t.kind != TokenKind::Space)
        .map_or(tokens.len(), |(i, _)| i)
}

/// The index of the bracket that closes the one at `open`.
pub(super) fn group_end(tokens: &[QueryToken<'_>], open: usize, end: usize) -> Option<usize> {
    tokens.get(open).filter(|t| t.is("("))?;
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().take(end).skip(open) {
        match token.text.as_ref() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}
