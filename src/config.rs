//! Options from the environment and from `kgagent.toml`. The command line overrides `KGAGENT_…`,
//! which overrides the file, which overrides the default.
//!
//! Somebody else may have put a `kgagent.toml` into a folder with data. So a file that the user did
//! not name with `--config` may not set output paths, servers (they would receive the questions and
//! `KGAGENT_API_KEY`), which certificates are trusted, or who may ask `serve`. The program prints
//! the options that such a file sets.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command, CommandFactory};

use crate::cli::Cli;
use crate::ui::{clean, notice};

/// The configuration file that is read from the current folder.
const FILE: &str = "kgagent.toml";

/// Upper bound of a configuration file; anything larger is not one.
const FILE_BYTES: u64 = 1 << 20;

/// Options whose value may be a server.
const SERVERS: [&str; 3] = ["kg", "model", "reword"];

/// Options that say where to write. `kg` is one of them for `kg load` only.
const OUTPUTS: [&str; 5] = ["feedback", "out", "pairs", "trace", "vectors"];

/// Options of `serve` that decide who may ask.
const ACCESS: [&str; 7] = [
    "host",
    "listen",
    "operator-token-file",
    "origin",
    "tls-cert",
    "tls-key",
    "token-file",
];

/// Options that choose which servers to trust.
const TRUST: [&str; 1] = ["ca"];

/// Parses the command line; missing options come from the environment and the configuration file.
///
/// # Errors
/// If the file is unreadable, has a key that is not an option, or was not named and has a key that
/// only a named file may have.
pub(crate) fn matches(args: &[std::ffi::OsString]) -> Result<ArgMatches> {
    let command = with_environment(Cli::command());
    let command = match file(args) {
        Some(file) => file.defaults(command)?,
        None => command,
    };
    command.try_get_matches_from(args).map_err(|error| {
        let plain = error.render().to_string();
        if plain == clean(&plain) {
            error.exit();
        }
        // The message quotes a value with characters that act on a terminal.
        notice(plain.trim_end());
        std::process::exit(error.exit_code())
    })
}

/// A configuration file, and whether the user named it.
struct ConfigFile {
    path: PathBuf,
    named: bool,
}

/// The configuration file: `--config FILE`, else `KGAGENT_CONFIG`, else `kgagent.toml` in the
/// current folder if it exists.
fn file(args: &[std::ffi::OsString]) -> Option<ConfigFile> {
    let named = |path| ConfigFile { path, named: true };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        if text == "--config" {
            return args.next().map(PathBuf::from).map(named);
        }
        if let Some(path) = text.strip_prefix("--config=") {
            return Some(named(PathBuf::from(path)));
        }
    }
    if let Some(path) = std::env::var_os("KGAGENT_CONFIG").filter(|path| !path.is_empty()) {
        return Some(named(PathBuf::from(path)));
    }
    let here = PathBuf::from(FILE);
    here.is_file().then_some(ConfigFile {
        path: here,
        named: false,
    })
}

/// The long name of an option, followed by its older names.
fn names(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_long()
        .into_iter()
        .chain(arg.get_all_aliases().unwrap_or_default())
}

/// Lets every option be given as `KGAGENT_LONG_NAME`. An older name counts if the current one is
/// not set.
fn with_environment(command: Command) -> Command {
    let variable = |name: &str| format!("KGAGENT_{}", name.replace('-', "_").to_uppercase());
    let is_set = |variable: &&String| std::env::var_os(variable).is_some();
    let command = command.mut_args(|arg| {
        if matches!(arg.get_long(), Some("help" | "version")) {
            return arg;
        }
        let variables: Vec<String> = names(&arg).map(variable).collect();
        match variables.iter().find(is_set).or(variables.first()) {
            Some(variable) => arg.env(variable).hide_env(true),
            None => arg,
        }
    });
    command.mut_subcommands(with_environment)
}

