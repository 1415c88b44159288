//! Building the label index of a graph: one document per name.

mod names;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::{Index, IndexBuilder, TantivyDocument};

pub use names::normal_names;
use names::{names_of, role};

use crate::graph::Kg;
use crate::search::{
    IndexFields, IndexPayload, LabelIndex, SearchError, VERSION, pack, schema, tokenizers,
};
use crate::term::NodeId;

/// The name of the only segment. tantivy chooses a random name, but equal graphs must give equal
/// bytes.
const SEGMENT: &str = "00000000000000000000000000000001";

/// Initial memory of the writer's tables; they grow as needed.
const TABLES: usize = 1 << 22;

impl LabelIndex {
    /// Builds the index of a graph in memory.
    pub(crate) fn in_memory(kg: &dyn Kg) -> Result<Self, SearchError> {
        Self::of(&write(kg, Box::new(RamDirectory::create()))?)
    }

    /// Builds the index of a graph in a folder, which must be absent or empty. Equal graphs give
    /// equal bytes.
    ///
    /// # Errors
    /// [`SearchError`] if the folder cannot be written.
    pub fn build(kg: &dyn Kg, dir: &Path) -> Result<(), SearchError> {
        let io = |error: std::io::Error| SearchError::Io {
            path: dir.to_owned(),
            why: error.to_string(),
        };
        fs::create_dir_all(dir).map_err(io)?;
        if fs::read_dir(dir).map_err(io)?.next().is_some() {
            return Err(io(std::io::Error::other("the folder is not empty")));
        }
        let directory = MmapDirectory::open(dir)
            .map_err(|error| io(std::io::Error::other(error.to_string())))?;
        drop(write(kg, Box::new(directory))?);
        let (segment, files) = rename_segment(dir).map_err(io)?;

        let meta = dir.join("meta.json");
        let text = fs::read_to_string(&meta)
            .map_err(io)?
            .replace(&segment, SEGMENT)
            .replace(&dashed(&segment), &dashed(SEGMENT));
        let mut value: serde_json::Value = serde_json::from_str(&text)?;
        let payload = IndexPayload {
            version: VERSION,
            content_hash: kg.content_hash().to_owned(),
            files,
        };
        value["payload"] = serde_json::to_string(&payload)?.into();
        let text = serde_json::to_vec_pretty(&value)?;
        // tantivy makes its file readable by the owner only; a new file has the usual mode.
        fs::remove_file(&meta)
            .and_then(|()| fs::write(&meta, text))
            .map_err(io)
    }
}

/// Writes all names of a graph as one segment.
fn write(kg: &dyn Kg, directory: Box<dyn Directory>) -> Result<Index, SearchError> {
    let schema = schema();
    let fields = IndexFields::of(&schema)?;
    let builder = IndexBuilder::new().schema(schema).tokenizers(tokenizers()?);
    let mut writer = builder.single_segment_index_writer(directory, TABLES)?;
    for id in kg.resources() {
        let node = NodeId(id);
        let found = names_of(kg, node);
        if found.is_empty() {
            continue;
        }
        let role = role(kg, node);
        let degree = kg.degree(node);
        for (normal, (kind, text)) in found {
            let mut document = TantivyDocument::new();
            document.add_text(fields.name, &normal);
            document.add_text(fields.words, &normal);
            document.add_text(fields.grams, &normal);
            document.add_text(fields.text, text);
            document.add_u64(fields.node, u64::from(id));
            document.add_u64(fields.degree, degree as u64);
            document.add_u64(fields.what, pack(role, kind));
            writer.add_document(document)?;
        }
    }
    Ok(writer.finalize()?)
}

/// Renames the files of the segment so that their names depend only on the graph, and removes
/// tantivy's list of managed files, because nothing is written here again. Returns the old name of
/// the segment (that of [`SEGMENT`] if it has no files) and the size of each file.
fn rename_segment(dir: &Path) -> std::io::Result<(String, BTreeMap<String, u64>)> {
    let (mut segment, mut files) = (SEGMENT.to_owned(), BTreeMap::new());
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        match name.split_once('.') {
            _ if name == "meta.json" => {}
            Some((old, ending)) if old.len() == SEGMENT.len() => {
                let name = format!("{SEGMENT}.{ending}");
                fs::rename(entry.path(), dir.join(&name))?;
                files.insert(name.clone(), fs::metadata(dir.join(name))?.len());
                if old != SEGMENT {
                    old.clone_into(&mut segment);
                }
            }
            _ => fs::remove_file(entry.path())?,
        }
    }
    Ok((segment, files))
}

/// A segment's name as written in `meta.json`.
fn dashed(uuid: &str) -> String {
    let part = |range: std::ops::Range<usize>| uuid.get(range).unwrap_or_default();
    [
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32),
    ]
    .join("-")
}
