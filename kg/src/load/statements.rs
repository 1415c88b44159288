//! Turtle and TriG, statement by statement. This is slower than the parser's own stream, and is done if faults are to be
//! skipped, or the stream has found a fault or a very long text.
//!
//! A fault loses its statement: everything up to its `.`, on however many lines. Each statement is parsed with the
//! prefixes before it and in its named graph.

use std::fmt::Write;
use std::io::BufRead;

use oxigraph::io::RdfFormat;

use super::rdf::{fault, parser, store};
use super::scan::{Scan, Scanned};
use super::sink::{ReadStop, Sink};
use super::star;
use crate::limits::{PREFIX_BYTES, statement_bytes};

/// Bytes of statements that are parsed together. If one of them is faulty, each is parsed on its own.
const BATCH: usize = 1 << 16;

/// A statement and its lines.
struct Statement {
    text: Vec<u8>,
    first: u64,
    last: u64,
}

/// The named graph that the next statement is in.
struct OpenGraph {
    /// Its start, `{` included.
    start: Vec<u8>,
    line: u64,
    /// It has had no statement so far.
    is_empty: bool,
}

/// What the statements before have set.
struct Reader<'s, 'a> {
    sink: &'s mut Sink<'a>,
    format: RdfFormat,
    /// The base and the prefixes, as directives.
    prefixes: String,
    /// The line where the next statement may begin.
    line: u64,
    graph: Option<OpenGraph>,
    /// Graphs named `[]` so far.
    unnamed: usize,
    batch: Vec<Statement>,
    size: usize,
}

/// Reads a file.
pub(super) fn read(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    input: &mut dyn BufRead,
) -> Result<(), ReadStop> {
    let most = statement_bytes(sink.memory());
    let mut reader = Reader {
        sink,
        format,
        prefixes: String::new(),
        line: 1,
        graph: None,
        unnamed: 0,
        batch: Vec::new(),
        size: 0,
    };
    let mut scan = Scan::new(format == RdfFormat::TriG);
    let mut text = Vec::new();
    loop {
        let ready = input.fill_buf()?;
        let (is_end, used) = (ready.is_empty(), ready.len());
        let mut taken = 0;
        for (at, &byte) in ready.iter().enumerate() {
            while let Some((what, with_byte)) = scan.step(byte) {
                let end = at + usize::from(with_byte);
                text.extend_from_slice(&ready[taken..end]);
                taken = end;
                reader.statement(&std::mem::take(&mut text), what)?;
                if with_byte {
                    break;
                }
            }
        }
        text.extend_from_slice(&ready[taken..]);
        input.consume(used);
        if text.len() > most {
            let why = format!(
                "a statement of more than {most} bytes; raise --memory, which allows a sixteenth of it"
            );
            return Err(reader.sink.refuse(reader.line, why));
        }
        if is_end {
            break;
        }
    }
    // The scanner knows that a dot ends a statement when it sees the byte after the dot.
    while let Some((what, with_byte)) = scan.step(b'\n') {
        reader.statement(&std::mem::take(&mut text), what)?;
        if with_byte {
            break;
        }
    }
    reader.statement(&text, Scanned::Statement)?;
    reader.flush()?;
    reader.close()
}

impl Reader<'_, '_> {
    /// Takes the next statement.
    fn statement(&mut self, text: &[u8], what: Scanned) -> Result<(), ReadStop> {
        let blank = blank(text);
        let newlines = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
        let start = self.line + newlines(&text[..blank]);
        let end = self.line + newlines(text);
        self.line = end;
        let text = text[blank..].to_vec();
        match what {
            Scanned::Graph => {
                self.flush()?;
                self.close()?;
                self.graph = Some(OpenGraph {
                    start: self.named(text),
                    line: start,
                    is_empty: true,
                });
                return Ok(());
            }
            Scanned::GraphEnd if self.graph.is_some() => {
                let inner = &text[..text.len() - 1];
                if !blank_whole(inner) {
                    self.push(inner.to_vec(), start, end)?;
                }
                self.flush()?;
                return self.end_graph(end);
            }
            _ => {}
        }
        if blank_whole(&text) {
            return Ok(());
        }
        if what == Scanned::Directive {
            self.flush()?;
            if star::is_version(&text) {
                return Ok(());
            }
            return self.directive(&Statement {
                text,
                first: start,
                last: end,
            });
        }
        self.push(text, start, end)
    }

