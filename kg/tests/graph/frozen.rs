//! The file of a frozen graph: independent of how it was built, valid or rejected, and harmless
//! whatever its bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use kg::term::{Literal, NodeId, RelId, Term};
use kg::{
    FolderError, FrozenKg, GraphFolder, Kg, LoadOptions, LoadProgress, QueryLimits, parse_query,
};
use proptest::prelude::*;

fn load(dir: &Path, files: &[PathBuf], options: &LoadOptions) -> Result<FrozenKg, FolderError> {
    GraphFolder::load(dir, files, options, &|_| {}).map(|(kg, _)| kg)
}

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Cases that write folders are slow, so the default is `usual` unless `PROPTEST_CASES` is set.
fn cases(usual: u32) -> ProptestConfig {
    if std::env::var_os("PROPTEST_CASES").is_some() {
        ProptestConfig::default()
    } else {
        ProptestConfig::with_cases(usual)
    }
}

/// Lines of N-Quads with IRIs, blank nodes, literals of all kinds and named graphs.
fn quads() -> impl Strategy<Value = Vec<String>> {
    let node = prop_oneof![
        4 => "<http://t\\.test/[a-c]{1,3}>",
        1 => "<http://www\\.w3\\.org/2002/07/owl#[ab]>",
        1 => "_:[xy][0-9]",
    ];
    let relation = prop_oneof![
        4 => "<http://t\\.test/r[0-9]>",
        1 => Just("<http://www.w3.org/2000/01/rdf-schema#label>".to_owned()),
        1 => Just("<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>".to_owned()),
    ];
    let literal = prop_oneof![
        "\"[a-cé ]{0,4}\"",
        "\"[a-c]{1,2}\"@(en|de|en-GB)",
        "\"[0-9]{1,3}\"\\^\\^<http://www\\.w3\\.org/2001/XMLSchema#integer>"
    ];
    let object = prop_oneof![2 => node.clone(), 1 => literal];
    let graph = prop_oneof![2 => Just(String::new()), 1 => "<http://g\\.test/[ab]>", 1 => "_:[gh]"];
    proptest::collection::vec(
        (node, relation, object, graph).prop_map(|(s, p, o, g)| format!("{s} {p} {o} {g} .")),
        0..60,
    )
}

