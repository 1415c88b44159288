//! Commands that end at any of their writes, renames, syncs and removals, and that find the disk full
//! there. The old output or the new one must be there afterwards, never a part of one; nothing else
//! may have changed; and the same command must then do its work and clear up what was left.
//!
//! The calls are those of the whole process, libraries included: a small C library (`shim.c`), which
//! the linker of the system puts before the C library, counts them and stops at one. By default some
//! calls of each command are tried, among them the last ones, which put the output in its place;
//! `KGAGENT_CRASH=all` tries all.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::copy;

/// Last calls of a command that are tried, and as many others.
const TRIED: usize = 8;

/// The same for commands that take seconds.
const FEW: usize = 3;

/// A command that replaces its earlier output.
struct Work {
    name: &'static str,
    /// What is there before, made by commands.
    before: &'static [&'static str],
    command: &'static str,
    /// Its output.
    out: &'static [&'static str],
    tried: usize,
}

const WORK: [Work; 8] = [
    Work {
        name: "load",
        before: &["kg load --kg out other.ttl"],
        command: "kg load --replace --kg out graph.ttl --threads 1",
        out: &["out"],
        tried: TRIED,
    },
    Work {
        name: "load in parts",
        before: &[],
        command: "kg load --replace --kg out graph.ttl --threads 1 --memory 1KiB",
        out: &["out"],
        tried: TRIED,
    },
    Work {
        name: "gold",
        before: &["datagen gold --kg g --source jsonl=other.jsonl --out out"],
        command: "datagen gold --kg g --source jsonl=q.jsonl --out out --threads 1",
        out: &["out"],
        tried: TRIED,
    },
    Work {
        name: "subgraph",
        before: &[],
        command: "kg subgraph --kg g --entity lisbon --out near.nt --threads 1",
        out: &["near.nt"],
        tried: TRIED,
    },
    Work {
        name: "ask",
        before: &["ask --kg g --agent words --trace t.jsonl Spain?"],
        command: "ask --kg g --agent words --trace t.jsonl Lisbon?",
        out: &["t.jsonl"],
        tried: TRIED,
    },
    Work {
        name: "eval",
        before: &["eval --kg g --agent words --source jsonl=other.jsonl --out out --threads 1"],
        command: "eval --kg g --agent words --source jsonl=q.jsonl --out out --threads 1",
        out: &["out"],
        tried: TRIED,
    },
    Work {
        name: "train",
        before: &["datagen gold --kg g --source jsonl=q.jsonl --out data"],
        command: "train --data data --base scratch:tiny --vocab-size 300 --epochs 1 --resume auto --out out",
        out: &["out"],
        tried: FEW,
    },
    Work {
        name: "export",
        before: &["datagen gold --kg g --source jsonl=q.jsonl --out data"],
        command: "datagen export --data data --format sharegpt --out out",
        out: &["out"],
        tried: TRIED,
    },
];

const GRAPH: &str = r#"@prefix : <http://x.test/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:lisbon a :city ; rdfs:label "Lisbon"@en ; :country :portugal . :porto a :city ; :country :portugal .
:madrid a :city ; rdfs:label "Madrid"@en ; :country :spain . :spain rdfs:label "Spain"@en . :portugal rdfs:label "Portugal"@en .
"#;

fn question(entity: &str) -> String {
    let sparql = format!("SELECT ?x {{ <http://x.test/{entity}> <http://x.test/country> ?x }}");
    let topic = serde_json::json!({ entity: entity });
    let question = format!("Where is {entity}?");
    let line =
        serde_json::json!({ "id": entity, "question": question, "sparql": sparql, "topic": topic });
    format!("{line}\n")
}

/// The library, made by the C compiler of the system.
fn shim(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/shim.c");
    let library = folder.join("shim.so");
    let made = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .status();
    assert!(
        made.expect("a C compiler, which the build needs too")
            .success()
    );
    library
}

fn kgagent(folder: &Path, command: &str) -> Command {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kgagent"));
    child.args(command.split(' ')).current_dir(folder);
    child.env("RAYON_NUM_THREADS", "1");
    child
}

fn done(folder: &Path, command: &str) -> Output {
    let output = kgagent(folder, command).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{command}: {said}"
    );
    output
}

type Tree = BTreeMap<String, Vec<u8>>;

