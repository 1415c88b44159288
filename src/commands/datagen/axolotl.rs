//! Axolotl configurations for training on an exported dataset, for models that are too large for
//! this program: all weights or LoRA, sharded over GPUs by DeepSpeed (ZeRO stage 3). They use our
//! conversation format, control tokens and loss mask, so that `kgagent` can run the trained model.

use std::path::Path;

use anyhow::{Context, Result, bail};
use model::adapter::{BaseName, TARGETS};
use model::files::INFO;
use model::tokenizer::{CHAT_TEMPLATE, END, PAD, SPECIAL};
use model::{Dataset, KgAgentInfo, Role, hub};
use serde_json::json;
use train::{LoraConfig, TrainConfig};

const DEEPSPEED: &str = "deepspeed_zero3_bf16.json";

/// Peak learning rate of LoRA. Its factors start at zero and take larger steps than pretrained
/// weights.
const LORA_RATE: f64 = 2e-4;

/// The files to add to the export of `data` for training `base`.
pub(super) fn files(data: &Dataset, base: &str) -> Result<Vec<(&'static str, String)>> {
    for conversation in data.train.iter().chain(&data.valid) {
        let id = &conversation.id;
        if conversation
            .turns
            .first()
            .is_none_or(|turn| turn.role != Role::System)
        {
            bail!("example `{id}` has no system turn; Axolotl would prepend an empty one");
        }
        // Our tokenizer never encodes text as control tokens; Axolotl's does.
        if let Some(token) = SPECIAL.iter().find(|token| {
            conversation
                .turns
                .iter()
                .any(|turn| turn.text().contains(*token))
        }) {
            bail!(
                "example `{id}` contains {token}, which Axolotl would encode as the control token"
            );
        }
    }
    let base = &base_name(base)?;
    let deepspeed = json!({
        "zero_optimization": {
            "stage": 3, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 0, "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 0,
            "stage3_max_reuse_distance": 0, "stage3_gather_16bit_weights_on_model_save": true,
        },
        "bf16": { "enabled": true }, "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": false,
    });
    let info = KgAgentInfo {
        templates: data.templates.clone(),
        agents: data.agents.clone(),
        layouts: data.layouts.clone(),
        ranker: data.ranker.clone(),
        abstention_threshold: None,
        base_digest: None,
        training: json!({ "base": base.name, "kg_hashes": data.kg_hashes }),
    };
    Ok(vec![
        ("axolotl.yaml", full(data, base)?),
        ("axolotl-lora.yaml", lora(data, base)?),
        (DEEPSPEED, format!("{deepspeed:#}\n")),
        (INFO, serde_json::to_string_pretty(&info)? + "\n"),
    ])
}

/// The model to train: `ORG/NAME` of the hub, or the absolute path of a folder, so that the trained
/// adapter finds it from anywhere.
fn base_name(base: &str) -> Result<BaseName> {
    let path = Path::new(base);
    if path.is_file() {
        bail!("{base} is a file; Axolotl trains a model folder or ORG/NAME of the hub");
    }
    if path.exists() {
        return Ok(BaseName::of(&hub::resolve(path)?));
    }
    let (name, revision) = match base.split_once('@') {
        Some((name, revision)) => (name, Some(revision.to_owned())),
        None => (base, None),
    };
    if hub::check_name(name).is_err() {
        bail!("there is no folder {base}, and it is not of the form ORG/NAME of the hub");
    }
    Ok(BaseName {
        name: name.to_owned(),
        revision,
    })
}

/// A double-quoted string, valid in JSON and YAML.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn list(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// An upper bound on the tokens of the longest conversation: tokens have at least two bytes, and
/// each turn adds two control tokens.
fn length(data: &Dataset) -> usize {
    let bytes = |turns: &[model::Turn]| {
        turns
            .iter()
            .map(|turn| turn.text().len() / 2 + 2)
            .sum::<usize>()
    };
    let longest = data
        .train
        .iter()
        .chain(&data.valid)
        .map(|conversation| bytes(&conversation.turns))
        .max()
        .unwrap_or(0);
    longest.next_power_of_two().max(1024)
}

