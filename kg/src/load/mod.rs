//! Loading a graph from files: RDF in all its syntaxes, tab-separated triples, MetaQA's `subject|relation|object`; each may be gzipped.
//!
//! ```text
//! file ──▶ lines (blocks, one parser a thread) or stream ──▶ sink (chunks of interned triples, on disk when memory is full) ──▶ frozen
//! ```
//!
//! A format is a variant of [`Format`] and a function from a reader to a [`sink::Sink`].

mod json;
mod lines;
mod rdf;
mod sink;
mod source;
mod text;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::MultiGzDecoder;
use oxigraph::io::{JsonLdProfileSet, RdfFormat};

use super::frozen::{FreezeError, FrozenKg, Input};
use sink::{Halt, Shared, Sink};
pub use source::Source;

/// Longest first line that is looked at to tell a format.
const FIRST_LINE: u64 = 1 << 20;

/// Memory for loading where nobody says otherwise.
const MEMORY: usize = 1 << 30;

/// The syntax of a graph file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Turtle (`.ttl`).
    Turtle,
    /// N-Triples (`.nt`).
    NTriples,
    /// N-Quads (`.nq`).
    NQuads,
    /// TriG (`.trig`).
    TriG,
    /// RDF/XML (`.rdf`, `.xml`, `.owl`).
    RdfXml,
    /// JSON-LD (`.jsonld`) without remote contexts.
    JsonLd,
    /// Lines of `head <TAB> relation <TAB> tail` (`.tsv`).
    Tsv,
    /// Lines of `subject|relation|object`, as MetaQA's `kb.txt`.
    MetaQa,
    /// KQA Pro's graph ([`super::kqapro`]), known by its name `kb.json`; it is read whole.
    KqaPro,
    /// ODA's subgraphs (`.json`): `{entity: [[head, relation, tail], …]}`, or `{id: label}` for the labels, which come in a file of their own.
    Oda,
}

impl Format {
    /// Every format with its name, which is also its file extension where it has one.
    pub const NAMES: &[(&str, Self)] = &[
        ("ttl", Self::Turtle),
        ("nt", Self::NTriples),
        ("nq", Self::NQuads),
        ("trig", Self::TriG),
        ("rdf", Self::RdfXml),
        ("jsonld", Self::JsonLd),
        ("tsv", Self::Tsv),
        ("metaqa", Self::MetaQa),
        ("kqapro", Self::KqaPro),
        ("oda", Self::Oda),
    ];

    /// The format of a name in [`Format::NAMES`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }

    /// The format of a file name, `.gz` ignored; `None` where the extension says nothing, as `.txt` does.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name == "kb.json" {
            return Some(Self::KqaPro);
        }
        match name.rsplit_once('.')?.1 {
            "turtle" => Some(Self::Turtle),
            "ntriples" => Some(Self::NTriples),
            "nquads" => Some(Self::NQuads),
            "xml" | "owl" => Some(Self::RdfXml),
            "json" => Some(Self::Oda),
            extension => Self::named(extension),
        }
    }

    /// Reads a file of this format. Line-based ones are cut into blocks that are parsed at the same time; of the others the sink gets one
    /// triple after the other.
    fn read(
        self,
        shared: &Shared<'_>,
        place: sink::Place<'_>,
        reader: &mut dyn BufRead,
    ) -> Result<(), Halt> {
        let json_ld = RdfFormat::JsonLd {
            profile: JsonLdProfileSet::empty(),
        };
        match self {
            Self::NTriples => lines::read(shared, place, reader, |sink, block, line| {
                rdf::block(sink, RdfFormat::NTriples, block, line)
            }),
            Self::NQuads => lines::read(shared, place, reader, |sink, block, line| {
                rdf::block(sink, RdfFormat::NQuads, block, line)
            }),
            Self::Tsv => lines::read(shared, place, reader, |sink, block, line| {
                text::block(sink, '\t', block, line)
            }),
            Self::MetaQa => lines::read(shared, place, reader, |sink, block, line| {
                text::block(sink, '|', block, line)
            }),
            Self::Turtle => stream(shared, place, |sink| {
                rdf::stream(sink, RdfFormat::Turtle, reader)
            }),
            Self::TriG => stream(shared, place, |sink| {
                rdf::stream(sink, RdfFormat::TriG, reader)
            }),
            Self::RdfXml => stream(shared, place, |sink| {
                rdf::stream(sink, RdfFormat::RdfXml, reader)
            }),
            Self::JsonLd => stream(shared, place, |sink| rdf::stream(sink, json_ld, reader)),
            Self::KqaPro => stream(shared, place, |sink| json::kqapro(sink, reader)),
            Self::Oda => stream(shared, place, |sink| json::oda(sink, reader)),
        }
    }
}

/// Runs a reader that gives one triple after the other on this thread.
fn stream<'a>(
    shared: &'a Shared<'a>,
    place: sink::Place<'a>,
    read: impl FnOnce(&mut Sink<'a>) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let mut sink = Sink::new(shared, place);
    let result = read(&mut sink);
    sink.finish();
    result
}

