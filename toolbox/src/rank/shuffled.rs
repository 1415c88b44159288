//! A baseline without ranking: lists in an order unrelated to the question, to measure the benefit
//! of ranking.

use common::cancel::Cancel;
use sha2::{Digest, Sha256};

use super::ranker::{RankError, Ranker, RankingContext, RelationCandidate};

/// Scores by a hash of question and text, so the order is the same on every machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShuffledRanker;

impl Ranker for ShuffledRanker {
    fn name(&self) -> String {
        "shuffled".to_owned()
    }

    fn score(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let score = |(at, text): (usize, &String)| {
            cancel.check_item(at)?;
            let digest = Sha256::new()
                .chain_update(question.as_bytes())
                .chain_update([0])
                .chain_update(text.as_bytes())
                .finalize();
            // 24 bits fit into an f32 without rounding.
            let number = digest
                .iter()
                .take(3)
                .fold(0_u32, |number, &byte| number << 8 | u32::from(byte));
            Ok(number as f32 / (1_u32 << 24) as f32)
        };
        texts.iter().enumerate().map(score).collect()
    }

    fn score_relations(
        &self,
        asked: RankingContext<'_>,
        relations: &[RelationCandidate],
    ) -> Result<Vec<f32>, RankError> {
        let texts: Vec<String> = relations
            .iter()
            .map(|relation| format!("{} {}", relation.out, relation.name))
            .collect();
        self.score(asked.question, &texts, asked.cancel)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_order_depends_on_the_question_and_on_nothing_else() {
        let texts: Vec<String> = (0..50).map(|i| format!("a.b.relation{i}")).collect();
        let none = Cancel::default();
        let scores = |question| ShuffledRanker.score(question, &texts, &none).unwrap();
        let one = scores("one");
        assert_eq!(one, scores("one"));
        assert_ne!(one, scores("two"));
        assert!(one.iter().all(|score| (0.0..1.0).contains(score)));
    }
}
