//! `kgagent serve`: answer over HTTP until the process is told to stop. `kgagent mcp`: answer a
//! program that started this process, over standard input and output.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use common::input::read_text;
use serde_json::json;
use serve::{AccessRules, ClientLimits, Server, Service, ServiceOptions, TlsFiles, serve_mcp};

use super::ranking;
use crate::cli::{LogFormat, ServeArgs, ServedArgs};
use crate::exit::ExitStatus;
use crate::ui::{Ui, notice};

pub(crate) fn run(args: &ServeArgs, ui: &Ui) -> Result<ExitStatus> {
    start_log(args.log);
    let reload = ui.catch_interrupts_and_reloads()?;
    let access = AccessRules {
        token: token(args.token_file.as_deref(), "KGAGENT_TOKEN")?,
        operator_token: token(
            args.operator_token_file.as_deref(),
            "KGAGENT_OPERATOR_TOKEN",
        )?,
        hosts: args.hosts.clone(),
        origins: args.origins.clone(),
        log_requests: args.log_requests,
        limits: ClientLimits {
            connections: usize::from(args.client_connections),
            questions: usize::from(args.client_questions),
            verdicts: usize::from(args.client_verdicts),
        },
    };
    let service = Service::open(ServiceOptions {
        feedback: args.feedback.clone(),
        ..options(&args.served)?
    })?;
    let mut server = Server::bind(service, args.listen, access)?;
    let mut scheme = "http";
    if let (Some(certificates), Some(key)) = (&args.tls_cert, &args.tls_key) {
        server = server.with_tls(TlsFiles {
            certificates: certificates.clone(),
            key: key.clone(),
        })?;
        scheme = "https";
    }
    let address = format!("{scheme}://{}/", server.address()?);
    ui.say(format!("listening on {address}"));
    ui.object(&json!({ "listening": address }));
    server.run(ui.stop(), &reload)?;
    ui.say("stopped");
    Ok(ExitStatus::Done)
}

pub(crate) fn mcp(args: &ServedArgs) -> Result<ExitStatus> {
    start_log(LogFormat::Text);
    let service = Service::open(options(args)?)?;
    serve_mcp(&service, std::io::stdin().lock(), std::io::stdout())
        .context("the connection failed")?;
    Ok(ExitStatus::Done)
}

/// The options for the service; nothing is opened yet.
fn options(args: &ServedArgs) -> Result<ServiceOptions> {
    Ok(ServiceOptions {
        graphs: args.graphs.clone(),
        models: args.models.clone(),
        tools: args.tools,
        device: args.device,
        ranker: ranking::open(&args.ranking)?,
        workers: args.workers.map(usize::from),
        batch: args.batch.map(usize::from),
        queue: args.queue.map(usize::from),
        deadline: Duration::from_secs(args.deadline),
        feedback: None,
    })
}

/// From now on the log goes to standard error.
fn start_log(format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_writer(|| Clean);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Standard error without what would act on a terminal. A line comes in one piece.
struct Clean;

impl Write for Clean {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        notice(text.trim_end());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The token from a file, or else from a variable of the environment.
fn token(file: Option<&Path>, variable: &str) -> Result<Option<String>> {
    if let Some(path) = file {
        let text = read_text(path)
            .with_context(|| format!("cannot read the token of {}", path.display()))?;
        return Ok(Some(text.trim().to_owned()));
    }
    match std::env::var(variable) {
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => anyhow::bail!("{variable}: {error}"),
    }
}
