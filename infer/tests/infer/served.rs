//! Models behind servers: replies in any form are either read correctly or reported, and the key is
//! never repeated.

use std::time::{Duration, Instant};

use crate::server::{Answer, KEY, Server, say, stream, tool};
use infer::InferError;
use infer::agent::{AgentKind, Outcome, Robust, Task, answer_with};
use infer::planner::{Constraint, Endpoint, Planner, Protocol, RemoteOptions, RemotePlanner};
use kg::term::Term;
use kg::{FrozenKg, Kg};
use serde_json::{Value, json};
use toolbox::exec::ExecOptions;
use toolbox::grammar::Grammar;
use toolbox::prompt::{Layout, Template};
use toolbox::trace::{self, TraceEvent};
use toolbox::usage::ServedUsage;

const LIST: &str = "get_relation(e0)";
const WALK: &str = "v0 = get_tail_entity(e0, <partner of>)";
const END: &str = "ans = end(v0)";

fn graph() -> FrozenKg {
    let iri = |name: &str| Term::Iri(name.to_owned());
    FrozenKg::from_triples([
        [iri("x:goethe"), iri("x:partner of"), iri("x:vulpius")],
        [iri("x:goethe"), iri("x:born_in"), iri("x:frankfurt")],
    ])
}

fn planner(server: &Server, change: impl FnOnce(&mut RemoteOptions)) -> RemotePlanner {
    let mut options = RemoteOptions {
        key: Some(KEY.to_owned()),
        deadline: Duration::from_secs(20),
        ..RemoteOptions::new(&server.url)
    };
    change(&mut options);
    RemotePlanner::new(options).unwrap()
}

/// Answers a question with a served model.
fn answer(planner: &mut dyn Planner, agent: &AgentKind) -> Result<Outcome, InferError> {
    answer_in(Layout::Dialogue, planner, agent)
}

fn answer_in(
    layout: Layout,
    planner: &mut dyn Planner,
    agent: &AgentKind,
) -> Result<Outcome, InferError> {
    let kg = graph();
    let template = Template::new(layout);
    let entities = [kg.by_name("x:goethe").unwrap()];
    let task = Task::about(
        &kg,
        "who was the partner of goethe?",
        &entities,
        ExecOptions::default(),
        &template,
        "server",
    );
    answer_with(agent, task, planner)
}

/// Everything that a user could see of an outcome.
fn seen(outcome: &Result<Outcome, InferError>) -> String {
    match outcome {
        Ok(outcome) => {
            let mut bytes = Vec::new();
            trace::write(&outcome.events, &mut bytes).unwrap();
            let object = outcome.object("q", &[]).to_string();
            String::from_utf8(bytes).unwrap() + &object + &outcome.answer_text(9)
        }
        Err(error) => format!("{error} {error:?}"),
    }
}

