//! Building, writing and opening the index: one document a name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::directory::{Directory, MmapDirectory};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{NgramTokenizer, TextAnalyzer, TokenizerManager, WhitespaceTokenizer};
use tantivy::{Index, IndexBuilder, TantivyDocument};

use super::directory::ReadOnly;
use super::text::{NAME_CHARS, normalise, undistinguished};
use super::{NameKind, Role, SearchError};
use crate::Kg;
use crate::term::{NodeId, RelId, Term};

/// Version of the index: what is indexed and how it is normalised. A change of either is a new version.
const VERSION: u32 = 1;

/// Memory that the tables of a writer begin with; they grow with what they hold.
const TABLES: usize = 1 << 22;

/// The one segment of a written index. tantivy draws it at random; equal graphs shall give equal bytes.
const SEGMENT: &str = "00000000000000000000000000000001";

/// Triples from which on a node that nothing is said about is more than a link to a page.
const KNOWN: usize = 3;

/// The fields of a document.
pub(super) struct Fields {
    /// The whole name in normal form.
    pub name: Field,
    /// Its words.
    pub words: Field,
    /// Its character trigrams.
    pub grams: Field,
    /// The name as it stands in the graph.
    pub text: Field,
    node: Field,
    degree: Field,
    what: Field,
}

/// Names of the numeric columns.
pub(super) const NODE: &str = "node";
pub(super) const DEGREE: &str = "degree";
pub(super) const WHAT: &str = "what";

impl Fields {
    pub(super) fn of(schema: &Schema) -> Result<Self, SearchError> {
        let field = |name: &str| schema.get_field(name);
        Ok(Self {
            name: field("name")?,
            words: field("words")?,
            grams: field("grams")?,
            text: field("text")?,
            node: field(NODE)?,
            degree: field(DEGREE)?,
            what: field(WHAT)?,
        })
    }
}

fn schema() -> Schema {
    let mut schema = Schema::builder();
    let text = |tokenizer: &str, record: IndexRecordOption| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(tokenizer)
            .set_index_option(record);
        TextOptions::default().set_indexing_options(indexing)
    };
    schema.add_text_field("name", text("raw", IndexRecordOption::Basic));
    schema.add_text_field("words", text("words", IndexRecordOption::WithFreqs));
    schema.add_text_field("grams", text("grams", IndexRecordOption::WithFreqs));
    schema.add_text_field("text", STORED);
    for column in [NODE, DEGREE, WHAT] {
        schema.add_u64_field(column, FAST);
    }
    schema.build()
}

fn tokenizers() -> Result<TokenizerManager, SearchError> {
    let manager = TokenizerManager::default();
    manager.register("words", WhitespaceTokenizer::default());
    manager.register(
        "grams",
        TextAnalyzer::builder(NgramTokenizer::new(3, 3, false)?).build(),
    );
    Ok(manager)
}

/// Role and kind as one number.
pub(super) fn pack(role: Role, kind: NameKind) -> u64 {
    role as u64 * 4 + kind as u64
}

pub(super) fn unpack(what: u64) -> (Role, NameKind) {
    let role = match what / 4 {
        0 => Role::Entity,
        1 => Role::Class,
        _ => Role::Relation,
    };
    let kind = match what % 4 {
        0 => NameKind::Label,
        1 => NameKind::Alias,
        _ => NameKind::Short,
    };
    (role, kind)
}

