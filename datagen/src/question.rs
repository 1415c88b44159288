//! A question of a data set with its gold query, whatever format it came from.

use kg::spargebra::Query;
use serde::{Deserialize, Serialize};
use toolbox::exec::ExcludeWhen;

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
    /// The set has none at all, only answers: evaluation measures against these, data generation refuses the question.
    AnswersOnly {
        /// Other texts that are as good as the published answers (T-REx and Zero-Shot RE list them).
        aliases: Vec<String>,
    },
    /// The record carries none, or is not in its format: it is read, counted and refused.
    Missing(Refusal, String),
}

impl GoldQuery {
    /// The query as text, for reports.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Algebra(query) => stable_variables(&query.to_string()),
            Self::AnswersOnly { .. } | Self::Missing(..) => String::new(),
        }
    }
}

/// Gives the variables that the parser invents for aggregates, which are random, names that are the same in every run.
fn stable_variables(text: &str) -> String {
    /// Hexadecimal digits from which a variable's name is taken for a random number; queries written by people have no such names.
    const RANDOM: usize = 20;
    let mut names: Vec<&str> = Vec::new();
    let mut stable = String::with_capacity(text.len());
    let mut pieces = text.split('?');
    stable.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, rest) = piece.split_at(
            piece
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(piece.len()),
        );
        stable.push('?');
        if name.len() >= RANDOM && name.bytes().all(|b| b.is_ascii_hexdigit()) {
            let known = names.iter().position(|known| *known == name);
            let index = known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            stable.push_str(&format!("aggregate{index}"));
        } else {
            stable.push_str(name);
        }
        stable.push_str(rest);
    }
    stable
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_query_is_the_same_in_every_run() {
        let text = "SELECT (COUNT(?a) AS ?n) (MAX(?b) AS ?m) WHERE { ?a <http://e/p?q> ?b }";
        let parse = || GoldQuery::Algebra(Box::new(kg::parse_query(text).unwrap())).text();
        let (first, second) = (parse(), parse());
        assert_eq!(first, second);
        assert!(
            first.contains("?aggregate0")
                && first.contains("?aggregate1")
                && first.contains("http://e/p?q"),
            "{first}"
        );
    }
}
