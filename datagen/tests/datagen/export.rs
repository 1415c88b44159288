//! Every layout reads back as the source conversations, and reports lines that it cannot represent.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use datagen::Error;
use datagen::export::{ExportFormat, export};
use serde_json::{Value, json};

/// A data folder with `lines` as training data and the first of them as validation data.
fn folder(dir: &Path, lines: &[Value]) -> PathBuf {
    let data = dir.join("data");
    std::fs::create_dir_all(&data).unwrap();
    let text = |lines: &[Value]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    std::fs::write(data.join("train.jsonl"), text(lines)).unwrap();
    std::fs::write(data.join("valid.jsonl"), text(&lines[..1])).unwrap();
    let head = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.jsonl\n  - split: validation\n    path: valid.jsonl\n---\n";
    std::fs::write(data.join("README.md"), head).unwrap();
    data
}

fn line(id: usize, turns: &[(&str, &str)]) -> Value {
    let messages: Vec<Value> = turns
        .iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect();
    json!({
        "messages": messages, "id": format!("q{id}"), "source": "jsonl", "question": "what \"is\" it?\n", "program": ["get_relation(a)", "ans = end(a)"],
        "answer": ["a", "b"], "layout": "dialogue", "agent": "kg-agent", "step": 2, "n_steps": 2, "template_hash": "aa", "kg_hash": "bb",
        "verified": true, "hops": 1, "topics": [{ "name": "a", "label": "A" }],
    })
}

const DIALOGUE: [(&str, &str); 5] = [
    ("system", "kg-agent"),
    ("user", "what is e0?\n"),
    ("assistant", "get_relation(e0)"),
    ("tool", "out é"),
    ("assistant", "ans = end(e0)"),
];

fn formats() -> Vec<ExportFormat> {
    [
        ExportFormat::ShareGpt,
        ExportFormat::ShareGptTurns,
        ExportFormat::Alpaca,
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet,
    ]
    .to_vec()
}

#[test]
fn every_layout_represents_every_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines: Vec<Value> = (0..2500)
        .map(|i| line(i, &DIALOGUE[..if i % 3 == 0 { 3 } else { 5 }]))
        .collect();
    lines[7]["answer"] = json!(12);
    lines[8]["answer"] = json!(false);
    lines[9]["abstain"] = json!(true);
    lines[10]["program"] = json!([]);
    lines[11]["messages"].as_array_mut().unwrap().remove(0);
    let data = folder(dir.path(), &lines);
    for format in formats() {
        let out = dir.path().join("out");
        let done = export(&data, format, &out, &[]).unwrap();
        assert_eq!((done.train, done.valid, done.files.len()), (2500, 1, 2));
        assert!(done.files.iter().all(|file| out.join(file).is_file()));
        // A second export replaces the first.
        export(&data, format, &out, &[]).unwrap();
        std::fs::write(data.join("valid.jsonl"), "").unwrap();
        let done = export(&data, format, &out, &[]).unwrap();
        assert_eq!((done.valid, done.files.len()), (0, 1));
        match format {
            ExportFormat::ShareGptTurns => assert!(!out.join("dataset_info.json").exists()),
            ExportFormat::ShareGpt | ExportFormat::Alpaca => {
                let info: Value = serde_json::from_str(
                    &std::fs::read_to_string(out.join("dataset_info.json")).unwrap(),
                )
                .unwrap();
                assert_eq!(
                    info.as_object().unwrap().keys().collect::<Vec<_>>(),
                    ["kgagent_train"]
                );
                assert_eq!(info["kgagent_train"]["file_name"], "train.jsonl");
            }
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => {
                let card = std::fs::read_to_string(out.join("README.md")).unwrap();
                assert!(
                    card.contains("path: data/train-*") && !card.contains("validation"),
                    "{card}"
                );
            }
        }
        std::fs::remove_dir_all(&out).unwrap();
        std::fs::write(data.join("valid.jsonl"), format!("{}\n", lines[0])).unwrap();
    }
}

#[test]
fn consecutive_inputs_need_a_layout_with_free_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut triad = line(
        0,
        &[
            ("system", "triad"),
            ("user", "q"),
            ("tool", "triples"),
            ("assistant", "<e0, r, ?a>"),
            ("tool", "a"),
            ("tool", "b"),
            ("assistant", "c"),
        ],
    );
    triad["agent"] = json!("triad");
    let data = folder(dir.path(), &[triad]);
    let out = dir.path().join("out");
    for format in [ExportFormat::ShareGpt, ExportFormat::Alpaca] {
        let error = export(&data, format, &out, &[]).unwrap_err().to_string();
        assert!(
            [
                "turns 1 and 2",
                "`triad`",
                "--format parquet",
                "--trainer axolotl"
            ]
            .iter()
            .all(|part| error.contains(part)),
            "{error}"
        );
    }
    export(&data, ExportFormat::ShareGptTurns, &out, &[]).unwrap();
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("train.jsonl")).unwrap()).unwrap();
    let from: Vec<&str> = record["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["from"].as_str().unwrap())
        .collect();
    assert_eq!(
        from,
        [
            "human",
            "observation",
            "gpt",
            "observation",
            "observation",
            "gpt"
        ]
    );
    #[cfg(feature = "parquet")]
    export(&data, ExportFormat::Parquet, &out, &[]).unwrap();
}

#[test]
fn sharegpt_alternates_inputs_and_calls() {
    let dir = tempfile::tempdir().unwrap();
    let data = folder(dir.path(), &[line(0, &DIALOGUE)]);
    export(&data, ExportFormat::ShareGpt, &dir.path().join("out"), &[]).unwrap();
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("out/train.jsonl")).unwrap())
            .unwrap();
    let from: Vec<&str> = record["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["from"].as_str().unwrap())
        .collect();
    assert_eq!(from, ["human", "gpt", "observation", "gpt"]);
    assert_eq!(record["system"], "kg-agent");
}

#[test]
fn unsupported_lines_are_rejected_with_their_number() {
    let good = line(0, &DIALOGUE);
    let mut untrained = line(1, &DIALOGUE);
    untrained["messages"][2]["train"] = json!(false);
    for (bad, says) in [
        (line(1, &DIALOGUE[..4]), "does not end with a call"),
        (line(1, &[("user", "a"), ("tool", "b")]), "turns 1 and 2"),
        (line(1, &[("system", "a")]), "no call"),
        (untrained, "not to be trained on"),
        (json!({ "messages": "none" }), "invalid type"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let data = folder(dir.path(), &[good.clone(), bad]);
        for format in [ExportFormat::ShareGpt, ExportFormat::Alpaca] {
            let error = export(&data, format, &dir.path().join("out"), &[])
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("train.jsonl:2") && error.contains(says),
                "{error}"
            );
            let left: Vec<_> = std::fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(left, ["data"], "nothing is left behind");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let data = folder(dir.path(), &[good]);
    let mine = dir.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("thesis.tex"), "keep").unwrap();
    let error = export(&data, ExportFormat::Alpaca, &mine, &[]).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists),
        "{error}"
    );
    assert!(mine.join("thesis.tex").exists());
}
