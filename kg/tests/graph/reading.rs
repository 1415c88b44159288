//! Faulty statements, relative IRIs, marks, encodings and compression of graph files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kg::{FrozenKg, GraphFolder, Kg, LoadOptions, Manifest, Skipped};

use crate::support::{file, load, names, node, rel, text_of, try_load};

/// Loads files into a folder.
fn folder(
    dir: &Path,
    files: &[PathBuf],
    options: &LoadOptions,
) -> Result<(FrozenKg, Manifest), kg::FolderError> {
    let out = tempfile::tempdir_in(dir).unwrap();
    GraphFolder::load(&out.path().join("graph"), files, options, &|_| {})
}

fn tolerant(max_faults: usize) -> LoadOptions<'static> {
    LoadOptions {
        max_faults,
        ..LoadOptions::default()
    }
}

/// Loads one file and returns the graph and what was skipped.
fn tolerated(name: &str, content: &[u8], options: &LoadOptions) -> (FrozenKg, Skipped) {
    let dir = tempfile::tempdir().unwrap();
    let (kg, manifest) = folder(dir.path(), &[file(dir.path(), name, content)], options).unwrap();
    (kg, manifest.skipped.expect("nothing was skipped"))
}

/// Lines of N-Triples; those with `!` are faulty.
const LINES: &[&str] = &[
    "<x:a> <x:r> \"one\" .",
    "!<x:b b> <x:r> \"two\" .",
    "<x:c> <x:r> \"three\"@en .",
    "!<x:d> <x:r> \"Der \"Kaiser\" von X\"@de .",
    "!<x:e> <x:r> \"Max\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .",
    "<x:f> <x:r> <x:a> . # a remark",
    "!<x:g> <x:r> \"four\"@en_US .",
    "!<x:h> <x:r> \"no dot\"",
    "<x:i> <x:r> _:b0 .",
    "!<x:j> <x:r> \"broken",
    "!in two\" .",
    "!<x:k> <x:r> <x:l> <x:m> <x:n> .",
    "",
    "!<x:o> <x:r> <x:p> . <x:q> <x:r> <x:s> .",
    "!<x:t> <x:r> \"\\x\" .",
    "!\"a\" <x:r> <x:b> .",
    "# <x:z> <x:r",
    "!<x:u> <x:r> <x:http\\\",%20\\\"> .",
    "!<< <x:a> <x:r> <x:b> >> <x:r> <x:v> .",
    "<x:w> <x:r> \"last\" .",
];

fn good_and_bad(repeat: usize, end: &str) -> (String, String, Vec<u64>) {
    let (mut all, mut good, mut bad) = (String::new(), String::new(), Vec::new());
    for i in 0..repeat {
        for (number, line) in (1..).zip(LINES) {
            let number = number + (i * LINES.len()) as u64;
            let line = line.replace("x:a>", &format!("x:a{i}>"));
            if let Some(line) = line.strip_prefix('!') {
                bad.push(number);
                all.push_str(line);
            } else {
                all.push_str(&line);
                good.push_str(&line);
                good.push_str(end);
            }
            all.push_str(end);
        }
    }
    (all, good, bad)
}

#[test]
fn exactly_the_faulty_lines_of_line_formats_are_lost() {
    for end in ["\n", "\r\n"] {
        for repeat in [1, 4_000] {
            let (all, good, bad) = good_and_bad(repeat, end);
            for name in ["g.nt", "g.nq"] {
                let expected = load(name, &good);
                for threads in [1, 3] {
                    let options = LoadOptions {
                        threads,
                        memory: 1 << 20,
                        ..tolerant(bad.len())
                    };
                    let (kg, skipped) = tolerated(name, all.as_bytes(), &options);
                    // The rank of blank nodes is that of one file in both.
                    assert_eq!(
                        kg.content_hash(),
                        expected.content_hash(),
                        "{name} {threads}"
                    );
                    assert_eq!(skipped.statements, bad.len());
                    let lines: Vec<u64> = skipped.first.iter().map(|first| first.line).collect();
                    assert_eq!(lines, bad[..10]);
                    assert!(skipped.first[1].message.contains("column"), "{skipped:?}");
                }
            }
        }
    }
}

