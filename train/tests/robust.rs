//! Training that is killed, whose checkpoints are cut short, or whose disk is full: it goes on to the weights of the run that nothing happened to.
//!
//! A run that must die is this test binary started again with [`PLACE`] set, where [`a_run_to_be_killed`] trains instead of doing nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::{
    Conversation, Dataset, KgAgentInfo, ModelConfig, ModelFolder, Part, Preset, Role, Tokenizer,
    Turn,
};
use train::{
    Algorithm, Base, Event, Progress, Silent, TrainConfig, TrainError, fresh_weights,
    partial_folder, train,
};

/// Names the folder that a child trains in.
const PLACE: &str = "KGAGENT_TEST_PLACE";
/// Passes of the runs that are killed: enough for a few dozen checkpoints.
const EPOCHS: usize = 6;

fn dataset() -> Dataset {
    let one = |i: usize| {
        let word: String = (0..3)
            .map(|k| ['k', 'w', 'z', 'q'][(i * 7 + i / 4 * (k + 1)) % 4])
            .collect();
        let turns = vec![
            Turn::shown(Role::User, vec![Part::user(word.clone())]),
            Turn::call(format!("end({word})")),
        ];
        Conversation {
            id: i.to_string(),
            turns,
        }
    };
    Dataset {
        train: (0..60).map(one).collect(),
        valid: (60..70).map(one).collect(),
        ..Dataset::default()
    }
}

/// A model so small that a step takes a millisecond.
fn base(place: &Path) -> Base {
    let folder = place.join("base");
    if !folder.exists() {
        let tokenizer = Tokenizer::train_bpe(["end(kwzq)"].iter(), 262).unwrap();
        let config = ModelConfig {
            hidden_size: 24,
            intermediate_size: 40,
            num_hidden_layers: 2,
            num_attention_heads: 2,
            num_key_value_heads: 1,
            head_dim: 12,
            ..Preset::Tiny.config(tokenizer.vocab_size())
        };
        let weights = fresh_weights(&config, 5).unwrap();
        ModelFolder::write(
            &folder,
            &config,
            &tokenizer,
            &KgAgentInfo::default(),
            &weights,
        )
        .unwrap();
    }
    Base::Folder(folder)
}

fn config(epochs: usize) -> TrainConfig {
    TrainConfig {
        // Muon's products take most of the time of so small a step.
        optimizer: Algorithm::Adamw,
        epochs,
        batch_tokens: 120,
        micro_tokens: 80,
        save_steps: Some(1),
        save_seconds: None,
        resume: true,
        ..TrainConfig::default()
    }
}

/// Keeps what a run says, and stops it one step before its end where asked to.
#[derive(Default)]
struct Watch<'a> {
    notes: Vec<String>,
    step: usize,
    stop: Option<&'a AtomicBool>,
}

impl Progress for Watch<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Note(note) => self.notes.push(note.clone()),
            Event::Step(step) => {
                self.step = step.step;
                if let Some(stop) = self.stop.filter(|_| step.step + 1 >= step.total) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}

fn go(
    place: &Path,
    out: &str,
    config: &TrainConfig,
    progress: &mut dyn Progress,
) -> Result<(), TrainError> {
    train(
        config,
        &base(place),
        &dataset(),
        &place.join(out),
        progress,
        &AtomicBool::new(false),
    )
    .map(|_| ())
}

fn weights(place: &Path, out: &str) -> Vec<u8> {
    fs::read(place.join(out).join("model.safetensors")).unwrap()
}

/// This test binary, to run nothing but [`a_run_to_be_killed`] in `place`; `shell` is run before it.
fn child(place: &Path, shell: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{shell} exec \"$0\" \"$@\""))
        .arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "a_run_to_be_killed",
        "--nocapture",
        "--test-threads",
        "1",
    ]);
    command
        .env(PLACE, place)
        .env("RAYON_NUM_THREADS", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_run_to_be_killed() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    if let Err(error) = go(Path::new(&place), "out", &config(EPOCHS), &mut Silent) {
        panic!("{error}");
    }
}

