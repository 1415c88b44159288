//! Cancelled questions: every agent ends at once, and the planner serves the next question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{graph, random_model};
use common::cancel::{Cancel, Cancelled};
use common::transcript::Turn;
use infer::InferError;
use infer::agent::{AgentKind, Deciding, Outcome, Robust, Task, answer_with};
use infer::planner::{LocalPlanner, Planner, PlannerInput, Proposal};
use kg::{FrozenKg, Kg};
use toolbox::agent::Agent;
use toolbox::exec::ExecOptions;
use toolbox::explain::WordTables;
use toolbox::grammar::Grammar;
use toolbox::link::Linked;
use toolbox::prompt::Template;

const QUESTION: &str = "Who directed The Third Man?";

fn agents() -> Vec<AgentKind> {
    let mut agents: Vec<AgentKind> = Agent::ALL.map(AgentKind::from).into();
    agents.extend([
        AgentKind::KgAgentRobust(Robust::default()),
        AgentKind::KgAgentDecide(Deciding::default()),
        AgentKind::Words(Deciding::default()),
        AgentKind::Direct,
        AgentKind::Retrieval,
        AgentKind::Tog,
    ]);
    agents
}

fn ask(
    kg: &FrozenKg,
    agent: &AgentKind,
    planner: &mut dyn Planner,
    cancel: &Cancel,
) -> Result<Outcome, InferError> {
    let node = kg.by_name("third_man").unwrap();
    let linked = Linked::new(kg, QUESTION, &[node]);
    let template = Template::of(agent.trained_as());
    let options = ExecOptions::default();
    let task = Task::new(kg, QUESTION, linked, options, &template, "random");
    answer_with(agent, task.cancelled_by(cancel.clone()), planner)
}

/// Cancels the question before its turn number `at`.
struct Impatient<'a> {
    planner: &'a mut LocalPlanner,
    cancel: Cancel,
    at: usize,
}

impl Impatient<'_> {
    fn turn(&mut self) {
        match self.at {
            0 => self.cancel.cancel(),
            _ => self.at -= 1,
        }
    }
}

impl Planner for Impatient<'_> {
    fn begin(&mut self, cancel: &Cancel) {
        self.planner.begin(cancel);
    }
    fn propose(&mut self, input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.turn();
        self.planner.propose(input)
    }
    fn write(&mut self, turns: &[Turn], grammar: &Grammar) -> Result<Proposal, InferError> {
        self.turn();
        self.planner.write(turns, grammar)
    }
    fn words(&self) -> Arc<WordTables> {
        self.planner.words()
    }
    fn constrained(&self) -> bool {
        true
    }
}

#[test]
fn every_agent_ends_when_its_question_is_cancelled_and_the_planner_goes_on() {
    let kg = graph();
    let dir = tempfile::tempdir().unwrap();
    let templates = Agent::ALL.map(Template::of);
    let templates: Vec<&Template> = templates.iter().collect();
    let mut planner = LocalPlanner::new(&random_model(dir.path(), &templates, 3));
    for agent in agents() {
        let name = agent.name();
        let before = ask(&kg, &agent, &mut planner, &Cancel::default()).unwrap();
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(
            matches!(
                ask(&kg, &agent, &mut planner, &cancel),
                Err(InferError::Cancelled(Cancelled::Asked))
            ),
            "{name}"
        );
        let late = Cancel::default().within(Duration::from_micros(100));
        assert!(
            matches!(
                ask(&kg, &agent, &mut planner, &late),
                Err(InferError::Cancelled(Cancelled::Deadline { .. }))
            ),
            "{name}"
        );
        for at in 0..before.asked.min(3) {
            let cancel = Cancel::default();
            let mut impatient = Impatient {
                planner: &mut planner,
                cancel: cancel.clone(),
                at,
            };
            assert!(
                matches!(
                    ask(&kg, &agent, &mut impatient, &cancel),
                    Err(InferError::Cancelled(Cancelled::Asked))
                ),
                "{name} at turn {at}"
            );
        }
        let after = ask(&kg, &agent, &mut planner, &Cancel::default()).unwrap();
        assert_eq!(after.answer, before.answer, "{name}");
    }
}

/// All programs that are tried for a question share one deadline.
#[test]
fn deciding_ends_at_the_deadline_of_the_question() {
    let kg = graph();
    let node = kg.by_name("third_man").unwrap();
    let linked = Linked::new(&kg, QUESTION, &[node]);
    let agent = AgentKind::Words(Deciding::default());
    let template = Template::of(agent.trained_as());
    let options = ExecOptions {
        deadline: Duration::from_micros(50),
        ..ExecOptions::default()
    };
    let task = Task::new(&kg, QUESTION, linked, options, &template, "none");
    let mut planner = infer::planner::Scripted::new(Vec::new());
    let begun = Instant::now();
    let ended = answer_with(&agent, task, &mut planner);
    assert!(
        matches!(
            ended,
            Err(InferError::Cancelled(Cancelled::Deadline { .. }))
        ),
        "{ended:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(5));
}
