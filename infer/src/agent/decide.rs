//! Decides between candidate programs: the one that the model writes, programs that the search
//! finds around the linked entities, and giving up. Each is scored by the words of the question
//! that it explains, by the model's probability of it, and by its answer.

use std::time::{Duration, Instant};

use common::cancel::Cancelled;
use common::transcript::Turn;
use toolbox::answer::{Answer, AnswerValue};
use toolbox::call::{Arg, Call, Tool, ToolTable};
use toolbox::exec::{ExecOptions, Session, Value};
use toolbox::explain::{
    Candidate, DecisionTerm, Proposer, Said, SearchLimits, TERM_NAMES, TermWeights, WordTables,
    decide,
};
use toolbox::prompt::{Conversation, Template};
use toolbox::trace::{DecidedCandidate, TraceEvent};

use super::kg_agent;
use super::kind::{AgentKind, Deciding};
use super::outcome::{DecidedAnswer, Outcome};
use super::recorder::Recorder;
use super::task::Task;
use super::trust::Trust;
use crate::InferError;
use crate::planner::Planner;

/// How far below the best a candidate may be for the scorer to read it.
const SCORED: f32 = 30.0;

/// Log-probabilities are divided by this before they are weighed, so that all terms have similar
/// sizes.
const LOGPROB_UNIT: f64 = 10.0;

/// The lowest term of a program with extended tools. The search writes such programs in another way than
/// training data does, so their log-probability says little.
const UNUSUAL: f32 = -3.0;

/// The scale of the model's confidence in its own program: `exp(log-probability / SURE_UNIT)`.
const SURE_UNIT: f64 = 2.0;

/// The model need not read a program whose score without it is this far below the best score. The decision stayed the same
/// on 1,054 development questions, with two models.
const CLOSE: f32 = 2.0;

/// Answers one question; without `planner`, by the question's words alone.
///
/// # Errors
/// [`InferError`] if the planner or the ranker fails.
pub fn answer(
    options: Deciding,
    task: &Task<'_>,
    planner: Option<&mut dyn Planner>,
) -> Result<Outcome, InferError> {
    let agent = if planner.is_some() {
        AgentKind::KgAgentDecide(options)
    } else {
        AgentKind::Words(options)
    };
    let begun = Instant::now();
    let trust = (planner.as_ref()).map(|planner| Trust::of(task, &**planner));
    let weights = trust.map_or_else(TermWeights::default, Trust::weights);
    let words = (planner.as_ref()).map_or_else(WordTables::base, |planner| planner.words());
    let mut record = Recorder::open_with(task, &agent, words.name());
    let session = task.session()?;
    let proposer = Proposer::new(&session, words);
    let limits = SearchLimits::default();
    let mut candidates = proposer.propose(&weights, limits, options.candidates)?;
    let mut logprobs = Vec::new();
    if let (Some(planner), Some(trust)) = (planner, trust) {
        let written = kg_agent::run(task, planner, &mut record)?;
        let failed = written.failure.is_some();
        let own = as_proposed(proposer.ended(&written.session), &candidates);
        let answer = own.answer.clone();
        join(&mut candidates, own);
        score(task, &mut candidates, &weights)?;
        let model = Weighing {
            task,
            template: task.template,
            weights: &weights,
            trust,
            begun,
            first: 0,
        };
        logprobs = model.weigh(&mut candidates, answer.as_ref(), planner, &mut record)?;
        if let (false, Some(own), Some(logprob)) = (failed, candidates.last_mut(), logprobs.last())
        {
            let sure = (logprob.unwrap_or_default() / SURE_UNIT).exp();
            trust.own_choice(own, sure as f32, 1.0);
        }
    } else {
        score(task, &mut candidates, &weights)?;
    }
    let decision = Decision {
        task,
        begun,
        weights,
        candidates,
        logprobs,
    };
    decision.conclude(&proposer, record, None)
}

