//! Access to a knowledge graph: the [`Kg`] trait, the frozen graph behind it, loaders and the graph
//! folder. This is the only crate that depends on oxigraph.
//!
//! ```text
//! load ──▶ frozen ──▶ folder          files to a graph on disk
//!            │
//!            ▼
//!      Kg (graph) ──▶ indexing, hidden, hierarchy, subgraph
//!        │    │
//!        ▼    ▼
//!   schema   search, sparql, value, term
//! ```

mod construct;
mod dictionary;
mod folder;
mod frozen;
mod graph;
mod hidden;
mod hierarchy;
mod indexing;
pub mod kqapro;
mod kqapro_parts;
mod label;
pub mod limits;
mod load;
mod names;
mod note;
mod readable;
mod schema;
pub mod search;
mod sparql;
pub mod subgraph;
pub mod term;
pub mod value;

pub use construct::construct;
pub use folder::{FolderError, GraphFolder, Manifest};
pub use frozen::{Damage, FreezeError, FrozenKg, NamedGraph};
pub use graph::Kg;
pub use hidden::{learned, why_hidden};
pub use hierarchy::proof;
pub use indexing::normal_names;
pub use label::{
    clean, clean_json, fold, is_unsafe, one_line, percent_decode, placed_words, words,
};
pub use load::{
    GraphFormat, GraphSource, LoadError, LoadOptions, LoadProgress, Skipped, SkippedStatement,
};
pub use names::text_iri;
pub use note::dataset_note;
pub use readable::{KindMark, readable_name};
pub use schema::{
    Companion, INTERVAL_ENDS, IntervalRelation, LanguageVariant, Schema, Settings, is_meta_class,
    row_key,
};
pub use sparql::{
    PatternPart, QueryAnswer, QueryError, QueryLimits, ResultsFormat, RewrittenQuery,
    TriplesFormat, UNNAMED_GRAPH, algebra_literal, cancelled_by, normalise, operands, parse_query,
    parse_query_at, parts, term_literal, with_dataset,
};

/// The SPARQL algebra of gold queries, re-exported so that every crate uses the same version.
pub use spargebra;
