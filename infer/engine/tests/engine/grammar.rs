//! Random languages as acceptors, and vocabularies to write them with.

use std::collections::{BTreeMap, HashMap};

use common::acceptor::Acceptor;
use engine::{TokenTrie, Vocab};

use crate::support::Rng;
use crate::utf8::{AnyText, InChar};

/// A small call language: `name(arg[, arg])`, where an argument is a word of a set, a nested call
/// or a quoted string.
pub(crate) struct Grammar {
    pub(crate) names: Vec<Vec<u8>>,
    pub(crate) words: Vec<Vec<u8>>,
    depth: u8,
    strings: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) enum At {
    /// The bytes of a name so far.
    Name(Vec<u8>),
    /// After `(` or `, `: the bytes of an argument so far.
    Word(Vec<u8>),
    Text(InChar),
    /// After an argument.
    After,
    Space,
    Done,
}

#[derive(Clone)]
pub(crate) struct Place {
    at: At,
    /// Arguments left for each open call.
    open: Vec<u8>,
}

impl Grammar {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let alphabet: Vec<char> = "abcdefgé._- 012→".chars().collect();
        let mut word = |max: usize| {
            let n = 1 + rng.below(max);
            (0..n)
                .map(|_| alphabet[rng.below(alphabet.len())])
                .collect::<String>()
        };
        let names = (0..5)
            .map(|i| {
                format!("{}{i}", word(9))
                    .replace(['(', ')'], "")
                    .into_bytes()
            })
            .collect();
        // Words end in a letter that names do not contain, so that no word is a prefix of a name.
        let words = (0..12)
            .map(|_| format!("{}z", word(14)).into_bytes())
            .collect();
        Self {
            names,
            words,
            depth: rng.below(3) as u8,
            strings: rng.below(2) == 0,
        }
    }

    fn extends(set: &[Vec<u8>], prefix: &[u8]) -> bool {
        set.iter().any(|w| w.starts_with(prefix))
    }
}

impl Acceptor for Grammar {
    type State = Place;

    fn start(&self) -> Place {
        Place {
            at: At::Name(Vec::new()),
            open: Vec::new(),
        }
    }

    fn step(&self, place: &Place, byte: u8) -> Option<Place> {
        let mut open = place.open.clone();
        let at = match &place.at {
            At::Name(name) if byte == b'(' && self.names.contains(name) => {
                open.push(2);
                At::Word(Vec::new())
            }
            At::Name(name) => {
                let name = [&name[..], &[byte]].concat();
                Self::extends(&self.names, &name).then_some(At::Name(name))?
            }
            At::Word(word) if (byte == b')' || byte == b',') && self.words.contains(word) => {
                return self.step(
                    &Place {
                        at: At::After,
                        open,
                    },
                    byte,
                );
            }
            At::Word(word) if word.is_empty() && byte == b'"' && self.strings => {
                At::Text(AnyText.start())
            }
            At::Word(word)
                if word.is_empty() && byte == b'!' && (open.len() as u8) <= self.depth =>
            {
                At::Name(Vec::new())
            }
            At::Word(word) => {
                let word = [&word[..], &[byte]].concat();
                Self::extends(&self.words, &word).then_some(At::Word(word))?
            }
            At::Text(state) if byte == b'"' && AnyText.may_end(state) => At::After,
            At::Text(state) if byte >= b' ' => At::Text(AnyText.step(state, byte)?),
            At::After if byte == b')' => {
                open.pop()?;
                if open.is_empty() { At::Done } else { At::After }
            }
            At::After if byte == b',' && open.last() > Some(&1) => {
                *open.last_mut()? -= 1;
                At::Space
            }
            At::Space if byte == b' ' => At::Word(Vec::new()),
            _ => return None,
        };
        Some(Place { at, open })
    }

    fn may_end(&self, place: &Place) -> bool {
        place.at == At::Done
    }
}

/// A vocabulary of all bytes and random pieces, some of which split characters, with a greedy
/// longest-match tokenizer.
pub(crate) struct Tokens {
    pub(crate) bytes: BTreeMap<u32, Vec<u8>>,
    pub(crate) by_bytes: HashMap<Vec<u8>, u32>,
    pub(crate) vocab: Vocab,
}

impl Tokens {
    pub(crate) fn new(rng: &mut Rng, size: usize, from: &[&str], adds_space: bool) -> Self {
        let mut bytes: BTreeMap<u32, Vec<u8>> =
            (0..=255u8).map(|b| (u32::from(b), vec![b])).collect();
        let mut by_bytes: HashMap<Vec<u8>, u32> =
            bytes.iter().map(|(i, b)| (b.clone(), *i)).collect();
        let mut tries = 0;
        while bytes.len() < size && tries < 50 * size {
            tries += 1;
            let source = from[rng.below(from.len())].as_bytes();
            let at = rng.below(source.len());
            let piece = source[at..(at + 2 + rng.below(6)).min(source.len())].to_vec();
            if let std::collections::hash_map::Entry::Vacant(free) = by_bytes.entry(piece.clone()) {
                // Leaves a gap in the ids, as added tokens do.
                let id = bytes.len() as u32 + 3;
                free.insert(id);
                bytes.insert(id, piece);
            }
        }
        let end = bytes.keys().max().unwrap() + 1;
        let trie = TokenTrie::new(bytes.iter().map(|(i, b)| (*i, b.clone())));
        Self {
            bytes,
            by_bytes,
            vocab: Vocab {
                trie,
                end,
                adds_space,
            },
        }
    }

    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let text = if self.vocab.adds_space {
            format!(" {text}")
        } else {
            text.to_owned()
        };
        let mut rest = text.as_bytes();
        let mut ids = Vec::new();
        while !rest.is_empty() {
            let n = (1..=8.min(rest.len()))
                .rev()
                .find(|&n| self.by_bytes.contains_key(&rest[..n]))
                .unwrap();
            ids.push(self.by_bytes[&rest[..n]]);
            rest = &rest[n..];
        }
        ids
    }
}

pub(crate) const PIECES: [&str; 4] = ["abc.de-f", "é._é→→ 012", "z), (\"z\", !", "gabcdefz, abz)"];