impl ConfigFile {
    /// The command with the file's values as defaults.
    fn defaults(&self, command: Command) -> Result<Command> {
        let path = self.path.display();
        let text = match common::input::read_to_string(&self.path, FILE_BYTES) {
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                bail!("{path} has more than {FILE_BYTES} bytes and is not a configuration file")
            }
            text => text.with_context(|| format!("cannot read {path}"))?,
        };
        let table: toml::Table = text
            .parse()
            .with_context(|| format!("{path} is not TOML"))?;
        let mut set = Vec::new();
        let command = self.apply(command, &table, "", &mut set)?;
        if !self.named && !set.is_empty() {
            notice(&format!(
                "kgagent: {path} in this folder sets {}",
                set.join(", ")
            ));
        }
        Ok(command)
    }

    /// Sets defaults from a table: a key is an option of the command or of its subcommands, a
    /// nested table belongs to the subcommand of that name. Appends the options to `set`.
    fn apply(
        &self,
        mut command: Command,
        table: &toml::Table,
        section: &str,
        set: &mut Vec<String>,
    ) -> Result<Command> {
        let path = self.path.display();
        for (key, value) in table {
            if let toml::Value::Table(inner) = value {
                let Some(sub) = command.find_subcommand(key).cloned() else {
                    bail!("{path}: there is no command `{section}{key}`");
                };
                let sub = self.apply(sub, inner, &format!("{section}{key} "), set)?;
                command = command.mut_subcommand(key, |_| sub);
                continue;
            }
            let values: Vec<String> = match value {
                toml::Value::Array(items) => items.iter().map(plain).collect(),
                other => vec![plain(other)],
            };
            if !knows(&command, key) {
                bail!(
                    "{path}: `{key}` is not an option of {}",
                    format!("kgagent {section}").trim_end()
                );
            }
            if !self.named {
                self.check(section, key, &values)?;
            }
            set.push(format!("{section}{key}"));
            command = set_default(command, key, &values, self.named);
        }
        Ok(command)
    }

    /// Refuses an option that a file may set only if the user named the file.
    fn check(&self, section: &str, key: &str, values: &[String]) -> Result<()> {
        let what = if OUTPUTS.contains(&key) || is_output(section.trim_end(), key) {
            "where to write"
        } else if SERVERS.contains(&key) && values.iter().any(|value| value.contains("://")) {
            "a server"
        } else if ACCESS.contains(&key) {
            "who may ask"
        } else if TRUST.contains(&key) {
            "which servers to trust"
        } else {
            return Ok(());
        };
        let path = self.path.display();
        bail!(
            "{path}: `{section}{key}` names {what}, which a file may do only if you name it; if it \
             is yours, add --config {path}"
        )
    }
}

/// Whether an option of this command is an output, though it is an input of others.
fn is_output(command: &str, key: &str) -> bool {
    key == "kg" && command.ends_with("load")
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn knows(command: &Command, key: &str) -> bool {
    command
        .get_arguments()
        .any(|arg| names(arg).any(|name| name == key))
        || command.get_subcommands().any(|sub| knows(sub, key))
}

/// `named` says whether the user named the file that sets the option.
fn set_default(command: Command, key: &str, values: &[String], named: bool) -> Command {
    if !named && is_output(command.get_name(), key) {
        return command;
    }
    let command = command.mut_args(|arg| {
        if names(&arg).any(|name| name == key) {
            arg.required(false).default_values(values.to_vec())
        } else {
            arg
        }
    });
    command.mut_subcommands(|sub| set_default(sub, key, values, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new option that takes a path is an input, or is listed as an output.
    #[test]
    fn every_option_with_a_path_is_an_input_or_an_output() {
        const INPUTS: &[&str] = &[
            "base",
            "ca",
            "choices",
            "config",
            "data",
            "decode",
            "graph",
            "kg",
            "labels",
            "mentions",
            "model",
            "operator-token-file",
            "predictions",
            "questions",
            "reword",
            "skip",
            "start",
            "tls-cert",
            "tls-key",
            "token-file",
            "tokenizer",
            "validate",
            "words",
            "words-from",
        ];
        let paths = ["DIR", "FILE", "OUT", "PATH", "MODEL"];
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            for arg in command.get_arguments() {
                let Some(long) = arg.get_long() else { continue };
                let value = arg.get_value_names().unwrap_or_default();
                if value.iter().any(|name| paths.contains(&name.as_str())) {
                    assert!(
                        OUTPUTS.contains(&long) ^ INPUTS.contains(&long),
                        "--{long} of {} is neither in OUTPUTS nor an input",
                        command.get_name()
                    );
                }
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
