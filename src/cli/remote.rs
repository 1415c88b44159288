//! A model behind a server on the command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use infer::agent::AgentKind;
use infer::planner::{Constraint, Endpoint, Protocol, RemoteOptions};
use toolbox::prompt::Layout;

use super::values::{Names, names, number, one_of, share, temperature};

const CONSTRAINTS: Names<Constraint> = names! {
    "none": "No constraint: replies are checked; a bad one is requested again, at most twice"
        => Constraint::None;
    "grammar": "llama.cpp: its field `grammar`" => Constraint::Grammar;
    "structured-outputs": "vLLM 0.11 or newer: a grammar in its field `structured_outputs`"
        => Constraint::StructuredOutputs;
    "ebnf": "SGLang: its field `ebnf`" => Constraint::Ebnf;
    "json-schema": "OpenAI and servers like it: a JSON schema in the field `response_format`"
        => Constraint::JsonSchema;
};

const ENDPOINTS: Names<Endpoint> = names! {
    "chat": "`/chat/completions`" => Endpoint::Chat;
    "completions": "`/completions`, for models without a chat template: prompts are plain text"
        => Endpoint::Completions;
};

const LAYOUTS: Names<Layout> = names! {
    "dialogue": "One conversation per question" => Layout::Dialogue;
    "paper": "Each call has a prompt of its own, as in the KG-Agent paper, without worked examples"
        => Layout::Paper;
};

const PROTOCOLS: Names<Protocol> = names! {
    "text": "As text, one per line" => Protocol::Text;
    "tools": "As tool calls: the request defines the tools; the turns of oda and triad stay text"
        => Protocol::Tools;
};

/// What a served model was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Served {
    /// Any model: the prompt explains the turns and shows worked examples.
    Any,
    /// An export of a model trained here: it gets the turns of its training.
    Own,
}

/// A model behind a server (`--model http://HOST:PORT/v1`). The key comes from the environment
/// only: `KGAGENT_API_KEY`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RemoteArgs {
    /// Server: name of the model.
    #[arg(long, default_value = "default", value_name = "NAME")]
    served_model: String,
    /// Server: what the model was trained on.
    #[arg(long, value_enum, default_value = "any", value_name = "WHAT")]
    pub(crate) served: Served,
    /// Server: how to constrain what the model writes. A request before the first question tests
    /// whether the server obeys.
    #[arg(long, value_parser = one_of(CONSTRAINTS), default_value = "none")]
    constraint: Constraint,
    /// Server: endpoint to ask.
    #[arg(long, value_parser = one_of(ENDPOINTS), default_value = "chat")]
    endpoint: Endpoint,
    /// Server: layout of kg-agent's prompts.
    #[arg(long, value_parser = one_of(LAYOUTS), default_value = "dialogue")]
    pub(crate) layout: Layout,
    /// Server: how the model makes calls.
    #[arg(long, value_parser = one_of(PROTOCOLS), default_value = "text")]
    pub(crate) protocol: Protocol,
    /// Server: maximum time per turn in seconds, including retries.
    #[arg(
        long,
        default_value_t = 120,
        value_name = "SECONDS",
        value_parser = number::<u64>(1..=86_400)
    )]
    timeout: u64,
    /// Server: number of worked examples in the prompt; there are eight per agent.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) shots: usize,
    /// Server: maximum tokens of a turn; a model that thinks first needs some thousands [default:
    /// 256; 500 for agents as published; 1000 for `cot` and `self-consistency`].
    #[arg(long, value_name = "N", value_parser = number::<usize>(1..=1_000_000))]
    max_tokens: Option<usize>,
    /// Server: sampling temperature; 0 always takes the likeliest token [default: 0; 0.4 with
    /// `--oda paper` and 0.2 with `--triad paper`, as published; 0.7 for `self-consistency`].
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<f64>,
    /// Server: sample from the likeliest tokens that have this probability together [default: the
    /// server's].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    top_p: Option<f64>,
    /// Server: text at which the model stops, such as `Observation:`; repeat for more.
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// Server: stream replies, and end the request when the model goes on after a complete call.
    #[arg(long)]
    stream: bool,
    /// Server: certificates (PEM) to trust for https instead of the system's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl RemoteArgs {
    /// How to ask the server at `url` as an agent. The seed is that of its sampling.
    pub(crate) fn options(
        &self,
        url: &str,
        agent: &AgentKind,
        seed: u64,
        shots: usize,
    ) -> anyhow::Result<RemoteOptions> {
        let (usual_temperature, usual_tokens) = match agent {
            AgentKind::OdaPaper(_) => (0.4, 500),
            AgentKind::TriadPaper(_) => (0.2, 500),
            AgentKind::TogModel(_) => (0.4, 256),
            AgentKind::Cot(_) => (0.0, 1000),
            AgentKind::SelfConsistency(_) => (0.7, 1000),
            _ => (0.0, 256),
        };
        let read = |path: &PathBuf| {
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
        };
        Ok(RemoteOptions {
            model: self.served_model.clone(),
            key: server_key()?,
            authorities: self.ca.as_ref().map(read).transpose()?,
            endpoint: self.endpoint,
            constraint: self.constraint,
            protocol: self.protocol,
            own: self.served == Served::Own,
            deadline: Duration::from_secs(self.timeout),
            shots,
            max_tokens: self.max_tokens.unwrap_or(usual_tokens),
            temperature: self.temperature.unwrap_or(usual_temperature),
            top_p: self.top_p,
            seed,
            stop: self.stop.clone(),
            stream: self.stream,
            ..RemoteOptions::new(url)
        })
    }
}

/// The key of a server, from the environment.
pub(crate) fn server_key() -> anyhow::Result<Option<String>> {
    match std::env::var("KGAGENT_API_KEY") {
        Ok(key) => Ok(Some(key).filter(|key| !key.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        // The message of this error would quote the key.
        Err(std::env::VarError::NotUnicode(_)) => {
            anyhow::bail!("KGAGENT_API_KEY is not valid UTF-8")
        }
    }
}
