//! The loop from end to end on small graphs, without training: transcripts, traces, constrained decoding with random weights.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datagen::pipeline::{GenerateOptions, generate};
use datagen::read::{ReadOptions, Source};
use datagen::verify::{VerifyOptions, verify};
use infer::agent::{Task, kg_agent};
use infer::planner::{LocalModel, LocalPlanner, Oracle, Planner};
use model::{KgAgentInfo, ModelFolder, Preset, Tokenizer};
use toolbox::call::{Arg, CallAcceptor, parse_call};
use toolbox::exec::{ExecOptions, Naming, Session};
use toolbox::kg::{Kg, LoadOptions, MemoryKg};
use toolbox::link::Linked;
use toolbox::memory::{Conversation, Layout, Template};
use toolbox::transcript::Turn;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

fn graph() -> MemoryKg {
    MemoryKg::load(&[data("graph.ttl"), data("ontology.ttl")], &LoadOptions::default(), &|_| {}).unwrap()
}

fn questions(kg: &MemoryKg, name: &str) -> Vec<datagen::question::GoldQuestion> {
    let source: Source = format!("jsonl={}", data(name).display()).parse().unwrap();
    source.read(Some(kg), &ReadOptions::default()).unwrap()
}

/// The dialogue template under every naming that it can have, and the paper's.
fn templates() -> Vec<Template> {
    let dialogue = |naming| Template { naming, ..Template::new(Layout::Dialogue) };
    vec![dialogue(Naming::Mixed), dialogue(Naming::Mentions), dialogue(Naming::Handles), Template::new(Layout::Paper)]
}

/// Feeding a gold program through the loop gives the training transcript byte for byte, in both layouts.
#[test]
fn the_loop_writes_what_training_reads() {
    let kg = graph();
    let questions = questions(&kg, "questions.train.jsonl");
    for template in templates() {
        let form = format!("{:?} {:?}", template.layout, template.naming);
        let options = GenerateOptions { template: template.clone(), abstain: 0.0, valid: 0.0, ..GenerateOptions::default() };
        let made = generate(&questions, &kg, &options, &|_, _| {}, &AtomicBool::new(false)).unwrap();
        let mut compared = 0;
        for question in &questions {
            let Ok(verified) = verify(&kg, question, &VerifyOptions::default()) else { continue };
            let task = Task {
                kg: &kg,
                question: &question.question,
                linked: verified.linked.clone(),
                must_offer: &verified.must_offer,
                options: verified.exec_options(&VerifyOptions::default()),
                template: &template,
                planner_name: "oracle",
            };
            let outcome = kg_agent::answer(task, &mut Oracle::new(verified.gold.calls.clone())).unwrap();
            assert_eq!(outcome.invalid, 0, "{}", question.id);
            let trained: Vec<_> = made.train.iter().filter(|example| example.id == question.id).collect();
            let text = |turns: &[Turn]| turns.iter().map(|turn| format!("{:?}|{}", turn.role, turn.text())).collect::<Vec<_>>();
            for (sample, example) in outcome.samples.iter().zip(trained) {
                let read: Vec<String> = example.messages.iter().map(|message| format!("{:?}|{}", message.role, message.content)).collect();
                assert_eq!(text(sample), read, "{} in {form}", question.id);
                compared += 1;
            }
        }
        assert!(compared > 150, "only {compared} samples compared in {form}");
    }
}

fn random_model(dir: &Path, texts: &[String], template: &Template, seed: u64) -> Arc<LocalModel> {
    let tokenizer = Tokenizer::train_bpe(texts.iter(), 700).unwrap();
    let mut config = Preset::Tiny.config(tokenizer.vocab_size());
    config.num_hidden_layers = 1;
    let weights = train::fresh_weights(&config, seed).unwrap();
    let info = KgAgentInfo {
        templates: [(template.agent.name().to_owned(), template.hash())].into(),
        layouts: vec!["dialogue".to_owned()],
        ..KgAgentInfo::default()
    };
    ModelFolder::write(dir, &config, &tokenizer, &info, &weights).unwrap();
    Arc::new(LocalModel::open(dir).unwrap())
}

/// Calls decoded from random weights all parse, name only what is live and end within the budget. The release figure of docs/results.md
/// is 10,000; the suite takes fewer.
const RANDOM_CALLS: usize = 1_500;

#[test]
fn random_weights_write_only_valid_calls() {
    let kg = graph();
    let questions = questions(&kg, "questions.train.jsonl");
    let texts: Vec<String> = questions.iter().map(|question| question.question.clone()).collect();
    let dir = tempfile::tempdir().unwrap();
    let wanted = std::env::var("KGAGENT_TEST_CALLS").ok().and_then(|n| n.parse().ok()).unwrap_or(RANDOM_CALLS);
    let dialogues: Vec<Template> = templates().into_iter().filter(|template| template.layout == Layout::Dialogue).collect();
    let (mut calls, mut seed) = (0, 0);
    while calls < wanted {
        seed += 1;
        let template = &dialogues[seed as usize % dialogues.len()];
        let model = random_model(&dir.path().join(seed.to_string()), &texts, template, seed);
        let mut planner = LocalPlanner::new(&model);
        for question in &questions {
            let topics: Vec<_> = question.topics.iter().filter_map(|topic| kg.by_name(&topic.name)).collect();
            let linked = Linked::new(&kg, &question.question, &topics);
            let mut session = Session::new(&kg, &question.question, linked, &[], ExecOptions { max_steps: 6, ..ExecOptions::default() });
            let mut conversation = Conversation::open(template, &session);
            while session.answer().is_none() && session.steps().len() < 6 && calls < wanted {
                let moment = infer::planner::Moment { session: &session, template, turns: conversation.prompt() };
                let written = planner.propose(&moment).unwrap().text;
                let live = session.live(template.naming);
                let call = parse_call(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
                for arg in &call.args {
                    if let Arg::Var(index) = arg {
                        assert!(*index < live.next_var, "{written} names a variable that is not live");
                    }
                }
                assert!(CallAcceptor::new(live).accepts(&written), "{written} names something that is not live");
                session.run(&call).unwrap_or_else(|error| panic!("{written}: {error}"));
                conversation.record(&session, &written);
                calls += 1;
            }
            assert!(session.answer().is_some() || calls >= wanted, "{} took all its calls and did not end", question.id);
        }
    }
    println!("{calls} calls decoded from {seed} random models");
}
