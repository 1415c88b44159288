//! Plain text formats: three fields per line, each the name of a node.

use common::input::without_mark;

use super::sink::{ReadStop, Sink};

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
