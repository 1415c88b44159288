//! Executing calls: a [`Session`] holds one question's immutable variables, the relation lists shown so far and the steps taken (spec A.1.1).

mod error;
mod evidence;
mod list;
mod resolve;
mod tools;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use error::ToolError;
pub use evidence::evidence;
pub use list::Ranked;

use crate::call::{Arg, Call, Live, LiveSet, Target, Tool, print_name};
use crate::kg::Kg;
use crate::limits;
use crate::link::{self, Linked};
use crate::mention::{Mentions, Named};
use crate::rank::{self, Candidate, Ranker, best_first};
use crate::term::{Literal, NodeId, RelId};
use crate::text_values;

/// A set of nodes: sorted, without duplicates.
pub type EntSet = Arc<[NodeId]>;

/// A value of a variable or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A set.
    Set(EntSet),
    /// A number.
    Int(u64),
    /// A truth value.
    Bool(bool),
}

impl Value {
    /// Whether this is the empty set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Set(set) if set.is_empty())
    }
}

/// A relation as a tool walks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// A relation of the graph.
    Plain(RelId),
    /// A derived interval relation, by its place in the schema (rule R11).
    Interval(usize),
}

/// The relations shown for one set, best first; handles count through `out` and go on through `incoming`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Out-relations.
    pub out: Vec<Relation>,
    /// In-relations.
    pub incoming: Vec<Relation>,
}

impl Shown {
    /// The relation of a handle and whether it is an out-relation.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(Relation, bool)> {
        let out = self.out.get(index).map(|&relation| (relation, true));
        out.or_else(|| self.incoming.get(index - self.out.len().min(index)).map(|&relation| (relation, false)))
    }

    /// The handle of a relation.
    #[must_use]
    pub fn index(&self, relation: Relation, out: bool) -> Option<usize> {
        if out {
            self.out.iter().position(|&r| r == relation)
        } else {
            self.incoming.iter().position(|&r| r == relation).map(|i| i + self.out.len())
        }
    }

    /// Whether nothing is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.incoming.is_empty()
    }
}

/// How calls name what is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// Everything by handle.
    Handles,
    /// Entities, classes and literals by handle, relations by name.
    Mixed,
    /// As [`Naming::Mixed`], but a relation that a word of the question stands for goes by that word's handle (see [`crate::mention`]).
    Mentions,
    /// Everything by name.
    Names,
}

impl Naming {
    /// Whether entities, classes and literals go by handle.
    #[must_use]
    pub fn things_by_handle(self) -> bool {
        self != Self::Names
    }

    /// Whether relations go by handle.
    #[must_use]
    pub fn relations_by_handle(self) -> bool {
        self == Self::Handles
    }

    /// Whether relations that the question mentions go by the handle of the mention.
    #[must_use]
    pub fn relations_by_mention(self) -> bool {
        self == Self::Mentions
    }
}

/// Entities kept out of answers (rule R7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// The entities.
    pub nodes: Vec<NodeId>,
    /// Where they are dropped.
    pub when: ExcludeWhen,
}

/// Where excluded entities are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExcludeWhen {
    /// Nowhere.
    #[default]
    Never,
    /// From the answer.
    Answer,
    /// From the answer where something else is left: "which of A and B" may be answered by a topic, "who else" may not.
    Others,
    /// From every set that a tool produces (MetaQA's convention).
    EveryStep,
}

