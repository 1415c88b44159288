//! Rankings of long lists end when their question does.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::cancel::{Cancel, Cancelled};
use kg::Kg;
use kg::term::RelId;
use toolbox::call::parse_call;
use toolbox::exec::{ExecOptions, Session, ToolError};
use toolbox::link::{Linked, choose};
use toolbox::observe::{ByRanker, ObserveOptions, Similarity, StemSimilarity, observe};
use toolbox::rank::{
    LexicalRanker, RankError, Ranker, RankingContext, RelationCandidate, ShuffledRanker,
};

use crate::support::graph_of;

/// Ranking so many relations takes seconds.
const MANY: usize = 200_000;

/// Time after which work that was cancelled has ended, on a machine that does much else.
const SOON: Duration = Duration::from_secs(2);

fn is_late<T: std::fmt::Debug>(ranked: Result<T, RankError>) -> bool {
    matches!(
        ranked.unwrap_err(),
        RankError::Cancelled(Cancelled::Deadline { .. })
    )
}

#[test]
fn a_ranking_ends_at_the_deadline_of_its_question() {
    let relations: Vec<RelationCandidate> = (0..MANY)
        .map(|i| RelationCandidate {
            name: format!("domain{}.type{}.property_{i}", i % 97, i % 89),
            label: Some(format!("property number {i} of somebody")),
            out: true,
            ..RelationCandidate::default()
        })
        .collect();
    let texts: Vec<String> = relations.iter().map(RelationCandidate::text).collect();
    let rankers: [&dyn Ranker; 2] = [&LexicalRanker::default(), &ShuffledRanker];
    for ranker in rankers {
        // The deadline passes while the list is ranked: the first items are not the last ones.
        let cancel = Cancel::default().within(Duration::from_millis(5));
        let begun = Instant::now();
        let asked = RankingContext {
            question: "what is the property number of it",
            path: &[],
            cancel: &cancel,
        };
        assert!(is_late(ranker.score_relations(asked, &relations)));
        let cancel = Cancel::default().within(Duration::from_millis(5));
        assert!(is_late(ranker.score(asked.question, &texts, &cancel)));
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}

/// A hub with many relations, and many things of one name.
fn hub() -> kg::FrozenKg {
    let mut turtle = "@prefix : <http://h/> . :hub a :place .\n".to_owned();
    for i in 0..3_000 {
        writeln!(turtle, ":hub :relation_number_{i} :n{i} .").unwrap();
    }
    graph_of(&turtle)
}

#[test]
fn calls_observations_and_choices_end_when_their_question_is_cancelled() {
    let kg = hub();
    let node = kg.by_name("hub").unwrap();
    let question = "what is the relation of the hub";
    let listed = |deadline: Duration| {
        let options = ExecOptions {
            deadline,
            ..ExecOptions::default()
        };
        let linked = Linked::new(&kg, question, &[node]);
        let mut session = Session::new(&kg, question, linked, &[], options).unwrap();
        let call = parse_call("get_relation(hub)").unwrap();
        session.run(&call).map(|_| ())
    };
    assert_eq!(listed(Duration::from_secs(60)), Ok(()));
    // The list has been ranked before, so this is the ranking itself and not its preparation.
    let limit = Duration::from_micros(50);
    assert_eq!(listed(limit), Err(ToolError::Deadline { limit }));

    let cancel = Cancel::default();
    cancel.cancel();
    let asked = |error: RankError| error == RankError::Cancelled(Cancelled::Asked);
    let ranker = Arc::new(LexicalRanker::default());
    let chosen = choose(&kg, question, &[node], &[0.0], ranker.as_ref(), &cancel);
    assert!(asked(chosen.unwrap_err()));
    let pairs: Vec<(RelId, _)> = kg.relations().iter().map(|&r| (r, node)).collect();
    for similarity in [
        &StemSimilarity as &dyn Similarity,
        &ByRanker(Arc::clone(&ranker) as Arc<dyn Ranker>),
    ] {
        let scores = similarity.scores(&kg, question, &pairs, &cancel);
        assert!(asked(scores.unwrap_err()));
        let options = ObserveOptions::default();
        let seen = observe(&kg, &[&[node]], question, similarity, &options, &cancel);
        assert!(asked(seen.unwrap_err()));
    }
}
