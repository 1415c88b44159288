//! The container: magic, version, metadata, the table of tensors, and their bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::Format;
use crate::{ModelError, limits};

/// What a metadata key holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any integer type without sign, or one with sign that is not negative.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// `float32` or `float64`.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of numbers or truth values.
    Numbers(Vec<f64>),
}

/// A tensor as the table describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// How its numbers are stored.
    pub format: Format,
    /// Lengths of the dimensions, outermost first (the file lists them innermost first).
    pub shape: Vec<usize>,
    /// Where its bytes begin in the file.
    offset: u64,
}

impl TensorInfo {
    /// Values in a row: the innermost dimension.
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

/// An open file whose header has been checked.
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    file: Mutex<File>,
    /// Metadata by key.
    pub metadata: BTreeMap<String, Value>,
    /// Tensors by their names in the file.
    pub tensors: BTreeMap<String, TensorInfo>,
}

/// Reads little-endian values and knows how many bytes are left, so that no length is believed that the file cannot hold.
struct Cursor<R> {
    from: R,
    at: u64,
    end: u64,
}

type Told<T> = Result<T, String>;

impl<R: Read> Cursor<R> {
    fn left(&self) -> u64 {
        self.end - self.at
    }

    fn bytes<const N: usize>(&mut self) -> Told<[u8; N]> {
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

    fn u32(&mut self) -> Told<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Told<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A count of things that take at least `least` bytes each.
    fn count(&mut self, least: u64, of: &str) -> Told<usize> {
        let n = self.u64()?;
        match n.checked_mul(least) {
            Some(bytes) if bytes <= self.left() => {
                usize::try_from(n).map_err(|_| format!("{n} {of}"))
            }
            _ => Err(format!(
                "byte {}: {n} {of} are declared and {} bytes are left",
                self.at,
                self.left()
            )),
        }
    }

    fn text(&mut self) -> Told<String> {
        let n = self.count(1, "bytes of text")?;
        let mut out = vec![0; n];
        self.from
            .read_exact(&mut out)
            .map_err(|error| error.to_string())?;
        self.at += n as u64;
        String::from_utf8(out).map_err(|_| format!("byte {}: a text is not UTF-8", self.at))
    }

    /// A number or truth value of the type `kind`.
    fn number(&mut self, kind: u32) -> Told<Value> {
        let signed = |n: i64| u64::try_from(n).map_or(Value::Signed(n), Value::Unsigned);
        Ok(match kind {
            0 => Value::Unsigned(u64::from(u8::from_le_bytes(self.bytes()?))),
            1 => signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => Value::Unsigned(u64::from(self.u32()?)),
            5 => signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            7 => match u8::from_le_bytes(self.bytes()?) {
                n @ (0 | 1) => Value::Bool(n == 1),
                n => return Err(format!("byte {}: a truth value is {n}", self.at)),
            },
            10 => Value::Unsigned(self.u64()?),
            11 => signed(i64::from_le_bytes(self.bytes()?)),
            12 => Value::Float(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(format!("byte {}: no value has the type {kind}", self.at)),
        })
    }

    fn value(&mut self, kind: u32) -> Told<Value> {
        const TEXT: u32 = 8;
        const LIST: u32 = 9;
        match kind {
            TEXT => Ok(Value::Text(self.text()?)),
            LIST => match self.u32()? {
                TEXT => {
                    let n = self.count(8, "texts")?;
                    Ok(Value::Texts(
                        (0..n).map(|_| self.text()).collect::<Told<_>>()?,
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
                            "byte {}: a list of {n} numbers, the most is {}",
                            self.at,
                            limits::GGUF_LIST
                        ));
                    }
                    let number = |value| match value {
                        Value::Unsigned(n) => n as f64,
                        Value::Signed(n) => n as f64,
                        Value::Float(x) => x,
                        Value::Bool(b) => f64::from(u8::from(b)),
                        Value::Text(_) | Value::Texts(_) | Value::Numbers(_) => f64::NAN,
                    };
                    Ok(Value::Numbers(
                        (0..n)
                            .map(|_| self.number(inner).map(number))
                            .collect::<Told<_>>()?,
                    ))
                }
            },
            _ => self.number(kind),
        }
    }
}

impl GgufFile {
    /// Opens a file and checks its header against its length. The weights are not read.
    ///
    /// # Errors
    /// Says what the file declares that cannot be, and where.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file = File::open(path).map_err(ModelError::io(path))?;
        let length = file.metadata().map_err(ModelError::io(path))?.len();
        let reader = BufReader::new(file.try_clone().map_err(ModelError::io(path))?);
        let (metadata, tensors) = parse(reader, length).map_err(|message| ModelError::Weights {
            path: path.to_path_buf(),
            message,
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file: Mutex::new(file),
            metadata,
            tensors,
        })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of `count` rows of a tensor from row `first`, appended to `out`.
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
        let wrong = |message: String| ModelError::Tensor {
            name: name.to_owned(),
            message,
        };
        let info = self
            .tensors
            .get(name)
            .ok_or_else(|| wrong(format!("is not in {}", self.path.display())))?;
        if first.checked_add(count).is_none_or(|end| end > info.rows()) {
            return Err(wrong(format!(
                "has {} rows; row {first} and {count} more were asked for",
                info.rows()
            )));
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

type Header = (BTreeMap<String, Value>, BTreeMap<String, TensorInfo>);

fn parse(from: impl Read, length: u64) -> Told<Header> {
    let mut cursor = Cursor {
        from,
        at: 0,
        end: length,
    };
    if &cursor.bytes::<4>()? != b"GGUF" {
        return Err("not a GGUF file: it does not begin with `GGUF`".to_owned());
    }
    match cursor.u32()? {
        2 | 3 => {}
        version => {
            return Err(format!(
                "GGUF version {version}; this version reads 2 and 3 (little-endian)"
            ));
        }
    }
    // A table entry has a name, a count of dimensions, a type and an offset; a metadata entry a key, a type and a value.
    let tensor_count = cursor.count(24, "tensors")?;
    let value_count = cursor.count(13, "metadata entries")?;
    if tensor_count > limits::TENSORS {
        return Err(format!(
            "{tensor_count} tensors, the most is {}",
            limits::TENSORS
        ));
    }
    cursor.end = length.min(limits::GGUF_HEADER_BYTES);
    let mut metadata = BTreeMap::new();
    for _ in 0..value_count {
        let key = cursor.text()?;
        let kind = cursor.u32()?;
        let value = cursor
            .value(kind)
            .map_err(|message| format!("metadata `{}`: {message}", shown(&key)))?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(format!("metadata `{}` stands twice", shown(&key)));
        }
    }
    let alignment = match metadata.get("general.alignment") {
        None => 32,
        Some(Value::Unsigned(n)) if n.is_power_of_two() && *n <= 1 << 20 => *n,
        Some(other) => {
            return Err(format!(
                "`general.alignment` is {other:?}, not a power of two"
            ));
        }
    };
    let mut tensors = BTreeMap::new();
    for _ in 0..tensor_count {
        let name = cursor.text()?;
        let info = tensor(&mut cursor)
            .map_err(|message| format!("tensor `{}`: {message}", shown(&name)))?;
        if !info.offset.is_multiple_of(alignment) {
            return Err(format!(
                "tensor `{}` begins at {}, no multiple of {alignment}",
                shown(&name),
                info.offset
            ));
        }
        if tensors.insert(name.clone(), info).is_some() {
            return Err(format!("tensor `{}` stands twice", shown(&name)));
        }
    }
    let data = cursor.at.next_multiple_of(alignment);
    place(&mut tensors, data, length)?;
    Ok((metadata, tensors))
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

fn tensor<R: Read>(cursor: &mut Cursor<R>) -> Told<TensorInfo> {
    let rank = cursor.u32()?;
    if !(1..=4).contains(&rank) {
        return Err(format!("{rank} dimensions; there are 1 to 4"));
    }
    let mut shape = Vec::new();
    for _ in 0..rank {
        let n = cursor.u64()?;
        shape.push(
            usize::try_from(n)
                .ok()
                .filter(|n| (1..=1 << 40).contains(n))
                .ok_or_else(|| format!("a dimension of {n}"))?,
        );
    }
    shape.reverse();
    let id = cursor.u32()?;
    let known = || Format::ALL.map(Format::name).join(", ");
    let format = Format::ALL
        .into_iter()
        .find(|format| format.id() == id)
        .ok_or_else(|| format!("its type is number {id}; this version runs {}", known()))?;
    let offset = cursor.u64()?;
    let width = shape.last().copied().unwrap_or(0);
    if format.row_bytes(width).is_none() {
        return Err(format!(
            "a row of {width} values is no whole number of {} blocks",
            format.name()
        ));
    }
    Ok(TensorInfo {
        format,
        shape,
        offset,
    })
}

/// Moves offsets to where the data begins and checks that every tensor lies inside the file and in no other.
fn place(tensors: &mut BTreeMap<String, TensorInfo>, data: u64, length: u64) -> Told<()> {
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
                "tensor `{}` with shape {:?} reaches beyond the file of {length} bytes",
                shown(name),
                info.shape
            ));
        };
        info.offset = begin;
        spans.push((begin, end, name));
    }
    spans.sort_unstable();
    match spans.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        Some(pair) => Err(format!(
            "tensors `{}` and `{}` overlap",
            shown(pair[0].2),
            shown(pair[1].2)
        )),
        None => Ok(()),
    }
}
