//! The file of a frozen graph: a header with a table of sections, then the sections, each on a 64-byte boundary, numbers little-endian.
//!
//! ```text
//! 0     magic "kgagent\x1a" · version u32 · sections u32 · file length u64 · triples u64 · terms u64 · resources u64
//! 48    content hash [32]  SHA-256 over the terms and the triples as ids: the same for equal graphs, whatever the layout
//! 80    header hash [32]   SHA-256 over these 4096 bytes with this field zero
//! 112   table              id u32 · 0 u32 · offset u64 · length u64 · SHA-256 [32]   for each section
//! 4096  sections
//! ```
//!
//! Opening reads the header and the small sections and checks their hashes; the large ones are only checked by [`Image::verify`]. What is
//! read later is bounds-checked at every use, so that changed bytes give wrong answers at worst.

use std::ops::Range;

use bytemuck::Pod;
use sha2::{Digest, Sha256};

use super::bytes::Bytes;
use crate::dictionary::Dictionary;

pub(super) const MAGIC: &[u8; 8] = b"kgagent\x1a";
/// The version of the layout that this program writes and reads.
pub(crate) const VERSION: u32 = 2;
pub(super) const HEADER: usize = 4096;
/// Sections begin on cache lines.
pub(super) const ALIGN: usize = 64;
const TABLE: usize = 112;
const ENTRY: usize = 56;
/// Sections up to this size are hashed when a graph is opened: some 50 microseconds each.
const SMALL: usize = 1 << 16;

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// A part of the file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(super) enum Section {
            $($(#[$doc])* $name = $id,)*
        }

        impl Section {
            /// All of them; the id of each is its place here.
            pub(super) const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

sections! {
    /// What is small and has a shape of its own, as JSON ([`super::meta::Meta`]).
    Meta = 0,
    /// Start of each block of the dictionary, u64.
    TermBlocks = 1,
    /// The dictionary.
    TermText = 2,
    /// First row of each resource as a subject, and the end: u32.
    SpoStarts = 3,
    /// Relation of each row, in order of subject, relation, object.
    SpoP = 4,
    /// Object of each row.
    SpoO = 5,
    /// Every relation.
    Relations = 6,
    /// First row of each relation, and the end.
    PosStarts = 7,
    /// Object of each row, in order of relation, object, subject.
    PosO = 8,
    /// Subject of each row.
    PosS = 9,
    /// First row of each term as an object, and the end.
    OpsStarts = 10,
    /// Relation of each row, in order of object, relation, subject.
    OpsP = 11,
    /// Subject of each row.
    OpsS = 12,
    /// The literal that is the label of each resource, [`NONE`] where there is none.
    Labels = 13,
    /// Hash of each folded label, sorted.
    FoldHashes = 14,
    /// The node that has it.
    FoldNodes = 15,
    /// Every class that some node is an instance of.
    Classes = 16,
    /// Relations and classes, sorted.
    NameIds = 17,
    /// End of the short name of each in `NameText`.
    NameEnds = 18,
    /// The names.
    NameText = 19,
    /// First row of each named graph in `GraphRows`, and the end; empty where every triple is in the default graph alone.
    GraphStarts = 20,
    /// Rows of SPO that are in the graph, sorted.
    GraphRows = 21,
}

/// How many of [`Section::ALL`] are written before the others are derived from them.
pub(super) const BASE_SECTIONS: Range<usize> = 1..13;

/// No id.
pub(super) const NONE: u32 = u32::MAX;

/// What is wrong with the bytes of a frozen graph.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The file does not begin as one of ours.
    #[error("it is no frozen graph")]
    Magic,
    /// Written by another version.
    #[error(
        "it has layout version {0}, this program reads version {VERSION}; load the sources again"
    )]
    Version(u32),
    /// Shorter or longer than it was written.
    #[error("it has {found} bytes and was written with {written}; it is cut off or was changed")]
    Length {
        /// Bytes there are.
        found: u64,
        /// Bytes there were.
        written: u64,
    },
    /// Header or section do not match their hash or each other.
    #[error("its {0} is damaged; load the sources again")]
    Section(String),
    /// Only little-endian machines can map the numbers.
    #[error("frozen graphs can only be read on little-endian machines")]
    Endian,
}

