//! The state of one question in ODA: session, actions, memory and transcript.

mod act;
mod reflect;

use std::collections::BTreeMap;

use super::error::OdaError;
use super::options::{OdaOptions, Reflection};
use super::read::{parse_action, parse_reflection};
use super::selected::Selected;
use crate::answer::Answer;
use crate::call::{Call, parse_call};
use crate::exec::{EntSet, Naming, Relation, Session, Shown, Value};
use crate::observe::{ObserveOptions, PathNetwork, shown};
use crate::prompt::{Template, dialogue_question, size_word};
use crate::rank::RankError;
use crate::text::handle_index;
use common::transcript::{Part, Role, Turn};
use kg::term::NodeId;

/// The kind of the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// An action.
    Action,
    /// A choice among the triples of the last action.
    Reflection,
    /// Nothing: the question is answered.
    Nothing,
}

/// The result of the last action.
#[derive(Clone, Debug)]
enum Found {
    Neighbors {
        set: String,
        shown: Shown,
    },
    Paths {
        from: String,
        to: String,
        paths: Vec<Vec<(Relation, bool)>>,
    },
}

/// Token budget of a shown observation; 0 if observations are off.
fn shown_tokens(options: &OdaOptions) -> usize {
    if options.observation {
        options.observation_tokens
    } else {
        0
    }
}

/// One question in progress.
pub struct Run<'g> {
    session: Session<'g>,
    template: Template,
    options: OdaOptions,
    turns: Vec<Turn>,
    found: Option<Found>,
    actions: Vec<String>,
    explored: Vec<String>,
    /// Variables that hold the instances of an offered class.
    classes: BTreeMap<usize, u32>,
    /// For each variable, the comparison that produced it.
    compared: BTreeMap<u32, Call>,
    memory: PathNetwork<Selected>,
    facts: Vec<String>,
}

impl<'g> Run<'g> {
    /// Begins a question: its text and a first observation of its entities.
    ///
    /// # Errors
    /// Returns the error of the session's ranker.
    pub fn open(
        session: Session<'g>,
        template: &Template,
        options: &OdaOptions,
    ) -> Result<Self, RankError> {
        let options = OdaOptions {
            observe: ObserveOptions {
                without: session.without().to_vec(),
                ..options.observe.clone()
            },
            ..options.clone()
        };
        let tasks: Vec<(String, Vec<NodeId>)> = session
            .linked()
            .entities
            .iter()
            .enumerate()
            .map(|(i, &node)| (format!("e{i}"), vec![node]))
            .collect();
        let mut user = dialogue_question(&session, template.naming);
        user.extend(shown::lines(
            &session,
            &tasks,
            &options.observe,
            shown_tokens(&options),
        )?);
        let turns = vec![
            Turn::shown(Role::System, vec![Part::ours(template.agent.name())]),
            Turn::shown(Role::User, user),
        ];
        Ok(Self {
            session,
            template: template.clone(),
            options,
            turns,
            found: None,
            actions: Vec::new(),
            explored: Vec::new(),
            classes: BTreeMap::new(),
            compared: BTreeMap::new(),
            memory: PathNetwork::default(),
            facts: Vec::new(),
        })
    }

    /// The kind of the next turn.
    #[must_use]
    pub fn awaited(&self) -> Awaited {
        match (&self.found, self.session.answer()) {
            (_, Some(_)) => Awaited::Nothing,
            (Some(_), None) => Awaited::Reflection,
            (None, None) => Awaited::Action,
        }
    }