/// How to read graph files.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The syntax of every file, instead of guessing from names and first lines.
    pub format: Option<Format>,
    /// Takes IRIs as they stand instead of checking them against RFC 3987: dumps hold spaces and quotes in them.
    pub any_iri: bool,
    /// Faulty statements that are passed over before loading fails; 0 makes the first one an error.
    pub max_faults: usize,
    /// Bytes of memory for triples and terms on the way into a graph folder; what does not fit is sorted on disk.
    pub memory: usize,
    /// Threads that parse; 0 takes all cores. The graph does not depend on it.
    pub threads: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            format: None,
            any_iri: false,
            max_faults: 0,
            memory: MEMORY,
            threads: 0,
        }
    }
}

/// What loading is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many triples have been read.
    Read(u64),
    /// All are read; they are being sorted and written.
    Sort,
}

/// Why a graph could not be loaded. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A statement does not parse.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong there and what would be right.
        message: String,
    },
    /// Neither the name nor the first line tells the format.
    #[error(
        "{}: unknown graph format; use one of .ttl .nt .nq .trig .rdf .jsonld .tsv .json (each also .gz), lines of \
         `subject|relation|object` or `head<TAB>relation<TAB>tail`, or say it with --format (kqapro for KQA Pro's kb.json, oda for \
         ODA's subgraphs)",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// Loading was told to stop.
    #[error("loading was interrupted; nothing was written")]
    Stopped,
    /// The triples could not be brought into order.
    #[error("after the files were read: {0}")]
    Freeze(#[from] FreezeError),
}

impl FrozenKg {
    /// Loads and joins graph files into memory. `progress` hears now and then how far it is.
    ///
    /// # Errors
    /// [`LoadError`] with the file and, for faulty content, the line.
    pub fn load(
        files: &[PathBuf],
        options: &LoadOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<Self, LoadError> {
        let gathered = gather(files, options, None, progress, &AtomicBool::new(false))?;
        progress(Progress::Sort);
        Ok(Self::freeze(gathered.input, None, None)?)
    }
}

/// The triples of all files, sorted in pieces.
pub(super) struct Gathered {
    pub input: Input,
    pub sources: Vec<Source>,
    /// Whether the pieces lie on disk because memory was full.
    pub spilled: bool,
}

/// Reads all files. With a folder to work in, chunks go there when memory is full. Raising `stop` ends it soon.
pub(super) fn gather(
    files: &[PathBuf],
    options: &LoadOptions,
    work: Option<&Path>,
    progress: &dyn Fn(Progress),
    stop: &AtomicBool,
) -> Result<Gathered, LoadError> {
    use rayon::prelude::*;
    let sources = files
        .par_iter()
        .map(|path| Source::of(path))
        .collect::<Result<Vec<_>, _>>()?;
    // Blank nodes carry the rank of their file by content, so that the order in which files are named changes nothing.
    let mut ranks: Vec<usize> = (0..files.len()).collect();
    ranks.sort_by_key(|&i| (&sources[i].sha256, i));
    let mut shared = Shared::new(options, work, stop);
    for (i, path) in files.iter().enumerate() {
        let io = |source| LoadError::Io {
            path: path.to_owned(),
            source,
        };
        let rank = ranks.iter().position(|&r| r == i).unwrap_or(i);
        let mut reader = open(path).map_err(io)?;
        let mut start = Vec::new();
        let format = match options.format.or_else(|| Format::of(path)) {
            Some(format) => format,
            None => {
                reader
                    .by_ref()
                    .take(FIRST_LINE)
                    .read_until(b'\n', &mut start)
                    .map_err(io)?;
                guess(&start).ok_or_else(|| LoadError::Format {
                    path: path.to_owned(),
                })?
            }
        };
        let mut reader = std::io::Cursor::new(start).chain(reader);
        let result = format.read(
            &shared,
            sink::Place {
                file: i,
                rank,
                progress,
            },
            &mut reader,
        );
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        if let Some(fault) = shared.worst_fault() {
            return Err(LoadError::Syntax {
                path: files[fault.file].clone(),
                line: fault.line,
                message: fault.message,
            });
        }
        match result {
            Ok(()) => {}
            Err(Halt::Io(source)) => return Err(io(source)),
            Err(Halt::Faults) => return Err(io(std::io::Error::other("a faulty statement"))),
            Err(Halt::Stopped) => return Err(LoadError::Stopped),
        }
    }
    progress(Progress::Read(shared.read()));
    let (input, spilled) = shared.finish().map_err(FreezeError::from)?;
    Ok(Gathered {
        input,
        sources,
        spilled,
    })
}

/// Opens a file, decompressing it if it is gzipped (by its first bytes, whatever its name).
fn open(path: &Path) -> std::io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::with_capacity(1 << 16, std::fs::File::open(path)?);
    Ok(if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(
            1 << 16,
            MultiGzDecoder::new(reader),
        ))
    } else {
        Box::new(reader)
    })
}

/// The format of a file's first line, if it has exactly three fields of one kind.
fn guess(line: &[u8]) -> Option<Format> {
    let line = std::str::from_utf8(line).ok()?;
    let fields = |separator| line.split(separator).count();
    match (fields('|'), fields('\t')) {
        (3, 1) => Some(Format::MetaQa),
        (_, 3) => Some(Format::Tsv),
        _ => None,
    }
}
