//! `kgagent export`: a model in a format of other programs. The export is loaded again and compared
//! with the model before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use common::fs::{StagedFolder, check_target};
use infer::engine::{LogitComparison, compare};
use infer::planner::LocalModel;
use model::gguf::{self, Recipe};
use model::tokenizer::END;
use model::{
    ChatFormat, Dataset, GgufModel, KgAgentInfo, ModelConfig, ModelFolder, Part, Role, Tensor,
    Tokenizer, Turn, WeightSource, files, hub,
};
use serde_json::json;

use super::output;
use crate::cli::{ModelExportArgs, ModelFormat};
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// Number of tokens compared per conversation.
const TOKENS: usize = 32;

/// The record of an export and its comparison. A folder with this file may be overwritten by
/// another export.
const RECORD: &str = "export.json";

/// The questions of the comparison without a dataset.
const QUESTIONS: [&str; 6] = [
    "Who directed the film that won the prize in 1987?",
    "How many rivers flow through both countries?",
    "Which of these mountains is the highest?",
    "What is the capital of the country where the author was born?",
    "Did the two actors appear in the same film before 2001?",
    "Name the languages that are spoken on the island.",
];

pub(crate) fn run(args: &ModelExportArgs, ui: &Ui) -> Result<ExitStatus> {
    let inputs = args.data.iter().chain([&args.model]);
    output::spare(&args.out, inputs.map(PathBuf::as_path))?;
    check_target(&args.out, &[RECORD])?;
    let model = ExportedModel::open(&args.model)
        .with_context(|| format!("cannot open the model {}", args.model.display()))?;
    let name = model.name();
    let stage = ui.progress("export", "step", None);
    let staged = StagedFolder::new(&args.out)?;
    let (written, what) = write(args, &model, &name, &staged)?;
    let bytes = size(&written)?;
    let found = compare_with_original(args, model.config(), &written)?;
    stage.finish_and_clear();
    check(args.format, args.quantize, &found)?;
    let mut readme = fs::read_to_string(staged.path().join(files::CARD)).unwrap_or_default();
    readme.push_str(&card(&name, &what, &found, args));
    staged.file(files::CARD, readme.as_bytes())?;
    let mut record = json!({
        "format": what, "bytes": bytes, "prompts": found.prompts, "tokens": found.tokens,
        "equal_tokens": found.token_share(), "equal_texts": found.text_share(),
        "largest_difference": found.largest, "largest_logit": found.scale,
    });
    staged.file(RECORD, format!("{record:#}\n").as_bytes())?;
    staged.commit()?;
    let million = bytes as f64 / 1e6;
    ui.say(format!(
        "{what}, {million:.1} MB, written to {}",
        args.out.display()
    ));
    ui.say(format!(
        "compared on {} prompts, {} tokens: same choice {:.2} %, largest difference of a logit \
         {:.4} (logits reach {:.1})",
        found.prompts,
        found.tokens,
        100.0 * found.token_share(),
        found.largest,
        found.scale
    ));
    record["out"] = json!(args.out);
    ui.object(&record);
    Ok(ExitStatus::Done)
}

/// A model to export.
enum ExportedModel {
    Folder(ModelFolder),
    Gguf(PathBuf, GgufModel),
}

impl ExportedModel {
    fn open(path: &Path) -> Result<Self> {
        let path = hub::locate(path)?;
        let model = if path.is_file() {
            let model = GgufModel::open(&path)?;
            Self::Gguf(path, model)
        } else {
            Self::Folder(ModelFolder::open(&path)?)
        };
        if model.tokenizer().control().is_err() {
            bail!(
                "its tokenizer lacks the control tokens of `kgagent train`, so it was not trained \
                 for kgagent; llama.cpp's programs convert other models"
            );
        }
        Ok(model)
    }

    /// The name of the exported files.
    fn name(&self) -> String {
        let (path, end) = match self {
            Self::Folder(folder) => (&folder.path, None),
            Self::Gguf(path, _) => (path, path.extension()),
        };
        if let Some((repo, _)) = hub::origin(path) {
            return repo.rsplit('/').next().unwrap_or(&repo).to_owned();
        }
        let name = if end.is_some() {
            path.file_stem()
        } else {
            path.file_name()
        };
        let name = name.map_or_else(
            || "model".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        // The name of a GGUF file ends in its recipe.
        let recipes = [Recipe::F32, Recipe::F16, Recipe::Q8_0, Recipe::Q4KM];
        let end = recipes.map(|recipe| format!(".{}", recipe.name()));
        let short = end.iter().find_map(|end| name.strip_suffix(end));
        short.unwrap_or(&name).to_owned()
    }

    fn config(&self) -> &ModelConfig {
        match self {
            Self::Folder(folder) => &folder.config,
            Self::Gguf(_, model) => &model.config,
        }
    }

    fn tokenizer(&self) -> &Tokenizer {
        match self {
            Self::Folder(folder) => &folder.tokenizer,
            Self::Gguf(_, model) => &model.tokenizer,
        }
    }

    fn info(&self) -> &KgAgentInfo {
        match self {
            Self::Folder(folder) => &folder.info,
            Self::Gguf(_, model) => &model.info,
        }
    }

    /// The weights, with exactly the stored values.
    fn source(&self) -> Result<Box<dyn WeightSource + '_>> {
        Ok(match self {
            Self::Folder(folder) => folder.source()?,
            Self::Gguf(_, model) => Box::new(model.exact()),
        })
    }

