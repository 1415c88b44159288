//! Prompt templates: the one renderer that turns a session's knowledge memory (KG-Agent §4.3:
//! question, toolbox definition, current KG information, history program) into transcripts. Data
//! generation and inference share it, so a training example equals the prompt at inference byte for
//! byte.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::call::{Call, HandleKind, print_name, tool_list};
use crate::exec::{ExecOptions, Naming, Observation, Session, Shown, Step, Value};
use crate::observe::ObserveOptions;
use crate::observe::shown;
use crate::{limits, text_values, tokens};
use common::transcript::{Part, Role, Turn};

/// How the steps of a question become training samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// One append-only conversation per question; every call is a training target. Calls use
    /// handles.
    Dialogue,
    /// One sample per call with the four fields of the memory; the current KG information is
    /// replaced at each step (rules A.3). Calls use full names.
    Paper,
}

impl Layout {
    /// The name in files and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dialogue => "dialogue",
            Self::Paper => "paper",
        }
    }
}

/// An agent that drives the toolbox. One model can be trained for several; the system turn tells
/// them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// One tool call per step (KG-Agent).
    KgAgent,
    /// Observe, act, reflect (ODA).
    Oda,
    /// Three roles in four phases (Triad).
    Triad,
}

impl Agent {
    /// All agents.
    pub const ALL: [Self; 3] = [Self::KgAgent, Self::Oda, Self::Triad];

