//! Steering: which shapes, relations and classes the next round of candidates samples.

use std::collections::{BTreeMap, HashSet};

use common::rng::Rng;
use kg::fold;
use toolbox::call::ToolTable;

use super::candidate::{Slot, SlotResult, SynthCandidate};
use super::coverage::{self, Coverage, Reasons};
use super::options::SynthOptions;
use super::profile::{GraphProfile, RelationProfile};
use super::sample::{Focus, Shape};
use super::tail::TailType;
use common::hash;

/// Maximum number of candidates per round. The counts of a round determine the next one.
const ROUND: usize = 2048;

/// The questions kept so far, and the counts that determine the next round.
pub(super) struct Steering<'p, 'g> {
    profile: &'p GraphProfile<'g>,
    options: &'p SynthOptions,
    pub(super) kept: Vec<SynthCandidate>,
    texts: HashSet<String>,
    /// Per shape: kept, tried.
    shapes: Vec<(usize, usize)>,
    /// Per relation and per class: kept, tried.
    relations: Vec<(usize, usize)>,
    classes: Vec<(usize, usize)>,
    failures: BTreeMap<usize, &'static str>,
    class_failures: BTreeMap<usize, &'static str>,
}

impl<'p, 'g> Steering<'p, 'g> {
    pub(super) fn new(profile: &'p GraphProfile<'g>, options: &'p SynthOptions) -> Self {
        Self {
            profile,
            options,
            kept: Vec::new(),
            texts: HashSet::new(),
            shapes: vec![(0, 0); Shape::ALL.len()],
            relations: vec![(0, 0); profile.relations.len()],
            classes: vec![(0, 0); profile.classes.len()],
            failures: BTreeMap::new(),
            class_failures: BTreeMap::new(),
        }
    }

    /// The slots of the next round. Shapes are chosen by their missing share and success rate,
    /// relations and classes by their missing share.
    pub(super) fn slots(&mut self, round: usize) -> Vec<Slot> {
        let options = self.options;
        let mut rng = Rng::new(hash::number(
            options.seed,
            "synth",
            &format!("round {round}"),
        ));
        let tables = options.verify.tools == ToolTable::Extended;
        let alive: Vec<bool> = self
            .shapes
            .iter()
            .zip(Shape::ALL)
            .map(|(&(kept, tried), (shape, ..))| {
                (tables || !shape.makes_table()) && (tried < 500 || kept * 150 > tried)
            })
            .collect();
        let weights: u32 = Shape::ALL
            .iter()
            .zip(&alive)
            .filter(|(_, alive)| **alive)
            .map(|((.., weight), _)| weight)
            .sum();
        let share = |i: usize| {
            if !alive[i] {
                return 0.0;
            }
            let target =
                options.count as f64 * f64::from(Shape::ALL[i].2) / f64::from(weights.max(1));
            let (kept, tried) = self.shapes[i];
            let rate = (kept as f64 + 5.0) / (tried as f64 + 10.0);
            // A complete shape keeps a small share, because others may never be completed.
            (target - kept as f64).max(target * 0.02) / rate.max(0.02)
        };
        let wanted: Vec<f64> = (0..Shape::ALL.len()).map(share).collect();
        let all: f64 = wanted.iter().sum();
        if all <= 0.0 {
            return Vec::new();
        }
        let missing = options.count - self.kept.len();
        let size = (missing * 3).clamp(64, ROUND);
        let mut slots = Vec::with_capacity(size);
        for i in 0..size {
            let at = pick_weighted(&wanted, all, &mut rng).unwrap_or(0);
            let shape = Shape::ALL[at].0;
            let Some(focus) = self.focus(shape, &mut rng) else {
                self.shapes[at].1 += 1;
                continue;
            };
            match focus {
                Focus::Relation(relation) => self.relations[relation].1 += 1,
                Focus::Class(class) => self.classes[class].1 += 1,
            }
            slots.push(Slot {
                shape,
                focus,
                seed: hash::number(options.seed, "slot", &format!("{round} {i}")),
            });
        }
        slots
    }

    /// The focus of the next slot of a shape.
    fn focus(&self, shape: Shape, rng: &mut Rng) -> Option<Focus> {
        let profile = self.profile;
        let around_class = match shape {
            Shape::Class | Shape::ClassCount => true,
            Shape::Type => rng.chance(0.7),
            Shape::ClassAttribute | Shape::ClassConstraint | Shape::ClassSuperlative => {
                rng.chance(0.2)
            }
            _ => false,
        };
        if around_class {
            let class = self.least(&self.classes, |_| true, |_| 0, rng)?;
            return Some(Focus::Class(class));
        }
        let fits = |i: usize| fits(shape, &profile.relations[i]);
        if rng.chance(0.6) {
            let late = |i: usize| usize::from(!profile.declared.contains(&i));
            return self
                .least(&self.relations, fits, late, rng)
                .map(Focus::Relation);
        }
        // The other samples follow the distribution of the graph.
        let weight = |i: usize| {
            if fits(i) {
                (profile.relations[i].edges as f64).sqrt()
            } else {
                0.0
            }
        };
        let weights: Vec<f64> = (0..profile.relations.len()).map(weight).collect();
        let all: f64 = weights.iter().sum();
        pick_weighted(&weights, all, rng).map(Focus::Relation)
    }