/// Sets the scorer's term of the candidates that can come close to the best, if the task's ranker
/// scores programs. The others get the lowest of these scores.
pub(super) fn score(
    task: &Task<'_>,
    candidates: &mut [Candidate],
    weights: &TermWeights,
) -> Result<(), InferError> {
    let before: Vec<f32> = (candidates.iter())
        .map(|one| weights.score(&one.terms))
        .collect();
    let best = before.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let near = |at: &usize| before[*at] >= best - SCORED || candidates[*at].answer.is_none();
    let read: Vec<usize> = (0..candidates.len()).filter(near).collect();
    let some: Vec<Candidate> = read.iter().map(|&at| candidates[at].clone()).collect();
    let said = Said::of(task.kg, task.question, &task.linked, &some);
    let texts: Vec<&str> = said.programs.iter().map(String::as_str).collect();
    let ranker = &task.options.ranker;
    let Some(scores) = ranker.score_programs(&said.question, &texts, &task.options.cancel)? else {
        return Ok(());
    };
    let lowest = scores.iter().copied().fold(f32::INFINITY, f32::min);
    for one in candidates.iter_mut() {
        one.terms[DecisionTerm::Scorer] = lowest;
    }
    for (at, score) in read.into_iter().zip(scores) {
        candidates[at].terms[DecisionTerm::Scorer] = score;
    }
    Ok(())
}

/// The candidates of a question, before one is chosen.
pub(super) struct Decision<'t, 'g> {
    pub(super) task: &'t Task<'g>,
    pub(super) begun: Instant,
    pub(super) weights: TermWeights,
    pub(super) candidates: Vec<Candidate>,
    /// The model's log-probability of each candidate, if it was asked.
    pub(super) logprobs: Vec<Option<f64>>,
}

impl Decision<'_, '_> {
    /// Chooses a candidate, runs its program, and ends the record. `own` is the answer of the last
    /// candidate if an agent has reached it already; it stands as it is if that candidate is chosen.
    pub(super) fn conclude(
        self,
        proposer: &Proposer<'_, '_>,
        mut record: Recorder,
        own: Option<Answer>,
    ) -> Result<Outcome, InferError> {
        let (task, begun, weights) = (self.task, self.begun, self.weights);
        let candidates = &self.candidates;
        let chosen = decide(candidates, &weights).unwrap_or_default();
        let own = own.filter(|_| chosen + 1 == candidates.len());
        let calls = match candidates.get(chosen) {
            Some(candidate) if candidate.answer.is_some() => calls_of(candidate, candidates),
            _ => giving_up(task),
        };
        let (session, conversation) =
            replay(task, task.template, &calls, left(task, begun, &record)?)?;
        let why = match rejected(candidates, &weights, chosen) {
            Some(calls) if calls.is_empty() => Vec::new(),
            // If there is no time left to explain the decision, it stands without reasons.
            Some(calls) => left(task, begun, &record)
                .and_then(|left| replay(task, task.template, &calls, left))
                .map(|(session, _)| proposer.reasons(&session))
                .unwrap_or_default(),
            None if calls.is_empty() => Vec::new(),
            None => proposer.reasons(&session),
        };
        record.event(TraceEvent::Decision {
            candidates: traced(candidates, &self.logprobs, &weights, chosen),
            why,
        });
        let outcome = &mut record.outcome;
        outcome.kg_seconds = begun.elapsed().as_secs_f64() - outcome.model_seconds;
        let said = Said::of(task.kg, task.question, &task.linked, candidates);
        outcome.said = said.question;
        outcome.decided = (candidates.iter())
            .zip(said.programs)
            .map(|(one, said)| DecidedAnswer {
                value: (one.answer.as_ref()).map_or_else(
                    || AnswerValue::Set(Vec::new()),
                    |value| AnswerValue::of(task.kg, value),
                ),
                terms: one.terms,
                said,
            })
            .collect();
        if let Some(answer) = own {
            return Ok(record.finish(answer));
        }
        for step in session.steps() {
            record.result(&session, step);
        }
        let outcome = &mut record.outcome;
        outcome.calls = session.steps().len();
        outcome.samples = conversation.into_samples();
        outcome.failure = None;
        Ok(record.finish(Answer::of(&session)))
    }
}

/// The calls of a candidate; of an answer without calls, those of a candidate with the same answer.
fn calls_of(one: &Candidate, candidates: &[Candidate]) -> Vec<Call> {
    let mut same = candidates.iter().filter(|other| other.answer == one.answer);
    let with_calls = same.find(|other| !other.calls.is_empty());
    let calls = if one.calls.is_empty() {
        with_calls
    } else {
        Some(one)
    };
    calls.map(|one| one.calls.clone()).unwrap_or_default()
}

/// How candidates get the model's log-probability of their programs, written as conversations of the tool
/// loop with `template`.
pub(super) struct Weighing<'a, 'g> {
    pub(super) task: &'a Task<'g>,
    pub(super) template: &'a Template,
    pub(super) weights: &'a TermWeights,
    /// How much the model counts.
    pub(super) trust: Trust,
    pub(super) begun: Instant,
    /// The place of the first candidate among all of the decision.
    pub(super) first: usize,
}

