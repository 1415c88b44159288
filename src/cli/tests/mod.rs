//! Tests of the documentation of the command line: `docs/cli.md` is generated from clap's
//! definition, and the commands in the documentation parse.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory};

use super::Cli;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

const INTRO: &str = "\
# Command line

All commands and options of `kgagent`. This page is generated; `BLESS=1 cargo test --workspace --lib`
writes it again.

Every option can also be given in the environment (`KGAGENT_LORA_RANK=8` for `--lora-rank 8`) and in
`kgagent.toml` (`lora-rank = 8`; a table such as `[train]` sets options of one command). The command
line comes first, then the environment, then the file. A `kgagent.toml` that was found and not named by
`--config` or `KGAGENT_CONFIG` may set neither an output nor a server.

Exit codes: 0 done, 1 no answer or a failed check, 2 wrong use or unreadable input.
";

/// The page.
fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut page = INTRO.to_owned();
    section(&cli, "kgagent", &mut page);
    page
}

/// The section of a command and those of its subcommands.
fn section(command: &Command, name: &str, page: &mut String) {
    let _ = write!(page, "\n## `{name}`\n");
    let about = command.get_long_about().or(command.get_about());
    if let Some(about) = about {
        let _ = write!(page, "\n{}\n", sentence(&about.to_string()));
    }
    let all = command.get_subcommands();
    let subcommands: Vec<&Command> = all.filter(|sub| !sub.is_hide_set()).collect();
    let usage = command.clone().render_usage().to_string();
    let usage = usage
        .trim_start_matches("Usage: ")
        .replace("\n       ", "\n");
    let _ = write!(page, "\n```text\n{usage}\n```\n");
    if !subcommands.is_empty() {
        page.push_str("\n| command | what it does |\n|---|---|\n");
        for sub in &subcommands {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let link = format!("{name} {}", sub.get_name()).replace(' ', "-");
            let _ = writeln!(page, "| [`{}`](#{link}) | {about} |", sub.get_name());
        }
    }
    let nested = name.contains(' ');
    let shown = |arg: &&Arg| {
        let inherited = nested && arg.is_global_set();
        !inherited && !matches!(arg.get_id().as_str(), "help" | "version")
    };
    let args: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        args.into_iter().partition(|arg| arg.is_positional());
    for arg in positional.into_iter().chain(options) {
        argument(arg, page);
    }
    for sub in subcommands {
        section(sub, &format!("{name} {}", sub.get_name()), page);
    }
}

/// The list item of an argument; the first one of a command is preceded by an empty line.
fn argument(arg: &Arg, page: &mut String) {
    if !page.ends_with("\n\n") && !page.lines().last().is_some_and(is_item) {
        page.push('\n');
    }
    let help = arg.get_long_help().or(arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "- `{arg}`: {}", sentence(&help.replace("\n\n", " ")));
    if arg.is_required_set() {
        page.push_str(" Required.");
    }
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .filter(|value| value != "``" && arg.get_action().takes_values())
        .collect();
    if !defaults.is_empty() {
        let _ = write!(page, " Default: {}.", defaults.join(", "));
    }
    page.push('\n');
    for value in arg.get_possible_values() {
        if !arg.get_action().takes_values() {
            break;
        }
        let help = value.get_help().map(|help| format!(": {help}"));
        let help = help.unwrap_or_default();
        let _ = writeln!(page, "  - `{}`{help}", value.get_name());
    }
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ")
}

/// A text that ends in a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{text}{end}")
}

