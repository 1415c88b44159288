//! Selection among verified questions: near-duplicates, mixtures, splits and leaks; and resumed
//! runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use datagen::Error;
use datagen::example::Example;
use datagen::pipeline::{GenerateOptions, GoldDataset, generate};
use datagen::question::{GoldQuery, GoldQuestion, Topic};
use datagen::read::{QuestionSource, ReadOptions};
use datagen::select::{Dedup, LeakLevel, MixOptions, SelectOptions, SplitKind, Unit};
use datagen::write_dataset;
use kg::FrozenKg;
use kg::term::{Literal, RDFS_LABEL, Term};
use toolbox::agent::Agent;
use toolbox::exec::ExcludeWhen;
use toolbox::prompt::{Layout, Template};

const THINGS: usize = 30;
const RELATIONS: usize = 8;

/// Things with eight relations to other things; questions use one or two of them in a row.
fn graph() -> FrozenKg {
    let iri = |name: String| Term::Iri(format!("http://e/{name}"));
    let mut triples = Vec::new();
    for i in 0..THINGS {
        let thing = iri(format!("thing{i}"));
        triples.push([
            thing.clone(),
            Term::Iri(RDFS_LABEL.to_owned()),
            Term::Literal(Literal::plain(format!("Thing {i}"))),
        ]);
        for r in 0..RELATIONS {
            triples.push([
                thing.clone(),
                iri(format!("thing.rel{r}")),
                iri(format!("thing{}", (i + r + 1) % THINGS)),
            ]);
        }
    }
    FrozenKg::from_triples(triples)
}

fn question(
    source: &str,
    id: String,
    wording: String,
    topic: usize,
    pattern: &str,
) -> GoldQuestion {
    GoldQuestion {
        id,
        source: source.to_owned(),
        question: wording,
        query: GoldQuery::Text(format!(
            "PREFIX : <http://e/> SELECT ?x {{ {} }}",
            pattern.replace("TOPIC", &format!("thing{topic}"))
        )),
        topics: vec![Topic {
            name: format!("thing{topic}"),
            label: format!("Thing {topic}"),
        }],
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Others,
    }
}

/// One-hop questions (`a`), two-hop questions (`b`) and near-duplicates of them (`c`).
fn questions() -> Vec<GoldQuestion> {
    let mut all = Vec::new();
    for i in 0..THINGS {
        for r in 0..RELATIONS {
            let wording = format!("What does Thing {i} have along the line number {r}?");
            all.push(question(
                "a",
                format!("a{i}-{r}"),
                wording,
                i,
                &format!(":TOPIC :thing.rel{r} ?x"),
            ));
        }
        let (r, q) = (i % RELATIONS, (i + 3) % RELATIONS);
        let wording = format!("What does that which Thing {i} has along {r} have along {q}?");
        all.push(question(
            "b",
            format!("b{i}"),
            wording,
            i,
            &format!(":TOPIC :thing.rel{r} ?y . ?y :thing.rel{q} ?x"),
        ));
    }
    for i in 0..5 {
        // Differs from a question of `a` only in case and punctuation.
        let wording = format!("what does thing {i} have along the line number 0");
        all.push(question(
            "c",
            format!("c{i}"),
            wording,
            i,
            ":TOPIC :thing.rel0 ?x",
        ));
        let wording = format!("Then what does Thing {i} have along the line number {i} today?");
        all.push(question(
            "c",
            format!("d{i}"),
            wording,
            i,
            &format!(":TOPIC :thing.rel{i} ?x"),
        ));
    }
    all
}

fn options(select: SelectOptions) -> GenerateOptions {
    GenerateOptions {
        abstain: 0.0,
        valid: 0.2,
        seed: 3,
        select,
        ..GenerateOptions::default()
    }
}

fn run(options: &GenerateOptions) -> Result<GoldDataset, Error> {
    generate(
        &questions(),
        &graph(),
        options,
        &|_, _| {},
        &AtomicBool::new(false),
    )
}

fn relations(example: &Example) -> BTreeSet<String> {
    let walked = example
        .program
        .iter()
        .filter(|call| call.contains("_entity("));
    walked
        .map(|call| {
            call.split(", ")
                .nth(1)
                .unwrap()
                .trim_end_matches(')')
                .to_owned()
        })
        .collect()
}