impl Weighing<'_, '_> {
    /// Sets the model's term of all candidates. Returns the log-probabilities of those that the model read: the candidates
    /// with the agent's `own` answer, and those that can come close to the best.
    pub(super) fn weigh(
        &self,
        candidates: &mut [Candidate],
        own: Option<&Value>,
        planner: &mut dyn Planner,
        record: &mut Recorder,
    ) -> Result<Vec<Option<f64>>, InferError> {
        // A log-probability is at most 0, so without it a score is the highest that is possible.
        let bounds: Vec<f32> = (candidates.iter())
            .map(|one| self.weights.score(&one.terms))
            .collect();
        let mut logprobs = vec![None; candidates.len()];
        let mut read = vec![false; candidates.len()];
        let mut lowest = 0.0_f32;
        let mut best = bounds.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        loop {
            let next: Vec<usize> = (0..candidates.len())
                .filter(|&at| !read[at])
                .filter(|&at| bounds[at] >= best - CLOSE || candidates[at].answer.as_ref() == own)
                .collect();
            if next.is_empty() {
                break;
            }
            let programs = (next.iter())
                .map(|&at| self.samples_of(&candidates[at], record))
                .collect::<Result<Vec<_>, _>>()?;
            let places: Vec<usize> = next.iter().map(|at| self.first + at).collect();
            let found = record.plan(|| planner.logprobs_of(&programs, &places))?;
            for (&at, logprob) in next.iter().zip(found) {
                let candidate = &mut candidates[at];
                let term = logprob.map_or(0.0, |log| (log / LOGPROB_UNIT) as f32);
                let term = self.trust.logprob
                    * match is_extended(candidate) {
                        true => term.max(UNUSUAL),
                        false => term,
                    };
                candidate.terms[DecisionTerm::Model] = term;
                lowest = lowest.min(term);
                logprobs[at] = logprob;
                read[at] = true;
            }
            best = (0..candidates.len())
                .filter(|&at| read[at])
                .map(|at| self.weights.score(&candidates[at].terms))
                .fold(f32::NEG_INFINITY, f32::max);
        }
        for (candidate, _) in candidates.iter_mut().zip(read).filter(|(_, read)| !read) {
            candidate.terms[DecisionTerm::Model] = lowest;
        }
        Ok(logprobs)
    }

    /// A candidate's program as the conversations that a planner would have.
    fn samples_of(
        &self,
        candidate: &Candidate,
        record: &Recorder,
    ) -> Result<Vec<Vec<Turn>>, InferError> {
        let left = left(self.task, self.begun, record)?;
        let (_, conversation) = replay(self.task, self.template, &candidate.calls, left)?;
        Ok(conversation.into_samples())
    }
}

/// Adds the agent's own candidate as the last one, in place of a proposed one with the same calls. That the model gives up is
/// no evidence that a plan means the question and finds nothing, so such a plan stays.
pub(super) fn join(candidates: &mut Vec<Candidate>, own: Candidate) {
    candidates.retain(|one| match (&own.answer, &one.answer) {
        (None, None) => one.finds_nothing(),
        _ => one.calls != own.calls,
    });
    candidates.push(own);
}

/// Whether a program uses one of the extended tools.
fn is_extended(candidate: &Candidate) -> bool {
    let extended = |call: &Call| !ToolTable::Paper.has(call.tool);
    candidate.calls.iter().any(extended)
}

/// The model's own candidate, with the terms of a proposed one that has the same calls, or the same
/// answer if it uses extended tools: what the words say of tables is known only of programs that the
/// search makes.
fn as_proposed(own: Candidate, proposed: &[Candidate]) -> Candidate {
    let tables = is_extended(&own);
    if own.answer.is_none() {
        return own;
    }
    let same = |one: &&Candidate| {
        one.calls == own.calls || tables && one.answer.is_some() && one.answer == own.answer
    };
    match proposed.iter().find(same) {
        Some(same) => Candidate {
            terms: same.terms,
            ..own
        },
        None => own,
    }
}

/// The program that gives up, as models are trained to write it: it lists the relations of the
/// first entity, so that the answer can say where the search ended.
fn giving_up(task: &Task<'_>) -> Vec<Call> {
    let first = task.linked.entities.first().map(|&node| {
        let name = Arg::name(task.kg.name(node));
        Call::new(Tool::GetRelation, vec![name], 0)
    });
    let end = Call::new(Tool::End, vec![Arg::List(Vec::new())], 0);
    first.into_iter().chain([end]).collect()
}

