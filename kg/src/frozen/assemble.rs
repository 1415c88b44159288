//! Writing the sections of a frozen graph, into memory or into a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::bytes::Bytes;
use super::image::{ALIGN, BASE_SECTIONS, Entry, HEADER, Header, Image, Section, header_bytes};

/// Numbers that are gathered before they are hashed and written.
const GATHER: usize = 1 << 14;

/// Bytes on the way from one stage to the next: in memory, or in a file without a name.
#[derive(Debug)]
pub(crate) enum Spool {
    Memory(Vec<u8>),
    File(io::BufWriter<File>),
}

impl Spool {
    /// A file in a folder; memory without one.
    pub(crate) fn new(work: Option<&Path>) -> io::Result<Self> {
        Ok(match work {
            None => Self::Memory(Vec::new()),
            Some(dir) => Self::File(io::BufWriter::with_capacity(
                1 << 18,
                tempfile::tempfile_in(dir)?,
            )),
        })
    }

    /// Reads from the beginning what was written.
    pub(crate) fn reader(self) -> io::Result<SpoolReader> {
        Ok(match self {
            Self::Memory(bytes) => SpoolReader::Memory(io::Cursor::new(bytes)),
            Self::File(file) => {
                let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.seek(SeekFrom::Start(0))?;
                SpoolReader::File(file)
            }
        })
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Memory(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(out) => out.flush(),
        }
    }
}

/// A [`Spool`] read back.
#[derive(Debug)]
pub(crate) enum SpoolReader {
    Memory(io::Cursor<Vec<u8>>),
    File(File),
}

impl SpoolReader {
    /// Back to the beginning.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.rewind(),
            Self::File(file) => file.rewind(),
        }
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::File(file) => file.read(buffer),
        }
    }
}

/// A section being written.
#[derive(Debug)]
pub(super) struct Part {
    section: Section,
    spool: Spool,
    hasher: Sha256,
    length: usize,
    gathered: Vec<u32>,
}

impl Part {
    pub(super) fn new(section: Section, work: Option<&Path>) -> io::Result<Self> {
        Ok(Self {
            section,
            spool: Spool::new(work)?,
            hasher: Sha256::new(),
            length: 0,
            gathered: Vec::new(),
        })
    }

    /// A section that is there already.
    pub(super) fn of(section: Section, bytes: &[u8]) -> io::Result<Self> {
        let mut part = Self::new(section, None)?;
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

/// Where a frozen graph is written to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Memory,
    File(PathBuf),
}

enum Out {
    Memory(Vec<u64>),
    File(File),
}

/// Puts sections together.
pub(super) struct Assembly {
    out: Out,
    end: usize,
    header: Header,
    table: Vec<Entry>,
    path: Option<PathBuf>,
}

impl Assembly {
    pub(super) fn new(target: &Target, header: Header) -> io::Result<Self> {
        let (out, path) = match target {
            Target::Memory => (Out::Memory(vec![0; HEADER / 8]), None),
            Target::File(path) => {
                let mut file = File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(path)?;
                file.seek(SeekFrom::Start(HEADER as u64))?;
                (Out::File(file), Some(path.clone()))
            }
        };
        Ok(Self {
            out,
            end: HEADER,
            header,
            table: Vec::new(),
            path,
        })
    }

    /// Goes on with a graph that has only its base sections yet.
    pub(super) fn resume(image: Image, path: Option<PathBuf>) -> io::Result<Self> {
        let end = image.as_slice().len();
        let (header, table, bytes) = image.into_parts();
        let out = match (bytes, &path) {
            (Bytes::Owned(words), _) => Out::Memory(words),
            (Bytes::Mapped(map), Some(path)) => {
                drop(map);
                let mut file = File::options().read(true).write(true).open(path)?;
                file.seek(SeekFrom::End(0))?;
                Out::File(file)
            }
            (Bytes::Mapped(_), None) => {
                return Err(io::Error::other("a mapped graph is not written to"));
            }
        };
        Ok(Self {
            out,
            end,
            header,
            table,
            path,
        })
    }

    pub(super) fn add(&mut self, mut part: Part) -> io::Result<()> {
        part.gather()?;
        let start = self.end;
        let padded = part.length.next_multiple_of(ALIGN);
        let mut reader = part.spool.reader()?;
        match &mut self.out {
            Out::Memory(words) => {
                words.resize((start + padded) / 8, 0);
                let place = bytemuck::cast_slice_mut::<u64, u8>(words);
                reader.read_exact(&mut place[start..start + part.length])?;
            }
            Out::File(file) => {
                io::copy(&mut reader, file)?;
                file.write_all(&[0; ALIGN][..padded - part.length])?;
            }
        }
        self.end += padded;
        self.table.push(Entry {
            section: part.section,
            range: start..start + part.length,
            hash: part.hasher.finalize().into(),
        });
        Ok(())
    }

    /// Writes the header and opens what was written.
    pub(super) fn finish(self, complete: bool) -> io::Result<Image> {
        let header = header_bytes(&self.header, self.end, &self.table);
        let bytes = match (self.out, self.path) {
            (Out::Memory(mut words), _) => {
                bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..HEADER].copy_from_slice(&header);
                Bytes::Owned(words)
            }
            (Out::File(mut file), Some(path)) => {
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&header)?;
                if complete {
                    file.sync_all()?;
                }
                Bytes::map(&path)?
            }
            (Out::File(_), None) => return Err(io::Error::other("a file without a name")),
        };
        let needed = if complete {
            Section::ALL
        } else {
            &Section::ALL[BASE_SECTIONS]
        };
        Image::open(bytes, needed).map_err(io::Error::other)
    }
}