/// All files and empty folders below a folder.
fn tree(folder: &Path) -> Tree {
    fn walk(folder: &Path, root: &Path, out: &mut Tree) {
        let mut empty = true;
        for entry in fs::read_dir(folder).unwrap().flatten() {
            empty = false;
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                walk(&path, root, out);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                // The name of TensorBoard's file has the time.
                let (start, end) = name.split_once("tfevents").unwrap_or((&name, ""));
                let bytes = if end.is_empty() {
                    fs::read(&path).unwrap_or_default()
                } else {
                    Vec::new()
                };
                out.insert(start.to_owned(), bytes);
            }
        }
        if empty && folder != root {
            let name = folder.strip_prefix(root).unwrap().display().to_string();
            out.insert(format!("{name}/"), Vec::new());
        }
    }
    let mut out = Tree::new();
    walk(folder, folder, &mut out);
    out
}

/// A command with the states before and after it.
struct Trial<'a> {
    work: &'a Work,
    shim: &'a Path,
    start: PathBuf,
    before: Tree,
    after: Tree,
    /// Files that differ between two runs, such as those with times.
    varying: Vec<String>,
    calls: usize,
}

impl<'a> Trial<'a> {
    fn new(work: &'a Work, shim: &'a Path, folder: &Path) -> Self {
        let start = folder.join(work.name).join("start");
        fs::create_dir_all(&start).unwrap();
        fs::write(start.join("graph.ttl"), GRAPH).unwrap();
        fs::write(start.join("other.ttl"), GRAPH.replace("porto", "faro")).unwrap();
        fs::write(
            start.join("q.jsonl"),
            question("lisbon") + &question("porto"),
        )
        .unwrap();
        fs::write(start.join("other.jsonl"), question("madrid")).unwrap();
        done(&start, "kg load --kg g graph.ttl");
        for command in work.before {
            done(&start, command);
        }
        let mut trial = Self {
            work,
            shim,
            before: tree(&start),
            start,
            after: Tree::new(),
            varying: Vec::new(),
            calls: 0,
        };
        let place = trial.place();
        let count = folder.join(format!("{}.count", work.name));
        let counted = trial.run(place.path(), 0, "kill", Some(&count));
        let said = String::from_utf8_lossy(&counted.stderr);
        assert!(
            matches!(counted.status.code(), Some(0 | 1)),
            "{}: {said}",
            work.command
        );
        let text = fs::read_to_string(count).unwrap();
        trial.calls = text.trim().parse().unwrap();
        trial.after = tree(place.path());
        // Some names and files have the time in seconds.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        let again = trial.place();
        done(again.path(), work.command);
        let again = tree(again.path());
        let differs = |name: &&String| again.get(*name) != trial.after.get(*name);
        trial.varying = trial.after.keys().filter(differs).cloned().collect();
        trial
    }

