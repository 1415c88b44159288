//! `kgagent train ranker`: train a model that scores candidates; `kgagent train ranker-scores`: write
//! its scores.

use anyhow::{Context, Result};
use serde_json::json;
use train::ranker::{
    RankerConfig, RankerEvent, RankerProgress, RankerShares, RankerStart, RankerSummary,
    RankerValidation, rate, train_ranker,
};

use super::{Values, resumable};
use crate::cli::{RankerArgs, RankerScoresArgs};
use crate::commands::output;
use crate::exit::ExitStatus;
use crate::identity;
use crate::ui::{StageProgress, Ui, seconds};

/// Peak learning rate of a run from scratch.
const SCRATCH_RATE: f64 = 1e-3;

pub(crate) fn run(args: &RankerArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let start = start(args)?;
    let config = config(args);
    let mut shown = RankerDisplay {
        stage: ui.progress("train", "step", None),
        scoring: None,
        ui,
    };
    let files = (args.choices.as_slice(), args.validate.as_slice());
    let summary = train_ranker(&config, &start, files, &args.out, &mut shown, ui.stop());
    shown.stage.finish_and_clear();
    let summary = summary
        .map_err(|error| resumable(error.into(), "the same command continues from there"))?;
    print_summary(&summary, args, ui)?;
    Ok(ExitStatus::Done)
}

fn start(args: &RankerArgs) -> Result<RankerStart> {
    if let Some(base) = &args.base {
        return Ok(RankerStart::Folder(base.clone()));
    }
    Ok(RankerStart::Scratch {
        size: args.scratch.context("--scratch or --base is missing")?,
        tokenizer: args.tokenizer.clone().context("--tokenizer is missing")?,
        words_from: args.words_from.clone(),
    })
}

fn config(args: &RankerArgs) -> RankerConfig {
    let default = RankerConfig::default();
    let rate = if args.base.is_some() {
        default.learning_rate
    } else {
        SCRATCH_RATE
    };
    RankerConfig {
        max_tokens: args.max_tokens,
        distil: args.distil,
        words: args.words,
        mask: args.mask,
        shown_right: args.shown_right,
        shown_best: args.shown_best,
        shown_other: args.shown_other,
        learning_rate: args.learning_rate.unwrap_or(rate),
        head_rate: args.head_rate,
        warmup: args.warmup,
        questions_per_step: args.questions_per_step,
        epochs: args.epochs,
        seed: args.seed,
        evaluate_every: args.evaluate_every,
        evaluate_most: args.evaluate_most,
        precision: args.precision,
        keep_best: args.keep_best,
        small: args.small,
        report_every: args.report_every,
        save_seconds: args.save_seconds,
        program: identity::program().to_owned(),
        ..default
    }
}

struct RankerDisplay<'u> {
    stage: StageProgress,
    /// The progress of a validation.
    scoring: Option<StageProgress>,
    ui: &'u Ui,
}

impl RankerProgress for RankerDisplay<'_> {
    fn event(&mut self, event: &RankerEvent) {
        match event {
            RankerEvent::Note(text) => self.ui.say(text),
            RankerEvent::Plan(plan) => {
                self.ui.say(format!(
                    "{} questions, {} to learn from with {} candidates, {} to validate on, {} \
                     parameters, {} steps",
                    plan.questions,
                    plan.usable,
                    plan.candidates,
                    plan.validation,
                    plan.parameters,
                    plan.steps
                ));
                self.stage.finish_and_clear();
                self.stage = self.ui.progress("train", "step", Some(plan.steps as u64));
            }
            RankerEvent::Step(step) => {
                self.stage.set_position(step.step as u64);
                self.stage.set_message(format!(
                    "loss {:.3}, {:.0} tokens/s,",
                    step.loss, step.tokens_per_second
                ));
                self.stage.set_left(step.seconds_left);
            }
            RankerEvent::Loss { step, mean } => {
                self.ui.say(format!("step {step}: mean loss {mean:.4}"));
            }
            RankerEvent::Scored(done, all) => {
                let ui = self.ui;
                let stage = self
                    .scoring
                    .get_or_insert_with(|| ui.progress("validate", "question", Some(*all as u64)));
                stage.set_position(*done as u64);
            }
            RankerEvent::Validation(validation) => {
                if let Some(stage) = self.scoring.take() {
                    stage.finish_and_clear();
                }
                print_validation(validation, self.ui);
            }
        }
    }
}

fn print_validation(validation: &RankerValidation, ui: &Ui) {
    let head = ["set", "questions", "words", "ranker", "both", "proposed"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut add = |name: &str, shares: &RankerShares| {
        let share = |n: usize| format!("{:.4}", n as f64 / shares.questions.max(1) as f64);
        rows.push(vec![
            name.to_owned(),
            shares.questions.to_string(),
            share(shares.words),
            share(shares.ranker),
            share(shares.both),
            share(shares.proposed),
        ]);
    };
    for set in &validation.sets {
        add(
            if set.set.is_empty() {
                "(none)"
            } else {
                &set.set
            },
            set,
        );
    }
    add("all", &validation.all);
    ui.say(format!(
        "step {}: right choices; both is words + {} · ranker",
        validation.step, validation.lambda
    ));
    ui.table(&rows);
}

fn print_summary(summary: &RankerSummary, args: &RankerArgs, ui: &Ui) -> Result<()> {
    let mut table = Values::new("training");
    table.add("parameters", &summary.parameters);
    table.add("questions", &summary.questions);
    table.add("steps", &summary.steps);
    if summary.kept_step != summary.steps {
        table.add("weights of step", &summary.kept_step);
    }
    table.add("tokens", &summary.tokens);
    let speed = summary.tokens as f64 / summary.seconds.max(1e-9);
    table.add("tokens/s, with validation", &format!("{speed:.0}"));
    if let Some(loss) = summary.loss {
        table.add("loss", &format!("{loss:.4}"));
    }
    table.add("time", &seconds(summary.seconds));
    ui.table(&table.0);
    ui.say(format!("\nwritten to {}", args.out.display()));
    ui.object(&json!({ "summary": serde_json::to_value(summary)?, "out": args.out }));
    Ok(())
}

pub(crate) fn scores(args: &RankerScoresArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    output::file(&args.out, Some("{"))?;
    let inputs = args.choices.iter().map(std::path::PathBuf::as_path);
    output::spare(&args.out, inputs.chain([args.base.as_path()]))?;
    let stage = ui.progress("score", "question", None);
    let mut done = |questions: usize| stage.set_position(questions as u64);
    let (precision, stop) = (args.precision, ui.stop());
    let rated = rate(
        &args.base,
        &args.choices,
        &args.out,
        precision,
        &mut done,
        stop,
    )?;
    stage.finish_and_clear();
    ui.say(format!(
        "scored {} candidates of {} questions; written to {}",
        rated.candidates,
        rated.questions,
        args.out.display()
    ));
    ui.object(&json!({
        "questions": rated.questions, "candidates": rated.candidates, "out": args.out,
    }));
    Ok(ExitStatus::Done)
}