#[test]
fn duplicates_are_removed_and_counted() {
    let kept = |dedup: Dedup| {
        let made = run(&options(SelectOptions {
            dedup,
            ..SelectOptions::default()
        }))
        .unwrap();
        let total = &made.report.total;
        assert_eq!(total.verified, questions().len());
        assert_eq!(total.duplicates, made.report.selection.duplicates);
        assert_eq!(
            made.train.len() + made.valid.len(),
            total.verified - total.duplicates
        );
        made.train
            .iter()
            .chain(&made.valid)
            .map(|example| example.id.clone())
            .collect::<BTreeSet<_>>()
    };
    let all = questions().len();
    assert_eq!(kept(Dedup::Off).len(), all);
    let exact = kept(Dedup::Exact);
    assert_eq!(
        exact.len(),
        all - 5,
        "five are exact duplicates, and the first of each pair is kept"
    );
    assert!(exact.contains("a0-0") && !exact.contains("c0") && exact.contains("d0"));
    // One question per masked wording and program: per relation in `a`, per pair of relations in
    // `b`.
    let masked = kept(Dedup::Masked);
    let pairs: BTreeSet<_> = (0..THINGS)
        .map(|i| (i % RELATIONS, (i + 3) % RELATIONS))
        .collect();
    assert_eq!(masked.len(), RELATIONS + pairs.len() + 5);
    let near = kept(Dedup::Near(0.6));
    assert_eq!(
        near.len(),
        RELATIONS + pairs.len(),
        "two additional words do not make a new question"
    );
    assert_eq!(kept(Dedup::Near(0.99)).len(), masked.len());
}

#[test]
fn mixtures_meet_their_ratio_in_questions_and_in_steps() {
    let mixing = |unit, count| MixOptions {
        mix: Some("a=4,b=1,c=0".parse().unwrap()),
        count,
        unit,
    };
    let made = run(&options(SelectOptions {
        mixing: mixing(Unit::Question, Some(50)),
        ..SelectOptions::default()
    }))
    .unwrap();
    let selection = &made.report.selection;
    let questions_of: BTreeMap<&str, usize> = selection
        .drawn
        .iter()
        .map(|(source, amount)| (source.as_str(), amount.questions))
        .collect();
    assert_eq!(questions_of, BTreeMap::from([("a", 40), ("b", 10)]));
    assert_eq!(selection.train.questions + selection.valid.questions, 50);
    assert_eq!(made.report.total.examples, 50);
    assert_eq!(selection.not_drawn, questions().len() - 50);

    // A question of `a` has three calls, one of `b` five.
    let made = run(&options(SelectOptions {
        mixing: mixing(Unit::Step, Some(300)),
        ..SelectOptions::default()
    }))
    .unwrap();
    let drawn = &made.report.selection.drawn;
    assert_eq!((drawn["a"].steps, drawn["a"].questions), (240, 80));
    assert_eq!((drawn["b"].steps, drawn["b"].questions), (60, 12));
    assert_eq!(made.report.total.steps, 300);

    // Without a count, as many as the smallest source allows.
    let made = run(&options(SelectOptions {
        mixing: mixing(Unit::Question, None),
        ..SelectOptions::default()
    }))
    .unwrap();
    assert_eq!(made.report.selection.drawn["b"].questions, THINGS);
    assert_eq!(
        made.report.selection.drawn["a"].questions,
        4 * THINGS + 2,
        "as close to 4:1 as rounding allows"
    );

    let many = run(&options(SelectOptions {
        mixing: mixing(Unit::Question, Some(10_000)),
        ..SelectOptions::default()
    }))
    .unwrap_err();
    assert!(
        many.to_string().contains("--count can be at most 15"),
        "{many}"
    );
    let unnamed = MixOptions {
        mix: Some("a=1".parse().unwrap()),
        ..MixOptions::default()
    };
    let unnamed = run(&options(SelectOptions {
        mixing: unnamed,
        ..SelectOptions::default()
    }))
    .unwrap_err();
    assert!(unnamed.to_string().contains("b=0"), "{unnamed}");
}

