//! `kgagent train`: train a model on a dataset, and show what it is trained on.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use indicatif::ProgressBar;
use model::{ChatFormat, Dataset, ModelFolder, Preset, Tokenizer};
use serde_json::json;
use train::{
    Algorithm, Base, Estimate, Event, Method, Precision, Processor, Progress, Summary, TrainConfig,
    TrainError,
};

use crate::Outcome;
use crate::cli::{DeviceName, InspectArgs, MethodName, OptimizerName, PrecisionName, TrainArgs};
use crate::ui::{Ui, seconds};

pub(crate) fn run(args: &TrainArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    let recipe = TrainConfig::recipe(&args.recipe);
    let Some(mut config) = recipe else {
        bail!(
            "there is no recipe `{}`; there are default, finetune and paper",
            args.recipe
        )
    };
    config.method = match args.method {
        MethodName::Full => Method::Full,
        MethodName::Lora => Method::Lora,
    };
    config.processor = match args.device {
        DeviceName::Cpu => Processor::Cpu,
        DeviceName::Cuda => Processor::Cuda,
    };
    config.devices = args.devices;
    config.precision = args.precision.map(|name| match name {
        PrecisionName::F32 => Precision::F32,
        PrecisionName::Bf16 => Precision::Bf16,
    });
    config.gradient_checkpointing = args.gradient_checkpointing;
    let lora = &mut config.lora;
    lora.rank = args.lora_rank.unwrap_or(lora.rank);
    lora.alpha = args.lora_alpha.unwrap_or(lora.alpha);
    lora.dropout = args.lora_dropout.unwrap_or(lora.dropout);
    lora.rslora = args.rslora;
    lora.targets = args
        .lora_targets
        .clone()
        .unwrap_or_else(|| lora.targets.clone());
    lora.merge = !args.adapter;
    config.seed = args.seed;
    config.save_steps = args.save_every.or(config.save_steps);
    config.vocab_size = args.vocab_size.or(config.vocab_size);
    config.epochs = args.epochs.unwrap_or(config.epochs);
    config.optimizer = args.optimizer.map_or(config.optimizer, |name| match name {
        OptimizerName::Adamw => Algorithm::Adamw,
        OptimizerName::Muon => Algorithm::Muon,
    });
    config.learning_rate = args.lr.unwrap_or(config.learning_rate);
    config.batch_tokens = args.batch_tokens.unwrap_or(config.batch_tokens);
    config.micro_tokens = args.micro_tokens.unwrap_or(config.micro_tokens);
    config.resume = match args.resume.as_deref() {
        None => false,
        Some("auto") => true,
        Some(other) => bail!(
            "--resume takes `auto`, not `{other}`: it finds the newest whole checkpoint itself"
        ),
    };
    config.validate_epochs = args.validate_epochs;
    config.memory_limit = match args.memory_limit {
        Some(gb) if gb > 0.0 && gb.is_finite() => Some((gb * 1e9) as u64),
        Some(gb) => bail!("--memory-limit is {gb}, not above 0"),
        None => train::device::memory(config.processor, config.devices.unwrap_or(1))?
            .or_else(free_memory),
    };
    if args.dry_run {
        let data = Dataset::read(&args.data)
            .with_context(|| format!("cannot read the dataset {}", args.data.display()))?;
        plan(
            &train::dry_run(&config, &base(&args.base)?, &data)?,
            config.memory_limit,
            ui,
        )?;
        return Ok(Outcome::Done);
    }
    let summary = train_with(&config, &base(&args.base)?, &args.data, &args.out, ui);
    let summary = summary.map_err(|error| {
        goes_on(
            error,
            "the same command with `--resume auto` goes on from there",
        )
    })?;
    print(&summary, &args.out, ui)?;
    Ok(Outcome::Done)
}

/// Where a run was interrupted, how it goes on.
pub(crate) fn goes_on(error: anyhow::Error, how: &str) -> anyhow::Error {
    match error.downcast_ref() {
        Some(TrainError::Interrupted { .. }) => anyhow!("{error}; {how}"),
        _ => error,
    }
}