/// How a session runs.
#[derive(Clone)]
pub struct ExecOptions {
    /// Entities kept out of answers.
    pub exclude: Exclude,
    /// R5: unknown relation or no survivor of a filter gives the input back, as the published code does.
    pub lenient_filters: bool,
    /// Whether relation lists, offered classes and the question's words are worked out: not where calls carry full names and nobody reads
    /// what is shown, as in verification. Lists are then empty.
    pub lists: bool,
    /// Relations shown per list.
    pub shown: usize,
    /// Tokens that a paper-layout prompt may have, by estimate: lists are cut further where it would have more. See
    /// [`crate::memory::Template::fit`].
    pub prompt_tokens: Option<usize>,
    /// Calls of one question.
    pub max_steps: usize,
    /// Wall-clock limit of one question's calls.
    pub deadline: Duration,
    /// Rule R22: `end` on nothing but statement nodes is an error that says what to walk on; off for gold programs, which may ask for them.
    pub refuse_statements: bool,
    /// What the value NOW means (rule R12), instead of what the graph says.
    pub now: Option<Literal>,
    /// Relations that stay in a list even where the ranking cuts it (training data only, spec A.3).
    pub must_show: Vec<Relation>,
    /// Relations that this session must not see, as if their triples were taken out of the graph.
    pub without: Vec<RelId>,
    /// Ranks relations and classes.
    pub ranker: Arc<dyn Ranker>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            exclude: Exclude::default(),
            lenient_filters: false,
            lists: true,
            shown: limits::SHOWN_RELATIONS,
            prompt_tokens: None,
            max_steps: limits::MAX_STEPS,
            deadline: limits::QUESTION_DEADLINE,
            refuse_statements: false,
            now: None,
            must_show: Vec::new(),
            without: Vec::new(),
            ranker: rank::lexical(),
        }
    }
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A relation list.
    Relations(Shown),
    /// A set, number or truth value was assigned.
    Value(Value),
    /// The end.
    Answer(Value),
}

/// One executed call.
#[derive(Clone, Debug)]
pub struct Step {
    /// The call with full names.
    pub call: Call,
    /// What it gave.
    pub observation: Observation,
    /// The relation it walked and whether from heads to tails, for the tools that walk one.
    pub walked: Option<(Relation, bool)>,
    /// The sets it read, in argument order.
    pub inputs: Vec<EntSet>,
    /// How long it took.
    pub took: Duration,
}

/// What a set argument denotes, as a key of relation lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetKey {
    Var(u32),
    Node(NodeId),
    List(Vec<Arg>),
}

/// One question being worked on: variables, lists and steps. Everything the planner can name lives here.
pub struct Session<'g> {
    kg: &'g dyn Kg,
    question: String,
    bare_question: String,
    linked: Linked,
    /// Made when first asked for: only one way of naming has them.
    mentions: OnceLock<Mentions>,
    classes: Vec<NodeId>,
    options: ExecOptions,
    variables: Vec<Value>,
    /// How each variable came about: the relations walked from the linked entities to it.
    paths: Vec<Vec<Candidate>>,
    shown: HashMap<SetKey, Shown>,
    last_shown: Option<SetKey>,
    steps: Vec<Step>,
    answer: Option<Value>,
    started: Instant,
}

impl<'g> Session<'g> {
    /// Begins a question. `must_offer` are classes that stay in the offer even where the ranking cuts it (training data only).
    #[must_use]
    pub fn new(kg: &'g dyn Kg, question: &str, linked: Linked, must_offer: &[NodeId], options: ExecOptions) -> Self {
        let (bare_question, classes) = if options.lists {
            let bare = linked.bare(question);
            let classes = offered_classes(kg, &bare, must_offer, options.ranker.as_ref());
            (bare, classes)
        } else {
            (question.to_owned(), Vec::new())
        };
        Self {
            kg,
            question: question.to_owned(),
            bare_question,
            linked,
            mentions: OnceLock::new(),
            classes,
            options,
            variables: Vec::new(),
            shown: HashMap::new(),
            last_shown: None,
            paths: Vec::new(),
            steps: Vec::new(),
            answer: None,
            started: Instant::now(),
        }
    }

