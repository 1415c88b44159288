//! A model behind an OpenAI-compatible server (llama.cpp, vLLM, SGLang) as planner. Only this file
//! of the crate opens connections.
//!
//! If the server supports grammars, a request carries the grammar of the live calls. Every answer
//! is checked, and an unusable one is requested again, at most [`RemoteOptions::reasks`] times,
//! with the reason. Every turn ends by its deadline, whatever the server does.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use common::acceptor::Acceptor;
use common::cancel::{Cancel, Cancelled};
use common::transcript::{Part, Role, Turn};
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::CallAcceptor;
use toolbox::gbnf;
use toolbox::grammar::Grammar;

use super::shots::{instructions, shots};
use super::{Planner, PlannerInput, Proposal};
use crate::InferError;

/// Maximum size of a response body.
const BODY: u64 = 1 << 20;
/// Characters of a server's message that an error quotes.
const QUOTED: usize = 300;
/// Pause before the first retry; doubled for each further one.
const PAUSE: Duration = Duration::from_millis(250);
/// Time between two looks at whether the question is cancelled.
const POLL: Duration = Duration::from_millis(20);
/// Calls that a repeated request shows as examples.
const EXAMPLES: usize = 8;

/// How the server is constrained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// Not at all; its output is checked.
    #[default]
    None,
    /// llama.cpp's field `grammar`.
    Grammar,
    /// vLLM's field `guided_grammar`.
    GuidedGrammar,
}

/// A server and the settings of requests.
#[derive(Clone)]
pub struct RemoteOptions {
    /// Base address, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name on the server.
    pub model: String,
    /// Bearer token.
    pub key: Option<String>,
    /// How the server is told what may be written.
    pub constraint: Constraint,
    /// Whether the model was trained by kgagent and exported; it then gets its training format.
    pub own: bool,
    /// Wall-clock limit of one turn, including all its requests.
    pub deadline: Duration,
    /// Retries after a transient failure (no connection, 429, 5xx).
    pub retries: usize,
    /// Times that an unusable answer is requested again.
    pub reasks: usize,
    /// Maximum tokens of one turn.
    pub max_tokens: usize,
    /// Worked examples before the question.
    pub shots: usize,
}

impl RemoteOptions {
    /// A server with default limits.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            model: "default".to_owned(),
            key: None,
            constraint: Constraint::None,
            own: false,
            deadline: Duration::from_secs(120),
            retries: 2,
            reasks: 2,
            max_tokens: 256,
            shots: 0,
        }
    }
}

impl std::fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keeps the key out of logs.
        write!(
            f,
            "{} ({}, {:?}, {:?})",
            self.url, self.model, self.constraint, self.deadline
        )
    }
}

/// A planner that asks a server. It is not [`constrained`](Planner::constrained), because a server
/// may answer anything.
#[derive(Clone)]
pub struct RemotePlanner {
    options: Arc<RemoteOptions>,
    agent: ureq::Agent,
    cancel: Cancel,
}

/// The answer to one request.
struct Completion {
    text: String,
    read: usize,
    written: usize,
}

/// Why a request failed, and whether a retry may succeed.
struct RequestFailure {
    message: String,
    transient: bool,
}

