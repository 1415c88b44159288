//! Fits the weights of a decision (`toolbox::explain`) on questions whose right candidates are
//! known: a log-linear model whose probability of the right answers is maximised.

use std::path::Path;

use serde::Deserialize;
use toolbox::explain::{TERM_NAMES, TermWeights, Terms};

use crate::Error;
use crate::read::lines_of;

/// A candidate and whether its answer is the gold answer.
#[derive(Clone, Debug, Deserialize)]
pub struct JudgedCandidate {
    /// Whether it is right.
    pub right: bool,
    /// Its terms.
    pub terms: Terms,
}

/// The candidates of one question.
pub type Case = Vec<JudgedCandidate>;

/// Reads the cases of a `predictions.jsonl` of `eval`. Questions without candidates are left out.
///
/// # Errors
/// [`Error`] names the file and the line.
pub fn read(path: &Path) -> Result<Vec<Case>, Error> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default)]
        decided: Case,
    }
    let mut cases = Vec::new();
    lines_of(path, &mut |number, line| {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| Error::line(path, number, format!("not a prediction: {error}")))?;
        if !line.decided.is_empty() {
            cases.push(line.decided);
        }
        Ok(())
    })?;
    Ok(cases)
}

/// How often the best candidate is right, and how often any is.
#[must_use]
pub fn measure(cases: &[Case], weights: &TermWeights) -> (usize, usize) {
    let chosen = |case: &Case| {
        let score = |one: &JudgedCandidate| weights.score(&one.terms);
        let best = case.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
        best.is_some_and(|best| best.right)
    };
    (
        cases.iter().filter(|case| chosen(case)).count(),
        cases
            .iter()
            .filter(|case| case.iter().any(|one| one.right))
            .count(),
    )
}

/// Steps of gradient ascent.
const STEPS: usize = 3_000;
/// The size of a step.
const RATE: f64 = 0.02;

/// Fits weights to the cases of several sets, which count equally. `pull` is the strength with
/// which weights are held near `start` (a Gaussian prior). A term that speaks against a candidate
/// by its definition (*unused*, *missing*, *not asked for*) never gets a positive weight.
#[must_use]
pub fn fit(sets: &[Vec<Case>], start: &TermWeights, pull: f64) -> TermWeights {
    let origin = start.0.map(f64::from);
    let mut weights = origin;
    let (mut first, mut second) = (origin.map(|_| 0.0), origin.map(|_| 0.0));
    for step in 1..=STEPS {
        let mut gradient = origin.map(|_| 0.0);
        for set in sets {
            let share = 1.0 / set.len().max(1) as f64;
            for case in set {
                add_gradient(case, &weights, share, &mut gradient);
            }
        }
        for i in 0..weights.len() {
            let slope = gradient[i] - pull * (weights[i] - origin[i]);
            first[i] = 0.9 * first[i] + 0.1 * slope;
            second[i] = 0.999 * second[i] + 0.001 * slope * slope;
            let (a, b) = (
                first[i] / (1.0 - 0.9_f64.powi(step as i32)),
                second[i] / (1.0 - 0.999_f64.powi(step as i32)),
            );
            weights[i] += RATE * a / (b.sqrt() + 1e-8);
            if speaks_against(TERM_NAMES[i]) {
                weights[i] = weights[i].min(0.0);
            }
        }
    }
    TermWeights(weights.map(|weight| weight as f32))
}

/// Whether a term counts what a candidate lacks, or what it has although the question does not ask
/// for it.
fn speaks_against(name: &str) -> bool {
    ["unused", "missing", "not asked for", "unexplained"]
        .iter()
        .any(|kind| name.contains(kind))
}