#[test]
fn the_fault_that_is_too_much_is_the_same_on_any_number_of_threads() {
    let (all, _, bad) = good_and_bad(4_000, "\n");
    for max_faults in [0, 1, 9, 500, 999] {
        for threads in [1, 2, 5] {
            let options = LoadOptions {
                threads,
                ..tolerant(max_faults)
            };
            let error = try_load("g.nt", &all, &options).unwrap_err().to_string();
            assert!(
                error.contains(&format!("g.nt:{}: ", bad[max_faults])),
                "{error}"
            );
        }
    }
    let (all, good, bad) = good_and_bad(1, "\n");
    let expected = load("g.nt", &good);
    let kg = try_load("g.nt", all.trim_end(), &tolerant(bad.len())).unwrap();
    assert_eq!(
        kg.content_hash(),
        expected.content_hash(),
        "no line break at the end"
    );
    assert!(try_load("g.nt", &all, &tolerant(bad.len() - 1)).is_err());
}

#[test]
fn a_fault_at_the_border_of_blocks_loses_its_line_only() {
    // Blocks have a megabyte, pieces 64 KiB.
    for size in [(1 << 16) - 40, 1 << 16, (1 << 20) - 40, 1 << 20] {
        let filler = "<x:a> <x:r> \"0123456789\" .\n".repeat(size / 27);
        let text = format!(
            "{filler}<x:bad> <x:r> \"a\"b\" .\n<x:c> <x:r> <x:d> .\n<x:e> <x:r> oops\n{filler}"
        );
        let (kg, skipped) = tolerated("g.nt", text.as_bytes(), &tolerant(5));
        assert_eq!((kg.len(), skipped.statements), (2, 2));
        assert!(kg.by_name("x:bad").is_none());
    }
}

#[test]
fn a_fault_in_turtle_loses_its_statement() {
    let text = "@prefix : <http://t.test/> .\n@prefix x: <http://x.test/> .\n\
        :a :r \"one\" ;\n   :s \"bad\"@en_US ;\n   :t :u .\n\
        :b :r \"\"\"a . b\n\"\"\" , 1.5 . # not : a statement .\n\
        :c :r \"it \"is\" bad\" .\n\
        :d.e :r [ :s ( 1 2. ) .\n\
        :f :r \"no end\n   . :g :r :h .\n\
        PREFIX y: <http://y.test/>\n\
        y:a :r y:b . none:a :r :b .\n\
        @prefix z: broken .\n\
        x:last :r [ :s \"x\" ]";
    let (kg, skipped) = tolerated("g.ttl", text.as_bytes(), &tolerant(20));
    let lines: Vec<(u64, u64)> = skipped
        .first
        .iter()
        .map(|f| (f.line, f.last_line))
        .collect();
    assert_eq!(
        lines,
        [
            (3, 5),
            (8, 8),
            (9, 9),
            (9, 9),
            (10, 11),
            (13, 13),
            (14, 14),
            (15, 15)
        ],
        "{skipped:#?}"
    );
    assert!(
        skipped.first[0].message.starts_with("line 4, column"),
        "{skipped:?}"
    );
    for lost in [
        "http://t.test/a",
        "http://t.test/c",
        "http://t.test/d.e",
        "http://t.test/u",
    ] {
        assert!(kg.by_name(lost).is_none(), "{lost}");
    }
    let r = rel(&kg, "http://t.test/r");
    let of = |name: &str| kg.tails(node(&kg, name), r).len();
    assert_eq!((of("http://t.test/b"), of("http://y.test/a")), (2, 1));
}

#[test]
fn a_fault_in_trig_loses_its_statement_and_not_its_graph() {
    let text = "@prefix : <http://t.test/> .\n:a :r :b .\nGRAPH :g {\n :c :r \"x\"y\" .\n :d :r :e .\n :f :r :h }\n\
        [] { :i :r _:n . :j :r oops . :k :r _:n }\n:l { :m :r :n . ";
    let (kg, skipped) = tolerated("g.trig", text.as_bytes(), &tolerant(9));
    let lines: Vec<u64> = skipped.first.iter().map(|first| first.line).collect();
    assert_eq!(lines, [4, 7, 8], "{skipped:#?}");
    assert_eq!(kg.len(), 6);
    let graphs: Vec<(&str, usize)> = kg
        .graphs()
        .iter()
        .map(|graph| (graph.name.as_str(), graph.triples))
        .collect();
    assert!(graphs.contains(&("http://t.test/g", 2)), "{graphs:?}");
    assert_eq!(graphs.len(), 4, "{graphs:?}");
}