proptest! {
    #![proptest_config(cases(48))]

    /// The order of lines, the number of threads and the memory limit do not change a byte.
    #[test]
    fn equal_graphs_are_equal_files(lines in quads(), turn in 0usize..60) {
        let dir = tempfile::tempdir().unwrap();
        let mut turned = lines.clone();
        turned.rotate_left(turn % lines.len().max(1));
        turned.reverse();
        turned.extend(lines.first().cloned());
        // A single file, so that the blank nodes are equal.
        let a = write(dir.path(), "a.nq", &lines.join("\n"));
        let b = write(dir.path(), "b.nq", &turned.join("\n"));
        let one = load(&dir.path().join("one"), &[a], &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap();
        load(&dir.path().join("two"), &[b], &LoadOptions { threads: 3, memory: 1, ..LoadOptions::default() }).unwrap();
        let bytes = |name: &str| fs::read(dir.path().join(name).join("graph.kgf")).unwrap();
        prop_assert!(bytes("one") == bytes("two"));
        let back = GraphFolder::verify(&dir.path().join("two")).unwrap();
        prop_assert_eq!(back.content_hash(), one.content_hash());
        // A graph built from the triples is equal.
        let same = FrozenKg::from_triples(one.triples().map(|(s, r, o)| [one.term(s), one.term(r.node()), one.term(o)]));
        prop_assert_eq!(same.content_hash(), one.content_hash());
    }

    /// Every index finds exactly the triples.
    #[test]
    fn all_sides_agree(lines in quads()) {
        let dir = tempfile::tempdir().unwrap();
        let kg = FrozenKg::load(&[write(dir.path(), "a.nq", &lines.join("\n"))], &LoadOptions::default(), &|_| {}).unwrap();
        let all: BTreeSet<(NodeId, RelId, NodeId)> = kg.triples().collect();
        prop_assert_eq!(all.len(), kg.len());
        let terms = u32::try_from(kg.term_count()).unwrap();
        let by_relation: BTreeSet<_> = kg.relations().iter().flat_map(|&r| kg.pairs(r).map(move |(s, o)| (s, r, o))).collect();
        prop_assert_eq!(&by_relation, &all);
        let by_object: BTreeSet<_> = (0..terms).flat_map(|o| kg.incoming(NodeId(o)).map(move |(r, s)| (s, r, NodeId(o)))).collect();
        prop_assert_eq!(&by_object, &all);
        let by_subject: BTreeSet<_> = (0..terms).flat_map(|s| kg.outgoing(NodeId(s)).map(move |(r, o)| (NodeId(s), r, o))).collect();
        prop_assert_eq!(&by_subject, &all);
        let nodes: Vec<NodeId> = (0..terms).map(NodeId).collect();
        for set in [&nodes[..], &nodes[..nodes.len() / 2], &[]] {
            let first = |relations: &dyn Fn(NodeId) -> Vec<RelId>| {
                let mut first = std::collections::BTreeMap::new();
                for &node in set {
                    for relation in relations(node) {
                        first.entry(relation).or_insert(node);
                    }
                }
                first.into_iter().collect::<Vec<_>>()
            };
            let [out, incoming] = kg.relations_of(set);
            prop_assert_eq!(out, first(&|n| kg.out_relations(n)));
            prop_assert_eq!(incoming, first(&|n| kg.in_relations(n)));
        }
        for &node in &nodes {
            prop_assert_eq!(kg.degree(node), all.iter().map(|t| usize::from(t.0 == node) + usize::from(t.2 == node)).sum::<usize>());
            prop_assert_eq!(kg.find(&kg.term(node)), Some(node));
        }
    }

    /// A restriction to named graphs contains exactly their triples.
    #[test]
    fn named_graphs_are_a_filter(lines in quads()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kg");
        let kg = load(&path, &[write(dir.path(), "a.nq", &lines.join("\n"))], &LoadOptions::default()).unwrap();
        let graph_of = |line: &str| line.trim_end_matches(" .").rsplit(' ').next().unwrap().trim_matches(['<', '>']).replace("_:", "_:f0_");
        let names: BTreeSet<String> = lines.iter().map(|line| graph_of(line)).filter(|name| !name.is_empty()).collect();
        let listed: BTreeSet<String> = kg.graphs().iter().map(|graph| graph.name.clone()).filter(|name| !name.is_empty()).collect();
        prop_assert_eq!(&names, &listed);
        for graph in kg.graphs() {
            let part = GraphFolder::open_graphs(&path, std::slice::from_ref(&graph.name)).unwrap();
            let want: BTreeSet<String> = lines.iter().filter(|line| graph_of(line) == graph.name).map(|line| line.rsplitn(3, ' ').nth(2).unwrap().to_owned()).collect();
            let mut text = Vec::new();
            part.write_ntriples(&mut text).unwrap();
            let got = String::from_utf8(text).unwrap();
            prop_assert_eq!(part.len(), graph.triples);
            prop_assert_eq!(got.lines().count(), want.len(), "{}", got);
        }
        let everything: Vec<String> = kg.graphs().iter().map(|graph| graph.name.clone()).collect();
        if !everything.is_empty() {
            let all = GraphFolder::open_graphs(&path, &everything).unwrap();
            prop_assert_eq!(all.content_hash(), kg.content_hash());
        }
        let missing = GraphFolder::open_graphs(&path, &["http://no.test/".to_owned()]);
        let refused = matches!(missing, Err(FolderError::NoSuchGraph { .. }));
        prop_assert!(refused);
    }

    /// Any term is found, at every position of a block.
    #[test]
    fn the_dictionary_holds_any_text(texts in proptest::collection::btree_set("\\PC{0,12}|a{0,40}b?", 1..90), lang in "[a-z]{0,2}") {
        let lang = Some(lang).filter(|lang| !lang.is_empty());
        let literal = |text: &String| Term::Literal(Literal { lexical: text.clone(), datatype: None, lang: lang.clone() });
        let kg = FrozenKg::from_triples(texts.iter().map(|t| [Term::Iri(format!("x:{t}")), Term::Iri("x:r".to_owned()), literal(t)]));
        for id in (0..u32::try_from(kg.term_count()).unwrap()).map(NodeId) {
            prop_assert_eq!(kg.find(&kg.term(id)), Some(id));
        }
        for text in &texts {
            prop_assert!(kg.find(&literal(text)).is_some());
            prop_assert_eq!(kg.find(&literal(&format!("{text}\u{10ffff}?"))), None);
        }
        prop_assert_eq!(kg.term(NodeId(u32::MAX)), Term::Iri(String::new()));
    }
}

const SMALL: &str = "<http://t.test/a> <http://t.test/r> <http://t.test/b> <http://t.test/g> .\n\
    <http://t.test/a> <http://www.w3.org/2000/01/rdf-schema#label> \"Anna\"@en .\n\
    <http://t.test/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://t.test/C> .\n\
    <http://t.test/b> <http://t.test/r> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n";

/// Calls every method of a graph; the results do not matter.
fn ask_everything(kg: &FrozenKg) {
    let most = u32::try_from(kg.term_count()).unwrap_or(u32::MAX).min(200) + 3;
    for node in (0..most).chain([u32::MAX]).map(NodeId) {
        let (name, _, _) = (kg.name(node), kg.label(node), kg.term(node));
        let _ = (
            kg.by_name(&name),
            kg.by_label(&name),
            kg.types(node),
            kg.instances(node).len(),
            kg.degree(node),
        );
        for r in kg
            .out_relations(node)
            .into_iter()
            .chain(kg.in_relations(node))
        {
            let _ = (
                kg.tails(node, r).len(),
                kg.heads(r, node).len(),
                kg.has(node, r, node),
            );
        }
        let _ = kg.pairs(node.relation()).count();
    }
    let _ = (
        kg.triples().take(10_000).count(),
        kg.entities().take(10_000).count(),
        kg.classes().len(),
        kg.graphs().len(),
    );
    for query in [
        "SELECT * { ?s ?p ?o } LIMIT 500",
        "SELECT * { ?s ?p ?o . ?o ?q ?z } LIMIT 500",
        "SELECT * { <http://t.test/a> ?p <http://t.test/b> }",
    ] {
        let _ = kg.query(
            &parse_query(query).unwrap(),
            QueryLimits {
                deadline: std::time::Duration::from_secs(1),
                rows: 1000,
                ..QueryLimits::default()
            },
        );
    }
    for graph in kg.graphs() {
        let _ = kg.restricted(std::slice::from_ref(&graph.name));
    }
}

fn small(dir: &Path) -> PathBuf {
    let kg = dir.join("kg");
    load(&kg, &[write(dir, "a.nq", SMALL)], &LoadOptions::default()).unwrap();
    kg
}

#[test]
fn every_changed_byte_and_truncation_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let kg = small(dir.path());
    let path = kg.join("graph.kgf");
    let whole = fs::read(&path).unwrap();
    assert!(GraphFolder::verify(&kg).is_ok());
    for at in 0..whole.len() {
        // Most of the header is zero: test a few of its bytes.
        if (600..4096).contains(&at) && at % 257 != 0 {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        assert!(
            GraphFolder::verify(&kg).is_err(),
            "byte {at} of {}",
            whole.len()
        );
    }
    for length in (0..whole.len()).step_by(61).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(
            matches!(GraphFolder::open(&kg), Err(FolderError::Damage { .. })),
            "{length} bytes"
        );
    }
    fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
    let error = GraphFolder::open(&kg).unwrap_err().to_string();
    assert!(
        error.contains("graph.kgf") && error.contains("truncated or changed"),
        "{error}"
    );
    let mut newer = whole.clone();
    newer[8] = 99;
    fs::write(&path, &newer).unwrap();
    let error = GraphFolder::open(&kg).unwrap_err().to_string();
    assert!(
        error.contains("version 99") && error.contains("load the sources again"),
        "{error}"
    );
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        GraphFolder::open(&kg),
        Err(FolderError::Io { .. })
    ));
}

