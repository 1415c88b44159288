//! Estimates the memory that the parser of JSON-LD takes, byte by byte.
//!
//! The parser keeps all of an object, and all triples of the outermost one, until its end. Each
//! object copies what is inside it. A name may stand for any text of the context.

use super::star::STATEMENT;
use crate::limits::{JSON_CONTEXT, JSON_DEPTH, JSON_EVENT};

/// Memory per byte of a text, once for every level around it: a copy may be half empty.
const TEXT: usize = 2;

/// The longest spelling of `@annotation`, with every character escaped.
const KEY: usize = 11 * 6;

/// The state of the check.
#[derive(Default)]
pub(super) struct JsonCheck {
    memory: usize,
    /// Estimated memory so far. It only grows: most files have one object around everything.
    used: usize,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The start of the last text, as written.
    text: Vec<u8>,
    /// The depth and the bytes so far of the current `@context`.
    context: Option<(usize, usize)>,
    /// Bytes of the longest `@context`.
    longest: usize,
}

impl JsonCheck {
    /// A check against the memory of a load in bytes.
    pub(super) fn new(memory: usize) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    /// Counts a byte; the error says why it is refused.
    pub(super) fn step(&mut self, byte: u8) -> Result<(), String> {
        let event = if self.in_text {
            self.in_text = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            if self.in_text && self.text.len() <= KEY {
                self.text.push(byte);
            }
            0
        } else {
            self.outside_text(byte)?
        };
        if let Some((_, bytes)) = &mut self.context {
            *bytes += 1;
            self.longest = self.longest.max(*bytes);
            if *bytes > JSON_CONTEXT {
                return Err(format!("a @context of more than {JSON_CONTEXT} bytes"));
            }
        }
        self.used += event + TEXT * self.depth;
        if self.used > self.memory {
            return Err(format!(
                "the parser of JSON-LD would take more than {} bytes of memory; raise --memory, or convert the file to N-Triples",
                self.memory
            ));
        }
        Ok(())
    }

    /// Returns the memory for what begins or ends here.
    fn outside_text(&mut self, byte: u8) -> Result<usize, String> {
        let event = JSON_EVENT * (self.depth + 1);
        match byte {
            b'"' => {
                self.in_text = true;
                self.text.clear();
                return Ok(self.longest);
            }
            b'{' | b'[' if self.depth == JSON_DEPTH => {
                return Err(format!("JSON nested more than {JSON_DEPTH} deep"));
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.context = self.context.filter(|&(depth, _)| depth <= self.depth);
            }
            b',' => self.context = self.context.filter(|&(depth, _)| depth < self.depth),
            b':' if self.is_key("@annotation") => return Err(STATEMENT.to_owned()),
            b':' if self.context.is_none() && self.is_key("@context") => {
                self.context = Some((self.depth, 0));
            }
            b':' => {}
            _ => return Ok(0),
        }
        Ok(event)
    }

    /// Whether the last text is this key, however it is escaped.
    fn is_key(&self, key: &str) -> bool {
        if !matches!(self.text.first(), Some(b'@' | b'\\')) {
            return false;
        }
        let quoted = [b"\"", &self.text[..], b"\""].concat();
        serde_json::from_slice::<String>(&quoted).is_ok_and(|text| text == key)
    }
}
