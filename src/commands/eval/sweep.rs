//! Variations of a setting (`--sweep`) and repeated runs (`--runs`): which are measured, and the
//! table of their means.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use infer::agent::AgentKind;
use serde_json::{Value, json};
use toolbox::metrics::{Scores, difference, intervals};

use super::result::Evaluation;
use crate::cli::SweepAxis;
use crate::ui::{Ui, header};

/// Seed of the intervals.
const SEED: u64 = 1;
/// The variation that the options describe.
pub(super) const BASE: &str = "base";

/// A setting that is measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variation {
    pub(super) agent: AgentKind,
    /// Worked examples in the prompts of a served model.
    pub(super) shots: usize,
    /// [`BASE`] or the parameter that differs from it: `n=0`.
    pub(super) changed: String,
    /// Number of the run, from 0 on.
    pub(super) run: u64,
}

impl Variation {
    /// Its name in tables and of its folder: `triad-paper.n=0.run2`.
    pub(super) fn name(&self, runs: u64) -> String {
        let mut name = self.agent.name().to_owned();
        if self.changed != BASE {
            name.push_str(&format!(".{}", self.changed));
        }
        if runs > 1 {
            name.push_str(&format!(".run{}", self.run + 1));
        }
        name
    }
}

/// The variations of some agents: each as the options say, then with one parameter changed at a
/// time, as the papers' tables do. A value that changes nothing is left out.
///
/// # Errors
/// If no agent has a parameter.
pub(super) fn variations(
    agents: &[AgentKind],
    shots: usize,
    axes: &[SweepAxis],
    runs: u64,
) -> Result<Vec<Variation>> {
    let mut all: Vec<Variation> = Vec::new();
    let mut add = |agent: &AgentKind, shots: usize, changed: &str| {
        let same = |one: &Variation| one.agent == *agent && one.shots == shots;
        if all.iter().any(same) {
            return;
        }
        all.extend((0..runs).map(|run| Variation {
            agent: agent.clone(),
            shots,
            changed: changed.to_owned(),
            run,
        }));
    };
    for agent in agents {
        add(agent, shots, BASE);
        for axis in axes {
            for value in &axis.values {
                if let Some((varied, shots)) = axis.varied(agent, shots, value) {
                    add(&varied, shots, &format!("{}={value}", axis.name()));
                }
            }
        }
    }
    for axis in axes {
        let has = |agent: &AgentKind| {
            let mut values = axis.values.iter();
            values.any(|value| axis.varied(agent, shots, value).is_some())
        };
        if !agents.iter().any(has) {
            bail!("none of the agents has the parameter {}", axis.name());
        }
    }
    Ok(all)
}

/// The runs of one variation.
struct Runs<'a> {
    agent: &'a str,
    changed: &'a str,
    runs: Vec<&'a Evaluation>,
}

impl Runs<'_> {
    /// The scores of every question as the mean over the runs, by id.
    fn scores(&self) -> BTreeMap<&str, Scores> {
        let mut sums: BTreeMap<&str, (Scores, f64)> = BTreeMap::new();
        for one in self.runs.iter().flat_map(|run| &run.predictions) {
            let (sum, n) = sums.entry(&one.id).or_default();
            let (left, right) = (sum.values(), one.scores.values());
            *sum = Scores::from_values(std::array::from_fn(|i| left[i] + right[i]));
            *n += 1.0;
        }
        let mean = |(sum, n): (Scores, f64)| Scores::from_values(sum.values().map(|sum| sum / n));
        sums.into_iter().map(|(id, sum)| (id, mean(sum))).collect()
    }

    /// The mean over questions and runs of what `of` counts.
    fn each(&self, of: impl Fn(&Evaluation) -> f64) -> f64 {
        let questions: usize = self.runs.iter().map(|run| run.metrics.n).sum();
        self.runs.iter().map(|run| of(run)).sum::<f64>() / questions.max(1) as f64
    }

    /// The standard deviation of a score's mean between the runs; `None` for one run.
    fn deviation(&self, score: impl Fn(&Scores) -> f64) -> Option<f64> {
        let n = self.runs.len() as f64;
        let means: Vec<f64> = self
            .runs
            .iter()
            .map(|run| score(&run.metrics.scores))
            .collect();
        let mean = means.iter().sum::<f64>() / n;
        let squares = means.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        (n > 1.0).then(|| (squares / (n - 1.0)).sqrt())
    }
}

