//! RDF syntaxes, through oxigraph's parsers.

use std::io::{self, BufRead, Cursor, Read};

use oxigraph::io::{RdfFormat, RdfParseError, RdfParser, RdfSyntaxError};
use oxigraph::model::{GraphName, NamedOrBlankNode, Quad, Term as OxTerm};

use super::guard::{GuardedReader, Watch};
use super::sink::{ReadStop, Sink};
use super::{star, xml};

/// Bytes of parsed triples that are kept until the text that they come from is known to have no fault. Prefixes are
/// written out in them, so that they may take far more memory than the text.
const KEPT: usize = 1 << 24;

/// Bytes of lines that are parsed before they are stored, if faults are skipped.
const PIECE: usize = 1 << 16;

/// The datatype of literals with a language.
const LANG_STRING: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString";

pub(super) fn parser(format: RdfFormat, sink: &Sink<'_>) -> RdfParser {
    let parser = RdfParser::from_format(format);
    let parser = if sink.any_iri() {
        parser.lenient()
    } else {
        parser
    };
    // `gather` has checked the base.
    parser.clone().with_base_iri(sink.base()).unwrap_or(parser)
}

/// Where a parser found a fault: the line within what it read, from 0, and what it said.
pub(super) fn fault(error: &RdfSyntaxError) -> (u64, String) {
    let text = error.to_string();
    // The parser's own place is within a part of the file.
    let said = text
        .strip_prefix("Parser error ")
        .and_then(|rest| rest.split_once(": "))
        .map_or(&text[..], |(_, said)| said);
    match error.location() {
        Some(place) => (
            place.start.line,
            format!("column {}: {said}", place.start.column + 1),
        ),
        None => (0, said.to_owned()),
    }
}

/// Lines of N-Triples or N-Quads. All their blank nodes have labels.
pub(super) fn block(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    block: &[u8],
    first: u64,
) -> Result<(), ReadStop> {
    if !sink.skips_faults() {
        for quad in parser(format, sink).for_slice(block) {
            match quad {
                Ok(quad) if check(&quad).is_ok() => put(sink, &quad, false)?,
                // What is stored twice counts once.
                _ => return each_line(sink, format, block, first),
            }
        }
        return Ok(());
    }
    let (mut rest, mut line) = (block, first);
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', &rest[rest.len().min(PIECE)..])
            .map_or(rest.len(), |end| rest.len().min(PIECE) + end + 1);
        let (piece, after) = rest.split_at(end);
        if store(sink, format, piece, false)?.is_err() {
            each_line(sink, format, piece, line)?;
        }
        line += memchr::memchr_iter(b'\n', piece).count() as u64;
        rest = after;
    }
    Ok(())
}

/// Parses a whole text and stores its triples, or returns its first fault and stores nothing. If the triples take much
/// memory, the text is parsed a second time to store them. `is_numbered` is that of [`put`].
pub(super) fn store(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    text: &[u8],
    is_numbered: bool,
) -> Result<Result<(), (u64, String)>, ReadStop> {
    let (mut kept, mut size) = (Vec::new(), 0_usize);
    for quad in parser(format, sink).for_slice(text) {
        let quad = match quad.map_err(|error| fault(&error)) {
            Ok(quad) => quad,
            Err(fault) => return Ok(Err(fault)),
        };
        if let Err(why) = check(&quad) {
            return Ok(Err((0, why)));
        }
        size = size.saturating_add(quad_bytes(&quad));
        if size <= KEPT {
            kept.push(quad);
        } else {
            kept = Vec::new();
        }
    }
    for quad in kept {
        put(sink, &quad, is_numbered)?;
    }
    if size > KEPT {
        // The first pass found no error.
        for quad in parser(format, sink).for_slice(text).flatten() {
            put(sink, &quad, is_numbered)?;
        }
    }
    Ok(Ok(()))
}

/// Memory of a quad with its texts.
fn quad_bytes(quad: &Quad) -> usize {
    let node = |node: &NamedOrBlankNode| match node {
        NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
    };
    let graph = match &quad.graph_name {
        GraphName::NamedNode(node) => node.as_str().len(),
        GraphName::BlankNode(node) => node.as_str().len(),
        GraphName::DefaultGraph => 0,
    };
    let object = match &quad.object {
        OxTerm::NamedNode(node) => node.as_str().len(),
        OxTerm::BlankNode(node) => node.as_str().len(),
        OxTerm::Literal(literal) => {
            let language = literal.language().map_or(0, str::len);
            literal.value().len() + literal.datatype().as_str().len() + language
        }
    };
    size_of::<Quad>() + node(&quad.subject) + quad.predicate.as_str().len() + object + graph
}

/// Parses each line on its own, so that a fault loses its line and nothing else. The parser itself gives parts of faulty
/// lines, and goes on somewhere in the next.
fn each_line(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    block: &[u8],
    first: u64,
) -> Result<(), ReadStop> {
    for (number, line) in (first..).zip(block.split(|&byte| byte == b'\n')) {
        for line in line.split(|&byte| byte == b'\r') {
            match store(sink, format, line, false)? {
                Ok(()) => {}
                Err(_) if star::is_version(line) => {}
                Err((_, said)) => sink.fault(number, star::explained(said, line))?,
            }
        }
    }
    Ok(())
}

