//! A disk cache of vectors by text: one file per encoder, named after the encoder's digest.
//!
//! Layout: the magic, the width (u32), the encoder's digest (64 bytes); then records of equal size:
//! key (16 bytes of the text's SHA-256), vector (little-endian f32), checksum (8 bytes of the
//! SHA-256 of both). An incomplete record at the end, left by a killed process, is truncated before
//! the next record is appended; a record with a wrong checksum is skipped. Threads and processes
//! take turns under the file's lock.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use model::digest::sha256;
use rustc_hash::FxHashMap;

use super::error::EncoderError;

const MAGIC: &[u8; 8] = b"KGAVEC01";
const HEADER: usize = 8 + 4 + 64;
const KEY: usize = 16;
const CHECK: usize = 8;

type TextKey = [u8; KEY];

/// The vectors of one encoder.
pub(super) struct VectorCache {
    known: RwLock<FxHashMap<TextKey, Arc<[f32]>>>,
    /// The file; `None` if vectors are kept in memory only.
    file: Option<(PathBuf, Mutex<File>)>,
    width: usize,
}

fn key(text: &str) -> TextKey {
    let mut key = [0; KEY];
    key.copy_from_slice(&sha256([text.as_bytes()])[..KEY]);
    key
}

fn checksum(record: &[u8]) -> [u8; CHECK] {
    let mut sum = [0; CHECK];
    sum.copy_from_slice(&sha256([record])[..CHECK]);
    sum
}

impl VectorCache {
    /// A cache in memory.
    pub(super) fn memory(width: usize) -> Self {
        Self {
            known: RwLock::default(),
            file: None,
            width,
        }
    }

    /// Opens or creates the file of an encoder in a folder.
    pub(super) fn open(folder: &Path, digest: &str, width: usize) -> Result<Self, EncoderError> {
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| EncoderError::Cache { path, source }
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        let path = folder.join(format!("{}.vectors", digest.get(..16).unwrap_or(digest)));
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(io(&path))?;
        file.lock().map_err(io(&path))?;
        let header = header(digest, width);
        let read = read_or_begin(&mut file, &header).map_err(io(&path));
        file.unlock().map_err(io(&path))?;
        let bytes = read?;
        if !bytes.starts_with(&header) {
            return Err(EncoderError::Foreign { path });
        }
        let mut known = FxHashMap::default();
        for record in bytes[HEADER..].chunks_exact(KEY + 4 * width + CHECK) {
            let (body, sum) = record.split_at(KEY + 4 * width);
            if checksum(body) == *sum {
                let mut key = [0; KEY];
                key.copy_from_slice(&body[..KEY]);
                known.insert(
                    key,
                    body[KEY..]
                        .chunks_exact(4)
                        .map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]))
                        .collect(),
                );
            }
        }
        Ok(Self {
            known: RwLock::new(known),
            file: Some((path, Mutex::new(file))),
            width,
        })
    }

    /// The vector of a text, if it is known.
    pub(super) fn get(&self, text: &str) -> Option<Arc<[f32]>> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key(text))
            .cloned()
    }

    /// Stores vectors in memory and appends them to the file.
    pub(super) fn put(&self, new: &[(&str, Arc<[f32]>)]) -> Result<(), EncoderError> {
        let mut bytes = Vec::with_capacity(new.len() * (KEY + 4 * self.width + CHECK));
        {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            for (text, vector) in new {
                let key = key(text);
                // Two threads may have computed the same text, with the same bits.
                if known.insert(key, Arc::clone(vector)).is_none() {
                    let start = bytes.len();
                    bytes.extend_from_slice(&key);
                    bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
                    let sum = checksum(&bytes[start..]);
                    bytes.extend_from_slice(&sum);
                }
            }
        }
        let Some((path, file)) = self.file.as_ref().filter(|_| !bytes.is_empty()) else {
            return Ok(());
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let io = |source| EncoderError::Cache {
            path: path.clone(),
            source,
        };
        file.lock().map_err(io)?;
        let written = append(&mut file, &bytes, KEY + 4 * self.width + CHECK);
        file.unlock().map_err(io)?;
        written.map_err(io)
    }
}

