//! Merges the chunks of the input into the sections of a frozen graph. The result depends only on
//! the triples: not on their order or on the chunk boundaries.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::assemble::{ImageWriter, SectionWriter};
use super::axioms::{self, AxiomTerms, Kinds, Stated, WantedTerms};
use super::chunk::{KeyReader, SealedChunk};
use super::derive;
use super::error::FreezeError;
use super::image::Image;
use super::layout::{ImageHeader, Section};
use super::rows::{self, Row, RowRun, merge};
use super::spool::{Spool, SpoolReader, WorkFile};
use crate::dictionary::DictionaryEncoder;

/// Size of a buffer before it is written.
const GATHER: usize = 1 << 16;

/// All chunks of an input.
#[derive(Debug, Default)]
pub(crate) struct FreezeInput {
    pub chunks: Vec<SealedChunk>,
    /// The names of the graphs that rows refer to by number. The default graph has the empty name.
    pub graphs: Vec<String>,
    /// The memory in bytes with which triples that axioms state are added; `None` if they are not.
    pub reasoning: Option<usize>,
    /// Names or IRIs of relations whose texts become labels, best first.
    pub labels: Vec<String>,
}

/// Writes a frozen graph. With a `work` file, data are sorted there instead of in memory.
pub(super) fn freeze(
    input: FreezeInput,
    path: Option<&Path>,
    work: Option<&WorkFile>,
) -> Result<Image, FreezeError> {
    let FreezeInput {
        chunks,
        graphs,
        reasoning,
        labels,
    } = input;
    let mut base = BaseSections {
        work,
        parts: Vec::new(),
        hasher: Sha256::new(),
        header: ImageHeader::default(),
    };
    let (mut runs, kinds, terms) = base.terms(chunks)?;
    let stated = match reasoning {
        Some(memory) => axioms::stated(&mut runs, &terms, &kinds, memory)?,
        None => Stated::default(),
    };
    if !stated.rows.is_empty() {
        runs.push(rows::run(&stated.rows)?);
    }
    let mut names = graphs.clone();
    names.sort_unstable();
    names.dedup();
    let numbers: Vec<u32> = graphs
        .iter()
        .map(|name| names.binary_search(name).unwrap_or(0) as u32)
        .collect();
    let (members, axioms) = base.spo(&mut runs, &numbers, names.len(), &stated.rows)?;
    base.pos(&mut runs)?;
    base.ops(&mut runs)?;
    drop(runs);
    base.header.content_hash = base.hasher.finalize().into();
    let mut assembly = ImageWriter::new(path, base.header)?;
    for part in base.parts {
        assembly.add(part)?;
    }
    let image = assembly.finish(false)?;
    let parts = derive::derive(
        &image,
        &names,
        &members,
        axioms,
        stated.is_ontology,
        &labels,
    )?;
    let mut assembly = ImageWriter::resume(image, path)?;
    for part in parts {
        assembly.add(part)?;
    }
    Ok(assembly.finish(true)?)
}

struct BaseSections<'a> {
    work: Option<&'a WorkFile>,
    parts: Vec<SectionWriter>,
    hasher: Sha256,
    header: ImageHeader,
}

/// The current key of a chunk, ordered so that the heap returns the smallest key.
struct ChunkHead {
    keys: KeyReader,
    ids: Spool,
    rows: SpoolReader,
    count: usize,
    terms: usize,
    chunk: usize,
}

impl Ord for ChunkHead {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .keys
            .key
            .cmp(&self.keys.key)
            .then(other.chunk.cmp(&self.chunk))
    }
}
impl PartialOrd for ChunkHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for ChunkHead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for ChunkHead {}

