//! Observation, GetPath and the path network against simple reference implementations on random
//! graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::cancel::Cancel;
use kg::term::{Literal, NodeId, RelId, Term};
use kg::{FrozenKg, Kg};
use proptest::prelude::*;
use toolbox::observe::{
    ByRanker, Hop, ObserveOptions, ObservedTriple, PathLink, PathNetwork, PathOptions, Similarity,
    StemSimilarity, grouped, observe, paths,
};
use toolbox::rank::LexicalRanker;

const WORDS: [&str; 8] = [
    "river", "city", "capital", "film", "birth", "of", "lead", "museum",
];

/// A graph from numbers: nodes below 12 are entities with words as label, the rest are literals.
fn graph(edges: &[(u8, u8, u8)]) -> FrozenKg {
    let word = |i: u8| WORDS[usize::from(i) % WORDS.len()];
    let iri = |kind: &str, i: u8| Term::Iri(format!("http://x.example/{kind}.{}{i}", word(i)));
    let node = |i: u8| match i {
        0..12 => iri("e", i),
        _ => Term::Literal(Literal::plain(format!("{} {i}", word(i)))),
    };
    let label = Term::Iri("http://www.w3.org/2000/01/rdf-schema#label".to_owned());
    let mut triples: Vec<[Term; 3]> = edges
        .iter()
        .map(|&(s, r, o)| [node(s % 12), iri("r", r % 4), node(o % 16)])
        .collect();
    triples.extend((0..12).map(|i| {
        [
            node(i),
            label.clone(),
            Term::Literal(Literal::plain(format!("the {} {}", word(i), word(i + 3)))),
        ]
    }));
    FrozenKg::from_triples(triples)
}

fn edges() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    proptest::collection::vec((0..12u8, 0..4u8, 0..16u8), 1..60)
}

fn options() -> impl Strategy<Value = ObserveOptions> {
    (
        1..4usize,
        0..9usize,
        0..11u8,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(hops, kept, share, both, joint, literals)| ObserveOptions {
                hops,
                kept,
                expanded: f64::from(share) / 10.0,
                both_directions: both,
                joint,
                literals_take_places: literals,
                without: Vec::new(),
            },
        )
}

fn visible(kg: &FrozenKg, without: &[RelId]) -> Vec<ObservedTriple> {
    let hidden = |r: RelId| kg.schema().hidden.contains(&r) || without.contains(&r);
    kg.triples().filter(|&(_, r, _)| !hidden(r)).collect()
}

