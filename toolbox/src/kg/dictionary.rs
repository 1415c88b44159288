//! The term dictionary of a graph: every term once, sorted, so that an id is a rank and sets of ids compare like sets of terms.
//!
//! A term is kept as one *key* string: a tag byte that puts IRIs before blank nodes before literals, then the text. All keys lie in one
//! buffer, which is what a memory-mapped file needs and costs one allocation instead of one a term.

use rustc_hash::FxHashMap;

use crate::term::{Literal, Term};

/// First byte of the key of an IRI.
pub(crate) const IRI: char = '1';
/// First byte of the key of a blank node.
pub(crate) const BLANK: char = '2';
/// First byte of the key of a literal.
pub(crate) const LITERAL: char = '3';
/// Separates lexical form, datatype and language; neither of the last two can hold it, so splitting from the right is exact.
const SEPARATOR: char = '\0';

/// Writes the key of a literal over `out`.
pub(crate) fn literal_key(out: &mut String, lexical: &str, datatype: &str, lang: &str) {
    out.clear();
    out.push(LITERAL);
    out.push_str(lexical);
    out.push(SEPARATOR);
    out.push_str(datatype);
    out.push(SEPARATOR);
    out.push_str(lang);
}

/// Writes the key of an IRI or blank node over `out`.
pub(crate) fn node_key(out: &mut String, tag: char, text: &str) {
    out.clear();
    out.push(tag);
    out.push_str(text);
}

/// Writes the key of a term over `out`.
pub(crate) fn term_key(out: &mut String, term: &Term) {
    match term {
        Term::Iri(iri) => node_key(out, IRI, iri),
        Term::Blank(id) => node_key(out, BLANK, id),
        Term::Literal(l) => literal_key(out, &l.lexical, l.datatype.as_deref().unwrap_or(""), l.lang.as_deref().unwrap_or("")),
    }
}

/// A key seen as the parts of a term, without copying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts<'a> {
    /// The text of an IRI.
    Iri(&'a str),
    /// The label of a blank node.
    Blank(&'a str),
    /// Lexical form, datatype (empty: none) and language (empty: none).
    Literal(&'a str, &'a str, &'a str),
}

impl<'a> Parts<'a> {
    fn of(key: &'a str) -> Self {
        let (tag, text) = key.split_at(key.chars().next().map_or(0, char::len_utf8));
        match tag.chars().next() {
            Some(LITERAL) => {
                let mut parts = text.rsplitn(3, SEPARATOR);
                let lang = parts.next().unwrap_or("");
                let datatype = parts.next().unwrap_or("");
                Self::Literal(parts.next().unwrap_or(""), datatype, lang)
            }
            Some(BLANK) => Self::Blank(text),
            _ => Self::Iri(text),
        }
    }

    pub(crate) fn to_term(self) -> Term {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match self {
            Self::Iri(iri) => Term::Iri(iri.to_owned()),
            Self::Blank(id) => Term::Blank(id.to_owned()),
            Self::Literal(lexical, datatype, lang) => {
                Term::Literal(Literal { lexical: lexical.to_owned(), datatype: some(datatype), lang: some(lang) })
            }
        }
    }
}

/// All terms of a graph, sorted by key; the id of a term is its rank.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    text: String,
    /// End of each key in `text`.
    ends: Vec<usize>,
}

impl Dictionary {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn key(&self, index: usize) -> &str {
        let start = index.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        self.ends.get(index).and_then(|&end| self.text.get(start..end)).unwrap_or("")
    }

    pub(crate) fn parts(&self, id: u32) -> Parts<'_> {
        Parts::of(self.key(id as usize))
    }

    pub(crate) fn find(&self, key: &str) -> Option<u32> {
        let index = self.lower_bound(key);
        (index < self.len() && self.key(index) == key).then_some(u32::try_from(index).ok()?)
    }

    pub(crate) fn find_iri(&self, iri: &str) -> Option<u32> {
        let mut key = String::with_capacity(iri.len() + 1);
        node_key(&mut key, IRI, iri);
        self.find(&key)
    }

    fn lower_bound(&self, key: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Every id that is an IRI or blank node: they come before all literals.
    pub(crate) fn resources(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.lower_bound("3")).unwrap_or(u32::MAX)
    }
}

/// Collects triples of keys and turns them into a dictionary and triples of ids.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    ids: FxHashMap<Box<str>, u32>,
    triples: Vec<[u32; 3]>,
}

impl Builder {
    /// The provisional id of a key, `None` when the graph has more terms than ids.
    pub(crate) fn intern(&mut self, key: &str) -> Option<u32> {
        if let Some(&id) = self.ids.get(key) {
            return Some(id);
        }
        let id = u32::try_from(self.ids.len()).ok().filter(|&id| id < u32::MAX)?;
        self.ids.insert(key.into(), id);
        Some(id)
    }

    pub(crate) fn push(&mut self, triple: [u32; 3]) {
        self.triples.push(triple);
    }

    /// Sorts the terms, renumbers the triples, sorts them and drops repeated ones.
    pub(crate) fn finish(self) -> (Dictionary, Vec<[u32; 3]>) {
        let mut keys: Vec<(Box<str>, u32)> = self.ids.into_iter().collect();
        keys.sort_unstable();
        let mut dictionary =
            Dictionary { text: String::with_capacity(keys.iter().map(|(key, _)| key.len()).sum()), ends: Vec::with_capacity(keys.len()) };
        let mut rank = vec![0; keys.len()];
        for (sorted, (key, provisional)) in (0u32..).zip(&keys) {
            dictionary.text.push_str(key);
            dictionary.ends.push(dictionary.text.len());
            rank[*provisional as usize] = sorted;
        }
        drop(keys);
        let mut triples: Vec<[u32; 3]> = self.triples.iter().map(|t| t.map(|id| rank[id as usize])).collect();
        triples.sort_unstable();
        triples.dedup();
        (dictionary, triples)
    }
}
