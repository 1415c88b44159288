//! One input in a child: its limits, and what must hold when it has ended.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::place::{Base, files};
use crate::servers::Replier;
use crate::support::copy;

/// Address space of a child in KiB. The limit of memory is for what is used, which is less.
const ADDRESSES: u64 = 1 << 20;

/// Processor time of a child in seconds. Test builds have little optimisation and take twice as long.
const SECONDS: u32 = if cfg!(debug_assertions) { 20 } else { 5 };

/// Largest file that a child may write, in blocks of 512 bytes.
const BLOCKS: u32 = 1 << 18;

/// Wall time after which a child hangs, on a machine that does much else.
const HANGS: Duration = Duration::from_secs(60);

/// Characters of a message. It may quote a part of an input, not all of it.
const SENTENCE: usize = 1_200;

/// What a stranger sends to one command.
#[derive(Default)]
pub(crate) struct Sent {
    /// Folders of the base that are copied before the files are written.
    pub(crate) copies: Vec<&'static str>,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The commands, one after the other. `{url}` is the address of the server.
    pub(crate) runs: Vec<Vec<String>>,
    pub(crate) stdin: Vec<u8>,
    /// What a server answers to every request, if one is asked.
    pub(crate) reply: Option<Vec<u8>>,
    /// Names that the command may write, and all names that begin with them and a dot or slash.
    pub(crate) writes: &'static str,
}

impl Sent {
    /// A command line, split at spaces.
    pub(crate) fn to(args: &str) -> Self {
        let args: Vec<&str> = args.split(' ').collect();
        Self::default().then(&args)
    }

    /// The same with one more command.
    pub(crate) fn then(mut self, args: &[&str]) -> Self {
        self.runs
            .push(args.iter().map(|arg| (*arg).to_owned()).collect());
        self
    }

    pub(crate) fn file(mut self, name: &str, bytes: Vec<u8>) -> Self {
        self.files.push((name.to_owned(), bytes));
        self
    }

    /// The command and the beginnings of the files, for a finding.
    pub(crate) fn summary(&self) -> String {
        let short = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned();
            format!("{} bytes {text:?}", bytes.len())
        };
        let mut out = String::new();
        for args in &self.runs {
            let args: Vec<String> = args
                .iter()
                .map(|arg| arg.chars().take(200).collect())
                .collect();
            out.push_str(&format!("{}\n", args.join(" ")));
        }
        for (name, bytes) in &self.files {
            out.push_str(&format!("  {name}: {}\n", short(bytes)));
        }
        for bytes in [&self.stdin].into_iter().chain(&self.reply) {
            out.push_str(&format!("  sent: {}\n", short(bytes)));
        }
        out
    }
}

/// Folders of one child: where it works, its home and its temporary folder.
struct World(tempfile::TempDir);

impl World {
    fn new(base: &Base, sent: &Sent) -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        for folder in ["work", "home", "tmp"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        for folder in &sent.copies {
            copy(&base.path(folder), &world.path("work").join(folder));
        }
        for (name, bytes) in &sent.files {
            let path = world.path("work").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Runs the commands with an input; says what does not hold.
pub(crate) fn run(base: &Base, sent: &Sent) -> Result<(), String> {
    let world = World::new(base, sent);
    let replier = sent.reply.clone().map(Replier::start);
    let url = replier.as_ref().map_or("", |replier| &replier.url);
    let before = files(world.0.path());
    let mut code = None;
    for args in &sent.runs {
        code = once(&world, args, &sent.stdin, url)?;
    }
    kept(&world, &before, sent, code)
}

/// Runs one command; returns its exit code.
fn once(world: &World, args: &[String], input: &[u8], url: &str) -> Result<Option<i32>, String> {
    let limits = format!("ulimit -v {ADDRESSES}; ulimit -t {SECONDS}; ulimit -f {BLOCKS}");
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("{limits}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_kgagent"))
        .args(args.iter().map(|arg| arg.replace("{url}", url)))
        .current_dir(world.path("work"))
        .env("HOME", world.path("home"))
        .env("TMPDIR", world.path("tmp"))
        .env("HF_HOME", world.path("home/hf"))
        .env("HF_ENDPOINT", url)
        .env("XDG_CACHE_HOME", world.path("home/cache"))
        .env("RAYON_NUM_THREADS", "2")
        // Otherwise the C library sets 64 MiB of addresses aside for each thread.
        .env("MALLOC_ARENA_MAX", "1")
        .env_remove("KGAGENT_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let input = input.to_vec();
    // A command that reads no input closes it.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let (stdout, stderr) = (read(stdout), read(stderr));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err(format!("hangs for {HANGS:?}"));
        }
        std::thread::sleep(Duration::from_millis(4));
    };
    writer.join().unwrap();
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    said(status.code(), &stdout, &stderr).map_err(|why| format!("{why}; {status}"))?;
    Ok(status.code())
}

fn read(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Looks at how a child ended and what it said.
fn said(code: Option<i32>, stdout: &str, stderr: &str) -> Result<(), String> {
    let end: String = stderr.chars().take(SENTENCE).collect();
    if !matches!(code, Some(0..=2)) {
        return Err(format!("ended by a signal or a crash: {end}"));
    }
    if stderr.contains("panicked") || stderr.contains("RUST_BACKTRACE") {
        return Err(format!("panics: {end}"));
    }
    let acts = |c: char| c != '\n' && c != '\t' && kg::is_unsafe(c);
    if stdout.contains(acts) || stderr.contains(acts) {
        return Err(format!("acts on a terminal: {end:?} {stdout:?}"));
    }
    let words = |line: &&str| line.split_whitespace().count() > 2;
    if code == Some(2) && !stderr.lines().any(|line| words(&line)) {
        return Err(format!("says nothing: {end:?}"));
    }
    if code == Some(2) && stderr.chars().count() > SENTENCE {
        return Err(format!("says {} characters: {end}", stderr.len()));
    }
    Ok(())
}

/// Looks at what is in the folders of a child after it has ended.
fn kept(
    world: &World,
    before: &std::collections::BTreeMap<String, String>,
    sent: &Sent,
    code: Option<i32>,
) -> Result<(), String> {
    let after = files(world.0.path());
    for (name, hash) in before {
        let unfinished = |bytes: &Vec<u8>| bytes.starts_with(b"kgagent journal ");
        let ours = sent.files.iter().any(|(file, bytes)| {
            name.strip_prefix("work/") == Some(file)
                && file.ends_with(".partial")
                && unfinished(bytes)
        });
        if after.get(name) != Some(hash) && !ours {
            return Err(format!("{name} was changed or removed"));
        }
    }
    let own = |name: &str| {
        let name = name.strip_prefix("work/").unwrap_or(name);
        !sent.writes.is_empty()
            && sent.writes.split(' ').any(|may| {
                let rest = name.strip_prefix(may);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
            })
    };
    let new = after.keys().filter(|name| !before.contains_key(*name));
    for name in new {
        if code == Some(2)
            && !name.contains(".partial/")
            && !name.ends_with(".partial")
            && !own(name)
        {
            return Err(format!("a refused input left {name}"));
        }
        if !own(name) {
            return Err(format!("{name} was written"));
        }
    }
    Ok(())
}
