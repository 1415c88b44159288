//! Triples in the formats of RDF: the results of CONSTRUCT, and the evidence of answers.

use std::collections::BTreeMap;
use std::io;

use oxigraph::io::{JsonLdProfileSet, RdfFormat, RdfSerializer};
use oxigraph::model::{NamedNode, NamedOrBlankNode, Term as OxTerm, Triple};

use super::results::ox_term;
use super::xml::{self, Returns};
use crate::term::{RDFS_LABEL, Term, XSD};

/// Namespaces that Turtle abbreviates at most.
const PREFIXES: usize = 8;

common::worded! {
    /// A format of triples.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TriplesFormat, fn media_type() {
        /// N-Triples: one triple a line.
        NTriples = "application/n-triples",
        /// Turtle, with prefixes for the namespaces that occur often.
        Turtle = "text/turtle",
        /// JSON-LD in expanded form.
        JsonLd = "application/ld+json",
        /// RDF/XML.
        RdfXml = "application/rdf+xml",
        /// N-Quads: all triples are in the default graph.
        NQuads = "application/n-quads",
        /// TriG: all triples are in the default graph.
        TriG = "application/trig",
        /// Notation3.
        N3 = "text/n3",
    }
}

impl TriplesFormat {
    /// Other names of the format in an `Accept` header: older ones, and those of clients that ask for
    /// XML or JSON of any kind.
    #[must_use]
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::NTriples => &["text/plain", "text/ntriples", "application/ntriples"],
            Self::Turtle => &["application/turtle", "application/x-turtle"],
            Self::JsonLd => &["application/json", "application/x-json+ld"],
            Self::RdfXml => &["application/xml", "text/xml"],
            Self::NQuads => &["text/x-nquads", "text/nquads"],
            Self::TriG => &["application/x-trig"],
            Self::N3 => &["text/rdf+n3", "application/n3"],
        }
    }

    /// Writes triples. Those that RDF does not have (a literal as subject) are left out.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if a term cannot be written in this format.
    pub fn write<'a>(
        self,
        triples: impl Iterator<Item = &'a [Term; 3]> + Clone,
    ) -> io::Result<Vec<u8>> {
        let returns = if self == Self::RdfXml {
            let written = triples.clone().filter(|triple| is_rdf(triple));
            xml::check_triples(written.clone())?;
            Returns::of(&written.flatten())
        } else {
            Returns::none()
        };
        let format = match self {
            Self::NTriples => RdfFormat::NTriples,
            Self::Turtle => RdfFormat::Turtle,
            Self::JsonLd => RdfFormat::JsonLd {
                profile: JsonLdProfileSet::empty(),
            },
            Self::RdfXml => RdfFormat::RdfXml,
            Self::NQuads => RdfFormat::NQuads,
            Self::TriG => RdfFormat::TriG,
            Self::N3 => RdfFormat::N3,
        };
        let mut serializer = RdfSerializer::from_format(format);
        for (name, namespace) in prefixes(triples.clone()) {
            let with = serializer.clone().with_prefix(name, namespace);
            // A namespace that is no IRI is not abbreviated.
            serializer = with.unwrap_or(serializer);
        }
        let mut writer = serializer.for_writer(Vec::new());
        for [subject, predicate, object] in triples {
            if let Some(triple) = ox_triple(subject, predicate, &returns.hidden(object)) {
                writer.serialize_triple(&triple)?;
            }
        }
        Ok(returns.restored(writer.finish()?))
    }
}

/// Whether a triple is one of RDF.
fn is_rdf([subject, predicate, _]: &[Term; 3]) -> bool {
    !matches!(subject, Term::Literal(_)) && matches!(predicate, Term::Iri(_))
}

fn ox_triple(subject: &Term, predicate: &Term, object: &Term) -> Option<Triple> {
    let subject: NamedOrBlankNode = match ox_term(subject) {
        OxTerm::NamedNode(node) => node.into(),
        OxTerm::BlankNode(node) => node.into(),
        OxTerm::Literal(_) => return None,
    };
    let Term::Iri(predicate) = predicate else {
        return None;
    };
    let predicate = NamedNode::new_unchecked(predicate);
    Some(Triple::new(subject, predicate, ox_term(object)))
}

/// Prefixes for the namespaces with more than one IRI, the most used first.
fn prefixes<'a>(triples: impl Iterator<Item = &'a [Term; 3]>) -> Vec<(String, String)> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for term in triples.flatten() {
        let iri = match term {
            Term::Iri(iri) => iri,
            Term::Literal(literal) => match &literal.datatype {
                Some(datatype) => datatype,
                None => continue,
            },
            Term::Blank(_) => continue,
        };
        if let Some(at) = iri.rfind(['/', '#']) {
            *uses.entry(&iri[..=at]).or_default() += 1;
        }
    }
    let mut often: Vec<(&str, usize)> = uses.into_iter().filter(|(_, uses)| *uses > 1).collect();
    often.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
    let rdfs = RDFS_LABEL.trim_end_matches("label");
    let named = often.into_iter().take(PREFIXES).enumerate();
    named
        .map(|(at, (namespace, _))| {
            let name = match namespace {
                XSD => "xsd".to_owned(),
                known if known == rdfs => "rdfs".to_owned(),
                _ => format!("n{at}"),
            };
            (name, namespace.to_owned())
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::term::Literal;

    #[test]
    fn triples_are_written_in_every_format() {
        let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
        let literal = |text: &str| Term::Literal(Literal::plain(text));
        let triples = [
            [iri("a"), iri("p.q.r"), iri("b")],
            [iri("a"), iri("p.q.r"), literal("say \"x\"\n")],
            [Term::Blank("s1".to_owned()), iri("p.q.r"), iri("b")],
            [literal("no subject"), iri("p.q.r"), iri("b")],
        ];
        let written = |format: TriplesFormat| {
            String::from_utf8(format.write(triples.iter()).unwrap()).unwrap()
        };
        assert_eq!(
            written(TriplesFormat::NTriples),
            "<http://e/a> <http://e/p.q.r> <http://e/b> .\n\
             <http://e/a> <http://e/p.q.r> \"say \\\"x\\\"\\n\" .\n\
             _:s1 <http://e/p.q.r> <http://e/b> .\n"
        );
        assert_eq!(
            written(TriplesFormat::Turtle),
            "@prefix n0: <http://e/> .\n\
             n0:a n0:p.q.r n0:b , \"say \\\"x\\\"\\n\" .\n\
             _:s1 n0:p.q.r n0:b .\n"
        );
        let json: serde_json::Value =
            serde_json::from_str(&written(TriplesFormat::JsonLd)).unwrap();
        assert_eq!(json[0]["@id"], "http://e/a");
        assert_eq!(json[0]["http://e/p.q.r"][0]["@id"], "http://e/b");
        assert_eq!(json[0]["http://e/p.q.r"][1]["@value"], "say \"x\"\n");
    }
}