#[test]
fn splits_hold_out_the_right_questions() {
    let split = |split| {
        run(&options(SelectOptions {
            split,
            ..SelectOptions::default()
        }))
        .unwrap()
    };
    for kind in [
        SplitKind::Iid,
        SplitKind::Compositional,
        SplitKind::ZeroShot,
    ] {
        let made = split(kind);
        let share = made.valid.len() as f64 / (made.train.len() + made.valid.len()) as f64;
        assert!((0.05..=0.25).contains(&share), "{kind:?} holds out {share}");
        let again = split(kind);
        assert_eq!((made.train, made.valid), (again.train, again.valid));
    }

    let made = split(SplitKind::Compositional);
    let combinations: BTreeSet<_> = made.train.iter().map(relations).collect();
    let trained: BTreeSet<String> = combinations.iter().flatten().cloned().collect();
    assert!(
        made.valid
            .iter()
            .all(|example| !combinations.contains(&relations(example)))
    );
    assert!(
        made.valid
            .iter()
            .all(|example| relations(example).is_subset(&trained))
    );
    assert!(!made.report.selection.unseen.is_empty());

    let made = split(SplitKind::ZeroShot);
    let trained: BTreeSet<String> = made.train.iter().flat_map(relations).collect();
    assert!(
        made.valid
            .iter()
            .all(|example| !relations(example).is_subset(&trained))
    );
    let unseen: BTreeSet<String> = made.report.selection.unseen.iter().cloned().collect();
    assert!(!unseen.is_empty() && unseen.is_disjoint(&trained));

    let no_share = GenerateOptions {
        valid: 0.0,
        ..options(SelectOptions {
            split: SplitKind::ZeroShot,
            ..SelectOptions::default()
        })
    };
    let error = run(&no_share).unwrap_err().to_string();
    assert!(error.contains("--valid"), "{error}");
}

#[test]
fn leaks_are_found_counted_and_refused() {
    let select = |strict| SelectOptions {
        strict,
        ..SelectOptions::default()
    };
    // Thing 29 is held out by its topic; the other held-out question has no topic, so that only its
    // program and wording reveal the leak.
    let mut held = vec![question(
        "h",
        "h0".to_owned(),
        "Where does Thing 29 lead?".to_owned(),
        29,
        ":TOPIC :thing.rel1 ?x",
    )];
    let mut leaking = questions()[0].clone();
    leaking.id = "h1".to_owned();
    leaking.topics.clear();
    held.push(leaking);
    let made = run(&GenerateOptions {
        hold_out: held.clone(),
        ..options(select(None))
    })
    .unwrap();
    let leak = made
        .report
        .selection
        .leakage
        .iter()
        .find(|leak| leak.second == "held-out" && leak.first == "train")
        .unwrap();
    assert_eq!(
        (leak.questions, leak.same_masked, leak.shared_topics),
        (2, 1, 1)
    );
    assert!(leak.ids == ["h1"], "{leak:?}");

    let exact = SelectOptions {
        dedup: Dedup::Exact,
        ..select(Some(LeakLevel::Question))
    };
    let strict = run(&GenerateOptions {
        hold_out: held,
        ..options(exact)
    })
    .unwrap_err();
    assert!(
        matches!(&strict, Error::Leakage(text) if text.contains("held-out") && text.contains("h1")),
        "{strict}"
    );
    // A random split of these questions shares masked questions; a zero-shot split does not.
    let masked = |split| {
        run(&options(SelectOptions {
            split,
            dedup: Dedup::Exact,
            strict: Some(LeakLevel::Masked),
            ..SelectOptions::default()
        }))
    };
    assert!(matches!(masked(SplitKind::Iid), Err(Error::Leakage(_))));
    let clean = masked(SplitKind::ZeroShot).unwrap();
    let leak = &clean.report.selection.leakage[0];
    assert_eq!((leak.same_question, leak.same_masked), (0, 0));
    assert!(leak.shared_topics > 0 && leak.questions == clean.report.selection.valid.questions);
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    [
        "train.jsonl",
        "valid.jsonl",
        "valid.questions.jsonl",
        "refused.jsonl",
    ]
    .map(|name| (name.to_owned(), std::fs::read(dir.join(name)).unwrap()))
    .into()
}

