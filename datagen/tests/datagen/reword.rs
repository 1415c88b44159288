//! Tests rewording with fixed replies in place of a model: which wordings are kept, why the others are
//! dropped, and that replies are cached.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use datagen::question::GoldQuestion;
use datagen::read::{QuestionSource, ReadOptions};
use datagen::reword::{RewordCounts, RewordOptions, Reworder, original, reworded};
use datagen::verify::VerifyOptions;
use kg::{FrozenKg, LoadOptions};

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data")
        .join(name)
}

fn demo() -> FrozenKg {
    let files = [data("graph.ttl"), data("ontology.ttl")];
    FrozenKg::load(&files, &LoadOptions::default(), &|_| {}).unwrap()
}

fn questions(kg: &FrozenKg, most: usize) -> Vec<GoldQuestion> {
    let path = data("questions.train.jsonl");
    let source: QuestionSource = format!("jsonl={}", path.display()).parse().unwrap();
    let mut all = source.read(Some(kg), &ReadOptions::default()).unwrap();
    all.truncate(most);
    all
}

type Pick = fn(&str, &[String]) -> Option<usize>;

/// A reworder by a function; it counts its calls.
struct Writes<F> {
    write: F,
    /// The program that it picks; without it nothing is checked.
    pick: Option<Pick>,
    program: &'static str,
    calls: AtomicUsize,
}

fn options(check: bool) -> RewordOptions {
    RewordOptions {
        wanted: 2,
        concurrency: 3,
        check,
        verify: VerifyOptions::default(),
    }
}

impl<F: Fn(&str, &[String]) -> Result<Vec<String>, String> + Sync> Reworder for Writes<F> {
    fn fingerprint(&self) -> String {
        "a test".to_owned()
    }
    fn program(&self) -> String {
        self.program.to_owned()
    }
    fn reword(&self, question: &str, keep: &[String], _: usize) -> Result<String, String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok((self.write)(question, keep)?.join("\n"))
    }
    fn wordings(&self, reply: &str, _: usize) -> Vec<String> {
        reply.split('\n').map(str::to_owned).collect()
    }
    fn pick(&self, question: &str, programs: &[String]) -> Result<String, String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let picked = self.pick.and_then(|pick| pick(question, programs));
        Ok(picked.map_or("none".to_owned(), |picked| picked.to_string()))
    }
    fn picked(&self, reply: &str, _: usize) -> Option<usize> {
        reply.parse().ok()
    }
}

fn with(
    kg: &FrozenKg,
    questions: &[GoldQuestion],
    cache: &Path,
    write: impl Fn(&str, &[String]) -> Result<Vec<String>, String> + Sync,
) -> Result<(Vec<GoldQuestion>, RewordCounts, usize), datagen::Error> {
    checked(kg, questions, cache, write, None)
}

fn checked(
    kg: &FrozenKg,
    questions: &[GoldQuestion],
    cache: &Path,
    write: impl Fn(&str, &[String]) -> Result<Vec<String>, String> + Sync,
    pick: Option<Pick>,
) -> Result<(Vec<GoldQuestion>, RewordCounts, usize), datagen::Error> {
    let reworder = Writes {
        write,
        pick,
        program: "build",
        calls: AtomicUsize::new(0),
    };
    let options = options(pick.is_some());
    let stop = AtomicBool::new(false);
    let (all, counts) = reworded(kg, questions, &reworder, &options, cache, &|_, _| {}, &stop)?;
    Ok((all, counts, reworder.calls.into_inner()))
}

#[test]
fn a_wording_that_keeps_its_names_becomes_a_question_behind_its_original() {
    let kg = demo();
    let asked = questions(&kg, 60);
    let dir = tempfile::tempdir().unwrap();
    let run = || {
        with(&kg, &asked, &dir.path().join("cache"), |question, keep| {
            assert!(
                keep.iter().all(|text| question.contains(text.as_str())),
                "{question} {keep:?}"
            );
            Ok(vec![
                format!("please say: {question}"),
                format!("Please say {question}"),
            ])
        })
        .unwrap()
    };
    let (all, counts, calls) = run();
    assert!(
        counts.kept * 10 >= counts.questions * 9 && counts.questions > 40,
        "{counts:?}"
    );
    // The second wording differs by marks and case only.
    assert!(counts.duplicates >= counts.kept, "{counts:?}");
    assert_eq!(all.len(), asked.len() + counts.kept);
    for pair in all.windows(2) {
        if pair[1].id != original(&pair[1].id) {
            assert_eq!(original(&pair[1].id), pair[0].id);
            assert_eq!(pair[1].query, pair[0].query);
            assert_eq!(
                pair[1].question,
                format!("please say: {}", pair[0].question)
            );
        }
    }
    assert_eq!((calls, counts.cached), (counts.questions, 0));
    let (again, known, calls) = run();
    assert_eq!((again, calls, known.cached), (all, 0, counts.questions));
}

