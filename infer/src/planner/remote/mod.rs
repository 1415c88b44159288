//! A model behind an OpenAI-compatible server (llama.cpp, vLLM, SGLang) as planner. Only this
//! module of the crate opens connections.
//!
//! A request can carry the grammar of the live calls, their JSON schema, or the tools. Every answer
//! is checked, and an unusable one is requested again, at most [`RemoteOptions::reasks`] times,
//! with the reason. Every turn ends by its deadline, whatever the server does.

mod constraint;
mod messages;
mod options;
mod read;
mod reply;
mod retry;
mod transport;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use common::acceptor::Acceptor;
use common::cancel::{Cancel, Cancelled};
use common::transcript::Turn;
use serde_json::{Value, json};
use toolbox::call::{CallAcceptor, live_schema};
use toolbox::gbnf;
use toolbox::grammar::Grammar;
use toolbox::prompt::Layout;

use self::constraint::{ASKED, Language, PROBED, SERVERS, text_schema};
use self::messages::{HEAD, as_prompt, ask_again, messages, text_messages};
use self::read::Wanted;
use self::reply::Reply;
use self::retry::Pauses;
use self::transport::{RequestFailure, Retry, Transport};
use super::{Planner, PlannerInput, Proposal};
use crate::InferError;

pub use self::options::{Constraint, Endpoint, Protocol, RemoteOptions, public_address};

/// Time between two looks at whether the question is cancelled.
const POLL: Duration = Duration::from_millis(20);
/// Calls that a repeated request shows as examples.
const EXAMPLES: usize = 8;

/// A planner that asks a server. It is not [`constrained`](Planner::constrained), because a server
/// may answer anything.
#[derive(Clone)]
pub struct RemotePlanner {
    options: Arc<RemoteOptions>,
    transport: Transport,
    cancel: Cancel,
    /// Added to the seed of the sampling.
    sample: u64,
}

/// What the thread of a request sends: pieces of a streamed reply, and its end.
enum Received {
    Piece(Value),
    End(Result<Option<Reply>, RequestFailure>),
}

impl RemotePlanner {
    /// A planner; nothing is sent before the first turn or [`probe`](Self::probe).
    ///
    /// # Errors
    /// [`InferError::Remote`] if the address is not one of HTTP, settings do not fit together, or
    /// the certificates cannot be read.
    pub fn new(options: RemoteOptions) -> Result<Self, InferError> {
        let url = public_address(&options.url);
        let failed = |message: String| InferError::Remote {
            url: url.clone(),
            message,
        };
        options.check().map_err(|error| failed(error.to_owned()))?;
        let options = Arc::new(options);
        Ok(Self {
            transport: Transport::new(&options).map_err(failed)?,
            options,
            cancel: Cancel::default(),
            sample: 0,
        })
    }

