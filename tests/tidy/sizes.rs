//! Sizes and names: short functions, short files, one meaning for each public type name.

use std::collections::BTreeMap;

use crate::source::product;

/// Longest function, from its `fn` line to its closing brace.
const FUNCTION_LINES: usize = 100;
/// Longest product file, comments and unit tests included.
const FILE_LINES: usize = 500;

/// Functions with their first line and their length. rustfmt puts the closing brace, or the end of a
/// signature without a body, at the indentation of its function.
fn functions(text: &str) -> Vec<(usize, usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let head = code.split('(').next().unwrap_or_default();
        let is_function =
            head.split_whitespace().any(|word| word == "fn") && !code.starts_with("//");
        if !is_function {
            continue;
        }
        let closes = |end: &&str| {
            let is_signature = end.trim().starts_with(')') && end.ends_with(';');
            indent(end) == indent(line) && (is_signature || ["}", "};"].contains(&end.trim()))
        };
        let end = lines[at..].iter().position(closes);
        let one_line = code.ends_with('}') || code.ends_with(';');
        if let Some(length) = end.filter(|_| !one_line) {
            out.push((at + 1, length + 1, head.trim().to_owned()));
        }
    }
    out
}

#[test]
fn functions_are_short() {
    let mut seen = 0;
    let mut long = Vec::new();
    for file in product() {
        for (line, length, name) in functions(file.product()) {
            seen += 1;
            if length > FUNCTION_LINES {
                long.push(format!(
                    "{}:{line}: {name}: {length} lines",
                    file.path.display()
                ));
            }
        }
    }
    assert!(
        seen > 2000,
        "only {seen} functions were found: the scan is broken"
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
    for file in product() {
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

#[test]
fn the_scan_measures_functions() {
    let text = "impl A {\n    pub fn f(&self) -> u8 {\n        1\n    }\n    fn g();\n}\nfn h() {}\nasync fn i(\n    a: u8,\n) {\n}\n";
    let lengths: Vec<(usize, usize)> = functions(text).iter().map(|f| (f.0, f.1)).collect();
    assert_eq!(lengths, [(2, 3), (8, 4)]);
}
