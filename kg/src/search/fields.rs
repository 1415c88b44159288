//! The documents of the index: their fields, tokenizers and numeric columns.

use tantivy::IndexReader;
use tantivy::columnar::Column;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{NgramTokenizer, TextAnalyzer, TokenizerManager, WhitespaceTokenizer};

use super::types::{NameKind, NodeRole, SearchError};

/// The fields of a document.
pub(crate) struct IndexFields {
    /// The whole name in normal form.
    pub name: Field,
    /// Its words.
    pub words: Field,
    /// Its character trigrams.
    pub grams: Field,
    /// The name as written in the graph.
    pub text: Field,
    pub node: Field,
    pub degree: Field,
    pub what: Field,
}

/// Names of the numeric columns.
const NODE: &str = "node";
const DEGREE: &str = "degree";
const WHAT: &str = "what";

impl IndexFields {
    pub(crate) fn of(schema: &Schema) -> Result<Self, SearchError> {
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

pub(crate) fn schema() -> Schema {
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

pub(crate) fn tokenizers() -> Result<TokenizerManager, SearchError> {
    let manager = TokenizerManager::default();
    manager.register("words", WhitespaceTokenizer::default());
    manager.register(
        "grams",
        TextAnalyzer::builder(NgramTokenizer::new(3, 3, false)?).build(),
    );
    Ok(manager)
}

/// Encodes role and kind as one number.
pub(crate) fn pack(role: NodeRole, kind: NameKind) -> u64 {
    role as u64 * 4 + kind as u64
}

pub(super) fn unpack(what: u64) -> (NodeRole, NameKind) {
    let role = match what / 4 {
        0 => NodeRole::Entity,
        1 => NodeRole::Class,
        _ => NodeRole::Relation,
    };
    let kind = match what % 4 {
        0 => NameKind::Label,
        1 => NameKind::Alias,
        _ => NameKind::Short,
    };
    (role, kind)
}

/// The numeric columns of a segment.
pub(super) struct SegmentColumns {
    pub node: Column<u64>,
    pub degree: Column<u64>,
    pub what: Column<u64>,
}

impl SegmentColumns {
    pub(super) fn all(reader: &IndexReader) -> Result<Vec<Self>, SearchError> {
        let searcher = reader.searcher();
        let columns = searcher.segment_readers().iter().map(|segment| {
            let fast = segment.fast_fields();
            Ok(Self {
                node: fast.u64(NODE)?,
                degree: fast.u64(DEGREE)?,
                what: fast.u64(WHAT)?,
            })
        });
        columns.collect()
    }
}
