//! `kgagent adapt`: a model learns from the questions that people ask. It answers them in decide
//! mode and learns the programs that are known to be right or that the decision is sure of. Verdicts
//! of other people are checked first. The result is kept only if control questions are answered as well as before.

mod claims;
mod data;
mod label;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use common::fs::{StagedFolder, check_target, write_file};
use datagen::pipeline::GenerateOptions;
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::ReadOptions;
use datagen::verify::VerifyOptions;
use infer::agent::{AgentKind, Deciding};
use infer::planner::LocalModel;
use kg::{FrozenKg, Kg};
use serde::Serialize;
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::ToolTable;
use toolbox::prompt::Template;
use toolbox::rank::Ranker;
use train::{Algorithm, Base, LoraConfig, Method, Summary, TrainConfig, partial_folder};

use self::label::{Labelled, fates};
use super::datagen::{generate, source};
use super::eval::{self, Planning, Setting};
use super::{graph, output, ranking, train as training};
use crate::cli::{AdaptArgs, EntitySource};
use crate::exit::ExitStatus;
use crate::ui::{Ui, header};

/// The record of a run in the adapter folder.
const RECORD: &str = "adapt.json";
/// What unfinished work belongs to, in its folder.
const ASKED: &str = "asked.json";

/// The share of right answers to control questions.
#[derive(Serialize)]
struct Checked {
    questions: String,
    mode: &'static str,
    n: usize,
    before: f64,
    after: f64,
}

/// A run: its options, and what it works on.
struct Adapting<'a> {
    args: &'a AdaptArgs,
    ui: &'a Ui,
    graph: FrozenKg,
    ranker: Arc<dyn Ranker>,
    /// The folder of unfinished work.
    work: PathBuf,
}

pub(crate) fn run(args: &AdaptArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let mut inputs = output::paths_of(&args.controls)?;
    inputs.extend([&args.graph.kg, &args.model, &args.questions].map(Clone::clone));
    inputs.extend(args.data.clone());
    let work = args.out.with_added_extension("adapt");
    for out in [&args.out, &work] {
        output::spare(out, inputs.iter().map(PathBuf::as_path))?;
    }
    check_target(&args.out, &[RECORD])?;
    if !args.model.join("config.json").is_file() {
        bail!(
            "{} is not a model folder with weights of its own: it has no config.json; name the \
             original model, not an adapter, and give all questions at once",
            args.model.display()
        );
    }
    let adapting = Adapting {
        args,
        ui,
        graph: graph::open(&args.graph)?,
        ranker: ranking::open(&args.ranking)?,
        work,
    };
    adapting.begin()?;
    adapting.run()
}

