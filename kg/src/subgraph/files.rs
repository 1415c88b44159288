//! Subgraphs as files: N-Triples, or ODA's JSON layouts.

use std::fs;
use std::path::{Path, PathBuf};

use common::fs::{FsError, StagedFolder, check, has, parent_of, write_with};

use super::write::Subgraph;

/// The last hop that ODA's folder layout lists by entity; later hops are listed by node.
const BY_ENTITY: u32 = 2;

/// Writes a subgraph: `FILE.nt` as N-Triples; `FILE.json` in ODA's layout with `FILE.labels.json`
/// next to it; any other name becomes a folder with ODA's `2-hop.json` (by entity),
/// `3-hop-only.json` and so on (by the node from which the hop starts), and `labels.json`. Each
/// output is complete or absent. Returns the files with the number of triples in each.
///
/// # Errors
/// I/O errors, and those of [`check_target`] for a folder.
pub fn write_files(subgraph: &Subgraph<'_>, out: &Path) -> Result<Vec<(PathBuf, usize)>, FsError> {
    let hops = subgraph.options.hops;
    let labels = |path: &Path| write_with(path, |out| subgraph.write_labels(out));
    match extension(out) {
        Some("nt") => {
            create_parent(out)?;
            let count = write_with(out, |out| subgraph.write_ntriples(out))?;
            Ok(vec![(out.to_owned(), count)])
        }
        Some("json") => {
            create_parent(out)?;
            let count = write_with(out, |out| subgraph.write_oda(hops, out))?;
            let labels_file = out.with_extension("labels.json");
            labels(&labels_file)?;
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
            labels(&staged.path().join("labels.json"))?;
            written.push((out.join("labels.json"), 0));
            staged.commit()?;
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
