//! Every test checks something.

use std::collections::BTreeSet;

use crate::functions::{Function, functions};
use crate::source::{CRATES, files};

/// What fails a test.
const CHECKS: [&str; 5] = [
    "assert",
    "panic!(",
    "unreachable!(",
    ".unwrap_err()",
    ".expect_err(",
];

/// Whether a function calls one of these by name.
fn calls(function: &Function, names: &BTreeSet<String>) -> bool {
    let pieces = function.body.split('(').map(str::trim_end);
    let mut words = pieces.filter_map(|piece| {
        piece
            .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    });
    words.any(|word| names.contains(word))
}

/// The functions of a crate's tests: those in folders of tests, and in the test modules of its files.
fn of_tests(folders: &[&str]) -> Vec<(String, Function)> {
    let files = folders.iter().flat_map(|folder| files(folder));
    let of_file = |file: crate::source::SourceFile| {
        let path = file.path.display().to_string();
        let all_tests = file.path.iter().any(|part| part == "tests");
        let skip = if all_tests { "" } else { file.product() };
        let before = skip.lines().count();
        let found = functions(&file.text[skip.len()..]).into_iter();
        let moved = found.map(|one| Function {
            line: before + one.line,
            ..one
        });
        moved.map(|one| (path.clone(), one)).collect::<Vec<_>>()
    };
    files.flat_map(of_file).collect()
}

/// A test that asserts nothing passes whatever the code does. It may leave that to functions of its
/// crate's tests that it calls.
#[test]
fn every_test_asserts_something() {
    let crates = CRATES.iter().map(|(_, folder)| vec![*folder]);
    let (mut tests, mut nothing) = (0, Vec::new());
    for folders in crates.chain([vec!["src", "tests"]]) {
        let mut left = of_tests(&folders);
        tests += left.iter().filter(|(_, one)| one.is_test()).count();
        let mut checking: BTreeSet<String> = BTreeSet::new();
        loop {
            let before = left.len();
            left.retain(|(_, one)| {
                let checks = CHECKS.iter().any(|check| one.body.contains(check));
                let fails = checks || one.needs_no_assertion() || calls(one, &checking);
                if fails && !one.is_test() {
                    checking.insert(one.name.clone());
                }
                !fails
            });
            if left.len() == before {
                break;
            }
        }
        let wrong = left.iter().filter(|(_, one)| one.is_test());
        nothing.extend(wrong.map(|(path, one)| format!("{path}:{}: {}", one.line, one.name)));
    }
    assert!(tests > 1000, "only {tests} tests: the scan is broken");
    assert!(
        nothing.is_empty(),
        "tests that assert nothing:\n{}",
        nothing.join("\n")
    );
}
