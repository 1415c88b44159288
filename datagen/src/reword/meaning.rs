//! The check of what rewordings mean: the model sees a rewording with the program of its question and
//! programs that differ from it in one relation, and has to pick the right one.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use common::hash;
use kg::Kg;
use rayon::prelude::*;

use super::{Replies, RewordCounts, RewordOptions, Reworder};
use crate::question::GoldQuestion;
use crate::{Error, verify};

/// Programs that are shown besides the right one.
const RIVALS: usize = 3;

/// What a check found.
enum Meaning {
    /// It is no rewording.
    Original,
    /// No other program has an answer, so there is nothing to choose from.
    Unchecked,
    Right,
    /// Another program, none, or no reply.
    Wrong,
}

/// Removes the rewordings for which the model does not pick the program of their question. Questions
/// with an id among `inputs` are no rewordings of this run and stay.
pub(super) fn checked(
    kg: &dyn Kg,
    (questions, inputs): (Vec<GoldQuestion>, &HashSet<&str>),
    reworder: &dyn Reworder,
    options: &RewordOptions,
    replies: &Replies,
    stop: &AtomicBool,
    counts: &mut RewordCounts,
) -> Result<Vec<GoldQuestion>, Error> {
    let before = replies.tally.asked();
    let one = |question: &GoldQuestion| -> Result<Meaning, Error> {
        if inputs.contains(question.id.as_str()) {
            return Ok(Meaning::Original);
        }
        if stop.load(Ordering::Relaxed) {
            let (done, total) = (replies.tally.asked() - before, counts.kept);
            return Err(Error::Stopped { done, total });
        }
        let Some((programs, right)) = choices(kg, question, options) else {
            return Ok(Meaning::Unchecked);
        };
        let asked = (&question.question, &programs);
        let request = hash::number(0, "reword-check", &format!("{asked:?}"));
        let reply = replies.get(request, || reworder.pick(asked.0, asked.1))?;
        let picked = reply.and_then(|(reply, _)| reworder.picked(&reply, programs.len()));
        Ok(if picked == Some(right) {
            Meaning::Right
        } else {
            Meaning::Wrong
        })
    };
    let pool = crate::thread_pool(options.concurrency)?;
    let meanings: Vec<Meaning> =
        pool.install(|| questions.par_iter().map(one).collect::<Result<_, _>>())?;
    let mut kept = Vec::with_capacity(questions.len());
    for (question, meaning) in questions.into_iter().zip(meanings) {
        match meaning {
            Meaning::Original => {}
            Meaning::Unchecked => counts.unchecked += 1,
            Meaning::Right => counts.checked += 1,
            Meaning::Wrong => {
                counts.checked += 1;
                counts.meaning += 1;
                counts.kept = counts.kept.saturating_sub(1);
                continue;
            }
        }
        kept.push(question);
    }
    Ok(kept)
}

/// The programs that a rewording is shown with, in an order that says nothing, and the place of the
/// right one. `None` if there is no other.
fn choices(
    kg: &dyn Kg,
    question: &GoldQuestion,
    options: &RewordOptions,
) -> Option<(Vec<String>, usize)> {
    let verified = verify::verify(kg, question, &options.verify).ok()?;
    let rivals = verified.rivals(kg, question, &options.verify, RIVALS);
    let text = |calls: &[toolbox::call::Call]| {
        let lines: Vec<String> = calls.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    let right = text(&verified.gold.calls);
    let mut programs: Vec<String> = rivals.iter().map(|calls| text(calls)).collect();
    programs.push(right.clone());
    programs.sort_by_key(|program| hash::number(0, &question.id, program));
    let at = programs.iter().position(|program| *program == right)?;
    (programs.len() > 1).then_some((programs, at))
}
