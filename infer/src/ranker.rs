//! Rankers based on trained encoders: by meaning alone, by meaning and words, or by words with a
//! cross-encoder that scores whole programs.

use std::sync::Arc;

use common::cancel::Cancel;
use engine::encoder::{CrossEncoder, Encoder};
use toolbox::rank::{
    RankError, Ranker, RankingContext, RelationCandidate, discount_walked, lexical, words,
};

/// Texts that are encoded between two looks at the clock, less than a second's work.
const AT_ONCE: usize = 512;

/// Programs that are scored between two looks at the clock.
const PROGRAMS: usize = 32;

/// Ranks by the cosine of question and text.
pub struct EncoderRanker {
    encoder: Encoder,
    name: String,
}

impl EncoderRanker {
    /// A ranker. Its name contains the digest of the encoder's folder, so that copies of a folder
    /// give the same ranker.
    #[must_use]
    pub fn new(encoder: Encoder) -> Self {
        let name = format!("encoder-{}", encoder.digest().get(..12).unwrap_or_default());
        Self { encoder, name }
    }

    fn cosines(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let encode = |texts: &[&str]| {
            cancel.check()?;
            self.encoder
                .encode(texts)
                .map_err(|error| RankError::Failed {
                    ranker: self.name.clone(),
                    message: error.to_string(),
                })
        };
        let asked = encode(&[question])?;
        let mut cosines = Vec::with_capacity(texts.len());
        for some in texts.chunks(AT_ONCE) {
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            let vectors = encode(&some)?;
            cosines.extend(vectors.iter().map(|vector| dot(&asked[0], vector)));
        }
        Ok(cosines)
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
fn sentence(relation: &RelationCandidate) -> String {
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

    fn score(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let texts: Vec<String> = texts.iter().map(|text| words(text).join(" ")).collect();
        let cosines = self.cosines(&clean(question), &texts, cancel)?;
        Ok(cosines
            .into_iter()
            .map(|cosine| 0.5 * (1.0 + cosine))
            .collect())
    }

    fn score_relations(
        &self,
        asked: RankingContext<'_>,
        relations: &[RelationCandidate],
    ) -> Result<Vec<f32>, RankError> {
        let texts: Vec<String> = relations.iter().map(sentence).collect();
        let mut scores = self.cosines(&clean(asked.question), &texts, asked.cancel)?;
        discount_walked(&mut scores, asked, relations);
        Ok(scores)
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

    fn score(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let meaning = self.meaning.score(question, texts, cancel)?;
        let words = self.words.score(question, texts, cancel)?;
        Ok(words
            .into_iter()
            .zip(meaning)
            .map(|(words, meaning)| 0.5 * (words + meaning))
            .collect())
    }

    fn score_relations(
        &self,
        asked: RankingContext<'_>,
        relations: &[RelationCandidate],
    ) -> Result<Vec<f32>, RankError> {
        let texts: Vec<String> = relations.iter().map(sentence).collect();
        let cosines = self
            .meaning
            .cosines(&clean(asked.question), &texts, asked.cancel)?;
        let words = self.words.score_relations(asked, relations)?;
        Ok(words
            .into_iter()
            .zip(cosines)
            .map(|(words, cosine)| words + COSINE_WEIGHT * cosine)
            .collect())
    }
}

/// Ranks relations by words, and scores whole programs with a cross-encoder (`kgagent train ranker`).
pub struct ProgramRanker {
    words: Arc<dyn Ranker>,
    scorer: CrossEncoder,
}

impl ProgramRanker {
    /// Combines the cross-encoder with the lexical ranker.
    #[must_use]
    pub fn new(scorer: CrossEncoder) -> Self {
        Self {
            words: lexical(),
            scorer,
        }
    }
}

impl Ranker for ProgramRanker {
    fn name(&self) -> String {
        self.words.name()
    }

    fn score(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        self.words.score(question, texts, cancel)
    }

    fn score_relations(
        &self,
        asked: RankingContext<'_>,
        relations: &[RelationCandidate],
    ) -> Result<Vec<f32>, RankError> {
        self.words.score_relations(asked, relations)
    }

    fn scorer(&self) -> Option<String> {
        let digest = self.scorer.digest();
        Some(format!("scorer-{}", digest.get(..12).unwrap_or(digest)))
    }

    fn score_programs(
        &self,
        question: &str,
        programs: &[&str],
        cancel: &Cancel,
    ) -> Result<Option<Vec<f32>>, RankError> {
        let mut scores = Vec::with_capacity(programs.len());
        for some in programs.chunks(PROGRAMS) {
            cancel.check()?;
            let found = self.scorer.score(question, some);
            scores.extend(found.map_err(|error| RankError::Failed {
                ranker: self.scorer().unwrap_or_default(),
                message: error.to_string(),
            })?);
        }
        Ok(Some(scores))
    }
}