/// The counts and the hash in the header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub triples: u64,
    pub terms: u32,
    pub resources: u32,
    pub content_hash: [u8; 32],
}

/// One row of the section table.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub section: Section,
    pub range: Range<usize>,
    pub hash: [u8; 32],
}

/// The header's bytes.
pub(super) fn header_bytes(header: &Header, length: usize, table: &[Entry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(table.len() as u32).to_le_bytes());
    for number in [
        length as u64,
        header.triples,
        u64::from(header.terms),
        u64::from(header.resources),
    ] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&header.content_hash);
    out.resize(TABLE, 0);
    for entry in table {
        out.extend_from_slice(&(entry.section as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(entry.range.start as u64).to_le_bytes());
        out.extend_from_slice(&(entry.range.len() as u64).to_le_bytes());
        out.extend_from_slice(&entry.hash);
    }
    out.resize(HEADER, 0);
    let hash: [u8; 32] = Sha256::digest(&out).into();
    out[80..112].copy_from_slice(&hash);
    out
}

/// The bytes of a frozen graph and where its sections are.
#[derive(Debug, Default)]
pub(super) struct Image {
    bytes: Bytes,
    pub header: Header,
    table: Vec<Entry>,
    at: Vec<Range<usize>>,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

impl Image {
    /// Checks the header, the lengths and the small sections. `needed` are the sections that must be there.
    pub(super) fn open(bytes: Bytes, needed: &[Section]) -> Result<Self, Damage> {
        if cfg!(target_endian = "big") {
            return Err(Damage::Endian);
        }
        let all = bytes.as_slice();
        if all.get(..8) != Some(&MAGIC[..]) {
            return Err(Damage::Magic);
        }
        let cut = || Damage::Length {
            found: all.len() as u64,
            written: HEADER as u64,
        };
        let version = u32::from_le_bytes(number(all, 8).ok_or_else(cut)?);
        if version != VERSION {
            return Err(Damage::Version(version));
        }
        let mut head = all.get(..HEADER).ok_or_else(cut)?.to_vec();
        let hash: [u8; 32] = number(&head, 80).ok_or_else(cut)?;
        head[80..112].fill(0);
        let damaged = |what: &str| Damage::Section(what.to_owned());
        if Sha256::digest(&head)[..] != hash {
            return Err(damaged("header"));
        }
        let long = |at: usize| {
            number(&head, at)
                .map(u64::from_le_bytes)
                .ok_or_else(|| damaged("header"))
        };
        let written = long(16)?;
        if written != all.len() as u64 {
            return Err(Damage::Length {
                found: all.len() as u64,
                written,
            });
        }
        let short = |at: usize| u32::try_from(long(at)?).map_err(|_| damaged("header"));
        let header = Header {
            triples: long(24)?,
            terms: short(32)?,
            resources: short(40)?,
            content_hash: number(&head, 48).ok_or_else(|| damaged("header"))?,
        };
        let count =
            u32::from_le_bytes(number(&head, 12).ok_or_else(|| damaged("header"))?) as usize;
        let mut table: Vec<Entry> = Vec::new();
        let mut at = vec![0..0; Section::ALL.len()];
        for i in 0..count.min((HEADER - TABLE) / ENTRY) {
            let place = TABLE + i * ENTRY;
            let id =
                u32::from_le_bytes(number(&head, place).ok_or_else(|| damaged("section table"))?);
            let section = Section::ALL
                .get(id as usize)
                .copied()
                .ok_or_else(|| damaged("section table"))?;
            let start = usize::try_from(long(place + 8)?).map_err(|_| damaged("section table"))?;
            let length =
                usize::try_from(long(place + 16)?).map_err(|_| damaged("section table"))?;
            let end = start
                .checked_add(length)
                .filter(|&end| end <= all.len())
                .ok_or_else(|| damaged("section table"))?;
            if !start.is_multiple_of(ALIGN) || table.iter().any(|entry| entry.section == section) {
                return Err(damaged("section table"));
            }
            let hash = number(&head, place + 24).ok_or_else(|| damaged("section table"))?;
            at[id as usize] = start..end;
            table.push(Entry {
                section,
                range: start..end,
                hash,
            });
        }
        if needed
            .iter()
            .any(|section| !table.iter().any(|entry| entry.section == *section))
        {
            return Err(damaged("section table"));
        }
        let image = Self {
            header,
            table,
            at,
            bytes,
        };
        image.check_lengths()?;
        image.check_hashes(|len| len <= SMALL)?;
        Ok(image)
    }

