//! The invariants of ARCHITECTURE.md as tests over the source tree.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asserting;
mod dependencies;
mod functions;
mod modules;
mod rules;
mod sizes;
mod source;

use std::fs;

use source::{CRATES, files, no_line, root};

#[test]
fn only_the_model_crate_opens_weight_files() {
    no_line("weight files opened outside model", |path, line| {
        let opens = line.contains("SafeTensors::") || line.contains("safetensors::");
        opens && !path.starts_with("model/src")
    });
}

#[test]
fn only_the_hub_the_remote_planner_and_the_server_use_the_network() {
    let clients = [
        "model/src/hub.rs",
        "infer/src/planner/remote.rs",
        "serve/src/http/listen.rs",
    ];
    no_line(
        "the network outside hub, remote planner and server",
        |path, line| {
            let words = ["hf_hub", "TcpStream", "TcpListener", "ureq"];
            let inside = clients.iter().any(|file| path.starts_with(file))
                || path.starts_with("infer/src/planner/remote");
            !inside && words.iter().any(|word| line.contains(word))
        },
    );
}

#[test]
fn libraries_never_print_exit_or_read_the_environment() {
    let words = [
        "println!",
        "eprintln!",
        "print!(",
        "process::exit",
        "env::var",
        "env::args",
    ];
    no_line(
        "printing, exiting or reading the environment in a library",
        |path, line| {
            // The hub's cache is where its own programs keep it.
            let exempt = ["src", "model/src/hub", "model/src/hub.rs"];
            let exempt = exempt.iter().any(|one| path.starts_with(one));
            !exempt && words.iter().any(|word| line.contains(word))
        },
    );
}

#[test]
fn no_unwrap_outside_tests() {
    no_line("unwrap or expect outside tests", |_, line| {
        line.contains(".unwrap()") || line.contains(".expect(")
    });
}

#[test]
fn files_say_what_they_are() {
    for folder in CRATES
        .map(|(_, folder)| folder)
        .into_iter()
        .chain(["src", "tests"])
    {
        for file in files(folder) {
            assert!(
                file.text.starts_with("//!"),
                "{} does not open with //!",
                file.path.display()
            );
        }
    }
}

/// The compiler does not see a file that its test program does not list.
#[test]
fn every_test_file_is_part_of_its_program() {
    let mut listed = 0;
    for folder in CRATES
        .map(|(_, folder)| folder)
        .into_iter()
        .chain(["tests"])
    {
        for file in files(folder) {
            let name = file.path.file_stem().unwrap().to_str().unwrap();
            let program = root().join(file.path.with_file_name("main.rs"));
            let Ok(program) = fs::read_to_string(program) else {
                continue;
            };
            if name == "main" {
                continue;
            }
            assert!(
                program.contains(&format!("mod {name};")),
                "{}: main.rs in the same folder does not list it",
                file.path.display()
            );
            listed += 1;
        }
    }
    assert!(listed > 50, "only {listed} files");
}

/// Memory maps, files that are cut short under them, huge pages, the entry into vector code, matrix products,
/// the dot products and the tile registers of the processor, and an option of the allocator: the number of uses, each with its reason.
const UNSAFE: [(&str, usize); 8] = [
    ("kg/src/frozen/bytes.rs", 1),
    ("kg/src/frozen/bus_error.rs", 2),
    ("infer/engine/src/weight_memory.rs", 1),
    ("infer/engine/src/packed/mod.rs", 1),
    ("train/src/kernels/product.rs", 1),
    ("train/src/allocator.rs", 1),
    ("train/src/kernels/tiles/dots.rs", 9),
    ("train/src/kernels/tiles/registers.rs", 8),
];

#[test]
fn unsafe_code_is_denied_except_in_eight_places() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"deny\""));
    no_line("unsafe code", |path, line| {
        !UNSAFE.iter().any(|(place, _)| path.starts_with(place)) && line.contains("unsafe ")
    });
    for (place, uses) in UNSAFE {
        let text = fs::read_to_string(root().join(place)).unwrap();
        let counts = (
            text.matches("unsafe {").count(),
            text.matches("// SAFETY:").count(),
        );
        assert_eq!(counts, (uses, uses), "{place}");
    }
}

#[test]
fn the_root_has_the_required_files() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "Cargo.lock",
        ".ci/run",
        "data/README.md",
        "docs/rules.md",
        "docs/cli.md",
        "docs/results.md",
    ] {
        assert!(root().join(name).exists(), "{name} is missing");
    }
    for name in ["README.md", ".ci/run"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        assert!(
            text.contains("cargo test --workspace"),
            "{name} does not show the test command"
        );
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(
        readme.lines().count() <= 100,
        "README.md has more than 100 lines"
    );
}
