//! Rewording of questions by a model behind a server or in a folder.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use common::journal::ANY_PROGRAM;
use common::transcript::{Part, Turn};
use datagen::question::GoldQuestion;
use datagen::reword::{RewordCounts, RewordOptions, Reworder, reworded};
use datagen::verify::VerifyOptions;
use infer::engine::EngineDevice;
use infer::planner::{
    LocalModel, LocalPlanner, Planner, RemoteOptions, RemotePlanner, public_address,
};
use kg::Kg;
use toolbox::prompts::{REWORD, REWORD_CHECK, hash_of};

use crate::cli::{RewordArgs, server_key};
use crate::identity;
use crate::ui::Ui;

/// Maximum tokens of a reply.
const TOKENS: usize = 500;

/// A model that rewords.
struct ModelReworder {
    model: Model,
    fingerprint: String,
}

enum Model {
    Served(RemotePlanner),
    Local(Arc<LocalModel>),
}

impl ModelReworder {
    fn open(model: &str, args: &RewordArgs, seed: u64) -> Result<Self> {
        let served = model.contains("://");
        let opened = if served {
            let read = |path: &std::path::PathBuf| {
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
            };
            Model::Served(RemotePlanner::new(RemoteOptions {
                model: args.reword_model.clone(),
                key: server_key()?,
                authorities: args.ca.as_ref().map(read).transpose()?,
                temperature: args.reword_temperature,
                max_tokens: TOKENS,
                seed,
                ..RemoteOptions::new(model)
            })?)
        } else {
            let model = LocalModel::open_on(EngineDevice::Cpu, Path::new(model))
                .with_context(|| format!("cannot load the model {model}"))?;
            Model::Local(Arc::new(model))
        };
        let mut fingerprint = public_address(model);
        if served {
            fingerprint.push_str(&format!(
                ", model {}, temperature {}, seed {seed}",
                args.reword_model, args.reword_temperature
            ));
        } else {
            let files = identity::of_model(Path::new(model)).join("\n");
            let files = common::hash::number(0, "model", &files);
            fingerprint.push_str(&format!(", files {files:016x}"));
        }
        // Of both prompts, so that turning the check on keeps the wordings of earlier runs.
        let prompts = hash_of(&[REWORD, REWORD_CHECK]);
        fingerprint.push_str(&format!(", prompts {prompts}"));
        Ok(Self {
            model: opened,
            fingerprint,
        })
    }

    fn reply(&self, turns: &[Turn]) -> Result<String, String> {
        let written = match &self.model {
            Model::Served(planner) => planner.clone().reply(turns),
            Model::Local(model) => LocalPlanner::new(model).reply(turns),
        };
        Ok(written.map_err(|error| error.to_string())?.text)
    }
}

impl Reworder for ModelReworder {
    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn program(&self) -> String {
        match self.model {
            Model::Served(_) => ANY_PROGRAM.to_owned(),
            Model::Local(_) => identity::program().to_owned(),
        }
    }

    fn reword(&self, question: &str, keep: &[String], wanted: usize) -> Result<String, String> {
        let keep = if keep.is_empty() {
            "none".to_owned()
        } else {
            keep.join(" | ")
        };
        let turns = [REWORD.turn(&[
            ("wanted", Part::ours(wanted.to_string())),
            ("keep", Part::kg(keep)),
            ("question", Part::user(question)),
        ])];
        self.reply(&turns)
    }

    fn wordings(&self, reply: &str, wanted: usize) -> Vec<String> {
        lines(reply, wanted)
    }

    fn pick(&self, question: &str, programs: &[String]) -> Result<String, String> {
        let shown: Vec<String> = (1..)
            .zip(programs)
            .map(|(number, program)| format!("{number}.\n{program}"))
            .collect();
        let turns = [REWORD_CHECK.turn(&[
            ("programs", Part::kg(shown.join("\n\n"))),
            ("question", Part::user(question)),
        ])];
        self.reply(&turns)
    }

    fn picked(&self, reply: &str, programs: usize) -> Option<usize> {
        picked(reply, programs)
    }
}

/// The program that a reply names, counted from 0: its last number.
fn picked(text: &str, programs: usize) -> Option<usize> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let number: usize = numbers
        .filter_map(|digits| digits.parse().ok())
        .next_back()?;
    (1..=programs).contains(&number).then(|| number - 1)
}

/// The wordings in a reply, without numbers and marks before them.
fn lines(text: &str, most: usize) -> Vec<String> {
    let bare = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '•', ' ']);
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let line = match digits.strip_prefix(['.', ')']) {
            Some(rest) if digits.len() < line.len() => rest,
            _ => line,
        };
        line.trim().trim_matches(['"', '“', '”']).trim().to_owned()
    };
    let lines = text.lines().map(bare);
    lines.filter(|line| !line.is_empty()).take(most).collect()
}

/// The questions with rewordings, if the options name a model, and the counts.
pub(super) fn with_rewordings(
    args: &RewordArgs,
    seed: u64,
    out: &Path,
    questions: Vec<GoldQuestion>,
    verify: &VerifyOptions,
    graph: &dyn Kg,
    ui: &Ui,
) -> Result<(Vec<GoldQuestion>, Option<RewordCounts>)> {
    let Some(model) = &args.reword else {
        return Ok((questions, None));
    };
    let reworder = ModelReworder::open(model, args, seed)?;
    let options = RewordOptions {
        wanted: usize::from(args.rewordings),
        concurrency: usize::from(args.reword_concurrency),
        check: args.reword_check,
        verify: verify.clone(),
    };
    let cache = out.with_added_extension("reworded");
    let parent = common::fs::parent_of(&cache);
    std::fs::create_dir_all(&parent)
        .with_context(|| format!("cannot create {}", parent.display()))?;
    let stage = ui.progress("reword", "question", Some(questions.len() as u64));
    let progress = |done: usize, _: usize| stage.set_position(done as u64);
    let made = reworded(
        graph,
        &questions,
        &reworder,
        &options,
        &cache,
        &progress,
        ui.stop(),
    );
    let (questions, counts) = made.map_err(|error| match error {
        datagen::Error::Stopped { .. } => {
            anyhow::Error::from(error).context("the same command continues from here")
        }
        other => other.into(),
    })?;
    stage.finish_and_clear();
    ui.say(counts.sentence());
    Ok((questions, Some(counts)))
}

#[cfg(test)]
mod tests {
    use super::{lines, picked};

    #[test]
    fn the_last_number_of_a_reply_is_its_choice() {
        assert_eq!(picked("2", 3), Some(1));
        assert_eq!(picked("Not 1. The answer: **3**.", 3), Some(2));
        for text in ["0", "4", "", "none", "99999999999999999999999"] {
            assert_eq!(picked(text, 3), None, "{text}");
        }
    }

    #[test]
    fn wordings_are_read_line_by_line() {
        let text =
            "1. Who wrote it?\n- \"By whom was it written?\"\n\n1999 was the year of what?\nfour";
        assert_eq!(
            lines(text, 3),
            [
                "Who wrote it?",
                "By whom was it written?",
                "1999 was the year of what?"
            ]
        );
    }
}
