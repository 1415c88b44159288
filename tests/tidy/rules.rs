//! `docs/rules.md` and the code agree: every rule that the code cites has a heading there, and a test cites every rule.
//! The files that the documents name exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::root;

/// Folders with Rust sources, crates and the root package alike.
const FOLDERS: [&str; 11] = [
    "common", "kg", "toolbox", "datagen", "model", "train", "infer", "src", "tests", "benches",
    "engine",
];
/// Words that a citation begins with.
const KEYWORDS: [&str; 5] = ["rules", "rule", "section", "specification", "spec"];

/// Every Rust file below a folder of [`FOLDERS`]; build outputs are skipped.
fn sources() -> Vec<PathBuf> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                walk(&path, out);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    for folder in FOLDERS.map(|name| root().join(name)) {
        if folder.is_dir() {
            walk(&folder, &mut out);
        }
    }
    out.sort();
    out
}

/// Reads `R8`, `A.2.3` or `C` at the beginning of a text.
fn reference(text: &str) -> Option<(String, &str)> {
    let letter = text.chars().next().filter(|c| "RABCD".contains(*c))?;
    let mut end = 1;
    if letter == 'R' {
        end += digits(&text[1..]);
        if end == 1 {
            return None;
        }
    } else {
        while text[end..].starts_with('.') && digits(&text[end + 1..]) > 0 {
            end += 1 + digits(&text[end + 1..]);
        }
    }
    let rest = &text[end..];
    let ends = rest
        .chars()
        .next()
        .is_none_or(|c| !c.is_alphanumeric() && c != '_');
    ends.then(|| (text[..end].to_owned(), rest))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// What a text cites: lists (`rules R1, R2 and R4`) and ranges (`rules R8–R13`) after a keyword.
fn citations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let words: Vec<(usize, &str)> = text
        .split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_')
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .collect();
    for (at, word) in words {
        if !KEYWORDS.contains(&word.to_lowercase().as_str()) {
            continue;
        }
        let mut rest = text[at + word.len()..].trim_start();
        let mut range_from: Option<usize> = None;
        while let Some((id, after)) = reference(rest) {
            let number = id.strip_prefix('R').and_then(|n| n.parse().ok());
            if let (Some(from), Some(to)) = (range_from, number) {
                found.extend((from + 1..to).map(|n| format!("R{n}")));
            }
            found.push(id);
            let separators = [
                (", and ", false),
                (", ", false),
                (" and ", false),
                (" to ", true),
                ("–", true),
            ];
            let Some((separator, range)) = separators
                .into_iter()
                .find(|(separator, _)| after.starts_with(separator))
            else {
                break;
            };
            range_from = number.filter(|_| range);
            rest = &after[separator.len()..];
        }
    }
    found
}

/// The comments of some lines, joined where they wrap. `modules` says whether `//!` lines count.
fn comments<'a>(lines: impl Iterator<Item = &'a str>, modules: bool) -> String {
    let mut text = String::new();
    for line in lines {
        let comment = line
            .match_indices("//")
            .find(|(at, _)| !line[..*at].ends_with(':'))
            .map(|(at, _)| &line[at..])
            .filter(|comment| modules || !comment.starts_with("//!"));
        match comment {
            Some(comment) => {
                text.push_str(comment.trim_start_matches(['/', '!']).trim());
                text.push(' ');
            }
            None => text.push('\n'),
        }
    }
    text
}

/// Where the test module of a file begins; the whole file is a test in folders named `tests`.
fn tests_of<'a>(path: &Path, text: &'a str) -> &'a str {
    if path
        .strip_prefix(root())
        .unwrap()
        .components()
        .any(|part| part.as_os_str() == "tests")
    {
        return text;
    }
    text.find("#[cfg(test)]").map_or("", |at| &text[at..])
}

/// What the names of test functions cite: `fn r9_r13_extremes()` cites R9 and R13.
fn cited_by_name(line: &str) -> Vec<String> {
    let Some(name) = line.trim_start().strip_prefix("fn ") else {
        return Vec::new();
    };
    name.split('_')
        .map_while(|part| {
            let number = part.strip_prefix('r')?;
            (!number.is_empty() && digits(number) == number.len()).then(|| format!("R{number}"))
        })
        .collect()
}