/// The best program with an answer, if the decision is to give up: the words that it does not
/// explain are the reason.
fn rejected(candidates: &[Candidate], weights: &TermWeights, chosen: usize) -> Option<Vec<Call>> {
    if candidates
        .get(chosen)
        .is_some_and(|one| one.answer.is_some())
    {
        return None;
    }
    let score = |one: &Candidate| weights.score(&one.terms);
    (candidates.iter())
        .filter(|one| one.answer.is_some())
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .map(|one| calls_of(one, candidates))
}

/// The time left for the question: its limit minus the time since `begun`, not counting the model's
/// time.
///
/// # Errors
/// [`InferError::Cancelled`] if nothing is left.
fn left(task: &Task<'_>, begun: Instant, record: &Recorder) -> Result<Duration, InferError> {
    task.options.cancel.check()?;
    let limit = task.options.deadline;
    let model = Duration::try_from_secs_f64(record.outcome.model_seconds).unwrap_or_default();
    let left = limit.saturating_sub(begun.elapsed().saturating_sub(model));
    if left.is_zero() {
        return Err(Cancelled::Deadline { limit }.into());
    }
    Ok(left)
}

/// Runs a program in a new session. Returns the session, and the conversation as if the planner had
/// written the calls.
fn replay<'g>(
    task: &Task<'g>,
    template: &Template,
    calls: &[Call],
    deadline: Duration,
) -> Result<(Session<'g>, Conversation), InferError> {
    let mut session = task.session_with(ExecOptions {
        deadline,
        // ODA may take more steps than a program.
        max_steps: task.options.max_steps.max(calls.len()),
        ..task.options.clone()
    })?;
    let mut conversation = Conversation::open(template, &session);
    for call in calls {
        let text = template.call(&session, call).to_string();
        match session.run(call) {
            Ok(_) => conversation.record(&session, &text)?,
            Err(error) => {
                error.recoverable()?;
                break;
            }
        }
    }
    Ok((session, conversation))
}

fn traced(
    candidates: &[Candidate],
    logprobs: &[Option<f64>],
    weights: &TermWeights,
    chosen: usize,
) -> Vec<DecidedCandidate> {
    let rounded = |value: f32| (f64::from(value) * 1e4).round() / 1e4;
    let terms = |candidate: &Candidate| {
        TERM_NAMES
            .iter()
            .zip(candidate.terms.0)
            .filter(|(_, value)| *value != 0.0)
            .map(|(name, value)| ((*name).to_owned(), rounded(value)))
            .collect()
    };
    candidates
        .iter()
        .enumerate()
        .map(|(i, candidate)| DecidedCandidate {
            program: candidate.calls.iter().map(ToString::to_string).collect(),
            score: rounded(weights.score(&candidate.terms)),
            chosen: i == chosen,
            model: logprobs.get(i).copied().flatten(),
            terms: terms(candidate),
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use toolbox::call::parse_program;
    use toolbox::explain::{TERMS, Terms};

    use super::*;

    fn candidate(program: &str, answer: u64, term: f32) -> Candidate {
        Candidate {
            calls: parse_program(program).unwrap(),
            answer: Some(Value::Int(answer)),
            terms: Terms([term; TERMS]),
        }
    }

    #[test]
    fn the_models_own_program_has_the_terms_of_the_same_proposed_one() {
        let plain = "v0 = get_entity_by_type(a); v1 = count(v0); ans = end(v1)";
        let table = "v0 = get_entity_by_type(a); v1 = extend(v0, b); ans = end(v1)";
        let other = "v0 = get_entity_by_type(c); v1 = count(v0); ans = end(v1)";
        let proposed = [candidate(other, 3, 1.0), candidate(plain, 3, 2.0)];
        let terms = |program: &str, answer| {
            let own = as_proposed(candidate(program, answer, 0.5), &proposed);
            assert_eq!(own.calls, parse_program(program).unwrap());
            own.terms
        };
        let own = Terms([0.5; TERMS]);
        assert_eq!(terms(plain, 3), proposed[1].terms, "the same calls");
        assert_eq!(terms(table, 3), proposed[0].terms, "a table, equal answers");
        assert_eq!(terms(table, 4), own, "a table, another answer");
        let unknown = "v0 = get_entity_by_type(d); v1 = count(v0); ans = end(v1)";
        assert_eq!(terms(unknown, 3), own, "other calls of the thirteen tools");
    }
}
