//! The robust mode of the kg-agent loop: errors returned to the model, no repeated calls, traces
//! that replay.

use std::process::Command;

use crate::support::{data, graph, random_model};
use common::transcript::Turn;
use infer::InferError;
use infer::agent::{AgentKind, Outcome, Robust, Task, answer_with};
use infer::planner::{LocalPlanner, Planner, PlannerInput, Proposal, Scripted};
use kg::{FrozenKg, Kg};
use toolbox::exec::{ExecOptions, Naming, Session};
use toolbox::grammar::Grammar;
use toolbox::link::Linked;
use toolbox::prompt::{Conversation, Layout, Template};
use toolbox::trace::TraceEvent;

const QUESTION: &str = "Where was the partner of Johann Wolfgang von Goethe born?";

fn ask(
    kg: &FrozenKg,
    template: &Template,
    mode: Robust,
    question: &str,
    planner: &mut dyn Planner,
) -> Outcome {
    let linked = Linked::new(kg, question, &[kg.by_name("goethe").unwrap()]);
    let task = Task {
        kg,
        question,
        linked,
        must_offer: &[],
        options: ExecOptions::default(),
        template,
        planner_name: "test",
        model_knowledge: false,
        watcher: None,
    };
    answer_with(&AgentKind::KgAgentRobust(mode), task, planner).unwrap()
}

fn scripted(kg: &FrozenKg, mode: Robust, question: &str, texts: &[&str]) -> Outcome {
    let mut planner = Scripted::new(texts.iter().map(|&text| text.to_owned()).collect());
    ask(
        kg,
        &Template::new(Layout::Dialogue),
        mode,
        question,
        &mut planner,
    )
}

fn errors(outcome: &Outcome) -> Vec<&str> {
    outcome
        .events
        .iter()
        .filter_map(|event| {
            if let TraceEvent::Error { message } = event {
                Some(message.as_str())
            } else {
                None
            }
        })
        .collect()
}

const LIST: &str = "get_relation(e0)";
const PARTNER: &str = "v0 = get_tail_entity(e0, people.person.partner)";

#[test]
fn an_error_is_returned_and_the_next_call_counts() {
    let kg = graph();
    let outcome = scripted(
        &kg,
        Robust::default(),
        QUESTION,
        &[
            LIST,
            "v0 = get_tail_entity(e0, no.such.relation)",
            "what?",
            PARTNER,
            "ans = end(v0)",
        ],
    );
    assert_eq!(outcome.answer.texts(), ["Christiane Vulpius"]);
    assert_eq!((outcome.invalid, outcome.asked, outcome.calls), (2, 5, 3));
    assert!(
        errors(&outcome)[0].contains("no.such.relation"),
        "{:?}",
        errors(&outcome)
    );
    // The training transcript has no failures.
    assert!(!format!("{:?}", outcome.samples).contains("no.such.relation"));
}

