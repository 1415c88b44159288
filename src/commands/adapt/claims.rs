//! Verdicts of people about answers. Anybody who can reach a server can give one, so a verdict is a
//! claim. It is learned only if its query gives the answer that it is about, if the words or the model
//! alone give this answer too, and if fewer verdicts on the same question say otherwise.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use datagen::question::{GoldQuery, GoldQuestion};
use kg::{FrozenKg, Kg, fold};
use serde_json::Value;
use toolbox::answer::CELL_SEPARATOR;

use super::super::eval::{self, Setting};
use super::label::{Fate, Labelled};
use crate::ui::Ui;

/// An answer as folded labels.
type Labels = BTreeSet<String>;

/// What a verdict says about a question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vote {
    /// The question, folded.
    question: String,
    /// The answer that it calls right; `None` if the verdict only calls an answer wrong, or if only its query gives the right one.
    right: Option<Labels>,
    /// The answer that it calls wrong.
    wrong: Option<Labels>,
}

/// A verdict from which something could be learned.
pub(super) struct Claim {
    pub(super) question: GoldQuestion,
    pub(super) vote: Vote,
}

/// What is left of the claims.
#[derive(Default)]
pub(super) struct CheckedClaims {
    /// The questions that can be learned.
    pub(super) confirmed: Vec<GoldQuestion>,
    pub(super) left_out: Vec<Labelled>,
}

impl Vote {
    /// The vote of a line of feedback; `None` if the line has no verdict.
    ///
    /// # Errors
    /// If there is no such verdict.
    pub(super) fn of(graph: &FrozenKg, line: &Value) -> Result<Option<Self>> {
        let given = || labels(graph, &line["given"]);
        let answers = labels(graph, &line["answers"]);
        let (right, wrong) = match line["verdict"].as_str() {
            Some("right") => (given().or(answers), None),
            Some("wrong") => (answers, given()),
            None if line["verdict"].is_null() => return Ok(None),
            _ => bail!("`verdict` is \"right\" or \"wrong\""),
        };
        let question = fold(line["question"].as_str().unwrap_or_default());
        Ok(Some(Self {
            question,
            right,
            wrong,
        }))
    }

    /// Whether it calls another answer than this one right, or this one wrong.
    fn contradicts(&self, answer: &Labels) -> bool {
        let other = self.right.as_ref().is_some_and(|right| right != answer);
        other || self.wrong.as_ref() == Some(answer)
    }
}

/// The labels of a list of names, or of rows of names.
fn labels(graph: &FrozenKg, list: &Value) -> Option<Labels> {
    let label = |name: &str| {
        let node = graph.by_name(name);
        let label = node.and_then(|node| graph.label(node));
        label.unwrap_or_else(|| name.to_owned())
    };
    let one = |item: &Value| match item {
        Value::Array(cells) => {
            let cells = cells
                .iter()
                .map(|cell| label(cell.as_str().unwrap_or_default()));
            fold(&cells.collect::<Vec<_>>().join(CELL_SEPARATOR))
        }
        Value::String(name) => fold(&label(name)),
        other => other.to_string(),
    };
    Some(list.as_array()?.iter().map(one).collect())
}

/// Checks claims. `denials` are the verdicts that only call an answer wrong, `witnesses` the words
/// and the model.
pub(super) fn check(
    graph: &FrozenKg,
    claims: Vec<Claim>,
    denials: &[Vote],
    witnesses: &[Setting],
    ui: &Ui,
) -> Result<CheckedClaims> {
    let mut checked = CheckedClaims::default();
    let mut claims = different(claims, &mut checked);
    checked.sort(&mut claims, Fate::DoesNotHold, |claim| {
        claim.vote.right = holds(graph, claim);
        claim.vote.right.is_some()
    });
    // Equal votes count once, because feedback names no person. One person can still cast several different votes.
    let votes: BTreeSet<Vote> = (claims.iter().map(|claim| &claim.vote))
        .chain(denials)
        .cloned()
        .collect();
    let mut polls: BTreeMap<&str, Vec<&Vote>> = BTreeMap::new();
    for vote in &votes {
        polls.entry(&vote.question).or_default().push(vote);
    }
    checked.sort(&mut claims, Fate::Outvoted, |claim| {
        let poll = polls.get(claim.vote.question.as_str());
        let poll = || poll.into_iter().flatten();
        let Some(answer) = &claim.vote.right else {
            return false;
        };
        let says_so = |vote: &&&Vote| vote.right.as_ref() == Some(answer);
        let says_no = |vote: &&&Vote| vote.contradicts(answer);
        poll().filter(says_so).count() > poll().filter(says_no).count()
    });
    let agreed = agreed(graph, &claims, witnesses, ui)?;
    let mut place = 0..;
    checked.sort(&mut claims, Fate::Unconfirmed, |_| {
        place.next().is_some_and(|at: usize| agreed.contains(&at))
    });
    let confirmed = claims.into_iter().map(|claim| claim.question);
    checked.confirmed = confirmed.collect();
    Ok(checked)
}

impl CheckedClaims {
    /// Keeps the claims that pass; the others are left out for this reason.
    fn sort(
        &mut self,
        claims: &mut Vec<Claim>,
        fate: Fate,
        mut passes: impl FnMut(&mut Claim) -> bool,
    ) {
        let failed = claims.extract_if(.., |claim| !passes(claim));
        let failed = failed.map(|claim| Labelled::left_out(&claim.question, fate));
        self.left_out.extend(failed);
    }
}

/// The claims without repetitions of earlier ones.
fn different(mut claims: Vec<Claim>, checked: &mut CheckedClaims) -> Vec<Claim> {
    let mut seen = BTreeSet::new();
    checked.sort(&mut claims, Fate::Repeated, |claim| {
        let query = match &claim.question.query {
            GoldQuery::Text(query) => query.clone(),
            _ => String::new(),
        };
        seen.insert((claim.vote.clone(), query))
    });
    claims
}

/// The answer of a claim. `None` if it is empty, or if the query cannot be run or gives another one
/// than the verdict is about.
fn holds(graph: &FrozenKg, claim: &Claim) -> Option<Labels> {
    let said = claim.vote.right.as_ref();
    let answer = match &claim.question.query {
        GoldQuery::Text(_) => {
            let found = eval::gold_labels(graph, &claim.question).ok()?;
            let found: Labels = found.iter().map(|label| fold(label)).collect();
            said.is_none_or(|said| *said == found).then_some(found)
        }
        _ => said.cloned(),
    };
    answer.filter(|answer| !answer.is_empty())
}

/// The places of the claims whose answer a witness gives.
fn agreed(
    graph: &FrozenKg,
    claims: &[Claim],
    witnesses: &[Setting],
    ui: &Ui,
) -> Result<BTreeSet<usize>> {
    let asked = claims.iter().enumerate();
    let asked: Vec<GoldQuestion> = asked
        .map(|(at, claim)| GoldQuestion {
            id: at.to_string(),
            ..claim.question.clone()
        })
        .collect();
    let mut agreed = BTreeSet::new();
    for witness in witnesses {
        // The model is slow, so it is asked only about what the words have not confirmed.
        let left: Vec<GoldQuestion> = (asked.iter().enumerate())
            .filter(|(at, _)| !agreed.contains(at))
            .map(|(_, one)| one.clone())
            .collect();
        if left.is_empty() {
            break;
        }
        let done = eval::evaluate(graph, &left, witness, None, ui)?;
        let right = done.predictions.iter().filter(|one| one.is_exact());
        agreed.extend(right.filter_map(|one| one.id.parse::<usize>().ok()));
    }
    Ok(agreed)
}
