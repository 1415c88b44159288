//! Whole runs on tiny data: interruptions, other settings, the best weights, distillation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use model::EncoderFolder;
use serde_json::{Value, json};

use crate::ranker::{
    RankerConfig, RankerEvent, RankerProgress, RankerSize, RankerStart, RankerSummary, rate,
    train_ranker,
};
use crate::{Precision, TrainError};

const WORDS: [&str; 10] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "film", "city", "book", "a", "b", "c",
];

fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let vocab: serde_json::Map<String, Value> = WORDS
        .iter()
        .enumerate()
        .map(|(id, word)| ((*word).to_owned(), id.into()))
        .collect();
    let special = |id: usize| {
        json!({ "id": id, "content": WORDS[id], "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false })
    };
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "decoder": null,
        "added_tokens": (0..4).map(special).collect::<Vec<_>>(),
        "pre_tokenizer": { "type": "Whitespace" },
        "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] },
        "model": { "type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]" },
    });
    fs::create_dir(dir.path().join("words")).unwrap();
    fs::write(
        dir.path().join("words/tokenizer.json"),
        tokenizer.to_string(),
    )
    .unwrap();
    let mut lines = String::new();
    for i in 0..6 {
        let candidates: Vec<Value> = (0..9)
            .map(|c| {
                json!({ "text": format!("{} {}", WORDS[4 + c % 3], WORDS[7 + c / 3]),
                    "right": c % 3 == i % 3 && c / 3 == i / 3, "score": -(c as f64) })
            })
            .collect();
        let question = format!("{} {}", WORDS[4 + i % 3], WORDS[7 + i / 3]);
        lines += &json!({ "question": question, "candidates": candidates }).to_string();
        lines += "\n";
    }
    fs::write(dir.path().join("choices.jsonl"), lines).unwrap();
    dir
}

fn config() -> RankerConfig {
    RankerConfig {
        max_tokens: 12,
        epochs: 5.0,
        questions_per_step: 2,
        warmup: 3,
        learning_rate: 3e-3,
        report_every: 4,
        evaluate_every: Some(5),
        precision: Some(Precision::F32),
        ..RankerConfig::default()
    }
}

/// Sets the flag after a step.
struct StopAfter<'a>(usize, &'a AtomicBool, Vec<String>);

impl RankerProgress for StopAfter<'_> {
    fn event(&mut self, event: &RankerEvent) {
        match event {
            RankerEvent::Step(step) if step.step == self.0 => self.1.store(true, Ordering::Relaxed),
            RankerEvent::Note(text) => self.2.push(text.clone()),
            _ => {}
        }
    }
}

/// Trains until after step `last`; also returns the notes.
fn run(
    place: &Path,
    config: &RankerConfig,
    out: &str,
    last: usize,
) -> (Result<RankerSummary, TrainError>, Vec<String>) {
    let start = RankerStart::Scratch {
        size: RankerSize {
            layers: 1,
            hidden: 16,
            heads: 2,
        },
        tokenizer: place.join("words"),
        words_from: None,
    };
    let files = [place.join("choices.jsonl")];
    let stop = AtomicBool::new(false);
    let mut progress = StopAfter(last, &stop, Vec::new());
    let result = train_ranker(
        config,
        &start,
        (&files, &files),
        &place.join(out),
        &mut progress,
        &stop,
    );
    (result, progress.2)
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    ["model.safetensors", "config.json", "training.json"]
        .map(|name| fs::read(folder.join(name)).unwrap())
        .to_vec()
}

#[test]
fn an_interrupted_run_continues_to_the_same_bytes() {
    let dir = place();
    let place = dir.path();
    for keep_best in [false, true] {
        let config = RankerConfig {
            keep_best,
            ..config()
        };
        let out = |name: &str| format!("{name}-{keep_best}");
        let (whole, _) = run(place, &config, &out("whole"), usize::MAX);
        assert_eq!(whole.unwrap().steps, 15);
        for last in [4, 10] {
            let (error, _) = run(place, &config, &out("parts"), last);
            let error = error.unwrap_err();
            assert!(matches!(error, TrainError::Interrupted { step, .. } if step == last));
        }
        let other = RankerConfig {
            distil: 0.25,
            ..config.clone()
        };
        let (refused, _) = run(place, &other, &out("parts"), usize::MAX);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("another `ranker.distil`"), "{refused}");
        let (done, notes) = run(place, &config, &out("parts"), usize::MAX);
        assert_eq!(done.unwrap().steps, 15);
        assert!(notes[0].contains("continuing after step 10"), "{notes:?}");
        let (whole, parts) = (place.join(out("whole")), place.join(out("parts")));
        assert!(files(&whole) == files(&parts));
        assert!(EncoderFolder::open(&parts).unwrap().weights().is_ok());
        assert!(!place.join(out("parts") + ".partial").exists());
    }
}

#[test]
fn a_ranker_learns_from_a_teacher_alone() {
    let dir = place();
    let place = dir.path();
    let long = RankerConfig {
        epochs: 400.0,
        learning_rate: 1e-3,
        head_rate: 3e-3,
        distil: 0.0,
        ..config()
    };
    let (teacher, _) = run(place, &long, "teacher", usize::MAX);
    assert_eq!(teacher.unwrap().validation.unwrap().all.ranker, 6);
    let files = [place.join("choices.jsonl")];
    let rated = place.join("rated.jsonl");
    let stop = AtomicBool::new(false);
    let precision = Some(Precision::F32);
    let teacher = place.join("teacher");
    rate(&teacher, &files, &rated, precision, &mut |_| {}, &stop).unwrap();
    // No candidate is right any more, so that only the teacher is left.
    let text = fs::read_to_string(&rated).unwrap();
    fs::write(&rated, text.replace("true", "false")).unwrap();
    let student = RankerConfig {
        epochs: 400.0,
        learning_rate: 1e-3,
        head_rate: 3e-3,
        distil: 1.0,
        shown_best: 9,
        ..config()
    };
    let start = RankerStart::Scratch {
        size: RankerSize {
            layers: 2,
            hidden: 32,
            heads: 4,
        },
        tokenizer: place.join("words"),
        words_from: None,
    };
    let valid: [PathBuf; 1] = files;
    let summary = train_ranker(
        &student,
        &start,
        (&[rated], &valid),
        &place.join("student"),
        &mut StopAfter(usize::MAX, &stop, Vec::new()),
        &stop,
    );
    assert_eq!(summary.unwrap().validation.unwrap().all.ranker, 6);
}
