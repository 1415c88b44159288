//! ODA as published (rules B): every iteration observes the task entities, asks for an action, runs
//! it, asks which of its triples to remember, and keeps them in a network of paths. The answer is
//! written from that memory and from what the model knows.
//!
//! ```text
//! Action      GetNeighbor Q1490                       around the candidates: an observation
//! Reflection  (Q1490, P36, Q179645)                   of what was found: into the memory
//! Action      Answer
//! Answer      Shinjuku                                from the memory and own knowledge
//! ```

mod prompt;
mod read;

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::answer::{Separators, read_answer};
use super::names::{forms, id};
use crate::answer::{Answer, AnswerValue, EvidenceTriple, Provenance};
use crate::exec::Session;
use crate::observe::{
    Hop, ObserveOptions, Observed, ObservedTriple, PathLink, PathNetwork, PathOptions, observe,
    paths, similarity_of,
};
use crate::oda::{OdaOptions, Reflection};
use crate::rank::RankError;
use common::transcript::Turn;
use kg::term::NodeId;

use read::ReadAction;

/// Task entities of an iteration at most. A reflection keeps up to 15 triples, so more come from an
/// observation only.
const TASKS: usize = 15;
/// Entities of the last observation that become tasks when a reflection remembers nothing.
const FRONTIER: usize = 5;

/// What is asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdaRequest {
    /// An action.
    Action,
    /// Which triples to remember.
    Reflection,
    /// Facts that the model knows, in place of a reflection.
    Facts,
    /// The answer.
    Answer,
}

/// Why a reply cannot be used. The state is unchanged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OdaReplyError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The action was taken before.
    #[error("{0} was done before; choose another action, or Answer")]
    Again(String),
    /// The ranker failed.
    #[error(transparent)]
    Ranker(#[from] RankError),
}

/// One question in progress.
pub struct PublishedOda<'g> {
    session: Session<'g>,
    options: OdaOptions,
    /// The candidate entities of this iteration.
    tasks: Vec<NodeId>,
    /// What lies around them, task by task.
    observed: Vec<Observed>,
    /// The triples that the last action found, best first.
    found: Vec<Hop>,
    memory: PathNetwork<Hop>,
    facts: Vec<String>,
    actions: Vec<String>,
    explored: Vec<NodeId>,
    asked: Option<OdaRequest>,
    answer: Option<Answer>,
}

impl<'g> PublishedOda<'g> {
    /// Begins a question at its topic entities. Without any the answer is asked for at once.
    ///
    /// # Errors
    /// Returns the error of the session's ranker.
    pub fn open(session: Session<'g>, options: &OdaOptions) -> Result<Self, RankError> {
        let options = OdaOptions {
            observe: ObserveOptions {
                without: session.without().to_vec(),
                ..options.observe.clone()
            },
            ..options.clone()
        };
        let tasks = session.linked().entities.clone();
        let mut run = Self {
            session,
            options,
            tasks,
            observed: Vec::new(),
            found: Vec::new(),
            memory: PathNetwork::default(),
            facts: Vec::new(),
            actions: Vec::new(),
            explored: Vec::new(),
            asked: None,
            answer: None,
        };
        run.next_iteration()?;
        Ok(run)
    }

    /// What is asked for next; `None` when the question is answered.
    #[must_use]
    pub fn request(&self) -> Option<OdaRequest> {
        self.asked
    }

    /// The prompt of the request.
    #[must_use]
    pub fn turns(&self) -> Vec<Turn> {
        self.asked
            .map(|asked| self.prompt(asked))
            .into_iter()
            .collect()
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session<'g> {
        &self.session
    }

    /// The actions so far, as the prompt shows them.
    #[must_use]
    pub fn actions(&self) -> &[String] {
        &self.actions
    }

    /// The memory as the prompt shows it, one line per path.
    #[must_use]
    pub fn memory(&self) -> Vec<String> {
        self.memory_lines()
    }

    /// Whether only the answer may follow.
    #[must_use]
    pub fn forced(&self) -> bool {
        self.actions.len() >= self.options.iterations
    }

    /// The answer.
    #[must_use]
    pub fn into_answer(self) -> Answer {
        self.answer.unwrap_or_default()
    }

