//! The data folder: `train.jsonl`, `valid.jsonl`, `refused.jsonl`, `report.json`, `run.json` and a data card, whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use serde_json::json;
use toolbox::kg::Kg;

use crate::pipeline::{GenerateOptions, Outcome, Part, generate_into};
use crate::question::GoldQuestion;
use crate::report::Report;
use crate::{Error, limits};

/// Makes examples of questions and writes them as a data folder. `run` is what the caller wants remembered (sources, command line).
///
/// # Errors
/// [`Error::Io`] with the path, [`Error::Stopped`]; the folder is then as it was before.
pub fn write_dataset(
    out: &Path,
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &GenerateOptions,
    run: &serde_json::Value,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let folder = Folder::new(out)?;
    let mut train = folder.lines("train.jsonl")?;
    let mut valid = folder.lines("valid.jsonl")?;
    let mut refused = folder.lines("refused.jsonl")?;
    let mut written = 0;
    let mut sink = |outcome: Outcome| match outcome {
        Outcome::Kept(part, examples) => {
            let file = if part == Part::Train { &mut train } else { &mut valid };
            examples.iter().try_for_each(|example| file.line(example))
        }
        Outcome::Refused(question) => {
            written += 1;
            if written <= limits::REFUSED_WRITTEN { refused.line(&question) } else { Ok(()) }
        }
    };
    let report = generate_into(questions, kg, options, progress, stop, &mut sink)?;
    let (in_train, in_valid) = (train.finish()?, valid.finish()?);
    refused.finish()?;
    folder.json("report.json", &report)?;
    folder.json("run.json", &run_json(kg, options, run))?;
    folder.text("README.md", &card(&report, kg, options, in_train, in_valid))?;
    folder.commit()?;
    Ok(report)
}

fn run_json(kg: &dyn Kg, options: &GenerateOptions, run: &serde_json::Value) -> serde_json::Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "template_hash": options.template.hash(),
        "kg_hash": kg.content_hash(),
        "kg_triples": kg.len(),
        "options": {
            "layout": options.template.layout,
            "agent": options.template.agent,
            "toolbox": options.template.toolbox,
            "seed": options.seed,
            "limit": options.limit,
            "abstain": options.abstain,
            "scramble": options.scramble,
            "valid": options.valid,
            "ties": options.verify.ties,
            "shown": options.verify.shown,
            "ranker": options.verify.ranker.name(),
            "max_steps": options.verify.max_steps,
            "held_out_questions": options.hold_out.len(),
        },
        "run": run,
    })
}

/// The card that data hubs show: YAML head, then what the folder holds.
fn card(report: &Report, kg: &dyn Kg, options: &GenerateOptions, train: usize, valid: usize) -> String {
    let total = &report.total;
    let size = match train + valid {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        _ => "n>1M",
    };
    let layout = options.template.layout.name();
    let mut text = format!(
        "---\nlanguage:\n- en\ntask_categories:\n- question-answering\n- text-generation\ntags:\n- knowledge-graph\n- tool-use\n- {}\n\
         size_categories:\n- {size}\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.jsonl\n  - split: \
         validation\n    path: valid.jsonl\n---\n\n# Verified knowledge-graph programs ({layout} layout)\n\n",
        options.template.agent
    );
    text.push_str(&format!(
        "Questions over a knowledge graph of {} triples, each with a program of tool calls. Every program was run on the graph, and its \
         answer is that of the gold SPARQL query.\n\n| | |\n|---|---|\n| questions read | {} |\n| kept | {} |\n| examples | {} ({train} to \
         train on, {valid} to validate) |\n| calls | {} |\n| examples of giving up | {} |\n| template | `{}` |\n| graph | `{}` |\n\n",
        kg.len(),
        total.questions,
        total.verified,
        total.examples,
        total.steps,
        total.abstain,
        options.template.hash(),
        kg.content_hash(),
    ));
    text.push_str("| source | read | kept |\n|---|---|---|\n");
    for (source, counts) in &report.sources {
        text.push_str(&format!("| {source} | {} | {} |\n", counts.questions, counts.verified));
    }
    if !total.refused.is_empty() {
        text.push_str("\nRefused, by reason (`refused.jsonl` has the queries):\n\n| reason | questions |\n|---|---|\n");
        for (reason, count) in &total.refused {
            text.push_str(&format!("| {reason} | {count} |\n"));
        }
    }
    text.push_str(
        "\nA line is one JSON object: `messages` (role, content; the assistant's turns are to be trained on), `id`, `source`, `question`, \
         `program`, `answer`, `layout`, `agent`, `step`, `n_steps`, `template_hash`, `kg_hash`, `verified`, and where they apply `shape`, \
         `kind`, `hops`, `topics`, `exclude`, `abstain`, `without`. The licences of the questions and of the graph are those of their sources.\n",
    );
    text
}

