//! Short names of nodes, and lookup by name: well-known prefixes are printed as such, and the
//! graph's main namespaces are omitted.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::dictionary::{self, Dictionary, TermParts};
use crate::label::percent_decode;
use crate::term::{Literal, Term, XSD};

/// The namespace of nodes from plain text formats (TSV, MetaQA); the percent-encoded text follows.
pub(crate) const TEXT_NAMESPACE: &str = "urn:kgagent:";

/// Number of namespaces of a graph that are omitted in names. More would only make more local names
/// ambiguous.
const BARE_NAMESPACES: usize = 16;

/// Prefixes that are printed in names.
pub(crate) const PREFIXES: &[(&str, &str)] = &[
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("xsd", XSD),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("dct", "http://purl.org/dc/terms/"),
    ("schema", "http://schema.org/"),
    ("sdo", "https://schema.org/"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("geo", "http://www.w3.org/2003/01/geo/wgs84_pos#"),
    ("georss", "http://www.georss.org/georss/"),
    ("dbr", "http://dbpedia.org/resource/"),
    ("dbo", "http://dbpedia.org/ontology/"),
    ("dbp", "http://dbpedia.org/property/"),
    ("dbc", "http://dbpedia.org/resource/Category:"),
    ("dbt", "http://dbpedia.org/datatype/"),
    ("yago", "http://dbpedia.org/class/yago/"),
    ("yr", "http://yago-knowledge.org/resource/"),
    ("wd", "http://www.wikidata.org/entity/"),
    ("wdt", "http://www.wikidata.org/prop/direct/"),
    ("wds", "http://www.wikidata.org/entity/statement/"),
    ("wdv", "http://www.wikidata.org/value/"),
    ("p", "http://www.wikidata.org/prop/"),
    ("ps", "http://www.wikidata.org/prop/statement/"),
    ("pq", "http://www.wikidata.org/prop/qualifier/"),
    ("wikibase", "http://wikiba.se/ontology#"),
];

/// Prefixes that are accepted in names and queries but never printed.
pub(crate) const ALIASES: &[(&str, &str)] = &[
    ("ns", "http://rdf.freebase.com/ns/"),
    ("fb", "http://rdf.freebase.com/ns/"),
    ("res", "http://dbpedia.org/resource/"),
    ("dbpedia", "http://dbpedia.org/resource/"),
    ("dbpedia2", "http://dbpedia.org/property/"),
    ("dbpprop", "http://dbpedia.org/property/"),
    ("dbpedia-owl", "http://dbpedia.org/ontology/"),
    ("onto", "http://dbpedia.org/ontology/"),
    ("prop", "http://dbpedia.org/property/"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("purl", "http://purl.org/dc/terms/"),
    ("bd", "http://www.bigdata.com/rdf#"),
    ("bif", "http://www.openlinksw.com/schemas/bif#"),
    (
        "psn",
        "http://www.wikidata.org/prop/statement/value-normalized/",
    ),
    ("psv", "http://www.wikidata.org/prop/statement/value/"),
    ("pqv", "http://www.wikidata.org/prop/qualifier/value/"),
    ("prop_direct", "http://www.wikidata.org/prop/direct/"),
    ("ogc", "http://www.opengis.net/ont/geosparql#"),
    ("geof", "http://www.opengis.net/def/function/geosparql/"),
    ("vrank", "http://purl.org/voc/vrank#"),
];

/// Splits an IRI after its last `#`, else its last `/`, else its last `:` (titles after a slash may
/// contain colons).
pub(crate) fn split(iri: &str) -> (&str, &str) {
    iri.split_at(
        ['#', '/', ':']
            .into_iter()
            .find_map(|mark| iri.rfind(mark))
            .map_or(0, |at| at + 1),
    )
}

/// The IRI at which a Wikibase describes a property, if this is the IRI of one of the relations that
/// it makes of the property: `…/entity/P19` for `…/prop/direct/P19`.
pub(crate) fn wikibase_property(iri: &str) -> Option<String> {
    let (base, kind) = iri.split_once("/prop/")?;
    let property = kind.rsplit('/').next()?;
    is_property_id(property).then(|| format!("{base}/entity/{property}"))
}

/// Whether a Wikibase describes a property at this IRI, or this is one of the relations that it makes of the property.
pub(crate) fn is_wikibase_property(iri: &str) -> bool {
    let described = iri.rsplit_once("/entity/");
    described.is_some_and(|(_, property)| is_property_id(property))
        || wikibase_property(iri).is_some()
}

fn is_property_id(id: &str) -> bool {
    let number = id.strip_prefix('P').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The local name that identifies the role of a relation; for nodes of plain text formats, the
/// whole text.
pub(crate) fn local_name(iri: &str) -> String {
    match iri.strip_prefix(TEXT_NAMESPACE) {
        Some(text) => percent_decode(text),
        None => split(iri).1.to_owned(),
    }
}

/// Whether a bare name would be parsed as something else in a call: a variable or handle (`v0`,
/// `e1`, `r2`, `t3`), an answer, a constant.
fn is_reserved(name: &str) -> bool {
    let mut chars = name.chars();
    matches!(name, "ans" | "NOW" | "true" | "false" | "")
        || (matches!(chars.next(), Some('v' | 'e' | 'r' | 't' | 'a'))
            && name.len() > 1
            && chars.all(|c| c.is_ascii_digit()))
}

/// The naming rules of one graph.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ShortNames {
    /// Omitted namespaces, most frequent first.
    bare: Vec<String>,
    /// Whether no node comes from a plain text format, so that lookups can skip them.
    #[serde(skip)]
    no_texts: bool,
}

impl ShortNames {
    pub(crate) fn new(dictionary: Dictionary<'_>) -> Self {
        let mut counts: FxHashMap<String, usize> = FxHashMap::default();
        let mut keys = dictionary.keys();
        while let Some((id, key)) = keys.next() {
            if id >= dictionary.resources().end {
                break;
            }
            if let Ok(key) = std::str::from_utf8(key)
                && let TermParts::Iri(iri) = TermParts::of(key)
            {
                let (namespace, local) = split(iri);
                if !local.is_empty()
                    && namespace != TEXT_NAMESPACE
                    && !PREFIXES.iter().any(|(_, known)| iri.starts_with(known))
                {
                    match counts.get_mut(namespace) {
                        Some(count) => *count += 1,
                        None => drop(counts.insert(namespace.to_owned(), 1)),
                    }
                }
            }
        }
        let mut ranked: Vec<(String, usize)> = counts.into_iter().collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self {
            bare: ranked
                .into_iter()
                .take(BARE_NAMESPACES)
                .map(|(namespace, _)| namespace)
                .collect(),
            no_texts: false,
        }
    }

    /// Computes what depends on the graph but is not stored.
    pub(crate) fn prepare(&mut self, dictionary: Dictionary<'_>) {
        self.no_texts = !dictionary.has_prefix(&format!("{}{TEXT_NAMESPACE}", dictionary::IRI));
    }

    /// Whether some node may come from a plain text format.
    pub(crate) fn has_texts(&self) -> bool {
        !self.no_texts
    }

    /// The shortest name for which [`ShortNames::find`] returns `id`.
    pub(crate) fn name(&self, dictionary: Dictionary<'_>, id: u32) -> String {
        let key = dictionary.key(id);
        let iri = match key.parts() {
            TermParts::Iri(iri) => iri,
            TermParts::Blank(label) => return format!("_:{label}"),
            literal @ TermParts::Literal(..) => return literal.to_term().to_string(),
        };
        let leads_back = |name: &String| self.find(dictionary, name) == Some(id);
        self.short(iri)
            .filter(leads_back)
            .unwrap_or_else(|| iri.to_owned())
    }

    fn short(&self, iri: &str) -> Option<String> {
        if let Some(text) = iri.strip_prefix(TEXT_NAMESPACE) {
            return Some(percent_decode(text)).filter(|text| !is_reserved(text));
        }
        let known = PREFIXES
            .iter()
            .filter(|(_, namespace)| iri.starts_with(namespace))
            .max_by_key(|(_, namespace)| namespace.len());
        if let Some((prefix, namespace)) = known {
            return Some(format!("{prefix}:{}", &iri[namespace.len()..]));
        }
        let (namespace, local) = split(iri);
        (!is_reserved(local) && self.bare.iter().any(|bare| bare == namespace))
            .then(|| local.to_owned())
    }

    /// The node with this name, full IRI, blank node label, or N-Triples form of a literal.
    pub(crate) fn find(&self, dictionary: Dictionary<'_>, name: &str) -> Option<u32> {
        if let Some(iri) = name
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
        {
            return dictionary.find_iri(iri);
        }
        if let Some(id) = dictionary.find_iri(name) {
            return Some(id);
        }
        let mut key = String::new();
        if let Some(label) = name.strip_prefix("_:") {
            dictionary::node_key(&mut key, dictionary::BLANK, label);
            return dictionary.find(&key);
        }
        if name.starts_with('"')
            && let Some(literal) = parse_literal(name)
        {
            dictionary::term_key(&mut key, &Term::Literal(literal));
            return dictionary.find(&key);
        }
        if !self.no_texts
            && let Some(id) = dictionary.find_iri(&text_iri(name))
        {
            return Some(id);
        }
        if let Some((prefix, local)) = name.split_once(':')
            && let Some(id) = expand(prefix)
                .and_then(|namespace| dictionary.find_iri(&format!("{namespace}{local}")))
        {
            return Some(id);
        }
        let mut found = self
            .bare
            .iter()
            .filter_map(|namespace| dictionary.find_iri(&format!("{namespace}{name}")));
        match (found.next(), found.next()) {
            (Some(id), None) => Some(id),
            _ => None,
        }
    }
}

/// The namespace of a well-known prefix.
pub(crate) fn expand(prefix: &str) -> Option<&'static str> {
    PREFIXES
        .iter()
        .chain(ALIASES)
        .find(|(known, _)| *known == prefix)
        .map(|(_, namespace)| *namespace)
}

/// Parses a literal in the form that [`Literal`] prints; the datatype may also have a well-known
/// prefix.
pub(crate) fn parse_literal(text: &str) -> Option<Literal> {
    let mut lexical = String::new();
    let mut chars = text.strip_prefix('"')?.char_indices();
    let rest = loop {
        let (at, c) = chars.next()?;
        match c {
            '"' => break &text[1..][at + 1..],
            '\\' => lexical.push(match chars.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => unescape(&mut chars, 4)?,
                'U' => unescape(&mut chars, 8)?,
                c @ ('"' | '\\' | '\'') => c,
                _ => return None,
            }),
            c => lexical.push(c),
        }
    };
    if rest.is_empty() {
        return Some(Literal::plain(lexical));
    }
    if let Some(lang) = rest.strip_prefix('@') {
        return Some(Literal {
            lexical,
            datatype: None,
            lang: Some(lang.to_ascii_lowercase()),
        });
    }
    let datatype = rest.strip_prefix("^^")?;
    let iri = match datatype
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
    {
        Some(iri) => iri.to_owned(),
        None => datatype
            .split_once(':')
            .and_then(|(prefix, local)| Some(format!("{}{local}", expand(prefix)?)))?,
    };
    Some(Literal {
        lexical,
        datatype: Some(iri).filter(|iri| iri.strip_prefix(XSD) != Some("string")),
        lang: None,
    })
}

fn unescape(chars: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let mut code = 0;
    for _ in 0..digits {
        code = code * 16 + chars.next()?.1.to_digit(16)?;
    }
    char::from_u32(code)
}

/// What is percent-encoded: every byte except the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The IRI of a text node.
#[must_use]
pub fn text_iri(text: &str) -> String {
    format!("{TEXT_NAMESPACE}{}", utf8_percent_encode(text, ENCODED))
}
