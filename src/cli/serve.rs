//! Options of `serve` and `mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use infer::engine::EngineDevice;
use toolbox::call::ToolTable;

use super::answer::DEVICES;
use super::datagen::RankingArgs;
use super::values::{TOOLS, address, named_path, number, one_of, origin};

#[derive(Debug, Args)]
pub(crate) struct ServedArgs {
    /// Graph folder (made by `kg load`) to serve; repeat for more, the first is the default.
    ///
    /// NAME is part of addresses, such as /sparql/NAME [default: the name of the folder].
    #[arg(long = "kg", required = true, value_name = "[NAME=]DIR", value_parser = named_path)]
    pub(crate) graphs: Vec<(String, PathBuf)>,
    /// Model folder or GGUF file; repeat for more, the first is the default.
    ///
    /// Without a model the agent `words` answers.
    #[arg(long = "model", value_name = "[NAME=]MODEL", value_parser = named_path)]
    pub(crate) models: Vec<(String, PathBuf)>,
    /// Tools of the agent `words`.
    ///
    /// Models have the tools that they were trained with.
    #[arg(long, value_parser = one_of(TOOLS), default_value = "extended", value_name = "TOOLS")]
    pub(crate) tools: ToolTable,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Device for the models.
    #[arg(long, value_parser = one_of(DEVICES), default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: EngineDevice,
    /// Number of questions that share the steps of a model, so that its weights are read once for all of
    /// them [default: 16 on a GPU and for models larger than 32 MiB, otherwise 1].
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=1024))]
    pub(crate) batch: Option<u16>,
    /// Number of threads that answer [default: all cores, or the size of a batch].
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=1024))]
    pub(crate) workers: Option<u16>,
    /// Number of questions and queries that may wait for a thread; more are refused with status 503
    /// [default: the number of threads, at least 4].
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=10_000))]
    pub(crate) queue: Option<u16>,
    /// Time for a question in seconds, from its arrival to its answer.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = number::<u64>(1..=86_400)
    )]
    pub(crate) deadline: u64,
}

/// Form of a log.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// An object in each line.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) served: ServedArgs,
    /// Address to listen on; one that other machines can reach needs a token.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8765",
        value_parser = address
    )]
    pub(crate) listen: SocketAddr,
    /// File with the token that clients must send (`Authorization: Bearer TOKEN`) [default: the
    /// variable KGAGENT_TOKEN].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// File with the operator's token, which allows every request; no other token allows
    /// `POST /api/reload` [default: the variable KGAGENT_OPERATOR_TOKEN].
    ///
    /// A server that has only the token of its clients reloads on SIGHUP; one without any token lets
    /// everybody on this machine reload it.
    #[arg(long, value_name = "FILE")]
    pub(crate) operator_token_file: Option<PathBuf>,
    /// File with the server's certificate in PEM form, for https; needs --tls-key.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// File with the private key of the certificate in PEM form.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Form of the log on standard error: lines of text, or of JSON.
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) log: LogFormat,
    /// Log every request: method, path, status and milliseconds; neither questions nor queries.
    #[arg(long)]
    pub(crate) log_requests: bool,
    /// File to which feedback of users is appended, as questions in the format `jsonl`.
    ///
    /// Answers that were marked as wrong without a right answer go to FILE with the ending
    /// `.wrong.jsonl`. A verdict is kept once, and each file has at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) feedback: Option<PathBuf>,
    /// Host name under which clients reach the server, besides `localhost` and addresses in numbers;
    /// repeat for more.
    ///
    /// Without a token, the server accepts only loopback addresses (127.0.0.1, ::1) as numeric hosts. If
    /// a proxy or container forwards another address, name it here.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Site whose pages may use the server in a visitor's browser, such as `https://wiki.example.org`;
    /// repeat for more.
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = origin)]
    pub(crate) origins: Vec<String>,
    /// Number of questions and queries that one address may ask at the same time; more are refused
    /// with status 429.
    ///
    /// Behind a proxy all clients have the proxy's address, so they share all three limits per address.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u16>(1..=10_000))]
    pub(crate) client_questions: u16,
    /// Number of connections that one address may have; more are refused with status 429.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = number::<u16>(1..=10_000))]
    pub(crate) client_connections: u16,
    /// Number of verdicts about answers that one address may give in a minute; more are refused with
    /// status 429.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = number::<u16>(1..=10_000))]
    pub(crate) client_verdicts: u16,
}