fn calls(outcome: &Outcome) -> Vec<&str> {
    let texts = outcome.events.iter().filter_map(|event| match event {
        TraceEvent::Call { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// What a recorded reply must come to.
enum Expected {
    /// The first call is `get_relation(e0)`, after this many requests.
    Read(usize),
    /// The question has no answer, and the trace or the error says this.
    Reported(&'static str),
}

use Expected::{Read, Reported};

/// A recorded reply to the first turn, in which `get_relation(e0)` is right. All further requests get plain
/// answers.
type Recorded = (&'static str, Answer, Expected);

fn body(text: &str) -> Answer {
    Answer::Raw(200, "", text.as_bytes().to_vec())
}

fn long(unit: &str) -> String {
    unit.repeat(100_000 / unit.len() + 1)
}

/// A reply that is no UTF-8, with this end.
fn invalid(end: &[u8]) -> Answer {
    let begin = br#"{"choices":[{"message":{"content":"so "#;
    Answer::Raw(200, "", [&begin[..], &[0xff, 0xfe, 0xc3], end].concat())
}

/// Calls in every wrapping.
fn wrapped() -> Vec<Recorded> {
    vec![
        ("plain", say(LIST), Read(1)),
        ("white space", say("\n\n  get_relation(e0)  \n"), Read(1)),
        ("a fence", say("```\nget_relation(e0)\n```"), Read(1)),
        (
            "a fence with a language",
            say("Sure!\n```python\nget_relation(e0)\n```\nDone."),
            Read(1),
        ),
        ("inline code", say("I call `get_relation(e0)`."), Read(1)),
        ("a semicolon", say("get_relation(e0);"), Read(1)),
        (
            "ReAct",
            say("Thought: I need its relations.\nAction: get_relation(e0)"),
            Read(1),
        ),
        (
            "ReAct on one line",
            say("Thought: end(v0) is too early. Action: get_relation(e0)"),
            Read(1),
        ),
        (
            "ReAct in brackets",
            say("Action: get_relation[e0]"),
            Read(1),
        ),
        (
            "ReAct with an imagined result",
            say("Action: get_relation(e0)\nObservation: out x\nAction: ans = end([])"),
            Read(1),
        ),
        (
            "LangChain",
            say("Action: get_relation\nAction Input: e0"),
            Read(1),
        ),
        (
            "bold labels",
            say("**Thought:** hm\n**Action 1:** get_relation(e0)"),
            Read(1),
        ),
        (
            "a numbered plan",
            say("1. get_relation(e0)\n2. ans = end(v0)"),
            Read(1),
        ),
        (
            "several calls",
            say("get_relation(e0)\nv0 = get_tail_entity(e0, <partner of>)\nans = end(v0)"),
            Read(1),
        ),
        (
            "prose",
            say("First, get_relation(e0) should show what links Goethe to a partner."),
            Read(1),
        ),
        (
            "an impossible call first",
            say("Not get_relation(v9), but get_relation(e0)."),
            Read(1),
        ),
    ]
}

/// Thoughts, parts, other notations and lengths.
fn with_more() -> Vec<Recorded> {
    let message = Answer::Message;
    vec![
        (
            "thoughts in tags",
            say("<think>Maybe ans = end([])?</think>\nget_relation(e0)"),
            Read(1),
        ),
        (
            "thoughts that the prompt began",
            say("Maybe ans = end([])?\n</think>\n\nget_relation(e0)"),
            Read(1),
        ),
        (
            "Mistral's thoughts",
            say("[THINK]ans = end([])[/THINK]get_relation(e0)"),
            Read(1),
        ),
        (
            "thoughts in a field",
            message(json!({ "content": LIST, "reasoning_content": "ans = end([])" })),
            Read(1),
        ),
        (
            "thoughts in the newer field",
            message(json!({ "content": LIST, "reasoning": "ans = end([])" })),
            Read(1),
        ),
        (
            "content in parts",
            message(
                json!({ "content": [{ "type": "text", "text": "get_relation" }, { "type": "text", "text": "(e0)" }] }),
            ),
            Read(1),
        ),
        ("quotation marks", say("get_relation(\"e0\")"), Read(1)),
        ("a named argument", say("get_relation(set='e0')"), Read(1)),
        (
            "a call over lines",
            say("get_relation(\n    e0\n)"),
            Read(1),
        ),
        (
            "Hermes",
            say(
                "<tool_call>\n{\"name\": \"get_relation\", \"arguments\": {\"set\": \"e0\"}}\n</tool_call>",
            ),
            Read(1),
        ),
        (
            "JSON in a fence",
            say("```json\n{\"tool\": \"get_relation\", \"args\": {\"set\": \"e0\"}}\n```"),
            Read(1),
        ),
        (
            "a tool call unasked",
            tool("get_relation", "{\"set\":\"e0\"}"),
            Read(1),
        ),
        (
            "100 kB of prose before",
            say(&(long("It is hard. ") + LIST)),
            Read(1),
        ),
        (
            "100 kB of thoughts",
            say(&format!("<think>{}</think>{LIST}", long("hm "))),
            Read(1),
        ),
        (
            "invalid UTF-8 before a call",
            invalid(br#"get_relation(e0)"}}]}"#),
            Read(1),
        ),
        (
            "no usage",
            body(r#"{"choices":[{"message":{"content":"get_relation(e0)"}}]}"#),
            Read(1),
        ),
    ]
}

/// Replies after which the question is asked again.
fn asked_again() -> Vec<Recorded> {
    let message = Answer::Message;
    vec![
        ("an unknown tool", say("look_up(e0)"), Read(2)),
        ("an empty turn", say(""), Read(2)),
        (
            "an empty turn of nothing",
            message(json!({ "role": "assistant", "content": null })),
            Read(2),
        ),
        (
            "only thoughts",
            message(json!({ "content": "", "reasoning_content": LIST })),
            Read(2),
        ),
        (
            "cut off in a call",
            Answer::Cut(json!({ "content": "get_relation(e" })),
            Read(2),
        ),
        (
            "cut off in thoughts",
            Answer::Cut(json!({ "content": "<think>get_relation(e0)" })),
            Read(2),
        ),
        ("invalid UTF-8 in the call", invalid(br#""}}]}"#), Read(2)),
        (
            "100 kB of brackets",
            say(&long("get_relation((((")),
            Read(2),
        ),
        (
            "a tool call with wrong JSON",
            tool("get_relation", "{\"set\":"),
            Read(2),
        ),
        ("half a body", Answer::Close, Read(2)),
        ("a server that dies", Answer::Die, Read(2)),
        ("no JSON", body("<html>busy</html>"), Read(2)),
        (
            "an error in a good answer",
            body(r#"{"error":{"message":"overloaded"}}"#),
            Read(2),
        ),
        (
            "too many requests",
            Answer::Raw(429, "retry-after: 0\r\n", b"slow down".to_vec()),
            Read(2),
        ),
        (
            "out of order",
            Answer::Raw(503, "", b"loading".to_vec()),
            Read(2),
        ),
    ]
}

/// Replies that end the question.
fn ending() -> Vec<Recorded> {
    vec![
        (
            "a wrong key",
            Answer::Raw(
                401,
                "",
                format!("{{\"error\":\"no key {KEY}\"}}").into_bytes(),
            ),
            Reported("status 401: {\"error\":\"no key [key]\"}"),
        ),
        (
            "a redirection",
            Answer::Raw(307, "location: http://elsewhere.example/v1\r\n", Vec::new()),
            Reported("redirects to `http://elsewhere.example/v1`"),
        ),
        (
            "a wait of an hour",
            Answer::Raw(429, "retry-after: 3600\r\n", b"no".to_vec()),
            Reported("the next try is due in 3600"),
        ),
        (
            "more than a megabyte",
            say(&"x".repeat(2 << 20)),
            Reported("more than 1048576 bytes"),
        ),
    ]
}

fn recorded() -> Vec<Recorded> {
    let all = [wrapped(), with_more(), asked_again(), ending()];
    all.into_iter().flatten().collect()
}

#[test]
fn recorded_replies_are_read_as_intended_or_reported() {
    let cases = recorded();
    assert!(cases.len() >= 40, "{}", cases.len());
    for (name, reply, expected) in cases {
        let again = match expected {
            Read(2) => Some(say(LIST)),
            _ => None,
        };
        let rest = again.into_iter().chain([say(WALK), say(END)]);
        let server = Server::start(std::iter::once(reply).chain(rest).collect());
        let outcome = answer(&mut planner(&server, |_| {}), &AgentKind::KgAgent);
        let text = seen(&outcome);
        assert!(!text.contains(KEY), "{name}: the key is in {text}");
        match expected {
            Read(requests) => {
                let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(calls(&outcome), [LIST, WALK, END], "{name}: {text}");
                assert_eq!(server.requests(), requests + 2, "{name}");
                assert_eq!(outcome.answer_text(9), "vulpius", "{name}");
            }
            Reported(says) => {
                assert!(text.contains(says), "{name}: {text}");
                assert!(
                    outcome.is_err_and(|error| error.to_string().contains(&server.url)),
                    "{name}: the error names the server"
                );
            }
        }
    }
}

/// The rest of a reply is kept in the trace, with what was wrong and what the server counted.
#[test]
fn a_trace_has_the_rest_of_a_reply_and_the_tokens() {
    let server = Server::start(vec![
        Answer::Cut(json!({ "content": "<think>long" })),
        Answer::Message(
            json!({ "content": format!("Thought: list\nAction: {LIST}"), "reasoning_content": "deep" }),
        ),
        say(WALK),
        say(END),
    ]);
    let outcome = answer(&mut planner(&server, |_| {}), &AgentKind::KgAgent).unwrap();
    let replies: Vec<_> = outcome
        .events
        .iter()
        .filter_map(|event| match event {
            TraceEvent::Reply(reply) => Some(reply),
            _ => None,
        })
        .collect();
    assert_eq!(replies.len(), 4);
    assert!(
        replies[0]
            .problem
            .as_deref()
            .unwrap()
            .contains("cut off at 256 tokens")
    );
    assert_eq!(
        (replies[1].text.as_str(), replies[1].thought.as_str()),
        ("Thought: list\nAction: get_relation(e0)", "deep")
    );
    assert_eq!((replies[2].text.as_str(), &replies[2].problem), ("", &None));
    let counted = ServedUsage {
        requests: 4,
        prompt_tokens: 28,
        cached_tokens: 20,
        completion_tokens: 12,
    };
    assert_eq!(outcome.served, Some(counted));
    assert_eq!(outcome.object("q", &[])["served"], json!(counted));
    assert_eq!(outcome.tokens, 40);
    // The reason goes back to the model.
    let requests = server.seen.lock().unwrap();
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert!(
        last["content"].as_str().unwrap().contains("cut off"),
        "{last}"
    );
}

#[test]
fn replies_that_stay_unusable_are_named_in_the_answer() {
    for (reply, says) in [
        (say(" "), "the turn is empty"),
        (
            Answer::Cut(json!({ "content": "I" })),
            "cut off at 256 tokens",
        ),
        (
            say("I do not know."),
            "nothing in the turn can be used here",
        ),
        (tool("walk", "{}"), "`walk` is no tool"),
    ] {
        let server = Server::start(vec![reply]);
        let outcome = answer(&mut planner(&server, |_| {}), &AgentKind::KgAgent).unwrap();
        assert!(
            outcome.answer_text(9).contains(says),
            "{}",
            outcome.answer_text(9)
        );
        assert_eq!(server.requests(), 3);
    }
}

/// A free reply comes whole, without its thoughts, streamed or not. It is never constrained, and a
/// sample has a seed of its own.
#[test]
fn free_replies_come_whole_and_without_thoughts() {
    use common::transcript::{Part, Role, Turn};
    let said = "Thought: near Tokyo.\nAction: GetNeighbor\nEntity_id: Q1490";
    let thought = format!("<think>Action: Answer</think>\n{said}\n");
    let reasoned = json!({ "role": "assistant", "content": said, "reasoning_content": "Hm." });
    let pieces: Vec<&str> = thought.split_inclusive(' ').collect();
    for (answer, streamed) in [
        (say(&thought), false),
        (Answer::Message(reasoned), false),
        (stream(&pieces), true),
    ] {
        let server = Server::start(vec![answer]);
        let mut planner = planner(&server, |options| {
            options.constraint = Constraint::StructuredOutputs;
            options.temperature = 0.4;
            options.shots = 3;
            options.stream = streamed;
        });
        let turns = [Turn::shown(Role::User, vec![Part::ours("What next?")])];
        assert_eq!(planner.reply(&turns).unwrap().text, said);
        planner.resample(2);
        planner.reply(&turns).unwrap();
        let requests = server.seen.lock().unwrap();
        let only = json!([{ "role": "user", "content": "What next?" }]);
        for (request, seed) in requests.iter().zip([1, 3]) {
            assert_eq!(
                (&request["messages"], &request["seed"]),
                (&only, &json!(seed))
            );
            assert!(request.get("structured_outputs").is_none(), "{request}");
        }
    }
    // A reply of thoughts alone is reported.
    let cut = json!({ "role": "assistant", "content": "<think>and so on" });
    let server = Server::start(vec![Answer::Cut(cut)]);
    let mut planner = planner(&server, |_| {});
    let turns = [Turn::shown(Role::User, vec![Part::ours("What next?")])];
    let proposal = planner.reply(&turns).unwrap();
    assert_eq!(proposal.text, "");
    let problem = proposal.replies[0].problem.as_deref().unwrap();
    assert!(problem.contains("--max-tokens"), "{problem}");
}

#[test]
fn tools_are_defined_called_and_answered_in_their_own_messages() {
    let server = Server::start(vec![
        tool("get_relation", "{\"set\":\"e0\"}"),
        tool(
            "get_tail_entity",
            "{\"set\":\"e0\",\"relation\":\"x:unknown\"}",
        ),
        tool(
            "get_tail_entity",
            "{\"set\":\"e0\",\"relation\":\"partner of\"}",
        ),
        tool("end", "{\"set\":\"v0\"}"),
    ]);
    let mut planner = planner(&server, |options| {
        options.protocol = Protocol::Tools;
        options.shots = 1;
    });
    let outcome = answer(&mut planner, &AgentKind::KgAgent).unwrap();
    assert_eq!(calls(&outcome), [LIST, WALK, END]);
    assert_eq!(outcome.answer_text(9), "vulpius");
    let requests = server.seen.lock().unwrap();
    let first = &requests[0];
    assert_eq!(
        first["tools"].as_array().unwrap().len(),
        toolbox::call::SIGNATURES.len()
    );
    assert_eq!(first["tool_choice"], "required");
    let role = |message: &Value| message["role"].as_str().unwrap().to_owned();
    for request in requests.iter() {
        // Every call has its own id and a result right after it.
        let messages = request["messages"].as_array().unwrap();
        let mut ids = Vec::new();
        for (message, next) in messages.iter().zip(&messages[1..]) {
            let Some(call) = message["tool_calls"].get(0) else {
                assert_ne!(role(next), "tool", "{next}");
                continue;
            };
            assert_eq!(
                (role(next).as_str(), &next["tool_call_id"]),
                ("tool", &call["id"])
            );
            assert!(
                serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap())
                    .is_ok()
            );
            ids.push(call["id"].clone());
        }
        let all = ids.len();
        ids.dedup();
        assert_eq!(all, ids.len());
    }
    let last = requests[3]["messages"].as_array().unwrap();
    assert_eq!(last[last.len() - 1]["content"], "v0: one");
    let rejected = requests[2]["messages"].as_array().unwrap();
    let why = rejected[rejected.len() - 1]["content"].as_str().unwrap();
    assert!(
        why.starts_with("error: `v0 = get_tail_entity(e0, x:unknown)` is not possible"),
        "{why}"
    );
    drop(requests);
    // Other agents' turns are text, and settings that contradict each other are refused.
    let server = Server::start(vec![say("red")]);
    let mut text = self::planner(&server, |options| options.protocol = Protocol::Tools);
    assert_eq!(
        text.write(&[], &Grammar::one_of(["red"])).unwrap().text,
        "red"
    );
    assert!(server.seen.lock().unwrap()[0].get("tools").is_none());
    for change in [
        |options: &mut RemoteOptions| options.constraint = Constraint::Grammar,
        |options: &mut RemoteOptions| options.own = true,
    ] {
        let mut options = RemoteOptions::new("http://localhost/v1");
        options.protocol = Protocol::Tools;
        change(&mut options);
        assert!(RemotePlanner::new(options).is_err());
    }
}

#[test]
fn a_model_without_a_chat_template_gets_one_text() {
    let text = |text: &str| {
        let body = json!({ "choices": [{ "text": text, "finish_reason": "stop" }] });
        Answer::Raw(200, "", body.to_string().into_bytes())
    };
    let piece = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] }));
    let streamed = Answer::Stream(vec![
        piece(json!({ "text": "v0 = get_tail_entity(e0, " })),
        piece(json!({ "text": "<partner of>)\n", "finish_reason": "stop" })),
        "data: [DONE]\n\n".to_owned(),
    ]);
    let server = Server::start(vec![text(&format!(" {LIST}\n")), streamed, text(END)]);
    let mut planner = planner(&server, |options| {
        options.endpoint = Endpoint::Completions;
        options.shots = 1;
        options.stop = vec!["Observation:".to_owned()];
    });
    let outcome = answer(&mut planner, &AgentKind::KgAgent).unwrap();
    assert_eq!(calls(&outcome), [LIST, WALK, END]);
    let seen = server.seen.lock().unwrap();
    let prompt = seen[1]["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("kg-agent\n"), "{prompt}");
    // The turns so far stand at the end, after the worked example.
    let last = format!("\n\n### Output\n{LIST}\n\n### Input\n");
    let (before, result) = prompt.rsplit_once(&last).unwrap();
    assert!(result.contains("partner of"), "{result}");
    assert!(result.ends_with("\n\n### Output\n"), "{result}");
    assert!(before.matches("### Output").count() > 3, "{before}");
    assert_eq!(seen[1]["stop"], json!(["Observation:", "\n###"]));
    assert!(seen[1].get("messages").is_none());
    for change in [
        |options: &mut RemoteOptions| options.own = true,
        |options: &mut RemoteOptions| options.protocol = Protocol::Tools,
    ] {
        let mut options = RemoteOptions::new(&server.url);
        options.endpoint = Endpoint::Completions;
        change(&mut options);
        let error = RemotePlanner::new(options).err().unwrap().to_string();
        assert!(error.contains("leave out"), "{error}");
    }
}

/// Rules A.3: each call has a prompt of its own, with the tools, the current information of the graph
/// and the calls so far.
#[test]
fn the_paper_layout_asks_for_each_call_anew() {
    let list = "get_relation(goethe)";
    let walk = "v0 = get_tail_entity(goethe, <partner of>)";
    let server = Server::start(vec![say(list), say(walk), say(END)]);
    let mut planner = planner(&server, |options| options.shots = 3);
    let outcome = answer_in(Layout::Paper, &mut planner, &AgentKind::KgAgent).unwrap();
    assert_eq!(calls(&outcome), [list, walk, END]);
    let seen = server.seen.lock().unwrap();
    for (request, known) in seen
        .iter()
        .zip([[false, false], [true, false], [true, true]])
    {
        let messages = request["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|one| &one["role"]).collect();
        assert_eq!(roles, ["system", "user"]);
        let system = messages[0]["content"].as_str().unwrap();
        assert!(system.contains("get_entity_by_constraint"), "{system}");
        let user = messages[1]["content"].as_str().unwrap();
        assert_eq!(
            [list, walk].map(|call| user.contains(call)),
            known,
            "{user}"
        );
    }
}

#[test]
fn a_constraint_that_is_ignored_is_an_error() {
    for (constraint, field) in [
        (Constraint::Grammar, "grammar"),
        (Constraint::StructuredOutputs, "structured_outputs"),
        (Constraint::Ebnf, "ebnf"),
        (Constraint::JsonSchema, "response_format"),
    ] {
        let server = Server::start(vec![Answer::Obey(field)]);
        planner(&server, |options| options.constraint = constraint)
            .probe()
            .unwrap();
        assert_eq!(server.requests(), 1);
        // A server that knows another field only, as vLLM since 0.12 with the old one.
        let server = Server::start(vec![Answer::Obey("guided_grammar")]);
        let error = planner(&server, |options| options.constraint = constraint).probe();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("does not obey")
                && error.contains(constraint.name())
                && error.contains("it wrote `Yes.`"),
            "{error}"
        );
        // A server that refuses the field reports it.
        let server = Server::start(vec![Answer::Raw(400, "", b"unknown field".to_vec())]);
        let error = planner(&server, |options| options.constraint = constraint).probe();
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("status 400: unknown field")
        );
    }
    let server = Server::start(vec![Answer::Hang]);
    planner(&server, |_| {}).probe().unwrap();
    assert_eq!(server.requests(), 0, "nothing to try");
}

#[test]
fn a_json_schema_lists_the_live_calls() {
    let reply = |value: Value| say(&value.to_string());
    let server = Server::start(vec![
        reply(json!({ "call": { "tool": "get_relation", "set": "e0", "other_set": null } })),
        reply(
            json!({ "call": { "tool": "get_tail_entity", "set": "e0", "relation": "<partner of>" } }),
        ),
        reply(json!({ "call": { "tool": "end", "set": "v0" } })),
    ]);
    let mut planner = planner(&server, |options| {
        options.constraint = Constraint::JsonSchema;
    });
    let outcome = answer(&mut planner, &AgentKind::KgAgent).unwrap();
    assert_eq!(calls(&outcome), [LIST, WALK, END]);
    let requests = server.seen.lock().unwrap();
    let schema = |i: usize| requests[i]["response_format"]["json_schema"]["schema"].to_string();
    assert!(
        !schema(0).contains("<partner of>"),
        "only what has been shown is live"
    );
    assert!(schema(1).contains("<partner of>") && schema(1).contains("get_tail_entity"));
}

#[test]
fn a_stream_ends_once_the_model_goes_on_after_its_call() {
    let long: Vec<String> = (0..400).map(|i| format!(" word{i}")).collect();
    let mut texts = vec![
        "<think>end",
        "(v0)</think>",
        "get_rel",
        "ation(e0)",
        "\nThe",
    ];
    texts.extend(long.iter().map(String::as_str));
    let server = Server::start(vec![
        stream(&texts),
        stream(&[WALK]),
        stream(&["ans = ", "end(v0)"]),
    ]);
    let mut planner = planner(&server, |options| options.stream = true);
    let outcome = answer(&mut planner, &AgentKind::KgAgent).unwrap();
    assert_eq!(calls(&outcome), [LIST, WALK, END]);
    assert!(
        *server.sent.lock().unwrap() < 200,
        "{}",
        server.sent.lock().unwrap()
    );
    // Five pieces, and what the server counted for the two others.
    let counted = outcome.served.unwrap();
    assert_eq!(
        (
            counted.requests,
            counted.prompt_tokens,
            counted.completion_tokens
        ),
        (3, 18, 15)
    );
    assert_eq!(
        server.seen.lock().unwrap()[0]["stream_options"]["include_usage"],
        true
    );
    // Tool calls come in pieces too, and a stream that breaks off is asked for again.
    let piece = |delta: Value| format!("data: {}\n\n", json!({ "choices": [{ "delta": delta }] }));
    let call =
        |function: Value| piece(json!({ "tool_calls": [{ "index": 0, "function": function }] }));
    let whole = [
        call(json!({ "name": "get_relation" })),
        call(json!({ "arguments": "{\"set\":" })),
        call(json!({ "arguments": "\"e0\"}" })),
    ];
    let finish = format!(
        "data: {}\n\n",
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] })
    );
    let server = Server::start(vec![
        Answer::Stream(whole[..2].to_vec()),
        Answer::Stream(vec![
            "data: {\"error\": {\"message\": \"busy\"}}\n\n".to_owned(),
        ]),
        Answer::Stream(whole.iter().cloned().chain([finish]).collect()),
        tool(
            "get_tail_entity",
            "{\"set\":\"e0\",\"relation\":\"partner of\"}",
        ),
        tool("end", "{\"set\":\"v0\"}"),
    ]);
    let mut planner = self::planner(&server, |options| {
        (options.stream, options.protocol) = (true, Protocol::Tools);
    });
    let outcome = answer(&mut planner, &AgentKind::KgAgentRobust(Robust::default())).unwrap();
    assert_eq!(
        (calls(&outcome), server.requests()),
        (vec![LIST, WALK, END], 5)
    );
}

#[test]
fn settings_of_sampling_are_sent_and_left_out() {
    let server = Server::start(vec![say("red")]);
    let red = Grammar::one_of(["red"]);
    planner(&server, |_| {}).write(&[], &red).unwrap();
    planner(&server, |options| {
        (options.temperature, options.top_p, options.seed) = (0.5, Some(0.9), 3);
        options.stop = vec!["Observation:".to_owned()];
        options.max_tokens = 4000;
    })
    .write(&[], &red)
    .unwrap();
    let requests = server.seen.lock().unwrap();
    let fields = |i: usize| {
        ["temperature", "top_p", "seed", "stop", "max_tokens"].map(|name| requests[i][name].clone())
    };
    assert_eq!(
        fields(0),
        [json!(0), Value::Null, Value::Null, Value::Null, json!(256)]
    );
    assert_eq!(
        fields(1),
        [
            json!(0.5),
            json!(0.9),
            json!(3),
            json!(["Observation:"]),
            json!(4000)
        ]
    );
}

#[test]
fn a_server_that_asks_to_wait_is_waited_for() {
    let later = |header: &'static str| Answer::Raw(429, header, b"later".to_vec());
    let server = Server::start(vec![
        later("retry-after: 1\r\n"),
        later(""),
        later(""),
        later("retry-after: 0\r\n"),
        say("red"),
    ]);
    let begun = Instant::now();
    let red = Grammar::one_of(["red"]);
    // More refusals than retries: status 429 is not a failure.
    let mut patient = planner(&server, |options| options.retries = 0);
    assert_eq!(patient.write(&[], &red).unwrap().text, "red");
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(server.requests(), 5);
    // Requests to a server that hangs or refuses end at the deadline.
    for (answer, says) in [
        (later(""), "status 429"),
        (Answer::Hang, "no answer within 1.5s"),
    ] {
        let server = Server::start(vec![answer]);
        let mut planner = planner(&server, |options| {
            options.deadline = Duration::from_millis(1500);
        });
        let begun = Instant::now();
        let error = planner.write(&[], &red).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{:?}",
            begun.elapsed()
        );
    }
}