#[test]
fn the_name_of_an_empty_graph_is_checked() {
    for (text, line) in [
        ("<x:a> <x:r> <x:b> .\nno:g { }\n", 2),
        ("@prefix : <x:> .\n:g { }\n\nno:g {\n # nothing\n}\n", 4),
    ] {
        let error = try_load("g.trig", text, &LoadOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(&format!("g.trig:{line}: ")), "{error}");
        let text = format!("{text}<x:c> <x:r> <x:d> .");
        let (kg, skipped) = tolerated("g.trig", text.as_bytes(), &tolerant(1));
        assert_eq!((skipped.statements, skipped.first[0].line), (1, line));
        assert_eq!(kg.heads(rel(&kg, "x:r"), node(&kg, "x:d")).len(), 1);
    }
}

#[test]
fn a_directive_may_end_with_the_file() {
    for text in [
        "@version \"1.2\" .",
        "@prefix : <x:> .",
        "@base <x:> .",
        "VERSION \"1.2\"",
        "PREFIX : <x:>",
    ] {
        let text = format!("<x:a> <x:r> <x:b> .\nfault .\n{text}");
        for name in ["g.ttl", "g.trig"] {
            let (kg, skipped) = tolerated(name, text.as_bytes(), &tolerant(2));
            assert_eq!((kg.len(), skipped.statements), (1, 1), "{text}");
        }
    }
}

#[test]
fn triples_that_are_too_large_to_keep_are_stored_in_a_second_pass() {
    let triples: String = (0..20).map(|n| format!("a: a: [ a: {n} ] .\n")).collect();
    let text = format!("@prefix a: <x:{}> .\n{triples}", "x".repeat(500_000));
    let whole = load("g.ttl", &text);
    let (kg, skipped) = tolerated("g.ttl", (text + "a: a: .").as_bytes(), &tolerant(1));
    assert_eq!((kg.len(), skipped.statements), (40, 1));
    assert_eq!(kg.content_hash(), whole.content_hash());
}

/// A very long text is read in a second pass over the file.
#[test]
fn a_file_that_is_read_twice_counts_once_in_the_progress() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(17 << 20);
    let text = format!("<x:a> <x:r> 1, 2 .\n<x:b> <x:r> \"{long}\" .\n");
    let files = [
        file(dir.path(), "a.nt", b"<x:a> <x:r> <x:b> .\n"),
        file(dir.path(), "g.ttl", text.as_bytes()),
    ];
    let options = LoadOptions {
        memory: 1 << 30,
        ..LoadOptions::default()
    };
    let last = std::cell::Cell::new(0);
    let kg = FrozenKg::load(&files, &options, &|progress| {
        if let kg::LoadProgress::Read(read) = progress {
            last.set(read);
        }
    });
    assert_eq!((kg.unwrap().len(), last.get()), (4, 4));
}

#[test]
fn files_that_differ_in_their_compression_have_bases_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    // A file is known by its content, so this one need not be compressed.
    let files = [
        file(dir.path(), "g.ttl", b"<#a> <x:r> 1 ."),
        file(dir.path(), "g.ttl.gz", b"<#a> <x:r> 2 ."),
    ];
    let (kg, manifest) = folder(dir.path(), &files, &LoadOptions::default()).unwrap();
    assert_ne!(manifest.sources[0].base, manifest.sources[1].base);
    let heads: BTreeSet<_> = kg.pairs(rel(&kg, "x:r")).map(|(head, _)| head).collect();
    assert_eq!(heads.len(), 2);
}

#[test]
fn graphs_named_by_blank_nodes_are_those_nodes_in_every_run() {
    for (name, text) in [
        (
            "g.trig",
            "[] { <x:a> <x:r> <x:b> } _:g { <x:c> <x:r> <x:d> } _:g <x:s> <x:e> .",
        ),
        (
            "g.jsonld",
            "{\"x:s\": {\"@id\": \"x:e\"}, \"@graph\": [{\"@id\": \"x:a\", \"x:r\": {\"@id\": \"x:b\"}}]}",
        ),
    ] {
        let kg = load(name, text);
        assert_eq!(kg.content_hash(), load(name, text).content_hash(), "{name}");
        let named = kg.heads(rel(&kg, "x:s"), node(&kg, "x:e"));
        let label = names(&kg, &named).remove(0);
        assert!(
            kg.graphs().iter().any(|graph| graph.name == label),
            "{label} in {:?}",
            kg.graphs()
        );
    }
}

