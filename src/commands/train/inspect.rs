//! `kgagent train inspect`: the tokens of a dataset and which of them are trained.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use model::{ChatFormat, Dataset};
use serde_json::json;
use train::TrainConfig;

use crate::cli::InspectArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, clean};

pub(crate) fn run(args: &InspectArgs, ui: &Ui) -> Result<ExitStatus> {
    let dataset = Dataset::read(&args.data)
        .with_context(|| format!("cannot read the dataset {}", args.data.display()))?;
    let base = super::base(&args.base)?;
    let (tokenizer, added) = train::tokenizer(&base, &TrainConfig::default(), &dataset)?;
    if added > 0 {
        ui.say(format!(
            "{} lacks {added} of the control tokens that open and end turns; `train` adds them",
            args.base
        ));
    }
    let format = ChatFormat::new(tokenizer)?;
    let coloured = std::io::stdout().is_terminal();
    let marked = if coloured { "green" } else { "in « »" };
    let mut shown = Vec::new();
    for conversation in dataset.train.iter().take(args.limit) {
        let tokens = train::inspect(&format, conversation)?;
        let trained = tokens.iter().filter(|token| token.trained).count();
        let mut text = String::new();
        for token in &tokens {
            let (before, after) = marks(coloured, token.trained, token.control);
            let shown = clean(&token.text).replace('\n', "⏎\n");
            text.push_str(&format!("{before}{shown}{after}"));
            if token.control && token.text.contains("end") {
                text.push('\n');
            }
        }
        ui.say_marked(&format!(
            "{}: {} tokens, {trained} trained ({marked})\n{text}",
            clean(&conversation.id),
            tokens.len()
        ));
        // An object for each token takes much memory.
        let tokens = tokens.iter().filter(|_| ui.json());
        let tokens: Vec<_> = tokens
            .map(|token| json!({ "id": token.id, "text": token.text, "trained": token.trained }))
            .collect();
        shown.push(json!({ "id": conversation.id, "tokens": tokens }));
    }
    ui.object(&json!({ "examples": shown }));
    Ok(ExitStatus::Done)
}

/// The marks around a token that show its borders. With colours, trained tokens are green and
/// control tokens dim; without, trained tokens are in guillemets and others end in a bar.
fn marks(coloured: bool, trained: bool, control: bool) -> (&'static str, &'static str) {
    match (coloured, trained, control) {
        (true, true, _) => ("\u{1b}[30;42m", "\u{1b}[0m"),
        (true, false, true) => ("\u{1b}[2m", "\u{1b}[0m"),
        (true, false, false) => ("\u{1b}[4m", "\u{1b}[0m"),
        (false, true, _) => ("«", "»"),
        (false, false, _) => ("", "|"),
    }
}
