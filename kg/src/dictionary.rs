//! The term dictionary of a graph: every term once, sorted. The id of a term is its rank, so sets
//! of ids compare like sets of terms.
//!
//! A term is stored as one *key*: a tag byte that sorts IRIs before blank nodes before literals,
//! then the text. Keys are stored in blocks of [`BLOCK`]. The first key of a block is complete;
//! every other key is the length of the prefix that it shares with its predecessor, and the rest
//! (front coding). The bytes may come from a modified file: decoding always terminates and stays in
//! bounds.

use crate::term::{Literal, Term};

/// First byte of the key of an IRI.
pub(crate) const IRI: char = '1';
/// First byte of the key of a blank node.
pub(crate) const BLANK: char = '2';
/// First byte of the key of a literal.
pub(crate) const LITERAL: char = '3';
/// Separates lexical form, datatype and language. Datatypes and languages cannot contain it, so
/// splitting from the right is exact.
const SEPARATOR: char = '\0';

/// Keys per block. A lookup decodes half a block on average; each block costs eight bytes and one
/// complete key.
const BLOCK: u32 = 16;

/// Capacity that is enough for most keys.
const KEY: usize = 96;

/// Writes the key of a literal to `out`, which is cleared first.
pub(crate) fn literal_key(out: &mut String, lexical: &str, datatype: &str, lang: &str) {
    out.clear();
    out.push(LITERAL);
    out.push_str(lexical);
    out.push(SEPARATOR);
    out.push_str(datatype);
    out.push(SEPARATOR);
    out.push_str(lang);
}

/// The common prefix of the keys of all literals whose text starts with `text`.
pub(crate) fn literal_prefix(text: &str) -> String {
    let mut prefix = String::with_capacity(text.len() + 1);
    prefix.push(LITERAL);
    prefix.push_str(text);
    prefix
}

/// Writes the key of an IRI or blank node to `out`, which is cleared first.
pub(crate) fn node_key(out: &mut String, tag: char, text: &str) {
    out.clear();
    out.push(tag);
    out.push_str(text);
}

/// Writes the key of a term to `out`, which is cleared first.
pub(crate) fn term_key(out: &mut String, term: &Term) {
    match term {
        Term::Iri(iri) => node_key(out, IRI, iri),
        Term::Blank(id) => node_key(out, BLANK, id),
        Term::Literal(l) => literal_key(
            out,
            &l.lexical,
            l.datatype.as_deref().unwrap_or(""),
            l.lang.as_deref().unwrap_or(""),
        ),
    }
}

/// The parts of a term, borrowed from its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermParts<'a> {
    /// The text of an IRI.
    Iri(&'a str),
    /// The label of a blank node.
    Blank(&'a str),
    /// Lexical form, datatype and language; the last two may be empty.
    Literal(&'a str, &'a str, &'a str),
}

impl<'a> TermParts<'a> {
    pub(crate) fn of(key: &'a str) -> Self {
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
            Self::Literal(lexical, datatype, lang) => Term::Literal(Literal {
                lexical: lexical.to_owned(),
                datatype: some(datatype),
                lang: some(lang),
            }),
        }
    }
}

/// A decoded key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermKey(String);

impl TermKey {
    pub(crate) fn parts(&self) -> TermParts<'_> {
        TermParts::of(&self.0)
    }

    /// The text of an IRI; `None` for any other term.
    pub(crate) fn iri(&self) -> Option<&str> {
        match self.parts() {
            TermParts::Iri(iri) => Some(iri),
            TermParts::Blank(_) | TermParts::Literal(..) => None,
        }
    }
}

/// All terms of a graph, sorted by key; the id of a term is its rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dictionary<'a> {
    /// Start of each block in `text`.
    blocks: &'a [u64],
    text: &'a [u8],
    len: u32,
    resources: u32,
}

impl<'a> Dictionary<'a> {
    pub(crate) fn new(blocks: &'a [u64], text: &'a [u8], len: u32, resources: u32) -> Self {
        Self {
            blocks,
            text,
            len,
            resources: resources.min(len),
        }
    }

    /// Number of terms.
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// The ids of all IRIs and blank nodes. They are smaller than those of literals.
    pub(crate) fn resources(self) -> std::ops::Range<u32> {
        0..self.resources
    }

