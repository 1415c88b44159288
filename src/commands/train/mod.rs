//! `kgagent train`: train a model on a dataset.

pub(crate) mod inspect;
pub(crate) mod ranker;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use model::{Dataset, Preset, files};
use serde_json::json;
use toolbox::explain::WordTables;
use train::{Base, Estimate, Summary, TrainConfig, TrainError, TrainEvent, TrainProgress};

use super::output;
use crate::cli::TrainArgs;
use crate::exit::ExitStatus;
use crate::identity;
use crate::ui::{StageProgress, Ui, seconds};

pub(crate) fn run(args: &TrainArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let base = base(&args.base)?;
    let config = config(args, &base)?;
    let inputs = base.path().into_iter().chain([args.data.as_path()]);
    output::spare(&args.out, inputs)?;
    if args.dry_run {
        train::check_out(&base, &args.out)?;
        let estimate = train::dry_run(&config, &base, &dataset(&args.data)?)?;
        print_estimate(&estimate, config.memory_limit, ui);
    } else {
        let summary = train_model(&config, &base, &args.data, &args.out, ui).map_err(|error| {
            resumable(
                error,
                "the same command with `--resume auto` continues from there",
            )
        })?;
        print_summary(&summary, &args.out, ui)?;
    }
    Ok(ExitStatus::Done)
}

/// The recipe, changed by the options.
fn config(args: &TrainArgs, base: &Base) -> Result<TrainConfig> {
    let Some(mut config) = TrainConfig::recipe(&args.recipe) else {
        bail!(
            "there is no recipe `{}`; the recipes are default, finetune, qlora and paper",
            args.recipe
        )
    };
    config.method = args.method.unwrap_or(config.method);
    // A GGUF base keeps its own format.
    let of_recipe = config.quantize.filter(|_| !matches!(base, Base::Gguf(_)));
    config.quantize = args.quantize.or(of_recipe);
    config.processor = args.device;
    config.devices = args.devices;
    config.precision = args.precision;
    config.gradient_checkpointing |= args.gradient_checkpointing;
    let lora = &mut config.lora;
    lora.rank = args.lora_rank.unwrap_or(lora.rank);
    lora.alpha = args.lora_alpha.unwrap_or(lora.alpha);
    lora.dropout = args.lora_dropout.unwrap_or(lora.dropout);
    lora.rslora = args.rslora;
    if let Some(targets) = &args.lora_targets {
        lora.targets.clone_from(targets);
    }
    lora.merge = !args.adapter;
    config.seed = args.seed;
    config.save_steps = args.save_every.or(config.save_steps);
    config.vocab_size = args.vocab_size.or(config.vocab_size);
    config.epochs = args.epochs.unwrap_or(config.epochs);
    config.optimizer = args.optimizer.unwrap_or(config.optimizer);
    config.learning_rate = args.lr.unwrap_or(config.learning_rate);
    config.batch_tokens = args.batch_tokens.unwrap_or(config.batch_tokens);
    config.micro_tokens = args.micro_tokens.unwrap_or(config.micro_tokens);
    config.resume = match args.resume.as_deref() {
        None => false,
        Some("auto") => true,
        Some(other) => bail!(
            "--resume takes `auto`, not `{other}`: it finds the newest complete checkpoint itself"
        ),
    };
    config.validate_epochs = args.validate_epochs;
    config.memory_limit = match args.memory_limit {
        Some(gb) if gb > 0.0 && gb.is_finite() => Some((gb * 1e9) as u64),
        Some(gb) => bail!("--memory-limit takes a positive number, not {gb}"),
        None => train::device::memory(config.processor, config.devices.unwrap_or(1))?
            .or_else(free_memory),
    };
    Ok(config)
}

/// Adds to the error of an interrupted run how to resume it.
pub(super) fn resumable(error: anyhow::Error, how: &str) -> anyhow::Error {
    match error.downcast_ref() {
        Some(TrainError::Interrupted { .. }) => anyhow!("{error}; {how}"),
        _ => error,
    }
}

/// Bytes of free memory: the memory that the system reports as available, or what is left in the
/// control group if that is less.
pub(super) fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes = line.trim().trim_end_matches("kB").trim();
    let available = kilobytes.parse::<u64>().ok()? * 1024;
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

/// The base that `--base` names.
pub(super) fn base(text: &str) -> Result<Base> {
    if text.starts_with("scratch:") {
        let preset = Preset::parse(text).with_context(|| {
            format!(
                "there is no preset `{text}`; the presets are scratch:tiny, scratch:small and \
                 scratch:base"
            )
        })?;
        return Ok(Base::Scratch(preset));
    }
    let path = PathBuf::from(text);
    if !path.exists() && path.extension().is_some_and(|end| end == "gguf") {
        bail!("there is no file {text}");
    }
    let found = model::hub::find(text)?;
    Ok(if found.is_file() {
        Base::Gguf(found)
    } else {
        Base::Folder(found)
    })
}

fn dataset(folder: &Path) -> Result<Dataset> {
    let data = Dataset::read(folder)
        .with_context(|| format!("cannot read the dataset {}", folder.display()))?;
    // The model gets this file.
    let words = folder.join(files::WORDS);
    if words.exists() {
        WordTables::parse(&data.words)
            .with_context(|| format!("{} is damaged", words.display()))?;
    }
    Ok(data)
}