    /// Takes the reply to the request.
    ///
    /// # Errors
    /// Returns [`OdaReplyError`]; nothing is changed then.
    pub fn take(&mut self, reply: &str) -> Result<(), OdaReplyError> {
        let unreadable = OdaReplyError::Unreadable;
        match self.asked {
            Some(OdaRequest::Action) => {
                let forms: Vec<_> = self
                    .tasks
                    .iter()
                    .map(|&e| forms(self.session.kg(), e))
                    .collect();
                let action = read::action(reply, &forms).map_err(unreadable)?;
                self.act(action)?;
            }
            Some(OdaRequest::Reflection) => {
                let kg = self.session.kg();
                let parts = |hop: &Hop| {
                    let (s, r, o) = hop.triple;
                    [s, r.node(), o].map(|node| forms(kg, node))
                };
                let offered: Vec<_> = self.found.iter().map(parts).collect();
                let places = read::triples(reply, &offered).ok_or_else(|| {
                    unreadable(
                        "none of its triples is a candidate; write none if none helps".to_owned(),
                    )
                })?;
                self.remember(&places)?;
            }
            Some(OdaRequest::Facts) => {
                let mark = |c: char| !c.is_alphanumeric();
                let lines = reply
                    .lines()
                    .map(|line| line.trim_start_matches(mark).trim());
                let lines = lines.filter(|line| !line.is_empty());
                self.facts
                    .extend(lines.take(self.options.kept).map(str::to_owned));
                self.remember(&[])?;
            }
            Some(OdaRequest::Answer) => self.end(reply),
            None => {}
        }
        Ok(())
    }

    /// Goes on without a usable reply: explores the first candidate that was not explored,
    /// remembers nothing, or ends without an answer.
    ///
    /// # Errors
    /// Returns the error of the session's ranker.
    pub fn fall_back(&mut self) -> Result<(), RankError> {
        match self.asked {
            Some(OdaRequest::Action) => {
                let open = self
                    .tasks
                    .iter()
                    .position(|node| !self.explored.contains(node));
                let action = open.map_or(ReadAction::Answer, ReadAction::Neighbor);
                match self.act(action) {
                    Err(OdaReplyError::Ranker(error)) => return Err(error),
                    Err(_) => self.asked = Some(OdaRequest::Answer),
                    Ok(()) => {}
                }
            }
            Some(OdaRequest::Reflection | OdaRequest::Facts) => self.remember(&[])?,
            Some(OdaRequest::Answer) | None => self.asked = None,
        }
        Ok(())
    }

    /// Runs an action and asks for the reflection on what it found.
    fn act(&mut self, action: ReadAction) -> Result<(), OdaReplyError> {
        let name = |at: usize| id(self.session.kg(), self.tasks[at]);
        let text = match action {
            ReadAction::Answer => {
                self.asked = Some(OdaRequest::Answer);
                return Ok(());
            }
            ReadAction::Neighbor(at) => format!("GetNeighbor({})", name(at)),
            ReadAction::Path(a, b) => format!("GetPath({}, {})", name(a), name(b)),
        };
        if self.actions.contains(&text) {
            return Err(OdaReplyError::Again(text));
        }
        let found = match action {
            ReadAction::Answer => Vec::new(),
            ReadAction::Neighbor(at) => {
                let node = self.tasks[at];
                let found = self.neighbours(node)?;
                self.explored.push(node);
                found
            }
            ReadAction::Path(a, b) => self.linking(self.tasks[a], self.tasks[b]),
        };
        self.actions.push(text);
        self.found = found;
        match self.options.reflection {
            Reflection::GeneratedFact => self.asked = Some(OdaRequest::Facts),
            _ if self.found.is_empty() => self.remember(&[])?,
            Reflection::Model => self.asked = Some(OdaRequest::Reflection),
            Reflection::Similarity => self.remember(&self.first_found())?,
            Reflection::Random => self.remember(&self.random_found())?,
        }
        Ok(())
    }

    /// The triples of an entity, most similar to the question first, as many as a prompt has room
    /// for.
    fn neighbours(&self, node: NodeId) -> Result<Vec<Hop>, RankError> {
        let near = ObserveOptions {
            hops: 1,
            kept: usize::MAX / 2,
            ..self.options.observe.clone()
        };
        let found = self.observation(&[node], &near)?;
        let hops = found.iter().map(|one| Hop {
            triple: one.triple,
            forward: one.forward,
        });
        Ok(self.within_budget(hops))
    }

    /// The triples on the paths between two entities, each once, shortest paths first.
    fn linking(&self, from: NodeId, to: NodeId) -> Vec<Hop> {
        let options = PathOptions {
            without: self.options.observe.without.clone(),
            ..PathOptions::default()
        };
        let both = self.options.observe.both_directions;
        let mut hops: Vec<Hop> = Vec::new();
        for hop in paths(self.session.kg(), from, to, &options).paths.concat() {
            let forward = hop.forward || !both;
            if !hops.iter().any(|known| known.triple == hop.triple) {
                hops.push(Hop { forward, ..hop });
            }
        }
        self.within_budget(hops.into_iter())
    }

    fn observation(
        &self,
        tasks: &[NodeId],
        options: &ObserveOptions,
    ) -> Result<Vec<Observed>, RankError> {
        let tasks: Vec<&[NodeId]> = tasks.chunks(1).collect();
        let similarity = similarity_of(self.session.ranker());
        observe(
            self.session.kg(),
            &tasks,
            self.session.bare_question(),
            similarity.as_ref(),
            options,
            &self.session.cancel(),
        )
    }