/// A whole file in any syntax.
pub(super) fn stream(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    reader: &mut dyn BufRead,
) -> Result<(), ReadStop> {
    let watch = Watch::default();
    let memory = sink.memory();
    if format != RdfFormat::RdfXml {
        let guarded = GuardedReader::new(reader, format, memory, &watch);
        return quads(sink, format, guarded, &watch);
    }
    let (prologue, mut body) = xml::read(reader)?.map_err(|(line, why)| sink.refuse(line, why))?;
    let guarded = GuardedReader::xml(&mut *body, &prologue, memory, &watch);
    quads(
        sink,
        format,
        Cursor::new(prologue.text).chain(guarded),
        &watch,
    )
}

/// Whether a file can be read statement by statement.
pub(super) fn by_statements(format: RdfFormat) -> bool {
    matches!(format, RdfFormat::Turtle | RdfFormat::TriG)
}

/// Stores what the parser of a file gives. The first fault is an error. In Turtle and TriG the file is then read again,
/// statement by statement, which finds the whole faulty statement.
fn quads(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    reader: impl Read,
    watch: &Watch,
) -> Result<(), ReadStop> {
    let mut quads = parser(format, sink).for_reader(reader);
    if matches!(format, RdfFormat::JsonLd { .. }) {
        quads = quads.with_document_loader(|context| Err(no_context(context).into()));
    }
    for quad in quads {
        match quad {
            Ok(quad) => {
                watch.triple();
                put(sink, &quad, true)?;
            }
            Err(RdfParseError::Io(source)) => {
                return Err(match watch.refusal() {
                    Some((line, reason)) => sink.refuse(line, reason),
                    None => too_long(sink, format, watch, source),
                });
            }
            Err(RdfParseError::Syntax(_)) if by_statements(format) => {
                return Err(ReadStop::Statements);
            }
            Err(RdfParseError::Syntax(error)) => {
                let (line, said) = fault(&error);
                let line = match error.location() {
                    Some(_) => line + 1,
                    None => watch.line(),
                };
                return Err(sink.broken(line, &said));
            }
        }
    }
    Ok(())
}

/// Parsers that read from a stream take texts of at most 16 MiB.
fn too_long(sink: &mut Sink<'_>, format: RdfFormat, watch: &Watch, source: io::Error) -> ReadStop {
    if !source
        .to_string()
        .starts_with("Reached the buffer maximal size")
    {
        return source.into();
    }
    if by_statements(format) {
        return ReadStop::Statements;
    }
    sink.refuse(
        watch.line(),
        "a text of more than 16777216 bytes; this format is read with shorter ones only, so convert the file to N-Triples"
            .to_owned(),
    )
}

fn no_context(context: &str) -> String {
    format!(
        "its @context is the document `{context}`, and kgagent fetches nothing. Replace that address in the file by the \
         value of `@context` in the document, or convert the file to N-Triples where there is a network"
    )
}

/// Whether a quad has an IRI that was made with the base.
fn has_base(quad: &Quad, base: &str) -> bool {
    if base.is_empty() {
        return false;
    }
    let is_made = |iri: &str| iri.starts_with(base);
    is_made(quad.predicate.as_str())
        || matches!(&quad.subject, NamedOrBlankNode::NamedNode(node) if is_made(node.as_str()))
        || matches!(&quad.graph_name, GraphName::NamedNode(node) if is_made(node.as_str()))
        || match &quad.object {
            OxTerm::NamedNode(node) => is_made(node.as_str()),
            OxTerm::Literal(literal) => is_made(literal.datatype().as_str()),
            OxTerm::BlankNode(_) => false,
        }
}

/// The parser accepts everything if it is to accept any IRI.
fn check(quad: &Quad) -> Result<(), String> {
    match &quad.object {
        OxTerm::Literal(literal)
            if literal.language().is_none() && literal.datatype().as_str() == LANG_STRING =>
        {
            Err(
                "a literal of the datatype rdf:langString has no language; write \"text\"@en"
                    .to_owned(),
            )
        }
        _ => Ok(()),
    }
}

/// Stores a quad. Its blank nodes are numbered if their labels may be the parser's own; such a format has relative IRIs,
/// too.
fn put(sink: &mut Sink<'_>, quad: &Quad, is_numbered: bool) -> Result<(), ReadStop> {
    let blank = |sink: &mut Sink<'_>, label: &str| {
        if is_numbered {
            sink.numbered_blank(label)
        } else {
            sink.blank(label)
        }
    };
    if is_numbered && has_base(quad, sink.base()) {
        sink.note_base();
    }
    match &quad.graph_name {
        GraphName::NamedNode(node) => sink.enter(node.as_str()),
        GraphName::BlankNode(node) if is_numbered => sink.enter_numbered_blank(node.as_str()),
        GraphName::BlankNode(node) => sink.enter_blank(node.as_str()),
        GraphName::DefaultGraph => sink.enter(""),
    }
    let s = match &quad.subject {
        NamedOrBlankNode::NamedNode(node) => sink.iri(node.as_str()),
        NamedOrBlankNode::BlankNode(node) => blank(sink, node.as_str()),
    };
    let p = sink.iri(quad.predicate.as_str());
    let o = match &quad.object {
        OxTerm::NamedNode(node) => sink.iri(node.as_str()),
        OxTerm::BlankNode(node) => blank(sink, node.as_str()),
        OxTerm::Literal(literal) => sink.literal(
            literal.value(),
            literal.datatype().as_str(),
            literal.language().unwrap_or(""),
        ),
    };
    sink.triple(s, p, o)
}