    /// The graph.
    #[must_use]
    pub fn kg(&self) -> &'g dyn Kg {
        self.kg
    }
    /// The question as asked.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }
    /// The question without its entity mentions, as rankers see it.
    #[must_use]
    pub fn bare_question(&self) -> &str {
        &self.bare_question
    }
    /// How the session runs.
    pub(crate) fn options(&self) -> &ExecOptions {
        &self.options
    }
    /// Whether a relation is in the session's view.
    pub(crate) fn sees(&self, relation: RelId) -> bool {
        !self.options.without.contains(&relation)
    }
    /// Entities and literals linked to the question.
    #[must_use]
    pub fn linked(&self) -> &Linked {
        &self.linked
    }
    /// Classes offered with the question, best first.
    #[must_use]
    pub fn classes(&self) -> &[NodeId] {
        &self.classes
    }
    /// The steps taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// The answer, once `end` was called.
    #[must_use]
    pub fn answer(&self) -> Option<&Value> {
        self.answer.as_ref()
    }
    /// How many variables are assigned.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables.len()
    }
    /// The value of a variable.
    #[must_use]
    pub fn variable(&self, index: usize) -> Option<&Value> {
        self.variables.get(index)
    }
    /// What ranks relations and classes.
    #[must_use]
    pub fn ranker(&self) -> &Arc<dyn Ranker> {
        &self.options.ranker
    }
    /// Relations that this session does not see.
    #[must_use]
    pub fn without(&self) -> &[RelId] {
        &self.options.without
    }
    /// The first step whose result was the empty set or an empty relation list.
    #[must_use]
    pub fn first_empty(&self) -> Option<usize> {
        self.steps.iter().position(|step| match &step.observation {
            Observation::Relations(shown) => shown.is_empty(),
            Observation::Value(value) | Observation::Answer(value) => value.is_empty(),
        })
    }

    /// Runs one call, given with handles or with names.
    ///
    /// # Errors
    /// [`ToolError`]: the call names something that is not there, or a limit is reached. The session stays as it was.
    pub fn run(&mut self, call: &Call) -> Result<&Step, ToolError> {
        let begun = Instant::now();
        if self.answer.is_some() {
            return Err(ToolError::Ended);
        }
        if self.steps.len() >= self.options.max_steps {
            return Err(ToolError::Steps { limit: self.options.max_steps });
        }
        if self.started.elapsed() > self.options.deadline {
            return Err(ToolError::Deadline { limit: self.options.deadline });
        }
        let next = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        if let Target::Var(index) = call.target
            && index != next
        {
            return Err(ToolError::Assignment { given: index, next });
        }
        let named = self.with_names(call)?;
        let done = self.apply(&named)?;
        match &done.observation {
            Observation::Relations(shown) => {
                let key = self.set_key(&named.args[0])?;
                self.shown.insert(key.clone(), shown.clone());
                self.last_shown = Some(key);
            }
            Observation::Value(value) => {
                if self.options.lists {
                    let mut path: Vec<Candidate> = named.args.iter().flat_map(|arg| self.path(arg)).collect();
                    path.extend(done.walked.map(|(relation, out)| self.candidate(relation, out, None)));
                    self.paths.push(path);
                }
                self.variables.push(value.clone());
                self.last_shown = None;
            }
            Observation::Answer(value) => self.answer = Some(value.clone()),
        }
        self.steps.push(Step {
            call: named,
            observation: done.observation,
            walked: done.walked,
            inputs: done.inputs,
            took: begun.elapsed(),
        });
        let last = self.steps.len() - 1;
        Ok(&self.steps[last])
    }

    /// Everything a call may name now, and how it writes it.
    #[must_use]
    pub fn live(&self, naming: Naming) -> Live {
        let handles = naming.things_by_handle();
        let mut sets = Vec::new();
        let relation_texts = |relations: &[Relation], first: usize| -> Vec<String> {
            let named = relations.iter().zip(self.mentioned(relations, naming)).enumerate();
            let text = |(i, (&relation, mention)): (usize, (&Relation, Option<usize>))| match mention {
                Some(mention) => format!("m{mention}"),
                None if naming.relations_by_handle() => format!("r{}", first + i),
                None => print_name(&self.relation_name(relation)),
            };
            named.map(text).collect()
        };
        let mut add = |key: SetKey, text: String, scalar: bool, entity: bool, unanswerable: bool| {
            let shown = self.shown.get(&key).cloned().unwrap_or_default();
            sets.push(LiveSet {
                text,
                scalar,
                entity,
                unanswerable,
                just_listed: self.last_shown.as_ref() == Some(&key),
                out: relation_texts(&shown.out, 0),
                incoming: relation_texts(&shown.incoming, shown.out.len()),
            });
        };
        for (i, &node) in self.linked.entities.iter().enumerate() {
            let text = if handles { format!("e{i}") } else { print_name(&self.kg.name(node)) };
            add(SetKey::Node(node), text, false, true, self.only_statements(&[node]));
        }
        for (i, value) in self.variables.iter().enumerate() {
            let (scalar, unanswerable) = match value {
                Value::Set(set) => (false, self.only_statements(set)),
                Value::Int(_) | Value::Bool(_) => (true, false),
            };
            add(SetKey::Var(u32::try_from(i).unwrap_or(u32::MAX)), format!("v{i}"), scalar, false, unanswerable);
        }
        let classes = self.classes.iter().enumerate();
        let values = self.linked.values.iter().enumerate();
        Live {
            next_var: u32::try_from(self.variables.len()).unwrap_or(u32::MAX),
            last_call: self.steps.len() + 1 >= self.options.max_steps,
            sets,
            classes: classes.map(|(i, &node)| if handles { format!("c{i}") } else { print_name(&self.kg.name(node)) }).collect(),
            values: values.map(|(i, value)| if handles { format!("x{i}") } else { Arg::Literal(value.clone()).to_string() }).collect(),
            mentions: link::mention_texts(&self.question).into_iter().map(|text| Literal::plain(text).to_string()).collect(),
        }
    }

    /// Whether a set is refused as an answer because it holds nothing but statement nodes (rule R22).
    pub(crate) fn only_statements(&self, set: &[NodeId]) -> bool {
        self.options.refuse_statements && !set.is_empty() && set.iter().all(|&node| self.kg.is_statement(node))
    }

    /// The printed name of a relation.
    #[must_use]
    pub fn relation_name(&self, relation: Relation) -> String {
        match relation {
            Relation::Plain(id) => self.kg.name(id.node()),
            Relation::Interval(index) => self.kg.schema().intervals[index].name.clone(),
        }
    }

    /// For each relation of one direction of a list the mention that stands for it, where the naming has mentions.
    #[must_use]
    pub fn mentioned(&self, relations: &[Relation], naming: Naming) -> Vec<Option<usize>> {
        if !naming.relations_by_mention() {
            return vec![None; relations.len()];
        }
        let label = |relation: Relation| match relation {
            Relation::Plain(id) => self.kg.label(id.node()),
            Relation::Interval(_) => None,
        };
        let named: Vec<Named> = relations.iter().map(|&r| Named { name: self.relation_name(r), label: label(r) }).collect();
        self.mentions().link(&named)
    }

    /// The words of the question that may name relations.
    #[must_use]
    pub fn mentions(&self) -> &Mentions {
        self.mentions.get_or_init(|| Mentions::of(&text_values::mask_values(&self.linked.mask(&self.question), &self.linked.values)))
    }

    /// The relation list last shown, if the last call showed one: the "current KG information" of the knowledge memory.
    #[must_use]
    pub fn current(&self) -> Option<&Shown> {
        match self.steps.last().map(|step| &step.observation) {
            Some(Observation::Relations(shown)) => Some(shown),
            _ => None,
        }
    }

    pub(crate) fn set_key(&self, arg: &Arg) -> Result<SetKey, ToolError> {
        Ok(match arg {
            Arg::Var(index) => SetKey::Var(*index),
            Arg::List(items) => SetKey::List(items.clone()),
            other => SetKey::Node(self.node(other)?),
        })
    }
}

