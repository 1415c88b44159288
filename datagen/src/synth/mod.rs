//! Questions and gold queries from the graph itself, for users who have neither.
//!
//! ```text
//! profile ──▶ draw ──▶ plan ──▶ query (algebra) ──▶ verify
//! relations,  a shape  what is  ╲
//! classes     around   asked     ╲──▶ say ──▶ wording ──▶ linked as at inference
//!             an edge
//! ```
//! Every question is verified as those of a data set are, and kept only if linking its words gives what its program needs. Equal inputs and
//! seeds give equal questions on any number of threads.

mod coverage;
mod lexicon;
mod phrase;
mod plan;
mod profile;
mod sample;
mod verbalize;
mod words;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use kg::term::NodeId;
use kg::{Kg, fold};
use rayon::prelude::*;
use toolbox::exec::ExcludeWhen;
use toolbox::link;
use toolbox::rank::lexical;

pub use coverage::{Coverage, Uncovered};

use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::verify::{self, VerifyOptions};
use crate::{Error, hash};
use common::rng::Rng;
use lexicon::Lexicon;
use plan::Ask;
use profile::{Profile, Tail};
use sample::{Draw, Focus, SHAPES};
use verbalize::Say;

/// How questions are made.
#[derive(Clone)]
pub struct SynthOptions {
    /// Questions wanted.
    pub count: usize,
    /// Seed of every choice.
    pub seed: u64,
    /// Worker threads; 0 means one a core.
    pub threads: usize,
    /// How questions are checked.
    pub verify: VerifyOptions,
    /// Share of the wordings in which a word is misspelt.
    pub typos: f64,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self {
            count: 10_000,
            seed: 1,
            threads: 0,
            verify: VerifyOptions::default(),
            typos: 0.02,
        }
    }
}

/// Says a question in other words, such as a local language model. Off unless one is given.
pub trait Reworder: Send + Sync {
    /// Another wording of `question` in which every text of `keep` still occurs as it is; `None` where there is none.
    fn reword(&self, question: &str, keep: &[String]) -> Option<String>;
}

/// Questions of a graph and what they cover of it.
#[derive(Clone, Debug)]
pub struct Synthesis {
    /// The questions, each with its query as algebra.
    pub questions: Vec<GoldQuestion>,
    /// What they cover.
    pub coverage: Coverage,
}

/// What is written beside the data made of synthesised questions.
#[derive(Clone, Debug)]
pub struct Beside {
    /// What the questions cover: goes into the report.
    pub coverage: Coverage,
    /// Questions kept out of the data, to be measured on.
    pub held_back: Vec<GoldQuestion>,
}

impl Synthesis {
    /// Parts the questions: those to make data of, and a share (0 to 1) to be measured on, drawn by a hash of their ids. No query is on
    /// both sides, however it is worded.
    #[must_use]
    pub fn split(self, share: f64, seed: u64) -> (Vec<GoldQuestion>, Beside) {
        let held = |question: &GoldQuestion| {
            hash::falls_into(share, seed, "held-back", &question.query.text())
        };
        let (held_back, data) = self.questions.into_iter().partition(held);
        (
            data,
            Beside {
                coverage: self.coverage,
                held_back,
            },
        )
    }
}

/// Candidates drawn at once; what was kept of them decides the next.
const ROUND: usize = 2048;
/// Rounds in a row that may bring almost nothing before the graph is taken to have no more questions.
const IDLE: usize = 6;
/// Shapes that compare values of the relation they are drawn around: keys of rows are no such values.
const COMPARED: &[&str] = &[
    "backward",
    "star",
    "literal-constraint",
    "comparison",
    "two-constraints",
    "between",
    "superlative",
    "superlative-attribute",
    "boolean-comparison",
    "union",
    "compare",
    "shared",
    "class-constraint",
    "class-superlative",
    "constrained-count",
];
/// Draws for one candidate.
const DRAWS: usize = 8;
/// Words of a question at most. Of 800 that people asked about tables and DBpedia one in a hundred has more than 19.
const LONGEST: usize = 24;
/// Wordings tried for one drawing.
const WORDINGS: usize = 4;

/// A slot of a round: a shape, what it is drawn around, its own random numbers.
struct Slot {
    shape: usize,
    focus: Focus,
    seed: u64,
}

