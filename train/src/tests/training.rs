//! Whole runs: learning, reports, estimates, resuming, threads and errors.

use std::fs;
use std::sync::atomic::AtomicBool;

use model::{ModelFolder, Preset, Weights};

use super::support::*;
use crate::kernels::tiles;
use crate::*;

#[test]
fn a_model_learns_to_copy() {
    let dir = tempfile::tempdir().unwrap();
    let config = with(quick(), |c| c.epochs = 10);
    let summary = run(&config, &copy_task(500), &dir.path().join("m")).unwrap();
    let validation = summary.validation.clone().unwrap();
    assert!(
        validation.accuracy > 0.97 && validation.loss < 0.2,
        "{summary:?}"
    );
    let folder = ModelFolder::open(&dir.path().join("m")).unwrap();
    assert_eq!(folder.info.templates["kg-agent"], "aa");
    assert_eq!(
        fs::read_to_string(dir.path().join("m/metrics.jsonl"))
            .unwrap()
            .lines()
            .count(),
        summary.steps + 1
    );
    assert!(!partial_folder(&dir.path().join("m")).exists());
    // 20 held-out turns, which call no tool.
    assert_eq!(
        validation
            .tools
            .iter()
            .map(|(tool, score)| (tool.as_str(), score.calls))
            .collect::<Vec<_>>(),
        [("other", 20)]
    );
    assert!(
        validation.exact().unwrap() > 0.9 && validation.exact().unwrap() <= 1.0,
        "{validation:?}"
    );
    let read = |name: &str| fs::read_to_string(dir.path().join("m").join(name)).unwrap();
    let page = read("report.html");
    for says in [
        "held-out calls exact",
        "learning rate by step",
        "gradient norm",
        "tokens per second",
        "<td>other</td><td>20</td>",
    ] {
        assert!(page.contains(says), "{says}");
    }
    let run: serde_json::Value = serde_json::from_str(&read("run.json")).unwrap();
    assert_eq!(run["summary"]["steps"], summary.steps);
    assert_eq!(run["estimate"]["steps"], summary.steps);
    assert_eq!(run["estimate"]["total_tokens"], summary.tokens);
    let events: Vec<_> = fs::read_dir(dir.path().join("m/runs")).unwrap().collect();
    assert_eq!(events.len(), 1);
}

#[test]
fn the_estimate_matches_the_run_and_insufficient_memory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let base = dir.path().join("base");
    let config = quick();
    let scratch = Base::Scratch(Preset::Tiny);
    let full = dry_run(&config, &scratch, &data).unwrap();
    assert!(
        full.seconds.unwrap() > 0.0
            && full.operations > 0.0
            && full.parameters == full.trained_parameters,
        "{full:?}"
    );
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        0,
        "a dry run writes nothing"
    );
    let needs = full.memory;
    assert_eq!(
        (needs.weights, needs.optimizer),
        (4 * full.parameters as u64, 8 * full.parameters as u64)
    );
    // One moment of everything and a second one of everything without Muon: the embedding of 262
    // tokens and the norms.
    let shape = Preset::Tiny.config(262);
    let plain = 262 * shape.hidden_size + (2 * shape.num_hidden_layers + 1) * shape.hidden_size;
    let muon = with(config.clone(), |c| c.optimizer = Algorithm::Muon);
    assert_eq!(
        dry_run(&muon, &scratch, &data).unwrap().memory.optimizer,
        4 * (full.parameters + plain) as u64
    );
    let tight = with(config.clone(), |c| c.memory_limit = Some(needs.peak() - 1));
    let error = run(&tight, &data, &base).unwrap_err();
    assert!(
        matches!(error, TrainError::Memory { .. }) && error.to_string().contains("micro-tokens"),
        "{error}"
    );
    assert!(!base.exists() && !partial_folder(&base).exists());
    let summary = run(
        &with(config, |c| c.memory_limit = Some(needs.peak())),
        &data,
        &base,
    )
    .unwrap();
    assert_eq!(
        (summary.steps, summary.tokens, summary.parameters),
        (full.steps, full.total_tokens, full.parameters)
    );
}

