//! Graphs in the JSON formats of published datasets.

use std::io::{BufRead, Read};

use super::guard::{GuardedReader, Watch};
use super::sink::{ReadStop, Sink};
use crate::kqapro;
use crate::limits::KB_PART;
use crate::subgraph::OdaReader;
use crate::term::Term;

/// KQA Pro's `kb.json`, which must fit the memory of the load.
pub(super) fn kqapro(sink: &mut Sink<'_>, reader: &mut dyn BufRead) -> Result<(), ReadStop> {
    let mut text = String::new();
    let most = sink.memory() / KB_PART;
    reader.take(most as u64 + 1).read_to_string(&mut text)?;
    if text.len() > most {
        let line = text.bytes().filter(|&byte| byte == b'\n').count() as u64 + 1;
        return Err(sink.refuse(
            line,
            format!("KQA Pro's kb.json is read into memory, and this one has more than {most} bytes; raise --memory"),
        ));
    }
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