    /// The name in files, options and system turns.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KgAgent => "kg-agent",
            Self::Oda => "oda",
            Self::Triad => "triad",
        }
    }

    /// Looks up an agent by name.
    ///
    /// # Errors
    /// Returns a message that lists the known names.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|agent| agent.name() == name)
            .ok_or_else(|| format!("unknown agent `{name}`; the agents are {}", known()))
    }

    /// Incremented whenever the wording of the agent's turns changes, so that the template hashes
    /// change too.
    const fn version(self) -> u32 {
        match self {
            Self::KgAgent => 2,
            Self::Oda | Self::Triad => 1,
        }
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
        all.into_iter().find(|template| template.hash() == hash)
    }

    /// SHA-256 over all fixed text of the template, truncated to 8 bytes. Datasets and models store
    /// it so that a mismatch is detected.
    #[must_use]
    pub fn hash(&self) -> String {
        let (layout, agent, naming, toolbox) = (
            self.layout.name(),
            self.agent.name(),
            self.naming,
            self.toolbox,
        );
        let mut text = format!(
            "{}\n{layout}\n{agent}\n{naming:?}\n{toolbox}\n{}{INSTRUCTION}",
            self.agent.version(),
            tool_list()
        );
        if self.layout == Layout::Paper {
            text.push_str(&format!("\n{}", limits::PROMPT_TOKENS));
        }
        if self.observe {
            text.push_str("\nobserve");
        }
        let digest = Sha256::digest(text.as_bytes());
        digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Adapts session options to this template: the paper layout cuts relation lists so that a
    /// prompt stays within [`limits::PROMPT_TOKENS`].
    #[must_use]
    pub fn fit(&self, options: ExecOptions) -> ExecOptions {
        ExecOptions {
            prompt_tokens: (self.layout == Layout::Paper).then_some(limits::PROMPT_TOKENS),
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
            system.push(Part::ours(format!("\n{}", tool_list())));
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
    #[must_use]
    pub fn reply(&self, session: &Session<'_>, step: &Step) -> Option<Turn> {
        if self.layout == Layout::Paper {
            return None;
        }
        let parts = match &step.observation {
            Observation::Relations(shown) => {
                let mut parts = dialogue_relations(session, shown, self.naming);
                if self.observe {
                    parts.extend(observed(session, step));
                }
                parts
            }
            Observation::Value(Value::Set(set)) => vec![Part::ours(size_word(set.len()))],
            Observation::Value(Value::Int(_) | Value::Bool(_)) => vec![Part::ours("done")],
            Observation::Answer(_) => return None,
        };
        Some(Turn::shown(Role::Tool, parts))
    }
}

/// The growing transcript of one question: the planner's next prompt and the samples so far.
#[derive(Clone, Debug)]
pub struct Conversation {
    template: Template,
    turns: Vec<Turn>,
    samples: Vec<Vec<Turn>>,
}

impl Conversation {
    /// Opens the conversation for a fresh session.
    #[must_use]
    pub fn open(template: &Template, session: &Session<'_>) -> Self {
        Self {
            template: template.clone(),
            turns: template.opening(session),
            samples: Vec::new(),
        }
    }

    /// The turns after which the planner writes its next call.
    #[must_use]
    pub fn prompt(&self) -> &[Turn] {
        &self.turns
    }

    /// Records the session's latest step; `written` is the call as the planner wrote it.
    pub fn record(&mut self, session: &Session<'_>, written: &str) {
        self.turns.push(Turn::call(written));
        match self.template.layout {
            Layout::Dialogue => {
                let reply = session
                    .steps()
                    .last()
                    .and_then(|step| self.template.reply(session, step));
                self.turns.extend(reply);
            }
            Layout::Paper => {
                let next = if session.answer().is_some() {
                    Vec::new()
                } else {
                    self.template.opening(session)
                };
                self.samples.push(std::mem::replace(&mut self.turns, next));
            }
        }
    }

    /// The training samples: the whole conversation in the dialogue layout, one prompt and call per
    /// step in the paper layout.
    #[must_use]
    pub fn into_samples(self) -> Vec<Vec<Turn>> {
        match self.template.layout {
            Layout::Dialogue => vec![self.turns],
            Layout::Paper => self.samples,
        }
    }
}

/// The instruction that closes a paper-layout prompt.
const INSTRUCTION: &str = "Write the next call only.";

/// The size of a result as a word. Models misread exact counts, so none are shown.
pub(crate) fn size_word(size: usize) -> &'static str {
    match size {
        0 => "none",
        1 => "one",
        _ => "many",
    }
}

/// The question with handles for its entities and, where the naming uses them, mention handles
/// before words that may name relations. The linked items follow: `e0 = <id> [label]`, `x0 = 2011`,
/// `c0 class`.
pub(crate) fn dialogue_question(session: &Session<'_>, naming: Naming) -> Vec<Part> {
    let (kg, linked) = (session.kg(), session.linked());
    let question = text_values::mask_values(&linked.mask(session.question()), &linked.values);
    let question = one_line(&question).to_lowercase();
    let question = if naming.relations_by_mention() {
        session.mentions().marked(&question)
    } else {
        question
    };
    let mut parts = vec![Part::user(question)];
    for (i, &node) in linked.entities.iter().enumerate() {
        let name = kg.name(node);
        parts.push(Part::ours(format!(
            "\n{}{i} = ",
            HandleKind::Entity.letter()
        )));
        parts.push(Part::kg(print_name(&name)));
        if let Some(label) = kg.label(node).filter(|label| *label != name) {
            parts.push(Part::kg(format!(" [{label}]")));
        }
    }
    for (i, value) in linked.values.iter().enumerate() {
        parts.push(Part::ours(format!(
            "\n{}{i} = ",
            HandleKind::Value.letter()
        )));
        parts.push(Part::user(one_line(&value.lexical)));
        let bearers = text_values::bearers(kg, value);
        if !bearers.is_empty() {
            let names: Vec<String> = bearers.iter().map(|name| print_name(name)).collect();
            parts.push(Part::kg(format!(" [{}]", names.join(" "))));
        }
    }
    if !session.classes().is_empty() {
        parts.push(Part::ours("\n"));
    }
    for (i, &class) in session.classes().iter().enumerate() {
        let separator = if i == 0 { "" } else { " " };
        parts.push(Part::ours(format!(
            "{separator}{}{i} ",
            HandleKind::Class.letter()
        )));
        parts.push(Part::kg(print_name(&kg.name(class))));
    }
    parts
}

/// The observation around the set whose relations a step listed; empty for relations between two
/// sets.
fn observed(session: &Session<'_>, step: &Step) -> Vec<Part> {
    let [set] = step.call.args.as_slice() else {
        return Vec::new();
    };
    let Ok(nodes) = session.set(set) else {
        return Vec::new();
    };
    let handle = session
        .with_handles(&step.call, Naming::Mixed)
        .args
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    let options = ObserveOptions {
        without: session.without().to_vec(),
        ..ObserveOptions::default()
    };
    shown::lines(
        session,
        &[(handle, nodes.to_vec())],
        &options,
        shown::TOKENS,
    )
}

/// `out r0 film.directed_by r1 …`, then `in r2 …`: full names, each preceded by its handle where
/// calls use handles.
pub(crate) fn dialogue_relations(
    session: &Session<'_>,
    shown: &Shown,
    naming: Naming,
) -> Vec<Part> {
    if shown.is_empty() {
        return vec![Part::ours("none")];
    }
    let mut parts = Vec::new();
    for (word, relations, first) in [
        ("out", &shown.out, 0),
        ("in", &shown.incoming, shown.out.len()),
    ] {
        if relations.is_empty() {
            continue;
        }
        let line = if parts.is_empty() { "" } else { "\n" };
        for (i, (&relation, mention)) in relations
            .iter()
            .zip(session.mentioned(relations, naming))
            .enumerate()
        {
            let mut before = if i == 0 {
                format!("{line}{word} ")
            } else {
                " ".to_owned()
            };
            match mention {
                Some(mention) => {
                    before.push_str(&format!("{}{mention} ", HandleKind::Mention.letter()))
                }
                None if naming.relations_by_handle() => {
                    before.push_str(&format!("{}{} ", HandleKind::Relation.letter(), first + i))
                }
                None => {}
            }
            parts.push(Part::ours(before));
            parts.push(Part::kg(print_name(&session.relation_name(relation))));
        }
    }
    parts
}

/// The memory's fields except the toolbox, in the order of rules A.3.
fn paper_question(session: &Session<'_>, current: Option<&Shown>) -> Vec<Part> {
    let (kg, linked) = (session.kg(), session.linked());
    let mut parts = vec![
        Part::ours("Question: "),
        Part::user(one_line(session.question()).to_lowercase()),
    ];
    parts.push(Part::ours("\nCurrent KG information: "));
    match current {
        None => parts.push(Part::ours("none")),
        Some(shown) => {
            for (word, relations) in [("out", &shown.out), ("in", &shown.incoming)] {
                parts.push(Part::ours(format!("\n{word}: ")));
                let names: Vec<String> = relations
                    .iter()
                    .map(|&relation| print_name(&session.relation_name(relation)))
                    .collect();
                parts.push(Part::kg(names.join(" | ")));
            }
        }
    }
    if !session.classes().is_empty() {
        let names: Vec<String> = session
            .classes()
            .iter()
            .map(|&class| print_name(&kg.name(class)))
            .collect();
        parts.push(Part::ours("\nClasses: "));
        parts.push(Part::kg(names.join(" | ")));
    }
    parts.push(Part::ours("\nHistory:"));
    if linked.entities.is_empty() {
        parts.push(Part::ours("\nlinked_entity = none"));
    }
    for (i, &node) in linked.entities.iter().enumerate() {
        parts.push(Part::ours(format!("\nlinked_entity_{i} = ")));
        parts.push(Part::kg(print_name(&kg.name(node))));
        if let Some(label) = kg.label(node) {
            parts.push(Part::kg(format!("[{label}]")));
        }
    }
    for step in session.steps() {
        parts.push(Part::ours(format!("\n{}", step.call)));
    }
    parts.push(Part::ours(format!("\n{INSTRUCTION}")));
    parts
}

/// Estimated tokens of a paper-layout prompt that ends with this call and an empty relation list.
pub(crate) fn paper_tokens(session: &Session<'_>, call: &Call) -> usize {
    let question = paper_question(session, Some(&Shown::default()));
    let toolbox = tokens::estimate(&tool_list()) + tokens::estimate(Agent::KgAgent.name());
    toolbox
        + question
            .iter()
            .map(|part| tokens::estimate(&part.text))
            .sum::<usize>()
        + tokens::estimate(&format!("\n{call}"))
}

/// Estimated tokens that one relation adds to a list in the paper layout.
pub(crate) fn listed_tokens(name: &str) -> usize {
    tokens::estimate(&print_name(name)) + tokens::estimate(" | ")
}

/// User text on one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}
