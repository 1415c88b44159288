//! Triad: three roles of one planner through four phases, repeated with the failures so far (rules
//! C). The sub-tasks and what follows from their answers are in [`toolbox::triad`]; this module
//! asks the planner, measures times and counts tries.

use std::collections::BTreeSet;
use std::time::Instant;

use common::transcript::Turn;
use kg::Kg;
use kg::limits::QUERY_DEADLINE;
use kg::term::{NodeId, RelId};
use toolbox::answer::Answer;
use toolbox::exec::{Relation, Session, Value};
use toolbox::link;
use toolbox::triad::{
    self, Ended, FilledQuery, PHASES, Solved, SubTask, TriadFailure, TriadRequest, Tried, Try,
};

use super::kind::{AgentKind, TriadOptions};
use super::outcome::{Linkable, Outcome, Survived};
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::Planner;

/// A question in progress.
struct TriadLoop<'q, 'p> {
    kg: &'q dyn Kg,
    question: &'q str,
    options: &'q TriadOptions,
    planner: &'p mut dyn Planner,
    record: Recorder,
    phases: [f64; PHASES.len()],
}

/// Answers one question.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    task: &Task<'_>,
    options: &TriadOptions,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let record = Recorder::open(task, &AgentKind::Triad(options.clone()));
    let (record, answer, _) = run(task, options, planner, record)?;
    Ok(record.finish(answer))
}

/// Runs the phases and records their events. Returns the answer of the last try and its value.
pub(super) fn run(
    task: &Task<'_>,
    options: &TriadOptions,
    planner: &mut dyn Planner,
    record: Recorder,
) -> Result<(Recorder, Answer, Option<Value>), InferError> {
    let begun = Instant::now();
    let mut linked = task.linked.clone();
    let mut triad = TriadLoop {
        kg: task.kg,
        question: task.question,
        options,
        planner,
        record,
        phases: [0.0; PHASES.len()],
    };
    let mut meanings: Vec<Vec<NodeId>> = linked.entities.iter().map(|&node| vec![node]).collect();
    if options.select_entities {
        triad.select_entities(&mut meanings)?;
        linked.entities = meanings
            .iter()
            .filter_map(|nodes| nodes.first().copied())
            .collect();
    }
    let deadline = task.options.deadline.min(QUERY_DEADLINE);
    let mut exec = task.options.clone();
    let meant = meanings.iter().flatten();
    (exec.exclude.nodes).extend(meant.filter(|node| !task.options.exclude.nodes.contains(node)));
    let session = Session::new(task.kg, task.question, linked, task.must_offer, exec)?;
    let (found, failures) = triad.tries(&session, &meanings, deadline)?;
    let answer = match &found {
        Some((query, solved)) => triad::from_graph(&session, query, solved),
        None => triad::none(&failures),
    };
    let TriadLoop {
        mut record, phases, ..
    } = triad;
    let outcome = &mut record.outcome;
    if found.is_none() {
        outcome.failure = Some(failures.last().map_or("no relation", TriadFailure::cause));
    }
    outcome.calls = outcome.asked;
    outcome.kg_seconds = (begun.elapsed().as_secs_f64() - outcome.model_seconds).max(0.0);
    outcome.phases = PHASES.into_iter().zip(phases).collect();
    Ok((record, answer, found.map(|(_, solved)| solved.value)))
}

impl TriadLoop<'_, '_> {
    /// Asks the planner; the turns after the first `shown` are recorded.
    fn ask(&mut self, request: &TriadRequest, shown: usize) -> Result<String, InferError> {
        self.record.prompt(&request.turns, shown);
        let before = self.record.outcome.model_seconds;
        let planner = &mut *self.planner;
        let proposal = self
            .record
            .plan(|| planner.write(&request.turns, &request.grammar))?;
        self.phases[request.task.phase()] += self.record.outcome.model_seconds - before;
        let step = self.record.outcome.asked + 1;
        self.record
            .turn(&proposal, step, self.planner.constrained());
        Ok(proposal.text)
    }

    /// Asks in a separate conversation, which becomes a sample.
    fn ask_separately(&mut self, request: &TriadRequest) -> Result<String, InferError> {
        let text = self.ask(request, 0)?;
        let call = vec![Turn::call(text.clone())];
        let sample = [request.turns.clone(), call].concat();
        self.record.outcome.samples.push(sample);
        Ok(text)
    }

    /// Adds the time since `begun` to the phase of a sub-task.
    fn add_time(&mut self, task: SubTask, begun: Instant) {
        self.phases[task.phase()] += begun.elapsed().as_secs_f64();
    }

    /// Records the nodes left after a stage of linking.
    fn survived(
        &mut self,
        stage: &'static str,
        what: Linkable,
        nodes: impl Iterator<Item = NodeId>,
    ) {
        let survived = Survived::of(self.kg, stage, what, nodes);
        self.record.outcome.survived.push(survived);
    }

