//! The choices of gold programs: for every call that follows a relation, the complete list from
//! which the relation was chosen. Input of recall measurements and training data for relation
//! retrievers (rules A.3, "extra data").

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kg::Kg;
use serde::Serialize;
use toolbox::call::Tool;
use toolbox::exec::{ExecOptions, RankedRelation, Session};
use toolbox::rank::RelationCandidate;

use crate::question::GoldQuestion;
use crate::verify::{Refused, Verified, VerifyOptions, walked_name};

/// One gold relation and its candidate list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The question's id.
    pub id: String,
    /// The source's format.
    pub source: String,
    /// The wording.
    pub question: String,
    /// The wording without entity mentions, as rankers see it.
    pub bare: String,
    /// Index of the call that follows the relation, from 1.
    pub step: usize,
    /// Relations from the linked entities to the set, in order.
    pub path: Vec<RelationCandidate>,
    /// The gold relation.
    pub relation: String,
    /// Whether it is followed from heads to tails.
    pub out: bool,
    /// Rank of the gold relation among the candidates, from 1.
    pub rank: usize,
    /// All candidates of both directions, best first.
    pub candidates: Vec<RelationCandidate>,
}

/// The choices of one program.
#[derive(Clone, Debug, Default)]
pub struct ProgramChoices {
    /// In order of the calls.
    pub choices: Vec<Choice>,
    /// Time spent on ranking.
    pub took: Duration,
}

/// Runs a verified program and records the candidate list of each of its relations.
///
/// # Errors
/// The call that failed, or whose relation no earlier list shows.
pub fn choices(
    kg: &dyn Kg,
    question: &GoldQuestion,
    verified: &Verified,
    options: &VerifyOptions,
) -> Result<ProgramChoices, Refused> {
    let exec = ExecOptions {
        must_show: Vec::new(),
        ..verified.exec_options(options)
    };
    let mut session = Session::new(
        kg,
        &question.question,
        verified.linked.clone(),
        &verified.must_offer,
        exec,
    )?;
    let mut lists: HashMap<String, (Vec<RelationCandidate>, Vec<RankedRelation>)> = HashMap::new();
    let mut found = ProgramChoices::default();
    for (i, call) in verified.gold.calls.iter().enumerate() {
        if call.tool == Tool::GetRelation && call.args.len() == 1 {
            let begun = Instant::now();
            let ranking = session
                .ranking(&call.args[0])
                .map_err(|error| Refused::failed(call, error))?;
            found.took += begun.elapsed();
            lists.insert(
                call.args[0].to_string(),
                (session.path(&call.args[0]), ranking),
            );
            // The list does not affect later calls.
            continue;
        }
        if let Some((name, out)) = walked_name(call) {
            let set = call.args[0].to_string();
            let (path, ranking) = lists.get(&set).ok_or_else(|| {
                Refused::rendering(format!("`{call}`: no list was shown for {set}"))
            })?;
            let place = ranking
                .iter()
                .position(|one| one.candidate.name == name && one.candidate.out == out);
            let place = place.ok_or_else(|| {
                Refused::rendering(format!("`{call}`: the list of {set} lacks {name}"))
            })?;
            found.choices.push(Choice {
                id: question.id.clone(),
                source: question.source.clone(),
                question: question.question.clone(),
                bare: session.bare_question().to_owned(),
                step: i + 1,
                path: path.clone(),
                relation: name.to_owned(),
                out,
                rank: place + 1,
                candidates: ranking.iter().map(|one| one.candidate.clone()).collect(),
            });
        }
        session
            .run(call)
            .map_err(|error| Refused::failed(call, error))?;
    }
    Ok(found)
}
