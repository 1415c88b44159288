//! ODA and Triad with the words of the question: the agent's answer is compared with programs that
//! the search finds around the linked entities, as in [`decide`](super::decide). Its own answer
//! counts more the surer its model was.

use std::sync::Arc;
use std::time::Instant;

use common::cancel::Cancelled;
use toolbox::answer::Answer;
use toolbox::exec::Value;
use toolbox::explain::{Candidate, DecisionTerm, Proposer, SearchLimits, TermWeights, WordTables};
use toolbox::oda::OdaOptions;

use super::decide::{Decision, Weighing, join, score};
use super::kind::{AgentKind, TriadOptions, Voting};
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::Task;
use super::trust::Trust;
use super::{oda, triad};
use crate::InferError;
use crate::planner::Planner;

// Fitted on the development questions of the demo graph, with ODA and Triad together.
/// Weight of an agent's own answer if its model is sure, relative to that of the tool loop's own program.
const SURE: f32 = 2.0;
/// Weight of giving up, relative to the tool loop's.
const GIVES_UP: f32 = 1.0 / 3.0;
/// The term of the model for an answer that no proposed program has.
const OWN: f32 = -1.0;

/// Answers one question with ODA.
///
/// # Errors
/// [`InferError`] if the planner or the ranker fails.
pub fn with_oda(
    options: &Voting<OdaOptions>,
    task: &Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let vote = Vote::open(task, &AgentKind::OdaDecide(options.clone()), planner);
    let (record, answer, ran) = oda::run(task, &options.agent, planner, vote.record)?;
    let vote = Vote { record, ..vote };
    vote.decide(options.candidates, answer, planner, |proposer, _| {
        proposer.ended(&ran)
    })
}

/// Answers one question with Triad.
///
/// # Errors
/// [`InferError`] if the planner or the ranker fails.
pub fn with_triad(
    options: &Voting<TriadOptions>,
    task: &Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let vote = Vote::open(task, &AgentKind::TriadDecide(options.clone()), planner);
    let (record, answer, value) = triad::run(task, &options.agent, planner, vote.record)?;
    let vote = Vote { record, ..vote };
    vote.decide(options.candidates, answer, planner, |proposer, proposed| {
        of_value(value, proposed, proposer.abstention())
    })
}

/// A question whose answer by an agent is a vote.
struct Vote<'t, 'g> {
    task: &'t Task<'g>,
    begun: Instant,
    words: Arc<WordTables>,
    record: Recorder,
}

impl<'t, 'g> Vote<'t, 'g> {
    fn open(task: &'t Task<'g>, agent: &AgentKind, planner: &dyn Planner) -> Self {
        let words = planner.words();
        Self {
            task,
            begun: Instant::now(),
            record: Recorder::open_with(task, agent, words.name()),
            words,
        }
    }

    /// Decides between the agent's answer and `most` proposed programs. If no time is left to decide, the
    /// agent's answer stands.
    fn decide(
        self,
        most: usize,
        answer: Answer,
        planner: &mut dyn Planner,
        own: impl FnOnce(&Proposer<'_, '_>, &[Candidate]) -> Candidate,
    ) -> Result<Outcome, InferError> {
        let undecided = self.record.clone();
        match self.decided(most, answer.clone(), planner, own) {
            Err(InferError::Cancelled(Cancelled::Deadline { .. })) => Ok(undecided.finish(answer)),
            decided => decided,
        }
    }

    /// Decides between the agent's `answer`, as the candidate `own`, and `most` proposed programs. If the
    /// model was trained for the tool loop too, its log-probabilities of the programs count.
    fn decided(
        self,
        most: usize,
        answer: Answer,
        planner: &mut dyn Planner,
        own: impl FnOnce(&Proposer<'_, '_>, &[Candidate]) -> Candidate,
    ) -> Result<Outcome, InferError> {
        let Self {
            task,
            begun,
            words,
            mut record,
        } = self;
        let session = task.session()?;
        let proposer = Proposer::new(&session, words);
        let template = planner.program_template();
        let trust = Trust::of(task, planner);
        let weights = match template {
            Some(_) => trust.weights(),
            None => TermWeights::default(),
        };
        let mut candidates = proposer.propose(&weights, SearchLimits::default(), most)?;
        score(task, &mut candidates, &weights)?;
        let mut own = own(&proposer, &candidates);
        own.terms[DecisionTerm::Scorer] = as_scored(&own, &candidates);
        let sure = SURE * record.logprob.exp() as f32;
        trust.own_choice(&mut own, sure, GIVES_UP);
        join(&mut candidates, own);
        let mut logprobs = Vec::new();
        if let Some(template) = &template
            && let Some((own, proposed)) = candidates.split_last_mut()
        {
            let model = Weighing {
                task,
                template,
                weights: &weights,
                trust,
                begun,
                first: 0,
            };
            logprobs = model.weigh(proposed, own.answer.as_ref(), planner, &mut record)?;
            if own.answer.is_some() {
                own.terms[DecisionTerm::Model] = as_likely(own, proposed);
            } else {
                let own = std::slice::from_mut(own);
                let last = Weighing {
                    first: proposed.len(),
                    ..model
                };
                logprobs.extend(last.weigh(own, None, planner, &mut record)?);
            }
        }
        // The agent's own answer is no conversation of the tool loop.
        logprobs.resize(candidates.len(), None);
        let decision = Decision {
            task,
            begun,
            weights,
            logprobs,
            candidates,
        };
        decision.conclude(&proposer, record, Some(answer))
    }
}

/// The term of the model for an agent's own answer: that of the likeliest program with this answer,
/// or [`OWN`].
fn as_likely(own: &Candidate, proposed: &[Candidate]) -> f32 {
    let same = proposed.iter().filter(|one| one.answer == own.answer);
    same.map(|one| one.terms[DecisionTerm::Model])
        .reduce(f32::max)
        .unwrap_or(OWN)
}

/// The scorer's term for an agent's own answer: the highest of the programs with this answer, or the lowest of all.
fn as_scored(own: &Candidate, proposed: &[Candidate]) -> f32 {
    let terms = |one: &Candidate| one.terms[DecisionTerm::Scorer];
    let same = proposed.iter().filter(|one| one.answer == own.answer);
    let lowest = proposed.iter().map(terms).reduce(f32::min);
    same.map(terms)
        .reduce(f32::max)
        .or(lowest)
        .unwrap_or_default()
}

/// The candidate for an answer without a program. It has the terms of the best proposed program
/// with the same answer. Without one, no word explains the answer, and it has the terms of giving
/// up.
fn of_value(value: Option<Value>, proposed: &[Candidate], abstention: Candidate) -> Candidate {
    let same = |one: &&Candidate| value.is_some() && one.answer == value;
    let terms = match proposed.iter().find(same) {
        Some(same) => same.terms,
        None => abstention.terms,
    };
    match value {
        Some(_) => Candidate {
            calls: Vec::new(),
            answer: value,
            terms,
        },
        None => abstention,
    }
}
