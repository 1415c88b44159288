//! Nonstandard projections: aggregates without an alias or without GROUP BY.

use std::borrow::Cow;

use super::tokens::{QueryToken, TokenKind, group_end, next_solid};
use crate::term::XSD;

const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "sample",
    "group_concat",
];

/// Corrects legacy projections: aggregates without parentheses or alias, and variables in
/// parentheses.
pub(super) fn project(tokens: &mut Vec<QueryToken<'_>>) {
    let variables: Vec<Cow<'_, str>> = tokens
        .iter()
        .filter(|t| t.kind == TokenKind::Variable)
        .map(|t| t.text.clone())
        .collect();
    let mut fresh = ["c", "count", "value", "total"]
        .into_iter()
        .map(str::to_owned)
        .chain((0..).map(|n| format!("c{n}")));
    let mut fresh = std::iter::from_fn(|| {
        fresh.find(|name| !variables.iter().any(|known| known[1..] == **name))
    });
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is("select") {
            at = project_one(tokens, at + 1, &mut fresh);
        } else {
            at += 1;
        }
    }
}

/// Rewrites the SELECT clause that starts at `at`; returns the index after it.
fn project_one(
    tokens: &mut Vec<QueryToken<'_>>,
    at: usize,
    fresh: &mut impl Iterator<Item = String>,
) -> usize {
    let clause_end = |tokens: &[QueryToken<'_>]| {
        let rest = tokens.iter().enumerate().skip(at);
        let mut ends = rest.filter(|(_, t)| t.is("where") || t.is("{") || t.is("from"));
        ends.next().map_or(tokens.len(), |(i, _)| i)
    };
    let end = clause_end(tokens);
    let mut out: Vec<QueryToken<'_>> = Vec::new();
    let mut i = at;
    while i < end {
        let token = &tokens[i];
        let open = next_solid(tokens, i + 1);
        if AGGREGATES.iter().any(|name| token.is(name)) || is_call(token, tokens.get(open)) {
            let Some(close) = group_end(tokens, open, end) else {
                return end;
            };
            let inner = &tokens[open + 1..close];
            let alias = alias_after(tokens, close, end);
            if let ([only], None, true) = (&solid(inner)[..], alias, is_time(token)) {
                // A date stays the same date, however it is written.
                out.push(QueryToken::other(format!(" {} ", only.text), only.at));
                i = close + 1;
                continue;
            }
            let name = match alias {
                Some(v) => tokens[v].text.to_string(),
                None => format!("?{}", fresh.next().unwrap_or_default()),
            };
            // In `COUNT(?x AS ?x)` the name refers to the argument; drop it.
            let inner = &inner[..inner.iter().position(|t| t.is("as")).unwrap_or(inner.len())];
            let argument: String = inner.iter().map(|t| t.text.as_ref()).collect();
            let text = format!("({}({argument}) AS {name}) ", token.text);
            out.push(QueryToken::other(text, token.at));
            i = alias.map_or(close, |v| v) + 1;
        } else if token.is("(") {
            let Some(close) = group_end(tokens, i, end) else {
                return end;
            };
            let alias = alias_after(tokens, close, end);
            let name = alias.map(|v| tokens[v].text.as_ref());
            out.extend(parenthesised(&tokens[i + 1..close], name, fresh));
            i = alias.unwrap_or(close) + 1;
        } else {
            // Virtuoso allows `SELECT ?x, ?y`.
            let comma = token.is(",");
            out.push(QueryToken {
                kind: token.kind,
                text: if comma {
                    " ".into()
                } else {
                    token.text.clone()
                },
                at: token.at,
            });
            i += 1;
        }
    }
    let written = at + out.len();
    tokens.splice(at..end, out);
    written
}

