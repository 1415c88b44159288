//! `kgagent train ranker` as a user runs it, on tiny models.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use infer::engine::encoder::CrossEncoder;
use serde_json::{Value, json};

const WORDS: [&str; 14] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "what", "film", "city", "book", "of", "a", "b", "c",
    "##s",
];

/// A folder with a tokenizer and files of choices.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let vocabulary: serde_json::Map<String, Value> = WORDS
        .iter()
        .enumerate()
        .map(|(id, word)| ((*word).to_owned(), id.into()))
        .collect();
    let special = |id: usize| {
        json!({ "id": id, "content": WORDS[id], "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true })
    };
    let part = |token: usize| json!({ "SpecialToken": { "id": WORDS[token], "type_id": 0 } });
    let known =
        |token: usize| json!({ "id": WORDS[token], "ids": [token], "tokens": [WORDS[token]] });
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": (0..4).map(special).collect::<Vec<_>>(),
        "normalizer": { "type": "BertNormalizer", "clean_text": true,
            "handle_chinese_chars": true, "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "TemplateProcessing",
            "single": [part(2), { "Sequence": { "id": "A", "type_id": 0 } }, part(3)],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } },
                { "Sequence": { "id": "B", "type_id": 1 } }],
            "special_tokens": { "[CLS]": known(2), "[SEP]": known(3) } },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": { "type": "WordPiece", "unk_token": "[UNK]",
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": vocabulary },
    });
    fs::create_dir(dir.path().join("words")).unwrap();
    fs::write(
        dir.path().join("words/tokenizer.json"),
        tokenizer.to_string(),
    )
    .unwrap();
    fs::write(dir.path().join("choices.jsonl"), choices(8)).unwrap();
    dir
}

/// Questions whose right candidate names the same thing as the question. The words' score prefers a
/// wrong one.
fn choices(count: usize) -> String {
    let (things, names) = (["film", "city", "book"], ["a", "b", "c"]);
    let mut out = String::new();
    for i in 0..count {
        let (thing, name) = (i % 3, i / 3 % 3);
        let candidates: Vec<Value> = (0..9)
            .map(|c| {
                json!({ "text": format!("{} of {}", things[c % 3], names[c / 3]),
                    "right": c % 3 == thing && c / 3 == name,
                    "score": if c % 3 == thing { -1.0 } else { 0.5 } })
            })
            .collect();
        let question = format!("what {} of {}", things[thing], names[name]);
        let line = json!({ "id": i.to_string(), "question": question, "set": "tiny",
            "kept": [1, null], "candidates": candidates });
        writeln!(out, "{line}").unwrap();
    }
    out
}

fn run(place: &Path, threads: &str, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kgagent"))
        .args(args.split(' '))
        .env("RAYON_NUM_THREADS", threads)
        .current_dir(place)
        .output()
        .unwrap()
}

