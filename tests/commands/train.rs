//! `kgagent train` as a user runs it: a signal ends the run at a checkpoint and prints how to
//! resume it; a dry run prints what training would need.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A folder with a dataset of short conversations.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    let lines = |n: usize| -> String {
        let one = |i: usize| {
            let messages = json!([{"role": "user", "content": format!("which {} of e0", i % 7)}, {"role": "assistant", "content": format!("v0 = get_relation(e{})", i % 5)}]);
            format!(
                "{}\n",
                json!({"id": i.to_string(), "messages": messages, "agent": "kg-agent", "template_hash": "aa"})
            )
        };
        (0..n).map(one).collect()
    };
    fs::write(dir.path().join("data/train.jsonl"), lines(120)).unwrap();
    fs::write(dir.path().join("data/valid.jsonl"), lines(10)).unwrap();
    dir
}

fn train(place: &Path, out: &str, more: &[&str]) -> Command {
    train_in_steps(place, out, "100", more)
}

/// Training with this many tokens in a step.
fn train_in_steps(place: &Path, out: &str, tokens: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgagent"));
    let common = [
        "train",
        "--data",
        "data",
        "--base",
        "scratch:tiny",
        "--vocab-size",
        "300",
        "--epochs",
        "2",
        "--batch-tokens",
        tokens,
        "--out",
    ];
    command
        .args(common)
        .arg(out)
        .args(more)
        .current_dir(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_dry_run_predicts_the_training() {
    let dir = place();
    let output = train(dir.path(), "model", &["--dry-run", "--json"])
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["fits"], true);
    assert!(!dir.path().join("model").exists() && !dir.path().join("model.partial").exists());
    let output = train(dir.path(), "model", &["--json"]).output().unwrap();
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (planned, did) in [
        ("steps", "steps"),
        ("total_tokens", "tokens"),
        ("parameters", "parameters"),
        ("examples", "examples"),
    ] {
        assert_eq!(plan["estimate"][planned], done["summary"][did], "{planned}");
    }
    assert_eq!(
        done["summary"]["validation"]["tools"]["get_relation"]["calls"],
        10
    );

    let output = train(dir.path(), "large", &["--memory-limit", "0.001"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && said.contains("GB of memory") && said.contains("micro"),
        "{said}"
    );
    assert!(!dir.path().join("large").exists() && !dir.path().join("large.partial").exists());
}

#[test]
fn an_unavailable_device_or_precision_is_an_error_and_checkpointing_needs_less_memory() {
    let dir = place();
    let refused = |more: &[&str]| {
        let output = train(dir.path(), "model", more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    if !cfg!(feature = "cuda") {
        assert!(refused(&["--device", "cuda"]).contains("cargo build --release --features cuda"));
        assert!(refused(&["--device", "cuda", "--dry-run"]).contains("--features cuda"));
    }
    if kgagent::train::products() == "f32" {
        assert!(refused(&["--precision", "bf16"]).contains("no bfloat16 products"));
    }
    assert!(refused(&["--device", "tpu"]).contains("cpu, cuda"));
    // With few tokens in a step the gradients of the weights are the most, and they stay.
    let passes = |more: &[&str]| {
        let more = [&["--dry-run", "--json"], more].concat();
        let output = train_in_steps(dir.path(), "model", "4000", &more)
            .output()
            .unwrap();
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        let memory = &plan["estimate"]["memory"];
        let of = |part: &str| memory[part].as_u64().unwrap();
        of("activations") + of("early_gradients")
    };
    let (again, kept) = (passes(&["--gradient-checkpointing"]), passes(&[]));
    assert!(4 * again < 3 * kept, "{again} {kept}");
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing was written"
    );
}

/// Sends `signal` after the first checkpoint.
#[cfg(unix)]
#[test]
fn a_signal_finishes_the_step_and_saves() {
    let dir = place();
    let whole = train(dir.path(), "whole", &[]).output().unwrap();
    assert!(
        whole.status.success(),
        "{}",
        String::from_utf8_lossy(&whole.stderr)
    );
    for signal in ["INT", "TERM"] {
        let mut run = train(dir.path(), signal, &["--save-every", "1"])
            .spawn()
            .unwrap();
        let partial = dir.path().join(format!("{signal}.partial"));
        while !partial.join("checkpoint-1").exists()
            && !partial.join("checkpoint-3").exists()
            && run.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(
            Command::new("kill")
                .args(["-s", signal, &run.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let output = run.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2)
                && said.contains("interrupted after step")
                && said.contains("--resume auto"),
            "{said}"
        );
        assert!(partial.exists() && !dir.path().join(signal).exists());
        // A training is hours of work, so another build continues it, too, and says so.
        let elsewhere = tempfile::tempdir().unwrap();
        let same = train(dir.path(), signal, &["--resume", "auto"]);
        let program = match signal {
            "INT" => same.get_program().into(),
            _ => super::support::other_build(elsewhere.path()),
        };
        let output = Command::new(program)
            .args(same.get_args())
            .current_dir(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && said.contains("continuing after step"),
            "{said}"
        );
        let noted = said.contains("another build of kgagent wrote this checkpoint");
        assert_eq!(noted, signal == "TERM", "{said}");
        let model = |name: &str| fs::read(dir.path().join(name).join("model.safetensors")).unwrap();
        assert!(model(signal) == model("whole"), "{signal}");
    }
}

#[test]
fn fetch_stays_offline_if_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let fetch = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kgagent"));
        command
            .args(["fetch", "some/model"])
            .env("HF_HUB_OFFLINE", "1")
            .env("HF_HOME", dir.path())
            .output()
            .unwrap()
    };
    let output = fetch();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2)
            && said.contains("HF_HUB_OFFLINE")
            && said.contains("some/model"),
        "{said}"
    );
    let repo = dir.path().join("hub/models--some--model");
    fs::create_dir_all(repo.join("refs")).unwrap();
    fs::create_dir_all(repo.join("snapshots/abc")).unwrap();
    fs::write(repo.join("refs/main"), "abc").unwrap();
    fs::write(repo.join("snapshots/abc/config.json"), "{}").unwrap();
    let output = fetch();
    assert!(
        output.status.success()
            && String::from_utf8_lossy(&output.stdout).contains("snapshots/abc"),
        "{output:?}"
    );
}