#[test]
fn every_changed_byte_of_the_label_index_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let kg = small(dir.path());
    let labels: Vec<PathBuf> = fs::read_dir(kg.join("labels"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(labels.len() > 5, "{labels:?}");
    for path in labels {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            let error = GraphFolder::verify(&kg).unwrap_err();
            assert!(
                matches!(&error, FolderError::Changed { path: changed } if *changed == path),
                "{} at {at}: {error}",
                path.display()
            );
        }
        // Without verification, opening fails or the index returns something.
        for flip in [1, 0x10, 0x55, 0xff] {
            // Keep the footer, so that the file still looks valid.
            let body = whole.len().saturating_sub(100);
            let bytes: Vec<u8> = whole
                .iter()
                .enumerate()
                .map(|(i, &byte)| if i < body { byte ^ flip } else { byte })
                .collect();
            fs::write(&path, &bytes).unwrap();
            if let Ok(kg) = GraphFolder::open(&kg) {
                let _ = kg.label_index().unwrap().candidates("a", 5);
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(GraphFolder::verify(&kg).is_ok());
}

#[test]
fn every_change_of_the_manifest_is_detected_except_settings() {
    let dir = tempfile::tempdir().unwrap();
    let kg = small(dir.path());
    let path = kg.join("manifest.json");
    let whole = fs::read(&path).unwrap();
    // Owner settings and formatting do not describe the graph.
    let protected = |bytes: &[u8]| {
        let mut value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        value
            .as_object_mut()?
            .retain(|name, _| name != "settings" && name != "deny");
        Some(value)
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        assert!(
            protected(&bytes) == protected(&whole) || GraphFolder::verify(&kg).is_err(),
            "byte {at} of {}",
            whole.len()
        );
    }
    let text = String::from_utf8(whole).unwrap();
    fs::write(
        &path,
        text.replace("\"subclasses\": false", "\"subclasses\": true"),
    )
    .unwrap();
    assert!(
        GraphFolder::verify(&kg)
            .unwrap()
            .schema()
            .settings
            .subclasses,
        "settings are the owner's"
    );
    fs::write(&path, text.replace("a.nq", "b.nq")).unwrap();
    assert!(matches!(
        GraphFolder::verify(&kg),
        Err(FolderError::Changed { .. })
    ));
    let mut older: serde_json::Value = serde_json::from_str(&text).unwrap();
    older
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name != "labels" && name != "sha256");
    fs::write(&path, older.to_string()).unwrap();
    assert!(GraphFolder::open(&kg).is_ok());
    assert!(
        matches!(GraphFolder::verify(&kg), Err(FolderError::NoHashes { .. })),
        "what cannot be checked is not called whole"
    );
}

/// The files of a small graph folder, loaded once, because loading syncs to disk several times.
static SMALL_FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let kg = small(dir.path());
    let files = |folder: PathBuf| {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
    };
    let all = files(kg.clone()).chain(files(kg.join("labels")));
    all.map(|path| {
        (
            path.strip_prefix(&kg).unwrap().to_owned(),
            fs::read(&path).unwrap(),
        )
    })
    .collect()
});