fn recipe() -> Result<TrainConfig> {
    TrainConfig::recipe("finetune").context("there is no recipe `finetune`")
}

/// The part that both configurations share.
fn common(data: &Dataset, base: &BaseName, file: &str, rate: f64) -> Result<String> {
    let recipe = recipe()?;
    let set = |file: &str| {
        format!(
            "  - path: {file}\n    ds_type: json\n    split: train\n    type: chat_template\n    field_messages: conversations\n    field_system: system\n    \
             message_property_mappings:\n      role: from\n      content: value\n    roles:\n      system: [system]\n      user: [human]\n      \
             assistant: [gpt]\n      tool: [observation]\n    roles_to_train: [assistant]\n    train_on_eos: turn\n"
        )
    };
    let valid = if data.valid.is_empty() {
        String::new()
    } else {
        format!("test_datasets:\n{}", set("valid.jsonl"))
    };
    Ok(format!(
        "# Made by kgagent {version}. In this folder, on all GPUs of the machine: axolotl train {file}\n\
         # Then copy kgagent.json into the trained model's folder, which `kgagent ask --model` opens.\n\
         base_model: {base}\n{revision}\n\
         # The format that kgagent asks models in, with control tokens of its own.\n\
         chat_template: jinja\nchat_template_jinja: {template}\nspecial_tokens:\n  eos_token: {end}\n  pad_token: {pad}\ntokens: {roles}\n\n\
         # Loss on what the agent says and on the end of its turns, nothing else.\n\
         datasets:\n{train}{valid}train_on_inputs: false\ndataset_prepared_path: prepared\n\n\
         sequence_len: {length}\nsample_packing: true\npad_to_sequence_len: true\n\
         micro_batch_size: 1\ngradient_accumulation_steps: 8\nnum_epochs: {epochs}\n\
         optimizer: adamw_torch_fused\nadam_beta1: {beta1}\nadam_beta2: {beta2}\nweight_decay: {decay}\nmax_grad_norm: {clip}\n\
         learning_rate: {rate}\nlr_scheduler: cosine\ncosine_min_lr_ratio: {final_rate}\nwarmup_ratio: {warmup}\nseed: {seed}\n\n\
         bf16: true\nattn_implementation: flash_attention_2\ngradient_checkpointing: true\ndeepspeed: {DEEPSPEED}\n\
         saves_per_epoch: 1\nlogging_steps: 1\n",
        version = env!("CARGO_PKG_VERSION"),
        base = quoted(&base.name),
        revision = base.revision.as_ref().map_or_else(String::new, |commit| {
            format!("revision_of_model: {}\n", quoted(commit))
        }),
        template = quoted(CHAT_TEMPLATE),
        end = quoted(END),
        pad = quoted(PAD),
        roles = list(&SPECIAL[..4]),
        train = set("train.jsonl"),
        length = length(data),
        epochs = recipe.epochs,
        beta1 = recipe.beta1,
        beta2 = recipe.beta2,
        decay = recipe.weight_decay,
        clip = recipe.clip,
        final_rate = recipe.final_rate,
        warmup = recipe.warmup,
        seed = recipe.seed,
    ))
}

fn full(data: &Dataset, base: &BaseName) -> Result<String> {
    Ok(common(data, base, "axolotl.yaml", recipe()?.learning_rate)? + "output_dir: model\n")
}

/// LoRA also trains the embedding and the output layer because the control tokens are new to the
/// base.
fn lora(data: &Dataset, base: &BaseName) -> Result<String> {
    let LoraConfig {
        rank,
        alpha,
        dropout,
        ..
    } = LoraConfig::default();
    Ok(common(data, base, "axolotl-lora.yaml", LORA_RATE)?
        + &format!(
            "output_dir: adapter\n\nadapter: lora\nlora_r: {rank}\nlora_alpha: {alpha}\nlora_dropout: {dropout}\nlora_target_modules: {}\n\
             lora_modules_to_save: {}\n",
            list(&TARGETS),
            list(&["embed_tokens", "lm_head"])
        ))
}
