//! Neighbourhoods compared with brute force, fan-out, and writing and reading ODA's layouts.

use std::collections::BTreeSet;
use std::path::Path;

use common::fs::FsError;
use kg::subgraph::{
    Direction, Neighbourhood, OdaKind, OdaReader, Reached, Subgraph, SubgraphOptions, write_files,
};
use kg::term::{Literal, NodeId, RDFS_LABEL, RelId, Term};
use kg::{FrozenKg, Kg, LoadOptions};
use proptest::prelude::*;

fn wikidata(name: &str) -> Term {
    let space = if name.starts_with('P') {
        "prop/direct"
    } else {
        "entity"
    };
    Term::Iri(format!("http://www.wikidata.org/{space}/{name}"))
}

fn kg(edges: &[(u8, u8, u8)]) -> FrozenKg {
    let mut triples: Vec<[Term; 3]> = Vec::new();
    for &(s, r, o) in edges {
        // Every seventh object is a literal.
        let tail = if o % 7 == 6 {
            Term::Literal(Literal::plain(format!("value {o}")))
        } else {
            wikidata(&format!("Q{o}"))
        };
        triples.push([wikidata(&format!("Q{s}")), wikidata(&format!("P{r}")), tail]);
        triples.push([
            wikidata(&format!("Q{s}")),
            Term::Iri(RDFS_LABEL.to_owned()),
            Term::Literal(Literal::plain(format!("Thing {s}"))),
        ]);
    }
    FrozenKg::from_triples(triples)
}

type Triple = (NodeId, RelId, NodeId);

fn around(kg: &FrozenKg, entity: NodeId, options: &SubgraphOptions) -> Vec<Reached> {
    Neighbourhood::walk(kg, entity, options).triples(kg, options, options.hops)
}

/// Every triple with an end at most `hops - 1` steps away, by repeated scans of all triples.
fn closure(kg: &FrozenKg, start: NodeId, hops: u32, direction: Direction) -> BTreeSet<Triple> {
    let hidden = &kg.schema().hidden;
    let all: Vec<Triple> = kg
        .triples()
        .filter(|(_, r, _)| !hidden.contains(r))
        .collect();
    let (mut near, mut found) = (BTreeSet::from([start]), BTreeSet::new());
    for _ in 0..hops {
        let mut next = near.clone();
        for &(s, r, o) in &all {
            let literal = |node: NodeId| kg.term(node).as_literal().is_some();
            if direction != Direction::In && near.contains(&s) {
                found.insert((s, r, o));
                next.extend(Some(o).filter(|&o| !literal(o)));
            }
            if direction != Direction::Out && near.contains(&o) {
                found.insert((s, r, o));
                next.insert(s);
            }
        }
        near = next;
    }
    found
}

proptest! {
    #[test]
    fn neighbourhoods_match_brute_force(edges in prop::collection::vec((0u8..30, 0u8..4, 0u8..30), 1..80), start in 0u8..30, hops in 1u32..4) {
        let kg = kg(&edges);
        let Some(start) = kg.find(&wikidata(&format!("Q{start}"))) else { return Ok(()) };
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let reached = around(&kg, start, &SubgraphOptions { hops, fan_out: None, direction });
            let triples: BTreeSet<Triple> = reached.iter().map(|one| one.triple).collect();
            prop_assert_eq!(triples.len(), reached.len(), "each once");
            prop_assert_eq!(&triples, &closure(&kg, start, hops, direction));
            // A smaller neighbourhood is a prefix of a larger one.
            for fewer in 1..hops {
                let inner: BTreeSet<Triple> = reached.iter().filter(|one| one.hop <= fewer).map(|one| one.triple).collect();
                prop_assert_eq!(inner, closure(&kg, start, fewer, direction));
            }
            let walked = Neighbourhood::walk(&kg, start, &SubgraphOptions { hops, fan_out: None, direction });
            let record = walked.to_record();
            prop_assert_eq!(Neighbourhood::from_record(&record[..record.len() - 1]), None, "a record that was cut off");
            prop_assert_eq!(Neighbourhood::from_record(&record), Some(walked));
        }
    }
}

