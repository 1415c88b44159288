//! Collects triples from readers in chunks of interned terms. Full chunks are sealed, and written
//! to disk if there is a work folder.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::options::{LoadOptions, LoadProgress};
use crate::dictionary::{BLANK, IRI, literal_key, node_key};
use crate::frozen::{Chunk, FreezeInput, SealedChunk, WorkFile};
use crate::names::text_iri;
use crate::term::{Term, XSD};

/// Number of triples between two progress calls of a sequential reader.
const PROGRESS_EVERY: u64 = 65_536;

/// Number of faults whose place and reason are kept, the first ones by file and line.
const KEPT_FAULTS: usize = 1_000;

/// A reader stopped early.
#[derive(Debug)]
pub(crate) enum ReadStop {
    /// More faults than allowed; [`LoadState`] contains them.
    Faults,
    /// The file must be read again from its start, statement by statement.
    Statements,
    /// Loading was interrupted.
    Stopped,
    /// The rest of the file is not read, however many faults are allowed.
    Refused(LoadFault),
    /// The file cannot be read, or a chunk cannot be written.
    Io(io::Error),
}

impl From<io::Error> for ReadStop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// An invalid statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoadFault {
    pub file: usize,
    pub line: u64,
    /// The last line of what is skipped.
    pub last: u64,
    pub message: String,
}

/// The invalid statements of a load: how many there are, and the first.
#[derive(Default)]
struct Faults {
    count: usize,
    first: BTreeSet<LoadFault>,
}

/// The file being read.
#[derive(Clone, Copy)]
pub(crate) struct FileContext<'a> {
    /// Its index on the command line.
    pub index: usize,
    /// Its rank by content.
    pub rank: usize,
    /// The base of its relative IRIs, if it names none itself.
    pub base: &'a str,
    /// Becomes true if it has such IRIs.
    pub uses_base: &'a AtomicBool,
}

/// State shared by the threads of one load.
pub(crate) struct LoadState<'a> {
    pub options: &'a LoadOptions<'a>,
    /// Where chunks go when memory is full.
    work: Option<WorkFile>,
    stop: &'a AtomicBool,
    read: AtomicU64,
    spilled: AtomicBool,
    /// Chunks that are not in use by any thread.
    idle: Mutex<Vec<Chunk>>,
    sealed: Mutex<Vec<SealedChunk>>,
    graphs: Mutex<FxHashMap<String, u32>>,
    faults: Mutex<Faults>,
}

/// A panic while holding one of these locks leaves no half-finished state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> LoadState<'a> {
    pub(super) fn new(
        options: &'a LoadOptions<'a>,
        work: Option<WorkFile>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            options,
            work,
            stop,
            read: AtomicU64::new(0),
            spilled: AtomicBool::new(false),
            idle: Mutex::default(),
            sealed: Mutex::default(),
            graphs: Mutex::new([(String::new(), 0)].into_iter().collect()),
            faults: Mutex::default(),
        }
    }

    /// Triples read so far.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The triples read from a file do not count, because it is read again; `before` were read before it.
    pub(super) fn read_again(&self, before: u64) {
        self.read.store(before, Ordering::Relaxed);
    }

    /// Number of parser threads.
    pub(super) fn threads(&self) -> usize {
        if self.options.threads > 0 {
            self.options.threads
        } else {
            rayon::current_num_threads()
        }
    }

    /// Whether there are more faults than allowed, or loading was interrupted.
    pub(super) fn halted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || lock(&self.faults).count > self.options.max_faults
    }

    /// The first fault beyond the allowed number, ordered by file and line, if there are more than allowed. If it is
    /// not among the first thousand, the last of these.
    pub(super) fn worst_fault(&self) -> Option<LoadFault> {
        let faults = lock(&self.faults);
        let is_bad = faults.count > self.options.max_faults;
        let mut first = faults.first.iter();
        first
            .nth(self.options.max_faults.min(KEPT_FAULTS - 1))
            .filter(|_| is_bad)
            .cloned()
    }

    /// How many statements were skipped, and the first `most` of them by file and line.
    pub(super) fn skipped(&self, most: usize) -> (usize, Vec<LoadFault>) {
        let faults = lock(&self.faults);
        let first = faults.first.iter().take(most).cloned().collect();
        (faults.count, first)
    }

    /// All chunks, and the work file if the chunks are on disk.
    pub(super) fn finish(&mut self) -> io::Result<(FreezeInput, Option<WorkFile>)> {
        use rayon::prelude::*;
        let spilled = self.spilled.load(Ordering::Relaxed);
        let work = self.work.take().filter(|_| spilled);
        let idle = std::mem::take(&mut *lock(&self.idle));
        let mut chunks = std::mem::take(&mut *lock(&self.sealed));
        let seal = |chunk: Chunk| chunk.seal(work.as_ref());
        chunks.extend(
            idle.into_par_iter()
                .filter(|chunk| !chunk.is_empty())
                .map(seal)
                .collect::<io::Result<Vec<_>>>()?,
        );
        let mut graphs: Vec<(String, u32)> = std::mem::take(&mut *lock(&self.graphs))
            .into_iter()
            .collect();
        graphs.sort_by_key(|(_, number)| *number);
        Ok((
            FreezeInput {
                chunks,
                graphs: graphs.into_iter().map(|(name, _)| name).collect(),
                reasoning: (self.options.reasoning).then_some(self.options.memory / 2),
                labels: self.options.labels.to_vec(),
            },
            work,
        ))
    }
}

