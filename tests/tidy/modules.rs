//! No circles between modules: at every level of a crate, siblings use each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::{CRATES, SourceFile, files};

/// The module of a file: `exec::tools` for `toolbox/src/exec/tools.rs`.
fn module(file: &Path, src: &Path) -> Vec<String> {
    let inner = file.strip_prefix(src).unwrap().with_extension("");
    let mut path: Vec<String> = inner
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if path
        .last()
        .is_some_and(|last| last == "mod" || last == "lib" || last == "main")
    {
        path.pop();
    }
    path
}

/// The first names of a `use` tree or path behind `prefix`: `a` and `b` for `crate::{a::X, b}`.
fn names(rest: &str) -> Vec<Vec<String>> {
    let word = |text: &str| -> String {
        let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
        text.chars().take_while(is_name).collect()
    };
    let path = |mut text: &str| -> Vec<String> {
        let mut names = Vec::new();
        loop {
            let name = word(text);
            let behind = &text[name.len()..];
            if !name.is_empty() {
                names.push(name);
            }
            match behind.strip_prefix("::") {
                Some(next) => text = next,
                None => return names,
            }
        }
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![path(rest)];
    };
    let mut depth = 0;
    let mut out = Vec::new();
    let mut item = String::new();
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => out.push(std::mem::take(&mut item)),
            _ => {}
        }
        if c != ',' || depth > 0 {
            item.push(c);
        }
    }
    out.push(item);
    out.iter()
        .map(|item| path(item.trim()))
        .filter(|path: &Vec<String>| !path.is_empty())
        .collect()
}

/// The modules that a file names, as paths from the crate's root.
fn uses(file: &SourceFile, at: &[String]) -> Vec<Vec<String>> {
    let code: Vec<&str> = file.code().map(|(_, line)| line.trim()).collect();
    let text = code.join(" ");
    let mut out = Vec::new();
    for (mark, _) in text.match_indices("crate::") {
        let starts_a_path =
            !text[..mark].ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == '_');
        if starts_a_path {
            out.extend(names(&text[mark + "crate::".len()..]));
        }
    }
    for (mark, _) in text.match_indices("super::") {
        if text[..mark].ends_with("super::") || text[..mark].ends_with("in ") {
            continue;
        }
        let mut rest = &text[mark..];
        let mut base = at.to_vec();
        while let Some(inner) = rest.strip_prefix("super::") {
            base.pop();
            rest = inner;
        }
        let full = |name: Vec<String>| base.iter().cloned().chain(name).collect();
        out.extend(names(rest).into_iter().map(full));
    }
    out
}

/// A circle in a graph, if there is one.
fn circle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit<'a>(
        node: &'a str,
        graph: &'a BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<Vec<String>> {
        if let Some(at) = path.iter().position(|name| *name == node) {
            return Some(path[at..].iter().map(|name| (*name).to_owned()).collect());
        }
        if !done.insert(node) {
            return None;
        }
        path.push(node);
        let found = graph
            .get(node)
            .into_iter()
            .flatten()
            .find_map(|next| visit(next, graph, path, done));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    graph
        .keys()
        .find_map(|node| visit(node, graph, &mut Vec::new(), &mut done))
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let mut circles = Vec::new();
    let mut edges = 0;
    for folder in CRATES.map(|(_, folder)| folder).into_iter().chain([""]) {
        let src = Path::new(folder).join("src");
        let sources = files(&src.to_string_lossy());
        let modules: BTreeSet<Vec<String>> = sources
            .iter()
            .map(|file| module(&file.path, &src))
            .collect();
        // For every parent module: which child uses which other child.
        let mut graphs: BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for file in &sources {
            let from = module(&file.path, &src);
            for to in uses(file, &from) {
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if shared == from.len() || shared == to.len() {
                    continue;
                }
                let sibling = to[..=shared].to_vec();
                if modules.iter().any(|module| module.starts_with(&sibling)) {
                    edges += 1;
                    let graph = graphs.entry(from[..shared].to_vec()).or_default();
                    let uses = graph.entry(from[shared].clone()).or_default();
                    uses.insert(to[shared].clone());
                }
            }
        }
        for (parent, graph) in &graphs {
            if let Some(found) = circle(graph) {
                let place = src.join(parent.join("/"));
                circles.push(format!("{}: {}", place.display(), found.join(" → ")));
            }
        }
    }
    assert!(
        edges > 300,
        "only {edges} uses were found: the scan is broken"
    );
    assert!(
        circles.is_empty(),
        "circles between modules:\n{}",
        circles.join("\n")
    );
}

#[test]
fn the_scan_reads_use_trees_and_finds_circles() {
    let file = SourceFile {
        path: "a/src/b/c.rs".into(),
        text: "use crate::{x::Y, z};\nuse super::d::E;\nfn f() { crate::k::l(); super::super::m::n() }"
            .to_owned(),
    };
    let at = ["b".to_owned(), "c".to_owned()];
    let found: Vec<String> = uses(&file, &at)
        .iter()
        .map(|path| path.join("::"))
        .collect();
    assert_eq!(found, ["x::Y", "z", "k::l", "b::d::E", "m::n"]);
    let graph = |pairs: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in pairs {
            graph
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        circle(&graph)
    };
    assert_eq!(graph(&[("a", "b"), ("b", "c")]), None);
    assert!(graph(&[("a", "b"), ("b", "c"), ("c", "a")]).is_some());
}