#[test]
fn tolerance_does_not_change_good_files() {
    let text = "@base <http://b.test/> .\n@prefix : <#> .\n:a :r [ :s ( 1 [] 'x' ) ] ; a :C .\n\
        _:x :r _:y . [ :r _:x ] :s '' .\n# end\n"
        .repeat(3_000);
    let trig = format!("{text}\n<g> {{ :a :r _:x . }} _:g {{ :b :r [] }}");
    for (name, text) in [("g.ttl", text.as_str()), ("g.trig", trig.as_str())] {
        let strict = load(name, text);
        let kg = try_load(name, text, &tolerant(1)).unwrap();
        assert_eq!(kg.content_hash(), strict.content_hash(), "{name}");
    }
}

#[test]
fn formats_that_cannot_go_on_refuse_to_skip() {
    for (name, content) in [
        (
            "g.rdf",
            "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"x:a b\">\n<rdf:value>1</wrong></rdf:Description></rdf:RDF>",
        ),
        ("g.jsonld", "{\"@id\": \"x:a\",\n \"x:r\": nonsense}"),
        (
            "g.json",
            "{\"Q1\": [[\"Q1\", \"P1\", \"Q2\"]],\n \"Q2\": 3}",
        ),
        ("kb.json", "{\"concepts\":\n 7"),
    ] {
        let strict = try_load(name, content, &LoadOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            !strict.contains(":0:") && !strict.contains("--max-faults"),
            "{strict}"
        );
        let error = try_load(name, content, &tolerant(100))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--max-faults skips statements of N-Triples"),
            "{error}"
        );
    }
    let (kg, skipped) = tolerated(
        "g.tsv",
        b"a\tr\tb\nc\tr\n\tr\td\n\xff\tr\tb\ne\tr\tf",
        &tolerant(3),
    );
    assert_eq!(
        (kg.len(), skipped.statements, skipped.first[0].line),
        (2, 3, 2)
    );
}

#[test]
fn relative_iris_of_two_files_are_two_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let text = b"@prefix : <#> . :item :r <other>, </root>, <../up> ." as &[u8];
    for sub in ["a", "b"] {
        std::fs::create_dir(dir.path().join(sub)).unwrap();
    }
    let rdf = br##"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:t="http://t.test/"><rdf:Description rdf:about="#item"><t:r rdf:resource="other"/></rdf:Description></rdf:RDF>"##;
    let files = [
        file(dir.path(), "a/g.ttl", text),
        file(dir.path(), "b/g.ttl", text),
        file(dir.path(), "g.trig", text),
        file(dir.path(), "g.rdf", rdf),
        file(
            dir.path(),
            "g.jsonld",
            b"{\"@id\": \"#item\", \"http://t.test/r\": {\"@id\": \"other\"}}",
        ),
        file(
            dir.path(),
            "h.ttl",
            b"@base <http://h.test/> . <#item> <r> <other> .",
        ),
    ];
    let (kg, manifest) = folder(dir.path(), &files, &LoadOptions::default()).unwrap();
    let bases: Vec<Option<&str>> = manifest.sources.iter().map(|s| s.base.as_deref()).collect();
    assert_eq!(
        bases,
        [
            Some("http://g.ttl~a.example.org/"),
            Some("http://g.ttl~b.example.org/"),
            Some("http://g.trig.example.org/"),
            Some("http://g.rdf.example.org/"),
            Some("http://g.jsonld.example.org/"),
            None,
        ]
    );
    assert_eq!(kg.len(), 3 * 3 + 3, "nothing is shared");
    assert!(kg.by_name("http://g.ttl~a.example.org/#item").is_some());
    let joined = LoadOptions {
        base: Some("http://mine.test/x/"),
        ..LoadOptions::default()
    };
    let (kg, manifest) = folder(dir.path(), &files[..3], &joined).unwrap();
    assert_eq!(kg.len(), 3);
    assert_eq!(manifest.sources[0].base.as_deref(), joined.base);
    let wrong = LoadOptions {
        base: Some("mine"),
        ..LoadOptions::default()
    };
    let error = folder(dir.path(), &files, &wrong).unwrap_err().to_string();
    assert!(
        error.contains("--base mine: not an absolute IRI"),
        "{error}"
    );
    // A file that is moved, or read with tolerance, gives the same graph.
    let (moved, _) = folder(dir.path(), &[file(dir.path(), "g.ttl", text)], &tolerant(1)).unwrap();
    let (there, _) = folder(dir.path(), &files[..1], &LoadOptions::default()).unwrap();
    assert_eq!(moved.content_hash(), there.content_hash());
}

