//! The KG-Agent loop end to end on small graphs, without training: transcripts, traces, constrained
//! decoding with random weights.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::support::{graph, questions, random_model};
use common::acceptor::Acceptor;
use common::transcript::Turn;
use datagen::pipeline::{GenerateOptions, generate};
use datagen::verify::{VerifyOptions, verify};
use infer::agent::{Task, kg_agent};
use infer::engine::EngineDevice;
use infer::planner::{LocalModel, LocalPlanner, Oracle, Planner};
use kg::{FrozenKg, Kg};
use model::{KgAgentInfo, Tokenizer};
use toolbox::call::{Arg, CallAcceptor, parse_call};
use toolbox::exec::{ExecOptions, Naming, Session};
use toolbox::grammar::Grammar;
use toolbox::link::Linked;
use toolbox::prompt::{Conversation, Layout, Template};

/// The dialogue template with every naming and with observations, and the paper's template.
fn templates() -> Vec<Template> {
    let dialogue = |naming| Template {
        naming,
        ..Template::new(Layout::Dialogue)
    };
    let observing = Template {
        observe: true,
        ..dialogue(Naming::Mixed)
    };
    vec![
        dialogue(Naming::Mixed),
        dialogue(Naming::Mentions),
        dialogue(Naming::Handles),
        observing,
        Template::new(Layout::Paper),
    ]
}

/// A gold program fed through the loop gives the training transcript byte for byte, in both
/// layouts.
#[test]
fn the_loop_writes_the_training_transcripts() {
    let kg = graph();
    let questions = questions(&kg, "questions.train.jsonl");
    for template in templates() {
        let form = format!("{:?} {:?}", template.layout, template.naming);
        let options = GenerateOptions {
            template: template.clone(),
            abstain: 0.0,
            valid: 0.0,
            ..GenerateOptions::default()
        };
        let made = generate(
            &questions,
            &kg,
            &options,
            &|_, _| {},
            &AtomicBool::new(false),
        )
        .unwrap();
        let mut compared = 0;
        for question in &questions {
            let Ok(verified) = verify(&kg, question, &VerifyOptions::default()) else {
                continue;
            };
            let task = Task {
                kg: &kg,
                question: &question.question,
                linked: verified.linked.clone(),
                must_offer: &verified.must_offer,
                options: verified.exec_options(&VerifyOptions::default()),
                template: &template,
                planner_name: "oracle",
                model_knowledge: false,
                watcher: None,
            };
            let outcome =
                kg_agent::answer(&task, &mut Oracle::new(verified.gold.calls.clone())).unwrap();
            assert_eq!(outcome.invalid, 0, "{}", question.id);
            let trained: Vec<_> = made
                .train
                .iter()
                .filter(|example| example.id == question.id)
                .collect();
            let text = |turns: &[Turn]| {
                turns
                    .iter()
                    .map(|turn| format!("{:?}|{}", turn.role, turn.text()))
                    .collect::<Vec<_>>()
            };
            for (sample, example) in outcome.samples.iter().zip(trained) {
                let read: Vec<String> = example
                    .messages
                    .iter()
                    .map(|message| format!("{:?}|{}", message.role, message.content))
                    .collect();
                assert_eq!(text(sample), read, "{} in {form}", question.id);
                compared += 1;
            }
        }
        assert!(compared > 150, "only {compared} samples compared in {form}");
    }
}

/// Number of calls of each kind that the suite decodes; the long test decodes 100,000.
const RANDOM_CALLS: usize = 1_500;