fn header(digest: &str, width: usize) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&u32::try_from(width).unwrap_or(u32::MAX).to_le_bytes());
    header.extend(digest.bytes().chain(std::iter::repeat(b' ')).take(64));
    header
}

/// The bytes of the file. The header is written first if the file is new or its header is
/// incomplete.
fn read_or_begin(file: &mut File, header: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    if bytes.len() < HEADER && header.starts_with(&bytes) {
        file.set_len(0)?;
        file.write_all(header)?;
        bytes = header.to_vec();
    }
    Ok(bytes)
}

/// Appends records after the last complete one.
fn append(file: &mut File, bytes: &[u8], record: usize) -> std::io::Result<()> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let torn = length.saturating_sub(HEADER) % record;
    if torn > 0 {
        file.set_len((length - torn) as u64)?;
    }
    file.write_all(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn vector(seed: usize) -> Arc<[f32]> {
        (0..6).map(|i| (seed * 7 + i) as f32).collect()
    }

    #[test]
    fn vectors_survive_reopening_and_other_encoders_have_their_own_file() {
        let dir = tempfile::tempdir().unwrap();
        let cache = VectorCache::open(dir.path(), "aabb", 6).unwrap();
        cache
            .put(&[("a", vector(1)), ("b", vector(2)), ("a", vector(1))])
            .unwrap();
        let again = VectorCache::open(dir.path(), "aabb", 6).unwrap();
        assert_eq!(
            (again.get("a"), again.get("b"), again.get("c")),
            (Some(vector(1)), Some(vector(2)), None)
        );
        assert!(
            VectorCache::open(dir.path(), "other", 6)
                .unwrap()
                .get("a")
                .is_none()
        );
        assert!(matches!(
            VectorCache::open(dir.path(), "aabb", 5),
            Err(EncoderError::Foreign { .. })
        ));
    }

    #[test]
    fn a_file_truncated_anywhere_keeps_its_complete_records_and_can_be_extended() {
        let dir = tempfile::tempdir().unwrap();
        VectorCache::open(dir.path(), "aabb", 6)
            .unwrap()
            .put(&[("a", vector(1)), ("b", vector(2)), ("c", vector(3))])
            .unwrap();
        let path = dir.path().join("aabb.vectors");
        let whole = fs::read(&path).unwrap();
        let record = (whole.len() - HEADER) / 3;
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let cache = VectorCache::open(dir.path(), "aabb", 6).unwrap();
            let known = ["a", "b", "c"].map(|text| cache.get(text).is_some());
            let whole = cut.saturating_sub(HEADER) / record;
            assert_eq!(known, [0, 1, 2].map(|i| i < whole), "cut at {cut}");
            cache.put(&[("d", vector(4))]).unwrap();
            assert_eq!(
                VectorCache::open(dir.path(), "aabb", 6).unwrap().get("d"),
                Some(vector(4)),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn a_damaged_record_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        VectorCache::open(dir.path(), "aabb", 6)
            .unwrap()
            .put(&[("a", vector(1)), ("b", vector(2))])
            .unwrap();
        let path = dir.path().join("aabb.vectors");
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER + KEY + 3] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let cache = VectorCache::open(dir.path(), "aabb", 6).unwrap();
        assert_eq!((cache.get("a"), cache.get("b")), (None, Some(vector(2))));
    }

    #[test]
    fn several_writers_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let dir = dir.path();
                scope.spawn(move || {
                    let cache = VectorCache::open(dir, "aabb", 6).unwrap();
                    for i in 0..50 {
                        cache
                            .put(&[(&format!("{writer} {i}"), vector(writer * 100 + i))])
                            .unwrap();
                    }
                });
            }
        });
        let all = VectorCache::open(dir.path(), "aabb", 6).unwrap();
        for writer in 0..4 {
            for i in 0..50 {
                let stored = all.get(&format!("{writer} {i}"));
                assert_eq!(stored, Some(vector(writer * 100 + i)));
            }
        }
    }
}