/// Trains a model on the dataset in `data` and writes it to `out`, with progress.
pub(super) fn train_model(
    config: &TrainConfig,
    base: &Base,
    data: &Path,
    out: &Path,
    ui: &Ui,
) -> Result<Summary> {
    let dataset = dataset(data)?;
    let mut shown = TrainDisplay {
        stage: ui.progress("train", "step", None),
        ui,
    };
    let config = &TrainConfig {
        program: identity::program().to_owned(),
        ..config.clone()
    };
    let summary = train::train(config, base, &dataset, out, &mut shown, ui.stop());
    shown.stage.finish_and_clear();
    Ok(summary?)
}

struct TrainDisplay<'u> {
    stage: StageProgress,
    ui: &'u Ui,
}

impl TrainProgress for TrainDisplay<'_> {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Note(text) => self.ui.say(text),
            TrainEvent::Plan(plan) => {
                let trained = if plan.trained_parameters < plan.parameters {
                    format!(", {} of them trained", plan.trained_parameters)
                } else {
                    String::new()
                };
                self.ui.say(format!(
                    "{} examples, {} tokens an epoch ({} trained on), {} parameters{trained}, \
                     {} steps",
                    plan.examples, plan.tokens, plan.trained, plan.parameters, plan.steps
                ));
                if plan.too_long > 0 {
                    self.ui.say(format!(
                        "{} examples are longer than the limit and left out",
                        plan.too_long
                    ));
                }
                self.stage.finish_and_clear();
                self.stage = self.ui.progress("train", "step", Some(plan.steps as u64));
            }
            TrainEvent::Step(step) => {
                self.stage.set_position(step.step as u64);
                self.stage.set_message(format!(
                    "loss {:.3}, {:.0} tokens/s,",
                    step.loss, step.tokens_per_second
                ));
                self.stage.set_left(step.seconds_left);
            }
            TrainEvent::Validation(_) | TrainEvent::Saved(_) => {}
        }
    }
}

/// A table of names and values.
struct Values(Vec<Vec<String>>);

impl Values {
    fn new(title: &str) -> Self {
        Self(vec![vec![title.to_owned(), "value".to_owned()]])
    }

    fn add(&mut self, name: &str, value: &dyn ToString) {
        self.0.push(vec![name.to_owned(), value.to_string()]);
    }
}

/// Prints what a run would need (`--dry-run`).
fn print_estimate(estimate: &Estimate, limit: Option<u64>, ui: &Ui) {
    let gb = |bytes: u64| format!("{:.3} GB", bytes as f64 / 1e9);
    let memory = estimate.memory;
    let fits = limit.is_none_or(|limit| memory.peak() <= limit);
    let mut table = Values::new("the run would have");
    table.add("parameters", &estimate.parameters);
    table.add("trained parameters", &estimate.trained_parameters);
    table.add("examples", &estimate.examples);
    table.add("held-out examples", &estimate.valid);
    table.add("too long, left out", &estimate.too_long);
    table.add("longest example", &estimate.longest);
    table.add("tokens an epoch", &estimate.tokens);
    table.add("of these trained on", &estimate.trained);
    table.add("steps", &estimate.steps);
    table.add("tokens in all", &estimate.total_tokens);
    table.add("memory", &gb(memory.peak()));
    table.add("  weights", &gb(memory.weights));
    table.add("  gradients", &gb(memory.gradients));
    table.add("  optimizer", &gb(memory.optimizer));
    table.add("  activations", &gb(memory.activations));
    if let Some(limit) = limit {
        table.add("memory free", &gb(limit));
    }
    let unknown = "not measured: too large for this machine".to_owned();
    table.add("time", &estimate.seconds.map_or(unknown, seconds));
    ui.table(&table.0);
    if !fits {
        ui.say(
            "\nit does not fit: fewer --micro-tokens or --gradient-checkpointing reduce the \
             activations, --method lora almost all gradients and optimizer state",
        );
    }
    ui.object(&json!({
        "estimate": estimate, "peak_bytes": memory.peak(), "limit_bytes": limit, "fits": fits,
    }));
}

fn print_summary(summary: &Summary, out: &Path, ui: &Ui) -> Result<()> {
    let share = |share: f64| format!("{share:.4}");
    let mut table = Values::new("training");
    table.add("parameters", &summary.parameters);
    if summary.trained_parameters < summary.parameters {
        table.add("trained parameters", &summary.trained_parameters);
    }
    table.add("examples", &summary.examples);
    table.add("steps", &summary.steps);
    table.add("tokens", &summary.tokens);
    table.add("tokens/s", &format!("{:.0}", summary.tokens_per_second));
    table.add("loss", &format!("{:.4}", summary.loss));
    if let Some(validation) = &summary.validation {
        table.add("held-out loss", &format!("{:.4}", validation.loss));
        table.add("held-out accuracy", &format!("{:.4}", validation.accuracy));
        if let Some(exact) = validation.exact() {
            table.add("held-out calls exact", &share(exact));
        }
        for (tool, score) in &validation.tools {
            table.add(&format!("  {tool}"), &share(score.share()));
        }
        if let Some(threshold) = validation.abstention_threshold {
            table.add("abstention threshold", &share(threshold));
        }
    }
    table.add("time", &seconds(summary.seconds));
    ui.table(&table.0);
    ui.say(format!("\nwritten to {}", out.display()));
    ui.object(&json!({ "summary": serde_json::to_value(summary)?, "out": out }));
    Ok(())
}
