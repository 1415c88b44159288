//! Rankers over tiny random encoders.

use std::fs;

use common::cancel::Cancel;
use infer::engine::encoder::Encoder;
use infer::ranker::{EncoderRanker, MixedRanker};
use toolbox::rank::{Ranker, RankingContext, RelationCandidate};

use crate::encoder_folders::{SHAPES, WORDS, write_folder};

#[test]
fn a_ranker_reports_the_failure_of_its_encoder() {
    let dir = tempfile::tempdir().unwrap();
    write_folder(dir.path(), &SHAPES[0]);
    let encoder = Encoder::open(dir.path(), None).unwrap();
    fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    let ranker = EncoderRanker::new(encoder);
    let error = ranker.score("never seen", &["nor this".to_owned()], &Cancel::default());
    assert!(error.unwrap_err().to_string().contains("model.safetensors"));
}

#[test]
fn long_lists_are_ranked_completely_by_all_rankers() {
    let dir = tempfile::tempdir().unwrap();
    write_folder(dir.path(), &SHAPES[0]);
    let words = &WORDS[4..];
    let mut relations: Vec<RelationCandidate> = (0..1_200)
        .map(|i| RelationCandidate {
            name: format!(
                "{}.{}_{}",
                words[i % 8],
                words[i / 8 % 8],
                words[i / 64 % 8]
            ),
            out: true,
            ..RelationCandidate::default()
        })
        .collect();
    relations[700].name = "film.directed_by_x".to_owned();
    let none = Cancel::default();
    let asked = RankingContext {
        question: "directed by x , film",
        path: &[],
        cancel: &none,
    };
    let open = || EncoderRanker::new(Encoder::open(dir.path(), None).unwrap());
    let rankers: [Box<dyn Ranker>; 2] = [Box::new(open()), Box::new(MixedRanker::new(open()))];
    for ranker in &rankers {
        let whole = ranker.score_relations(asked, &relations).unwrap();
        assert_eq!(whole.len(), 1_200);
        assert!(whole.iter().all(|score| score.is_finite()));
    }
    // A relation's score does not depend on the other relations.
    let whole = rankers[0].score_relations(asked, &relations).unwrap();
    for i in [0, 299, 300, 700, 1_199] {
        assert_eq!(
            rankers[0]
                .score_relations(asked, &relations[i..=i])
                .unwrap(),
            [whole[i]]
        );
    }
}
