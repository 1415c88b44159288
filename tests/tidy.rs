//! The invariants of ARCHITECTURE.md as tests over the source tree.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 5] = ["toolbox", "datagen", "model", "train", "infer"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no sources in {folder}");
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

fn manifest(name: &str) -> String {
    fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap()
}

/// The part of a file that is product code: without its test module at the end.
fn product(text: &str) -> &str {
    let tests = text.match_indices("#[cfg(test)]").find(|(at, _)| {
        text[*at..]
            .lines()
            .skip(1)
            .find(|line| !line.starts_with("#["))
            .is_some_and(|line| line.starts_with("mod "))
    });
    tests.map_or(text, |(at, _)| &text[..at])
}

/// Fails with every place in product code where `found` says so: the files in folders named `tests` are left out.
fn none(folders: &[&str], what: &str, found: impl Fn(&Path, &str) -> bool) {
    let mut bad = Vec::new();
    for folder in folders {
        for (path, text) in sources(folder) {
            if path
                .strip_prefix(root())
                .unwrap()
                .components()
                .any(|part| part.as_os_str() == "tests")
            {
                continue;
            }
            for (i, line) in product(&text).lines().enumerate() {
                if found(&path, line) {
                    bad.push(format!(
                        "{}:{}: {}",
                        path.strip_prefix(root()).unwrap().display(),
                        i + 1,
                        line.trim()
                    ));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{what}:\n{}", bad.join("\n"));
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn only_the_graph_module_names_oxigraph() {
    let folders = [
        "toolbox/src",
        "datagen/src",
        "model/src",
        "train/src",
        "infer/src",
        "src",
    ];
    none(&folders, "oxigraph outside toolbox/src/kg", |path, line| {
        let graph = path.starts_with(root().join("toolbox/src/kg"));
        !graph && !is_comment(line) && (line.contains("oxigraph") || line.contains("spareval"))
    });
    for name in CRATES.iter().filter(|name| **name != "toolbox") {
        assert!(
            !manifest(name).contains("oxigraph"),
            "{name} depends on oxigraph"
        );
    }
}

#[test]
fn dependencies_point_one_way() {
    let allowed = [
        ("toolbox", &[][..]),
        ("datagen", &["toolbox"]),
        ("model", &["toolbox"]),
        ("train", &["model"]),
        ("infer", &["model", "toolbox"]),
    ];
    for (name, may) in allowed {
        let text = manifest(name);
        let normal = text.split("[dev-dependencies]").next().unwrap();
        for other in CRATES {
            let depends = normal
                .lines()
                .any(|line| line.starts_with(&format!("{other} =")));
            assert!(
                !depends || may.contains(&other),
                "{name} depends on {other}"
            );
        }
    }
}

#[test]
fn each_crate_knows_only_its_own_world() {
    for (name, strangers) in [
        (
            "toolbox",
            &["burn", "candle", "tokenizers", "safetensors"][..],
        ),
        ("datagen", &["burn", "candle", "tokenizers", "model"]),
        ("model", &["burn", "candle"]),
        ("train", &["candle", "oxigraph", "datagen"]),
        ("infer", &["burn", "datagen", "hf-hub"]),
    ] {
        let text = manifest(name);
        for stranger in strangers {
            let depends = text.lines().any(|line| {
                line.starts_with(stranger) && line[stranger.len()..].starts_with([' ', '-'])
            });
            assert!(!depends, "{name} depends on {stranger}");
        }
    }
}

#[test]
fn only_the_model_crate_opens_weight_files_and_only_hub_and_remote_planner_the_network() {
    none(
        &[
            "train/src",
            "infer/src",
            "toolbox/src",
            "datagen/src",
            "src",
        ],
        "weight files opened outside model",
        |_, line| {
            !is_comment(line) && (line.contains("SafeTensors::") || line.contains("safetensors::"))
        },
    );
    none(
        &[
            "model/src",
            "train/src",
            "infer/src",
            "toolbox/src",
            "datagen/src",
            "src",
        ],
        "the network outside model/src/hub.rs and infer/src/planner/remote.rs",
        |path, line| {
            let client = ["model/src/hub.rs", "infer/src/planner/remote.rs"]
                .iter()
                .any(|file| path.ends_with(file));
            !client
                && !is_comment(line)
                && ["hf_hub", "TcpStream", "TcpListener", "ureq"]
                    .iter()
                    .any(|word| line.contains(word))
        },
    );
}

#[test]
fn libraries_never_print_exit_or_read_the_environment() {
    let folders = CRATES.map(|name| format!("{name}/src"));
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    none(
        &folders,
        "printing, exiting or reading the environment in a library",
        |_, line| {
            let words = [
                "println!",
                "eprintln!",
                "print!(",
                "process::exit",
                "env::var",
                "env::args",
            ];
            !is_comment(line) && words.iter().any(|word| line.contains(word))
        },
    );
}

#[test]
fn no_unwrap_outside_tests() {
    none(
        &[
            "toolbox/src",
            "datagen/src",
            "model/src",
            "train/src",
            "infer/src",
            "src",
        ],
        "unwrap or expect outside tests",
        |_, line| !is_comment(line) && (line.contains(".unwrap()") || line.contains(".expect(")),
    );
}

#[test]
fn files_say_what_they_are() {
    for folder in [
        "toolbox", "datagen", "model", "train", "infer", "src", "tests",
    ] {
        for (path, text) in sources(folder) {
            assert!(
                text.starts_with("//!"),
                "{} does not open with //!",
                path.display()
            );
        }
    }
}

#[test]
fn unsafe_is_denied_and_used_for_a_memory_map_huge_pages_and_the_way_into_vector_code() {
    assert!(
        fs::read_to_string(root().join("Cargo.toml"))
            .unwrap()
            .contains("unsafe_code = \"deny\"")
    );
    let places = [
        "toolbox/src/kg/frozen/bytes.rs",
        "infer/src/engine/memory.rs",
        "infer/src/engine/packed/mod.rs",
    ]
    .map(|path| root().join(path));
    none(
        &[
            "toolbox/src",
            "datagen/src",
            "model/src",
            "train/src",
            "infer/src",
            "src",
        ],
        "unsafe code",
        |path, line| {
            !places.iter().any(|place| path == place)
                && !is_comment(line)
                && line.contains("unsafe ")
        },
    );
    for place in places {
        let uses = fs::read_to_string(place).unwrap();
        assert_eq!(
            (
                uses.matches("unsafe {").count(),
                uses.matches("// SAFETY:").count()
            ),
            (1, 1)
        );
    }
}

#[test]
fn the_top_holds_what_the_design_names() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "LICENSE",
        "Cargo.lock",
        ".ci/run",
        "data/README.md",
        "docs/results.md",
    ] {
        assert!(root().join(name).exists(), "{name} is missing");
    }
    let test = "cargo test --workspace";
    for name in ["README.md", ".ci/run"] {
        assert!(
            fs::read_to_string(root().join(name))
                .unwrap()
                .contains(test),
            "{name} does not show `{test}`"
        );
    }
}
