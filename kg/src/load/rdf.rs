//! RDF syntaxes, through oxigraph's parsers.

use std::io::BufRead;

use oxigraph::io::{RdfFormat, RdfParseError, RdfParser};
use oxigraph::model::{GraphName, NamedOrBlankNode, Quad, Term as OxTerm};

use super::guard::{GuardedReader, Watch};
use super::sink::{ReadStop, Sink};

/// The base of relative IRIs in files without a base.
const BASE: &str = "http://example.org/";

fn parser(format: RdfFormat, any_iri: bool) -> RdfParser {
    let parser = RdfParser::from_format(format);
    let parser = if any_iri { parser.lenient() } else { parser };
    // Small examples often contain relative IRIs. The base is fixed, because the location of a file
    // must not change the graph.
    parser
        .with_base_iri(BASE)
        .unwrap_or_else(|_| RdfParser::from_format(format))
}

/// Lines of N-Triples or N-Quads. All their blank nodes have labels.
pub(super) fn block(
    sink: &mut Sink<'_>,
    format: RdfFormat,
    block: &[u8],
    first: u64,
) -> Result<(), ReadStop> {
    for quad in parser(format, sink.any_iri()).for_slice(block) {
        match quad {
            Ok(quad) => put(sink, &quad, Sink::blank)?,
            Err(error) => sink.fault(
                first + error.location().map_or(0, |place| place.start.line),
                error.to_string(),
            )?,
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
    let reader = GuardedReader::new(reader, format, sink.memory(), &watch);
    for quad in parser(format, sink.any_iri()).for_reader(reader) {
        match quad {
            Ok(quad) => {
                watch.triple();
                put(sink, &quad, Sink::numbered_blank)?;
            }
            Err(RdfParseError::Io(source)) => {
                return Err(match watch.refusal() {
                    Some((line, reason)) => sink.refuse(line, reason),
                    None => source.into(),
                });
            }
            Err(RdfParseError::Syntax(error)) => {
                let line = error.location().map_or(0, |place| place.start.line + 1);
                sink.fault(line, error.to_string())?;
            }
        }
    }
    Ok(())
}

fn put<'a>(
    sink: &mut Sink<'a>,
    quad: &Quad,
    blank: impl Fn(&mut Sink<'a>, &str) -> u32,
) -> Result<(), ReadStop> {
    match &quad.graph_name {
        GraphName::NamedNode(node) => sink.enter(node.as_str()),
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
