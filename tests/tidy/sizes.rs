//! Sizes and names: short functions, short files, one meaning for each public type name.

use std::collections::BTreeMap;

use crate::functions::functions;
use crate::source::{CRATES, SourceFile, files, product};

/// Longest function, from its `fn` line to its closing brace.
const FUNCTION_LINES: usize = 100;
/// Longest product file, comments and unit tests included.
const FILE_LINES: usize = 500;

/// Every function counts: of the product, of unit tests and of integration tests.
#[test]
fn functions_are_short() {
    let folders = CRATES.map(|(_, folder)| folder).into_iter();
    let all = folders.chain(["src", "tests"]).flat_map(files);
    let (mut seen, mut in_tests) = (0, 0);
    let mut long = Vec::new();
    for file in all {
        let is_test = file.path.iter().any(|part| part == "tests");
        for function in functions(&file.text) {
            seen += 1;
            in_tests += usize::from(is_test);
            if function.lines > FUNCTION_LINES {
                long.push(format!(
                    "{}:{}: {}: {} lines",
                    file.path.display(),
                    function.line,
                    function.name,
                    function.lines
                ));
            }
        }
    }
    assert!(
        seen > 7000 && in_tests > 1500,
        "only {seen} functions were found, {in_tests} of tests: the scan is broken"
    );
    assert!(
        long.is_empty(),
        "functions above {FUNCTION_LINES} lines:\n{}",
        long.join("\n")
    );
}

#[test]
fn files_are_short() {
    let long: Vec<String> = product()
        .iter()
        .map(|file| (file.text.lines().count(), &file.path))
        .filter(|(lines, _)| *lines > FILE_LINES)
        .map(|(lines, path)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(
        long.is_empty(),
        "files above {FILE_LINES} lines:\n{}",
        long.join("\n")
    );
}

#[test]
fn public_type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The library's own names are for other programs, which see no others.
    let for_others = |file: &SourceFile| file.path.ends_with("src/api.rs");
    for file in product().into_iter().filter(|file| !for_others(file)) {
        for (line, code) in file.code() {
            let mut words = code.split_whitespace();
            let (first, kind) = (words.next(), words.next());
            let is_type = matches!(kind, Some("struct" | "enum" | "trait" | "type" | "union"));
            if first == Some("pub") && is_type {
                let name: String = words
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let place = format!("{}:{line}", file.path.display());
                places.entry(name).or_default().push(place);
            }
        }
    }
    assert!(
        places.len() > 200,
        "only {} types were found: the scan is broken",
        places.len()
    );
    let twice: Vec<String> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(
        twice.is_empty(),
        "public type names that occur twice:\n{}",
        twice.join("\n")
    );
}
