//! Reading the SPARQL of the published question sets, which is not quite SPARQL 1.1.
//!
//! A tokenizer that knows IRIs, strings and comments cuts the query up, a few rules change single tokens, and spargebra parses the result.
//! What the sets write and the standard does not:
//!
//! | written | read as | where |
//! |---|---|---|
//! | `ns:people.person.sibling_s` | the same with `\.` (spargebra 0.4.8 reads one dot only) | Freebase |
//! | `a OR b`, `a AND b` | `a \|\| b`, `a && b` | WebQSP, CWQ |
//! | `xsd:datetime(…)` | `xsd:dateTime(…)` | CWQ |
//! | well-known prefixes without PREFIX | declared | all |
//! | `SELECT DISTINCT COUNT(?x)` | `SELECT DISTINCT (COUNT(?x) AS ?c)`: Virtuoso counts, then drops equal rows | LC-QuAD, QALD |
//! | `SELECT ?x … ORDER BY DESC(COUNT(?y))` | the same with `GROUP BY ?x` | QALD |
//! | `SELECT DISTINCT(?x)` | `SELECT DISTINCT ?x` | QALD |
//! | `dbr:Berlin_(band)`, `res:Rivet_&_Sons` | escaped | QALD |
//! | `DEFINE …`, a leading `SPARQL`, comments, a stray last `.` or `;` | nothing | Virtuoso |

use spargebra::{Query, SparqlParser};

use super::QueryError;
use super::names::expand;
use crate::limits::{QUERY_BYTES, QUERY_DEPTH, QUERY_JOINTS};
use crate::term::XSD;

/// Parses a query in the dialects of the published sets.
///
/// # Errors
/// [`QueryError::Syntax`] with the parser's message, or that the query is longer or more deeply nested than any real one.
///
/// ```
/// let query = kg::parse_query("SELECT DISTINCT COUNT(?x) WHERE { ?x ns:people.person.sibling_s ns:m.02xt6q . }")?;
/// assert!(query.to_string().contains("COUNT(?x)"));
/// # Ok::<(), kg::QueryError>(())
/// ```
pub fn parse_query(text: &str) -> Result<Query, QueryError> {
    let normal = normalise(text)?;
    SparqlParser::new()
        .parse_query(&normal)
        .map_err(|error| QueryError::Syntax(format!("{error} in: {}", excerpt(&normal))))
}

/// The first part of a query on one line, for messages.
fn excerpt(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Rewrites a query of the published sets as SPARQL 1.1; standard queries keep their meaning.
///
/// # Errors
/// [`QueryError::Syntax`] when the query is too long or nested too deeply to be parsed safely.
pub fn normalise(text: &str) -> Result<String, QueryError> {
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
            Kind::Word if token.text.eq_ignore_ascii_case("or") => "||".clone_into(&mut token.text),
            Kind::Word if token.text.eq_ignore_ascii_case("and") => {
                "&&".clone_into(&mut token.text)
            }
            Kind::Iri
                if token
                    .text
                    .strip_prefix('<')
                    .and_then(|t| t.strip_prefix(XSD))
                    == Some("datetime>") =>
            {
                token.text = format!("<{XSD}dateTime>");
            }
            Kind::Name => {
                let (prefix, local) = token.text.split_once(':').unwrap_or(("", &token.text));
                if !declared.iter().any(|known| known == prefix)
                    && !missing.iter().any(|(known, _)| known == prefix)
                    && let Some(namespace) = expand(prefix)
                {
                    missing.push((prefix.to_owned(), namespace));
                }
                let local = if matches!(prefix, "xsd" | "xs") && local == "datetime" {
                    "dateTime".to_owned()
                } else {
                    escape(local)
                };
                token.text = format!("{prefix}:{local}");
            }
            _ => {}
        }
    }
    project(&mut tokens);
    group(&mut tokens);
    let mut out: String = missing
        .iter()
        .map(|(prefix, namespace)| format!("PREFIX {prefix}: <{namespace}> "))
        .collect();
    for token in &tokens {
        out.push_str(&token.text);
    }
    Ok(out)
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// White space and comments.
    Space,
    /// `<…>`.
    Iri,
    /// A string in any of the four quotes.
    Text,
    /// `prefix:local`, not a blank node.
    Name,
    /// `?x`, `$x`.
    Variable,
    /// A keyword or a bare word.
    Word,
    /// Anything else, one character each, `_:b` and `@en` whole.
    Other,
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    text: String,
}

