//! Which crate may link what, as Cargo resolves it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::source::{CRATES, root};

/// What Cargo says of all packages, with the features that the binary has by default. Needs no network.
fn metadata() -> Value {
    let version = Command::new(env!("CARGO")).arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        // Crates for other systems need not have been downloaded.
        .args(["--filter-platform", host.unwrap()])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Packages by name and the names of what they link, without development dependencies.
struct Links(BTreeMap<String, BTreeSet<String>>);

impl Links {
    fn read() -> Self {
        let metadata = metadata();
        let names: BTreeMap<&str, &str> = metadata["packages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|package| {
                (
                    package["id"].as_str().unwrap(),
                    package["name"].as_str().unwrap(),
                )
            })
            .collect();
        let mut links: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in metadata["resolve"]["nodes"].as_array().unwrap() {
            let linked = links
                .entry(names[node["id"].as_str().unwrap()].to_owned())
                .or_default();
            for dependency in node["deps"].as_array().unwrap() {
                let mut kinds = dependency["dep_kinds"].as_array().unwrap().iter();
                if kinds.any(|kind| kind["kind"].is_null()) {
                    linked.insert(names[dependency["pkg"].as_str().unwrap()].to_owned());
                }
            }
        }
        Self(links)
    }

    /// Everything that a package links, directly or through others.
    fn closure(&self, package: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut left = vec![package];
        while let Some(name) = left.pop() {
            for linked in &self.0[name] {
                if found.insert(linked.as_str()) {
                    left.push(linked);
                }
            }
        }
        found
    }
}

#[test]
fn every_crate_links_only_the_libraries_it_may() {
    let links = Links::read();
    const GRAPH: [&str; 7] = [
        "oxigraph",
        "spareval",
        "spargebra",
        "oxrdfio",
        "tantivy",
        "kg",
        "toolbox",
    ];
    const ARITHMETIC: [&str; 4] = ["burn", "burn-core", "safetensors", "tokenizers"];
    let strangers: [(&str, &[&[&str]]); 9] = [
        (
            "common",
            &[&GRAPH, &ARITHMETIC, &["model", "hf-hub", "ureq"]],
        ),
        (
            "kg",
            &[&ARITHMETIC, &["model", "toolbox", "hf-hub", "ureq"]],
        ),
        ("toolbox", &[&ARITHMETIC, &["model", "hf-hub", "ureq"]]),
        ("datagen", &[&ARITHMETIC, &["model", "hf-hub", "ureq"]]),
        ("model", &[&GRAPH, &["burn", "burn-core"]]),
        ("train", &[&GRAPH, &["datagen", "engine"]]),
        ("engine", &[&GRAPH, &["datagen", "train"]]),
        ("infer", &[&["datagen", "train"]]),
        ("serve", &[&["train"]]),
    ];
    for (package, strangers) in strangers {
        let closure = links.closure(package);
        for stranger in strangers.iter().copied().flatten() {
            let is_itself = package == *stranger;
            assert!(
                is_itself || !closure.contains(stranger),
                "{package} reaches {stranger}"
            );
        }
    }
    // Check that the names above exist: `kg` links the graph's crates.
    let kg = links.closure("kg");
    for name in ["oxigraph", "spareval", "spargebra", "tantivy"] {
        assert!(
            kg.contains(name),
            "kg does not reach {name}: is it still called so?"
        );
    }
}

#[test]
fn only_kg_links_the_graph_libraries_itself() {
    let links = Links::read();
    let ours = CRATES.map(|(name, _)| name).into_iter().chain(["kgagent"]);
    for package in ours.filter(|name| *name != "kg") {
        for library in ["oxigraph", "spareval", "spargebra", "oxrdfio", "tantivy"] {
            assert!(
                !links.0[package].contains(library),
                "{package} links {library} itself"
            );
        }
    }
}

#[test]
fn only_serve_links_the_web_server() {
    let links = Links::read();
    for (package, _) in CRATES {
        let closure = links.closure(package);
        for library in ["axum", "hyper"] {
            assert_eq!(
                closure.contains(library),
                package == "serve",
                "{package} and {library}"
            );
        }
    }
}

#[test]
fn our_crates_depend_on_each_other_in_one_direction() {
    let links = Links::read();
    let allowed: [(&str, &[&str]); 10] = [
        ("common", &[]),
        ("kg", &["common"]),
        ("toolbox", &["common", "kg"]),
        ("datagen", &["common", "kg", "toolbox"]),
        ("model", &["common"]),
        ("gpu", &[]),
        ("train", &["common", "gpu", "model"]),
        ("engine", &["common", "gpu", "model"]),
        ("infer", &["common", "kg", "toolbox", "model", "engine"]),
        ("serve", &["common", "kg", "toolbox", "datagen", "infer"]),
    ];
    for (package, may) in allowed {
        for (other, _) in CRATES {
            let links_it = links.0[package].contains(other);
            assert!(
                !links_it || may.contains(&other),
                "{package} depends on {other}"
            );
        }
    }
}

/// Whether a licence allows what one of these does: `A OR B` one of both, `A AND B` both.
fn allowed(licence: &str, known: &[&str]) -> bool {
    let either = |part: &str| {
        let part = part.trim().trim_matches(['(', ')']).replace('/', " OR ");
        part.split(" OR ").any(|name| known.contains(&name.trim()))
    };
    licence.split(" AND ").all(either)
}

/// The lists are those of `cargo deny`, which also looks for advisories and needs a network.
#[test]
fn licences_and_sources_are_those_that_deny_toml_allows() {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let rules: toml::Table = text.parse().unwrap();
    let list = |table: &str, key: &str| -> Vec<String> {
        let items = rules[table][key].as_array().unwrap().iter();
        items
            .map(|item| item.as_str().unwrap().to_owned())
            .collect()
    };
    let (licences, sources) = (list("licenses", "allow"), list("sources", "allow-registry"));
    let licences: Vec<&str> = licences.iter().map(String::as_str).collect();
    let metadata = metadata();
    let mut seen = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let Some(source) = package["source"].as_str() else {
            continue; // Our own crates.
        };
        let (name, licence) = (&package["name"], &package["license"]);
        let from = source.strip_prefix("registry+").unwrap_or(source);
        assert!(
            sources.iter().any(|known| known == from),
            "{name}: {source}"
        );
        // The LICENSE file of this one says it.
        let licence = match name.as_str() {
            Some("cfg_block") => "Apache-2.0",
            _ => licence.as_str().unwrap_or_default(),
        };
        assert!(allowed(licence, &licences), "{name}: {licence:?}");
        seen += 1;
    }
    assert!(seen > 300, "{seen}");
    assert!(allowed("(MIT OR X) AND ISC", &["MIT", "ISC"]));
    assert!(!allowed("MIT AND GPL-3.0", &["MIT"]) && !allowed("", &["MIT"]));
}
