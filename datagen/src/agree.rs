//! Whether several front ends of one set say the same: equal programs, or equal answers on graphs made from the queries themselves.
//!
//! A graph is made of the triple patterns of the first query that converts: every variable is one of a few nodes of its own, or values around
//! the constant it is compared with; classes hold throughout, as a schema would have it; other triples hold by chance.

mod made;

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::Query;
use kg::{Kg, QueryAnswer, QueryLimits};
use rayon::prelude::*;
use serde::Serialize;

use crate::Refusal;
use crate::question::GoldQuestion;
use crate::verify::{VerifyOptions, converted, parsed, verify};

/// Graphs made from one question.
const GRAPHS: u64 = 4;

/// What the front ends of one question have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Agreement {
    /// They convert to the same program.
    Program,
    /// They convert, and their queries answer the same on every graph made from the first of them.
    Answers,
    /// They convert, and no graph made from the first gives an answer.
    Untested,
    /// Only some convert, or none; the reasons of those that do not.
    Refused(Vec<(String, String)>),
    /// They answer differently.
    Differ(String),
}

/// How often front ends agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreements {
    /// Questions that every front end read.
    pub questions: usize,
    /// Equal programs.
    pub programs: usize,
    /// Different programs with equal answers.
    pub answers: usize,
    /// No made graph gives an answer.
    pub untested: usize,
    /// Some front ends convert and others do not.
    pub some: usize,
    /// No front end converts.
    pub none: usize,
    /// Different answers.
    pub differ: usize,
    /// Reasons of front ends that do not convert: front end, reason, count.
    pub refused: BTreeMap<String, BTreeMap<String, usize>>,
    /// Ids of questions whose answers differ, and how.
    pub differing: Vec<(String, String)>,
}

/// Compares front ends, given by name with the questions that each read; questions are matched by id.
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
        match (parsed(question), converted(question, None)) {
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
            // A program may need what this graph lacks; one that runs has to answer as its query does.
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