/// Bytes that processes can still have, where the system says: what is available, or what is left of the control group's share.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .ok()?
        * 1024;
    let number = |name: &str| {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}"))
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let share = number("memory.max")
        .zip(number("memory.current"))
        .map(|(most, used)| most.saturating_sub(used));
    Some(share.map_or(available, |share| share.min(available)))
}

/// What `--dry-run` prints.
fn plan(estimate: &Estimate, limit: Option<u64>, ui: &Ui) -> Result<()> {
    let gb = |bytes: u64| format!("{:.3} GB", bytes as f64 / 1e9);
    let memory = estimate.memory;
    let fits = limit.is_none_or(|limit| memory.peak() <= limit);
    let mut rows = vec![vec!["the run would have".to_owned(), "value".to_owned()]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("parameters", estimate.parameters.to_string());
    row(
        "trained parameters",
        estimate.trained_parameters.to_string(),
    );
    row("examples", estimate.examples.to_string());
    row("held-out examples", estimate.valid.to_string());
    row("too long, left out", estimate.too_long.to_string());
    row("longest example", estimate.longest.to_string());
    row("tokens an epoch", estimate.tokens.to_string());
    row("of these trained on", estimate.trained.to_string());
    row("steps", estimate.steps.to_string());
    row("tokens in all", estimate.total_tokens.to_string());
    row("memory", gb(memory.peak()));
    row("  weights", gb(memory.weights));
    row("  gradients", gb(memory.gradients));
    row("  optimizer", gb(memory.optimizer));
    row("  activations", gb(memory.activations));
    if let Some(limit) = limit {
        row("memory free", gb(limit));
    }
    row(
        "time",
        estimate
            .seconds
            .map_or("not tried: too large for this machine".to_owned(), seconds),
    );
    ui.table(&rows);
    if !fits {
        ui.say("\nit does not fit: fewer --micro-tokens or --gradient-checkpointing need fewer activations, --method lora next to no gradients and optimizer");
    }
    ui.object(&json!({ "estimate": estimate, "peak_bytes": memory.peak(), "limit_bytes": limit, "fits": fits }));
    Ok(())
}

fn base(text: &str) -> Result<Base> {
    match text.strip_prefix("scratch:") {
        Some(_) => {
            let preset = Preset::parse(text);
            Ok(Base::Scratch(preset.with_context(|| {
                format!(
                    "`{text}` is no preset; there are scratch:tiny, scratch:small and scratch:base"
                )
            })?))
        }
        None => {
            let path = PathBuf::from(text);
            Ok(Base::Folder(if path.exists() {
                path
            } else {
                model::hub::cached(text).unwrap_or(path)
            }))
        }
    }
}

/// Trains with a bar.
pub(crate) fn train_with(
    config: &TrainConfig,
    base: &Base,
    data: &Path,
    out: &Path,
    ui: &Ui,
) -> Result<Summary> {
    let dataset = Dataset::read(data)
        .with_context(|| format!("cannot read the dataset {}", data.display()))?;
    let mut bar = TrainBar {
        bar: ui.bar(None, "train"),
        ui,
    };
    let summary = train::train(config, base, &dataset, out, &mut bar, ui.stop());
    bar.bar.finish_and_clear();
    Ok(summary?)
}

fn print(summary: &Summary, out: &Path, ui: &Ui) -> Result<()> {
    let mut rows = vec![vec!["training".to_owned(), "value".to_owned()]];
    rows.push(vec![
        "parameters".to_owned(),
        summary.parameters.to_string(),
    ]);
    if summary.trained_parameters < summary.parameters {
        rows.push(vec![
            "trained parameters".to_owned(),
            summary.trained_parameters.to_string(),
        ]);
    }
    rows.push(vec!["examples".to_owned(), summary.examples.to_string()]);
    rows.push(vec!["steps".to_owned(), summary.steps.to_string()]);
    rows.push(vec!["tokens".to_owned(), summary.tokens.to_string()]);
    rows.push(vec![
        "tokens/s".to_owned(),
        format!("{:.0}", summary.tokens_per_second),
    ]);
    rows.push(vec!["loss".to_owned(), format!("{:.4}", summary.loss)]);
    if let Some(validation) = &summary.validation {
        rows.push(vec![
            "held-out loss".to_owned(),
            format!("{:.4}", validation.loss),
        ]);
        rows.push(vec![
            "held-out accuracy".to_owned(),
            format!("{:.4}", validation.accuracy),
        ]);
        if let Some(share) = validation.exact() {
            rows.push(vec![
                "held-out calls exact".to_owned(),
                format!("{share:.4}"),
            ]);
        }
        for (tool, score) in &validation.tools {
            rows.push(vec![format!("  {tool}"), format!("{:.4}", score.share())]);
        }
        if let Some(doubt) = validation.doubt {
            rows.push(vec!["doubt it can bear".to_owned(), format!("{doubt:.4}")]);
        }
    }
    rows.push(vec!["time".to_owned(), seconds(summary.seconds)]);
    ui.table(&rows);
    ui.say(format!("\nwritten to {}", out.display()));
    ui.object(&json!({ "summary": serde_json::to_value(summary)?, "out": out }));
    Ok(())
}

struct TrainBar<'u> {
    bar: ProgressBar,
    ui: &'u Ui,
}