fn offered_classes(kg: &dyn Kg, question: &str, must_offer: &[NodeId], ranker: &dyn Ranker) -> Vec<NodeId> {
    let classes = kg.classes();
    let names: Vec<String> = classes.iter().map(|&class| kg.name(class)).collect();
    let texts: Vec<String> = classes
        .iter()
        .zip(&names)
        .map(|(&class, name)| kg.label(class).map_or_else(|| name.clone(), |label| format!("{name} {label}")))
        .collect();
    let order = best_first(&ranker.score(question, &texts), &names);
    let mut offered: Vec<NodeId> = order.into_iter().take(limits::SHOWN_CLASSES).map(|i| classes[i]).collect();
    for &class in must_offer {
        if !offered.contains(&class) && classes.binary_search(&class).is_ok() {
            if offered.len() >= limits::SHOWN_CLASSES
                && let Some(place) = offered.iter().rposition(|kept| !must_offer.contains(kept))
            {
                offered.remove(place);
            }
            offered.push(class);
        }
    }
    offered
}

/// Runs a whole program from a fresh session.
///
/// # Errors
/// The step (from 0) that failed and why.
pub fn run_program(session: &mut Session<'_>, calls: &[Call]) -> Result<Value, (usize, ToolError)> {
    for (i, call) in calls.iter().enumerate() {
        session.run(call).map_err(|error| (i, error))?;
    }
    session.answer().cloned().ok_or((calls.len(), ToolError::NoEnd))
}

/// Whether a tool's result is a relation list.
#[must_use]
pub fn lists_relations(tool: Tool) -> bool {
    matches!(tool, Tool::GetRelation | Tool::RetrieveRelation)
}