    /// The index with the fewest questions, then the fewest tries; ties are broken at random.
    fn least(
        &self,
        counts: &[(usize, usize)],
        fits: impl Fn(usize) -> bool,
        late: impl Fn(usize) -> usize,
        rng: &mut Rng,
    ) -> Option<usize> {
        let turn = rng.below(counts.len());
        let key = |i: usize| {
            let (kept, tried) = counts[i];
            (
                kept * 4 + tried,
                late(i),
                (i + counts.len() - turn) % counts.len().max(1),
            )
        };
        (0..counts.len())
            .filter(|&i| fits(i))
            .min_by_key(|&i| key(i))
    }

    pub(super) fn take(&mut self, slot: &Slot, result: SlotResult) {
        let shape = &mut self.shapes[slot.shape as usize];
        shape.1 += 1;
        let failure = match result {
            SlotResult::Kept(mut candidate) => {
                if self.kept.len() >= self.options.count {
                    return;
                }
                if self.texts.insert(normalised(&candidate.question.question)) {
                    shape.0 += 1;
                    let uses = candidate.plan.uses();
                    uses.relations
                        .iter()
                        .for_each(|&relation| self.relations[relation].0 += 1);
                    uses.classes
                        .iter()
                        .for_each(|&class| self.classes[class].0 += 1);
                    candidate.question.id = format!("synth-{:06}", self.kept.len());
                    self.kept.push(*candidate);
                    return;
                }
                "all of its questions exist already"
            }
            SlotResult::Failed(why) => why,
        };
        match slot.focus {
            Focus::Relation(relation) => self.failures.insert(relation, failure),
            Focus::Class(class) => self.class_failures.insert(class, failure),
        };
    }

    pub(super) fn coverage(&self, seconds: f64) -> Coverage {
        let profile = self.profile;
        let mut coverage = Coverage {
            wanted: self.options.count,
            questions: self.kept.len(),
            seconds,
            ..Coverage::default()
        };
        for (i, relation) in profile.relations.iter().enumerate() {
            let reasons = Reasons {
                unusable: coverage::unusable(profile, relation),
                failure: self.failures.get(&i).copied(),
            };
            coverage.add_relation(&relation.name, self.relations[i].0, reasons);
        }
        for (i, class) in profile.classes.iter().enumerate() {
            let reasons = Reasons {
                unusable: coverage::unnamed(profile, class),
                failure: self.class_failures.get(&i).copied(),
            };
            coverage.add_class(&class.name, self.classes[i].0, reasons);
        }
        for candidate in &self.kept {
            let shape = candidate.question.kind.clone().unwrap_or_default();
            *coverage.by_shape.entry(shape).or_default() += 1;
            *coverage
                .by_hops
                .entry(candidate.question.hops.unwrap_or_default())
                .or_default() += 1;
        }
        coverage
    }
}

/// The letters and digits of a question, so that case and punctuation do not distinguish questions.
fn normalised(question: &str) -> String {
    fold(question)
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ')
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// A random index with probability proportional to its weight; `all` is the sum of the weights.
fn pick_weighted(weights: &[f64], all: f64, rng: &mut Rng) -> Option<usize> {
    let mut at = rng.uniform_f64() * all;
    weights.iter().position(|weight| {
        at -= weight;
        at < 0.0
    })
}

/// Whether questions of a shape can be sampled around a relation.
fn fits(shape: Shape, relation: &RelationProfile) -> bool {
    if relation.sample.is_empty() || (relation.identifier && shape.compares_values()) {
        return false;
    }
    match shape {
        Shape::Attribute | Shape::LiteralConstraint | Shape::TwoConstraints => {
            relation.tail != TailType::Thing
        }
        Shape::Comparison
        | Shape::Superlative
        | Shape::SuperlativeAttribute
        | Shape::ClassSuperlative
        | Shape::Compare
        | Shape::BooleanComparison
        | Shape::TopRows => matches!(relation.tail, TailType::Number | TailType::Time),
        Shape::Between | Shape::Summary | Shape::BeyondAverage => relation.tail == TailType::Number,
        Shape::SortedRows => relation.tail != TailType::Thing,
        Shape::Negation => relation.tail == TailType::Text,
        Shape::EntityConstraint | Shape::Boolean | Shape::ThreeHop | Shape::Lacking => {
            relation.tail == TailType::Thing
        }
        _ => true,
    }
}
