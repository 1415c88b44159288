//! Temporary data between two stages of freezing, in memory or on disk.
//!
//! All data on disk share one file, in blocks: a load of many parts must not need as many open
//! files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Size of a block, and of the write buffer.
const BLOCK: usize = 1 << 16;

/// A file of blocks that many spools share. It has no name, so the system deletes it when its last
/// user closes it.
#[derive(Clone, Debug)]
pub(crate) struct WorkFile(Arc<Mutex<Blocks>>);

#[derive(Debug)]
struct Blocks {
    file: File,
    /// Number of blocks in the file.
    count: u64,
    /// Blocks that may be written again.
    free: Vec<u64>,
}

impl WorkFile {
    /// Creates the file in a folder.
    pub(crate) fn new(dir: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(dir)?;
        Ok(Self(Arc::new(Mutex::new(Blocks {
            file,
            count: 0,
            free: Vec::new(),
        }))))
    }

    /// Every use seeks first, so a panic leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes at most a block of bytes; returns the number of the block.
    fn write(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut blocks = self.lock();
        let block = blocks.free.pop().unwrap_or(blocks.count);
        blocks.count = blocks.count.max(block + 1);
        blocks.file.seek(SeekFrom::Start(block * BLOCK as u64))?;
        blocks.file.write_all(bytes)?;
        Ok(block)
    }

    fn read(&self, block: u64, from: usize, bytes: &mut [u8]) -> io::Result<()> {
        let mut blocks = self.lock();
        let start = block * BLOCK as u64 + from as u64;
        blocks.file.seek(SeekFrom::Start(start))?;
        blocks.file.read_exact(bytes)
    }
}

/// The blocks of one spool.
#[derive(Debug)]
struct BlockList {
    work: WorkFile,
    blocks: Vec<u64>,
}

impl Drop for BlockList {
    fn drop(&mut self) {
        self.work.lock().free.append(&mut self.blocks);
    }
}

/// Writes temporary data to memory or to a work file.
#[derive(Debug)]
pub(crate) struct Spool {
    /// All data in memory, or those of the block that is not full.
    bytes: Vec<u8>,
    list: Option<BlockList>,
}

impl Spool {
    /// Data in the work file; in memory without it.
    pub(crate) fn new(work: Option<&WorkFile>) -> Self {
        Self {
            bytes: Vec::new(),
            list: work.map(|work| BlockList {
                work: work.clone(),
                blocks: Vec::new(),
            }),
        }
    }

    /// Reads the data from the start.
    pub(crate) fn reader(mut self) -> io::Result<SpoolReader> {
        let last = self.bytes.len();
        if let Some(list) = &mut self.list
            && last > 0
        {
            list.blocks.push(list.work.write(&self.bytes)?);
            self.bytes = Vec::new();
        }
        let length = match &self.list {
            None => last,
            Some(list) if last > 0 => (list.blocks.len() - 1) * BLOCK + last,
            Some(list) => list.blocks.len() * BLOCK,
        };
        Ok(SpoolReader {
            bytes: self.bytes,
            list: self.list,
            length,
            at: 0,
        })
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(list) = &mut self.list else {
            self.bytes.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        let taken = bytes.len().min(BLOCK - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if self.bytes.len() == BLOCK {
            list.blocks.push(list.work.write(&self.bytes)?);
            self.bytes.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads temporary data.
#[derive(Debug)]
pub(crate) struct SpoolReader {
    bytes: Vec<u8>,
    list: Option<BlockList>,
    length: usize,
    at: usize,
}

impl SpoolReader {
    /// Starts again.
    pub(crate) fn rewind(&mut self) {
        self.at = 0;
    }
}

impl Read for SpoolReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.length - self.at;
        let count = match &self.list {
            None => {
                let count = left.min(bytes.len());
                bytes[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
                count
            }
            Some(list) => {
                let from = self.at % BLOCK;
                let count = left.min(bytes.len()).min(BLOCK - from);
                if let Some(&block) = list.blocks.get(self.at / BLOCK) {
                    list.work.read(block, from, &mut bytes[..count])?;
                }
                count
            }
        };
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spools_share_a_file_and_give_their_blocks_back() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkFile::new(dir.path()).unwrap();
        let content = |seed: u8, length: usize| -> Vec<u8> {
            (0..length).map(|i| (i / 7) as u8 ^ seed).collect()
        };
        for round in 0..3 {
            let lengths = [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK - 1];
            for work in [Some(&work), None] {
                let mut spools: Vec<Spool> = lengths.iter().map(|_| Spool::new(work)).collect();
                for part in 0..50 {
                    for (i, (spool, &length)) in spools.iter_mut().zip(&lengths).enumerate() {
                        let all = content(i as u8 + round, length);
                        let cut = |part| length * part / 50;
                        spool.write_all(&all[cut(part)..cut(part + 1)]).unwrap();
                    }
                }
                for (i, (spool, &length)) in spools.into_iter().zip(&lengths).enumerate() {
                    let mut reader = spool.reader().unwrap();
                    for _ in 0..2 {
                        let mut found = Vec::new();
                        reader.read_to_end(&mut found).unwrap();
                        assert!(found == content(i as u8 + round, length), "{i}");
                        reader.rewind();
                    }
                }
            }
        }
        let blocks = work.lock();
        assert_eq!(blocks.free.len() as u64, blocks.count);
        assert!(blocks.count <= 10, "{}", blocks.count);
    }
}
