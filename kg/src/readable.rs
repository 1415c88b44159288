//! Names made from IRIs: the one place where the last part of an IRI becomes words. Tells readable
//! IRIs from opaque keys, and recognises statement nodes by namespace (rule R22).

use serde::{Deserialize, Serialize};

use crate::label::{clean, percent_decode};
use crate::names::{TEXT_NAMESPACE, split};
use crate::term::NodeId;

const STATEMENT_NAMESPACES: &[&str] = &[
    "http://www.wikidata.org/entity/statement/",
    "http://www.wikidata.org/value/",
    "http://www.wikidata.org/reference/",
];

/// Namespaces whose local names are titles, so that a node without a label is still readable.
pub(crate) const TITLE_NAMESPACES: &[&str] = &[
    "http://dbpedia.org/resource/",
    "http://dbpedia.org/resource/Category:",
    "http://dbpedia.org/ontology/",
    "http://yago-knowledge.org/resource/",
];

/// Fragments that mean the thing which a page describes: `alice#me` is Alice.
const SELF_FRAGMENTS: [&str; 5] = ["me", "this", "it", "self", "i"];

/// Minimum length of a word before a number that is split off: `Room101`, but not `H2O` or `C300`.
const WORD: usize = 3;

/// A prefix or suffix in IRIs that names the node's class. At least half of the class's instances have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindMark {
    /// The class.
    pub class: NodeId,
    /// The mark as it is written: `L`, `Lang`, or the whole word `person`.
    pub mark: String,
    /// The words for the class that it stands for: `Language`.
    pub word: String,
    /// Whether it stands before the name, and not behind it.
    pub before: bool,
}

/// Whether an IRI is in a namespace of titles.
pub(crate) fn is_title(iri: &str) -> bool {
    TITLE_NAMESPACES
        .iter()
        .any(|namespace| iri.starts_with(namespace))
}

/// Whether an IRI is in a namespace of statements and values.
pub(crate) fn is_statement_iri(iri: &str) -> bool {
    STATEMENT_NAMESPACES
        .iter()
        .any(|namespace| iri.starts_with(namespace))
}

/// The words of an IRI's last part if a person can read it: `Port of Spain` for `Port_of_Spain`,
/// `Ogre Mage` for `OgreMage`; `None` for `m.02xt6q`, `Q42` or a hash.
pub fn readable_name(iri: &str) -> Option<String> {
    let local = local_part(iri);
    (!is_opaque(&local))
        .then(|| clean(&spelled_out(iri, &local, true)))
        .filter(|text| !text.is_empty())
}

/// Whether [`readable_name`] has a name for an IRI: what is not opaque has letters.
pub(crate) fn is_readable(iri: &str) -> bool {
    let last = last_part(iri);
    match last.contains('%') {
        true => !is_opaque(&percent_decode(last)),
        false => !is_opaque(last),
    }
}

/// The name of a relation that has no other. A number belongs to its word: `code2` is not a `code`.
pub(crate) fn relation_name(iri: &str) -> String {
    let local = local_part(iri);
    match is_opaque(&local) {
        true => clean(&local.replace('_', " ")),
        false => clean(&spelled_out(iri, &local, false)),
    }
}

/// [`readable_name`] as the IRI writes it: only underscores become spaces.
pub(crate) fn written_name(iri: &str) -> Option<String> {
    let local = local_part(iri);
    (!is_opaque(&local))
        .then(|| clean(&local.replace('_', " ")))
        .filter(|text| !text.is_empty())
}

/// The name of a node that has no other: [`readable_name`], or the key as it is written.
pub(crate) fn shown_name(iri: &str) -> String {
    readable_name(iri).unwrap_or_else(|| clean(&local_part(iri).replace('_', " ")))
}

