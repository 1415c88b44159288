//! Writes the sections of a frozen graph into memory or a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::bytes::ImageBytes;
use super::image::Image;
use super::layout::{
    ALIGN, BASE_SECTIONS, HEADER, ImageHeader, Section, SectionEntry, header_bytes,
};
use super::spool::{Spool, WorkFile};

/// Number of ids that are buffered before they are hashed and written.
const GATHER: usize = 1 << 14;

/// A section being written.
#[derive(Debug)]
pub(super) struct SectionWriter {
    section: Section,
    spool: Spool,
    hasher: Sha256,
    length: usize,
    gathered: Vec<u32>,
}

impl SectionWriter {
    pub(super) fn new(section: Section, work: Option<&WorkFile>) -> Self {
        Self {
            section,
            spool: Spool::new(work),
            hasher: Sha256::new(),
            length: 0,
            gathered: Vec::new(),
        }
    }

    pub(super) fn of(section: Section, bytes: &[u8]) -> io::Result<Self> {
        let mut part = Self::new(section, None);
        part.bytes(bytes)?;
        Ok(part)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.length += bytes.len();
        self.spool.write_all(bytes)
    }

    pub(super) fn id(&mut self, id: u32) -> io::Result<()> {
        self.gathered.push(id);
        if self.gathered.len() == GATHER {
            self.gather()
        } else {
            Ok(())
        }
    }

    fn gather(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        self.bytes(bytemuck::cast_slice(&gathered))?;
        self.gathered = gathered;
        self.gathered.clear();
        Ok(())
    }
}

enum ImageOutput {
    Memory(Vec<u64>),
    File(File),
}

/// Writes sections one after the other.
pub(super) struct ImageWriter {
    out: ImageOutput,
    end: usize,
    header: ImageHeader,
    table: Vec<SectionEntry>,
    path: Option<PathBuf>,
}

impl ImageWriter {
    /// Starts a graph in a new file, or in memory.
    pub(super) fn new(path: Option<&Path>, header: ImageHeader) -> io::Result<Self> {
        let out = match path {
            None => ImageOutput::Memory(vec![0; HEADER / 8]),
            Some(path) => {
                let mut file = File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(path)?;
                file.seek(SeekFrom::Start(HEADER as u64))?;
                ImageOutput::File(file)
            }
        };
        Ok(Self {
            out,
            end: HEADER,
            header,
            table: Vec::new(),
            path: path.map(Path::to_owned),
        })
    }

    /// Continues with a graph that has only its base sections.
    pub(super) fn resume(image: Image, path: Option<&Path>) -> io::Result<Self> {
        let end = image.as_slice().len();
        let (header, table, bytes) = image.into_parts();
        let out = match (bytes, path) {
            (ImageBytes::Owned(words), _) => ImageOutput::Memory(words),
            (ImageBytes::Mapped(map), Some(path)) => {
                drop(map);
                let mut file = File::options().read(true).write(true).open(path)?;
                file.seek(SeekFrom::End(0))?;
                ImageOutput::File(file)
            }
            (ImageBytes::Mapped(_), None) => {
                return Err(io::Error::other("a mapped graph is not written to"));
            }
        };
        Ok(Self {
            out,
            end,
            header,
            table,
            path: path.map(Path::to_owned),
        })
    }

    pub(super) fn add(&mut self, mut part: SectionWriter) -> io::Result<()> {
        part.gather()?;
        let start = self.end;
        let padded = part.length.next_multiple_of(ALIGN);
        let mut reader = part.spool.reader()?;
        match &mut self.out {
            ImageOutput::Memory(words) => {
                words.resize((start + padded) / 8, 0);
                let place = bytemuck::cast_slice_mut::<u64, u8>(words);
                reader.read_exact(&mut place[start..start + part.length])?;
            }
            ImageOutput::File(file) => {
                io::copy(&mut reader, file)?;
                file.write_all(&[0; ALIGN][..padded - part.length])?;
            }
        }
        self.end += padded;
        self.table.push(SectionEntry {
            section: part.section,
            range: start..start + part.length,
            hash: part.hasher.finalize().into(),
        });
        Ok(())
    }

    /// Writes the header and opens the result.
    pub(super) fn finish(self, complete: bool) -> io::Result<Image> {
        let header = header_bytes(&self.header, self.end, &self.table);
        let bytes = match (self.out, self.path) {
            (ImageOutput::Memory(mut words), _) => {
                bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..HEADER].copy_from_slice(&header);
                ImageBytes::Owned(words)
            }
            (ImageOutput::File(mut file), Some(path)) => {
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&header)?;
                ImageBytes::map(&path)?
            }
            (ImageOutput::File(_), None) => return Err(io::Error::other("a file without a name")),
        };
        let needed = if complete {
            Section::ALL
        } else {
            &Section::ALL[BASE_SECTIONS]
        };
        Image::open(bytes, needed).map_err(io::Error::other)
    }
}
