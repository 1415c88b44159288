//! The graph folder that `kg load` writes: a manifest, the frozen graph and its label index.
//!
//! ```text
//! DIR/manifest.json   counts, hashes, sources, label languages, named graphs, settings, deny list
//! DIR/graph.kgf       the frozen graph: equal graphs give equal bytes
//! DIR/labels/         the index of its names: equal graphs give equal bytes
//! ```

mod error;
mod manifest;
mod names;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use common::fs::{FsError, StagedFolder};

pub use self::error::FolderError;
pub use self::manifest::Manifest;
use self::names::{GRAPH, LABELS, MANIFEST};
use crate::frozen::FrozenKg;
use crate::graph::Kg;
use crate::hierarchy;
use crate::load::{self, GraphSource, LoadError, LoadOptions, LoadProgress, Skipped};
use crate::schema::Settings;
use crate::search::LabelIndex;
use crate::term::{RelId, Term};
use crate::value::{FREEBASE, FREEBASE_NOW};

/// Writes and opens graph folders.
#[derive(Clone, Copy, Debug)]
pub struct GraphFolder;

impl GraphFolder {
    /// Loads files into a graph folder and replaces an existing graph folder. Data that exceed the
    /// memory limit of `options` are sorted on disk, next to the folder. At every moment `dir` is
    /// absent, the old graph or the new graph.
    ///
    /// # Errors
    /// [`FolderError`]; `dir` is then unchanged.
    pub fn load(
        dir: &Path,
        files: &[PathBuf],
        options: &LoadOptions<'_>,
        progress: &dyn Fn(LoadProgress),
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

    /// [`GraphFolder::load`] with the owner's settings. If `stop` becomes true, loading ends at the
    /// next step with [`LoadError::Stopped`].
    ///
    /// # Errors
    /// [`FolderError`]; `dir` is then unchanged.
    pub fn load_with(
        dir: &Path,
        files: &[PathBuf],
        options: &LoadOptions<'_>,
        settings: &Settings,
        progress: &dyn Fn(LoadProgress),
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
        let staged = stage(dir)?;
        let gathered = load::gather(files, options, Some(staged.scratch()), progress, stop)?;
        progress(LoadProgress::Sort);
        go_on()?;
        let kg = FrozenKg::freeze(
            gathered.input,
            Some(&staged.path().join(GRAPH)),
            gathered.work.as_ref(),
        )
        .map_err(LoadError::from)?;
        // Benchmarks about Freebase mean the day of its last dump.
        let is_freebase = |relation: &RelId| matches!(kg.term(relation.node()), Term::Iri(iri) if iri.starts_with(FREEBASE));
        let settings = &match settings.now {
            None if kg.relations().iter().any(is_freebase) => Settings {
                now: Some(FREEBASE_NOW.to_owned()),
                ..settings.clone()
            },
            _ => settings.clone(),
        };
        let kg = kg.with_settings(settings.clone());
        let is_known = |given: &String| {
            let relations = kg.relations().iter();
            (relations.map(|relation| relation.node())).any(|node| {
                kg.name(node) == *given || matches!(kg.term(node), Term::Iri(iri) if iri == *given)
            })
        };
        if let Some(given) = options.labels.iter().find(|given| !is_known(given)) {
            let given = given.clone();
            return Err(LoadError::Label { given }.into());
        }
        let kg = if hierarchy::is_typed_by_leaves(&kg) {
            let subclasses = true;
            let settings = settings.clone();
            kg.with_settings(Settings {
                subclasses,
                ..settings
            })
        } else {
            kg
        };
        go_on()?;
        LabelIndex::build(&kg, &staged.path().join(LABELS))?;
        go_on()?;
        let manifest = commit(staged, dir, &kg, &gathered.sources, gathered.skipped)?;
        Ok((Self::open(dir)?, manifest))
    }

    /// Writes a graph from memory, with the guarantees of [`GraphFolder::load`].
    ///
    /// # Errors
    /// [`FolderError`]; `dir` is then unchanged.
    pub fn write(
        dir: &Path,
        kg: &FrozenKg,
        sources: &[GraphSource],
    ) -> Result<Manifest, FolderError> {
        let staged = stage(dir)?;
        staged.file(GRAPH, kg.bytes())?;
        LabelIndex::build(kg, &staged.path().join(LABELS))?;
        commit(staged, dir, kg, sources, None)
    }

    /// Reads only the manifest.
    ///
    /// # Errors
    /// If `dir` is not a graph folder of this version.
    pub fn manifest(dir: &Path) -> Result<Manifest, FolderError> {
        Manifest::read(dir).map(|(manifest, _)| manifest)
    }

    /// Opens a graph folder: maps the frozen graph, checks its header and small sections, and
    /// compares its content hash with the manifest.
    ///
    /// # Errors
    /// [`FolderError`] if it is not a graph folder, has another version, is damaged or unreadable.
    pub fn open(dir: &Path) -> Result<FrozenKg, FolderError> {
        let mut before = fingerprint(dir);
        loop {
            let opened = Self::open_once(dir);
            let now = fingerprint(dir);
            // A load replaced the folder in the meantime, so the files belong to two graphs.
            if opened.is_ok() || now == before {
                return opened;
            }
            before = now;
        }
    }

    fn open_once(dir: &Path) -> Result<FrozenKg, FolderError> {
        let manifest = Self::manifest(dir)?;
        let path = dir.join(GRAPH);
        let opened = FrozenKg::open(&path).map_err(FsError::at(&path))?;
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

    /// Opens the union of these named graphs (the empty name is the default graph), or the whole
    /// graph without a name.
    ///
    /// # Errors
    /// Those of [`GraphFolder::open`], or an unknown graph name.
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

    /// Opens a graph folder after checking every byte of the graph, the label index, and the part
    /// of the manifest that the owner may not edit. The index is checked before it is opened,
    /// because its reader trusts the bytes.
    ///
    /// # Errors
    /// Those of [`GraphFolder::open`], damage anywhere, and [`FolderError::NoHashes`] for a folder
    /// of an earlier version whose graph is intact.
    pub fn verify(dir: &Path) -> Result<FrozenKg, FolderError> {
        let (manifest, text) = Manifest::read(dir)?;
        let hashed = manifest.check_hashes(&text, dir)?;
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

/// Identifies a folder, so that one that replaces it is noticed; `None` if it cannot be read.
fn fingerprint(dir: &Path) -> Option<(u64, std::time::SystemTime)> {
    let metadata = std::fs::metadata(dir).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((number, metadata.modified().ok()?))
}

/// Starts writing a graph folder. It may replace only an empty folder or a graph folder (of any
/// version).
fn stage(dir: &Path) -> Result<StagedFolder, FolderError> {
    let path = dir.to_owned();
    if dir.file_name().is_none() {
        return Err(FolderError::Unnamed { path });
    }
    let ours = |dir: &Path| {
        matches!(
            GraphFolder::manifest(dir),
            Ok(_) | Err(FolderError::Version { .. })
        )
    };
    // The rename would replace a link, not its target.
    if dir.is_symlink() {
        return Err(FolderError::Occupied { path });
    }
    match common::fs::check(dir, ours) {
        Err(_) if !ours(dir) => Err(FolderError::Occupied { path }),
        Err(source) => Err(FsError { path, source }.into()),
        Ok(()) => Ok(StagedFolder::new(dir)?),
    }
}

/// Writes the manifest and moves the folder to its place. An empty graph does not replace a graph,
/// because an empty input is usually a mistake.
fn commit(
    staged: StagedFolder,
    dir: &Path,
    kg: &FrozenKg,
    sources: &[GraphSource],
    skipped: Option<Skipped>,
) -> Result<Manifest, FolderError> {
    if kg.is_empty() && dir.join(MANIFEST).exists() {
        return Err(FolderError::Empty {
            path: dir.to_owned(),
        });
    }
    let manifest = Manifest::describe(kg, sources, skipped, staged.path())?;
    manifest.write(staged.path())?;
    staged.commit()?;
    Ok(manifest)
}