#[test]
fn a_cap_keeps_a_triple_of_every_relation() {
    let edges: Vec<(u8, u8, u8)> = (0..20)
        .map(|o| (100, 0, o * 7))
        .chain([(100, 1, 200), (100, 2, 201), (100, 2, 203)])
        .collect();
    let kg = kg(&edges);
    let start = kg.find(&wikidata("Q100")).unwrap();
    let capped = |cap| {
        around(
            &kg,
            start,
            &SubgraphOptions {
                hops: 1,
                fan_out: Some(cap),
                direction: Direction::Both,
            },
        )
    };
    let relations = |cap| {
        capped(cap)
            .iter()
            .map(|one| one.triple.1)
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!((capped(4).len(), relations(4), relations(3)), (4, 3, 3));
    assert_eq!(capped(1000).len(), 23);
    assert_eq!(capped(4), capped(4));
}

/// Labels and triples of a file in ODA's layout.
fn read(path: &std::path::Path) -> (OdaKind, BTreeSet<[Term; 3]>) {
    let mut triples = BTreeSet::new();
    let kind = OdaReader::new(|triple: [Term; 3]| {
        triples.insert(triple);
        Ok::<(), String>(())
    })
    .read(std::fs::File::open(path).unwrap())
    .unwrap();
    (kind, triples)
}

/// Rules B.5: ODA's layouts.
#[test]
fn every_layout_holds_the_same_triples() {
    let dir = tempfile::tempdir().unwrap();
    let edges: Vec<(u8, u8, u8)> = (0..60)
        .map(|i| (i % 23, i % 3, (i % 51 * 5) % 29))
        .collect();
    let kg = kg(&edges);
    let options = SubgraphOptions {
        hops: 3,
        fan_out: None,
        direction: Direction::Both,
    };
    let entities = ["Q3", "Q9"].map(|name| kg.find(&wikidata(name)).unwrap());
    let subgraph = Subgraph::new(
        &kg,
        options,
        entities
            .iter()
            .map(|&entity| Neighbourhood::walk(&kg, entity, &options))
            .collect(),
    );
    let terms = |(s, r, o): Triple| [s, r.node(), o].map(|node| kg.term(node));
    let expected: BTreeSet<[Term; 3]> = subgraph.triples().iter().copied().map(terms).collect();
    assert!(expected.len() > 20);

    let write = |out: &Path| write_files(&subgraph, out, || Ok::<_, FsError>(())).unwrap();
    let file = dir.path().join("around.json");
    let written = write(&file);
    let ordinary = std::fs::File::create(dir.path().join("ordinary"))
        .unwrap()
        .metadata()
        .unwrap()
        .permissions();
    for (path, _) in &written {
        assert_eq!(
            std::fs::metadata(path).unwrap().permissions(),
            ordinary,
            "{}",
            path.display()
        );
    }
    assert_eq!(written[1].0, dir.path().join("around.labels.json"));
    assert_eq!(read(&file), (OdaKind::Triples, expected.clone()));
    let (kind, labels) = read(&written[1].0);
    assert!(
        kind == OdaKind::Labels
            && labels
                .iter()
                .any(|[_, _, label]| *label == Term::Literal(Literal::plain("Thing 3")))
    );

    let folder = dir.path().join("around");
    write(&folder);
    write(&folder);
    let parts: BTreeSet<[Term; 3]> = ["2-hop.json", "3-hop-only.json"]
        .iter()
        .flat_map(|name| read(&folder.join(name)).1)
        .collect();
    assert_eq!(parts, expected, "the third hop by node adds up to the same");
    for (name, hops) in [("2-hop.json", 2), ("around.json", 3)] {
        let text = std::fs::read_to_string(if hops == 2 {
            folder.join(name)
        } else {
            dir.path().join(name)
        })
        .unwrap();
        let lists: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, entity) in ["Q3", "Q9"].into_iter().zip(entities) {
            let listed: BTreeSet<[String; 3]> =
                serde_json::from_value(lists[name].clone()).unwrap();
            assert_eq!(
                (listed.len(), lists[name].as_array().unwrap().len()),
                (
                    closure(&kg, entity, hops, options.direction).len(),
                    listed.len()
                )
            );
        }
    }
    let third: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("3-hop-only.json")).unwrap()).unwrap();
    for (name, listed) in third.as_object().unwrap() {
        let node = kg.find(&wikidata(name)).unwrap();
        assert_eq!(
            listed.as_array().unwrap().len(),
            closure(&kg, node, 1, options.direction).len(),
            "{name} with all its triples"
        );
    }

    let nt = dir.path().join("around.nt");
    write(&nt);
    check_statements(&nt, &expected);
}