    /// The places of the best triples found.
    fn first_found(&self) -> Vec<usize> {
        (0..self.found.len().min(self.options.kept)).collect()
    }

    /// As many places of triples by chance, the same for the same question and seed.
    fn random_found(&self) -> Vec<usize> {
        let number = |at: &usize| {
            let mut hasher = FxHasher::default();
            let here = (
                self.options.seed,
                self.session.question(),
                self.actions.len(),
                at,
            );
            here.hash(&mut hasher);
            // The upper bits of this hash are mixed better.
            hasher.finish() >> 11
        };
        let mut places: Vec<usize> = (0..self.found.len()).collect();
        places.sort_by_key(number);
        places.truncate(self.options.kept);
        places
    }

    /// Adds triples to the memory, at most K, and goes on to the next iteration.
    fn remember(&mut self, places: &[usize]) -> Result<(), RankError> {
        let mut next: Vec<NodeId> = Vec::new();
        for &place in places.iter().take(self.options.kept) {
            let hop = self.found[place];
            self.memory.add(hop);
            let far = hop.far();
            let resource = self.session.kg().resources().contains(&far.0);
            if resource && !next.contains(&far) {
                next.push(far);
            }
        }
        self.found.clear();
        if next.is_empty() {
            next = self.unexplored();
        }
        // The paper's second case explores both novels of its question in turn.
        for &topic in &self.session.linked().entities {
            if !self.explored.contains(&topic) && !next.contains(&topic) {
                next.push(topic);
            }
        }
        next.truncate(TASKS);
        self.tasks = next;
        self.next_iteration()
    }

    /// The task entities that were not explored, and the best unexplored ones of the observation.
    fn unexplored(&self) -> Vec<NodeId> {
        let open = |node: &NodeId| !self.explored.contains(node);
        let mut next: Vec<NodeId> = self.tasks.iter().copied().filter(open).collect();
        let mut around: Vec<&Observed> =
            self.observed.iter().filter(|one| one.score > 0.0).collect();
        around.sort_by(|a, b| b.score.total_cmp(&a.score));
        let resources = self.session.kg().resources();
        let mut left = FRONTIER;
        for far in around.into_iter().map(Observed::far) {
            if left > 0 && open(&far) && resources.contains(&far.0) && !next.contains(&far) {
                next.push(far);
                left -= 1;
            }
        }
        next
    }

    /// Observes the tasks and asks for an action, or for the answer if no action is possible.
    fn next_iteration(&mut self) -> Result<(), RankError> {
        self.observed.clear();
        if self.tasks.is_empty() || self.forced() {
            self.asked = Some(OdaRequest::Answer);
            return Ok(());
        }
        if self.options.observation {
            self.observed = self.observation(&self.tasks, &self.options.observe)?;
        }
        self.asked = Some(OdaRequest::Action);
        Ok(())
    }

    /// Reads the answer. It comes from the graph if every member stands in the memory; the paths to
    /// it are its evidence then.
    fn end(&mut self, reply: &str) {
        let kg = self.session.kg();
        let ends = |triple: ObservedTriple| [triple.0, triple.2];
        let known: Vec<NodeId> = self
            .memory
            .links()
            .flat_map(|hop| ends(hop.triple))
            .collect();
        let text = reply.trim();
        let text = text.strip_prefix("Answer:").unwrap_or(text);
        let value = read_answer(kg, text, &known, Separators::Commas);
        let members: Option<Vec<NodeId>> = match &value {
            AnswerValue::Set(members) => members.iter().map(|one| kg.find(&one.term)).collect(),
            _ => None,
        };
        let evidence = members.and_then(|nodes| self.paths_to(&nodes));
        let provenance = match (&value, &evidence) {
            (AnswerValue::Set(members), _) if members.is_empty() => Provenance::None,
            (_, Some(_)) => Provenance::Kg,
            (_, None) => Provenance::Model,
        };
        let triples = evidence.unwrap_or_default();
        self.answer = Some(Answer {
            value,
            evidence: triples
                .iter()
                .map(|&triple| EvidenceTriple::of(kg, triple))
                .collect(),
            provenance,
            ..Answer::default()
        });
        self.asked = None;
    }

    /// For each node the first path of the memory up to it; `None` if one is on no path.
    fn paths_to(&self, nodes: &[NodeId]) -> Option<Vec<ObservedTriple>> {
        let mut triples = Vec::new();
        for node in nodes {
            let on = |hop: &Hop| hop.triple.0 == *node || hop.triple.2 == *node;
            let found = self.memory.paths().iter().find_map(|path| {
                let end = path.iter().position(on)?;
                Some(&path[..=end])
            })?;
            triples.extend(found.iter().map(|hop| hop.triple));
        }
        triples.sort_unstable();
        triples.dedup();
        Some(triples)
    }
}
