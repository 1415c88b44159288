//! Turtle and TriG, statement by statement. This is slower than the parser's own stream, and is done if faults are to be
//! skipped, or the stream has found a fault or a very long text.
//!
//! A fault loses its statement: everything up to its `.`, on however many lines. Each statement is parsed with the
//! prefixes before it and in its named graph.

use std::fmt::Write;
use std::io::BufRead;

use oxigraph::io::RdfFormat;
use oxigraph::model::Quad;

use super::rdf::{has_base, parse, parser, put};
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

/// What the statements before have set.
struct Reader<'s, 'a> {
    sink: &'s mut Sink<'a>,
    format: RdfFormat,
    /// The base and the prefixes, as directives.
    prefixes: String,
    /// The line where the next statement may begin.
    line: u64,
    /// The start of the named graph, `{` included, and its line.
    graph: Option<(Vec<u8>, u64)>,
    /// Graphs named `[]` so far.
    unnamed: usize,
    batch: Vec<Statement>,
    size: usize,
    kept: Vec<Quad>,
    uses_base: bool,
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
        kept: Vec::new(),
        uses_base: false,
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
    reader.statement(&text, Scanned::Statement)?;
    reader.flush()?;
    reader.close()?;
    if reader.uses_base {
        reader.sink.note_base();
    }
    Ok(())
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
                self.graph = Some((self.named(text), start));
                return Ok(());
            }
            Scanned::GraphEnd if self.graph.is_some() => {
                let inner = &text[..text.len() - 1];
                if blank_whole(inner) {
                    self.flush()?;
                } else {
                    self.push(inner.to_vec(), start, end)?;
                    self.flush()?;
                }
                self.graph = None;
                return Ok(());
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
            self.push(text, start, end)?;
            return self.directive();
        }
        self.push(text, start, end)
    }

    fn push(&mut self, text: Vec<u8>, first: u64, last: u64) -> Result<(), ReadStop> {
        self.size += text.len();
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
            Some((_, start)) => {
                let why = format!("the graph that begins at line {start} has no `}}`");
                self.sink.faults(start, self.line, why)
            }
            None => Ok(()),
        }
    }

    /// The statements with what comes before them, and the number of lines of the latter.
    fn text<'t>(&self, statements: impl Iterator<Item = &'t Statement>) -> (Vec<u8>, u64) {
        let mut text = self.prefixes.clone().into_bytes();
        if let Some((start, _)) = &self.graph {
            text.extend_from_slice(start);
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
        let mut kept = std::mem::take(&mut self.kept);
        let (text, _) = self.text(batch.iter());
        if parse(self.sink, self.format, &text, &mut kept).is_ok() {
            self.store(&mut kept)?;
        } else {
            for statement in &batch {
                self.alone(statement, &mut kept)?;
            }
        }
        self.kept = kept;
        Ok(())
    }

    /// Parses and stores a statement, or counts it as faulty. Returns whether it was stored.
    fn alone(&mut self, statement: &Statement, kept: &mut Vec<Quad>) -> Result<bool, ReadStop> {
        let (text, lines) = self.text(std::iter::once(statement));
        match parse(self.sink, self.format, &text, kept) {
            Ok(()) => {
                self.store(kept)?;
                Ok(true)
            }
            Err((line, said)) => {
                let at = statement.first + line.saturating_sub(lines);
                let (first, last) = (statement.first, statement.last);
                let said = star::explained(said, &statement.text);
                let said = if first == last {
                    said
                } else {
                    format!("line {}, {said}", at.min(last))
                };
                self.sink.faults(first, last, said)?;
                Ok(false)
            }
        }
    }

    fn store(&mut self, kept: &mut Vec<Quad>) -> Result<(), ReadStop> {
        for quad in kept.drain(..) {
            self.uses_base = self.uses_base || has_base(&quad, self.sink.base());
            put(self.sink, &quad, true)?;
        }
        Ok(())
    }

    /// Reads the directive that is the batch, and keeps all prefixes and the base for what follows.
    fn directive(&mut self) -> Result<(), ReadStop> {
        self.size = 0;
        let Some(statement) = self.batch.pop() else {
            return Ok(());
        };
        let graph = self.graph.take();
        let mut kept = Vec::new();
        let is_good = self.alone(&statement, &mut kept)?;
        if is_good {
            let (text, _) = self.text(std::iter::once(&statement));
            let mut parser = parser(self.format, self.sink).for_slice(&text);
            while parser.next().is_some() {}
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
        }
        self.graph = graph;
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
