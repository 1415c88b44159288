//! The closed list of reasons for which a question is not kept, so that kept + refused = read and reports from different runs compare.

use serde::{Deserialize, Serialize};

/// Why a question did not become training data. Reports count by these names.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The query text does not parse in any dialect we read.
    #[error("the query does not parse")]
    Syntax,
    /// The source gives no query (and no program or path) for the question.
    #[error("there is no gold query")]
    NoQuery,
    /// The set is for evaluation: it gives questions, topics and answers only.
    #[error("the set has answers and no gold queries; it is for evaluation")]
    AnswersOnly,
    /// The set has no wording of the question in the language asked for.
    #[error("there is no wording in the language asked for")]
    NoWording,
    /// CONSTRUCT, DESCRIBE or an update.
    #[error("the query is neither SELECT nor ASK")]
    NotSelectOrAsk,
    /// SERVICE, GRAPH, EXISTS in odd places, LATERAL and other constructs outside the query graph.
    #[error("the query uses a construct that no query graph holds")]
    Unsupported,
    /// A predicate is a variable that cannot be grounded.
    #[error("a predicate is a variable")]
    VariablePredicate,
    /// The subject or a predicate is a literal or a blank node where a query graph needs a node.
    #[error("a term stands where the query graph cannot hold it")]
    OddTerm,
    /// A relation that planners never see (class, name, meta: rule R4) would have to be walked.
    #[error("the query walks a relation that planners never see")]
    HiddenRelation,
    /// OPTIONAL binds the answer or is read by a filter.
    #[error("OPTIONAL binds what the answer depends on")]
    OptionalAnswer,
    /// GROUP BY or HAVING.
    #[error("the query groups")]
    GroupBy,
    /// OFFSET.
    #[error("the query uses OFFSET")]
    Offset,
    /// LIMIT without ORDER BY, or above 1.
    #[error("the query uses a LIMIT that is no argmax or argmin")]
    Limit,
    /// ORDER BY with LIMIT 1 on what is no single literal of the graph.
    #[error("the query orders by what is no attribute")]
    OrderBy,
    /// MINUS, or NOT EXISTS outside the from/to pattern.
    #[error("the query takes solutions away")]
    Minus,
    /// A property path of no fixed length.
    #[error("a property path has no fixed length")]
    PropertyPath,
    /// SUM, AVG, or MIN, MAX, COUNT where no argmax, argmin or count expresses them.
    #[error("the query computes an aggregate that no tool computes")]
    Aggregate,
    /// A filter or expression that no constraint expresses.
    #[error("a filter is no comparison of an attribute with a constant")]
    Filter,
    /// Two variables are compared with each other.
    #[error("two variables are compared")]
    VariableComparison,
    /// The tools compare values of this graph otherwise than the query does: mixed datatypes, partial dates, several values of one attribute.
    #[error("the tools compare values of this graph otherwise than the query does")]
    ComparisonDiffers,
    /// The query graph has a cycle that `intersect` cannot close.
    #[error("the query graph has a cycle")]
    Cycle,
    /// A part of the query is not connected with the answer.
    #[error("a part of the query is not connected with the answer")]
    Disconnected,
    /// There is neither an entity nor a class to start from.
    #[error("there is neither an entity nor a class to start from")]
    NoStart,
    /// The query asks for several variables at once.
    #[error("the query asks for several variables")]
    SeveralAnswers,
    /// An extreme whose set depends on constraints that cannot be walked back.
    #[error("an extreme is taken where no set can hold the constraints around it")]
    Extreme,
    /// The program would be longer than an agent may walk.
    #[error("the program is longer than the step limit")]
    TooLong,
    /// The graph does not hold an entity, relation or class of the query.
    #[error("the graph does not hold a constant of the query")]
    UnknownConstant,
    /// The gold query fails or runs past its limits on the graph.
    #[error("the gold query cannot be evaluated")]
    QueryFailed,
    /// The gold query has no answer on the graph.
    #[error("the gold query has no answer on the graph")]
    NoGoldAnswer,
    /// The program fails on the graph.
    #[error("the program fails")]
    ProgramFailed,
    /// The program's answer is not that of the gold query.
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
    /// The name in reports, such as `group-by`.
    #[must_use]
    pub fn name(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}
