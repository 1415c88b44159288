//! The graph folder that `kg load` writes: a manifest and the frozen graph, whole or not at all.
//!
//! ```text
//! DIR/manifest.json   what it is, counts, content hash, sources, label languages, named graphs, deny list, hashes of the index and of itself
//! DIR/graph.kgf       the frozen graph: equal graphs give equal bytes
//! DIR/labels/         the index of its names: equal graphs give equal bytes
//! ```

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::frozen::VERSION;
use super::load::{self, LoadError, LoadOptions, Progress, Source};
use super::{Damage, FrozenKg, Kg, NamedGraph, Settings, learned};
use crate::search::{LabelIndex, SearchError};
use crate::term::Term;

/// What `format` says in every manifest.
const FORMAT: &str = "kgagent-graph";
/// The manifest's name in the folder.
const MANIFEST: &str = "manifest.json";
/// The frozen graph's name in the folder.
const GRAPH: &str = "graph.kgf";
/// The folder of the label index.
const LABELS: &str = "labels";
/// A manifest is small; a larger file is none.
const MANIFEST_BYTES: u64 = 1 << 24;

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
    /// Graphs in which the triples came; empty where all came in the default graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<NamedGraph>,
    /// What the graph's owner wants; may be edited.
    #[serde(default)]
    pub settings: Settings,
    /// IRIs of the relations hidden from planners (rule R4), those that were learned among them; may be edited, type and label relations stay hidden anyway.
    pub deny: Vec<String>,
    /// The files of the label index, by which `kg check` finds what was changed in them; none in folders of earlier versions.
    #[serde(default)]
    pub labels: Vec<Source>,
    /// SHA-256 of the manifest without [`EDITABLE`] and this, hex; empty in folders of earlier versions.
    #[serde(default)]
    pub sha256: String,
}

/// What of a manifest is its owner's, so that no hash covers it.
const EDITABLE: [&str; 2] = ["settings", "deny"];

