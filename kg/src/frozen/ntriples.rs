//! A frozen graph as N-Triples.

use std::io::{self, Write};

use super::kg::FrozenKg;
use crate::dictionary::TermParts;

impl FrozenKg {
    /// Writes the graph as N-Triples, ordered by term: equal graphs give equal bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_ntriples(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut head = String::new();
        let mut last = None;
        let mut line = String::new();
        for [s, p, o] in self.image.triples() {
            if last != Some((s, p)) {
                head.clear();
                write_term(&mut head, self.key(s).parts());
                head.push(' ');
                write_term(&mut head, self.key(p).parts());
                head.push(' ');
                last = Some((s, p));
            }
            line.clear();
            line.push_str(&head);
            write_term(&mut line, self.key(o).parts());
            line.push_str(" .\n");
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// One term; characters that an IRI must not contain are escaped.
fn write_term(out: &mut String, parts: TermParts<'_>) {
    match parts {
        TermParts::Iri(iri) => {
            out.push('<');
            for c in iri.chars() {
                if c <= ' ' || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\') {
                    out.push_str(&format!("\\u{:04X}", u32::from(c)));
                } else {
                    out.push(c);
                }
            }
            out.push('>');
        }
        other => out.push_str(&other.to_term().to_string()),
    }
}