    /// The bytes from the start of a block.
    fn block(self, index: u32) -> &'a [u8] {
        let start = self
            .blocks
            .get(index as usize)
            .and_then(|&at| usize::try_from(at).ok());
        start.and_then(|at| self.text.get(at..)).unwrap_or(&[])
    }

    fn head(self, index: u32) -> &'a [u8] {
        let mut rest = self.block(index);
        varint(&mut rest)
            .and_then(|len| rest.get(..len))
            .unwrap_or(&[])
    }

    /// The key of a term; empty for an unknown id.
    pub(crate) fn key(self, id: u32) -> TermKey {
        let mut keys = TermKeys::at(self, id / BLOCK);
        for _ in 0..id % BLOCK {
            keys.next();
        }
        if keys.next().is_none() {
            return TermKey::default();
        }
        let key = std::mem::take(&mut keys.key);
        TermKey(
            String::from_utf8(key)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }

    /// The first block whose first key is greater than `key`.
    fn block_behind(self, key: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.len.div_ceil(BLOCK));
        while low < high {
            let middle = low.midpoint(high);
            if self.head(middle) <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether some key starts with `prefix`.
    pub(crate) fn has_prefix(self, prefix: &str) -> bool {
        let prefix = prefix.as_bytes();
        let behind = self.block_behind(prefix);
        if self.head(behind).starts_with(prefix) {
            return true;
        }
        let Some(block) = behind.checked_sub(1) else {
            return false;
        };
        let mut keys = TermKeys::at(self, block);
        for _ in 0..BLOCK {
            let Some((_, found)) = keys.next() else {
                return false;
            };
            if found >= prefix {
                return found.starts_with(prefix);
            }
        }
        false
    }

    /// The id of a key. Keys are not decoded: within the block only the unshared part of a key is
    /// compared, and only if its predecessor matched `key` up to there.
    pub(crate) fn find(self, key: &str) -> Option<u32> {
        let key = key.as_bytes();
        let block = self.block_behind(key).checked_sub(1)?;
        let (mut rest, first) = (self.block(block), block.checked_mul(BLOCK)?);
        // Length of the prefix that the last key and `key` have in common.
        let mut common = 0;
        for id in (first..self.len).take(BLOCK as usize) {
            let shared = if id == first { 0 } else { varint(&mut rest)? };
            let rest_of_key = varint(&mut rest)?;
            let (rest_of_key, behind) = rest.split_at_checked(rest_of_key)?;
            rest = behind;
            match shared.cmp(&common) {
                // It is greater than its predecessor at a position where the predecessor equals
                // `key`.
                std::cmp::Ordering::Less => return None,
                // It differs from `key` at the same position as its predecessor.
                std::cmp::Ordering::Greater => continue,
                std::cmp::Ordering::Equal => {}
            }
            let wanted = key.get(common..)?;
            let equal = rest_of_key
                .iter()
                .zip(wanted)
                .take_while(|(a, b)| a == b)
                .count();
            common += equal;
            match (rest_of_key.get(equal), wanted.get(equal)) {
                (None, None) => return Some(id),
                (Some(_), None) => return None,
                (Some(a), Some(b)) if a > b => return None,
                _ => {}
            }
        }
        None
    }

    pub(crate) fn find_iri(self, iri: &str) -> Option<u32> {
        let mut key = String::with_capacity(iri.len() + 1);
        node_key(&mut key, IRI, iri);
        self.find(&key)
    }

    /// All keys in order.
    pub(crate) fn keys(self) -> TermKeys<'a> {
        TermKeys::at(self, 0)
    }
}

/// Iterates over a dictionary and decodes each key once.
#[derive(Debug)]
pub(crate) struct TermKeys<'a> {
    dictionary: Dictionary<'a>,
    next: u32,
    rest: &'a [u8],
    key: Vec<u8>,
}

impl<'a> TermKeys<'a> {
    fn at(dictionary: Dictionary<'a>, block: u32) -> Self {
        Self {
            dictionary,
            next: block.saturating_mul(BLOCK),
            rest: dictionary.block(block),
            key: Vec::with_capacity(KEY),
        }
    }

    /// The next id and its key; `None` at the end, and if the bytes are not valid.
    pub(crate) fn next(&mut self) -> Option<(u32, &[u8])> {
        let id = self.next;
        if id >= self.dictionary.len {
            return None;
        }
        let shared = if id.is_multiple_of(BLOCK) {
            self.rest = self.dictionary.block(id / BLOCK);
            0
        } else {
            varint(&mut self.rest)?
        };
        let rest_of_key = varint(&mut self.rest)?;
        let (rest_of_key, rest) = self.rest.split_at_checked(rest_of_key)?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(rest_of_key);
        self.rest = rest;
        self.next += 1;
        Some((id, &self.key))
    }
}

/// Encodes sorted keys one after the other.
#[derive(Debug, Default)]
pub(crate) struct DictionaryEncoder {
    len: u32,
    resources: u32,
    last: Vec<u8>,
    at: u64,
}

impl DictionaryEncoder {
    /// Appends the encoded next key to `text`, and to `blocks` if it starts a block. Returns its
    /// id.
    pub(crate) fn push(&mut self, key: &[u8], text: &mut Vec<u8>, blocks: &mut Vec<u64>) -> u32 {
        let begun = text.len();
        let rest_of_key = if self.len.is_multiple_of(BLOCK) {
            blocks.push(self.at);
            key
        } else {
            let shared = key
                .iter()
                .zip(&self.last)
                .take_while(|(a, b)| a == b)
                .count();
            push_varint(text, shared);
            &key[shared..]
        };
        push_varint(text, rest_of_key.len());
        text.extend_from_slice(rest_of_key);
        self.at += (text.len() - begun) as u64;
        self.last.clear();
        self.last.extend_from_slice(key);
        self.len += 1;
        if key.first() != Some(&(LITERAL as u8)) {
            self.resources = self.len;
        }
        self.len - 1
    }

    /// Number of keys, and how many of them are not literals.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.len, self.resources)
    }
}

/// Reads a number with seven bits per byte, lowest first.
pub(crate) fn varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return usize::try_from(value).ok();
        }
    }
    None
}

/// Writes a number in the format of [`varint`].
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
