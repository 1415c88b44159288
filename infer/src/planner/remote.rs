//! A model behind an OpenAI-compatible server (llama.cpp, vLLM, SGLang) as planner. The only place in this crate that opens a connection.
//!
//! Where the server takes grammars, a request carries the grammar of what is live; in any case what comes back is checked, and asked for again at
//! most [`RemoteOptions::reasks`] times with the reason. Every turn ends by its deadline, whatever the server does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::acceptor::Acceptor;
use common::transcript::{Part, Role, Turn};
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::CallAcceptor;
use toolbox::gbnf;
use toolbox::grammar::Grammar;

use super::shots::{instructions, shots};
use super::{Planner, PlannerInput, Proposal};
use crate::InferError;

/// Longest body that is read of a response.
const BODY: u64 = 1 << 20;
/// Characters of a server's message that an error repeats.
const QUOTED: usize = 300;
/// Pause before the first retry; each further one doubles it.
const PAUSE: Duration = Duration::from_millis(250);
/// Calls that a re-ask shows as examples of what can be written.
const EXAMPLES: usize = 8;

/// How a server is told what may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// Not at all: what it writes is checked.
    #[default]
    None,
    /// llama.cpp's field `grammar`.
    Grammar,
    /// vLLM's field `guided_grammar`.
    GuidedGrammar,
}

/// A server and how it is asked.
#[derive(Clone)]
pub struct RemoteOptions {
    /// Base address, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as a bearer token.
    pub key: Option<String>,
    /// How the server is told what may be written.
    pub constraint: Constraint,
    /// Whether the model is an export of one that was trained here: it then gets the turns of its training as they are.
    pub own: bool,
    /// Wall-clock limit of one turn, all its requests together.
    pub deadline: Duration,
    /// Requests made again after a failure that may pass (no connection, 429, 5xx).
    pub retries: usize,
    /// Times an answer that cannot be used is asked for again.
    pub reasks: usize,
    /// Most tokens of one turn.
    pub max_tokens: usize,
    /// Worked examples before the question.
    pub shots: usize,
}

impl RemoteOptions {
    /// A server with the usual limits.
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
        // The key stays out of logs.
        write!(
            f,
            "{} ({}, {:?}, {:?})",
            self.url, self.model, self.constraint, self.deadline
        )
    }
}

/// A planner that asks a server. Not [`constrained`](Planner::constrained): a server may answer anything.
#[derive(Clone)]
pub struct RemotePlanner {
    options: Arc<RemoteOptions>,
    agent: ureq::Agent,
}

/// What one request gave.
struct Reply {
    text: String,
    read: usize,
    written: usize,
}

/// Why a request failed, and whether another may succeed.
struct Failure {
    message: String,
    passing: bool,
}

impl RemotePlanner {
    /// A planner; nothing is sent before a turn is asked for.
    ///
    /// # Errors
    /// [`InferError::Remote`] where the address is not plain HTTP: this build has no TLS, so a server elsewhere goes through a tunnel or proxy.
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
        })
    }

    /// Asks until the answer is accepted, at most `reasks` times more; what was written last is given back even if it is not, for the agent to
    /// record and refuse.
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

    /// One completion, tried again after passing failures while there is time.
    fn request(
        &self,
        messages: &[Value],
        grammar: Option<&str>,
        deadline: Instant,
    ) -> Result<Reply, InferError> {
        let options = &self.options;
        let mut body = json!({ "model": options.model, "messages": messages, "temperature": 0, "max_tokens": options.max_tokens, "stream": false });
        match (options.constraint, grammar) {
            // These servers have defaults of their own for the penalty on what has been written before (1.1 in llama-cpp-python's); a call names
            // the same sets and relations again and again.
            (Constraint::Grammar, Some(grammar)) => {
                (body["grammar"], body["repeat_penalty"]) = (json!(grammar), json!(1.0))
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
            let failure = match self.once(&body, left) {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            if !failure.passing || tries > options.retries {
                let tried = if tries > 1 {
                    format!(" ({tries} tries)")
                } else {
                    String::new()
                };
                return Err(error(failure.message + &tried));
            }
            std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
            pause *= 2;
        }
    }

    fn once(&self, body: &str, left: Duration) -> Result<Reply, Failure> {
        let passing = |message: String| Failure {
            message,
            passing: true,
        };
        let lasting = |message: String| Failure {
            message,
            passing: false,
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
            // The time is used up: there is none for another try.
            ureq::Error::Timeout(_) => {
                lasting(format!("no answer within {:?}", self.options.deadline))
            }
            error => passing(format!("no answer: {error}")),
        })?;
        let status = response.status().as_u16();
        let text = response
            .body_mut()
            .with_config()
            .limit(BODY)
            .read_to_string()
            .map_err(|error| match error {
                ureq::Error::Timeout(_) => lasting(format!(
                    "the answer did not end within {:?}",
                    self.options.deadline
                )),
                error => passing(format!("the answer broke off: {error}")),
            })?;
        let quoted: String = text
            .chars()
            .filter(|c| !c.is_control())
            .take(QUOTED)
            .collect();
        if status != 200 {
            let failure = if status == 429 || status >= 500 {
                passing
            } else {
                lasting
            };
            return Err(failure(format!("status {status}: {quoted}")));
        }
        let value: Value = serde_json::from_str(&text)
            .map_err(|_| passing(format!("the answer is no JSON: {quoted}")))?;
        let Some(content) = value["choices"][0]["message"]["content"].as_str() else {
            return Err(passing(format!(
                "the answer has no choices[0].message.content: {quoted}"
            )));
        };
        let count = |name: &str| {
            value["usage"][name]
                .as_u64()
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(0)
        };
        Ok(Reply {
            text: content.to_owned(),
            read: count("prompt_tokens"),
            written: count("completion_tokens"),
        })
    }
}