    /// Copies the files that record what the model learned besides the weights.
    fn copy_learned(&self, staged: &StagedFolder) -> Result<()> {
        let folder = match self {
            Self::Folder(folder) => &folder.path,
            Self::Gguf(file, _) => files::folder_of(file),
        };
        for name in files::learned_names() {
            let path = folder.join(name);
            if path.exists() {
                let content = fs::read(&path).with_context(|| path.display().to_string())?;
                staged.file(name, &content)?;
            }
        }
        Ok(())
    }
}

/// Writes the export. Returns the path to open (the folder or a file in it) and a description.
fn write(
    args: &ModelExportArgs,
    model: &ExportedModel,
    name: &str,
    staged: &StagedFolder,
) -> Result<(PathBuf, String)> {
    let (config, tokenizer) = (model.config(), model.tokenizer());
    // An export is a whole model, without a base.
    let info = &KgAgentInfo {
        base_digest: None,
        ..model.info().clone()
    };
    model.copy_learned(staged)?;
    let recipe = args.quantize;
    let file = format!("{name}.{}.gguf", recipe.name());
    let weights = model.source()?;
    match args.format {
        ModelFormat::Merged => {
            ModelFolder::write_made_into(staged, config, tokenizer, info, &|name| {
                let stored = weights.open(name)?;
                let values = stored.values()?;
                Tensor::new(name, stored.shape, values)
            })?;
            return Ok((staged.path().to_path_buf(), "merged weights".to_owned()));
        }
        ModelFormat::Gguf => {}
        ModelFormat::Ollama => staged.file("Modelfile", modelfile(&file, config).as_bytes())?,
    }
    let path = staged.path().join(&file);
    gguf::write(&path, name, config, tokenizer, info, &*weights, recipe)?;
    let blocks =
        config.hidden_size.is_multiple_of(256) && config.intermediate_size.is_multiple_of(256);
    let note = if recipe == Recipe::Q4KM && !blocks {
        " (rows whose length is not a multiple of 256 in Q8_0)"
    } else {
        ""
    };
    Ok((path, format!("GGUF, {}{note}", recipe.name())))
}

/// Loads the export and compares it with the model.
fn compare_with_original(
    args: &ModelExportArgs,
    config: &ModelConfig,
    written: &Path,
) -> Result<LogitComparison> {
    let original = LocalModel::open(&args.model)?;
    let again = LocalModel::open(written).context("the export cannot be loaded")?;
    let prompts = prompts(
        original.chat(),
        args.data.as_deref(),
        args.prompts as usize,
        config.context(),
    )?;
    Ok(compare(
        original.engine(),
        again.engine(),
        &prompts,
        TOKENS,
        original.chat().end_of_turn(),
    )?)
}

/// Rejects an export that differs from the model by more than rounding explains.
fn check(format: ModelFormat, recipe: Recipe, found: &LogitComparison) -> Result<()> {
    let exact = !format.is_gguf() || recipe == Recipe::F32;
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
            "the export differs from the model: a logit by {}, but rounding explains at most \
             {most:.4}; nothing was written",
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

/// Prompts from at most `most` conversations, each up to the model's last turn.
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

/// ollama's description of the file: our conversation format in its template language, and no
/// penalty for repetition (its default is 1.1).
fn modelfile(file: &str, config: &ModelConfig) -> String {
    format!(
        "FROM ./{file}\nTEMPLATE \"\"\"{{{{ range .Messages }}}}<|{{{{ .Role }}}}|>{{{{ .Content }}}}{END}{{{{ end }}}}<|assistant|>\"\"\"\n\
        PARAMETER stop \"{END}\"\nPARAMETER temperature 0\nPARAMETER repeat_penalty 1\nPARAMETER num_ctx {}\n",
        config.context()
    )
}

fn card(name: &str, what: &str, found: &LogitComparison, args: &ModelExportArgs) -> String {
    let on = args.data.as_ref().map_or_else(
        || "kgagent's built-in questions".to_owned(),
        |data| format!("conversations of {}", data.display()),
    );
    let pieces = if !args.format.is_gguf() {
        ""
    } else {
        "\nThe comparison measures how kgagent runs the file, whose weights are rounded. llama.cpp also \
         rounds activations (to F16 with F16 weights, to 8 bits with quantized ones), which adds \
         about as much again and is not measured here. llama-cpp-python (0.3.36) drops tokens of \
         more than 32 bytes from its text; llama.cpp's own server does not.\n\nThe file also holds \
         the whole tokenizer.json, which kgagent reads. If llama.cpp does not know how the model's \
         tokenizer splits words, the vocabulary is written as pieces, which llama.cpp merges without \
         such a split; tokens that end inside a character are then not used.\n"
    };
    format!(
        "\n# Export of {name}\n\n{what}, written by `kgagent export` and loaded again: on {} {on} with \
         a total of {} tokens the largest difference of a logit is {:.4} (logits reach {:.1}); at \
         {:.2} % of the positions both choose the same token, and {} of {} texts are the same to the \
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
