//! Graphs in the JSON formats of published datasets.

use std::io::BufRead;

use super::sink::{ReadStop, Sink};
use crate::kqapro;
use crate::subgraph::OdaReader;
use crate::term::Term;

/// KQA Pro's `kb.json`.
pub(super) fn kqapro(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), ReadStop> {
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

/// ODA's subgraphs or their labels. The rest of the file after an error is not read.
pub(super) fn oda(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), ReadStop> {
    let mut halted = None;
    let read = OdaReader::new(|triple: [Term; 3]| {
        let [s, p, o] = triple.map(|term| sink.term(&term));
        sink.triple(s, p, o).map_err(|halt| {
            halted = Some(halt);
            "loading has ended"
        })
    })
    .read(reader);
    match (halted, read) {
        (Some(halt), _) => Err(halt),
        (None, Ok(_)) => Ok(()),
        (None, Err(error)) => sink.fault(error.line as u64, error.message),
    }
}
