//! One attempt at a question: the sub-tasks in order. A model, the gold data and scripts receive
//! the same turns, so a training example equals the prompt at inference byte for byte.

mod linking;
mod querying;

use std::collections::HashSet;
use std::time::Duration;

use super::error::TriadError;
use super::fill::{FilledQuery, PhraseLink};
use super::grammar::{self, NONE};
use super::render;
use super::solve::Solved;
use super::task::{Ended, Options, SubTask, TriadFailure, TriadRequest};
use super::template::{AnswerType, QueryTemplate};
use super::triple::{End, TriplePattern, parse_triples};
use crate::exec::{Session, Value};
use crate::grammar::Grammar;
use crate::rank::RankError;
use crate::text::handle_index;
use common::transcript::Turn;
use kg::term::NodeId;

/// What earlier attempts at a question tried without success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The queries they ran.
    pub queries: HashSet<FilledQuery>,
    /// The largest number of triples of an attempt that ended because no relation matched one of
    /// them. Asking for fewer triples afterwards would be a different question, without the part
    /// that the graph lacks.
    pub triples: usize,
}

/// Why a response cannot be processed.
enum Stop {
    /// The attempt failed.
    Failed(TriadFailure),
    /// The ranker failed.
    Rank(RankError),
}

impl From<TriadFailure> for Stop {
    fn from(failure: TriadFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<RankError> for Stop {
    fn from(error: RankError) -> Self {
        Self::Rank(error)
    }
}

/// One attempt.
pub struct Try<'s, 'g> {
    session: &'s Session<'g>,
    options: &'s Options,
    /// The candidate nodes of each entity handle, best first.
    entities: Vec<Vec<NodeId>>,
    deadline: Duration,
    turns: Vec<Turn>,
    triples: Vec<TriplePattern>,
    kind: AnswerType,
    /// Triples in the order in which they were linked.
    order: Vec<usize>,
    links: Vec<Vec<PhraseLink>>,
    shown: Vec<(PhraseLink, String)>,
    matched: Vec<(FilledQuery, Solved)>,
    tried: Tried,
    now: Option<SubTask>,
    end: Option<Ended>,
    /// All candidates that relation selection ranked, for the linking recall.
    pub offered: Vec<PhraseLink>,
}

impl<'s, 'g> Try<'s, 'g> {
    /// Begins an attempt. `entities` lists the candidate nodes of each linked entity, the session's
    /// own first. `deadline` limits each query, `before` lists the failures of earlier attempts and
    /// `tried` what they tried.
    #[must_use]
    pub fn new(
        session: &'s Session<'g>,
        options: &'s Options,
        entities: Vec<Vec<NodeId>>,
        deadline: Duration,
        before: &[TriadFailure],
        tried: Tried,
    ) -> Self {
        let mut turns = render::opening(session, before);
        turns.push(render::task(SubTask::Triples));
        Self {
            session,
            options,
            entities,
            deadline,
            turns,
            triples: Vec::new(),
            kind: AnswerType::Select,
            order: Vec::new(),
            links: Vec::new(),
            shown: Vec::new(),
            matched: Vec::new(),
            tried,
            now: Some(SubTask::Triples),
            end: None,
            offered: Vec::new(),
        }
    }

    /// The next request; `None` when the attempt is over.
    #[must_use]
    pub fn request(&self) -> Option<TriadRequest> {
        let task = self.now?;
        let linked = self.session.linked();
        let texts = || {
            self.shown
                .iter()
                .map(|(_, text)| text.clone())
                .collect::<Vec<_>>()
        };
        let grammar = match task {
            SubTask::Triples => {
                grammar::triples(linked.entities.len(), self.session.classes().len())
            }
            SubTask::Type => grammar::answer_type(&self.triples),
            SubTask::Relations(_) => grammar::selection(&texts(), self.options.relations),
            SubTask::Template => {
                let usable: Vec<bool> = self
                    .triples
                    .iter()
                    .zip(&self.links)
                    .map(|(triple, links)| triple.is_given() || !links.is_empty())
                    .collect();
                grammar::template(
                    self.kind,
                    &self.triples,
                    &usable,
                    linked.entities.len(),
                    linked.values.len(),
                )
            }
            SubTask::Query => Grammar::one_of((0..self.matched.len()).map(|i| format!("q{i}"))),
            SubTask::Answer => Grammar::one_of([render::FROM_GRAPH, NONE]),
            SubTask::Entity => return None,
        };
        let turns = match task {
            SubTask::Query => render::queries(self.session, &self.matched),
            _ => self.turns.clone(),
        };
        Some(TriadRequest {
            task,
            turns,
            grammar,
        })
    }

    /// The main conversation so far; query selection has a separate one.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The end of the attempt, once [`Try::request`] returns `None`.
    #[must_use]
    pub fn end(&self) -> Option<&Ended> {
        self.end.as_ref()
    }

    /// What this attempt and the earlier ones tried without success.
    #[must_use]
    pub fn into_tried(mut self) -> Tried {
        if matches!(self.end, Some(Ended::Failed(TriadFailure::NoRelation(_)))) {
            self.tried.triples = self.tried.triples.max(self.triples.len());
        }
        self.tried
    }

    /// The extracted triples.
    #[must_use]
    pub fn triples(&self) -> &[TriplePattern] {
        &self.triples
    }

    /// The candidates shown for the current triple, with their texts.
    #[must_use]
    pub fn shown(&self) -> &[(PhraseLink, String)] {
        &self.shown
    }

    /// The queries with solutions, in the order in which they are offered.
    #[must_use]
    pub fn matched(&self) -> &[(FilledQuery, Solved)] {
        &self.matched
    }

    /// The links selected for each triple.
    #[must_use]
    pub fn links(&self) -> &[Vec<PhraseLink>] {
        &self.links
    }

    /// Takes the response to the current request.
    ///
    /// # Errors
    /// Returns the error of the ranker.
    pub fn take(&mut self, text: &str) -> Result<(), RankError> {
        let Some(task) = self.now.take() else {
            return Ok(());
        };
        if task != SubTask::Query {
            self.turns.push(Turn::call(text));
        }
        match self.taken(task, text) {
            Ok(()) => Ok(()),
            Err(Stop::Failed(failure)) => {
                self.end = Some(Ended::Failed(failure));
                Ok(())
            }
            Err(Stop::Rank(error)) => Err(error),
        }
    }

    fn ask(&mut self, task: SubTask, turn: Turn) {
        self.turns.push(turn);
        self.now = Some(task);
    }

    fn taken(&mut self, task: SubTask, text: &str) -> Result<(), Stop> {
        let wrong = |error: TriadError| TriadFailure::Syntax(task, error);
        match task {
            SubTask::Triples => {
                self.triples = parse_triples(text).map_err(wrong)?;
                let (entities, classes) = (self.entities.len(), self.session.classes().len());
                let known = |end: &End| match end {
                    End::Entity(index) => *index < entities,
                    End::Class(index) => *index < classes,
                    End::Var(_) => true,
                };
                let unknown = self
                    .triples
                    .iter()
                    .flat_map(|triple| [&triple.subject, &triple.object])
                    .find(|end| !known(end));
                if let Some(end) = unknown {
                    return Err(wrong(TriadError::End(end.to_string())).into());
                }
                if self.triples.len() < self.tried.triples {
                    return Err(TriadFailure::Less(self.triples.len(), self.tried.triples).into());
                }
                self.links = vec![Vec::new(); self.triples.len()];
                self.ask(SubTask::Type, render::task(SubTask::Type));
            }
            SubTask::Type => {
                self.kind = text.parse().map_err(wrong)?;
                self.link_next()?;
            }
            SubTask::Relations(triple) => {
                let texts: Vec<String> = self.shown.iter().map(|(_, text)| text.clone()).collect();
                let chosen = grammar::selected(text, &texts)
                    .ok_or_else(|| wrong(TriadError::Selection(text.to_owned())))?;
                if chosen.is_empty() {
                    return Err(TriadFailure::NoRelation(self.triples[triple].to_string()).into());
                }
                self.links[triple] = chosen
                    .into_iter()
                    .take(self.options.relations.max(1))
                    .map(|i| self.shown[i].0)
                    .collect();
                self.link_next()?;
            }
            SubTask::Template => {
                let template: QueryTemplate = text.parse().map_err(wrong)?;
                let linked = self.session.linked();
                template
                    .check(&self.triples, linked.entities.len(), linked.values.len())
                    .map_err(wrong)?;
                self.run(&template)?;
            }
            SubTask::Query => {
                let index = handle_index(text.trim(), 'q').filter(|i| *i < self.matched.len());
                self.choose(index.ok_or_else(|| wrong(TriadError::Selection(text.to_owned())))?);
            }
            SubTask::Answer => match text.trim() {
                render::FROM_GRAPH => self.finish(),
                _ => return Err(TriadFailure::Declined.into()),
            },
            SubTask::Entity => {}
        }
        Ok(())
    }

    fn choose(&mut self, index: usize) {
        let chosen = self.matched.swap_remove(index);
        let size = render::result(&chosen.1.value);
        self.matched = vec![chosen];
        if self.options.advisor {
            self.ask(SubTask::Answer, size);
        } else {
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.end = match self.matched.pop() {
            Some((_, solved)) if matches!(&solved.value, Value::Set(set) if set.is_empty()) => {
                Some(Ended::Failed(TriadFailure::Declined))
            }
            Some((query, solved)) => Some(Ended::Answer(query, solved)),
            None => Some(Ended::Failed(TriadFailure::Declined)),
        };
    }
}
