//! The file of a frozen graph: a header with a table of sections, then the sections, each aligned
//! to 64 bytes. Numbers are little-endian.
//!
//! ```text
//! 0     magic "kgagent\x1a" · version u32 · sections u32 · file length u64 · triples u64 · terms u64 · resources u64
//! 48    content hash [32]  SHA-256 over the terms and the triples as ids, independent of the layout
//! 80    header hash [32]   SHA-256 over these 4096 bytes with this field zero
//! 112   table              per section: id u32 · 0 u32 · offset u64 · length u64 · SHA-256 [32]
//! 4096  sections
//! ```

use std::ops::Range;

use sha2::{Digest, Sha256};

pub(super) const MAGIC: &[u8; 8] = b"kgagent\x1a";
/// The layout version that this program writes and reads.
pub(crate) const VERSION: u32 = 2;
pub(super) const HEADER: usize = 4096;
/// Sections are aligned to cache lines.
pub(super) const ALIGN: usize = 64;
pub(super) const TABLE: usize = 112;
pub(super) const ENTRY: usize = 56;
macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// A section of the file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(super) enum Section {
            $($(#[$doc])* $name = $id,)*
        }

        impl Section {
            /// All sections; the id of a section is its index.
            pub(super) const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

sections! {
    /// Small data of any shape, as JSON ([`super::meta::GraphMeta`]).
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
    /// The label literal of each resource, or [`NONE`].
    Labels = 13,
    /// Hash of each folded label, sorted.
    FoldHashes = 14,
    /// The node with that label.
    FoldNodes = 15,
    /// Every class that has an instance.
    Classes = 16,
    /// Relations and classes, sorted.
    NameIds = 17,
    /// End of the short name of each of them in `NameText`.
    NameEnds = 18,
    /// The names.
    NameText = 19,
    /// First row of each named graph in `GraphRows`, and the end; empty if every triple is only in
    /// the default graph.
    GraphStarts = 20,
    /// The rows of each named graph in SPO order, sorted.
    GraphRows = 21,
}

/// The sections that are written first; the others are derived from them.
pub(super) const BASE_SECTIONS: Range<usize> = 1..13;

/// The absence of an id.
pub(super) const NONE: u32 = u32::MAX;

/// Counts and content hash from the header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ImageHeader {
    pub triples: u64,
    pub terms: u32,
    pub resources: u32,
    pub content_hash: [u8; 32],
}

/// One row of the section table.
#[derive(Clone, Debug)]
pub(super) struct SectionEntry {
    pub section: Section,
    pub range: Range<usize>,
    pub hash: [u8; 32],
}

/// Encodes the header.
pub(super) fn header_bytes(header: &ImageHeader, length: usize, table: &[SectionEntry]) -> Vec<u8> {
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
