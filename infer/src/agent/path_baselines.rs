//! Baselines without a model: walks from the topic entities along the relations that the ranker puts first. `retrieval` takes the best path of
//! one or two relations; `tog` is a beam over paths in the manner of Think-on-Graph (width 3, depth 3), with the ranker's scores in place of a
//! language model's.

use std::time::Instant;

use toolbox::answer::Answer;
use toolbox::call::{Arg, Call, HandleKind, Tool};
use toolbox::exec::Session;
use toolbox::rank::RankError;
use toolbox::trace::{ResultText, TraceEvent};

use super::{AgentKind, Outcome, Task, opening};
use crate::InferError;

/// How far and how broadly a baseline walks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    /// Paths kept after each relation.
    pub width: usize,
    /// Longest path.
    pub depth: usize,
}

impl Beam {
    /// One relation, then the best second one if it adds to the score.
    pub const RETRIEVAL: Self = Self { width: 1, depth: 2 };
    /// The settings of Think-on-Graph.
    pub const TOG: Self = Self { width: 3, depth: 3 };
}

/// Share of a path's best relation score that a further relation must have: below it, the path says what the question asks (where ToG asks
/// its model whether the knowledge suffices).
const ENOUGH: f32 = 0.5;

/// A path: its calls so far, and what each of its relations scored.
#[derive(Clone)]
struct Path {
    calls: Vec<Call>,
    scores: Vec<f32>,
}

impl Path {
    /// Mean of the relations' scores: paths of different length compare.
    fn score(&self) -> f32 {
        if self.scores.is_empty() {
            0.0
        } else {
            self.scores.iter().sum::<f32>() / self.scores.len() as f32
        }
    }

    fn best(&self) -> f32 {
        self.scores.iter().copied().fold(0.0, f32::max)
    }
}

/// Answers one question with the set at the end of the best path. Every path begins at one topic entity; where several have been linked and
/// paths from two of them meet, ToG's scripts never intersect them, and neither does this.
///
/// # Errors
/// None of its own: a question without a path has no answer.
pub fn answer(agent: &AgentKind, beam: Beam, task: &Task<'_>) -> Result<Outcome, InferError> {
    let mut events = vec![opening(task, agent)];
    let begun = Instant::now();
    let fresh = || {
        Session::new(
            task.kg,
            task.question,
            task.linked.clone(),
            task.must_offer,
            task.options.clone(),
        )
    };
    let mut beams: Vec<Path> = Vec::new();
    let mut best: Option<Path> = None;
    let starts = (0..task.linked.entities.len()).map(|i| Path {
        calls: vec![Call::new(
            Tool::GetRelation,
            vec![Arg::handle(HandleKind::Entity, i)],
            0,
        )],
        scores: Vec::new(),
    });
    for depth in 0..beam.depth {
        let open: Vec<Path> = if depth == 0 {
            starts.clone().collect()
        } else {
            std::mem::take(&mut beams)
        };
        let mut longer: Vec<Path> = open
            .iter()
            .map(|path| extensions(&mut fresh()?, path, depth, beam.width))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        longer.sort_by(|a, b| b.score().total_cmp(&a.score()));
        longer.truncate(beam.width);
        if let Some(top) = longer.first()
            && best.as_ref().is_none_or(|best| {
                top.score() > best.score() || (depth > 0 && top.calls.starts_with(&best.calls))
            })
        {
            best = Some(top.clone());
        }
        beams = longer;
    }
    let mut session = fresh()?;
    let mut calls = best.map_or_else(Vec::new, |path| path.calls);
    // The last walk's result is the answer.
    let walks = calls
        .iter()
        .filter(|call| call.tool != Tool::GetRelation)
        .count();
    let last = walks
        .checked_sub(1)
        .and_then(|last| u32::try_from(last).ok());
    calls.push(Call::new(
        Tool::End,
        vec![last.map_or_else(|| Arg::List(Vec::new()), Arg::Var)],
        0,
    ));
    for call in &calls {
        let text = call.to_string();
        events.push(TraceEvent::Call {
            step: session.steps().len() + 1,
            text,
        });
        match session.run(call).map(|_| ()) {
            Ok(()) => {
                if let Some(step) = session.steps().last() {
                    events.push(TraceEvent::Result {
                        call: step.call.to_string(),
                        result: ResultText::of(&session, step),
                    });
                }
            }
            Err(error) => {
                events.push(TraceEvent::Error {
                    message: error.recoverable()?.to_string(),
                });
                break;
            }
        }
    }
    let answer = Answer::of(&session);
    let seconds = begun.elapsed().as_secs_f64();
    events.push(TraceEvent::Answer {
        answer: Box::new(answer.clone()),
    });
    events.push(TraceEvent::Timing {
        kg: seconds,
        model: 0.0,
    });
    Ok(Outcome {
        calls: session.steps().len(),
        kg_seconds: seconds,
        ..Outcome::new(answer, events)
    })
}

/// The path longer by each of the best relations of its end, as far as they score enough beside what the path has.
fn extensions(
    session: &mut Session<'_>,
    path: &Path,
    walked: usize,
    width: usize,
) -> Result<Vec<Path>, RankError> {
    for call in &path.calls {
        if !runs(session, call)? {
            return Ok(Vec::new());
        }
    }
    let at = walked
        .checked_sub(1)
        .and_then(|last| u32::try_from(last).ok());
    let set = at.map_or_else(|| path.calls[0].args[0].clone(), Arg::Var);
    let mut calls = path.calls.clone();
    if at.is_some() {
        let look = Call::new(Tool::GetRelation, vec![set.clone()], 0);
        if !runs(session, &look)? {
            return Ok(Vec::new());
        }
        calls.push(look);
    }
    let Some(shown) = session.current().cloned() else {
        return Ok(Vec::new());
    };
    let ranking = match session.ranking(&set) {
        Ok(ranking) => ranking,
        Err(error) => {
            error.recoverable()?;
            return Ok(Vec::new());
        }
    };
    let next = u32::try_from(walked).unwrap_or(u32::MAX);
    let mut longer = Vec::new();
    for ranked in ranking {
        if longer.len() == width || (walked > 0 && ranked.score < ENOUGH * path.best()) {
            break;
        }
        // A list may be shorter than the ranking: only what is shown can be walked.
        if shown.index(ranked.relation, ranked.candidate.out).is_none() {
            continue;
        }
        let tool = if ranked.candidate.out {
            Tool::GetTailEntity
        } else {
            Tool::GetHeadEntity
        };
        let call = Call::new(
            tool,
            vec![
                set.clone(),
                Arg::name(session.relation_name(ranked.relation)),
            ],
            next,
        );
        let mut scores = path.scores.clone();
        scores.push(ranked.score);
        longer.push(Path {
            calls: calls.iter().cloned().chain([call]).collect(),
            scores,
        });
    }
    Ok(longer)
}

/// Runs a call; false if a tool rejects it.
fn runs(session: &mut Session<'_>, call: &Call) -> Result<bool, RankError> {
    match session.run(call) {
        Ok(_) => Ok(true),
        Err(error) => error.recoverable().map(|_| false),
    }
}