/// The index of the variable in `AS ?v` after a closing bracket.
fn alias_after(tokens: &[QueryToken<'_>], close: usize, end: usize) -> Option<usize> {
    let at = next_solid(tokens, close + 1);
    (at < end && tokens[at].is("as"))
        .then(|| next_solid(tokens, at + 1))
        .filter(|&variable| variable < end && tokens[variable].kind == TokenKind::Variable)
}

/// Whether a token is the name of a function whose arguments follow: `xsd:date(?d)`, `year(?d)`.
fn is_call(token: &QueryToken<'_>, next: Option<&QueryToken<'_>>) -> bool {
    let named = match token.kind {
        TokenKind::Name | TokenKind::Iri => true,
        TokenKind::Word => !["distinct", "reduced"].iter().any(|word| token.is(word)),
        _ => false,
    };
    named && next.is_some_and(|next| next.is("("))
}

/// Whether a token is the name of a conversion to a date.
fn is_time(token: &QueryToken<'_>) -> bool {
    let name = match token.kind {
        TokenKind::Name => token.text.strip_prefix("xsd:"),
        TokenKind::Iri => token.text.trim_matches(['<', '>']).strip_prefix(XSD),
        _ => None,
    };
    matches!(name, Some("date" | "dateTime"))
}

fn solid<'t, 'q>(tokens: &'t [QueryToken<'q>]) -> Vec<&'t QueryToken<'q>> {
    let solid = tokens.iter().filter(|t| t.kind != TokenKind::Space);
    solid.collect()
}

/// Groups by the plain variables of a projection with aggregates but without GROUP BY, as Virtuoso
/// does.
pub(super) fn group(tokens: &mut Vec<QueryToken<'_>>) {
    let mut depth = 0usize;
    let mut select = None;
    let (mut body, mut close) = (None, None);
    for (i, token) in tokens.iter().enumerate() {
        match token.text.as_ref() {
            "{" => {
                // In an invalid query a bracket may come before SELECT.
                body = body.or(select.map(|_| i));
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                close = (depth == 0 && body.is_some()).then_some(i).or(close);
            }
            _ if depth > 0 => {}
            _ if token.is("select") => select = select.or(Some(i)),
            _ if token.is("group") || token.is("ask") => return,
            _ => {}
        }
    }
    let (Some(select), Some(body), Some(close)) = (select, body, close) else {
        return;
    };
    let head = &tokens[select..body];
    let aggregates = |t: &QueryToken<'_>| {
        let call = t
            .text
            .strip_prefix('(')
            .and_then(|text| text.split_once('('));
        AGGREGATES
            .iter()
            .any(|name| t.is(name) || call.is_some_and(|(own, _)| own.eq_ignore_ascii_case(name)))
    };
    if !head.iter().chain(&tokens[close..]).any(aggregates) {
        return;
    }
    // `project` has made each `(… AS ?v)` a single token, so the remaining variables are plain.
    let variables: Vec<String> = head
        .iter()
        .map(|t| t.text.trim())
        .filter(|t| t.starts_with('?'))
        .map(str::to_owned)
        .collect();
    if !variables.is_empty() {
        tokens.insert(
            close + 1,
            QueryToken::other(
                format!(" GROUP BY {}", variables.join(" ")),
                tokens[close].at,
            ),
        );
    }
}

/// Keeps `(expression AS ?v)`, turns `(?x)` into `?x`, and adds an alias to `(COUNT(?x))`: the one
/// that follows the bracket, or a fresh one.
fn parenthesised(
    inner: &[QueryToken<'_>],
    alias: Option<&str>,
    fresh: &mut impl Iterator<Item = String>,
) -> Vec<QueryToken<'static>> {
    let solid = solid(inner);
    let at = solid.first().map_or(0, |token| token.at);
    let wrap = |text: String| vec![QueryToken::other(text, at)];
    let all: String = inner.iter().map(|t| t.text.as_ref()).collect();
    if let ([only], None) = (&solid[..], alias)
        && only.kind == TokenKind::Variable
    {
        return wrap(format!(" {} ", only.text));
    }
    let mut depth = 0usize;
    let has_alias = solid.iter().any(|t| {
        match t.text.as_ref() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && t.is("as")
    });
    if has_alias {
        wrap(format!("({all})"))
    } else {
        let alias = alias.map_or_else(
            || format!("?{}", fresh.next().unwrap_or_default()),
            str::to_owned,
        );
        wrap(format!("({all} AS {alias})"))
    }
}
