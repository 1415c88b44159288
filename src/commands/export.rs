//! `kgagent export`: a model for other programs. What was written is loaded again and compared before it is called done.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use common::fs::{StagedFolder, check_target};
use infer::engine::{LogitComparison, compare};
use infer::planner::LocalModel;
use model::gguf::{self, Recipe};
use model::tokenizer::END;
use model::{ChatFormat, Dataset, ModelConfig, ModelFolder, Part, Role, Turn};
use serde_json::json;

use crate::Outcome;
use crate::cli::{ExportFormat, ModelExportArgs};
use crate::ui::Ui;

/// Tokens compared of a conversation.
const TOKENS: usize = 32;

/// What was written and how it compares, beside every export: the mark by which a folder of an earlier one is known.
const RECORD: &str = "export.json";

/// What is asked where no dataset is given.
const QUESTIONS: [&str; 6] = [
    "Who directed the film that won the prize in 1987?",
    "How many rivers flow through both countries?",
    "Which of these mountains is the highest?",
    "What is the capital of the country where the author was born?",
    "Did the two actors appear in the same film before 2001?",
    "Name the languages that are spoken on the island.",
];

pub(crate) fn run(args: &ModelExportArgs, ui: &Ui) -> Result<Outcome> {
    check_target(&args.out, &[RECORD])?;
    let folder = ModelFolder::open(&args.model)
        .with_context(|| format!("cannot open the model {}", args.model.display()))?;
    if args.out.exists() && args.out.canonicalize()? == args.model.canonicalize()? {
        bail!(
            "{} is the model itself; name another folder for its export",
            args.out.display()
        );
    }
    let name = args.model.file_name().map_or_else(
        || "model".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let staged = StagedFolder::new(&args.out)?;
    let recipe = args.quantize.recipe();
    // What is opened again: the folder itself, or a file in it.
    let (written, what) = match args.format {
        ExportFormat::Merged => {
            ModelFolder::write_into(
                &staged,
                &folder.config,
                &folder.tokenizer,
                &folder.info,
                &folder.weights()?,
            )?;
            (staged.path().to_path_buf(), "merged weights".to_owned())
        }
        ExportFormat::Gguf | ExportFormat::Ollama => {
            let file = format!("{name}.{}.gguf", recipe.name());
            let path = staged.path().join(&file);
            gguf::write(
                &path,
                &name,
                &folder.config,
                &folder.tokenizer,
                &folder.info,
                &folder.weights()?,
                recipe,
            )?;
            if args.format == ExportFormat::Ollama {
                staged.file("Modelfile", modelfile(&file, &folder.config).as_bytes())?;
            }
            let blocks = folder.config.hidden_size.is_multiple_of(256)
                && folder.config.intermediate_size.is_multiple_of(256);
            let note = if recipe == Recipe::Q4KM && !blocks {
                " (rows that are no multiple of 256 long in Q8_0)"
            } else {
                ""
            };
            (path, format!("GGUF, {}{note}", recipe.name()))
        }
    };
    let bytes = size(&written)?;
    let original = LocalModel::open(&args.model)?;
    let again = LocalModel::open(&written).context("the export cannot be loaded again")?;
    let prompts = prompts(
        original.chat(),
        args.data.as_deref(),
        args.prompts as usize,
        folder.config.context(),
    )?;
    let found = compare(
        original.engine(),
        again.engine(),
        &prompts,
        TOKENS,
        original.chat().end_of_turn(),
    )?;
    check(args.format, recipe, &found)?;
    let card = card(&name, &what, &found, args);
    let mut readme = fs::read_to_string(staged.path().join("README.md")).unwrap_or_default();
    readme.push_str(&card);
    staged.file("README.md", readme.as_bytes())?;
    let record = json!({
        "format": what, "bytes": bytes, "prompts": found.prompts, "tokens": found.tokens, "equal_tokens": found.token_share(),
        "equal_texts": found.text_share(), "largest_difference": found.largest, "largest_logit": found.scale,
    });
    staged.file(RECORD, format!("{record:#}\n").as_bytes())?;
    staged.commit()?;
    let million = bytes as f64 / 1e6;
    ui.say(format!(
        "{what}, {million:.1} MB, written to {}",
        args.out.display()
    ));
    ui.say(format!(
        "compared on {} prompts, {} tokens: same choice {:.2} %, largest difference of a logit {:.4} (logits reach {:.1})",
        found.prompts,
        found.tokens,
        100.0 * found.token_share(),
        found.largest,
        found.scale
    ));
    let mut object = record;
    object["out"] = json!(args.out);
    ui.object(&object);
    Ok(Outcome::Done)
}

/// Refuses an export that is not the model: rounding explains small differences only.
fn check(format: ExportFormat, recipe: Recipe, found: &LogitComparison) -> Result<()> {
    let exact = format == ExportFormat::Merged || recipe == Recipe::F32;
    let most = match recipe {
        _ if exact => 1e-3,
        Recipe::F32 | Recipe::F16 => 2e-2,
        Recipe::Q8_0 => 0.1,
        Recipe::Q4KM => 0.5,
    };
    if found.tokens == 0 {
        bail!("nothing was compared: no prompt fits the model's context");
    }
    let most = most * found.scale.max(1.0);
    if found.largest > most {
        bail!(
            "the export differs from the model: a logit by {} where {most:.4} is the most that rounding explains; nothing was written",
            found.largest
        );
    }
    Ok(())
}

fn size(path: &Path) -> Result<u64> {
    if path.is_file() {
        return Ok(fs::metadata(path)?.len());
    }
    fs::read_dir(path)?
        .map(|entry| Ok(entry?.metadata()?.len()))
        .sum()
}

/// Openings of at most so many conversations up to a turn of the model's.
fn prompts(
    chat: &ChatFormat,
    data: Option<&Path>,
    most: usize,
    context: usize,
) -> Result<Vec<Vec<u32>>> {
    let conversations: Vec<Vec<Turn>> = match data {
        Some(dir) => {
            let data = Dataset::read(dir)?;
            let all = if data.valid.is_empty() {
                data.train
            } else {
                data.valid
            };
            let step = (all.len() / most).max(1);
            let before_last = |turns: Vec<Turn>| {
                let end = turns
                    .iter()
                    .rposition(|turn| turn.role == Role::Assistant)
                    .unwrap_or(turns.len());
                turns[..end].to_vec()
            };
            all.into_iter()
                .step_by(step)
                .take(most)
                .map(|conversation| before_last(conversation.turns))
                .collect()
        }
        None => QUESTIONS
            .iter()
            .map(|question| {
                vec![Turn {
                    role: Role::User,
                    parts: vec![Part::user(*question)],
                    trained: false,
                }]
            })
            .collect(),
    };
    let mut prompts = Vec::new();
    for turns in conversations {
        let mut ids = chat.encode(&turns)?.ids;
        ids.push(chat.open_turn(Role::Assistant));
        if ids.len() + TOKENS <= context {
            prompts.push(ids);
        }
    }
    Ok(prompts)
}

/// What ollama needs to know beside the file: our conversation format in its template language, and that what was written before is written again
/// (its default penalty for that is 1.1).
fn modelfile(file: &str, config: &ModelConfig) -> String {
    format!(
        "FROM ./{file}\nTEMPLATE \"\"\"{{{{ range .Messages }}}}<|{{{{ .Role }}}}|>{{{{ .Content }}}}{END}{{{{ end }}}}<|assistant|>\"\"\"\n\
        PARAMETER stop \"{END}\"\nPARAMETER temperature 0\nPARAMETER repeat_penalty 1\nPARAMETER num_ctx {}\n",
        config.context()
    )
}

fn card(name: &str, what: &str, found: &LogitComparison, args: &ModelExportArgs) -> String {
    let on = args.data.as_ref().map_or_else(
        || "questions that stand in kgagent".to_owned(),
        |data| format!("conversations of {}", data.display()),
    );
    let pieces = if args.format == ExportFormat::Merged {
        ""
    } else {
        "\nMeasured is what kgagent makes of the file, which rounds the weights. llama.cpp rounds activations more (beside F16 to F16, beside quantised \
        weights to 8 bits), which adds about as much again and is not measured here. llama-cpp-python (0.3.36) loses tokens of more than 32 bytes from the text it gives back; \
        llama.cpp's own server does not.\n\nThe file holds the whole tokenizer.json too, which kgagent reads. Where llama.cpp does \
        not know how the model's tokenizer splits words, the vocabulary is written as pieces, which it merges without such a split; tokens that end inside a character are not used there.\n"
    };
    format!(
        "\n# Export of {name}\n\n{what}, written by `kgagent export` and loaded again: on {} {on} with {} tokens in all the largest difference of a \
        logit is {:.4} (logits reach {:.1}); at {:.2} % of the positions both choose the same token, and {} of {} texts are the same to the \
        end.\n{pieces}",
        found.prompts,
        found.tokens,
        found.largest,
        found.scale,
        100.0 * found.token_share(),
        found.equal_texts,
        found.prompts,
    )
}
