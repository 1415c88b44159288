//! RDF terms, and the integer ids that a graph uses for them.

use std::fmt;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// The XML Schema namespace of literal datatypes.
pub const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// The datatype of quantities with a unit. The lexical form is `NUMBER UNIT` (`1.7 metre`); only
/// quantities with the same unit compare.
pub const QUANTITY: &str = "urn:kgagent:quantity";
/// `rdf:type`.
pub const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// `rdfs:label`.
pub const RDFS_LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";

/// A node of one graph: an index into its term dictionary, meaningless in any other graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
#[derive(Serialize, Deserialize, Pod, Zeroable)]
pub struct NodeId(pub u32);

/// A relation (predicate) of one graph. Predicates are terms, so relations share the dictionary of
/// [`NodeId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
#[derive(Serialize, Deserialize, Pod, Zeroable)]
pub struct RelId(pub u32);

impl RelId {
    /// The same dictionary entry as a node.
    #[must_use]
    pub fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

impl NodeId {
    /// The same dictionary entry as a relation.
    #[must_use]
    pub fn relation(self) -> RelId {
        RelId(self.0)
    }
}

/// A literal (rule R8).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Literal {
    /// The lexical form.
    pub lexical: String,
    /// Datatype IRI, absent for `xsd:string` and for language-tagged text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datatype: Option<String>,
    /// Language tag in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
}

impl Literal {
    /// A plain string.
    #[must_use]
    pub fn plain(lexical: impl Into<String>) -> Self {
        Self {
            lexical: lexical.into(),
            datatype: None,
            lang: None,
        }
    }

    /// A literal with a datatype of the XML Schema namespace, such as `gYear`.
    #[must_use]
    pub fn xsd(lexical: impl Into<String>, local: &str) -> Self {
        Self {
            lexical: lexical.into(),
            datatype: Some(format!("{XSD}{local}")),
            lang: None,
        }
    }
}

/// A term of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Term {
    /// An IRI, without angle brackets.
    Iri(String),
    /// A blank node, without `_:`.
    Blank(String),
    /// A literal.
    Literal(Literal),
}

impl Term {
    /// The literal, if the term is one.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Literal> {
        match self {
            Self::Literal(literal) => Some(literal),
            Self::Iri(_) | Self::Blank(_) => None,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.lexical.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")?;
        match (&self.lang, &self.datatype) {
            (Some(lang), _) => write!(f, "@{lang}"),
            (None, Some(datatype)) => write!(f, "^^<{datatype}>"),
            (None, None) => Ok(()),
        }
    }
}

impl fmt::Display for Term {
    /// Prints the N-Triples form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iri(iri) => write!(f, "<{iri}>"),
            Self::Blank(id) => write!(f, "_:{id}"),
            Self::Literal(literal) => write!(f, "{literal}"),
        }
    }
}
