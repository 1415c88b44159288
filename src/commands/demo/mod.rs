//! `kgagent demo`: the whole pipeline on the graph in `data/`: load, generate, train, evaluate, ask; one table at the end. With `--graph` on
//! a graph of the user's own.

mod own;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use datagen::pipeline::ABSTAIN;
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use infer::agent::{AgentKind, answer_with};
use infer::planner::{LocalModel, LocalPlanner};
use kg::{FrozenKg, Kg};
use model::Preset;
use serde_json::json;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions};
use toolbox::metrics::Metrics;
use toolbox::prompt::Agent;
use toolbox::rank;
use train::{Base, TrainConfig, TrainError};

use super::eval::{Planning, Setting};
use super::{ask, datagen as sources, eval, graph, train as training};
use crate::Outcome;
use crate::cli::{
    DemoArgs, EntitySource, GoldArgs, KgArg, KgLoadArgs, RankingArgs, SampleArgs, SelectArgs,
};
use crate::ui::{Ui, seconds, table};

/// Questions a template: enough for every wording to be seen, few enough for a model to be trained within minutes.
const PER_TEMPLATE: usize = 60;
/// The same under `--quick`.
const QUICK_PER_TEMPLATE: usize = 2;
/// Share of the questions that also teach giving up: with more of them, as many questions would take longer to learn.
const DEMO_ABSTAIN: f64 = 0.25;
/// Passes over the data.
const EPOCHS: usize = 4;

/// How a model learns: alone within minutes, for several agents as measured in docs/results.md (*Three agents, one model*).
fn training_of(args: &DemoArgs) -> TrainConfig {
    let config = TrainConfig {
        epochs: EPOCHS,
        seed: args.seed,
        ..TrainConfig::default()
    };
    let config = match args.agents.len() {
        1 => config,
        _ => TrainConfig {
            epochs: 3,
            learning_rate: 3e-3,
            batch_tokens: 4096,
            devices: Some(2),
            ..config
        },
    };
    TrainConfig {
        epochs: if args.quick { 1 } else { config.epochs },
        ..config
    }
}

/// Questions shown at the end: two cases of the ODA paper and the running example of the KG-Agent paper on this graph; the last asks for what the graph
/// does not have.
const SAMPLES: [&str; 4] = [
    "What is the capital of Tokyo?",
    "Of the teams Cristiano Ronaldo was at in 2011, which was founded most recently?",
    "Where was the partner of Johann Wolfgang von Goethe born?",
    "What is the favourite food of Johann Wolfgang von Goethe?",
];

/// How long the stages took.
struct Laps {
    timings: Vec<(&'static str, f64)>,
    last: Instant,
}

impl Laps {
    fn new() -> Self {
        Self {
            timings: Vec::new(),
            last: Instant::now(),
        }
    }