impl RemotePlanner {
    /// A planner; nothing is sent before the first turn.
    ///
    /// # Errors
    /// [`InferError::Remote`] if the address is not plain HTTP: this build has no TLS, so other
    /// servers need a tunnel or proxy.
    pub fn new(options: RemoteOptions) -> Result<Self, InferError> {
        if !options.url.starts_with("http://") {
            let message = "only http:// addresses can be reached; for https put a local proxy or an SSH tunnel before it".to_owned();
            return Err(InferError::Remote {
                url: options.url,
                message,
            });
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Ok(Self {
            options: Arc::new(options),
            agent: config.into(),
            cancel: Cancel::default(),
        })
    }

    /// Asks until an answer is accepted, repeating at most `reasks` times. The last answer is
    /// returned even if it is not accepted, so that the agent records and rejects it.
    fn ask(
        &self,
        turns: &[Turn],
        grammar: &dyn Fn() -> String,
        accepts: &dyn Fn(&str) -> bool,
        examples: &dyn Fn() -> Vec<String>,
    ) -> Result<Proposal, InferError> {
        let deadline = Instant::now() + self.options.deadline;
        let mut messages = if self.options.own {
            turns.iter().map(own_message).collect()
        } else {
            messages(turns, self.options.shots)?
        };
        let mut proposal = Proposal::default();
        let grammar = (self.options.constraint != Constraint::None).then(grammar);
        for ask in 0..=self.options.reasks {
            let reply = self.request(&messages, grammar.as_deref(), deadline)?;
            proposal.read += reply.read;
            proposal.decided += reply.written;
            proposal.text = cleaned(&reply.text);
            if accepts(&proposal.text) || ask == self.options.reasks {
                break;
            }
            let examples = examples();
            let such = if examples.is_empty() {
                String::new()
            } else {
                format!(" It begins with one of: {}.", examples.join("  "))
            };
            messages.push(json!({ "role": "assistant", "content": reply.text }));
            messages.push(json!({ "role": "user", "content": format!("That cannot be used here. Write one line in the required form, nothing else.{such}") }));
        }
        Ok(proposal)
    }

    /// One completion, retried after transient failures until the deadline.
    fn request(
        &self,
        messages: &[Value],
        grammar: Option<&str>,
        deadline: Instant,
    ) -> Result<Completion, InferError> {
        let options = &self.options;
        let mut body = json!({ "model": options.model, "messages": messages, "temperature": 0, "max_tokens": options.max_tokens, "stream": false });
        match (options.constraint, grammar) {
            // These servers penalise repetition by default (1.1 in llama-cpp-python), but calls
            // name the same sets and relations repeatedly.
            (Constraint::Grammar, Some(grammar)) => {
                (body["grammar"], body["repeat_penalty"]) = (json!(grammar), json!(1.0));
            }
            (Constraint::GuidedGrammar, Some(grammar)) => {
                (body["guided_grammar"], body["repetition_penalty"]) = (json!(grammar), json!(1.0));
            }
            _ => {}
        }
        let body = body.to_string();
        let error = |message: String| InferError::Remote {
            url: options.url.clone(),
            message,
        };
        let mut pause = PAUSE;
        let mut tries = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(error(format!(
                    "no usable answer within {:?}",
                    options.deadline
                )));
            }
            tries += 1;
            let failure = match self.send(&body, left)? {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            if !failure.transient || tries > options.retries {
                let tried = if tries > 1 {
                    format!(" ({tries} tries)")
                } else {
                    String::new()
                };
                return Err(error(failure.message + &tried));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.sleep(pause.min(left))?;
            pause *= 2;
        }
    }

    /// Sleeps, unless the question is cancelled meanwhile.
    fn sleep(&self, pause: Duration) -> Result<(), Cancelled> {
        let until = Instant::now() + pause;
        loop {
            self.cancel.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    /// Sends a request on a thread, because waiting for a server cannot be interrupted. After a
    /// cancellation nobody waits for the thread, which ends when `left` is over.
    fn send(
        &self,
        body: &str,
        left: Duration,
    ) -> Result<Result<Completion, RequestFailure>, Cancelled> {
        let (sender, reply) = channel();
        let (planner, body) = (self.clone(), body.to_owned());
        let request = move || {
            // Fails only if the question was cancelled.
            let _ = sender.send(planner.once(&body, left));
        };
        let failed = |message: String| {
            Ok(Err(RequestFailure {
                message,
                transient: false,
            }))
        };
        if let Err(error) = std::thread::Builder::new().spawn(request) {
            return failed(format!("a thread cannot be started: {error}"));
        }
        loop {
            match reply.recv_timeout(POLL) {
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Timeout) => self.cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return failed("the thread of the request failed".to_owned());
                }
            }
        }
    }

    fn once(&self, body: &str, left: Duration) -> Result<Completion, RequestFailure> {
        let transient = |message: String| RequestFailure {
            message,
            transient: true,
        };
        let permanent = |message: String| RequestFailure {
            message,
            transient: false,
        };
        let mut request = self
            .agent
            .post(format!("{}/chat/completions", self.options.url))
            .header("content-type", "application/json")
            .config()
            .timeout_global(Some(left))
            .build();
        if let Some(key) = &self.options.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body).map_err(|error| match error {
            // No time is left for a retry.
            ureq::Error::Timeout(_) => {
                permanent(format!("no answer within {:?}", self.options.deadline))
            }
            error => transient(format!("no answer: {error}")),
        })?;
        let status = response.status().as_u16();
        let text = response
            .body_mut()
            .with_config()
            .limit(BODY)
            .read_to_string()
            .map_err(|error| match error {
                ureq::Error::Timeout(_) => permanent(format!(
                    "the answer did not end within {:?}",
                    self.options.deadline
                )),
                error => transient(format!("the answer broke off: {error}")),
            })?;
        let quoted: String = text
            .chars()
            .filter(|c| !c.is_control())
            .take(QUOTED)
            .collect();
        if status != 200 {
            let failure = if status == 429 || status >= 500 {
                transient
            } else {
                permanent
            };
            return Err(failure(format!("status {status}: {quoted}")));
        }
        let value: Value = serde_json::from_str(&text)
            .map_err(|_| transient(format!("the answer is not JSON: {quoted}")))?;
        let Some(content) = value["choices"][0]["message"]["content"].as_str() else {
            return Err(transient(format!(
                "the answer has no choices[0].message.content: {quoted}"
            )));
        };
        let count = |name: &str| {
            value["usage"][name]
                .as_u64()
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(0)
        };
        Ok(Completion {
            text: content.to_owned(),
            read: count("prompt_tokens"),
            written: count("completion_tokens"),
        })
    }
}