    /// The transcript so far.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }
    /// The session with all executed steps, and the transcript.
    #[must_use]
    pub fn into_parts(self) -> (Session<'g>, Vec<Turn>) {
        (self.session, self.turns)
    }
    /// The session with all executed steps.
    #[must_use]
    pub fn session(&self) -> &Session<'g> {
        &self.session
    }
    /// The actions so far, as written.
    #[must_use]
    pub fn actions(&self) -> &[String] {
        &self.actions
    }
    /// The chosen groups.
    #[must_use]
    pub fn memory(&self) -> &PathNetwork<Selected> {
        &self.memory
    }
    /// Facts written by a model ([`Reflection::GeneratedFact`]).
    #[must_use]
    pub fn facts(&self) -> &[String] {
        &self.facts
    }
    /// The set that the last action explored, in the form used in calls.
    #[must_use]
    pub fn explored(&self) -> Option<&str> {
        self.found_relations().map(|(set, _)| set)
    }
    /// The prompt template.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }
    /// The options.
    #[must_use]
    pub fn options(&self) -> &OdaOptions {
        &self.options
    }
    /// Whether only an answer may follow.
    #[must_use]
    pub fn forced(&self) -> bool {
        self.actions.len() >= self.options.iterations
    }

    pub(super) fn naming(&self) -> Naming {
        self.template.naming
    }
    pub(super) fn is_explored(&self, set: &str) -> bool {
        self.explored.iter().any(|known| known == set)
    }
    pub(super) fn comparisons(&self) -> impl Iterator<Item = String> + '_ {
        self.compared.keys().map(|index| format!("v{index}"))
    }
    /// Whether a variable holds the instances of an offered class and is therefore referred to by
    /// the handle of the class.
    pub(super) fn is_class_variable(&self, text: &str) -> bool {
        self.classes
            .values()
            .any(|index| format!("v{index}") == text)
    }
    pub(super) fn found_relations(&self) -> Option<(&str, &Shown)> {
        match &self.found {
            Some(Found::Neighbors { set, shown }) => Some((set, shown)),
            _ => None,
        }
    }
    pub(super) fn found_paths(&self) -> usize {
        match &self.found {
            Some(Found::Paths { paths, .. }) => paths.len(),
            _ => 0,
        }
    }

    /// The members of a set by handle; `None` if the handle refers to no set.
    #[must_use]
    pub fn members(&self, handle: &str) -> Option<EntSet> {
        let index = handle.get(1..)?.parse::<usize>().ok()?;
        match handle.get(..1)? {
            "e" => self
                .session
                .linked()
                .entities
                .get(index)
                .map(|&node| [node].into()),
            "v" => match self.session.variable(index)? {
                Value::Set(set) => Some(set.clone()),
                Value::Int(_) | Value::Bool(_) | Value::Table(_) => None,
            },
            "c" => self
                .session
                .classes()
                .get(index)
                .map(|&class| self.session.kg().instances(class).into_owned().into()),
            _ => None,
        }
    }

    /// Takes the awaited turn in the form of the grammar, executes it and appends the reply.
    ///
    /// # Errors
    /// Returns [`OdaError`]; the turn is then not recorded.
    pub fn write(&mut self, text: &str) -> Result<(), OdaError> {
        let reply = match self.awaited() {
            Awaited::Action => self.act(&parse_action(text)?)?,
            Awaited::Reflection if self.options.reflection == Reflection::GeneratedFact => {
                self.facts.extend(text.split("; ").map(str::to_owned));
                self.found = None;
                Some(vec![Part::ours("noted")])
            }
            Awaited::Reflection => Some(self.reflect(&parse_reflection(text)?)?),
            Awaited::Nothing => return Err(OdaError::Ended),
        };
        self.turns.push(Turn::call(text));
        self.turns
            .extend(reply.map(|parts| Turn::shown(Role::Tool, parts)));
        Ok(())
    }

    /// A set in the form used in calls. Classes and combined sets are first assigned to variables.
    fn resolved(&mut self, set: &str) -> Result<String, OdaError> {
        if let Some((tool, list)) = set.strip_suffix(')').and_then(|set| set.split_once('(')) {
            let parts = list
                .split(", ")
                .map(|part| self.resolved(part))
                .collect::<Result<Vec<_>, _>>()?;
            return self.assigned(&format!("{tool}({})", parts.join(", ")));
        }
        match handle_index(set, 'c') {
            Some(index) => match self.classes.get(&index) {
                Some(variable) => Ok(format!("v{variable}")),
                None => {
                    let text = self.assigned(&format!("get_entity_by_type({set})"))?;
                    let variable = text[1..].parse().unwrap_or_default();
                    self.classes.insert(index, variable);
                    Ok(text)
                }
            },
            None => Ok(set.to_owned()),
        }
    }

    /// Runs a call that assigns the next variable, and returns the variable.
    fn assigned(&mut self, call: &str) -> Result<String, OdaError> {
        let variable = format!("v{}", self.session.variables());
        let call = parse_call(&format!("{variable} = {call}"))?;
        self.session.run(&call)?;
        Ok(variable)
    }

    fn sized(&self, handle: &str) -> String {
        format!(
            "{handle} {}",
            size_word(self.members(handle).map_or(0, |set| set.len()))
        )
    }

    /// The answer so far.
    #[must_use]
    pub fn answered(&self) -> Answer {
        Answer::of(&self.session)
    }

    /// The memory as text, one line per path.
    #[must_use]
    pub fn remembered(&self) -> Vec<String> {
        let line = |path: &Vec<Selected>| {
            let mut text = path
                .first()
                .map(|link| link.near.clone())
                .unwrap_or_default();
            path.iter()
                .for_each(|link| text.push_str(&format!(" -[{}]-> {}", link.group, link.far)));
            text
        };
        self.memory
            .paths()
            .iter()
            .map(line)
            .chain(self.facts.iter().cloned())
            .collect()
    }
}
