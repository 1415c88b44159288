//! `kgagent export`: exports open again, and failed exports leave no files.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use common::wordings::{Wording, Wordings};
use infer::planner::{LocalModel, LocalPlanner, Planner};
use model::files;
use model::{GgufModel, KgAgentInfo, ModelFolder, Preset, Tensor, Tokenizer, Weights};
use toolbox::explain::{WordPair, WordTables, learn};

fn kgagent(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kgagent"))
        .args(args)
        .output()
        .unwrap()
}

/// An untrained model.
fn untrained(dir: &Path) {
    let tokenizer = Tokenizer::train_bpe(
        ["who directed the film of 1987? ans = end(e0)"]
            .iter()
            .cycle()
            .take(50),
        320,
    )
    .unwrap();
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
fn every_export_is_compared_and_reports_it() {
    let dir = tempfile::tempdir().unwrap();
    let (model, out) = (dir.path().join("untrained"), dir.path().join("out"));
    untrained(&model);
    let paths = [model.to_str().unwrap(), out.to_str().unwrap()];
    for (format, quantize, most) in [
        ("merged", "f16", 0.0),
        ("gguf", "f32", 0.0),
        ("gguf", "f16", 0.01),
        ("ollama", "q8_0", 0.1),
        ("gguf", "q4_k_m", 1.0),
    ] {
        let run = kgagent(&[
            "export",
            "--json",
            "--model",
            paths[0],
            "--format",
            format,
            "--quantize",
            quantize,
            "--out",
            paths[1],
        ]);
        assert!(
            run.status.success(),
            "{format} {quantize}: {}",
            String::from_utf8_lossy(&run.stderr)
        );
        let said: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        assert!(
            said["tokens"].as_u64().unwrap() > 10
                && said["largest_difference"].as_f64().unwrap() <= most,
            "{said}"
        );
        let card = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(
            card.contains("largest difference of a logit")
                && card.contains(" of 6 texts are the same"),
            "{card}"
        );
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

/// What a model decides with besides its weights goes into every export, and a GGUF file is read with
/// what is beside it.
#[test]
fn exports_have_the_words_that_the_model_decides_with() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("untrained");
    untrained(&model);
    let mut read = Wordings::default();
    read.add_given(Wording {
        words: vec![7, 2, 5],
        whole: 11,
    });
    let pairs = ["Who directed Heat?", "Who directed Ronin?"].map(|question| WordPair {
        question: question.to_owned(),
        relations: vec!["film director".to_owned()],
    });
    let words = learn(&pairs);
    let learned = [
        (files::WORDINGS, read.to_text()),
        (files::WORDS, words.clone()),
    ];
    for (name, text) in &learned {
        fs::write(model.join(name), text).unwrap();
    }
    let export = |from: &Path, format: &str, out: &Path| {
        let paths = [from, out].map(|path| path.to_str().unwrap());
        let args = ["--format", format, "--quantize", "f32"];
        let run = kgagent(
            &[
                &["export", "--model", paths[0], "--out", paths[1]],
                &args[..],
            ]
            .concat(),
        );
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        (run.status.code(), said)
    };
    let (gguf, again) = (dir.path().join("gguf"), dir.path().join("again"));
    let file = gguf.join("untrained.F32.gguf");
    for (from, format, out) in [
        (&model, "gguf", &gguf),
        (&model, "ollama", &dir.path().join("ollama")),
        (&file, "merged", &again),
        (&file, "gguf", &dir.path().join("third")),
    ] {
        let (code, said) = export(from, format, out);
        assert_eq!(code, Some(0), "{format}: {said}");
        for (name, text) in &learned {
            assert!(
                fs::read_to_string(out.join(name)).unwrap() == *text,
                "{format} {name}"
            );
        }
    }
    // All of them decide alike.
    let opened = [&model, &file, &again].map(|path| LocalModel::open(path).unwrap());
    let names = opened.map(|model| {
        let planner = LocalPlanner::new(&Arc::new(model));
        assert_eq!(planner.wordings().as_deref(), Some(&read));
        planner.words().name().to_owned()
    });
    assert!(names[0] == names[1] && names[1] == names[2], "{names:?}");
    assert_ne!(names[0], WordTables::base().name());
    // Damaged files are named, wherever the model is opened.
    for (name, _) in &learned {
        for folder in [&model, &gguf] {
            let path = folder.join(name);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, &text[..text.len() - 2]).unwrap();
            let from = if folder == &gguf { &file } else { folder };
            let (code, said) = export(from, "merged", &dir.path().join("damaged"));
            assert!(
                code == Some(2) && said.contains(name),
                "{name}: {code:?} {said}"
            );
            fs::write(&path, text).unwrap();
        }
    }
}

#[test]
fn a_failed_export_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let (model, out) = (dir.path().join("model"), dir.path().join("out"));
    untrained(&model);
    let weights = fs::read(model.join("model.safetensors")).unwrap();
    fs::write(
        model.join("model.safetensors"),
        &weights[..weights.len() / 2],
    )
    .unwrap();
    let run = kgagent(&[
        "export",
        "--model",
        model.to_str().unwrap(),
        "--format",
        "gguf",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("model.safetensors"));
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "only the model is there"
    );
    // The number of conversations must be positive.
    let run = kgagent(&[
        "export",
        "--model",
        "m",
        "--data",
        "d",
        "--prompts",
        "0",
        "--format",
        "gguf",
        "--out",
        "o",
    ]);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("--prompts"));
}