/// The hash of what nobody edits in a manifest. It is taken of the fields that are there, so that one that a later version adds does not
/// change the hash of an older manifest.
fn manifest_hash(mut manifest: serde_json::Value) -> String {
    if let Some(fields) = manifest.as_object_mut() {
        fields.retain(|name, _| name != "sha256" && !EDITABLE.contains(&name.as_str()));
    }
    // An editor may put fields in another order.
    manifest.sort_all_objects();
    Sha256::digest(manifest.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
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
    #[error("{} has graph format version {found}, this program reads version {VERSION}; load its sources again", path.display())]
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
    /// The graph file is of another version, cut off or changed.
    #[error("{}: {damage}", path.display())]
    Damage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A file is not the one that the manifest describes, or the manifest itself is not as it was written.
    #[error("{} was changed or damaged: it is not what the manifest has the hash of; load the sources again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The graph is whole; the rest has nothing to be checked by.
    #[error(
        "{}: the graph is whole, but it was loaded by a version that kept no hashes of manifest and label index, so these cannot be checked; \
         load the sources again",
        path.display()
    )]
    NoHashes {
        /// The folder.
        path: PathBuf,
    },
    /// No graph of that name is in the folder.
    #[error("{} has no graph `{given}`; {}", path.display(), if known.is_empty() { "it has no named graphs".to_owned() } else { format!("it has {}", known.join(", ")) })]
    NoSuchGraph {
        /// The folder.
        path: PathBuf,
        /// The name asked for.
        given: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A setting of the manifest makes no sense.
    #[error("{}: settings: {why}", path.display())]
    Settings {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The label index cannot be written or opened.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The files to load cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Writing and opening graph folders.
#[derive(Clone, Copy, Debug)]
pub struct GraphFolder;

impl GraphFolder {
    /// Loads files into a graph folder, replacing an older graph folder of that name. What does not fit into the memory of `options` is
    /// sorted beside the folder. At every moment `dir` is absent, the old or the new graph.
    ///
    /// # Errors
    /// [`FolderError`]; nothing is left behind then, and what was there stays.
    pub fn load(
        dir: &Path,
        files: &[PathBuf],
        options: &LoadOptions,
        progress: &dyn Fn(Progress),
    ) -> Result<(FrozenKg, Manifest), FolderError> {
        Self::load_with(
            dir,
            files,
            options,
            &Settings::default(),
            progress,
            &AtomicBool::new(false),
        )
    }

    /// [`GraphFolder::load`] with settings of the graph's owner. Raising `stop` ends it at the next step, with [`LoadError::Stopped`].
    ///
    /// # Errors
    /// [`FolderError`]; nothing is left behind then, and what was there stays.
    pub fn load_with(
        dir: &Path,
        files: &[PathBuf],
        options: &LoadOptions,
        settings: &Settings,
        progress: &dyn Fn(Progress),
        stop: &AtomicBool,
    ) -> Result<(FrozenKg, Manifest), FolderError> {
        let go_on = || {
            if stop.load(Ordering::Relaxed) {
                Err(LoadError::Stopped)
            } else {
                Ok(())
            }
        };
        if let Some(why) = settings.fault() {
            return Err(FolderError::Settings {
                path: dir.join(MANIFEST),
                why,
            });
        }
        replace(dir, |fresh, work| {
            let gathered = load::gather(files, options, Some(work), progress, stop)?;
            progress(Progress::Sort);
            go_on()?;
            let path = fresh.join(GRAPH);
            let frozen = FrozenKg::freeze(
                gathered.input,
                Some(&path),
                gathered.spilled.then_some(work),
            );
            let kg = frozen
                .map_err(LoadError::from)?
                .with_settings(settings.clone());
            go_on()?;
            LabelIndex::build(&kg, &fresh.join(LABELS))?;
            go_on()?;
            describe(&kg, &gathered.sources, fresh)
        })
        .and_then(|manifest| Ok((Self::open(dir)?, manifest)))
    }

    /// Writes a graph that is there already, as [`GraphFolder::load`] does.
    ///
    /// # Errors
    /// [`FolderError`]; nothing is left behind then, and what was there stays.
    pub fn write(dir: &Path, kg: &FrozenKg, sources: &[Source]) -> Result<Manifest, FolderError> {
        replace(dir, |fresh, _| {
            let path = fresh.join(GRAPH);
            write_file(&path, kg.bytes()).map_err(|source| FolderError::Io {
                path: path.clone(),
                source,
            })?;
            LabelIndex::build(kg, &fresh.join(LABELS))?;
            describe(kg, sources, fresh)
        })
    }

    /// Reads the manifest alone, without the graph.
    ///
    /// # Errors
    /// When `dir` is no graph folder of this version.
    pub fn manifest(dir: &Path) -> Result<Manifest, FolderError> {
        Self::read_manifest(dir).map(|(manifest, _)| manifest)
    }

    /// The manifest, and its text.
    fn read_manifest(dir: &Path) -> Result<(Manifest, String), FolderError> {
        let not = |why: String| FolderError::NotAGraph {
            path: dir.to_owned(),
            why,
        };
        let path = dir.join(MANIFEST);
        let file = File::open(&path).map_err(|error| not(format!("manifest.json: {error}")))?;
        let mut text = String::new();
        file.take(MANIFEST_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| not(format!("manifest.json: {error}")))?;
        // The version is looked at first: a newer manifest may have other fields.
        let head: Head =
            serde_json::from_str(&text).map_err(|error| not(format!("manifest.json: {error}")))?;
        if head.format != FORMAT {
            return Err(not(format!("manifest.json says it is `{}`", head.format)));
        }
        if head.version != VERSION {
            return Err(FolderError::Version {
                path: dir.to_owned(),
                found: head.version,
            });
        }
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| not(format!("manifest.json: {error}")))?;
        match manifest.settings.fault() {
            Some(why) => Err(FolderError::Settings { path, why }),
            None => Ok((manifest, text)),
        }
    }

    /// Opens a graph folder: the frozen graph is mapped, its header and small parts are checked, and that it is the one of the manifest.
    ///
    /// # Errors
    /// [`FolderError`] says whether it is no graph folder, of another version, damaged or unreadable.
    pub fn open(dir: &Path) -> Result<FrozenKg, FolderError> {
        let manifest = Self::manifest(dir)?;
        let path = dir.join(GRAPH);
        let opened = FrozenKg::open(&path).map_err(|source| FolderError::Io {
            path: path.clone(),
            source,
        })?;
        let kg = opened.map_err(|damage| FolderError::Damage { path, damage })?;
        if kg.content_hash() != manifest.content_hash {
            return Err(FolderError::Hash {
                path: dir.to_owned(),
                expected: manifest.content_hash,
                found: kg.content_hash().to_owned(),
            });
        }
        let mut kg = kg
            .with_settings(manifest.settings)
            .with_hidden(&manifest.deny);
        kg.set_label_index(LabelIndex::open(&dir.join(LABELS), kg.content_hash())?);
        Ok(kg)
    }

    /// Opens the part of a graph folder that came in these named graphs (the empty name is the default graph); all of it without a name.
    ///
    /// # Errors
    /// Those of [`GraphFolder::open`], or a graph that is not there.
    pub fn open_graphs(dir: &Path, graphs: &[String]) -> Result<FrozenKg, FolderError> {
        let kg = Self::open(dir)?;
        if graphs.is_empty() {
            return Ok(kg);
        }
        let part = kg
            .restricted(graphs)
            .map_err(|given| FolderError::NoSuchGraph {
                path: dir.to_owned(),
                given,
                known: kg
                    .graphs()
                    .iter()
                    .map(|graph| format!("`{}`", graph.name))
                    .collect(),
            })?;
        let manifest = Self::manifest(dir)?;
        Ok(part
            .with_settings(manifest.settings)
            .with_hidden(&manifest.deny))
    }

    /// Opens a graph folder and checks every byte of the graph and of its label index, and all of the manifest that is not the owner's to
    /// edit. What reads the index trusts it, so that its bytes are checked first.
    ///
    /// # Errors
    /// Those of [`GraphFolder::open`], damage anywhere, and [`FolderError::NoHashes`] for a folder of an earlier version whose graph is whole.
    pub fn verify(dir: &Path) -> Result<FrozenKg, FolderError> {
        let (manifest, text) = Self::read_manifest(dir)?;
        let hashed = !manifest.sha256.is_empty();
        if hashed {
            let path = dir.join(MANIFEST);
            let value = serde_json::from_str(&text).map_err(|error| FolderError::Io {
                path: path.clone(),
                source: error.into(),
            })?;
            if manifest_hash(value) != manifest.sha256 {
                return Err(FolderError::Changed { path });
            }
        }
        for file in &manifest.labels {
            let path = dir.join(&file.path);
            let now = Source::of(&path)?;
            if (now.bytes, &now.sha256) != (file.bytes, &file.sha256) {
                return Err(FolderError::Changed { path });
            }
        }
        let kg = Self::open(dir)?;
        kg.verify().map_err(|damage| FolderError::Damage {
            path: dir.join(GRAPH),
            damage,
        })?;
        if hashed {
            Ok(kg)
        } else {
            Err(FolderError::NoHashes {
                path: dir.to_owned(),
            })
        }
    }
}

/// Makes a folder beside `dir`, lets `fill` put everything but the manifest into it (and use another one to work in), and puts it in the
/// place of `dir`.
fn replace(
    dir: &Path,
    fill: impl FnOnce(&Path, &Path) -> Result<Manifest, FolderError>,
) -> Result<Manifest, FolderError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| FolderError::Io { path, source }
    };
    let Some(name) = dir.file_name() else {
        return Err(FolderError::Unnamed {
            path: dir.to_owned(),
        });
    };
    let parent = dir
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    check_target(dir)?;
    fs::create_dir_all(parent).map_err(io(parent))?;
    let prefix = format!(".kgagent-{}-", name.to_string_lossy());
    sweep(parent, &prefix);
    let work = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(parent)
        .map_err(io(parent))?;
    let lock = lock(work.path()).map_err(io(work.path()))?;
    let fresh = work.path().join("new");
    fs::create_dir(&fresh).map_err(io(&fresh))?;

    let manifest = fill(&fresh, work.path())?;
    let path = fresh.join(MANIFEST);
    write_manifest(&path, &manifest).map_err(io(&path))?;
    sync(&fresh).map_err(io(&fresh))?;

    let old = work.path().join("old");
    common::fs::put(&fresh, dir, &old).map_err(io(dir))?;
    sync(parent).map_err(io(parent))?;
    drop(lock);
    Ok(manifest)
}

