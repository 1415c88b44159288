//! Tells readable IRIs from opaque keys, and recognises statement nodes by namespace (rule R22).

use crate::label::{clean, percent_decode};
use crate::names::split;

const STATEMENT_NAMESPACES: &[&str] = &[
    "http://www.wikidata.org/entity/statement/",
    "http://www.wikidata.org/value/",
    "http://www.wikidata.org/reference/",
];

/// Whether an IRI is in a namespace of statements and values.
pub(crate) fn is_statement_iri(iri: &str) -> bool {
    STATEMENT_NAMESPACES
        .iter()
        .any(|namespace| iri.starts_with(namespace))
}

/// The words of an IRI's local name if a person can read it: `Port_of_Spain`, but not `m.02xt6q`,
/// `Q42` or a hash.
pub fn readable_name(iri: &str) -> Option<String> {
    let local = percent_decode(split(iri).1);
    (!is_opaque(&local))
        .then(|| clean(&local.replace('_', " ")))
        .filter(|text| !text.is_empty())
}

/// Whether a local name is a key, not words: no three letters in a row, more digits than letters,
/// or a hexadecimal number.
fn is_opaque(local: &str) -> bool {
    let digits = local.chars().filter(char::is_ascii_digit).count();
    let letters = local.chars().filter(|c| c.is_alphabetic()).count();
    // Machine ids of Freebase: `m.` or `g.`, then digits and consonants.
    let machine = |rest: &str| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase() || b == b'_')
    };
    if local
        .strip_prefix("m.")
        .or_else(|| local.strip_prefix("g."))
        .is_some_and(machine)
    {
        return true;
    }
    let word = local
        .split(|c: char| !c.is_alphabetic())
        .any(|run| run.chars().count() >= 3);
    let hex = local
        .split(['-', '_', '.'])
        .any(|run| run.len() >= 8 && digits > 0 && run.bytes().all(|b| b.is_ascii_hexdigit()));
    !word || digits > letters || hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_names_differ_from_keys() {
        for (iri, name) in [
            ("http://a.example/Port_of_Spain", Some("Port of Spain")),
            ("http://a.example/S%C3%A3o_Paulo", Some("São Paulo")),
            ("http://a.example/product42", Some("product42")),
            ("http://rdf.freebase.com/ns/m.02xt6q", None),
            ("http://rdf.freebase.com/ns/m.spain", None),
            ("http://www.wikidata.org/entity/Q42", None),
            ("http://a.example/node/5f0c2a9be1d34477", None),
            (
                "http://a.example/7d793037-a076-4b2f-bc3e-9b7a4a2a7e3f",
                None,
            ),
            ("http://a.example/s0003", None),
        ] {
            assert_eq!(readable_name(iri).as_deref(), name, "{iri}");
        }
    }
}