/// Kills runs at random moments, `times` in all, and continues what is left, every other time by a run that is killed too. Returns how many were
/// killed before their end.
fn kill(times: usize) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    go(place, "whole", &config(EPOCHS), &mut Silent).unwrap();
    let whole = weights(place, "whole");
    let begin = Instant::now();
    assert!(child(place, "").output().unwrap().status.success());
    let mut length = begin.elapsed();
    assert!(weights(place, "out") == whole);
    let mut killed = 0;
    for i in 0..times {
        let again = i % 2 == 1;
        let hit = loop {
            let _ = fs::remove_dir_all(place.join("out"));
            let mut run = child(place, "").spawn().unwrap();
            // An odd multiplier walks over the whole length of a run without repeating itself.
            sleep(length.mul_f64((5 + i * 37 % 95) as f64 / 100.0));
            let hit = run.try_wait().unwrap().is_none();
            let _ = run.kill();
            run.wait().unwrap();
            // What goes on from a killed run is shorter than a whole one; a whole one that has ended tells that the machine does less else now.
            if hit || again {
                break hit;
            }
            length = length.mul_f64(0.8);
        };
        killed += usize::from(hit);
        if !again && i + 1 < times {
            continue;
        }
        let output = child(place, "").output().unwrap();
        assert!(
            output.status.success(),
            "after kill {i}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(weights(place, "out") == whole, "after kill {i}");
        let left: Vec<PathBuf> = fs::read_dir(place)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(left.len(), 3, "base, whole and out: {left:?}");
    }
    killed
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    kill(3);
}

/// `cargo test -p train --test robust -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn fifty_killed_runs_go_on_to_the_same_bytes() {
    let killed = kill(50);
    println!(
        "50 kills, {killed} before the end of the run: always the bytes of the run that was left alone"
    );
    assert!(killed >= 30, "{killed}");
}

#[test]
fn a_truncated_checkpoint_is_passed_over_by_name_and_reason() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    go(place, "whole", &config(1), &mut Silent).unwrap();
    let whole = weights(place, "whole");
    // Stopped one step before the end, with two checkpoints.
    let stop = AtomicBool::new(false);
    let mut watch = Watch {
        stop: Some(&stop),
        ..Watch::default()
    };
    let out = place.join("out");
    let error = train(
        &config(1),
        &base(place),
        &dataset(),
        &out,
        &mut watch,
        &stop,
    )
    .unwrap_err();
    assert!(matches!(error, TrainError::Interrupted { .. }), "{error}");
    let newest = watch.step;
    let partial = partial_folder(&out);
    let kept = place.join("kept");
    copy(&partial, &kept);
    for i in 0..50_u64 {
        let name = [
            "weights.safetensors",
            "optimizer.safetensors",
            "state.json",
            "SHA256SUMS",
        ][i as usize % 4];
        let _ = (fs::remove_dir_all(&out), fs::remove_dir_all(&partial));
        copy(&kept, &partial);
        let damaged = partial.join(format!("checkpoint-{newest}")).join(name);
        let size = fs::metadata(&damaged).unwrap().len();
        File::options()
            .write(true)
            .open(&damaged)
            .unwrap()
            .set_len(size * i / 50)
            .unwrap();
        let mut watch = Watch::default();
        go(place, "out", &config(1), &mut watch).unwrap();
        let text = watch.notes.join("\n");
        for says in [
            &format!("checkpoint-{newest}"),
            "damaged",
            name,
            "digest",
            &format!("continuing after step {}", newest - 1),
        ] {
            assert!(
                text.contains(says),
                "{name} cut at {i}/50, no `{says}` in: {text}"
            );
        }
        assert!(weights(place, "out") == whole, "{name} cut at {i}/50");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// No file may grow beyond a few blocks: what a full disk does to a save, without filling one.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    go(place, "whole", &config(EPOCHS), &mut Silent).unwrap();
    let mut run = child(place, "").spawn().unwrap();
    let partial = partial_folder(&place.join("out"));
    while !partial.join("checkpoint-3").exists() && run.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let before = checkpoints(&partial);
    assert!(!before.is_empty() && !place.join("out").exists());

    let output = child(place, "trap '' XFSZ; ulimit -f 8;").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("safetensors") && said.contains("File too large"),
        "{said}"
    );
    assert_eq!(
        checkpoints(&partial),
        before,
        "the old checkpoints are as they were"
    );
    assert!(!place.join("out").exists());

    go(place, "out", &config(EPOCHS), &mut Silent).unwrap();
    assert!(weights(place, "out") == weights(place, "whole"));
}

/// Every file of every checkpoint, with its digest.
#[cfg(unix)]
fn checkpoints(partial: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(partial).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("checkpoint-")
        {
            for file in fs::read_dir(entry.path()).unwrap().flatten() {
                all.push((
                    file.path(),
                    model::digest::sha256_file(&file.path()).unwrap(),
                ));
            }
        }
    }
    all.sort();
    all
}
