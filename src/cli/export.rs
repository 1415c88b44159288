//! Options of `kgagent export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use model::gguf::Recipe;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A model folder in Hugging Face layout, an adapter merged into its base.
    Merged,
    /// One file for llama.cpp and what is built on it.
    Gguf,
    /// That file and a Modelfile.
    Ollama,
}

/// How numbers are stored in a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Quantize {
    /// 32 bits.
    F32,
    /// 16 bits.
    F16,
    /// 8 bits.
    #[value(name = "q8_0")]
    Q8_0,
    /// A mixture of 4 and 6 bits.
    #[value(name = "q4_k_m")]
    Q4KM,
}

impl Quantize {
    pub(crate) fn recipe(self) -> Recipe {
        match self {
            Self::F32 => Recipe::F32,
            Self::F16 => Recipe::F16,
            Self::Q8_0 => Recipe::Q8_0,
            Self::Q4KM => Recipe::Q4KM,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ModelExportArgs {
    /// Model folder, or the folder of an adapter.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// What to write.
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// How numbers are stored in a GGUF file.
    #[arg(long, value_enum, default_value = "f16")]
    pub(crate) quantize: Quantize,
    /// Dataset folder whose conversations the export is compared on; without it, on some questions that stand in the program.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Conversations of the dataset that the export is compared on, spread over it.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..), requires = "data")]
    pub(crate) prompts: u32,
}
