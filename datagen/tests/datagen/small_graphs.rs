//! Graphs made from the queries of questions.

use std::collections::BTreeMap;
use std::fs;

use datagen::question::{GoldQuery, GoldQuestion, Topic};
use datagen::small_graphs::small_graphs;
use datagen::verify::parsed;
use datagen::word_pairs::WordHints;
use kg::{Kg, QueryAnswer, QueryLimits};
use toolbox::exec::ExcludeWhen;

fn question(id: &str, wording: &str, topics: &[(&str, &str)], sparql: &str) -> GoldQuestion {
    GoldQuestion {
        id: id.to_owned(),
        source: "test".to_owned(),
        question: wording.to_owned(),
        query: GoldQuery::Text(sparql.to_owned()),
        topics: topics
            .iter()
            .map(|(name, label)| Topic {
                name: (*name).to_owned(),
                label: (*label).to_owned(),
            })
            .collect(),
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Never,
    }
}

/// Thirty questions for relations of their own, two with two hops, one for a number.
fn questions() -> Vec<GoldQuestion> {
    let mut all: Vec<GoldQuestion> = (0..30)
        .map(|i| {
            let sparql = format!("SELECT ?x {{ <http://e/q{i}> <http://e/p/rel{i}> ?x }}");
            let name = format!("http://e/q{i}");
            question(
                &format!("one{i}"),
                &format!("what of Place{i}"),
                &[(&name, &format!("Place{i}"))],
                &sparql,
            )
        })
        .collect();
    for i in 0..2 {
        let sparql = format!(
            "SELECT ?x {{ <http://e/h{i}> <http://e/a.b.first> ?m . ?m <http://e/a.b.second> ?x }}"
        );
        let name = format!("http://e/h{i}");
        all.push(question(
            &format!("two{i}"),
            "what of Hill",
            &[(&name, "Hill")],
            &sparql,
        ));
    }
    let sparql = "SELECT ?x { ?x <http://e/p/size> ?n FILTER (?n > 40) }";
    all.push(question("size", "which are larger than 40", &[], sparql));
    all
}

#[test]
fn every_query_has_an_answer_and_every_entity_other_relations() {
    let graphs = small_graphs(&questions(), &WordHints::default(), 3);
    assert_eq!(graphs.len(), 1);
    let small = &graphs[0];
    assert_eq!(small.questions.len(), 33);
    for one in &small.questions {
        let query = parsed(one).unwrap();
        match small.graph.query(&query, QueryLimits::default()).unwrap() {
            QueryAnswer::Rows { rows, .. } => assert!(!rows.is_empty(), "{}", one.id),
            QueryAnswer::Bool(_) => unreachable!("no question of these is yes or no"),
        }
        for topic in &one.topics {
            let node = small.graph.by_name(&topic.name).unwrap();
            assert_eq!(
                small.graph.label(node).as_deref(),
                Some(topic.label.as_str())
            );
            let around =
                small.graph.out_relations(node).len() + small.graph.in_relations(node).len();
            assert!(around >= 4, "{} has {around} relations", topic.name);
        }
    }
}

#[test]
fn the_same_questions_and_seed_give_the_same_graph() {
    let hash = |seed| {
        let graphs = small_graphs(&questions(), &WordHints::default(), seed);
        graphs[0].graph.content_hash().to_owned()
    };
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}

#[test]
fn questions_that_do_not_name_their_entities_are_left_out() {
    let sparql = "SELECT ?x { <http://e/far> <http://e/p/rel0> ?x }";
    let mut all = questions();
    all.push(question("unnamed", "what is there", &[], sparql));
    all.push(question(
        "skipped",
        "what of Far",
        &[("http://e/far", "Far")],
        sparql,
    ));
    let dir = tempfile::tempdir().unwrap();
    let (skip, mentions) = (dir.path().join("skip"), dir.path().join("mentions"));
    fs::write(&skip, "skipped\n").unwrap();
    let mut hints = WordHints::default();
    hints.read_skipped(&skip).unwrap();
    let ids = |hints: &WordHints| -> BTreeMap<String, usize> {
        let graphs = small_graphs(&all, hints, 1);
        let questions = graphs.iter().flat_map(|small| &small.questions);
        questions
            .map(|one| (one.id.clone(), one.topics.len()))
            .collect()
    };
    let found = ids(&hints);
    assert!(!found.contains_key("unnamed") && !found.contains_key("skipped"));
    assert_eq!(found.len(), 33);
    // A mention from a separate file is a topic.
    fs::write(
        &mentions,
        "{\"id\":\"unnamed\",\"topic\":{\"http://e/far\":\"there\"}}\n",
    )
    .unwrap();
    hints.read_mentions(&mentions).unwrap();
    assert_eq!(ids(&hints).get("unnamed"), Some(&1));
}
