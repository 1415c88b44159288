//! `kgagent serve`: answer over HTTP until the process is told to stop. `kgagent mcp`: answer a
//! program that started this process, over standard input and output.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::json;
use serve::{AccessRules, ClientLimits, Log, Server, Service, ServiceOptions, TlsFiles, serve_mcp};

use super::ranking;
use crate::cli::{LogFormat, ServeArgs, ServedArgs};
use crate::exit::ExitStatus;
use crate::ui::{Ui, notice};

pub(crate) fn run(args: &ServeArgs, ui: &Ui) -> Result<ExitStatus> {
    let reload = ui.catch_interrupts_and_reloads()?;
    let access = AccessRules {
        token: token(args)?,
        hosts: args.hosts.clone(),
        log_requests: args.log_requests,
        limits: ClientLimits {
            connections: usize::from(args.client_connections),
            questions: usize::from(args.client_questions),
        },
    };
    let service = Service::open(ServiceOptions {
        log: log(args.log),
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
        queue: usize::from(args.queue),
        deadline: Duration::from_secs(args.deadline),
        feedback: None,
        log: log(LogFormat::Text),
    })
}

/// Writes the log to standard error.
fn log(format: LogFormat) -> Log {
    Box::new(move |line| match format {
        LogFormat::Text => notice(&format!("kgagent: {line}")),
        LogFormat::Json => {
            let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
            let seconds = seconds.map_or(0.0, |since| since.as_secs_f64());
            let mut object = json!({ "time": seconds, "message": line.message });
            for (name, value) in line.fields {
                object[*name] = value.clone();
            }
            notice(&object.to_string());
        }
    })
}

/// The token from the file, or else from the environment.
fn token(args: &ServeArgs) -> Result<Option<String>> {
    if let Some(path) = &args.token_file {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the token of {}", path.display()))?;
        return Ok(Some(text.trim().to_owned()));
    }
    match std::env::var("KGAGENT_TOKEN") {
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => anyhow::bail!("KGAGENT_TOKEN: {error}"),
    }
}