#[test]
fn blank_nodes_of_files_in_different_formats_stay_apart() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        file(dir.path(), "a.nt", b"_:b0 <x:r> <x:1> .\n"),
        file(dir.path(), "b.nq", b"_:b0 <x:r> <x:2> <x:g> .\n"),
        file(dir.path(), "c.ttl", b"_:b0 <x:r> <x:3> ."),
        file(dir.path(), "d.nt", b"_:f0_b0 <x:r> <x:4> ."),
        file(
            dir.path(),
            "e.jsonld",
            b"{\"@id\": \"_:b0\", \"x:r\": {\"@id\": \"x:5\"}}",
        ),
    ];
    let (kg, _) = folder(dir.path(), &files, &LoadOptions::default()).unwrap();
    let mut subjects = Vec::new();
    for i in 1..=5 {
        subjects.extend_from_slice(&kg.heads(rel(&kg, "x:r"), node(&kg, &format!("x:{i}"))));
    }
    let mut labels = names(&kg, &subjects);
    labels.sort();
    labels.dedup();
    assert_eq!(labels.len(), 5, "{labels:?}");
}

#[test]
fn marks_and_utf16_are_read_in_every_format() {
    for (name, content) in [
        ("g.ttl", "@prefix : <http://t.test/> .\r\n:a :r :b .\r\n"),
        ("g.trig", "@prefix : <http://t.test/> .\r\n:a :r :b .\r\n"),
        (
            "g.nt",
            "<http://t.test/a> <http://t.test/r> <http://t.test/b> .\r\n",
        ),
        (
            "g.nq",
            "<http://t.test/a> <http://t.test/r> <http://t.test/b> .\r\n",
        ),
        (
            "g.rdf",
            "<?xml version=\"1.0\" encoding=\"utf-16\"?><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"http://t.test/\"><rdf:Description rdf:about=\"http://t.test/a\"><t:r rdf:resource=\"http://t.test/b\"/></rdf:Description></rdf:RDF>",
        ),
        (
            "g.jsonld",
            "{\"@id\":\"http://t.test/a\",\"http://t.test/r\":{\"@id\":\"http://t.test/b\"}}",
        ),
        ("g.tsv", "a\tr\tb\r\n"),
        ("g.txt", "a|r|b\r\n"),
        ("g.json", "{\"Q1\": [[\"Q1\", \"P1\", \"Q2\"]]}"),
        (
            "kb.json",
            "{\"concepts\": {\"Q5\": {\"name\": \"human\", \"instanceOf\": []}}, \"entities\": {\"Q1\": {\"name\": \"Ada\", \"instanceOf\": [\"Q5\"], \"attributes\": [], \"relations\": []}}}",
        ),
    ] {
        let plain = load(name, &content.replace("utf-16", "utf-8"));
        assert!(!plain.is_empty());
        let dir = tempfile::tempdir().unwrap();
        let marked = format!("\u{feff}{content}");
        let utf16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [marked.as_bytes(), &utf16] {
            let path = file(dir.path(), name, bytes);
            let kg = FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap();
            assert_eq!(kg.content_hash(), plain.content_hash(), "{name}");
        }
    }
}

#[test]
fn rdf_star_is_named_and_versions_are_skipped() {
    let error = |name: &str, text: &str| {
        let text = format!("\n{text}\n");
        try_load(name, &text, &LoadOptions::default())
            .unwrap_err()
            .to_string()
    };
    let prefix = "@prefix : <x:> . ";
    for (name, text) in [
        ("g.nt", "<< <x:a> <x:r> <x:b> >> <x:s> <x:c> .".to_owned()),
        (
            "g.nq",
            "_:r <x:reifies> <<( <x:a> <x:r> <x:b> )>> <x:g> .".to_owned(),
        ),
        ("g.ttl", format!("{prefix} << :a :r :b >> :s :c .")),
        ("g.ttl", format!("{prefix} :a :r :b {{| :s :c |}} .")),
        ("g.ttl", format!("{prefix} :a :r :b ~ :x .")),
        (
            "g.trig",
            format!("{prefix} :g {{ :a :r <<( :a :r :b )>> }}"),
        ),
        ("g.jsonld", "{\"@id\": \"x:a\", \"x:r\": {\"@id\": \"x:b\", \"@annotation\": {\"x:s\": 1}}}".to_owned()),
        ("g.rdf", "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description><rdf:reifies rdf:parseType=\"Triple\"/></rdf:Description></rdf:RDF>".to_owned()),
    ] {
        let said = error(name, &text);
        assert!(
            said.contains(&format!("{name}:2: ")) && said.contains("a statement about a statement"),
            "{said}"
        );
    }
    for (name, text) in [
        ("g.nt", "<x:a> <x:r> \"hello\"@en--ltr ."),
        ("g.ttl", "<x:a> <x:r> \"hello\"@en--rtl ."),
    ] {
        assert!(
            error(name, text).contains("has a direction"),
            "{}",
            error(name, text)
        );
    }
    for (name, text) in [
        ("g.nt", "VERSION \"1.2\"\n<x:a> <x:r> <x:b> .\n"),
        ("g.ttl", "VERSION \"1.2\"\nPREFIX : <x:>\n:a :r :b ."),
        ("g.ttl", "@version '1.2-basic' . <x:a> <x:r> <x:b> ."),
    ] {
        assert_eq!(load(name, text).len(), 1, "{text}");
    }
}

