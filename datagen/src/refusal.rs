//! The closed list of reasons why a question is not kept. With it, kept plus refused equals read,
//! and reports of different runs can be compared.

use serde::{Deserialize, Serialize};

/// Why a question did not become training data. Reports count by these names.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Refusal {
    /// The query text does not parse in any supported dialect.
    #[error("the query does not parse")]
    Syntax,
    /// The source has no query (or program or path) for the question.
    #[error("there is no gold query")]
    NoQuery,
    /// The set is for evaluation: it has questions, topics and answers only.
    #[error("the set has answers but no gold queries; it is for evaluation")]
    AnswersOnly,
    /// The set has no wording of the question in the requested language.
    #[error("there is no wording in the requested language")]
    NoWording,
    /// CONSTRUCT, DESCRIBE or an update.
    #[error("the query is neither SELECT nor ASK")]
    NotSelectOrAsk,
    /// SERVICE of another endpoint. The label service of Wikidata is read as labels of the graph.
    #[error("the query asks another endpoint")]
    Service,
    /// FROM or GRAPH with a part of the graph. The tools see the union of all graphs.
    #[error("the query reads named graphs, and the tools see all graphs together")]
    NamedGraphs,
    /// LATERAL, EXISTS in unsupported places and other constructs that a query graph cannot
    /// represent.
    #[error("the query uses a construct that a query graph cannot represent")]
    Unsupported,
    /// A predicate is a variable that cannot be grounded.
    #[error("a predicate is a variable")]
    VariablePredicate,
    /// The subject or a predicate is a literal or a blank node where a query graph needs a node.
    #[error("a term is where a query graph cannot represent it")]
    OddTerm,
    /// The query needs a relation that planners never see (class, name, meta: rule R4).
    #[error("the query follows a relation that planners never see")]
    HiddenRelation,
    /// OPTIONAL binds the answer or a variable of a filter.
    #[error("the answer depends on OPTIONAL")]
    OptionalAnswer,
    /// GROUP BY or HAVING.
    #[error("the query uses GROUP BY")]
    GroupBy,
    /// OFFSET.
    #[error("the query uses OFFSET")]
    Offset,
    /// LIMIT without ORDER BY, or above 1.
    #[error("the query uses LIMIT for something other than argmax or argmin")]
    Limit,
    /// ORDER BY with LIMIT 1 on something other than one literal of the graph.
    #[error("the query orders by something other than an attribute")]
    OrderBy,
    /// MINUS, or NOT EXISTS outside the from/to pattern.
    #[error("the query uses MINUS or NOT EXISTS")]
    Minus,
    /// A property path without a fixed length.
    #[error("a property path has no fixed length")]
    PropertyPath,
    /// SUM, AVG, or a MIN, MAX or COUNT that argmax, argmin or count cannot express.
    #[error("the query computes an aggregate that no tool computes")]
    Aggregate,
    /// A filter or expression that no constraint expresses.
    #[error("a filter is not a comparison of an attribute with a constant")]
    Filter,
    /// Two variables are compared with each other.
    #[error("two variables are compared")]
    VariableComparison,
    /// The tools compare values of this graph differently from the query: mixed datatypes, partial
    /// dates, several values of one attribute.
    #[error("the tools compare values of this graph differently from the query")]
    ComparisonDiffers,
    /// The query graph has a cycle that `intersect` cannot close.
    #[error("the query graph has a cycle")]
    Cycle,
    /// A part of the query is not connected with the answer.
    #[error("a part of the query is not connected with the answer")]
    Disconnected,
    /// There is no entity or class to start from.
    #[error("there is no entity or class to start from")]
    NoStart,
    /// The query asks for several variables.
    #[error("the query asks for several variables")]
    SeveralAnswers,
    /// An extreme over a set whose constraints cannot be walked back.
    #[error("no set can express the constraints around an extreme")]
    Extreme,
    /// The program exceeds the step limit.
    #[error("the program is longer than the step limit")]
    TooLong,
    /// The graph does not contain an entity, relation or class of the query.
    #[error("the graph does not contain a constant of the query")]
    UnknownConstant,
    /// The gold query fails or exceeds its limits on the graph.
    #[error("the gold query cannot be evaluated")]
    QueryFailed,
    /// The gold query has no answer on the graph.
    #[error("the gold query has no answer on the graph")]
    NoGoldAnswer,
    /// The program fails on the graph.
    #[error("the program fails")]
    ProgramFailed,
    /// The program's answer is not the gold query's.
    #[error("the program's answer differs from the gold query's")]
    AnswerDiffers,
    /// The answer is not the one that the data set lists.
    #[error("the answer differs from the data set's")]
    DatasetAnswerDiffers,
    /// The ranker of relation lists failed. This ends the run, so no report counts it.
    #[error("the ranker failed")]
    RankerFailed,
    /// A line or record of the source is not in its format.
    #[error("the record is not in the format of its source")]
    BadRecord,
}

impl Refusal {
    /// The reason with its details, once: many details begin with the reason.
    #[must_use]
    pub fn with_detail(self, detail: &str) -> String {
        let reason = self.to_string();
        match detail.strip_prefix(reason.as_str()) {
            _ if detail.is_empty() => reason,
            Some(_) => detail.to_owned(),
            None => format!("{reason}: {detail}"),
        }
    }

    /// The name in reports, such as `group-by`.
    #[must_use]
    pub fn name(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}
