//! Texts in UTF-16, ISO-8859-1 and windows-1252, read as UTF-8.

use std::io::{self, BufRead, BufReader, Read};

use super::Input;

/// An encoding of text other than UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// windows-1252. Texts that are said to be in ISO-8859-1 are read as this, too: it has the same letters, and
    /// quotation marks where ISO-8859-1 has control characters.
    Windows1252,
}

/// The characters of windows-1252 from 0x80 to 0x9f. The five that it leaves open stand for themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Text in an encoding, as UTF-8.
#[must_use]
pub fn decoded(reader: Input<'_>, encoding: Encoding) -> Input<'_> {
    Box::new(BufReader::new(Decoder {
        reader,
        encoding,
        text: Vec::new(),
        given: 0,
        byte: None,
        high: None,
        line: 1,
    }))
}

struct Decoder<'a> {
    reader: Input<'a>,
    encoding: Encoding,
    /// Decoded text, and how much of it was given.
    text: Vec<u8>,
    given: usize,
    /// The first byte of a unit of UTF-16.
    byte: Option<u8>,
    /// The first half of a pair of units.
    high: Option<u16>,
    line: u64,
}

impl Decoder<'_> {
    /// Decodes the bytes that can be read next. Returns false at the end.
    fn decode(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.given = 0;
        let bytes = self.reader.fill_buf()?.to_vec();
        self.reader.consume(bytes.len());
        if bytes.is_empty() && (self.byte.is_some() || self.high.is_some()) {
            return Err(self.wrong());
        }
        for &byte in &bytes {
            match (self.encoding, self.byte.take()) {
                (Encoding::Windows1252, _) => self.push(match byte {
                    0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
                    _ => char::from(byte),
                }),
                (_, None) => self.byte = Some(byte),
                (Encoding::Utf16Le, Some(low)) => self.unit(u16::from_le_bytes([low, byte]))?,
                (Encoding::Utf16Be, Some(high)) => self.unit(u16::from_be_bytes([high, byte]))?,
            }
        }
        Ok(!bytes.is_empty())
    }

    fn unit(&mut self, unit: u16) -> io::Result<()> {
        let pair = match (self.high.take(), unit) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(unit);
                return Ok(());
            }
            (high, _) => high.into_iter().chain([unit]),
        };
        for character in char::decode_utf16(pair) {
            let character = character.map_err(|_| self.wrong())?;
            self.push(character);
        }
        Ok(())
    }

    fn push(&mut self, character: char) {
        self.line += u64::from(character == '\n');
        let mut buffer = [0; 4];
        self.text
            .extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }

    fn wrong(&self) -> io::Error {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "line {}: this text begins as UTF-16 but is not all UTF-16; convert it to UTF-8",
                self.line
            ),
        )
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.given == self.text.len() {
            if !self.decode()? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.text.len() - self.given);
        buffer[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
