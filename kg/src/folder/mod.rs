//! The graph folder that `kg load` writes: a manifest and the frozen graph, whole or not at all.
//!
//! ```text
//! DIR/manifest.json   what it is, counts, content hash, sources, label languages, named graphs, deny list, hashes of the index and of itself
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
use crate::load::{self, GraphSource, LoadError, LoadOptions, LoadProgress};
use crate::schema::Settings;
use crate::search::LabelIndex;

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

    /// [`GraphFolder::load`] with settings of the graph's owner. Raising `stop` ends it at the next step, with [`LoadError::Stopped`].
    ///
    /// # Errors
    /// [`FolderError`]; nothing is left behind then, and what was there stays.
    pub fn load_with(
        dir: &Path,
        files: &[PathBuf],
        options: &LoadOptions,
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
            gathered.spilled.then_some(staged.scratch()),
        )
        .map_err(LoadError::from)?
        .with_settings(settings.clone());
        go_on()?;
        LabelIndex::build(&kg, &staged.path().join(LABELS))?;
        go_on()?;
        let manifest = commit(staged, &kg, &gathered.sources)?;
        Ok((Self::open(dir)?, manifest))
    }

    /// Writes a graph that is there already, as [`GraphFolder::load`] does.
    ///
    /// # Errors
    /// [`FolderError`]; nothing is left behind then, and what was there stays.
    pub fn write(
        dir: &Path,
        kg: &FrozenKg,
        sources: &[GraphSource],
    ) -> Result<Manifest, FolderError> {
        let staged = stage(dir)?;
        staged.file(GRAPH, kg.bytes())?;
        LabelIndex::build(kg, &staged.path().join(LABELS))?;
        commit(staged, kg, sources)
    }

    /// Reads the manifest alone, without the graph.
    ///
    /// # Errors
    /// When `dir` is no graph folder of this version.
    pub fn manifest(dir: &Path) -> Result<Manifest, FolderError> {
        Manifest::read(dir).map(|(manifest, _)| manifest)
    }

    /// Opens a graph folder: the frozen graph is mapped, its header and small parts are checked, and that it is the one of the manifest.
    ///
    /// # Errors
    /// [`FolderError`] says whether it is no graph folder, of another version, damaged or unreadable.
    pub fn open(dir: &Path) -> Result<FrozenKg, FolderError> {
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

/// Starts writing a graph folder, after a check that it may replace what is at `dir`.
fn stage(dir: &Path) -> Result<StagedFolder, FolderError> {
    if dir.file_name().is_none() {
        return Err(FolderError::Unnamed {
            path: dir.to_owned(),
        });
    }
    check_target(dir)?;
    Ok(StagedFolder::new(dir)?)
}

/// Writes the manifest and moves the folder to its place.
fn commit(
    staged: StagedFolder,
    kg: &FrozenKg,
    sources: &[GraphSource],
) -> Result<Manifest, FolderError> {
    let manifest = Manifest::describe(kg, sources, staged.path())?;
    manifest.write(staged.path())?;
    staged.commit()?;
    Ok(manifest)
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