    /// A fresh copy of the state before the command.
    fn place(&self) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        copy(&self.start, place.path());
        place
    }

    fn run(&self, place: &Path, at: usize, how: &str, count: Option<&Path>) -> Output {
        let mut command = kgagent(place, self.work.command);
        command.env("LD_PRELOAD", self.shim);
        command.env("CRASH_BELOW", place.canonicalize().unwrap());
        command
            .env("CRASH_AT", at.to_string())
            .env("CRASH_HOW", how);
        if let Some(count) = count {
            command.env("CRASH_COUNT", count);
        }
        command.output().unwrap()
    }

    fn is_output(&self, name: &str) -> bool {
        self.work.out.iter().any(|out| {
            let rest = name.strip_prefix(out);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// What is left of unfinished work has a name of its own.
    fn is_unfinished(&self, name: &str) -> bool {
        let first = name.split('/').next().unwrap();
        let resumed = first
            .strip_suffix(".partial")
            .is_some_and(|out| self.work.out.contains(&out));
        first.starts_with(".partial-") || resumed
    }

    /// Whether the output is as it was before, or whole and new. Nothing else may have changed.
    fn is_whole(&self, now: &Tree) -> Result<(), String> {
        let output = |tree: &Tree| -> Tree {
            let own = tree.iter().filter(|(name, _)| self.is_output(name));
            own.map(|(name, bytes)| (name.clone(), bytes.clone()))
                .collect()
        };
        let (old, new, found) = (output(&self.before), output(&self.after), output(now));
        let varies = |name: &String| self.varying.contains(name);
        let is_new = found.keys().eq(new.keys())
            && found
                .iter()
                .all(|(name, bytes)| varies(name) || new[name] == *bytes);
        if found != old && !is_new {
            let names: Vec<&String> = found.keys().collect();
            return Err(format!("the output is neither old nor new: {names:?}"));
        }
        for (name, bytes) in &self.before {
            if !self.is_output(name) && now.get(name) != Some(bytes) {
                return Err(format!("{name} was changed"));
            }
        }
        let foreign = now.keys().find(|name| {
            !self.before.contains_key(*name) && !self.is_output(name) && !self.is_unfinished(name)
        });
        foreign.map_or(Ok(()), |name| Err(format!("{name} was written")))
    }

    /// Ends the process at a call, looks at what is left, and runs the command again.
    fn killed(&self, at: usize) -> Result<(), String> {
        let place = self.place();
        self.run(place.path(), at, "kill", None);
        let left = tree(place.path());
        self.is_whole(&left)?;
        let again = kgagent(place.path(), self.work.command).output().unwrap();
        let said = String::from_utf8_lossy(&again.stderr);
        // This command replaces nothing; its output was found whole above. No later run of it removes
        // what is left.
        if said.contains("this exists") && left.keys().any(|name| self.is_output(name)) {
            let stays = left.keys().find(|name| self.is_unfinished(name));
            return stays.map_or(Ok(()), |name| Err(format!("{name} stays for ever")));
        }
        if !matches!(again.status.code(), Some(0 | 1)) {
            return Err(format!("the command does not work again: {said}"));
        }
        let end = tree(place.path());
        self.is_whole(&end)?;
        let unlike = end.iter().find(|(name, bytes)| {
            !self.varying.contains(*name) && self.after.get(*name) != Some(bytes)
        });
        match unlike {
            Some((name, _)) => Err(format!("{name} is left or is not as it should be")),
            None if end.len() != self.after.len() => Err("a file is missing".to_owned()),
            None => Ok(()),
        }
    }

    /// Lets a call fail as on a full disk.
    fn failed(&self, at: usize) -> Result<(), String> {
        let place = self.place();
        let output = self.run(place.path(), at, "fail", None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let end = tree(place.path());
        self.is_whole(&end)?;
        match output.status.code() {
            // What only makes the result more durable, or clears up, may fail.
            Some(0 | 1) => Ok(()),
            Some(2) if said.contains("No space left") && !said.contains("panicked") => {
                let left = end.keys().find(|name| name.starts_with(".partial-"));
                left.map_or(Ok(()), |name| Err(format!("{name} is left")))
            }
            code => Err(format!("{code:?}: {said}")),
        }
    }

    /// The calls that are tried.
    fn points(&self) -> Vec<usize> {
        if std::env::var("KGAGENT_CRASH").is_ok_and(|value| value == "all") {
            return (1..=self.calls).collect();
        }
        let last = self.calls.saturating_sub(self.work.tried);
        let step = last.div_ceil(self.work.tried).max(1);
        (1..=last)
            .step_by(step)
            .chain(last + 1..=self.calls)
            .collect()
    }
}

#[test]
fn work_that_ends_anywhere_leaves_the_old_output_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let shim = shim(folder.path());
    let findings = Mutex::new(Vec::new());
    for work in &WORK {
        let begun = std::time::Instant::now();
        let trial = Trial::new(work, &shim, folder.path());
        let points = trial.points();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
                scope.spawn(|| {
                    while let Some(&at) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                        for (how, result) in
                            [("killed", trial.killed(at)), ("failed", trial.failed(at))]
                        {
                            if let Err(why) = result {
                                let finding = format!(
                                    "{} {how} at {at} of {}: {why}",
                                    work.name, trial.calls
                                );
                                println!("{finding}");
                                findings.lock().unwrap().push(finding);
                            }
                        }
                    }
                });
            }
        });
        let (calls, tried, took) = (trial.calls, points.len(), begun.elapsed());
        println!("{}: {calls} calls, {tried} tried, {took:.1?}", work.name);
    }
    let findings = findings.into_inner().unwrap();
    assert!(findings.is_empty(), "{} findings", findings.len());
}
