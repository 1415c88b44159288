//! Graphs in the JSON formats of published datasets.

use std::io::BufRead;

use super::guard::{GuardedReader, Watch};
use super::sink::{ReadStop, Sink};
use super::text;
use crate::kqapro;
use crate::subgraph::OdaReader;
use crate::term::Term;

/// KQA Pro's `kb.json`, which must fit the memory of the load.
pub(super) fn kqapro(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), ReadStop> {
    let text = text::whole(sink, reader, "KQA Pro's kb.json")?;
    let mut result = Ok(());
    let read = kqapro::each_triple(&text, sink.memory(), &mut |triple| {
        if result.is_ok() {
            let [s, p, o] = triple.map(|term| sink.term(&term));
            result = sink.triple(s, p, o);
        }
    });
    result?;
    match read {
        Ok(()) => Ok(()),
        Err(error) => Err(sink.broken(error.line, &error.to_string())),
    }
}

/// ODA's subgraphs or their labels.
pub(super) fn oda(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), ReadStop> {
    let mut halted = None;
    let memory = sink.memory();
    let watch = Watch::default();
    let read = OdaReader::new(|triple: [Term; 3]| {
        watch.triple();
        let [s, p, o] = triple.map(|term| sink.term(&term));
        sink.triple(s, p, o).map_err(|halt| {
            halted = Some(halt);
            "loading has ended"
        })
    })
    .read(GuardedReader::plain(reader, memory, &watch));
    if let Some((line, reason)) = watch.refusal() {
        return Err(sink.refuse(line, reason));
    }
    match (halted, read) {
        (Some(halt), _) => Err(halt),
        (None, Ok(_)) => Ok(()),
        (None, Err(error)) => Err(sink.broken(error.line as u64, &error.message)),
    }
}
