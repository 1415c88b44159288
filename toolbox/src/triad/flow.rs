//! One attempt at a question: the sub-tasks in order. A model, the gold data and scripts receive
//! the same turns, so a training example equals the prompt at inference byte for byte.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::error::TriadError;
use super::fill::{FilledQuery, Pattern, PhraseLink, fill, products};
use super::grammar::{self, NONE};
use super::solve::{Bounds, Solved, solve};
use super::task::{Ended, Options, SubTask, TriadFailure, TriadRequest};
use super::template::{AnswerType, QueryTemplate};
use super::triple::{End, TriplePattern, parse_triples};
use super::{candidates, render};
use crate::exec::{Session, Value};
use crate::grammar::Grammar;
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
        Self {
            session,
            options,
            entities,
            deadline,
            turns: render::opening(session, before),
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
        .asked(render::task(SubTask::Triples))
    }

    fn asked(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
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
        let phrase = match task {
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
            phrase,
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
    pub fn take(&mut self, text: &str) {
        let Some(task) = self.now.take() else { return };
        if task != SubTask::Query {
            self.turns.push(Turn::call(text));
        }
        if let Err(failure) = self.taken(task, text) {
            self.end = Some(Ended::Failed(failure));
        }
    }

    fn ask(&mut self, task: SubTask, turn: Turn) {
        self.turns.push(turn);
        self.now = Some(task);
    }

    fn taken(&mut self, task: SubTask, text: &str) -> Result<(), TriadFailure> {
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
                    return Err(wrong(TriadError::End(end.to_string())));
                }
                if self.triples.len() < self.tried.triples {
                    return Err(TriadFailure::Less(self.triples.len(), self.tried.triples));
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
                    return Err(TriadFailure::NoRelation(self.triples[triple].to_string()));
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
                let index = text
                    .trim()
                    .strip_prefix('q')
                    .and_then(|digits| digits.parse().ok())
                    .filter(|i: &usize| *i < self.matched.len());
                self.choose(index.ok_or_else(|| wrong(TriadError::Selection(text.to_owned())))?);
            }
            SubTask::Answer => match text.trim() {
                render::FROM_GRAPH => self.finish(),
                _ => return Err(TriadFailure::Declined),
            },
            SubTask::Entity => {}
        }
        Ok(())
    }

    /// The possible nodes of an end.
    fn nodes(&self, end: &End, bounds: Bounds) -> Result<Option<Vec<NodeId>>, TriadFailure> {
        match end {
            End::Entity(index) => Ok(self.entities.get(*index).cloned()),
            End::Class(_) => Ok(None),
            End::Var(var) => {
                // Each `is` triple of a variable belongs to one alternative, so their objects
                // together are its possible nodes.
                let said = self
                    .triples
                    .iter()
                    .filter(|triple| triple.is_same() && triple.subject == *end);
                let is: Vec<&End> = said.map(|triple| &triple.object).collect();
                if !is.is_empty() {
                    let nodes = is.into_iter().filter_map(|end| {
                        if let End::Entity(index) = end {
                            self.entities.get(*index)
                        } else {
                            None
                        }
                    });
                    let mut nodes: Vec<NodeId> = nodes.flatten().copied().collect();
                    nodes.sort_unstable();
                    nodes.dedup();
                    return Ok(Some(nodes));
                }
                let mut all: Option<Vec<NodeId>> = None;
                for patterns in self.linked_patterns() {
                    if let Some(nodes) =
                        candidates::linked_nodes(self.session, &patterns, var, bounds)
                            .map_err(TriadFailure::Bounds)?
                    {
                        all.get_or_insert_default().extend(nodes);
                    }
                }
                if let Some(all) = &mut all {
                    all.sort_unstable();
                    all.dedup();
                }
                Ok(all)
            }
        }
    }

    /// The patterns of the triples linked so far, for each of the best combinations of links.
    fn linked_patterns(&self) -> Vec<Vec<Pattern>> {
        // Only the first `is` triple of a variable is used, because a conjunction of two never
        // matches.
        let again = |i: usize| {
            self.triples[i].is_same()
                && self.triples[..i]
                    .iter()
                    .any(|t| t.is_same() && t.subject == self.triples[i].subject)
        };
        let known =
            |i: &usize| !self.links[*i].is_empty() || (self.triples[*i].is_given() && !again(*i));
        let done: Vec<usize> = (0..self.triples.len()).filter(known).collect();
        let sizes: Vec<usize> = done
            .iter()
            .map(|&i| self.links[i].len().max(1))
            .chain(self.entities.iter().map(Vec::len))
            .collect();
        let template = QueryTemplate {
            kind: AnswerType::Ask,
            answer: None,
            branches: vec![done.clone()],
            filters: Vec::new(),
            extreme: None,
        };
        let picked = products(&sizes, CONTEXTS);
        picked
            .iter()
            .filter_map(|picks| {
                self.filled(&template, &done, picks)
                    .ok()?
                    .branches
                    .into_iter()
                    .next()
            })
            .collect()
    }

    /// The template with one choice of links (for the triples in `done`) and entities.
    fn filled(
        &self,
        template: &QueryTemplate,
        done: &[usize],
        picks: &[usize],
    ) -> Result<FilledQuery, TriadError> {
        let mut links = vec![None; self.triples.len()];
        done.iter()
            .zip(picks)
            .for_each(|(&triple, &pick)| links[triple] = self.links[triple].get(pick).copied());
        let chosen = self.entities.iter().zip(&picks[done.len()..]);
        let entities: Vec<NodeId> = chosen
            .filter_map(|(nodes, &pick)| nodes.get(pick).copied())
            .collect();
        fill(template, &self.triples, &links, &entities, self.session)
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            until: Instant::now() + self.deadline,
            rows: self.options.rows,
        }
    }

    /// Requests the relations of the next triple: first those without variables, then those with a
    /// known end.
    fn link_next(&mut self) -> Result<(), TriadFailure> {
        loop {
            let left = |i: &usize| !self.order.contains(i) && !self.triples[*i].is_given();
            let bounds = self.bounds();
            // The fewest unknown ends; ties go to the earlier triple.
            let mut best: Option<(usize, usize)> = None;
            for i in (0..self.triples.len()).filter(left) {
                let ends = [&self.triples[i].subject, &self.triples[i].object];
                let known = |end: &&&End| matches!(end, End::Entity(_)) || self.reached(end);
                let vars = ends.iter().filter(|end| end.var().is_some()).count();
                let open = ends.len() - ends.iter().filter(known).count();
                if best.is_none_or(|(cost, _)| open * 3 + vars < cost) {
                    best = Some((open * 3 + vars, i));
                }
            }
            let Some((_, triple)) = best else {
                self.ask(SubTask::Template, render::task(SubTask::Template));
                return Ok(());
            };
            self.order.push(triple);
            let (subject, object) = (
                self.triples[triple].subject.clone(),
                self.triples[triple].object.clone(),
            );
            let from = self.nodes(&subject, bounds)?;
            // Other triples about the far end do not exclude a relation, because the triples may be
            // alternatives. For a yes-or-no question the answer may be that no such relation leads
            // there.
            let between = self.kind != AnswerType::Ask && matches!(object, End::Entity(_));
            let to = if from.is_none() || between {
                self.nodes(&object, bounds)?
            } else {
                None
            };
            let ranked = candidates::relations(
                self.session,
                &self.triples[triple].phrase,
                from.as_deref(),
                to.as_deref(),
            );
            self.offered.extend(ranked.iter().map(|(link, _)| *link));
            self.shown = render::cut(self.session, &ranked, self.options.shown);
            if self.shown.is_empty() {
                return Err(TriadFailure::NoRelation(self.triples[triple].to_string()));
            }
            if self.options.select_uris {
                let turn = render::relations(&self.shown, triple, self.options.relations);
                self.ask(SubTask::Relations(triple), turn);
                return Ok(());
            }
            self.links[triple] = self
                .shown
                .iter()
                .take(self.options.relations.max(1))
                .map(|(link, _)| *link)
                .collect();
        }
    }

    /// Whether a linked triple contains the end.
    fn reached(&self, end: &End) -> bool {
        let speaks = |i: usize| self.triples[i].subject == *end || self.triples[i].object == *end;
        (0..self.triples.len())
            .any(|i| (self.order.contains(&i) || self.triples[i].is_given()) && speaks(i))
    }

    /// Instantiates the template with the combinations of candidates and runs the queries.
    fn run(&mut self, template: &QueryTemplate) -> Result<(), TriadFailure> {
        let mut used: Vec<usize> = template
            .branches
            .iter()
            .flatten()
            .copied()
            .filter(|&i| !self.triples[i].is_given())
            .collect();
        used.sort_unstable();
        used.dedup();
        let sizes: Vec<usize> = used
            .iter()
            .map(|&i| self.links[i].len())
            .chain(self.entities.iter().map(Vec::len))
            .collect();
        let (mut first, mut bound) = (None, None);
        let mut unmatched = None;
        for picks in products(&sizes, self.options.products) {
            let query = self
                .filled(template, &used, &picks)
                .map_err(|error| TriadFailure::Syntax(SubTask::Template, error))?;
            let text = || query.text(self.session);
            first.get_or_insert_with(text);
            if !self.tried.queries.insert(query.clone()) {
                continue;
            }
            match solve(self.session, &query, self.bounds()) {
                // All truth values are kept: keeping only true ones would answer yes to every
                // question.
                Ok(solved) if solved.matched || template.kind == AnswerType::Ask => {
                    self.matched.push((query, solved))
                }
                // A count is an answer even if nothing matches.
                Ok(solved) => unmatched = unmatched.or(Some((query, solved))),
                Err(why) => bound = Some(why),
            }
            if self.matched.len() == self.options.queries.max(1) {
                break;
            }
        }
        if self.matched.is_empty() && template.kind != AnswerType::Select {
            self.matched.extend(unmatched);
        }
        match self.matched.len() {
            0 => Err(bound.map_or_else(
                || TriadFailure::NoSolution(first.unwrap_or_default()),
                TriadFailure::Bounds,
            )),
            1 => {
                self.choose(0);
                Ok(())
            }
            _ if !self.options.select_query => {
                self.choose(0);
                Ok(())
            }
            _ => {
                // Sorted by text, so that the order does not reveal the choice.
                let session = self.session;
                self.matched
                    .sort_by_cached_key(|(query, _)| query.text(session));
                self.now = Some(SubTask::Query);
                Ok(())
            }
        }
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

/// Number of link combinations that provide the context of the next triple.
const CONTEXTS: usize = 4;