/// Writes every name of a graph as one segment.
pub(super) fn write(kg: &dyn Kg, directory: Box<dyn Directory>) -> Result<Index, SearchError> {
    let schema = schema();
    let fields = Fields::of(&schema)?;
    let builder = IndexBuilder::new().schema(schema).tokenizers(tokenizers()?);
    let mut writer = builder.single_segment_index_writer(directory, TABLES)?;
    for id in kg.resources() {
        let node = NodeId(id);
        let Some(found) = (Names { kg }).of(node) else {
            continue;
        };
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

/// All names of a node in normal form, best kind first within equal forms.
pub(super) fn names_of(kg: &dyn Kg, node: NodeId) -> BTreeMap<String, (NameKind, String)> {
    Names { kg }.of(node).unwrap_or_default()
}

/// Collects the names of nodes.
struct Names<'g> {
    kg: &'g dyn Kg,
}

impl Names<'_> {
    /// Names of a node: normal form to kind and text. `None` for a page that only leads to another node: its titles are aliases of that one.
    fn of(&self, node: NodeId) -> Option<BTreeMap<String, (NameKind, String)>> {
        let schema = self.kg.schema();
        if schema
            .redirect_relations
            .iter()
            .any(|&r| !self.kg.tails(node, r).is_empty())
        {
            return None;
        }
        let mut found = BTreeMap::new();
        for &relation in &schema.label_relations {
            self.literals(&mut found, node, relation, NameKind::Label);
        }
        // The IRI's own words name the node too: its label may be in another language, or not be there at all.
        let own = if found.is_empty() {
            self.kg.label(node)
        } else {
            None
        };
        if let Some(own) = own {
            add(&mut found, &own, NameKind::Label);
        }
        if let Some(words) = self.readable(node) {
            let kind = if found.is_empty() {
                NameKind::Label
            } else {
                NameKind::Alias
            };
            add(&mut found, &words, kind);
        }
        for &relation in &schema.alias_relations {
            self.literals(&mut found, node, relation, NameKind::Alias);
        }
        for &relation in &schema.redirect_relations {
            for &page in self.kg.heads(relation, node).iter() {
                if let Some(title) = self.kg.label(page) {
                    add(&mut found, &title, NameKind::Alias);
                }
            }
        }
        Some(found)
    }

    fn literals(
        &self,
        found: &mut BTreeMap<String, (NameKind, String)>,
        node: NodeId,
        relation: RelId,
        kind: NameKind,
    ) {
        for &tail in self.kg.tails(node, relation).iter() {
            if let Term::Literal(literal) = self.kg.term(tail) {
                add(found, &literal.lexical, kind);
            }
        }
    }

    /// The words of an IRI's own name; `None` for a page that the graph only links to.
    fn readable(&self, node: NodeId) -> Option<String> {
        let Term::Iri(iri) = self.kg.term(node) else {
            return None;
        };
        let known = self.kg.degree(node) >= KNOWN
            || !self.kg.out_relations(node).is_empty()
            || self.kg.uses(node.relation()) > 0;
        known.then(|| crate::readable_name(&iri)).flatten()
    }
}

fn role(kg: &dyn Kg, node: NodeId) -> Role {
    let schema = kg.schema();
    let used = kg.uses(node.relation()) > 0;
    if kg.classes().binary_search(&node).is_ok() {
        return Role::Class;
    }
    if used && kg.out_relations(node).is_empty() && kg.in_relations(node).is_empty() {
        return Role::Relation;
    }
    // What the graph declares and does not use: a class without instances, a relation without triples, a datatype.
    let declared = schema
        .type_relations
        .iter()
        .flat_map(|&r| kg.tails(node, r).to_vec())
        .find_map(|class| match kg.term(class) {
            Term::Iri(iri) if crate::is_meta_class(&iri) => Some(iri),
            _ => None,
        });
    match declared {
        Some(iri) if iri.ends_with("Property") => Role::Relation,
        Some(iri) if iri.ends_with("Class") || iri.ends_with("Datatype") => Role::Class,
        _ if schema
            .domains
            .iter()
            .chain(&schema.ranges)
            .any(|&(_, class)| class == node) =>
        {
            Role::Class
        }
        _ => Role::Entity,
    }
}

/// Adds a name and what is left of it without its distinction; the better kind of an equal form stays.
fn add(found: &mut BTreeMap<String, (NameKind, String)>, text: &str, kind: NameKind) {
    let text: String = crate::one_line(text, NAME_CHARS);
    let mut put = |form: &str, kind: NameKind| {
        let normal = normalise(form);
        if normal.is_empty() {
            return;
        }
        match found.get(&normal) {
            Some((old, _)) if *old <= kind => {}
            _ => {
                found.insert(normal, (kind, text.clone()));
            }
        }
    };
    put(&text, kind);
    if let Some(short) = undistinguished(&text) {
        put(short, NameKind::Short);
    }
}

/// What the folder says about itself, kept where tantivy keeps a commit's payload.
#[derive(Serialize, Deserialize)]
struct Payload {
    version: u32,
    content_hash: String,
    /// Bytes of each file, so that a cut one is noticed without reading it.
    files: BTreeMap<String, u64>,
}

