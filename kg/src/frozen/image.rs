//! The bytes of a frozen graph, divided into sections.
//!
//! Opening reads the header and the small sections and checks their hashes; only [`Image::verify`]
//! checks the large ones. Every later read is bounds-checked, so damaged bytes give wrong answers
//! at worst.

use std::ops::Range;

use bytemuck::Pod;
use sha2::{Digest, Sha256};

use super::bytes::ImageBytes;
use super::layout::{
    ALIGN, ENTRY, HEADER, ImageHeader, MAGIC, Section, SectionEntry, TABLE, VERSION,
};
use crate::dictionary::Dictionary;

/// Sections up to this size are hashed on opening, about 50 microseconds each.
const SMALL: usize = 1 << 16;

/// A frozen graph is damaged or unreadable.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The file does not start with the magic bytes.
    #[error("it is not a frozen graph")]
    Magic,
    /// The file has another layout version.
    #[error(
        "it has layout version {0}, this program reads version {VERSION}; load the sources again"
    )]
    Version(u32),
    /// The file was truncated or extended.
    #[error("it has {found} bytes instead of {written}; it was truncated or changed")]
    Length {
        /// Bytes now.
        found: u64,
        /// Bytes when it was written.
        written: u64,
    },
    /// A header or section does not match its hash or the other sections.
    #[error("its {0} is damaged; load the sources again")]
    Section(String),
    /// Numbers can only be mapped on little-endian machines.
    #[error("frozen graphs can only be read on little-endian machines")]
    Endian,
}

/// The bytes and the positions of the sections.
#[derive(Debug, Default)]
pub(super) struct Image {
    bytes: ImageBytes,
    pub header: ImageHeader,
    table: Vec<SectionEntry>,
    at: Vec<Range<usize>>,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

pub(super) fn damaged(what: &str) -> Damage {
    Damage::Section(what.to_owned())
}

fn long(head: &[u8], at: usize) -> Result<u64, Damage> {
    number(head, at)
        .map(u64::from_le_bytes)
        .ok_or_else(|| damaged("header"))
}

/// Checks the header of a file and returns it with the hash set to zero.
fn checked_header(all: &[u8]) -> Result<Vec<u8>, Damage> {
    if cfg!(target_endian = "big") {
        return Err(Damage::Endian);
    }
    if all.get(..8) != Some(&MAGIC[..]) {
        return Err(Damage::Magic);
    }
    let found = all.len() as u64;
    let cut = || Damage::Length {
        found,
        written: HEADER as u64,
    };
    let version = u32::from_le_bytes(number(all, 8).ok_or_else(cut)?);
    if version != VERSION {
        return Err(Damage::Version(version));
    }
    let mut head = all.get(..HEADER).ok_or_else(cut)?.to_vec();
    let hash: [u8; 32] = number(&head, 80).ok_or_else(cut)?;
    head[80..112].fill(0);
    if Sha256::digest(&head)[..] != hash {
        return Err(damaged("header"));
    }
    let written = long(&head, 16)?;
    if written != found {
        return Err(Damage::Length { found, written });
    }
    Ok(head)
}

/// The section table of a header; `None` if a section is unknown, listed twice, unaligned, or not
/// inside a file of `length` bytes.
fn section_table(head: &[u8], length: usize) -> Option<Vec<SectionEntry>> {
    let count = u32::from_le_bytes(number(head, 12)?) as usize;
    let mut table: Vec<SectionEntry> = Vec::new();
    for i in 0..count.min((HEADER - TABLE) / ENTRY) {
        let place = TABLE + i * ENTRY;
        let size = |at| usize::try_from(u64::from_le_bytes(number(head, at)?)).ok();
        let section = *Section::ALL.get(u32::from_le_bytes(number(head, place)?) as usize)?;
        let start = size(place + 8)?;
        let end = start
            .checked_add(size(place + 16)?)
            .filter(|&end| end <= length)?;
        if !start.is_multiple_of(ALIGN) || table.iter().any(|entry| entry.section == section) {
            return None;
        }
        table.push(SectionEntry {
            section,
            range: start..end,
            hash: number(head, place + 24)?,
        });
    }
    Some(table)
}

impl Image {
    /// Checks the header, the lengths and the small sections. `needed` sections must be present.
    pub(super) fn open(bytes: ImageBytes, needed: &[Section]) -> Result<Self, Damage> {
        let all = bytes.as_slice();
        let head = checked_header(all)?;
        let short = |at| u32::try_from(long(&head, at)?).map_err(|_| damaged("header"));
        let header = ImageHeader {
            triples: long(&head, 24)?,
            terms: short(32)?,
            resources: short(40)?,
            content_hash: number(&head, 48).ok_or_else(|| damaged("header"))?,
        };
        let table = section_table(&head, all.len()).ok_or_else(|| damaged("section table"))?;
        let listed = |section| table.iter().any(|entry| entry.section == section);
        if !needed.iter().all(|&section| listed(section)) {
            return Err(damaged("section table"));
        }
        let mut at = vec![0..0; Section::ALL.len()];
        for entry in &table {
            at[entry.section as usize] = entry.range.clone();
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

    /// Whether the section lengths match the counts in the header.
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
                    "section {section:?} ({found} numbers instead of {length})"
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
        let wrong = |entry: &&SectionEntry| {
            which(entry.range.len())
                && self
                    .bytes
                    .as_slice()
                    .get(entry.range.clone())
                    .map(Sha256::digest)
                    != Some(entry.hash.into())
        };
        // Threads pay off only for large sections, of which there are few.
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

    /// Checks the hash of every section, and that the gaps between sections are zero.
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

    /// All bytes, as written to a file.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The table and the bytes, to add sections.
    pub(super) fn into_parts(self) -> (ImageHeader, Vec<SectionEntry>, ImageBytes) {
        (self.header, self.table, self.bytes)
    }

    /// The bytes of a section; empty if it is missing.
    pub(super) fn section(&self, section: Section) -> &[u8] {
        let range = self.at.get(section as usize).cloned().unwrap_or(0..0);
        self.bytes.as_slice().get(range).unwrap_or(&[])
    }

    /// A section as numbers; empty if its length does not fit.
    pub(super) fn numbers<T: Pod>(&self, section: Section) -> &[T] {
        bytemuck::try_cast_slice(self.section(section)).unwrap_or(&[])
    }

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