impl Token {
    fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Other) && self.text.eq_ignore_ascii_case(text)
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-' || (!c.is_ascii() && !c.is_whitespace())
}

fn tokens(text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_prefix = out
            .iter()
            .rev()
            .find(|token| token.kind != Kind::Space)
            .is_some_and(|token| token.is("prefix"));
        let (kind, len) = token_at(rest, first, in_prefix);
        let (token, after) = rest.split_at(len);
        // A comment becomes a line end, so that what follows it stays where it was.
        let token = if first == '#' {
            String::new()
        } else {
            token.to_owned()
        };
        out.push(Token { kind, text: token });
        rest = after;
    }
    out
}

/// Kind and length in bytes of the token that `rest` begins with.
fn token_at(rest: &str, first: char, in_prefix: bool) -> (Kind, usize) {
    let while_chars = |from: usize, keep: &dyn Fn(char) -> bool| {
        from + rest[from..]
            .char_indices()
            .find(|&(_, c)| !keep(c))
            .map_or(rest.len() - from, |(at, _)| at)
    };
    match first {
        c if c.is_whitespace() => (Kind::Space, while_chars(0, &char::is_whitespace)),
        '#' => (Kind::Space, while_chars(0, &|c| c != '\n')),
        '<' => {
            let end = while_chars(1, &|c| {
                !matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\') && c > ' '
            });
            if rest[end..].starts_with('>') {
                (Kind::Iri, end + 1)
            } else {
                (Kind::Other, 1)
            }
        }
        '"' | '\'' => (Kind::Text, string_len(rest, first)),
        '?' | '$' => {
            let end = while_chars(1, &|c| c.is_alphanumeric() || c == '_');
            if end > 1 {
                (Kind::Variable, end)
            } else {
                (Kind::Other, 1)
            }
        }
        '@' => (
            Kind::Other,
            while_chars(1, &|c| c.is_ascii_alphanumeric() || c == '-'),
        ),
        '_' if rest.starts_with("_:") => (Kind::Other, while_chars(2, &is_name_char)),
        ':' => (
            Kind::Name,
            1 + if in_prefix { 0 } else { local_len(&rest[1..]) },
        ),
        c if c.is_alphabetic() || c == '_' => {
            let end = while_chars(0, &|c| is_name_char(c) || c == '.');
            let word = rest[..end].trim_end_matches('.').len();
            if rest[end..].starts_with(':') {
                (
                    Kind::Name,
                    end + 1
                        + if in_prefix {
                            0
                        } else {
                            local_len(&rest[end + 1..])
                        },
                )
            } else {
                (Kind::Word, word)
            }
        }
        c if c.is_ascii_digit() => (Kind::Other, while_chars(0, &|c| c.is_ascii_alphanumeric())),
        c => (Kind::Other, c.len_utf8()),
    }
}

/// Length of a string with its quotes; an open one ends with the query.
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

