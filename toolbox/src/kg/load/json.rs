//! Graphs that data sets publish as JSON.

use std::io::BufRead;

use super::sink::{Halt, Sink};
use crate::kg::kqapro;

/// KQA Pro's `kb.json`.
pub(super) fn kqapro(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), Halt> {
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    let mut result = Ok(());
    let read = kqapro::each_triple(&text, &mut |triple| {
        if result.is_ok() {
            let [s, p, o] = triple.map(|term| sink.term(&term));
            result = sink.triple(s, p, o);
        }
    });
    result?;
    match read {
        Ok(()) => Ok(()),
        Err(error) => sink.fault(error.line, error.to_string()),
    }
}
