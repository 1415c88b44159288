//! Loading a graph from files: RDF in all its syntaxes, tab-separated triples, MetaQA's `subject|relation|object`; each may be gzipped.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use oxigraph::io::{RdfFormat, RdfParseError, RdfParser};
use oxigraph::model::{NamedOrBlankNode, Term as OxTerm};
use rustc_hash::FxHashMap;

use super::MemoryKg;
use super::dictionary::{BLANK, Builder, IRI, literal_key, node_key};
use super::names::text_iri;
use crate::term::XSD;

/// How often the progress callback is called, in triples.
const PROGRESS_EVERY: u64 = 65_536;

/// What relative IRIs of a file without a base are relative to.
const BASE: &str = "http://example.org/";

/// Longest line of a text format: no real one comes near it, and a file that is no text at all is noticed before it fills the memory.
const LINE_BYTES: u64 = 1 << 20;

/// The syntax of a graph file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Turtle (`.ttl`).
    Turtle,
    /// N-Triples (`.nt`).
    NTriples,
    /// N-Quads (`.nq`); graph names are dropped.
    NQuads,
    /// TriG (`.trig`); graph names are dropped.
    TriG,
    /// RDF/XML (`.rdf`, `.xml`, `.owl`).
    RdfXml,
    /// JSON-LD (`.jsonld`) without remote contexts.
    JsonLd,
    /// Lines of `head <TAB> relation <TAB> tail` (`.tsv`).
    Tsv,
    /// Lines of `subject|relation|object`, as MetaQA's `kb.txt`.
    MetaQa,
}

impl Format {
    /// The format of a file name, `.gz` ignored; `None` where the extension says nothing, as `.txt` does.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        Some(match name.rsplit_once('.')?.1 {
            "ttl" | "turtle" => Self::Turtle,
            "nt" | "ntriples" => Self::NTriples,
            "nq" | "nquads" => Self::NQuads,
            "trig" => Self::TriG,
            "rdf" | "xml" | "owl" => Self::RdfXml,
            "jsonld" => Self::JsonLd,
            "tsv" => Self::Tsv,
            _ => return None,
        })
    }

    fn rdf(self) -> Option<RdfFormat> {
        Some(match self {
            Self::Turtle => RdfFormat::Turtle,
            Self::NTriples => RdfFormat::NTriples,
            Self::NQuads => RdfFormat::NQuads,
            Self::TriG => RdfFormat::TriG,
            Self::RdfXml => RdfFormat::RdfXml,
            Self::JsonLd => RdfFormat::JsonLd { profile: oxigraph::io::JsonLdProfileSet::empty() },
            Self::Tsv | Self::MetaQa => return None,
        })
    }
}

/// How to read graph files.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// The syntax of every file, instead of guessing from names and first lines.
    pub format: Option<Format>,
    /// Keeps the labels of blank nodes as they are, so that blank nodes of the same label in two files become one. Otherwise they are
    /// numbered in order of appearance.
    pub keep_blank_names: bool,
    /// Takes IRIs as they stand instead of checking them against RFC 3987: dumps hold spaces and quotes in them.
    pub any_iri: bool,
    /// Faulty statements that are passed over before loading fails; 0 makes the first one an error.
    pub max_faults: usize,
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
        "{}: unknown graph format; use one of .ttl .nt .nq .trig .rdf .jsonld .tsv (each also .gz), or lines of \
         `subject|relation|object` or `head<TAB>relation<TAB>tail`",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// More different terms than ids.
    #[error("{}: the graph has more than 4,294,967,294 different terms; load a part of it", path.display())]
    TooLarge {
        /// The file at which the ids ran out.
        path: PathBuf,
    },
}

impl MemoryKg {
    /// Loads and joins graph files. `progress` hears the number of triples read so far, now and then and once at the end.
    ///
    /// # Errors
    /// [`LoadError`] with the file and, for faulty content, the line.
    pub fn load(files: &[PathBuf], options: &LoadOptions, progress: &dyn Fn(u64)) -> Result<Self, LoadError> {
        let mut loader = Loader { builder: Builder::default(), key: String::new(), options, progress, read: 0, faults: 0, blanks: 0 };
        for path in files {
            loader.file(path)?;
        }
        progress(loader.read);
        Ok(Self::build(loader.builder))
    }
}

/// Opens a file, decompressing it if it is gzipped (by its first bytes, whatever its name).
pub(super) fn open(path: &Path) -> std::io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    Ok(if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader)))
    } else {
        Box::new(reader)
    })
}

struct Loader<'a> {
    builder: Builder,
    key: String,
    options: &'a LoadOptions,
    progress: &'a dyn Fn(u64),
    read: u64,
    faults: usize,
    blanks: u64,
}