#[test]
fn the_reference_of_the_command_line_is_fresh() {
    let path = root().join("docs/cli.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        page(),
        "run the test with BLESS=1 to write docs/cli.md again"
    );
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn an_option_keeps_its_old_name() {
    for name in ["--abstention-threshold", "--doubt"] {
        let args = ["kgagent", "ask", "--kg", "g", "question", name, "0.5"];
        let matches = Cli::command().try_get_matches_from(args).unwrap();
        let ask = matches.subcommand_matches("ask").unwrap();
        assert_eq!(ask.get_one::<f64>("abstention_threshold"), Some(&0.5));
    }
}

/// The pages whose commands are checked; all but the first may be missing.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let others = ["CONTRIBUTING.md", "docs/results.md"];
    pages.extend(others.iter().map(|name| root().join(name)));
    let guide = std::fs::read_dir(root().join("docs/guide"));
    pages.extend(guide.into_iter().flatten().map(|file| file.unwrap().path()));
    pages.retain(|page| page.ends_with("README.md") || page.exists());
    pages.sort();
    pages
}

/// The lines of `sh` blocks, continued ones joined, and the code spans of table rows.
fn lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut block: Option<bool> = None;
    let mut open = String::new();
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = match block {
                None => Some(language.trim() == "sh"),
                Some(_) => None,
            };
        } else if block == Some(true) {
            match line.strip_suffix('\\') {
                Some(part) => open.push_str(part),
                None => lines.push(std::mem::take(&mut open) + line),
            }
        } else if block.is_none() && line.starts_with('|') {
            lines.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    lines
}

/// The simple commands of a line of shell, as words. Comments, redirections and commands after a
/// pipe are left out; quoted text is one word.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote, mut started, mut skip) = (String::new(), None, false, false);
    for c in line.chars().chain(['\n']) {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, started) = (Some(c), true),
            (None, '#') if word.is_empty() && !started => break,
            (None, '>') => skip = true,
            (None, ';' | '&' | ' ' | '\t' | '\n') => {
                if started || !word.is_empty() {
                    let word = std::mem::take(&mut word);
                    if !skip {
                        commands.last_mut().unwrap().push(word);
                    }
                }
                started = false;
                if matches!(c, ';' | '&') {
                    commands.push(Vec::new());
                    skip = false;
                }
            }
            (None, '|') if word.is_empty() => skip = true,
            (None, c) => word.push(c),
        }
    }
    if let Some(command) = commands.last_mut()
        && (started || !word.is_empty())
    {
        command.push(word);
    }
    commands
}

/// The arguments of a `kgagent` command; a placeholder of one capital letter becomes a number.
fn arguments(words: &[String]) -> Option<Vec<String>> {
    let is_setting = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        let upper = |c: char| c.is_ascii_uppercase() || c == '_';
        matches!(word.as_str(), "do" | "time" | "nice")
            || name.is_some_and(|name| !name.is_empty() && name.chars().all(upper))
    };
    let start = words.iter().take_while(is_setting).count();
    let rest: Vec<&str> = words[start..].iter().map(String::as_str).collect();
    let rest = match rest.as_slice() {
        ["kgagent" | "target/release/kgagent", rest @ ..] => rest,
        ["cargo", "run", "--release", "--", rest @ ..] => rest,
        _ => return None,
    };
    let plain = |word: &&str| {
        let word = word.trim_start_matches('[').trim_end_matches(']');
        match word.as_bytes() {
            [letter] if letter.is_ascii_uppercase() => "1".to_owned(),
            _ => word.to_owned(),
        }
    };
    Some(rest.iter().map(plain).collect())
}

#[test]
fn commands_in_the_documentation_parse() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in lines(&text) {
            if line.contains('…') || line.contains("...") {
                continue;
            }
            for words in commands(&line) {
                let Some(args) = arguments(&words) else {
                    continue;
                };
                // A code span may only name a command, and `a|b` lists alternatives.
                if args.len() < 3 || args.iter().any(|arg| arg.contains('|')) {
                    continue;
                }
                checked += 1;
                let line = std::iter::once("kgagent").chain(args.iter().map(String::as_str));
                if let Err(error) = Cli::command().try_get_matches_from(line) {
                    wrong.push(format!("{}: {}\n{error}", page.display(), args.join(" ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 10, "only {checked} commands were found");
}