    fn push(&mut self, text: Vec<u8>, first: u64, last: u64) -> Result<(), ReadStop> {
        self.size += text.len();
        if let Some(graph) = &mut self.graph {
            graph.is_empty = false;
        }
        self.batch.push(Statement { text, first, last });
        if self.size > BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// The start of a graph, in which `[]` stands for one node in all of its statements.
    fn named(&mut self, start: Vec<u8>) -> Vec<u8> {
        let is_unnamed = start
            .iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .eq(b"[]{");
        if !is_unnamed {
            return start;
        }
        self.unnamed += 1;
        format!("_:unnamed-graph-{} {{", self.unnamed).into_bytes()
    }

    /// Ends a graph whose `}` is missing.
    fn close(&mut self) -> Result<(), ReadStop> {
        match self.graph.take() {
            Some(OpenGraph { line, .. }) => {
                let why = format!("the graph that begins at line {line} has no `}}`");
                self.sink.faults(line, self.line, why)
            }
            None => Ok(()),
        }
    }

    /// Ends a graph. Its name is parsed with each of its statements; without one, it is parsed here.
    fn end_graph(&mut self, last: u64) -> Result<(), ReadStop> {
        if let Some(graph) = self.graph.as_ref().filter(|graph| graph.is_empty) {
            let nothing = Statement {
                text: Vec::new(),
                first: graph.line,
                last,
            };
            self.alone(&nothing)?;
        }
        self.graph = None;
        Ok(())
    }

    /// The statements with what comes before them, and the number of lines of the latter.
    fn text<'t>(&self, statements: impl Iterator<Item = &'t Statement>) -> (Vec<u8>, u64) {
        let mut text = self.prefixes.clone().into_bytes();
        if let Some(graph) = &self.graph {
            text.extend_from_slice(&graph.start);
        }
        text.push(b'\n');
        let lines = memchr::memchr_iter(b'\n', &text).count() as u64;
        for statement in statements {
            text.extend_from_slice(&statement.text);
            text.push(b'\n');
        }
        if self.graph.is_some() {
            text.push(b'}');
        }
        (text, lines)
    }

    /// Parses and stores the statements of the batch.
    fn flush(&mut self) -> Result<(), ReadStop> {
        self.size = 0;
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        let (text, _) = self.text(batch.iter());
        if store(self.sink, self.format, &text, true)?.is_err() {
            for statement in &batch {
                self.alone(statement)?;
            }
        }
        Ok(())
    }

    /// Parses and stores a statement, or counts it as faulty.
    fn alone(&mut self, statement: &Statement) -> Result<(), ReadStop> {
        let (text, lines) = self.text(std::iter::once(statement));
        match store(self.sink, self.format, &text, true)? {
            Ok(()) => Ok(()),
            Err(fault) => self.faulty(statement, lines, fault),
        }
    }

    /// Counts a faulty statement. The line of the fault is that in the parsed text, which has `lines` lines before the
    /// statement.
    fn faulty(
        &mut self,
        statement: &Statement,
        lines: u64,
        (line, said): (u64, String),
    ) -> Result<(), ReadStop> {
        let (first, last) = (statement.first, statement.last);
        let at = first + line.saturating_sub(lines);
        let said = star::explained(said, &statement.text);
        let said = if first == last {
            said
        } else {
            format!("line {}, {said}", at.min(last))
        };
        self.sink.faults(first, last, said)
    }

    /// Reads a directive, and keeps all prefixes and the base for what follows.
    fn directive(&mut self, statement: &Statement) -> Result<(), ReadStop> {
        let graph = self.graph.take();
        let (text, lines) = self.text(std::iter::once(statement));
        self.graph = graph;
        let mut parser = parser(self.format, self.sink).for_slice(&text);
        if let Some(error) = parser.by_ref().find_map(Result::err) {
            return self.faulty(statement, lines, fault(&error));
        }
        let mut prefixes = String::new();
        if let Some(base) = parser.base_iri() {
            directive(&mut prefixes, "BASE", base);
        }
        let mut sorted: Vec<_> = parser.prefixes().collect();
        sorted.sort_unstable();
        for (name, iri) in sorted {
            directive(&mut prefixes, &format!("PREFIX {name}:"), iri);
        }
        self.prefixes = prefixes;
        if self.prefixes.len() > PREFIX_BYTES {
            let why = format!("more than {PREFIX_BYTES} bytes of prefixes");
            return Err(self.sink.refuse(statement.first, why));
        }
        Ok(())
    }
}

/// Appends a directive. Characters that an IRI may not have are escaped.
fn directive(out: &mut String, words: &str, iri: &str) {
    out.push_str(words);
    out.push_str(" <");
    for character in iri.chars() {
        if character <= ' ' || "<>\"{}|^`\\".contains(character) {
            // Writing to a text cannot fail.
            let _ = write!(out, "\\u{:04X}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out.push_str(">\n");
}

/// The number of bytes of spaces and comments at the start of a text.
fn blank(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b' ' | b'\t' | b'\r' | b'\n' => 1,
            b'#' => memchr::memchr2(b'\n', b'\r', &text[at..]).unwrap_or(text.len() - at),
            _ => break,
        };
    }
    at
}

fn blank_whole(text: &[u8]) -> bool {
    blank(text) == text.len()
}