impl Adapting<'_> {
    /// Makes the work folder, without the work of a run with other settings.
    fn begin(&self) -> Result<()> {
        let (asked, text) = (self.work.join(ASKED), self.settings().to_string());
        let shown = self.work.display();
        let known = fs::read_to_string(&asked).ok();
        if known.is_none() && self.work.exists() {
            bail!(
                "{shown} exists and is no unfinished work of `adapt`; move it away, or name \
                 another --out"
            );
        }
        if known.is_some_and(|known| known != text) {
            fs::remove_dir_all(&self.work).with_context(|| format!("cannot remove {shown}"))?;
        }
        fs::create_dir_all(&self.work).with_context(|| format!("cannot create {shown}"))?;
        Ok(write_file(&asked, text.as_bytes())?)
    }

    /// Everything that changes what a run does.
    fn settings(&self) -> Value {
        let args = self.args;
        json!({
            "model": args.model, "questions": args.questions, "data": args.data,
            "controls": args.controls, "ranker": self.ranker.name(),
            "graph": self.graph.fingerprint(), "hold_back": args.hold_back,
            "tolerance": args.tolerance, "sure": args.sure, "instances": args.instances,
            "replay": args.replay, "epochs": args.epochs, "lr": args.lr, "seed": args.seed,
        })
    }

    fn run(&self) -> Result<ExitStatus> {
        let (args, ui) = (self.args, self.ui);
        let asked = data::questions(&args.questions, &self.graph, &self.work)?;
        let before = self.open(&args.model)?;
        if let Some(warning) = before.other_ranker(self.ranker.as_ref()) {
            ui.warn(&warning);
        }
        let witnesses = [self.words(), self.setting(AgentKind::KgAgent, &before)?];
        let checked = claims::check(&self.graph, asked.claims, &asked.denials, &witnesses, ui)?;
        let mut questions = asked.questions;
        questions.extend(checked.confirmed);
        let controls = self.controls(&mut questions)?;
        let setting = self.setting(AgentKind::KgAgentDecide(Deciding::default()), &before)?;
        let mut labelled = label::label(&self.graph, &questions, &setting, args.sure, ui)?;
        labelled.extend(checked.left_out);
        let learned = labelled.iter().filter_map(|one| one.learned.clone());
        let learned: Vec<GoldQuestion> = learned.collect();
        let mut record = json!({
            "settings": self.settings(), "marked_wrong": asked.denials.len(), "fates": fates(&labelled),
            "questions": labelled,
        });
        let (mut checks, mut worse) = (Vec::new(), Vec::new());
        if !learned.is_empty() {
            record["data"] = self.write_data(&before, learned.clone())?;
            record["training"] = serde_json::to_value(self.train()?)?;
            let after = self.open(&self.work.join("model"))?;
            checks = self.check(&controls, &before, &after)?;
            let fell = |one: &&Checked| one.after < one.before - args.tolerance;
            let fell = checks.iter().filter(fell);
            worse.extend(fell.map(|one| format!("{} in mode {}", one.questions, one.mode)));
            record["control"] = serde_json::to_value(&checks)?;
        }
        record["kept"] = json!(!checks.is_empty() && worse.is_empty());
        if record["kept"] == true {
            self.keep(&record, &learned)?;
        }
        fs::remove_dir_all(&self.work)
            .with_context(|| format!("cannot remove {}", self.work.display()))?;
        self.print(&labelled, &checks, &worse);
        ui.object(&record);
        Ok(match record["kept"] == true {
            true => ExitStatus::Done,
            false => ExitStatus::Negative,
        })
    }

    fn open(&self, folder: &Path) -> Result<Arc<LocalModel>> {
        let model = LocalModel::open(folder);
        let model = model.with_context(|| format!("cannot load the model {}", folder.display()))?;
        Ok(Arc::new(model))
    }

    /// The words alone, as a server without a model answers.
    fn words(&self) -> Setting {
        let template = Template {
            tools: ToolTable::Extended,
            ..Template::of(Agent::KgAgent)
        };
        let agent = AgentKind::Words(Deciding::default());
        let mut setting = Setting::new(agent, Planning::Unneeded, template, EntitySource::Linked);
        setting.ranker = Arc::clone(&self.ranker);
        setting
    }

    fn setting(&self, agent: AgentKind, model: &Arc<LocalModel>) -> Result<Setting> {
        let template = model.template(Agent::KgAgent)?;
        let planning = Planning::Local(Arc::clone(model));
        let mut setting = Setting::new(agent, planning, template, EntitySource::Linked);
        setting.ranker = Arc::clone(&self.ranker);
        Ok(setting)
    }

    /// The control questions by name. Those that are held back are taken out of `questions`.
    fn controls(
        &self,
        questions: &mut Vec<GoldQuestion>,
    ) -> Result<Vec<(String, Vec<GoldQuestion>)>> {
        let args = self.args;
        let held = questions.extract_if(.., |one| {
            let known = one.answers.is_some() || matches!(one.query, GoldQuery::Text(_));
            known && common::hash::falls_into(args.hold_back, args.seed, "control", &one.id)
        });
        let mut controls = vec![("held back".to_owned(), held.collect())];
        let own = args
            .data
            .iter()
            .map(|data| data.join("valid.questions.jsonl"));
        let own = own.filter(|path| path.is_file());
        let own = own.map(|path| format!("jsonl={}", path.display()));
        for text in own.chain(args.controls.clone()) {
            controls.push((text.clone(), self.read(&[text])?));
        }
        controls.retain(|(_, questions): &(String, Vec<_>)| !questions.is_empty());
        if controls.is_empty() {
            bail!(
                "there are no control questions to show that the model does not get worse: name \
                 some with --control, or name the model's dataset with --data"
            );
        }
        Ok(controls)
    }

    fn read(&self, sources: &[String]) -> Result<Vec<GoldQuestion>> {
        source::read(sources, Some(&self.graph), &ReadOptions::default())
    }

    /// Writes the data to train on. Returns what was made of the questions.
    fn write_data(&self, model: &LocalModel, learned: Vec<GoldQuestion>) -> Result<Value> {
        let args = self.args;
        let avoid = self.read(&args.controls)?;
        let place = self.work.join("templates.jsonl");
        let most = (usize::from(args.instances), args.seed);
        let all = data::with_instances(learned, &self.graph, most, &avoid, &place)?;
        let template = model.template(Agent::KgAgent)?;
        let trained = |agent: &Agent| model.info().templates.contains_key(agent.name());
        let options = GenerateOptions {
            agents: Agent::ALL.into_iter().filter(trained).collect(),
            verify: VerifyOptions {
                abstain: true,
                tools: template.tools,
                ranker: Arc::clone(&self.ranker),
                ..VerifyOptions::default()
            },
            template,
            seed: args.seed,
            valid: if args.data.is_some() { 0.0 } else { 0.1 },
            ..GenerateOptions::default()
        };
        let (new, run) = (self.work.join("data"), json!({ "adapts": args.model }));
        let report = generate::generate(&new, &all, &self.graph, &options, &run, self.ui)?;
        let old = (args.data.as_deref(), usize::from(args.replay));
        let mixed = self.work.join("mixed");
        let (examples, repeated) = data::mix(&new, old, &args.model, args.seed, &mixed)?;
        let refused = &report.total.refused;
        if examples == 0 {
            bail!("no learned question gives an example; the reasons: {refused:?}");
        }
        Ok(json!({
            "questions": all.len(), "refused": refused, "examples": examples, "repeated": repeated,
        }))
    }

    /// Trains the adapter.
    fn train(&self) -> Result<Summary> {
        let args = self.args;
        let folder = self.work.join("model");
        let config = TrainConfig {
            method: Method::Lora,
            lora: LoraConfig {
                merge: false,
                ..LoraConfig::default()
            },
            optimizer: Algorithm::Adamw,
            epochs: usize::from(args.epochs),
            learning_rate: args.lr,
            seed: args.seed,
            resume: partial_folder(&folder).exists(),
            ..TrainConfig::default()
        };
        let base = Base::Folder(args.model.clone());
        training::train_model(&config, &base, &self.work.join("mixed"), &folder, self.ui)
            .map_err(|error| training::resumable(error, "the same command continues from there"))
    }

    /// Answers the control questions with both models, in both modes.
    fn check(
        &self,
        controls: &[(String, Vec<GoldQuestion>)],
        before: &Arc<LocalModel>,
        after: &Arc<LocalModel>,
    ) -> Result<Vec<Checked>> {
        let modes = [
            ("decide", AgentKind::KgAgentDecide(Deciding::default())),
            ("paper", AgentKind::KgAgent),
        ];
        let mut checks = Vec::new();
        for (name, questions) in controls {
            for (mode, agent) in &modes {
                let measure = |model| {
                    let setting = self.setting(agent.clone(), model)?;
                    eval::evaluate(&self.graph, questions, &setting, None, self.ui)
                };
                let (old, new) = (measure(before)?.metrics, measure(after)?.metrics);
                checks.push(Checked {
                    questions: name.clone(),
                    mode,
                    n: old.n,
                    before: old.scores.exact,
                    after: new.scores.exact,
                });
            }
        }
        Ok(checks)
    }

    /// Writes the adapter with its record and the learned questions.
    fn keep(&self, record: &Value, learned: &[GoldQuestion]) -> Result<()> {
        let staged = StagedFolder::new(&self.args.out)?;
        copy(&self.work.join("model"), staged.path())?;
        staged.file(RECORD, format!("{record:#}\n").as_bytes())?;
        let lines = learned.iter().map(|one| datagen::question_line(one, &[]));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        staged.file("questions.jsonl", lines.as_bytes())?;
        Ok(staged.commit()?)
    }

    fn print(&self, labelled: &[Labelled], checks: &[Checked], worse: &[String]) {
        let (ui, out) = (self.ui, self.args.out.display());
        let mut rows = header("questions|n");
        let counts = fates(labelled).into_iter();
        rows.extend(counts.map(|(fate, n)| vec![fate.text().to_owned(), n.to_string()]));
        ui.table(&rows);
        ui.say("");
        if checks.is_empty() {
            return ui.say("nothing can be learned; nothing was written");
        }
        let mut rows = header("control questions, entities linked|mode|n|exact before|after");
        rows.extend(checks.iter().map(|one| {
            let [before, after] = [one.before, one.after].map(|share| format!("{share:.4}"));
            let (name, mode) = (one.questions.clone(), one.mode.to_owned());
            vec![name, mode, one.n.to_string(), before, after]
        }));
        ui.table(&rows);
        match worse {
            [] => ui.say(format!("\nwritten to {out}; use it with --model {out}")),
            _ => ui.say(format!(
                "\nworse: {}; nothing was written",
                worse.join(", ")
            )),
        }
    }
}

/// Copies a folder, without the list of its files.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let shown = || format!("cannot copy {}", from.display());
    fs::create_dir_all(to).with_context(shown)?;
    for entry in fs::read_dir(from).with_context(shown)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if name != common::listing::LIST {
            fs::copy(&path, to.join(name)).with_context(shown)?;
        }
    }
    Ok(())
}