    /// Tries until one succeeds: its query and result, or the failures.
    #[allow(clippy::type_complexity)]
    fn tries(
        &mut self,
        session: &Session<'_>,
        meanings: &[Vec<NodeId>],
        deadline: std::time::Duration,
    ) -> Result<(Option<(FilledQuery, Solved)>, Vec<TriadFailure>), InferError> {
        let mut failures: Vec<TriadFailure> = Vec::new();
        let mut tried = Tried::default();
        let (mut offered, mut chosen) = (BTreeSet::new(), BTreeSet::new());
        let mut found = None;
        for _ in 0..self.options.work.tries.max(1) {
            let mut attempt = Try::new(
                session,
                &self.options.work,
                meanings.to_vec(),
                deadline,
                &failures,
                std::mem::take(&mut tried),
            );
            let mut shown = 0;
            while let Some(request) = attempt.request() {
                let text = if request.task == SubTask::Query {
                    self.ask_separately(&request)?
                } else {
                    let text = self.ask(&request, shown)?;
                    shown = request.turns.len() + 1;
                    text
                };
                let begun = Instant::now();
                attempt.take(&text)?;
                self.add_time(request.task, begun);
            }
            self.record.outcome.samples.push(attempt.turns().to_vec());
            let relations = |link: &triad::PhraseLink| plain(link.relation);
            offered.extend(attempt.offered.iter().filter_map(relations));
            chosen.extend(attempt.links().iter().flatten().filter_map(relations));
            match attempt.end().cloned() {
                Some(Ended::Answer(query, solved)) => {
                    found = Some((query, solved));
                    break;
                }
                Some(Ended::Failed(failure)) => {
                    let syntax = matches!(failure, TriadFailure::Syntax(..));
                    self.record.outcome.invalid += usize::from(syntax);
                    self.record.error(failure.to_string());
                    if matches!(failure, TriadFailure::Less(..)) {
                        // The next try would see the same prompt and fail again.
                        break;
                    }
                    // A repeated failure is listed once, so that the prompt does not grow.
                    if !failures.contains(&failure) {
                        failures.push(failure);
                    }
                }
                None => {}
            }
            tried = attempt.into_tried();
        }
        let (offered, chosen) = (
            offered.into_iter().map(RelId::node),
            chosen.into_iter().map(RelId::node),
        );
        self.survived("traversal", Linkable::Relations, offered);
        self.survived("selection", Linkable::Relations, chosen);
        Ok((found, failures))
    }

    /// Chooses the meanings of every linked entity.
    fn select_entities(&mut self, meanings: &mut [Vec<NodeId>]) -> Result<(), InferError> {
        let begun = Instant::now();
        let filtered: Vec<Vec<NodeId>> = meanings
            .iter()
            .flatten()
            .map(|&node| candidates(self.kg, self.question, node))
            .collect();
        self.add_time(SubTask::Entity, begun);
        let left = filtered.iter().flatten().copied();
        self.survived("text filter", Linkable::Entities, left);
        for (meaning, found) in meanings.iter_mut().zip(&filtered) {
            self.select_entity(found, meaning)?;
        }
        let left = meanings.iter().flatten().copied();
        self.survived("selection", Linkable::Entities, left);
        Ok(())
    }

    /// D: which of several nodes a mention means.
    fn select_entity(
        &mut self,
        found: &[NodeId],
        meaning: &mut Vec<NodeId>,
    ) -> Result<(), InferError> {
        let (kg, question) = (self.kg, self.question);
        let most = self.options.work.entities.max(1);
        let Some(&first) = meaning.first().filter(|_| found.len() > 1) else {
            return Ok(());
        };
        if !self.options.work.select_uris {
            // The linker's choice first, then the others in the order of the index.
            meaning.extend(found.iter().filter(|node| **node != first));
            meaning.truncate(most);
            return Ok(());
        }
        let mention = link::mention(kg, question, first)
            .map_or(question, |(start, end)| &question[start..end]);
        // Models are trained on one choice. Further ones follow in the linker's order, so that K
        // applies to any model.
        let request = triad::entity_request(kg, question, mention, found, 1);
        let text = self.ask_separately(&request)?;
        let Some(places) = triad::selected_entities(&text, found.len(), most) else {
            self.record.outcome.invalid += 1;
            return Ok(());
        };
        let mut chosen: Vec<NodeId> = places.into_iter().map(|place| found[place]).collect();
        for node in std::iter::once(first).chain(found.iter().copied()) {
            if chosen.len() < most && !chosen.contains(&node) {
                chosen.push(node);
            }
        }
        *meaning = chosen;
        Ok(())
    }
}

/// The relation, unless it is a derived interval.
fn plain(relation: Relation) -> Option<RelId> {
    match relation {
        Relation::Plain(id) => Some(id),
        Relation::Interval(_) => None,
    }
}

/// The possible meanings of the mention of a linked node, by the label index; only the node itself
/// if the question does not mention it.
fn candidates(kg: &dyn Kg, question: &str, node: NodeId) -> Vec<NodeId> {
    let mention = link::mention(kg, question, node).map(|(start, end)| &question[start..end]);
    let found = mention
        .and_then(|mention| link::candidates(kg, mention).ok())
        .unwrap_or_default();
    let mut nodes: Vec<NodeId> = found
        .into_iter()
        .map(|candidate| candidate.node)
        .take(triad::MEANINGS)
        .collect();
    if !nodes.contains(&node) {
        nodes.truncate(triad::MEANINGS - 1);
        nodes.push(node);
    }
    nodes
}