/// Every way in which the cache of the hub's programs is laid out.
#[test]
fn a_model_is_found_in_every_layout_of_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = "models--some--model/snapshots/0123456789abcdef";
    let repository = |root: &Path, main: Option<&str>| {
        fs::create_dir_all(root.join(snapshot)).unwrap();
        fs::write(root.join(snapshot).join("config.json"), "{}").unwrap();
        let refs = root.join("models--some--model/refs");
        if let Some(main) = main {
            fs::create_dir_all(&refs).unwrap();
            fs::write(refs.join("main"), main).unwrap();
        }
    };
    let find = |variable: &str, value: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kgagent"));
        command
            .args(["fetch", "some/model"])
            .env("HF_HUB_OFFLINE", "1");
        for name in [
            "HF_HOME",
            "HF_HUB_CACHE",
            "HUGGINGFACE_HUB_CACHE",
            "XDG_CACHE_HOME",
        ] {
            command.env_remove(name);
        }
        command
            .env("HOME", dir.path().join("nobody"))
            .env(variable, value);
        command.output().unwrap()
    };
    let commit = Some("0123456789abcdef");
    for (variable, inside, main) in [
        ("HF_HOME", "hub", commit),
        ("HF_HUB_CACHE", "", commit),
        ("HUGGINGFACE_HUB_CACHE", "", commit),
        ("XDG_CACHE_HOME", "huggingface/hub", commit),
        ("HOME", ".cache/huggingface/hub", commit),
        ("HF_HUB_CACHE", "", Some("0123456789abcdef\n")),
        ("HF_HUB_CACHE", "", None),
    ] {
        let place = tempfile::tempdir().unwrap();
        repository(&place.path().join(inside), main);
        let output = find(variable, place.path());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && said.contains(snapshot),
            "{variable} {output:?}"
        );
    }
    let output = find("HF_HUB_CACHE", dir.path());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