/// The graph file of the small graph.
fn small_bytes() -> Vec<u8> {
    SMALL_FILES
        .iter()
        .find(|(name, _)| name == Path::new("graph.kgf"))
        .unwrap()
        .1
        .clone()
}

/// Opens the small graph with modified bytes and matching hashes, and calls everything if it opens.
/// Returns whether it did.
fn ask_forged(mut bytes: Vec<u8>) -> bool {
    forge(&mut bytes);
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("labels")).unwrap();
    for (name, whole) in &*SMALL_FILES {
        fs::write(
            dir.path().join(name),
            if name == Path::new("graph.kgf") {
                &bytes
            } else {
                whole
            },
        )
        .unwrap();
    }
    let opened = GraphFolder::open(dir.path());
    if let Ok(kg) = &opened {
        ask_everything(kg);
        let _ = kg.verify();
    }
    opened.is_ok()
}

#[test]
fn unmodified_bytes_open() {
    assert!(ask_forged(small_bytes()));
}

proptest! {
    #![proptest_config(cases(200))]

    /// Bytes that pass every check on opening (with matching hashes) may contain anything: no
    /// lookup panics or runs forever.
    #[test]
    fn forged_bytes_are_harmless(places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24), words in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(0u32), Just(u32::MAX), 0u32..20]), 0..8)) {
        let mut bytes = small_bytes();
        let body = bytes.len() - 4096;
        for (index, byte) in &places {
            bytes[4096 + index.index(body)] = *byte;
        }
        for (index, word) in &words {
            let at = 4096 + index.index(body / 4) * 4;
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        ask_forged(bytes);
    }

    /// The header may contain anything too.
    #[test]
    fn forged_headers_are_harmless(places in proptest::collection::vec((8usize..1400, any::<u8>()), 1..6)) {
        let mut bytes = small_bytes();
        for (at, byte) in &places {
            bytes[*at] = *byte;
        }
        ask_forged(bytes);
    }
}