fn done(place: &Path, threads: &str, args: &str) -> Value {
    let output = run(place, threads, &format!("{args} --json"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

const TRAIN: &str = "train ranker --choices choices.jsonl --scratch 2x32x4 --tokenizer words --max-tokens 16 \
                     --warmup 10 --questions-per-step 4 --precision f32";

#[test]
fn it_scores_as_the_engine_does() {
    let dir = place();
    let place = dir.path();
    let args = format!("{TRAIN} --validate choices.jsonl --epochs 30 --learning-rate 3e-3 --out r");
    let summary = done(place, "2", &args);
    let shares = &summary["summary"]["validation"]["all"];
    assert_eq!(shares["questions"], 8);
    assert_eq!(shares["words"], 0);
    assert_eq!(shares["proposed"], 8);
    // What is learned is tested in `train`.
    assert!(
        summary["summary"]["loss"].as_f64().unwrap() < 2.1,
        "{summary}"
    );
    assert!(!place.join("r.partial").exists());
    let args = "train ranker-scores --choices choices.jsonl --base r --precision f32 --out t.jsonl";
    let rated = done(place, "1", args);
    assert_eq!(rated["candidates"], 72);
    let ranker = CrossEncoder::open(&place.join("r")).unwrap();
    let mut largest = 0.0_f64;
    for line in fs::read_to_string(place.join("t.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["kept"], json!([1, null]));
        let candidates = line["candidates"].as_array().unwrap();
        let texts: Vec<&str> = candidates
            .iter()
            .map(|one| one["text"].as_str().unwrap())
            .collect();
        let question = line["question"].as_str().unwrap();
        let all = ranker.score(question, &texts).unwrap();
        for (i, (candidate, logit)) in candidates.iter().zip(&all).enumerate() {
            let teacher = candidate["teacher"].as_f64().unwrap();
            let error = (teacher - f64::from(*logit)).abs();
            assert!(error < 1e-4, "{teacher} {logit}");
            largest = largest.max(teacher.abs());
            let alone = ranker.score(question, &texts[i..=i]).unwrap();
            assert_eq!(alone[0].to_bits(), logit.to_bits());
        }
    }
    assert!(largest > 0.01, "{largest}");
}

#[test]
fn the_weights_do_not_depend_on_threads() {
    let dir = place();
    let place = dir.path();
    for (out, threads) in [("one", "1"), ("two", "2")] {
        for precision in ["f32", "bf16"] {
            let args = TRAIN.replace("f32", precision);
            let args = format!("{args} --epochs 6 --out {out}-{precision}");
            done(place, threads, &args);
        }
    }
    let weights = |out: &str| fs::read(place.join(out).join("model.safetensors")).unwrap();
    assert!(weights("one-f32") == weights("two-f32"));
    assert!(weights("one-bf16") == weights("two-bf16"));
    assert!(weights("one-f32") != weights("one-bf16"));
}

#[test]
fn wrong_inputs_are_named() {
    let dir = place();
    let place = dir.path();
    fs::write(
        place.join("bad.jsonl"),
        choices(2) + "{\"question\": \"x\", \"candidates\": [{\"text\": 1}]}\n",
    )
    .unwrap();
    fs::write(place.join("empty.jsonl"), "").unwrap();
    let known = choices(2).replace("true", "false");
    fs::write(place.join("wrong.jsonl"), known).unwrap();
    for (change, says) in [
        ("--choices bad.jsonl", "bad.jsonl:3: "),
        ("--choices empty.jsonl", "empty.jsonl has no questions"),
        ("--choices none.jsonl", "none.jsonl"),
        ("--choices wrong.jsonl", "both right and wrong candidates"),
    ] {
        let args = TRAIN.replace("--choices choices.jsonl", change);
        let output = run(place, "1", &format!("{args} --out r"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{change}: {said}");
        assert!(said.contains(says), "{change}: {said}");
    }
    for (more, says) in [
        ("--epochs 0", "--epochs is 0"),
        ("--max-tokens 4", "no room for two texts"),
        ("--scratch 2x30x4", "2x30x4"),
    ] {
        let args = format!("{TRAIN} --out r {more}");
        let args = match more.split_once(' ') {
            Some(("--scratch", size)) => format!("{TRAIN} --out r").replace("2x32x4", size),
            Some(("--max-tokens", _)) => args.replace("--max-tokens 16 ", ""),
            _ => args,
        };
        let output = run(place, "1", &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more}: {said}");
        assert!(said.contains(says), "{more}: {said}");
    }
    assert!(!place.join("r").exists());
}

/// Films and cities of a small graph, and questions about them.
const GRAPH: &str = r#"
@prefix : <http://reel.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:film rdfs:label "film" . :city rdfs:label "city" .
:a a :film ; rdfs:label "Tall Grass" ; :city :b ; :book :c .
:b a :city ; rdfs:label "Orvane" ; :film :a .
:c rdfs:label "The Long Meadow" .
"#;
const QUESTIONS: &str = r#"{"id":"q0","question":"which city is Tall Grass from","topic":{"http://reel.example/a":"Tall Grass"},"sparql":"SELECT ?x { <http://reel.example/a> <http://reel.example/city> ?x }"}
{"id":"q1","question":"what book is Tall Grass after","topic":{"http://reel.example/a":"Tall Grass"},"sparql":"SELECT ?x { <http://reel.example/a> <http://reel.example/book> ?x }"}
{"id":"q2","question":"what film of Orvane is there","topic":{"http://reel.example/b":"Orvane"},"sparql":"SELECT ?x { <http://reel.example/b> <http://reel.example/film> ?x }"}
"#;

#[test]
fn choices_are_made_with_and_without_a_graph_and_a_ranker_of_them_decides() {
    let dir = place();
    let place = dir.path();
    fs::write(place.join("g.ttl"), GRAPH).unwrap();
    fs::write(place.join("q.jsonl"), QUESTIONS).unwrap();
    done(place, "1", "kg load --kg g g.ttl");
    for (graph, out) in [("--kg g ", "with.jsonl"), ("", "without.jsonl")] {
        let args = format!("datagen choices {graph}--source jsonl=q.jsonl --out {out}");
        let made = done(place, "2", &args);
        assert_eq!((&made["read"], &made["questions"]), (&json!(3), &json!(3)));
        assert_eq!(made["proposed_right"], 3, "{out}: {made}");
        let first = fs::read_to_string(place.join(out)).unwrap();
        for line in first.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let candidates = line["candidates"].as_array().unwrap();
            let mut texts = candidates.iter().map(|one| one["text"].as_str().unwrap());
            let names = ["Tall Grass", "Orvane"];
            assert!(
                texts.any(|text| names.iter().any(|name| text.contains(name))),
                "{line}"
            );
            assert!(candidates.iter().any(|one| one["right"] == false));
        }
        done(place, "1", &args);
        assert_eq!(first, fs::read_to_string(place.join(out)).unwrap());
    }
    let train = TRAIN.replace("choices.jsonl", "with.jsonl --choices without.jsonl");
    let train = train.replace("--max-tokens 16", "--max-tokens 64");
    for small in ["", " --small"] {
        let out = format!("r{}", small.trim());
        done(
            place,
            "2",
            &format!("{train} --epochs 4{small} --out {out}"),
        );
        let args = format!(
            "eval --kg g --agent words --ranker {out} --entities linked --source jsonl=q.jsonl --out e{out}"
        );
        let evaluated = done(place, "2", &args);
        let scorer = evaluated["setting"]["scorer"].as_str().unwrap();
        assert!(scorer.starts_with("scorer-"), "{scorer}");
        let lines = fs::read_to_string(place.join(format!("e{out}/predictions.jsonl"))).unwrap();
        let scored = lines.lines().flat_map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["decided"].as_array().unwrap().clone()
        });
        // The scorer's term is the last one.
        let scored = scored.filter(|one| one["terms"].as_array().unwrap().last().unwrap() != 0.0);
        assert!(scored.count() > 3);
    }
    let size =
        |folder: &str, file: &str| fs::metadata(place.join(folder).join(file)).unwrap().len();
    assert!(3 * size("r--small", "model.q8.safetensors") < 2 * size("r", "model.safetensors"));
    // A folder without its weights is named.
    fs::remove_file(place.join("r/model.safetensors")).unwrap();
    let output = run(place, "1", "ask --kg g --ranker r where");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("cannot open the ranker r"),
        "{said}"
    );
}
