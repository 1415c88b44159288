//! How calls name constants and relations: as the graph does, or by well-known prefixes without a
//! graph.

use kg::Kg;
use kg::term::{Literal, Term, XSD};

use crate::graph::{TimeInterval, Vocabulary};
use crate::refusal::Refusal;

/// Namespaces and their prefixes in names, longest first if one begins with another.
const NAMESPACES: &[(&str, &str)] = &[
    ("http://rdf.freebase.com/ns/", ""),
    ("http://dbpedia.org/resource/", "dbr:"),
    ("http://dbpedia.org/ontology/", "dbo:"),
    ("http://dbpedia.org/property/", "dbp:"),
    ("http://www.wikidata.org/entity/", "wd:"),
    ("http://www.wikidata.org/prop/direct/", "wdt:"),
    ("http://www.wikidata.org/prop/statement/", "ps:"),
    ("http://www.wikidata.org/prop/qualifier/", "pq:"),
    ("http://www.wikidata.org/prop/", "p:"),
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
    ("http://www.w3.org/2000/01/rdf-schema#", "rdfs:"),
    ("http://xmlns.com/foaf/0.1/", "foaf:"),
];

/// Names with or without a graph.
#[derive(Clone, Copy)]
pub(super) struct CallNames<'a> {
    pub kg: Option<&'a dyn Kg>,
    pub vocabulary: &'a Vocabulary,
}

impl CallNames<'_> {
    /// An entity, class or literal node.
    pub(super) fn node(&self, term: &Term) -> Result<String, Refusal> {
        match (self.kg, term) {
            (Some(kg), term) => kg
                .find(term)
                .map(|node| kg.name(node))
                .ok_or(Refusal::UnknownConstant),
            (None, Term::Iri(iri)) => Ok(short(iri)),
            (None, term) => Ok(term.to_string()),
        }
    }

    /// An entity or class by IRI.
    pub(super) fn iri(&self, iri: &str) -> Result<String, Refusal> {
        self.node(&Term::Iri(iri.to_owned()))
    }

    /// A literal to start from.
    pub(super) fn literal(&self, literal: &Literal) -> Result<String, Refusal> {
        self.node(&Term::Literal(literal.clone()))
    }

    /// A relation that planners can see.
    pub(super) fn relation(&self, iri: &str) -> Result<String, Refusal> {
        if self.vocabulary.is_type(iri) || self.vocabulary.is_label(iri) {
            return Err(Refusal::HiddenRelation);
        }
        let Some(kg) = self.kg else {
            return Ok(short(iri));
        };
        let node = kg
            .find(&Term::Iri(iri.to_owned()))
            .ok_or(Refusal::UnknownConstant)?;
        if kg.schema().hidden.contains(&node.relation()) {
            Err(Refusal::HiddenRelation)
        } else {
            Ok(kg.name(node))
        }
    }

    /// A relation that `extend` may follow: class relations too.
    pub(super) fn path(&self, iri: &str) -> Result<String, Refusal> {
        if self.vocabulary.is_type(iri) {
            self.iri(iri)
        } else {
            self.relation(iri)
        }
    }

    /// The derived relation of an interval (rule R11).
    pub(super) fn interval(&self, interval: &TimeInterval) -> Result<String, Refusal> {
        let Some(kg) = self.kg else {
            let stem = interval
                .from
                .rsplit_once('.')
                .map_or(interval.from.as_str(), |(stem, _)| stem);
            return Ok(format!("{}.from_to", short(stem)));
        };
        let id = |iri: &str| {
            kg.find(&Term::Iri(iri.to_owned()))
                .map(kg::term::NodeId::relation)
                .ok_or(Refusal::UnknownConstant)
        };
        let (from, to) = (id(&interval.from)?, id(&interval.to)?);
        let found = kg
            .schema()
            .intervals
            .iter()
            .find(|known| known.from == from && known.to == to);
        found
            .map(|known| known.name.clone())
            .ok_or(Refusal::UnknownConstant)
    }
}

fn short(iri: &str) -> String {
    let known = NAMESPACES.iter().find_map(|(namespace, prefix)| {
        iri.strip_prefix(namespace)
            .map(|local| format!("{prefix}{local}"))
    });
    known.unwrap_or_else(|| iri.to_owned())
}

/// A literal as calls write it: numbers and dates without datatype, everything else as plain text.
pub(super) fn bare(literal: &Literal) -> Literal {
    let local = literal
        .datatype
        .as_deref()
        .and_then(|iri| iri.strip_prefix(XSD));
    let lexical = match local {
        Some("date" | "dateTime" | "gYear" | "gYearMonth" | "dateTimeStamp") => {
            let date = literal
                .lexical
                .split('T')
                .next()
                .unwrap_or(&literal.lexical);
            without_zone(date)
        }
        _ => &literal.lexical,
    };
    Literal::plain(lexical)
}

/// A date without its time zone, `-08:00` or `Z`.
fn without_zone(date: &str) -> &str {
    let date = date.strip_suffix('Z').unwrap_or(date);
    match date
        .len()
        .checked_sub(6)
        .and_then(|at| date.get(at..).map(|zone| (at, zone)))
    {
        Some((at, zone))
            if zone.starts_with(['-', '+']) && zone.as_bytes().get(3) == Some(&b':') =>
        {
            &date[..at]
        }
        _ => date,
    }
}