/// The value of `key` in a line of a configuration, at any depth, without quotes.
fn value_of(text: &str, key: &str) -> Option<serde_json::Value> {
    let line = text.lines().find_map(|line| {
        line.trim_start()
            .trim_start_matches("- ")
            .strip_prefix(key)?
            .strip_prefix(": ")
    })?;
    Some(serde_json::from_str(line).unwrap_or_else(|_| line.into()))
}

/// A conversation with a result of a tool.
fn turns(result: &str) -> serde_json::Value {
    serde_json::json!([
        { "role": "system", "content": "kg-agent" }, { "role": "user", "content": "what \"is\" e0?\n" },
        { "role": "tool", "content": "Triad is given two turns in a row" }, { "role": "assistant", "content": "get_relation(e0)" }, { "role": "tool", "content": result }, { "role": "assistant", "content": "ans = end(e0)" },
    ])
}

/// A configuration names the files and their fields. Read as configured, the records are the conversations.
/// `own` is a key that only this configuration has.
fn check_configuration(out: &Path, name: &str, own: &str) {
    let text = fs::read_to_string(out.join(name)).unwrap();
    let says = |key: &str| value_of(&text, key).unwrap_or_else(|| panic!("{name} has no {key}"));
    assert!(!says(own).is_null());
    assert_eq!(says("base_model"), "org/model-70b");
    assert_eq!(says("chat_template_jinja"), model::tokenizer::CHAT_TEMPLATE);
    assert_eq!(
        (says("eos_token"), says("roles_to_train")),
        ("<|end|>".into(), "[assistant]".into())
    );
    assert_eq!(
        (says("train_on_inputs"), says("train_on_eos")),
        (false.into(), "turn".into())
    );
    // 9,000 characters of a result are at most 4,500 tokens.
    assert_eq!(says("sequence_len"), 8192);
    let deepspeed: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join(says("deepspeed").as_str().unwrap())).unwrap())
            .unwrap();
    assert_eq!(deepspeed["zero_optimization"]["stage"], 3);
    assert!(text.contains(&format!("axolotl train {name}\n")));

    // Read as configured, the records are the conversations.
    let roles: Vec<(&str, String)> = ["system", "user", "assistant", "tool"]
        .map(|role| {
            (
                role,
                says(role)
                    .as_str()
                    .unwrap()
                    .trim_matches(['[', ']'])
                    .to_owned(),
            )
        })
        .to_vec();
    let (role, content) = (says("role"), says("content"));
    for (file, results) in [
        ("train.jsonl", vec!["out é".to_owned(), "r0 ".repeat(3000)]),
        ("valid.jsonl", vec!["out".to_owned()]),
    ] {
        assert!(text.contains(&format!("- path: {file}\n")));
        let records = fs::read_to_string(out.join(file)).unwrap();
        assert_eq!(records.lines().count(), results.len());
        for (record, result) in records.lines().zip(results) {
            let record: serde_json::Value = serde_json::from_str(record).unwrap();
            let system = serde_json::json!({ "role": "system", "content": record[says("field_system").as_str().unwrap()] });
            let rest = record[says("field_messages").as_str().unwrap()]
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| {
                    let from = turn[role.as_str().unwrap()].as_str().unwrap();
                    let role = roles.iter().find(|(_, source)| source == from).unwrap().0;
                    serde_json::json!({ "role": role, "content": turn[content.as_str().unwrap()] })
                });
            assert_eq!(
                serde_json::Value::from_iter([system].into_iter().chain(rest)),
                turns(&result)
            );
        }
    }
}

#[test]
fn an_axolotl_configuration_reads_the_export_and_trains_on_the_agents_turns_only() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    fs::create_dir(&data).unwrap();
    let line = |result: &str| {
        serde_json::json!({ "messages": turns(result), "id": "q", "agent": "kg-agent", "template_hash": "aa", "layout": "dialogue" })
            .to_string()
            + "\n"
    };
    let write = |result: &str| {
        fs::write(data.join("train.jsonl"), line("out é") + &line(result)).unwrap();
        fs::write(data.join("valid.jsonl"), line("out")).unwrap();
    };
    write(&"r0 ".repeat(3000));
    let export = |more: &[&str]| {
        let common = [
            "datagen",
            "export",
            "--data",
            data.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
            "--trainer",
            "axolotl",
        ];
        kgagent(&[&common[..], more].concat())
    };
    let sharegpt = ["--format", "sharegpt", "--base", "org/model-70b"];
    let run = export(&sharegpt);
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );

    check_configuration(&out, "axolotl.yaml", "output_dir");
    check_configuration(&out, "axolotl-lora.yaml", "lora_r");
    let info: KgAgentInfo =
        serde_json::from_slice(&fs::read(out.join("kgagent.json")).unwrap()).unwrap();
    assert_eq!(
        (info.templates["kg-agent"].as_str(), info.agents),
        ("aa", vec!["kg-agent".to_owned()])
    );

    fs::remove_dir_all(&out).unwrap();
    for (args, says) in [
        (&["--format", "alpaca", "--base", "m"][..], "sharegpt"),
        (&["--format", "sharegpt"], "--base"),
    ] {
        let run = export(args);
        assert!(
            run.status.code() == Some(2) && String::from_utf8_lossy(&run.stderr).contains(says)
        );
    }
    write("a <|end|> in the graph");
    let run = export(&sharegpt);
    assert!(
        run.status.code() == Some(2) && String::from_utf8_lossy(&run.stderr).contains("<|end|>")
    );
    assert!(!out.exists());
}
