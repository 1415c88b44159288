//! Triad: three roles of one planner through four phases, and again with what failed (spec C). What is asked and what becomes of the answers is
//! [`toolbox::triad`]; here the planner is asked, time is taken and tries are counted.

use std::collections::BTreeSet;
use std::time::Instant;

use common::transcript::Turn;
use kg::Kg;
use kg::limits::QUERY_DEADLINE;
use kg::term::{NodeId, RelId};
use serde::{Deserialize, Serialize};
use toolbox::exec::{Relation, Session};
use toolbox::link;
use toolbox::trace::TraceEvent;
use toolbox::triad::{self, Ended, PHASES, SubTask, TriadFailure, TriadRequest, Tried, Try};

use super::{AgentKind, Linkable, Outcome, Survived, Task, opening};
use crate::InferError;
use crate::planner::Planner;

/// How Triad works on a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriadOptions {
    /// K, T and the limits.
    pub work: triad::Options,
    /// Whether D selects what the question's mentions mean; off where the entities are given.
    pub select_entities: bool,
}

impl Default for TriadOptions {
    /// The paper's limits, but one relation a triple: a model trained for the graph at hand gains nothing from a second (docs/results.md).
    fn default() -> Self {
        Self {
            work: triad::Options {
                relations: 1,
                ..triad::Options::default()
            },
            select_entities: false,
        }
    }
}

/// What the planner cost, and the trace.
struct Asked<'p> {
    planner: &'p mut dyn Planner,
    events: Vec<TraceEvent>,
    samples: Vec<Vec<Turn>>,
    count: usize,
    tokens: usize,
    invalid: usize,
    model_seconds: f64,
    phases: [f64; PHASES.len()],
}

impl Asked<'_> {
    fn ask(&mut self, request: &TriadRequest, shown: usize) -> Result<String, InferError> {
        self.events.push(TraceEvent::Prompt {
            turns: request.turns[shown.min(request.turns.len())..].to_vec(),
        });
        let begun = Instant::now();
        let proposal = self.planner.write(&request.turns, &request.grammar)?;
        let took = begun.elapsed().as_secs_f64();
        self.model_seconds += took;
        self.phases[request.task.phase()] += took;
        self.count += 1;
        self.tokens += proposal.read + proposal.decided + proposal.forced;
        if self.planner.constrained() {
            self.events.push(TraceEvent::Tokens {
                read: proposal.read,
                decided: proposal.decided,
                forced: proposal.forced,
                logprob: proposal.logprob,
            });
        }
        self.events.push(TraceEvent::Call {
            step: self.count,
            text: proposal.text.clone(),
        });
        Ok(proposal.text)
    }
}