/// The numbers in the headings of `docs/rules.md`, and whether a heading is marked as background.
fn headings() -> BTreeMap<String, bool> {
    let text = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim_start();
        let number = title.split(' ').next().unwrap().trim_end_matches('.');
        if let Some((id, "")) = reference(number) {
            let chapter = id.len() == 1;
            let before = found.insert(id.clone(), chapter || title.ends_with("(background)"));
            assert!(before.is_none(), "docs/rules.md has two headings {id}");
        }
    }
    found
}

#[test]
fn what_code_cites_is_in_the_rules() {
    let headings = headings();
    let rules = headings.keys().filter(|id| id.starts_with('R')).count();
    assert_eq!(rules, 22, "docs/rules.md has R1 to R22");
    assert!(
        headings.len() >= 22 + 28,
        "sections are missing: {headings:?}"
    );
    let files = sources();
    assert!(files.len() > 100, "only {} sources", files.len());
    let (mut cited, mut unknown) = (0, Vec::new());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for id in citations(&comments(text.lines(), true)) {
            cited += 1;
            if !headings.contains_key(&id) {
                unknown.push(format!("{} cites {id}", path.display()));
            }
        }
    }
    assert!(cited >= 60, "only {cited} citations");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn every_rule_is_cited_by_a_test() {
    let mut cited = BTreeSet::new();
    let mut tests = 0;
    for path in sources() {
        if path.ends_with("tests/tidy/rules.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let part = tests_of(&path, &text);
        tests += part.matches("#[test]").count();
        cited.extend(citations(&comments(part.lines(), false)));
        cited.extend(part.lines().flat_map(cited_by_name));
    }
    assert!(tests > 100, "only {tests} tests");
    let missing: Vec<String> = headings()
        .into_iter()
        .filter(|(id, background)| !background && !cited.contains(id))
        .map(|(id, _)| id)
        .collect();
    assert!(
        missing.is_empty(),
        "no test cites {}; name the rule in a comment above the test that holds it",
        missing.join(", ")
    );
}

/// Files that ARCHITECTURE.md and CONTRIBUTING.md name in backticks, by their path from the root.
#[test]
fn paths_in_the_documents_exist() {
    let mut named = 0;
    let mut missing = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for path in text.split('`').skip(1).step_by(2) {
            let first = path.split('/').next().unwrap();
            if path.contains(['*', ' ', '<'])
                || path.starts_with(['.', '/'])
                || !path.contains('/')
                || !root().join(first).is_dir()
            {
                continue;
            }
            named += 1;
            if !root().join(path).exists() {
                missing.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(named >= 40, "only {named} paths");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn citations_are_found_in_every_form() {
    for (text, found) in [
        ("as rule R8 says", vec!["R8"]),
        ("(rules R8–R10).", vec!["R8", "R9", "R10"]),
        ("Rules R8 to R9, and R11", vec!["R8", "R9", "R11"]),
        ("rules A.3 and A.5), rules C.", vec!["A.3", "A.5", "C"]),
        ("(KG-Agent §4.2, rules A.2.3 e)", vec!["A.2.3"]),
        ("spec A.1, KG-Agent", vec!["A.1"]),
        ("the rule of three; rules apply; R8 alone; ruler R9", vec![]),
        ("appendix A.4 of the paper", vec![]),
    ] {
        assert_eq!(citations(text), found, "{text}");
    }
    assert_eq!(cited_by_name("fn r9_r13_extremes() {"), ["R9", "R13"]);
    assert!(cited_by_name("fn rules_of_r9() {").is_empty());
    let wrapped = "/// See rules\n/// A.5 here.\nlet url = \"http://a\"; // rule R3";
    assert_eq!(citations(&comments(wrapped.lines(), true)), ["A.5", "R3"]);
    assert!(comments("//! rule R1".lines(), false).trim().is_empty());
}
