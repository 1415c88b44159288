//! Examples, and those of the tool loop: a verified program is executed call by call through the one renderer, so that an example is what a model sees at inference,
//! byte for byte (KG-Agent §4.2.2).

use common::transcript::{Role, Turn};
use kg::Kg;
use serde::{Deserialize, Serialize};
use toolbox::agent::Agent;
use toolbox::call::parse_call;
use toolbox::exec::{ExcludeWhen, Session, Value};
use toolbox::prompt::{Layout, Template};

use crate::agents::AgentExamples;
use crate::question::{GoldQuestion, Topic};
use crate::verify::{Refused, Verified, VerifyOptions};

/// A turn as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks; the assistant's turns are trained on.
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
    /// Names of nodes; empty where the right thing to do is to give up.
    Names(Vec<String>),
}

/// What is kept out of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// Where it is dropped.
    pub when: ExcludeWhen,
    /// Names of nodes.
    pub names: Vec<String>,
}

/// One line of `train.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The question's id.
    pub id: String,
    /// The source's format.
    pub source: String,
    /// The wording.
    pub question: String,
    /// The whole program with full names, a call each.
    pub program: Vec<String>,
    /// What it answers.
    pub answer: ExampleAnswer,
    /// Dialogue or paper.
    pub layout: Layout,
    /// The agent.
    pub agent: Agent,
    /// The last call in this example, from 1.
    pub step: usize,
    /// Calls of the program.
    pub n_steps: usize,
    /// Hash of the template that rendered it.
    pub template_hash: String,
    /// Hash of the graph it was made on.
    pub kg_hash: String,
    /// Always true: program and gold query agreed on the graph.
    pub verified: bool,
    /// The query's shape.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shape: String,
    /// Type, level or shape as the source says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Hops from topic to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
    /// The entities linked to the question.
    pub topics: Vec<Topic>,
    /// What is kept out of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Excluded>,
    /// Whether the answer is that the graph has none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abstain: bool,
    /// Relations taken out of the session's view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// What stays the same in all examples of a run.
pub struct Renderer<'a> {
    kg: &'a dyn Kg,
    template: &'a Template,
    template_hash: String,
    options: &'a VerifyOptions,
}

impl<'a> Renderer<'a> {
    /// A renderer for a graph and a template.
    #[must_use]
    pub fn new(kg: &'a dyn Kg, template: &'a Template, options: &'a VerifyOptions) -> Self {
        Self {
            kg,
            template,
            template_hash: template.hash(),
            options,
        }
    }

    /// One example in the dialogue layout, one a call in the paper layout.
    fn render(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused> {
        let options = self.template.fit(verified.exec_options(self.options));
        let mut session = Session::new(
            self.kg,
            &question.question,
            verified.linked.clone(),
            &verified.must_offer,
            options,
        )?;
        let calls = &verified.gold.calls;
        let mut examples = Vec::new();
        let mut turns = self.template.opening(&session);
        for (i, call) in calls.iter().enumerate() {
            let written = self.template.call(&session, call).to_string();
            // Exactly what a model would have to write is what is run here.
            let read = parse_call(&written).map_err(|error| {
                Refused::rendering(format!("`{written}` does not read back: {error}"))
            })?;
            let step = session
                .run(&read)
                .map_err(|error| Refused::failed(&written, error))?
                .clone();
            if step.call != *call {
                return Err(Refused::rendering(format!(
                    "`{written}` reads back as `{}` instead of `{call}`",
                    step.call
                )));
            }
            turns.push(Turn::call(written));
            if self.template.layout == Layout::Paper {
                let next = if i + 1 < calls.len() {
                    self.template.opening(&session)
                } else {
                    Vec::new()
                };
                let now = std::mem::replace(&mut turns, next);
                examples.push(self.example(question, verified, &now, i + 1));
            } else {
                turns.extend(self.template.reply(&session, &step)?);
            }
        }
        if self.template.layout == Layout::Dialogue {
            examples.push(self.example(question, verified, &turns, calls.len()));
        }
        Ok(examples)
    }

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
                .map(|turn| Message {
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

impl AgentExamples for Renderer<'_> {
    fn examples(
        &self,
        question: &GoldQuestion,
        verified: &Verified,
    ) -> Result<Vec<Example>, Refused> {
        self.render(question, verified)
    }
}
