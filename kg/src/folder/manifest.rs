//! `manifest.json`: what a graph folder contains.

use std::fs;
use std::io::Read;
use std::path::{Component, Path};

use common::fs::{FsError, open_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::FolderError;
use super::names::{LABELS, MANIFEST};
use crate::frozen::{FrozenKg, NamedGraph, VERSION};
use crate::graph::Kg;
use crate::hidden::learned;
use crate::load::{GraphSource, Skipped};
use crate::schema::Settings;
use crate::term::Term;
use common::hex::hex;

/// The value of `format` in every manifest.
const FORMAT: &str = "kgagent-graph";
/// Upper bound for a manifest file; anything larger is rejected.
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
    /// How many of the triples only axioms state.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub axioms: usize,
    /// Number of nodes that are not literals.
    pub entities: usize,
    /// Number of relations.
    pub relations: usize,
    /// Number of distinct literals.
    pub literals: usize,
    /// [`Kg::content_hash`].
    pub content_hash: String,
    /// The source files.
    pub sources: Vec<GraphSource>,
    /// Malformed statements that were skipped while loading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
    /// Languages of the labels; the empty string means untagged.
    pub label_languages: Vec<String>,
    /// IRIs of the relations whose texts are labels, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label_relations: Vec<String>,
    /// Graphs of the triples; empty if all triples are in the default graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<NamedGraph>,
    /// Settings of the graph's owner; may be edited.
    #[serde(default)]
    pub settings: Settings,
    /// IRIs of the relations that are hidden from planners (rule R4), including the learned ones.
    /// May be edited; type and label relations are always hidden.
    pub deny: Vec<String>,
    /// The files of the label index with their hashes, for `kg check`; empty in folders of earlier
    /// versions.
    #[serde(default)]
    pub labels: Vec<GraphSource>,
    /// SHA-256 (hex) of the manifest without `settings`, `deny` and this field; empty in folders of
    /// earlier versions.
    #[serde(default)]
    pub sha256: String,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The fields that the manifest of every version has.
#[derive(Deserialize)]
struct ManifestVersion {
    format: String,
    version: u32,
}

impl Manifest {
    /// Reads the manifest; returns its text too.
    pub(super) fn read(dir: &Path) -> Result<(Self, String), FolderError> {
        let not = |why: String| FolderError::NotAGraph {
            path: dir.to_owned(),
            why: format!("manifest.json: {why}"),
        };
        let path = dir.join(MANIFEST);
        let file = open_file(&path).map_err(|error| not(error.to_string()))?;
        let mut text = String::new();
        file.take(MANIFEST_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| not(error.to_string()))?;
        // The version comes first: a newer manifest may have other fields.
        let head: ManifestVersion =
            serde_json::from_str(&text).map_err(|error| not(error.to_string()))?;
        if head.format != FORMAT {
            return Err(not(format!("its format is `{}`", head.format)));
        }
        if head.version != VERSION {
            return Err(FolderError::Version {
                path: dir.to_owned(),
                found: head.version,
            });
        }
        let manifest: Self = serde_json::from_str(&text).map_err(|error| not(error.to_string()))?;
        match manifest.settings.fault() {
            Some(why) => Err(FolderError::Settings { path, why }),
            None => Ok((manifest, text)),
        }
    }

    /// The manifest of a graph whose files are in `dir`.
    pub(super) fn describe(
        kg: &FrozenKg,
        sources: &[GraphSource],
        skipped: Option<Skipped>,
        dir: &Path,
    ) -> Result<Self, FolderError> {
        let mut deny = kg.schema().hidden.clone();
        deny.extend(learned(kg));
        deny.sort_unstable();
        deny.dedup();
        let iri = |term: Term| match term {
            Term::Iri(iri) => iri,
            other => other.to_string(),
        };
        let mut manifest = Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            triples: kg.len(),
            axioms: kg.axiom_count(),
            entities: kg.entity_count(),
            relations: kg.relations().len(),
            literals: kg.literal_count(),
            content_hash: kg.content_hash().to_owned(),
            sources: sources.to_vec(),
            skipped,
            label_languages: kg.label_languages().to_vec(),
            label_relations: (kg.schema().label_relations.iter())
                .map(|r| iri(kg.term(r.node())))
                .collect(),
            graphs: kg.graphs().to_vec(),
            settings: kg.schema().settings.clone(),
            deny: deny.iter().map(|r| iri(kg.term(r.node()))).collect(),
            labels: label_files(dir)?,
            sha256: String::new(),
        };
        let value = serde_json::to_value(&manifest).map_err(json_error(&dir.join(MANIFEST)))?;
        manifest.sha256 = manifest_hash(value);
        Ok(manifest)
    }

    /// Writes the manifest into a graph folder.
    pub(super) fn write(&self, dir: &Path) -> Result<(), FolderError> {
        let path = dir.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(json_error(&path))?;
        fs::write(&path, format!("{text}\n")).map_err(FsError::at(&path))?;
        Ok(())
    }

    /// Checks the manifest, given with its text, and the files of the label index against their
    /// hashes. Returns false for a folder of an earlier version, which has no hashes.
    pub(super) fn check_hashes(&self, text: &str, dir: &Path) -> Result<bool, FolderError> {
        if !self.sha256.is_empty() {
            let path = dir.join(MANIFEST);
            let value = serde_json::from_str(text).map_err(json_error(&path))?;
            if manifest_hash(value) != self.sha256 {
                return Err(FolderError::Changed { path });
            }
        }
        for file in &self.labels {
            // A manifest from another source must not name files outside its folder.
            let parts: Vec<Component<'_>> = Path::new(&file.path).components().collect();
            if !matches!(parts[..], [Component::Normal(folder), Component::Normal(_)] if folder == LABELS)
            {
                return Err(FolderError::NotAGraph {
                    path: dir.to_owned(),
                    why: format!(
                        "{MANIFEST}: its label index has the file `{}`, which is not in the folder {LABELS}",
                        file.path
                    ),
                });
            }
            let path = dir.join(&file.path);
            let now = GraphSource::of(&path)?;
            if (now.bytes, &now.sha256) != (file.bytes, &file.sha256) {
                return Err(FolderError::Changed { path });
            }
        }
        Ok(!self.sha256.is_empty())
    }
}

fn json_error(path: &Path) -> impl FnOnce(serde_json::Error) -> FsError {
    let at = FsError::at(path);
    |error| at(error.into())
}

/// The fields that the owner may edit; no hash covers them.
const EDITABLE: [&str; 2] = ["settings", "deny"];

/// The hash of the fields that must not be edited. It covers the fields in the file, so a field
/// added in a later version does not change the hash of an older manifest.
fn manifest_hash(mut manifest: serde_json::Value) -> String {
    if let Some(fields) = manifest.as_object_mut() {
        fields.retain(|name, _| name != "sha256" && !EDITABLE.contains(&name.as_str()));
    }
    // An editor may reorder the fields.
    manifest.sort_all_objects();
    hex(&Sha256::digest(manifest.to_string()))
}

/// The files of the label index, sorted by name, with paths relative to the graph folder `dir`.
fn label_files(dir: &Path) -> Result<Vec<GraphSource>, FolderError> {
    let folder = dir.join(LABELS);
    let io = |error| FsError::at(&folder)(error);
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let file = GraphSource::of(&entry.path())?;
        files.push(GraphSource {
            path: format!("{LABELS}/{}", entry.file_name().to_string_lossy()),
            ..file
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
