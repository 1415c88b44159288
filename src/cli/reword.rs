//! Options of rewording questions with a model.

use std::path::PathBuf;

use clap::Args;

use super::values::{number, temperature};

/// Rewording of questions (`datagen gold|synth --reword`). The key of a server comes from
/// `KGAGENT_API_KEY`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RewordArgs {
    /// Add other wordings of the questions, written by this model: a model folder, or
    /// http(s)://HOST:PORT/v1 of an OpenAI-compatible server.
    ///
    /// A wording is kept only if linking finds the same entities and values in it and no other
    /// question is worded like it. The file OUT.reworded keeps what the model wrote; a later run with the same
    /// model asks only for what is missing there.
    #[arg(long, value_name = "MODEL")]
    pub(crate) reword: Option<String>,
    /// Rewording: number of wordings to ask for per question.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = number::<u8>(1..=16))]
    pub(crate) rewordings: u8,
    /// Rewording: keep a wording only if the model, shown its program and up to three that differ
    /// from it in one relation, picks the right one.
    #[arg(long)]
    pub(crate) reword_check: bool,
    /// Rewording: name of the model on the server.
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) reword_model: String,
    /// Rewording: sampling temperature of the server.
    #[arg(long, default_value_t = 0.7, value_name = "T", value_parser = temperature)]
    pub(crate) reword_temperature: f64,
    /// Rewording: number of questions to send at a time.
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = number::<u16>(1..=1024))]
    pub(crate) reword_concurrency: u16,
    /// Rewording: certificates (PEM) to trust for https instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
}
