//! The graph folder that `kg load` writes: a manifest and the graph, whole or not at all.
//!
//! ```text
//! DIR/manifest.json   what it is, counts, content hash, sources, label languages, deny list
//! DIR/graph.nt.gz     the triples, sorted: equal graphs give equal bytes
//! ```

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::load::{Format, LoadError, LoadOptions};
use super::{Kg, MemoryKg};
use crate::term::Term;

/// What `format` says in every manifest.
const FORMAT: &str = "kgagent-graph";
/// The version this program writes and reads.
const VERSION: u32 = 1;
/// A manifest is small; a larger file is none.
const MANIFEST_BYTES: u64 = 1 << 24;

/// A file that a graph was loaded from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The name as given when it was loaded.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
}

impl Source {
    /// Hashes a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(path: &Path) -> Result<Self, FolderError> {
        let io = |source| FolderError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut buffer).map_err(io)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            bytes += read as u64;
        }
        let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { path: path.display().to_string(), bytes, sha256 })
    }
}

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `kgagent-graph`.
    pub format: String,
    /// Version of the folder's layout.
    pub version: u32,
    /// Number of triples.
    pub triples: usize,
    /// Number of nodes that are no literals.
    pub entities: usize,
    /// Number of relations.
    pub relations: usize,
    /// Number of distinct literals.
    pub literals: usize,
    /// [`Kg::content_hash`].
    pub content_hash: String,
    /// What it was loaded from.
    pub sources: Vec<Source>,
    /// Languages of labels; the empty string is untagged.
    pub label_languages: Vec<String>,
    /// IRIs of the relations hidden from planners (rule R4); may be edited, type and label relations stay hidden anyway.
    pub deny: Vec<String>,
}

/// Why a graph folder could not be written or opened.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Something else lies where the folder should go.
    #[error("{} exists and is no graph folder; remove it or choose another name", path.display())]
    Occupied {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path has no name of its own, such as `.` or `/`.
    #[error("{} cannot be a graph folder; give it a name of its own", path.display())]
    Unnamed {
        /// The path asked for.
        path: PathBuf,
    },
    /// There is no manifest, or it is not one of ours.
    #[error("{} is no graph folder ({why}); `kg load` writes one", path.display())]
    NotAGraph {
        /// The folder.
        path: PathBuf,
        /// What is missing or wrong.
        why: String,
    },
    /// Written by another version.
    #[error("{} has graph format version {found}, this program reads version {VERSION}; load the sources again", path.display())]
    Version {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The graph is not the one the manifest describes.
    #[error("{}: the graph's content hash is {found}, the manifest says {expected}; the folder was changed or damaged", path.display())]
    Hash {
        /// The folder.
        path: PathBuf,
        /// The manifest's hash.
        expected: String,
        /// The graph's hash.
        found: String,
    },
    /// The graph file does not parse.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Writing and opening graph folders.
#[derive(Clone, Copy, Debug)]
pub struct GraphFolder;

impl GraphFolder {
    /// Writes a graph folder, replacing an older graph folder of that name. At every moment `dir` is absent, the old or the new graph.
    ///
    /// # Errors
    /// [`FolderError`]; nothing is left behind then.
    pub fn write(dir: &Path, kg: &MemoryKg, sources: &[Source]) -> Result<Manifest, FolderError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| FolderError::Io { path, source }
        };
        if dir.file_name().is_none() {
            return Err(FolderError::Unnamed { path: dir.to_owned() });
        }
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        check_target(dir)?;
        fs::create_dir_all(parent).map_err(io(parent))?;
        let work = tempfile::Builder::new().prefix(".kgagent-").tempdir_in(parent).map_err(io(parent))?;
        let fresh = work.path().join("new");
        fs::create_dir(&fresh).map_err(io(&fresh))?;

        let graph = fresh.join("graph.nt.gz");
        write_graph(&graph, kg).map_err(io(&graph))?;
        let manifest = describe(kg, sources);
        let path = fresh.join("manifest.json");
        write_manifest(&path, &manifest).map_err(io(&path))?;
        sync(&fresh).map_err(io(&fresh))?;

        let old = work.path().join("old");
        let had_old = dir.exists();
        if had_old {
            fs::rename(dir, &old).map_err(io(dir))?;
        }
        if let Err(source) = fs::rename(&fresh, dir) {
            if had_old {
                fs::rename(&old, dir).map_err(io(dir))?;
            }
            return Err(FolderError::Io { path: dir.to_owned(), source });
        }
        sync(parent).map_err(io(parent))?;
        Ok(manifest)
    }

    /// Reads the manifest alone, without the graph.
    ///
    /// # Errors
    /// When `dir` is no graph folder of this version.
    pub fn manifest(dir: &Path) -> Result<Manifest, FolderError> {
        let not = |why: String| FolderError::NotAGraph { path: dir.to_owned(), why };
        let path = dir.join("manifest.json");
        let file = File::open(&path).map_err(|error| not(format!("manifest.json: {error}")))?;
        let mut text = String::new();
        file.take(MANIFEST_BYTES).read_to_string(&mut text).map_err(|error| not(format!("manifest.json: {error}")))?;
        // The version is looked at first: a newer manifest may have other fields.
        let head: Head = serde_json::from_str(&text).map_err(|error| not(format!("manifest.json: {error}")))?;
        if head.format != FORMAT {
            return Err(not(format!("manifest.json says it is `{}`", head.format)));
        }
        if head.version != VERSION {
            return Err(FolderError::Version { path: dir.to_owned(), found: head.version });
        }
        serde_json::from_str(&text).map_err(|error| not(format!("manifest.json: {error}")))
    }

    /// Opens a graph folder and checks that the graph is the one its manifest describes.
    ///
    /// # Errors
    /// [`FolderError`] says whether it is no graph folder, of another version, damaged or unreadable.
    pub fn open(dir: &Path) -> Result<MemoryKg, FolderError> {
        let manifest = Self::manifest(dir)?;
        let options = LoadOptions { format: Some(Format::NTriples), keep_blank_names: true, any_iri: true, max_faults: 0 };
        let kg = MemoryKg::load(&[dir.join("graph.nt.gz")], &options, &|_| {})?;
        if kg.content_hash() != manifest.content_hash {
            return Err(FolderError::Hash { path: dir.to_owned(), expected: manifest.content_hash, found: kg.content_hash().to_owned() });
        }
        Ok(kg.with_hidden(&manifest.deny))
    }
}