/// Receives the triples of one file on one thread. Ids belong to the current chunk: use them only
/// for the next [`Sink::triple`].
pub(crate) struct Sink<'a> {
    state: &'a LoadState<'a>,
    file: FileContext<'a>,
    chunk: Chunk,
    key: String,
    /// The current named graph and its number.
    graph: (String, u32),
    /// Numbers of blank nodes whose labels are not stable.
    blanks: FxHashMap<String, usize>,
    /// Set only for the thread that reads the file.
    progress: Option<&'a dyn Fn(LoadProgress)>,
    read: u64,
    /// Faults of the block that is being read, if other threads read blocks before it.
    in_block: Option<usize>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        state: &'a LoadState<'a>,
        file: FileContext<'a>,
        progress: Option<&'a dyn Fn(LoadProgress)>,
    ) -> Self {
        let chunk = lock(&state.idle).pop().unwrap_or_default();
        let (key, graph) = (String::new(), (String::new(), 0));
        Self {
            state,
            file,
            chunk,
            key,
            graph,
            blanks: FxHashMap::default(),
            progress,
            read: 0,
            in_block: None,
        }
    }

    /// A block of lines begins.
    pub(super) fn begin_block(&mut self) {
        self.in_block = Some(0);
    }

    pub(super) fn any_iri(&self) -> bool {
        self.state.options.any_iri
    }

    /// Whether faults are skipped. Otherwise the first one ends the load.
    pub(super) fn skips_faults(&self) -> bool {
        self.state.options.max_faults > 0
    }

    /// The base of relative IRIs.
    pub(super) fn base(&self) -> &'a str {
        self.file.base
    }

    /// The file has IRIs that are relative to its base.
    pub(super) fn note_base(&self) {
        self.file.uses_base.store(true, Ordering::Relaxed);
    }

    /// Memory of the load in bytes.
    pub(super) fn memory(&self) -> usize {
        self.state.options.memory
    }

    /// The error for something in the file that would exhaust the memory.
    pub(super) fn refuse(&self, line: u64, message: String) -> ReadStop {
        ReadStop::Refused(LoadFault {
            file: self.file.index,
            line,
            last: line,
            message,
        })
    }

    /// A fault after which the rest of the file cannot be read.
    pub(super) fn broken(&self, line: u64, message: &str) -> ReadStop {
        if !self.skips_faults() {
            return self.refuse(line, message.to_owned());
        }
        self.refuse(
            line,
            format!("{message} (--max-faults skips statements of N-Triples, N-Quads, Turtle, TriG and tables; correct or convert this file)"),
        )
    }

    /// Runs a sequential reader and returns the chunk.
    pub(super) fn fill(
        mut self,
        read: impl FnOnce(&mut Self) -> Result<(), ReadStop>,
    ) -> Result<(), ReadStop> {
        let result = read(&mut self);
        self.finish();
        result
    }

    /// Returns the chunk, for the next file.
    pub(super) fn finish(mut self) {
        self.count();
        lock(&self.state.idle).push(self.chunk);
    }

    fn count(&mut self) {
        self.state
            .read
            .fetch_add(std::mem::take(&mut self.read), Ordering::Relaxed);
    }

    /// Records an invalid statement.
    ///
    /// # Errors
    /// [`ReadStop::Faults`] if there are more than allowed.
    pub(crate) fn fault(&mut self, line: u64, message: String) -> Result<(), ReadStop> {
        self.faults(line, line, message)
    }

    /// [`Sink::fault`] of a statement on several lines.
    ///
    /// # Errors
    /// Those of [`Sink::fault`].
    pub(super) fn faults(&mut self, line: u64, last: u64, message: String) -> Result<(), ReadStop> {
        let most = KEPT_FAULTS.min(self.state.options.max_faults.saturating_add(1));
        let mut faults = lock(&self.state.faults);
        faults.count += 1;
        faults.first.insert(LoadFault {
            file: self.file.index,
            line,
            last,
            message,
        });
        if faults.first.len() > most {
            faults.first.pop_last();
        }
        drop(faults);
        // The block may come before those of the other faults. Its own are needed to tell which are the first.
        let enough = self.in_block.as_mut().is_none_or(|found| {
            *found += 1;
            *found >= most
        });
        if enough && self.state.halted() {
            Err(ReadStop::Faults)
        } else {
            Ok(())
        }
    }

    pub(crate) fn iri(&mut self, iri: &str) -> u32 {
        node_key(&mut self.key, IRI, iri);
        self.chunk.intern(&self.key)
    }

    /// A node named by a plain text.
    pub(crate) fn text(&mut self, text: &str) -> u32 {
        self.iri(&text_iri(text))
    }

    /// A literal; datatype and language may be empty.
    pub(crate) fn literal(&mut self, lexical: &str, datatype: &str, lang: &str) -> u32 {
        let plain = !lang.is_empty() || datatype.strip_prefix(XSD) == Some("string");
        let lang = lang.to_ascii_lowercase();
        literal_key(
            &mut self.key,
            lexical,
            if plain { "" } else { datatype },
            &lang,
        );
        self.chunk.intern(&self.key)
    }

    /// A blank node, by its label in the file.
    pub(crate) fn blank(&mut self, label: &str) -> u32 {
        node_key(
            &mut self.key,
            BLANK,
            &format!("f{}_{label}", self.file.rank),
        );
        self.chunk.intern(&self.key)
    }

    /// A blank node whose label may be generated by the parser: it is numbered in order of
    /// appearance.
    pub(crate) fn numbered_blank(&mut self, label: &str) -> u32 {
        let number = self.number(label);
        self.blank(&format!("b{number}"))
    }

    fn number(&mut self, label: &str) -> usize {
        let next = self.blanks.len();
        match self.blanks.get(label) {
            Some(&number) => number,
            None => {
                self.blanks.insert(label.to_owned(), next);
                next
            }
        }
    }

    /// Any term; a blank node by its label in the file.
    pub(crate) fn term(&mut self, term: &Term) -> u32 {
        match term {
            Term::Iri(iri) => self.iri(iri),
            Term::Blank(label) => self.blank(label),
            Term::Literal(l) => self.literal(
                &l.lexical,
                l.datatype.as_deref().unwrap_or(""),
                l.lang.as_deref().unwrap_or(""),
            ),
        }
    }

    /// Sets the named graph of the following triples; the empty name is the default graph.
    pub(crate) fn enter(&mut self, graph: &str) {
        if self.graph.0 != graph {
            let mut graphs = lock(&self.state.graphs);
            let next = graphs.len() as u32;
            let number = *graphs.entry(graph.to_owned()).or_insert(next);
            self.graph = (graph.to_owned(), number);
        }
    }

    /// [`Sink::enter`] for a graph named by a blank node, which may also be a node of the triples.
    pub(crate) fn enter_blank(&mut self, label: &str) {
        self.enter(&format!("_:f{}_{label}", self.file.rank));
    }

    /// [`Sink::enter_blank`] with a label as in [`Sink::numbered_blank`].
    pub(crate) fn enter_numbered_blank(&mut self, label: &str) {
        let number = self.number(label);
        self.enter_blank(&format!("b{number}"));
    }

    /// Adds a triple.
    ///
    /// # Errors
    /// If memory and disk are full, or loading was interrupted.
    pub(crate) fn triple(&mut self, s: u32, p: u32, o: u32) -> Result<(), ReadStop> {
        self.chunk.push([s, p, o, self.graph.1]);
        self.read += 1;
        if self.read == PROGRESS_EVERY {
            self.count();
            if self.state.stop.load(Ordering::Relaxed) {
                return Err(ReadStop::Stopped);
            }
            if let Some(progress) = self.progress {
                progress(LoadProgress::Read(self.state.read()));
            }
        }
        let budget = self.state.options.memory / self.state.threads().max(1);
        if self.chunk.is_full() || (self.state.work.is_some() && self.chunk.bytes() > budget) {
            let full = std::mem::take(&mut self.chunk);
            if self.state.work.is_some() {
                self.state.spilled.store(true, Ordering::Relaxed);
            }
            let sealed = full.seal(self.state.work.as_ref())?;
            lock(&self.state.sealed).push(sealed);
        }
        Ok(())
    }
}