#[test]
fn contexts_on_the_web_are_named() {
    let text = "{\n \"@context\": [{\"a\": \"x:a\"}, \"https://schema.test/ctx\"],\n \"@id\": \"x:b\",\n \"name\": \"B\"}";
    let error = try_load("s.jsonld", text, &LoadOptions::default())
        .unwrap_err()
        .to_string();
    for part in [
        "s.jsonld:",
        "`https://schema.test/ctx`",
        "fetches nothing",
        "Replace that address",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains(":0:"), "{error}");
}

#[test]
fn xml_in_other_encodings_and_with_entities_is_read() {
    let document = |first: &str, text: &str| {
        format!(
            "{first}\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"&t;r/\"><rdf:Description rdf:about=\"&t;a\"><t:name>{text}</t:name></rdf:Description></rdf:RDF>"
        )
    };
    let entities = "<!DOCTYPE r [\n<!ENTITY t \"&w;/t#\">\n<!ENTITY w 'http://t.test'>]>";
    let dir = tempfile::tempdir().unwrap();
    for encoding in ["ISO-8859-1", "windows-1252"] {
        let text = document(
            &format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{entities}"),
            "Caf@",
        );
        let bytes: Vec<u8> = text
            .bytes()
            .map(|byte| if byte == b'@' { 0xe9 } else { byte })
            .collect();
        let kg = FrozenKg::load(
            &[file(dir.path(), "g.rdf", &bytes)],
            &LoadOptions::default(),
            &|_| {},
        )
        .unwrap();
        let names = kg.tails(
            node(&kg, "http://t.test/t#a"),
            rel(&kg, "http://t.test/t#r/name"),
        );
        assert_eq!(text_of(kg.term(names[0])), "Café");
    }
    for (text, why) in [
        (
            document("<?xml version=\"1.0\" encoding=\"Shift_JIS\"?>", "x"),
            "g.rdf:1: its encoding is `shift_jis`",
        ),
        (
            document("<!DOCTYPE r [\n<!ENTITY t \"&u;\">]>", "x"),
            "g.rdf:2: the entity `t` contains the entity `u`",
        ),
        (
            document("<!DOCTYPE r [\n\n<!ENTITY t \"x:\">]>", "&none;"),
            "g.rdf:4: ",
        ),
    ] {
        let error = try_load("g.rdf", &text, &LoadOptions::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn literals_of_twenty_megabytes_are_read_where_the_memory_allows_them() {
    let coast = format!("LINESTRING({})", "12.5 41.9, ".repeat(1_900_000));
    let nt = format!("<x:a> <x:wkt> \"{coast}\" .\n<x:a> <x:r> <x:b> .\n");
    let ttl = format!("@prefix : <x:> .\n:a :wkt \"\"\"{coast}\"\"\" ; :r :b .");
    let expected = load("g.nt", &nt);
    assert_eq!(expected.len(), 2);
    assert_eq!(load("g.ttl", &ttl).content_hash(), expected.content_hash());
    let little = LoadOptions {
        memory: 1 << 26,
        ..LoadOptions::default()
    };
    for (name, text) in [("g.nt", &nt), ("g.ttl", &ttl)] {
        let error = try_load(name, text, &little).unwrap_err().to_string();
        assert!(error.contains("raise --memory"), "{error}");
    }
    let json = format!("{{\"@id\": \"x:a\",\n\"x:wkt\": \"{coast}\"}}");
    let error = try_load("g.jsonld", &json, &LoadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("g.jsonld:2: a text of more than 16777216 bytes"),
        "{error}"
    );
}
