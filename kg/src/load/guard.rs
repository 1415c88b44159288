//! Checks the bytes of RDF/XML, JSON-LD, Turtle and TriG before their parser sees them, so that no
//! small file makes the parser fill the memory or the stack.
//!
//! - No more than [`statement_bytes`] without a triple.
//! - JSON-LD that fits the memory of the load ([`JsonCheck`]).
//! - RDF/XML with short entities, few attributes and elements that are not nested deep, and without statements about
//!   statements ([`XmlCheck`]).

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, Read};

use oxigraph::io::RdfFormat;

use super::json_check::JsonCheck;
use super::xml::Prologue;
use super::xml_check::XmlCheck;
use crate::limits::statement_bytes;

/// What a [`GuardedReader`] has seen, shared with the caller of the parser.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Bytes since the last triple.
    bytes: Cell<usize>,
    /// References to entities since the last triple.
    references: Cell<usize>,
    refused: RefCell<Option<(u64, String)>>,
    /// The line up to which the parser has read.
    line: Cell<u64>,
}

impl Watch {
    /// The parser gave a triple.
    pub(super) fn triple(&self) {
        self.bytes.set(0);
        self.references.set(0);
    }

    /// Why the reader refused the file: the line, and the reason.
    pub(super) fn refusal(&self) -> Option<(u64, String)> {
        self.refused.take()
    }

    /// The line that the parser reads, for errors without a place. It is exact for RDF/XML and JSON-LD.
    pub(super) fn line(&self) -> u64 {
        self.line.get()
    }
}

/// Passes bytes on until one of them is refused.
pub(super) struct GuardedReader<'a> {
    reader: &'a mut dyn BufRead,
    watch: &'a Watch,
    line: u64,
    /// Maximum bytes without a triple.
    most: usize,
    syntax: Syntax,
}

/// The state of the check of a syntax.
enum Syntax {
    /// Nothing but the length matters.
    Plain,
    Json(JsonCheck),
    Xml(XmlCheck),
}

impl<'a> GuardedReader<'a> {
    /// Guards a reader of a file in this format, which is not RDF/XML; `memory` is that of the load in bytes.
    pub(super) fn new(
        reader: &'a mut dyn BufRead,
        format: RdfFormat,
        memory: usize,
        watch: &'a Watch,
    ) -> Self {
        let syntax = match format {
            RdfFormat::JsonLd { .. } => Syntax::Json(JsonCheck::new(memory)),
            _ => Syntax::Plain,
        };
        Self {
            syntax,
            ..Self::plain(reader, memory, watch)
        }
    }

    /// Guards RDF/XML from its first element on.
    pub(super) fn xml(
        reader: &'a mut dyn BufRead,
        prologue: &Prologue,
        memory: usize,
        watch: &'a Watch,
    ) -> Self {
        Self {
            syntax: Syntax::Xml(XmlCheck::new(prologue.has_entities)),
            line: prologue.line,
            ..Self::plain(reader, memory, watch)
        }
    }

    /// Guards only the number of bytes without a triple.
    pub(super) fn plain(reader: &'a mut dyn BufRead, memory: usize, watch: &'a Watch) -> Self {
        Self {
            reader,
            watch,
            line: 1,
            most: statement_bytes(memory),
            syntax: Syntax::Plain,
        }
    }

    fn check(&mut self, bytes: &[u8]) -> Result<(), String> {
        let passed = self.watch.bytes.get() + bytes.len();
        self.watch.bytes.set(passed);
        // JSON-LD is checked differently, because its parser returns the triples of an object only
        // at its end.
        if passed > self.most && !matches!(self.syntax, Syntax::Json(_)) {
            return Err(format!(
                "more than {} bytes without a triple; raise --memory, which allows a sixteenth of it",
                self.most
            ));
        }
        if matches!(self.syntax, Syntax::Plain) {
            self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
            return Ok(());
        }
        for &byte in bytes {
            self.line += u64::from(byte == b'\n');
            self.syntax.step(byte, self.watch)?;
        }
        Ok(())
    }
}

impl Syntax {
    fn step(&mut self, byte: u8, watch: &Watch) -> Result<(), String> {
        match self {
            Self::Plain => Ok(()),
            Self::Json(check) => check.step(byte),
            Self::Xml(check) => check.step(byte, &watch.references),
        }
    }
}

impl Read for GuardedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.syntax {
            Syntax::Plain => self.reader.read(buffer)?,
            // One line at a time, so that the parser does not read ahead of an error.
            Syntax::Json(_) | Syntax::Xml(_) => {
                let ready = self.reader.fill_buf()?;
                let ready = &ready[..ready.len().min(buffer.len())];
                let count = memchr::memchr(b'\n', ready).map_or(ready.len(), |end| end + 1);
                buffer[..count].copy_from_slice(&ready[..count]);
                self.reader.consume(count);
                count
            }
        };
        self.watch.line.set(self.line);
        self.check(&buffer[..count]).map_err(|reason| {
            *self.watch.refused.borrow_mut() = Some((self.line, reason.clone()));
            io::Error::other(reason)
        })?;
        Ok(count)
    }
}
