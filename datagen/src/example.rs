//! Examples: the lines of `train.jsonl`, and how they are built from rendered turns.

use common::transcript::{Role, Turn};
use kg::Kg;
use serde::{Deserialize, Serialize};
use toolbox::agent::Agent;
use toolbox::exec::{Cell, ExcludeWhen, Value};
use toolbox::prompt::{Layout, Template};

use crate::question::{GoldQuestion, Topic};
use crate::verify::{Refused, Verified};

/// A written turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleMessage {
    /// The speaker; the assistant's turns are trained.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// The answer of a question, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ExampleAnswer {
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(u64),
    /// Names of nodes; empty in an abstention example.
    Names(Vec<String>),
    /// Rows of a table, as names of nodes and texts of computed values.
    Rows(Vec<Vec<String>>),
}

/// Nodes excluded from the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// Where the nodes are dropped.
    pub when: ExcludeWhen,
    /// Names of nodes.
    pub names: Vec<String>,
}

/// One line of `train.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The conversation.
    pub messages: Vec<ExampleMessage>,
    /// The question's id.
    pub id: String,
    /// The source's format.
    pub source: String,
    /// The wording.
    pub question: String,
    /// The whole program with full names, one call per item.
    pub program: Vec<String>,
    /// The answer.
    pub answer: ExampleAnswer,
    /// Dialogue or paper layout.
    pub layout: Layout,
    /// The agent.
    pub agent: Agent,
    /// The last call in this example, from 1.
    pub step: usize,
    /// Number of calls of the program.
    pub n_steps: usize,
    /// Hash of the template that rendered it.
    pub template_hash: String,
    /// Hash of the graph.
    pub kg_hash: String,
    /// Always true: program and gold query agree on the graph.
    pub verified: bool,
    /// The query's shape.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shape: String,
    /// Type, level or shape as stated by the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Hops from topic to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
    /// The entities linked to the question.
    pub topics: Vec<Topic>,
    /// Nodes excluded from the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Excluded>,
    /// Whether the program abstains because the graph has no answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abstain: bool,
    /// Relations hidden from the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Makes an agent's examples.
pub trait AgentExamples: Sync {
    /// The examples of a verified question; empty if the agent cannot express its program.
    ///
    /// # Errors
    /// A description of the step that failed to run or to parse back. The question is then refused.
    fn examples(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused>;
}

/// Builds examples from rendered turns.
pub(crate) struct ExampleBuilder<'a> {
    kg: &'a dyn Kg,
    template: &'a Template,
    template_hash: String,
}

impl<'a> ExampleBuilder<'a> {
    /// A builder for a graph and a template.
    pub(crate) fn new(kg: &'a dyn Kg, template: &'a Template) -> Self {
        Self {
            kg,
            template,
            template_hash: template.hash(),
        }
    }

    /// The example of a conversation whose last trained call is call number `step`.
    pub(crate) fn example(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
        turns: &[Turn],
        step: usize,
    ) -> Example {
        let kg = self.kg;
        let names = |nodes: &[kg::term::NodeId]| {
            nodes.iter().map(|&node| kg.name(node)).collect::<Vec<_>>()
        };
        let topic = |&node: &kg::term::NodeId| Topic {
            name: kg.name(node),
            label: kg.label(node).unwrap_or_default(),
        };
        let exclude = &verified.exclude;
        Example {
            messages: turns
                .iter()
                .map(|turn| ExampleMessage {
                    role: turn.role,
                    content: turn.text(),
                })
                .collect(),
            id: if verified.abstain {
                format!("{}-abstain", question.id)
            } else {
                question.id.clone()
            },
            source: question.source.clone(),
            question: question.question.clone(),
            program: verified
                .gold
                .calls
                .iter()
                .map(ToString::to_string)
                .collect(),
            answer: match &verified.value {
                Value::Set(set) => ExampleAnswer::Names(names(set)),
                Value::Int(number) => ExampleAnswer::Number(*number),
                Value::Bool(truth) => ExampleAnswer::Bool(*truth),
                Value::Table(table) => {
                    let name = |cell: &Cell| match cell {
                        Cell::Node(node) => kg.name(*node),
                        Cell::Computed(value) => value.text(),
                        Cell::Empty => String::new(),
                    };
                    let rows = table.rows().map(|row| row.iter().map(name).collect());
                    ExampleAnswer::Rows(rows.collect())
                }
            },
            layout: self.template.layout,
            agent: self.template.agent,
            step,
            n_steps: verified.gold.calls.len(),
            template_hash: self.template_hash.clone(),
            kg_hash: kg.content_hash().to_owned(),
            verified: true,
            shape: verified.gold.shape.clone(),
            kind: question.kind.clone(),
            hops: question.hops.or(Some(verified.gold.hops)),
            topics: verified.linked.entities.iter().map(topic).collect(),
            exclude: (!exclude.nodes.is_empty() && exclude.when != ExcludeWhen::Never).then(|| {
                Excluded {
                    when: exclude.when,
                    names: names(&exclude.nodes),
                }
            }),
            abstain: verified.abstain,
            without: verified
                .without
                .iter()
                .map(|relation| kg.name(relation.node()))
                .collect(),
        }
    }
}
