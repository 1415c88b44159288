//! The steps that both demos share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow};
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use infer::agent::AgentKind;
use infer::answerer::{Answerer, Asking};
use infer::planner::{LocalModel, LocalPlanner};
use kg::{FrozenKg, LoadOptions, Settings};
use model::Preset;
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::metrics::Metrics;
use toolbox::rank;
use train::{Base, Summary, TrainConfig};

use super::super::datagen::source;
use super::super::eval::report::{html, sample};
use super::super::eval::{self, Planning, Setting};
use super::super::{ask, graph, train as training};
use crate::cli::{DemoArgs, EntitySource};
use crate::ui::Ui;

/// Number of passes over the data.
const EPOCHS: usize = 3;
/// Under `--quick` every fourth question is evaluated.
const QUICK_STEP: usize = 4;

/// How long each stage took.
pub(super) struct Laps {
    pub(super) timings: Vec<(&'static str, f64)>,
    last: Instant,
}

impl Laps {
    pub(super) fn start() -> Self {
        Self {
            timings: Vec::new(),
            last: Instant::now(),
        }
    }

    /// Ends a stage.
    pub(super) fn lap(&mut self, stage: &'static str) {
        self.timings
            .push((stage, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
    }
}

/// A demo with its graph loaded.
pub(super) struct Demo<'a> {
    pub(super) args: &'a DemoArgs,
    pub(super) ui: &'a Ui,
    pub(super) graph: FrozenKg,
}

/// The trained model of a demo.
pub(super) struct Trained {
    model: Arc<LocalModel>,
    pub(super) summary: Summary,
}

/// The metrics of one agent on one set of questions.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) metrics: Metrics,
}

/// An answered sample question.
pub(super) struct SampleAnswer {
    pub(super) object: Value,
    /// Its card in the report.
    pub(super) html: String,
}

impl<'a> Demo<'a> {
    /// Loads the graph of a demo.
    pub(super) fn load(args: &'a DemoArgs, files: &[PathBuf], ui: &'a Ui) -> Result<Self> {
        let folder = args.out.join("graph");
        let (options, settings) = (LoadOptions::default(), Settings::default());
        let (graph, manifest) = graph::load_files(&folder, files, &options, &settings, ui)?;
        ui.say(format!(
            "1. loaded {} triples into {}",
            manifest.triples,
            folder.display()
        ));
        Ok(Self { args, ui, graph })
    }

    /// A folder of the output.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.args.out.join(name)
    }

    /// The dataset folder.
    pub(super) fn data(&self) -> PathBuf {
        self.folder("data")
    }

    /// The training configuration. One agent trains within minutes; the settings for several are
    /// those of docs/results.md (*Three agents, one model*).
    fn training(&self) -> TrainConfig {
        let mut config = TrainConfig {
            epochs: EPOCHS,
            seed: self.args.seed,
            ..TrainConfig::default()
        };
        if self.args.agents.len() > 1 {
            config = TrainConfig {
                epochs: 3,
                learning_rate: 3e-3,
                batch_tokens: 4096,
                devices: Some(2),
                ..config
            };
        }
        if self.args.quick {
            config.epochs = 1;
        }
        config
    }

    /// Trains a model on the dataset.
    pub(super) fn train(&self) -> Result<Trained> {
        let folder = self.folder("model");
        let (data, base) = (self.data(), Base::Scratch(Preset::Tiny));
        let config = TrainConfig {
            resume: train::partial_folder(&folder).exists(),
            ..self.training()
        };
        let summary = training::train_model(&config, &base, &data, &folder, self.ui)
            .map_err(|error| training::resumable(error, "the same command continues from there"))?;
        self.ui.say(format!(
            "3. trained {} parameters on {} tokens ({:.0} tokens/s) into {}",
            summary.parameters,
            summary.tokens,
            summary.tokens_per_second,
            folder.display()
        ));
        let model = Arc::new(LocalModel::open(&folder)?);
        Ok(Trained { model, summary })
    }

    /// Evaluates an agent on a source and writes the result to a folder in `eval/`.
    pub(super) fn evaluate(
        &self,
        agent: Agent,
        trained: &Trained,
        name: &str,
        source: &String,
        entities: EntitySource,
    ) -> Result<Measured> {
        let name = match self.args.agents.len() {
            1 => name.to_owned(),
            _ => format!("{} {name}", agent.name()),
        };
        let mut questions = source::read(
            std::slice::from_ref(source),
            Some(&self.graph),
            &ReadOptions::default(),
        )?;
        if self.args.quick {
            questions = questions.into_iter().step_by(QUICK_STEP).collect();
        }
        let setting = Setting::new(
            AgentKind::best(agent),
            Planning::Local(Arc::clone(&trained.model)),
            trained.model.template(agent)?,
            entities,
        )
        .trained_as(&self.folder("model"))?;
        let entities = format!("{entities:?}").to_lowercase();
        let about = json!({
            "model": self.folder("model"), "source": source, "entities": entities,
        });
        let evaluation = eval::evaluate(&self.graph, &questions, &setting, None, self.ui)?;
        let folder = self.folder("eval").join(name.replace(' ', "-"));
        if let Some(seen) = evaluation.seen() {
            self.ui.say(format!("{name}: {seen}"));
        }
        eval::write(
            &folder,
            std::slice::from_ref(&evaluation),
            &about,
            &[],
            &[],
            false,
        )?;
        Ok(Measured {
            name,
            metrics: evaluation.metrics,
        })
    }

    /// Answers sample questions with the first agent and prints the answers.
    pub(super) fn ask(&self, trained: &Trained, questions: &[&str]) -> Result<Vec<SampleAnswer>> {
        let agent = self.args.agents[0];
        let (template, agent) = (trained.model.template(agent)?, AgentKind::best(agent));
        let mut answers = Vec::new();
        for &question in questions {
            let mut planner = LocalPlanner::new(&trained.model)
                .with_abstention_threshold(trained.model.abstention_threshold());
            let answerer = Answerer {
                kg: &self.graph,
                agent: &agent,
                template: &template,
                ranker: &rank::lexical(),
                model_name: "demo model",
            };
            let answered = answerer.answer(Asking::of(question), &mut planner)?;
            let names = answered.names(&self.graph);
            let outcome = answered.outcome;
            self.ui.say("");
            ask::print_text(self.ui, question, &names, &outcome);
            answers.push(SampleAnswer {
                object: outcome.object(question, &names),
                html: sample::card(question, &names, &ask::answer_text(&outcome), &outcome),
            });
        }
        Ok(answers)
    }

    /// Answers questions with gold queries as [`Demo::ask`] does, under the heading `about`, and
    /// shows the right answer to each.
    pub(super) fn ask_known(
        &self,
        trained: &Trained,
        about: &str,
        questions: &[GoldQuestion],
    ) -> Result<Vec<SampleAnswer>> {
        self.ui.say(format!("\n{about}"));
        let mut answers = Vec::new();
        for question in questions {
            let gold = eval::gold_labels(&self.graph, question).map_err(|why| anyhow!(why))?;
            let right = gold.join(", ");
            let mut answered = self.ask(trained, &[&question.question])?;
            self.ui.say(format!("right     {right}"));
            for answer in &mut answered {
                answer.object["right"] = json!(gold);
                answer
                    .html
                    .push_str(&format!("<p>right answer: {}</p>", html::escape(&right)));
            }
            answers.extend(answered);
        }
        if let Some(first) = answers.first_mut() {
            first
                .html
                .insert_str(0, &format!("<p>{}</p>", html::escape(about)));
        }
        Ok(answers)
    }
}
