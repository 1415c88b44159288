//! Options of `kgagent export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use model::gguf::Recipe;

use super::values::{Names, names, one_of};

/// A format of exported models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelFormat {
    /// Model folder in Hugging Face layout, with an adapter merged into its base.
    Merged,
    /// One file for llama.cpp and programs built on it.
    Gguf,
    /// The GGUF file and a Modelfile.
    Ollama,
}

impl ModelFormat {
    /// Whether the weights are in a GGUF file.
    pub(crate) fn is_gguf(self) -> bool {
        match self {
            Self::Merged => false,
            Self::Gguf | Self::Ollama => true,
        }
    }
}

const RECIPES: Names<Recipe> = names! {
    "f32": "32 bits" => Recipe::F32;
    "f16": "16 bits" => Recipe::F16;
    "q8_0": "8 bits" => Recipe::Q8_0;
    "q4_k_m": "A mixture of 4 and 6 bits" => Recipe::Q4KM;
};

#[derive(Debug, Args)]
pub(crate) struct ModelExportArgs {
    /// Model folder, the folder of an adapter, or a GGUF file.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Format to write.
    #[arg(long, value_enum)]
    pub(crate) format: ModelFormat,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Number format of the weights in a GGUF file.
    #[arg(long, value_parser = one_of(RECIPES), default_value = "f16")]
    pub(crate) quantize: Recipe,
    /// Dataset folder with conversations for the comparison [default: built-in questions].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Number of conversations to compare on, spread over the dataset.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..),
        requires = "data"
    )]
    pub(crate) prompts: u32,
}
