//! What XML cannot write as it is: carriage returns, which every XML reader turns into line feeds,
//! control characters, and predicates that are no element names.

use std::borrow::Cow;
use std::io;

use crate::term::{Literal, Term};

/// The namespace that XML keeps for itself.
const RESERVED: &str = "http://www.w3.org/2000/xmlns/";
/// The namespace of RDF.
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
/// Names of RDF's namespace that have another meaning as elements.
const SYNTAX: [&str; 12] = [
    "RDF",
    "ID",
    "about",
    "parseType",
    "resource",
    "nodeID",
    "datatype",
    "Description",
    "li",
    "aboutEach",
    "aboutEachPrefix",
    "bagID",
];

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Whether XML 1.0 has a character.
fn is_xml(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

fn text(term: &Term) -> &str {
    match term {
        Term::Iri(text) | Term::Blank(text) => text,
        Term::Literal(literal) => &literal.lexical,
    }
}

/// Checks that XML has every character of these terms.
///
/// # Errors
/// Names the first character that it does not have.
pub(super) fn check_text<'t>(terms: impl Iterator<Item = &'t Term>) -> io::Result<()> {
    for term in terms {
        if let Some(c) = text(term).chars().find(|&c| !is_xml(c)) {
            let code = u32::from(c);
            return Err(refused(format!(
                "XML cannot write the character U+{code:04X} of a value; ask for another format"
            )));
        }
    }
    Ok(())
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && c.is_alphabetic())
}

fn is_name(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || matches!(c, '-' | '.')
}

/// Whether RDF/XML can write an IRI as the name of an element.
fn is_element(iri: &str) -> bool {
    let local = iri.rfind(|c| !is_name(c)).map_or(iri, |at| &iri[at..]);
    let Some(at) = local.find(is_name_start) else {
        return false;
    };
    let namespace = &iri[..iri.len() - local.len() + at];
    namespace != RESERVED && !(namespace == RDF && SYNTAX.contains(&&local[at..]))
}

/// Whether a label of a blank node is a name of XML.
fn is_node_id(label: &str) -> bool {
    label.starts_with(is_name_start) && label.chars().all(is_name)
}

/// Checks that RDF/XML can write these triples.
///
/// # Errors
/// Names the first term that it cannot write.
pub(super) fn check_triples<'t>(triples: impl Iterator<Item = &'t [Term; 3]>) -> io::Result<()> {
    for [subject, predicate, object] in triples {
        check_text([subject, predicate, object].into_iter())?;
        if let Term::Iri(iri) = predicate
            && !is_element(iri)
        {
            return Err(refused(format!(
                "RDF/XML cannot write the predicate <{iri}>: it does not end in a name; ask for \
                 text/turtle or application/n-triples"
            )));
        }
        for node in [subject, object] {
            if let Term::Blank(label) = node
                && !is_node_id(label)
            {
                return Err(refused(format!(
                    "RDF/XML cannot write the blank node _:{label}; ask for text/turtle"
                )));
            }
        }
    }
    Ok(())
}

/// Replaces carriage returns by a character that no term has. [`Returns::restored`] writes them as
/// XML does.
pub(super) struct Returns(Option<char>);

impl Returns {
    /// Chooses the character.
    pub(super) fn of<'t>(terms: &(impl Iterator<Item = &'t Term> + Clone)) -> Self {
        let has = |c: char| terms.clone().any(|term| text(term).contains(c));
        if !has('\r') {
            return Self(None);
        }
        Self(('\u{e000}'..='\u{f8ff}').find(|&c| !has(c)))
    }

    /// For formats that keep carriage returns.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// The term without carriage returns.
    pub(super) fn hidden<'t>(&self, term: &'t Term) -> Cow<'t, Term> {
        let (Some(stand_in), Term::Literal(literal)) = (self.0, term) else {
            return Cow::Borrowed(term);
        };
        let lexical = literal.lexical.replace('\r', &stand_in.to_string());
        Cow::Owned(Term::Literal(Literal {
            lexical,
            ..literal.clone()
        }))
    }

    /// The document with references to carriage returns.
    pub(super) fn restored(&self, document: Vec<u8>) -> Vec<u8> {
        let Some(stand_in) = self.0 else {
            return document;
        };
        match String::from_utf8(document) {
            Ok(text) => text.replace(stand_in, "&#13;").into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }
}