/// A candidate that passed.
struct Candidate {
    question: GoldQuestion,
    ask: Ask,
}

/// What became of a slot.
enum Drawn {
    Kept(Box<Candidate>),
    /// Why the last drawing was not used.
    Failed(&'static str),
}

/// Makes questions about a graph. `progress` hears how many are made and how many are wanted; raising `stop` ends the run.
///
/// # Errors
/// [`Error::Stopped`] and [`Error::Threads`]; [`Error::Unaskable`] where the graph has nothing to ask about. Fewer questions than wanted are
/// no error: the coverage says how many there are.
pub fn synthesise(
    kg: &dyn Kg,
    options: &SynthOptions,
    reworder: Option<&dyn Reworder>,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Synthesis, Error> {
    let begun = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|error| Error::Threads(error.to_string()))?;
    let lexicon = Lexicon::new();
    let profile = Profile::new(kg, &lexicon);
    let mut made = Made::new(&profile, options);
    let mut idle = 0;
    for round in 0.. {
        if made.kept.len() >= options.count || idle >= IDLE {
            break;
        }
        let slots = made.slots(round);
        if slots.is_empty() {
            break;
        }
        let work = |slot: &Slot| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            Some(candidate(&profile, options, reworder, slot))
        };
        let results: Vec<Option<Drawn>> = pool.install(|| slots.par_iter().map(work).collect());
        let before = made.kept.len();
        for (slot, result) in slots.iter().zip(results) {
            let Some(drawn) = result else {
                return Err(Error::Stopped {
                    done: made.kept.len(),
                    total: options.count,
                });
            };
            made.take(slot, drawn);
        }
        progress(made.kept.len(), options.count);
        // The last questions are drawn in small rounds, which bring little each.
        idle = if made.kept.len() - before < (slots.len() / 200).max(1) {
            idle + 1
        } else {
            0
        };
    }
    if made.kept.is_empty() {
        return Err(Error::Unaskable);
    }
    let coverage = made.coverage(begun.elapsed().as_secs_f64());
    Ok(Synthesis {
        questions: made
            .kept
            .into_iter()
            .map(|candidate| candidate.question)
            .collect(),
        coverage,
    })
}

/// Counts that steer the drawing.
struct Made<'p, 'g> {
    profile: &'p Profile<'g>,
    options: &'p SynthOptions,
    kept: Vec<Candidate>,
    texts: HashSet<String>,
    /// By shape: kept, tried.
    shapes: Vec<(usize, usize)>,
    /// By relation and by class: kept, tried.
    relations: Vec<(usize, usize)>,
    classes: Vec<(usize, usize)>,
    failures: BTreeMap<usize, &'static str>,
    class_failures: BTreeMap<usize, &'static str>,
}

impl<'p, 'g> Made<'p, 'g> {
    fn new(profile: &'p Profile<'g>, options: &'p SynthOptions) -> Self {
        Self {
            profile,
            options,
            kept: Vec::new(),
            texts: HashSet::new(),
            shapes: vec![(0, 0); SHAPES.len()],
            relations: vec![(0, 0); profile.relations.len()],
            classes: vec![(0, 0); profile.classes.len()],
            failures: BTreeMap::new(),
            class_failures: BTreeMap::new(),
        }
    }