#[test]
fn a_resumed_run_writes_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (graph, questions) = (graph(), questions());
    let options = |layout| GenerateOptions {
        template: Template::new(layout),
        ..options(SelectOptions::default())
    };
    for layout in [Layout::Dialogue, Layout::Paper] {
        let options = options(layout);
        let write = |name: &str, stop_at: usize| {
            let stop = AtomicBool::new(false);
            let seen = AtomicUsize::new(0);
            let count = |_: usize, _: usize| {
                if seen.fetch_add(1, Ordering::Relaxed) + 1 >= stop_at {
                    stop.store(true, Ordering::Relaxed);
                }
            };
            write_dataset(
                &dir.path().join(name),
                &questions,
                &graph,
                &options,
                &serde_json::json!({}),
                &count,
                &stop,
            )
        };
        let (whole, parts) = (
            format!("whole-{}", layout.name()),
            format!("parts-{}", layout.name()),
        );
        write(&whole, usize::MAX).unwrap();
        let mut stops = 0;
        let report = loop {
            match write(&parts, 60) {
                Ok(report) => break report,
                Err(Error::Stopped { .. }) => stops += 1,
                Err(error) => panic!("{error}"),
            }
            // As if killed in the middle of a record.
            let journal = dir.path().join(format!("{parts}.partial/journal"));
            let bytes = std::fs::read(&journal).unwrap();
            std::fs::write(&journal, &bytes[..bytes.len() - 7]).unwrap();
        };
        assert!(
            stops >= 2 && report.resumed > 0,
            "{stops} stops, {} resumed",
            report.resumed
        );
        assert_eq!(
            files(&dir.path().join(&parts)),
            files(&dir.path().join(&whole))
        );
        assert_eq!(
            report.total.examples,
            std::fs::read_to_string(dir.path().join(&parts).join("train.jsonl"))
                .unwrap()
                .lines()
                .count()
                + std::fs::read_to_string(dir.path().join(&parts).join("valid.jsonl"))
                    .unwrap()
                    .lines()
                    .count()
        );
        assert!(!dir.path().join(format!("{parts}.partial")).exists());
    }
}

#[test]
fn a_journal_of_other_agents_is_not_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let (graph, questions) = (graph(), questions());
    let write = |name: &str, agents: &[Agent], stop_at: usize| {
        let options = GenerateOptions {
            agents: agents.to_vec(),
            ..options(SelectOptions::default())
        };
        let stop = AtomicBool::new(false);
        let count = |done: usize, _: usize| stop.store(done >= stop_at, Ordering::Relaxed);
        write_dataset(
            &dir.path().join(name),
            &questions,
            &graph,
            &options,
            &serde_json::json!({}),
            &count,
            &stop,
        )
    };
    let (one, both) = ([Agent::KgAgent], [Agent::KgAgent, Agent::Oda]);
    write("whole", &both, usize::MAX).unwrap();
    assert!(matches!(
        write("parts", &one, 60),
        Err(Error::Stopped { .. })
    ));
    assert_eq!(write("parts", &both, usize::MAX).unwrap().resumed, 0);
    assert_eq!(
        files(&dir.path().join("parts")),
        files(&dir.path().join("whole"))
    );
}

#[test]
fn validation_questions_read_back_as_a_source() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("data");
    let (graph, mut questions) = (graph(), questions());
    questions[1].exclude = ExcludeWhen::EveryStep;
    let options = GenerateOptions {
        valid: 0.5,
        ..options(SelectOptions::default())
    };
    write_dataset(
        &out,
        &questions,
        &graph,
        &options,
        &serde_json::json!({}),
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap();
    let source: QuestionSource = format!("jsonl={}", out.join("valid.questions.jsonl").display())
        .parse()
        .unwrap();
    let read = source.read(Some(&graph), &ReadOptions::default()).unwrap();
    let valid: Vec<Example> = std::fs::read_to_string(out.join("valid.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        read.iter().map(|question| &question.id).collect::<Vec<_>>(),
        valid.iter().map(|example| &example.id).collect::<Vec<_>>()
    );
    assert!(!read.is_empty());
    for question in &read {
        let original = questions
            .iter()
            .find(|original| original.id == question.id)
            .unwrap();
        assert_eq!(
            (&question.topics, question.exclude),
            (&original.topics, original.exclude)
        );
    }
}
