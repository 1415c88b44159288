//! Metadata values: as read from a file, and as written to one.

/// A metadata value read from a file.
#[derive(Clone, Debug, PartialEq)]
pub enum GgufValue {
    /// An unsigned integer, or a signed one that is not negative.
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

/// A metadata value to write.
pub(super) enum WrittenValue {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
}

/// Type numbers in a file.
pub(super) const TEXT: u32 = 8;
pub(super) const LIST: u32 = 9;

/// Appends a text with its length.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

impl WrittenValue {
    /// Appends type and value.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let kind = |out: &mut Vec<u8>, n: u32| out.extend(n.to_le_bytes());
        let list = |out: &mut Vec<u8>, inner: u32, length: usize| {
            kind(out, LIST);
            kind(out, inner);
            out.extend((length as u64).to_le_bytes());
        };
        match self {
            Self::U32(n) => {
                kind(out, 4);
                out.extend(n.to_le_bytes());
            }
            Self::F32(x) => {
                kind(out, 6);
                out.extend(x.to_le_bytes());
            }
            Self::Bool(b) => {
                kind(out, 7);
                out.push(u8::from(*b));
            }
            Self::Text(text) => {
                kind(out, TEXT);
                write_text(out, text);
            }
            Self::Texts(texts) => {
                list(out, TEXT, texts.len());
                texts.iter().for_each(|text| write_text(out, text));
            }
            Self::I32s(numbers) => {
                list(out, 5, numbers.len());
                numbers.iter().for_each(|n| out.extend(n.to_le_bytes()));
            }
            Self::F32s(numbers) => {
                list(out, 6, numbers.len());
                numbers.iter().for_each(|x| out.extend(x.to_le_bytes()));
            }
        }
    }
}