    /// What the next round draws: shapes by what is missing of them and how often drawing them succeeds, relations and classes by what is
    /// missing of them.
    fn slots(&mut self, round: usize) -> Vec<Slot> {
        let options = self.options;
        let mut rng = Rng::new(hash::number(
            options.seed,
            "synth",
            &format!("round {round}"),
        ));
        let alive: Vec<bool> = self
            .shapes
            .iter()
            .map(|&(kept, tried)| tried < 500 || kept * 150 > tried)
            .collect();
        let weights: u32 = SHAPES
            .iter()
            .zip(&alive)
            .filter(|(_, alive)| **alive)
            .map(|((_, weight), _)| weight)
            .sum();
        let wanted: Vec<f64> = (0..SHAPES.len())
            .map(|i| {
                if !alive[i] {
                    return 0.0;
                }
                let target =
                    options.count as f64 * f64::from(SHAPES[i].1) / f64::from(weights.max(1));
                let (kept, tried) = self.shapes[i];
                let rate = (kept as f64 + 5.0) / (tried as f64 + 10.0);
                // A shape that has enough may still be drawn a little: others may never fill up.
                (target - kept as f64).max(target * 0.02) / rate.max(0.02)
            })
            .collect();
        let all: f64 = wanted.iter().sum();
        if all <= 0.0 {
            return Vec::new();
        }
        let missing = options.count - self.kept.len();
        let size = (missing * 3).clamp(64, ROUND);
        let mut slots = Vec::with_capacity(size);
        for i in 0..size {
            let mut at = (rng.next() >> 11) as f64 / (1_u64 << 53) as f64 * all;
            let shape = wanted.iter().position(|share| {
                at -= share;
                at < 0.0
            });
            let shape = shape.unwrap_or(0);
            let Some(focus) = self.focus(SHAPES[shape].0, &mut rng) else {
                self.shapes[shape].1 += 1;
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

    /// What a shape is drawn around next.
    fn focus(&self, shape: &str, rng: &mut Rng) -> Option<Focus> {
        let profile = self.profile;
        if matches!(shape, "class" | "class-count")
            || (shape == "type" && rng.chance(0.7))
            || (shape.starts_with("class-") && rng.chance(0.2))
        {
            let class = self.least(&self.classes, |_| true, |_| 0, rng)?;
            return Some(Focus::Class(class));
        }
        let fits = |i: usize| {
            let relation = &profile.relations[i];
            if relation.sample.is_empty() || (relation.identifier && COMPARED.contains(&shape)) {
                return false;
            }
            match shape {
                "attribute" => relation.tail != Tail::Thing,
                "literal-constraint" => relation.tail != Tail::Thing,
                "comparison"
                | "superlative"
                | "superlative-attribute"
                | "class-superlative"
                | "compare"
                | "boolean-comparison" => {
                    matches!(relation.tail, Tail::Number | Tail::Time)
                }
                "between" => relation.tail == Tail::Number,
                "negation" => relation.tail == Tail::Text,
                "two-constraints" => relation.tail != Tail::Thing,
                "entity-constraint" | "boolean" | "three-hop" => relation.tail == Tail::Thing,
                _ => true,
            }
        };
        if rng.chance(0.6) {
            let late = |i: usize| usize::from(!profile.declared.contains(&i));
            return self
                .least(&self.relations, fits, late, rng)
                .map(Focus::Relation);
        }
        // By use: half of the draws look like the graph itself.
        let weights: Vec<f64> = (0..profile.relations.len())
            .map(|i| {
                if fits(i) {
                    (profile.relations[i].edges as f64).sqrt()
                } else {
                    0.0
                }
            })
            .collect();
        let all: f64 = weights.iter().sum();
        let mut at = (rng.next() >> 11) as f64 / (1_u64 << 53) as f64 * all;
        weights
            .iter()
            .position(|weight| {
                at -= weight;
                at < 0.0
            })
            .map(Focus::Relation)
    }

    /// The one with the fewest questions, then the fewest tries; ties by chance.
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

    fn take(&mut self, slot: &Slot, drawn: Drawn) {
        self.shapes[slot.shape].1 += 1;
        let failure = match drawn {
            Drawn::Kept(mut candidate) => {
                if self.kept.len() >= self.options.count {
                    return;
                }
                if self.texts.insert(spelt(&candidate.question.question)) {
                    self.shapes[slot.shape].0 += 1;
                    let uses = candidate.ask.uses();
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
                "its questions are all asked already"
            }
            Drawn::Failed(why) => why,
        };
        match slot.focus {
            Focus::Relation(relation) => self.failures.insert(relation, failure),
            Focus::Class(class) => self.class_failures.insert(class, failure),
        };
    }

    fn coverage(&self, seconds: f64) -> Coverage {
        let profile = self.profile;
        let mut coverage = Coverage {
            wanted: self.options.count,
            questions: self.kept.len(),
            seconds,
            ..Coverage::default()
        };
        for (i, relation) in profile.relations.iter().enumerate() {
            let why = coverage::unusable(profile, relation);
            coverage.relation(
                &relation.name,
                self.relations[i].0,
                why,
                self.failures.get(&i).copied(),
            );
        }
        for (i, class) in profile.classes.iter().enumerate() {
            let why = coverage::unnamed(profile, class);
            coverage.class(
                &class.name,
                self.classes[i].0,
                why,
                self.class_failures.get(&i).copied(),
            );
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

/// A question by its letters and digits: two that differ in case or punctuation only are the same.
fn spelt(question: &str) -> String {
    fold(question)
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ')
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Draws, words and checks one candidate.
fn candidate(
    profile: &Profile<'_>,
    options: &SynthOptions,
    reworder: Option<&dyn Reworder>,
    slot: &Slot,
) -> Drawn {
    let shape = SHAPES[slot.shape].0;
    let mut rng = Rng::new(slot.seed);
    let mut failure = "nothing of its shapes could be drawn";
    for _ in 0..DRAWS {
        let mut draw = Draw {
            profile,
            rng: Rng::new(rng.next()),
        };
        let Some(ask) = draw.draw(shape, slot.focus) else {
            continue;
        };
        let Some(query) = ask.query(profile) else {
            failure = "a thing in it has no name of its own";
            continue;
        };
        let needed = ask.uses().entities;
        let Some((text, topics)) = worded(profile, options, reworder, &ask, &needed, &mut rng)
        else {
            failure = "its things cannot be linked by their labels";
            continue;
        };
        let question = GoldQuestion {
            id: format!("{:016x}", slot.seed),
            source: "synth".to_owned(),
            question: text,
            query: GoldQuery::Algebra(Box::new(query)),
            topics,
            answers: None,
            answers_bind: false,
            hops: Some(ask.hops()),
            kind: Some(shape.to_owned()),
            exclude: ExcludeWhen::Never,
        };
        match verify::verify(profile.kg, &question, &options.verify) {
            // A value that the question's words do not give would not be there at inference either.
            Ok(verified) if verified.values_added > 0 => {
                failure = "its values cannot be linked by their words"
            }
            Ok(_) => return Drawn::Kept(Box::new(Candidate { question, ask })),
            Err(_) => failure = "its queries were refused",
        }
    }
    Drawn::Failed(failure)
}

/// A wording in which linking finds all that the question is about.
fn worded(
    profile: &Profile<'_>,
    options: &SynthOptions,
    reworder: Option<&dyn Reworder>,
    ask: &Ask,
    needed: &[NodeId],
    rng: &mut Rng,
) -> Option<(String, Vec<Topic>)> {
    let kg = profile.kg;
    let linked = |text: &str| {
        // An index that cannot be read links nothing, so that no wording is kept.
        let found = link::entities_of(kg, text, lexical().as_ref()).ok()?;
        needed
            .iter()
            .all(|node| found.contains(node))
            .then_some(found)
    };
    for _ in 0..WORDINGS {
        let mut say = Say {
            profile,
            rng: Rng::new(rng.next()),
        };
        let mut text = say.question(ask);
        // Nobody asks in so many words.
        if text.split(' ').count() > LONGEST {
            continue;
        }
        let Some(mut found) = linked(&text) else {
            continue;
        };
        if let Some(reworder) = reworder {
            let keep: Vec<String> = needed.iter().filter_map(|&node| kg.label(node)).collect();
            if let Some(other) = reworder.reword(&text, &keep)
                && let Some(others) = linked(&other)
            {
                (text, found) = (other, others);
            }
        }
        if rng.chance(options.typos) {
            let misspelt = misspelt(&text, rng);
            // Linking has to find the same: a typo in a name would be another question.
            if linked(&misspelt).is_some_and(|others| others == found) {
                text = misspelt;
            }
        }
        let topics = found
            .iter()
            .map(|&node| Topic {
                name: kg.name(node),
                label: kg.label(node).unwrap_or_default(),
            })
            .collect();
        return Some((text, topics));
    }
    None
}

/// The text with one word misspelt: a letter left out, doubled, or two changed over.
fn misspelt(text: &str, rng: &mut Rng) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let at = rng.below(words.len());
    let Some(word) = words
        .get_mut(at)
        .filter(|word| word.len() > 4 && word.bytes().all(|b| b.is_ascii_lowercase()))
    else {
        return text.to_owned();
    };
    let i = 1 + rng.below(word.len() - 2);
    match rng.below(3) {
        0 => {
            word.remove(i);
        }
        1 => {
            let letter = word.remove(i);
            word.insert(i - 1, letter);
        }
        _ => {
            let letter = word[i..].chars().next().unwrap_or('e');
            word.insert(i, letter);
        }
    }
    words.join(" ")
}
