//! The walks of `docs/guide/` run as printed: every `sh` block below a line `<!-- run -->` is executed, with smaller sizes.
//!
//! A command may end with 0. `ask` may also end with 1: a model this small often has no answer.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Marks the next `sh` block as runnable.
const MARK: &str = "<!-- run -->";
/// Options whose value in the text is replaced, so that a walk takes seconds.
const SMALL: [(&str, &str); 2] = [("--count", "60"), ("--epochs", "1")];
/// The same for options that the text leaves out.
const SMALL_DEFAULTS: [(&str, &str); 1] = [("KGAGENT_LIMIT", "40")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The commands of the marked blocks, in order; lines that end in a backslash are joined.
fn marked(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for part in page.split(MARK).skip(1) {
        let block = part
            .trim_start()
            .strip_prefix("```sh\n")
            .and_then(|rest| rest.split_once("```"))
            .unwrap_or_else(|| panic!("no sh block follows `{MARK}`: {part:.60}"))
            .0;
        let joined = block.replace("\\\n", " ");
        commands.extend(
            joined
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(str::to_owned),
        );
    }
    commands
}

/// Splits a command into words as a shell does: single and double quotes, no variables.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    assert!(quote.is_none(), "a quote is open in `{command}`");
    words.retain(|word| !word.is_empty());
    words
}

/// The shipped word tables are, byte for byte, what the command in their card makes of the published sets.
#[test]
fn the_shipped_word_tables_are_what_their_command_makes() {
    let sets = root().join("../shared/datasets/wordings");
    if !sets.is_dir() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: ../shared/datasets/wordings is not here"
        );
        return;
    }
    let card = fs::read_to_string(root().join("data/base/README.md")).unwrap();
    let block = card.split("```sh\n").nth(1).unwrap();
    let command = block.split("```").next().unwrap().replace("\\\n", " ");
    assert!(command.contains("datagen words"), "{command}");
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("words.tsv");
    let command = command
        .replace("W/", &format!("{}/", sets.display()))
        .replace("data/base/words.tsv", out.to_str().unwrap());
    let args = words(command.trim().trim_start_matches("kgagent"));
    let run = Command::new(env!("CARGO_BIN_EXE_kgagent"))
        .args(&args)
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let made = fs::read(&out).unwrap();
    assert!(
        made == fs::read(root().join("data/base/words.tsv")).unwrap(),
        "make data/base/words.tsv again with the command in data/base/README.md, and measure again"
    );
}

/// Runs the marked commands of a page in a fresh folder that holds a copy of `data/`.
fn walk(page: &str) {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{page}"));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("data")).unwrap();
    for entry in fs::read_dir(root().join("data")).unwrap() {
        let path = entry.unwrap().path();
        // What ships with the program is compiled in.
        if path.is_dir() {
            continue;
        }
        fs::copy(&path, place.join("data").join(path.file_name().unwrap())).unwrap();
    }
    let text = fs::read_to_string(root().join("docs/guide").join(page)).unwrap();
    let commands = marked(&text);
    assert!(
        commands.len() >= 5,
        "{page} has {} runnable commands",
        commands.len()
    );
    for command in commands {
        let mut args = words(&command);
        assert_eq!(
            args.remove(0),
            "kgagent",
            "`{command}` is not a kgagent command"
        );
        for (option, value) in SMALL {
            if let Some(at) = args.iter().position(|arg| arg == option) {
                value.clone_into(&mut args[at + 1]);
            }
        }
        let out = Command::new(env!("CARGO_BIN_EXE_kgagent"))
            .args(&args)
            .envs(SMALL_DEFAULTS)
            .current_dir(&place)
            .output()
            .unwrap();
        let code = out.status.code().unwrap();
        let no_answer = code == 1 && args[0] == "ask";
        assert!(
            code == 0 || no_answer,
            "{page}: `{command}` ended with {code}:\n{}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
    }
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn your_graph_runs_as_printed() {
    walk("your-graph.md");
}

#[test]
fn your_questions_runs_as_printed() {
    walk("your-questions.md");
}

/// Marks an `sh` block with a request, which the block after it answers.
const ASK: &str = "<!-- ask -->";

/// The marked requests with their printed answers.
fn requests(page: &str) -> Vec<(String, String)> {
    let block = |text: &str| {
        let (_, rest) = text.split_once("```").unwrap();
        let (_, rest) = rest.split_once('\n').unwrap();
        let (block, rest) = rest.split_once("```").unwrap();
        (block.trim().to_owned(), rest.to_owned())
    };
    let parts = page.split(ASK).skip(1).map(|part| {
        let (request, rest) = block(part);
        (request, block(&rest).0)
    });
    parts.collect()
}

/// An answer without what differs between two runs: ids and times.
fn lasting(answer: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(answer) else {
        return answer.replace('\r', "").trim().to_owned();
    };
    for path in ["/id", "/created", "/kgagent/id"] {
        if let Some(place) = value.pointer_mut(path) {
            *place = serde_json::Value::Null;
        }
    }
    value.to_string()
}

/// A server process; it ends with this value.
struct Serving(std::process::Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serving_answers_as_printed() {
    use std::io::BufRead;

    if Command::new("curl").arg("--version").output().is_err() {
        crate::serving::say("skipped: there is no curl on this machine");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let graph = place.path().join("graph");
    let kgagent = env!("CARGO_BIN_EXE_kgagent");
    let mut load = Command::new(kgagent);
    load.args(["kg", "load", "--kg"]).arg(&graph);
    load.args(["graph.ttl", "ontology.ttl"].map(|name| root().join("data").join(name)));
    assert!(load.output().unwrap().status.success());
    let mut serve = Command::new(kgagent);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--kg"]);
    let serve = serve.arg(&graph).stdout(std::process::Stdio::piped());
    let mut serving = Serving(serve.spawn().unwrap());
    let mut line = String::new();
    let output = serving.0.stdout.take().unwrap();
    std::io::BufReader::new(output)
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();
    let page = fs::read_to_string(root().join("docs/guide/serving.md")).unwrap();
    let requests = requests(&page);
    assert_eq!(requests.len(), 4);
    for (request, printed) in requests {
        let mut args = words(&request.replace("http://127.0.0.1:8765/", address));
        assert_eq!(args.remove(0), "curl");
        let out = Command::new("curl").args(&args).output().unwrap();
        let answer = String::from_utf8(out.stdout).unwrap();
        assert_eq!(lasting(&answer), lasting(&printed), "{request}");
    }
}

#[test]
fn blocks_and_words_are_read_as_a_shell_reads_them() {
    let page = "```sh\nno\n```\n<!-- run -->\n```sh\na 'b c' \\\n  --d \"e f\"\n\ng\n```\n```sh\nno\n```\n";
    let commands = marked(page);
    assert_eq!(commands.len(), 2);
    assert_eq!(words(&commands[0]), ["a", "b c", "--d", "e f"]);
    assert_eq!(words(&commands[1]), ["g"]);
}