/// Answers one question.
///
/// # Errors
/// [`InferError`] when the planner itself fails.
pub fn answer(
    options: &TriadOptions,
    task: Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let begun = Instant::now();
    let opening = opening(&task, &AgentKind::Triad(options.clone()));
    let mut asked = Asked {
        planner,
        events: vec![opening],
        samples: Vec::new(),
        count: 0,
        tokens: 0,
        invalid: 0,
        model_seconds: 0.0,
        phases: [0.0; PHASES.len()],
    };
    let (kg, question, mut linked) = (task.kg, task.question, task.linked);
    let mut survived = Vec::new();
    let mut meanings: Vec<Vec<NodeId>> = linked.entities.iter().map(|&node| vec![node]).collect();
    if options.select_entities {
        let at = Instant::now();
        let filtered: Vec<Vec<NodeId>> = linked
            .entities
            .iter()
            .map(|&node| candidates(kg, question, node))
            .collect();
        asked.phases[SubTask::Entity.phase()] += at.elapsed().as_secs_f64();
        survived.push(survivors(
            kg,
            "text filter",
            Linkable::Entities,
            filtered.iter().flatten().copied(),
        ));
        for (meaning, found) in meanings.iter_mut().zip(&filtered) {
            select_entity(kg, question, found, options, meaning, &mut asked)?;
        }
        survived.push(survivors(
            kg,
            "selection",
            Linkable::Entities,
            meanings.iter().flatten().copied(),
        ));
        linked.entities = meanings
            .iter()
            .filter_map(|nodes| nodes.first().copied())
            .collect();
    }
    let exclude = task.options.exclude.clone();
    let mut exec = task.options;
    exec.exclude.nodes.extend(
        meanings
            .iter()
            .flatten()
            .filter(|node| !exclude.nodes.contains(node)),
    );
    let deadline = exec.deadline.min(QUERY_DEADLINE);
    let session = Session::new(kg, question, linked, task.must_offer, exec)?;
    let mut failures: Vec<TriadFailure> = Vec::new();
    let mut tried = Tried::default();
    let (mut offered, mut chosen) = (BTreeSet::new(), BTreeSet::new());
    let mut found = None;
    for _ in 0..options.work.tries.max(1) {
        let mut attempt = Try::new(
            &session,
            &options.work,
            meanings.clone(),
            deadline,
            &failures,
            std::mem::take(&mut tried),
        );
        let mut shown = 0;
        while let Some(request) = attempt.request() {
            let apart = request.task == SubTask::Query;
            let text = asked.ask(&request, if apart { 0 } else { shown })?;
            if apart {
                asked
                    .samples
                    .push([request.turns.clone(), vec![Turn::call(text.clone())]].concat());
            } else {
                shown = request.turns.len() + 1;
            }
            let at = Instant::now();
            attempt.take(&text)?;
            asked.phases[request.task.phase()] += at.elapsed().as_secs_f64();
        }
        asked.samples.push(attempt.turns().to_vec());
        offered.extend(
            attempt
                .offered
                .iter()
                .filter_map(|link| plain(link.relation)),
        );
        chosen.extend(
            attempt
                .links()
                .iter()
                .flatten()
                .filter_map(|link| plain(link.relation)),
        );
        match attempt.end().cloned() {
            Some(Ended::Answer(query, solved)) => {
                found = Some((query, solved));
                break;
            }
            Some(Ended::Failed(failure)) => {
                asked.invalid += usize::from(matches!(failure, TriadFailure::Syntax(..)));
                asked.events.push(TraceEvent::Error {
                    message: failure.to_string(),
                });
                if matches!(failure, TriadFailure::Less(..)) {
                    // Nothing new to tell: the next try would be this one again.
                    break;
                }
                // What failed is carried along once: a prompt is not to grow with the same words.
                if !failures.contains(&failure) {
                    failures.push(failure);
                }
            }
            None => {}
        }
        tried = attempt.into_tried();
    }
    survived.push(survivors(
        kg,
        "traversal",
        Linkable::Relations,
        offered.into_iter().map(RelId::node),
    ));
    survived.push(survivors(
        kg,
        "selection",
        Linkable::Relations,
        chosen.into_iter().map(RelId::node),
    ));
    let answer = match &found {
        Some((query, solved)) => triad::from_graph(&session, query, solved),
        None => triad::none(&failures),
    };
    let failure = if found.is_some() {
        None
    } else {
        Some(failures.last().map_or("no relation", TriadFailure::cause))
    };
    let Asked {
        mut events,
        samples,
        count,
        tokens,
        invalid,
        model_seconds,
        phases,
        ..
    } = asked;
    let kg_seconds = (begun.elapsed().as_secs_f64() - model_seconds).max(0.0);
    events.push(TraceEvent::Answer {
        answer: Box::new(answer.clone()),
    });
    events.push(TraceEvent::Timing {
        kg: kg_seconds,
        model: model_seconds,
    });
    let phases = PHASES.into_iter().zip(phases).collect();
    Ok(Outcome {
        samples,
        calls: count,
        invalid,
        asked: count,
        tokens,
        model_seconds,
        kg_seconds,
        phases,
        survived,
        failure,
        ..Outcome::new(answer, events)
    })
}

/// The relation of the graph, if it is one and not a derived interval.
fn plain(relation: Relation) -> Option<RelId> {
    match relation {
        Relation::Plain(id) => Some(id),
        Relation::Interval(_) => None,
    }
}

fn survivors(
    kg: &dyn Kg,
    stage: &'static str,
    what: Linkable,
    nodes: impl Iterator<Item = NodeId>,
) -> Survived {
    let names: BTreeSet<String> = nodes
        .map(|node| match kg.term(node) {
            kg::term::Term::Iri(iri) => iri,
            other => other.to_string(),
        })
        .collect();
    Survived {
        stage,
        what,
        names: names.into_iter().collect(),
    }
}

/// What the mention of a linked node may mean, by the label index; the node itself where the question does not mention it.
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

/// D: which of several nodes a mention means.
fn select_entity(
    kg: &dyn Kg,
    question: &str,
    found: &[NodeId],
    options: &TriadOptions,
    meaning: &mut Vec<NodeId>,
    asked: &mut Asked<'_>,
) -> Result<(), InferError> {
    let most = options.work.entities.max(1);
    let Some(&first) = meaning.first().filter(|_| found.len() > 1) else {
        return Ok(());
    };
    if !options.work.select_uris {
        // The linker's own choice first, then the others as the index has them.
        meaning.extend(found.iter().filter(|node| **node != first));
        meaning.truncate(most);
        return Ok(());
    }
    let mention =
        link::mention(kg, question, first).map_or(question, |(start, end)| &question[start..end]);
    // Trained models have seen one choice; further ones follow in the linker's order, so that K holds for any model.
    let request = triad::entity_request(kg, question, mention, found, 1);
    let text = asked.ask(&request, 0)?;
    asked
        .samples
        .push([request.turns.clone(), vec![Turn::call(text.clone())]].concat());
    match triad::selected_entities(&text, found.len(), most) {
        Some(places) => {
            let mut chosen: Vec<NodeId> = places.into_iter().map(|place| found[place]).collect();
            let rest = std::iter::once(first)
                .chain(found.iter().copied())
                .filter(|node| !chosen.contains(node))
                .collect::<Vec<_>>();
            for node in rest {
                if chosen.len() < most && !chosen.contains(&node) {
                    chosen.push(node);
                }
            }
            *meaning = chosen;
        }
        None => asked.invalid += 1,
    }
    Ok(())
}
