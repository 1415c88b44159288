//! Loads a graph from files: all RDF syntaxes, tab-separated triples, MetaQA's
//! `subject|relation|object`, KQA Pro's and ODA's JSON; each may be gzipped.
//!
//! ```text
//! file ──▶ lines (parsed in parallel) or stream ──▶ sink (chunks, on disk if memory is full) ──▶ frozen
//! ```
//!
//! A format is a variant of [`GraphFormat`] and a function from a reader to a [`sink::Sink`].

mod format;
mod guard;
mod json;
mod json_check;
mod lines;
mod options;
mod rdf;
mod sink;
mod source;
mod text;
mod xml_check;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use common::fs::FsError;
use flate2::bufread::MultiGzDecoder;
use oxigraph::io::{JsonLdProfileSet, RdfFormat};

pub use self::format::GraphFormat;
pub use self::options::{LoadError, LoadOptions, LoadProgress};
use self::sink::{FileContext, LoadFault, LoadState, ReadStop, Sink};
pub use self::source::GraphSource;
use self::source::LoadInput;
use crate::frozen::{FreezeError, FreezeInput, FrozenKg, WorkFile};

/// Maximum length of the first line when the format is guessed.
const FIRST_LINE: u64 = 1 << 20;

/// Reads a file of this format. Line-based formats are parsed in parallel, the others one triple at
/// a time.
fn read(
    format: GraphFormat,
    state: &LoadState<'_>,
    file: FileContext,
    progress: &dyn Fn(LoadProgress),
    reader: &mut dyn BufRead,
) -> Result<(), ReadStop> {
    let separated = |reader, separator| {
        lines::read(state, file, progress, reader, |sink, block, line| {
            text::block(sink, separator, block, line)
        })
    };
    let sink = || Sink::new(state, file, Some(progress));
    let rdf = match format {
        GraphFormat::Tsv => return separated(reader, '\t'),
        GraphFormat::MetaQa => return separated(reader, '|'),
        GraphFormat::NTriples => RdfFormat::NTriples,
        GraphFormat::NQuads => RdfFormat::NQuads,
        GraphFormat::Turtle => RdfFormat::Turtle,
        GraphFormat::TriG => RdfFormat::TriG,
        GraphFormat::RdfXml => RdfFormat::RdfXml,
        GraphFormat::JsonLd => RdfFormat::JsonLd {
            profile: JsonLdProfileSet::empty(),
        },
        GraphFormat::KqaPro => return sink().fill(|sink| json::kqapro(sink, reader)),
        GraphFormat::Oda => return sink().fill(|sink| json::oda(sink, reader)),
    };
    if matches!(rdf, RdfFormat::NTriples | RdfFormat::NQuads) {
        lines::read(state, file, progress, reader, |sink, block, line| {
            rdf::block(sink, rdf, block, line)
        })
    } else {
        sink().fill(|sink| rdf::stream(sink, rdf, reader))
    }
}

impl FrozenKg {
    /// Loads the union of graph files into memory. `progress` is called from time to time.
    ///
    /// # Errors
    /// [`LoadError`] with the file and, for invalid content, the line.
    pub fn load(
        files: &[PathBuf],
        options: &LoadOptions,
        progress: &dyn Fn(LoadProgress),
    ) -> Result<Self, LoadError> {
        let gathered = gather(files, options, None, progress, &AtomicBool::new(false))?;
        progress(LoadProgress::Sort);
        Ok(Self::freeze(gathered.input, None, None)?)
    }
}

/// The triples of all files, in sorted chunks.
pub(crate) struct Gathered {
    pub input: FreezeInput,
    pub sources: Vec<GraphSource>,
    /// Where the chunks are if memory was full.
    pub work: Option<WorkFile>,
}

/// Reads all files. With a `work` folder, chunks are written there when memory is full. If `stop`
/// becomes true, loading ends soon.
pub(crate) fn gather(
    files: &[PathBuf],
    options: &LoadOptions,
    work: Option<&Path>,
    progress: &dyn Fn(LoadProgress),
    stop: &AtomicBool,
) -> Result<Gathered, LoadError> {
    use rayon::prelude::*;
    let inputs = files
        .par_iter()
        .map(|path| LoadInput::of(path, work, stop))
        .collect::<Result<Vec<_>, _>>()?;
    // Blank node labels contain the rank of their file by content, so the order of the file names
    // does not matter.
    let mut ranks: Vec<usize> = (0..files.len()).collect();
    ranks.sort_by_key(|&i| (&inputs[i].source.sha256, i));
    let mut state = LoadState::new(
        options,
        work.map(WorkFile::new)
            .transpose()
            .map_err(FreezeError::from)?,
        stop,
    );
    let mut sources = Vec::with_capacity(inputs.len());
    for (i, (path, input)) in files.iter().zip(inputs).enumerate() {
        sources.push(input.source.clone());
        let io = |source| LoadError::from(FsError::at(path)(source));
        let rank = ranks.iter().position(|&r| r == i).unwrap_or(i);
        let mut reader = input.into_file(path).and_then(decompressed).map_err(io)?;
        let mut start = Vec::new();
        let format = match options.format.or_else(|| GraphFormat::of(path)) {
            Some(format) => format,
            None => {
                reader
                    .by_ref()
                    .take(FIRST_LINE)
                    .read_until(b'\n', &mut start)
                    .map_err(io)?;
                GraphFormat::guess(&start).ok_or_else(|| LoadError::Format {
                    path: path.to_owned(),
                })?
            }
        };
        let mut reader = std::io::Cursor::new(start).chain(reader);
        let result = read(
            format,
            &state,
            FileContext { index: i, rank },
            progress,
            &mut reader,
        );
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        let syntax = |fault: LoadFault| LoadError::Syntax {
            path: files[fault.file].clone(),
            line: fault.line,
            message: fault.message,
        };
        if let Some(fault) = state.worst_fault() {
            return Err(syntax(fault));
        }
        match result {
            Ok(()) => {}
            Err(ReadStop::Refused(fault)) => return Err(syntax(fault)),
            Err(ReadStop::Io(source)) => return Err(io(source)),
            Err(ReadStop::Faults) => return Err(io(std::io::Error::other("a faulty statement"))),
            Err(ReadStop::Stopped) => return Err(LoadError::Stopped),
        }
    }
    progress(LoadProgress::Read(state.read()));
    let (input, work) = state.finish().map_err(FreezeError::from)?;
    Ok(Gathered {
        input,
        sources,
        work,
    })
}

/// Reads a file, and decompresses it if its first bytes are those of gzip.
fn decompressed(file: File) -> std::io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    Ok(if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(
            1 << 16,
            MultiGzDecoder::new(reader),
        ))
    } else {
        Box::new(reader)
    })
}
