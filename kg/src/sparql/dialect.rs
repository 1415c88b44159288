//! Reads the SPARQL of the published question sets, which is not quite SPARQL 1.1.
//!
//! The query is cut into tokens, a few rules change single tokens, and spargebra parses the result.
//! Deviations from the standard:
//!
//! | written | read as | where |
//! |---|---|---|
//! | `ns:people.person.sibling_s` | the same with `\.` (spargebra 0.4.8 reads one dot only) | Freebase |
//! | `a OR b`, `a AND b` | `a \|\| b`, `a && b` | WebQSP, CWQ |
//! | `xsd:datetime(…)` | `xsd:dateTime(…)` | CWQ |
//! | well-known prefixes without PREFIX | declared | all |
//! | `SELECT DISTINCT COUNT(?x)` | `SELECT DISTINCT (COUNT(?x) AS ?c)`: Virtuoso counts, then drops equal rows | LC-QuAD, QALD |
//! | `SELECT DISTINCT xsd:date(?d)` | `SELECT DISTINCT ?d` | LC-QuAD |
//! | `SELECT YEAR(?d)`, `SELECT (COUNT(?x)) AS ?c` | `SELECT (YEAR(?d) AS ?c)`, `SELECT (COUNT(?x) AS ?c)` | Virtuoso |
//! | `SELECT ?x … ORDER BY DESC(COUNT(?y))` | the same with `GROUP BY ?x` | QALD |
//! | `SELECT DISTINCT(?x)` | `SELECT DISTINCT ?x` | QALD |
//! | `dbr:Berlin_(band)`, `res:Rivet_&_Sons` | escaped | QALD |
//! | `DEFINE …`, a leading `SPARQL`, comments, a stray last `.` or `;` | nothing | Virtuoso |

use std::borrow::Cow;

use spargebra::{Query, SparqlParser};

use super::label_service;
use super::project::{group, project};
use super::query::QueryError;
use super::syntax::{self, NormalQuery};
use super::tokens::{QueryToken, TokenKind, tokens};
use crate::limits::{QUERY_BYTES, QUERY_DEPTH, QUERY_JOINTS};
use crate::names::expand;
use crate::term::XSD;

/// Parses a query in one of the dialects of the published sets.
///
/// # Errors
/// [`QueryError::Syntax`] with the parser's message, also for a relative IRI without a `BASE`, or if
/// the query is longer or nested more deeply than any real one.
///
/// ```
/// let query = kg::parse_query("SELECT DISTINCT COUNT(?x) WHERE { ?x ns:people.person.sibling_s ns:m.02xt6q . }")?;
/// assert!(query.to_string().contains("COUNT(?x)"));
/// # Ok::<(), kg::QueryError>(())
/// ```
pub fn parse_query(text: &str) -> Result<Query, QueryError> {
    parse(SparqlParser::new(), text, false)
}

/// [`parse_query`] for a query whose relative IRIs begin at `base`.
///
/// # Errors
/// Those of [`parse_query`], and a base that is no IRI.
pub fn parse_query_at(base: &str, text: &str) -> Result<Query, QueryError> {
    let parser = SparqlParser::new().with_base_iri(base);
    let parser = parser.map_err(|error| QueryError::Syntax(format!("{error}: {base}")))?;
    parse(parser, text, true)
}

fn parse(parser: SparqlParser, text: &str, has_base: bool) -> Result<Query, QueryError> {
    let normal = normalised(text)?;
    let parsed = parser.parse_query(&normal.text);
    let mut query = parsed.map_err(|error| {
        let error = error.to_string();
        QueryError::Syntax(syntax::message(text, &normal, &error, has_base))
    })?;
    label_service::rewrite(&mut query)?;
    Ok(query)
}

/// The local name of an IRI of XML Schema in angle brackets.
fn local_of_xsd(iri: &str) -> Option<&str> {
    iri.strip_prefix('<')?.strip_prefix(XSD)?.strip_suffix('>')
}

/// Rewrites a query of the published sets as SPARQL 1.1. Standard queries keep their meaning.
///
/// # Errors
/// [`QueryError::Syntax`] if the query is too long or nested too deeply to be parsed safely.
pub fn normalise(text: &str) -> Result<String, QueryError> {
    Ok(normalised(text)?.text)
}