/// A graph file holds exactly these triples, and labels.
fn check_statements(file: &Path, expected: &BTreeSet<[Term; 3]>) {
    let back = FrozenKg::load(&[file.to_owned()], &LoadOptions::default(), &|_| {}).unwrap();
    let hidden = &back.schema().hidden;
    let triples: BTreeSet<[Term; 3]> = back
        .triples()
        .filter(|(_, r, _)| !hidden.contains(r))
        .map(|(s, r, o)| [s, r.node(), o].map(|node| back.term(node)))
        .collect();
    assert_eq!(triples, *expected);
    assert!(
        back.find(&wikidata("Q3"))
            .and_then(|node| back.label(node))
            .is_some(),
        "labels come along"
    );
}

#[test]
fn names_in_published_files_are_parsed() {
    let json = r#"{"m.02x": [["m.02x", "people.person.place_of_birth", "m.0d_1"], ["m.02x", "people.person.height", "1.83"]],
        "Q42": [["Q42", "P69", "Q691283"], ["Q42", "P569", "1952-03-11T00:00:00Z"], ["Q42", "note", "see e.g. this"], ["Q5", "P31", 7]]}"#;
    let mut triples = Vec::new();
    let keep = |triple: [Term; 3]| {
        triples.push(triple.map(|term| term.to_string()).join(" "));
        Ok::<(), String>(())
    };
    assert_eq!(
        OdaReader::new(keep).read(json.as_bytes()).unwrap(),
        OdaKind::Triples
    );
    let fb = "http://rdf.freebase.com/ns";
    assert_eq!(
        triples[0],
        format!("<{fb}/m.02x> <{fb}/people.person.place_of_birth> <{fb}/m.0d_1>")
    );
    assert!(
        triples[1].ends_with("\"1.83\"") && triples[3].ends_with("\"1952-03-11T00:00:00Z\""),
        "{triples:?}"
    );
    assert_eq!(
        triples[2],
        "<http://www.wikidata.org/entity/Q42> <http://www.wikidata.org/prop/direct/P69> <http://www.wikidata.org/entity/Q691283>"
    );
    assert!(
        triples[4].contains("<urn:kgagent:note>") && triples[4].ends_with("\"see e.g. this\""),
        "{}",
        triples[4]
    );
    for (wrong, says) in [
        ("{\"Q1\": [[\"Q1\", \"P1\"]]}", "three texts"),
        ("{\"Q1\": [],\n \"Q2\": \"label\"}", "another layout"),
        ("[1, 2]", "an object of entities"),
        ("{}", "empty"),
        ("{\"Q1\": [", "EOF"),
    ] {
        let error = OdaReader::new(|_| Ok::<(), String>(()))
            .read(wrong.as_bytes())
            .unwrap_err();
        assert!(error.to_string().contains(says), "{wrong}: {error}");
    }
    assert_eq!(
        OdaReader::new(|_| Ok::<(), String>(()))
            .read("{\"Q1\": [],\n \"Q2\": 3}".as_bytes())
            .unwrap_err()
            .line,
        2
    );
}
