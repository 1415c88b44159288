//! A question of a data set with its gold query, whatever format it came from.

use serde::{Deserialize, Serialize};
use toolbox::exec::ExcludeWhen;
use toolbox::kg::spargebra::Query;

use crate::Refusal;

/// An entity that a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// Its name or IRI as the data set gives it (`m.03_dwn`, `Q42`, a full IRI).
    pub name: String,
    /// Its label as the data set gives it; empty where there is none.
    pub label: String,
}

/// What a data set gives as the meaning of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum GoldQuery {
    /// A query as text, in whatever dialect.
    Text(String),
    /// A query that was never text: paths and filled templates.
    Algebra(Box<Query>),
    /// The record carries none, or is not in its format: it is read, counted and refused.
    Missing(Refusal, String),
}

impl GoldQuery {
    /// The query as text, for reports.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Algebra(query) => query.to_string(),
            Self::Missing(..) => String::new(),
        }
    }
}

/// A question with its gold query.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldQuestion {
    /// Unique in its source.
    pub id: String,
    /// The format it was read from; reports group by it.
    pub source: String,
    /// The wording.
    pub question: String,
    /// Its meaning.
    pub query: GoldQuery,
    /// The entities it is about, as given; empty where the set does not say.
    pub topics: Vec<Topic>,
    /// Published answers: labels, names or IRIs.
    pub answers: Option<Vec<String>>,
    /// Whether the published answers must be met too. Sets made on another state of the graph than the one at hand do not bind.
    pub answers_bind: bool,
    /// Hops from topic to answer, where the set says so.
    pub hops: Option<u32>,
    /// Type, level or shape, where the set says so.
    pub kind: Option<String>,
    /// Where entities that the gold query rules out (`?x != topic`) are dropped (rule R7).
    pub exclude: ExcludeWhen,
}