/// A folder being written beside its place; dropped without [`Folder::commit`], it leaves nothing behind.
struct Folder {
    temp: PathBuf,
    target: PathBuf,
    done: bool,
}

impl Folder {
    fn new(target: &Path) -> Result<Self, Error> {
        if target.exists() && !replaceable(target) {
            let message = "this exists and is no data folder; name a new folder, or remove it first";
            return Err(Error::file(target, message));
        }
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        let name = target.file_name().map_or_else(|| "data".to_owned(), |name| name.to_string_lossy().into_owned());
        let temp = parent.join(format!(".{name}.partial-{}", std::process::id()));
        if temp.exists() {
            fs::remove_dir_all(&temp).map_err(Error::io(&temp))?;
        }
        fs::create_dir(&temp).map_err(Error::io(&temp))?;
        Ok(Self { temp, target: target.to_owned(), done: false })
    }

    fn lines(&self, name: &str) -> Result<Lines, Error> {
        let path = self.temp.join(name);
        let file = File::create(&path).map_err(Error::io(&path))?;
        Ok(Lines { file: BufWriter::new(file), path, count: 0 })
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let path = self.temp.join(name);
        let text = serde_json::to_string_pretty(value).map_err(|error| Error::file(&path, error.to_string()))?;
        self.text(name, &format!("{text}\n"))
    }

    fn text(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.temp.join(name);
        let mut file = File::create(&path).map_err(Error::io(&path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(Error::io(&path))
    }

    fn commit(mut self) -> Result<(), Error> {
        sync(&self.temp)?;
        let aside = self.temp.with_extension("replaced");
        let replaces = self.target.exists();
        if replaces {
            fs::rename(&self.target, &aside).map_err(Error::io(&self.target))?;
        }
        if let Err(error) = fs::rename(&self.temp, &self.target) {
            if replaces {
                // Best effort: the first error is the one to report.
                let _ = fs::rename(&aside, &self.target);
            }
            return Err(Error::io(&self.target)(error));
        }
        self.done = true;
        if let Some(parent) = self.target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync(parent)?;
        }
        if replaces {
            fs::remove_dir_all(&aside).map_err(Error::io(&aside))?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.done {
            // Nothing can be done about a leftover here, and its name says what it is.
            let _ = fs::remove_dir_all(&self.temp);
        }
    }
}

/// Whether a folder is empty or one that an earlier run wrote.
fn replaceable(target: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(target) else { return false };
    entries.next().is_none() || (target.join("report.json").is_file() && target.join("run.json").is_file())
}

/// Makes a folder's entries durable.
fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io(folder))
}

/// A file of JSON Lines.
struct Lines {
    file: BufWriter<File>,
    path: PathBuf,
    count: usize,
}

impl Lines {
    fn line(&mut self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.file, value).map_err(|error| Error::io(&self.path)(error.into()))?;
        self.count += 1;
        self.file.write_all(b"\n").map_err(Error::io(&self.path))
    }

    /// Flushes and syncs; the number of lines.
    fn finish(mut self) -> Result<usize, Error> {
        self.file.flush().and_then(|()| self.file.get_ref().sync_all()).map_err(Error::io(&self.path))?;
        Ok(self.count)
    }
}