/// What every version's manifest has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

/// Only nothing, an empty folder or a graph folder (of any version) may be replaced.
fn check_target(dir: &Path) -> Result<(), FolderError> {
    let occupied = || FolderError::Occupied { path: dir.to_owned() };
    if dir.symlink_metadata().is_err() {
        return Ok(());
    }
    let mut entries = fs::read_dir(dir).map_err(|_| occupied())?;
    if dir.is_symlink() {
        return Err(occupied());
    }
    if entries.next().is_none() {
        return Ok(());
    }
    match GraphFolder::manifest(dir) {
        Ok(_) | Err(FolderError::Version { .. }) => Ok(()),
        Err(_) => Err(occupied()),
    }
}

fn describe(kg: &MemoryKg, sources: &[Source]) -> Manifest {
    let iri = |term: Term| match term {
        Term::Iri(iri) => iri,
        other => other.to_string(),
    };
    Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        triples: kg.len(),
        entities: kg.entities().len(),
        relations: kg.relations().len(),
        literals: kg.literal_count(),
        content_hash: kg.content_hash().to_owned(),
        sources: sources.to_vec(),
        label_languages: kg.label_languages(),
        deny: kg.schema().hidden.iter().map(|r| iri(kg.term(r.node()))).collect(),
    }
}

fn write_graph(path: &Path, kg: &MemoryKg) -> io::Result<()> {
    // No name and no time in the header: the bytes depend on the triples alone.
    let file = io::BufWriter::with_capacity(1 << 16, File::create_new(path)?);
    let mut gzip = GzBuilder::new().mtime(0).operating_system(255).write(file, Compression::default());
    kg.write_ntriples(&mut gzip)?;
    let file = gzip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

fn write_manifest(path: &Path, manifest: &Manifest) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(serde_json::to_string_pretty(manifest)?.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
