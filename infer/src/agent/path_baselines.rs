//! Baselines without a model that follow the relations ranked first from the topic entities.
//! `retrieval` takes the best path of one or two relations; `tog` is a beam over paths in the
//! manner of Think-on-Graph (width 3, depth 3), with the ranker's scores instead of a language
//! model's.

use std::time::Instant;

use toolbox::answer::Answer;
use toolbox::call::{Arg, Call, HandleKind, Tool};
use toolbox::exec::Session;
use toolbox::rank::RankError;

use super::kind::AgentKind;
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;

/// The size of a search over paths.
#[derive(Clone, Copy)]
struct PathBeam {
    /// Paths kept after each relation.
    width: usize,
    /// Maximum length of a path.
    depth: usize,
}

/// One relation, and a second one if it improves the score.
const RETRIEVAL: PathBeam = PathBeam { width: 1, depth: 2 };
/// The settings of Think-on-Graph.
const TOG: PathBeam = PathBeam { width: 3, depth: 3 };

/// A further relation must score at least this share of the path's best relation. Otherwise the
/// path covers the question already; ToG asks its model whether the knowledge suffices.
const ENOUGH: f32 = 0.5;

/// A path: its calls, and the score of each relation.
#[derive(Clone)]
struct RelationPath {
    calls: Vec<Call>,
    scores: Vec<f32>,
}

impl RelationPath {
    /// The mean score of the relations, so that paths of different lengths compare.
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

/// Answers one question with the set at the end of the best path. Every path begins at one topic
/// entity. Paths from different entities are never intersected, as in ToG's scripts.
///
/// # Errors
/// [`InferError`] if the ranker fails.
pub fn answer(agent: &AgentKind, task: &Task<'_>) -> Result<Outcome, InferError> {
    let mut record = Recorder::open(task, agent);
    let begun = Instant::now();
    let beam = if *agent == AgentKind::Tog {
        TOG
    } else {
        RETRIEVAL
    };
    let mut calls = best_path(task, beam)?.map_or_else(Vec::new, |path| path.calls);
    // The answer is the result of the last call that follows a relation.
    let followed = calls
        .iter()
        .filter(|call| call.tool != Tool::GetRelation)
        .count();
    let last = followed
        .checked_sub(1)
        .and_then(|last| u32::try_from(last).ok());
    calls.push(Call::new(
        Tool::End,
        vec![last.map_or_else(|| Arg::List(Vec::new()), Arg::Var)],
        0,
    ));
    let mut session = task.session()?;
    for call in &calls {
        record.call(session.steps().len() + 1, &call.to_string());
        if let Err(error) = session.run(call) {
            record.error(error.recoverable()?.to_string());
            break;
        }
        if let Some(step) = session.steps().last() {
            record.result(&session, step);
        }
    }
    let answer = Answer::of(&session);
    record.outcome.calls = session.steps().len();
    record.outcome.kg_seconds = begun.elapsed().as_secs_f64();
    Ok(record.finish(answer))
}

/// The best path found by the beam search.
fn best_path(task: &Task<'_>, beam: PathBeam) -> Result<Option<RelationPath>, RankError> {
    let mut best: Option<RelationPath> = None;
    let mut open: Vec<RelationPath> = (0..task.linked.entities.len())
        .map(|i| RelationPath {
            calls: vec![Call::new(
                Tool::GetRelation,
                vec![Arg::handle(HandleKind::Entity, i)],
                0,
            )],
            scores: Vec::new(),
        })
        .collect();
    for depth in 0..beam.depth {
        let mut longer: Vec<RelationPath> = open
            .iter()
            .map(|path| extensions(&mut task.session()?, path, depth, beam.width))
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
        open = longer;
    }
    Ok(best)
}

/// Extends the path by the best relations of its end, as long as they score enough.
fn extensions(
    session: &mut Session<'_>,
    path: &RelationPath,
    length: usize,
    width: usize,
) -> Result<Vec<RelationPath>, RankError> {
    for call in &path.calls {
        if !runs(session, call)? {
            return Ok(Vec::new());
        }
    }
    let at = length
        .checked_sub(1)
        .and_then(|last| u32::try_from(last).ok());
    let set = at.map_or_else(|| path.calls[0].args[0].clone(), Arg::Var);
    let mut calls = path.calls.clone();
    if at.is_some() {
        let list = Call::new(Tool::GetRelation, vec![set.clone()], 0);
        if !runs(session, &list)? {
            return Ok(Vec::new());
        }
        calls.push(list);
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
    let next = u32::try_from(length).unwrap_or(u32::MAX);
    let mut longer = Vec::new();
    for ranked in ranking {
        if longer.len() == width || (length > 0 && ranked.score < ENOUGH * path.best()) {
            break;
        }
        // The list shown may be shorter than the ranking; only shown relations can be followed.
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
        longer.push(RelationPath {
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
