//! What is learned of a question: its query, the program that gives its known answers, or the
//! program that decide mode is sure of.

use std::collections::BTreeMap;

use anyhow::Result;
use datagen::linking::gold_entities;
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::to_sparql::program_to_query;
use kg::term::Term;
use kg::{FrozenKg, Kg, QueryAnswer, QueryLimits};
use serde::Serialize;
use toolbox::call::parse_program;
use toolbox::trace::TraceEvent;

use super::super::eval::{self, Prediction, Setting};
use crate::ui::Ui;

/// What is known of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fate {
    QueryGiven,
    RightAnswer,
    Sure,
    NoRightAnswer,
    Unsure,
    GivesUp,
    NotAnswered,
    NoQuery,
    Repeated,
    DoesNotHold,
    Outvoted,
    Unconfirmed,
}

impl Fate {
    /// The fate in words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::QueryGiven => "learned: the query is given",
            Self::RightAnswer => "learned: a program gives the known answers",
            Self::Sure => "learned: the decision is sure",
            Self::NoRightAnswer => "left out: no program gives the known answers",
            Self::Unsure => "left out: the decision is not sure",
            Self::GivesUp => "left out: the decision is to give up",
            Self::NotAnswered => "left out: not answered",
            Self::NoQuery => "left out: the program has no query",
            Self::Repeated => "left out: the same verdict as before",
            Self::DoesNotHold => "left out: a verdict whose query does not give its answer",
            Self::Outvoted => "left out: a verdict that as many others contradict",
            Self::Unconfirmed => {
                "left out: a verdict with which neither the words nor the model agree"
            }
        }
    }
}

/// A question with what is known of it.
#[derive(Serialize)]
pub(super) struct Labelled {
    id: String,
    question: String,
    pub(super) fate: Fate,
    /// The probability of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    program: Vec<String>,
    /// The question with a query, if it is learned.
    #[serde(skip)]
    pub(super) learned: Option<GoldQuestion>,
}

/// Number of questions by fate.
pub(super) fn fates(labelled: &[Labelled]) -> BTreeMap<Fate, usize> {
    let mut fates = BTreeMap::new();
    for one in labelled {
        *fates.entry(one.fate).or_default() += 1;
    }
    fates
}

/// Answers the questions that have no query and says what is learned of each. `sure` is the lowest
/// probability of a choice that is learned.
pub(super) fn label(
    graph: &FrozenKg,
    questions: &[GoldQuestion],
    setting: &Setting,
    sure: f64,
    ui: &Ui,
) -> Result<Vec<Labelled>> {
    let known = |one: &GoldQuestion| matches!(one.query, GoldQuery::Text(_));
    let asked: Vec<GoldQuestion> = (questions.iter())
        .filter(|one| !known(one))
        .map(|one| GoldQuestion {
            query: GoldQuery::AnswersOnly {
                aliases: Vec::new(),
            },
            answers: Some(one.answers.clone().unwrap_or_default()),
            ..one.clone()
        })
        .collect();
    let (predictions, traces) = match asked.is_empty() {
        true => Default::default(),
        false => {
            let done = eval::evaluate(graph, &asked, setting, None, ui)?;
            (done.predictions, done.traces)
        }
    };
    let mut answered = predictions.iter().zip(&traces).peekable();
    let labelled = questions.iter().map(|question| {
        let mut labelled = Labelled {
            fate: Fate::QueryGiven,
            learned: known(question).then(|| question.clone()),
            ..Labelled::left_out(question, Fate::NotAnswered)
        };
        if !known(question) {
            // Questions that are too long are skipped.
            match answered.next_if(|(one, _)| one.id == question.id) {
                Some((one, events)) => labelled.choose(graph, question, one, events, sure),
                None => labelled.fate = Fate::NotAnswered,
            }
        }
        labelled
    });
    Ok(labelled.collect())
}

impl Labelled {
    /// A question that is not learned.
    pub(super) fn left_out(question: &GoldQuestion, fate: Fate) -> Self {
        Self {
            id: question.id.clone(),
            question: question.question.clone(),
            fate,
            probability: None,
            program: Vec::new(),
            learned: None,
        }
    }

    /// Chooses a program for a question without a query.
    fn choose(
        &mut self,
        graph: &FrozenKg,
        question: &GoldQuestion,
        answered: &Prediction,
        events: &[TraceEvent],
        sure: f64,
    ) {
        let decision = events.iter().find_map(|event| match event {
            TraceEvent::Decision { candidates, .. } => Some(candidates),
            _ => None,
        });
        let candidates: Vec<_> = decision
            .into_iter()
            .flatten()
            .zip(&answered.decided)
            .collect();
        let known = question.answers.is_some();
        let chosen = (candidates.iter())
            .filter(|(one, judged)| if known { judged.right } else { one.chosen })
            .max_by(|(a, _), (b, _)| a.score.total_cmp(&b.score));
        let Some((chosen, judged)) = chosen else {
            self.fate = match known {
                true => Fate::NoRightAnswer,
                false => Fate::NotAnswered,
            };
            return;
        };
        let weight = |score: f64| (score - chosen.score).exp();
        let same = candidates
            .iter()
            .filter(|(_, other)| other.answer == judged.answer);
        let probability = same.map(|(one, _)| weight(one.score)).sum::<f64>()
            / candidates
                .iter()
                .map(|(one, _)| weight(one.score))
                .sum::<f64>();
        self.probability = Some((probability * 1e4).round() / 1e4);
        self.program.clone_from(&chosen.program);
        self.fate = match known {
            true => Fate::RightAnswer,
            false if answered.value.is_empty() => Fate::GivesUp,
            false if probability < sure => Fate::Unsure,
            false => Fate::Sure,
        };
        if matches!(self.fate, Fate::RightAnswer | Fate::Sure) {
            self.learned = learned(graph, question, &chosen.program);
            if self.learned.is_none() {
                self.fate = Fate::NoQuery;
            }
        }
    }
}

/// The question with the query of a program. `None` if no query says the same.
fn learned(graph: &FrozenKg, question: &GoldQuestion, program: &[String]) -> Option<GoldQuestion> {
    let calls = parse_program(&program.join(";\n")).ok()?;
    let with = |exclude: &[Term]| {
        let query = program_to_query(graph, &calls, exclude).ok()?;
        let learned = GoldQuestion {
            query: GoldQuery::Text(query.to_string()),
            answers: None,
            ..question.clone()
        };
        Some((query, learned))
    };
    let (query, learned) = with(&[])?;
    let topics = gold_entities(graph, &learned)?;
    let topics: Vec<Term> = topics.into_iter().map(|node| graph.term(node)).collect();
    // The answer leaves topics out only where there is something else.
    if let QueryAnswer::Rows { rows, .. } = graph.query(&query, QueryLimits::default()).ok()? {
        let is_topic = |row: &Vec<Option<Term>>| {
            let term = row.first().and_then(Option::as_ref);
            term.is_some_and(|term| topics.contains(term))
        };
        if rows.iter().any(is_topic) && !rows.iter().all(is_topic) {
            return with(&topics).map(|(_, learned)| learned);
        }
    }
    Some(learned)
}
