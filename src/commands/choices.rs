//! `kgagent datagen choices`: the programs that are proposed for each question, in words, with
//! whether they answer it. A ranker is trained on them.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use common::fs::write_file;
use common::hash;
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use datagen::small_graphs::small_graphs;
use datagen::word_pairs::WordHints;
use infer::agent::{AgentKind, Deciding};
use kg::Kg;
use serde_json::{Value, json};
use toolbox::explain::TermWeights;
use toolbox::prompt::Template;

use super::datagen::source;
use super::eval::{Planning, Prediction, Setting, evaluate};
use super::{graph, output};
use crate::cli::{ChoicesArgs, EntitySource};
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// The first bytes of a file with choices.
const CHOICES: &str = "{\"candidates\":";

pub(crate) fn run(args: &ChoicesArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let mut inputs = output::paths_of(&args.sources)?;
    let files = [&args.kg, &args.labels, &args.mentions, &args.skip];
    inputs.extend(files.into_iter().flatten().cloned());
    output::spare(&args.out, inputs.iter().map(PathBuf::as_path))?;
    output::file(&args.out, Some(CHOICES))?;
    let mut hints = WordHints::default();
    if let Some(path) = &args.labels {
        hints.read_labels(path)?;
    }
    if let Some(path) = &args.mentions {
        hints.read_mentions(path)?;
    }
    if let Some(path) = &args.skip {
        hints.read_skipped(path)?;
    }
    let graph = args.kg.as_deref().map(graph::open_folder).transpose()?;
    let reading = ReadOptions {
        seed: args.seed,
        ..ReadOptions::default()
    };
    let known = graph.as_ref().map(|graph| graph as &dyn Kg);
    let mut questions = source::read(&args.sources, known, &reading)?;
    let read = questions.len();
    questions.retain(|question| !hints.skipped.contains(&question.id));
    if let Some(limit) = args.limit {
        questions.sort_by_cached_key(|one| hash::number(args.seed, "choices", &one.id));
        questions.truncate(limit);
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build()?;
    let mut lines = Lines::new(args);
    if let Some(graph) = &graph {
        let setting = setting(args, EntitySource::Linked);
        lines.add(&questions, graph, &setting, &pool, ui)?;
    } else {
        let setting = setting(args, EntitySource::Gold);
        for small in small_graphs(&questions, &hints, args.seed) {
            lines.add(&small.questions, &small.graph, &setting, &pool, ui)?;
        }
    }
    if lines.count == 0 {
        bail!("none of the {read} questions has programs to choose from");
    }
    write_file(&args.out, lines.text.as_bytes())
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    ui.object(&json!({
        "read": read, "questions": lines.count, "proposed_right": lines.proposed, "chosen_right": lines.chosen,
    }));
    ui.say(format!(
        "{} of {read} questions written to {}; a right program is proposed for {}, and the words choose one for {}",
        lines.count,
        args.out.display(),
        lines.proposed,
        lines.chosen,
    ));
    Ok(ExitStatus::Done)
}

/// The words agent with many candidates.
fn setting(args: &ChoicesArgs, entities: EntitySource) -> Setting {
    let agent = AgentKind::Words(Deciding {
        candidates: usize::from(args.candidates),
    });
    let usual = Template::of(agent.trained_as());
    let template = Template {
        tools: args.tools,
        ..usual
    };
    Setting::new(
        agent,
        Planning::Unneeded,
        template,
        args.entities.unwrap_or(entities),
    )
}

/// The lines of the file.
struct Lines<'a> {
    args: &'a ChoicesArgs,
    text: String,
    count: usize,
    proposed: usize,
    chosen: usize,
}

impl<'a> Lines<'a> {
    fn new(args: &'a ChoicesArgs) -> Self {
        Self {
            args,
            text: String::new(),
            count: 0,
            proposed: 0,
            chosen: 0,
        }
    }

    /// Adds the choices of questions about a graph. Questions that cannot be evaluated are left out.
    fn add(
        &mut self,
        questions: &[GoldQuestion],
        graph: &dyn Kg,
        setting: &Setting,
        pool: &rayon::ThreadPool,
        ui: &Ui,
    ) -> Result<()> {
        let evaluation = pool.install(|| evaluate(graph, questions, setting, None, ui))?;
        let sources = questions
            .iter()
            .map(|one| (one.id.as_str(), one.source.as_str()));
        let sources: std::collections::BTreeMap<&str, &str> = sources.collect();
        for one in &evaluation.predictions {
            if one.decided.is_empty() {
                continue;
            }
            let set = self.args.set.as_deref();
            let set = set.or_else(|| sources.get(one.id.as_str()).copied());
            self.text
                .push_str(&line(one, set.unwrap_or_default()).to_string());
            self.text.push('\n');
            self.count += 1;
            self.proposed += usize::from(one.decided.iter().any(|one| one.right));
            self.chosen += usize::from(one.is_exact());
        }
        Ok(())
    }
}

/// The choice of one question. Programs that are said in the same words are one candidate.
fn line(one: &Prediction, set: &str) -> Value {
    let weights = TermWeights::default();
    let mut candidates: Vec<(String, f32, bool)> = Vec::new();
    for judged in &one.decided {
        let score = weights.score(&judged.terms);
        match candidates.iter_mut().find(|known| known.0 == judged.said) {
            Some(known) => {
                known.1 = known.1.max(score);
                known.2 |= judged.right;
            }
            None => candidates.push((judged.said.clone(), score, judged.right)),
        }
    }
    let candidates: Vec<Value> = (candidates.into_iter())
        .map(|(text, score, right)| json!({ "text": text, "score": score, "right": right }))
        .collect();
    json!({ "candidates": candidates, "id": one.id, "set": set, "question": one.said })
}
