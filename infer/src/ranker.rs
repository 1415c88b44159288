//! Rankers based on a sentence encoder: by meaning alone, or by meaning and words.

use std::sync::{Arc, Mutex, PoisonError};

use engine::encoder::{Encoder, EncoderError};
use toolbox::rank::{Asked, Candidate, Ranker, lexical, words};

/// Ranks by the cosine of question and text.
pub struct EncoderRanker {
    encoder: Encoder,
    name: String,
    /// The first error; scores cannot report it.
    failed: Mutex<Option<EncoderError>>,
}

impl EncoderRanker {
    /// A ranker. Its name contains the digest of the encoder's folder, so that copies of a folder
    /// give the same ranker.
    #[must_use]
    pub fn new(encoder: Encoder) -> Self {
        let name = format!("encoder-{}", encoder.digest().get(..12).unwrap_or_default());
        Self {
            encoder,
            name,
            failed: Mutex::new(None),
        }
    }

    fn cosines(&self, question: &str, texts: &[String]) -> Vec<f32> {
        let mut all: Vec<&str> = vec![question];
        all.extend(texts.iter().map(String::as_str));
        match self.encoder.encode(&all) {
            Ok(vectors) => vectors[1..]
                .iter()
                .map(|vector| dot(&vectors[0], vector))
                .collect(),
            Err(error) => {
                self.failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
                vec![0.0; texts.len()]
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A question in one line with single spaces.
fn clean(question: &str) -> String {
    question.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A relation as text: its label, or the words of its last segment, followed by the words before.
fn sentence(relation: &Candidate) -> String {
    let name = relation.name.trim_matches('_').replace("__", ".");
    let (domain, last) = name
        .rsplit_once(['.', '/', '#', ':'])
        .unwrap_or(("", &name));
    let own = relation
        .label
        .as_ref()
        .map_or_else(|| words(last).join(" "), |label| words(label).join(" "));
    let domain = words(domain).join(" ");
    if domain.is_empty() {
        own
    } else {
        format!("{own}, {domain}")
    }
}

impl Ranker for EncoderRanker {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn score(&self, question: &str, texts: &[String]) -> Vec<f32> {
        let texts: Vec<String> = texts.iter().map(|text| words(text).join(" ")).collect();
        self.cosines(&clean(question), &texts)
            .into_iter()
            .map(|cosine| 0.5 * (1.0 + cosine))
            .collect()
    }

    fn score_relations(&self, asked: Asked<'_>, relations: &[Candidate]) -> Vec<f32> {
        let texts: Vec<String> = relations.iter().map(sentence).collect();
        let mut scores = self.cosines(&clean(asked.question), &texts);
        toolbox::rank::discount_walked(&mut scores, asked, relations);
        scores
    }

    fn failure(&self) -> Option<String> {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(ToString::to_string)
    }
}

/// The weight of the cosine relative to the lexical score.
const COSINE_WEIGHT: f32 = 8.0;

/// Ranks by the sum of the lexical score and the cosine. The lexical score knows which words a path
/// has used and what a relation leads to; the cosine knows synonyms.
pub struct MixedRanker {
    meaning: EncoderRanker,
    words: Arc<dyn Ranker>,
}

impl MixedRanker {
    /// Combines the encoder with the lexical ranker.
    #[must_use]
    pub fn new(meaning: EncoderRanker) -> Self {
        Self {
            meaning,
            words: lexical(),
        }
    }
}

impl Ranker for MixedRanker {
    fn name(&self) -> String {
        format!("lexical+{}", self.meaning.name())
    }

    fn score(&self, question: &str, texts: &[String]) -> Vec<f32> {
        let mine = self.meaning.score(question, texts);
        self.words
            .score(question, texts)
            .into_iter()
            .zip(mine)
            .map(|(words, meaning)| 0.5 * (words + meaning))
            .collect()
    }

    fn score_relations(&self, asked: Asked<'_>, relations: &[Candidate]) -> Vec<f32> {
        let texts: Vec<String> = relations.iter().map(sentence).collect();
        let cosines = self.meaning.cosines(&clean(asked.question), &texts);
        let words = self.words.score_relations(asked, relations);
        words
            .into_iter()
            .zip(cosines)
            .map(|(words, cosine)| words + COSINE_WEIGHT * cosine)
            .collect()
    }

    fn failure(&self) -> Option<String> {
        self.meaning.failure()
    }
}
