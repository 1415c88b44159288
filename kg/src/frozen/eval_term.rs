//! Terms during the evaluation of a query. Every copy is counted ([`budget`]).

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use oxigraph::model::{BlankNode, Literal as OxLiteral, NamedNode, NamedNodeRef, Term as OxTerm};

use crate::dictionary::{Dictionary, TermParts, term_key};
use crate::sparql::budget;
use crate::sparql::{length, term_literal};
use crate::term::Term;

/// A term of the algebra as a term of the graph.
pub(super) fn to_term(term: &OxTerm) -> Term {
    match term {
        OxTerm::NamedNode(node) => Term::Iri(node.as_str().to_owned()),
        OxTerm::BlankNode(node) => Term::Blank(node.as_str().to_owned()),
        OxTerm::Literal(literal) => Term::Literal(term_literal(literal)),
    }
}

fn from_parts(parts: TermParts<'_>) -> OxTerm {
    match parts {
        TermParts::Iri(iri) => NamedNode::new_unchecked(iri).into(),
        TermParts::Blank(label) => BlankNode::new_unchecked(label).into(),
        TermParts::Literal(lexical, _, lang) if !lang.is_empty() => {
            OxLiteral::new_language_tagged_literal_unchecked(lexical, lang).into()
        }
        TermParts::Literal(lexical, "", _) => OxLiteral::new_simple_literal(lexical).into(),
        TermParts::Literal(lexical, datatype, _) => {
            OxLiteral::new_typed_literal(lexical, NamedNodeRef::new_unchecked(datatype)).into()
        }
    }
}

/// A term during evaluation: either a term of the graph or one that the query created, never both.
/// So equal values are equal terms.
#[derive(Debug)]
pub(super) enum EvalTerm {
    Id(u32),
    New(Rc<NewTerm>),
}

/// A term that the query created.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NewTerm(OxTerm);

impl NewTerm {
    fn new(term: OxTerm) -> Self {
        let new = Self(term);
        budget::hold(new.bytes());
        new
    }

    fn bytes(&self) -> usize {
        length(&self.0)
    }
}

impl Drop for NewTerm {
    fn drop(&mut self) {
        budget::release(self.bytes());
    }
}

impl EvalTerm {
    /// A term of the graph if it has this one, else a new term.
    pub(super) fn of(dictionary: Dictionary<'_>, term: OxTerm) -> Self {
        if let OxTerm::Literal(literal) = &term {
            budget::text(literal.value().len());
        }
        let known = to_term(&term);
        let mut key = String::new();
        term_key(&mut key, &known);
        match dictionary.find(&key) {
            Some(id) => Self::id(id),
            None => Self::new(Rc::new(NewTerm::new(term))),
        }
    }

    /// The term in full.
    pub(super) fn to_ox(&self, dictionary: Dictionary<'_>) -> OxTerm {
        match self {
            Self::Id(id) => from_parts(dictionary.key(*id).parts()),
            Self::New(term) => term.0.clone(),
        }
    }

    fn id(id: u32) -> Self {
        budget::hold_terms(1);
        Self::Id(id)
    }

    fn new(term: Rc<NewTerm>) -> Self {
        budget::hold_terms(1);
        Self::New(term)
    }
}

impl Clone for EvalTerm {
    fn clone(&self) -> Self {
        match self {
            Self::Id(id) => Self::id(*id),
            Self::New(term) => Self::new(Rc::clone(term)),
        }
    }
}

impl Drop for EvalTerm {
    fn drop(&mut self) {
        budget::release_term();
    }
}

impl PartialEq for EvalTerm {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Id(a), Self::Id(b)) => a == b,
            (Self::New(a), Self::New(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for EvalTerm {}

impl Hash for EvalTerm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Id(id) => id.hash(state),
            Self::New(term) => term.hash(state),
        }
    }
}
