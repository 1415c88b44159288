//! Reading the container: magic, version, metadata, the table of tensors, and rows of tensors.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::metadata::{GgufValue, LIST, TEXT};
use crate::blocks::StoredFormat;
use crate::mistaken::Kind;
use crate::{ModelError, limits, mistaken};

/// An entry of the table of tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// Number format.
    pub format: StoredFormat,
    /// Lengths of the dimensions, outermost first (the file lists them innermost first).
    pub shape: Vec<usize>,
    /// Position of its first byte in the file.
    offset: u64,
}

impl TensorInfo {
    /// Values per row: the innermost dimension.
    #[must_use]
    pub fn width(&self) -> usize {
        self.shape.last().copied().unwrap_or(0)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shape.iter().rev().skip(1).product()
    }

    fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.width()).unwrap_or(0)
    }
}

/// An open file with a checked header.
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    file: Mutex<File>,
    /// Metadata by key.
    pub metadata: BTreeMap<String, GgufValue>,
    /// Tensors by their names in the file.
    pub tensors: BTreeMap<String, TensorInfo>,
}

/// Reads little-endian values and counts the remaining bytes, so that no declared length can exceed
/// the file.
struct HeaderReader<R> {
    from: R,
    at: u64,
    end: u64,
}

type ParseResult<T> = Result<T, String>;

impl<R: Read> HeaderReader<R> {
    fn left(&self) -> u64 {
        self.end - self.at
    }

    fn bytes<const N: usize>(&mut self) -> ParseResult<[u8; N]> {
        if self.left() < N as u64 {
            return Err(format!(
                "the file ends at byte {} in the middle of its header",
                self.end
            ));
        }
        let mut out = [0; N];
        self.from
            .read_exact(&mut out)
            .map_err(|error| error.to_string())?;
        self.at += N as u64;
        Ok(out)
    }

    fn u32(&mut self) -> ParseResult<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> ParseResult<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A count of items of at least `least` bytes each.
    fn count(&mut self, least: u64, of: &str) -> ParseResult<usize> {
        let n = self.u64()?;
        match n.checked_mul(least) {
            Some(bytes) if bytes <= self.left() => {
                usize::try_from(n).map_err(|_| format!("{n} {of}"))
            }
            _ => Err(format!(
                "byte {}: {n} {of} are declared, but {} bytes remain",
                self.at,
                self.left()
            )),
        }
    }

    fn text(&mut self) -> ParseResult<String> {
        let n = self.count(1, "bytes of text")?;
        let mut out = vec![0; n];
        self.from
            .read_exact(&mut out)
            .map_err(|error| error.to_string())?;
        self.at += n as u64;
        String::from_utf8(out).map_err(|_| format!("byte {}: a text is not UTF-8", self.at))
    }

