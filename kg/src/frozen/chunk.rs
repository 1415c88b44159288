//! A chunk of the input while it is being read: its terms, each once, and its triples with local
//! ids.

use std::hash::Hasher;
use std::io::{self, Write};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::rows::Row;
use super::spool::{Spool, SpoolReader, WorkFile};
use crate::dictionary::{push_varint, varint};

/// Memory per term in addition to its text: its end, its table slot, and its place in the sort
/// order.
const TERM_BYTES: usize = 32;
/// Memory per triple, while reading and while sorting.
const ROW_BYTES: usize = 48;

/// Terms and triples of a part of the input.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    text: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
    rows: Vec<Row>,
}

/// A chunk with sorted terms, in memory or on disk.
#[derive(Debug)]
pub(crate) struct SealedChunk {
    /// The sorted keys, front-coded.
    pub(super) keys: SpoolReader,
    pub(super) terms: usize,
    pub(super) rows: SpoolReader,
    pub(super) count: usize,
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

fn slice<'a>(text: &'a [u8], ends: &[usize], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = id.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[id]]
}

impl Chunk {
    /// The local id of a key.
    pub(crate) fn intern(&mut self, key: &str) -> u32 {
        let Self {
            text, ends, table, ..
        } = self;
        let key = key.as_bytes();
        let entry = table.entry(
            hash(key),
            |&id| slice(text, ends, id) == key,
            |&id| hash(slice(text, ends, id)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(found) => *found.get(),
            hashbrown::hash_table::Entry::Vacant(free) => {
                // A chunk is sealed long before it has 2³² terms, because each takes more than one
                // byte of its budget.
                let id = ends.len() as u32;
                text.extend_from_slice(key);
                ends.push(text.len());
                free.insert(id);
                id
            }
        }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the next triple could overflow the local ids or the row numbers.
    pub(crate) fn is_full(&self) -> bool {
        const MOST: usize = u32::MAX as usize - 8;
        self.ends.len() >= MOST || self.rows.len() >= MOST
    }

    /// Memory in use now and while sealing.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * TERM_BYTES + self.rows.len() * ROW_BYTES
    }

    /// Sorts the terms and renumbers the triples. Writes both to the work file, if given.
    pub(crate) fn seal(self, work: Option<&WorkFile>) -> io::Result<SealedChunk> {
        let Self {
            text,
            ends,
            table,
            mut rows,
        } = self;
        drop(table);
        let mut order: Vec<u32> = (0..ends.len() as u32).collect();
        rayon::slice::ParallelSliceMut::par_sort_unstable_by(&mut order[..], |&a, &b| {
            slice(&text, &ends, a).cmp(slice(&text, &ends, b))
        });
        let mut rank = vec![0; order.len()];
        for (sorted, &id) in (0..).zip(&order) {
            rank[id as usize] = sorted;
        }
        for row in &mut rows {
            let [s, p, o, graph] = *row;
            *row = [rank[s as usize], rank[p as usize], rank[o as usize], graph];
        }
        drop(rank);
        let (terms, count) = (order.len(), rows.len());
        let mut spool = Spool::new(work);
        spool.write_all(bytemuck::cast_slice(&rows))?;
        drop(rows);
        let mut keys = Spool::new(work);
        let (mut last, mut code): (&[u8], Vec<u8>) = (&[], Vec::new());
        for id in order {
            let key = slice(&text, &ends, id);
            let shared = key.iter().zip(last).take_while(|(a, b)| a == b).count();
            code.clear();
            push_varint(&mut code, shared);
            push_varint(&mut code, key.len() - shared);
            code.extend_from_slice(&key[shared..]);
            keys.write_all(&code)?;
            last = key;
        }
        Ok(SealedChunk {
            keys: keys.reader()?,
            terms,
            rows: spool.reader()?,
            count,
        })
    }
}

/// Reads the keys of a sealed chunk in order.
#[derive(Debug)]
pub(super) struct KeyReader {
    reader: io::BufReader<SpoolReader>,
    left: usize,
    /// The current key.
    pub key: Vec<u8>,
}

impl KeyReader {
    pub(super) fn new(reader: SpoolReader, terms: usize) -> Self {
        Self {
            reader: io::BufReader::with_capacity(1 << 16, reader),
            left: terms,
            key: Vec::new(),
        }
    }

    /// Reads the next key; false at the end.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        use std::io::{BufRead, Read};
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let mut number = || -> io::Result<usize> {
            let mut bytes = Vec::with_capacity(4);
            loop {
                let &byte = self
                    .reader
                    .fill_buf()?
                    .first()
                    .ok_or(io::ErrorKind::UnexpectedEof)?;
                self.reader.consume(1);
                bytes.push(byte);
                if byte < 0x80 {
                    return varint(&mut &bytes[..])
                        .ok_or_else(|| io::ErrorKind::InvalidData.into());
                }
            }
        };
        let shared = number()?;
        let rest = number()?;
        self.key.truncate(shared);
        let before = self.key.len();
        self.key.resize(before + rest, 0);
        self.reader.read_exact(&mut self.key[before..])?;
        Ok(true)
    }
}