impl Planner for RemotePlanner {
    fn begin(&mut self, cancel: &Cancel) {
        self.cancel = cancel.clone();
    }

    fn propose(&mut self, input: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.call(input, &[])
    }

    fn propose_except(
        &mut self,
        input: &PlannerInput<'_, '_>,
        rejected: &[String],
    ) -> Result<Option<Proposal>, InferError> {
        self.call(input, rejected).map(Some)
    }

    fn write(&mut self, turns: &[Turn], grammar: &Grammar) -> Result<Proposal, InferError> {
        self.ask(
            turns,
            &|| gbnf::of_grammar(grammar),
            &|text| grammar.matches(text),
            &Vec::new,
        )
    }

    fn constrained(&self) -> bool {
        false
    }
}

impl RemotePlanner {
    /// A live call that is not in `rejected`.
    fn call(
        &self,
        input: &PlannerInput<'_, '_>,
        rejected: &[String],
    ) -> Result<Proposal, InferError> {
        let acceptor = CallAcceptor::new(input.session.live(input.template.naming));
        let start = acceptor.start();
        let examples = || {
            acceptor
                .continuations(&start)
                .into_iter()
                .take(EXAMPLES)
                .collect()
        };
        self.ask(
            input.turns,
            &|| gbnf::of_calls(&acceptor),
            &|text| acceptor.accepts(text) && !rejected.iter().any(|rejected| rejected == text),
            &examples,
        )
    }
}

/// Turns as chat messages, after instructions for the agent and worked examples. Tool results
/// become user messages, because the role `tool` belongs to another protocol. Many servers require
/// user and assistant to alternate, so consecutive turns of one role are joined.
fn messages(turns: &[Turn], examples: usize) -> Result<Vec<Value>, InferError> {
    let system = turns
        .first()
        .filter(|turn| turn.role == Role::System)
        .map(Turn::text);
    let agent = system
        .as_deref()
        .and_then(|text| Agent::named(text.lines().next()?).ok());
    let mut joined: Vec<(&str, String)> = Vec::new();
    let mut add = |turn: &Turn| {
        let role = match turn.role {
            Role::System => "system",
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        match joined.last_mut().filter(|last| last.0 == role) {
            Some(last) => last.1.push_str(&format!("\n{}", turn.text())),
            None => joined.push((role, turn.text())),
        }
    };
    let mut rest = turns;
    if let (Some(agent), [first, others @ ..]) = (agent, turns) {
        add(&Turn {
            parts: [
                first.parts.clone(),
                vec![Part::ours(format!("\n{}", instructions(agent)))],
            ]
            .concat(),
            ..first.clone()
        });
        shots(agent, examples)?.iter().flatten().for_each(&mut add);
        rest = others;
    }
    rest.iter().for_each(&mut add);
    Ok(joined
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect())
}

/// A turn in the format of our own training. Servers require a call id with a tool result.
fn own_message(turn: &Turn) -> Value {
    let (role, content) = (turn.role, turn.text());
    if role == Role::Tool {
        json!({ "role": role, "content": content, "tool_call_id": "call" })
    } else {
        json!({ "role": role, "content": content })
    }
}

/// The first line with content, without the fences and quotes that chat models put around code.
fn cleaned(text: &str) -> String {
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("```"));
    let line = lines.next().unwrap_or_default();
    line.trim_matches('`')
        .trim()
        .trim_end_matches(';')
        .to_owned()
}