    fn lap(&mut self, what: &'static str) {
        self.timings.push((what, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
    }
}

/// What a run of the pipeline gave.
struct Made {
    laps: Laps,
    /// Name and metrics of each evaluation; the first one's metrics are the run's.
    measured: Vec<(String, Metrics)>,
    report: datagen::report::Report,
    summary: train::Summary,
    samples: Vec<serde_json::Value>,
}

pub(crate) fn run(args: &DemoArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    if !args.graph.is_empty() {
        return own::run(args, ui);
    }
    let data = |name: &str| -> Result<PathBuf> {
        let path = args.data.join(name);
        if !path.exists() {
            bail!(
                "{} is missing; run the demo from the root of the repository, or name its data folder with --data",
                path.display()
            );
        }
        Ok(path)
    };
    let mut laps = Laps::new();

    let loading = KgLoadArgs::plain(
        args.out.join("graph"),
        vec![data("graph.ttl")?, data("ontology.ttl")?],
    );
    let (graph, manifest) = graph::load_files(&loading, ui)?;
    ui.say(format!(
        "1. loaded {} triples into {}",
        manifest.triples,
        loading.kg.display()
    ));
    laps.lap("load");

    let jsonl = |path: &Path| format!("jsonl={}", path.display());
    let new_entities = jsonl(&data("questions.new-entities.jsonl")?);
    let new_wordings = jsonl(&data("questions.new-wordings.jsonl")?);
    let cases = jsonl(&data("questions.cases.jsonl")?);
    let data_dir = args.out.join("data");
    let generating = GoldArgs {
        graph: KgArg::whole(&loading.kg),
        ranking: RankingArgs {
            ranker: "lexical".to_owned(),
            vectors: None,
        },
        sources: vec![
            format!("templates={}", data("templates.jsonl")?.display()),
            jsonl(&data("questions.train.jsonl")?),
        ],
        hold_out: vec![new_entities.clone(), new_wordings.clone(), cases],
        out: Some(data_dir.clone()),
        show: false,
        samples: SampleArgs::plain(&args.agents, args.seed),
        limit: None,
        abstain: if args.agents.len() == 1 {
            DEMO_ABSTAIN
        } else {
            ABSTAIN
        },
        scramble: 0.0,
        per_template: if args.quick {
            QUICK_PER_TEMPLATE
        } else {
            PER_TEMPLATE
        },
        select: SelectArgs::default(),
    };
    let report = sources::generate(&generating, &data_dir, &graph, ui)?;
    ui.say(format!(
        "2. generated {} verified examples ({} calls) into {}",
        report.total.examples,
        report.total.steps,
        data_dir.display()
    ));
    laps.lap("generate");

    let (model_dir, local, summary) = train(args, &data_dir, ui)?;
    laps.lap("train");

    let mut measured = Vec::new();
    for &agent in &args.agents {
        let setting = setting(agent, &local, EntitySource::Gold)?;
        for (name, source) in [
            ("new-entities", &new_entities),
            ("new-wordings", &new_wordings),
        ] {
            let questions = sources::read(
                std::slice::from_ref(source),
                Some(&graph),
                &ReadOptions::default(),
            )?;
            let about = json!({ "model": model_dir, "source": source, "entities": "gold" });
            measured.push((
                called(args, agent, name),
                measure(
                    &args.out,
                    &called(args, agent, name),
                    &graph,
                    &questions,
                    &setting,
                    &about,
                    ui,
                )?,
            ));
        }
    }
    ui.say(format!(
        "4. evaluated on {} questions with new entities and {} with new wordings",
        measured[0].1.n, measured[1].1.n
    ));
    laps.lap("evaluate");

    ui.say("5. four questions");
    let samples = samples(args.agents[0], &graph, &local, &SAMPLES, ui)?;
    laps.lap("ask");
    finish(
        args,
        &Made {
            laps,
            measured,
            report,
            summary,
            samples,
        },
        ui,
    )?;
    Ok(Outcome::Done)
}

/// Trains the model of a demo.
fn train(
    args: &DemoArgs,
    data: &Path,
    ui: &Ui,
) -> Result<(PathBuf, Arc<LocalModel>, train::Summary)> {
    let model = args.out.join("model");
    let run = |resume| {
        training::train_with(
            &TrainConfig {
                resume,
                ..training_of(args)
            },
            &Base::Scratch(Preset::Tiny),
            data,
            &model,
            ui,
        )
    };
    let summary = match run(train::partial_folder(&model).exists()) {
        // What was interrupted was another demo, a quick one say.
        Err(error) if matches!(error.downcast_ref(), Some(TrainError::Another { .. })) => {
            run(false)
        }
        other => other,
    };
    let summary =
        summary.map_err(|error| training::goes_on(error, "the same command goes on from there"))?;
    ui.say(format!(
        "3. trained {} parameters on {} tokens ({:.0} tokens/s) into {}",
        summary.parameters,
        summary.tokens,
        summary.tokens_per_second,
        model.display()
    ));
    let local = Arc::new(LocalModel::open(&model)?);
    Ok((model, local, summary))
}

fn setting(agent: Agent, model: &Arc<LocalModel>, entities: EntitySource) -> Result<Setting> {
    let (planning, template) = (Planning::Local(Arc::clone(model)), model.template(agent)?);
    Ok(Setting {
        agent: agent.into(),
        planning,
        template,
        entities,
        exclude: None,
        ranker: rank::lexical(),
        batch: None,
        doubt: None,
        model_knowledge: false,
        withhold: false,
    })
}

/// What an evaluation is called: by its questions, and by its agent where there are several.
fn called(args: &DemoArgs, agent: Agent, questions: &str) -> String {
    if args.agents.len() == 1 {
        questions.to_owned()
    } else {
        format!("{} {questions}", agent.name())
    }
}

/// Evaluates, and writes what came out below `eval/` of the output.
fn measure(
    out: &Path,
    name: &str,
    graph: &FrozenKg,
    questions: &[GoldQuestion],
    setting: &Setting,
    about: &serde_json::Value,
    ui: &Ui,
) -> Result<Metrics> {
    let evaluated = eval::evaluate(graph, questions, setting, ui)?;
    eval::write(
        &out.join("eval").join(name.replace(' ', "-")),
        std::slice::from_ref(&evaluated),
        about,
        &[],
        false,
    )?;
    Ok(evaluated.metrics)
}

/// Answers questions and prints the answers; gives back what was printed, for the report.
fn samples(
    agent: Agent,
    graph: &FrozenKg,
    model: &Arc<LocalModel>,
    questions: &[&str],
    ui: &Ui,
) -> Result<Vec<serde_json::Value>> {
    let (template, agent) = (model.template(agent)?, AgentKind::from(agent));
    let mut shown = Vec::new();
    for &question in questions {
        let entities = ask::topics(graph, question, &[], rank::lexical().as_ref())?;
        let mut planner = LocalPlanner::new(model).doubting(model.doubt());
        let options = ExecOptions {
            exclude: Exclude {
                nodes: Vec::new(),
                when: ExcludeWhen::Others,
            },
            ..ExecOptions::default()
        };
        let outcome = answer_with(
            &agent,
            ask::task(graph, question, &entities, options, &template, "demo model"),
            &mut planner,
        )?;
        let names: Vec<String> = entities.iter().map(|&node| graph.name(node)).collect();
        ui.say("");
        ask::print_text(ui, question, &names, &outcome);
        shown.push(ask::object(question, &names, &outcome));
    }
    Ok(shown)
}

/// Writes metrics and report and prints the closing tables.
fn finish(args: &DemoArgs, made: &Made, ui: &Ui) -> Result<()> {
    let Made {
        laps: Laps { timings, .. },
        measured,
        report,
        summary,
        samples,
    } = made;
    let total: f64 = timings.iter().map(|(_, seconds)| seconds).sum();
    let mut metrics = serde_json::to_value(&measured[0].1)?;
    for (name, further) in &measured[1..] {
        metrics[name.replace(['-', ' '], "_")] = serde_json::to_value(further)?;
    }
    if args.agents.len() > 1 {
        // The first evaluation is the run's, and stands under its own name too where names tell agents apart.
        metrics[measured[0].0.replace(['-', ' '], "_")] = serde_json::to_value(&measured[0].1)?;
    }
    metrics["data"] = serde_json::to_value(&report.total)?;
    metrics["coverage"] = serde_json::to_value(&report.coverage)?;
    metrics["training"] = serde_json::to_value(summary)?;
    metrics["stages_seconds"] = timings
        .iter()
        .map(|(stage, seconds)| ((*stage).to_owned(), json!(seconds)))
        .collect();
    common::fs::write_file(
        &args.out.join("metrics.json"),
        &serde_json::to_vec_pretty(&metrics)?,
    )?;

    let mut rows = vec![eval::head()];
    rows.extend(
        measured
            .iter()
            .map(|(name, metrics)| eval::row(name, metrics)),
    );
    let mut stages = vec![vec!["stage".to_owned(), "time".to_owned()]];
    stages.extend(
        timings
            .iter()
            .map(|(stage, time)| vec![(*stage).to_owned(), seconds(*time)]),
    );
    stages.push(vec!["all".to_owned(), seconds(total)]);
    let html = page(
        &table(&rows),
        &table(&stages),
        samples,
        &args.out.join("model").join("loss.svg"),
    )?;
    common::fs::write_file(&args.out.join("report.html"), html.as_bytes())?;

    ui.say("");
    ui.table(&rows);
    ui.say("");
    ui.table(&stages);
    ui.say(format!(
        "\neverything is in {}: graph/ data/ model/ eval/ metrics.json report.html",
        args.out.display()
    ));
    ui.object(&json!({ "metrics": metrics, "samples": samples }));
    Ok(())
}

/// A page that stands alone: the tables, the loss curve and the sample questions.
fn page(results: &str, stages: &str, samples: &[serde_json::Value], loss: &Path) -> Result<String> {
    let svg =
        std::fs::read_to_string(loss).with_context(|| format!("cannot read {}", loss.display()))?;
    // A prolog has no place inside a page.
    let svg = svg.find("<svg").map_or("", |start| &svg[start..]);
    let escape = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let mut body = format!(
        "<h1>kgagent demo</h1><h2>Held-out questions</h2><pre>{}</pre>",
        escape(results)
    );
    body.push_str(&format!(
        "<h2>Time</h2><pre>{}</pre><h2>Training loss</h2>{svg}<h2>Sample questions</h2>",
        escape(stages)
    ));
    for sample in samples {
        body.push_str(&format!(
            "<pre>{}</pre>",
            escape(&serde_json::to_string_pretty(sample)?)
        ));
    }
    let style = "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{background:#f4f4f4;padding:1rem;overflow:auto}svg{max-width:100%}";
    Ok(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>kgagent demo</title><style>{style}</style><body>{body}</body></html>\n"
    ))
}