#[test]
fn the_estimate_of_lora_matches_its_adapter() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let (base, out) = (dir.path().join("base"), dir.path().join("out"));
    let config = with(quick(), |c| c.max_steps = Some(2));
    run(&config, &data, &base).unwrap();
    let scratch = Base::Scratch(Preset::Tiny);
    let needs = dry_run(&config, &scratch, &data).unwrap().memory;
    let lora = TrainConfig {
        method: Method::Lora,
        lora: LoraConfig {
            merge: false,
            ..LoraConfig::default()
        },
        ..config
    };
    let from = Base::Folder(base);
    let plan = dry_run(&lora, &from, &data).unwrap();
    run_from(&lora, &from, &data, &out).unwrap();
    let adapter = Weights::read(&out.join("adapter_model.safetensors")).unwrap();
    assert_eq!(
        plan.trained_parameters,
        adapter
            .iter()
            .map(|(_, tensor)| tensor.data.len())
            .sum::<usize>()
    );
    assert!(
        plan.memory.optimizer < needs.optimizer / 4 && plan.memory.peak() < needs.peak(),
        "{plan:?}"
    );
}

#[test]
fn an_interrupted_run_continues_to_the_same_bytes_even_past_a_damaged_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(150);
    let config = TrainConfig {
        optimizer: Algorithm::Muon,
        epochs: 2,
        save_steps: Some(2),
        ..quick()
    };
    let whole = dir.path().join("whole");
    let summary = run(&config, &data, &whole).unwrap();
    assert!(summary.steps > 8, "{summary:?}");
    let out = dir.path().join("parts");
    let base = Base::Scratch(Preset::Tiny);
    interrupt(&config, &base, &data, &out, 5);
    assert!(!out.exists());
    // Truncate the newest checkpoint: the run falls back to step 4 with a note.
    let damaged = partial_folder(&out).join("checkpoint-5/weights.safetensors");
    let half = fs::read(&damaged).unwrap();
    fs::write(&damaged, &half[..half.len() / 2]).unwrap();
    let never = AtomicBool::new(false);
    let mut recorder = StopAt::new(0, &never);
    let resumed = with(config.clone(), |c| c.resume = true);
    let other = with(resumed.clone(), |c| c.learning_rate = 1e-3);
    let error = run_from(&other, &base, &data, &out)
        .unwrap_err()
        .to_string();
    assert!(error.contains("learning_rate"), "{error}");
    train(&resumed, &base, &data, &out, &mut recorder, &never).unwrap();
    let notes = recorder.notes.join("\n");
    for says in ["checkpoint-5", "damaged", "after step 4"] {
        assert!(notes.contains(says), "{notes}");
    }
    assert_eq!(bytes(&whole), bytes(&out));
    assert_eq!(
        fs::read(whole.join("kgagent.json")).unwrap(),
        fs::read(out.join("kgagent.json")).unwrap()
    );
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(300);
    let config = TrainConfig {
        optimizer: Algorithm::Muon,
        max_steps: Some(4),
        batch_tokens: 1200,
        micro_tokens: 1000,
        ..quick()
    };
    let with = |threads: usize| {
        let out = dir.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run(&config, &data, &out)).unwrap();
        (bytes(&out), fs::read(out.join("tokenizer.json")).unwrap())
    };
    let one = with(1);
    assert!(one == with(2) && one == with(5));
}

#[test]
fn invalid_runs_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("m");
    let data = copy_task(5);
    for (config, says) in [
        (with(quick(), |c| c.epochs = 0), "epochs"),
        (
            with(quick(), |c| c.learning_rate = f64::NAN),
            "learning_rate",
        ),
        (with(quick(), |c| c.max_length = 3), "5 too long"),
        (
            TrainConfig {
                max_length: 3,
                too_long: TooLong::Refuse,
                ..quick()
            },
            "`max_length` is 3",
        ),
        (with(quick(), |c| c.method = Method::Lora), "LoRA"),
        (with(quick(), |c| c.vocab_size = Some(100)), "too small"),
        (
            with(quick(), |c| c.precision = Some(Precision::Bf16)),
            "bfloat16",
        ),
    ] {
        if says == "bfloat16" && tiles::are_fast() {
            continue;
        }
        let error = run(&config, &data, &out).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(!out.exists());
}