/// Adds the gradient of the log-probability of the right candidates of one case.
fn add_gradient<const N: usize>(
    case: &Case,
    weights: &[f64; N],
    share: f64,
    gradient: &mut [f64; N],
) {
    if !case.iter().any(|one| one.right) {
        return;
    }
    let dot = |terms: &Terms| -> f64 {
        weights
            .iter()
            .zip(terms.0)
            .map(|(a, b)| a * f64::from(b))
            .sum()
    };
    let scores: Vec<f64> = case.iter().map(|one| dot(&one.terms)).collect();
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let masses: Vec<f64> = scores.iter().map(|score| (score - best).exp()).collect();
    let all: f64 = masses.iter().sum();
    let right: f64 = (masses.iter().zip(case))
        .filter(|(_, one)| one.right)
        .map(|(mass, _)| mass)
        .sum();
    for (mass, one) in masses.iter().zip(case) {
        let wanted = if one.right {
            mass / right.max(f64::MIN_POSITIVE)
        } else {
            0.0
        };
        let push = share * (wanted - mass / all);
        for (slope, term) in gradient.iter_mut().zip(one.terms.0) {
            *slope += push * f64::from(term);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use toolbox::explain::TERMS;

    fn candidate(right: bool, terms: &[(usize, f32)]) -> JudgedCandidate {
        let mut all = [0.0; TERMS];
        for (index, value) in terms {
            all[*index] = *value;
        }
        JudgedCandidate {
            right,
            terms: Terms(all),
        }
    }

    /// Term 0 speaks for a candidate, term 2 against it, and term 3 is neutral.
    fn cases() -> Vec<Case> {
        (0..6_u8)
            .map(|i| {
                let noise = f32::from(i % 3);
                vec![
                    candidate(false, &[(0, 1.0), (2, 1.0), (3, noise)]),
                    candidate(true, &[(0, 2.0), (3, 1.0)]),
                    candidate(false, &[(2, 2.0), (3, 2.0 - noise)]),
                ]
            })
            .collect()
    }

    const ZERO: TermWeights = TermWeights([0.0; TERMS]);
    /// Prefers every wrong candidate of [`cases`].
    fn wrong() -> TermWeights {
        let mut weights = ZERO;
        (weights.0[0], weights.0[2]) = (-1.0, 1.0);
        weights
    }

    #[test]
    fn the_right_candidate_comes_first_after_fitting() {
        let cases = cases();
        assert_eq!(measure(&cases, &wrong()), (0, 6));
        let fitted = fit(std::slice::from_ref(&cases), &wrong(), 0.01);
        assert_eq!(measure(&cases, &fitted), (6, 6));
        assert!(fitted.0[0] > 0.0 && fitted.0[2] < 0.0, "{fitted:?}");
        // No case depends on the other terms.
        assert!(fitted.0[4..].iter().all(|weight| weight.abs() < 1e-6));
    }

    #[test]
    fn equal_cases_give_equal_bytes() {
        let fitted = || fit(&[cases(), cases()], &wrong(), 0.01);
        assert_eq!(fitted().0.map(f32::to_bits), fitted().0.map(f32::to_bits));
        assert_eq!(fitted().print(), fitted().print());
    }

    #[test]
    fn a_strong_pull_holds_the_weights() {
        let far = |pull| {
            let fitted = fit(&[cases()], &wrong(), pull);
            (fitted.0.iter().zip(wrong().0))
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max)
        };
        let (weak, strong) = (far(0.01), far(100.0));
        assert!(weak > 1.0 && strong < 0.1, "{weak} {strong}");
    }

    #[test]
    fn sets_count_equally_whatever_their_size() {
        // Ten questions want term 0, one wants the opposite; as sets of their own they balance.
        let (many, one): (Vec<Case>, Vec<Case>) = (
            vec![vec![candidate(true, &[(0, 1.0)]), candidate(false, &[])]; 10],
            vec![vec![candidate(false, &[(0, 1.0)]), candidate(true, &[])]],
        );
        let apart = fit(&[many.clone(), one.clone()], &ZERO, 0.01);
        assert!(apart.0[0].abs() < 1e-3, "{}", apart.0[0]);
        let together = fit(&[[many, one].concat()], &ZERO, 0.01);
        assert!(together.0[0] > 1.0, "{}", together.0[0]);
    }

    #[test]
    fn what_speaks_against_a_candidate_is_never_rewarded() {
        let at = |name: &str| TERM_NAMES.iter().position(|term| *term == name).unwrap();
        let (unused, hops) = (at("values unused"), at("hops"));
        let set = vec![
            vec![
                candidate(true, &[(unused, 1.0), (hops, 1.0)]),
                candidate(false, &[]),
            ];
            4
        ];
        let fitted = fit(&[set], &ZERO, 0.01);
        assert!(fitted.0[unused] <= 0.0 && fitted.0[hops] > 0.0);
    }

    #[test]
    fn cases_without_a_right_candidate_change_nothing() {
        let hopeless = vec![vec![candidate(false, &[(0, 1.0)]), candidate(false, &[])]];
        assert_eq!(measure(&hopeless, &ZERO), (0, 0));
        assert_eq!(fit(&[hopeless], &wrong(), 0.01), wrong());
        assert_eq!(fit(&[], &wrong(), 0.01), wrong());
    }

    #[test]
    fn predictions_are_read_and_bad_lines_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("predictions.jsonl");
        let terms = serde_json::to_string(&cases()[0][1].terms).unwrap();
        let good = format!(r#"{{"id":"a","decided":[{{"right":true,"terms":{terms}}}]}}"#);
        let write = |text: String| std::fs::write(&path, text).unwrap();

        write(format!("{good}\n{{\"id\":\"no decision\"}}\n{good}\n"));
        let read_cases = read(&path).unwrap();
        assert_eq!(read_cases.len(), 2, "a question without candidates");
        assert!(read_cases[0][0].right);
        assert_eq!(read_cases[0][0].terms, cases()[0][1].terms);

        for bad in ["{", r#"{"decided":[{"right":true,"terms":[1.0]}]}"#] {
            write(format!("{good}\n{bad}\n"));
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("predictions.jsonl:2"), "{error}");
        }
        assert!(read(&dir.path().join("missing.jsonl")).is_err());
    }
}
