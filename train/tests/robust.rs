//! Runs that are killed, have truncated checkpoints or a full disk resume to the same weights as an
//! undisturbed run.
//!
//! A run to kill is this test binary with [`PLACE`] set, so that [`a_run_to_be_killed`] trains
//! instead of doing nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::wordings::{FILE, Wording, Wordings};
use model::{
    Dataset, KgAgentInfo, ModelConfig, ModelFolder, Part, Preset, Role, Tokenizer,
    TrainingConversation, Turn,
};
use train::{
    Algorithm, Base, Silent, TrainConfig, TrainError, TrainEvent, TrainProgress, fresh_weights,
    partial_folder, train,
};

/// The variable with the folder in which a child trains.
const PLACE: &str = "KGAGENT_TEST_PLACE";
/// Epochs of killed runs: enough for a few dozen checkpoints.
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
        TrainingConversation {
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

/// A very small model: a step takes a millisecond.
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
        // With so small a step, most of the time would go into Muon's products.
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

/// Keeps the notes and the last step of a run, and can stop it one step before its end.
#[derive(Default)]
struct Recorder<'a> {
    notes: Vec<String>,
    step: usize,
    stop: Option<&'a AtomicBool>,
}

impl TrainProgress for Recorder<'_> {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Note(note) => self.notes.push(note.clone()),
            TrainEvent::Step(step) => {
                self.step = step.step;
                if let Some(stop) = self.stop.filter(|_| step.step + 1 >= step.total) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}

fn train_in(
    place: &Path,
    out: &str,
    config: &TrainConfig,
    progress: &mut dyn TrainProgress,
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

/// This test binary, which runs only [`a_run_to_be_killed`] in `place`, after the commands in
/// `shell`.
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
    if let Err(error) = train_in(Path::new(&place), "out", &config(EPOCHS), &mut Silent) {
        panic!("{error}");
    }
}

/// Kills `times` runs at various moments and resumes them. Every other resuming run is killed, too.
/// Returns how many were killed before their end.
fn kill(times: usize) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    train_in(place, "whole", &config(EPOCHS), &mut Silent).unwrap();
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
            // The odd multiplier covers the whole length of a run without repetition.
            sleep(length.mul_f64((5 + i * 37 % 95) as f64 / 100.0));
            let hit = run.try_wait().unwrap().is_none();
            let _ = run.kill();
            run.wait().unwrap();
            // A resumed run is shorter than a complete one. If a complete run ended, the machine is
            // less busy now.
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
fn a_killed_run_resumes_to_the_same_bytes() {
    kill(3);
}

/// `cargo test -p train --test robust -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn fifty_killed_runs_resume_to_the_same_bytes() {
    let killed = kill(50);
    println!(
        "50 kills, {killed} before the end of the run: always the bytes of the undisturbed run"
    );
    assert!(killed >= 30, "{killed}");
}

#[test]
fn a_truncated_checkpoint_is_skipped_with_name_and_reason() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    train_in(place, "whole", &config(1), &mut Silent).unwrap();
    let whole = weights(place, "whole");
    // Stopped one step before the end, with two checkpoints.
    let stop = AtomicBool::new(false);
    let mut recorder = Recorder {
        stop: Some(&stop),
        ..Recorder::default()
    };
    let out = place.join("out");
    let error = train(
        &config(1),
        &base(place),
        &dataset(),
        &out,
        &mut recorder,
        &stop,
    )
    .unwrap_err();
    assert!(matches!(error, TrainError::Interrupted { .. }), "{error}");
    let newest = recorder.step;
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
        let mut recorder = Recorder::default();
        train_in(place, "out", &config(1), &mut recorder).unwrap();
        let text = recorder.notes.join("\n");
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

/// Limits file sizes to a few blocks, which has the effect of a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    train_in(place, "whole", &config(EPOCHS), &mut Silent).unwrap();
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
        "the old checkpoints did not change"
    );
    assert!(!place.join("out").exists());

    train_in(place, "out", &config(EPOCHS), &mut Silent).unwrap();
    assert!(weights(place, "out") == weights(place, "whole"));
}

/// A base from another program counts as unread, a base that this program trained counts as read,
/// and if it has no record, the record of the new model is unknown.
#[test]
fn a_model_records_the_wordings_of_its_data_and_of_its_base() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let wordings = |words: &[u64]| {
        let mut all = Wordings::default();
        for &word in words {
            let words = vec![word];
            all.add(Wording { words, whole: word });
        }
        all
    };
    // These models learn too little to be trusted with the wordings of given questions.
    let mut given = wordings(&[]);
    given.add_given(Wording {
        words: vec![3],
        whole: 3,
    });
    let trained = |base: &Base, out: &str, read: Option<Wordings>| {
        let data = Dataset {
            agents: vec!["kg-agent".to_owned()],
            wordings: read,
            ..dataset()
        };
        let config = TrainConfig {
            save_steps: None,
            resume: false,
            ..config(1)
        };
        let (out, stop) = (place.join(out), AtomicBool::new(false));
        train(&config, base, &data, &out, &mut Silent, &stop).unwrap();
        (
            Base::Folder(out.clone()),
            Wordings::of_folder(&out).unwrap(),
        )
    };
    let (one, read) = trained(&base(place), "one", Some(wordings(&[1, 2])));
    assert_eq!(read, Some(wordings(&[1, 2])));
    assert_eq!(
        trained(&one, "two", Some(given)).1,
        Some(wordings(&[1, 2, 3]))
    );
    assert_eq!(trained(&one, "three", None).1, None);
    fs::remove_file(place.join("one").join(FILE)).unwrap();
    assert_eq!(trained(&one, "four", Some(wordings(&[3]))).1, None);
}

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