pub(super) fn write_folder(kg: &dyn Kg, dir: &Path) -> Result<(), SearchError> {
    let io = |error: std::io::Error| SearchError::Io {
        path: dir.to_owned(),
        why: error.to_string(),
    };
    fs::create_dir_all(dir).map_err(io)?;
    if fs::read_dir(dir).map_err(io)?.next().is_some() {
        return Err(SearchError::Io {
            path: dir.to_owned(),
            why: "the folder is not empty".to_owned(),
        });
    }
    let directory = MmapDirectory::open(dir).map_err(|error| SearchError::Io {
        path: dir.to_owned(),
        why: error.to_string(),
    })?;
    drop(write(kg, Box::new(directory))?);

    // Names that depend on the graph only, and no list of files to be managed: nobody will write here again.
    let mut files = BTreeMap::new();
    let mut drawn = None;
    for entry in fs::read_dir(dir).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if name == "meta.json" {
            continue;
        }
        match name.split_once('.') {
            Some((segment, ending)) if segment.len() == SEGMENT.len() => {
                let fresh = dir.join(format!("{SEGMENT}.{ending}"));
                fs::rename(&path, &fresh).map_err(io)?;
                files.insert(
                    format!("{SEGMENT}.{ending}"),
                    fs::metadata(&fresh).map_err(io)?.len(),
                );
                drawn = Some(segment.to_owned());
            }
            _ => fs::remove_file(&path).map_err(io)?,
        }
    }
    let meta = dir.join("meta.json");
    let mut text = fs::read_to_string(&meta).map_err(io)?;
    if let Some(drawn) = drawn {
        text = text
            .replace(&drawn, SEGMENT)
            .replace(&dashed(&drawn), &dashed(SEGMENT));
    }
    let mut value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| SearchError::Damaged(error.to_string()))?;
    let payload = Payload {
        version: VERSION,
        content_hash: kg.content_hash().to_owned(),
        files,
    };
    value["payload"] = serde_json::to_string(&payload)
        .map_err(|error| SearchError::Damaged(error.to_string()))?
        .into();
    let text = serde_json::to_vec_pretty(&value)
        .map_err(|error| SearchError::Damaged(error.to_string()))?;
    // tantivy's own file is its owner's alone to read; a new one has the mode of all others.
    fs::remove_file(&meta)
        .and_then(|()| fs::write(&meta, text))
        .map_err(io)?;
    for path in [meta.as_path(), dir] {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(io)?;
    }
    Ok(())
}

/// A segment's name as it stands in `meta.json`.
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

pub(super) fn open_folder(dir: &Path, content_hash: &str) -> Result<Index, SearchError> {
    let stale = |why: String| SearchError::Stale {
        path: dir.to_owned(),
        why,
    };
    let io = |why: String| SearchError::Io {
        path: dir.to_owned(),
        why,
    };
    let directory = MmapDirectory::open(dir).map_err(|error| io(error.to_string()))?;
    let mut index = guarded(|| Ok(Index::open(ReadOnly(directory))?))
        .map_err(|error| stale(error.to_string()))?;
    let payload = guarded(|| Ok(index.load_metas()?.payload))?
        .ok_or_else(|| stale("it does not say which graph it belongs to".to_owned()))?;
    let payload: Payload =
        serde_json::from_str(&payload).map_err(|error| stale(error.to_string()))?;
    if payload.version != VERSION {
        return Err(stale(format!(
            "it has version {}, this program reads version {VERSION}",
            payload.version
        )));
    }
    if payload.content_hash != content_hash {
        return Err(stale("it belongs to another graph".to_owned()));
    }
    for (name, &bytes) in &payload.files {
        let found = fs::metadata(dir.join(name))
            .map_err(|error| io(format!("{name}: {error}")))?
            .len();
        if found != bytes {
            return Err(io(format!(
                "{name} has {found} bytes instead of {bytes}; load the sources again"
            )));
        }
    }
    index.set_tokenizers(tokenizers()?);
    Ok(index)
}

/// Runs what opens or reads the index. tantivy trusts its files: on a damaged one it may panic, which must not take the process down.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(SearchError::Damaged(
            "its files are damaged; load the sources again".to_owned(),
        ))
    })
}
