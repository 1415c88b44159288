//! Verification (rules A.2.4): the gold query and the converted program run on the same graph, and
//! only equal answers are kept.

mod abstain;
mod gold;
mod linked;
mod published;
mod refused;
mod rivals;

use gold::{AnswerFit, GoldAnswer, describe, size};
use kg::spargebra::Query;
use kg::term::Term;
use kg::{Kg, QueryError, parse_query};
use published::compare_published;
use toolbox::call::{Arg, ToolTable};
use toolbox::exec::{ToolError, Value};

pub use abstain::{NotHidden, abstention, withhold};
pub(crate) use linked::walked_name;
pub use linked::{LinkedProgram, Verified, VerifyOptions, link};
pub use refused::Refused;

use crate::Refusal;
use crate::convert::dataset::over_the_whole;
use crate::convert::{Context, GoldProgram, convert};
use crate::question::{GoldQuery, GoldQuestion};

/// The query of a question, parsed.
///
/// # Errors
/// [`Refusal::Syntax`], or the reason why the question has no query.
pub fn parsed(question: &GoldQuestion) -> Result<Query, Refused> {
    match &question.query {
        GoldQuery::Text(text) => {
            parse_query(text).map_err(|error| {
                let reason = match error {
                    // Anything but labels of Wikidata's label service.
                    QueryError::Refused(_) => Refusal::Service,
                    _ => Refusal::Syntax,
                };
                Refused::before(reason, error.to_string())
            })
        }
        GoldQuery::Algebra(query) => Ok(query.as_ref().clone()),
        GoldQuery::AnswersOnly { .. } => Err(Refused::before(
            Refusal::AnswersOnly,
            Refusal::AnswersOnly.to_string(),
        )),
        GoldQuery::Missing(reason, detail) => Err(Refused::before(*reason, detail.clone())),
    }
}

/// Converts a question's query without running it.
///
/// # Errors
/// Why there is no program.
pub fn converted(
    question: &GoldQuestion,
    kg: Option<&dyn Kg>,
    tools: ToolTable,
) -> Result<GoldProgram, Refused> {
    convert_query(&parsed(question)?, question, kg, tools)
}

fn convert_query(
    query: &Query,
    question: &GoldQuestion,
    kg: Option<&dyn Kg>,
    tools: ToolTable,
) -> Result<GoldProgram, Refused> {
    let topics: Vec<Term> = question
        .topics
        .iter()
        .filter_map(|topic| topic_term(kg, &topic.name))
        .collect();
    convert(
        query,
        &Context {
            kg,
            topics: &topics,
            exclude: question.exclude,
            tools,
        },
    )
    .map_err(|reason| {
        // Why the query reads only a part of the graph is told in detail.
        let part = over_the_whole(query, kg).err();
        let detail = part.filter(|(of, _)| *of == reason);
        Refused::before(
            reason,
            detail.map_or_else(|| reason.to_string(), |(_, detail)| detail),
        )
    })
}

fn topic_term(kg: Option<&dyn Kg>, name: &str) -> Option<Term> {
    let kg = kg?;
    kg.by_name(name).map(|node| kg.term(node))
}

/// Checks one question against the graph.
///
/// # Errors
/// Why the question is not used.
pub fn verify(
    kg: &dyn Kg,
    question: &GoldQuestion,
    options: &VerifyOptions,
) -> Result<Verified, Refused> {
    let query = parsed(question)?;
    let program = match convert_query(&query, question, Some(kg), options.tools) {
        Err(refused) if refused.reason == Refusal::UnknownConstant && options.abstain => {
            let without_graph = convert_query(&query, question, None, ToolTable::Paper).ok();
            return without_graph
                .and_then(|program| abstain::absent(kg, question, &query, program, options))
                .ok_or(refused)?
                .map_err(Refused::from);
        }
        other => other?,
    };
    let unknown = program
        .constants
        .iter()
        .find(|term| kg.find(term).is_none());
    if let Some(term) = unknown {
        return Err(Refused::after(Refusal::UnknownConstant, term.to_string()));
    }
    let gold = kg
        .query(&query, options.limits)
        .map_err(|error| Refused::after(Refusal::QueryFailed, error.to_string()))?;
    let gold = GoldAnswer::of(kg, &gold, program.makes_table())
        .map_err(|detail| Refused::after(Refusal::AnswerDiffers, detail))?;
    if gold.is_empty() {
        let given_up = options
            .abstain
            .then(|| abstain::give_up(kg, question, &program, options))
            .flatten();
        return given_up
            .ok_or_else(|| {
                Refused::after(
                    Refusal::NoGoldAnswer,
                    "the gold query gives nothing on this graph",
                )
            })?
            .map_err(Refused::from);
    }
    let verified = check(kg, question, program, &gold, options)?;
    if question.answers_bind
        && let Some(published) = &question.answers
    {
        compare_published(kg, &verified.value, published)
            .map_err(|detail| Refused::after(Refusal::DatasetAnswerDiffers, detail))?;
    }
    Ok(verified)
}

fn check(
    kg: &dyn Kg,
    question: &GoldQuestion,
    program: GoldProgram,
    gold: &GoldAnswer,
    options: &VerifyOptions,
) -> Result<Verified, Refused> {
    let program = link(kg, question, program)?;
    let calls = &program.gold.calls;
    let value = program
        .run(kg, question, options)
        .map_err(|(step, error)| match error {
            ToolError::Steps { limit } => {
                let detail = format!("{} calls, the limit is {limit}", calls.len());
                Refused::after(Refusal::TooLong, detail)
            }
            ToolError::Rank(error) => error.into(),
            error => {
                let call = calls
                    .get(step)
                    .map_or_else(String::new, ToString::to_string);
                let detail = format!("step {}, {call}: {error}", step + 1);
                Refused::after(Refusal::ProgramFailed, detail)
            }
        })?;
    let is_extreme = |arg: &Arg| matches!(arg, Arg::Extreme(_));
    let extreme = calls.iter().any(|call| call.args.iter().any(is_extreme));
    match gold.compare(kg, &value) {
        AnswerFit::Equal => Ok(Verified::answer(program, value, false)),
        AnswerFit::Part if extreme && options.ties => Ok(Verified::answer(program, value, true)),
        AnswerFit::Part if extreme => {
            let detail = format!(
                "the extreme is shared: the program gives {} answers, the gold query {}",
                size(&value),
                gold.size()
            );
            Err(Refused::after(Refusal::AnswerDiffers, detail))
        }
        AnswerFit::Part | AnswerFit::Differs => Err(differs(kg, gold, &value)),
    }
}

fn differs(kg: &dyn Kg, gold: &GoldAnswer, value: &Value) -> Refused {
    let detail = format!(
        "the program gives {}, the gold query {}",
        describe(kg, value),
        gold.describe(kg)
    );
    Refused::after(Refusal::AnswerDiffers, detail)
}
