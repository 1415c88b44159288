//! Compares several front ends of one data set: they agree if their programs are equal, or if their
//! queries have equal answers on graphs generated from the queries.
//!
//! A graph is generated from the triple patterns of the first query that converts. Every variable
//! takes one of a few nodes, or values around the constant it is compared with. Class triples
//! always hold, as if a schema required them; other triples hold at random.

pub(crate) mod made;

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::Query;
use kg::{Kg, QueryAnswer, QueryLimits};
use rayon::prelude::*;
use serde::Serialize;
use toolbox::call::ToolTable;

use crate::Refusal;
use crate::question::GoldQuestion;
use crate::verify::{VerifyOptions, converted, parsed, verify};

/// Graphs generated per question.
const GRAPHS: u64 = 4;

/// How the front ends of one question agree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Agreement {
    /// All convert to the same program.
    Program,
    /// All convert, and their queries have the same answers on every generated graph.
    Answers,
    /// All convert, but no generated graph has an answer.
    Untested,
    /// At least one does not convert; the reasons by front end.
    Refused(Vec<(String, String)>),
    /// Their answers differ.
    Differ(String),
}

/// Counts of agreement between front ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreements {
    /// Questions that every front end read.
    pub questions: usize,
    /// Questions with equal programs.
    pub programs: usize,
    /// Questions with different programs and equal answers.
    pub answers: usize,
    /// Questions without an answer on any generated graph.
    pub untested: usize,
    /// Questions that some front ends convert and others do not.
    pub some: usize,
    /// Questions that no front end converts.
    pub none: usize,
    /// Questions with different answers.
    pub differ: usize,
    /// Why front ends do not convert: front end, reason, count.
    pub refused: BTreeMap<String, BTreeMap<String, usize>>,
    /// Ids of questions with different answers, and the difference.
    pub differing: Vec<(String, String)>,
}

/// Compares front ends, given by name with the questions that each read. Questions are matched by
/// id.
#[must_use]
pub fn agreements(fronts: &[(String, Vec<GoldQuestion>)], seed: u64) -> Agreements {
    let Some(((_, first), others)) = fronts.split_first() else {
        return Agreements::default();
    };
    let by_id: Vec<BTreeMap<&str, &GoldQuestion>> = others
        .iter()
        .map(|(_, questions)| {
            questions
                .iter()
                .map(|question| (question.id.as_str(), question))
                .collect()
        })
        .collect();
    let compared: Vec<(&str, Agreement)> = first
        .par_iter()
        .filter_map(|question| {
            let mut same: Vec<(&str, &GoldQuestion)> = vec![(fronts[0].0.as_str(), question)];
            for ((name, _), questions) in others.iter().zip(&by_id) {
                same.push((name, questions.get(question.id.as_str())?));
            }
            Some((question.id.as_str(), agreement(&same, seed)))
        })
        .collect();
    let mut counts = Agreements {
        questions: compared.len(),
        ..Agreements::default()
    };
    for (id, agreement) in compared {
        match agreement {
            Agreement::Program => counts.programs += 1,
            Agreement::Answers => counts.answers += 1,
            Agreement::Untested => counts.untested += 1,
            Agreement::Differ(how) => {
                counts.differ += 1;
                counts.differing.push((id.to_owned(), how));
            }
            Agreement::Refused(reasons) => {
                *(if reasons.len() == fronts.len() {
                    &mut counts.none
                } else {
                    &mut counts.some
                }) += 1;
                for (front, reason) in reasons {
                    *counts
                        .refused
                        .entry(front)
                        .or_default()
                        .entry(reason)
                        .or_default() += 1;
                }
            }
        }
    }
    counts
}

/// Compares the front ends of one question.
fn agreement(fronts: &[(&str, &GoldQuestion)], seed: u64) -> Agreement {
    let mut programs = Vec::new();
    let mut queries = Vec::new();
    let mut refused = Vec::new();
    for (name, question) in fronts {
        match (
            parsed(question),
            converted(question, None, ToolTable::Paper),
        ) {
            (Ok(query), Ok(program)) => {
                programs.push(program.calls);
                queries.push((*name, *question, query));
            }
            (Err(why), _) | (_, Err(why)) => refused.push(((*name).to_owned(), why.reason.name())),
        }
    }
    if !refused.is_empty() {
        return Agreement::Refused(refused);
    }
    if programs.windows(2).all(|pair| pair[0] == pair[1]) {
        return Agreement::Program;
    }
    let Some((_, _, model)) = queries.first() else {
        return Agreement::Untested;
    };
    let mut tested = false;
    for round in 0..GRAPHS {
        let kg = made::graph(model, seed.wrapping_add(round));
        let mut wanted: Option<BTreeSet<String>> = None;
        for (name, question, query) in &queries {
            let answer = match answer(&kg, query) {
                Ok(answer) => answer,
                Err(error) => return Agreement::Differ(format!("{name}: {error}")),
            };
            // A program may need something that this graph lacks. If it runs, it must have its
            // query's answer.
            let free = GoldQuestion {
                answers_bind: false,
                ..(*question).clone()
            };
            if let Err(refused) = verify(
                &kg,
                &free,
                &VerifyOptions {
                    ties: true,
                    ..VerifyOptions::default()
                },
            ) && refused.reason == Refusal::AnswerDiffers
            {
                return Agreement::Differ(format!(
                    "{name}: its program answers differently: {}",
                    refused.detail
                ));
            }
            let wanted = wanted.get_or_insert_with(|| answer.clone());
            if *wanted != answer {
                return Agreement::Differ(format!(
                    "{name} gives {answer:?} where {} gives {wanted:?}",
                    queries[0].0
                ));
            }
        }
        tested |= wanted.is_some_and(|answer| !answer.is_empty());
    }
    if tested {
        Agreement::Answers
    } else {
        Agreement::Untested
    }
}

fn answer(kg: &dyn Kg, query: &Query) -> Result<BTreeSet<String>, String> {
    match kg
        .query(query, QueryLimits::default())
        .map_err(|error| error.to_string())?
    {
        QueryAnswer::Bool(truth) => Ok(BTreeSet::from([truth.to_string()])),
        QueryAnswer::Rows { rows, .. } => Ok(rows
            .into_iter()
            .filter_map(|row| row.into_iter().next().flatten())
            .map(|term| term.to_string())
            .collect()),
    }
}