/// A name made from an IRI with the class spelled out, and what else the node may be called, where the name has a mark
/// of its class: `Common Language`, then `Common L` and `Common`.
pub(crate) fn marked_names<'m>(
    name: &str,
    marks: impl Iterator<Item = &'m KindMark>,
) -> (String, Vec<String>) {
    let (mut shown, mut others) = (name.to_owned(), Vec::new());
    for mark in marks {
        let rest = match mark.before {
            true => name.strip_prefix(mark.mark.as_str()),
            false => name.strip_suffix(mark.mark.as_str()),
        };
        let Some(rest) = rest.filter(|rest| rest.starts_with(' ') || rest.ends_with(' ')) else {
            continue;
        };
        let rest = rest.trim();
        let words = crate::label::words(&mark.word);
        // `sup fan 1` is no `Supply Fan fan 1`.
        let said = |word: &String| words.contains(word);
        if shown == name
            && !said(&mark.mark.to_lowercase())
            && !crate::label::words(rest).iter().any(said)
        {
            shown = match mark.before {
                true => format!("{} {rest}", mark.word),
                false => format!("{rest} {}", mark.word),
            };
            others.push(name.to_owned());
        }
        if !is_opaque(rest) {
            others.push(rest.to_owned());
        }
    }
    (shown, others)
}

/// The last part of an IRI that says something, decoded: neither empty nor `#me`.
fn local_part(iri: &str) -> String {
    percent_decode(last_part(iri))
}

/// [`local_part`] as it is written.
fn last_part(iri: &str) -> &str {
    let mut rest = iri;
    if let Some((page, fragment)) = rest.rsplit_once('#')
        && (fragment.is_empty() || SELF_FRAGMENTS.contains(&fragment))
    {
        rest = page;
    }
    // The last part of `http://a.example/` is no path.
    let trimmed = rest.trim_end_matches('/');
    if !split(trimmed).0.ends_with("//") && !trimmed.ends_with(':') {
        rest = trimmed;
    }
    split(rest).1
}

/// A decoded last part as words. In texts and titles only underscores are separators, because they are
/// written as people write them (`YouTube`). With `numbers`, a number begins a word.
fn spelled_out(iri: &str, local: &str, numbers: bool) -> String {
    let spaced = local.replace('_', " ");
    if is_title(iri) || iri.starts_with(TEXT_NAMESPACE) {
        return spaced;
    }
    // `alice-smith` and `The-Old-Mill` are written with hyphens for spaces, `Half-Ogre` is not.
    let hyphens = spaced.matches('-').count();
    let slug = !spaced.contains(' ') && (hyphens > 1 || !spaced.contains(char::is_uppercase));
    let spaced = if slug {
        spaced.replace('-', " ")
    } else {
        spaced
    };
    let pieces: Vec<String> = (spaced.split_whitespace())
        .map(|piece| split_case(piece, numbers))
        .collect();
    pieces.join(" ")
}

/// A piece of a name with spaces where a change of case or a number begins a word.
fn split_case(piece: &str, numbers: bool) -> String {
    let chars: Vec<char> = piece.chars().collect();
    let mut out = String::with_capacity(piece.len() + 4);
    let mut start = 0;
    for at in 0..chars.len() {
        let begins = |at: usize| numbers || !chars[at].is_ascii_digit();
        if at > start && begins(at) && begins_word(&chars, start, at) {
            out.push(' ');
            start = at;
        }
        out.push(chars[at]);
    }
    out
}

/// Whether a word begins at `at`; the word before it begins at `start`.
fn begins_word(chars: &[char], start: usize, at: usize) -> bool {
    let (before, here) = (chars[at - 1], chars[at]);
    let next = chars.get(at + 1);
    let lower_next = next.is_some_and(|c| c.is_lowercase());
    let word = &chars[start..at];
    if here.is_uppercase() {
        // `iPhone`, `pH` and `McDonald` are one word.
        let one_word = word.len() == 1 || matches!(word, ['M', 'c']);
        if before.is_lowercase() {
            return !one_word;
        }
        // The last capital of a run begins a word: `XML Http`. But `VAVs` is a plural.
        let plural = next == Some(&'s') && chars.get(at + 2).is_none_or(|c| !c.is_lowercase());
        return (before.is_uppercase() || before.is_numeric()) && lower_next && !plural;
    }
    here.is_ascii_digit()
        && before.is_lowercase()
        && word.len() >= WORD
        && word.iter().all(|c| c.is_alphabetic())
        && ends_number(chars, at)
}

/// Whether the digits from `at` on end the piece, or a word with a capital follows.
fn ends_number(chars: &[char], at: usize) -> bool {
    let rest = &chars[at..];
    let behind = rest.iter().position(|c| !c.is_ascii_digit());
    behind.is_none_or(|behind| {
        let begins = |at: usize, fits: fn(char) -> bool| rest.get(at).is_some_and(|&c| fits(c));
        begins(behind, char::is_uppercase) && begins(behind + 1, char::is_lowercase)
    })
}