/// The evaluations by variation, in their order.
fn grouped(evaluated: &[Evaluation]) -> Vec<Runs<'_>> {
    let mut groups: Vec<Runs<'_>> = Vec::new();
    for one in evaluated {
        let same = |group: &&mut Runs<'_>| group.agent == one.kind && group.changed == one.changed;
        match groups.iter_mut().find(same) {
            Some(group) => group.runs.push(one),
            None => groups.push(Runs {
                agent: one.kind,
                changed: &one.changed,
                runs: vec![one],
            }),
        }
    }
    groups
}

/// Every variation with its means, their 95 % intervals over the questions, and the difference to
/// the agent's base on the same questions.
pub(super) fn objects(evaluated: &[Evaluation]) -> Vec<Value> {
    let groups = grouped(evaluated);
    let one = |group: &Runs<'_>| {
        let mine = group.scores();
        let scores: Vec<Scores> = mine.values().copied().collect();
        let bounds = intervals(&scores, SEED);
        let mean = |of: fn(&Scores) -> f64| {
            scores.iter().map(of).sum::<f64>() / scores.len().max(1) as f64
        };
        let mut object = json!({
            "agent": group.agent, "setting": group.changed, "questions": scores.len(),
            "runs": group.runs.len(),
            "exact": mean(|s| s.exact), "exact_interval": bounds.get("exact"),
            "f1": mean(|s| s.f1), "f1_interval": bounds.get("f1"),
            "hits_at_1": mean(|s| s.hits_at_1), "hits_at_1_interval": bounds.get("hits_at_1"),
            "exact_deviation": group.deviation(|s| s.exact),
            "f1_deviation": group.deviation(|s| s.f1),
            "asked": group.each(|run| run.metrics.asked as f64),
            "tokens": group.each(|run| run.metrics.tokens as f64),
            "seconds": group.each(|run| run.metrics.seconds),
        });
        let base = groups
            .iter()
            .find(|base| base.agent == group.agent && base.changed == BASE);
        if let Some(base) = base.filter(|_| group.changed != BASE) {
            let base = base.scores();
            let pairs = mine
                .iter()
                .filter_map(|(id, score)| Some((*score, *base.get(id)?)));
            let (a, b): (Vec<Scores>, Vec<Scores>) = pairs.unzip();
            let exact: fn(&Scores) -> f64 = |scores| scores.exact;
            let f1: fn(&Scores) -> f64 = |scores| scores.f1;
            for (name, of) in [("exact", exact), ("f1", f1)] {
                let (x, y): (Vec<f64>, Vec<f64>) =
                    (a.iter().map(of).collect(), b.iter().map(of).collect());
                let total: f64 = x.iter().zip(&y).map(|(x, y)| x - y).sum();
                object[format!("{name}_against_base")] = json!(total / x.len().max(1) as f64);
                object[format!("{name}_against_base_interval")] = json!(difference(&x, &y, SEED));
            }
        }
        object
    };
    groups.iter().map(one).collect()
}

/// The rows of a table of [`objects`].
pub(super) fn rows(objects: &[Value]) -> Vec<Vec<String>> {
    let mut rows = header(
        "setting|questions|runs|exact (95 %)|f1 (95 %)|hits@1 (95 %)|exact − base (95 %)|sd of runs|asked|tokens|seconds",
    );
    for one in objects {
        let number = |name: &str| one[name].as_f64().unwrap_or_default();
        let share = |name: &str| match one[format!("{name}_interval")].as_array() {
            Some(bounds) if !one[name].is_null() => {
                let bound = |at: usize| bounds[at].as_f64().unwrap_or_default();
                format!("{:.4} [{:.3}, {:.3}]", number(name), bound(0), bound(1))
            }
            _ => "–".to_owned(),
        };
        let (agent, setting) = (one["agent"].as_str(), one["setting"].as_str());
        rows.push(vec![
            format!(
                "{} {}",
                agent.unwrap_or_default(),
                setting.unwrap_or_default()
            ),
            one["questions"].to_string(),
            one["runs"].to_string(),
            share("exact"),
            share("f1"),
            share("hits_at_1"),
            share("exact_against_base"),
            one["exact_deviation"]
                .as_f64()
                .map_or_else(|| "–".to_owned(), |sd| format!("{sd:.4}")),
            format!("{:.1}", number("asked")),
            format!("{:.0}", number("tokens")),
            format!("{:.2}", number("seconds")),
        ]);
    }
    rows
}

/// Prints the table.
pub(super) fn print(objects: &[Value], ui: &Ui) {
    ui.say("");
    ui.table(&rows(objects));
}
