//! One candidate question: sampled, verbalised and verified.

use common::rng::Rng;
use kg::term::NodeId;
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;
use toolbox::link;
use toolbox::rank::lexical;

use super::options::SynthOptions;
use super::plan::QuestionPlan;
use super::profile::GraphProfile;
use super::sample::{Focus, QuestionSampler, Shape};
use super::verbalize::Verbalizer;
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::verify;

/// Samples per candidate.
const SAMPLES: usize = 8;
/// Maximum number of words of a question. Of 800 questions that people asked about tables and
/// DBpedia, one in a hundred has more than 19.
const LONGEST: usize = 24;
/// Wordings per sample.
const WORDINGS: usize = 4;

/// A slot of a round: the input of one candidate.
pub(super) struct Slot {
    pub(super) shape: Shape,
    pub(super) focus: Focus,
    pub(super) seed: u64,
}

/// A verified candidate.
pub(super) struct SynthCandidate {
    pub(super) question: GoldQuestion,
    pub(super) plan: QuestionPlan,
}

pub(super) enum SlotResult {
    Kept(Box<SynthCandidate>),
    /// The reason why the last sample was rejected.
    Failed(&'static str),
}

/// Samples, verbalises and verifies one candidate.
pub(super) fn candidate(
    profile: &GraphProfile<'_>,
    options: &SynthOptions,
    slot: &Slot,
) -> SlotResult {
    let mut rng = Rng::new(slot.seed);
    let mut failure = "no question about it could be sampled";
    for _ in 0..SAMPLES {
        let mut sampler = QuestionSampler {
            profile,
            rng: Rng::new(rng.next()),
        };
        let Some(plan) = sampler.sample(slot.shape, slot.focus) else {
            continue;
        };
        let Some(query) = plan.query(profile) else {
            failure = "an entity of its questions has no IRI";
            continue;
        };
        let needed = plan.uses().entities;
        let Some((text, topics)) = verbalize(profile, options, &plan, &needed, &mut rng) else {
            failure = "its entities cannot be linked by their labels";
            continue;
        };
        let question = GoldQuestion {
            id: format!("{:016x}", slot.seed),
            source: super::SOURCE.to_owned(),
            question: text,
            query: GoldQuery::Algebra(Box::new(query)),
            topics,
            answers: None,
            answers_bind: false,
            hops: Some(plan.hops()),
            kind: Some(slot.shape.name().to_owned()),
            exclude: ExcludeWhen::Never,
        };
        match verify::verify(profile.kg, &question, &options.verify) {
            // A value that linking does not find in the wording would be missing at inference.
            Ok(verified) if verified.values_added > 0 => {
                failure = "its values cannot be linked by their wording";
            }
            Ok(_) => return SlotResult::Kept(Box::new(SynthCandidate { question, plan })),
            Err(_) => failure = "its queries were refused",
        }
    }
    SlotResult::Failed(failure)
}

/// A wording in which linking finds all needed entities, and the linked entities.
fn verbalize(
    profile: &GraphProfile<'_>,
    options: &SynthOptions,
    plan: &QuestionPlan,
    needed: &[NodeId],
    rng: &mut Rng,
) -> Option<(String, Vec<Topic>)> {
    let kg = profile.kg;
    let linked = |text: &str| {
        // If the index cannot be read, nothing is linked and no wording is kept.
        let found = link::entities_of(kg, text, lexical().as_ref()).ok()?;
        needed
            .iter()
            .all(|node| found.contains(node))
            .then_some(found)
    };
    for _ in 0..WORDINGS {
        let mut verbalizer = Verbalizer {
            profile,
            tables: options.verify.tools == ToolTable::Extended,
            rng: Rng::new(rng.next()),
        };
        let mut text = verbalizer.question(plan);
        if text.split(' ').count() > LONGEST {
            continue;
        }
        let Some(found) = linked(&text) else {
            continue;
        };
        if rng.chance(options.typos) {
            let misspelt = misspelt(&text, rng);
            // Linking must find the same entities: a typo in a name could change the question.
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

/// The text with one misspelt word: a letter dropped, doubled or swapped with its neighbour.
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