fn normalised(text: &str) -> Result<NormalQuery, QueryError> {
    if text.len() > QUERY_BYTES {
        return Err(QueryError::Syntax(format!(
            "it has {} bytes; at most {QUERY_BYTES} are read",
            text.len()
        )));
    }
    let mut tokens = tokens(text);
    check_size(&tokens)?;
    drop_virtuoso(&mut tokens);
    let declared = declared_prefixes(&tokens);
    let mut missing: Vec<(String, &'static str)> = Vec::new();
    for token in &mut tokens {
        match token.kind {
            TokenKind::Word if token.text.eq_ignore_ascii_case("or") => {
                token.text = "||".into();
            }
            TokenKind::Word if token.text.eq_ignore_ascii_case("and") => {
                token.text = "&&".into();
            }
            TokenKind::Iri if local_of_xsd(&token.text) == Some("datetime") => {
                token.text = format!("<{XSD}dateTime>").into();
            }
            TokenKind::Name => {
                let (prefix, local) = token.text.split_once(':').unwrap_or(("", &token.text));
                if !declared.iter().any(|known| known == prefix)
                    && !missing.iter().any(|(known, _)| known == prefix)
                    && let Some(namespace) = expand(prefix)
                {
                    missing.push((prefix.to_owned(), namespace));
                }
                let written = if matches!(prefix, "xsd" | "xs") && local == "datetime" {
                    Cow::Borrowed("dateTime")
                } else {
                    escape(local)
                };
                if written != local {
                    token.text = format!("{prefix}:{written}").into();
                }
            }
            _ => {}
        }
    }
    project(&mut tokens);
    group(&mut tokens);
    let mut out = String::with_capacity(2 * text.len());
    for (prefix, namespace) in &missing {
        out.extend(["PREFIX ", prefix, ": <", namespace, "> "]);
    }
    let mut places = Vec::with_capacity(tokens.len());
    for token in &tokens {
        places.push((out.len(), token.at));
        out.push_str(&token.text);
    }
    Ok(NormalQuery { text: out, places })
}

/// Escapes the characters that spargebra does not accept in a local name.
fn escape(local: &str) -> Cow<'_, str> {
    if !local.contains(['\\', '%', '.', '(', ')', ',', '&', '\'', '!']) {
        return local.into();
    }
    let mut out = String::with_capacity(local.len());
    let mut chars = local.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
            }
            '%' if chars
                .as_str()
                .bytes()
                .take(2)
                .filter(u8::is_ascii_hexdigit)
                .count()
                != 2 =>
            {
                out.push_str("\\%");
            }
            '.' | '(' | ')' | ',' | '&' | '\'' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.into()
}

/// Rejects queries that would exhaust the stack or take too long: the parser is recursive and
/// backtracks, and its result is nested once per operator.
fn check_size(tokens: &[QueryToken<'_>]) -> Result<(), QueryError> {
    let (mut depth, mut run, mut joints) = (0usize, 0usize, 0usize);
    for token in tokens.iter().filter(|token| token.kind != TokenKind::Space) {
        match token.text.as_ref() {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        run = if matches!(token.text.as_ref(), "!" | "-" | "+" | "^") {
            run + 1
        } else {
            0
        };
        joints += usize::from(JOINTS.iter().any(|joint| token.is(joint)));
        if depth > QUERY_DEPTH || run > QUERY_DEPTH {
            return Err(QueryError::Syntax(format!(
                "it is nested more than {QUERY_DEPTH} deep"
            )));
        }
        if joints > QUERY_JOINTS {
            return Err(QueryError::Syntax(format!(
                "it has more than {QUERY_JOINTS} operators and groups"
            )));
        }
    }
    Ok(())
}

/// Tokens that nest the algebra once.
const JOINTS: &[&str] = &[
    "{", "|", "&", "or", "and", "+", "-", "*", "/", "^", "!", "union", "optional", "minus", "bind",
    "filter", "values", "exists",
];

/// Removes `SPARQL` and `DEFINE name value` from the start, and stray dots and semicolons from the
/// end.
fn drop_virtuoso(tokens: &mut Vec<QueryToken<'_>>) {
    loop {
        let mut solid = tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.kind != TokenKind::Space)
            .map(|(i, _)| i);
        let (first, third) = (solid.next(), solid.nth(1));
        match (first, third) {
            (Some(at), _) if tokens[at].is("sparql") => drop(tokens.drain(..=at)),
            (Some(at), Some(end)) if tokens[at].is("define") => drop(tokens.drain(..=end)),
            _ => break,
        }
    }
    while tokens
        .last()
        .is_some_and(|token| token.kind == TokenKind::Space || token.is(".") || token.is(";"))
    {
        tokens.pop();
    }
}

fn declared_prefixes(tokens: &[QueryToken<'_>]) -> Vec<String> {
    let solid: Vec<&QueryToken<'_>> = tokens
        .iter()
        .filter(|token| token.kind != TokenKind::Space)
        .collect();
    let pairs = solid
        .windows(2)
        .filter(|pair| pair[0].is("prefix") && pair[1].kind == TokenKind::Name);
    pairs
        .map(|pair| pair[1].text.trim_end_matches(':').to_owned())
        .collect()
}