impl Loader<'_> {
    fn file(&mut self, path: &Path) -> Result<(), LoadError> {
        let io = |source| LoadError::Io { path: path.to_owned(), source };
        let mut reader = open(path).map_err(io)?;
        let mut start = Vec::new();
        let format = match self.options.format.or_else(|| Format::of(path)) {
            Some(format) => format,
            None => {
                reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut start).map_err(io)?;
                guess(&start).ok_or_else(|| LoadError::Format { path: path.to_owned() })?
            }
        };
        let reader = std::io::Cursor::new(start).chain(reader);
        match format.rdf() {
            Some(rdf) => self.rdf(path, rdf, reader),
            None => self.text(path, if format == Format::MetaQa { '|' } else { '\t' }, reader),
        }
    }

    fn rdf(&mut self, path: &Path, format: RdfFormat, reader: impl Read) -> Result<(), LoadError> {
        let mut parser = RdfParser::from_format(format);
        if self.options.any_iri {
            parser = parser.lenient();
        }
        // Small examples are full of relative IRIs; where the file lies must not change the graph, so they get one fixed base.
        parser = parser.with_base_iri(BASE).unwrap_or_else(|_| RdfParser::from_format(format));
        let mut blanks: FxHashMap<String, String> = FxHashMap::default();
        for quad in parser.for_reader(reader) {
            let quad = match quad {
                Ok(quad) => quad,
                Err(RdfParseError::Io(source)) => return Err(LoadError::Io { path: path.to_owned(), source }),
                Err(RdfParseError::Syntax(error)) => {
                    let line = error.location().map_or(0, |place| place.start.line + 1);
                    self.fault(path, line, error.to_string())?;
                    continue;
                }
            };
            let s = match &quad.subject {
                NamedOrBlankNode::NamedNode(node) => self.iri(node.as_str()),
                NamedOrBlankNode::BlankNode(node) => self.blank(&mut blanks, node.as_str()),
            };
            let p = self.iri(quad.predicate.as_str());
            let o = match &quad.object {
                OxTerm::NamedNode(node) => self.iri(node.as_str()),
                OxTerm::BlankNode(node) => self.blank(&mut blanks, node.as_str()),
                OxTerm::Literal(literal) => {
                    let lang = literal.language().map(str::to_ascii_lowercase).unwrap_or_default();
                    let datatype = literal.datatype().as_str();
                    let plain = !lang.is_empty() || datatype.strip_prefix(XSD) == Some("string");
                    literal_key(&mut self.key, literal.value(), if plain { "" } else { datatype }, &lang);
                    self.builder.intern(&self.key)
                }
            };
            self.push(path, s, p, o)?;
        }
        Ok(())
    }

    fn text(&mut self, path: &Path, separator: char, mut reader: impl BufRead) -> Result<(), LoadError> {
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            let read = reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes);
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(source) => return Err(LoadError::Io { path: path.to_owned(), source }),
            }
            let Ok(line) = std::str::from_utf8(&bytes) else {
                self.fault(path, number, "not UTF-8 text".to_owned())?;
                continue;
            };
            let line = line.strip_prefix('\u{feff}').unwrap_or(line).trim_end_matches(['\n', '\r']);
            if line.trim().is_empty() {
                continue;
            }
            let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
            let [s, p, o] = fields[..] else {
                let shape = if separator == '|' { "subject|relation|object" } else { "head<TAB>relation<TAB>tail" };
                self.fault(path, number, format!("{} fields where `{shape}` has 3", fields.len()))?;
                continue;
            };
            if [s, p, o].iter().any(|field| field.is_empty()) {
                self.fault(path, number, "an empty field; head, relation and tail each need a text".to_owned())?;
                continue;
            }
            let (s, p, o) = (self.iri(&text_iri(s)), self.iri(&text_iri(p)), self.iri(&text_iri(o)));
            self.push(path, s, p, o)?;
        }
        Ok(())
    }

    fn fault(&mut self, path: &Path, line: u64, message: String) -> Result<(), LoadError> {
        self.faults += 1;
        if self.faults > self.options.max_faults {
            return Err(LoadError::Syntax { path: path.to_owned(), line, message });
        }
        Ok(())
    }

    fn iri(&mut self, iri: &str) -> Option<u32> {
        node_key(&mut self.key, IRI, iri);
        self.builder.intern(&self.key)
    }

    fn blank(&mut self, names: &mut FxHashMap<String, String>, label: &str) -> Option<u32> {
        if self.options.keep_blank_names {
            node_key(&mut self.key, BLANK, label);
        } else if let Some(name) = names.get(label) {
            node_key(&mut self.key, BLANK, name);
        } else {
            let name = format!("b{}", self.blanks);
            self.blanks += 1;
            node_key(&mut self.key, BLANK, &name);
            names.insert(label.to_owned(), name);
        }
        self.builder.intern(&self.key)
    }

    fn push(&mut self, path: &Path, s: Option<u32>, p: Option<u32>, o: Option<u32>) -> Result<(), LoadError> {
        let (Some(s), Some(p), Some(o)) = (s, p, o) else { return Err(LoadError::TooLarge { path: path.to_owned() }) };
        self.builder.push([s, p, o]);
        self.read += 1;
        if self.read.is_multiple_of(PROGRESS_EVERY) {
            (self.progress)(self.read);
        }
        Ok(())
    }
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
