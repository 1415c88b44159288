//! The state of one question in ODA: session, actions, memory and transcript.

use std::collections::BTreeMap;

use crate::answer::Answer;
use crate::call::{Arg, Call, Tool, parse_call, print_name};
use crate::exec::{EntSet, Observation, Relation, Session, Shown, Value};
use crate::observe::shown;
use crate::observe::{
    ObserveOptions, Observed, PathNetwork, PathOptions, observe, paths, similarity_of,
};
use crate::prompt::{Template, dialogue_question, dialogue_relations, size_word};
use crate::rank::RankError;
use common::transcript::{Part, Role, Turn};
use kg::term::NodeId;

use super::selected::Selected;
use super::{
    Act, OdaError, OdaOptions, Pick, Reflection, Say, TurnForm, read_act, read_reflection,
};

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
        ways: Vec<Vec<(Relation, bool)>>,
    },
    Triples {
        set: String,
        triples: Vec<Observed>,
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

/// Maximum number of distinct paths shown between two entities.
const WAYS: usize = 10;

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
    /// The transcript.
    #[must_use]
    pub fn into_turns(self) -> Vec<Turn> {
        self.turns
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

    pub(super) fn naming(&self) -> crate::exec::Naming {
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
    pub(super) fn found_ways(&self) -> usize {
        match &self.found {
            Some(Found::Paths { ways, .. }) => ways.len(),
            _ => 0,
        }
    }

    pub(super) fn found_triples(&self) -> &[Observed] {
        match &self.found {
            Some(Found::Triples { triples, .. }) => triples,
            _ => &[],
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
                Value::Int(_) | Value::Bool(_) => None,
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
            Awaited::Action => self.act(&read_act(text)?)?,
            Awaited::Reflection if self.options.reflection == Reflection::GeneratedFact => {
                self.facts.extend(text.split("; ").map(str::to_owned));
                self.found = None;
                Some(vec![Part::ours("noted")])
            }
            Awaited::Reflection => Some(self.reflect(&read_reflection(text)?)?),
            Awaited::Nothing => return Err(OdaError::Ended),
        };
        self.turns.push(Turn::call(text));
        self.turns
            .extend(reply.map(|parts| Turn::shown(Role::Tool, parts)));
        Ok(())
    }

    fn act(&mut self, act: &Act) -> Result<Option<Vec<Part>>, OdaError> {
        if let Act::Answer(say) = act {
            return self.answer(say).map(|()| None);
        }
        if self.forced() {
            return Err(OdaError::Over(self.options.iterations));
        }
        let (action, found, parts) = match act {
            Act::Neighbor(set) if self.options.form == TurnForm::Paper => {
                let action = format!("neighbor {set}");
                if self.is_explored(set) {
                    return Err(OdaError::Repeated(action));
                }
                let (triples, parts) = self.triples(set)?;
                self.explored.push(set.clone());
                (
                    action,
                    Found::Triples {
                        set: set.clone(),
                        triples,
                    },
                    parts,
                )
            }
            Act::Neighbor(set) => {
                let action = format!("neighbor {set}");
                let text = self.resolved(set)?;
                if self.is_explored(&text) || self.actions.contains(&action) {
                    return Err(OdaError::Repeated(action));
                }
                let step = self
                    .session
                    .run(&parse_call(&format!("get_relation({text})"))?)?;
                let Observation::Relations(shown) = step.observation.clone() else {
                    return Err(OdaError::Ended);
                };
                let mut parts = Vec::new();
                if set.contains('(') {
                    parts.push(Part::ours(format!("{}\n", self.sized(&text))));
                }
                parts.extend(dialogue_relations(
                    &self.session,
                    &shown,
                    self.template.naming,
                ));
                self.explored.extend([text.clone(), set.clone()]);
                (action, Found::Neighbors { set: text, shown }, parts)
            }
            Act::Path(from, to) => {
                let action = format!("path {from} {to}");
                if self.actions.contains(&action) {
                    return Err(OdaError::Repeated(action));
                }
                let (ways, parts) = self.ways(from, to)?;
                (
                    action,
                    Found::Paths {
                        from: from.clone(),
                        to: to.clone(),
                        ways,
                    },
                    parts,
                )
            }
            Act::Answer(_) => return Err(OdaError::Ended),
        };
        self.actions.push(action);
        self.found = Some(found);
        Ok(Some(parts))
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
        match set
            .strip_prefix('c')
            .and_then(|index| index.parse::<usize>().ok())
        {
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

    fn answer(&mut self, say: &Say) -> Result<(), OdaError> {
        let what = match say {
            Say::None => "[]".to_owned(),
            Say::Set(set) => self.resolved(set)?,
            Say::Count(set) => {
                let set = self.resolved(set)?;
                self.assigned(&format!("count({set})"))?
            }
            Say::Judge(set) => {
                let made = set
                    .get(1..)
                    .and_then(|index| index.parse().ok())
                    .and_then(|index: u32| self.compared.get(&index));
                let args: Vec<Arg> = made
                    .ok_or_else(|| OdaError::NoComparison(set.clone()))?
                    .args
                    .clone();
                let next = u32::try_from(self.session.variables()).unwrap_or(u32::MAX);
                self.session.run(&Call::new(Tool::Judge, args, next))?;
                format!("v{next}")
            }
        };
        self.session
            .run(&parse_call(&format!("ans = end({what})"))?)?;
        self.found = None;
        Ok(())
    }

    fn reflect(&mut self, picks: &[Pick]) -> Result<Vec<Part>, OdaError> {
        let Some(found) = self.found.clone() else {
            return Err(OdaError::Ended);
        };
        let mut made = Vec::new();
        for pick in picks.iter().take(self.options.kept) {
            let (near, far) = match &found {
                Found::Neighbors { set, .. } => (set.clone(), self.pick(set, pick)?),
                Found::Triples { set, triples } => {
                    let index = pick
                        .relation
                        .strip_prefix('t')
                        .and_then(|index| index.parse::<usize>().ok());
                    let triple = index
                        .and_then(|index| triples.get(index))
                        .ok_or_else(|| OdaError::NotFound(pick.relation.clone()))?;
                    (set.clone(), self.take_triple(set, triple)?)
                }
                Found::Paths { from, to, ways } => {
                    let index = pick
                        .relation
                        .strip_prefix('p')
                        .and_then(|index| index.parse::<usize>().ok());
                    let way = index
                        .and_then(|index| ways.get(index))
                        .ok_or_else(|| OdaError::NotFound(pick.relation.clone()))?
                        .clone();
                    (from.clone(), self.walk(from, to, &way)?)
                }
            };
            let sign = if pick.incoming { "~" } else { "" };
            let narrowed = pick
                .narrowed
                .as_ref()
                .map(|by| format!(" {by}"))
                .unwrap_or_default();
            let group = format!("{sign}{}{narrowed}", pick.relation);
            self.memory.add(Selected {
                near,
                group: group.clone(),
                far: far.clone(),
            });
            made.push((far, group));
        }
        self.found = None;
        if made.is_empty() {
            return Ok(vec![Part::ours("none")]);
        }
        let alone = made.len() == 1;
        let mut parts = Vec::new();
        for (i, (far, group)) in made.iter().enumerate() {
            parts.push(Part::ours(format!(
                "{}{}",
                if i == 0 { "" } else { "\n" },
                self.sized(far)
            )));
            if !alone {
                parts.push(Part::kg(format!(" {group}")));
            }
        }
        // Observe the far ends next; the members of a narrowed set were observed before it was
        // narrowed.
        let walked = made
            .iter()
            .zip(picks)
            .filter(|(_, pick)| pick.narrowed.is_none())
            .map(|((far, _), _)| far);
        let tasks: Vec<(String, Vec<NodeId>)> = walked
            .filter_map(|far| Some((far.clone(), self.members(far)?.to_vec())))
            .filter(|task| !task.1.is_empty())
            .collect();
        parts.extend(shown::lines(
            &self.session,
            &tasks,
            &self.options.observe,
            shown_tokens(&self.options),
        )?);
        Ok(parts)
    }

    /// Executes the pick of one group of the explored set and returns the resulting set.
    fn pick(&mut self, set: &str, pick: &Pick) -> Result<String, OdaError> {
        let relation = &pick.relation;
        let sign = if pick.incoming { "~" } else { "" };
        match &pick.narrowed {
            None if pick.incoming => self.assigned(&format!("get_head_entity({set}, {relation})")),
            None => self.assigned(&format!("get_tail_entity({set}, {relation})")),
            Some(by) => {
                let by = by.split(' ').collect::<Vec<_>>();
                let made = self.assigned(&format!(
                    "get_entity_by_constraint({set}, {sign}{relation}, {})",
                    by.join(", ")
                ))?;
                if let (2, Some(step)) = (by.len(), self.session.steps().last()) {
                    self.compared
                        .insert(made[1..].parse().unwrap_or_default(), step.call.clone());
                }
                Ok(made)
            }
        }
    }

    /// The triples of one entity, most similar to the question first, cut to the token budget.
    fn triples(&self, entity: &str) -> Result<(Vec<Observed>, Vec<Part>), OdaError> {
        let node = match self.members(entity).as_deref() {
            Some([node]) => *node,
            _ => return Err(OdaError::NotOne(entity.to_owned())),
        };
        let kg = self.session.kg();
        let all = ObserveOptions {
            hops: 1,
            kept: usize::MAX / 2,
            ..self.options.observe.clone()
        };
        let similarity = similarity_of(self.session.ranker());
        let mut triples = observe(
            kg,
            &[&[node]],
            self.session.bare_question(),
            similarity.as_ref(),
            &all,
        )?;
        let mut left = self.options.triple_tokens;
        let mut parts = Vec::new();
        for (i, one) in triples.iter().enumerate() {
            let sign = if one.forward { "" } else { "~" };
            let far = kg.label(one.far()).unwrap_or_else(|| kg.name(one.far()));
            let text = format!(" {sign}{} {far}", print_name(&kg.name(one.triple.1.node())));
            let Some(rest) = left.checked_sub(crate::tokens::estimate(&text)) else {
                break;
            };
            left = rest;
            parts.extend([
                Part::ours(format!("{}t{i}", if i == 0 { "" } else { "\n" })),
                Part::kg(text),
            ]);
        }
        triples.truncate(parts.len() / 2);
        if parts.is_empty() {
            parts.push(Part::ours("none"));
        }
        Ok((triples, parts))
    }

    /// Executes the pick of one triple and returns the set that contains its far end.
    fn take_triple(&mut self, set: &str, triple: &Observed) -> Result<String, OdaError> {
        let kg = self.session.kg();
        let name = print_name(&kg.name(triple.triple.1.node()));
        let far = kg.name(triple.far());
        let tool = if triple.forward {
            "get_tail_entity"
        } else {
            "get_head_entity"
        };
        let all = self.assigned(&format!("{tool}({set}, {name})"))?;
        if self.members(&all).is_some_and(|members| members.len() == 1) {
            return Ok(all);
        }
        // A set argument cannot name a literal, so the set keeps all values of the relation.
        if !kg.resources().contains(&triple.far().0) {
            return Ok(all);
        }
        self.assigned(&format!("intersect({all}, {})", print_name(&far)))
    }

    /// The distinct paths between two entities as sequences of relations, and their rendering.
    #[allow(clippy::type_complexity)]
    fn ways(
        &self,
        from: &str,
        to: &str,
    ) -> Result<(Vec<Vec<(Relation, bool)>>, Vec<Part>), OdaError> {
        let one = |handle: &str| match self.members(handle).as_deref() {
            Some([node]) => Ok(*node),
            _ => Err(OdaError::NotOne(handle.to_owned())),
        };
        let (a, b) = (one(from)?, one(to)?);
        let options = PathOptions {
            without: self.options.observe.without.clone(),
            ..PathOptions::default()
        };
        let mut ways: Vec<Vec<(Relation, bool)>> = Vec::new();
        for path in paths(self.session.kg(), a, b, &options).paths {
            let way: Vec<_> = path
                .iter()
                .map(|hop| (Relation::Plain(hop.triple.1), hop.forward))
                .collect();
            if ways.len() < WAYS && !ways.contains(&way) {
                ways.push(way);
            }
        }
        let mut parts = Vec::new();
        for (i, way) in ways.iter().enumerate() {
            parts.push(Part::ours(format!(
                "{}p{i}",
                if i == 0 { "" } else { "\n" }
            )));
            for &(relation, forward) in way {
                let sign = if forward { "" } else { "~" };
                parts.push(Part::kg(format!(
                    " {sign}{}",
                    print_name(&self.session.relation_name(relation))
                )));
            }
        }
        if parts.is_empty() {
            parts.push(Part::ours("none"));
        }
        Ok((ways, parts))
    }

    /// Follows a path up to its last relation and returns the set of nodes before the goal.
    fn walk(&mut self, from: &str, to: &str, way: &[(Relation, bool)]) -> Result<String, OdaError> {
        let mut here = from.to_owned();
        for (i, &(relation, forward)) in way.iter().enumerate() {
            let name = print_name(&self.session.relation_name(relation));
            here = if i + 1 == way.len() {
                let sign = if forward { "" } else { "~" };
                self.assigned(&format!(
                    "get_entity_by_constraint({here}, {sign}{name}, =, {to})"
                ))?
            } else if forward {
                self.assigned(&format!("get_tail_entity({here}, {name})"))?
            } else {
                self.assigned(&format!("get_head_entity({here}, {name})"))?
            };
        }
        if let Some(step) = self.session.steps().last() {
            self.compared
                .insert(here[1..].parse().unwrap_or_default(), step.call.clone());
        }
        Ok(here)
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
