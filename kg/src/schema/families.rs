//! Two kinds of relations that depend on another relation, recognised by their names: translations (`nameCurrencyIT`),
//! and details of a value (`populationUnit` and `populationYear` describe `populationTotal`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::source::NamedRelation;
use crate::label::words;
use crate::names::split;
use crate::readable::relation_name;
use crate::term::RelId;

/// The codes of ISO 639-1.
const LANGUAGES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz \
    ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja \
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng \
    nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw \
    ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";
/// Words for what is told about a value.
const NOTES: &[&str] = &[
    "unit", "units", "note", "notes", "remark", "remarks", "comment", "source",
];
const TIMES: &[&str] = &["year", "date"];

/// A relation whose name ends in a language that siblings have too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LanguageVariant {
    /// The relation.
    pub relation: RelId,
    /// What the name says without the language; equal for all variants.
    pub stem: String,
    /// The language, in lower case.
    pub language: String,
}

/// A relation that tells something about the value of another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Companion {
    /// The relation: `populationUnit`.
    pub relation: RelId,
    /// What it tells, in one word: `unit`.
    pub what: String,
}

/// The relations of which there is one for each of at least two languages; sorted.
pub(super) fn language_variants(relations: &[NamedRelation]) -> Vec<LanguageVariant> {
    let mut families: BTreeMap<String, Vec<LanguageVariant>> = BTreeMap::new();
    for relation in relations {
        if let Some((stem, language)) = variant(&relation.iri) {
            let stem = stem.to_owned();
            families
                .entry(stem.clone())
                .or_default()
                .push(LanguageVariant {
                    relation: relation.id,
                    stem,
                    language,
                });
        }
    }
    let mut found: Vec<LanguageVariant> = (families.into_values())
        .filter(|family| family.len() > 1)
        .flatten()
        .collect();
    found.sort_unstable();
    found
}

/// The IRI without a language at its end, and the language: `nameShortEN`, `name_en`, `label-fr`.
fn variant(iri: &str) -> Option<(&str, String)> {
    let (stem, code) = iri.split_at_checked(iri.len().checked_sub(2)?)?;
    let bare = stem.strip_suffix(['_', '-']);
    let before = split(stem).1.chars().next_back()?;
    let written = match bare {
        Some(bare) => !split(bare).1.is_empty(),
        None => before.is_lowercase() && code.bytes().all(|byte| byte.is_ascii_uppercase()),
    };
    let language = code.to_ascii_lowercase();
    let known = LANGUAGES.split_whitespace().any(|known| known == language);
    (written && known).then(|| (bare.unwrap_or(stem), language))
}

/// The relations that tell unit, year or notes of a value that another relation has. There are at least two of them,
/// and one is no time: `birthYear` and `birthDate` are values themselves. Sorted.
pub(super) fn companions(relations: &[NamedRelation]) -> Vec<Companion> {
    let names: Vec<(&str, Vec<String>)> = (relations.iter())
        .map(|relation| (split(&relation.iri).0, words(&relation_name(&relation.iri))))
        .collect();
    let mut families: BTreeMap<(&str, &[String]), Vec<usize>> = BTreeMap::new();
    for (at, (namespace, name)) in names.iter().enumerate() {
        if let Some((last, stem)) = name.split_last().filter(|(_, stem)| !stem.is_empty())
            && (NOTES.contains(&last.as_str()) || TIMES.contains(&last.as_str()))
        {
            families.entry((*namespace, stem)).or_default().push(at);
        }
    }
    let last = |at: usize| names[at].1.last().map_or("", String::as_str);
    let mut found = Vec::new();
    for ((namespace, stem), members) in families {
        let kinds: BTreeSet<&str> = members.iter().map(|&at| last(at)).collect();
        let is_value = |at: usize| {
            let (of, name) = &names[at];
            *of == namespace && name.starts_with(stem) && !members.contains(&at)
        };
        if kinds.len() > 1
            && kinds.iter().any(|kind| NOTES.contains(kind))
            && (0..names.len()).any(is_value)
        {
            found.extend(members.iter().map(|&at| Companion {
                relation: relations[at].id,
                what: last(at).to_owned(),
            }));
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::local_name;

    fn of(locals: &[&str]) -> Vec<NamedRelation> {
        let relation = |(at, local): (usize, &&str)| NamedRelation {
            id: RelId(at as u32),
            iri: format!("http://a.example/o#{local}"),
            name: (*local).to_owned(),
        };
        locals.iter().enumerate().map(relation).collect()
    }

    #[test]
    fn languages_at_the_end_of_names_are_found() {
        let found = |locals: &[&str]| -> Vec<String> {
            let all = language_variants(&of(locals)).into_iter();
            all.map(|one| format!("{} {}", local_name(&one.stem), one.language))
                .collect()
        };
        assert_eq!(found(&["nameEN", "nameFR", "name"]), ["name en", "name fr"]);
        assert_eq!(found(&["label_de", "label_pt"]), ["label de", "label pt"]);
        assert!(found(&["codeUN", "codeXX", "nameIT"]).is_empty());
        assert!(found(&["EN", "FR", "_en", "_fr"]).is_empty());
    }

    #[test]
    fn what_is_told_about_a_value_is_found() {
        let found = |locals: &[&str]| -> Vec<String> {
            companions(&of(locals))
                .into_iter()
                .map(|one| one.what)
                .collect()
        };
        let area = ["areaTotal", "areaUnit", "areaYear", "area_notes"];
        assert_eq!(found(&area), ["unit", "year", "notes"]);
        assert_eq!(found(&["GDPTotal", "GDPUnit", "GDPYear"]), ["unit", "year"]);
        // No value, or only times, or only one.
        assert!(found(&["areaUnit", "areaYear"]).is_empty());
        assert!(found(&["birthYear", "birthDate", "birthPlace"]).is_empty());
        assert!(found(&["newsSource", "news"]).is_empty());
    }
}
