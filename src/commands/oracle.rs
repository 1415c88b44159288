//! The oracle: replays the gold program of a question in the turns of an agent.

use anyhow::{Error, Result};
use datagen::agents::OdaExamples;
use datagen::question::GoldQuestion;
use datagen::verify::{Verified, VerifyOptions};
use infer::agent::AgentKind;
use infer::planner::{Oracle, Planner, Scripted};
use kg::Kg;
use toolbox::call::parse_program;
use toolbox::prompt::Template;

/// The name in options, traces and reports.
pub(super) const NAME: &str = "oracle";

/// Whether there are gold turns for an agent.
pub(super) fn plays(agent: &AgentKind) -> bool {
    matches!(agent, AgentKind::KgAgent | AgentKind::Oda(_))
}

/// The program that ends without an answer.
const NO_ANSWER: &str = "ans = end([])";
/// ODA's turn that ends without an answer.
const ODA_NO_ANSWER: &str = "answer none";

/// A planner that writes the gold turns of a question; without `reachable` entities it abstains.
pub(super) fn planner(
    agent: &AgentKind,
    graph: &dyn Kg,
    question: &GoldQuestion,
    verified: &Verified,
    reachable: bool,
    template: &Template,
    options: &VerifyOptions,
) -> Result<Box<dyn Planner>> {
    let AgentKind::Oda(oda) = agent else {
        let calls = if reachable {
            verified.gold.calls.clone()
        } else {
            parse_program(NO_ANSWER)?
        };
        return Ok(Box::new(Oracle::new(calls)));
    };
    let examples = OdaExamples::new(graph, template, options).observing(oda.clone());
    // Some programs have no turns in ODA; it cannot answer their questions.
    let turns = if reachable {
        examples
            .ideal(question, verified)
            .map_err(|refused| Error::msg(refused.detail))?
    } else {
        None
    };
    let turns = turns.unwrap_or_else(|| vec![ODA_NO_ANSWER.to_owned()]);
    Ok(Box::new(Scripted::new(turns)))
}
