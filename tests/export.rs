//! `kgagent export`: what is written opens again, and what cannot be exported leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use model::{GgufModel, KgAgentInfo, ModelFolder, Preset, Tensor, Tokenizer, Weights};

fn kgagent(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kgagent")).args(args).output().unwrap()
}

/// A model that has learned nothing.
fn untrained(dir: &Path) {
    let tokenizer = Tokenizer::train_bpe(["who directed the film of 1987? ans = end(e0)"].iter().cycle().take(50), 320).unwrap();
    let config = Preset::Tiny.config(tokenizer.vocab_size());
    let mut weights = Weights::default();
    let mut seed = 1u32;
    for (name, shape) in config.tensors() {
        let scale = if shape.len() == 1 { 1.0 } else { 0.1 };
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            scale * ((seed >> 8) as f32 / 8_388_608.0 - 1.0)
        };
        let data = (0..shape.iter().product()).map(|_| next()).collect();
        weights.insert(name, Tensor { shape, data });
    }
    ModelFolder::write(dir, &config, &tokenizer, &KgAgentInfo::default(), &weights).unwrap();
}

#[test]
fn every_export_is_compared_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (model, out) = (dir.path().join("untrained"), dir.path().join("out"));
    untrained(&model);
    let paths = [model.to_str().unwrap(), out.to_str().unwrap()];
    for (format, quantize, most) in
        [("merged", "f16", 0.0), ("gguf", "f32", 0.0), ("gguf", "f16", 0.01), ("ollama", "q8_0", 0.1), ("gguf", "q4_k_m", 1.0)]
    {
        let run = kgagent(&["export", "--json", "--model", paths[0], "--format", format, "--quantize", quantize, "--out", paths[1]]);
        assert!(run.status.success(), "{format} {quantize}: {}", String::from_utf8_lossy(&run.stderr));
        let said: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        assert!(said["tokens"].as_u64().unwrap() > 10 && said["largest_difference"].as_f64().unwrap() <= most, "{said}");
        let card = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(card.contains("largest difference of a logit"), "{card}");
        match format {
            "merged" => {
                let bytes = |dir: &Path| fs::read(dir.join("model.safetensors")).unwrap();
                assert!(bytes(&out) == bytes(&model));
            }
            _ => {
                let name = match quantize {
                    "q4_k_m" => "untrained.Q4_K_M.gguf".to_owned(),
                    other => format!("untrained.{}.gguf", other.to_uppercase()),
                };
                let again = GgufModel::open(&out.join(&name)).unwrap();
                assert_eq!(again.config, ModelFolder::open(&model).unwrap().config);
                assert_eq!(out.join("Modelfile").exists(), format == "ollama");
                if format == "ollama" {
                    let file = fs::read_to_string(out.join("Modelfile")).unwrap();
                    assert!(
                        file.starts_with(&format!("FROM ./{name}\n"))
                            && file.contains("{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}<|end|>{{ end }}<|assistant|>"),
                        "{file}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_exported_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (model, out) = (dir.path().join("model"), dir.path().join("out"));
    untrained(&model);
    let weights = fs::read(model.join("model.safetensors")).unwrap();
    fs::write(model.join("model.safetensors"), &weights[..weights.len() / 2]).unwrap();
    let run = kgagent(&["export", "--model", model.to_str().unwrap(), "--format", "gguf", "--out", out.to_str().unwrap()]);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("model.safetensors"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the model is there");
}
