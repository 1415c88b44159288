//! What the operator's log gets.

use std::fmt;

use serde_json::Value;

/// A line of the log. It has no text of a question.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a> {
    /// What happened.
    pub message: &'a str,
    /// Its parts, for programs that read the log.
    pub fields: &'a [(&'static str, Value)],
}

impl fmt::Display for LogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)?;
        for (name, value) in self.fields {
            match value.as_str() {
                Some(text) => write!(f, " {name}={text}")?,
                None => write!(f, " {name}={value}")?,
            }
        }
        Ok(())
    }
}
