//! Prompt templates and their hashes.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::dialogue::{dialogue_question, dialogue_relations, observed, size_word};
use crate::agent::Agent;
use crate::call::{Call, ToolTable, tool_list};
use crate::exec::{
    ExecOptions, INSTRUCTION, Naming, Observation, Session, Step, Value, paper_question,
};
use crate::limits;
use crate::rank::RankError;
use common::hex::hex;
use common::transcript::{Part, Role, Turn};

common::worded! {
    /// How the steps of a question become training samples.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Layout, fn name() {
        /// One append-only conversation per question; every call is a training target. Calls use
        /// handles.
        Dialogue = "dialogue",
        /// One sample per call with the four fields of the memory; the current KG information is
        /// replaced at each step (rules A.3). Calls use full names.
        Paper = "paper",
    }
}

/// A prompt template: everything that determines how a prompt is rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Dialogue or paper layout.
    pub layout: Layout,
    /// The agent named in the system turn.
    pub agent: Agent,
    /// How calls refer to entities, classes, values and relations. The paper layout always uses
    /// names.
    pub naming: Naming,
    /// Whether the system turn contains the tool list. The paper layout always includes it. In the
    /// dialogue layout a model trained from scratch does not need the same 400 tokens with every
    /// question; a pretrained model may.
    pub toolbox: bool,
    /// Whether an observation of the set's surroundings, as in ODA, follows each relation list
    /// (dialogue layout of the tool loop only).
    #[serde(default)]
    pub observe: bool,
    /// The tools that calls may use (the tool loop only).
    #[serde(default)]
    pub tools: ToolTable,
}

impl Template {
    /// The template of a layout for the KG-Agent loop.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let naming = if layout == Layout::Paper {
            Naming::Names
        } else {
            Naming::Mixed
        };
        Self {
            layout,
            agent: Agent::KgAgent,
            naming,
            toolbox: layout == Layout::Paper,
            observe: false,
            tools: ToolTable::Paper,
        }
    }

    /// The template of an agent in the dialogue layout.
    #[must_use]
    pub fn of(agent: Agent) -> Self {
        Self {
            agent,
            ..Self::new(Layout::Dialogue)
        }
    }

    /// Finds the template with a given hash among all templates that this version can render.
    #[must_use]
    pub fn by_hash(hash: &str) -> Option<Self> {
        let dialogue = Self::new(Layout::Dialogue);
        let mut all = vec![Self::new(Layout::Paper)];
        for naming in [Naming::Mixed, Naming::Mentions, Naming::Handles] {
            for observe in [false, true] {
                all.extend([false, true].map(|toolbox| Self {
                    naming,
                    toolbox,
                    observe,
                    ..dialogue.clone()
                }));
            }
        }
        all.extend([Agent::Oda, Agent::Triad].map(Self::of));
        let extended = all.iter().map(|template| Self {
            tools: ToolTable::Extended,
            ..template.clone()
        });
        all.extend(extended.collect::<Vec<_>>());
        all.into_iter().find(|template| template.hash() == hash)
    }

    /// SHA-256 over all fixed text of the template, truncated to 8 bytes. Datasets and models store
    /// it so that a mismatch is detected.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut text = format!(
            "{}\n{}\n{}\n{:?}\n{}\n{}{INSTRUCTION}",
            self.agent.version(),
            self.layout.name(),
            self.agent.name(),
            self.naming,
            self.toolbox,
            tool_list(self.tools)
        );
        if self.layout == Layout::Paper {
            text.push_str(&format!("\n{}", limits::PROMPT_TOKENS));
        }
        if self.observe {
            text.push_str("\nobserve");
        }
        hex(&Sha256::digest(text.as_bytes())[..8])
    }

    /// Adapts session options to this template: the paper layout cuts relation lists so that a
    /// prompt stays within [`limits::PROMPT_TOKENS`], and the session offers the template's tools.
    #[must_use]
    pub fn fit(&self, options: ExecOptions) -> ExecOptions {
        ExecOptions {
            prompt_tokens: (self.layout == Layout::Paper).then_some(limits::PROMPT_TOKENS),
            tools: self.tools,
            ..options
        }
    }

    /// A call in this template's naming.
    #[must_use]
    pub fn call(&self, session: &Session<'_>, call: &Call) -> Call {
        session.with_handles(call, self.naming)
    }

    /// The turns shown before the first call.
    #[must_use]
    pub fn opening(&self, session: &Session<'_>) -> Vec<Turn> {
        let mut system = vec![Part::ours(self.agent.name())];
        if self.toolbox {
            system.push(Part::ours(format!("\n{}", tool_list(self.tools))));
        }
        let user = match self.layout {
            Layout::Dialogue => dialogue_question(session, self.naming),
            Layout::Paper => paper_question(session, session.current()),
        };
        vec![
            Turn::shown(Role::System, system),
            Turn::shown(Role::User, user),
        ]
    }

    /// The turn that answers a step in the dialogue layout; `None` after `end` and in the paper
    /// layout.
    ///
    /// # Errors
    /// Returns the error of the ranker, which orders the observation.
    pub fn reply(&self, session: &Session<'_>, step: &Step) -> Result<Option<Turn>, RankError> {
        if self.layout == Layout::Paper {
            return Ok(None);
        }
        let parts = match &step.observation {
            Observation::Relations(shown) => {
                let mut parts = dialogue_relations(session, shown, self.naming);
                if self.observe {
                    parts.extend(observed(session, step)?);
                }
                parts
            }
            Observation::Value(Value::Set(set)) => vec![Part::ours(size_word(set.len()))],
            Observation::Value(Value::Table(table)) => vec![Part::ours(size_word(table.len()))],
            Observation::Value(Value::Int(_) | Value::Bool(_)) => vec![Part::ours("done")],
            Observation::Answer(_) => return Ok(None),
        };
        Ok(Some(Turn::shown(Role::Tool, parts)))
    }
}