impl BaseSections<'_> {
    fn part(&self, section: Section) -> SectionWriter {
        SectionWriter::new(section, self.work)
    }

    /// Merges the terms of all chunks into the dictionary; finds those of axioms.
    fn terms(
        &mut self,
        chunks: Vec<SealedChunk>,
    ) -> Result<(Vec<RowRun>, Kinds, AxiomTerms), FreezeError> {
        let (mut text_part, mut block_part) =
            (self.part(Section::TermText), self.part(Section::TermBlocks));
        let mut heap = BinaryHeap::new();
        let mut done = Vec::new();
        for (chunk, sealed) in chunks.into_iter().enumerate() {
            let mut head = ChunkHead {
                keys: KeyReader::new(sealed.keys, sealed.terms),
                ids: Spool::new(self.work),
                rows: sealed.rows,
                count: sealed.count,
                terms: sealed.terms,
                chunk,
            };
            if head.keys.advance()? {
                heap.push(head);
            } else {
                done.push(head);
            }
        }
        let mut coder = DictionaryEncoder::default();
        let mut wanted = WantedTerms::default();
        let (mut text, mut blocks) = (Vec::new(), Vec::new());
        let (mut last, mut id): (Option<Vec<u8>>, u32) = (None, 0);
        while let Some(mut top) = heap.peek_mut() {
            let key = &top.keys.key;
            if last.as_deref() != Some(&key[..]) {
                if coder.counts().0 >= u32::MAX - 1 {
                    return Err(FreezeError::Terms);
                }
                id = coder.push(key, &mut text, &mut blocks);
                wanted.pass(key, id);
                self.hasher.update((key.len() as u64).to_le_bytes());
                self.hasher.update(key);
                let kept = last.get_or_insert_default();
                kept.clear();
                kept.extend_from_slice(key);
                if text.len() >= GATHER {
                    text_part.bytes(&text)?;
                    block_part.bytes(bytemuck::cast_slice(&blocks))?;
                    text.clear();
                    blocks.clear();
                }
            }
            top.ids.write_all(&id.to_le_bytes())?;
            if !top.keys.advance()? {
                done.push(std::collections::binary_heap::PeekMut::pop(top));
            }
        }
        text_part.bytes(&text)?;
        block_part.bytes(bytemuck::cast_slice(&blocks))?;
        self.parts.extend([block_part, text_part]);
        (self.header.terms, self.header.resources) = coder.counts();
        let run = |head: ChunkHead| {
            Ok(RowRun {
                rows: head.rows,
                count: head.count,
                ids: head.ids.reader()?,
                terms: head.terms,
            })
        };
        let runs: io::Result<Vec<RowRun>> = done.into_iter().map(run).collect();
        let kinds = wanted.kinds(self.header.resources);
        Ok((runs?, kinds, wanted.terms()))
    }

    /// Writes the triples ordered by subject; returns the rows of each named graph, and those of `added`, which
    /// is sorted.
    fn spo(
        &mut self,
        runs: &mut [RowRun],
        graphs: &[u32],
        names: usize,
        added: &[Row],
    ) -> Result<(Vec<Vec<u32>>, Vec<u32>), FreezeError> {
        let mut starts = StartsWriter::new(self.part(Section::SpoStarts));
        let (mut relations, mut objects) = (self.part(Section::SpoP), self.part(Section::SpoO));
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); if names > 1 { names } else { 0 }];
        let mut last = None;
        let mut count = 0_u64;
        let (mut next_added, mut axioms) = (added.iter().peekable(), Vec::new());
        let mut gathered: Vec<[u32; 3]> = Vec::new();
        let hasher = &mut self.hasher;
        merge(runs, [0, 1, 2], graphs, self.work, |[s, p, o, graph]| {
            if last != Some([s, p, o]) {
                last = Some([s, p, o]);
                starts.reach(s, count)?;
                relations.id(p)?;
                objects.id(o)?;
                gathered.push([s, p, o]);
                if gathered.len() == GATHER {
                    hasher.update(bytemuck::cast_slice(&gathered));
                    gathered.clear();
                }
                if next_added.next_if(|row| row[..3] == [s, p, o]).is_some() {
                    axioms.push(count as u32);
                }
                count += 1;
            }
            if let Some(rows) = members.get_mut(graph as usize) {
                rows.push((count - 1) as u32);
            }
            Ok(())
        })?;
        if count > u64::from(u32::MAX) {
            return Err(FreezeError::Triples);
        }
        hasher.update(bytemuck::cast_slice(&gathered));
        self.header.triples = count;
        starts.reach(self.header.resources, count)?;
        self.parts.extend([starts.part, relations, objects]);
        Ok((members, axioms))
    }

    fn pos(&mut self, runs: &mut [RowRun]) -> Result<(), FreezeError> {
        let (mut relations, mut starts) =
            (self.part(Section::Relations), self.part(Section::PosStarts));
        let (mut objects, mut subjects) = (self.part(Section::PosO), self.part(Section::PosS));
        let mut last = None;
        let mut count = 0;
        merge(runs, [1, 2, 0], &[], self.work, |[p, o, s, _]| {
            if last != Some(p) {
                last = Some(p);
                relations.id(p)?;
                starts.id(count)?;
            }
            objects.id(o)?;
            subjects.id(s)?;
            count += 1;
            Ok(())
        })?;
        starts.id(count)?;
        self.parts.extend([relations, starts, objects, subjects]);
        Ok(())
    }

    fn ops(&mut self, runs: &mut [RowRun]) -> Result<(), FreezeError> {
        let mut starts = StartsWriter::new(self.part(Section::OpsStarts));
        let (mut relations, mut subjects) = (self.part(Section::OpsP), self.part(Section::OpsS));
        let mut count = 0;
        merge(runs, [2, 1, 0], &[], self.work, |[o, p, s, _]| {
            starts.reach(o, count)?;
            relations.id(p)?;
            subjects.id(s)?;
            count += 1;
            Ok(())
        })?;
        starts.reach(self.header.terms, count)?;
        self.parts.extend([starts.part, relations, subjects]);
        Ok(())
    }
}

/// Writes the first row of every id, including ids without rows.
struct StartsWriter {
    part: SectionWriter,
    next: u32,
}

impl StartsWriter {
    fn new(part: SectionWriter) -> Self {
        Self { part, next: 0 }
    }

    /// Records that the rows of `id`, and of all skipped ids before it, start at `row`.
    fn reach(&mut self, id: u32, row: u64) -> io::Result<()> {
        while self.next <= id {
            self.part.id(row as u32)?;
            self.next += 1;
        }
        Ok(())
    }
}