/// Algorithm 1 literally: every hop scans the whole graph and sorts everything.
fn reference(
    kg: &FrozenKg,
    tasks: &[Vec<NodeId>],
    question: &str,
    similarity: &dyn Similarity,
    o: &ObserveOptions,
) -> Vec<(ObservedTriple, bool, usize, usize)> {
    let tasks = if o.joint {
        vec![tasks.concat()]
    } else {
        tasks.to_vec()
    };
    let mut out: Vec<(ObservedTriple, bool, usize, usize)> = Vec::new();
    for (task, from) in tasks.iter().enumerate() {
        let mut expanded: BTreeSet<NodeId> = from.iter().copied().collect();
        let mut frontier = expanded.clone();
        for hop in 1..=o.hops {
            // The best score and direction of each triple at the frontier.
            let mut at: BTreeMap<ObservedTriple, (f32, bool)> = BTreeMap::new();
            for (s, r, t) in visible(kg, &o.without) {
                let ways = [
                    (frontier.contains(&s), t, true),
                    (o.both_directions && frontier.contains(&t), s, false),
                ];
                for (_, far, forward) in ways.into_iter().filter(|way| way.0) {
                    let score = similarity
                        .scores(kg, question, &[(r, far)], &Cancel::default())
                        .unwrap()[0];
                    let best = at.entry((s, r, t)).or_insert((score, forward));
                    if score > best.0 {
                        *best = (score, forward);
                    }
                }
            }
            let mut top: Vec<(ObservedTriple, (f32, bool))> = at.into_iter().collect();
            top.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.0.cmp(&b.0)));
            top.truncate(o.kept);
            let far = |(triple, (_, forward)): &(ObservedTriple, (f32, bool))| {
                if *forward { triple.2 } else { triple.0 }
            };
            let literal = |node: NodeId| matches!(kg.term(node), Term::Literal(_));
            let places = ((top.len() as f64 * o.expanded).ceil() as usize).max(1);
            let counted: Vec<NodeId> = top
                .iter()
                .map(far)
                .filter(|&node| o.literals_take_places || !literal(node))
                .take(places)
                .collect();
            frontier = counted
                .into_iter()
                .filter(|&node| !literal(node) && expanded.insert(node))
                .collect();
            for (triple, (_, forward)) in top {
                if !out.iter().any(|known| known.0 == triple) {
                    out.push((triple, forward, hop, task));
                }
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn observations_equal_the_reference(edges in edges(), options in options(), tasks in proptest::collection::vec(0..12u8, 1..4), without in 0..5u8) {
        let kg = graph(&edges);
        let node = |i: u8| kg.by_label(&format!("the {} {}", WORDS[usize::from(i) % 8], WORDS[usize::from(i + 3) % 8]));
        let tasks: Vec<Vec<NodeId>> = tasks.into_iter().map(node).collect();
        prop_assert!(tasks.iter().all(|task| !task.is_empty()));
        let without: Vec<RelId> = kg.relations().iter().copied().nth(usize::from(without)).into_iter().collect();
        let options = ObserveOptions { without, ..options };
        let question = "which city leads the museum by the river of its birth";
        let by_ranker = ByRanker(Arc::new(LexicalRanker::default()));
        for similarity in [&StemSimilarity as &dyn Similarity, &by_ranker] {
            let slices: Vec<&[NodeId]> = tasks.iter().map(Vec::as_slice).collect();
            let ours: Vec<_> = observe(&kg, &slices, question, similarity, &options, &Cancel::default())
                .unwrap()
                .into_iter()
                .map(|one| (one.triple, one.forward, one.hop, one.task))
                .collect();
            prop_assert_eq!(ours, reference(&kg, &tasks, question, similarity, &options));
        }
    }

    #[test]
    fn groups_hold_every_far_end(edges in edges(), options in options(), task in 0..12u8) {
        let kg = graph(&edges);
        let from: Vec<NodeId> = kg.by_name(&kg.name(NodeId(u32::from(task)))).into_iter().collect();
        let observed = observe(&kg, &[&from], "city of birth", &StemSimilarity, &options, &Cancel::default()).unwrap();
        let groups = grouped(&observed);
        let ends = |hop: usize, r: RelId, forward: bool| -> BTreeSet<NodeId> {
            observed.iter().filter(|o| (o.hop, o.triple.1, o.forward) == (hop, r, forward)).map(toolbox::observe::Observed::far).collect()
        };
        for group in &groups {
            prop_assert_eq!(group.far.iter().copied().collect::<BTreeSet<_>>(), ends(group.hop, group.relation, group.forward));
        }
        prop_assert_eq!(groups.is_empty(), observed.is_empty());
    }

    #[test]
    fn paths_are_all_simple_paths(edges in edges(), a in 0..16u32, b in 0..16u32, most in 1..4usize, without in 0..5usize) {
        let kg = graph(&edges);
        let nodes: Vec<NodeId> = kg.triples().flat_map(|(s, _, o)| [s, o]).collect::<BTreeSet<_>>().into_iter().collect();
        let (a, b) = (nodes[a as usize % nodes.len()], nodes[b as usize % nodes.len()]);
        let without: Vec<RelId> = kg.relations().iter().copied().nth(without).into_iter().collect();
        let triples = visible(&kg, &without);
        // Every sequence of directed triples, one edge longer each time.
        let walked = triples.iter().flat_map(|&triple| [Hop { triple, forward: true }, Hop { triple, forward: false }]);
        let walked: Vec<Hop> = walked.collect();
        let mut all: Vec<Vec<Hop>> = Vec::new();
        let mut open: Vec<Vec<Hop>> = vec![Vec::new()];
        for _ in 0..most {
            let mut longer = Vec::new();
            for path in &open {
                let here = path.last().map_or(a, PathLink::far);
                for hop in walked.iter().filter(|hop| hop.near() == here) {
                    let met = path.iter().map(PathLink::near).chain([here]).any(|node| node == hop.far());
                    if !met {
                        longer.push(path.iter().copied().chain([*hop]).collect::<Vec<Hop>>());
                    }
                }
            }
            let (done, on): (Vec<_>, Vec<_>) = longer.into_iter().partition(|path| path.last().unwrap().far() == b);
            let mut done = done;
            done.sort_by_key(|path| path.iter().map(|hop| hop.triple).collect::<Vec<_>>());
            all.extend(done);
            open = on;
        }
        if a == b {
            all.clear();
        }
        let found = paths(&kg, a, b, &PathOptions { edges: most, paths: 10_000, without: without.clone(), ..PathOptions::default() });
        prop_assert_eq!(&found.paths, &all);
        prop_assert!(!found.cut);
        let capped = paths(&kg, a, b, &PathOptions { edges: most, paths: 3, without, ..PathOptions::default() });
        prop_assert_eq!(&capped.paths[..], &all[..all.len().min(3)]);
        prop_assert_eq!(capped.cut, all.len() > 3);
    }

    #[test]
    fn a_link_goes_to_the_first_path_that_ends_where_it_starts(links in proptest::collection::vec((0..5u32, 0..5u32), 0..20)) {
        let hop = |&(s, o): &(u32, u32)| Hop { triple: (NodeId(s), RelId(9), NodeId(o)), forward: true };
        let mut network = PathNetwork::default();
        let mut plain: Vec<Vec<(u32, u32)>> = Vec::new();
        for link in &links {
            let added = network.add(hop(link));
            if plain.iter().flatten().any(|known| known == link) {
                prop_assert_eq!(added, None);
                continue;
            }
            let place = plain.iter().position(|path| path.last().unwrap().1 == link.0);
            match place {
                Some(at) => plain[at].push(*link),
                None => plain.push(vec![*link]),
            }
            prop_assert_eq!(added, Some(place.unwrap_or(plain.len() - 1)));
        }
        let ours: Vec<Vec<(u32, u32)>> =
            network.paths().iter().map(|path| path.iter().map(|hop| (hop.triple.0.0, hop.triple.2.0)).collect()).collect();
        prop_assert_eq!(&ours, &plain);
        // Every link occurs once, after a link that leads to it or at the start of a path.
        let distinct: BTreeSet<_> = links.iter().collect();
        prop_assert_eq!(plain.iter().map(Vec::len).sum::<usize>(), distinct.len());
        for path in &plain {
            prop_assert!(path.windows(2).all(|pair| pair[0].1 == pair[1].0));
        }
    }
}

/// Rules B.3: the path network.
#[test]
fn the_order_of_reflected_triples_decides_the_paths() {
    let hop = |s: u32, o: u32| Hop {
        triple: (NodeId(s), RelId(9), NodeId(o)),
        forward: true,
    };
    let made = |hops: &[Hop]| {
        let mut network = PathNetwork::default();
        for &hop in hops {
            network.add(hop);
        }
        network
            .paths()
            .iter()
            .map(|path| path.iter().map(|hop| hop.far().0).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    // Two triples from the same end: the second does not extend the path of the first.
    assert_eq!(
        made(&[hop(1, 2), hop(2, 3), hop(2, 4)]),
        [vec![2, 3], vec![4]]
    );
    assert_eq!(
        made(&[hop(1, 2), hop(2, 4), hop(2, 3)]),
        [vec![2, 4], vec![3]]
    );
    // Two paths with the same end: the older one is extended.
    assert_eq!(
        made(&[hop(1, 3), hop(2, 3), hop(3, 4)]),
        [vec![3, 4], vec![3]]
    );
    // In reverse order no triple extends a path.
    assert_eq!(
        made(&[hop(3, 4), hop(2, 3), hop(1, 2)]),
        [vec![4], vec![3], vec![2]]
    );
    // A triple followed backwards starts at its tail.
    let back = Hop {
        triple: (NodeId(3), RelId(9), NodeId(2)),
        forward: false,
    };
    assert_eq!(made(&[hop(1, 2), back]), [vec![2, 3]]);
}

/// Rules B.1: observation.
#[test]
fn an_entity_named_twice_is_observed_once() {
    let kg = graph(&[(0, 0, 1), (0, 1, 2), (0, 2, 3)]);
    let from = [kg
        .find(&Term::Iri("http://x.example/e.river0".to_owned()))
        .unwrap(); 3];
    let options = ObserveOptions {
        hops: 1,
        kept: 2,
        joint: true,
        ..ObserveOptions::default()
    };
    let observed = observe(
        &kg,
        &[&from[..1], &from],
        "city of birth",
        &StemSimilarity,
        &options,
        &Cancel::default(),
    )
    .unwrap();
    assert_eq!(observed.len(), 2, "{observed:?}");
}

/// Rules B.2: GetPath.
#[test]
fn a_search_between_hubs_stops_at_its_limit() {
    let iri = |i: usize| Term::Iri(format!("http://x.example/n{i}"));
    let triples: Vec<_> = (0..400)
        .flat_map(|i| {
            [
                [iri(1000), iri(0), iri(2 + i)],
                [iri(2 + i), iri(1), iri(1001)],
            ]
        })
        .collect();
    let kg = FrozenKg::from_triples(triples);
    let [a, b] = [1000, 1001].map(|i| kg.find(&iri(i)).unwrap());
    let found = paths(&kg, a, b, &PathOptions::default());
    assert_eq!((found.paths.len(), found.cut), (100, true));
    let found = paths(
        &kg,
        a,
        b,
        &PathOptions {
            visits: 50,
            ..PathOptions::default()
        },
    );
    assert!(found.cut && found.paths.len() < 100);
}