/// Makes the hashes of the sections and of the header match the bytes.
fn forge(bytes: &mut [u8]) {
    use sha2::{Digest, Sha256};
    let long = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    };
    let sections = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    for entry in (0..sections.min(71)).map(|i| 112 + i * 56) {
        let (start, length) = (long(bytes, entry + 8), long(bytes, entry + 16));
        if let Some(section) = start
            .checked_add(length)
            .and_then(|end| bytes.get(start..end))
        {
            let hash = Sha256::digest(section);
            bytes[entry + 24..entry + 56].copy_from_slice(&hash);
        }
    }
    bytes[80..112].fill(0);
    let hash = Sha256::digest(&bytes[..4096]);
    bytes[80..112].copy_from_slice(&hash);
}

#[test]
fn a_faulty_file_leaves_the_old_graph_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let kg = small(dir.path());
    let hash = GraphFolder::open(&kg).unwrap().content_hash().to_owned();
    let lines: String = (0..50_000)
        .map(|i| {
            format!(
                "<http://t.test/s{i}> <http://t.test/r> <http://t.test/o{}> .\n",
                i % 97
            )
        })
        .collect();
    let bad = write(
        dir.path(),
        "bad.nt",
        &format!("{lines}<http://t.test/x> oops\n{lines}also wrong\n"),
    );
    for options in [
        LoadOptions {
            threads: 1,
            ..LoadOptions::default()
        },
        LoadOptions {
            threads: 4,
            memory: 100_000,
            ..LoadOptions::default()
        },
    ] {
        let error = load(&kg, std::slice::from_ref(&bad), &options)
            .unwrap_err()
            .to_string();
        assert!(error.contains("bad.nt:50001:"), "{error}");
        let tolerant = LoadOptions {
            max_faults: 1,
            ..options
        };
        assert!(
            load(&kg, std::slice::from_ref(&bad), &tolerant)
                .unwrap_err()
                .to_string()
                .contains("bad.nt:100002:")
        );
    }
    assert_eq!(GraphFolder::verify(&kg).unwrap().content_hash(), hash);
    let left: BTreeSet<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["a.nq", "bad.nt", "kg"].map(str::to_owned).into());
    let tolerant = LoadOptions {
        max_faults: 2,
        memory: 100_000,
        ..LoadOptions::default()
    };
    assert_eq!(load(&kg, &[bad], &tolerant).unwrap().len(), 50_000);
}

#[test]
fn progress_ends_with_all_triples_and_the_sorting() {
    let dir = tempfile::tempdir().unwrap();
    let told = std::cell::RefCell::new(Vec::new());
    GraphFolder::load(
        &dir.path().join("kg"),
        &[write(dir.path(), "a.nq", SMALL)],
        &LoadOptions::default(),
        &|p| told.borrow_mut().push(p),
    )
    .unwrap();
    assert!(
        told.borrow()
            .ends_with(&[LoadProgress::Read(4), LoadProgress::Sort]),
        "{told:?}"
    );
}

#[test]
fn the_order_of_files_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        "_:x <x:r> <x:a> .",
        "_:x <x:r> <x:b> .",
        "[] <x:r> <x:b>, [] .",
    ];
    let files: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(i, text)| write(dir.path(), &format!("{i}.ttl"), text))
        .collect();
    let reversed: Vec<PathBuf> = files.iter().rev().cloned().collect();
    let hash = |files: &[PathBuf]| {
        FrozenKg::load(files, &LoadOptions::default(), &|_| {})
            .unwrap()
            .content_hash()
            .to_owned()
    };
    assert_eq!(hash(&files), hash(&reversed));
}