    /// A number or truth value of the type `kind`.
    fn number(&mut self, kind: u32) -> ParseResult<GgufValue> {
        let signed = |n: i64| u64::try_from(n).map_or(GgufValue::Signed(n), GgufValue::Unsigned);
        Ok(match kind {
            0 => GgufValue::Unsigned(u64::from(u8::from_le_bytes(self.bytes()?))),
            1 => signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => GgufValue::Unsigned(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => GgufValue::Unsigned(u64::from(self.u32()?)),
            5 => signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => GgufValue::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            7 => match u8::from_le_bytes(self.bytes()?) {
                n @ (0 | 1) => GgufValue::Bool(n == 1),
                n => return Err(format!("byte {}: a truth value is {n}", self.at)),
            },
            10 => GgufValue::Unsigned(self.u64()?),
            11 => signed(i64::from_le_bytes(self.bytes()?)),
            12 => GgufValue::Float(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(format!("byte {}: no value has the type {kind}", self.at)),
        })
    }

    fn value(&mut self, kind: u32) -> ParseResult<GgufValue> {
        match kind {
            TEXT => Ok(GgufValue::Text(self.text()?)),
            LIST => match self.u32()? {
                TEXT => {
                    let n = self.count(8, "texts")?;
                    Ok(GgufValue::Texts(
                        (0..n).map(|_| self.text()).collect::<ParseResult<_>>()?,
                    ))
                }
                LIST => Err(format!("byte {}: a list of lists", self.at)),
                inner => {
                    let least = [1, 1, 2, 2, 4, 4, 4, 1, 1, 1, 8, 8, 8]
                        .get(inner as usize)
                        .copied()
                        .unwrap_or(1);
                    let n = self.count(least, "numbers")?;
                    if n > limits::GGUF_LIST {
                        return Err(format!(
                            "byte {}: a list of {n} numbers, the limit is {}",
                            self.at,
                            limits::GGUF_LIST
                        ));
                    }
                    let number = |value| match value {
                        GgufValue::Unsigned(n) => n as f64,
                        GgufValue::Signed(n) => n as f64,
                        GgufValue::Float(x) => x,
                        GgufValue::Bool(b) => f64::from(u8::from(b)),
                        GgufValue::Text(_) | GgufValue::Texts(_) | GgufValue::Numbers(_) => {
                            f64::NAN
                        }
                    };
                    Ok(GgufValue::Numbers(
                        (0..n)
                            .map(|_| self.number(inner).map(number))
                            .collect::<ParseResult<_>>()?,
                    ))
                }
            },
            _ => self.number(kind),
        }
    }
}

impl GgufFile {
    /// Opens a file and checks its header against its length. Does not read the weights.
    ///
    /// # Errors
    /// Names the invalid declaration and its position.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let mut file = mistaken::open(path)?;
        let length = file.metadata().map_err(ModelError::io(path))?.len();
        let reader = BufReader::new(file.try_clone().map_err(ModelError::io(path))?);
        let (metadata, tensors) = parse(reader, length).map_err(|message| {
            let what = mistaken::what(&mut file, Kind::Gguf);
            let what = what.map(|what| format!("not a GGUF file: it is {what}"));
            ModelError::weights(path, what.unwrap_or(message))
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file: Mutex::new(file),
            metadata,
            tensors,
        })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends the bytes of `count` rows of a tensor from row `first` to `out`.
    ///
    /// # Errors
    /// When the rows do not exist or cannot be read.
    pub fn read_rows(
        &self,
        name: &str,
        first: usize,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ModelError> {
        let missing = || ModelError::tensor(name, format!("is not in {}", self.path.display()));
        let info = self.tensors.get(name).ok_or_else(missing)?;
        if first.checked_add(count).is_none_or(|end| end > info.rows()) {
            let rows = info.rows();
            let message = format!("has {rows} rows; {count} rows from row {first} were requested");
            return Err(ModelError::tensor(name, message));
        }
        let (begin, each) = (out.len(), info.row_bytes());
        out.resize(begin + count * each, 0);
        let mut file = self
            .file
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(info.offset + (first * each) as u64))
            .map_err(ModelError::io(&self.path))?;
        file.read_exact(&mut out[begin..])
            .map_err(ModelError::io(&self.path))
    }
}

type Header = (BTreeMap<String, GgufValue>, BTreeMap<String, TensorInfo>);

fn parse(from: impl Read, length: u64) -> ParseResult<Header> {
    let mut reader = HeaderReader {
        from,
        at: 0,
        end: length,
    };
    if &reader.bytes::<4>()? != b"GGUF" {
        return Err("not a GGUF file: it does not start with `GGUF`".to_owned());
    }
    match reader.u32()? {
        2 | 3 => {}
        version => {
            return Err(format!(
                "GGUF version {version}; versions 2 and 3 are supported (little-endian)"
            ));
        }
    }
    // Smallest sizes: a tensor has a name, dimensions, a type and an offset; a metadata entry has a
    // key, a type and a value.
    let tensor_count = reader.count(24, "tensors")?;
    let value_count = reader.count(13, "metadata entries")?;
    if tensor_count > limits::TENSORS {
        return Err(format!(
            "{tensor_count} tensors, the limit is {}",
            limits::TENSORS
        ));
    }
    reader.end = length.min(limits::GGUF_HEADER_BYTES);
    let mut metadata = BTreeMap::new();
    for _ in 0..value_count {
        let key = reader.text()?;
        let kind = reader.u32()?;
        let value = reader
            .value(kind)
            .map_err(|message| format!("metadata `{}`: {message}", shown(&key)))?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(format!("metadata `{}` occurs twice", shown(&key)));
        }
    }
    let alignment = match metadata.get("general.alignment") {
        None => 32,
        Some(GgufValue::Unsigned(n)) if n.is_power_of_two() && *n <= 1 << 20 => *n,
        Some(other) => {
            return Err(format!(
                "`general.alignment` is {other:?}, not a power of two"
            ));
        }
    };
    let mut tensors = BTreeMap::new();
    for _ in 0..tensor_count {
        let name = reader.text()?;
        let info = tensor_info(&mut reader)
            .map_err(|message| format!("tensor `{}`: {message}", shown(&name)))?;
        if !info.offset.is_multiple_of(alignment) {
            return Err(format!(
                "tensor `{}` starts at {}, not a multiple of {alignment}",
                shown(&name),
                info.offset
            ));
        }
        if tensors.insert(name.clone(), info).is_some() {
            return Err(format!("tensor `{}` occurs twice", shown(&name)));
        }
    }
    let data = reader.at.next_multiple_of(alignment);
    locate(&mut tensors, data, alignment, length)?;
    Ok((metadata, tensors))
}

/// A name that is safe to print.
pub(super) fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

fn tensor_info<R: Read>(reader: &mut HeaderReader<R>) -> ParseResult<TensorInfo> {
    let rank = reader.u32()?;
    if !(1..=4).contains(&rank) {
        return Err(format!("{rank} dimensions, outside 1 to 4"));
    }
    let mut shape = Vec::new();
    for _ in 0..rank {
        let n = reader.u64()?;
        shape.push(
            usize::try_from(n)
                .ok()
                .filter(|n| (1..=1 << 40).contains(n))
                .ok_or_else(|| format!("a dimension of {n}"))?,
        );
    }
    shape.reverse();
    let id = reader.u32()?;
    let format = StoredFormat::of(id)?;
    let offset = reader.u64()?;
    let width = shape.last().copied().unwrap_or(0);
    if format.row_bytes(width).is_none() {
        return Err(format!(
            "a row of {width} values is not a whole number of {} blocks",
            format.name()
        ));
    }
    Ok(TensorInfo {
        format,
        shape,
        offset,
    })
}

/// Makes offsets relative to the file instead of the data. Checks that tensors are inside the file
/// and follow each other.
fn locate(
    tensors: &mut BTreeMap<String, TensorInfo>,
    data: u64,
    alignment: u64,
    length: u64,
) -> ParseResult<()> {
    let mut spans = Vec::with_capacity(tensors.len());
    for (name, info) in tensors.iter_mut() {
        let size = (info.shape.iter().rev().skip(1))
            .try_fold(info.row_bytes() as u64, |size, &n| {
                size.checked_mul(n as u64)
            })
            .filter(|size| *size <= limits::WEIGHT_BYTES);
        let begin = data.checked_add(info.offset);
        let end = begin
            .zip(size)
            .and_then(|(begin, size)| begin.checked_add(size));
        let (Some(begin), Some(end)) = (begin, end.filter(|end| *end <= length)) else {
            return Err(format!(
                "tensor `{}` with shape {:?} extends beyond the file of {length} bytes",
                shown(name),
                info.shape
            ));
        };
        info.offset = begin;
        spans.push((begin, end, name));
    }
    spans.sort_unstable();
    // As in llama.cpp. With a wrong type or size, tensors would overlap or leave a gap.
    let mut next = data;
    for (begin, end, name) in spans {
        if begin != next {
            return Err(format!(
                "tensor `{}` begins at byte {begin}, but the tensors before it end at {next}",
                shown(name)
            ));
        }
        next = end.next_multiple_of(alignment);
    }
    Ok(())
}