/// Whether a local name is a key, not words: no three letters in a row, more digits than letters,
/// or a hexadecimal number.
fn is_opaque(local: &str) -> bool {
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
    let (mut digits, mut letters, mut run, mut longest) = (0, 0, 0, 0);
    for c in local.chars() {
        digits += usize::from(c.is_ascii_digit());
        run = if c.is_alphabetic() { run + 1 } else { 0 };
        letters += usize::from(run > 0);
        longest = longest.max(run);
    }
    let hex = digits > 0
        && (local.split(['-', '_', '.']))
            .any(|run| run.len() >= 8 && run.bytes().all(|b| b.is_ascii_hexdigit()));
    longest < 3 || digits > letters || hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_names_differ_from_keys() {
        for (iri, name) in [
            ("http://a.example/Port_of_Spain", Some("Port of Spain")),
            ("http://a.example/S%C3%A3o_Paulo", Some("São Paulo")),
            ("http://a.example/product42", Some("product 42")),
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
            assert_eq!(is_readable(iri), name.is_some(), "{iri}");
        }
    }

    #[test]
    fn names_are_split_into_words() {
        for (iri, name) in [
            ("http://a.example/o#chaoticGood", "chaotic Good"),
            ("http://a.example/o#XMLHttpRequest", "XML Http Request"),
            (
                "http://a.example/o#TRIZMasterCouncil",
                "TRIZ Master Council",
            ),
            ("http://a.example/o#vav_C300", "vav C300"),
            ("http://a.example/o#has_Topping_2", "has Topping 2"),
            ("http://a.example/o#Room101", "Room 101"),
            ("http://a.example/o#Win32API", "Win32API"),
            ("http://a.example/o#Area51Base", "Area 51 Base"),
            ("http://a.example/o#mp3Player", "mp3 Player"),
            ("http://a.example/o#Room101b", "Room101b"),
            ("http://a.example/o#VAVs", "VAVs"),
            ("http://a.example/o#CommonL", "Common L"),
            ("http://a.example/o#LCommon", "L Common"),
            ("http://a.example/o#iPhoneCase", "iPhone Case"),
            ("http://a.example/o#RonaldMcDonald", "Ronald McDonald"),
            ("http://a.example/o#%C3%89coleNormale", "École Normale"),
            ("http://a.example/o#Caf%C3%A9", "Café"),
            ("http://a.example/o#ΑθήναΝέα", "Αθήνα Νέα"),
            ("http://a.example/alice-smith", "alice smith"),
            ("http://a.example/The-Old-Mill", "The Old Mill"),
            ("http://a.example/Half-Ogre", "Half-Ogre"),
            ("http://a.example/people/AliceSmith#me", "Alice Smith"),
            ("http://a.example/people/alice/", "alice"),
            ("http://a.example/people/alice/#this", "alice"),
            ("http://a.example/Category:Rivers", "Category:Rivers"),
            ("urn:zoo:animal:SnowLeopard", "Snow Leopard"),
            ("http://dbpedia.org/resource/YouTube_Music", "YouTube Music"),
            ("http://a.example/bad%E9name", "bad%E9name"),
        ] {
            assert_eq!(readable_name(iri).as_deref(), Some(name), "{iri}");
        }
    }

    #[test]
    fn numbers_stay_with_the_words_of_relations() {
        for (iri, name) in [
            ("http://a.example/o#code2", "code2"),
            ("http://a.example/o#isPartOf_2", "is Part Of 2"),
            ("http://a.example/o#hasIDNumber", "has ID Number"),
        ] {
            assert_eq!(relation_name(iri), name, "{iri}");
        }
    }

    #[test]
    fn keys_stay_as_they_are() {
        for (iri, name) in [
            ("http://a.example/o#H2O", "H2O"),
            ("http://a.example/o#C300", "C300"),
            ("urn:isbn:0451450523", "0451450523"),
            (
                "urn:uuid:7d793037-a076-4b2f-bc3e-9b7a4a2a7e3f",
                "7d793037-a076-4b2f-bc3e-9b7a4a2a7e3f",
            ),
            ("http://a.example/", ""),
        ] {
            assert_eq!(readable_name(iri), None, "{iri}");
            assert_eq!(shown_name(iri), name, "{iri}");
        }
    }
}
