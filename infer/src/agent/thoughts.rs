//! The model alone, which thinks first: chain of thought, and self-consistency, where several
//! chains are sampled and the most frequent answer counts.

use common::transcript::Part;
use kg::Kg;
use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::prompts::{THOUGHTS, THOUGHTS_EXAMPLES};
use toolbox::published::{Separators, read_answer};

use super::kind::{AgentKind, ThoughtsOptions};
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::Planner;

/// Asks for every chain and takes the most frequent answer; of several the first. A chain without
/// an answer does not count.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    agent: &AgentKind,
    options: ThoughtsOptions,
    task: &Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let mut record = Recorder::open(task, agent);
    let mut examples = String::new();
    for example in THOUGHTS_EXAMPLES.examples(options.examples) {
        for (name, value) in example {
            match name {
                "question" => examples.push_str(&format!("Question: {value}\n")),
                "answer" => examples.push_str(&format!("Answer: {value}\n\n")),
                _ => examples.push_str(&format!("{value}\n")),
            }
        }
    }
    let turns = [THOUGHTS.turn(&[
        ("examples", Part::ours(examples)),
        ("question", Part::user(task.question)),
    ])];
    record.prompt(&turns, 0);
    let mut votes: Vec<(AnswerValue, usize)> = Vec::new();
    for sample in 0..options.samples.max(1) {
        planner.resample(sample as u64);
        let proposal = record.plan(|| planner.reply(&turns))?;
        record.turn(&proposal, sample + 1, planner.constrained());
        let value = read(task.kg, &proposal.text);
        if value.is_empty() {
            record.outcome.invalid += 1;
            continue;
        }
        match votes.iter_mut().find(|(known, _)| *known == value) {
            Some((_, votes)) => *votes += 1,
            None => votes.push((value, 1)),
        }
    }
    let most = votes.iter().map(|(_, votes)| *votes).max();
    let best = votes.into_iter().find(|(_, votes)| Some(*votes) == most);
    let answer = best.map_or_else(Answer::default, |(value, _)| Answer {
        value,
        provenance: Provenance::Model,
        ..Answer::default()
    });
    Ok(record.finish(answer))
}

/// The answer in a reply: behind the last `Answer:`, else the last line.
fn read(kg: &dyn Kg, reply: &str) -> AnswerValue {
    let mark = |c: char| matches!(c, '*' | '#' | '_' | ' ' | '`');
    let lines = reply.lines().map(|line| line.trim().trim_matches(mark));
    let mut last = "";
    let mut marked = None;
    for line in lines.filter(|line| !line.is_empty()) {
        last = line;
        let head = line.get(.."answer:".len()).unwrap_or_default();
        if head.eq_ignore_ascii_case("answer:") {
            marked = Some(line["answer:".len()..].trim_matches(mark));
        }
    }
    read_answer(kg, marked.unwrap_or(last), &[], Separators::Bars)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_marked_line_is_the_answer() {
        let kg = kg::FrozenKg::from_triples(Vec::new());
        let text = |reply: &str| match read(&kg, reply) {
            AnswerValue::Set(members) => members
                .iter()
                .map(|member| member.label.clone())
                .collect::<Vec<_>>()
                .join("|"),
            other => format!("{other:?}"),
        };
        assert_eq!(
            text("It is in Salzburg.\n**Answer:** Salzburg | Wien\n"),
            "Salzburg|Wien"
        );
        assert_eq!(text("Answer: Rom\nNo, wait.\nanswer: 2"), "Number(2)");
        assert_eq!(text("I think\nSalzburg"), "Salzburg");
        assert_eq!(text("Answer: yes"), "Truth(true)");
        assert_eq!(text(""), "");
    }
}
