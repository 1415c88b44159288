//! Which server is asked, and how.

use std::time::Duration;

common::worded! {
    /// How the server is told what may be written. Each field is that of one server; others ignore it
    /// or refuse it, so [`probe`](super::RemotePlanner::probe) tries it first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Constraint, fn name() {
        /// Not at all; its output is checked.
        #[default]
        None = "none",
        /// llama.cpp's field `grammar`.
        Grammar = "grammar",
        /// vLLM's field `structured_outputs` with a grammar.
        StructuredOutputs = "structured-outputs",
        /// SGLang's field `ebnf`.
        Ebnf = "ebnf",
        /// OpenAI's field `response_format` with a JSON schema.
        JsonSchema = "json-schema",
    }
}

/// In which form a served model makes the calls of the tool loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// As text.
    #[default]
    Text,
    /// As `tool_calls`, with the tools defined in the request.
    Tools,
}

/// Which interface of a server is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `/chat/completions`: the server renders the messages with the model's chat template.
    #[default]
    Chat,
    /// `/completions`: one text, for models without a chat template.
    Completions,
}

/// A server and the settings of requests.
#[derive(Clone)]
pub struct RemoteOptions {
    /// Base address, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name on the server.
    pub model: String,
    /// Bearer token. It is replaced by `[key]` in everything that the server sends back, if it has
    /// at least 12 characters.
    pub key: Option<String>,
    /// Certificates in PEM to trust instead of the system's, for https.
    pub authorities: Option<Vec<u8>>,
    /// Which interface is asked.
    pub endpoint: Endpoint,
    /// How the server is told what may be written.
    pub constraint: Constraint,
    /// How calls are made.
    pub protocol: Protocol,
    /// Whether the model was trained by kgagent and exported; it then gets its training format.
    pub own: bool,
    /// Wall-clock limit of one turn, including all its requests.
    pub deadline: Duration,
    /// Retries after a transient failure (no connection, 5xx). A server that asks to wait (429, or
    /// a `Retry-After`) is asked again until the deadline.
    pub retries: usize,
    /// Times that an unusable answer is requested again.
    pub reasks: usize,
    /// Maximum tokens of one turn, thoughts included.
    pub max_tokens: usize,
    /// Worked examples before the question.
    pub shots: usize,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f64,
    /// Share of the probability to sample from; the server's default if `None`.
    pub top_p: Option<f64>,
    /// Seed of the server's sampling and of the pauses between retries.
    pub seed: u64,
    /// Texts at which the server stops writing.
    pub stop: Vec<String>,
    /// Whether the reply is streamed and cut off once it has a complete call.
    pub stream: bool,
}

impl RemoteOptions {
    /// A server with default limits.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            model: "default".to_owned(),
            key: None,
            authorities: None,
            endpoint: Endpoint::Chat,
            constraint: Constraint::None,
            protocol: Protocol::Text,
            own: false,
            deadline: Duration::from_secs(120),
            retries: 2,
            reasks: 2,
            max_tokens: 256,
            shots: 0,
            temperature: 0.0,
            top_p: None,
            seed: 1,
            stop: Vec::new(),
            stream: false,
        }
    }

    /// Checks that the settings fit together.
    ///
    /// # Errors
    /// A message that names the settings that do not.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if !self.url.starts_with("http://") && !self.url.starts_with("https://") {
            return Err("the address of a server begins with http:// or https://");
        }
        if self.protocol == Protocol::Tools && self.constraint != Constraint::None {
            return Err(
                "tool calls have a form of their own: leave out either the protocol `tools` or the constraint",
            );
        }
        if self.endpoint == Endpoint::Completions && self.protocol == Protocol::Tools {
            return Err(
                "tool calls need the endpoint `chat`: leave out the protocol `tools` or the endpoint",
            );
        }
        if self.endpoint == Endpoint::Completions && self.own {
            return Err(
                "models trained here have a chat template: leave out the endpoint `completions`",
            );
        }
        if self.protocol == Protocol::Tools && self.own {
            return Err("models trained here write calls as text: leave out the protocol `tools`");
        }
        if self
            .key
            .as_ref()
            .is_some_and(|key| !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)))
        {
            return Err(
                "the key has characters that no HTTP header may have, such as a line break",
            );
        }
        Ok(())
    }
}

/// An address without the user and password in it (`http://user:password@host`), for messages and
/// records.
#[must_use]
pub fn public_address(url: &str) -> String {
    // A password may contain a slash, so the last @ counts wherever it is.
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
            format!("{scheme}://{host}")
        }
        None => url.to_owned(),
    }
}

impl std::fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keeps the key out of logs.
        write!(
            f,
            "{} ({}, {:?}, {:?}, {:?})",
            public_address(&self.url),
            self.model,
            self.constraint,
            self.protocol,
            self.deadline
        )
    }
}
