//! Subgraphs as files: N-Triples, or ODA's JSON layouts.

use std::fs;
use std::path::{Path, PathBuf};

use common::fs::{FsError, StagedFile, StagedFolder, check, has, parent_of, write_with};

use super::write::Subgraph;

/// The last hop that ODA's folder layout lists by entity; later hops are listed by node.
const BY_ENTITY: u32 = 2;

/// Writes a subgraph: `FILE.nt` as N-Triples; `FILE.json` in ODA's layout with `FILE.labels.json`
/// next to it; any other name becomes a folder with ODA's `2-hop.json` (by entity),
/// `3-hop-only.json` and so on (by the node from which the hop starts), and `labels.json`. Each
/// output is complete or absent. Returns the files with the number of triples in each.
///
/// `done` removes what an interrupted run continues from. It is called once everything is on the
/// disk. No command replaces a file, so nothing that belongs to it may be left when it has its name;
/// a folder is replaced by the same command, so it has its name first.
///
/// # Errors
/// I/O errors, those of [`check_target`] for a folder, and those of `done`.
pub fn write_files<E: From<FsError>>(
    subgraph: &Subgraph<'_>,
    out: &Path,
    done: impl FnOnce() -> Result<(), E>,
) -> Result<Vec<(PathBuf, usize)>, E> {
    let hops = subgraph.options.hops;
    match extension(out) {
        Some("nt") => {
            create_parent(out)?;
            let (file, count) = StagedFile::new(out, |out| subgraph.write_ntriples(out))?;
            done()?;
            file.commit()?;
            Ok(vec![(out.to_owned(), count)])
        }
        Some("json") => {
            create_parent(out)?;
            let (file, count) = StagedFile::new(out, |out| subgraph.write_oda(hops, out))?;
            let labels_file = out.with_extension("labels.json");
            let (labels, ()) = StagedFile::new(&labels_file, |out| subgraph.write_labels(out))?;
            done()?;
            labels.commit()?;
            file.commit()?;
            Ok(vec![(out.to_owned(), count), (labels_file, 0)])
        }
        _ => {
            check_target(out)?;
            let staged = StagedFolder::new(out)?;
            let by_entity = hops.min(BY_ENTITY);
            let mut written = Vec::new();
            for hop in by_entity..=hops {
                let first = hop == by_entity;
                let name = if first {
                    format!("{hop}-hop.json")
                } else {
                    format!("{hop}-hop-only.json")
                };
                let count = write_with(&staged.path().join(&name), |out| {
                    if first {
                        subgraph.write_oda(hop, out)
                    } else {
                        subgraph.write_oda_hop(hop, out)
                    }
                })?;
                written.push((out.join(name), count));
            }
            let labels = staged.path().join("labels.json");
            write_with(&labels, |out| subgraph.write_labels(out))?;
            written.push((out.join("labels.json"), 0));
            staged.commit()?;
            done()?;
            Ok(written)
        }
    }
}

/// Rejects a folder that [`write_files`] did not write. An existing file is replaced.
///
/// # Errors
/// Those of [`check`].
pub fn check_target(out: &Path) -> Result<(), FsError> {
    let first = |folder: &Path| {
        (1..=BY_ENTITY).any(|hops| folder.join(format!("{hops}-hop.json")).is_file())
    };
    match extension(out) {
        Some("nt" | "json") if !out.is_dir() => Ok(()),
        _ => check(out, |folder| first(folder) && has(folder, &["labels.json"]))
            .map_err(FsError::at(out)),
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

fn create_parent(path: &Path) -> Result<(), FsError> {
    let parent = parent_of(path);
    fs::create_dir_all(&parent).map_err(FsError::at(&parent))
}