/// Rules A.5: the paper's loop.
#[test]
fn the_papers_loop_takes_thirty_steps_and_never_retries() {
    let kg = graph();
    let paper = |calls: Vec<String>| {
        let linked = Linked::new(&kg, QUESTION, &[kg.by_name("goethe").unwrap()]);
        let template = Template::new(Layout::Dialogue);
        let options = ExecOptions::default();
        let task = Task {
            kg: &kg,
            question: QUESTION,
            linked,
            must_offer: &[],
            options,
            template: &template,
            planner_name: "test",
            model_knowledge: false,
            watcher: None,
        };
        answer_with(&AgentKind::KgAgent, task, &mut Scripted::new(calls)).unwrap()
    };
    let lists = |n: usize| std::iter::repeat_n(LIST.to_owned(), n);
    let in_time = paper(
        lists(28)
            .chain([PARTNER, "ans = end(v0)"].map(str::to_owned))
            .collect(),
    );
    assert_eq!(
        (in_time.answer.texts(), in_time.calls),
        (vec!["Christiane Vulpius".to_owned()], 30)
    );
    let late = paper(
        lists(29)
            .chain([PARTNER, "ans = end(v0)"].map(str::to_owned))
            .collect(),
    );
    assert!(late.answer.is_none());
    assert_eq!((late.calls, late.asked, late.invalid), (30, 30, 0));
    assert_eq!(errors(&late), ["the limit of 30 calls is reached"]);
    let wrong = paper(
        [
            LIST,
            "v0 = get_tail_entity(e0, no.such.relation)",
            PARTNER,
            "ans = end(v0)",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    assert!(wrong.answer.is_none());
    assert_eq!((wrong.asked, wrong.invalid), (2, 1));
}

#[test]
fn a_step_is_retried_at_most_twice() {
    let kg = graph();
    let outcome = scripted(
        &kg,
        Robust::default(),
        QUESTION,
        &[LIST, "a", "b", "c", PARTNER],
    );
    assert!(outcome.answer.is_none());
    assert_eq!((outcome.invalid, outcome.asked), (3, 4));
}

#[test]
fn no_call_is_repeated() {
    let kg = graph();
    let again = "v1 = get_tail_entity(e0, people.person.partner)";
    let outcome = scripted(
        &kg,
        Robust::default(),
        QUESTION,
        &[LIST, PARTNER, again, "ans = end(v0)"],
    );
    assert_eq!(outcome.answer.texts(), ["Christiane Vulpius"]);
    assert_eq!(errors(&outcome).len(), 1, "{:?}", errors(&outcome));
}

/// Rule R6: kinds of answers.
#[test]
fn an_answer_of_another_kind_is_rejected_if_requested() {
    let kg = graph();
    let texts = [
        LIST,
        PARTNER,
        "ans = end(v0)",
        "v1 = count(v0)",
        "ans = end(v1)",
    ];
    let question = "How many partners did Johann Wolfgang von Goethe have?";
    let outcome = scripted(
        &kg,
        Robust {
            answer_types: true,
            ..Robust::default()
        },
        question,
        &texts,
    );
    assert_eq!(outcome.answer.texts(), ["1"]);
    assert!(
        errors(&outcome)[0].contains("asks for a number"),
        "{:?}",
        errors(&outcome)
    );
    assert_eq!(
        scripted(&kg, Robust::default(), question, &texts)
            .answer
            .texts(),
        ["Christiane Vulpius"]
    );
}

/// The decoded turns, as a script.
fn written(events: &[TraceEvent]) -> Vec<Proposal> {
    let mut logprobs = events.iter().filter_map(|event| {
        if let TraceEvent::Tokens { logprob, .. } = event {
            Some(*logprob)
        } else {
            None
        }
    });
    let texts = events.iter().filter_map(|event| {
        if let TraceEvent::Call { text, .. } = event {
            Some(text.clone())
        } else {
            None
        }
    });
    texts
        .map(|text| Proposal {
            text,
            logprob: logprobs.next().unwrap(),
            ..Proposal::default()
        })
        .collect()
}

/// A model that does not end before it has made some calls.
struct Reluctant(LocalPlanner);

impl Planner for Reluctant {
    fn propose(&mut self, input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.0.propose(input)
    }

    fn propose_except(
        &mut self,
        input: &PlannerInput<'_, '_>,
        rejected: &[String],
    ) -> Result<Option<Proposal>, InferError> {
        let mut rejected = rejected.to_vec();
        loop {
            let proposal = self.0.propose_except(input, &rejected)?;
            match proposal {
                Some(end) if end.text.starts_with("ans") && input.session.steps().len() < 6 => {
                    rejected.push(end.text);
                }
                other => return Ok(other),
            }
        }
    }

    fn write(&mut self, turns: &[Turn], grammar: &Grammar) -> Result<Proposal, InferError> {
        self.0.write(turns, grammar)
    }

    fn constrained(&self) -> bool {
        true
    }
}

#[test]
fn a_model_writes_valid_calls_and_repeats_none_and_its_trace_replays() {
    let kg = graph();
    for naming in [Naming::Mixed, Naming::Mentions, Naming::Handles] {
        let dir = tempfile::tempdir().unwrap();
        let template = Template {
            naming,
            ..Template::new(Layout::Dialogue)
        };
        let model = random_model(dir.path(), &[&template], 5);
        let run = |planner: &mut dyn Planner| {
            let outcome = ask(&kg, &template, Robust::default(), QUESTION, planner);
            let kept = outcome.events.iter().filter(|event| {
                !matches!(event, TraceEvent::Timing { .. } | TraceEvent::Tokens { .. })
            });
            let told: Vec<_> = kept
                .map(|event| serde_json::to_string(event).unwrap())
                .collect();
            (outcome, told)
        };
        let (outcome, told) = run(&mut Reluctant(LocalPlanner::new(&model)));
        assert!(outcome.calls > 6, "{naming:?}: {}", outcome.calls);
        // Calls that were made are excluded, so the model cannot write them again.
        assert_eq!(outcome.invalid, 0, "{naming:?}: {:?}", errors(&outcome));
        assert_eq!(
            told,
            run(&mut Reluctant(LocalPlanner::new(&model))).1,
            "{naming:?}"
        );
        let mut script = Scripted::with(written(&outcome.events));
        assert_eq!(told, run(&mut script).1, "{naming:?}");
    }
}

#[test]
fn a_rejected_call_is_not_written_again() {
    let kg = graph();
    let dir = tempfile::tempdir().unwrap();
    let template = Template::new(Layout::Dialogue);
    let model = random_model(dir.path(), &[&template], 5);
    let linked = Linked::new(&kg, QUESTION, &[kg.by_name("goethe").unwrap()]);
    let session = Session::new(&kg, QUESTION, linked, &[], ExecOptions::default()).unwrap();
    let conversation = Conversation::open(&template, &session);
    let moment = PlannerInput {
        session: &session,
        template: &template,
        turns: conversation.prompt(),
    };
    let mut planner = LocalPlanner::new(&model);
    let mut rejected: Vec<String> = Vec::new();
    for _ in 0..4 {
        let proposal = planner.propose_except(&moment, &rejected).unwrap().unwrap();
        assert!(!rejected.contains(&proposal.text), "{}", proposal.text);
        rejected.push(proposal.text);
    }
}

#[test]
fn a_robust_trace_replays_through_the_binary() {
    let place = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_kgagent"))
            .args(args)
            .current_dir(place.path())
            .output()
            .unwrap();
        (
            out.status.code().unwrap(),
            String::from_utf8_lossy(&out.stdout).into_owned()
                + &String::from_utf8_lossy(&out.stderr),
        )
    };
    let files = [data("graph.ttl"), data("ontology.ttl")];
    assert_eq!(
        run(&[
            "kg",
            "load",
            "--kg",
            "g",
            files[0].to_str().unwrap(),
            files[1].to_str().unwrap()
        ])
        .0,
        0
    );
    std::fs::write(
        place.path().join("calls"),
        format!("{LIST}\nv0 = nonsense(\n{PARTNER}\nans = end(v0)\n"),
    )
    .unwrap();
    let ask = [
        "ask",
        "--kg",
        "g",
        "--model",
        "scripted:calls",
        "--entity",
        "goethe",
        QUESTION,
        "--trace",
        "t.jsonl",
    ];
    assert_eq!(run(&ask).0, 1, "the paper's loop ends at the error");
    let (code, out) = run(&[&ask[..], &["--mode", "robust"]].concat());
    assert_eq!(code, 0, "{out}");
    let (code, out) = run(&["replay", "t.jsonl", "--kg", "g"]);
    assert_eq!(code, 0, "{out}");
}
