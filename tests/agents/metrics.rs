//! Scores compared with hand-computed cases and with reimplementations of the published scorers
//! (`benches/peers/scorers.py`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toolbox::metrics::{Answers, Metrics, SCORES, Scored, Scores, difference, intervals, score};

/// A case of `benches/peers/scorers.json`.
#[derive(Deserialize)]
struct Case {
    name: String,
    predicted: Vec<String>,
    gold: Vec<String>,
    #[serde(default)]
    aliases: BTreeMap<String, String>,
    want: BTreeMap<String, f64>,
}

/// Compares the scores of all cases; returns the number of comparisons.
fn compare(cases: &[Case]) -> usize {
    let mut compared = 0;
    for case in cases {
        let gold = Answers {
            aliases: case.aliases.clone(),
            ..Answers::of_labels(case.gold.clone())
        };
        let got = score(&Answers::of_labels(case.predicted.clone()), &gold);
        for (name, want) in &case.want {
            let index = SCORES
                .iter()
                .position(|score| score == name)
                .unwrap_or_else(|| panic!("{}: there is no score {name}", case.name));
            let got = got.values()[index];
            assert!(
                (got - want).abs() < 1e-9,
                "{} {:?} for {:?}: {name} is {got}, not {want}",
                case.name,
                case.predicted,
                case.gold
            );
            compared += 1;
        }
    }
    compared
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn scores_equal_those_computed_by_hand() {
    let cases: Vec<Case> = serde_json::from_str(&read("benches/peers/scorers.json")).unwrap();
    let compared = compare(&cases);
    assert!(compared > 120, "only {compared} scores compared");
    let every: std::collections::BTreeSet<&String> =
        cases.iter().flat_map(|case| case.want.keys()).collect();
    assert!(every.len() > 17, "only {every:?} are covered");
}

/// Rules A.6, B.6 and C.7: the published scorers.
#[test]
fn scores_equal_those_of_the_published_scorers() {
    let cases: Vec<Case> = read("benches/peers/scorers.random.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let compared = compare(&cases);
    assert!(
        cases.len() >= 300 && compared > 5000,
        "only {compared} scores of {} cases compared",
        cases.len()
    );
}

#[test]
fn the_sampled_hit_is_near_its_expectation_and_the_same_every_time() {
    let texts = |range: std::ops::Range<usize>| {
        Answers::of_labels(range.map(|i| format!("answer {i}")).collect())
    };
    let (mut sum, mut count) = (0.0, 0.0);
    for wrong in 0..60 {
        let (predicted, gold) = (texts(5..10 + wrong), texts(0..10));
        let scores = score(&predicted, &gold);
        assert_eq!(scores, score(&predicted, &gold));
        assert!(
            (scores.hits_at_1 - scores.hits_at_1_sampled).abs() < 0.25,
            "{scores:?}"
        );
        (sum, count) = (
            sum + scores.hits_at_1 - scores.hits_at_1_sampled,
            count + 1.0,
        );
    }
    assert!(f64::abs(sum / count) < 0.02, "biased by {}", sum / count);
}

fn one(exact: f64, hops: &str) -> Scored {
    Scored {
        scores: Scores {
            exact,
            ..Scores::default()
        },
        answered: exact > 0.0,
        calls: 2,
        tokens: 3,
        seconds: 0.5,
        program: (hops == "2").then_some(exact > 0.0),
        groups: vec![("hops".to_owned(), hops.to_owned())],
        ..Scored::default()
    }
}

#[test]
fn means_by_group() {
    let metrics = Metrics::of(&[one(1.0, "1"), one(0.0, "2"), one(1.0, "2")]);
    assert_eq!(
        (
            metrics.n,
            metrics.answered,
            metrics.abstained,
            metrics.calls
        ),
        (3, 2, 1, 6)
    );
    assert_eq!(metrics.by["hops"]["2"].scores.exact, 0.5);
    assert_eq!(
        (metrics.program, metrics.by["hops"]["1"].program),
        (Some(0.5), None)
    );
    let json = serde_json::to_value(&metrics).unwrap();
    assert_eq!(serde_json::from_value::<Metrics>(json).unwrap(), metrics);
}

#[test]
fn stages_failures_and_model_answers_are_counted() {
    let stage = |kept| vec![("entities found".to_owned(), kept, 2)];
    let made_up = Scored {
        from_model: true,
        kept: stage(2),
        failure: None,
        phases: vec![("link".to_owned(), 0.5)],
        ..one(1.0, "1")
    };
    let failed = Scored {
        kept: stage(1),
        failure: Some("no query".to_owned()),
        phases: vec![("link".to_owned(), 1.0)],
        ..one(0.0, "1")
    };
    let metrics = Metrics::of(&[made_up, failed]);
    assert_eq!(metrics.linking_recall["entities found"], 0.75);
    assert_eq!(
        (metrics.failures["no query"], metrics.phases["link"]),
        (1, 1.5)
    );
    assert_eq!(
        (metrics.scores.exact, metrics.kg_only.unwrap().exact),
        (0.5, 0.0)
    );
}

#[test]
fn intervals_contain_the_mean_narrow_with_n_and_are_reproducible() {
    let sample = |n: usize| {
        (0..n)
            .map(|i| Scores {
                f1: f64::from(u8::from(i % 4 == 0)),
                exact: 1.0,
                ..Scores::default()
            })
            .collect::<Vec<_>>()
    };
    let width = |n: usize| {
        let [low, high] = intervals(&sample(n), 1).get("f1").unwrap();
        assert!(low <= 0.25 && 0.25 <= high, "{low} {high}");
        high - low
    };
    // A normal interval of a share of 1/4 over 400 questions is 0.085 wide.
    assert!((width(400) - 0.085).abs() < 0.02, "{}", width(400));
    assert!(width(40) > 2.0 * width(400));
    assert_eq!(intervals(&sample(40), 1), intervals(&sample(40), 1));
    assert_eq!(intervals(&sample(40), 1).get("exact"), Some([1.0, 1.0]));
    // The interval of a difference on few questions is narrower than the intervals of the two
    // systems.
    let a: Vec<f64> = (0..200).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
    let b: Vec<f64> = (0..200)
        .map(|i| f64::from(u8::from(i % 2 == 0 && i % 10 != 0)))
        .collect();
    let [low, high] = difference(&a, &b, 1);
    assert!(low > 0.0 && high < 0.2, "{low} {high}");
}