    /// Whether the model was trained by kgagent and knows the turns of its agents.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.options.own
    }

    /// Asks the server for a word and constrains it to another one, which only a server that obeys
    /// the constraint writes. Without a constraint nothing is sent.
    ///
    /// # Errors
    /// [`InferError::Remote`] if the server writes something else or fails.
    pub fn probe(&self) -> Result<(), InferError> {
        if self.options.constraint == Constraint::None {
            return Ok(());
        }
        let grammar = Grammar::text(PROBED);
        let language = Language {
            wanted: Wanted {
                accepts: &|text| text == PROBED,
                call: None,
            },
            free: false,
            whole: false,
            grammar: &|| gbnf::of_grammar(&grammar),
            schema: &|| text_schema(&grammar),
            examples: &Vec::new,
        };
        let deadline = Instant::now() + self.options.deadline;
        let messages = [json!({ "role": "user", "content": ASKED })];
        let reply = self.request(&messages, &language, deadline)?;
        if self.usable(&reply, &language.wanted).is_ok() {
            return Ok(());
        }
        let wrote: String = reply.text.chars().take(80).collect();
        let wrote = wrote.escape_debug();
        let name = self.options.constraint.name();
        let cut = if reply.cut_off() && reply.text.is_empty() {
            "; it was cut off while it thought, so raise the maximum number of tokens"
        } else {
            ""
        };
        Err(self.error(&format!(
            "the server does not obey the constraint `{name}`: only `{PROBED}` was allowed, and it wrote `{wrote}`{cut}; {SERVERS}"
        )))
    }

    fn error(&self, message: &str) -> InferError {
        InferError::Remote {
            // The client quotes the address in some of its messages.
            message: self.transport.without_key(message),
            url: public_address(&self.options.url),
        }
    }

    /// Asks until an answer can be used, repeating at most `reasks` times. Of the last answer its
    /// first line is returned even if it cannot be used, so that the agent records and rejects it.
    fn ask(&self, turns: &[Turn], language: &Language<'_>) -> Result<Proposal, InferError> {
        let deadline = Instant::now() + self.options.deadline;
        let tools = language.uses_tools(&self.options);
        let mut messages = messages(turns, &self.options, tools, language.whole)?;
        let mut proposal = Proposal::default();
        for ask in 0..=self.options.reasks {
            let reply = self.request(&messages, language, deadline)?;
            let count = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
            proposal.read += count(reply.usage.prompt_tokens);
            proposal.decided += count(reply.usage.completion_tokens);
            match self.usable(&reply, &language.wanted) {
                Ok(text) => {
                    proposal.replies.push(reply.record(Some(&text), None));
                    proposal.text = text;
                    break;
                }
                Err(problem) => {
                    proposal.text = unusable(&reply);
                    if ask < self.options.reasks {
                        ask_again(&mut messages, &reply, &problem, language, tools);
                    }
                    proposal.replies.push(reply.record(None, Some(problem)));
                }
            }
        }
        Ok(proposal)
    }

    /// The first usable turn of a reply, or the reason why the reply is unusable.
    fn usable(&self, reply: &Reply, wanted: &Wanted<'_>) -> Result<String, String> {
        let mut problem = None;
        for call in &reply.calls {
            match read::tool_call(&call.name, &call.arguments, wanted) {
                Ok(text) => return Ok(text),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        let (said, _) = read::split(&reply.text);
        if let Some(text) = read::turn(&said, wanted) {
            return Ok(text);
        }
        Err(problem.unwrap_or_else(|| {
            if reply.cut_off() {
                format!(
                    "the turn was cut off at {} tokens before it had anything complete; see --max-tokens",
                    self.options.max_tokens
                )
            } else if said.trim().is_empty() {
                "the turn is empty".to_owned()
            } else {
                "nothing in the turn can be used here".to_owned()
            }
        }))
    }

    /// One completion, retried after failures that may pass, until the deadline.
    fn request(
        &self,
        messages: &[Value],
        language: &Language<'_>,
        deadline: Instant,
    ) -> Result<Reply, InferError> {
        let options = &self.options;
        let body = self.body(messages, language).to_string();
        let mut pauses = Pauses::new(options.seed, &body);
        let mut tries = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let limit = options.deadline;
                return Err(self.error(&format!("no usable answer within {limit:?}")));
            }
            tries += 1;
            let failure = match self.send(&body, left, &language.wanted)? {
                Ok(mut reply) => {
                    reply.usage.requests = 1;
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            let again = match failure.retry {
                Retry::Never => false,
                Retry::Transient => tries <= options.retries,
                Retry::Later(_) => true,
            };
            let failed = |why: &str| {
                let tried = if tries > 1 {
                    format!(" ({tries} tries)")
                } else {
                    String::new()
                };
                self.error(&format!("{}{tried}{why}", failure.message))
            };
            if !again {
                return Err(failed(""));
            }
            let wish = match failure.retry {
                Retry::Later(wish) => wish,
                _ => None,
            };
            let pause = pauses.next(wish);
            let left = deadline.saturating_duration_since(Instant::now());
            if failure.retry != Retry::Transient && pause >= left {
                return Err(failed(&format!(
                    "; the next try is due in {:.1} s, and a turn may take {:?}",
                    pause.as_secs_f64(),
                    options.deadline
                )));
            }
            self.sleep(pause.min(left))?;
        }
    }

    /// The body of a request.
    fn body(&self, messages: &[Value], language: &Language<'_>) -> Value {
        let options = &self.options;
        let temperature = match options.temperature {
            // Greedy, as a whole number: some servers compare with it.
            0.0 => json!(0),
            temperature => json!(temperature),
        };
        let mut body = json!({
            "model": options.model, "temperature": temperature,
            "max_tokens": options.max_tokens, "stream": options.stream,
        });
        let mut stop: Vec<&str> = options.stop.iter().map(String::as_str).collect();
        match options.endpoint {
            Endpoint::Chat => body["messages"] = json!(messages),
            Endpoint::Completions => {
                body["prompt"] = json!(as_prompt(messages));
                stop.push(HEAD);
            }
        }
        if options.stream {
            body["stream_options"] = json!({ "include_usage": true });
        }
        if let Some(top_p) = options.top_p {
            body["top_p"] = json!(top_p);
        }
        if options.temperature > 0.0 {
            body["seed"] = json!(options.seed.wrapping_add(self.sample));
        }
        if !stop.is_empty() {
            body["stop"] = json!(stop);
        }
        language.constrain(options, &mut body);
        body
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
        wanted: &Wanted<'_>,
    ) -> Result<Result<Reply, RequestFailure>, Cancelled> {
        let (sender, received) = channel();
        let (transport, body) = (self.transport.clone(), body.to_owned());
        let request = move || {
            // Sending fails if the question was cancelled or the reply is complete.
            let end = transport.once(&body, left, &mut |piece| {
                sender.send(Received::Piece(piece)).is_ok()
            });
            let _ = sender.send(Received::End(end));
        };
        let failed = |message: String| Ok(Err(RequestFailure::permanent(message)));
        if let Err(error) = std::thread::Builder::new().spawn(request) {
            return failed(format!("a thread cannot be started: {error}"));
        }
        let mut reply = Reply::default();
        let (mut complete, mut pieces) = (false, 0);
        loop {
            match received.recv_timeout(POLL) {
                Ok(Received::Piece(piece)) => {
                    let before = (reply.text.len(), reply.calls.len(), reply.written());
                    if let Err(message) = reply.extend(&piece) {
                        return Ok(Err(RequestFailure::transient(message)));
                    }
                    let wrote = reply.written() > before.2;
                    pieces += u64::from(wrote);
                    if complete && wrote {
                        // The model goes on after its turn. The server has not counted yet; a
                        // piece is about a token.
                        reply.text.truncate(before.0);
                        reply.calls.truncate(before.1);
                        reply.usage.completion_tokens = pieces;
                        return Ok(Ok(self.transport.hidden(reply)));
                    }
                    complete = complete || wrote && self.complete(&reply, before.0, wanted);
                }
                Ok(Received::End(Ok(Some(reply)))) => return Ok(Ok(reply)),
                Ok(Received::End(Ok(None))) if reply.finish.is_none() && !complete => {
                    return Ok(Err(RequestFailure::transient(
                        "the stream broke off".to_owned(),
                    )));
                }
                Ok(Received::End(Ok(None))) => return Ok(Ok(self.transport.hidden(reply))),
                Ok(Received::End(Err(failure))) => return Ok(Err(failure)),
                Err(RecvTimeoutError::Timeout) => self.cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return failed("the thread of the request failed".to_owned());
                }
            }
        }
    }

    /// Whether a streamed reply has a whole turn since its text had `before` bytes. Calls end with a
    /// bracket, other turns with their line.
    fn complete(&self, reply: &Reply, before: usize, wanted: &Wanted<'_>) -> bool {
        if !reply.calls.is_empty() {
            return self.usable(reply, wanted).is_ok();
        }
        let new = reply.text.get(before..).unwrap_or_default();
        let ends: &[char] = if wanted.call.is_some() {
            &[')', ']', '}']
        } else {
            &['\n']
        };
        let Some(end) = new.rfind(ends) else {
            return false;
        };
        let (said, _) = read::split(&reply.text[..=before + end]);
        read::turn(&said, wanted).is_some()
    }

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
        let language = Language {
            wanted: Wanted {
                accepts: &|text| {
                    acceptor.accepts(text) && !rejected.iter().any(|rejected| rejected == text)
                },
                call: Some(acceptor.live().next_var),
            },
            free: false,
            whole: input.template.layout == Layout::Paper,
            grammar: &|| gbnf::of_calls(&acceptor),
            schema: &|| live_schema(acceptor.live()),
            examples: &examples,
        };
        self.ask(input.turns, &language)
    }
}