    /// Whether the sections are as long as the header's counts want them.
    fn check_lengths(&self) -> Result<(), Damage> {
        let triples = usize::try_from(self.header.triples)
            .map_err(|_| Damage::Section("header".to_owned()))?;
        let (terms, resources) = (self.header.terms as usize, self.header.resources as usize);
        let relations = self.ids(Section::Relations).len();
        for (section, length) in [
            (Section::SpoStarts, resources + 1),
            (Section::SpoP, triples),
            (Section::SpoO, triples),
            (Section::PosStarts, relations + 1),
            (Section::PosO, triples),
            (Section::PosS, triples),
            (Section::OpsStarts, terms + 1),
            (Section::OpsP, triples),
            (Section::OpsS, triples),
        ] {
            let found = self.ids(section).len();
            if found != length {
                return Err(Damage::Section(format!(
                    "section {section:?} ({found} numbers where {length} belong)"
                )));
            }
        }
        let pairs = [
            (Section::FoldHashes, Section::FoldNodes),
            (Section::NameIds, Section::NameEnds),
        ];
        match pairs
            .into_iter()
            .find(|&(a, b)| self.ids(a).len() != self.ids(b).len())
        {
            Some((a, b)) => Err(Damage::Section(format!("pair of sections {a:?} and {b:?}"))),
            None => Ok(()),
        }
    }

    fn check_hashes(&self, which: impl Fn(usize) -> bool + Sync) -> Result<(), Damage> {
        use rayon::prelude::*;
        let wrong = |entry: &&Entry| {
            which(entry.range.len())
                && self
                    .bytes
                    .as_slice()
                    .get(entry.range.clone())
                    .map(Sha256::digest)
                    != Some(entry.hash.into())
        };
        // Few sections are large; the small ones are not worth a thread.
        let found = if self
            .table
            .iter()
            .any(|entry| entry.range.len() > SMALL && which(entry.range.len()))
        {
            self.table.par_iter().find_first(wrong)
        } else {
            self.table.iter().find(wrong)
        };
        found.map_or(Ok(()), |entry| {
            Err(Damage::Section(format!("section {:?}", entry.section)))
        })
    }

    /// Checks the hash of every section, large ones too, and that there is nothing between them.
    pub(super) fn verify(&self) -> Result<(), Damage> {
        let length = self.as_slice().len();
        let mut ranges: Vec<Range<usize>> =
            self.table.iter().map(|entry| entry.range.clone()).collect();
        ranges.push(length..length);
        ranges.sort_unstable_by_key(|range| range.start);
        let mut end = HEADER;
        for range in ranges {
            if self
                .as_slice()
                .get(end..range.start)
                .is_none_or(|gap| gap.iter().any(|&byte| byte != 0))
            {
                return Err(Damage::Section("space between sections".to_owned()));
            }
            end = end.max(range.end);
        }
        self.check_hashes(|_| true)
    }

    /// All bytes, as they are written to a file.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The table and the bytes, to add sections.
    pub(super) fn into_parts(self) -> (Header, Vec<Entry>, Bytes) {
        (self.header, self.table, self.bytes)
    }

    /// The bytes of a section; none where it is missing.
    pub(super) fn section(&self, section: Section) -> &[u8] {
        let range = self.at.get(section as usize).cloned().unwrap_or(0..0);
        self.bytes.as_slice().get(range).unwrap_or(&[])
    }

    /// A section as numbers; none where its length is no multiple of theirs.
    pub(super) fn numbers<T: Pod>(&self, section: Section) -> &[T] {
        bytemuck::try_cast_slice(self.section(section)).unwrap_or(&[])
    }

    /// A section as ids.
    pub(super) fn ids(&self, section: Section) -> &[u32] {
        self.numbers(section)
    }

    pub(super) fn dictionary(&self) -> Dictionary<'_> {
        Dictionary::new(
            self.numbers(Section::TermBlocks),
            self.section(Section::TermText),
            self.header.terms,
            self.header.resources,
        )
    }
}
