//! A question of a data set with its gold query, in any format.

use kg::spargebra::Query;
use serde::{Deserialize, Serialize};
use toolbox::exec::ExcludeWhen;

use crate::Refusal;

/// An entity that a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// The name or IRI that the data set gives (`m.03_dwn`, `Q42`, a full IRI).
    pub name: String,
    /// The label in the data set; empty if the data set has no label.
    pub label: String,
}

/// The meaning of a question as the data set gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum GoldQuery {
    /// A query as text, in any dialect.
    Text(String),
    /// A query built as algebra: paths and filled templates.
    Algebra(Box<Query>),
    /// The set has only answers. Evaluation measures against them; data generation refuses the
    /// question.
    AnswersOnly {
        /// Further texts that count as the published answers (T-REx and Zero-Shot RE list them).
        aliases: Vec<String>,
    },
    /// The record has no query or is not in its format; it is read, counted and refused.
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

/// Replaces the random names that the parser gives to aggregate variables by names that are the
/// same in every run.
fn stable_variables(text: &str) -> String {
    /// Minimum length of a random name in hexadecimal digits; people do not write such names.
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
    /// Unique within its source.
    pub id: String,
    /// The format that it was read from; reports group by it.
    pub source: String,
    /// The wording.
    pub question: String,
    /// Its meaning.
    pub query: GoldQuery,
    /// The entities that it is about, as given; empty if the set does not say.
    pub topics: Vec<Topic>,
    /// Published answers: labels, names or IRIs.
    pub answers: Option<Vec<String>>,
    /// Whether the program must also give the published answers. False if the set was made on
    /// another version of the graph.
    pub answers_bind: bool,
    /// Hops from topic to answer, if the set gives them.
    pub hops: Option<u32>,
    /// Type, level or shape, if the set gives it.
    pub kind: Option<String>,
    /// Whether entities that the gold query excludes (`?x != topic`) are dropped from the answer
    /// only or after every call (rule R7).
    pub exclude: ExcludeWhen,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn query_text_is_the_same_in_every_run() {
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