/// A server's replies are those of the server, whichever build asked; a model that this program
/// computes may reply otherwise in another build.
#[test]
fn replies_that_a_build_computed_are_refused_by_another() {
    let kg = demo();
    let asked = questions(&kg, 5);
    let dir = tempfile::tempdir().unwrap();
    let run = |cache: &str, program: &'static str| {
        let reworder = Writes {
            write: |question: &str, _: &[String]| Ok(vec![format!("please say: {question}")]),
            program,
            pick: None,
            calls: AtomicUsize::new(0),
        };
        let (stop, cache) = (AtomicBool::new(false), dir.path().join(cache));
        let options = options(false);
        let made = reworded(&kg, &asked, &reworder, &options, &cache, &|_, _| {}, &stop);
        made.map(|_| reworder.calls.into_inner())
    };
    assert!(run("computed", "build1").unwrap() > 0);
    let error = run("computed", "build2").unwrap_err().to_string();
    assert!(error.contains("another build of kgagent"), "{error}");
    assert_eq!(run("computed", "build1").unwrap(), 0);
}

#[test]
fn lost_names_other_names_and_lost_values_are_dropped() {
    let kg = demo();
    let asked = questions(&kg, 80);
    let dir = tempfile::tempdir().unwrap();
    let cache = |name: &str| dir.path().join(name);
    let (_, forgotten, _) = with(&kg, &asked, &cache("a"), |question, keep| {
        let text = keep.iter().fold(question.to_owned(), |text, name| {
            text.replace(name.as_str(), "it")
        });
        Ok(vec![text])
    })
    .unwrap();
    // Only questions without any name or value can lose none.
    assert!(forgotten.kept * 10 <= forgotten.questions, "{forgotten:?}");
    assert!(forgotten.entities > 30, "{forgotten:?}");
    let (_, other, _) = with(&kg, &asked, &cache("b"), |question, _| {
        Ok(vec![format!("{question} and Haruki Murakami")])
    })
    .unwrap();
    assert!(other.kept <= 2 && other.entities > 40, "{other:?}");
    let years = |text: &str| {
        text.chars()
            .map(|c| if c.is_ascii_digit() { 'x' } else { c })
            .collect::<String>()
    };
    let with_years: Vec<GoldQuestion> = questions(&kg, usize::MAX)
        .into_iter()
        .filter(|one| one.question.contains("19"))
        .take(30)
        .collect();
    let (_, values, _) = with(&kg, &with_years, &cache("c"), |question, _| {
        Ok(vec![years(question)])
    })
    .unwrap();
    assert!(
        values.questions > 5 && values.values + values.entities >= values.questions - 1,
        "{values:?}"
    );
}

#[test]
fn a_model_that_fails_now_and_then_costs_its_question_and_one_that_always_fails_the_run() {
    let kg = demo();
    let asked = questions(&kg, 40);
    let dir = tempfile::tempdir().unwrap();
    let odd = AtomicUsize::new(0);
    let (_, counts, _) = with(&kg, &asked, &dir.path().join("a"), |question, _| {
        if odd.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            return Err("busy".to_owned());
        }
        Ok(vec![
            format!("please say: {question}"),
            String::new(),
            "x".repeat(1000),
        ])
    })
    .unwrap();
    assert!(counts.failed > 5 && counts.kept > 5, "{counts:?}");
    assert_eq!(counts.unusable, 2 * counts.questions);
    let error = with(&kg, &asked, &dir.path().join("b"), |_, _| {
        Err("no route".to_owned())
    })
    .unwrap_err();
    assert!(error.to_string().contains("no route"), "{error}");
}

/// The programs differ in one relation each, one of them is the gold program, and its place says
/// nothing. Only wordings for which it is picked are kept; a second run asks nothing.
#[test]
fn a_wording_is_kept_only_if_its_program_is_picked() {
    let kg = demo();
    let asked = questions(&kg, 60);
    let dir = tempfile::tempdir().unwrap();
    let please = |question: &str, _: &[String]| Ok(vec![format!("please say: {question}")]);
    let run = |name: &str, pick: Option<Pick>| {
        checked(&kg, &asked, &dir.path().join(name), please, pick).unwrap()
    };
    let (_, free, _) = run("free", None);
    assert_eq!((free.checked, free.unchecked), (0, 0));
    // The same wordings, then the choices on top: nothing is written again.
    let first: Pick = |_, programs| {
        let lines: Vec<Vec<&str>> = programs.iter().map(|one| one.lines().collect()).collect();
        assert!((2..=4).contains(&lines.len()), "{programs:?}");
        for other in &lines[1..] {
            let differ = lines[0].iter().zip(other).filter(|(a, b)| a != b).count();
            assert!((1..=2).contains(&differ), "{programs:?}");
        }
        Some(0)
    };
    let (all, counts, calls) = run("free", Some(first));
    assert_eq!((counts.cached, calls), (free.questions, counts.checked));
    assert_eq!(counts.kept + counts.meaning, free.kept);
    assert_eq!(all.len(), asked.len() + counts.kept);
    // The first is right about once in the number of programs.
    let right = counts.checked - counts.meaning;
    assert!(counts.checked > 30 && right > 4, "{counts:?}");
    assert!(right * 4 < counts.checked * 3, "{counts:?}");
    assert!(counts.sentence().contains("had to pick"));
    assert_eq!(run("free", Some(first)), (all, counts, 0));
    // Who says of none that it fits keeps only what could not be checked.
    let (_, none, _) = run("none", Some(|_, _| None));
    assert_eq!((none.kept, none.meaning), (none.unchecked, none.checked));
}