impl Progress for TrainBar<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Note(text) => self.ui.say(text),
            Event::Plan(plan) => {
                let trained = if plan.trained_parameters < plan.parameters {
                    format!(", {} of them trained", plan.trained_parameters)
                } else {
                    String::new()
                };
                self.ui.say(format!(
                    "{} examples, {} tokens an epoch ({} trained on), {} parameters{trained}, {} steps",
                    plan.examples, plan.tokens, plan.trained, plan.parameters, plan.steps
                ));
                if plan.too_long > 0 {
                    self.ui.say(format!(
                        "{} examples are longer than the limit and left out",
                        plan.too_long
                    ));
                }
                self.bar.finish_and_clear();
                self.bar = self.ui.bar(Some(plan.steps as u64), "train");
            }
            Event::Step(step) => {
                self.bar.set_position(step.step as u64);
                self.bar.set_message(format!(
                    "loss {:.3}, {:.0} tokens/s,",
                    step.loss, step.tokens_per_second
                ));
            }
            Event::Validation(_) | Event::Saved(_) => {}
        }
    }
}

pub(crate) fn inspect(args: &InspectArgs, ui: &Ui) -> Result<Outcome> {
    let dataset = Dataset::read(&args.data)
        .with_context(|| format!("cannot read the dataset {}", args.data.display()))?;
    let tokenizer = match &args.base {
        Some(folder) => ModelFolder::open(folder)?.tokenizer,
        None => {
            let texts = dataset.train.iter().flat_map(|conversation| {
                conversation
                    .turns
                    .iter()
                    .map(common::transcript::Turn::text)
            });
            Tokenizer::train_bpe(texts, Preset::Tiny.vocab_size())?
        }
    };
    let format = ChatFormat::new(tokenizer)?;
    let coloured = std::io::stdout().is_terminal();
    let marked = if coloured { "green" } else { "in « »" };
    let mut shown = Vec::new();
    for conversation in dataset.train.iter().take(args.limit) {
        let tokens = train::inspect(&format, conversation)?;
        let trained = tokens.iter().filter(|token| token.trained).count();
        let mut text = String::new();
        for token in &tokens {
            // Trained tokens green on their own background, control tokens dim, so that borders between tokens show; without colours in brackets and bars.
            let (before, behind) = match (coloured, token.trained, token.control) {
                (true, true, _) => ("\u{1b}[30;42m", "\u{1b}[0m"),
                (true, false, true) => ("\u{1b}[2m", "\u{1b}[0m"),
                (true, false, false) => ("\u{1b}[4m", "\u{1b}[0m"),
                (false, true, _) => ("«", "»"),
                (false, false, _) => ("", "|"),
            };
            let clean = token.text.replace('\n', "⏎\n");
            text.push_str(&format!("{before}{clean}{behind}"));
            if token.control && token.text.contains("end") {
                text.push('\n');
            }
        }
        ui.say(format!(
            "{}: {} tokens, {trained} trained ({marked})\n{text}",
            conversation.id,
            tokens.len()
        ));
        shown.push(json!({
            "id": conversation.id,
            "tokens": tokens.iter().map(|token| json!({ "id": token.id, "text": token.text, "trained": token.trained })).collect::<Vec<_>>(),
        }));
    }
    ui.object(&json!({ "examples": shown }));
    Ok(Outcome::Done)
}
