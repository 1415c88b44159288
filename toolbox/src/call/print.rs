//! The call printer; its output parses back to the same call.

use std::fmt;
use std::sync::LazyLock;

use super::ast::{Arg, Call, Field, Handle, Target};
use super::words::column;
use kg::term::{Literal, XSD};
use kg::value::Extreme;

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.letter(), self.index)
    }
}

/// Characters that end a bare token.
pub(super) fn is_delimiter(c: char) -> bool {
    // All ASCII characters up to the space are white space or control characters.
    if c.is_ascii() && !matches!(c, '\0'..=' ' | '\x7f') {
        return matches!(
            c,
            ',' | '(' | ')' | '[' | ']' | '"' | '<' | '>' | '=' | '~' | ';' | '\\'
        );
    }
    c.is_whitespace() || c.is_control()
}

/// Whether the text contains a delimiter ([`is_delimiter`]).
fn holds_delimiter(text: &str) -> bool {
    static OF_ASCII: LazyLock<[bool; 128]> =
        LazyLock::new(|| std::array::from_fn(|code| is_delimiter(char::from(code as u8))));
    let of_ascii = &*OF_ASCII;
    text.bytes()
        .any(|byte| of_ascii.get(usize::from(byte)) == Some(&true))
        || !text.is_ascii() && text.chars().any(is_delimiter)
}

/// Whether bare text would be parsed as a number or a date rather than as a name.
pub(super) fn looks_literal(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    body.starts_with(|c: char| c.is_ascii_digit())
        && body.chars().all(|c| {
            c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ':' | 'T' | 'Z' | 'e' | 'E')
        })
        && !body.ends_with(['.', '-', '+', ':'])
}

/// Whether bare text would be parsed as a variable or a handle.
pub(super) fn looks_reserved(text: &str) -> bool {
    let mut chars = text.chars();
    let reserved_word = matches!(text, "argmax" | "argmin" | "ans" | "NOW" | "!" | "!=");
    let letter = chars
        .next()
        .is_some_and(|c| matches!(c, 'v' | 'e' | 'r' | 'c' | 'x' | 'm'));
    reserved_word
        || column(text).is_some()
        || text.starts_with('!')
        || (letter && !chars.as_str().is_empty() && chars.all(|c| c.is_ascii_digit()))
}

/// A name as an argument: bare if that is unambiguous, else in angle brackets with `\` before `\`,
/// `>` and line breaks.
#[must_use]
pub fn print_name(name: &str) -> String {
    let bare =
        !name.is_empty() && !holds_delimiter(name) && !looks_literal(name) && !looks_reserved(name);
    if bare {
        return name.to_owned();
    }
    let mut text = String::with_capacity(name.len() + 2);
    text.push('<');
    for c in name.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '>' => text.push_str("\\>"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
    text.push('>');
    text
}

fn print_literal(literal: &Literal) -> String {
    if literal.datatype.is_none() && literal.lang.is_none() && looks_literal(&literal.lexical) {
        return literal.lexical.clone();
    }
    match &literal.datatype {
        Some(datatype) => match datatype.strip_prefix(XSD) {
            Some(local) => format!("{}^^xsd:{local}", Literal::plain(literal.lexical.clone())),
            None => literal.to_string(),
        },
        None => literal.to_string(),
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Var(index) => write!(f, "v{index}"),
            Self::Handle(handle) => write!(f, "{handle}"),
            Self::Name(name) => f.write_str(&print_name(name)),
            Self::Inverse(inner) => write!(f, "~{inner}"),
            Self::Repeated(repeat, inner) => write!(f, "{} {inner}", repeat.mark()),
            Self::Literal(literal) => f.write_str(&print_literal(literal)),
            Self::Op(op) => write!(f, "{op}"),
            Self::Extreme(Extreme::Max) => f.write_str("argmax"),
            Self::Extreme(Extreme::Min) => f.write_str("argmin"),
            Self::List(items) => {
                f.write_str("[")?;
                write_list(f, items)?;
                f.write_str("]")
            }
            Self::Column(table, column) => write!(f, "v{table}.k{column}"),
            Self::Field(field) => write!(f, "{field}"),
            Self::Text(test) => f.write_str(test.word()),
            Self::Sign(sign) => f.write_str(sign.symbol()),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(column) => write!(f, "k{column}"),
            Self::Count => f.write_str("count"),
            Self::Of(aggregate, column) => write!(f, "{} k{column}", aggregate.word()),
            Self::Part(part, column) => write!(f, "{} k{column}", part.word()),
            Self::Ascending(column) => write!(f, "asc k{column}"),
            Self::Descending(column) => write!(f, "desc k{column}"),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, items: &[Arg]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Target::None => {}
            Target::Var(index) => write!(f, "v{index} = ")?,
            Target::Ans => f.write_str("ans = ")?,
        }
        write!(f, "{}(", self.tool.name())?;
        write_list(f, &self.args)?;
        f.write_str(")")
    }
}

/// A program as text: one call per line, separated by `;`.
#[must_use]
pub fn print_program(calls: &[Call]) -> String {
    calls
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(";\n")
}
