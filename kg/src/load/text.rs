//! Plain text formats: three fields per line, each the name of a node; and texts that are read as a whole.

use std::io::{BufRead, Read};

use common::input::without_mark;

use super::sink::{ReadStop, Sink};
use crate::limits::KB_PART;

/// The whole text of a file that cannot be read in parts. It must fit a part of the memory of the load. `what` names the
/// file in the error.
pub(super) fn whole(
    sink: &Sink<'_>,
    reader: &mut dyn BufRead,
    what: &str,
) -> Result<String, ReadStop> {
    let mut text = String::new();
    let most = sink.memory() / KB_PART;
    reader.take(most as u64 + 1).read_to_string(&mut text)?;
    if text.len() > most {
        let line = text.bytes().filter(|&byte| byte == b'\n').count() as u64 + 1;
        return Err(sink.refuse(
            line,
            format!("{what} is read into memory, and this one has more than {most} bytes; raise --memory"),
        ));
    }
    Ok(text)
}

/// Lines of fields between separators.
pub(super) fn block(
    sink: &mut Sink<'_>,
    separator: char,
    block: &[u8],
    first: u64,
) -> Result<(), ReadStop> {
    for (number, bytes) in (first..).zip(block.split(|&byte| byte == b'\n')) {
        let Ok(line) = std::str::from_utf8(bytes) else {
            sink.fault(number, "not UTF-8 text".to_owned())?;
            continue;
        };
        let line = without_mark(line).trim_end_matches('\r');
        if line.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
        let [s, p, o] = fields[..] else {
            let shape = if separator == '|' {
                "subject|relation|object"
            } else {
                "head<TAB>relation<TAB>tail"
            };
            sink.fault(
                number,
                format!("{} fields where `{shape}` has 3", fields.len()),
            )?;
            continue;
        };
        if [s, p, o].iter().any(|field| field.is_empty()) {
            sink.fault(
                number,
                "an empty field; head, relation and tail each need a text".to_owned(),
            )?;
            continue;
        }
        let (s, p, o) = (sink.text(s), sink.text(p), sink.text(o));
        sink.triple(s, p, o)?;
    }
    Ok(())
}
