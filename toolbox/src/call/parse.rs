//! The strict call parser: the first error stops it.

mod table_args;

use super::ast::{Arg, Call, HandleKind, Target, Tool};
use super::grammar::{Param, Returns, ToolTable};
use super::print::{is_delimiter, looks_literal};
use super::words::{column, handle, variable};
use kg::term::{Literal, XSD};
use kg::value::{Extreme, Op};

/// A byte range of the parsed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Why a call does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {}: {message}", span.start)]
pub struct ParseError {
    /// The position of the error.
    pub span: Span,
    /// The error and the expected text.
    pub message: String,
}

/// Parses one call.
///
/// # Errors
/// Returns [`ParseError`] with the position and what was expected there.
pub fn parse_call(text: &str) -> Result<Call, ParseError> {
    let mut parser = Parser { text, at: 0 };
    let call = parser.call()?;
    parser.space();
    if parser.at < text.len() {
        return Err(parser.error("the call ends here, but more text follows"));
    }
    Ok(call)
}

/// Parses a program: calls separated by `;` or line breaks.
///
/// # Errors
/// Returns [`ParseError`] for the first call that does not parse.
pub fn parse_program(text: &str) -> Result<Vec<Call>, ParseError> {
    let mut parser = Parser { text, at: 0 };
    let mut calls = Vec::new();
    loop {
        parser.separators();
        if parser.at >= text.len() {
            return Ok(calls);
        }
        calls.push(parser.call()?);
        let rest = &text[parser.at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        parser.at += blank;
        if parser.at < text.len() && !text[parser.at..].starts_with([';', '\n']) {
            return Err(parser.error("expected `;` or a line break between calls"));
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError {
            span: Span {
                start: self.at,
                end: self.text.len(),
            },
            message: message.into(),
        }
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn separators(&mut self) {
        let rest = self.rest();
        self.at += rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_whitespace() || c == ';')
                .len();
    }

    /// Consumes the token if it comes next, including leading white space; otherwise the position
    /// stays unchanged.
    fn eat(&mut self, token: &str) -> bool {
        let start = self.at;
        self.space();
        let found = self.rest().starts_with(token);
        self.at = if found { self.at + token.len() } else { start };
        found
    }

    fn require(&mut self, token: &str) -> Result<(), ParseError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.error(format!("expected `{token}`, found {}", self.found())))
        }
    }

    /// The next few characters, for error messages.
    fn found(&self) -> String {
        let next: String = self.rest().chars().take(12).collect();
        if next.is_empty() {
            "the end of the text".to_owned()
        } else {
            format!("`{next}`")
        }
    }

    fn word(&mut self) -> &str {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest.find(is_delimiter).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn required_word(&mut self, what: &str) -> Result<String, ParseError> {
        match self.word().to_owned() {
            word if word.is_empty() => {
                Err(self.error(format!("expected {what}, found {}", self.found())))
            }
            word => Ok(word),
        }
    }

    fn call(&mut self) -> Result<Call, ParseError> {
        self.space();
        let start = self.at;
        let first = self.word().to_owned();
        let (target, name, name_at) = if self.eat("=") {
            let target = self.target(&first, start)?;
            self.space();
            let name_at = self.at;
            (Some(target), self.word().to_owned(), name_at)
        } else {
            (None, first, start)
        };
        let Some(tool) = Tool::by_name(&name) else {
            self.at = name_at;
            return Err(self.error(format!(
                "`{name}` is no tool; the tools are {}",
                ToolTable::Paper.names()
            )));
        };
        let target = self.checked_target(tool, target, start)?;
        self.require("(")?;
        let args = self.args(tool)?;
        Ok(Call { target, tool, args })
    }

    fn target(&self, word: &str, start: usize) -> Result<Target, ParseError> {
        if word == "ans" {
            return Ok(Target::Ans);
        }
        variable(word).map(Target::Var).ok_or_else(|| ParseError {
            span: Span {
                start,
                end: self.at,
            },
            message: format!("`{word}` cannot be assigned to; write v0, v1, … or ans"),
        })
    }

    fn checked_target(
        &self,
        tool: Tool,
        target: Option<Target>,
        start: usize,
    ) -> Result<Target, ParseError> {
        let right = match (tool.signature().returns, target) {
            (Returns::Relations, None) => Some(Target::None),
            (Returns::Answer, Some(Target::Ans)) => Some(Target::Ans),
            (
                Returns::Set | Returns::Number | Returns::Truth | Returns::Table,
                Some(Target::Var(index)),
            ) => Some(Target::Var(index)),
            _ => None,
        };
        right.ok_or_else(|| {
            let form = match tool.signature().returns {
                Returns::Relations => format!("{}(…) assigns nothing", tool.name()),
                Returns::Answer => "write ans = end(…)".to_owned(),
                _ => format!("write vN = {}(…)", tool.name()),
            };
            ParseError {
                span: Span {
                    start,
                    end: self.at,
                },
                message: form,
            }
        })
    }

    fn args(&mut self, tool: Tool) -> Result<Vec<Arg>, ParseError> {
        let row = tool.signature();
        let mut args: Vec<Arg> = Vec::new();
        if row.variadic && row.params[0] == Param::Set && self.eat("[") {
            // The paper's table writes intersect([E1, …]); its worked programs do not.
            args = self.list()?;
            if args.len() < row.required {
                return Err(
                    self.error(format!("{} takes at least {} sets", row.name, row.required))
                );
            }
            self.close()?;
            return Ok(args);
        }
        loop {
            let Some(&param) = row.params.get(args.len()).or(if row.variadic {
                row.params.last()
            } else {
                None
            }) else {
                return Err(self.error(format!(
                    "{} takes at most {} arguments",
                    row.name,
                    row.params.len()
                )));
            };
            args.push(self.arg(param)?);
            if self.eat(",") {
                continue;
            }
            self.close()?;
            break;
        }
        self.check_count(tool, &args)?;
        Ok(args)
    }

    fn close(&mut self) -> Result<(), ParseError> {
        if self.eat(")") {
            return Ok(());
        }
        Err(self.error(format!("expected `,` or `)`, found {}", self.found())))
    }

    fn check_count(&self, tool: Tool, args: &[Arg]) -> Result<(), ParseError> {
        let row = tool.signature();
        let extreme = matches!(args.get(2), Some(Arg::Extreme(_)));
        let required = if tool == Tool::GetEntityByConstraint && !extreme {
            row.params.len()
        } else {
            row.required
        };
        if args.len() < required {
            return Err(self.error(format!(
                "{} takes {required} arguments, {} given",
                row.name,
                args.len()
            )));
        }
        if extreme && args.len() > 3 {
            return Err(self.error("argmax and argmin take no value"));
        }
        Ok(())
    }

    fn arg(&mut self, param: Param) -> Result<Arg, ParseError> {
        self.space();
        match param {
            Param::Set => self.set(),
            Param::Relation => self.relation(),
            Param::Path => match self.repeat() {
                Some(repeat) => Ok(Arg::Repeated(repeat, Box::new(self.relation()?))),
                None => self.relation(),
            },
            Param::Class => self.named(&[HandleKind::Class]),
            Param::Comparator => {
                let at = self.at;
                match self.word() {
                    "argmax" => Ok(Arg::Extreme(Extreme::Max)),
                    "argmin" => Ok(Arg::Extreme(Extreme::Min)),
                    _ => {
                        self.at = at;
                        self.operator()
                    }
                }
            }
            Param::Operator => self.operator(),
            Param::Value | Param::Operand | Param::Amount => self.value(),
            Param::Mention => self.mention(),
            Param::Table | Param::Truth => self.table(),
            Param::Test => self.test(),
            Param::Field | Param::Key | Param::Order => self.field(param),
            Param::Size => self.size(),
            Param::Sign => self.sign(),
        }
    }

    fn relation(&mut self) -> Result<Arg, ParseError> {
        const KINDS: [HandleKind; 2] = [HandleKind::Relation, HandleKind::Mention];
        if self.eat("~") {
            let inner = self.named(&KINDS)?;
            return Ok(Arg::Inverse(Box::new(inner)));
        }
        self.named(&KINDS)
    }

    fn operator(&mut self) -> Result<Arg, ParseError> {
        // Longest first, so that `<=` is not parsed as `<`.
        for op in [Op::Le, Op::Ge, Op::Ne, Op::Lt, Op::Gt, Op::Eq] {
            if self.eat(&op.to_string()) {
                return Ok(Arg::Op(op));
            }
        }
        Err(self.error(format!(
            "expected one of = != < <= > >= argmax argmin, found {}",
            self.found()
        )))
    }

    fn set(&mut self) -> Result<Arg, ParseError> {
        if self.eat("[") {
            return Ok(Arg::List(self.list()?));
        }
        self.member()
    }

    /// A variable, a column or an entity.
    fn member(&mut self) -> Result<Arg, ParseError> {
        if let Some(arg) = self.peek_result() {
            self.word();
            return Ok(arg);
        }
        self.named(&[HandleKind::Entity])
    }

    fn peek_word(&self) -> &str {
        let rest = self.rest();
        &rest[..rest.find(is_delimiter).unwrap_or(rest.len())]
    }

    fn peek_variable(&self) -> Option<u32> {
        variable(self.peek_word())
    }

    /// A variable or a column of one.
    fn peek_result(&self) -> Option<Arg> {
        let word = self.peek_word();
        let of_table = || column(word).map(|(table, column)| Arg::Column(table, column));
        variable(word).map(Arg::Var).or_else(of_table)
    }

    fn list(&mut self) -> Result<Vec<Arg>, ParseError> {
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(items);
        }
        loop {
            self.space();
            items.push(self.member()?);
            if self.eat("]") {
                return Ok(items);
            }
            self.require(",")?;
        }
    }

    fn named(&mut self, kinds: &[HandleKind]) -> Result<Arg, ParseError> {
        self.space();
        if self.rest().starts_with('<') {
            return self.quoted_name();
        }
        let word = self.required_word("a name")?;
        Ok(kinds
            .iter()
            .find_map(|&kind| handle(&word, kind))
            .map_or(Arg::Name(word), Arg::Handle))
    }

    fn quoted_name(&mut self) -> Result<Arg, ParseError> {
        self.quoted('>', "this `<` is never closed by `>`")
            .map(Arg::Name)
    }

    /// Text after an opening character up to `close`, with escapes resolved.
    fn quoted(&mut self, close: char, unclosed: &str) -> Result<String, ParseError> {
        let mut text = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                c if c == close => {
                    self.at += i + 2;
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 'r')) => text.push('\r'),
                    // Only literals escape tabs.
                    Some((_, 't')) if close == '"' => text.push('\t'),
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(self.error(unclosed))
    }

    fn value(&mut self) -> Result<Arg, ParseError> {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quoted_literal().map(Arg::Literal);
        }
        if rest.starts_with('<') {
            return self.quoted_name();
        }
        if let Some(arg) = self.peek_result() {
            self.word();
            return Ok(arg);
        }
        let word = self.required_word("a value")?;
        if looks_literal(&word) {
            return Ok(Arg::Literal(self.typed(Literal::plain(word))?));
        }
        let known = [HandleKind::Value, HandleKind::Entity, HandleKind::Class]
            .into_iter()
            .find_map(|kind| handle(&word, kind));
        Ok(known.map_or(Arg::Name(word), Arg::Handle))
    }

    fn mention(&mut self) -> Result<Arg, ParseError> {
        if self.rest().starts_with('"') {
            return self.quoted_literal().map(Arg::Literal);
        }
        let word = self.required_word("a mention in quotes")?;
        Ok(Arg::Literal(Literal::plain(word)))
    }

    fn quoted_literal(&mut self) -> Result<Literal, ParseError> {
        let lexical = self.quoted('"', "this quotation mark is never closed")?;
        self.typed(Literal::plain(lexical))
    }

    /// An optional `^^datatype` or `@lang` after a literal.
    fn typed(&mut self, mut literal: Literal) -> Result<Literal, ParseError> {
        if self.rest().starts_with("^^") {
            self.at += 2;
            let datatype = if self.rest().starts_with('<') {
                match self.quoted_name()? {
                    Arg::Name(name) => name,
                    _ => String::new(),
                }
            } else {
                let word = self.word();
                word.strip_prefix("xsd:")
                    .map_or_else(|| word.to_owned(), |local| format!("{XSD}{local}"))
            };
            if datatype.is_empty() {
                return Err(self.error("expected a datatype after ^^"));
            }
            literal.datatype = Some(datatype);
        } else if self.rest().starts_with('@') {
            self.at += 1;
            literal.lang = Some(self.word().to_ascii_lowercase());
        }
        Ok(literal)
    }
}