impl Planner for RemotePlanner {
    fn propose(&mut self, moment: &PlannerInput<'_, '_>) -> Result<Proposal, InferError> {
        self.call(moment, &[])
    }

    fn propose_except(
        &mut self,
        moment: &PlannerInput<'_, '_>,
        refused: &[String],
        _choice: Option<usize>,
    ) -> Result<Option<Proposal>, InferError> {
        self.call(moment, refused).map(Some)
    }

    fn write(&mut self, turns: &[Turn], phrase: &Grammar) -> Result<Proposal, InferError> {
        self.ask(
            turns,
            &|| gbnf::of_grammar(phrase),
            &|text| phrase.matches(text),
            &Vec::new,
        )
    }

    fn constrained(&self) -> bool {
        false
    }
}

impl RemotePlanner {
    /// A call that is live and none of `refused`.
    fn call(
        &self,
        moment: &PlannerInput<'_, '_>,
        refused: &[String],
    ) -> Result<Proposal, InferError> {
        let acceptor = CallAcceptor::new(moment.session.live(moment.template.naming));
        let start = acceptor.start();
        let examples = || {
            acceptor
                .continuations(&start)
                .into_iter()
                .take(EXAMPLES)
                .collect()
        };
        self.ask(
            moment.turns,
            &|| gbnf::of_calls(&acceptor),
            &|text| acceptor.accepts(text) && !refused.iter().any(|refused| refused == text),
            &examples,
        )
    }
}

/// Turns as servers take them, what the agent's turns mean and worked examples before them. What tools answer comes as the user's words: the role
/// `tool` belongs to another protocol; and as many servers want user and assistant to take turns, what one says in a row is one message.
fn messages(turns: &[Turn], examples: usize) -> Result<Vec<Value>, InferError> {
    let system = turns
        .first()
        .filter(|turn| turn.role == Role::System)
        .map(Turn::text);
    let agent = system
        .as_deref()
        .and_then(|text| Agent::named(text.lines().next()?).ok());
    let mut said: Vec<(&str, String)> = Vec::new();
    let mut say = |turn: &Turn| {
        let role = match turn.role {
            Role::System => "system",
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        match said.last_mut().filter(|last| last.0 == role) {
            Some(last) => last.1.push_str(&format!("\n{}", turn.text())),
            None => said.push((role, turn.text())),
        }
    };
    let mut rest = turns;
    if let (Some(agent), [first, others @ ..]) = (agent, turns) {
        say(&Turn {
            parts: [
                first.parts.clone(),
                vec![Part::ours(format!("\n{}", instructions(agent)))],
            ]
            .concat(),
            ..first.clone()
        });
        shots(agent, examples)?.iter().flatten().for_each(&mut say);
        rest = others;
    }
    rest.iter().for_each(&mut say);
    Ok(said
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect())
}

/// A turn as a model trained here has learned it. Servers want a call named where a tool answers.
fn own_message(turn: &Turn) -> Value {
    let (role, content) = (turn.role, turn.text());
    if role == Role::Tool {
        json!({ "role": role, "content": content, "tool_call_id": "call" })
    } else {
        json!({ "role": role, "content": content })
    }
}

/// The first line that says something, without the fences and quotes that chat models put around code.
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