/// Length of a local name, with what DBpedia titles hold and the grammar would want escaped: `_(…)`, `,_`, `&`, `'` and `/` between letters.
fn local_len(rest: &str) -> usize {
    let mut at = 0;
    let mut open = 0usize;
    let mut previous = ' ';
    let mut chars = rest.char_indices().peekable();
    while let Some((index, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |&(_, c)| c);
        let inside = match c {
            '\\' => {
                // The text may end with it.
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
        // A dot counts only when something follows it.
        if c != '.' {
            at = index + c.len_utf8();
        }
        previous = c;
    }
    at
}

/// Escapes what spargebra does not read in a local name.
fn escape(local: &str) -> String {
    let mut out = String::with_capacity(local.len());
    let mut chars = local.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
            }
            '%' if !chars
                .as_str()
                .as_bytes()
                .iter()
                .take(2)
                .filter(|b| b.is_ascii_hexdigit())
                .count()
                .eq(&2) =>
            {
                out.push_str("\\%")
            }
            '.' | '(' | ')' | ',' | '&' | '\'' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// The parser is recursive and backtracks, and what it builds is nested once per operator: a query of brackets, signs or operators must
/// not exhaust the stack or the day.
fn check_size(tokens: &[Token]) -> Result<(), QueryError> {
    let (mut depth, mut run, mut joints) = (0usize, 0usize, 0usize);
    for token in tokens.iter().filter(|token| token.kind != Kind::Space) {
        match token.text.as_str() {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        run = if matches!(token.text.as_str(), "!" | "-" | "+" | "^") {
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

/// Tokens that each nest the algebra once.
const JOINTS: &[&str] = &[
    "{", "|", "&", "or", "and", "+", "-", "*", "/", "^", "!", "union", "optional", "minus", "bind",
    "filter", "values", "exists",
];

/// Removes `SPARQL` and `DEFINE name value` from the beginning, and stray full stops and semicolons from the end.
fn drop_virtuoso(tokens: &mut Vec<Token>) {
    loop {
        let mut solid = tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.kind != Kind::Space)
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
        .is_some_and(|token| token.kind == Kind::Space || token.is(".") || token.is(";"))
    {
        tokens.pop();
    }
}

fn declared_prefixes(tokens: &[Token]) -> Vec<String> {
    let solid: Vec<&Token> = tokens
        .iter()
        .filter(|token| token.kind != Kind::Space)
        .collect();
    let pairs = solid
        .windows(2)
        .filter(|pair| pair[0].is("prefix") && pair[1].kind == Kind::Name);
    pairs
        .map(|pair| pair[1].text.trim_end_matches(':').to_owned())
        .collect()
}

const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "sample",
    "group_concat",
];

/// Puts legacy projections right: aggregates without parentheses or alias, and variables in parentheses.
fn project(tokens: &mut Vec<Token>) {
    let variables: Vec<String> = tokens
        .iter()
        .filter(|t| t.kind == Kind::Variable)
        .map(|t| t.text[1..].to_owned())
        .collect();
    let mut fresh = ["c", "count", "value", "total"]
        .into_iter()
        .map(str::to_owned)
        .chain((0..).map(|n| format!("c{n}")));
    let mut fresh = std::iter::from_fn(|| fresh.find(|name| !variables.contains(name)));
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is("select") {
            at = project_one(tokens, at + 1, &mut fresh);
        } else {
            at += 1;
        }
    }
}

/// Rewrites one SELECT clause that begins at `at`; gives the index after it.
fn project_one(
    tokens: &mut Vec<Token>,
    at: usize,
    fresh: &mut impl Iterator<Item = String>,
) -> usize {
    let clause_end = |tokens: &[Token]| {
        let rest = tokens.iter().enumerate().skip(at);
        let mut ends = rest.filter(|(_, t)| t.is("where") || t.is("{") || t.is("from"));
        ends.next().map_or(tokens.len(), |(i, _)| i)
    };
    let end = clause_end(tokens);
    let mut out: Vec<Token> = Vec::new();
    let mut i = at;
    while i < end {
        let token = &tokens[i];
        if AGGREGATES.iter().any(|name| token.is(name)) {
            let Some(close) = group_end(tokens, next_solid(tokens, i + 1), end) else {
                return end;
            };
            let inner = &tokens[next_solid(tokens, i + 1) + 1..close];
            let alias_at = next_solid(tokens, close + 1);
            let alias = (alias_at < end && tokens[alias_at].is("as"))
                .then(|| next_solid(tokens, alias_at + 1))
                .filter(|&v| v < end);
            let name = match alias {
                Some(v) => tokens[v].text.clone(),
                None => format!("?{}", fresh.next().unwrap_or_default()),
            };
            // `COUNT(?x AS ?x)` names what it counts; the name is no use.
            let inner = &inner[..inner.iter().position(|t| t.is("as")).unwrap_or(inner.len())];
            let argument: String = inner.iter().map(|t| t.text.as_str()).collect();
            let text = format!("({}({argument}) AS {name}) ", token.text);
            out.push(Token {
                kind: Kind::Other,
                text,
            });
            i = alias.map_or(close, |v| v) + 1;
        } else if token.is("(") {
            let Some(close) = group_end(tokens, i, end) else {
                return end;
            };
            out.extend(parenthesised(&tokens[i + 1..close], fresh));
            i = close + 1;
        } else {
            // `SELECT ?x, ?y` is Virtuoso's.
            let comma = token.is(",");
            out.push(Token {
                kind: token.kind,
                text: if comma {
                    " ".to_owned()
                } else {
                    token.text.clone()
                },
            });
            i += 1;
        }
    }
    let written = at + out.len();
    tokens.splice(at..end, out);
    written
}

/// Virtuoso groups by the plain variables of a projection when something is aggregated and nothing says by what.
fn group(tokens: &mut Vec<Token>) {
    let mut depth = 0usize;
    let mut select = None;
    let (mut body, mut close) = (None, None);
    for (i, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => {
                // A query that goes wrong may open a bracket before it selects.
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
    let aggregates = |t: &Token| {
        AGGREGATES.iter().any(|name| {
            t.is(name)
                || t.text
                    .to_ascii_lowercase()
                    .starts_with(&format!("({name}("))
        })
    };
    if !head.iter().chain(&tokens[close..]).any(aggregates) {
        return;
    }
    // After `project`, a whole `(… AS ?v)` is one token, so the variables that are left are plain.
    let variables: Vec<String> = head
        .iter()
        .map(|t| t.text.trim())
        .filter(|t| t.starts_with('?'))
        .map(str::to_owned)
        .collect();
    if !variables.is_empty() {
        tokens.insert(
            close + 1,
            Token {
                kind: Kind::Other,
                text: format!(" GROUP BY {}", variables.join(" ")),
            },
        );
    }
}

/// `(expression AS ?v)` as it is, `(?x)` as `?x`, and `(COUNT(?x))` with an alias.
fn parenthesised(inner: &[Token], fresh: &mut impl Iterator<Item = String>) -> Vec<Token> {
    let solid: Vec<&Token> = inner.iter().filter(|t| t.kind != Kind::Space).collect();
    let wrap = |text: String| {
        vec![Token {
            kind: Kind::Other,
            text,
        }]
    };
    let all: String = inner.iter().map(|t| t.text.as_str()).collect();
    if let [only] = solid[..]
        && only.kind == Kind::Variable
    {
        return wrap(format!(" {} ", only.text));
    }
    let mut depth = 0usize;
    let has_alias = solid.iter().any(|t| {
        match t.text.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && t.is("as")
    });
    if has_alias {
        wrap(format!("({all})"))
    } else {
        wrap(format!("({all} AS ?{})", fresh.next().unwrap_or_default()))
    }
}

/// The first token at or after `at` that is no space.
fn next_solid(tokens: &[Token], at: usize) -> usize {
    tokens
        .iter()
        .enumerate()
        .skip(at)
        .find(|(_, t)| t.kind != Kind::Space)
        .map_or(tokens.len(), |(i, _)| i)
}

/// The index of the bracket that closes the one at `open`.
fn group_end(tokens: &[Token], open: usize, end: usize) -> Option<usize> {
    tokens.get(open).filter(|t| t.is("("))?;
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().take(end).skip(open) {
        match token.text.as_str() {
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
