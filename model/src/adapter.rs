//! LoRA adapters in PEFT layout.

use std::path::Path;

use serde_json::json;

use crate::atomic::StagedFolder;
use crate::{KgAgentInfo, ModelError, Tokenizer, Weights};

/// The projections an adapter corrects, as PEFT names them.
pub const TARGETS: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

/// What an adapter is, beside its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterConfig {
    /// The folder or repository of the base model.
    pub base: String,
    /// Rank.
    pub rank: usize,
    /// The correction is scaled by `alpha / rank`.
    pub alpha: f32,
}

/// Write `adapter_config.json` and `adapter_model.safetensors` beside the tokenizer, whole or not at all. `weights` holds the factors as
/// `model.layers.0.self_attn.q_proj.lora_a` (`[rank, in]`) and `….lora_b` (`[out, rank]`); other tensors are left out.
///
/// # Errors
/// When the folder cannot be written.
pub fn write_adapter(
    path: &Path,
    adapter: &AdapterConfig,
    tokenizer: &Tokenizer,
    info: &KgAgentInfo,
    weights: &Weights,
) -> Result<(), ModelError> {
    let staged = StagedFolder::new(path)?;
    write_adapter_into(&staged, adapter, tokenizer, info, weights)?;
    staged.commit()
}

/// Write the files of an adapter into a folder that is being staged.
///
/// # Errors
/// When a file cannot be written.
pub fn write_adapter_into(
    staged: &StagedFolder,
    adapter: &AdapterConfig,
    tokenizer: &Tokenizer,
    info: &KgAgentInfo,
    weights: &Weights,
) -> Result<(), ModelError> {
    let mut out = Weights::default();
    for (name, tensor) in weights.iter() {
        for (ours, theirs) in [(".lora_a", "lora_A"), (".lora_b", "lora_B")] {
            if let Some(stem) = name.strip_suffix(ours) {
                out.insert(format!("base_model.model.{stem}.{theirs}.weight"), tensor.clone());
            }
        }
    }
    let config = json!({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": adapter.base, "r": adapter.rank, "lora_alpha": adapter.alpha,
        "lora_dropout": 0.0, "bias": "none", "target_modules": TARGETS, "fan_in_fan_out": false, "inference_mode": true,
        "init_lora_weights": true, "modules_to_save": null,
    });
    staged.file("adapter_config.json", format!("{config:#}\n").as_bytes())?;
    staged.file("tokenizer.json", &tokenizer.to_bytes()?)?;
    let notes = serde_json::to_value(info).unwrap_or_default();
    staged.file("kgagent.json", format!("{notes:#}\n").as_bytes())?;
    staged.file("adapter_model.safetensors", &out.to_bytes()?)
}