/// The text that represents an unusable reply.
fn unusable(reply: &Reply) -> String {
    let (said, _) = read::split(&reply.text);
    match reply.calls.first() {
        Some(call) if said.trim().is_empty() => {
            read::unusable(&format!("{}({})", call.name, call.arguments))
        }
        _ => read::unusable(&said),
    }
}

impl Planner for RemotePlanner {
    fn begin(&mut self, cancel: &Cancel) {
        self.cancel = cancel.clone();
        self.sample = 0;
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
        let language = Language {
            wanted: Wanted {
                accepts: &|text| grammar.matches(text),
                call: None,
            },
            free: false,
            whole: false,
            grammar: &|| gbnf::of_grammar(grammar),
            schema: &|| text_schema(grammar),
            examples: &Vec::new,
        };
        self.ask(turns, &language)
    }

    fn reply(&mut self, turns: &[Turn]) -> Result<Proposal, InferError> {
        let deadline = Instant::now() + self.options.deadline;
        let grammar = Grammar::any([]);
        let language = Language {
            // A stream is read to its end.
            wanted: Wanted {
                accepts: &|_| false,
                call: None,
            },
            free: true,
            whole: false,
            grammar: &|| gbnf::of_grammar(&grammar),
            schema: &|| text_schema(&grammar),
            examples: &Vec::new,
        };
        let reply = self.request(&text_messages(turns), &language, deadline)?;
        let (said, _) = read::split(&reply.text);
        let text = said.trim().to_owned();
        let problem = (text.is_empty() && reply.cut_off())
            .then(|| "the reply was cut off before it said anything; see --max-tokens".to_owned());
        let count = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
        Ok(Proposal {
            read: count(reply.usage.prompt_tokens),
            decided: count(reply.usage.completion_tokens),
            replies: vec![reply.record(Some(&text), problem)],
            text,
            ..Proposal::default()
        })
    }

    fn resample(&mut self, sample: u64) {
        self.sample = sample;
    }

    fn constrained(&self) -> bool {
        false
    }
}