/// Held by the load that works in a folder for as long as it lives.
const LOCK: &str = "lock";

/// Makes the lock of a folder, which nobody sees before it is held.
fn lock(work: &Path) -> io::Result<File> {
    let made = work.join("lock.new");
    let file = File::create_new(&made)?;
    file.lock()?;
    fs::rename(&made, work.join(LOCK))?;
    Ok(file)
}

/// Removes what loads into the same folder have left beside it that were killed: a lock that nobody holds shows them.
fn sweep(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
    {
        if File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
            // Nothing depends on it: what cannot be removed stays.
            let _ = fs::remove_dir_all(entry.path());
        }
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
    let ours = |dir: &Path| {
        matches!(
            GraphFolder::manifest(dir),
            Ok(_) | Err(FolderError::Version { .. })
        )
    };
    // What a link leads to is not what would be replaced.
    if dir.is_symlink() || common::fs::check(dir, ours).is_err() {
        return Err(FolderError::Occupied {
            path: dir.to_owned(),
        });
    }
    Ok(())
}

/// The manifest of a graph whose files stand in `dir`.
fn describe(kg: &FrozenKg, sources: &[Source], dir: &Path) -> Result<Manifest, FolderError> {
    let mut deny = kg.schema().hidden.clone();
    deny.extend(learned(kg));
    deny.sort_unstable();
    deny.dedup();
    let iri = |term: Term| match term {
        Term::Iri(iri) => iri,
        other => other.to_string(),
    };
    let mut manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        triples: kg.len(),
        entities: kg.entity_count(),
        relations: kg.relations().len(),
        literals: kg.literal_count(),
        content_hash: kg.content_hash().to_owned(),
        sources: sources.to_vec(),
        label_languages: kg.label_languages().to_vec(),
        graphs: kg.graphs().to_vec(),
        settings: kg.schema().settings.clone(),
        deny: deny.iter().map(|r| iri(kg.term(r.node()))).collect(),
        labels: label_files(dir)?,
        sha256: String::new(),
    };
    let value = serde_json::to_value(&manifest).map_err(|error| FolderError::Io {
        path: dir.join(MANIFEST),
        source: error.into(),
    })?;
    manifest.sha256 = manifest_hash(value);
    Ok(manifest)
}

/// The files of the label index by name, as a manifest lists them: relative to the graph folder `dir`.
fn label_files(dir: &Path) -> Result<Vec<Source>, FolderError> {
    let folder = dir.join(LABELS);
    let io = |source| FolderError::Io {
        path: folder.clone(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let file = Source::of(&entry.path())?;
        files.push(Source {
            path: format!("{LABELS}/{}", entry.file_name().to_string_lossy()),
            ..file
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn write_manifest(path: &Path, manifest: &Manifest) -> io::Result<()> {
    write_file(
        path,
        format!("{}\n", serde_json::to_string_pretty(manifest)?).as_bytes(),
    )
}

fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