/// Decodes calls on one question after another, checks that each uses only live names and runs it,
/// until there are `wanted` calls. Returns the number of questions that the writer ended.
fn check_live(
    kg: &FrozenKg,
    questions: &[datagen::question::GoldQuestion],
    template: &Template,
    wanted: usize,
    write: &mut dyn FnMut(&infer::planner::PlannerInput<'_, '_>) -> String,
) -> (usize, usize) {
    let (mut calls, mut ended) = (0, 0);
    for question in questions {
        let topics: Vec<_> = question
            .topics
            .iter()
            .filter_map(|topic| kg.by_name(&topic.name))
            .collect();
        let linked = Linked::new(kg, &question.question, &topics);
        let mut session = Session::new(
            kg,
            &question.question,
            linked,
            &[],
            ExecOptions {
                max_steps: 6,
                ..ExecOptions::default()
            },
        )
        .unwrap();
        let mut conversation = Conversation::open(template, &session);
        while session.answer().is_none() && session.steps().len() < 6 && calls < wanted {
            let written = write(&infer::planner::PlannerInput {
                session: &session,
                template,
                turns: conversation.prompt(),
            });
            let live = session.live(template.naming);
            let call = parse_call(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
            for arg in &call.args {
                if let Arg::Var(index) = arg {
                    assert!(
                        *index < live.next_var,
                        "{written} names a variable that is not live"
                    );
                }
            }
            assert!(
                CallAcceptor::new(live).accepts(&written),
                "{written} names something that is not live"
            );
            session
                .run(&call)
                .unwrap_or_else(|error| panic!("{written}: {error}"));
            conversation.record(&session, &written).unwrap();
            calls += 1;
        }
        assert!(
            session.answer().is_some() || calls >= wanted,
            "{} took all its calls and did not end",
            question.id
        );
        ended += usize::from(session.answer().is_some());
    }
    (calls, ended)
}

/// Calls decoded from random weights all parse, use only live names and end within the budget.
fn random_weights(wanted: usize) {
    let kg = graph();
    let questions = questions(&kg, "questions.train.jsonl");
    let dir = tempfile::tempdir().unwrap();
    let dialogues: Vec<Template> = templates()
        .into_iter()
        .filter(|template| template.layout == Layout::Dialogue)
        .collect();
    let (mut calls, mut seed) = (0, 0);
    while calls < wanted {
        seed += 1;
        let template = &dialogues[seed as usize % dialogues.len()];
        let model = random_model(&dir.path().join(seed.to_string()), &[template], seed);
        let mut planner = LocalPlanner::new(&model);
        calls += check_live(&kg, &questions, template, wanted - calls, &mut |moment| {
            planner.propose(moment).unwrap().text
        })
        .0;
    }
    println!("{calls} calls decoded from {seed} random models");
}

/// The same from degenerate logits: all equal, NaN, infinities, everything on the end token, noise.
fn degenerate_logits(wanted: usize) {
    use infer::engine::{Decoder, EngineError, Vocab, generate};

    struct Logits {
        kind: usize,
        state: u64,
        end: usize,
        values: Vec<f32>,
    }

    impl Decoder for Logits {
        fn next(&mut self, ids: &[u32]) -> Result<&[f32], EngineError> {
            for (i, value) in self.values.iter_mut().enumerate() {
                self.state = self
                    .state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let noise = (self.state >> 40) as f32 / (1 << 24) as f32 - 0.5;
                *value = match self.kind {
                    0 => 0.0,
                    1 => f32::NAN,
                    2 => f32::INFINITY,
                    3 => f32::NEG_INFINITY,
                    4 => [f32::NAN, f32::INFINITY, f32::MIN, f32::MAX, -0.0][(i + ids.len()) % 5],
                    5 if i == self.end => 1e30,
                    6 => noise * 1e20,
                    _ => noise,
                };
            }
            Ok(&self.values)
        }

        fn vocab_size(&self) -> usize {
            self.values.len()
        }

        fn max_context(&self) -> usize {
            4096
        }
    }

    let kg = graph();
    let questions = questions(&kg, "questions.train.jsonl");
    let texts: Vec<String> = questions
        .iter()
        .map(|question| question.question.clone())
        .collect();
    let tokenizer = Tokenizer::train_bpe(texts.iter(), 700).unwrap();
    let parsed = &serde_json::from_slice(&tokenizer.to_bytes().unwrap()).unwrap();
    let size = tokenizer.vocab_size();
    let chat = model::ChatFormat::new(tokenizer).unwrap();
    let vocab = Vocab::of_tokenizer(parsed, chat.end_of_turn());
    let encode = |text: &str| chat.tokenizer().encode(text).unwrap();
    let dialogues: Vec<Template> = templates()
        .into_iter()
        .filter(|template| template.layout == Layout::Dialogue)
        .collect();
    let (mut calls, mut ended, mut round) = (0, 0, 0);
    while calls < wanted {
        let kind = round % 8;
        let mut logits = Logits {
            kind,
            state: round as u64,
            end: vocab.end as usize,
            values: vec![0.0; size],
        };
        let mut write = |moment: &infer::planner::PlannerInput<'_, '_>| {
            let acceptor = CallAcceptor::new(moment.session.live(moment.template.naming));
            let written =
                generate(&mut logits, &[vocab.end], &acceptor, &encode, &vocab, 256).unwrap();
            assert!(written.ids.len() <= 256);
            written.text
        };
        // A part of the questions per round, so that a short run sees every kind.
        let some = &questions[(round * 17) % 200..][..questions.len().min(40)];
        let (made, finished) = check_live(
            &kg,
            some,
            &dialogues[round % dialogues.len()],
            wanted - calls,
            &mut write,
        );
        (calls, ended, round) = (calls + made, ended + finished, round + 1);
    }
    assert!(round >= 8, "only {round} kinds of logits were tried");
    println!("{calls} calls decoded from made-up logits, {ended} questions ended");
}

#[test]
fn random_weights_write_only_valid_calls() {
    random_weights(RANDOM_CALLS);
}

#[test]
fn uniform_and_adversarial_logits_write_only_valid_calls() {
    degenerate_logits(2 * RANDOM_CALLS);
}

/// The GPU's operations give the same answers as the CPU's kernels, step by step.
#[test]
fn tensors_and_kernels_give_the_same_answers() {
    let kg = graph();
    let template = Template::new(Layout::Dialogue);
    let dir = tempfile::tempdir().unwrap();
    random_model(dir.path(), &[&template], 5);
    let models = [EngineDevice::Cpu, EngineDevice::Tensors]
        .map(|processor| Arc::new(LocalModel::open_on(processor, dir.path()).unwrap()));
    let mut programs = BTreeSet::new();
    for question in questions(&kg, "questions.train.jsonl")
        .iter()
        .step_by(40)
        .take(6)
    {
        let topics: Vec<_> = question
            .topics
            .iter()
            .filter_map(|topic| kg.by_name(&topic.name))
            .collect();
        let [kernels, tensors] = models.each_ref().map(|model| {
            let task = Task {
                kg: &kg,
                question: &question.question,
                linked: Linked::new(&kg, &question.question, &topics),
                must_offer: &[],
                options: ExecOptions {
                    max_steps: 5,
                    ..ExecOptions::default()
                },
                template: &template,
                planner_name: "local model",
                model_knowledge: false,
                watcher: None,
            };
            kg_agent::answer(&task, &mut LocalPlanner::new(model))
                .unwrap()
                .answer
        });
        assert!(!kernels.program.is_empty());
        assert_eq!(kernels.program, tensors.program, "{}", question.id);
        assert_eq!(kernels.value, tensors.value, "{}", question.id);
        programs.insert(kernels.program);
    }
    assert!(programs.len() > 1, "{programs:?}");
}

/// `cargo test --workspace --test agents agent:: -- --ignored --nocapture`: the figure of docs/results.md.
#[test]
#[ignore = "minutes"]
fn a_hundred_thousand_calls_are_all_valid() {
    random_weights(50_000);
    degenerate_logits(50_000);
}

/// A model with random weights puts nearly all probability outside the allowed tokens: with
/// threshold 0 it abstains, with threshold 1 it continues.
#[test]
fn a_model_above_its_abstention_threshold_abstains() {
    let kg = graph();
    let template = Template::new(Layout::Dialogue);
    let dir = tempfile::tempdir().unwrap();
    let question = "Who directed The Third Man?";
    let linked = Linked::new(&kg, question, &[kg.by_name("third_man").unwrap()]);
    let mut session = Session::new(&kg, question, linked, &[], ExecOptions::default()).unwrap();
    let mut conversation = Conversation::open(&template, &session);
    session
        .run(&parse_call("get_relation(e0)").unwrap())
        .unwrap();
    conversation.record(&session, "get_relation(e0)").unwrap();
    let moment = infer::planner::PlannerInput {
        session: &session,
        template: &template,
        turns: conversation.prompt(),
    };
    let mut went_on = 0;
    for seed in 0..6 {
        let model = random_model(&dir.path().join(seed.to_string()), &[&template], seed);
        let proposed = |threshold: f64| {
            LocalPlanner::new(&model)
                .with_abstention_threshold(threshold)
                .propose(&moment)
                .unwrap()
                .text
        };
        assert_eq!(proposed(0.0), "ans = end([])");
        went_on += usize::from(proposed(1.0) != "ans = end([])");
        // Free text is never replaced by an abstention.
        let free = |threshold: f64| {
            LocalPlanner::new(&model)
                .with_abstention_threshold(threshold)
                .write(moment.turns, &Grammar::free(1, 9, ""))
                .unwrap()
                .text
        };
        assert_eq!(free(0.0), free(1.0));
        assert!(
            (0.9..1.0).contains(&model.abstention_threshold()),
            "of a model that says nothing little is asked"
        );
    }
    assert!(went_on > 0);
    // A threshold measured in training is the model's default.
    let about = dir.path().join("0/kgagent.json");
    let mut info: KgAgentInfo = serde_json::from_slice(&fs::read(&about).unwrap()).unwrap();
    info.abstention_threshold = Some(0.625);
    fs::write(&about, serde_json::to_vec(&info).unwrap()).unwrap();
    assert_eq!(
        LocalModel::open(&dir.path().join("0"))
            .unwrap()
            .abstention_threshold()
            .to_bits(),
        0.625_f64.to_bits()
    );
}
