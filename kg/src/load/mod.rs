//! Loads a graph from files: all RDF syntaxes, tab-separated triples, MetaQA's
//! `subject|relation|object`, KQA Pro's and ODA's JSON; each may be compressed.
//!
//! ```text
//! file ──▶ lines (parsed in parallel), stream or statements ──▶ sink (chunks, on disk if memory is full) ──▶ frozen
//! ```
//!
//! A format is a variant of [`GraphFormat`] and a function from a reader to a [`sink::Sink`].

mod base;
mod format;
mod guard;
mod json;
mod json_check;
mod lines;
mod obo;
mod options;
mod rdf;
mod scan;
mod sink;
mod source;
mod star;
mod statements;
mod text;
mod xml;
mod xml_check;

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use common::fs::FsError;
use oxigraph::io::{JsonLdProfileSet, RdfFormat};

pub use self::format::GraphFormat;
pub use self::options::{LoadError, LoadOptions, LoadProgress, Skipped, SkippedStatement};
use self::sink::{FileContext, LoadFault, LoadState, ReadStop, Sink};
pub use self::source::GraphSource;
use self::source::LoadInput;
use crate::frozen::{FreezeError, FreezeInput, FrozenKg, WorkFile};

/// Maximum length of the first line when the format is guessed.
const FIRST_LINE: u64 = 1 << 20;
/// Bytes by which the syntax of an ontology is known.
const FIRST_BYTES: u64 = 1 << 10;

/// Number of skipped statements that a manifest describes.
const SHOWN: usize = 10;

/// Part of the memory that a decompressor may take.
const UNPACKING: usize = 4;

/// Reads a file of this format. Line-based formats are parsed in parallel, the others one triple at
/// a time. `by_statements` is how Turtle and TriG are read.
fn read(
    format: GraphFormat,
    state: &LoadState<'_>,
    file: FileContext<'_>,
    progress: &dyn Fn(LoadProgress),
    reader: &mut dyn BufRead,
    by_statements: bool,
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
        GraphFormat::Obo => return sink().fill(|sink| obo::read(sink, reader)),
        GraphFormat::KqaPro => return sink().fill(|sink| json::kqapro(sink, reader)),
        GraphFormat::Oda => return sink().fill(|sink| json::oda(sink, reader)),
    };
    if matches!(rdf, RdfFormat::NTriples | RdfFormat::NQuads) {
        lines::read(state, file, progress, reader, |sink, block, line| {
            rdf::block(sink, rdf, block, line)
        })
    } else if by_statements && rdf::by_statements(rdf) {
        sink().fill(|sink| statements::read(sink, rdf, reader))
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
        options: &LoadOptions<'_>,
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
    /// Statements that were skipped.
    pub skipped: Option<Skipped>,
    /// Where the chunks are if memory was full.
    pub work: Option<WorkFile>,
}

/// Reads all files. With a `work` folder, chunks are written there when memory is full. If `stop`
/// becomes true, loading ends soon.
pub(crate) fn gather(
    files: &[PathBuf],
    options: &LoadOptions<'_>,
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
    let bases = base::of_files(files, &inputs, options.base)?;
    let mut sources = Vec::with_capacity(inputs.len());
    for (i, (path, input)) in files.iter().zip(&inputs).enumerate() {
        let uses_base = AtomicBool::new(false);
        let file = FileContext {
            index: i,
            rank: ranks.iter().position(|&r| r == i).unwrap_or(i),
            base: &bases[i],
            uses_base: &uses_base,
        };
        let before = state.read();
        let mut result = read_input(&state, file, path, input, progress, options.max_faults > 0)?;
        if let Err(ReadStop::Statements) = result {
            state.read_again(before);
            result = read_input(&state, file, path, input, progress, true)?;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        if let Some(fault) = state.worst_fault() {
            return Err(too_many(files, options.max_faults, fault));
        }
        match result {
            Ok(()) => {}
            Err(ReadStop::Refused(fault)) => return Err(syntax(files, fault)),
            Err(ReadStop::Io(source)) => return Err(FsError::at(path)(source).into()),
            Err(ReadStop::Faults | ReadStop::Statements) => {
                let source = std::io::Error::other("a faulty statement");
                return Err(FsError::at(path)(source).into());
            }
            Err(ReadStop::Stopped) => return Err(LoadError::Stopped),
        }
        let mut source = input.source.clone();
        source.base = uses_base.into_inner().then(|| bases[i].clone());
        sources.push(source);
    }
    let skipped = skipped(files, &state);
    progress(LoadProgress::Read(state.read()));
    let (input, work) = state.finish().map_err(FreezeError::from)?;
    Ok(Gathered {
        input,
        sources,
        skipped,
        work,
    })
}

/// Opens an input and reads it. The outer error ends the load.
fn read_input(
    state: &LoadState<'_>,
    file: FileContext<'_>,
    path: &Path,
    input: &LoadInput,
    progress: &dyn Fn(LoadProgress),
    by_statements: bool,
) -> Result<Result<(), ReadStop>, LoadError> {
    let io = |source| LoadError::from(FsError::at(path)(source));
    let options = state.options;
    let mut reader = input
        .open(path)
        .and_then(|opened| common::input::of_file(opened, path, options.memory / UNPACKING))
        .map_err(io)?;
    let mut start = Vec::new();
    let format = match options.format.or_else(|| GraphFormat::of(path)) {
        Some(GraphFormat::RdfXml) if options.format.is_none() => {
            let first = reader.by_ref().take(FIRST_BYTES).read_to_end(&mut start);
            first.map_err(io)?;
            GraphFormat::of_ontology(&start).map_err(|message| LoadError::Syntax {
                path: path.to_owned(),
                line: 1,
                message,
            })?
        }
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
    Ok(read(
        format,
        state,
        file,
        progress,
        &mut reader,
        by_statements,
    ))
}

fn syntax(files: &[PathBuf], fault: LoadFault) -> LoadError {
    LoadError::Syntax {
        path: files[fault.file].clone(),
        line: fault.line,
        message: fault.message,
    }
}

/// The error for the first fault that is not skipped.
fn too_many(files: &[PathBuf], most: usize, mut fault: LoadFault) -> LoadError {
    if most > 0 {
        fault.message = format!(
            "{}; more than {most} statements are faulty, which is all that --max-faults allows",
            fault.message
        );
    }
    syntax(files, fault)
}

/// What was skipped.
fn skipped(files: &[PathBuf], state: &LoadState<'_>) -> Option<Skipped> {
    let (statements, first) = state.skipped(SHOWN);
    let place = |fault: LoadFault| SkippedStatement {
        path: files[fault.file].display().to_string(),
        line: fault.line,
        last_line: fault.last,
        message: fault.message,
    };
    (statements > 0).then(|| Skipped {
        statements,
        first: first.into_iter().map(place).collect(),
    })
}
