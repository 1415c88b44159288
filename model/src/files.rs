//! The files of model folders and adapter folders: what is fetched, copied and exported. This is the
//! only list of them.

use std::path::Path;

/// A file of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderFile {
    /// Its name.
    pub name: &'static str,
    /// Whether the folder does not open without it.
    pub required: bool,
    /// Whether it belongs to what the model has learned and goes into every copy of it unchanged.
    pub learned: bool,
}

const fn required(name: &'static str) -> FolderFile {
    let (required, learned) = (true, false);
    FolderFile {
        name,
        required,
        learned,
    }
}

const fn optional(name: &'static str) -> FolderFile {
    FolderFile {
        required: false,
        ..required(name)
    }
}

const fn learned(name: &'static str) -> FolderFile {
    FolderFile {
        learned: true,
        ..optional(name)
    }
}

/// What a model knows about the words of its training questions.
pub const WORDS: &str = "words.tsv";
/// How its training questions are worded.
pub const WORDINGS: &str = common::wordings::FILE;
/// How it was trained.
pub const INFO: &str = "kgagent.json";
/// The weights of a model in one file.
pub const WEIGHTS: &str = "model.safetensors";
/// The list of the files of a model whose weights are in several.
pub const INDEX: &str = "model.safetensors.index.json";
/// The configuration of a model.
pub const CONFIG: &str = "config.json";
/// The configuration of an adapter, by which its folder is known.
pub const ADAPTER_CONFIG: &str = "adapter_config.json";
/// The weights of an adapter.
pub const ADAPTER_WEIGHTS: &str = "adapter_model.safetensors";
/// The tokenizer.
pub const TOKENIZER: &str = "tokenizer.json";
/// What other programs need to know about the tokenizer, with the chat template.
pub const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
/// How other programs should generate text.
pub const GENERATION_CONFIG: &str = "generation_config.json";
/// The model card.
pub const CARD: &str = "README.md";

/// The files of a model folder, apart from the weights.
pub const MODEL: [FolderFile; 8] = [
    required(CONFIG),
    required(TOKENIZER),
    optional(TOKENIZER_CONFIG),
    optional(GENERATION_CONFIG),
    optional(CARD),
    optional(INFO),
    learned(WORDINGS),
    learned(WORDS),
];

/// The files of an adapter folder.
pub const ADAPTER: [FolderFile; 8] = [
    required(ADAPTER_CONFIG),
    required(ADAPTER_WEIGHTS),
    optional(TOKENIZER),
    optional(TOKENIZER_CONFIG),
    optional(CARD),
    optional(INFO),
    learned(WORDINGS),
    learned(WORDS),
];

/// The folder with the files of a model: itself, or where a GGUF file is.
#[must_use]
pub fn folder_of(model: &Path) -> &Path {
    match model.parent() {
        Some(folder) if model.is_file() => folder,
        _ => model,
    }
}

/// The names of the files that every copy of a model has unchanged, if the model has them.
pub fn learned_names() -> impl Iterator<Item = &'static str> {
    let learned = MODEL.into_iter().filter(|file| file.learned);
    learned.map(|file| file.name)
}
