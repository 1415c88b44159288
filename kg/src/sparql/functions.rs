//! Functions that a rewritten query calls.

use oxigraph::model::{Literal as OxLiteral, NamedNode, Term as OxTerm, vocab::xsd};

use super::budget;
use crate::term::{Literal, XSD};
use crate::value::{TimeSpan, amount_in, sort_key};

/// A custom function: its IRI and implementation, which returns `None` for an error.
pub(super) type CustomFunction = (NamedNode, fn(&[OxTerm]) -> Option<OxTerm>);

pub(super) fn functions() -> [CustomFunction; 7] {
    [
        (NamedNode::new_unchecked(SORT), sort),
        (NamedNode::new_unchecked(AMOUNT), amount),
        (NamedNode::new_unchecked(DATE_TIME), date_time),
        (NamedNode::new_unchecked(SHORT), short),
        (NamedNode::new_unchecked(REPLACEABLE), replaceable),
        (NamedNode::new_unchecked(HELD), held),
        (NamedNode::new_unchecked(FOLD), fold),
    ]
}

/// Converts a term to its sort key.
pub(super) const SORT: &str = "urn:kgagent:fn:sort";
/// Returns the number of a quantity in a unit.
pub(super) const AMOUNT: &str = "urn:kgagent:fn:amount";
/// Converts anything that denotes a time to `xsd:dateTime`.
pub(super) const DATE_TIME: &str = "urn:kgagent:fn:dateTime";

/// Returns a text; stops the query if it is too long.
pub(super) const SHORT: &str = "urn:kgagent:fn:short";
/// Returns a text; stops the query if the text could become too long when parts of it are replaced
/// by another text.
pub(super) const REPLACEABLE: &str = "urn:kgagent:fn:replaceable";
/// Returns a value that an aggregate keeps, and counts its memory and that of the separator.
pub(super) const HELD: &str = "urn:kgagent:fn:held";

/// Returns a plain text in lower case, and any other term as it is.
pub(super) const FOLD: &str = "urn:kgagent:fn:fold";

/// Memory of a value that an aggregate keeps, in addition to its text.
const VALUE: usize = 64;

/// A literal of the algebra as a literal of the graph.
#[must_use]
pub fn term_literal(literal: &OxLiteral) -> Literal {
    let lang = literal.language().map(str::to_ascii_lowercase);
    let datatype = literal.datatype().as_str();
    let plain = lang.is_some() || datatype.strip_prefix(XSD) == Some("string");
    Literal {
        lexical: literal.value().to_owned(),
        datatype: (!plain).then(|| datatype.to_owned()),
        lang,
    }
}

/// The first moment of the time that a literal denotes, as a date-time without a zone.
pub(super) fn date_time_start(literal: &OxLiteral) -> Option<OxLiteral> {
    Some(OxLiteral::new_typed_literal(
        TimeSpan::parse(literal.value())?.start_date_time(),
        xsd::DATE_TIME,
    ))
}

/// Implements [`AMOUNT`].
fn amount(arguments: &[OxTerm]) -> Option<OxTerm> {
    match arguments {
        [OxTerm::Literal(literal), OxTerm::Literal(unit)] => {
            let literal = term_literal(literal);
            amount_in(&literal, unit.value())
                .map(|number| OxLiteral::new_typed_literal(number, xsd::DOUBLE).into())
        }
        _ => None,
    }
}

/// Implements [`DATE_TIME`].
fn date_time(arguments: &[OxTerm]) -> Option<OxTerm> {
    match arguments {
        [OxTerm::Literal(literal)] => date_time_start(literal).map(OxTerm::Literal),
        _ => None,
    }
}

/// Bytes of a term's text.
pub(crate) fn length(term: &OxTerm) -> usize {
    match term {
        OxTerm::NamedNode(node) => node.as_str().len(),
        OxTerm::BlankNode(node) => node.as_str().len(),
        OxTerm::Literal(literal) => literal.value().len(),
    }
}

/// Implements [`SHORT`].
fn short(arguments: &[OxTerm]) -> Option<OxTerm> {
    let text = arguments.first()?;
    budget::text(length(text));
    Some(text.clone())
}

/// Implements [`REPLACEABLE`]: at most one match before each byte and one at the end, and each `$`
/// may stand for a part of the text.
fn replaceable(arguments: &[OxTerm]) -> Option<OxTerm> {
    let [text, OxTerm::Literal(replacement)] = arguments else {
        return None;
    };
    let groups = replacement.value().matches('$').count();
    let inserted = (length(text) + 1).saturating_mul(replacement.value().len());
    budget::text(inserted.saturating_add(length(text).saturating_mul(groups + 1)));
    Some(text.clone())
}

/// A plain text in lower case; any other literal as it is.
pub(super) fn folded(text: &OxLiteral) -> OxLiteral {
    if text.datatype() == xsd::STRING {
        OxLiteral::new_simple_literal(text.value().to_ascii_lowercase())
    } else {
        text.clone()
    }
}

/// Implements [`FOLD`].
fn fold(arguments: &[OxTerm]) -> Option<OxTerm> {
    match arguments {
        [OxTerm::Literal(text)] => Some(folded(text).into()),
        [other] => Some(other.clone()),
        _ => None,
    }
}

/// Implements [`HELD`].
fn held(arguments: &[OxTerm]) -> Option<OxTerm> {
    budget::hold(arguments.iter().map(length).sum::<usize>() + VALUE);
    arguments.first().cloned()
}

/// Implements [`SORT`]: blank nodes, then IRIs, then literals by [`sort_key`]. Unbound values never
/// get here and come first.
fn sort(arguments: &[OxTerm]) -> Option<OxTerm> {
    let key = match arguments {
        [OxTerm::BlankNode(node)] => format!("a{}", node.as_str()),
        [OxTerm::NamedNode(node)] => format!("b{}", node.as_str()),
        [OxTerm::Literal(literal)] => format!("c{}", sort_key(&term_literal(literal))),
        _ => return None,
    };
    Some(OxLiteral::new_simple_literal(key).into())
}
